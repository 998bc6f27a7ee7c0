"""Nsight Systems readers: samples, text layouts, versions, refusals."""

from pathlib import Path

import pytest
from hypothesis import given

from tests.conftest import SAMPLES
from tests.helpers.dialects import damaged, read, read_or_refuse, refusal, values
from triage import schema
from triage.capture.trace_nouns import COPY, KERNEL, TO_DEVICE
from triage.dialects.traces import nsys_kernels, nsys_trace
from triage.ground.errors import CaptureError, NotTriageable

KERNELS = SAMPLES / "nsys-kernels" / "render_cuda_gpu_kern_sum.csv"
TRACE = SAMPLES / "nsys-trace" / "render_cuda_gpu_trace.csv"
FOUND = [KERNELS, TRACE]


def test_kernel_summary_sample() -> None:
    table = read(KERNELS.read_bytes())
    got = values(table)
    assert table.dialect == "nsys-kernels" and len(table) == 3
    assert got["gpu.time"] == [412387200, 216198400, 38707200] and got["frame.calls"] == [1920, 1920, 11520]
    assert got["gpu.time_min"][2] == 3040 and got["gpu.time_median"][0] == 214112
    assert table.names[0] == "void transpose_naive<float>(const float *, float *, int, int)"
    for metric, column in table.columns.items():
        records = table.files[0].records([table.line(r) for r in range(3)])
        for row in range(3):
            cell = records[table.line(row)][column.column - 1]
            assert float(cell) * column.factor == column.values[row], metric


def test_trace_sample() -> None:
    table = read(TRACE.read_bytes())
    got = values(table)
    assert table.dialect == "nsys-trace" and len(table) == 5 and table.device == "NVIDIA RTX A5500"
    assert list(table.kinds) == ["copy", "compute", "compute", "compute", "compute"]
    assert got["launch.grid_size"] == [None, 16384, 16384, 16, 16] and got["launch.registers"] == [None, 18, 20, 24, 24]
    assert got["launch.shared_static"][2] == 4000 and table.columns["launch.grid_size"].formula == "GrdX x GrdY x GrdZ"
    assert table.raw["GrdX"].values[1] == 128
    assert table.trace is not None
    ran = table.trace.operations
    assert (ran.end.max() - ran.start.min(), ran.way[0], ran.kind.tolist()) == (
        818264900 + 3296 - 812004113,
        TO_DEVICE,
        [COPY, *[KERNEL] * 4],
    )
    assert table.trace.devices == [("0", "NVIDIA RTX A5500")]


@pytest.mark.parametrize("path", FOUND, ids=["kernels", "trace"])
@pytest.mark.parametrize("how", ["bom", "crlf", "utf-16", "tab", "semicolon", "chatter", "trailer"])
def test_written_another_way_reads_the_same(path: Path, how: str) -> None:
    text = path.read_text()
    if how in ("tab", "semicolon"):
        import csv
        import io

        out = io.StringIO()
        csv.writer(out, delimiter="\t" if how == "tab" else ";", lineterminator="\n").writerows(
            csv.reader(io.StringIO(text))
        )
        data = out.getvalue().encode()
        if how == "tab":
            data = data.replace(b'"', b"")
    elif how == "chatter":
        data = (
            b"Generating SQLite file r.sqlite from r.nsys-rep\nProcessing [r.sqlite] with [reports/x.py]... \n\n"
            + text.encode()
        )
    elif how == "trailer":
        data = (text + "\nProcessing [r.sqlite] with [reports/cuda_api_sum.py]...\n").encode()
    else:
        data = {
            "bom": text.encode("utf-8-sig"),
            "crlf": text.replace("\n", "\r\n").encode(),
            "utf-16": text.encode("utf-16"),
        }[how]
    assert values(read(data)) == values(read(path.read_bytes()))
    assert list(read(data).names) == list(read(path.read_bytes()).names)


def as_columns(box: bool) -> str:
    rows = [
        ("Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Name"),
        ("60.0", "1,200,000", "12", "100,000.0", "void k<int, 3>(float *)"),
        ("40.0", "800,000", "8", "100,000.0", "foo(a | b)"),
    ]
    width = [max(len(r[c]) for r in rows) for c in range(5)]
    if box:
        bar = "+" + "+".join("-" * (w + 2) for w in width) + "+\n"
        line = ["| " + " | ".join(c.ljust(w) for c, w in zip(r, width, strict=True)) + " |\n" for r in rows]
        return bar + line[0] + bar + "".join(line[1:]) + bar
    line = [
        " " + "  ".join(c.rjust(w) if i < 4 else c for i, (c, w) in enumerate(zip(r, width, strict=True))) + "\n"
        for r in rows
    ]
    dashes = " " + "  ".join("-" * w for w in width) + "\n"
    return " ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n\n" + line[0] + dashes + "".join(line[1:]) + "\n"


@pytest.mark.parametrize("box", [True, False])
def test_text_layouts(box: bool) -> None:
    table = read(as_columns(box))
    assert values(table) == {"gpu.time": [1200000, 800000], "frame.calls": [12, 8]}
    assert list(table.names) == ["void k<int, 3>(float *)", "foo(a | b)"]
    line = table.files[0].records([table.line(1)])[table.line(1)][0]
    assert "800,000" in line  # a quoted origin shows the whole line


def test_older_and_other_units() -> None:
    old = "Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Name\n60.0,1200,2,600.0,500,700,k\n"
    assert values(read(old)) == {"gpu.time": [1200], "gpu.time_min": [500], "gpu.time_max": [700], "frame.calls": [2]}
    micro = "Time (%),Total Time (us),Instances,Avg (us),Name\n60.0,1.2,2,0.6,k\n"
    assert values(read(micro))["gpu.time"] == [1200]


def test_nvtx_on_the_gpu_and_grids() -> None:
    range_sum = "Range,Style,Total Proj Time (ns),Total Range Time (ns),Range Instances,Proj Avg (ns)\n:step,PushPop,900,2000,3,300.0\n"
    assert values(read(range_sum)) == {"gpu.time": [900], "frame.calls": [3]}
    kern = (
        "NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Kernel Name\n"
        ":step,PushPop,1,1,3,6,900,150.0,150.0,100,200,1.0,k\n"
    )
    table = read(kern)
    assert (
        values(table)["frame.calls"] == [6]
        and table.paths is not None
        and table.paths[0] == ":step"
        and table.names[0] == "k"
    )
    grid = "Time (%),Total Time (ns),Instances,Avg (ns),GridXYZ,BlockXYZ,Name\n60.0,1200,2,600.0,  16    2    1,256 1 1,k\n"
    assert values(read(grid))["launch.grid_size"] == [32] and values(read(grid))["launch.block_size"] == [256]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("Time (%),Total Time (ns),Count,Avg (ns),Operation", "copies between memories"),
        ("Time (%),Total Time (ns),Num Calls,Avg (ns),Name", "timed on the CPU"),
        ("Time (%),Total Time (ns),Instances,Avg (ns),Style,Range", "NVTX ranges timed on the CPU"),
    ],
)
def test_reports_without_gpu_times_are_named(header: str, words: str) -> None:
    with pytest.raises(NotTriageable, match=words) as e:
        read(f"{header}\n60.0,1200,2,600.0,a,b\n"[: 1 << 20])
    assert "cuda_gpu_trace" in str(e.value)


def test_header_only_is_refused() -> None:
    with pytest.raises(CaptureError, match="header without rows"):
        read(TRACE.read_text().split("\n")[0] + "\n")


DAMAGE = [b'"', b",", b"\n", b"\0", b"\xff", b"1e999", b"|", b"", b"\r"]
TEXTS = [as_columns(True).encode(), as_columns(False).encode()]


@given(damaged([*(p.read_bytes() for p in FOUND), *TEXTS], DAMAGE))
def test_damaged_samples_never_traceback(data: bytes) -> None:
    for module in (nsys_kernels, nsys_trace):
        read_or_refuse(module, data)


def test_names_are_metrics() -> None:
    assert all(schema.known(m) for module in (nsys_kernels, nsys_trace) for m in module.names())
    assert nsys_trace.collect(["sm.throughput"]).startswith("ncu --metrics ")


CALLS = "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"


@pytest.mark.parametrize(
    ("text", "report"),
    [
        ("Processing [a.sqlite] with [/opt/reports/osrt_sum.py]...\n" + CALLS + "99,9,1,9,9,9,9,0,poll\n", "osrt_sum"),
        (CALLS + "99,9,1,9,9,9,9,0,pthread_cond_wait\n", "osrt_sum"),
        (" ** Vulkan API Summary (vulkan_api_sum):\n\n" + CALLS + "99,9,1,9,9,9,9,0,vkQueueSubmit\n", "vulkan_api_sum"),
        (CALLS + "99,9,1,9,9,9,9,0,cudaLaunchKernel\n", "cuda_api_sum"),
    ],
)
def test_reports_of_calls_are_told_apart(text: str, report: str) -> None:
    assert f"report of {report} (" in refusal(text)


def test_a_report_without_cuda_work_is_not_exported_again() -> None:
    skipped = "SKIPPED: a.sqlite does not contain CUDA kernel data.\n"
    assert "nsys profile -t cuda,nvtx" in refusal(CALLS + "99,9,1,9,9,9,9,0,poll\n\n" + skipped)


@pytest.mark.parametrize(("calls_ns", "told"), [(1_010_000_000, True), (990_000_000, False)])
def test_calls_of_the_host_beside_kernels_are_a_remark(calls_ns: int, told: bool) -> None:
    sums = "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name"
    calls = f"\n{sums}\n50.0,{calls_ns},1000,1,1,1,1,1,cudaLaunchKernel\n50.0,9000000000,9,1,1,1,1,1,cudaDeviceSynchronize\n"
    texts = [q.message for q in read(KERNELS.read_text() + calls).quality if q.check == "host-time"]
    assert any("cudaLaunchKernel" in t and "times as long as the kernels" in t for t in texts) == told


ES = """\
 Time(%)  Total Time (ns)  Instances  Average  Minimum  Maximum      Name
 -------  ---------------  ---------  -------  -------  -------  -------------
    60,0            2.176          1  2.176,0    2.176    2.176  loop_2_38_gpu
  ...

 Time(%)  Total Time (ns)  Operations  Average  Minimum  Maximum      Operation
 -------  ---------------  ----------  -------  -------  -------  ------------------
    58,0            4.576           5    915,0      832    1.120  [CUDA memcpy HtoD]

 Time(%)  Total Time (ns)  Num Calls   Average    Minimum   Maximum        Name
 -------  ---------------  ---------  ----------  -------  ---------  --------------
    67,2      230.846.288         14  16.489,0    24.046  100.129.940  poll
"""


def test_other_reports_in_the_text_are_in_its_number_format() -> None:
    table = read(ES)
    assert values(table)["gpu.time"] == [2176]
    assert [q.message for q in table.quality if q.check == "copies"] == [
        "memory operations in the same file take 4.58 µs, 2 times as long as the kernels; they are not in the total"
    ]
    assert not any(q.check == "host-time" for q in table.quality)  # calls of the system are no API of the GPU


def test_copies_of_older_versions_are_called_by_name() -> None:
    old = ES.replace("Operation\n", "Name\n")
    assert any(q.check == "copies" for q in read(old).quality)


def test_a_row_that_a_quote_shifted_keeps_its_name() -> None:
    assert list(read(ES.replace("    60,0  ", "   60,0  ")).names) == ["loop_2_38_gpu"]


def test_a_report_without_dashes() -> None:
    text = "```\n Time (%)  Total Time (ns)  Instances  Name\n    60.0        2176      4   stage(int, int)\n```\n"
    table = read(text)
    assert values(table)["gpu.time"] == [2176] and list(table.names) == ["stage(int, int)"]
