"""`python benchmarks/truth.py FOLDER [--fit] [--aside PREFIX] [--record]`: measured savings of fixed kernels against triage's predictions.

FOLDER holds pairs.json (a list of `id`, `repo`, `gpu`, `strength`, `causes`, `saving`, `metrics_ill`) and
csv/ID.ill.csv.gz, csv/ID.cured.csv.gz, the exports before and after. None of it is part of this repository.
--fit also chooses the gain model's numbers anew, each repository judged by numbers chosen on the others (minutes).
--aside PREFIX (repeatable) names pairs that were not in view when rules were written: they get a line of their own.
--record writes the figures to docs/prediction-accuracy.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import triage
from triage.capture.capture import Capture
from triage.diagnosis import gain
from triage.diagnosis.diagnosing import Diagnoser
from triage.document.entries import VERDICT_CLASSES
from triage.findings.finding_types import EntryView
from triage.rulebook import packs

ROOT = Path(__file__).resolve().parent.parent
FULL = 400  # an export of fewer metrics often lacks the deciding ones; its answer may be a blind spot
SLACK = 0.02  # of the time: what two runs of one kernel differ by
PROMISE = 0.15  # more than this, said of a cure that gave nothing, is a promise
PAGE = """\
# Prediction accuracy

How often triage names the true cause, and how often its predicted range holds, on kernels whose authors fixed them and
profiled both versions. To repeat it on a folder of such pairs:

```console
$ python benchmarks/truth.py FOLDER --record
```

The exports belong to their authors and are not part of this repository. The command wrote this page:

{table}

{summary}

- **First**, **top three**: the true cause is the first item of the list, or one of the first three.
- **Empty**: lists without an item although the fix saved something. **False lows**: a first item of another cause that says "at least"
  more than {slack:.0%}, or a low end above what was saved.
- **Inside**: the measured saving lies in the predicted range, give or take {slack:.0%} of the time.
- **Mean error**, **median width**: of the likely saving and of the range, as fractions of the time.
- **Small exports** (fewer than {full} metrics) count as answered if the cause is first, or not evaluated for missing counters.
- **Controls predicted**: changes that saved nothing, for which the first item predicts more than {promise:.0%}.

## Cross-validation

{fit}

## Limits

The rules were written by people who had seen these pairs. If only one repository shows a cause, its figure proves the rule
there and little more. Thresholds come from cited sources or from hardware limits; none was fitted to a pair. Expect lower
accuracy on new kernels.
"""


@dataclass
class Answer:
    """What was said of one ill kernel. rank: place of the true cause in the to-do list, 0 where it is not named.

    verdict: the kernel's. items: length of the list. low: what its first item promises at least, a fraction of the time.
    """

    pair: dict[str, Any]
    rank: int
    verdict: str
    items: int
    low: float
    gain: EntryView | None
    blind: bool

    @property
    def saving(self) -> float:
        """Measured, as a fraction of the time."""
        return float(self.pair["saving"])

    @property
    def inside(self) -> bool:
        """Whether the interval holds."""
        g = self.gain
        return g is not None and g.low - SLACK <= self.saving <= g.bound + SLACK


def judge(capture: Capture, pair: dict[str, Any], by: Diagnoser, spots: bool = True) -> Answer:
    """Diagnose the ill side of a pair. spots: whether what could not be judged is asked too."""
    found = triage.Diagnosis.from_judged(by.diagnose([capture]))
    doc = found.to_dict()
    rank = next((n for n, item in enumerate(doc["todo"], 1) if item["cause"] in pair["causes"]), 0)
    told = next((f.gain for f in found.findings if f.gain and f.rule.cause in pair["causes"]), None)
    blind = {c for spot in doc["blind_spots"] for c in spot["causes"]} if spots else set()
    first, total = next(iter(doc["todo"]), None), doc["frame"]["duration_ns"] or 1.0
    low = (first["low_ns"] or 0.0) / total if first else 0.0
    verdict = doc["workloads"][0]["verdict_class"]
    return Answer(pair, rank, verdict, len(doc["todo"]), low, told, bool(blind & set(pair["causes"])))


def is_false_low(a: Answer) -> bool:
    """True if the first item promises at least something that its cure cannot have saved."""
    return a.low > (SLACK if a.rank != 1 else a.saving + SLACK)


def row(name: str, of: list[Answer]) -> list[str]:
    """One line of the table."""
    full = [a for a in of if a.pair["strength"] != "control" and a.pair["metrics_ill"] >= FULL]
    thin = [a for a in of if a.pair["strength"] != "control" and a.pair["metrics_ill"] < FULL]
    control = [a for a in of if a.pair["strength"] == "control"]
    told = [a for a in full if a.gain is not None and a.pair.get("interval", True)]
    error = [abs(a.gain.fraction - a.saving) for a in told if a.gain]
    width = [a.gain.bound - a.gain.low for a in told if a.gain]
    bad = [a for a in control if a.rank == 1 and a.gain and a.gain.fraction > PROMISE]

    def share(n: int, of: int) -> str:
        return f"{n} of {of}" if of else "–"

    return [
        name,
        share(sum(a.rank == 1 for a in full), len(full)),
        share(sum(0 < a.rank <= 3 for a in full), len(full)),
        share(sum(a.inside for a in told), len(told)),
        f"{mean(error):.2f}" if error else "–",
        f"{median(width):.2f}" if width else "–",
        share(sum(not a.items for a in full), len(full)),
        share(sum(map(is_false_low, full)), len(full)),
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
    "Empty",
    "False lows",
    "Small exports",
    "Controls predicted",
)


def table(answers: list[Answer], aside: Sequence[str] = ()) -> str:
    """A line per repository, per verdict, in view and kept aside, and one for all, as Markdown."""
    repos = sorted({str(a.pair["repo"]) for a in answers})
    rows = [row(r, [a for a in answers if a.pair["repo"] == r]) for r in repos]
    rows += [row(f"*verdict {v}*", found) for v in VERDICT_CLASSES if (found := [a for a in answers if a.verdict == v])]
    if aside:
        kept = [a.pair["id"].startswith(tuple(aside)) for a in answers]
        rows.append(row("*in view*", [a for a, k in zip(answers, kept, strict=True) if not k]))
        rows.append(row("*kept aside at first*", [a for a, k in zip(answers, kept, strict=True) if k]))
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
        f"With any one repository left out, the true cause is first in at least {first[1]} (without {first[0]}) and the range "
        f"holds in at least {inside[3]} (without {inside[0]})."
    )


# what is tried: share of peak that is reached, share from which a unit is full, factor on what rules call safe
GRID = [
    gain.Model(reach, safe)
    for reach, safe in itertools.product((0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9), (0.75, 1.0, 1.25))
]
MISSED = 2 / (1 - 0.85)  # interval score at 85 %: what a saving outside costs, per its distance


def loss(of: Sequence[Answer]) -> float:
    """Mean interval score plus the error of the likely gain, over pairs whose cause was named."""
    scores = []
    for a in of:
        if a.gain is None or not a.pair.get("interval", True) or a.pair["strength"] == "control":
            continue
        g = a.gain
        beyond = max(0.0, g.low - a.saving, a.saving - g.bound)
        scores.append(g.bound - g.low + MISSED * beyond + abs(g.fraction - a.saving))
    return mean(scores) if scores else 0.0


def fit(captures: Sequence[Capture], known: Sequence[Answer], by: Diagnoser) -> str:
    """Leave one repository out: its pairs are judged by the numbers that do best on all others."""
    tried = []
    for model in GRID:
        gain.MODEL = model
        answers = [judge(c, a.pair, by, spots=False) for c, a in zip(captures, known, strict=True)]
        # what an export cannot tell does not depend on these numbers
        tried.append([replace(a, blind=b.blind) for a, b in zip(answers, known, strict=True)])
    gain.MODEL = now = gain.Model()
    chosen, held = [], []
    for repo in sorted({str(a.pair["repo"]) for a in known}):
        others = [loss([a for a in answers if a.pair["repo"] != repo]) for answers in tried]
        best = others.index(min(others))
        chosen.append(GRID[best])
        held += [a for a in tried[best] if a.pair["repo"] == repo]
    everything = [loss(answers) for answers in tried]
    lines = [HEAD, ["--"] * len(HEAD), row("**each repository by the others**", held)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    counts = {m: chosen.count(m) for m in dict.fromkeys(chosen)}
    said = "; ".join(f"reach {m.reach:g}, safe {m.safe:g} ({n} of {len(chosen)})" for m, n in counts.items())
    best_all = GRID[everything.index(min(everything))]
    return (
        f"Each repository is predicted with the gain-model numbers that fit the others best.\n\n{table}\n\n"
        f"Chosen without the tested repository: {said}. Best on all: reach {best_all.reach:g}, safe {best_all.safe:g}; "
        f"in use: reach {now.reach:g}, safe {now.safe:g}. Only these numbers are cross-validated; conditions and effects were "
        "written by people who had seen the pairs."
    )


def main() -> None:
    """Judge, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fit", action="store_true", help="choose the gain model's numbers, one repository left out")
    parser.add_argument(
        "--aside", action="append", default=[], metavar="PREFIX", help="ids not in view when rules were written"
    )
    parser.add_argument("--record", action="store_true", help="write docs/prediction-accuracy.md")
    args = parser.parse_args()
    pairs = json.loads((args.folder / "pairs.json").read_text(encoding="utf-8"))
    captures = [triage.read(args.folder / "csv" / f"{p['id']}.ill.csv.gz") for p in pairs]
    by = Diagnoser(packs.select(packs.load([])))
    answers = [judge(c, p, by) for c, p in zip(captures, pairs, strict=True)]
    lines, summary = table(answers, args.aside), worst(answers)
    fitted = fit(captures, answers, by) if args.fit or args.record else ""
    print(lines, "", summary, "", fitted, sep="\n")
    if args.record:
        page = PAGE.format(table=lines, summary=summary, fit=fitted, full=FULL, promise=PROMISE, slack=SLACK)
        (ROOT / "docs" / "prediction-accuracy.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
