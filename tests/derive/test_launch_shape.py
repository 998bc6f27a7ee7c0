"""Launch shape and occupancy theory as facts: what an export does not say is worked out, with its formula."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import generic
from triage import diagnose, occupancy, read
from triage.derive import View
from triage.findings import occupancy_text
from triage.products.rule_checks.rule_tests import facts_view

WAITING = {"sm.issue_per_active": 8, "sm.throughput": 8, "memory.throughput": 12, "stall.long_scoreboard": 80}


def view(path: Path, device: str, **facts: Any) -> View:
    row = {"name": "kernel", "kind": "compute", "gpu.time": 1.0, **facts}
    return View(read(generic(path, [row]), device=device))


@pytest.mark.parametrize(
    ("device", "registers", "shared"),
    [("sm_86", 72, 0), ("sm_90", 168, 20_000), ("gfx906", 40, 0), ("sm_75", 33, 40_000)],
)
def test_occupancy_is_the_calculators(device: str, registers: int, shared: int, tmp_path: Path) -> None:
    v = view(
        tmp_path / "k.csv",
        device,
        **{"launch.block_size": 256, "launch.registers": registers, "launch.shared": shared, "launch.grid_size": 999},
    )
    exact = occupancy(device, 256, registers, shared)
    assert float(v["occupancy.theoretical"][0]) == pytest.approx(exact.occupancy)
    assert float(v["launch.resident_groups"][0]) == exact.groups
    words = {"waves": "warp slots", "registers": "registers", "shared": "shared memory", "groups": "group slots"}
    assert all(words[name] in occupancy_text.limiter(v, 0) for name in exact.limiters if name in words)
    assert occupancy_text.next_step(v, 0) == (exact.best_step.words if exact.best_step else "(not measured)")


def test_article_example_is_named_in_the_advice(tmp_path: Path) -> None:
    """Groups of 1024 threads with 40 registers on GCN: one fits; with 32 two do."""
    facts = {"launch.block_size": 1024, "launch.registers": 40, "launch.shared": 0, "launch.grid_size": 6000, **WAITING}
    capture = read(
        generic(tmp_path / "k.csv", [{"name": "kernel", "kind": "compute", "gpu.time": 1.0, **facts}]), device="gfx906"
    )
    found = [f for f in diagnose([capture]).findings if f.rule.name == "one-large-group"]
    assert len(found) == 1
    assert any(
        "VGPRs 40 -> 32: 2 workgroups fit instead of 1, occupancy 40 % -> 80 %" in text for text in found[0].advice
    )
    assert any(c.metric == "launch.resident_groups" and c.source.formula for c in found[0].evidence)


def test_waves_and_tail(tmp_path: Path) -> None:
    v = view(
        tmp_path / "k.csv",
        "NVIDIA H100 80GB HBM3",
        **{"launch.block_size": 1024, "launch.registers": 64, "launch.shared": 0, "launch.grid_size": 148},
    )
    assert float(v["device.sm_count"][0]) == 132
    assert float(v["launch.waves"][0]) == pytest.approx(148 / 132)
    assert float(v["launch.tail_loss"][0]) == pytest.approx(1 - 148 / 264)
    assert float(v["launch.idle_sms"][0]) == 0


def test_sm_count_from_what_an_export_does_say(tmp_path: Path) -> None:
    by_cycles = view(tmp_path / "a.csv", "sm_75", **{"sm.cycles_elapsed": 1000, "sm.cycles_elapsed_sum": 40_000})
    assert float(by_cycles["device.sm_count"][0]) == 40
    by_waves = view(
        tmp_path / "b.csv",
        "sm_86",
        **{"launch.grid_size": 100_000, "launch.waves": 203.25, "occupancy.limit_registers": 6},
    )
    assert float(by_waves["device.sm_count"][0]) == 82
    by_peak = view(tmp_path / "c.csv", "sm_120", **{"vram.bandwidth": 345.14e9, "vram.throughput": 19.66})
    assert float(by_peak["device.sm_count"][0]) == 170


def test_shared_memory_that_nobody_exported_is_not_zero(tmp_path: Path) -> None:
    v = view(tmp_path / "k.csv", "sm_86", **{"launch.block_size": 256, "launch.registers": 72, "launch.grid_size": 100})
    assert np.isnan(v["occupancy.theoretical"]).all()


def test_nothing_known_nothing_derived(tmp_path: Path) -> None:
    v = view(tmp_path / "k.csv", "", **{"launch.block_size": 256, "launch.grid_size": 100, "sm.throughput": 20})
    for metric in ("occupancy.theoretical", "launch.waves", "device.sm_count", "launch.waves_estimate"):
        assert np.isnan(v[metric]).all(), metric
    assert occupancy_text.limiter(v, 0) == occupancy_text.next_step(v, 0) == "(not measured)"


def test_rounds_count_every_resource_that_is_known(tmp_path: Path) -> None:
    """A launch on a GPU that is only known by its architecture: registers, or LDS alone, hold fewer groups than slots do."""
    launch = {"launch.block_size": 128, "launch.grid_size": 80}
    bare = float(view(tmp_path / "a.csv", "gfx1151", **launch)["launch.waves_estimate"][0])
    registers = view(tmp_path / "b.csv", "gfx1151", **launch, **{"launch.registers": 208, "launch.shared": 0})
    assert float(registers["launch.resident_groups"][0]) == 3
    by_registers = float(registers["launch.waves_estimate"][0])
    by_lds = float(
        view(tmp_path / "c.csv", "gfx1151", **launch, **{"launch.shared": 40_000})["launch.waves_estimate"][0]
    )
    assert by_registers == pytest.approx(bare * 8 / 3) and by_lds == pytest.approx(bare * 8)


@pytest.mark.parametrize(("accumulation", "groups"), [(128, 16 / 20), (0, np.nan)])
def test_groups_per_cu_of_a_cdna_gpu_that_was_not_named(accumulation: int, groups: float) -> None:
    """Twenty CUs of a die of an MI308X are the fewest of any GPU with matrix cores of AMD."""
    unnamed = facts_view({"launch.grid_size": 16.0, "launch.accum_registers": accumulation, "valu.busy": 0.1})
    assert float(np.ravel(unnamed["launch.sm_groups_most"])[0]) == pytest.approx(groups, nan_ok=True)


@pytest.mark.parametrize(("registers", "most"), [(156, 0.375), (32, 1.0)])
def test_occupancy_that_any_amd_gpu_allows(registers: int, most: float) -> None:
    launch = {"launch.block_size": 256.0, "launch.registers": registers, "launch.scalar_registers": 84.0}
    unnamed = facts_view({**launch, "launch.wave_size": 64.0, "launch.shared": 0.0, "valu.busy": 0.1})
    assert float(np.ravel(unnamed["sm.occupancy_most"])[0]) == pytest.approx(most)
