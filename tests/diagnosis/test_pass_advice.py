"""What a rendering lead would not believe of a frame: counts told twice, advice for another kind of pass, idle time unseen."""

from pathlib import Path
from typing import Any

import pytest

from triage import api
from triage.capture.capture import SEP
from triage.reading.pass_order import layer

HEAD = "path,name,gpu.time [ms],"


def document(tmp_path: Path, text: str) -> dict[str, Any]:
    file = tmp_path / "frame.csv"
    file.write_text(text)
    return api.diagnose(file).to_dict()


def advice(found: dict[str, Any], cause: str) -> list[str]:
    return next(f["advice"] for f in found["findings"] if f["cause"] == cause)


def nested(pixels: int) -> str:
    """A pass with two cascades whose marker repeats what they count."""
    rows = [f"Frame/Shadows/Sun,Cascade {i},1,2000000,{pixels}" for i in (0, 1)]
    rows += [f"Frame/Shadows,Sun,2,4000000,{2 * pixels}", f"Frame,Shadows,2,4000000,{2 * pixels}", ",Frame,4,4000000,"]
    rows += ["Frame,Lighting,2,0,0"]
    return HEAD + "prims.rasterized,pixels.shaded\n" + "\n".join(reversed(rows)) + "\n"


def test_primitives_of_nested_markers_are_counted_once(tmp_path: Path) -> None:
    found = document(tmp_path, nested(1_000_000))
    dense = next(f for f in found["findings"] if f["rule"] == "FRM012")
    assert "“Shadows” (4.0 M primitives, 0.5 pixels each)" in dense["message"]


def test_a_pass_that_lays_depth_alone_has_no_triangles_without_pixels(tmp_path: Path) -> None:
    found = document(tmp_path, nested(0))
    assert not [f for f in found["findings"] if f["cause"] == "small-triangles"]


@pytest.mark.parametrize(
    ("busy", "sm", "idle"),
    [
        (45, 40, 0.55),
        (99, 95, 0.0),
        (40, 99, None),
    ],  # 40 % busy with the SM at 99 %: a replay's figure, not the range's
)
def test_idle_time_shows_in_a_busy_figure(tmp_path: Path, busy: int, sm: int, idle: float | None) -> None:
    rows = f"name,kind,gpu.time [ms],GPU Busy (%),sm.active [%],sm.throughput [%]\nGBuffer,geometry,5,{busy},{sm},20\n"
    file = tmp_path / "frame.csv"
    file.write_text(rows)
    found = api.diagnose(file).to_dict()
    waits = [f for f in found["findings"] if f["rule"] == "SOL003"]
    assert [round(f["gain"]["fraction"], 2) for f in waits] == ([idle] if idle else [])


def test_units_outside_the_shares_of_peak_limit_too(tmp_path: Path) -> None:
    rows = "name,kind,gpu.time [ms],rtcore.throughput [%],sm.throughput [%],memory.throughput [%],zrop.busy [%]\n"
    rows += "Reflections,raytracing,5,88,30,35,\nCascade,geometry,5,,30,35,90\nTests wait,geometry,5,,30,35,50\n"
    found = document(tmp_path, rows)["workloads"]
    assert [w["limiter_class"] for w in found] == ["compute", "rop", "latency"]


@pytest.mark.parametrize(
    ("path", "name", "drawn"),
    [("Frame/GBuffer", "Vehicles", "opaque"), ("Frame/GBuffer", "Deferred Decals", "blended"), ("Frame/Transparency", "Sparks", "blended"),
     ("Frame/UI", "HUD", "blended"), ("Frame", "Alpha-tested forest", "opaque"), ("Frame/Smoke FX", "DrawIndexed", "blended"), ("Frame", "Reduce", "")],
)  # fmt: skip
def test_names_say_how_a_pass_draws(path: str, name: str, drawn: str) -> None:
    assert layer(path.replace("/", SEP), name) == drawn


def test_overdraw_of_glass_is_not_sorted_front_to_back(tmp_path: Path) -> None:
    found = document(tmp_path, HEAD + "pixels.overdraw\nFrame/Transparency,Glass,5,7\n")
    assert advice(found, "overdraw")[0].startswith("Draw blended layers")
    opaque = document(tmp_path, HEAD + "pixels.overdraw\nFrame/GBuffer,Rocks,5,7\n")
    assert advice(opaque, "overdraw")[0].startswith("Sort opaque draws front to back")


def test_a_depth_pass_is_not_asked_of_a_gpu_that_removes_hidden_pixels(tmp_path: Path) -> None:
    found = document(tmp_path, "path,name,gpu.time [ms],pixels.overdraw,alu.limiter [%]\nFrame/GBuffer,Rocks,5,7,40\n")
    assert not any("position-only" in a for a in advice(found, "overdraw"))


def test_a_frame_on_radeon_hears_no_words_of_kernels(tmp_path: Path) -> None:
    rows = "path,name,kind,gpu.time [ms],valu.busy [%],vram.throughput [%],l1tex.throughput [%],GPU\n"
    rows += "Frame/Post,TAA,fullscreen,5,95,20,10,Radeon RX 7900 XTX\nFrame/Post,Sharpen,fullscreen,5,20,88,10,Radeon RX 7900 XTX\n"
    rows += "Frame/Post,Tonemap,fullscreen,5,20,20,94,Radeon RX 7900 XTX\n"
    for f in document(tmp_path, rows)["findings"]:
        text = " ".join([f["message"], *f["advice"]])
        assert not any(w in text for w in ("kernel", "__", "(not measured)", "LDS")), text


def test_short_draws_are_batched_not_merged_as_passes(tmp_path: Path) -> None:
    def tiny(name: str) -> dict[str, Any]:
        rows = "".join(f"Frame/GBuffer,{name}({i}),0.005,20\n" for i in range(60))
        return document(tmp_path, HEAD + "sm.throughput [%]\n" + rows)

    def first(found: dict[str, Any]) -> tuple[str, float]:
        f = next(f for f in found["findings"] if f["rule"] == "FRM002")
        return f["advice"][0], f["gain"]["fraction"]

    draws, passes = first(tiny("DrawIndexed")), first(tiny("Blur"))
    assert "instances" in draws[0] and "Merge small passes" in passes[0]
    assert draws[1] == pytest.approx(passes[1] / 2)  # timed one by one they do not overlap, in the frame they do


def test_a_dispatch_is_not_shaded_at_a_lower_rate(tmp_path: Path) -> None:
    rows = "name,kind,gpu.time [ms],sm.throughput [%],sm.issue_per_elapsed [%],sm.active [%],l1tex.throughput [%],l2.throughput [%],vram.throughput [%],pixels.shaded\n"
    rows += "Tiled lighting,compute,5,90,90,99,30,20,20,\nUber pass,fullscreen,5,90,90,99,30,20,20,2000000\n"
    found = [f["advice"] for f in document(tmp_path, rows)["findings"] if f["cause"] == "issue-bound"]
    rate = [any("variable-rate" in a for a in advice) for advice in found]
    assert sorted(rate) == [False, True]
