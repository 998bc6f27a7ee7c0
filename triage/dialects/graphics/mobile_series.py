"""Adreno counters without draw times or units: recognised to be refused, for they name no workload."""

from __future__ import annotations

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.tables import wide_table
from triage.ground.errors import NotTriageable

NAME = "mobile-series"
SIGN = ("drawid", "elapsed_s")
TELLS = {"work": "graphics"}
TITLE = "Snapdragon per-draw metrics and KGSL counters: recognised to be refused"
CAPTURE = (
    "Not an input for triage: cycles without times. Per-draw figures of a snapshot can be given as a custom table."
)
_HINT = (
    "capture a snapshot with per-draw metrics and give it as a custom table (a name column and one column per metric)"
)


def names() -> dict[str, list[str]]:
    """Nothing: these tables are refused."""
    return {}


def _which(source: Source) -> str:
    """Which series it is, "" for none."""
    for number, line in enumerate(source.head_lines[:400], 1):
        if "," not in line:
            continue
        # Snapdragon writes a table; the Adreno streamer prints its header amid a log
        if number == 1 or line.startswith("elapsed_s,"):
            headers = wide_table.header(source)[1] if number == 1 else line.split(",")
            if all(wide_table.find(headers, h) >= 0 for h in ("DrawID", "MetricName", "Value")):
                return "a Snapdragon per-draw metric list without draw times"
            if headers and headers[0].strip() == "elapsed_s" and any("BUSY_CYCLES" in h for h in headers):
                return "Adreno (KGSL) counters over time: the whole GPU, no draws or passes"
    return ""


def recognise(source: Source) -> Match | None:
    """The columns of one of the series."""
    what = _which(source)
    return Match(0.85, what) if what else None


def read(source: Source, options: Options) -> Table:
    """Never: raises NotTriageable naming the series."""
    raise NotTriageable(f"{source.path}: {_which(source) or 'a time series'}", _HINT)
