"""Advice asks what the GPU's generation and the API offer."""

import math
import re
from pathlib import Path

import pytest

from triage import api, devices
from triage.derive.features import FEATURES, has, table
from triage.inference.groups import reads
from triage.rulebook import packs
from triage.rulebook.applies import SINCE


@pytest.mark.parametrize(
    ("feature", "arch", "graphics_api", "there"),
    [
        ("mesh_shaders", "sm_75", "d3d12", 1),
        ("mesh_shaders", "sm_61", "d3d12", 0),
        ("mesh_shaders", "sm_86", "d3d11", 0),
        ("mesh_shaders", "gfx1032", "vulkan", 1),
        ("mesh_shaders", "gfx1010", "vulkan", 0),
        ("mesh_shaders", "gfx90a", "", 0),
        ("mesh_shaders", "xe-lp", "", 0),
        ("ray_reordering", "sm_86", "d3d12", 0),
        ("ray_reordering", "sm_89", "d3d12", 1),
        ("ray_reordering", "gfx1201", "", 0),
        ("sampler_feedback", "sm_86", "vulkan", 0),
        ("variable_rate", "xe-hpg", "d3d12", 1),
        ("compute_queue", "gfx803_polaris", "d3d12", 1),
        ("compute_queue", "", "opengl", 0),
    ],
)
def test_what_a_generation_and_an_api_offer(feature: str, arch: str, graphics_api: str, there: int) -> None:
    assert has(feature, arch, graphics_api) == there


def test_what_nobody_knows_is_missing() -> None:
    assert all(math.isnan(has(f, "", "")) for f in FEATURES)
    assert set(table()) == set(FEATURES)


def test_every_known_device_is_judged() -> None:
    for name in ("GeForce RTX 4090", "Radeon RX 6600 XT", "xe-hpg", "MI300X"):
        device = devices.require(name)
        assert not [f for f in FEATURES if math.isnan(has(f, device.arch, ""))], device.arch


@pytest.mark.parametrize(("device", "meshlets"), [("GeForce RTX 4090", True), ("GeForce GTX 1060 6GB", False)])
def test_advice_follows_the_generation(device: str, meshlets: bool, tmp_path: Path) -> None:
    file = tmp_path / "frame.csv"
    file.write_text("name,kind,gpu.time [ms],prims.rasterized,pixels.shaded\nFoliage,geometry,3,2e6,3e6\n")
    (found,) = [f for f in api.diagnose(file, device=device).findings if f.rule.id == "GFX001"]
    assert any("meshlets" in a for a in found.advice) == meshlets


@pytest.mark.parametrize(("prefix", "offered"), [("vkCmd", True), ("gl", False)])
def test_no_second_queue_no_overlap(prefix: str, offered: bool, tmp_path: Path) -> None:
    file = tmp_path / "frame.csv"
    head = "name,kind,gpu.time [ms],SM SOL%,TEX SOL%,L2 SOL%,VRAM SOL%,sm.active [%],raster.throughput [%]\n"
    file.write_text(
        head + f"{prefix}DrawElements(3),geometry,3,12,8,14,18,70,52\n{prefix}Draw(9),geometry,3,12,8,14,18,70,52\n"
    )
    assert any(f.rule.cause == "no-overlap" for f in api.diagnose(file).findings) == offered


GATED = {  # what advice may name -> the feature whose gate it must stand behind
    "mesh_shaders": r"mesh shader|meshlet|amplification shader|task shader",
    "variable_rate": r"variable[- ]rate",
    "ray_reordering": r"MaybeReorderThread|invocation_reorder|execution reordering",
}


@pytest.mark.parametrize("feature", GATED)
def test_no_advice_names_what_the_named_gpu_may_lack(feature: str) -> None:
    """Advice that names a feature asks for it, by the fact itself or by the first generation."""
    book = packs.load()
    every = [(r.id, a) for r in book.rules for a in r.advice] + [
        (c.id, a) for c in book.causes.values() for a in c.advice
    ]
    named = [(of, a) for of, a in every if re.search(GATED[feature], f"{a.text} {getattr(a, 'code', '')}")]
    assert named
    asking = [(of, a, getattr(a, "only_if", None)) for of, a in named]
    rules = {r.id: r for r in book.rules}
    free = [f"{of}: {a.text}" for of, a, asks in asking if SINCE not in a.where and not (asks and f"can.{feature}" in reads(rules[of], asks.names))]  # fmt: skip
    assert free == []
