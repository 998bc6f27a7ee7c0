"""PIX on Windows, command line: `pixtool ... save-event-list`."""

from __future__ import annotations

import re

from triage.capture.capture import Table
from triage.capture.redundancy import References
from triage.capture.source import Source
from triage.dialects import Match, Options, always
from triage.dialects.graphics import pix
from triage.ground.collect_command import Command
from triage.ground.errors import NotTriageable

NAME = "pix-tool"
REDUNDANT = (References(("queueid",), ("parent",), "-1"),)
# of an event that was timed, with counters of the GPU; those of D3D have blanks in their names and may be empty
TOGETHER = ("EOP Start Time (ns)", "EOP to EOP Duration (ns)", ...)
SIGN = ("global", "pixtool", "winpix", ".wpix", "microsoft", "save-event-list")
TELLS = {"work": "graphics", "api": "d3d12"}
TITLE = "PIX event list from pixtool"
CAPTURE = """\
    pixtool open-capture FRAME.wpix save-event-list events.csv --counters=*

`pixtool` lies in the PIX installation folder; `--counters="D3D*"` and the like take a group only. The
counters are those of the GPU that replays the capture (NVIDIA: install Nsight's PIX plug-in counters; AMD
and Intel: the driver brings them). Each group of counters is a replay of its own.
"""
MANY = 20  # heuristic: metrics of a list saved with all counters; a list of chosen ones has a handful
LONGEST = 500  # characters of a line on a console; a table's may be much longer
_CONSOLE = re.compile(r"pixtool|WinPix|\.wpix|Microsoft\.?PIX|save-event-list", re.IGNORECASE)


def recognise(source: Source) -> Match | None:
    """Name, Global ID, Parent in a header, in any order; or what pixtool printed on the console."""
    top = pix.head(source)
    if top is not None:
        return Match(0.95, "PIX event list: Name, Global ID and Parent columns") if top.parent >= 0 else None
    # saved as .csv by a redirection instead of save-event-list: to be refused by name
    if len(_CONSOLE.findall("\n".join(line[:LONGEST] for line in source.head_lines[:60]))) >= 2:
        return Match(0.5, "console output of pixtool")
    return None


def read(source: Source, options: Options) -> Table:
    """GPU events and markers; raises NotTriageable for console output and lists without times."""
    if pix.head(source) is None:
        raise NotTriageable(
            f"{source.path}: console output of pixtool, not an event list", "name the file written by save-event-list"
        )
    table = pix.read(source, options, NAME)
    if len(table.columns) >= MANY:
        table.made_with = frozenset((collect([]),))
    return table


names = pix.names
collect = always(Command("pixtool open-capture FRAME.wpix save-event-list events.csv --counters=*", "pixtool"))
