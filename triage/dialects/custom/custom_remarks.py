"""What is said of the columns of somebody's own table: which were recognised by their words, and which were not read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triage.capture.capture import Quality


def by_words(headers: Sequence[str], said: Mapping[int, str]) -> list[str]:
    """What to say of columns that were recognised by their words; said: place -> metric."""
    if not said:
        return []
    some = ", ".join(f"{headers[i][:40]!r} as {metric}" for i, metric in list(said.items())[:3])
    return [f"{len(said)} columns were recognised by their words, {some}; to read one otherwise: --map"]


def unread(unmapped: Sequence[str]) -> list[Quality]:
    """A remark on the columns that nobody understood, and what to do about it."""
    if not unmapped:
        return []
    some, rest = ", ".join(repr(h[:40]) for h in unmapped[:6]), f" and {len(unmapped) - 6} more" * (len(unmapped) > 6)
    which = "1 column was" if len(unmapped) == 1 else f"{len(unmapped)} columns were"
    said = (
        f'{which} not read: {some}{rest}; to read one: --map "{unmapped[0][:40]}=metric" (triage facts suggests which)'
    )
    return [Quality("columns-unread", said)]


def strange(where: str, columns: Mapping[str, tuple[str, str]]) -> list[Quality]:
    """A remark on each column of a metric that is in a unit which nobody knows; columns: header -> metric and unit.

    where: file and line of the header.
    """
    return [
        Quality(
            "unit-not-understood",
            f"{where}: column {header[:60]!r} is in the unknown unit {unit[:20]!r} and was not read as {metric}; see docs/metrics.md for the units",
        )
        for header, (metric, unit) in columns.items()
    ]
