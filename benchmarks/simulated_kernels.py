"""`python -m benchmarks.simulated_kernels [--seed N] [--each N] [--form raw|details] [--machine N]`: synthetic kernels with one known defect each.

`tests/simulation` draws kernels for each defect, runs them on a small model of rates and latencies, and writes
the export that Nsight Compute would have made on the chip. Nothing was measured on a GPU. A diagnosis is right if the
defect is the first item, and no separate item is listed whose fix would save nothing on the
same model. --machine also draws the model: other latencies, other reachable shares of peak. Seeds from 130 on are held out.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import triage
from tests.simulation import details_page, raw_page
from tests.simulation.defects import Patient, draw_all
from tests.simulation.judge import Judgement, judge
from tests.simulation.machine import run
from tests.simulation.variation import another_machine

WRITERS = {"raw": raw_page.write, "details": details_page.write}


def judged(patients: list[Patient], form: str, folder: Path) -> Iterator[Judgement]:
    """One judgement per patient, from a file as Nsight Compute would have written it."""
    for n, patient in enumerate(patients):
        path = WRITERS[form](folder / f"{n}.{form}.csv", run(patient.work))
        yield judge(patient, triage.diagnose([triage.read(path)]).to_dict(), form)


def describe(j: Judgement) -> str:
    """What went wrong with one, in a line."""
    expected = " or ".join(sorted(j.patient.right))
    text = f"said {j.first or 'nothing'} first instead of {expected}" if not j.right else f"said {j.first} first"
    return f"  {j.patient.work.title}: {text}" + (f"; wrong beside it: {', '.join(j.wrong)}" if j.wrong else "")


def main() -> None:
    """Ask, set up the machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--each", type=int, default=2, help="kernels per illness")
    parser.add_argument("--form", choices=sorted(WRITERS), action="append")
    parser.add_argument("--machine", type=int, help="seed of another machine")
    asked = parser.parse_args()
    with another_machine(asked.machine):
        report(asked)


def report(asked: argparse.Namespace) -> None:
    """Draw, judge, print, on the machine that is set."""
    patients = draw_all(asked.seed, asked.each)
    chips = Counter(run(p.work).chip.cc for p in patients)
    print(f"seed {asked.seed}: {len(patients)} kernels, {', '.join(f'{n} of {cc}' for cc, n in sorted(chips.items()))}")
    for form in asked.form or sorted(WRITERS):
        with tempfile.TemporaryDirectory() as folder:
            found = list(judged(patients, form, Path(folder)))
        for j in found:
            if not j.right or j.wrong:
                print(describe(j))
        right, clean = sum(j.right for j in found), sum(not j.wrong for j in found)
        print(f"{form}: root first {right} of {len(found)} ({right / len(found):.1%}), "
              f"nothing wrong beside it {clean} ({clean / len(found):.1%})")  # fmt: skip


if __name__ == "__main__":
    main()
