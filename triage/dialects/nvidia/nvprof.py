"""What nvprof prints as CSV: chatter on `==PID==` lines, one or several tables, a record of units below a header."""

from __future__ import annotations

import csv
import re

import numpy as np
from msgspec import Struct

from triage.capture import shape
from triage.capture.capture import Column
from triage.capture.cells import cells, delimiter
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects.nvidia import nvprof_text
from triage.ground import units
from triage.ground.errors import BadCapture, NotTriageable, UnknownUnit
from triage.ground.phrasing import plural
from triage.schema import normal

_SAID = re.compile(r"^(?:==\d+==\s*)?(No (?:kernels|events/metrics|events|metrics|API activities) were profiled\.?)")
# kind of table -> headers it must have; the first that fits
_MUST = {
    "summary": {"time(%)", "calls", "avg", "name"},
    "trace": {"start", "duration", "grid x", "name"},
    "metrics": {"kernel", "metric name", "avg"},
    "events": {"kernel", "event name", "avg"},
    "metric trace": {"kernel", "device", "stream"},
    "unified memory": {"device", "avg size"},
}
_RUN = re.compile(r"^==(\d+)==.*NVPROF is profiling process", re.MULTILINE)
# cells of a unit record, in lower case
_UNITS = {"", "%", "s", "ms", "us", "ns", "b", "kb", "mb", "gb", "tb", "b/s", "kb/s", "mb/s", "gb/s"}
_TEXT = (
    re.compile(r"^==\d+==.*(?:NVPROF|Profiling (?:result|application))|NVPROF is profiling process", re.MULTILINE),
    re.compile(
        r"^[ \t]*(?:Type[ \t]+)?Time\(%\)[ \t]+Time[ \t]+Calls[ \t]+Avg[ \t]+Min[ \t]+Max[ \t]+Name", re.MULTILINE
    ),
)
CAPTURE = """\
nvprof ends with the Volta generation; on newer GPUs use Nsight Compute and Nsight Systems.

`nvprof --csv --log-file kernels.csv --metrics all ./your-app` gives counters per kernel, \
`nvprof --csv --log-file trace.csv --print-gpu-trace ./your-app` times and launch shapes, \
`nvprof --csv --log-file summary.csv --print-gpu-summary ./your-app` times per kernel. \
Without `--csv` the tables of metrics and of times are read from the text too, rounded as printed."""


class TableLocation(Struct, frozen=True):
    """One table: its kind, 1-based header line, headers, printed units per column, first record, last line or None."""

    kind: str
    line: int
    headers: list[str]
    units: list[str]
    first: int
    end: int | None
    aligned: bool = False  # text for people: cells are cut at runs of spaces, and the origin of each is its line

    def position(self, column: int) -> int:
        """Where a column stands in the file's records, from 1."""
        return 1 if self.aligned else column + 1


def kind_of(headers: list[str]) -> str:
    """Which nvprof table a header belongs to, "" for none."""
    have = {normal(h) for h in headers}
    return next((k for k, must in _MUST.items() if must <= have), "")


def find(source: Source) -> list[TableLocation]:
    """Every nvprof table that begins in the head of a source; sets the source's delimiter to that of the last."""
    found: list[TableLocation] = []
    lines = source.head_lines
    for i, line in enumerate(lines):
        if aligned := nvprof_text.kind_of(line):
            headers = nvprof_text.headers_of(aligned, line)
            found.append(TableLocation(aligned, i + 1, headers, [""] * len(headers), i + 2, None, True))
            source.delimiter = "\x1f"  # a quoted origin is then the whole line
        if not _could_be_header(line):
            continue
        separator = delimiter(line)
        headers = [c.strip() for c in cells(line, separator)]
        kind = kind_of(headers)
        if not kind:
            continue
        source.delimiter = separator
        below = cells(lines[i + 1], separator) if i + 1 < len(lines) else []
        # summaries and traces have units per file in a record of their own, which has no name; glued units have none
        is_units = bool(below) and not (below[-1].strip() if len(below) >= len(headers) else "") and _all_units(below)
        units = below + [""] * (len(headers) - len(below)) if is_units else [""] * len(headers)
        ends = (j for j in range(i + 1, len(lines)) if not lines[j].strip() or lines[j].startswith("=="))
        ends = (j for j in ends if j + 1 not in source.aside and not _goes_on(lines[j:], len(headers), separator))
        end = next(ends, None)
        found.append(TableLocation(kind, i + 1, headers, units, i + 2 + is_units, end))
    return found


def _goes_on(below: list[str], width: int, separator: str) -> bool:
    return shape.goes_on((line for line in below if not line.startswith("==")), width, separator)


def _could_be_header(line: str) -> bool:
    names = ("Time(%)", "Duration", "Metric Name", "Event Name", "Avg Size")
    return line.startswith(('"', "Time(%)", "Type", "Start", "Device")) and any(name in line for name in names)


def runs(source: Source) -> int:
    """How many runs of nvprof wrote into a file."""
    return len(set(_RUN.findall(source.head_text)))


def glued_time(source: Source, found: TableLocation, rows: list[tuple[int, list[str]]], c: int, odd: Odd) -> Column:
    """A time column in ns, its unit from the unit record or the values; raises UnknownUnit without either."""
    values: list[float] = []
    seen: set[str] = set()
    for line, row in rows:
        text = row[c]
        try:
            value, glued = units.parse_glued(text)
            unit = glued or found.units[c]
            factor = units.factor(unit, "ns") if unit else 1.0
        except (ValueError, UnknownUnit):
            odd.number(text, "us", found.headers[c], line)
            values.append(np.nan)
            continue
        if value is None and units.not_finite(text):
            odd.add("not-finite", text, found.headers[c], line)
        if value is not None and not unit:
            raise UnknownUnit(
                f"{source.path}:{found.line}: column {found.headers[c]!r} has no unit", "export with nvprof --csv"
            )
        values.append(np.nan if value is None else value * factor)
        if glued and found.units[c] not in ("", glued):
            odd.add("own-unit", text, found.headers[c], line)
        seen.add(unit)
    seen.discard("")
    unit = "|".join(sorted(seen))
    factor = units.factor(unit, "ns") if len(seen) == 1 else 1.0  # mixed: no single one leads back to the cells
    return Column(np.array(values), found.headers[c], found.position(c), unit, factor)


def _all_units(row: list[str]) -> bool:
    return all(c.strip().lower() in _UNITS for c in row) and any(c.strip() for c in row)


def records(source: Source, found: TableLocation) -> list[tuple[int, list[str]]]:
    """(line, cells) of a table's records, all as long as its header; it ends at a blank line or at chatter, unless rows of it follow.

    Raises Misfit for records that do not fit.
    """
    if found.aligned:
        below = ((n, line) for n, line in enumerate(source.lines(), 1) if n >= found.first)
        return list(nvprof_text.records(found.kind, below, len(found.headers)))
    out = []
    bad: dict[int, str] = {}
    width, gap = len(found.headers), False
    for number, line in enumerate(source.lines(), 1):
        if number < found.first:
            continue
        if number in source.aside:
            continue
        if not line.strip() or line.startswith("=="):
            gap = True
            continue
        if gap and not _goes_on([line], width, source.delimiter):
            break
        gap = False
        row = next(csv.reader([line], delimiter=source.delimiter), [])
        # the kernel name is last, in some versions unquoted: its commas belong to it
        if len(row) > width and '"' not in line and shape.bracketed(row[width - 1 :]):
            row = [*row[: width - 1], source.delimiter.join(row[width - 1 :])]
        if len(row) != width or line.count('"') % 2:
            bad[number] = f"{plural(len(row), 'cell')}, header has {width}"
        out.append((number, row))
    if 2 * len(bad) > len(out):
        first, why = next(iter(bad.items()))
        raise BadCapture(f"{source.path}:{first}: {why}; most rows are like this", "export again")
    if bad:
        raise shape.Misfit(source.path, bad, len(out))
    return out


def chatter(source: Source) -> str:
    """nvprof's own words when it recorded nothing."""
    return next((m[1] for line in source.head_lines if (m := _SAID.match(line.strip()))), "")


def is_text(source: Source) -> bool:
    """nvprof's output for people: its chatter and aligned columns, no CSV."""
    head = source.head_text[:65536]
    return any(pattern.search(head) for pattern in _TEXT)


def refuse(source: Source, found: list[TableLocation]) -> NotTriageable:
    """Why an nvprof output cannot be triaged."""
    if message := chatter(source):
        return NotTriageable(
            f"{source.path}: nvprof says: {message}", "check that the application launches kernels; profile again"
        )
    if found:
        kinds = ", ".join(dict.fromkeys(f.kind for f in found))
        return NotTriageable(
            f"{source.path}: nvprof table of {kinds}, without kernels", "run: nvprof --csv --print-gpu-trace ./app"
        )
    return NotTriageable(
        f"{source.path}: nvprof output as text, not as a table",
        "run: nvprof --csv --log-file kernels.csv --print-gpu-trace ./your-app",
    )
