"""What stands around an export that someone pasted: a page's prose, a shell's lines, marks of quotes and comments.

Lines keep their numbers: those outside the export are blank, and marks at the beginning of lines are taken away.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from triage.capture.cells import cells, delimiter
from triage.capture.source import HEAD, Source

MIN_WIDTH = 3  # cells of a row; prose with a comma has two
MAX_TABLES = 8  # of a text that are looked at
MIN_MARKED = 0.7  # heuristic: of the lines from the first marked one on; an excerpt says `...` between them
_MARKS = (re.compile(r"\s{0,8}> ?"), re.compile(r"\s{0,8}//+ ?"), re.compile(r"\s{0,8}\d{1,6}: "), re.compile("# ?"))
_RULE_RE = re.compile(r"\s{0,9}\|[ :|-]+")  # below the header of a Markdown table, with dashes
_EMPHASIS_RE = re.compile(r"\*\*|`| \([\d.]+%\)|(?<=\| )[~≈](?=\d)| {1,99}(?=\|)|(?<=\|) ")
_OUTSIDE_RE = re.compile(r"\s{0,99}(?:```|[-=]{2}[-=\s]*$)")  # of the rows of a table: fences and rules
_DELIMITED_RE = re.compile(r"[,;\t|]")
_FIGURE_RE = re.compile(r"[+-]?[\d.]+%?")


def unmark(source: Source) -> None:
    """Take quotes' and comments' marks from the lines of a text that has hardly any others."""
    for mark in _MARKS:
        marked = [bool(mark.match(line)) for line in source.head_lines if line.strip()]
        rest = marked[marked.index(True) :] if sum(marked) >= MIN_WIDTH else []
        # a table may have comments above its header: they are marks where no other line follows
        if rest and sum(rest) >= len(rest) * (1.0 if mark is _MARKS[-1] else MIN_MARKED):
            _rewrite(source, [mark.sub("", line, count=1) if mark.match(line) else "" for line in source.lines()])
            return


def is_page(source: Source) -> bool:
    """True for a text with a table as Markdown writes it."""
    return any("---" in line and _RULE_RE.fullmatch(line) for line in source.head_lines)


def tables(source: Source) -> Iterator[Source]:
    """A source for each table within a text, the longest first: its header and the rows below."""
    lines = source.head_lines
    if len(source.head) >= HEAD:
        return
    for at in sorted(_places(lines), key=len, reverse=True)[:MAX_TABLES]:
        part, own = source.without(source.path, ()), lines[at.start : at.stop]
        if own[0].lstrip().startswith("|"):
            own = [_EMPHASIS_RE.sub("", line) for line in own]
        elif not _DELIMITED_RE.search(own[0]):
            own = ["\t".join(_cells(line)) for line in own]
        _rewrite(part, [*[""] * at.start, *own, ""])
        yield part


def _places(lines: Sequence[str]) -> Iterator[range]:
    """The lines of each table: of one width, below a header without figures."""
    rows = {n: _cells(line) for n, line in enumerate(lines) if not _OUTSIDE_RE.match(line)}
    for width, run in itertools.groupby(rows, key=lambda n: len(rows[n])):
        at = list(run)
        beside = [rows[n] for n in (at[0] - 1, at[-1] + 1) if n in rows]  # cut or damaged rows, else prose
        if width >= MIN_WIDTH and len(at) > 1 and not any(map(_has_figure, (rows[at[0]], *beside))):
            yield range(at[0], at[-1] + 1)


def _has_figure(row: Sequence[str]) -> bool:
    return len(row) > 1 and any(map(_FIGURE_RE.fullmatch, row))


def _cells(line: str) -> list[str]:
    """Cells of a row, between delimiters or, where their own cells hold such, runs of blanks."""
    found = [c.strip() for c in cells(line, delimiter(line))]
    aligned = re.split(r"\s{2,}", line.strip())
    is_aligned = len(found) < 2 or ("|" not in line and any("  " in c for c in found))
    return aligned if is_aligned and len(aligned) > 1 else found


def _rewrite(source: Source, lines: Iterable[str]) -> None:
    source.rewrite("\n".join(lines).encode(source.encoding.removesuffix("-sig"), "replace"))
