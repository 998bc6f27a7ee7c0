from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tests.helpers.dialects import check_provenance, read
from triage.derive import View
from triage.dialects.intel import intel_pti, pti
from triage.ground.errors import BadCapture, NotTriageable, TriageError, UnknownUnit
from triage.reading import reader

QUERY = SAMPLES / "intel-pti" / "metrics.4711.csv"
SAMPLED = SAMPLES / "intel-pti" / "sampled.4711.csv"
TIMING = SAMPLES / "intel-pti" / "timing.txt"


def test_metrics_per_kernel_instance_on_two_devices() -> None:
    t = read(QUERY, "intel-pti")
    assert list(t.names) == ["triad(float*, float*)", "gemm<float, 16>", "triad(float*, float*)", "tail(int*)"]
    c = t.columns
    assert c["eu.active"].values[1] == pytest.approx(0.814)
    assert View(reader.read(str(QUERY)))["eu.idle"][0] == pytest.approx(1 - 0.182 - 0.799)
    assert "sm.throughput" not in c  # active is not a share of peak
    assert c["launch.grid_size"].values[1] == 64 * 64
    assert c["launch.block_size"].values[1] == 256
    assert c["launch.wave_size"].values[1] == 16
    assert c["vram.bandwidth"].values[0] == pytest.approx((805306368 + 402653184) / 1.25e-3)
    assert [q.check for q in t.quality] == ["profiler-flags", "gpu-not-named"]
    assert t.quality[0].row == 2
    check_provenance(t)


def test_a_piece_of_a_row_with_an_open_quote_is_set_aside(tmp_path: Path) -> None:
    *rows, last = QUERY.read_text("utf-8").rstrip().splitlines()
    path = tmp_path / "metrics.4711.csv"
    path.write_text("\n".join([*rows, last[:20], ""]), "utf-8")
    (said,) = (q.message for q in reader.read(str(path)).quality if q.check == "rows-set-aside")
    assert f"line {len(rows) + 1}: 1 cell, header has 20" in said


def test_time_samples_count_as_the_instances_they_belong_to() -> None:
    t = read(SAMPLED, "intel-pti")
    assert t.columns["frame.calls"].values.sum() == pytest.approx(2)
    assert t.columns["gpu.time"].values.sum() == 175000
    check_provenance(t)


def test_the_padded_table_of_the_samples() -> None:
    t = read(TIMING, "intel-pti")
    assert list(t.names) == ["GEMM", "Fill"]
    assert t.columns["gpu.time"].values[0] == 172104826  # the total, not the share or the average
    assert t.columns["frame.calls"].values[1] == 10
    assert t.columns["eu.stall"].values[1] == pytest.approx(0.481)


H = "Kernel,SubDeviceId,GpuTime[ns],EuActive[%],EuStall[%],"


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("GEMM[SIMD32 {4; 1024; 1} {256; 1; 1}],0,10,50,40,", "GEMM"),
        ("f<int, float>[SIMD8 {4; 1; 1} {8; 1; 1}],0,10,50,40,", "f<int, float>"),  # commas that nobody quoted
        ('"f<int, float>[SIMD8 {4; 1; 1} {8; 1; 1}]",0,10,50,40,', "f<int, float>"),
        ("plain,0,10,50,40", "plain"),  # no trailing comma
        ("a[3],0,10,50,40,", "a[3]"),
    ],
)
def test_kernel_keys(row: str, name: str) -> None:
    t = read(f"== Kernel Metrics ==\n\n{H}\n{row}\n\n")
    assert list(t.names) == [name]
    assert t.columns["eu.active"].values[0] == 0.5


def test_blocks_repeat_their_header_and_the_application_talks_in_between() -> None:
    text = f"hello, world\n== Aggregated Kernel Metrics ==\n\n{H}\na[SIMD32 {{1; 1; 1}} {{8; 1; 1}}],0,10,50,40,\n\nstep 2 of 3 done\n{H}\nb,0,20,60,30,\n"
    for data in (
        text.encode(),
        b"\xef\xbb\xbf" + text.encode(),
        text.replace("\n", "\r\n").encode(),
        text.encode("utf-16"),
    ):
        t = read(data, "intel-pti")
        assert list(t.names) == ["a", "b"]
        assert list(t.lines) == [5, 9]
        assert "frame.calls" not in t.columns


def test_refusals_name_what_it_is() -> None:
    with pytest.raises(NotTriageable, match="whole device"):
        read("== Raw Metrics ==\n\nSubDeviceId,GpuTime[ns],EuActive[%],\n0,10,50,\n")
    with pytest.raises(NotTriageable, match="host API calls"):
        read("=== API Timing Summary ===\n\n Function, Calls, Time (ns), Time (%)\nzeInit, 1, 20, 100\n")
    with pytest.raises(BadCapture, match="header without rows"):
        read(H + "\n")
    with pytest.raises(UnknownUnit, match="furlong"):
        read("Kernel,GpuTime[furlong],EuActive[%],Time[ns]\na,1,2,3\n")
    with pytest.raises(TriageError):
        read("Kernel,Time[ns]\n")


def test_copies_in_a_timing_summary_are_copies() -> None:
    t = read(
        '== L0 Backend ==\n\n  Kernel, Calls, Time (ns), Time (%)\n"k", 2, 100, 50\n"zeCommandListAppendMemoryCopy(M2D)", 1, 100, 50\n'
    )
    assert list(t.kinds) == ["compute", "copy"]


PROPERTIES = """== L0 Backend ==

     Kernel, Calls, Time (ns), Time (%)
"gemm[SIMD16 {20; 1; 1} {64; 8; 1}]", 20, 7443743, 68.4
"softmax", 10, 3443743, 31.6

=== Kernel Properties ===

     Kernel, Compiled, SIMD, Number of Arguments, SLM Per Work Group, Private Memory Per Thread, Spill Memory Per Thread, Register File Size Per Thread
"gemm[SIMD16 {20; 1; 1} {64; 8; 1}]",      JIT,   16,    7,              65536,    128,    3840,     256
"another",      AOT,   32,    5,    0,    0,    64,     128
"""
BOTH = PROPERTIES + '"softmax",      AOT,   32,    5,    0,    0,    0,     128\n'


def test_properties_of_compiled_kernels_join_their_times() -> None:
    t = read(PROPERTIES)
    c = t.columns
    assert list(t.names) == ["gemm", "softmax"]
    assert c["launch.scratch"].values[0] == 3840 + 128 and c["launch.shared"].values[0] == 65536
    assert c["launch.registers"].values[0] == 256
    assert c["launch.wave_size"].values[0] == 16
    assert np.isnan(c["launch.scratch"].values[1])  # its properties were not printed
    both = read(BOTH)
    assert both.columns["launch.registers"].values.tolist() == [256, 128]
    check_provenance(both)


def test_groups_of_metrics_are_named_in_the_command() -> None:
    assert "-g MemoryProfile" in intel_pti.collect(["l3.hit_rate"])
    assert "-g ComputeBasic" in intel_pti.collect(["eu.active"])
    assert intel_pti.names()["eu.active"]
    assert all(intel_pti.names().values())


@given(st.integers(1, 2**31), st.sampled_from(["ns", "us", "ms"]))
def test_times_in_any_unit(value: int, unit: str) -> None:
    t = read(f"Kernel,GpuTime[{unit}],EuActive[%],\nk,{value},5,\n" + "# [ns]\n")
    assert t.columns["gpu.time"].values[0] == value * {"ns": 1, "us": 1e3, "ms": 1e6}[unit]


@given(st.lists(st.text(alphabet='ab,"[]; ', max_size=8), min_size=1, max_size=7))
def test_mended_rows_have_the_width_of_the_header(cells: list[str]) -> None:
    row = ",".join(cells)
    try:
        mended = pti._mend(row, 5, 0)
    except Exception as e:  # unbalanced quotes are the csv module's to refuse
        assert type(e).__name__ == "Error"
        return
    assert len(pti.cut(mended)) <= 5 or '"' in row


def test_missing_cells_are_missing() -> None:
    t = read(f"{H}\nk,0,10,n/a,40,\nk,0,10,50,,\n")
    assert np.isnan(t.columns["eu.active"].values[0])
    assert np.isnan(t.columns["eu.stall"].values[1])
