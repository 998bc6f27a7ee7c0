"""Nsight Compute's console output saved to a file: sections of three aligned columns per launch, rule texts below."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from msgspec import Struct, field

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.nvidia import ncu_long, ncu_names
from triage.dialects.nvidia.ncu_file import chatter
from triage.dialects.tables import wide_table
from triage.ground.errors import BadCapture, NotTriageable
from triage.ground.units import known

NAME = "ncu-text"
SIGN = ("section: ", "==prof==", "==warning==", "==error==", "memory throughput", "dram throughput", "(sm) throughput")
TELLS = {"work": "compute", "vendor": "nvidia", "api": "cuda"}
TITLE = "Nsight Compute console output (text)"
CAPTURE = """\
The text that `ncu ./your-app` prints is read as it is, but it rounds more and repeats nothing by its full name. \
Prefer `ncu --set full --csv --page raw --print-units base --log-file kernels.csv ./your-app`."""

# older: `  name(args), 2020-Mar-04 10:11:12, Context 1, Stream 7`; newer: `  name(args) (8, 1, 1)x(256, 1, 1),
# Context 1, Stream 7, Device 0, CC 8.6`; summaries have Device and Invocations instead of Context
_LAUNCH = re.compile(
    r"^\s{0,4}(?P<name>\S.*?)(?:,\s\d{4}-\w{3}-\d{2} [\d:]+|\s(?P<grid>\([\d, ]+\))x(?P<block>\([\d, ]+\)))?"
    r"(?(grid)(?:,\s(?:Context \d+, Stream \d+|Device \d+))?|,\s(?:Context \d+, Stream \d+|Device \d+))(?:, Device \d+)?(?:, CC (?P<cc>\d+\.\d+))?(?:, Invocations (?P<calls>[\d.,]+))?\s*$"
)
# a paste may have lost the indentation, and the line of the launch
_SECTION = re.compile(r"^\s*Section: (.+?)\s*$")
_RULE = re.compile(r"^\s*(OPT|INF|WRN|OK|ERR)\s{1,6}(\S.*)$")
_UNNAMED = "(unnamed kernel)"
_TABLE = re.compile(r"^[ \t/]*Section: .+\n[ \t/]*-{5,}(?: -{3,})+[ \t]*$", re.MULTILINE)
_DASHES = re.compile(r"^\s*-{5,}(?: -{3,})+\s*$")
# `Duration   msecond   3.22`, `Memory [%]%   43.81`, `Avg. Active Threads Per Warp28.11`
_CLOSED_UP = re.compile(
    r"^\s{1,8}(?P<name>\S.{0,80}?)(?:\s{2,90}(?P<unit>[A-Za-z%]\S{0,30})|(?P<glued>%|inst))?\s{0,90}(?<![\d.,])(?P<value>\d[\d.,]{0,30})\s{0,90}$"
)
# a cell of notes: `11.81%`, `143 us`, `2,941,571`
_FIGURE = re.compile(r"[~≈]?\s?(?P<value>\d[\d.,]{0,30})\s?(?P<unit>[A-Za-z%µ][\w/%]{0,20})?(?: of peak)?")
# what people add: the marks of a comment in source code, a remark behind an arrow
_ADDED = re.compile(r"^\s{0,90}//|\s<-{1,9}\s.*")
# the profiler's command above what it printed
_COMMAND = re.compile(r"(?:-k|--kernel-name)[ =][\"']?(?:regex:|function:)?[\"']?(\w+)")
MIN_NOTED = 4  # metrics that make a text notes of a profile; fewer are any text about one
_SPEEDUP = re.compile(r"^Est\. (Local )?Speedup: ([\d.,]+)%\s*")

names = ncu_names.names
collect = ncu_names.collect


def recognise(source: Source) -> Match | None:
    """Section headings of the console output; or only the profiler's own complaints, to be refused by quoting them."""
    head = source.head_text
    section = re.search(r"^[ \t/]*Section: ", head, re.MULTILINE)
    if section and any(_LAUNCH.match(x) for x in source.head_lines):
        return Match(0.8, "console output of ncu: launches with aligned sections")
    if _TABLE.search(head):
        return Match(0.7, "sections of ncu's console output without the line that names the kernel")
    if re.search(r"^==(?:PROF|ERROR|WARNING)==", head, re.MULTILINE):
        return Match(0.4, "messages of ncu without a table")
    lower = head.lower()
    if not section and not any(label in lower for label in SIGN[-3:]):
        return None
    noted = len({row["metric"] for row in _notes(source.head_lines[:400]).rows})
    few = noted < (1 if section else MIN_NOTED)
    return None if few else Match(0.5, f"{noted} metrics of ncu in notes, one a line")


class _Log(Struct):
    """Records as of a long table, role -> text, and the 1-based line of each."""

    rows: list[dict[str, str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    launches: int = 0


def read(source: Source, options: Options) -> Table:
    """One row per launch; raises NotTriageable with the profiler's words when there is no launch in the text."""
    import pandas as pd

    log = _parse(source)
    if not any("value" in row for row in log.rows):
        log = _notes(source.lines())
    if not log.rows:
        message = chatter(source)
        if message:
            raise NotTriageable(f"{source.path}: no kernels recorded (ncu: {message})", "fix that, and profile again")
        what = "table without kernel names" if "Metric Value" in source.head_text else "output without results"
        hint = "run: ncu --set full --csv --page raw --print-units base --log-file kernels.csv ./your-app"
        raise NotTriageable(f"{source.path}: ncu {what}", hint)
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
    whole = not spans or len(line.rstrip()) > spans[-2][1]
    if whole and (not spans or line[spans[0][1] : spans[1][0]].strip()):  # without rules, or longer than those above it
        name, *figures = _noted(line)
        # `Duration    us    190.88`
        unit = figures.pop(0) if len(figures) > 1 and not _FIGURE.fullmatch(figures[0]) else ""
        if figures and (quoted := _FIGURE.fullmatch(figures[0])):  # `Memory Throughput    26.05 %`
            return name, unit or quoted["unit"] or "", quoted["value"]
        name, _, value = name.rpartition(" ")
        rest, _, unit = name.rpartition(" ")  # `One or More Eligible % 33.61`
        name, unit = (rest, unit) if known(unit) else (name, "")
        return (name, unit, value) if ncu_names.metric(name, unit) else ("", "", "")
    if whole:
        return line[: spans[0][1]].strip(), line[spans[0][1] : spans[1][1]].strip(), line[spans[-2][1] :].strip()
    m = _CLOSED_UP.match(line)
    return (m["name"], m["unit"] or m["glued"] or "", m["value"]) if m else ("", "", "")


def _parse(source: Source) -> _Log:
    """Launches, their metrics and rule texts.

    spans: columns of the section's table, as its dashes draw them; speaking: the rule whose text may go on, or -1.
    """
    log = _Log()
    launch: dict[str, str] = {}
    section, spans, speaking, unnamed = "", [(0, 0)], -1, _UNNAMED
    seen: set[str] = set()  # sections of a launch without its line: one of them again begins the next
    for number, line in _lines(source.lines()):
        if (m := _LAUNCH.match(line)) and not line.lstrip().startswith("=="):
            log.launches += 1
            launch = {"key": str(log.launches), "kernel": m["name"]}
            launch |= {k: m[k] for k in ("grid", "block", "cc", "calls") if m[k]}
            section, spans, speaking = "", [], -1
            log.rows.append(dict(launch))  # a record without a metric, so that a launch without sections is not lost
            log.lines.append(number)
        elif m := _SECTION.match(line):
            section, spans, speaking = m[1], [], -1
            if not launch or (launch["kernel"] == unnamed and section in seen):
                log.launches += 1
                launch, seen = {"key": str(log.launches), "kernel": unnamed}, set()
            seen.add(section)
        elif not launch:
            unnamed = _named(line, unnamed)
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
        elif speaking >= 0:
            log.rows[speaking]["rtext"] += " " + line.strip()
        else:
            name, unit, value = _cells(line, spans)
            if name and name != "Metric Name" and value:
                log.rows.append(launch | {"section": section, "metric": name, "unit": unit, "value": value})
                log.lines.append(number)
    _join_runs(log)
    return log


def _lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Numbered lines without what people add to them."""
    return ((number, _ADDED.sub("", line)) for number, line in enumerate(lines, 1))


def _named(line: str, before: str) -> str:
    """The kernel that the profiler's command on a line asks for, else the one before."""
    return m[1] if (m := _COMMAND.search(line)) else before


def _join_runs(log: _Log) -> None:
    """One launch of those of a kernel that share no metric: the application ran again for the others."""
    metrics: dict[str, set[str]] = defaultdict(set)
    launches: dict[tuple[str | None, ...], list[str]] = defaultdict(list)  # by kernel and shape
    into: dict[str, str] = {}
    for row in log.rows:
        metrics[row["key"]] |= {row.get("metric", "")} - {""}
    for row in log.rows:
        key, same = row["key"], launches[tuple(row.get(k) for k in ("kernel", "grid", "block", "cc"))]
        if key not in into:
            into[key] = next((k for k in same if metrics[key] and not metrics[k] & metrics[key]), key)
            metrics[into[key]] |= metrics[key]
            same += [key] if into[key] == key else []
        row["key"] = into[key]


def _notes(lines: Iterable[str]) -> _Log:
    """Launches of notes with a metric per line; the columns of a table are launches, a single one has its headings' name.

    The next ones begin where a metric comes again, and below another heading unless columns of the same titles go on.
    """
    log = _Log()
    headings: dict[int, str] = {}  # the last one of each level
    titles, before, named = [""], [""], ""
    below: tuple[str, ...] = ()  # what the launches are called by
    seen: set[tuple[str, str]] = set()
    for number, line in _lines(lines):
        cells, named = _noted(line), _named(line, named)
        figures = {c: m for c, text in enumerate(cells) if (m := _FIGURE.fullmatch(text))}
        at, unit, metric = _noted_metric(cells, titles, figures)
        if line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            headings = {k: v for k, v in headings.items() if k < level} | {level: line.strip("#* \n").replace("`", "")}
            named = ""
        elif set(line) <= set("|:- \n"):  # the line between the head of a table and its rows
            titles = before if "-" in line else titles
        before = cells
        if not metric:
            continue
        columns = [c for c in figures if c > at]
        called = tuple(titles) if len(columns) > 1 else (named,) if named else tuple(headings.values())
        if (cells[at], metric) in seen or called != below:
            log.launches, below, seen = log.launches + 1, called, set()
        seen.add((cells[at], metric))
        for c in columns:
            title = " / ".join(called) if len(columns) == 1 else titles[c] if c < len(titles) else ""
            title = f"column {title}" if title.isdigit() else title
            row = {"key": f"{log.launches}.{c}", "kernel": title or _UNNAMED, "section": "", "metric": cells[at]}
            log.rows.append(row | {"unit": unit or figures[c]["unit"] or "", "value": figures[c]["value"]})
            log.lines.append(number)
    return log


def _noted_metric(cells: list[str], titles: list[str], figures: Mapping[int, re.Match[str]]) -> tuple[int, str, str]:
    """Place of the name of the metric of a line, its unit, "" where the figures have theirs, and its id, "" for none."""
    units = [c for c, title in enumerate(titles[: len(cells)]) if title.lower() in ("unit", "metric unit")]
    for at in range(max(figures, default=0)):
        cells[at], unit = wide_table.split_unit(cells[at])
        place, first = next((c, m) for c, m in figures.items() if c > at)
        beside = "".join(cells[c] for c in units or range(at + 1, place))
        unit = unit or (beside if units or known(beside) else "")  # in a cell of its own
        if at not in figures and (metric := ncu_names.metric(cells[at], unit or first["unit"] or "")):
            return at, unit, metric
    return -1, "", ""


def _noted(line: str) -> list[str]:
    """Cells of a line of notes: of a table drawn with bars, else what blanks, a tab or a colon set apart."""
    bare = line[:2_000].strip().lstrip("> ").removeprefix("- ")
    cells = bare.strip("|").split("|") if bare.startswith("|") or " | " in bare else re.split(r"\s{2,90}|\t|: ", bare)
    return [c.strip(" *`") for c in cells]
