"""`make bench`: whole-process ratios measured in one run, against pandas.read_csv, an import of pandas, an import of click.

    python benchmarks/bench.py [--quick] [--long] [--runs 5] [--cores 1] [--only WORD]... [--out bench-out] [--resume] [--record]

Prints every row as soon as it is measured and keeps it in bench-out/results-N-cores.json; `--resume` goes on with an interrupted run, row by
row. `--long` adds a Dask cluster, ten million workloads (2.4 GB), 10,000 captures and a trace of 4 GB: half an hour. `--record` writes what is
there to benchmarks/results-N-cores.json and benchmarks/README.md, as `python benchmarks/recorded.py SHEET` does.

The two commands of a ratio take turns, so that a machine whose speed drifts does not decide it; a machine that others use
as well says more by the ratio of processor time, which stands beside it. Answers are checked (benchmarks/right.py): the
cells against pandas, the rules against a plain evaluation without engine or signatures.

Peers that read the same file are timed where they are installed (`pip install polars pyarrow duckdb`); triage needs none.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from measure import Case, Sheet, Spent, compared, once, python  # noqa: E402
from recorded import page, record  # noqa: E402, F401 - the page is asked for by a test
from right import TRIAGE, thousand  # noqa: E402

PY = sys.executable
PEERS = {  # reading every column of a comma-delimited file; all of them use every core
    "polars": "import polars; polars.read_csv({path!r})",
    "pyarrow": "import pyarrow.csv as c; c.read_csv({path!r})",
    "duckdb": "import duckdb; duckdb.sql('create table t as from read_csv(' + repr({path!r}) + ')')",
}
# peer -> its package, and what reads a PyTorch trace with it
TRACE_PEERS = {
    "json.load": ("json", "import json; json.load(open({path!r}, encoding='utf-8'))"),
    "orjson": ("orjson", "import orjson, pathlib; orjson.loads(pathlib.Path({path!r}).read_bytes())"),
    "HolisticTraceAnalysis": (
        "hta",
        "from hta.common.trace_parser import parse_trace_dataframe as parse; from hta.configs.parser_config import ParserConfig as P\n"
        "parse({path!r}, P.get_default_cfg())",
    ),
}
# pandas steps over the tables that triage reads
SQLITE = (
    "import pandas, sqlite3; c = sqlite3.connect({path!r})\n"
    "for t in ('KERNEL', 'MEMCPY', 'RUNTIME'): pandas.read_sql('select * from CUPTI_ACTIVITY_KIND_' + t, c)"
)
# inside the process, none folded, from the capture to the written JSON: milliseconds per launch
AFTER = """
import sys, time
from triage.diagnosis.diagnosing import Diagnoser
from triage.findings.assembling import bundle
from triage.reading import reader
from triage.rendering.result_json import write_json
from triage.rulebook.packs import load, select
d = Diagnoser(select(load())); c = reader.read(sys.argv[1], unfold=True)
a = time.perf_counter(); write_json(bundle(d.diagnose([c]), ways=False), lambda text: None)
print((time.perf_counter() - a) * 1e3 / len(c))
"""
# inside the process: what it takes of reading an export to see that every row has the cells of the header, per cent of
# the CPU time; delimiters are counted on the way until a quote is met, rows with quotes are looked at one by one
FITTING = """
import os, sys, time
from statistics import median
from triage.capture import shape
from triage.dialects.tables.csv_parser import _Range
from triage.reading import reader
def seconds(work, *args, **more):
    a = time.process_time(); work(*args, **more); return time.process_time() - a
class Uncounted(_Range):
    quoted = property(lambda self: True, lambda self, value: None)
def through(kind):
    with open(sys.argv[1], "rb", buffering=0) as f:
        part = kind(f, os.path.getsize(sys.argv[1]), ord(","))
        while part.read(1 << 18):
            pass
looked, check = [], shape.check
shape.check = lambda *args, **more: looked.append(seconds(check, *args, **more))
def share():
    looked.clear()
    reading = seconds(reader.read, sys.argv[1])
    return (seconds(through, _Range) - seconds(through, Uncounted) + sum(looked)) / reading
print(100 * median(share() for _ in range(7)))
"""
# a cluster of one thread per core; it ends when nobody holds its input any more
CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=int(sys.argv[1]), threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


class Bench:
    """One run. small: by how much inputs are smaller than their names say under --quick."""

    def __init__(self, sheet: Sheet, out: Path, runs: int, small: int, only: Sequence[str]) -> None:
        self.sheet, self.out, self.runs, self.small, self.only = sheet, out, runs, small, only
        self.cores = len(os.sched_getaffinity(0))

    def wanted(self, name: str) -> bool:
        """Does --only leave a row in?"""
        return not self.only or any(word in name for word in self.only)

    def made(self, kind: str, *args: int) -> Path:
        """An input of benchmarks/inputs.py, made by another process: a child's peak memory starts at its parent's."""
        command = [PY, str(HERE / "inputs.py"), str(self.out), kind, *map(str, map(int, args))]
        return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())

    def case(
        self, name: str, ours: list[str], theirs: list[str], target: float | None, memory: str = "",
        check: Path | None = None, runs: int = 0,
    ) -> Case | None:  # fmt: skip
        """A row of the table. check: a generic table whose answer is looked at before it is timed."""
        if not self.wanted(name):
            return None

        def measured() -> Case:
            if check:
                subprocess.run([PY, str(HERE / "right.py"), str(check)], check=True)
            return compared(name, ours, theirs, target, runs or self.runs, memory)

        return self.sheet.case(name, measured)

    def start(self) -> None:
        """What everybody waits for each time."""
        click, pandas = python("import click"), python("import pandas")
        self.case("triage --version / import click", [TRIAGE, "--version"], click, 2.0)
        self.case("import triage / import click", python("import triage"), click, 1.5)
        report = HERE.parent / "sample_captures" / "ncu-rep" / "transpose.ncu-rep"
        self.case("bundled .ncu-rep, diagnose / import pandas", [TRIAGE, "diagnose", str(report)], pandas, 1.3)
        diagnose = [TRIAGE, "diagnose", str(self.made("generic", 60, False)), "-f", "markdown"]
        self.case("60 workloads, diagnose -f markdown / import pandas", diagnose, pandas, 1.3)
        off = ["env", "TRIAGE_CACHE=off", *diagnose]
        self.case("60 workloads, the same without its cache / import pandas", off, pandas, 1.7)

    def width(self) -> None:
        """Many columns, and the two formats that are no text."""
        n = 20_000 // self.small
        trace = self.made("gpu_trace", n, 300)
        ours = [TRIAGE, "diagnose", str(trace.parent), "-f", "json"]
        self.case(f"GPU Trace {n:,} x 300, -f json / read_csv", ours, read_csv(trace, "\t"), 2.2, "(<= 1x)")
        n = 5_000 // self.small
        raw = self.made("ncu_raw", n, 800)
        ours = [TRIAGE, "diagnose", str(raw), "-f", "json"]
        self.case(f"Nsight Compute raw {n:,} x 800, -f json / read_csv", ours, read_csv(raw), 2.0)
        self.figure("Nsight Compute, after reading, per kernel; NVIDIA's own rules take 5.4 to 6.9",
                    lambda: median(float(said([*python(AFTER), str(raw)])) for _ in range(self.runs)), "ms", "at most 0.5")  # fmt: skip
        self.figure("Nsight Compute raw, whether every row fits, of the CPU time of reading",
                    lambda: float(said([*python(FITTING), str(raw)])), "%", "at most 5")  # fmt: skip
        report = self.made("ncu_rep", n)
        ours = [TRIAGE, "diagnose", str(report), "-f", "json"]
        page_of = read_csv(report.with_suffix(".csv"))
        self.case(f"Nsight Compute report {n:,} x 560, -f json / read_csv of its raw page", ours, page_of, None)
        n = 180_000 // self.small
        timeline = self.made("nsys_sqlite", n)
        ours, theirs = [TRIAGE, "diagnose", str(timeline), "-f", "json"], python(SQLITE.format(path=str(timeline)))
        self.case(f"Nsight Systems SQLite, {n:,} kernels, -f json / read_sql of its tables", ours, theirs, None)

    def traces(self) -> None:
        """One PyTorch trace against what else reads it, then packed, against unpacking it first."""
        n = 140 // self.small
        trace, name = self.made("torch_trace", n), f"PyTorch trace of {n:,} MB"
        ours, took = [TRIAGE, "diagnose", str(trace), "-f", "json"], 0.0
        for peer, (package, code) in TRACE_PEERS.items():
            if not importlib.util.find_spec(package):
                print(f"  {peer} is not installed: pip install {peer}")
            elif row := self.case(f"{name}, -f json / {peer}", ours, python(code.format(path=str(trace))), None):
                took = took or row.ours_s
        self.figure(name, lambda: took, "s", "at most 3")
        unpacking = f"{name}, packed, -f json / gzip -dc and the same"
        if self.wanted(unpacking):
            packed = trace.with_suffix(".json.gz")
            subprocess.run(["sh", "-c", 'gzip -1c "$0" > "$1"', str(trace), str(packed)], check=True)
            unpacked = ["sh", "-c", f'gzip -dc "$0" > "$0.json" && {TRIAGE} diagnose "$0.json" -f json', str(packed)]
            self.case(unpacking, [TRIAGE, "diagnose", str(packed), "-f", "json"], unpacked, 1.33)

    def comparison(self) -> None:
        """Two long tables whose workloads have the same names."""
        n = 200_000 // self.small
        sides = [self.made("generic", n, independent) for independent in (False, True)]
        theirs = python("; ".join(["import pandas", *(f"pandas.read_csv({str(path)!r})" for path in sides)]))
        name = f"compare of 2 x {n:,} x 40, -f json / read_csv of both"
        self.case(name, [TRIAGE, "compare", *map(str, sides), "-f", "json"], theirs, None)

    def length(self) -> None:
        """Many workloads."""
        for independent in (False, True):
            kind, walls = "independent" if independent else "correlated", {}
            for n, target in ((10_000, 2.5), (100_000, 2.5), (200_000, 2.5), (1_000_000, 2.5)):
                path = self.made("generic", n // self.small, independent)
                row = self.case(f"{n // self.small:,} x 40 {kind}, -f json --top 1000 / read_csv", thousand(path), read_csv(path),
                                target, "(<= 1x)" if n >= 200_000 else "(<= 2.5x)", path)  # fmt: skip
                walls[n] = row.ours_s if row else 0.0
            for few, many in ((10_000, 100_000), (100_000, 1_000_000)):
                name = f"Ten times the rows, {kind}: from {few // self.small:,} to {many // self.small:,}"
                if walls[few] and walls[many]:  # both were asked for
                    self.figure(name, lambda a=walls[few], b=walls[many]: b / a, "x the time", "at most 11")
        for peer, code in PEERS.items():
            name = f"{1_000_000 // self.small:,} x 40, triage / {peer} only reading"
            if importlib.util.find_spec(peer):
                self.case(name, thousand(path), python(code.format(path=str(path))), None)
            else:
                print(f"  {peer} is not installed: pip install {peer}")

    def html(self) -> None:
        """The page of a large frame; benchmarks/page.py opens it in a browser."""
        n = 100_000 // self.small
        out, source = self.out / "frame.html", self.made("frame", n)
        self.figure(f"HTML of {n:,} markers", lambda: median(
            once([TRIAGE, "diagnose", str(source), "-o", str(out)]).wall for _ in range(self.runs)), "s", "at most 3")  # fmt: skip
        self.figure(f"HTML of {n:,} markers, its size", lambda: out.stat().st_size / 1e6, "MB", "at most 6")

    def batch(self) -> None:
        """A night's captures, in one process and in as many as there are cores."""
        count = 120 // self.small
        source = self.made("captures", count, 300)
        for formats, most in ((("json",), 0.08), (("json", "html"), 0.12)):
            name, alone = f"batch, {count} captures of 300 workloads as {' + '.join(formats)}", 0.0
            for jobs in sorted({1, self.cores}):
                each = self.figure(
                    f"{name}, per capture and process, {jobs} at work",
                    lambda jobs=jobs, formats=formats: self.spent(source, formats, "--jobs", str(jobs)).wall * jobs / count,
                    "s", f"at most {most:g}",
                )  # fmt: skip
                alone = alone or each
                if jobs > 1 and each:
                    gain = alone / each * jobs
                    self.figure(f"{name}, {jobs} processes", lambda gain=gain: gain, "x as fast", "at least 1.8 on 2")

    def flat(self, few: int, many: int) -> None:
        """Does memory grow with the number of captures?"""

        def grown() -> float:
            peaks = [self.spent(self.made("captures", n, 10), ("json",), "--jobs", "1", runs=1).mb for n in (few, many)]
            return peaks[1] / peaks[0]

        self.figure(f"batch, peak memory over {many:,} captures against {few:,}", grown, "x", "at most 1.1")

    def long(self) -> None:
        """What takes minutes: a Dask cluster, 10,000 captures, ten million workloads, a trace of 4 GB."""
        count = 120 // self.small
        source = self.made("captures", count, 300)
        if importlib.util.find_spec("distributed"):
            self.figure(
                f"batch, {count} captures of 300 workloads as json, per capture and Dask worker, {self.cores} at work",
                lambda: self.on_cluster(source) * self.cores / count, "s", "at most 0.08",
            )  # fmt: skip
        n = 10_000_000 // self.small
        path = self.made("generic", n, False)
        self.case(
            f"{n:,} x 40 correlated, -f json --top 1000 / read_csv",
            thousand(path),
            read_csv(path),
            None,
            "(<= 6 GB)",
            runs=1,
        )
        self.flat(1_000 // self.small, 10_000 // self.small)
        n = 4_000 // self.small
        name = f"PyTorch trace of {n:,} MB, -f json"
        if self.wanted(name):
            command = [TRIAGE, "diagnose", str(self.made("torch_trace", n)), "-f", "json"]
            spent: list[Spent] = []
            self.figure(name, lambda: spent.append(once(command)) or spent[0].wall, "s", "at most 60")
            if spent:
                self.figure(f"{name}, peak memory", lambda: spent[0].mb / 1e3, "GB", "at most 2")

    def figure(self, name: str, measure: object, unit: str, target: str = "") -> float:
        """A number without a yardstick; 0 where --only leaves it out."""
        return self.sheet.figure(name, measure, unit, target) if self.wanted(name) else 0.0  # type: ignore[arg-type]

    def spent(self, source: Path, formats: tuple[str, ...], *more: str, runs: int = 0) -> Spent:
        """`triage batch` over a folder, into an empty one: the run of median time."""
        out, spent = self.out / "batch-out", []
        for _ in range(runs or min(self.runs, 3)):
            shutil.rmtree(out, ignore_errors=True)
            words = [w for f in formats for w in ("-f", f)]
            spent.append(once([TRIAGE, "batch", str(source), "-o", str(out), *words, *more]))
        return sorted(spent, key=lambda s: s.wall)[len(spent) // 2]

    def on_cluster(self, source: Path) -> float:
        """Seconds of a batch on a cluster of this machine that has seen a batch before."""
        script = self.out / "cluster.py"
        script.write_text(CLUSTER, "utf-8")
        command = [PY, str(script), str(self.cores)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as cluster:
            assert cluster.stdin and cluster.stdout
            address = cluster.stdout.readline().strip()
            self.spent(source, ("json",), "--dask", address, runs=1)
            wall = self.spent(source, ("json",), "--dask", address).wall
            cluster.stdin.close()
        return wall


def said(command: list[str]) -> str:
    """What a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def read_csv(path: Path, sep: str = ",") -> list[str]:
    """The yardstick: pandas reads the same file."""
    return python(f"import pandas; pandas.read_csv({str(path)!r}, sep={sep!r})")


def main() -> None:
    """Run every row, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small inputs, for a look")
    parser.add_argument(
        "--long",
        action="store_true",
        help="also a Dask cluster, ten million workloads, 10,000 captures and a trace of 4 GB",
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cores", type=int, default=0, help="processors that all commands may use; default all")
    parser.add_argument(
        "--only", action="append", default=[], metavar="WORD", help="rows whose name holds this (repeatable)"
    )
    parser.add_argument("--out", type=Path, default=Path("bench-out"))
    parser.add_argument("--resume", action="store_true", help="keep the rows that an interrupted run has measured")
    parser.add_argument("--record", action="store_true", help="keep the figures in benchmarks/")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    name = f"results-{len(os.sched_getaffinity(0))}-cores.json"
    sheet = Sheet(options.out / name, options.runs, options.quick, options.resume)
    subprocess.run([PY, "-m", "compileall", "-q", str(HERE.parent / "triage")], check=True)
    bench = Bench(sheet, options.out, options.runs, 10 if options.quick else 1, options.only)
    for part in (
        bench.start,
        bench.batch,
        bench.html,
        bench.width,
        bench.traces,
        bench.comparison,
        bench.length,
        *([bench.long] if options.long else []),
    ):
        part()
    print(f"written to {sheet.path}")
    if options.record:
        record(sheet.path)
        print(f"kept as benchmarks/{name} and in benchmarks/README.md")


if __name__ == "__main__":
    main()
