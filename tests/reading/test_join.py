"""A trace and a report of counters as one capture: times of the one, counters of the other, each figure from its file."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import SAMPLES, run
from tests.helpers import ncu_reports as w
from triage.reading import join, reader

TRACE = SAMPLES / "nsys-sqlite" / "training_two_gpus.sqlite"
TIME, DRAM = "gpu__time_duration.sum", "dram__throughput.avg.pct_of_peak_sustained_elapsed"
NORM = "layer_norm<float, (int)256>(const float *, float *, int)"


def launch(kernel: str, ns: int, dram: float, grid: int, block: int, **more: object) -> w.Launch:
    figures = {TIME: ns, DRAM: dram, "dram__bytes_read.sum": dram * 1e6}
    figures |= dict.fromkeys(
        (f"{u}__throughput.avg.pct_of_peak_sustained_elapsed" for u in ("sm", "l1tex", "lts")), 20.0
    )
    figures["gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"] = dram
    return w.Launch(kernel, figures, grid=(grid, 1, 1), block=(block, 1, 1), **more)  # type: ignore[arg-type]


def report(tmp_path: Path) -> Path:
    """Three launches of a kernel of the trace, one of it in another shape, and one of another kernel."""
    found = [launch(NORM, ns, dram, 1056, 256) for ns, dram in ((90_000, 91.0), (60_000, 50.0), (70_000, 72.5))]
    found[2].rules = [w.Rule("SOLBottleneck", "It is the memory.", percent=20.0)]
    found += [launch(NORM, 1, 1.0, 7, 32), launch("void unknown<int>(int)", 5, 5.0, 1056, 256)]
    path = tmp_path / "counters.ncu-rep"
    path.write_bytes(w.report(found, devices=[w.Device("NVIDIA A100-SXM4-80GB")]))
    return path


def test_times_of_the_trace_counters_of_the_median_launch(tmp_path: Path) -> None:
    alone = reader.read(str(TRACE))
    (both,) = join.joined([reader.read(str(TRACE)), reader.read(str(report(tmp_path)))])
    assert list(both.names) == list(alone.names)
    np.testing.assert_array_equal(both.facts["gpu.time"], alone.facts["gpu.time"])
    np.testing.assert_array_equal(both.calls, alone.calls)
    mine = np.array([str(n).startswith("void layer_norm") for n in both.names])
    assert mine.any() and not mine.all()
    assert set(both.facts["vram.throughput"][mine]) == {0.725}
    assert np.isnan(both.facts["vram.throughput"][~mine]).all()
    # what adds up is that of every launch of the trace
    np.testing.assert_allclose(both.facts["vram.bytes_read"][mine], 72.5e6 * both.calls[mine])
    assert [o.rule for o in both.table.opinions] == ["SOLBottleneck"]
    text = " ".join(q.message for q in both.quality)
    assert "without a launch in the trace, excluded: void unknown<int>(int)" in text


@pytest.mark.slow
def test_a_figure_leads_to_its_own_file(tmp_path: Path) -> None:
    path = report(tmp_path)
    doc = json.loads(run("diagnose", TRACE, path, "-f", "json", "--full").stdout)
    assert len(doc["captures"]) == 1
    cells: list[dict[str, object]] = []

    def collect(source: dict[str, object]) -> None:
        if "formula" not in source:
            cells.append(source)
        for i in source.get("inputs", ()):  # type: ignore[attr-defined]
            collect(i["source"])

    for f in doc["findings"]:
        for e in f["evidence"]:
            collect(e["source"])
    theirs = [c for c in cells if c["file"] == str(path)]
    assert theirs and {(c["record"], c["line"]) for c in theirs} == {("result", 3)}
    assert any(c["column"] == DRAM and c["text"] == "72.5" for c in theirs)


def test_without_a_kernel_in_common_both_stay(tmp_path: Path) -> None:
    path = tmp_path / "other.ncu-rep"
    path.write_bytes(w.report([launch("void unknown<int>(int)", 5, 5.0, 1, 32)]))
    captures = [reader.read(str(TRACE)), reader.read(str(path))]
    assert join.joined(captures) == captures


def test_another_speed_under_the_profiler_is_said(tmp_path: Path) -> None:
    path = tmp_path / "slow.ncu-rep"
    path.write_bytes(w.report([launch(NORM, 900_000, 50.0, 1056, 256)]))
    (both,) = join.joined([reader.read(str(TRACE)), reader.read(str(path))])
    assert any(q.check == "replayed-otherwise" and "--clock-control none" in q.message for q in both.quality)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("void foo<float>(float*)", "foo<float>(float *, int)"),
        ("void a::foo<(int)4, (bool)1>(T1 *)", "a::foo<4, 1>(T1 *)"),
        ("foo", "foo(int)"),
        ("void (anonymous namespace)::foo(int)", "(anonymous namespace)::foo(float)"),
    ],
)
def test_names_that_mean_the_same(one: str, other: str) -> None:
    assert join.key(one) == join.key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("foo<float>()", "foo<int>()"), ("a::foo()", "b::foo()"), ("foo4()", "foo()")]
)
def test_names_that_do_not(one: str, other: str) -> None:
    assert join.key(one) != join.key(other)


def test_a_trace_of_torch_takes_counters_by_the_kernels_name(tmp_path: Path) -> None:
    """torch.profiler writes `float const*` where Nsight Compute writes `const float *`."""
    kernel = "void layer_norm<float, 256>(float const*, float*, int)"
    rows = []
    for i in range(40):
        place = {"device": 0, "stream": 7, "correlation": i + 1, "grid": [1056, 1, 1], "block": [256, 1, 1]}
        rows.append(
            {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": 100 * i, "dur": 70, "args": place}
        )
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": rows}))
    (both,) = join.joined([reader.read(str(path)), reader.read(str(report(tmp_path)))])
    assert both.facts["vram.throughput"].tolist() == [0.725] and both.facts["gpu.time"].tolist() == [40 * 70_000]
    doc = json.loads(run("diagnose", path, tmp_path / "counters.ncu-rep", "-f", "json", "--full").stdout)
    (workload,) = doc["workloads"]
    assert workload["limiter_class"] == "memory" and workload["self_ns"] == 40 * 70_000


STATS = '"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n"blur(float*) [clone .kd]",3,418083,139361,80\n"fill(float*) [clone .kd]",1,100000,100000,20\n'
COUNTS = "Index,KernelName,gpu-id,grd,wgr,lds,scr,vgpr,sgpr,Wavefronts,VALUBusy,MemUnitStalled,LDSBankConflict\n"


def files(tmp_path: Path, *rows: str) -> list[Path]:
    """A summary of times by rocprof, and a file of its counters, which holds no times."""
    stats, counts = tmp_path / "results.stats.csv", tmp_path / "counters.csv"
    stats.write_text(STATS)
    counts.write_text(COUNTS + "".join(f"{i},{row}\n" for i, row in enumerate(rows)))
    return [stats, counts]


BLUR = '"blur(float*) [clone .kd]",0,16777216,1024,4096,0,8,24,262144,26,20,67'
FILL = '"fill(float*) [clone .kd]",0,65536,256,0,0,8,24,1024,1,20,0'


def test_a_summary_of_times_takes_counters_that_have_none(tmp_path: Path) -> None:
    (both,) = join.joined([reader.read(str(p)) for p in reversed(files(tmp_path, BLUR, FILL))])
    assert both.facts["gpu.time"].tolist() == [418_083, 100_000]
    assert both.facts["lds.bank_conflict_stall"].tolist() == [0.67, 0]
    assert both.calls.tolist() == [3, 1]
    assert both.collect is not None and "FETCH_SIZE" in both.collect(["vram.bytes_read"])
    # what adds up was counted in one launch, and the time is of all
    assert both.facts["waves.launched"].tolist() == [3 * 262_144, 1_024]
    assert "counters of 2 kernels come from" in " ".join(q.message for q in both.quality)


@pytest.mark.parametrize(
    "rows",
    [(BLUR, BLUR.replace("16777216", "65536")), ('"other(int) [clone .kd]",0,65536,256,0,0,8,24,1024,1,20,0',)],
    ids=["one time for two shapes", "another kernel"],
)
def test_times_of_something_else_stay_apart(tmp_path: Path, rows: tuple[str, ...]) -> None:
    assert len(join.joined([reader.read(str(p)) for p in files(tmp_path, *rows)])) == 2


def test_of_two_summaries_neither_is_the_one(tmp_path: Path) -> None:
    stats, counts = files(tmp_path, BLUR)
    other = tmp_path / "other.stats.csv"
    other.write_text(STATS)
    assert len(join.joined([reader.read(str(p)) for p in (stats, other, counts)])) == 3
