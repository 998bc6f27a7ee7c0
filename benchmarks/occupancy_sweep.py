"""A sweep of 1,000,000 launches through the array API against one vectorised integer division.

    python benchmarks/occupancy_sweep.py [--launches N] [--json]

Prints, per architecture, milliseconds (best of several runs) and the ratio to two readings of "a single
vectorised NumPy integer division": array by array, and array by constant. The target is at most 50.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable

import numpy as np

from triage.occupancy import occupancy

ARCHS = ("sm_61", "sm_86", "sm_90", "gfx906", "gfx90a", "gfx1100")
TARGET = 50


def best(call: Callable[[], object], runs: int) -> float:
    """Shortest of several runs, milliseconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(4)
    threads = rng.integers(1, 1025, options.launches)
    registers = rng.integers(1, 256, options.launches)
    shared = rng.integers(0, 65537, options.launches)
    by_array = best(lambda: shared // threads, options.runs)
    by_constant = best(lambda: shared // 768, options.runs)
    rows = []
    for arch in ARCHS:
        took = best(lambda arch=arch: occupancy(arch, threads, registers, shared), options.runs)
        rows.append(
            {
                "arch": arch,
                "ms": round(took, 2),
                "ratio_to_array_division": round(took / by_array, 1),
                "ratio_to_constant_division": round(took / by_constant, 1),
            }
        )
    worst = max(row["ratio_to_array_division"] for row in rows)
    result = {
        "launches": options.launches,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "array_division_ms": round(by_array, 3),
        "constant_division_ms": round(by_constant, 3),
        "sweeps": rows,
        "worst_ratio": worst,
        "target": TARGET,
        "met": worst <= TARGET,
    }
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{options.launches:,} launches; one division:")
    print(f"         {by_array:7.2f} ms by array, {by_constant:.2f} ms by constant")
    for row in rows:
        print(
            f"{row['arch']:8} {row['ms']:7.2f} ms  {row['ratio_to_array_division']:5.1f} x array division, "
            f"{row['ratio_to_constant_division']:5.1f} x constant division"
        )
    print(f"worst ratio {worst} of at most {TARGET}: {'met' if result['met'] else 'MISSED'}")


if __name__ == "__main__":
    main()
