"""AMD rules on the documented kernels: a scheduling limit says why waves are missing, low occupancy says whether it matters."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES, diagnose, generic

# ROCm Compute Profiler documentation, "Occupancy limiters" on MI250: achieved occupancy and the scheduler's complaints (percent)
KERNELS: dict[str, dict[str, Any]] = {
    "vgprbound": {"sm.occupancy": 49.92, "sched.insufficient_vgprs": 94.90, "sched.not_scheduled": 24.49, "sched.insufficient_lds": 0.0,
                  "sched.insufficient_sgprs": 0.0, "sched.insufficient_waveslots": 0.0, "launch.registers": 124},
    "ldsbound": {"sm.occupancy": 12.49, "sched.insufficient_lds": 96.47, "sched.not_scheduled": 24.84, "sched.insufficient_vgprs": 0.0,
                 "sched.insufficient_sgprs": 0.0, "sched.insufficient_waveslots": 0.0, "launch.shared": 65536},
    "sgprbound": {"sm.occupancy": 98.91, "sched.insufficient_waveslots": 26.32, "sched.insufficient_vgprs": 26.32, "sched.insufficient_sgprs": 25.52,
                  "sched.insufficient_scratch": 39.76, "sched.insufficient_lds": 0.0, "launch.registers": 64, "launch.scalar_registers": 80},
}  # fmt: skip
OCCUPANCY = {"AMD001", "AMD002", "AMD003", "AMD004", "AMD005", "AMD010", "SOL007", "CMP003"}


def found(result: dict[str, Any], workload: str = "w1") -> set[str]:
    return {f["rule"] for f in result["findings"] if f["workload"] == workload}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "expected"),
    [("vgprbound", {"AMD001"}), ("ldsbound", {"AMD003"}), ("sgprbound", set())],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_the_limiter_says_why_and_occupancy_says_whether(tmp_path: Path, kernel: str, expected: set[str]) -> None:
    row = {
        "name": kernel,
        "kind": "compute",
        "gpu.time": 1.0,
        "sm.throughput": 40.0,
        "l2.throughput": 10.0,
        "sm.throughput_active": 40.0,
    }
    result = diagnose(generic(tmp_path / "a.csv", [row | KERNELS[kernel]]))
    assert found(result) & OCCUPANCY - {"SOL007", "CMP003"} == expected
    if kernel == "sgprbound":
        assert not found(result) & OCCUPANCY
        assert any("not below 75 %" in r["why"] for r in result["ruled_out"] if r["rule"] == "AMD001"), (
            "the report says why it keeps silent"
        )


def test_a_busy_memory_path_overrules_occupancy_advice(tmp_path: Path) -> None:
    row = {
        "name": "copy",
        "kind": "compute",
        "gpu.time": 1.0,
        "sm.throughput": 10.0,
        "vram.throughput": 91.0,
    } | KERNELS["vgprbound"]
    result = diagnose(generic(tmp_path / "a.csv", [row]))
    assert "AMD001" not in found(result)
    assert any(r["rule"] == "AMD001" for r in result["ruled_out"])


@pytest.mark.slow
def test_the_articles_large_group(tmp_path: Path) -> None:
    row = {"name": "solver", "kind": "compute", "gpu.time": 1.0, "sm.throughput": 40.0, "l2.throughput": 10.0, "launch.block_size": 1024,
           "launch.shared": 32768, "launch.scalar_registers": 32, "launch.grid_size": 500}  # fmt: skip
    path = generic(
        tmp_path / "a.csv", [row | {"launch.registers": 40}, row | {"name": "fixed", "launch.registers": 32}]
    )
    result = diagnose(path, "--device", "gfx701")
    assert "AMD010" in found(result, "w1")
    assert "AMD010" not in found(result, "w2")
    text = " ".join(
        a if isinstance(a, str) else a["text"] for f in result["findings"] if f["rule"] == "AMD010" for a in f["advice"]
    )
    assert "VGPRs 40 -> 32" in text


def test_amd_rules_keep_silent_about_other_vendors(tmp_path: Path) -> None:
    row = {"name": "kernel", "kind": "compute", "gpu.time": 1.0, "sm.throughput": 40.0, "l2.throughput": 10.0, "sm.occupancy": 20.0,
           "launch.block_size": 1024, "launch.registers": 64, "launch.grid_size": 500}  # fmt: skip
    result = diagnose(generic(tmp_path / "a.csv", [row]), "--device", "sm_86")
    said = [f["rule"] for f in result["findings"]] + [r["rule"] for r in result["ruled_out"]]
    said += [rule for b in result["blind_spots"] for rule in b["rules"]]
    assert not [r for r in said if r.startswith(("AMD", "INT"))]


@pytest.mark.slow
def test_samples_of_the_amd_readers_get_amd_findings() -> None:
    result = diagnose(SAMPLES / "rocprof-compute" / "four_kernels_mi210")
    assert {"AMD001", "AMD020", "AMD030", "AMD060"} <= {f["rule"] for f in result["findings"]}
