"""`python benchmarks/truth.py FOLDER... [--fit] [--aside PREFIX] [--record]`: measured savings of fixes against triage's predictions.

A FOLDER holds pairs of exports, before and after a fix, as docs/pairs.md describes; benchmarks/pairs_example is one.
--fit also chooses the gain model's numbers anew, each source judged by numbers chosen on the others (minutes).
--aside PREFIX (repeatable) names pairs that were not in view when rules were written: they get a line of their own.
--record writes the figures to docs/prediction-accuracy.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

import triage
from triage.capture.capture import Capture
from triage.diagnosis import gain
from triage.diagnosis.diagnosing import Diagnoser
from triage.document.entries import VERDICT_CLASSES
from triage.findings.finding_types import EntryView
from triage.ground.errors import TriageError
from triage.products import agreement
from triage.rulebook import packs

sys.path.insert(0, str(Path(__file__).resolve().parent))
from ground_truth import tenth_and_median

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "prediction-accuracy.md"
FULL = 400  # an export of fewer metrics often lacks the deciding ones; its answer may be a blind spot
SLACK = 0.02  # of the time: what two runs of one kernel differ by
PROMISE = 0.15  # more than this, said of a fix that gave nothing, is a promise
MIN_LISTED = 3  # pairs of a source that gets a line of its own
VENDORS = {
    "NVIDIA": r"nvidia|geforce|rtx|gtx|tesla|quadro|blackwell",
    "AMD": r"amd|radeon|\brx\b|\bmi\d",
    "Intel": "intel|arc",
    "Apple": "apple",
    "Qualcomm": "adreno|qualcomm",
    "Arm": "mali|arm",
}
IN_VIEW, KEPT = "*in view*", "*kept aside at first*"
STRENGTHS = ("strong", "weak", "control")


class Pair(Struct, frozen=True):
    """An export before and after a fix. saving: measured, a fraction of the time. causes: any of them counts as the true one.

    strength: strong (the fix is named and the counters agree), weak (several things changed), control (it saved next to
    nothing). enough: the counters can name the cause. interval: the saving is that of the cause alone.
    """

    folder: str
    id: str
    source: str
    gpu: str
    causes: tuple[str, ...]
    saving: float
    strength: str
    enough: bool
    interval: bool
    ill: Path
    device: str

    @property
    def vendor(self) -> str:
        """Vendor of the GPU, by its name."""
        return next((v for v, words in VENDORS.items() if re.search(words, self.gpu, re.IGNORECASE)), "unknown GPU")

    @property
    def is_control(self) -> bool:
        """True if the fix saved next to nothing."""
        return self.strength == "control"


def pairs(folder: Path) -> list[Pair]:
    """The pairs of a folder; raises TriageError with the pair and the field that is wrong."""
    path = folder / "pairs.json"
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise TriageError(f"{path}: {e}", "docs/pairs.md describes it") from None
    return [_pair(folder, entry, f"{path}: pair {n}") for n, entry in enumerate(entries, 1)]


def _pair(folder: Path, p: dict[str, Any], where: str) -> Pair:
    where += f" ({p.get('id', 'without id')})"
    for field in ("id", "causes"):
        if not p.get(field):
            raise TriageError(f"{where}: no {field}", "docs/pairs.md lists the fields")
    if unknown := set(p["causes"]) - set(packs.load().causes):
        raise TriageError(f"{where}: unknown cause {min(unknown)!r}", "see: triage list causes")
    if p.get("strength", "strong") not in STRENGTHS:
        raise TriageError(f"{where}: strength {p['strength']!r}", f"choose {', '.join(STRENGTHS)}")
    if "saving" not in p and not (p.get("time_ill") and p.get("time_cured")):
        raise TriageError(f"{where}: neither saving nor time_ill and time_cured", "docs/pairs.md lists the fields")
    ill = folder / p.get("ill", f"csv/{p['id']}.ill.csv.gz")
    if not ill.exists():
        raise TriageError(f"{ill}: not found", f"{where} names it")
    options = p.get("opts", [])
    return Pair(
        folder=str(folder),
        id=p["id"],
        source=p.get("repo") or p.get("source", ""),
        gpu=p.get("gpu", ""),
        causes=tuple(p["causes"]),
        saving=p["saving"] if "saving" in p else 1 - p["time_cured"] / p["time_ill"],
        strength=p.get("strength", "strong"),
        enough=p.get("enough", p.get("metrics_ill", FULL) >= FULL),
        interval=p.get("interval", True),
        ill=ill,
        device=p.get("device", options[options.index("--device") + 1] if "--device" in options else ""),
    )


class Answer(Struct):
    """What was said of one export before its fix. rank: place of the true cause in the to-do list, 0 where it is not named.

    verdict: the first workload's. items: length of the list. low: what its first item promises at least, a fraction of
    the time. profiler: whether the profiler's own rule with the largest estimate names the true cause; None without rules.
    """

    pair: Pair
    rank: int
    verdict: str
    items: int
    low: float
    gain: EntryView | None
    blind: bool
    profiler: bool | None = None

    @property
    def inside(self) -> bool:
        """Whether the interval holds."""
        g = self.gain
        return g is not None and g.low - SLACK <= self.pair.saving <= g.bound + SLACK

    @property
    def is_false_low(self) -> bool:
        """True if the first item promises at least something that its fix cannot have saved."""
        return self.low > (SLACK if self.rank != 1 else self.pair.saving + SLACK)


def judge(capture: Capture, pair: Pair, by: Diagnoser, spots: bool = True) -> Answer:
    """Diagnose the ill side of a pair. spots: whether blind spots and the profiler's rules are looked at too."""
    judged = by.diagnose([capture])
    found = triage.Diagnosis.from_judged(judged)
    doc = found.to_dict()
    rank = next((n for n, item in enumerate(doc["todo"], 1) if item["cause"] in pair.causes), 0)
    told = next((f.gain for f in found.findings if f.gain and f.rule.cause in pair.causes), None)
    blind = {c for spot in doc["blind_spots"] for c in spot["causes"]} if spots else set()
    theirs = next((x.theirs for x in agreement.agreement(judged) if x.theirs), None) if spots else None
    first, total = next(iter(doc["todo"]), None), doc["frame"]["duration_ns"] or 1.0
    return Answer(
        pair,
        rank,
        doc["workloads"][0]["verdict_class"],
        len(doc["todo"]),
        (first["low_ns"] or 0.0) / total if first else 0.0,
        told,
        bool(blind & set(pair.causes)),
        bool(set(theirs.causes) & set(pair.causes)) if theirs else None,
    )


HEAD = (
    "Pairs", "First", "Top three", "Inside", "Mean error", "Median width", "Empty", "False lows", "Small exports",
    "Controls predicted", "Profiler's rule",
)  # fmt: skip


def row(name: str, of: Sequence[Answer]) -> list[str]:
    """One line of the table."""
    control = [a for a in of if a.pair.is_control]
    full = [a for a in of if not a.pair.is_control and a.pair.enough]
    thin = [a for a in of if not a.pair.is_control and not a.pair.enough]
    told = [a for a in full if a.gain is not None and a.pair.interval]
    error = [abs(a.gain.fraction - a.pair.saving) for a in told if a.gain]
    width = [a.gain.bound - a.gain.low for a in told if a.gain]
    bad = [a for a in control if a.rank == 1 and a.gain and a.gain.fraction > PROMISE]
    heard = [a.profiler for a in full if a.profiler is not None]
    return [
        name,
        share(sum(a.rank == 1 for a in full), len(full)),
        share(sum(0 < a.rank <= 3 for a in full), len(full)),
        share(sum(a.inside for a in told), len(told)),
        f"{mean(error):.2f}" if error else "–",
        f"{median(width):.2f}" if width else "–",
        share(sum(not a.items for a in full), len(full)),
        share(sum(a.is_false_low for a in full), len(full)),
        share(sum(a.rank == 1 or a.blind for a in thin), len(thin)),
        share(len(bad), len(control)),
        share(sum(heard), len(heard)),
    ]


def share(n: int, of: int) -> str:
    """A count out of a count; a dash where there is none."""
    return f"{n} of {of}" if of else "–"


def lines(first: str, rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table. first: head of the first column. Columns without a figure are left out."""
    table = [(first, *HEAD[1:]), *rows]
    kept = [i for i in range(len(HEAD)) if i == 0 or any(r[i] != "–" for r in rows)]
    text = [" | ".join(r[i] for i in kept) for r in (table[0], ["--"] * len(HEAD), *rows)]
    return "\n".join(f"| {line} |" for line in text)


def by(answers: Sequence[Answer], key: Callable[[Answer], str], order: Sequence[str] = ()) -> list[list[str]]:
    """A line per value of a key."""
    values = {key(a) for a in answers}
    ordered = [v for v in order if v in values] + sorted(values - set(order))
    return [row(v, [a for a in answers if key(a) == v]) for v in ordered]


def table(answers: Sequence[Answer], aside: Sequence[str] = ()) -> str:
    """A line per vendor, in view and kept aside (of the folders that have both), and one for all."""
    rows = by(answers, lambda a: a.pair.vendor, tuple(VENDORS))
    kept = {(a.pair.folder, a.pair.id) for a in answers if a.pair.id.startswith(tuple(aside))}
    split = [a for a in answers if a.pair.folder in {folder for folder, _ in kept}]  # folders that hold both kinds
    rows += by(split, lambda a: KEPT if (a.pair.folder, a.pair.id) in kept else IN_VIEW, (IN_VIEW, KEPT))
    return lines("Vendor", [*rows, row("**all**", answers)])


def sources(answers: Sequence[Answer]) -> str:
    """A line per public repository of several pairs, and one for the others."""
    count = {s: sum(a.pair.source == s for a in answers) for s in {a.pair.source for a in answers}}

    def name(a: Answer) -> str:
        listed = count[a.pair.source] >= MIN_LISTED and re.fullmatch(r"[\w.-]+/[\w.-]+", a.pair.source)
        return a.pair.source if listed else "others"

    return lines("Source", sorted(by(answers, name), key=lambda r: r[0] == "others"))


def worst(answers: Sequence[Answer]) -> str:
    """By how much one source moves the figures: each left out in turn."""
    rows = [row(s, [a for a in answers if a.pair.source != s]) for s in sorted({a.pair.source for a in answers})]

    def rate(cell: str) -> float:
        hit, of = cell.split(" of ") if " of " in cell else ("1", "1")
        return int(hit) / int(of)

    first, inside = min(rows, key=lambda r: rate(r[1])), min(rows, key=lambda r: rate(r[3]))
    return (
        f"With any one source left out, the true cause is first in at least {first[1]} (without {first[0]}) and the range "
        f"holds in at least {inside[3]} (without {inside[0]})."
    )


def reached(answers: Sequence[Answer]) -> str:
    """How the measured saving stands to the likely one where the true cause came first."""
    ratios = [
        a.pair.saving / a.gain.fraction
        for a in answers
        if a.rank == 1 and a.pair.interval and not a.pair.is_control and a.gain and a.gain.fraction > SLACK
    ]
    if not ratios:
        return ""
    least, middle = tenth_and_median(ratios)
    return (
        f"Of {len(ratios)} savings whose cause came first, nine in ten measured at least {least:.2f} of the likely one, "
        f"half at least {middle:.2f}."
    )


def read_aloud(folders: Sequence[Path], answers: Sequence[Answer]) -> str:
    """The same pairs by another judge: FOLDER/readings.jsonl, one line per pair with `id`, `first` and the saving's range."""
    readings: dict[str, dict[str, Any]] = {}
    for folder in folders:
        if (folder / "readings.jsonl").exists():
            for line in (folder / "readings.jsonl").read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                readings[entry["id"]] = entry
    both = [(a, readings[a.pair.id]) for a in answers if a.pair.id in readings]
    rows = []
    for name, of in (
        ("enough counters", [x for x in both if x[0].pair.enough]),
        ("small exports", [x for x in both if not x[0].pair.enough]),
    ):
        ill = [(a, r) for a, r in of if not a.pair.is_control]
        if ill:
            theirs = [r["first"] in a.pair.causes for a, r in ill]
            ours = [a.rank == 1 for a, _ in ill]
            pairs = list(zip(ours, theirs, strict=True))
            rows.append(
                f"| {name} | {len(ill)} | {sum(ours)} | {sum(theirs)} | {sum(o and t for o, t in pairs)} | {sum(o and not t for o, t in pairs)} "
                f"| {sum(t and not o for o, t in pairs)} | {sum(not t and not o for o, t in pairs)} |"
            )
    head = "| Pairs with | Pairs | triage first | reading first | both | only triage | only the reading | neither |"
    return "\n".join([head, "| -- " * 8 + "|", *rows]) if rows else ""


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
        if a.gain is None or not a.pair.interval or a.pair.is_control:
            continue
        g = a.gain
        beyond = max(0.0, g.low - a.pair.saving, a.pair.saving - g.bound)
        scores.append(g.bound - g.low + MISSED * beyond + abs(g.fraction - a.pair.saving))
    return mean(scores) if scores else 0.0


def fit(captures: Sequence[Capture], known: Sequence[Answer], by_rules: Diagnoser) -> str:
    """Leave one source out: its pairs are judged by the numbers that do best on all others."""
    tried = []
    for model in GRID:
        gain.MODEL = model
        answers = [judge(c, a.pair, by_rules, spots=False) for c, a in zip(captures, known, strict=True)]
        # what an export cannot tell does not depend on these numbers
        tried.append([replace(a, blind=b.blind, profiler=b.profiler) for a, b in zip(answers, known, strict=True)])
    gain.MODEL = now = gain.Model()
    chosen, held = [], []
    for source in sorted({a.pair.source for a in known}):
        others = [loss([a for a in answers if a.pair.source != source]) for answers in tried]
        best = others.index(min(others))
        chosen.append(GRID[best])
        held += [a for a in tried[best] if a.pair.source == source]
    everything = [loss(answers) for answers in tried]
    counts = {m: chosen.count(m) for m in dict.fromkeys(chosen)}
    text = "; ".join(f"reach {m.reach:g}, safe {m.safe:g} ({n} of {len(chosen)})" for m, n in counts.items())
    best_all = GRID[everything.index(min(everything))]
    return (
        "Each source is predicted with the gain-model numbers that fit the others best.\n\n"
        f"{lines('Source', [row('**each source by the others**', held)])}\n\n"
        f"Chosen without the tested source: {text}. Best on all: reach {best_all.reach:g}, safe {best_all.safe:g}; "
        f"in use: reach {now.reach:g}, safe {now.safe:g}. Only these numbers are cross-validated; conditions and effects were "
        "written by people who had seen the pairs."
    )


def main() -> None:
    """Judge, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--fit", action="store_true", help="choose the gain model's numbers, one source left out")
    parser.add_argument(
        "--aside", action="append", default=[], metavar="PREFIX", help="ids not in view when rules were written"
    )
    parser.add_argument("--record", action="store_true", help="write docs/prediction-accuracy.md")
    args = parser.parse_args()
    try:
        asked = [p for folder in args.folders for p in pairs(folder)]
        captures = [triage.read(p.ill, device=p.device) for p in asked]
    except TriageError as e:
        parser.exit(2, f"truth: {e}\n")
    by_rules = Diagnoser(packs.select(packs.load([])))
    answers = [judge(c, p, by_rules) for c, p in zip(captures, asked, strict=True)]
    verdicts = lines("Verdict", by(answers, lambda a: a.verdict, VERDICT_CLASSES))
    parts = {
        "table": table(answers, args.aside),
        "verdicts": verdicts,
        "sources": sources(answers),
        "worst": worst(answers),
        "reached": reached(answers),
        "readings": read_aloud(args.folders, answers),
        "fit": fit(captures, answers, by_rules) if args.fit or args.record else "",
    }
    print("\n\n".join(text for text in parts.values() if text))
    if args.record:
        page = (Path(__file__).parent / "truth_page.md").read_text(encoding="utf-8")
        for name, text in parts.items():
            page = page.replace(f"{{{name}}}", text)
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
