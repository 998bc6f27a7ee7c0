"""`make bench`: whole-process ratios measured in one run, against pandas.read_csv, an import of pandas, an import of click.

    python benchmarks/bench.py [--quick] [--runs 5] [--out bench-out]

Prints a table and writes bench-out/bench.json. Every timed answer is checked against a plain evaluation or a count;
a wrong answer fails the benchmark. Timings are noisy: only ratios of one run mean anything, and CI asserts none.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import inputs

PY = sys.executable
TRIAGE = str(Path(PY).with_name("triage"))


def timed(command: list[str], runs: int) -> dict[str, float]:
    """Median wall seconds and peak MB of a whole process; the command must succeed."""
    samples = []
    for _ in range(runs):
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr
        error = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        if os.waitstatus_to_exitcode(status) != 0:
            raise SystemExit(f"{command} failed: {error.decode()[-300:]}")
        samples.append((wall, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime))
    samples.sort()
    wall, _, _ = samples[len(samples) // 2]
    return {
        "wall_s": wall,
        "cpu_s": sorted(s[2] for s in samples)[len(samples) // 2],
        "peak_mb": max(s[1] for s in samples),
    }


def read_csv(path: Path, sep: str = ",") -> list[str]:
    """The yardstick: pandas reads the same file."""
    return [PY, "-c", f"import pandas; pandas.read_csv({str(path)!r}, sep={sep!r})"]


def answer(command: list[str]) -> dict[str, Any]:
    """The JSON that the timed command printed, once more."""
    result: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return result


def right_generic(path: Path, command: list[str], sample: int) -> None:
    """Totals of a generic run against pandas, classes of the shown workloads against the definition."""
    import pandas as pd

    frame = pd.read_csv(path).head(10**9)
    got = answer(command)
    total = frame["gpu.time [ms]"].sum() * 1e6
    assert abs(got["frame"]["duration_ns"] - total) < 1e-6 * total, "frame time"
    assert got["frame"]["workloads"] == len(frame), "workloads"
    by_name = {w["name"]: w for w in got["workloads"][:sample]}
    picked = frame[frame["name"].isin(by_name)].set_index("name")
    for name, row in picked.iterrows():
        sm, memory = (
            row["sm.throughput [%]"],
            max(row["l1tex.throughput [%]"], row["l2.throughput [%]"], row["vram.throughput [%]"]),
        )
        if max(sm, memory) >= 60 and max(
            row[f"{u}.throughput [%]"] for u in ("pd", "vaf", "vpc", "raster", "crop", "zrop")
        ) < max(sm, memory):
            want = "balanced" if abs(sm - memory) < 10 else "compute" if sm > memory else "memory"
            assert by_name[str(name)]["limiter_class"] == want, name


def main() -> None:
    """Run every case, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small inputs, for a look")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("bench-out"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    small = 10 if options.quick else 1
    runs, rows = options.runs, []

    def case(
        name: str,
        ours: list[str],
        theirs: list[str],
        target: float,
        check: Callable[[], None] | None = None,
        memory: str = "",
    ) -> dict[str, Any]:
        a, b = timed(ours, runs), timed(theirs, runs)
        if check:
            check()
        row = {
            "case": name,
            "ratio": a["wall_s"] / b["wall_s"],
            "target": target,
            "ours": a,
            "yardstick": b,
            "memory_ratio": a["peak_mb"] / b["peak_mb"],
            "memory_target": memory,
        }
        rows.append(row)
        print(
            f"{name:52} {row['ratio']:6.2f}x  (target {target:g}x)  {a['wall_s']:7.2f} s vs {b['wall_s']:6.2f} s   {a['peak_mb']:6.0f} MB {row['memory_ratio']:5.2f}x {memory}",
            flush=True,
        )
        return row

    click, pandas = [PY, "-c", "import click"], [PY, "-c", "import pandas"]
    case("triage --version / import click", [TRIAGE, "--version"], click, 2.0)
    case("import triage / import click", [PY, "-c", "import triage"], click, 1.5)
    sample = str(inputs.generic(options.out, 60, False))
    case("small sample, markdown / import pandas", [TRIAGE, "diagnose", sample, "-f", "markdown"], pandas, 2.0)
    trace = inputs.gpu_trace(options.out, 20_000 // small, 300)
    case(
        "GPU Trace 20,000 x 300, json / read_csv",
        [TRIAGE, "diagnose", str(trace.parent), "-f", "json"],
        read_csv(trace, "\t"),
        2.0,
        memory="(<= 250 MB)",
    )
    raw = inputs.ncu_raw(options.out, 5_000 // small, 800)
    case(
        "Nsight Compute raw 5,000 x 800, json / read_csv",
        [TRIAGE, "diagnose", str(raw), "-f", "json"],
        read_csv(raw),
        2.0,
    )
    linear = []
    for n in (10_000, 100_000, 1_000_000):
        for independent in (False, True):
            path = inputs.generic(options.out, n // small, independent)
            command = [TRIAGE, "diagnose", str(path), "-f", "json", "--top", "1000"]
            kind = "independent" if independent else "correlated"
            row = case(f"generic {n:,} x 40 {kind} --top 1000 / read_csv", command, read_csv(path), 2.0,
                       lambda path=path, command=command: right_generic(path, command, 10_000), "(<= 2.5x)")  # fmt: skip
            linear.append((n, independent, row["ours"]["wall_s"]))
    for independent in (False, True):
        walls = [w for _, i, w in linear if i == independent]
        print(
            f"ten times the rows ({'independent' if independent else 'correlated'}): {walls[1] / walls[0]:.1f}x, {walls[2] / walls[1]:.1f}x the time (target 11x)"
        )
    result = {"python": sys.version.split()[0], "runs": runs, "quick": options.quick, "cases": rows,
              "linear": [{"rows": n, "independent": i, "wall_s": w} for n, i, w in linear]}  # fmt: skip
    (options.out / "bench.json").write_text(json.dumps(result, indent=1))
    print(
        f"peak of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB; written to {options.out / 'bench.json'}"
    )


if __name__ == "__main__":
    main()
