"""What headers of a custom table are read as, by their words alone."""

from triage.dialects.custom import agree, say


def by_words(*headers: str) -> list[str]:
    """The metric of each header, "" for none."""
    return [reading.metric for reading in readings(*headers)]


def readings(*headers: str) -> list[say.Reading]:
    """The same with units; an empty header is read as nothing."""
    return [h.reading for h in agree.pick([say.worded(i, text) for i, text in enumerate(headers)])]
