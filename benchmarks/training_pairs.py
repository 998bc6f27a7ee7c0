"""Scoreboard of the training loops: what was promised from the trace of the slow side, beside what the fix gave.

    python benchmarks/training_pairs.py [FOLDER]     # FOLDER: sample_captures/ground_truth, with training.csv and traces/

A loop is promised what the to-do items of its expected rules save together, as items never overlap.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from ground_truth import FOLDER, PROMISED, diagnose, truth, within

GAINED = 1.1  # below this speed-up the fix gave nothing that a rule should have promised


@dataclass(frozen=True)
class Score:
    """How both sides of one pair were diagnosed; low, likely, bound: speed-ups, fixed: share of the span."""

    defect: str
    first: str  # rule of the first item of the slow side, "" for none
    expected: frozenset[str]
    measured: float
    low: float
    likely: float
    bound: float
    fixed: float

    @property
    def is_defect(self) -> bool:
        """The fix made the loop faster; other pairs are controls."""
        return bool(self.expected) and self.measured >= GAINED

    @property
    def named_first(self) -> bool:
        """The first item rests on a rule that was expected."""
        return self.first in self.expected

    @property
    def inside(self) -> bool:
        """The measured speed-up lies in the promised range."""
        return within(self.low, self.measured, self.bound)

    @property
    def silent(self) -> bool:
        """The fixed side is no longer promised what was fixed."""
        return self.fixed <= PROMISED


def promised(result: dict[str, Any], rules: frozenset[str]) -> tuple[float, float, float]:
    """(low, likely, bound) shares of the span that the items of some rules save."""
    span = result["frame"]["duration_ns"]
    mine = [i for i in result["todo"] if named(result, i) in rules]
    low, likely, bound = (sum(i[key] for i in mine) / span for key in ("low_ns", "saved_ns", "bound_ns"))
    return low, likely, min(bound, 0.99)


def named(result: dict[str, Any], item: dict[str, Any]) -> str:
    """Name of the rule that an item rests on."""
    return next((f["name"] for f in result["findings"] if f["rank"] in item["findings"][:1]), "")


def score(row: dict[str, str], slow: dict[str, Any], fixed: dict[str, Any]) -> Score:
    """Score one pair."""
    rules = frozenset(row["expected_rules"].split())
    low, likely, bound = (1 / (1 - min(part, 0.99)) for part in promised(slow, rules))
    first = named(slow, slow["todo"][0]) if slow["todo"] else ""
    after = promised(fixed, rules)[1]
    return Score(row["defect"], first, rules, float(row["speedup"]), low, likely, bound, after)


def scores(folder: Path = FOLDER) -> Iterator[Score]:
    """Score every measured pair."""
    for row in truth(folder, "training.csv"):
        sides = [folder / "traces" / f"{row['defect']}_{side}.pt.trace.json.gz" for side in ("slow", "fixed")]
        with ThreadPoolExecutor() as pool:
            yield score(row, *pool.map(diagnose, sides))


def scoreboard(board: Sequence[Score]) -> str:
    """The table that people read, and the totals."""
    row = "{:<22}{:<26}{:<8}{:<10}{:<24}{}".format
    lines = [row("pair", "first on the slow side", "right", "measured", "promised (likely)", "promised when fixed")]
    for s in board:
        right = "-" if not s.is_defect else "yes" if s.named_first else "NO"
        shown = f"{s.low:.2f} .. {s.bound:.2f} ({s.likely:.2f})" if s.bound > 1 else "nothing"
        lines.append(
            row(s.defect, s.first or "nothing", right, f"{s.measured:.2f}", f"{shown}{' ok' if s.inside else ''}",
                f"{s.fixed:.0%}{'' if s.silent else ' STILL'}")
        )  # fmt: skip
    real = [s for s in board if s.is_defect]
    lines.append(
        f"{len(real)} pairs whose fix gained: true cause first {sum(s.named_first for s in real)}, measured inside the range "
        f"{sum(s.inside for s in real)}, fixed side silent {sum(s.silent for s in real)}; "
        f"{len(board) - len(real)} controls, promised {max((1 - 1 / s.likely for s in board if not s.is_defect), default=0):.0%} at most"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    board = list(scores(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER))
    print(scoreboard(board) if board else "no measured pairs yet")
