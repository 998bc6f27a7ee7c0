"""`python skills/gpu-triage/evals/make_captures.py FOLDER`: write the captures of evals.json that are no samples.

Kernels with one known defect, run on the model of tests/simulation and written as Nsight Compute's raw page; and pages that
were measured on an H100 (sample_captures/ground_truth), under names that tell nothing of the defect. Needs a checkout.
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
MEASURED = {  # file -> kernel of sample_captures/ground_truth
    "measured-a.csv": "gemm_transposed_tile_slow",
    "measured-b.csv": "weighted_histogram_skewed_slow",
    "measured-c.csv": "temporal_filter_slow",
    "measured-d.csv": "channel_stats_slow",
    "measured-e.csv": "softmax_rows_slow",
    "measured-f.csv": "crop_index_math_slow",
    "measured-g.csv": "sequence_counts_local_slow",
    "measured-h.csv": "label_gather_slow",
    "measured-i.csv": "ragged_rows_slow",
    "measured-j.csv": "block_radix_split_slow",
    "measured-k.csv": "layernorm_passes_slow",
    "measured-l.csv": "ode_double_literals_slow",
    "measured-m.csv": "half_scale_bias_slow",
    "measured-n.csv": "particle_export_slow",
    "measured-o.csv": "temporal_filter_fixed",
    "measured-p.csv": "half_scale_bias_fixed",
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
    for name, kernel in MEASURED.items():
        page = (ROOT / "sample_captures" / "ground_truth" / "exports" / f"{kernel}.details.csv").read_text("utf-8")
        neutral = page.replace(kernel, "kernel").replace(kernel.rpartition("_")[0], "program")
        (folder / name).write_text(neutral, encoding="utf-8")
    for name, ms in RUNS.items():
        (folder / name).write_text(
            f"name,kind,gpu.time [ms]\nScreenSpaceReflections,fullscreen,{ms}\n", encoding="utf-8"
        )


if __name__ == "__main__":
    make(Path(sys.argv[1]))
