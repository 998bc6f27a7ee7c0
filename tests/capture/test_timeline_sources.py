"""Timelines that are told by fewer tables: lists of what ran without calls of the host, and traces of other vendors."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import diagnose, run

pytestmark = pytest.mark.slow

MS = 1_000_000
HEAD = (
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
    "Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name"
)


def listed(path: Path, rows: list[tuple[int, int, str]]) -> Path:
    """A list of nsys stats; rows: start and duration in ns, name; what is called in brackets is a copy of 8 KB."""
    lines = [HEAD]
    for n, (start, took, name) in enumerate(rows):
        shape = ",,,,,,,,,0.008,6000.0,Pinned,Device" if name.startswith("[") else "864,1,1,256,1,1,32,0,0,,,,"
        lines.append(f"{start},{took},{n},{shape},NVIDIA L40S (0),1,7,{name}")
    path.write_text("\n".join(lines) + "\n")
    return path


def causes(doc: dict[str, Any]) -> list[str]:
    return [i["cause"] for i in doc["todo"]]


def test_gaps_of_a_list_are_time_that_nobody_explains(tmp_path: Path) -> None:
    path = listed(tmp_path / "gaps.csv", [(k * 2 * MS, MS, "step") for k in range(100)])
    doc = diagnose(path)
    (device,) = doc["frame"]["timeline"].values()
    assert (device["name"], device["busy_ns"], device["idle_ns"]) == ("NVIDIA L40S", 100 * MS, 99 * MS)
    assert "FRM042" in {f["rule"] for f in doc["findings"]}
    assert "50 % idle (reason not in the capture)" in run("diagnose", path, "-f", "markdown").stdout


def test_idle_time_without_a_reason_comes_before_smaller_items(tmp_path: Path) -> None:
    path = listed(tmp_path / "gaps.csv", [(k * 4 * MS, MS, "step") for k in range(100)])
    path.write_text(path.read_text().replace(",864,1,1,", ",4,1,1,"))
    assert "First find why the GPU idles; then " in " ".join(run("diagnose", path, "-f", "markdown").stdout.split())


def test_many_small_copies_of_a_list_are_named(tmp_path: Path) -> None:
    rows = []
    for step in range(20):
        at = step * MS
        rows += [(at + k * 10_000, 4_000, "[CUDA memcpy Host-to-Device]") for k in range(48)]
        rows.append((at + 500_000, 200_000, "step"))
    assert causes(diagnose(listed(tmp_path / "small.csv", rows)))[0] == "small-copies"
    few = [
        (k * MS, 900_000, "step") if k % 10 else (k * MS, 900_000, "[CUDA memcpy Host-to-Device]") for k in range(300)
    ]
    assert "small-copies" not in causes(diagnose(listed(tmp_path / "few.csv", few)))


def test_a_start_that_is_none_leaves_a_list(tmp_path: Path) -> None:
    path = listed(tmp_path / "list.csv", [(k * 2 * MS, MS, "step") for k in range(30)])
    path.write_text(path.read_text().replace(f"\n{4 * MS},", "\n,"))
    doc = diagnose(path)
    assert doc["frame"]["timeline"] is None and doc["frame"]["duration_ns"] == 59 * MS


def rocm(folder: Path, work: dict[str, list[tuple[int, int]]], calls: list[tuple[str, int, int]]) -> Path:
    """What rocprofv3 writes. work: agent -> start and end of its kernels; calls: function, start and end; the n-th launch started the n-th kernel."""
    folder.mkdir()
    lines = [
        '"Kind","Agent_Id","Queue_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp",'
        '"LDS_Block_Size","Scratch_Size","VGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"'
    ]
    number = 0
    for agent, spans in work.items():
        for start, end in spans:
            number += 1
            lines.append(
                f'"KERNEL_DISPATCH","{agent}",1,1,{number},7,"step",{number},{start},{end},0,0,32,256,1,1,1048576,1,1'
            )
    (folder / "9_kernel_trace.csv").write_text("\n".join(lines) + "\n")
    told = ['"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"']
    launch = 0
    for n, (name, start, end) in enumerate(calls):
        launch += name == "hipLaunchKernel"
        told.append(
            f'"HIP_RUNTIME_API","{name}",1,1,{launch if name == "hipLaunchKernel" else 10_000 + n},{start},{end}'
        )
    (folder / "9_hip_api_trace.csv").write_text("\n".join(told) + "\n")
    return folder


def stepwise(count: int, kernel: int, rest: int) -> tuple[list[tuple[int, int]], list[tuple[str, int, int]]]:
    """Kernels, each waited for before the next is launched."""
    spans, calls, at = [], [], 0
    for _ in range(count):
        calls.append(("hipLaunchKernel", at, at + 3_000))
        spans.append((at + 5_000, at + 5_000 + kernel))
        end = spans[-1][1] + rest
        calls.append(("hipDeviceSynchronize", at + 3_500, end))
        at = end + 500
    return spans, calls


def test_amd_waits_are_named(tmp_path: Path) -> None:
    spans, calls = stepwise(200, 40_000, 20_000)
    doc = diagnose(rocm(tmp_path / "waits", {"Agent 1": spans}, calls))
    assert causes(doc)[0] == "blocking-sync"
    assert "cuda" not in str(doc["todo"][0]["advice"]).casefold()


@pytest.mark.parametrize(("second", "first"), [(400_000, "load-imbalance"), (60_000, "blocking-sync")])
def test_devices_that_wait_for_the_slowest_are_uneven(tmp_path: Path, second: int, first: str) -> None:
    work: dict[str, list[tuple[int, int]]] = {"Agent 1": [], "Agent 2": []}
    calls = []
    for step in range(100):
        at = step * 420_000
        calls += [("hipLaunchKernel", at, at + 2_000), ("hipLaunchKernel", at + 2_500, at + 4_500)]
        work["Agent 1"].append((at + 4_000, at + 64_000))
        work["Agent 2"].append((at + 6_000, at + 6_000 + second))
        calls.append(("hipStreamSynchronize", at + 5_000, at + 419_000))
    assert causes(diagnose(rocm(tmp_path / "two", work, calls)))[0] == first
