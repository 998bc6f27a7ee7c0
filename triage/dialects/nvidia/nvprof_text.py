"""nvprof's output for people: the tables of metrics and of times, cut at their aligned columns.

A run of spaces parts two cells; a kernel and its device stand on lines of their own above its metrics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

METRICS = ["Device", "Kernel", "Invocations", "Metric Name", "Metric Description", "Min", "Max", "Avg"]
SUMMARY = ["Type", "Time(%)", "Time", "Calls", "Avg", "Min", "Max", "Name"]
_METRICS = re.compile(r"^\s*Invocations\s{2,}(?:Metric|Event) Name\s{2,}")
_SUMMARY = re.compile(r"^\s*(?:Type\s+)?Time\(%\)\s+Time\s+Calls\s+Avg\s+Min\s+Max\s+Name\s*$")
_TRACE = re.compile(r"^\s*Start\s+Duration\s+Grid Size\s+Block Size\s.*\bName\s*$")
_MOMENT = re.compile(r"\s*\d[\d.]*(?:ns|us|ms|s)\s")
_DEVICE = re.compile(r'Device "(.+)"')
_KERNEL = re.compile(r"Kernel: (\S.*)")
_TIMES = re.compile(
    r"\s*(?:(?P<type>GPU activities:|API calls:)\s*)?(?P<share>[\d.]+%)\s+(?P<time>\S+)\s+(?P<calls>\d+)"
    r"\s+(?P<avg>\S+)\s+(?P<min>\S+)\s+(?P<max>\S+)\s+(?P<name>\S.*)"
)


def kind_of(line: str) -> str:
    """Which aligned table a header begins, "" for none."""
    if _TRACE.match(line):
        return "trace"
    return "metrics" if _METRICS.match(line) else "summary" if _SUMMARY.match(line) else ""


def headers_of(kind: str, line: str) -> list[str]:
    """The cells of a header; of a trace they differ by version."""
    return re.split(r"\s{2,}", line.strip()) if kind == "trace" else METRICS if kind == "metrics" else SUMMARY


def records(kind: str, lines: Iterator[tuple[int, str]], width: int) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) below a header, as long as it (`width`); the table ends where nothing fits any more."""
    if kind == "trace":
        return _trace(lines, width)
    return _metrics(lines) if kind == "metrics" else _summary(lines)


def _metrics(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    device = kernel = ""
    for number, line in lines:
        line = line.strip()
        if m := _DEVICE.fullmatch(line):
            device = m[1]
        elif m := _KERNEL.fullmatch(line):
            kernel = m[1]
        else:
            cells = re.split(r"\s{2,}", line)
            if len(cells) != 6 or not cells[0].isdigit() or not kernel:
                return
            yield number, [device, kernel, *cells]


def _trace(lines: Iterator[tuple[int, str]], width: int) -> Iterator[tuple[int, list[str]]]:
    for number, line in lines:
        cells = re.split(r"\s{2,}", line.strip(), maxsplit=width - 1)
        if len(cells) != width or not _MOMENT.match(line):
            return
        yield number, cells


def _summary(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    kind = ""
    for number, line in lines:
        if not (m := _TIMES.fullmatch(line.rstrip())):
            return
        kind = m["type"] or kind
        yield number, [kind, *m.group("share", "time", "calls", "avg", "min", "max", "name")]
