"""`make bench`: whole-process ratios measured in one run, against pandas.read_csv, an import of pandas, an import of click.

    python benchmarks/bench.py [--quick] [--runs 5] [--cores 1] [--out bench-out] [--record]

Prints a table and writes bench-out/bench.json; `--record` also writes benchmarks/results.json and benchmarks/README.md.
The two commands of a ratio take turns, so that a machine whose speed drifts does not decide it. Every answer that was
timed is checked: the cells against pandas, the rules against a plain evaluation without engine or signatures.

Peers that read the same file are timed where they are installed (`pip install polars pyarrow duckdb`); triage needs none.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
PY = sys.executable
TRIAGE = str(Path(PY).with_name("triage"))
PEERS = {  # reading every column of a comma-delimited file; all of them use every core
    "polars": "import polars; polars.read_csv({path!r})",
    "pyarrow": "import pyarrow.csv as c; c.read_csv({path!r})",
    "duckdb": "import duckdb; duckdb.sql('create table t as from read_csv(' + repr({path!r}) + ')')",
}
BATCH = {"json": 0.08, "json + html": 0.12}  # formats beside the index, and seconds per capture and process to keep


@dataclass
class Case:
    """One line of the table. ratio, memory_ratio: ours to the yardstick; target: what the ratio should not exceed."""

    name: str
    ratio: float
    target: float | None
    ours_s: float
    ours_mb: float
    yardstick_s: float
    yardstick_mb: float
    memory_ratio: float
    memory_target: str = ""

    def line(self) -> str:
        """As printed."""
        goal = f"(target {self.target:g})" if self.target else ""
        memory = f"{self.ours_mb:5.0f} MB {self.memory_ratio:5.2f}x {self.memory_target}"
        return f"{self.name:58} {self.ratio:5.2f}x {goal:12} {self.ours_s:6.2f} s / {self.yardstick_s:5.2f} s  {memory}"


def made(folder: Path, kind: str, *args: object) -> Path:
    """An input of benchmarks/inputs.py, made by another process: a child's peak memory starts at its parent's."""
    command = [PY, str(HERE / "inputs.py"), str(folder), kind, *map(str, map(int, args))]  # type: ignore[call-overload]
    return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


def once(command: list[str]) -> tuple[float, float]:
    """Wall seconds and peak MB of a whole process; the command must succeed."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{command} failed: {error.decode()[-300:]}")
    return wall, usage.ru_maxrss / 1024


def in_turns(
    ours: list[str], theirs: list[str], runs: int
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Both commands `runs` times, one after the other, after one run of each that does not count."""
    pairs = [(once(ours), once(theirs)) for _ in range(runs + 1)][1:]
    return [a for a, _ in pairs], [b for _, b in pairs]


def compared(name: str, ours: list[str], theirs: list[str], target: float | None, runs: int, memory: str = "") -> Case:
    """A Case: medians of the walls, largest peaks."""
    a, b = in_turns(ours, theirs, runs)
    wall_a, wall_b = median(w for w, _ in a), median(w for w, _ in b)
    mb_a, mb_b = max(m for _, m in a), max(m for _, m in b)
    case = Case(name, wall_a / wall_b, target, wall_a, mb_a, wall_b, mb_b, mb_a / mb_b, memory)
    print(case.line(), flush=True)
    return case


def read_csv(path: Path, sep: str = ",") -> list[str]:
    """The yardstick: pandas reads the same file."""
    return [PY, "-c", f"import pandas; pandas.read_csv({str(path)!r}, sep={sep!r})"]


def thousand(path: Path) -> list[str]:
    """The timed command of the large tables."""
    return [TRIAGE, "diagnose", str(path), "-f", "json", "--top", "1000"]


def answer(command: list[str]) -> dict[str, Any]:
    """The JSON that the timed command prints."""
    result: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return result


def right(path: Path, sample: int = 10_000) -> None:
    """The timed answer against pandas (every cell that was read) and a plain evaluation (every rule, `sample` workloads)."""
    import numpy as np
    import pandas as pd

    sys.path.insert(0, str(HERE.parent))
    from tests.test_engine import plain
    from triage.derive import View
    from triage.diagnosis.diagnose import Diagnostician
    from triage.inference.evaluate import infer
    from triage.reading import reader
    from triage.rulebook.packs import load, select

    got, capture, table = answer(thousand(path)), reader.read(str(path)), pd.read_csv(path)
    assert got["frame"]["workloads"] == len(table) and capture.names.tolist() == table["name"].tolist(), "workloads"
    for metric, values in capture.facts.items():
        header = next(h for h in table.columns if h.partition(" ")[0] == metric)
        factor = 1e6 if metric == "gpu.time" else 0.01
        np.testing.assert_allclose(values, table[header].to_numpy() * factor, rtol=1e-12)
    doctor = Diagnostician(select(load()))
    rows = np.sort(np.random.default_rng(5).permutation(len(table))[:sample])
    view = View(capture, rows)
    truth = infer(view, doctor.workload)
    fired, possible = plain(view, doctor.book, "v2", "workload")
    for index, cannot in truth.possible.items():
        rule = doctor.book.rules[index]
        vetoed = np.logical_or.reduce([np.zeros(view.size, bool), *(hit for _, hit in truth.overruled.get(index, ()))])
        assert np.array_equal(truth.fired[index] | vetoed, fired[rule.name]), rule.name
        assert np.array_equal(cannot, possible[rule.name]), rule.name
    listed = [(f["name"], int(f["workload"][1:]) - 1) for f in got["findings"] if f["workload"] != "frame"]
    view = View(capture, np.array(sorted({w for _, w in listed})))
    fired, _ = plain(view, doctor.book, "v2", "workload")
    place = {int(w): i for i, w in enumerate(view.rows)}
    assert all(fired[name][place[w]] for name, w in listed), "a listed finding that plain evaluation does not confirm"
    saved = [f["gain"]["saved_ns"] or 0 for f in got["findings"] if f["gain"]]
    assert saved == sorted(saved, reverse=True), "order"


def after_reading(path: Path, runs: int) -> float:
    """Milliseconds per launch inside the process, none folded, from the capture to the written JSON."""
    code = (
        "import sys,time; from triage.reading import reader; from triage.document.make import bundle; from triage.rendering.result_json import write_json; from triage.diagnosis.diagnose import Diagnostician;"
        "from triage.rulebook.packs import load,select; d=Diagnostician(select(load())); c=reader.read(sys.argv[1], unfold=True);"
        "a=time.perf_counter(); write_json(bundle(d.diagnose([c]), ways=False), lambda text: None);"
        "print((time.perf_counter()-a)*1e3/len(c))"
    )
    return median(
        float(subprocess.run([PY, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout)
        for _ in range(runs)
    )


def batch_scaling(folder: Path, captures: int, runs: int, form: str) -> dict[str, float]:
    """Seconds of `triage batch` over many captures by number of processes. form: of the reports, beside the index."""
    source = folder / "batch"
    if not source.exists():
        source.mkdir()
        one = made(folder, "generic", 300, True)
        for i in range(captures):
            # the same rows count once: each capture has a first workload of its own
            (source / f"c{i:03}.csv").write_text(one.read_text().replace("m0_0", f"c{i}_0", 1))
    out = {}
    for jobs in sorted({1, len(os.sched_getaffinity(0))}):
        walls = []
        for _ in range(runs):
            shutil.rmtree(folder / "batch-out", ignore_errors=True)
            command = [TRIAGE, "batch", str(source), "-o", str(folder / "batch-out"), "--jobs", str(jobs)]
            command += [word for f in form.split(" + ") for word in ("-f", f)]
            walls.append(once(command)[0])
        out[str(jobs)] = median(walls)
    return out


INTRO = """\
# Benchmarks

Written by `python benchmarks/bench.py --record` (with `--cores 1` for the second table); do not edit. `make bench` prints
the same for your machine, into `bench-out/`. Ratios are of medians of whole processes that took turns within one run; a
noisy machine still moves them by a tenth or two. The answers that were timed are checked: every cell against pandas,
10,000 workloads and every listed finding against a plain evaluation of the rules without engine or signatures.

The yardstick is `pandas.read_csv` of the same file with its C engine. From pandas 3.1 on it parses with every core it is
given; triage then does too. What was done, and what did not help: [docs/decisions.md](../docs/decisions.md#reading-as-fast-as-pandas).

Other programs here: `ground_truth.py` (known-cause CUDA kernels), `hard.py` (fuzzing and faults), `reports.py` (Nsight
Compute reports against their raw page), `occupancy_sweep.py`,
`fuzz_atheris.py`.
"""


def table(result: dict[str, Any]) -> str:
    """The figures of one recorded run."""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    lines = [f"## {result['cores']} core{'s' * (result['cores'] > 1)}", "", f"Python {result['python']}, {versions}; {result['runs']} runs of each.", "",
             "| work / yardstick | ratio | target | triage | yardstick | peak memory |", "| --- | ---: | ---: | ---: | ---: | --- |"]  # fmt: skip
    for c in result["cases"]:
        goal = f"{c['target']:g}x" if c["target"] else ""
        memory = f"{c['ours_mb']:.0f} MB, {c['memory_ratio']:.2f}x {c['memory_target']}".strip()
        lines.append(
            f"| {c['name']} | {c['ratio']:.2f}x | {goal} | {c['ours_s']:.2f} s | {c['yardstick_s']:.2f} s | {memory} |"
        )
    lines += [
        "",
        f"- Nsight Compute, after reading: {result['ms_per_kernel_after_reading']:.3f} ms per kernel (target 0.5).",
    ]
    for g in result["linear"]:
        growth = ", ".join(f"{v:.1f}x ({k})" for k, v in g.items() if k != "kind")
        lines.append(f"- Ten times the rows, {g['kind']} metrics: {growth} the time (target 11x).")
    for form, walls in result["batch_s"].items():
        said = ", ".join(
            f"{s:.1f} s with {j} ({s * int(j) / 120:.3f} s per capture and process)" for j, s in walls.items()
        )
        lines.append(
            f"- `triage batch`, 120 captures of 300 workloads as {form}, by processes (target {BATCH[form]:g} s): {said}."
        )
    return "\n".join(lines) + "\n"


def page() -> str:
    """benchmarks/README.md from the recorded runs."""
    recorded = [json.loads(p.read_text("utf-8")) for p in sorted(HERE.glob("results-*-cores.json"), reverse=True)]
    return "\n".join([INTRO, *map(table, recorded)])


def main() -> None:
    """Run every case, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small inputs, for a look")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cores", type=int, default=0, help="processors that both commands may use; default all")
    parser.add_argument("--out", type=Path, default=Path("bench-out"))
    parser.add_argument("--record", action="store_true", help="keep the figures in benchmarks/")
    parser.add_argument("--check", type=Path, help="only check the answer for this generic table")
    options = parser.parse_args()
    if options.check:
        right(options.check)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    if options.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    small, runs, out = 10 if options.quick else 1, options.runs, options.out
    subprocess.run([PY, "-m", "compileall", "-q", str(HERE.parent / "triage")], check=True)
    cases: list[Case] = []

    def case(*args: Any, check: Callable[[], None] | None = None, **kw: Any) -> Case:
        cases.append(compared(*args, runs=runs, **kw))
        if check:
            check()
        return cases[-1]

    click, pandas = [PY, "-c", "import click"], [PY, "-c", "import pandas"]
    case("triage --version / import click", [TRIAGE, "--version"], click, 2.0)
    case("import triage / import click", [PY, "-c", "import triage"], click, 1.5)
    sample = str(made(out, "generic", 60, False))
    case(
        "60 workloads, diagnose -f markdown / import pandas",
        [TRIAGE, "diagnose", sample, "-f", "markdown"],
        pandas,
        1.35,
    )
    case(
        "60 workloads, the same without its cache / import pandas",
        ["env", "TRIAGE_CACHE=off", TRIAGE, "diagnose", sample, "-f", "markdown"],
        pandas,
        1.7,
    )
    trace = made(out, "gpu_trace", 20_000 // small, 300)
    case(f"GPU Trace {20_000 // small:,} x 300, -f json / read_csv", [TRIAGE, "diagnose", str(trace.parent), "-f", "json"],
         read_csv(trace, "\t"), 1.5, memory="(<= 1x)")  # fmt: skip
    raw = made(out, "ncu_raw", 5_000 // small, 800)
    case(
        f"Nsight Compute raw {5_000 // small:,} x 800, -f json / read_csv",
        [TRIAGE, "diagnose", str(raw), "-f", "json"],
        read_csv(raw),
        2.0,
    )
    per_kernel = after_reading(raw, runs)
    print(f"  after reading: {per_kernel:.3f} ms per kernel (target 0.5)")
    linear = []
    for independent in (False, True):
        kind = "independent" if independent else "correlated"
        walls = []
        for n, target in ((10_000, 2.0), (100_000, 2.0), (200_000, 1.7), (1_000_000, 1.6)):
            path = made(out, "generic", n // small, independent)
            command = thousand(path)
            row = case(f"{n // small:,} x 40 {kind}, -f json --top 1000 / read_csv", command, read_csv(path), target, memory="(<= 1x)" if n >= 200_000 else "(<= 2.5x)",
                       check=lambda path=path: subprocess.run([PY, __file__, "--check", str(path)], check=True))  # fmt: skip
            walls.append(row.ours_s)
        growth = {"10x from 10,000": walls[1] / walls[0], "10x from 100,000": walls[3] / walls[1]}
        linear.append({"kind": kind, **growth})
        print(
            f"  ten times the rows, {kind}: "
            + ", ".join(f"{v:.1f}x" for v in growth.values())
            + " the time (target 11)"
        )
    for peer, code in PEERS.items():
        if importlib.util.find_spec(peer):
            case(
                f"{1_000_000 // small:,} x 40, triage / {peer} only reading",
                command,
                [PY, "-c", code.format(path=str(path))],
                None,
            )
        else:
            print(f"  {peer} is not installed: pip install {peer}")
    batch = {}
    for form in BATCH:
        batch[form] = batch_scaling(out, 120 // small, min(runs, 3), form)
        walls = ", ".join(f"{j}: {s:.2f}" for j, s in batch[form].items())
        print(f"  batch of {120 // small} captures as {form}, seconds by processes: {walls}")
    result = {
        "python": platform.python_version(), "cores": len(os.sched_getaffinity(0)), "runs": runs, "quick": options.quick,
        "versions": {m: importlib.metadata.version(m) for m in ("pandas", "numpy")},
        "cases": [asdict(c) for c in cases], "ms_per_kernel_after_reading": per_kernel, "linear": linear, "batch_s": batch,
    }  # fmt: skip
    (out / "bench.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"written to {out / 'bench.json'}")
    if options.record:
        name = f"results-{result['cores']}-cores.json"
        (HERE / name).write_text(json.dumps(result, indent=1) + "\n")
        (HERE / "README.md").write_text(page(), "utf-8")
        print(f"kept as benchmarks/{name} and in benchmarks/README.md")


if __name__ == "__main__":
    main()
