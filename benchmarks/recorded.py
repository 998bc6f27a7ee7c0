"""benchmarks/README.md from the recorded sheets; `python benchmarks/recorded.py SHEET` records one, whole or not."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
INTRO = """\
# Benchmarks

Written by `python benchmarks/bench.py --long --record` (with `--cores 1` for the second table); do not edit. `make bench`
prints the same rows for your machine, into `bench-out/`; `--resume` continues an interrupted run. Ratios
are of medians of whole processes that alternate within one run; on a noisy machine they vary by 10 to 20 %. The
CPU-time column counts all cores: on a shared machine it is more reliable than wall-clock time. The answers for
the tables of 40 columns are checked: every cell against pandas, 10,000 workloads and every listed finding against a plain
evaluation of the rules without engine or signatures.

The baseline is `pandas.read_csv` of the same file with its C engine. From pandas 3.1 on it parses on all cores;
triage then does too. Design decisions: [docs/decisions.md](../docs/decisions.md#reading-as-fast-as-pandas).

Other programs here: `truth.py` (measured fixes, [any folder of pairs](../docs/pairs.md)), `ground_truth.py` (known-cause CUDA kernels), `training_pairs.py` (known-cause PyTorch loops; `thin_trace.py` shortens their traces), `hard.py` (fuzzing and faults), `reports.py` (Nsight
Compute reports against their raw page), `simulated_kernels.py` (synthetic kernels with known causes), `stalls.py` (stalls
followed to their cause in any reports), `occupancy_sweep.py`, `fuzz_atheris.py`.

Tried without a gain, CPU time: searching kernel names once per capture instead of once per block (100,000 markers to a page: 2 %,
within the noise); copying bytecode into the checkouts of tests (under 20 % of those tests, kept); one Diagnoser
for many short captures (10 ms each, of 60); walks through pages without their pictures (none of 6.6 s each); imports for
annotations alone put off (4 of 237 modules); digests of rule files remembered by state (10 ms, under 2 % of a small diagnosis);
captures handed from one test worker to another (they hold open sources, which do not pickle); blocks judged by two threads
(10 to 20 % of the judging of a million rows, for 130 to 290 MB more). To read all
bundled samples takes 9 to 13 s, three times what it takes to diagnose them: tests that do are best run by one worker.
"""


def table(result: Mapping[str, Any]) -> str:
    """The figures of one recorded run."""
    about = result["about"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    cores = f"{about['cores']} core{'s' * (about['cores'] > 1)}"
    lines = [
        f"## {cores}",
        "",
        f"Python {about['python']}, {versions}; {about['runs']} run{'s' * (about['runs'] > 1)} of each. {_load(result)}",
        "",
        "| work / baseline | ratio | CPU-time ratio | target | triage | baseline | peak memory |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for c in result["cases"].values():
        goal = f"{c['target']:g}x" if c["target"] else ""
        memory = f"{c['ours_mb']:.0f} MB, {c['memory_ratio']:.2f}x {c['memory_target']}".strip()
        lines.append(
            f"| {c['name']} | {c['ratio']:.2f}x | {_cpu(c)} | {goal} | {c['ours_s']:.2f} s "
            f"| {c['yardstick_s']:.2f} s | {memory} |"
        )
    lines += ["", "| without a baseline | measured | target |", "| --- | ---: | --- |"]
    for f in result["figures"].values():
        lines.append(f"| {f['name']} | {f['value']:.3g} {f['unit']} | {f['target']} |")
    return "\n".join(lines) + "\n"


def _cpu(case: Mapping[str, Any]) -> str:
    return "" if case["cpu_ratio"] is None else f"{case['cpu_ratio']:.2f}x"


def page() -> str:
    """benchmarks/README.md from the recorded runs."""
    recorded = [json.loads(p.read_text("utf-8")) for p in sorted(HERE.glob("results-*-cores.json"), reverse=True)]
    return "\n".join([INTRO, *map(table, recorded)])


def _load(result: Mapping[str, Any]) -> str:
    """Who else was at work."""
    load, cores = result["load"], result["about"]["cores"]
    if load is None:
        return "Recorded with an earlier version, and to be measured again."
    if load < 1.5 * cores:
        return ""
    return (
        f"The machine was shared (load average {load:g} when the run began): times and their ratios are inflated, the ratio "
        "of CPU time counts. Rows that are missing were not measured in that run."
    )


def record(sheet: Path) -> None:
    """Keep a sheet here, and write the page anew."""
    (HERE / sheet.name).write_text(sheet.read_text("utf-8"), "utf-8")
    (HERE / "README.md").write_text(page(), "utf-8")


if __name__ == "__main__":
    record(Path(sys.argv[1]))
