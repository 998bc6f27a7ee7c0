"""Cells that a reader did not use, counted by what is wrong with them: one remark of each kind, however many there are."""

from __future__ import annotations

from msgspec import Struct, field

from triage.capture.capture import Quality
from triage.ground import units

_REMARKS = {  # kind -> what such cells hold, and what was done
    "not-a-number": ("no number where one belongs", "taken as missing"),
    "not-finite": ("nan, infinity or a number beyond all measure", "taken as missing"),
    "foreign-unit": ("a unit that does not fit", "taken as missing"),
    "own-unit": ("a unit other than its column's", "converted"),
}


class Odd(Struct):
    """seen: kind -> (cells, the first of them in words)."""

    seen: dict[str, tuple[int, str]] = field(default_factory=dict)
    headers: set[int] = field(default_factory=set)  # lines on which a column's own name stands among its cells

    def add(self, kind: str, text: str, header: str, line: int = 0, cells: int = 1) -> None:
        """Some equal cells of a column. kind: a key of the texts above; line: 1-based, of the first, 0 for unknown."""
        count, first = self.seen.get(kind, (0, ""))
        at = f", line {line}" if line else ""
        self.seen[kind] = count + cells, first or f"{text.strip()[:40]!r} in {header.strip()[:80]!r}{at}"

    def number(self, text: str, style: units.Style, header: str, line: int = 0) -> float:
        """A cell as a number, NaN where it holds none; what is odd about it is noted."""
        try:
            value = units.parse(text, style)
        except ValueError:
            self.add("not-a-number", text, header, line)
            return float("nan")
        if value is None:
            if units.not_finite(text):
                self.add("not-finite", text, header, line)
            return float("nan")
        return value

    def remarks(self) -> list[Quality]:
        """One remark of each kind that was seen."""
        out = []
        for kind, (count, first) in self.seen.items():
            what, treated = _REMARKS[kind]
            cells = "cell holds" if count == 1 else "cells hold"
            out.append(Quality(kind, f"{count} {cells} {what} (first: {first}); {treated}"))
        return out
