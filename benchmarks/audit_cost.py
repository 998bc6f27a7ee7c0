"""What the reader's checks of its own work cost: CPU time of whole processes, with and without them, in turns.

    python benchmarks/audit_cost.py [FILE ...] [--runs 21]

Each process reads one export, and nothing else. Without files: five exports of different tools. The second figure is that of
reading alone: twenty times in one process, the checks on and off in turns.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import once

SAMPLES = Path(__file__).resolve().parent.parent / "sample_captures"
EXPORTS = (
    "ncu-details/solver-2021.csv", "nsys-kernels/render_cuda_gpu_kern_sum.csv", "renderdoc/frame-counters.csv", "rocprofv3-counters", "generic/p3_workloads_v2.csv",
)  # fmt: skip
START = """
import sys, warnings
warnings.simplefilter("ignore")
from triage.reading import contradictions, identities, name_variants, odd_cells, reader, text_blocks
nothing = [
    (odd_cells, "check", lambda *a: []), (identities, "check", lambda *a: []), (contradictions, "remove", lambda *a: ({}, [])),
    (name_variants, "check", lambda *a: []), (text_blocks, "small", lambda *a: {}), (reader, "rows", lambda *a: None),
]
kept = [(module, name, getattr(module, name)) for module, name, _ in nothing]
def checks(on):
    for module, name, work in kept if on else nothing:
        setattr(module, name, work)
"""
WHOLE = START + "checks(sys.argv[2] == '1')\nreader.read(sys.argv[1])\n"
ALONE = (
    START
    + """
import time
from statistics import median
spent = {True: [], False: []}
reader.read(sys.argv[1])
for turn in range(40):
    checks(turn % 2 == 0)
    began = time.process_time()
    reader.read(sys.argv[1])
    spent[turn % 2 == 0].append(time.process_time() - began)
print(median(spent[True]), median(spent[False]))
"""
)


def main() -> None:
    """Print a line for each export."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--runs", type=int, default=21)
    options = parser.parse_args()
    sums = [0.0, 0.0]
    for path in options.files or [SAMPLES / name for name in EXPORTS]:
        spent: dict[str, list[float]] = {"1": [], "0": []}
        for _ in range(options.runs):
            for on in spent:
                spent[on].append(once([sys.executable, "-c", WHOLE, str(path), on]).cpu)
        most, least = median(spent["1"]), median(spent["0"])
        sums = [sums[0] + most, sums[1] + least]
        done = subprocess.run([sys.executable, "-c", ALONE, str(path)], capture_output=True, text=True, check=True)
        inside, outside = map(float, done.stdout.split())
        print(f"{path.parent.name}/{path.name:38} process {least * 1e3:6.0f} ms {most / least - 1:+6.1%}, "
              f"reading alone {outside * 1e3:6.1f} ms {(inside - outside) * 1e3:+5.1f} ms", flush=True)  # fmt: skip
    print(f"together {sums[0] / sums[1] - 1:+.1%} of whole processes")


if __name__ == "__main__":
    main()
