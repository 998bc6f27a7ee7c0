"""Nsight Compute reports against the raw page of the same launches as CSV: time and memory to read them.

    python benchmarks/reports.py [LAUNCHES ...]

Reports are written by the tests' own writer: 560 metrics per launch, of which triage knows some 150, five rule results,
and 200 instances of one metric. Whole processes take turns; the time is that of `reading.read` alone, without imports.
"""

from __future__ import annotations

import csv
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.helpers import ncu_reports as w  # noqa: E402
from tests.helpers.ncu_pages import LAUNCH  # noqa: E402
from triage.dialects.nvidia import ncu_names  # noqa: E402
from triage.dialects.nvidia.report.report_units import unit  # noqa: E402

KINDS = 50  # launches that differ; the others repeat them
READ = """
import resource, sys, time
from triage.reading import reader
import pandas
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
capture = reader.read(sys.argv[1], unfold=True)
took = time.perf_counter() - start
print(took, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) * 1024, len(capture), len(capture.table.columns))
"""


def metrics() -> list[str]:
    """150 names that mean something to triage, and 410 that do not."""
    known = [n for names in ncu_names.names().values() for n in names if "__" in n][:150]
    return sorted({*known, *(f"sm__other_counter_{i:03}.avg.pct_of_peak_sustained_elapsed" for i in range(410))})


def launches(count: int) -> list[w.Launch]:
    """Launches of some kinds with believable figures."""
    r, names = random.Random(1), metrics()
    rules = [
        w.Rule(f"Rule{i}", "One sentence of some length about this launch. " * 4, 4 if i < 3 else 0, 12.5)
        for i in range(5)
    ]
    samples = {"smsp__pcsamp_sample_count": {0x7F0000000000 + 16 * i: 3 for i in range(200)}}
    kinds = [
        w.Launch(f"kernel_{k}(float *, int)", {n: r.uniform(0, 1e6) if i % 3 else r.randrange(1 << 30) for i, n in enumerate(names)}, samples, rules)
        for k in range(min(KINDS, count))
    ]  # fmt: skip
    return [kinds[i % len(kinds)] for i in range(count)]


def page(path: Path, found: list[w.Launch]) -> None:
    """The raw page of the launches."""
    names = metrics()
    with path.open("w", newline="", encoding="utf-8") as f:
        out = csv.writer(f, quoting=csv.QUOTE_ALL)
        out.writerow([*LAUNCH, *names])
        out.writerow([*([""] * len(LAUNCH)), *(unit(n) for n in names)])
        for i, x in enumerate(found):
            about = [i, 1, "app", "localhost", x.kernel, 1, 7, "(1, 1, 1)", "(1, 1, 1)", 0, "8.6"]
            out.writerow([*about, *(x.metrics[n] for n in names)])


def measure(path: Path) -> tuple[float, float]:
    """(seconds, bytes of memory beyond the imports) to read a file."""
    p = subprocess.run([sys.executable, "-c", READ, str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
    took, memory, _, _ = map(float, p.stdout.split())
    return took, memory


def main(counts: list[int], runs: int = 5) -> None:
    """One line per number of launches."""
    with tempfile.TemporaryDirectory() as folder:
        for count in counts:
            found = launches(count)
            report, table = Path(folder) / "r.ncu-rep", Path(folder) / "r.csv"
            report.write_bytes(w.report(found, devices=[w.Device("NVIDIA GeForce RTX 3090")]))
            page(table, found)
            each = [(measure(report), measure(table)) for _ in range(runs)]
            ours, theirs = (statistics.median(e[i][0] for e in each) for i in range(2))
            memory = max(e[0][1] for e in each) / report.stat().st_size
            print(
                f"{count:>6} launches, {report.stat().st_size / 1e6:.1f} MB: report {ours:.3f} s, raw page {theirs:.3f} s, "
                f"{ours / theirs:.2f}x; memory {memory:.1f}x the report"
            )


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [1, 100, 1_000, 10_000])
