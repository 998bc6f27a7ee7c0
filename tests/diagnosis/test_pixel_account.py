"""The pixel account: layers shaded and passed on a pass's target, and what is no evidence of them."""

from pathlib import Path
from typing import Any

import pytest

from triage import api

HEAD = "name,path,kind,gpu.time [ms],prims.input,prims.rasterized,PS Invocations,Samples Passed,draw.count"
POST = [
    "Bloom,Frame/Post,fullscreen,0.5,1,1,2000000,2000000,1",
    "Tone map,Frame/Post,fullscreen,0.5,1,1,2000000,2000000,1",
]


def diagnosed(tmp_path: Path, *rows: str) -> tuple[dict[str, Any], dict[str, str]]:
    """(passes by name, messages of findings about the frame by rule)."""
    file = tmp_path / "frame.csv"
    file.write_text("\n".join([HEAD, *rows, *POST]) + "\n")
    doc = api.diagnose(file).to_dict()
    return {p["name"]: p for p in doc["passes"]}, {f["rule"]: f["message"] for f in doc["findings"]}


def test_a_prepass_that_throws_its_pixels_away_is_named(tmp_path: Path) -> None:
    passes, said = diagnosed(
        tmp_path,
        "DrawIndexed(3),Frame/Prepass,draw,3,500000,400000,20000000,3000000,50",
        "DrawIndexed(4),Frame/Prepass,draw,3,500000,400000,20000000,3000000,50",
        "DrawIndexed(5),Frame/GBuffer,draw,4,1000000,810000,2000000,2000000,100",
    )
    assert passes["Prepass"]["target_pixels"] == 2e6
    assert passes["Prepass"]["layers"] == 20 and passes["Prepass"]["layers_passed"] == 3
    assert passes["Prepass"]["thrown_away"] == pytest.approx(0.85)
    assert "“Prepass” (20.0 layers shaded, 3.0 pass, 85 % thrown away)" in said["FRM014"]
    # the same geometry behind its own depth: survivors say nothing of the triangles
    assert (
        passes["GBuffer"]["layers"] == 1 and passes["GBuffer"]["pixels_per_primitive"] is None and "FRM012" not in said
    )


def test_triangles_behind_a_prepass_share_one_layer_of_the_target(tmp_path: Path) -> None:
    _, said = diagnosed(
        tmp_path,
        "DrawIndexed(2),Frame/Prepass,draw,3,1000000,900000,0,3000000,50",
        "DrawIndexed(3),Frame/Prepass,draw,3,1000000,900000,40000000,3000000,50",
        "DrawIndexed(5),Frame/GBuffer,draw,2,1000000,900000,1000000,1000000,100",
        "DrawIndexed(6),Frame/GBuffer,draw,2,1000000,900000,1000000,1000000,100",
    )
    assert (
        "36.4 % of the frame" in said["FRM012"] and "(1.8 M primitives, 1.1 pixels each in one layer)" in said["FRM012"]
    )
    # what runs no pixel shader hides nothing that was shaded
    assert "27.3 % of the frame" in said["FRM014"]


def test_layers_that_pass_are_overdraw(tmp_path: Path) -> None:
    passes, said = diagnosed(
        tmp_path,
        "DrawIndexed(6),Frame/Particles,draw,4,9000,9000,16000000,15500000,9",
        "DrawIndexed(7),Frame/Particles,draw,1,90,90,400000,400000,9",
    )
    assert passes["Particles"]["layers"] == pytest.approx(8.2) and "FRM014" not in said
    assert "“Particles” (8.0 layers)" in said["FRM015"]


def test_a_healthy_frame_is_silent(tmp_path: Path) -> None:
    _, said = diagnosed(
        tmp_path,
        "DrawIndexed(6),Frame/Opaque,draw,4,90000,90000,3000000,2900000,9",
        "DrawIndexed(7),Frame/Opaque,draw,1,90000,90000,900000,800000,9",
    )
    assert not {"FRM012", "FRM014", "FRM015"} & said.keys()


def test_a_shadow_pass_has_a_target_of_its_own_size(tmp_path: Path) -> None:
    passes, said = diagnosed(
        tmp_path,
        "DrawIndexed(6),Frame/Shadow cascade 0,draw,4,90000,90000,30000000,,9",
        "DrawIndexed(7),Frame/Shadow cascade 0,draw,1,90000,90000,9000000,,9",
    )
    assert passes["Shadow cascade 0"]["layers"] is None and "FRM015" not in said


def test_multisampling_is_no_pixel_thrown_away(tmp_path: Path) -> None:
    passes, said = diagnosed(
        tmp_path,
        "DrawIndexed(6),Frame/Forward,draw,4,90000,90000,3000000,11000000,9",
        "DrawIndexed(7),Frame/Forward,draw,1,900,900,30000,110000,9",
    )
    assert passes["Forward"]["thrown_away"] is None and "FRM014" not in said


def test_helpers_of_tiny_triangles_are_no_hidden_layers(tmp_path: Path) -> None:
    """Two pixels per triangle: what did not pass may be the rest of their quads."""
    passes, said = diagnosed(
        tmp_path,
        "DrawIndexed(6),Frame/Grass,draw,2,3200000,3100000,6400000,1600000,4",
        "DrawIndexed(7),Frame/Grass,draw,2,3200000,3100000,6500000,1700000,4",
    )
    assert passes["Grass"]["layers"] is None and not {"FRM014", "FRM015"} & said.keys()


def test_a_full_screen_draw_is_known_by_its_vertices(tmp_path: Path) -> None:
    """Exports without primitive counts: PIX."""
    file = tmp_path / "frame.csv"
    file.write_text(
        "name,path,kind,gpu.time [ms],invocations.vs,invocations.ps,draw.count\n"
        "Smoke,Frame,draw,4,900,28000000,9\nTone map,Frame,draw,0.5,3,2000000,1\n"
    )
    assert {p["name"]: p["layers"] for p in api.diagnose(file).to_dict()["passes"]}["Smoke"] == 14
