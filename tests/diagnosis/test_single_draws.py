"""What only some draws of a pass show is billed to these draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from triage import api

HEAD = "name,path,kind,gpu.time [ms],prims.rasterized,invocations.vs,PS Invocations,Samples Passed"
POST = ["Tone map,Frame/Post,fullscreen,1,1,3,2000000,2000000"] * 2


def found(tmp_path: Path, *rows: str) -> dict[str, Any]:
    """Findings by rule."""
    file = tmp_path / "frame.csv"
    file.write_text("\n".join([HEAD, *rows, *POST]) + "\n")
    return {f["rule"]: f for f in api.diagnose(file).to_dict()["findings"]}


def draw(name: str, marker: str, ms: float, prims: int, shaded: int, passed: int) -> str:
    return f"{name},Frame/{marker},draw,{ms},{prims},{3 * max(prims, 1)},{shaded},{passed}"


def test_draws_without_samples_are_counted(tmp_path: Path) -> None:
    findings = found(
        tmp_path,
        draw("DrawIndexed(3)", "Opaque", 2, 20_000, 3_000_000, 2_900_000),
        draw("DrawIndexed(4)", "Opaque", 1, 20_000, 0, 0),
        draw("DrawIndexed(4)", "Opaque", 1, 0, 0, 0),
    )
    assert "“Opaque” (2 of 3 draws, 2 ms; 1 of them without primitives)" in findings["FRM084"]["message"]


@pytest.mark.parametrize(
    ("marker", "passed"), [("Occlusion queries", 2_900_000), ("Voxelise", 2_900_000), ("Visibility buffer", 0)]
)
def test_draws_that_count_or_write_elsewhere_pass_no_sample_on_purpose(
    marker: str, passed: int, tmp_path: Path
) -> None:
    findings = found(
        tmp_path,
        draw("DrawIndexed(3)", marker, 2, 20_000, 3_000_000, passed),
        draw("DrawIndexed(4)", marker, 2, 20_000, 0, 0),
    )
    assert "FRM084" not in findings


@pytest.mark.parametrize(("prims", "shaded", "named"), [(9_000, 0, False), (11_000, 0, True), (11_000, 1, False)])
def test_a_pass_of_many_primitives_that_neither_shades_nor_passes_is_unseen(
    prims: int, shaded: int, named: bool, tmp_path: Path
) -> None:
    assert ("FRM084" in found(tmp_path, draw("Interior", "Interior", 2, prims, shaded, 0))) == named


def test_small_triangles_are_billed_to_their_draws(tmp_path: Path) -> None:
    findings = found(
        tmp_path,
        draw("DrawIndexed(3)", "Opaque", 3, 10_000, 3_000_000, 2_000_000),
        draw("DrawIndexed(4)", "Opaque", 0.5, 450_000, 450_000, 50_000),
        draw("DrawIndexed(5)", "Opaque", 0.5, 450_000, 450_000, 50_000),
    )
    message = findings["FRM012"]["message"]
    assert "16.7 % of the frame" in message and "“Opaque” (2 of 3 draws, 0.9 M primitives, 1.0 pixels each)" in message


def test_early_tests_hide_the_size_of_triangles(tmp_path: Path) -> None:
    """In a pass of large triangles a draw whose pixels were counted behind early tests may be large, too."""
    findings = found(
        tmp_path,
        draw("DrawIndexed(3)", "Opaque", 3, 10_000, 9_000_000, 9_000_000),
        draw("DrawIndexed(4)", "Opaque", 0.5, 450_000, 50_000, 50_000),
        draw("DrawIndexed(5)", "Opaque", 0.5, 450_000, 50_000, 50_000),
    )
    assert "FRM012" not in findings


def test_behind_an_equal_test_a_draw_is_as_large_as_in_the_depth_pass(tmp_path: Path) -> None:
    findings = found(
        tmp_path,
        draw("DrawIndexed(3)", "Prepass", 1, 1_000_000, 40_000_000, 1_500_000),
        draw("DrawIndexed(4)", "Prepass", 1, 500_000, 750_000, 100_000),
        draw("DrawIndexed(5)", "Prepass", 1, 500_000, 750_000, 100_000),
        draw("DrawIndexed(3)", "GBuffer", 2, 1_000_000, 1_500_000, 1_500_000),
        draw("DrawIndexed(4)", "GBuffer", 2, 500_000, 100_000, 100_000),
        draw("DrawIndexed(5)", "GBuffer", 2, 500_000, 100_000, 100_000),
    )
    text = "“GBuffer” (2 of 3 draws, 1.0 M primitives, 1.5 pixels each in the depth pass)"
    assert text in findings["FRM012"]["message"]


def test_late_tests_are_billed_to_the_draws_that_lose_their_pixels(tmp_path: Path) -> None:
    findings = found(
        tmp_path,
        draw("DrawIndexed(3)", "Prepass", 2, 400_000, 20_000_000, 1_000_000),
        draw("DrawIndexed(4)", "Prepass", 2, 400_000, 0, 1_000_000),
        draw("DrawIndexed(5)", "Prepass", 2, 400_000, 1_000_000, 900_000),
    )
    text = "“Prepass” (1 of 3 draws, 10.0 layers shaded, 0.5 pass, 95 % thrown away; 1 other without pixel shading)"
    assert text in findings["FRM014"]["message"] and "25.0 % of the frame" in findings["FRM014"]["message"]
