"""nvprof readers: samples, glued units, levels, several tables in one file, refusals."""

from pathlib import Path

import pytest
from hypothesis import given

from tests.conftest import SAMPLES
from tests.helpers.dialects import damaged, read, read_or_refuse, values
from triage import schema
from triage.dialects.nvidia import nvprof_metrics, nvprof_summary, nvprof_trace
from triage.ground.errors import CaptureError, NotTriageable, UnknownUnit

SUMMARY = SAMPLES / "nvprof-summary" / "summary.csv"
TRACE = SAMPLES / "nvprof-trace" / "trace.csv"
METRICS = SAMPLES / "nvprof-metrics" / "metrics.csv"
ALL = [SUMMARY, TRACE, METRICS]


def test_summary_sample() -> None:
    table = read(SUMMARY.read_bytes())
    got = values(table)
    assert table.dialect == "nvprof-summary" and len(table) == 3 and list(table.kinds) == ["compute", "compute", "copy"]
    assert got["gpu.time"] == [41210440, 21615360, 8091648] and got["gpu.time_max"] == [231040, 119136, 5634210]  # ms
    assert got["gpu.time_min"][0] == 211904 and got["frame.calls"] == [192, 192, 4]  # us
    assert any("API calls" in n for n in table.notes)
    record = table.files[0].records([table.line(1)])[table.line(1)]
    assert float(record[table.columns["gpu.time"].column - 1]) * table.columns["gpu.time"].factor == 21615360


def test_trace_sample() -> None:
    table = read(TRACE.read_bytes())
    got = values(table)
    assert table.dialect == "nvprof-trace" and len(table) == 4 and table.device == "Tesla V100-SXM2-16GB"
    assert list(table.kinds) == ["copy", "compute", "compute", "compute"]
    assert table.names[2] == table.names[3] == "void transpose_tiled<float, int=32>(float const *, float*, int, int)"
    assert got["gpu.time"] == [5634210, 214050, 112220, 112180] and got["launch.grid_size"] == [
        None,
        16384,
        16384,
        16384,
    ]
    assert got["launch.shared_static"] == [None, 0, 4224, 4224]  # 4.125 KB is 33 x 32 floats
    record = table.files[0].records([table.line(3)])[table.line(3)]
    assert float(record[1]) * table.columns["gpu.time"].factor == pytest.approx(112180)


def test_metrics_sample() -> None:
    table = read(METRICS.read_bytes())
    got = values(table)
    assert table.dialect == "nvprof-metrics" and len(table) == 2 and table.device == "Tesla V100-SXM2-16GB"
    naive, tiled = list(table.names).index("void transpose_naive<float>(float const *, float*, int, int)"), 0
    assert got["sm.occupancy"][naive] == 0.831 and got["sm.active"][tiled] == 0.974
    assert got["global_store.bytes_per_sector"][naive] == 4 and got["global_store.bytes_per_sector"][tiled] == 32
    assert got["vram.throughput"][naive] == 0.8 and table.columns["vram.throughput"].unit == "level"
    assert got["vram.bandwidth"][naive] == pytest.approx(670.1105e9) and got["vram.bandwidth"][tiled] is None
    assert got["vram.bytes_read"][naive] == 2097152 * 32 * 2  # a mean over two invocations
    assert got["stall.long_scoreboard"] == [0.541, 0.813] and got["shared.load_bank_conflicts"] == [0, None]
    column = table.columns["sm.active"]
    for row in range(2):
        record = table.files[0].records([int(column.lines[row])])[int(column.lines[row])]
        assert float(record[column.column - 1].rstrip("%")) * column.factor == pytest.approx(column.values[row])


@pytest.mark.parametrize("path", ALL, ids=["summary", "trace", "metrics"])
@pytest.mark.parametrize("how", ["bom", "crlf", "utf-16", "no chatter", "more chatter"])
def test_written_another_way_reads_the_same(path: Path, how: str) -> None:
    text = path.read_text()
    if how == "no chatter":
        text = "\n".join(line for line in text.split("\n") if not line.startswith("==")).lstrip("\n")
    if how == "more chatter":
        text = (
            "Loading, please wait\n\n" + text + "\n==1== Generated result file: a.nvprof\nTotal CPU Page faults: 49\n"
        )
    data = {
        "bom": text.encode("utf-8-sig"),
        "crlf": text.replace("\n", "\r\n").encode(),
        "utf-16": text.encode("utf-16"),
    }.get(how, text.encode())
    assert values(read(data)) == values(read(path.read_bytes()))


def test_units_glued_to_values_and_commas_without_quotes() -> None:
    table = read(
        "Time(%),Time,Calls,Avg,Min,Max,Name\n47.79%,542.36ms,45,12.052ms,12.007us,12.110ms,[CUDA memcpy HtoD]\n20.92%,1.5s,150,1.5829ms,1.5103ms,2.1174ms,sor(float*, float*, int)\n"
    )
    assert list(table.names) == ["[CUDA memcpy HtoD]", "sor(float*, float*, int)"]
    assert values(table)["gpu.time"] == [542360000, 1500000000] and values(table)["gpu.time_min"] == [12007, 1510300]


CONSOLE = """\
==7== NVPROF is profiling process 7, command: ./a
==7== Profiling result:
==7== Metric result:
Invocations                               Metric Name                         Metric Description         Min         Max         Avg
Device "Tesla V100-SXM2-16GB (0)"
    Kernel: sum(float*, int)
          2                            gld_efficiency               Global Memory Load Efficiency      25.00%      25.00%      25.00%
          2                          gld_transactions                    Global Load Transactions      524288      524288      524288
          2                          dram_utilization                   Device Memory Utilization    Mid (5)     Mid (5)     Mid (5)
    Kernel: scale(float*, int)
          1                            gld_efficiency               Global Memory Load Efficiency     100.00%     100.00%     100.00%
==7== Trace result:
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 GPU activities:   98.11%  1.4175ms         1  1.4175ms  1.4175ms  1.4175ms  [CUDA memcpy HtoD]
                    0.52%  15.072us         2  7.5360us  7.5360us  7.5360us  sum(float*, int)
                    0.41%  5.9200us         1  5.9200us  5.9200us  5.9200us  scale(float*, int)
No API activities were profiled.
"""


def test_ways_of_loads_and_stores_are_one_figure() -> None:
    head = '"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"\n'
    row = '"Tesla V100 (0)","{}",1,"shared_{}_transactions_per_request","",{},{},{}\n'
    cells = [
        ("tiled", "load", 1),
        ("tiled", "store", 32),
        ("sums", "load", 2),
        ("sums", "store", 0),
        ("none", "load", 0),
        ("none", "store", 0),
    ]
    text = head + "".join(row.format(name, kind, *[ways] * 3) for name, kind, ways in cells)
    assert values(read(text.encode()))["shared.conflict_ways"] == [16.5, 2.0, None]


def test_the_console_text_is_read_with_its_times() -> None:
    table = read(CONSOLE)
    got = values(table)
    assert (table.dialect, list(table.names), table.device) == (
        "nvprof-metrics",
        ["sum(float*, int)", "scale(float*, int)"],
        "Tesla V100-SXM2-16GB",
    )
    assert got["global_load.bytes_per_sector"] == [8, 32] and got["global_load.sectors"][0] == 2 * 524288
    assert got["vram.throughput"][0] == 0.5 and got["frame.calls"] == [2, 1]
    assert got["gpu.time"] == pytest.approx([15072, 5920])


def test_a_summary_on_the_console_is_read() -> None:
    text = CONSOLE[: CONSOLE.index("==7== Metric")] + CONSOLE[CONSOLE.index("            Type") :]
    table = read(text)
    assert table.dialect == "nvprof-summary" and list(table.kinds) == ["copy", "compute", "compute"]
    assert values(table)["gpu.time"] == pytest.approx([1417500, 15072, 5920])


def test_cells() -> None:
    assert nvprof_metrics.cell("Low (2)") == (2.0, "level") and nvprof_metrics.cell("Idle (0)") == (0.0, "level")
    assert nvprof_metrics.cell("132.000000%") == (pytest.approx(1.32), "%")
    assert nvprof_metrics.cell("976.562500KB/s") == (976562.5, "KB/s") and nvprof_metrics.cell("0.93") == (0.93, "")
    assert str(nvprof_metrics.cell("<OVERFLOW>")[0]) == "nan"


def test_a_time_without_unit_is_not_guessed() -> None:
    with pytest.raises(UnknownUnit, match="no unit"):
        read("Time(%),Time,Calls,Avg,Min,Max,Name\n47.79,542.36,45,12.052,12.007,12.110,k(int)\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("==1== NVPROF is profiling process 1, command: a\n==1== Profiling result:\nNo kernels were profiled.\n", "No kernels were profiled"),
        ("==1== NVPROF is profiling process 1\n==1== Profiling result:\n   Start  Duration  Name\n1.0ms  2.0us  cudaMalloc\n", "nvprof output as text"),
        ('"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n,%,ms,,us,us,ms,\n"API calls",100,1.0,2,3.0,1.0,2.0,"cudaMalloc"\n', "API calls"),
        ('"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"\n', "header without rows"),
        ('"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Name"\nms,us,,,,,,,\n', "header without rows"),
    ],
)  # fmt: skip
def test_refusals_name_what_it_is(text: str, words: str) -> None:
    with pytest.raises(CaptureError, match=words) as e:
        read(text)
    assert "\n" not in str(e.value)


def test_only_unified_memory_is_refused() -> None:
    with pytest.raises(NotTriageable, match="unified memory"):
        read(
            '==1== Unified Memory profiling result:\n"Device","Count","Avg Size","Min Size","Max Size","Total Size","Total Time",""\n"T (0)",1,4KB,4KB,4KB,4KB,1ms,"Host To Device"\n'
        )


@given(damaged([p.read_bytes() for p in ALL], [b'"', b",", b"\n", b"\0", b"\xff", b"1e999", b"%", b"", b"\r"]))
def test_damaged_samples_never_traceback(data: bytes) -> None:
    for module in (nvprof_summary, nvprof_trace, nvprof_metrics):
        read_or_refuse(module, data)


def test_names_are_metrics() -> None:
    assert all(schema.known(m) for module in (nvprof_summary, nvprof_trace, nvprof_metrics) for m in module.names())
    line = nvprof_metrics.collect(["sm.active", "sm.throughput"])
    assert "nvprof --csv" in line and "sm_efficiency" in line and "ncu --metrics" in line


GPU_TABLE = """            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 GPU activities:  100.00%  {total}        10  307.52us  286.21us  377.89us  integrate(float*, int)
      API calls:   96.51%  160.34ms         1  160.34ms  160.34ms  160.34ms  cudaMallocManaged

"""
IDLE_TABLE = GPU_TABLE.replace(
    " GPU activities:  100.00%  {total}        10  307.52us  286.21us  377.89us  integrate(float*, int)\n", ""
)


def _run(pid: int, table: str) -> str:
    return f"=={pid}== NVPROF is profiling process {pid}, command: ./app\n=={pid}== Profiling result:\n{table}"


def test_of_appended_runs_the_last_with_gpu_work_is_read() -> None:
    first, second = (GPU_TABLE.format(total=t) for t in ("2.0000ms", "3.0752ms"))
    table = read(_run(7, first) + _run(8, second) + _run(9, IDLE_TABLE))
    assert values(table)["gpu.time"] == [pytest.approx(3.0752e6)]
    assert any("3 runs of nvprof in one file" in q.message for q in table.quality)
    with pytest.raises(NotTriageable, match="2 runs in one file"):
        read(_run(8, IDLE_TABLE) + _run(9, IDLE_TABLE))


def test_trace_as_text() -> None:
    table = read(SAMPLES / "nvprof-trace" / "printed.txt")
    got = values(table)
    assert table.dialect == "nvprof-trace" and list(table.kinds) == ["copy", "compute", "copy"]
    assert got["gpu.time"] == pytest.approx([16992, 2752, 16128]) and got["launch.grid_size"] == [None, 196, None]
    assert got["launch.shared_static"] == [None, 1536, None] and table.frame_ns is None
