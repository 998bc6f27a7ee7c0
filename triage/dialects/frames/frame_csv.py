"""Frame times that an engine writes itself: a number of the frame and its time, one row per frame, no passes."""

from __future__ import annotations

import re

from triage.capture.capture import Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.frames import frame_logs
from triage.dialects.tables import wide_table
from triage.ground.errors import BadCapture

NAME = "frame-csv"
SIGN = ("frame_time", "frametime", "frame time", "frame_lat", "frame lat", "frame_dur", "frame dur")
TELLS = {"work": "graphics"}
TITLE = "Frame times of an engine's own log (CSV: frame, frame time)"
CAPTURE = "Write a CSV with the number of each frame and its time, the unit in the header: `frame,frame_time_ms`."
_INDEX_RE = re.compile(r"frame(?:[_ ]?(?:index|id|no|nr|number|num))?", re.IGNORECASE)
_TIME_RE = re.compile(r"(?:cpu[_ ])?frame[_ ]?(?:time|latency|duration)[_ ]?[(\[]?(ns|us|ms|s)[)\]]?", re.IGNORECASE)
collect = frame_logs.collect


def recognise(source: Source) -> Match | None:
    """A column of frame numbers and one of frame times that states its unit; a table of passes is another dialect's."""
    line, headers = wide_table.header(source)
    if not (_place(headers, _INDEX_RE) >= 0 and _place(headers, _TIME_RE) >= 0):
        return None
    index, below = _place(headers, _INDEX_RE), source.head_lines[line : line + 20]
    numbers = [row[index] for text in below if len(row := cells(text, source.delimiter)) > index]
    # of one row per frame no number occurs twice
    alone = len(set(numbers)) == len(numbers) and all(n.strip().isdigit() for n in numbers)
    return Match(0.25, "columns of frame numbers and frame times") if numbers and alone else None


def read(source: Source, options: Options) -> Table:
    """One workload of all frames; raises BadCapture without a frame time."""
    line, headers = wide_table.header(source)
    time = _place(headers, _TIME_RE)
    if time < 0:
        raise BadCapture(f"{source.path}:{line}: no column of frame times", "name it frame_time_ms")
    unit = _TIME_RE.fullmatch(headers[time])
    rows, lines, remarks = frame_logs.rows_of(source, line, headers)
    spec = [("present.interval" if i == time else "", h, unit[1].lower() if unit and i == time else "") for i, h in enumerate(headers)]  # fmt: skip
    table = frame_logs.table(NAME, source, "", spec, rows, lines)
    table.quality += remarks
    table.unmapped = [h for i, h in enumerate(headers) if i != time and h]
    return table


def _place(headers: list[str], pattern: re.Pattern[str]) -> int:
    return next((i for i, h in enumerate(headers) if pattern.fullmatch(h)), -1)


def names() -> dict[str, list[str]]:
    """Columns that are used."""
    return {"present.interval": ["frame_time_ms", "frame_latency_ms"]}
