"""`python skills/gpu-triage/evals/make_captures.py FOLDER`: write the captures of evals.json that are no samples.

Kernels with one known defect, run on the model of tests/simulation and written as Nsight Compute's raw page; nothing was
measured on a GPU. The file names tell nothing of the defect. Needs a checkout.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SEED = 7
MADE = {  # file -> defect of tests/simulation
    "kernel-a.csv": "shared columns",
    "kernel-b.csv": "one counter",
    "kernel-c.csv": "lanes part ways",
    "kernel-d.csv": "streaming",
}
RUNS = {"run-1.csv": 0.540, "run-2.csv": 0.536}  # ms of the same program, one run each


def make(folder: Path) -> None:
    """Write all of them."""
    sys.path.insert(0, str(ROOT))
    from tests.simulation import raw_page
    from tests.simulation.defects import draw
    from tests.simulation.machine import run

    folder.mkdir(parents=True, exist_ok=True)
    for name, defect in MADE.items():
        raw_page.write(folder / name, run(draw(defect, SEED).work))
    for name, ms in RUNS.items():
        (folder / name).write_text(
            f"name,kind,gpu.time [ms]\nScreenSpaceReflections,fullscreen,{ms}\n", encoding="utf-8"
        )


if __name__ == "__main__":
    make(Path(sys.argv[1]))
