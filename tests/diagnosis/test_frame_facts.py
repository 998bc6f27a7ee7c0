"""Facts over the whole frame: pairs by unit, mergeable runs, common causes, tiny ranges, at any size."""

import time
from typing import Any

import numpy as np
import pytest

from tests.conftest import SAMPLES, bare_capture, generic
from triage import api, schema
from triage.capture.capture import Capture
from triage.diagnosis.frame_facts import frame_captures
from triage.diagnosis.timeline_facts import IDLE_CAUSES
from triage.ground.gap_reasons import GAP_WORDS
from triage.rulebook.packs import Rulebook

HANDMADE = SAMPLES / "generic" / "frame_handmade.csv"


def frame(
    rows: dict[str, list[float]], kinds: list[str], ms: list[float], passes: tuple[str, ...] = (), **extra: Any
) -> Capture:
    own = np.array(ms) * 1e6
    names = list(passes) or [f"pass {i + 1}" for i in range(len(kinds))]
    facts = {m: np.array(v) for m, v in rows.items()}
    made: Capture = bare_capture(facts, names, kinds, own, frame_ns=float(own.sum()), **extra)
    return made


def facts(capture: Capture, book: Rulebook) -> dict[str, tuple[float, str]]:
    nothing = np.zeros(len(capture), dtype=np.int8)
    whole = frame_captures(capture, nothing, (np.zeros(len(capture)), np.full(len(capture), -1)), book)[-1]
    return {m: (float(v[0]), whole.sources[m].formula) for m, v in whole.facts.items()}


def units(*rows: tuple[float, float, float]) -> dict[str, list[float]]:
    names = ("sm.throughput", "l2.throughput", "zrop.throughput")
    return {n: [r[i] for r in rows] for i, n in enumerate(names)}


def test_passes_that_need_different_units_make_a_pair(book: Rulebook) -> None:
    shadow, waves = (0.1, 0.1, 0.8), (0.8, 0.1, 0.0)
    found = facts(frame(units(shadow, waves), ["geometry", "compute"], [2.0, 2.0], ("Shadows", "Ocean FFT")), book)
    # SM 0.1 x 2 + 0.8 x 2 = 1.8 ms of work, at 90 % of peak 2 ms: one hides the other completely
    assert found["frame.pair_share"][0] == pytest.approx(0.5)
    assert "“Shadows” (2 ms, ZROP on top) with “Ocean FFT” (2 ms, SM on top)" in found["frame.pair_share"][1]


def test_passes_that_need_the_same_unit_make_none(book: Rulebook) -> None:
    busy = (0.1, 0.9, 0.0)
    found = facts(frame(units(busy, busy), ["geometry", "compute"], [2.0, 2.0]), book)
    assert found["frame.pair_share"][0] == 0.0


def test_full_warp_slots_leave_no_room_for_a_guest(book: Rulebook) -> None:
    rows = units((0.1, 0.1, 0.8), (0.6, 0.1, 0.0)) | {"sm.occupancy": [0.9, 0.9]}
    found = facts(frame(rows, ["geometry", "compute"], [2.0, 2.0], ("Shadows", "Ocean FFT")), book)
    assert found["frame.pair_share"][0] == pytest.approx((4 - 3.6) / 4)


def test_a_pair_respects_the_order_of_the_frame(book: Rulebook) -> None:
    """Lighting reads the G-buffer: they never overlap. Ambient occlusion may run beside the shadow maps, with its fences."""
    rows = units((0.1, 0.1, 0.8), (0.8, 0.1, 0.0))
    assert (
        facts(frame(rows, ["geometry", "compute"], [2.0, 2.0], ("GBuffer", "Deferred lighting")), book)[
            "frame.pair_share"
        ][0]
        == 0.0
    )
    assert facts(frame(rows, ["geometry", "compute"], [2.0, 2.0]), book)["frame.pair_share"][0] == 0.0
    four = units((0.5, 0.5, 0.5), (0.1, 0.1, 0.8), (0.8, 0.1, 0.0), (0.9, 0.5, 0.1))
    kinds = ["geometry", "geometry", "compute", "compute"]
    found = facts(frame(four, kinds, [0.5, 2.0, 2.0, 1.0], ("GBuffer", "Shadow cascades", "SSAO", "Lighting")), book)
    assert found["frame.pair_share"][0] > 0.3
    assert "starting “SSAO” after “GBuffer” and waiting for it before “Lighting”" in found["frame.pair_share"][1]


def test_a_pair_needs_a_compute_pass_and_measured_units(book: Rulebook) -> None:
    rows = units((0.1, 0.1, 0.8), (0.8, 0.1, 0.0))
    names = ("Shadows", "SSAO")
    assert facts(frame(rows, ["geometry", "fullscreen"], [2.0, 2.0], names), book)["frame.pair_share"][0] == 0.0
    rows["sm.throughput"][1] = np.nan
    assert facts(frame(rows, ["geometry", "compute"], [2.0, 2.0], names), book)["frame.pair_share"][0] == 0.0
    assert "frame.pair_share" not in facts(frame({}, ["geometry", "compute"], [2.0, 2.0]), book)


def test_neighbours_that_lead_with_vram_are_one_run(book: Rulebook) -> None:
    rows = {"vram.throughput": [0.7, 0.8, 0.9, 0.2, 0.7], "sm.throughput": [0.1, 0.1, 0.1, 0.8, 0.1]}
    found = facts(frame(rows, ["fullscreen"] * 5, [1.0] * 5), book)
    assert found["frame.merge_share"] == (pytest.approx(0.6), "“pass 1”, “pass 2”, “pass 3”")
    assert found["frame.merge_passes"][0] == 3


def test_a_busier_unit_ends_a_run(book: Rulebook) -> None:
    rows = {"vram.throughput": [0.7, 0.8], "sm.throughput": [0.1, 0.9]}
    assert facts(frame(rows, ["fullscreen"] * 2, [1.0, 1.0]), book)["frame.merge_share"][0] == 0.0


def test_tiny_launches_and_tiny_markers_are_told_apart(book: Rulebook) -> None:
    rows = {"launch.block_size": [256.0, np.nan, 128.0]}
    capture = frame(rows, ["compute", "compute", "compute"], [0.4, 0.2, 1.0], calls=np.array([100.0, 50.0, 2.0]))
    found = facts(capture, book)
    assert found["frame.tiny_launch_count"][0] == 100
    assert found["frame.tiny_launch_share"][0] == pytest.approx(100 / 102)
    assert found["frame.tiny_marker_count"][0] == 50


def test_the_handmade_frame_shows_its_faults() -> None:
    """One sample, every fault it was written for."""
    d = api.diagnose(HANDMADE)
    found = {(f.rule.name, f.workload_name) for f in d.findings}
    assert {
        ("mergeable-passes", "frame"), ("index-fetch", "Shadows"),
        ("micro-triangles", "Shadows"), ("synchronous-copies", "Upload"),
        ("register-limited-warps", "Lighting"), ("texture-latency", "Lighting"),
        ("out-of-order-pixel-warps", "Motion blur"), ("texture-latency", "Motion blur"), ("barrier-stalls", "Light culling"),
        ("vram-bandwidth", "Tone map"),
    } <= found  # fmt: skip
    assert not {("low-occupancy-sm", "Upload"), ("idle-sms", "Upload"), ("cpu-bound-workload", "Upload")} & found
    assert not any(name == "Mip chain" for _, name in found)  # 1 % of the frame


def test_one_cause_in_many_passes_is_named(tmp_path: Any) -> None:
    rows = [
        {
            "name": f"particles {i}",
            "gpu.time": 1.0,
            "crop.throughput": 85,
            "sm.throughput": 30,
            "l2.throughput": 20,
            "l1tex.throughput": 25,
            "vram.throughput": 40,
        }
        for i in range(6)
    ]
    d = api.diagnose(generic(tmp_path / "six.csv", rows))
    cause = next(f for f in d.findings if f.rule.name == "common-cause")
    assert "“ROP-bound (colour)” (SOL017)" in cause.message and "6 workloads" in cause.message


def test_a_million_workloads_stay_quick(book: Rulebook) -> None:
    n = 1_000_000
    rng = np.random.default_rng(1)
    rows = {f"{u}.throughput": rng.random(n) for u in ("sm", "l1tex", "l2", "vram", "crop")}
    capture = frame({}, ["compute"] * 2, [1.0, 1.0])
    names = np.full(n, "pass", dtype=object)
    own = rng.random(n) * 1e3
    own[::20_000] = 1e8  # fifty passes worth a second queue
    one = np.zeros(n, dtype=np.int64)
    kinds = np.where(rng.random(n) < 0.5, "compute", "fullscreen").astype(object)
    big = Capture(
        capture.input, capture.table, names, names, kinds, np.ones(n), one - 1, one, own, own, rows, {}, None,
        frozenset(rows), frame_ns=float(own.sum()),
    )  # fmt: skip
    start = time.process_time()
    found = facts(big, book)
    assert time.process_time() - start < 10
    assert 0 <= found["frame.pair_share"][0] < 1


def test_idle_time_has_the_names_of_the_reasons_that_it_adds_up() -> None:
    for metric, causes in IDLE_CAUSES.items():
        assert schema.get(metric).label == f"Idle: {', '.join(GAP_WORDS[cause].name for cause in causes)}"
