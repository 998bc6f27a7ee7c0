"""Step 4 of 4: enter the columns that are believed in a table, in canonical units; note the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from triage.capture.capture import Column, Decision, Quality, Table
from triage.dialects.custom import agree, believe, rows, say
from triage.dialects.custom.believe import Evidence
from triage.dialects.custom.say import Header
from triage.dialects.tables import tool_names, wide_table
from triage.dialects.tables.wide_table import Wide
from triage.ground.phrasing import first_of

_LISTED = 6  # unread columns named in a remark


def place(table: Table, evidence: Evidence, wide: Wide, roles: dict[str, int], headers: list[str]) -> None:
    """Enter columns, rows, remarks, and how each column was decided. roles: role -> column about the rows."""
    _enter_columns(table, evidence)
    table.quality += evidence.quality
    table.notes += evidence.notes
    for rival in evidence.columns.rivals:
        # the used column may have become another metric, or the rival be no share: `DRAM BW` of 622
        metric, values = rival.reading.metric, wide.numbers[rival.place]
        if metric in table.columns and not believe.is_no_share(rival, values):
            table.quality += believe.disagreement(table.columns[metric], metric, rival, values, table.line)
    rows.enter(table, roles, wide.texts, headers)
    unread = evidence.columns.unread
    table.unmapped = [h.text for h in unread]
    table.quality += [*_unread(table.unmapped), *_unknown_units(evidence.where, unread)]
    table.decisions = _decisions(evidence, roles, headers)


def _enter_columns(table: Table, evidence: Evidence) -> None:
    used, numbers = evidence.columns.used, evidence.numbers
    for metric, h in used.items():
        factor = evidence.factors[metric]
        table.columns[metric] = Column(wide_table.scaled(numbers[h.place], factor), h.text, h.place + 1, h.reading.unit, factor)  # fmt: skip
    for metric, h in used.items():
        if h.reading.lacks:
            tool_names.enter_opposite(table, metric)
        elif say.is_rate(metric, h.reading.unit):
            _enter_total(table, metric)


def _enter_total(table: Table, metric: str) -> None:
    """Turn a rate per second into what it counts, where the table has times."""
    rate, time = table.columns.pop(metric), table.columns.get("gpu.time")
    if time is not None:
        table.raw[rate.header] = rate
        formula, inputs = f"{rate.header} x {time.header}", (rate.header,)
        table.columns[metric] = Column(
            rate.values * time.values * 1e-9, rate.header, unit=rate.unit, formula=formula, inputs=inputs
        )


def enter_all_calls(table: Table, evidence: Evidence) -> None:
    """Turn the average time of a call into that of all: tables of kernels list what a run takes."""
    time, calls = (evidence.columns.used.get(metric) for metric in ("gpu.time", "frame.calls"))
    if time is None or calls is None or not agree.is_average(time):
        return
    raw = table.raw[time.text] = table.columns["gpu.time"]
    table.raw[calls.text] = count = table.columns["frame.calls"]
    made = f"{time.text} * {calls.text}"
    table.columns["gpu.time"] = Column(raw.values * count.values, raw.header, unit=raw.unit, formula=made, inputs=(time.text, calls.text))  # fmt: skip


def _unread(headers: Sequence[str]) -> list[Quality]:
    """A remark on the columns that were not read, and what to do about it."""
    if not headers:
        return []
    some = first_of([repr(h[:40]) for h in headers], _LISTED, " and ")
    which = "1 column was" if len(headers) == 1 else f"{len(headers)} columns were"
    message = f'{which} not read: {some}; to read one: --map "{headers[0][:40]}=metric" (triage facts suggests which)'
    return [Quality("columns-unread", message)]


def _unknown_units(where: str, headers: Iterable[Header]) -> list[Quality]:
    """A remark on each metric in an unknown unit. where: file and line of the header."""
    return [
        Quality(
            "unit-not-understood",
            f"{where}: column {h.text[:60]!r} is in the unknown unit {h.named.unit[:20]!r} and was not read as {h.named.metric}; see docs/metrics.md for the units",
        )
        for h in headers
        if agree.is_in_unknown_unit(h)
    ]


def _decisions(evidence: Evidence, roles: Mapping[str, int], headers: Sequence[str]) -> list[Decision]:
    """What each column was read as and why, in the order of the table."""
    columns = evidence.columns
    decided = [(h, metric, h.reading.why) for metric, h in columns.used.items()]
    decided += [(h, "", h.reading.why) for h in (*columns.unread, *columns.totals) if h not in columns.rivals]
    decided += [(h, h.reading.metric, "repeated, an earlier column is used") for h in columns.rivals]
    found = {place: Decision(headers[place], role, rows.reason(role, headers[place])) for role, place in roles.items()}
    found |= {h.place: Decision(h.text, read_as, why) for h, read_as, why in decided}
    return [found[place] for place in sorted(found)]
