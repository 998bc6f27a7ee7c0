"""`python benchmarks/truth.py FOLDER [--record]`: kernels whose cure was measured, against what triage promised.

FOLDER holds pairs.json (a list of `id`, `repo`, `gpu`, `strength`, `causes`, `saving`, `metrics_ill`) and
csv/ID.ill.csv.gz, csv/ID.cured.csv.gz, the exports before and after. None of it is part of this repository.
--record writes the figures to docs/truth.md.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import triage

ROOT = Path(__file__).resolve().parent.parent
FULL = 400  # an export of fewer metrics often lacks the deciding ones; its answer may be a blind spot
SLACK = 0.02  # of the time: what two runs of one kernel differ by
PROMISE = 0.15  # more than this, said of a cure that gave nothing, is a promise
PAGE = """\
# What was promised, and what was measured

Kernels whose authors cured them and profiled both sides: was the true cause the first one named, and did the saving lie
in the interval that was promised? The exports belong to their authors and are not part of this repository; a folder of
such pairs is judged by `python benchmarks/truth.py FOLDER --record`, which wrote this page.

{table}

{summary}

How to read this:

- The rules were written by people who had seen these pairs. Where a rule speaks of something that only one of these
  repositories shows, its figure says that the rule works there and little more. Thresholds come from cited sources or from
  the hardware's own limits; none was fitted to a pair. Expect less on kernels nobody here has seen.
- A small export (fewer than {full} metrics) counts as answered where the cause is first or is named among the blind spots.
- A control is a change that its author believed in and that saved nothing; promising more than {promise:.0%} for it, in
  first place, is wrong.
- An interval holds where the measured saving lies in it, give or take {slack:.0%} of the time.
"""


@dataclass
class Answer:
    """What was said of one ill kernel. rank: place of the true cause, 0 where it was not named."""

    pair: dict[str, Any]
    rank: int
    gain: dict[str, Any] | None
    blind: bool

    @property
    def saving(self) -> float:
        """Measured, as a fraction of the time."""
        return float(self.pair["saving"])

    @property
    def inside(self) -> bool:
        """Whether the interval holds."""
        g = self.gain
        return g is not None and g["low"] - SLACK <= self.saving <= g["bound"] + SLACK


def judge(folder: Path, pair: dict[str, Any]) -> Answer:
    """Diagnose the ill side of a pair."""
    doc = triage.diagnose(folder / "csv" / f"{pair['id']}.ill.csv.gz").to_dict()
    ill = [f for f in doc["findings"] if f["gain"]]  # what promises nothing is a verdict
    order = list(dict.fromkeys(f["cause"] for f in ill))
    rank = next((n for n, c in enumerate(order, 1) if c in pair["causes"]), 0)
    gain = next((f["gain"] for f in ill if f["cause"] in pair["causes"]), None)
    blind = {c for spot in doc["blind_spots"] for c in spot["causes"]}
    return Answer(pair, rank, gain, bool(blind & set(pair["causes"])))


def row(name: str, of: list[Answer]) -> list[str]:
    """One line of the table."""
    full = [a for a in of if a.pair["strength"] != "control" and a.pair["metrics_ill"] >= FULL]
    thin = [a for a in of if a.pair["strength"] != "control" and a.pair["metrics_ill"] < FULL]
    control = [a for a in of if a.pair["strength"] == "control"]
    told = [a for a in full if a.gain is not None and a.pair.get("interval", True)]
    error = [abs(a.gain["fraction"] - a.saving) for a in told if a.gain]
    width = [a.gain["bound"] - a.gain["low"] for a in told if a.gain]
    bad = [a for a in control if a.rank == 1 and a.gain and a.gain["fraction"] > PROMISE]

    def share(n: int, of: int) -> str:
        return f"{n} of {of}" if of else "–"

    return [
        name,
        share(sum(a.rank == 1 for a in full), len(full)),
        share(sum(0 < a.rank <= 3 for a in full), len(full)),
        share(sum(a.inside for a in told), len(told)),
        f"{mean(error):.2f}" if error else "–",
        f"{median(width):.2f}" if width else "–",
        share(sum(a.rank == 1 or a.blind for a in thin), len(thin)),
        share(len(bad), len(control)),
    ]


HEAD = (
    "Repository",
    "First",
    "Top three",
    "Inside",
    "Mean error",
    "Median width",
    "Small exports",
    "Controls promised",
)


def table(answers: list[Answer]) -> str:
    """A line per repository and one for all, as Markdown."""
    repos = sorted({str(a.pair["repo"]) for a in answers})
    rows = [row(r, [a for a in answers if a.pair["repo"] == r]) for r in repos]
    lines = [HEAD, ["--"] * len(HEAD), *rows, row("**all**", answers)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def worst(answers: list[Answer]) -> str:
    """By how much one repository moves the figures: each left out in turn."""
    repos = sorted({str(a.pair["repo"]) for a in answers})
    rows = [row(r, [a for a in answers if a.pair["repo"] != r]) for r in repos]

    def rate(cell: str) -> float:
        hit, of = cell.split(" of ") if " of " in cell else ("1", "1")
        return int(hit) / int(of)

    first, inside = min(rows, key=lambda r: rate(r[1])), min(rows, key=lambda r: rate(r[3]))
    return (
        f"With any one repository left out the true cause comes first in at least {first[1]} (without {first[0]}) and the "
        f"saving lies inside in at least {inside[3]} (without {inside[0]})."
    )


def main() -> None:
    """Judge, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--record", action="store_true", help="write docs/truth.md")
    args = parser.parse_args()
    pairs = json.loads((args.folder / "pairs.json").read_text(encoding="utf-8"))
    answers = [judge(args.folder, p) for p in pairs]
    lines, summary = table(answers), worst(answers)
    print(lines, "", summary, sep="\n")
    if args.record:
        page = PAGE.format(table=lines, summary=summary, full=FULL, promise=PROMISE, slack=SLACK)
        (ROOT / "docs" / "truth.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
