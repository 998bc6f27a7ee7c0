"""Figures of Nsight Compute in notes, a metric per line; and runs of an application that each measured some of them."""

import pytest

from tests.helpers.dialects import read, refusal, values

_COLUMNS = """\
# Two stencils
On an idle GPU, clocks locked.

| Metric | `naive` | `tiled` |
| :-- | --: | --: |
| **Duration [us]** | 1,204.5 | 310.20 |
| **DRAM Throughput [%]** | 18.25 | 71.50 |
| L2 Hit Rate | 93.10% | 40% |
| Waves Per SM | 12.5 | 12.5 |
| Speed-up | | 3.9x |
"""
_HEADINGS = """\
## `norm` kernel
| Metric | Value | Comment |
| --- | --- | --- |
| Duration | 21.5 us | alone |
| DRAM Throughput | 33% / 210 GB/s | both |
| Executed Instructions | 2,941,571 | |
| L2 Hit Rate | ~12.5 % | |
| Achieved Occupancy | 41.25 % | |

## scale
- Duration: 9 us
- Memory Throughput: 1.5 TB/s
"""
_SECTIONS = """\
## GPU Speed Of Light Throughput

| Metric Name | Metric Unit | 1 | scale |
|---|---|---|---|
| Duration | ms | 23.76 | 8.50 |
| Memory Throughput | % | 67.89 | 76.03 |

## Memory Workload Analysis

| Metric Name | Metric Unit | 1 | scale |
|---|---|---|---|
| Memory Throughput | Gbyte/s | 109.73 | 97.90 |
| L2 Hit Rate | % | 2.70 | 2.66 |
| L1/TEX Hit Rate | % | 0.76 | 0.06 |
"""
_AREAS = """\
# Tiled kernel
## Key metrics
| Area | Metric | Value | Remark |
|---|---|---:|---|
| Launch | Grid Size | 256 blocks | small |
| Launch | Waves Per SM | 0.24 | below 1 |
| Memory | DRAM Throughput | 0.75% of peak | idle |
# Untiled kernel
## Key metrics
| Area | Metric | Value | Remark |
|---|---|---:|---|
| Memory | L2 Hit Rate | 86.38% | fine |
"""
_LIST = """\
Selected metrics:

Duration                         343.42 us
DRAM Throughput                   50.73 %
Grid / block                    702 / 128
Registers Per Thread                   56
Stall Barrier                 5.37 cycles
"""
_COMMAND = """\
## The big picture
ncu --set full -k regex:"tiles" -c 1 ./bench

Duration                         us       190.88
Compute (SM) Throughput           %        67.03   <-- the pipe
Registers Per Thread  register/thread       154

## The waits
ncu --section WarpStateStats --kernel-name tiles ./bench

Warp Cycles Per Issued Instruction                                          cycle        25.50
smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio           inst        13.46
"""


def test_columns_of_a_table_are_kernels() -> None:
    table = read(_COLUMNS)
    got = values(table)
    assert (table.dialect, list(table.names)) == ("ncu-text", ["naive", "tiled"])
    assert got["gpu.time"] == [1_204_500, 310_200] and got["launch.waves"] == [12.5, 12.5]
    assert got["l2.hit_rate"] == pytest.approx([0.931, 0.4]) and got["vram.throughput"] == pytest.approx(
        [0.1825, 0.715]
    )


def test_one_column_is_the_kernel_of_its_heading() -> None:
    table = read(_HEADINGS)
    got = values(table)
    assert list(table.names) == ["norm kernel", "scale"] and got["gpu.time"] == [21_500, 9_000]
    assert got["inst.executed"][0] == 2_941_571 and got["l2.hit_rate"][0] == pytest.approx(0.125)
    assert got["vram.bandwidth"][1] == 1.5e12 and "vram.throughput" not in got  # two figures in a cell are none


def test_tables_of_the_same_columns_go_on_in_their_units() -> None:
    table = read(_SECTIONS)
    got = values(table)
    assert list(table.names) == ["column 1", "scale"] and got["gpu.time"] == [23_760_000, 8_500_000]
    assert got["memory.throughput"] == pytest.approx([0.6789, 0.7603])
    assert got["vram.bandwidth"] == [109.73e9, 97.9e9] and got["l2.hit_rate"] == pytest.approx([0.027, 0.0266])


def test_metrics_behind_a_column_of_areas() -> None:
    table = read(_AREAS)
    got = values(table)
    assert list(table.names) == ["Tiled kernel / Key metrics", "Untiled kernel / Key metrics"]
    assert got["launch.grid_size"][0] == 256 and got["launch.waves"][0] == 0.24
    assert got["vram.throughput"][0] == pytest.approx(0.0075) and got["l2.hit_rate"][1] == pytest.approx(0.8638)


def test_a_list_is_one_kernel() -> None:
    table = read(_LIST)
    got = values(table)
    assert list(table.names) == ["(unnamed kernel)"] and got["gpu.time"] == [343_420]
    assert got["stall_cycles.barrier"] == [5.37] and got["launch.registers"] == [56]


def test_runs_that_one_command_names_are_one_kernel() -> None:
    table = read(_COMMAND)
    got = values(table)
    assert list(table.names) == ["tiles"] and got["gpu.time"] == [190_880]
    assert got["sm.throughput"] == pytest.approx([0.6703]) and got["launch.registers"] == [154]
    assert got["stall_cycles.barrier"] == [13.46]


def test_three_metrics_are_a_text_about_a_profile() -> None:
    assert "unknown format" in refusal("\n".join(_LIST.splitlines()[:5]) + "\nRegisters Per Thread  few\n")


_RULE = f"    {'-' * 40} ----------- ----------\n"


def _launch(kernel: str, rows: str) -> str:
    head = f"  {kernel}(int) (8, 1, 1)x(32, 1, 1), Context 1, Stream 7, Device 0, CC 9.0\n    Section: Metrics\n"
    return head + _RULE + "    Metric Name                              Metric Unit Metric Value\n" + _RULE + rows


def test_runs_that_measured_different_metrics_are_one_launch() -> None:
    def run(metric: str, unit: str, **launches: float) -> str:
        return "".join(_launch(k[0], f"    {metric:40} {unit:11} {v:10}\n") for k, v in launches.items())

    text = run("gpu__time_duration.sum", "us", a1=10.5, b1=20.5, a2=30.5)
    text += run("dram__bytes_read.sum", "byte", a1=100.5, b1=200.5, a2=300.5) + run(
        "dram__bytes_write.sum", "byte", c1=4.5
    )
    table = read(text)
    got = values(table)
    assert list(table.names) == ["a(int)", "b(int)", "a(int)", "c(int)"]
    assert got["gpu.time"][:3] == [10_500, 20_500, 30_500] and got["vram.bytes_read"][:3] == [100.5, 200.5, 300.5]
    assert got["vram.bytes_written"][3] == 4.5


def test_throughputs_of_early_versions() -> None:
    rows = "".join(
        f"    {name:40} {unit:11} {value:>10}\n"
        for name, unit, value in (
            ("SOL FB", "%", "36.25"),
            ("SOL L2", "%", "12.66"),
            ("SOL TEX", "%", "97.85"),
            ("Duration", "us", "3.25"),
        )
    )
    got = values(read(_launch("k", rows)))
    assert got["vram.throughput"] == [0.3625] and got["l2.throughput"] == [0.1266]
    assert got["l1tex.throughput_active"] == [0.9785]


def test_a_section_in_a_comment_of_source_code() -> None:
    rows = "    Duration                                 us               9.50   <- alone\n"
    text = _launch("k", rows).split("\n", 1)[1].replace("    Section", "Section")
    table = read("int main() {}\n" + "".join(f"//{line}\n" for line in text.splitlines()))
    assert list(table.names) == ["(unnamed kernel)"] and values(table)["gpu.time"] == [9_500]


def test_a_row_longer_than_the_rules_above_it() -> None:
    rows = "    Duration                                 us               9.50\n\n"
    longer = "    l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio  sector  2.50\n"
    got = values(read(_launch("k", rows + longer)))
    assert got["gpu.time"] == [9_500] and got["global_load.sectors_per_request"] == [2.5]


def test_a_paste_without_aligned_columns() -> None:
    text = "# mult\nDuration: 710.09 ms\n\nSection: Warp State Statistics\n\nMetric Name Metric Unit Metric Value\n\n"
    text += (
        "Warp Cycles Per Issued Instruction cycle 29.47\nIssued Warp Per Scheduler 0.34\nOne or More Eligible % 33.61\n"
    )
    text += "of all figures 7\n\nOPT Est. Speedup: 27.73%\nOn average, each warp spends 17.6 cycles being stalled waiting for the\n"
    text += (
        "execution pipe to be available. This stall type represents about 59.6% of the total average of 29.5 cycles.\n"
    )
    table = read(text)
    got = values(table)
    assert got["warp.cycles_per_issue"] == [29.47] and got["warp.issued_per_scheduler"] == [0.34] and not table.unmapped
    assert got["sm.issue_per_active"] == pytest.approx([0.3361])
    assert got["stall.math_pipe_throttle"] == pytest.approx([0.596])


def test_a_launch_without_metrics_is_refused() -> None:
    assert "without results" in refusal(_launch("k", "").split(_RULE)[0])
