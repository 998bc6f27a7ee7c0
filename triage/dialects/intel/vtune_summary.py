"""The summary that VTune prints: its table of hottest computing tasks as a table with tabs, on the same lines.

`vtune -report summary` and `vtune -collect` end in text: a title, a header, a rule of dashes, rows in columns of fixed width. The
other lines are blanked, so that what is read keeps its line.
"""

from __future__ import annotations

import re

from triage.capture.source import Source

_TITLE_RE = re.compile(r"\s{0,40}(?:Hottest|Top) (?:GPU )?Computing Tasks\b", re.IGNORECASE)
_RULE_RE = re.compile(r"\s*-{3,}(?:\s+-{3,})+\s*")
_VALUE_RE = re.compile(r"\s*([-+]?[\d.,]+)\s*(?:s|sec|%)\s*")
_LAMBDA_RE = re.compile(r"typeinfo name for\s+")
FIRST_LINES = 400  # of a summary, which prints host tasks and elapsed times before


def as_table(source: Source) -> Source:
    """The source as a table with tabs where it is such a summary, else itself."""
    if source.is_folder or not _TITLE_RE.search(source.head_text):
        return source
    lines = source.head_lines[:FIRST_LINES]
    title = next((i for i, line in enumerate(lines) if _TITLE_RE.match(line)), -1)
    rule = next((i for i in range(title + 1, min(title + 4, len(lines))) if _RULE_RE.fullmatch(lines[i])), -1)
    if title < 0 or rule < title + 2:
        return source
    starts = [m.start() for m in re.finditer(r"-+", lines[rule])]
    out = [""] * (rule - 1) + [_cut(lines[rule - 1], starts), ""]
    for line in lines[rule + 1 :]:
        if not line.strip() or line.startswith("["):
            break
        out.append(_cut(_LAMBDA_RE.sub(lambda m: " " * len(m[0]), line), starts))
    table = Source(source.path, data=("\n".join(out) + "\n").encode("utf-8", "replace"))
    table.__dict__ |= {"sha256": source.sha256, "size": source.size}  # of the file as it is
    return table


def _cut(line: str, starts: list[int]) -> str:
    cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
    return "\t".join(m[1] if (m := _VALUE_RE.fullmatch(cell)) else cell for cell in cells)
