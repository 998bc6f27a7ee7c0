"""PIX on Windows, window: the event list as copied or saved."""

from __future__ import annotations

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.graphics import pix, pix_tool

NAME = "pix-gui"
SIGN = ("global",)
TELLS = {"work": "graphics", "api": "d3d12"}
MAY_LACK = ("Global ID",)
TITLE = "PIX event list from the PIX window"
CAPTURE = """\
Open the GPU capture; in the Events view press *Collect Timing Data*; for counters tick them in the
Counters view and collect them. Show the columns *EOP to EOP Duration* and the counters in the Events
view, then save or copy the list as text. `pixtool ... save-event-list` (dialect pix-tool) exports more
and keeps the marker tree.
"""


def recognise(source: Source) -> Match | None:
    """Name and Global ID columns without Parent."""
    top = pix.head(source)
    if top is None or top.parent >= 0:  # with Parent it is pixtool's
        return None
    return Match(0.9, "PIX event list: Name and Global ID columns, markers as ranges of Global IDs")


def read(source: Source, options: Options) -> Table:
    """GPU events and markers; raises NotTriageable when timing was not collected."""
    return pix.read(source, options, NAME)


names = pix.names


def collect(metrics: list[str]) -> str:
    """Where to tick counters."""
    return "PIX: Counters pane > tick the counters > Collect, then save the event list; or: " + pix_tool.collect(
        metrics
    )
