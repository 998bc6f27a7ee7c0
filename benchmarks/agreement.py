"""`python benchmarks/agreement.py FOLDER [--record]`: Nsight Compute's largest estimate per launch, compared with triage's diagnosis.

FOLDER is searched for exports of Nsight Compute (.csv, .txt, .ncu-rep). None of them is part of this repository.
A launch counts where Nsight Compute states an estimate for the whole workload above 5 % for a rule that names a cause.
--record writes the figures to docs/agreement.md.
"""

from __future__ import annotations

import argparse
import textwrap
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import triage
from triage.capture.capture import Capture
from triage.ground.errors import TriageError
from triage.products import agreement
from triage.products.agreement import BOTH, EXCUSED, MIN_ESTIMATE, SAME, Launch

ROOT = Path(__file__).resolve().parent.parent
ENDINGS = (".csv", ".csv.gz", ".txt", ".ncu-rep")
# what only `--set full` holds together: stall reasons, access patterns, hit rates, pipes, occupancy
FULL = ("stall", "global_load.", "l1tex.hit_rate", "l2.hit_rate", "pipe", "occupancy.theoretical")
ANSWERED = (SAME, BOTH, EXCUSED)
PAGE = """\
# Agreement with Nsight Compute

See where triage and Nsight Compute's own rules agree, and why not elsewhere. Those rules estimate what their advice would save; compared
with the diagnosis is, for every launch, the one with the largest estimate for the whole workload (above {least:.0%}) that names a cause. For your own export:

```console
$ triage diagnose report.ncu-rep --opinions
```

The exports below belong to their authors and are not part of this repository;
`python benchmarks/agreement.py FOLDER --record` wrote this page from a folder of them.

{table}

- **Same root**: the diagnosis has the same root cause. **Both named**: it names the cause beside another root.
- **Ruled out**: the rule here that asks the same has a failed condition, or another finding overrules it.
- **Not diagnosed**: that rule lacks a counter. **Answered**: all but these.
- *Full* exports hold stall reasons, access patterns, hit rates, pipes and occupancy limits, as `--set full` collects them.

{doubted}

## Limits

*Ruled out* is not agreement: triage predicts that the fix would not save the time. Nsight Compute's estimates are upper
bounds of one rule each, made without regard to what else limits the kernel.
"""


@dataclass(frozen=True)
class Row:
    """One launch whose most promising cause was judged."""

    file: str
    launch: Launch
    full: bool


def is_full(capture: Capture) -> bool:
    """Does a capture hold what the deciding rules read?"""
    facts = tuple(capture.facts)
    return all(any(m.startswith(part) for m in facts) for part in FULL)


def judge(path: Path, folder: Path) -> list[Row]:
    """The launches of one export for which the profiler promises something."""
    try:
        capture = triage.read(path)
    except TriageError:
        return []
    if not capture.table.opinions:
        return []
    found = agreement.agreement(triage.diagnose([capture]))
    promising = [x for x in found if x.theirs is not None and x.theirs.opinion.scope == "global"]
    return [Row(path.relative_to(folder).as_posix(), x, is_full(capture)) for x in promising]


def table(rows: list[Row]) -> str:
    """A line for full exports and one for the others, as Markdown."""
    out = ["| Exports | Launches | Same root | Both named | Ruled out | Not diagnosed | Answered |", "| -- | --: | --: | --: | --: | --: | --: |"]  # fmt: skip
    for name, of in (("full", [r for r in rows if r.full]), ("others", [r for r in rows if not r.full])):
        kinds = Counter(r.launch.kind for r in of)
        answered = sum(kinds[k] for k in ANSWERED)
        cells = [len(of), kinds[SAME], kinds[BOTH], kinds[EXCUSED], len(of) - answered]
        share = f"{answered / len(of):.0%}" if of else "–"
        out.append(f"| {name} | {' | '.join(map(str, cells))} | {share} |")
    return "\n".join(out)


def doubted(rows: list[Row]) -> str:
    """Where triage does not name the cause: NVIDIA's rule with its figure, and the reason, each once."""
    lines = dict.fromkeys(
        f"- {theirs.opinion.rule} ({theirs.opinion.speedup:.0%}), {r.launch.kind}: {theirs.why}"
        for r in rows
        if r.launch.kind not in (SAME, BOTH) and (theirs := r.launch.theirs) is not None
    )
    wrapped = [textwrap.fill(x, 120, subsequent_indent="  ", break_long_words=False) for x in lines]
    return "## Where triage disagrees\n\n" + ("\n".join(wrapped) or "Nowhere.")


def main() -> None:
    """Judge, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--record", action="store_true", help="write docs/agreement.md")
    args = parser.parse_args()
    files = sorted(p for p in args.folder.rglob("*") if p.name.endswith(ENDINGS))
    rows = [row for p in files for row in judge(p, args.folder)]
    for r in rows:
        theirs = r.launch.theirs
        if theirs is not None:
            print(f"{r.file}  {r.launch.id}  {theirs.opinion.rule} {theirs.opinion.speedup:.0%}  {r.launch.kind}")
    lines, reasons = table(rows), doubted(rows)
    print("", lines, "", reasons, sep="\n")
    if args.record:
        page = PAGE.format(table=lines, doubted=reasons, least=MIN_ESTIMATE)
        (ROOT / "docs" / "agreement.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
