"""The summary that VTune prints: its table of hottest computing tasks as a table with tabs, on the same lines.

`vtune -report summary` and `vtune -collect` end in text: a title, a header, a rule of dashes, rows in columns of fixed width. The
other lines are blanked, so that what is read keeps its line. With `-format csv` the tables have a column of levels before them.
"""

from __future__ import annotations

import re

from triage.capture.cells import cells
from triage.capture.source import Source

_TITLE_RE = re.compile(r"[\s\d,;\"]{0,40}(?:Hottest|Top) (?:GPU )?Computing Tasks\b", re.IGNORECASE)
_CELL_RE = re.compile(r'"?\d{1,2}"?([\t,;])"?(?:Hottest|Top) (?:GPU )?Computing Tasks\b', re.IGNORECASE)
_RULE_RE = re.compile(r"\s*-{3,}(?:\s+-{3,})+\s*")
_VALUE_RE = re.compile(r"\s*([-+]?[\d.,]+)\s*(?:s|sec|%)\s*")
_LAMBDA_RE = re.compile(r"typeinfo name for\s+")
FIRST_LINES = 400  # of a summary, which prints host tasks and elapsed times before


def as_table(source: Source) -> Source:
    """The source as a table with tabs where it is such a summary, else itself. Of several tables the first with tasks is taken."""
    if not _TITLE_RE.search(source.head_text):
        return source
    lines = source.head_lines[:FIRST_LINES]
    titles = [i for i, line in enumerate(lines) if _TITLE_RE.match(line) or _CELL_RE.match(line)]
    tables = [found for i in titles if (found := _exported(lines, i) or _printed(lines, i))]
    if not tables:
        return source
    out = next((t for t in tables if t[-1]), tables[0])
    table = Source(source.path, data=("\n".join(out) + "\n").encode("utf-8", "replace"))
    table.__dict__ |= {"sha256": source.sha256, "size": source.size}  # of the file as it is
    return table


def _printed(lines: list[str], title: int) -> list[str]:
    """The table below a title in columns of fixed width, on its own lines; [] where there is none."""
    rule = next((i for i in range(title + 1, min(title + 4, len(lines))) if _RULE_RE.fullmatch(lines[i])), -1)
    if rule < title + 2:
        return []
    starts = [m.start() for m in re.finditer(r"-+", lines[rule])]
    out = [""] * (rule - 1) + [_cut(lines[rule - 1], starts), ""]
    for line in lines[rule + 1 :]:
        if not line.strip() or line.startswith("[") or len(line) - len(line.lstrip()) < starts[0]:
            break
        out.append(_cut(_LAMBDA_RE.sub(lambda m: " " * len(m[0]), line), starts))
    return out


def _exported(lines: list[str], title: int) -> list[str]:
    """The table below a title of `vtune -report summary -format csv`, without the level before each row; [] where there is none."""
    found = _CELL_RE.match(lines[title])
    if found is None or title + 1 >= len(lines):
        return []
    mark = found[1]
    header = cells(lines[title + 1], mark)
    out = [""] * (title + 1) + ["\t".join(h.strip() for h in header[1:])]
    for line in lines[title + 2 :]:
        row = cells(line, mark)
        if row[0].strip() != header[0].strip() or len(row) < 3 or not row[2].strip():
            break
        out.append("\t".join(_value(_LAMBDA_RE.sub("", cell).strip()) for cell in row[1:]))
    return out if header[1:2] == ["Computing Task"] else []


def _cut(line: str, starts: list[int]) -> str:
    return "\t".join(_value(line[a:b].strip()) for a, b in zip(starts, [*starts[1:], None], strict=True))


def _value(cell: str) -> str:
    """`1.5s` and `93.3%` without their units, which the header holds."""
    return m[1] if (m := _VALUE_RE.fullmatch(cell)) else cell
