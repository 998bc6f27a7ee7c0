"""What `nsys stats` prints: reports as CSV, as columns under dashes, or in a box; several in one output."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from triage.capture import shape
from triage.capture.capture import Column
from triage.capture.cells import cells, delimiter
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects.nvidia import ncu_names
from triage.dialects.tables import wide_table
from triage.dialects.tables.wide_table import Wide
from triage.ground import units
from triage.ground.errors import BadCapture, NotTriageable, UnknownUnit
from triage.schema import normal

REPORTS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("nsys_reports.toml").read_text("utf-8"))
_API = "cuda_api_sum"
_NVTX = "nvtx_sum"
# what nsys writes above a report: its script, or its title with its name in brackets
_TITLE = re.compile(r"reports/(\w+?)\.py\b|^ *\*\* .*\((\w+)\):\s*$")
_OF_THE_SYSTEM = re.compile(
    r"(?:^|[,;\t|\"] *|\s{2})(?:pthread_|sem_|poll\b|epoll_|ioctl\b|futex\b|select\b|mmap\b|read\b|fopen\b|sleep\b)"
)
_OSRT = "osrt_sum"
TITLE_LINES = 4  # between a report's title and its header, blank ones and the dashes among them
# what nsys itself says between two reports in one output
_SAY = re.compile(r"\s*(?:Processing|Generating|Exporting|Executing|Collecting|NOTICE|SKIPPED|WARNING|\*\*)")


class ReportTable(Struct):
    """Location of a report's table (1-based line of its header) and its layout: `csv`, `columns` or `box`.

    spans: first character and the one behind the last of every column, for layouts without a delimiter.
    """

    report: str
    line: int
    layout: str
    headers: list[str]
    spans: list[tuple[int, int]]


def bare(header: str) -> str:
    """`Total Time (ns)` -> `total time`; `Time(%)` -> `time`."""
    return normal(re.sub(r"\s*[(\[][^)\]]*[)\]]\s*$", "", header[: wide_table.MAX_HEADER_CHARS]))


def unit_of(header: str) -> str:
    """The unit in a header; times of older versions have none and are ns."""
    m = re.search(r"[(\[]([^)\]]*)[)\]]\s*$", header[: wide_table.MAX_HEADER_CHARS])
    return m[1] if m else ""


def _report(headers: Sequence[str]) -> str:
    have = {bare(h) for h in headers}
    have |= {"operation"} if "operations" in have else set()  # whose names older versions call no operations
    return next((r for r, c in REPORTS.items() if have >= {*c["must"]} and have.isdisjoint(c.get("never", ()))), "")


def _titled(lines: Sequence[str], at: int) -> str:
    """The name of a report of API calls: as nsys writes it above line `at`, else by the calls below; their columns are alike."""
    for line in reversed(lines[max(at - TITLE_LINES, 0) : at]):
        if m := _TITLE.search(line):
            return m[1] or m[2]
    return _OSRT if any(_OF_THE_SYSTEM.search(line) for line in lines[at + 1 : at + 6]) else _API


def find(source: Source) -> list[ReportTable]:
    """Every known report in the head of a source."""
    # sums over ranges have the same columns on the GPU, for graphics APIs, as for NVTX: only their title says so
    found = [t for t in _tables(source) if t.report != _NVTX or "gpu" not in _titled(source.head_lines, t.line - 1)]
    for table in found:
        if table.report == _API:
            table.report = _titled(source.head_lines, table.line - 1)
    return found


def _tables(source: Source) -> list[ReportTable]:
    found = []
    lines = source.head_lines
    for i, line in enumerate(lines[:20000]):
        if "Name" not in line and "Range" not in line and "Operation" not in line:
            continue
        if any(d in line for d in ",;\t") and not line.lstrip().startswith("|"):
            headers = [c.strip() for c in cells(line, delimiter(line))]
            if report := _report(headers):
                found.append(ReportTable(report, i + 1, "csv", headers, []))
                continue
        if line.lstrip().startswith("|"):
            spans = [(m.start() + 1, m.end()) for m in re.finditer(r"\|[^|]*(?=\|)", line)]
            headers = [line[a:b].strip() for a, b in spans]
            if report := _report(headers):
                found.append(ReportTable(report, i + 1, "box", headers, spans))
        elif i + 1 < len(lines) and re.fullmatch(r"\s*-{2,}(?:\s+-{2,})+\s*", lines[i + 1]):
            spans = [m.span() for m in re.finditer(r"-+", lines[i + 1])]
            spans[-1] = (spans[-1][0], 1 << 30)  # names run beyond their dashes
            headers = [line[a:b].strip() for a, b in spans]
            if report := _report(headers):
                found.append(ReportTable(report, i + 1, "columns", headers, spans))
    return found


def read(source: Source, found: ReportTable, numeric: list[int], text: list[int]) -> Wide:
    """The chosen columns of a report; raises BadCapture when it has no rows."""
    if found.layout == "csv":
        source.delimiter = delimiter(source.head_lines[found.line - 1])
        style = wide_table.number_style(source, source.head_lines, numeric)  # of all its reports
        end = _csv_end(source, found)
        return wide_table.read(source, found.line, found.headers, numeric, text, style=style, end_line=end)
    rows, lines = _text_rows(source, found)
    if not rows:
        raise BadCapture(f"{source.path}: header without rows", "nothing ran on the GPU during profiling")
    source.delimiter = "\x1f"  # a quoted origin is then the whole line
    # a doubtful number is read as the tool prints it: nothing here has a delimiter that could decide
    style = units.style([c for r in rows for c in r if c[:1].isdigit()], f"{source.path}: ", "us")
    odd = Odd()
    numbers = {
        c: np.array(
            [odd.number(r[c].rstrip("%"), style, found.headers[c], n) for r, n in zip(rows, lines, strict=True)]
        )
        for c in numeric
    }
    texts = {c: np.array([r[c] for r in rows], dtype=object) for c in text}
    return Wide(found.headers, numbers, texts, np.array(lines), lines[0], odd.remarks(), aligned=True)


def _csv_end(source: Source, found: ReportTable) -> int | None:
    """Last line of a CSV report that something follows in the head, None when it runs to the end of the file."""
    for number, line in enumerate(source.head_lines, 1):
        if number > found.line and number not in source.aside and (not line.strip() or _SAY.match(line)):
            later = [x for x in source.head_lines[number:] if not _SAY.match(x)]
            if shape.goes_on(later, len(found.headers), source.delimiter):  # a gap within the report
                continue
            return number - 1 if line.strip() or any(x.strip() for x in source.head_lines[number:]) else None
    return None


def _text_rows(source: Source, found: ReportTable) -> tuple[list[list[str]], list[int]]:
    """Cells and lines of a report laid out for people."""
    rows: list[list[str]] = []
    lines: list[int] = []
    box, last = found.layout == "box", found.spans[-1][0]
    for number, line in enumerate(source.lines(), 1):
        # dashes follow the header, rules of a box may stand between rows
        rule = line.lstrip().startswith("+") if box else number == found.line + 1
        if number <= found.line or rule or number in source.aside:
            continue
        if not line.strip() or _SAY.match(line) or (box and not line.lstrip().startswith("|")):
            break
        if box:  # names may hold bars: the last cell takes the rest
            row = [c.strip() for c in line.strip().strip("|").split("|", len(found.headers) - 1)]
            row += [""] * (len(found.headers) - len(row))
        else:
            row = [line[a:b].strip() for a, b in found.spans]
            if line[last - 1 : last].strip():  # a quote may have shifted the row
                row[-1] = line[line.rfind(" ", 0, last) + 1 :].strip()
        # a row begins with its share of the time or with nothing; a long name goes on below as text
        if box or re.match(r"[.,]?\d[\d.,%]*$", row[0]) or not row[0]:
            rows.append(row)
            lines.append(number)
    return rows, lines


def time(source: Source, grid: Wide, found: ReportTable, c: int) -> Column:
    """A time column in ns; raises UnknownUnit when its header states a unit that is none."""
    header = found.headers[c]
    unit = unit_of(header) or "ns"
    try:
        factor = units.factor(unit, "ns")
    except UnknownUnit as e:
        raise UnknownUnit(f"{source.path}:{found.line}: column {header!r}: {e.message}", e.hint) from e
    return grid.column(c, unit, factor)


def refuse(source: Source, found: list[ReportTable]) -> NotTriageable:
    """Why none of the reports found can be triaged, and which one can."""
    seen = ", ".join(dict.fromkeys(f"{f.report} ({REPORTS.get(f.report, REPORTS[_API])['what']})" for f in found))
    export = "export: nsys stats --report cuda_gpu_trace --format csv --output . report.nsys-rep"
    if re.search(r"SKIPPED: .*does not contain CUDA (?:kernel|trace) data", source.head_text):
        export = f"its report holds no CUDA work: {_RECORD}"
    elif all(f.report == _OSRT for f in found):
        export += f"; where that is empty, {_RECORD}"
    return NotTriageable(f"{source.path}: nsys stats report of {seen}, without GPU times of kernels", export)


_RECORD = "record with: nsys profile -t cuda,nvtx -o report ./your-app"
CAPTURE = """\
Record: `nsys profile -t cuda,nvtx -o report ./your-app`

Then export every launch: `nsys stats --report cuda_gpu_trace --format csv --output . report.nsys-rep` \
(or one line per kernel: `--report cuda_gpu_kern_sum`).

These exports carry times and launch shapes, no counters: triage finds launch-bound, tail and frame-share problems in \
them and lists the counters to collect with Nsight Compute next."""


collect = ncu_names.collect  # Nsight Systems has no counters
