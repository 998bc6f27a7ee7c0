"""Tables whose kernel names hold commas and no quotes, as older rocprof writes Kokkos and template names.

A row with more cells than the header has them in its name, since all others are numbers: the name is quoted, the lines stay.
"""

from __future__ import annotations

import re

from triage.capture.source import Source

_NUMBER_RE = re.compile(r"\s*(?:[-+]?[\d.]+(?:[eE][-+]?\d+)?|0x[0-9a-fA-F]+)?\s*")


def quoted(source: Source, header: int, headers: list[str], name_at: int) -> Source:
    """The source with such names quoted; itself where its first rows have none. header: 1-based line; name_at: 0-based column."""
    width = len(headers)
    if source.delimiter != "," or not any(_mended(text, width, name_at) for text in source.head_lines[header:]):
        return source
    lines = list(source.lines())
    for i in range(header, len(lines)):
        lines[i] = _mended(lines[i].rstrip("\n"), width, name_at) or lines[i].rstrip("\n")
    text = "\n".join(line.rstrip("\n") for line in lines) + "\n"
    out = Source(source.path, data=text.encode("utf-8", "replace"))
    out.__dict__ |= {"sha256": source.sha256, "size": source.size}  # of the file as it is
    out.delimiter, out.skip_space = source.delimiter, source.skip_space
    return out


def _mended(line: str, width: int, name_at: int) -> str:
    """The line with its name quoted, "" where it needs none or is none of this kind."""
    cells = line.split(",")
    extra = len(cells) - width
    if extra <= 0 or '"' in line or line.count(",") < width:
        return ""
    before, name, after = cells[:name_at], cells[name_at : name_at + extra + 1], cells[name_at + extra + 1 :]
    if not all(_NUMBER_RE.fullmatch(cell) for cell in (*before, *after)):
        return ""
    return ",".join([*before, f'"{",".join(name).strip()}"', *after])
