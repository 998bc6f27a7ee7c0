"""Frames of four layouts, each marker with one known illness: it comes first on every marker, and containers stay silent."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.helpers.frame_layouts import ILLNESSES, LAYOUTS, VENDORS, markers, vendor_pix, vendor_renderdoc
from triage import api
from triage.dialects.graphics import perfworks
from triage.rulebook.rule import LIMIT

Layout: TypeAlias = Callable[[str, str, Path], Path]
LITTLE = 0.05  # of a healthy marker's time: what may be promised as a note
VERDICTS = ("low-throughput", "near-limit")
# what the counters of a layout cannot tell: the size of the target, shares of atomics and of conflicts, and vertex shader
# invocations in GPU Trace
_NOWHERE = ("unsorted", "one counter for all", "banks")
UNTOLD = {"gpu-trace": (*_NOWHERE, "unordered indices"), "pix": _NOWHERE, "renderdoc": _NOWHERE}
OUTDOORS = "wide indices|fat vertices|micro-triangles|unsorted|exposed loads|registers|streaming|group barriers|serial dispatches|late CPU|healthy"
INDOORS = "back faces|unordered indices|depth tests|many targets|scattered taps|one interface|early exits|big tile|uneven tiles|upload|healthy"
EFFECTS = "layers of particles|discarding|coarse raster|volume|rows of fetches|dependent math|streaming groups|short groups|at the limit|healthy"
COMPUTED = "arithmetic in groups|exposed buffers|shared by all|registers of groups|transcendentals|local arrays|narrow loads|shared queue|fences|switches over types|lists of lights|healthy"
UPDATES = "strided buffers|one counter for all|banks|upscaling network|bit tricks|tessellation|evicted textures|healthy"
TRACED = "rays apart|boxes|interpolants|switches|constants|buffers on the host|readback|arithmetic|many fetches|long shader|interpolation|at the limit|healthy"
UNMEASURED = {
    "all": (),
    "no stalls": ("stall.", "launch_stall."),
    "units only": (
        "stall.",
        "launch_stall.",
        "warp.",
        "prims.",
        "pixels.",
        "invocations.",
        "draw.",
        "dispatch.",
        "wfi.",
        "copy.",
        "sm.occupancy",
    ),
}
FRAMES = [
    (layout, told, name, scene.split("|"))
    for name, scene in (("outdoors", OUTDOORS), ("indoors", INDOORS), ("effects", EFFECTS), ("computed", COMPUTED), ("updates", UPDATES), ("traced", TRACED))
    for layout, told in (("generic", "all"), ("generic", "no stalls"), ("generic", "units only"), ("gpu-trace", "all"), ("pix", "all"), ("renderdoc", "all"))
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "told", "scene", "names"), FRAMES, ids=[f"{s}, {lay}, {t}" for lay, t, s, _ in FRAMES]
)
def test_the_illness_of_every_marker_comes_first(
    layout: str, told: str, scene: str, names: list[str], tmp_path: Path
) -> None:
    frame = markers(f"{scene} {layout} {told}", [n for n in names if n not in UNTOLD.get(layout, ())], UNMEASURED[told])
    found = api.diagnose(LAYOUTS[layout](frame, tmp_path))
    said: dict[str, list[tuple[str, float]]] = defaultdict(list)
    busy: dict[str, bool] = {}  # whether a busy unit without a counted excess is all that comes first: it leads nothing
    for f in found.findings:
        if f.gain is not None and f.workload >= 0 and f.rule.cause not in VERDICTS:
            said[f.workload_id].append((f.rule.cause, f.gain.fraction))
            busy.setdefault(f.workload_id, f.rule.gain is not None and f.rule.gain.evidence == LIMIT)
    by_name = {m.name: m for m in frame}
    wrong, seen = [], set()
    for w in found.to_dict()["workloads"]:
        ill = next((by_name[n] for n in (w["name"], *reversed(w["path"])) if n in by_name), None)
        here = [(c, g) for c, g in said[w["id"]] if g > LITTLE or ill is None or ill.illness.causes]
        first, chain = next((c for c, _ in here), ""), next(iter(w["chain"]), "")
        if ill is None or w["self_ns"] <= 0:
            wrong += [f"container {w['name']}: {first or chain}"] if first or chain else []
            continue
        seen.add(ill.name)
        right = ill.illness.causes or ("",)
        healthy = "near-limit" in right or not ill.illness.causes
        led = chain in right or healthy or (busy[w["id"]] and not chain)
        if (first not in right and not (healthy and not first)) or not led:
            wrong.append(f"{ill.name}: {here[:3]}, led by {chain or 'nothing'}, want {right}")
    assert not wrong
    assert seen == set(by_name)


def test_every_illness_is_in_a_frame() -> None:
    assert {n for *_, names in FRAMES for n in names} == set(ILLNESSES)


@pytest.mark.parametrize("header", ["gr__idle_pct", "sm__warp_stall_barrier_pct", "lts__t_sector_hit_rate.pct"])
def test_counters_that_say_percent_are_percent(header: str) -> None:
    assert perfworks.unit_of(header) == "%"
    assert perfworks.unit_of("gr__dispatch_count.sum") == ""


@pytest.mark.slow
@pytest.mark.parametrize("layout", [vendor_pix, vendor_renderdoc], ids=["pix", "renderdoc"])
@pytest.mark.parametrize(("vendor", "frame"), [(v, f) for v in VENDORS for f in ("plaza", "harbour", "forest")])
def test_counters_of_amd_and_intel(vendor: str, frame: str, layout: Layout, tmp_path: Path) -> None:
    found = api.diagnose(layout(frame, vendor, tmp_path))
    illnesses, wrong, seen = VENDORS[vendor][0], [], set()
    first, busy = {}, set()
    for f in found.findings:
        if f.gain is not None and f.workload >= 0 and f.rule.cause not in VERDICTS and f.gain.fraction > LITTLE / 2:
            if f.workload_id not in first and f.rule.gain is not None and f.rule.gain.evidence == LIMIT:
                busy.add(f.workload_id)
            first.setdefault(f.workload_id, f.rule.cause)
    for w in found.to_dict()["workloads"]:
        name = next((n for n in (w["name"], *reversed(w["path"])) if n in illnesses), "")
        said = first.get(w["id"], "")
        if w["self_ns"] <= 0:
            wrong += [f"container {w['name']}: {said}"] if said else []
            continue
        seen.add(name)
        causes = illnesses[name][1].split()
        leads = ["", *causes] if w["id"] in busy else causes
        if said not in (causes or [""]) or (causes and next(iter(w["chain"]), "") not in leads):
            wrong.append(f"{name}: {said or 'nothing'}, led by {w['chain'][:2]}, want {causes}")
    assert not wrong
    assert seen == set(illnesses)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "share", "limiter"),
    [
        ("stall.barrier", 52, "latency"),
        ("stall.barrier", 12, "unknown"),
        ("gti.queue_full", 70, "memory"),
        ("vram.stalled", 41, "memory"),
        ("bottleneck.vertex_fetch", 44, "front-end"),
        ("pixels.export_stalled", 38, "rop"),
        ("shader.stalled", 45, "latency"),
    ],
)
def test_what_held_the_work_up_names_the_limiter(column: str, share: float, limiter: str, tmp_path: Path) -> None:
    file = tmp_path / "pass.csv"
    file.write_text(f"name,kind,gpu.time [ms],{column} [%]\nPass,draw,2,{share}\n")
    assert api.diagnose(file).to_dict()["workloads"][0]["limiter_class"] == limiter
