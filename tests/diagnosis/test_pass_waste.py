"""Needless work of passes: resolves apart, multisampled targets at their limit, passes drawn twice; formats by name."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from triage import api
from triage.diagnosis.pass_waste import samples
from triage.ground.pixel_formats import pixel_bytes

HEAD = "name,path,kind,gpu.time [ms],prims.rasterized,invocations.vs,invocations.ps,draw.count,crop.throughput [%]\n"


def findings(tmp_path: Path, *rows: str) -> dict[str, dict[str, Any]]:
    file = tmp_path / "frame.csv"
    file.write_text(HEAD + "".join(f"{r}\n" for r in rows))
    return {f["rule"]: f for f in api.diagnose(file).to_dict()["findings"]}


SHADOW = "{},Frame,draw,{},40000,60000,900000,55,30"
LIGHT = "Lighting,Frame,fullscreen,5,2,4,2073600,1,40"


def test_a_pass_drawn_twice(tmp_path: Path) -> None:
    found = findings(tmp_path, SHADOW.format("Shadow map", 2), LIGHT, SHADOW.format("Shadow map of the mirror", 1.9), "Forward,Frame,draw,3,40000,60000,900001,55,30")  # fmt: skip
    assert "“Shadow map of the mirror” like “Shadow map”" in found["FRM018"]["message"]
    assert found["FRM018"]["cause"] == "duplicate-pass"
    assert "Forward" not in found["FRM018"]["message"]  # one shaded pixel more: another view


@pytest.mark.parametrize(
    "rows",
    [  # a depth prepass shades nothing; small passes agree by chance; cascades differ
        ("Depth,Frame,draw,2,40000,60000,0,55,30", "Main,Frame,draw,4,40000,60000,900000,55,30"),
        ("Blur X,Frame,draw,2,2,4,2073600,1,30", "Blur Y,Frame,draw,2,2,4,2073600,1,30"),
        ("Cascade 0,Frame,draw,2,40000,60000,900000,55,30", "Cascade 1,Frame,draw,2,40000,60000,300000,55,30"),
        ("Map A,Frame,draw,2,40000,,900000,,30", "Map B,Frame,draw,2,40000,,900000,,30"),
    ],
)
def test_passes_that_only_look_alike(tmp_path: Path, rows: tuple[str, ...]) -> None:
    assert "FRM018" not in findings(tmp_path, *rows, LIGHT)


def test_a_resolve_of_its_own(tmp_path: Path) -> None:
    found = findings(tmp_path, "Forward MSAA 4x,Frame,draw,4,40000,60000,900000,55,85", "vkCmdResolveImage,Frame,copy,0.6,,,,,", "TAA Resolve,Frame,fullscreen,1,2,4,2073600,1,20", LIGHT)  # fmt: skip
    assert found["FRM016"]["cause"] == "msaa-cost" and "vkCmdResolveImage" in found["FRM016"]["message"]
    assert "TAA" not in found["FRM016"]["message"]
    assert "“Forward MSAA 4x” (4 samples)" in found["FRM017"]["message"]


def test_depth_that_a_tiler_stores() -> None:
    """As ovrgpuprofiler lists a surface: colour must be stored, depth need not."""
    path = SAMPLES / "adreno-series" / "surfaces.txt"
    (found,) = [f for f in api.diagnose(path).to_dict()["findings"] if f["rule"] == "FRM080"]
    assert found["cause"] == "render-target-traffic" and "StoreDepthStencil” (870 µs)" in found["message"]
    assert "StoreColor" not in found["message"]


def test_multisampled_passes_with_room_are_left_alone(tmp_path: Path) -> None:
    found = findings(tmp_path, "Forward MSAA 4x,Frame,draw,4,40000,60000,900000,55,35", LIGHT, "SSR Resolve,Frame,compute,1,,,,,")  # fmt: skip
    assert not {"FRM016", "FRM017"} & found.keys()


@pytest.mark.parametrize(
    ("name", "count"),
    [("Surface 1216x1344 MSAA 4", 4), ("Forward (8xMSAA)", 8), ("MSAAx2", 2), ("4x MSAA opaque", 4), ("MSAA", 1), ("Bloom 4x4", 1), ("MSAA 40", 1)],
)  # fmt: skip
def test_samples_by_name(name: str, count: int) -> None:
    assert samples(name) == count


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("Lighting RGBA16F", 8), ("R11G11B10_FLOAT", 4), ("GBuffer (RGBA8 x3 + D32)", 16), ("DXGI R10G10B10A2_UNORM", 4), ("RGB10A2", 4), ("Depth D24S8", 4),
        ("D32FS8X24", 8), ("R8", 1), ("R8_UNORM", 1), ("D3D12", None), ("Pass 2", None), ("R2", None), ("SSAO R16", 2), ("ABGR", None), ("D16", 2), ("", None),
    ],
)  # fmt: skip
def test_bytes_by_format(name: str, size: float | None) -> None:
    assert pixel_bytes(name) == size


def flat(tmp_path: Path, *rows: str) -> dict[str, dict[str, Any]]:
    file = tmp_path / "frame.csv"
    head = "Marker,GPU ms,Invocations/frame,Draw Calls,Triangles\n"
    file.write_text(head + "".join(f"{r}\n" for r in rows))
    return {f["rule"]: f for f in api.diagnose(file).to_dict()["findings"]}


def test_views_beside_the_camera(tmp_path: Path) -> None:
    """A mirror that draws the whole scene, a light with six faces of it; a shadow of the same geometry is no fault."""
    found = flat(
        tmp_path,
        "GBuffer,4,1,900,600000",
        "Mirror,3,1,880,640000",
        "Sun shadows,1,1,500,610000",
        "Point light shadows,2,1,5000,4800000",
    )
    messages = {name: f["message"] for name, f in found.items() if name == "FRM085"}
    assert messages and (
        "“Mirror” (0.6 M primitives, 1.1 times" in messages["FRM085"] or "“Point" in messages["FRM085"]
    )
    assert "Sun" not in messages["FRM085"]


def test_a_view_of_less_is_left_alone(tmp_path: Path) -> None:
    assert "FRM085" not in flat(tmp_path, "GBuffer,4,1,900,600000", "Mirror,1,1,300,240000")


def test_a_chain_built_three_times(tmp_path: Path) -> None:
    found = flat(
        tmp_path, "GBuffer,4,1,900,600000", "Pyramid,1.5,3,0,0", "Lighting,2,1,0,0", "Sky,1,1,0,0", "Blur,2,9,0,0"
    )
    assert "“Pyramid” (3 times 500 µs)" in found["FRM083"]["message"] and "Blur" not in found["FRM083"]["message"]
