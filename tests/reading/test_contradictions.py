"""What an export says twice must agree: rows that contradict themselves are left out, figures too, always with a remark."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import SAMPLES
from triage.capture.capture import Capture, Column, Table
from triage.capture.source import Source
from triage.ground.errors import BadCapture, TriageError
from triage.reading import identities, name_variants, reader

NSYS = SAMPLES / "nsys-kernels" / "render_cuda_gpu_kern_sum.csv"
V3 = SAMPLES / "rocprofv3-stats" / "4711_kernel_stats.csv"
NVPROF = SAMPLES / "nvprof-summary" / "summary.csv"
RAW = SAMPLES / "ncu-details" / "transpose.details.csv"
METRICS = SAMPLES / "nvprof-metrics" / "metrics.csv"
TRACE = SAMPLES / "nvprof-trace" / "trace.csv"
COUNTERS = SAMPLES / "rocprofv3-counters" / "4711_counter_collection.csv"
PANEL = SAMPLES / "rocprof-compute-panel" / "201.csv"
PIX = SAMPLES / "pix-tool" / "nvidia-events.csv"
TIMERS = SAMPLES / "unreal-timers" / "gpu.csv"
PTI = SAMPLES / "intel-stalls" / "out.4711.csv"
PRESENTS = SAMPLES / "presentmon" / "game-gpu-bound.csv"
DIVE = SAMPLES / "dive-times" / "gpu_time.csv"
P3 = SAMPLES / "generic" / "p3_workloads_v2.csv"


def edited(tmp_path: Path, sample: Path, old: str, new: str, count: int = 1) -> Capture:
    text = sample.read_text("utf-8")
    assert re.search(old, text), old
    (tmp_path / sample.name).write_text(re.sub(old, new, text, count=count), "utf-8")
    return reader.read(str(tmp_path / sample.name))


def checks(c: Capture) -> set[str]:
    return {q.check for q in c.quality}


@pytest.mark.parametrize(
    ("sample", "old", "new", "said"),
    [
        (NSYS, "412387200", "412387200000", "calls of"),  # a thousandfold total
        (NSYS, "216198400,1920", "216198400,192", "calls of"),  # a lost digit of the calls
        (NSYS, "211904,231040", "231040,211904", "shortest"),  # shortest and longest changed places
        (NSYS, r"32\.4,216198400,1920,112603\.3,112224\.0,111008,119136", "32.4,2161984000,1920,1126033,1122240,1110080,1191360", "share"),
        (V3, "15360000", "1536000", "calls of"),
        (NVPROF, r"(?m)^(.*?),(\d+\.\d+),(\d+),", r"\1,\g<2>,\g<3>0,", "calls of"),
        (NSYS, "2104.3", "21043", "deviation"),
        (TIMERS, "0.0021,1.32,0.0019", "0.0021,0.0132,0.0019", "calls of"),
        (PTI, "200000, 180000", "190000, 180000", "calls of"),
        (PTI, "180000, 220000", "210000, 220000", "shortest"),
        (PRESENTS, "16.1353,0.1100", "1.61353,0.1100", "1.61353 + 0.11 is not 16.2453"),
    ],
)  # fmt: skip
def test_a_row_that_contradicts_itself_is_left_out(tmp_path: Path, sample: Path, old: str, new: str, said: str) -> None:
    whole = reader.read(str(sample))
    c = edited(tmp_path, sample, old, new)
    assert "contradiction" not in checks(whole)
    (remark,) = (q for q in c.quality if q.check == "contradiction")
    assert said in remark.message and "1 row contradicts itself" in remark.message
    assert c.input.rows == whole.input.rows - 1


def test_a_percentage_of_another_peak_is_left_out(tmp_path: Path) -> None:
    found = edited(tmp_path, PANEL, "64,80.0", "64,0.08")
    assert any("line 7: 51.2 is not 0.08 % of 64" in q.message for q in found.quality if q.check == "contradiction")
    assert "valu.utilization" in reader.read(str(PANEL)).facts
    assert "valu.utilization" not in found.facts


@pytest.mark.parametrize(
    ("sample", "old", "new", "said"),
    [
        (RAW, r'(?m)^("0"(?:,[^,\n]*){3},(?:"[^"]*"),"\d+"),"7"', r'\1,"0"', "stream is '0', in other rows of id 0"),
        (RAW, r'(?m)^"0",("\d+",.*DRAM Throughput)', r'"7",\1', "the only row of id 7"),
        (METRICS, r"(?m)0\.831000$", "0.083100", "is not below"),
        (COUNTERS, "33554432", "3355443", "gridsize is '3355443'"),
        (PIX, r"(?m)^2, -1,", "2, 999,", "parent '999' is the number of no row"),
    ],
)  # fmt: skip
def test_rows_that_say_something_else_than_the_others_are_left_out(
    tmp_path: Path, sample: Path, old: str, new: str, said: str
) -> None:
    assert "contradiction" not in checks(reader.read(str(sample)))
    (remark,) = (q for q in edited(tmp_path, sample, old, new).quality if q.check == "contradiction")
    assert said in remark.message and "1 row contradicts itself" in remark.message


@pytest.mark.parametrize(("moved", "missing"), [(6_100_000, False), (6_300_000, True)])
def test_bytes_beyond_what_any_memory_moves_are_missing(tmp_path: Path, moved: int, missing: bool) -> None:
    """The RTX A5500 is not listed: no product of its architecture moves twice 936 GB/s, in 3.3 us 6.2 MB."""
    c = edited(tmp_path, SAMPLES / "ncu-raw" / "transpose.raw.csv", '"16384","4096"', f'"{moved}","4096"')
    assert any("that of any sm_86 moves" in q.message for q in c.quality) == missing
    assert np.isnan(c.facts["vram.bytes_read"]).tolist() == [False, False, missing]


def test_where_all_totals_are_beyond_their_extremes_a_column_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(BadCapture, match="calls from"):
        edited(tmp_path, NSYS, r"(?m)^((?:[\d.]+,){6})(\d+),", r"\g<1>\g<2>000,", count=0)


def test_launches_of_a_trace_have_whole_groups(tmp_path: Path) -> None:
    c = edited(tmp_path, TRACE, "128,128,1,32,8,1", "128,128,1,0.32,8,1")
    assert any("not whole" in q.message for q in c.quality if q.check == "contradiction")


def test_names_that_a_page_of_the_web_escaped_are_one(tmp_path: Path) -> None:
    rows = ("scan<float>,1.5,20", "scan&lt;float&gt;,2.5,30", "scan<float>,1.25,25")
    (tmp_path / "a.csv").write_text("\n".join(["name,gpu.time [ms],sm.throughput [%]", *rows]) + "\n")
    c = reader.read(str(tmp_path / "a.csv"))
    assert list(c.names) == ["scan<float>"] and "name-spelling" in checks(c)


def test_where_most_rows_contradict_themselves_a_column_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(BadCapture, match="most rows are like this"):
        edited(tmp_path, NSYS, r"(?m)^([\d.]+),(\d+),", r"\1,\g<2>000,", count=0)


def test_a_mean_that_the_tool_truncated_is_right(tmp_path: Path) -> None:
    text = "=== Device Timing Summary ===\n\nKernel, Calls, Time (ns), Time (%), Average (ns)\n"
    for mean, wrong in (("3", False), ("2", True)):
        (tmp_path / "a.csv").write_text(f'{text}"a", 100, 399, 50, {mean}\n"b", 1, 399, 50, 399\n"c", 1, 1, 0, 1\n')
        assert ("contradiction" in checks(reader.read(str(tmp_path / "a.csv")))) is wrong


@pytest.mark.parametrize("sample", [NSYS, PTI])
def test_percentages_that_do_not_add_up_tell_of_lost_and_doubled_rows(tmp_path: Path, sample: Path) -> None:
    lines = sample.read_text("utf-8").splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line[:1].isdigit() or line.startswith('"'))
    lost, again = [*lines[:first], *lines[first + 1 :]], [*lines[: first + 1], *lines[first:]]
    for body, said in ((lost, "rows are missing"), (again, "rows stand twice")):
        (tmp_path / sample.name).write_text("".join(body), "utf-8")
        c = reader.read(str(tmp_path / sample.name))
        assert any(said in q.message for q in c.quality if q.check == "contradiction")


@pytest.mark.parametrize(
    ("metric", "factor", "lost"),
    [
        ("gpu.time", 1000, {"gpu.time", "sm.cycles_elapsed"}),
        ("gpu.time", 0.001, {"gpu.time", "vram.bytes_read"}),
        ("launch.threads", 10, {"launch.threads", "launch.grid_size"}),
        ("launch.block_size", 1.5, {"launch.block_size"}),
        ("sm.occupancy", 0.1, {"sm.occupancy", "sm.active_warps"}),
    ],
)
def test_figures_that_contradict_each_other_are_missing(metric: str, factor: float, lost: set[str]) -> None:
    c = reader.read(str(RAW), unfold=True)
    assert identities.check(c.table, c.device) == []
    first = c.table.columns[metric]
    first.values = first.values * np.where(np.arange(len(c)) == 0, factor, 1)
    before = {m: c.table.columns[m].values.copy() for m in lost & c.table.columns.keys()}
    (remark, *_) = identities.check(c.table, c.device)
    assert remark.check == "contradiction" and "treated as missing" in remark.message
    for m, values in before.items():
        assert np.isnan(c.table.columns[m].values[0]), m
        assert np.array_equal(c.table.columns[m].values[1:], values[1:], equal_nan=True)


@pytest.mark.parametrize("cell", ["", "-", "null", "N/A"])
def test_a_lost_time_is_remarked_and_the_total_is_at_least(tmp_path: Path, cell: str) -> None:
    c = edited(tmp_path, NSYS, "412387200", cell)
    (remark,) = (q for q in c.quality if q.check == "no-duration")
    assert "at least" in remark.message and len(c) == 3


@pytest.mark.parametrize(
    "variant",
    ["Alpha one ", "Alpha\u00a0one", "Alpha  one", "ALPHA ONE", "Ａｌｐｈａ one", "Al\u200bpha one"],
)
def test_spellings_of_a_name_are_one(tmp_path: Path, variant: str) -> None:
    (tmp_path / "a.csv").write_text(f"name,gpu.time [ms],sm.throughput [%]\nAlpha one,1.5,20\n{variant},2.5,30\nBeta,3,40\nAlpha one,1.25,25\n")  # fmt: skip
    c = reader.read(str(tmp_path / "a.csv"))
    assert list(c.names) == ["Alpha one", "Beta"] and c.duration_ns[0] == pytest.approx(5.25e6)
    assert variant.strip(" ") == "Alpha one" or "name-spelling" in checks(c)
    assert name_variants.key("std::max<float>(A, B)") != name_variants.key("std::max<float>(A, C)")


@pytest.mark.parametrize(("name", "odd"), [('convolution"', True), ('operator""_km', False)])
def test_a_quote_that_nothing_closes_is_named(tmp_path: Path, name: str, odd: bool) -> None:
    text = (SAMPLES / "clintercept" / "report.txt").read_text("utf-8")
    (tmp_path / "report.txt").write_text(re.sub(r"\bconvolution(?=,)", name, text), "utf-8")
    assert ("name-spelling" in checks(reader.read(str(tmp_path / "report.txt")))) is odd


def test_a_row_of_intel_s_tools_that_was_cut_within_its_key_is_set_aside(tmp_path: Path) -> None:
    head = "== Kernel Metrics ==\n\nKernel,SubDeviceId,GpuTime[ns],EuActive[%],EuStall[%],\n"
    key = "GEMM[SIMD32 {4; 1024; 1} {256; 1; 1}]"
    (tmp_path / "a.txt").write_text(f"{head}{key},0,10,50,40,\n{key},0,10,50,40,\n{key},0\n")
    assert "rows-set-aside" in checks(reader.read(str(tmp_path / "a.txt")))


def test_rows_without_a_name_and_doubled_rows_are_remarked(tmp_path: Path) -> None:
    c = edited(tmp_path, NSYS, r'"void transpose_tiled<float, 32>[^"]*"', "")
    assert "no-name" in checks(c)
    rows = [f"m{i},{i}.123,{i}.25,{10 + i}.5,{20 + i}.125" for i in range(1, 13)]
    head = "name,gpu.time [ms],sm.throughput [%],l2.throughput [%],vram.throughput [%]"
    (tmp_path / "b.csv").write_text("\n".join([head, *rows[:5], rows[4], *rows[5:]]) + "\n")
    (remark,) = (q for q in reader.read(str(tmp_path / "b.csv")).quality if q.check == "repeated-rows")
    assert "line 7" in remark.message


@pytest.mark.parametrize("word", ["Gesamt", "Somme", "Summe", "Suma", "Totale", "Итого", "合計", "Gesamtergebnis"])
def test_total_rows_of_spreadsheets_are_left_out(tmp_path: Path, word: str) -> None:
    (tmp_path / "a.csv").write_text(
        f"name,gpu.time [ms],sm.throughput [%]\nA,1,20\nB,2,30\nC,3,40\n{word},6,\n", "utf-8"
    )
    c = reader.read(str(tmp_path / "a.csv"))
    assert list(c.names) == ["A", "B", "C"] and "total-row" in checks(c)


def test_copies_of_the_samples_carry_no_contradiction(tmp_path: Path) -> None:
    for sample in (NSYS, V3, NVPROF, RAW):
        shutil.copy(sample, tmp_path)
        assert "contradiction" not in checks(reader.read(str(tmp_path / sample.name)))


def test_every_row_of_a_sample_is_in_one_workload_and_its_time_is_known_or_remarked() -> None:
    seen = 0
    for path in sorted(SAMPLES.glob("*/*")):
        if path.suffix in (".md", ".cu") or path.is_dir() or path.stat().st_size > 400_000:
            continue
        try:
            c = reader.read(str(path))
        except TriageError:
            continue
        seen += 1
        rows = sorted(int(r) for w in range(len(c)) for r in c.rows_of(w))
        assert rows == list(range(len(c.table))), path
        column = c.table.columns.get("gpu.time")
        if column is None or c.table.trace is not None or any(m.startswith("present.") for m in c.facts):
            continue
        lost = [
            w for w in range(len(c)) if not np.isfinite(column.values[c.rows_of(w)]).all() and w not in set(c.parent)
        ]
        if 0 < 2 * len(lost) < len(c):
            assert "no-duration" in checks(c), path
    assert seen > 60


@pytest.mark.parametrize(
    ("figures", "lost"),
    [
        ({"sm.throughput": 0.004, "sm.issue_per_elapsed": 0.4}, {"sm.throughput", "sm.issue_per_elapsed"}),
        ({"sm.throughput": 0.4, "sm.issue_per_elapsed": 0.404}, set()),
        ({"sm.throughput": 0.3, "pipe_elapsed.fma": 0.6}, {"sm.throughput", "pipe_elapsed.fma"}),
        ({"sm.active_warps": 0.0, "sm.throughput": 0.5}, {"sm.active_warps", "sm.throughput"}),
        ({"sm.active_warps": 0.0, "sm.throughput": 0.004}, set()),
        ({"occupancy.theoretical": 0.0, "sm.occupancy": 0.3}, set()),  # remarked as a failed calculation of the tool
        ({"warp.cycles_per_issue": 4.0, "warp.issued_per_scheduler": 0.5, "warp.active_per_scheduler": 12.0}, {"warp.cycles_per_issue", "warp.issued_per_scheduler", "warp.active_per_scheduler"}),
        ({"sm.cycles_active_max": 90.0, "sm.cycles_active": 120.0}, {"sm.cycles_active_max", "sm.cycles_active"}),
        ({"sm.cycles_active_max": 100.0, "sm.cycles_active": 100.0}, set()),
        ({"stall_cycles.wait": 12.0, "warp.cycles_per_issue": 4.0}, {"stall_cycles.wait", "warp.cycles_per_issue"}),
        ({"stall_cycles.wait": 9.0, "warp.cycles_per_issue": 4.0}, set()),
        ({"stall_cycles.selected": 100.0}, {"stall_cycles.selected"}),
        ({"launch.wave_size": 3.2}, {"launch.wave_size"}),
        ({"launch.wave_size": 64.0}, set()),
        ({"warp.threads_per_inst": 0.0, "inst.executed": 1e6}, {"warp.threads_per_inst", "inst.executed"}),
        ({"global_load.sectors": 4100.0, "global_load.requests": 100.0}, {"global_load.sectors", "global_load.requests"}),
        ({"global_load.sectors": 3200.0, "global_load.requests": 100.0}, set()),
        ({"occupancy.limit_warps": 9.0, "launch.block_size": 256.0}, {"occupancy.limit_warps", "launch.block_size"}),
        ({"occupancy.limit_warps": 8.0, "launch.block_size": 256.0}, set()),
        ({"occupancy.limit_registers": 2.0, "launch.block_size": 1024.0, "launch.registers": 128.0}, {"occupancy.limit_registers", "launch.block_size", "launch.registers"}),
        ({"occupancy.limit_registers": 2.0, "launch.block_size": 1024.0, "launch.registers": 64.0}, set()),
        ({"warp.cycles_per_issue": 16.0, "warp.issued_per_scheduler": 0.5, "warp.active_per_scheduler": 8.0}, set()),
    ],
)  # fmt: skip
def test_parts_above_their_whole_and_idle_units_at_work_are_missing(figures: dict[str, float], lost: set[str]) -> None:
    columns = {m: Column(np.array([v]), m, 1 + i) for i, (m, v) in enumerate(figures.items())}
    table = Table(
        "generic", [Source(str(SAMPLES / "compare" / "table1_before.csv"))], np.array(["a"], dtype=object), columns
    )
    remarks = identities.check(table, None)
    assert {m for m, c in table.columns.items() if np.isnan(c.values).any()} == lost
    assert bool(remarks) is bool(lost)
    assert all(q.check == "contradiction" and q.doubt for q in remarks)


def test_equal_launches_with_numbers_of_their_own_are_no_copies(tmp_path: Path) -> None:
    """Every figure of every row may be alike where one kernel is launched again and again."""
    head = '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","SGPR_Count","Counter_Name","Counter_Value"'
    rows = [f'{n},{n},1,{n},9,9,1048576,"divide(float*)",64,0,0,12,16,"SQ_WAVES",16384' for n in (1, 2, 3, 4)]
    (path := tmp_path / "counter_collection.csv").write_text("\n".join([head, *rows, ""]))
    assert "repeated-rows" not in {q.check for q in reader.read(str(path)).quality}


@pytest.mark.parametrize(
    ("sample", "old", "new", "said"),
    [
        (DIVE, "RenderPass,1,", "Renderpass,1,", "1 row of no frame, command buffer or render pass, first in line 7"),
        (DIVE, "RenderPass,1,", 'RenderPass,"1,0",', "1 row of no frame"),
        (
            PIX,
            "Dispatch, 5,",
            "Dispatch, ,",
            "1 event with figures but without a Global ID or a time, first in line 10",
        ),
    ],
)
def test_rows_that_are_left_out_are_remarked(tmp_path: Path, sample: Path, old: str, new: str, said: str) -> None:
    c = edited(tmp_path, sample, old, new)
    assert any(said in q.message for q in c.quality if q.check == "rows-left-out")
