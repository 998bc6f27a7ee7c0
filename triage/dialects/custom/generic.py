"""Generic table: one row per workload, headers are canonical metric ids or any alias of the schema.

What people write by hand or from their own scripts, and the escape hatch for every table nobody has taught us yet
(`--map "Their Column=canonical.id"`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from triage import schema
from triage.capture.arrays import Floats
from triage.capture.capture import Column, Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.custom import custom_remarks, custom_rows, header_words, metric_tables, stages, vocabulary
from triage.dialects.tables import device_name, unit_inference, wide_table
from triage.ground import units
from triage.ground.errors import BadCapture, NotTriageable, UnknownUnit

NAME = "generic"
TITLE = "Generic table, one row per workload"
CAPTURE = "Write a CSV with a `name` column and one column per metric; headers are canonical ids or aliases, units in brackets."

_COUNTED = {
    "prims.culled": "prims.thrown_away",
    "shared.conflict_share": "shared.bank_conflicts",
    "atomics.share": "atomics.requests",
}  # a share -> what the same words count
_IN_PERCENT = {"warp.threads_per_inst"}  # what people write as a share of all there can be
LANES = 32  # of a warp: what a share of its lanes is one of
UNITS_ALONE = 2  # columns that are called by a unit and nothing more: then a pipe may be, too
# a phone's words, where the table is of a GPU with SMs
_BESIDE_SM = {"texture_pipe.busy": "l1tex.throughput", "alu.utilization": "pipe.alu", "load_store.busy": "pipe.lsu"}


def names() -> dict[str, list[str]]:
    """Every metric under its id and aliases."""
    return {m.id: [m.id, *m.aliases] for m in schema.all_metrics().values()}


def metric_of(header: str, mapping: dict[str, str] | None = None) -> tuple[str, str]:
    """(canonical id, unit text) of a header; ("", "") when it means nothing to us.

    mapping: normalised header -> canonical id, as the user gave it.
    """
    if mapping and schema.normal(header) in mapping:
        return mapping[schema.normal(header)], wide_table.split_unit(header)[1]
    return _known(header) if len(header) <= wide_table.LONGEST else ("", "")


@lru_cache(4096)  # every wide table is asked for its hundreds of headers, most of them the same in a batch
def _known(header: str) -> tuple[str, str]:
    table = schema.by_alias()
    header, scale = header_words.scaled(header)
    bare, unit = (header, scale) if scale else wide_table.split_unit(header)
    if not scale and bare == header.strip() and (m := re.fullmatch(r"(.+?)\s*\[([^\[\]]+)\]", header.strip())):
        bare, unit = m[1], m[2]  # an unknown unit on a known metric must be told, not passed over
    # as it stands, without its unit, without a tool's prefixes, without a unit behind `_`: the first that is known
    for name, u in ((header, scale), (bare, unit), (schema.perfworks(bare), unit), wide_table.split_suffix(bare)):
        if name and (found := _own(schema.identified(name)) or table.get(schema.normal(name)) or _labelled(name)):
            if not u and (name.endswith(("%", ".pct")) or re.search(r"(_|\.)pct($|_|\.)", name)):
                u = "%"
            if u.startswith("%") and u != "%":
                # `[% of peak]` is a percentage, whatever it says it is one of; of something, no count is one
                return (found, "%") if schema.get(found).unit == "ratio" else ("", "")
            return found, u
    return "", ""


def _own(metric: str) -> str:
    """A metric, "" where it is one that is computed: nobody's column is called so by chance."""
    return "" if metric.startswith(vocabulary.OURS) else metric


def _labelled(name: str) -> str:
    metric = _own(schema.by_label().get(schema.normal(name), ""))
    # `Stalled: barrier` is Intel's label, and anybody's words
    return "" if metric.startswith(vocabulary.RARER) else metric


def recognise(source: Source) -> Match | None:
    """A header with a name column and at least one measure we know, or at least two columns we know.

    Names and a count alone are any list there is: of people and their calls, say.
    """
    if source.is_folder or not source.head_text.strip():
        return None
    line, headers = wide_table.header(source)
    mapped = [metric for h in headers if (metric := metric_of(h)[0])]
    named = bool({"name", "path"} & custom_rows.roles(source, line, headers, _is_metric).keys())
    if named and len(mapped) < 2:  # words alone say less than names: a tool's table has some of them too
        said = [metric for metric, _ in header_words.read(headers).values()]
        mapped = said if len(said) >= 2 else mapped
    measured = any(schema.get(metric).unit != "count" for metric in mapped)
    if (named and measured) or len(mapped) >= 2:
        # low: a tool's own export has aliases among its headers too, and its own reader knows more
        return Match(0.30, f"{len(mapped)} of {len(headers)} headers are canonical metrics or aliases of them")
    return None


def read(source: Source, options: Options) -> Table:
    """The table; raises BadCapture without rows or metrics, UnknownUnit for a header's unit that does not fit."""
    line, headers = wide_table.header(source)
    if not line:
        raise BadCapture(f"{source.path}: the file is empty", "export again")
    headers, below = unit_inference.with_units(source, line, headers)
    roles = custom_rows.roles(source, line, headers, _is_metric)
    meant = _meant(headers, set(roles.values()), {schema.normal(k): v for k, v in options.mapping.items()})
    columns, rivals = meant.columns, meant.rivals
    if not columns:
        raise _nothing_known(source, headers)
    numeric = [*(c for c, _ in columns.values()), *(c for _, c, _ in rivals), *(c for more in meant.stages.values() for c in more)]  # fmt: skip
    style = wide_table.number_style(source, source.head_lines[line:], numeric, options.decimal)
    wide = wide_table.read(source, line, len(headers), numeric, list(roles.values()), style=style, skip=below)
    count = len(wide.numbers[numeric[0]])
    _refuse_half_row(source, line, headers, count, wide.numbers)
    meant.without_counts(headers, wide.numbers)
    if not columns:
        raise _nothing_known(source, headers)
    named = "device" in roles and schema.normal(headers[roles["device"]]) == "gpu"
    _refuse_list(source, {m: headers[c] for m, (c, _) in columns.items()}, [wide.numbers[c] for c, _ in columns.values()], named)  # fmt: skip
    table = Table(
        NAME, [source], custom_rows.names(roles, wide.texts, count), {}, first_line=wide.first_line, lines=wide.lines
    )
    table.quality += wide.quality
    if "device" in roles:
        custom_rows.of_device(table, wide.texts[roles["device"]])
    else:
        device_name.by_comment(table, source.head_lines[: line - 1])
    unit_inference.threads_of_a_block(columns, wide.numbers)
    table.quality += unit_inference.occupancy(columns, headers, wide.numbers, table.device)
    if waits := unit_inference.cycles_of_waits(columns, wide.numbers):
        columns |= {f"stall_cycles.{reason}": columns.pop(f"stall.{reason}") for reason in waits}
        table.notes.append(
            f"{len(waits)} columns of stall reasons have no unit and were read as cycles per issued instruction, not as shares"
        )
    if waits := unit_inference.shares_of_waits(columns, wide.numbers, headers):
        columns |= {f"stall.{reason}": columns.pop(f"stall_cycles.{reason}") for reason in waits}
        table.notes.append(
            f"{len(waits)} columns of stall reasons have no unit and were read as shares of the time, not as cycles"
        )
    table.notes += custom_remarks.by_words(
        headers, {i: m for i, (m, _) in meant.words.items() if columns.get(m, (-1,))[0] == i}
    )
    _fill(table, meant, headers, wide.numbers, f"{source.path}:{line}")
    _turn(table, {m for m, (c, _) in columns.items() if c in meant.opposite})
    for metric, places in meant.stages.items():
        if metric in table.columns:
            stages.highest(table, metric, [(headers[c], c, wide.numbers[c]) for c in places])
    for metric, c, unit in rivals:
        # the one it says once more was something else after all, or this is: `DRAM BW` of 622
        if metric not in table.columns or unit_inference.no_share(metric, unit, wide.numbers[c]):
            continue
        table.quality += unit_inference.disagree(
            metric, table.columns[metric], headers[c], unit, wide.numbers[c], table.line
        )
    custom_rows.place(table, roles, wide.texts, headers)
    table.unmapped = meant.unmapped
    table.quality += custom_remarks.unread(meant.unmapped) + custom_remarks.strange(
        f"{source.path}:{line}", meant.strange
    )
    table.collect = metric_tables.asking(headers, columns)
    if not metric_tables.tool_of(headers):
        table.collectable = frozenset(m for m in names() if m in columns or table.collect([m]))
    return table


@dataclass(slots=True)
class _Meant:
    """What the headers of a table mean.

    columns: metric -> (place, unit). words: place -> what was recognised by its words alone. rivals: metric, place and unit
    of those that say once more what another says. opposite: places of what metrics lack of one. stages: metric -> places of the
    same counter of other shader stages. unmapped: headers that
    nothing is read of. strange: those of a metric in a unit that nobody knows -> both.
    """

    words: dict[int, tuple[str, str]]
    columns: dict[str, tuple[int, str]] = field(default_factory=dict)
    rivals: list[tuple[str, int, str]] = field(default_factory=list)
    opposite: set[int] = field(default_factory=set)
    stages: dict[str, list[int]] = field(default_factory=dict)
    unmapped: list[str] = field(default_factory=list)
    strange: dict[str, tuple[str, str]] = field(default_factory=dict)

    def without_counts(self, headers: list[str], numbers: dict[int, Floats]) -> None:
        """Columns that are called like a share and count something are that count, where it is a metric, else not read."""
        counts = [m for m, (c, u) in self.columns.items() if unit_inference.no_share(m, u, numbers[c], named=c not in self.words)]  # fmt: skip
        for m in counts:
            place = self.columns.pop(m)
            if (other := _COUNTED.get(m, m)) not in self.columns and other != m:
                self.columns[other] = place
            else:
                self.unmapped.append(headers[place[0]])
            for again in [r for r in self.rivals if r[0] == m and not unit_inference.no_share(m, r[2], numbers[r[1]])]:
                self.rivals.remove(again)
                self.unmapped.remove(headers[again[1]])
                self.columns[m] = again[1:]
                break


def _meant(headers: list[str], taken: set[int], mapping: dict[str, str]) -> _Meant:
    """taken: places of columns that tell of the rows. mapping: normal header -> metric, as the user says."""
    known = [metric_of(header, mapping) if header and i not in taken else ("", "") for i, header in enumerate(headers)]
    staged = [stages.counter(h) if h and not k[0] and i not in taken else "" for i, (h, k) in enumerate(zip(headers, known, strict=True))]  # fmt: skip
    known = [metric_of(bare) if bare else k for bare, k in zip(staged, known, strict=True)]
    own = [i in taken or schema.normal(h) in mapping for i, h in enumerate(headers)]  # what the user says stands
    asked = ["" if mine or not _doubted(k) else bare or h for h, bare, k, mine in zip(headers, staged, known, own, strict=True)]  # fmt: skip
    stalls = any(metric.startswith("stall.") for metric, _ in known)
    units_alone = sum(m.endswith(".throughput") and " " not in h.strip() for h, (m, _) in zip(headers, known, strict=True))  # fmt: skip
    launches = any(metric.startswith(("launch.", "occupancy.limit_")) for metric, _ in known)
    words = header_words.read(asked, stalls=stalls, pipes=units_alone >= UNITS_ALONE, launches=launches)
    words = {i: found for i, found in words.items() if not known[i][0] or schema.get(found[0]).unit == "ratio"}
    words |= header_words.busy(["" if mine else h for h, mine in zip(headers, own, strict=True)], [words.get(i, k) for i, k in enumerate(known)])  # fmt: skip
    strange = {
        i: k
        for i, k in enumerate(known)
        if not own[i] and i not in words and not headers[i].startswith(k[0]) and _unknown_unit(k)
    }
    told = [("", "") if i in strange else words.get(i) or k for i, k in enumerate(known)]
    told = header_words.of_table(headers, told, words)
    if any(metric == "sm.throughput" for metric, _ in told):
        told = [(_BESIDE_SM.get(metric, metric), unit) for metric, unit in told]
    told = [("sm.occupancy", f"/{slots:g}") if m == "sm.active_warps" and (slots := header_words.most(h)) else (m, unit) for h, (m, unit) in zip(headers, told, strict=True)]  # fmt: skip
    out = _Meant(words, strange={headers[i]: k for i, k in strange.items()})
    for i, header in enumerate(headers):
        if i in taken or not header:
            continue
        metric, unit = told[i]
        opposite, unit = unit.startswith(header_words.OPPOSITE), unit.removeprefix(header_words.OPPOSITE)
        if (
            not own[i] and not header.startswith(metric) and _foreign(metric, unit)
        ):  # `L2 (MB)`, `Time %`: something else of the same name
            metric = ""
        if metric and metric not in out.columns:
            out.columns[metric] = (i, unit)
            out.opposite |= {i} if opposite else set()
        elif metric and staged[i] and staged[out.columns[metric][0]]:
            out.stages.setdefault(metric, []).append(i)
        else:
            out.unmapped.append(header)
            out.rivals += [(metric, i, unit)] if metric and not opposite else []
    return out


def _fill(table: Table, meant: _Meant, headers: list[str], numbers: dict[int, Floats], where: str) -> None:
    """Enter the columns in the units of their metrics, with remarks on what was decided by the values. where: of the header."""
    columns = meant.columns
    # people write 0.47 or 47 for a share; a file does one of them throughout
    percent = _bare_ratios_are_percent(columns, numbers, headers, table.notes)
    bare = {m: c for m, (c, unit) in columns.items() if not unit and schema.get(m).unit == "ratio"}
    whole: Sequence[str] = ()
    if percent:
        shares = {m: c for m, c in bare.items() if c not in meant.opposite}  # rates of misses may all be small
        whole, said = unit_inference.fractions(
            {m: numbers[c] for m, c in shares.items()}, {m: headers[c] for m, c in shares.items()}
        )
        table.quality += said
    signed = {m: c for m, (c, unit) in columns.items() if unit == "%" and schema.get(m).unit == "ratio"}
    said = unit_inference.called_percent(
        {m: numbers[c] for m, c in signed.items()}, {m: headers[c] for m, c in signed.items()}
    )
    table.quality += said
    signs = 1.0 if said else 0.01
    for metric, (c, unit) in columns.items():
        target = schema.get(metric).unit
        if metric == "gpu.time" and not unit:
            unit, remark = unit_inference.time_unit(where, headers[c], numbers[c])
            table.quality += [remark] if remark else []
        if unit.startswith("/"):  # of so many
            factor = 1 / float(unit[1:])
        elif metric == "warp.threads_per_inst" and c in meant.words:
            factor = _of_lanes(unit, numbers[c])
        elif not unit:  # anything but a share is taken for canonical
            factor = 0.01 if target == "ratio" and percent and metric not in whole else 1.0
        else:
            try:
                factor = signs if metric in signed else units.factor(unit, target)
            except UnknownUnit as e:
                raise UnknownUnit(f"{where}: column {headers[c]!r}: {e.message}", e.hint) from e
        table.columns[metric] = Column(wide_table.scaled(numbers[c], factor), headers[c], c + 1, unit, factor)
    table.quality += unit_inference.stated(table.columns)


def _of_lanes(unit: str, values: Floats) -> float:
    """What lanes that work are multiplied by to be counted: they are written as a number, as a fraction or as a percentage."""
    most = np.nanmax(values, initial=0)
    if unit == "%" or (not unit and most > LANES):
        return LANES / 100
    return float(LANES) if unit == "ratio" or most <= 1 else 1.0


def _turn(table: Table, metrics: set[str]) -> None:
    """Shares of the opposite, such as miss rates, become those of their metric."""
    for metric in metrics:
        raw = table.raw[table.columns[metric].header] = table.columns[metric]
        table.columns[metric] = Column(
            1 - raw.values, raw.header, unit=raw.unit, formula=f"1 - {raw.header}", inputs=(raw.header,)
        )


def _is_metric(header: str) -> bool:
    return bool(metric_of(header)[0])


def _doubted(known: tuple[str, str]) -> bool:
    """Is a header unknown, in an unknown unit, or one of shares where its metric is none? `SM Occupancy [%]` counts no warps."""
    metric, unit = known
    return not metric or _unknown_unit(known) or (unit in ("%", "ratio") and schema.get(metric).unit != "ratio")


def _unknown_unit(known: tuple[str, str]) -> bool:
    """Is a metric in a unit that nobody understands?"""
    metric, unit = known
    return bool(metric and unit) and not units.known(unit)


def _foreign(metric: str, unit: str) -> bool:
    """Is a unit understood, and none that the metric can be in? `/48`, of so many, is none of its own."""
    if unit.startswith("/"):
        return False
    if unit in ("%", "ratio") and metric and schema.get(metric).unit == "count" and metric not in _IN_PERCENT:
        return True  # a share of what is counted is another metric, or none
    try:
        return bool(metric and unit and units.unit(unit) and not units.factor(unit, schema.get(metric).unit))
    except UnknownUnit:
        return units.known(unit)


def _bare_ratios_are_percent(
    columns: dict[str, tuple[int, str]], numbers: dict[int, Floats], headers: list[str], notes: list[str]
) -> bool:
    """Ratios without a unit: percent when any of them exceeds 1, else fractions. One decision for the whole file."""
    # ratios that may exceed 1 by their nature say nothing about how the file writes shares
    bare = [
        c for m, (c, unit) in columns.items() if not unit and schema.get(m).unit == "ratio" and schema.get(m).bounded
    ]
    if not bare:
        return True
    top = max((float(np.nanmax(numbers[c])) for c in bare if np.isfinite(numbers[c]).any()), default=0.0)
    percent = top > 1.0
    notes.append(
        f"{len(bare)} ratio columns have no unit (first: {headers[bare[0]]!r}); their values reach {top:g}, "
        f"so they were read as {'percent' if percent else 'fractions of 1'}"
    )
    return percent


def _nothing_known(source: Source, headers: list[str]) -> BadCapture:
    return BadCapture(
        f"{source.path}: none of the {len(headers)} columns is a known metric (first: {headers[0][:40]!r})",
        'map columns with --map "Their Column=canonical.id"; see: triage list metrics',
    )


def _refuse_half_row(source: Source, line: int, headers: list[str], count: int, numbers: dict[int, Floats]) -> None:
    """A single record that ends before its first number is a cut file, not a workload without metrics."""
    if not any(np.isfinite(v).any() for v in numbers.values()):
        row = cells(source.head_lines[line], source.delimiter) if len(source.head_lines) > line else []
        where = f"{source.path}:{line + 1}"
        if count == 1 and len(row) < len(headers):
            raise BadCapture(f"{where}: the only row has {len(row)} of {len(headers)} cells", "export again")
        seen = next((f" ({row[c].strip()[:40]!r} in {headers[c]})" for c in numbers if c < len(row)), "")
        raise BadCapture(f"{where}: no numeric cells{seen}", "check the column, or export again")


def _refuse_list(source: Source, headers: dict[str, str], numbers: list[Floats], named: bool) -> None:
    """A list of files or machines has a column called `gpu` and one that counts, and is no capture.

    named: does that column hold names?
    """
    measures = [(headers[m], v) for m, v in zip(headers, numbers, strict=True) if m != "frame.calls"]
    if (measures or named) and not any(np.isfinite(v).any() for _, v in measures):
        raise NotTriageable(
            f"{source.path}: no numeric cells in {', '.join(repr(h) for h, _ in measures[:3]) or 'any measure'}",
            "a list of counts is not a capture; name the profiler's export",
        )
