"""Nsight Compute's console output saved to a file: sections of three aligned columns per launch, rule texts below."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.nvidia import ncu_long, ncu_names
from triage.dialects.nvidia.ncu_file import chatter
from triage.ground.errors import BadCapture, NotTriageable

NAME = "ncu-text"
SIGN = ("section: ", "==prof==", "==warning==", "==error==")
TELLS = {"work": "compute", "vendor": "nvidia", "api": "cuda"}
TITLE = "Nsight Compute console output (text)"
CAPTURE = """\
The text that `ncu ./your-app` prints is read as it is, but it rounds more and repeats nothing by its full name. \
Prefer `ncu --set full --csv --page raw --print-units base --log-file kernels.csv ./your-app`."""

# older: `  name(args), 2020-Mar-04 10:11:12, Context 1, Stream 7`; newer: `  name(args) (8, 1, 1)x(256, 1, 1),
# Context 1, Stream 7, Device 0, CC 8.6`; summaries have Device and Invocations instead of Context
_LAUNCH = re.compile(
    r"^\s{0,4}(?P<name>\S.*?)(?:,\s\d{4}-\w{3}-\d{2} [\d:]+|\s(?P<grid>\([\d, ]+\))x(?P<block>\([\d, ]+\)))?"
    r",\s(?:Context \d+, Stream \d+|Device \d+)(?:, Device \d+)?(?:, CC (?P<cc>\d+\.\d+))?(?:, Invocations (?P<calls>[\d.,]+))?\s*$"
)
# a paste may have lost the indentation, and the line of the launch
_SECTION = re.compile(r"^\s*Section: (.+?)\s*$")
_RULE = re.compile(r"^\s*(OPT|INF|WRN|OK|ERR)\s{1,6}(\S.*)$")
_UNNAMED = "(unnamed kernel)"
_TABLE = re.compile(r"^[ \t]*Section: .+\n[ \t]*-{5,}(?: -{3,})+[ \t]*$", re.MULTILINE)
_DASHES = re.compile(r"^\s*-{5,}(?: -{3,})+\s*$")
# `Duration   msecond   3.22`, `Memory [%]%   43.81`, `Avg. Active Threads Per Warp28.11`
_CLOSED_UP = re.compile(
    r"^\s{1,8}(?P<name>\S.{0,80}?)(?:\s{2,90}(?P<unit>[A-Za-z%]\S{0,30})|(?P<glued>%|inst))?\s{0,90}(?<![\d.,])(?P<value>\d[\d.,]{0,30})\s{0,90}$"
)
# quoted without rules: `    Memory Throughput             26.05 %`
_QUOTED = re.compile(
    r"^[ \t]{1,8}(?P<name>[A-Z#]\S.{0,80}?)[ \t]{2,90}(?P<value>\d[\d.,]{0,30})(?:[ \t](?P<unit>%))?\s{0,90}$"
)
_QUOTE = re.compile(
    r"^[ \t]*Section: .+\n[ \t]{1,8}[A-Z#]\S.{0,80}?[ \t]{2,90}\d[\d.,]{0,30}(?: %)?[ \t]{0,90}$", re.MULTILINE
)
_SPEEDUP = re.compile(r"^Est\. (Local )?Speedup: ([\d.,]+)%\s*")

names = ncu_names.names
collect = ncu_names.collect


def recognise(source: Source) -> Match | None:
    """Section headings of the console output; or only the profiler's own complaints, to be refused by quoting them."""
    head = source.head_text
    if re.search(r"^[ \t]*Section: ", head, re.MULTILINE) and any(_LAUNCH.match(x) for x in source.head_lines):
        return Match(0.8, "console output of ncu: launches with aligned sections")
    if _TABLE.search(head):
        return Match(0.7, "sections of ncu's console output without the line that names the kernel")
    if _QUOTE.search(head):
        return Match(0.6, "sections quoted from ncu's console output, without rules or the line that names the kernel")
    if re.search(r"^==(?:PROF|ERROR|WARNING)==", head, re.MULTILINE):
        return Match(0.4, "messages of ncu without a table")
    return None


@dataclass(slots=True)
class _Log:
    """Records as of a long table, role -> text, and the 1-based line of each."""

    rows: list[dict[str, str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    launches: int = 0


def read(source: Source, options: Options) -> Table:
    """One row per launch; raises NotTriageable with the profiler's words when there is no launch in the text."""
    import pandas as pd

    log = _parse(source)
    if not log.rows:
        message = chatter(source)
        if message:
            raise NotTriageable(f"{source.path}: no kernels recorded (ncu: {message})", "fix that, and profile again")
        raise NotTriageable(
            f"{source.path}: ncu output without results",
            "run: ncu --set full --csv --page raw --print-units base --log-file kernels.csv ./your-app",
        )
    # the same records as of a details page, so the same builder; texts repeat, so categories
    frame = pd.DataFrame(log.rows).fillna("").astype("category")
    source.delimiter = "\x1f"  # a quoted origin is then the whole line
    part = ncu_long.Part(frame, np.array(log.lines), {"value": 1, "block": 1, "grid": 1})
    average = "calls" in frame
    try:
        table = ncu_long.build(source, NAME, [part], "", options.decimal, average)
    except ValueError as e:
        raise BadCapture(f"{source.path}: damaged console output ({e})", "export as CSV") from e
    if failed := re.findall(r"^==ERROR== *(\S.{0,200}?)\.?$", source.head_text, re.MULTILINE):
        if not any((column.values > 0).any() for column in table.columns.values()):
            raise NotTriageable(
                f"{source.path}: ncu reports an error, and no metric has a value ({failed[0]})",
                "make the kernel run under ncu first: compute-sanitizer ./your-app, or ncu with --launch-skip, then profile again",
            )
        table.remark("profiler-error", f"ncu reports an error: {failed[0]}")
    if any(name == _UNNAMED for name in table.names):
        table.notes.append("the line that names the kernel is missing")
    table.notes.append("read from console text; the CSV of the raw page has more counters and full names")
    return table


def _cells(line: str, spans: list[tuple[int, int]]) -> tuple[str, str, str]:
    """Name, unit and value of a row; of one that ends before the column of values, as where blanks were lost, by its words."""
    if not spans:
        quoted = _QUOTED.match(line)
        return (quoted["name"], quoted["unit"] or "", quoted["value"]) if quoted else ("", "", "")
    if len(line.rstrip()) > spans[-2][1]:
        return line[: spans[0][1]].strip(), line[spans[0][1] : spans[1][1]].strip(), line[spans[-2][1] :].strip()
    m = _CLOSED_UP.match(line)
    return (m["name"], m["unit"] or m["glued"] or "", m["value"]) if m else ("", "", "")


def _parse(source: Source) -> _Log:
    """Launches, their metrics and rule texts.

    spans: columns of the section's table, as its dashes draw them; speaking: the rule whose text may go on, or -1.
    """
    log = _Log()
    launch: dict[str, str] = {}
    section, spans, speaking = "", [(0, 0)], -1
    seen: set[str] = set()  # sections of an unnamed launch: one of them again begins the next
    for number, line in enumerate(source.lines(), 1):
        if (m := _LAUNCH.match(line)) and not line.lstrip().startswith("=="):
            log.launches += 1
            launch = {"key": str(log.launches), "kernel": m["name"]}
            launch |= {k: m[k] for k in ("grid", "block", "cc", "calls") if m[k]}
            section, spans, speaking = "", [], -1
            log.rows.append(dict(launch))  # a record without a metric, so that a launch without sections is not lost
            log.lines.append(number)
        elif m := _SECTION.match(line):
            section, spans, speaking = m[1], [], -1
            if not launch or (launch["kernel"] == _UNNAMED and section in seen):
                log.launches += 1
                launch, seen = {"key": str(log.launches), "kernel": _UNNAMED}, set()
            seen.add(section)
        elif not launch:
            continue
        elif _DASHES.match(line):
            found = [(d.start(), d.end()) for d in re.finditer(r"-+", line)]
            # the metrics' table has three columns; fewer dashes leave its columns as they are
            spans, speaking = (found if len(found) >= 3 else spans), -1
        elif m := _RULE.match(line):
            speedup = _SPEEDUP.match(m[2])
            rule = {"rule": section.replace(" ", "") or "Rule", "rtype": m[1], "rtext": m[2].strip()}
            if speedup:
                rule |= {"speedup": speedup[2], "stype": "local" if speedup[1] else "global"}
            log.rows.append(launch | rule)
            log.lines.append(number)
            speaking = len(log.rows) - 1
        elif not line.strip():
            speaking = -1
        elif speaking >= 0 and line.startswith("    "):
            log.rows[speaking]["rtext"] += " " + line.strip()
        elif spans or _QUOTED.match(line):
            name, unit, value = _cells(line, spans)
            if name and name != "Metric Name" and value:
                log.rows.append(launch | {"section": section, "metric": name, "unit": unit, "value": value})
                log.lines.append(number)
    return log
