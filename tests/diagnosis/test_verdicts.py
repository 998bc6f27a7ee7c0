"""One verdict per workload: a cause decides, silence alone never means health."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES, diagnose, generic
from triage.document.entries import VERDICT_CLASSES

KERNEL: dict[str, Any] = {
    "launch.block_size": 256, "launch.grid_size": 4096, "gpu.time": 1.0, "sm.throughput": 20, "l1tex.throughput": 30,
    "l2.throughput": 40, "vram.throughput": 92, "memory.throughput": 92,
}  # fmt: skip
# 64 MB read and 64 MB written once, dense: 2 M sectors each way, of which only the stores hit L2
ONCE: dict[str, Any] = {
    "global_load.sectors": 2_000_000, "global_store.sectors": 2_000_000, "global_load.requests": 500_000,
    "global_store.requests": 500_000, "global_load.bytes_per_sector": 32, "global_store.bytes_per_sector": 32,
    "l2.sectors": 4_000_000, "l2.hit_rate": 50, "vram.bytes_read": 64_000_000, "vram.bytes_written": 64_000_000,
    "stall.long_scoreboard": 15, "stall.wait": 10, "sm.issue_per_active": 22,
}  # fmt: skip


def verdict(path: Path, facts: dict[str, Any], *more: str) -> tuple[str, dict[str, Any]]:
    result = diagnose(generic(path / "k.csv", [{"name": "kernel", **facts}]), "--device", "A100", *more)
    return result["workloads"][0]["verdict_class"], result


def test_a_stream_that_moves_each_byte_once_is_at_its_limit(tmp_path: Path) -> None:
    found, result = verdict(tmp_path, KERNEL | ONCE)
    assert found == "at-limit"
    assert result["todo"] == [] and result["frame"]["recoverable_ns"] == 0


@pytest.mark.parametrize(("moved", "expected"), [(12.05, "at-limit"), (24.1, "not-diagnosed")])
def test_one_element_per_argument_and_thread_is_needed(tmp_path: Path, moved: float, expected: str) -> None:
    """A map over three arrays of floats at the DRAM roof; twice its bytes may be a second pass or a stride."""
    named = KERNEL | {"launch.threads": 1_048_576, "vram.bytes_read": moved * 1_048_576, "vram.bytes_written": 0}
    stalls = {"stall.long_scoreboard": 15, "sm.issue_per_active": 22}
    found, _ = verdict(tmp_path, {**named, **stalls, "name": "add(const float *, const float *, float *, int)"})
    assert found == expected


def test_full_memory_without_the_access_pattern_is_not_diagnosed(tmp_path: Path) -> None:
    found, result = verdict(tmp_path, KERNEL)
    assert found == "not-diagnosed"
    assert "global_load.sectors" in result["frame"]["unjudged_collect"]
    assert result["todo"] == []  # no constant share of a full memory is predicted


@pytest.mark.parametrize(
    ("name", "sol", "expected"),
    [
        ("void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4>(int)", {}, "at-limit"),
        ("adamw_kernel3", {}, "at-limit"),
        ("adamw_kernel3", {"vram.throughput": 80, "memory.throughput": 80}, "not-diagnosed"),
        ("turing_fp16_s1688gemm_fp16_256x128_ldg8_relu_f2f_tn", {"sm.throughput": 84, "vram.throughput": 25}, "at-limit"),
        ("smooth", {"sm.throughput": 84, "vram.throughput": 25}, "not-diagnosed"),
    ],
)  # fmt: skip
def test_work_that_names_tell_is_needed(tmp_path: Path, name: str, sol: dict[str, Any], expected: str) -> None:
    """Kernels of libraries, and kinds of work that move each byte once."""
    found, result = verdict(tmp_path, KERNEL | sol | {"name": name})
    assert found == expected, result["todo"]


def test_issue_slots_of_a_librarys_product_are_no_suspect(tmp_path: Path) -> None:
    busy = {
        "sm.throughput": 82,
        "vram.throughput": 18,
        "memory.throughput": 40,
        "pipe.fma": 73,
        "sm.issue_per_active": 82,
    }
    assert verdict(tmp_path, KERNEL | busy | {"name": "ampere_sgemm_128x64_nn"})[0] == "at-limit"
    assert verdict(tmp_path, KERNEL | busy | {"name": "smooth"})[0] == "not-diagnosed"  # nothing counts what is spared


def test_a_second_pass_is_not_at_the_limit(tmp_path: Path) -> None:
    """L2 serves a third of the loads: an array is read again."""
    again = ONCE | {"global_load.sectors": 3_000_000, "l2.sectors": 5_000_000, "l2.hit_rate": 60}
    assert verdict(tmp_path, KERNEL | again)[0] != "at-limit"


@pytest.mark.slow
def test_measured_causes_are_fixes_and_weak_ones_suspects(tmp_path: Path) -> None:
    report = diagnose(SAMPLES / "ncu-rep" / "transpose.ncu-rep")
    assert report["workloads"][0]["verdict_class"] == "fix"
    slow = {"launch.block_size": 256, "launch.grid_size": 4096, "gpu.time": 1.0, "stall_cycles.wait": 14}
    slow["warp.cycles_per_issue"] = 33
    found, result = verdict(tmp_path, slow)
    assert found == "suspect" and result["todo"][0]["cause"] == "debug-build"
    assert result["todo"][0]["confidence"] == "low"


@pytest.mark.parametrize("sample", ["gpu-trace/demo_frame", "generic/frame_handmade.csv"])
def test_what_an_item_saves_is_not_at_its_limit(sample: str) -> None:
    result = diagnose(SAMPLES / sample)
    fused = next(i for i in result["todo"] if i["cause"] == "mergeable-passes")
    saved = [w for w in result["workloads"] if w["chain"] and w["saved_ns"]]
    assert fused["cause"] in {w["chain"][0] for w in saved}
    assert {w["verdict_class"] for w in saved} <= {"fix", "suspect"}


@pytest.mark.slow
@pytest.mark.parametrize("sample", ["gpu-trace/demo_frame", "ncu-rep/transpose.ncu-rep", "presentmon"])
def test_times_of_the_verdicts_add_up(sample: str) -> None:
    path = SAMPLES / sample
    result = diagnose(next(path.glob("*.csv")) if path.is_dir() and path.name == "presentmon" else path)
    times = result["frame"]["time_by_verdict"]
    assert tuple(times) == VERDICT_CLASSES
    assert sum(times.values()) == pytest.approx(sum(w["self_ns"] or 0 for w in result["workloads"]), rel=1e-6)


def test_only_copies_over_the_bus_are_what_its_item_is_about(tmp_path: Path) -> None:
    file = tmp_path / "sum.csv"
    rows = "60%,600ms,45,13ms,12ms,14ms,[CUDA memcpy HtoD]\n20%,200ms,45,4ms,4ms,4ms,[CUDA memcpy DtoD]\n20%,200ms,1,200ms,200ms,200ms,k(int)\n"
    file.write_text(f"==9== Profiling result:\nTime(%),Time,Calls,Avg,Min,Max,Name\n{rows}")
    found = diagnose(file)
    assert [t["cause"] for t in found["todo"]] == ["bus-traffic"]
    assert {w["name"]: w["verdict_class"] for w in found["workloads"]} == {
        "[CUDA memcpy HtoD]": "suspect", "[CUDA memcpy DtoD]": "not-diagnosed", "k(int)": "not-diagnosed",
    }  # fmt: skip
