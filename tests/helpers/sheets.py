"""Text tables cut into raw cells, so that they can be damaged and compared cell by cell."""

import re
from collections import Counter
from dataclasses import dataclass

NUMBER = re.compile(r'\s*"?\s*[+-]?\d+(?:\.\d+)?\s*"?\s*\Z')


@dataclass(slots=True)
class Sheet:
    """A text table cut into raw cells, quotes and all. head: number of its header line; body: of lines with numbers."""

    lines: list[str]
    sep: str
    width: int
    head: int
    body: list[int]
    encoding: str = "utf-8"

    def cells(self, line: int) -> list[str]:
        """The cells of a line as they stand."""
        return cut(self.lines[line].rstrip("\r"), self.sep)

    def put(self, line: int, cells: list[str]) -> None:
        """New cells for a line."""
        end = "\r" if self.lines[line].endswith("\r") else ""
        self.lines[line] = self.sep.join(cells) + end

    def bytes(self) -> bytes:
        """The whole file."""
        return "\n".join(self.lines).encode(self.encoding, "surrogateescape")


def cut(line: str, sep: str) -> list[str]:
    """Raw cells of a line, separators within quotes left alone."""
    if '"' not in line or sep == "\t":
        return line.split(sep)
    return re.findall(rf'((?:[^"{re.escape(sep)}]|"[^"]*(?:"|\Z))*)(?:{re.escape(sep)}|\Z)', line)[: count(line, sep)]


def count(line: str, sep: str) -> int:
    """How many cells a line has."""
    return re.sub(r'"[^"]*"', "", line).count(sep) + 1


def sheet(data: bytes) -> Sheet | None:
    """The table of an export; None where it is none, or binary."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    if encoding == "utf-8" and (b"\0" in data[:4096] or data[:1] in b"{["):  # binary, or JSON
        return None
    lines = data.removeprefix(b"\xef\xbb\xbf").decode(encoding, "surrogateescape").split("\n")
    best: tuple[int, str, int] = (0, "", 0)
    for sep in ",;\t|":
        counts = Counter(count(line, sep) for line in lines if line.strip())
        counts.pop(1, None)
        if counts:
            width, times = counts.most_common(1)[0]
            best = max(best, (times * (width - 1), sep, width))
    _, sep, width = best
    if not sep:
        return None
    fits = [i for i, line in enumerate(lines) if count(line, sep) == width]
    body = [i for i in fits[1:] if any(NUMBER.match(c) for c in cut(lines[i], sep))]
    table = 2 * len(fits) > sum(bool(line.strip()) for line in lines)  # else text that holds commas
    return Sheet(lines, sep, width, fits[0], body, encoding) if body and table else None
