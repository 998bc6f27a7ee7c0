"""Scoreboard of the ground truth: our ranking of kernels whose defect is known, beside NVIDIA's rules.

    python benchmarks/ground_truth.py [FOLDER]     # FOLDER: sample_captures/ground_truth

For each row of truth.csv the exports of the slow and the fixed kernel are diagnosed.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import triage
from triage.findings.profiler_rules import topic
from triage.rulebook import packs

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "sample_captures" / "ground_truth"
PAGES = ("raw", "details")
# Run-to-run spread of a median of 21 timings; without it a fix that does all it can may miss its bound.
NOISE = 0.03
PROMISED = 0.1  # a saving on the fixed kernel that a reader would act on


def within(low: float, measured: float, bound: float) -> bool:
    """A measured speed-up lies between two predicted ones, give or take its noise."""
    return low * (1 - NOISE) <= measured <= bound * (1 + NOISE)


def tenth_and_median(ratios: Iterable[float]) -> tuple[float, float]:
    """What nine in ten of the ratios reach, and half of them."""
    ordered = sorted(ratios)
    return ordered[int(len(ordered) * 0.1)], ordered[int(len(ordered) * 0.5)]


@dataclass(frozen=True)
class Score:
    """How one page of one pair was diagnosed."""

    defect: str
    page: str
    rank: int | None  # of the true cause on the slow kernel; None: missed
    first: str  # what came first instead, or the true cause
    named_on_fixed: bool  # with a saving that a reader would act on
    measured: float
    low: float | None  # predicted interval of speed-ups, from the finding that names the true cause
    bound: float | None
    nvidia: str  # NVIDIA's rules on the same launch
    nvidia_first: tuple[bool, bool]  # as names_first() returns it
    likely: float | None = None  # share of the time that the finding promises

    @property
    def reached(self) -> float | None:
        """Measured over likely saving of a true cause that came first."""
        return (1 - 1 / self.measured) / self.likely if self.rank == 1 and self.likely else None

    @property
    def inside(self) -> bool:
        """The measured speed-up lies in the predicted interval."""
        if self.low is None or self.bound is None:
            return False
        return within(self.low, self.measured, self.bound)


def diagnose(path: Path) -> dict[str, Any]:
    """The JSON result for one export."""
    return dict(triage.diagnose(path).to_dict())


def rules_in_order(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The best finding of each rule, by rank: one rule on 32 launches of a kernel is one answer, not 32."""
    best: dict[str, dict[str, Any]] = {}
    for finding in sorted(result["findings"], key=lambda f: f["rank"]):
        best.setdefault(finding["name"], finding)
    return list(best.values())


@cache
def causes() -> dict[str, str]:
    """Rule name -> cause: several rules may be evidence for one cause."""
    return {rule.name: rule.cause or rule.name for rule in packs.load().rules}


def true_causes(expected: Sequence[str]) -> set[str]:
    """Causes of the expected rules."""
    return {causes().get(rule, rule) for rule in expected}


def rank_of(result: dict[str, Any], expected: Sequence[str]) -> tuple[int | None, dict[str, Any] | None]:
    """Position of the first finding that names a true cause, by whatever rule, and that finding."""
    wanted = true_causes(expected)
    for position, finding in enumerate(rules_in_order(result), start=1):
        if causes().get(finding["name"], finding["name"]) in wanted:
            return position, finding
    return None, None


def interval(finding: dict[str, Any] | None) -> tuple[float | None, float | None]:
    """Predicted speed-ups: `low` and `bound` are fractions of the workload's time that the fix removes."""
    gain = (finding or {}).get("gain")
    if not gain or gain.get("low") is None or gain.get("bound") is None:
        return None, None
    low, bound = (1 / (1 - gain[end]) if gain[end] < 1 else float("inf") for end in ("low", "bound"))
    return low, bound


def nvidia_rules(result: dict[str, Any]) -> list[tuple[str, float, frozenset[str]]]:
    """NVIDIA's own advice on the same report, largest estimate first: rule, estimate, and the causes that it may mean."""
    best: dict[str, tuple[float, frozenset[str]]] = {}
    for workload in result["workloads"]:
        for opinion in workload.get("second_opinion") or []:
            if opinion.get("type") not in ("OPT", "WRN"):
                continue
            meant = topic(opinion["rule"], opinion["text"])
            estimate, causes = best.get(opinion["rule"], (0.0, frozenset()))
            best[opinion["rule"]] = (
                max(estimate, opinion.get("speedup") or 0.0),
                causes | frozenset(meant.causes if meant else ()),
            )
    return sorted(((rule, *rest) for rule, rest in best.items()), key=lambda item: (-item[1], item[0]))


def names_first(rules: Sequence[tuple[str, float, frozenset[str]]], wanted: set[str]) -> tuple[bool, bool]:
    """True if NVIDIA's rule with the largest estimate means a true cause: of all rules, and of those that mean any cause.

    Of equal estimates one is enough.
    """

    def hit(among: Sequence[tuple[str, float, frozenset[str]]]) -> bool:
        return any(causes & wanted for _, estimate, causes in among if estimate == among[0][1])

    return hit(rules), hit([rule for rule in rules if rule[2]])


def score(row: dict[str, str], page: str, slow: dict[str, Any], fixed: dict[str, Any]) -> Score:
    """Score one page of one pair."""
    expected = row["expected_rules"].split()
    rank, finding = rank_of(slow, expected)
    order = rules_in_order(slow)
    low, bound = interval(finding)
    again = rank_of(fixed, expected)[1]
    named = again is not None and ((again.get("gain") or {}).get("fraction") or 0.0) > PROMISED
    first = order[0]["name"] if order else "nothing"
    theirs = nvidia_rules(slow)
    nvidia = ", ".join(f"{rule} {estimate:g}" if estimate else rule for rule, estimate, _ in theirs)
    return Score(
        row["defect"],
        page,
        rank,
        first,
        named,
        float(row["speedup"]),
        low,
        bound,
        nvidia,
        names_first(theirs, true_causes(expected)),
        ((finding or {}).get("gain") or {}).get("fraction"),
    )


def truth(folder: Path = FOLDER, table: str = "truth.csv") -> list[dict[str, str]]:
    """The rows of a table of measured pairs; none before anything was measured."""
    path = folder / table
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def score_of(row: dict[str, str], page: str, folder: Path = FOLDER) -> Score:
    """Diagnose and score one page of one measured pair."""
    sides = [folder / "exports" / f"{row[side]}.{page}.csv" for side in ("kernel", "fixed_kernel")]
    return score(row, page, *(diagnose(path) for path in sides))


def scores(folder: Path = FOLDER) -> Iterator[Score]:
    """Score every measured pair, page by page."""
    return (score_of(row, page, folder) for row in truth(folder) for page in PAGES)


def scoreboard(board: Sequence[Score]) -> str:
    """The table that people read, and the three totals per page."""
    row = "{:<24}{:<9}{!s:<8}{:<28}{:<7}{:<10}{:<18}{}".format
    lines = [row("defect", "page", "rank", "first", "fixed", "measured", "predicted", "NVIDIA")]
    for s in board:
        predicted = f"{s.low:.2f} .. {s.bound:.2f}" if s.low is not None and s.bound is not None else "none"
        predicted += " ok" if s.inside else ""
        fixed = "NAMED" if s.named_on_fixed else "ok"
        rank, speedup = s.rank or "missed", f"{s.measured:.2f}"
        lines.append(row(s.defect, s.page, rank, s.first, fixed, speedup, predicted, s.nvidia))
    for page in PAGES:
        here = [s for s in board if s.page == page]
        first = sum(s.rank == 1 for s in here)
        top3 = sum(s.rank is not None and s.rank <= 3 for s in here)
        missed = sum(s.rank is None for s in here)
        lines.append(
            f"{page}: true cause first {first}, in the top three {top3}, missed {missed} of {len(here)}; "
            f"speed-up inside the interval {sum(s.inside for s in here)}; "
            f"named on the fixed kernel {sum(s.named_on_fixed for s in here)}"
        )
        if ratios := [s.reached for s in here if s.reached]:
            least, middle = tenth_and_median(ratios)
            lines[-1] += f"; measured over likely saving: nine in ten at least {least:.2f}, half at least {middle:.2f}"
        if any(s.nvidia for s in here):
            lines.append(
                f"{page}: NVIDIA's rule with the largest estimate names the true cause for "
                f"{sum(s.nvidia_first[0] for s in here)}, of its rules that name a cause for {sum(s.nvidia_first[1] for s in here)}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    board = list(scores(folder))
    print(scoreboard(board) if board else "no measured exports yet")
