"""Markers rolled up to passes: a partition of the frame, with sums that are known or not given at all."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from triage import api
from triage.reading.pass_order import movable, role, roles
from triage.rendering.pass_table import count, pass_table

FRAME = """name,path,kind,gpu.time [ms],prims.input,prims.rasterized,pixels.shaded,vram.bytes_read,vram.bytes_written,draw.count
Frame,,marker,10,,,,,,
Shadows,Frame,marker,3,,,,,,
Cascade 0,Frame/Shadows,geometry,2,4000000,2000000,3000000,1000000,2000000,40
Cascade 1,Frame/Shadows,geometry,1,1000000,900000,9000000,1000000,1000000,20
Lighting,Frame,compute,6,,,,50000000,20000000,
"""


def document(tmp_path: Path, text: str) -> dict[str, Any]:
    file = tmp_path / "frame.csv"
    file.write_text(text)
    return api.diagnose(file).to_dict()


def test_passes_are_the_markers_inside_the_frame(tmp_path: Path) -> None:
    found = {p["name"]: p for p in document(tmp_path, FRAME)["passes"]}
    # Lighting takes more than half, but holds nothing that is named
    assert list(found) == ["Frame", "Shadows", "Lighting"]
    assert found["Frame"]["rest"] and found["Frame"]["duration_ns"] == 1e6
    shadows = found["Shadows"]
    assert shadows["duration_ns"] == 3e6 and shadows["draws"] == 60
    assert shadows["primitives_in"] == 5e6 and shadows["primitives"] == 2.9e6
    assert shadows["pixels_per_primitive"] == pytest.approx(12 / 2.9, rel=1e-3)
    assert (shadows["read_bytes"], shadows["written_bytes"]) == (2e6, 3e6)
    assert found["Lighting"]["primitives"] is None


def test_a_sum_with_a_hole_is_not_given(tmp_path: Path) -> None:
    listed = document(tmp_path, FRAME.replace("1000000,1000000,20", ",,20"))["passes"]
    shadows = next(p for p in listed if p["name"] == "Shadows")
    assert shadows["read_bytes"] is None and shadows["draws"] == 60


def test_bytes_per_pixel_stand_beside_the_least(tmp_path: Path) -> None:
    text = FRAME.replace("draw.count", "draw.count,target.pixels,target.pixel_bytes")
    text = text.replace("50000000,20000000,", "50000000,20000000,,2000000,8")
    head, *rows = text.splitlines()
    text = "\n".join([head, *(r + "," * (head.count(",") - r.count(",")) for r in rows)]) + "\n"
    lighting = next(p for p in document(tmp_path, text)["passes"] if p["name"] == "Lighting")
    assert lighting["bytes_per_pixel"] == 35 and lighting["least_bytes_per_pixel"] == 8


@pytest.mark.parametrize(("raster", "roots"), [("20", ["culled-primitives"]), ("90", ["small-triangles"])])
def test_culling_comes_first_unless_the_rasteriser_is_full(raster: str, roots: list[str], tmp_path: Path) -> None:
    text = f"""name,path,kind,gpu.time [ms],prims.input,prims.rasterized,pixels.shaded,pes.throughput [%],raster.throughput [%],sm.throughput [%]
Frame,,marker,10,,,,,,
Meshlets,Frame,marker,5,,,,,,
Rocks,Frame/Meshlets,geometry,3,41000000,4500000,2500000,80,{raster},20
Trees,Frame/Meshlets,geometry,2,30000000,3500000,1500000,80,{raster},20
Other,Frame,compute,5,,,,,,80
"""
    found = document(tmp_path, text)
    assert [t["cause"] for t in found["todo"]][:1] == roots
    chain = [x["cause"] for x in found["todo"][0]["chain"]]
    assert chain == ["culled-primitives", "raster-bound"] if raster == "20" else "culled-primitives" not in chain
    assert ("dense-geometry" in {f["name"] for f in found["findings"]}) == (raster == "90")


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("ABC"), max_size=3), st.sampled_from(["x", "y", "Draw(3)"]), st.integers(1, 50)
        ),
        min_size=1,
        max_size=25,
    )
)
def test_every_range_is_in_one_pass_and_the_times_add_up(rows: list[tuple[list[str], str, int]]) -> None:
    lines = ["name,path,kind,gpu.time [us],sm.throughput [%]"]
    lines += [
        f"{name} {i if name != 'Draw(3)' else ''},{'/'.join(path)},draw,{us},50"
        for i, (path, name, us) in enumerate(rows)
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "frame.csv"
        file.write_text("\n".join(lines) + "\n")
        capture = api.read(file)
    found = capture.passes
    seen = sorted(int(r) for p in found for r in p.rows)
    assert len(seen) == len(set(seen))
    assert sum(p.time_ns for p in found) == pytest.approx(float(capture.self_ns.sum()))


def test_the_table_leaves_out_what_nobody_knows(tmp_path: Path) -> None:
    table = pass_table(document(tmp_path, FRAME)["passes"])
    assert table is not None and "Disp." not in [h for h, _ in table.headers]
    assert all(len(row) == len(table.headers) for row in table.rows)
    assert pass_table([]) is None


def test_kernels_have_no_passes(tmp_path: Path) -> None:
    text = "name,kind,gpu.time [us],launch.grid_size,launch.block_size\na,compute,5,100,128\nb,compute,6,100,128\n"
    assert document(tmp_path, text)["passes"] == []


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (412, "412"), (9999, "9,999"), (43_100, "43.1 k"), (3.2e6, "3.2 M"), (2e9, "2.0 G")]
)
def test_counts_fit_a_table(value: float | None, text: str) -> None:
    assert count(value) == text


@pytest.mark.parametrize(
    ("name", "want"),
    [("ShadowCascade0", "shadow"), ("Shadow.Draw", "shadow"), ("HBAO+", "occlusion"), ("Deferred Lighting", "lighting"), ("GBuffer", "gbuffer"),
     ("DeferredDepthPrepass", "depth"), ("Contact Shadows", "contact"), ("BuildLightList", "culling"), ("Build list", None), ("Tonemap", "post"),
     ("RenderSky", None), ("pass 7", None), ("UI", "interface")],
)  # fmt: skip
def test_names_say_what_a_pass_is_for(name: str, want: str | None) -> None:
    found = role(name)
    assert (found.id if found else None) == want


def test_roles_read_roles() -> None:
    known = {r.id for r in roles()}
    assert {x for r in roles() for x in r.reads} <= known


def test_nothing_overlaps_what_it_needs() -> None:
    order = [role(n) for n in ("Depth prepass", "GBuffer", "SSAO", "Shadow maps", "Lighting", "Bloom")]
    assert movable(order, 2, 1) is None  # reads it
    assert movable(order, 4, 3) is None
    fences = movable(order, 2, 3)
    assert fences is not None and (fences.after, fences.before) == (1, 4)
    late = [role(n) for n in ("GBuffer", "Foliage", "Water", "Depth of field", "UI")]
    assert movable(late, 3, 1) is None  # it reads what stands between them, and what reads the other is not known
    assert movable([role("GBuffer"), None], 1, 0) is None  # nobody knows what it reads
    assert movable([role("Shadow maps"), role("SSAO")], 1, 0) is None  # nothing before it writes what it reads
    grouped = movable(order, 2, 3, groups=[-1, 0, 0, -1, -1, -1])
    assert grouped is not None and grouped.after == 1
    assert movable(order, 2, 3, groups=[-1, -1, 1, 1, -1, -1]) is None  # one marker's ranges stay in their order


def test_the_columns_of_savings_add_up_to_the_total() -> None:
    found = api.diagnose(SAMPLES / "gpu-trace" / "demo_frame").to_dict()
    listed = sum(w["saved_ns"] or 0 for w in found["workloads"])
    apart = sum(i["saved_ns"] for i in found["todo"] if i["cause"] == "no-overlap")
    assert listed + apart == pytest.approx(found["frame"]["recoverable_ns"], rel=1e-6)
    assert sum(p["saved_ns"] or 0 for p in found["passes"]) == pytest.approx(listed, rel=1e-6)


def test_a_pass_names_every_cause_within_it() -> None:
    found = api.diagnose(SAMPLES / "gpu-trace" / "demo_frame").to_dict()
    titles = {i["cause"]: i["title"] for i in found["todo"]}
    for p in found["passes"]:
        inside = [w for w in found["workloads"] if w["path"][1:2] == [p["name"]] or w["name"] == p["name"]]
        causes = {w["chain"][0] for w in inside if w["chain"] and w["saved_ns"]}
        named = (p["title"] or "").lower()
        assert all(titles[cause].lower() in named for cause in causes), p["name"]
        assert bool(p["saved_ns"]) == bool(causes)
    layers = next(p for p in found["passes"] if p["name"] == "Transparency")
    assert layers["title"].startswith("Overdraw, ROP-bound")
