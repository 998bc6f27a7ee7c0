"""Which cause leads a marker of a frame whose counters say it plainly, on tables of any vendor's words."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import generic
from triage import api

pytestmark = pytest.mark.slow

NVIDIA = {
    "sm.throughput": 38,
    "sm.issue_per_active": 38,
    "l2.throughput": 24,
    "vram.throughput": 21,
    "sm.occupancy": 74,
}
RADEON = {"valu.busy": 23, "valu.utilization": 92, "vram.throughput": 29, "sm.occupancy": 72}
XE = {"eu.active": 27, "eu.stall": 69, "eu.idle": 4, "eu.occupancy": 90, "vram.throughput": 40}
WAITS = {"stall.long_scoreboard": 20, "stall.wait": 10, "stall.not_selected": 3}
DISPATCH = {
    "kind": "compute",
    "sm.throughput": 4,
    "sm.occupancy": 11,
    "l2.throughput": 2,
    "vram.throughput": 3,
    "draw.count": 0,
}

LEADS: dict[str, tuple[str | None, dict[str, Any]]] = {
    "the texture queue names the unit inside a full L1/TEX": (
        "texture-queue",
        NVIDIA | WAITS | {"l1tex.throughput": 94, "l1tex.hit_rate": 97, "stall.tex_throttle": 46},
    ),
    "the load/store queue names the pipe inside a full SM": (
        "lsu-pressure",
        NVIDIA | WAITS | {"sm.throughput": 92, "l1tex.throughput": 64, "l1tex.hit_rate": 93, "stall.lg_throttle": 47},
    ),
    "misses that L2 has at hand keep a Radeon's memory unit busy": (
        "l1-locality",
        RADEON | {"mem_unit.busy": 88, "mem_unit.stalled": 32, "l1tex.hit_rate": 35, "l2.hit_rate": 94},
    ),
    "a phone's texture cache misses what the next one has": (
        "l1-locality",
        {"texture_pipe.stalled": 54, "texture_pipe.busy": 48, "alu.utilization": 22, "l1tex.hit_rate": 40, "vram.throughput": 29},
    ),
    "a Radeon's colour block at its limit": ("crop-bound", RADEON | {"crop.throughput": 95}),
    "a Radeon's depth block at its limit": ("zrop-bound", RADEON | {"valu.busy": 8, "zrop.throughput": 96}),
    "a Radeon's vertex fetch at its limit": ("vertex-fetch", RADEON | {"vaf.throughput": 92}),
    "waves of a Radeon wait for code": ("instruction-fetch", RADEON | WAITS | {"stall.no_instruction": 51}),
    "Xe engines that stall and seldom execute": ("memory-latency", XE),
    "Xe engines that stall as any pass does": (None, XE | {"eu.active": 66, "eu.stall": 31}),
    "the colour unit of an Xe at its limit": ("crop-bound", XE | {"crop.throughput": 95}),
    "TEX at half of its peak beside busier shaders": (
        None,
        {"shader.busy": 65, "l1tex.throughput": 50, "l1tex.hit_rate": 88, "l2.throughput": 45, "vram.throughput": 40},
    ),
    "a drawn pass fills the texture unit": (
        "texture-queue",
        {"sm.throughput": 38, "l1tex.throughput": 93, "l1tex.hit_rate": 95, "l2.throughput": 24, "vram.throughput": 21},
    ),
    "a dispatch fills L1, nobody knows with what": (
        "l1-bandwidth",
        {"kind": "compute", "draw.count": 0, "sm.throughput": 38, "l1tex.throughput": 93, "l1tex.hit_rate": 95, "l2.throughput": 24, "vram.throughput": 21},
    ),
    "a Radeon's texture unit at its limit": ("texture-queue", RADEON | {"l1tex.throughput": 92, "l1tex.hit_rate": 95}),
    "the samplers of an Xe at their limit": ("texture-queue", XE | {"eu.active": 39, "eu.stall": 59, "sampler.busy": 91}),
    "texture instructions alone fill their pipe": (
        "texture-queue",
        {"sm.issue_per_active": 41, "pipe.fma": 25, "pipe.alu": 21, "pipe.lsu": 19, "pipe.tex": 94, "vram.throughput": 21},
    ),
    "a SM that works, with short waits and a fifth of its slots empty": (
        None,
        NVIDIA | {"sm.throughput": 57, "sm.issue_per_active": 54, "l1tex.throughput": 48, "stall.long_scoreboard": 23, "stall.barrier": 3, "sm.occupancy": 66},
    ),
    "a SM that works, with few empty slots and nothing told of waits": (
        None,
        NVIDIA | {"sm.throughput": 64, "sm.issue_per_active": 63, "l1tex.throughput": 31, "sm.occupancy": 68},
    ),
    "Xe engines that execute for longer than they stall": (
        None,
        XE | {"eu.active": 60, "eu.stall": 38, "eu.occupancy": 68, "eu.stall_sbid": 21, "eu.stall_barrier": 3},
    ),
    "full Xe engines that execute for longer than they stall": (None, XE | {"eu.active": 55, "eu.stall": 42}),
    "a Radeon's colour block does less than its shaders": (None, RADEON | {"valu.busy": 52, "crop.throughput": 44}),
    "four waves on each SIMD of a Radeon that nobody named": (
        "occupancy-registers",
        {"valu.busy": 19, "waves.per_simd": 3.8, "launch.registers": 248, "waves.dependency_wait": 54, "vram.throughput": 11, "l1tex.hit_rate": 93},
    ),
    "a group that takes more than half of a Radeon's LDS": (
        "occupancy-shared-memory",
        {"kind": "compute", "valu.busy": 19, "sm.occupancy": 12, "launch.registers": 48, "launch.shared": 49152, "vram.throughput": 16},
    ),
    "half of a Radeon's vector memory traffic is scratch": (
        "register-spills",
        {"valu.busy": 17, "sm.occupancy": 86, "local.share": 48, "l2.throughput": 40, "vram.throughput": 9},
    ),
    "the math pipe of an Xe": ("special-function-bound", XE | {"eu.active": 97, "eu.stall": 1, "eu.pipe0": 44, "eu.math": 93}),
    "waits for atomics that were counted apart": ("atomics-contention", NVIDIA | WAITS | {"l1tex.throughput": 30, "atomics.wait": 55}),
    "quads that triangles leave half empty": (
        "small-triangles",
        NVIDIA | {"sm.throughput": 64, "sm.issue_per_active": 60, "l1tex.throughput": 30, "pixels.quad_lanes": 31, "raster.throughput": 70},
    ),
    "the caches of an Xe core miss what L3 has": (
        "l1-locality",
        XE | {"eu.active": 46, "eu.stall": 51, "l1tex.hit_rate": 41, "l3.hit_rate": 93, "l3.busy": 90, "eu.stall_sbid": 46},
    ),
    "the L3 of an Xe at its limit": ("l2-bandwidth", XE | {"eu.active": 42, "eu.stall": 40, "l1tex.hit_rate": 90, "l3.hit_rate": 90, "l3.busy": 93}),
    "eight groups for a whole GPU": ("small-grid", DISPATCH | {"launch.grid_size": 8, "sm.active": 12}),
    "drains that were counted between small dispatches": (
        "pipeline-drains",
        DISPATCH | {"launch.grid_size": 8, "sm.active": 50, "gpu.idle": 1, "wfi.sync": 40, "dispatch.count": 30},
    ),
}  # fmt: skip
OK = {"name": "Frame/Opaque/Terrain", "kind": "geometry", "gpu.time": 2.0, "crop.throughput": 20, "zrop.throughput": 20}


@pytest.mark.parametrize("case", LEADS)
def test_the_cause_that_the_counters_name_leads(case: str, tmp_path: Path) -> None:
    cause, counters = LEADS[case]
    row = {"name": "Frame/Post/Pass", "kind": "fullscreen", "gpu.time": 1.0, **counters}
    doc = api.diagnose(generic(tmp_path / "f.csv", [OK, row])).to_dict()
    chain = next(w["chain"] for w in doc["workloads"] if w["name"].endswith("Pass"))
    assert (chain[0] if chain else None) == cause
