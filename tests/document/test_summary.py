"""The frame at a glance: root causes, honest sums, the way through the tree."""

from pathlib import Path
from typing import Any

import pytest

import triage
from tests.conftest import FORMATS, SAMPLES, diagnose, generic
from tests.helpers.reports import diagnosed, frame, text
from triage.document.missing_counters import missing_counters
from triage.document.summary import summarise
from triage.document.timeline_summary import only_device, over_devices
from triage.findings.text_fields import verdict_text
from triage.ground import phrasing
from triage.ground.collect_command import Command
from triage.ground.limiters import CLASSES, level


def document(findings: list[tuple[str, str, float]], own: float = 1e6) -> dict[str, Any]:
    """A small result document: (rule, workload, saved ns) per finding, best first."""
    ids = sorted({w for _, w, _ in findings})
    total = own * max(1, len(ids))
    rows = [{"rank": k + 1, "rule": r, "name": r.lower(), "title": f"Title of {r}", "workload": w, "level": level(s / total, "medium"), "confidence": "medium",
             "message": "m", "advice": [], "caveats": [], "cites": [], "gain": {"fraction": s / own, "saved_ns": s, "share": s / total, "speedup": 1.0, "low": 0.0, "bound": 0.9}}
            for k, (r, w, s) in enumerate(sorted(findings, key=lambda f: -f[2]))]  # fmt: skip
    workloads = [
        {
            "id": w,
            "name": f"name of {w}",
            "kind": None,
            "self_ns": own,
            "limiter_class": "memory",
            "verdict_class": "not-diagnosed",
            "sol": [],
            "path": [],
        }
        for w in ids
    ]
    return {"frame": {"duration_ns": total, "workloads": len(ids), "recoverable_ns": 0, "recoverable_low_ns": 0, "recoverable_bound_ns": 0, "limiters": [],
                      "findings_total": len(rows), "findings_listed": len(rows)}, "workloads": workloads, "findings": rows, "blind_spots": []}  # fmt: skip


def test_blind_spots_of_one_command_are_one_step() -> None:
    doc = document([("A", "w1", 1)])
    doc["frame"]["collect_all"] = None
    spot = {"workloads": ["w1"], "count": 1, "collect": "do this"}
    doc["blind_spots"] = [
        {"missing": ["b.x"], "rules": ["R1"], **spot},
        {"missing": ["a.y"], "rules": ["R2", "R1"], **spot},
    ]
    assert missing_counters(doc) == [
        {"collect": "do this", "missing": ["a.y", "b.x"], "rules": ["R1", "R2"], "workloads": 1}
    ]


def test_commands_of_a_tool_with_passes_are_that_of_the_whole_frame() -> None:
    doc = document([("A", "w1", 1)])
    run = "printf '%s\\n' 'pmc: A' 'pmc: B' > counters.txt; rocprofv3 -i counters.txt -- ./app"
    doc["frame"]["collect_all"] = whole = Command(run, "rocprofv3")
    doc["blind_spots"] = [
        {"missing": [m], "rules": [m], "workloads": ["w1"], "count": 1, "collect": collect}
        for m, collect in (
            ("a", Command("rocprofv3 --pmc A -- ./app", "rocprofv3")),
            ("b", Command("rocprofv3 --pmc B -- ./app", "rocprofv3")),
            ("c", "compile with -g"),
        )
    ]
    assert [(s["collect"], s["missing"]) for s in missing_counters(doc)] == [
        (whole, ["a", "b"]),
        ("compile with -g", ["c"]),
    ]


def test_commands_are_joined_by_what_they_ask_for_in_any_words() -> None:
    doc = document([("A", "w1", 1)])
    doc["frame"]["collect_all"] = None
    asked = {"a": ["x 1", "y"], "b": ["y", "z --metrics"]}
    doc["blind_spots"] = [
        {"missing": [m], "rules": [m], "workloads": ["w1"], "count": 1,
         "collect": Command.asking("Bitte ", names, " messen", glue=" und ")}
        for m, names in asked.items()
    ]  # fmt: skip
    assert [s["collect"] for s in missing_counters(doc)] == ["Bitte x 1 und y und z --metrics messen"]


@pytest.mark.parametrize(
    ("title", "low"),
    [
        ("SMs without any warp", "SMs without any warp"),
        ("L2 limits", "L2 limits"),
        ("The GPU waits", "the GPU waits"),
        ("HiZ-bound", "HiZ-bound"),
        ("Overdraw", "overdraw"),
        ("A", "A"),
        ("", ""),
    ],
)
def test_titles_within_sentences(title: str, low: str) -> None:
    assert phrasing.lower_first(title) == low


def steps(tmp_path: Path, **facts: float) -> dict[str, dict[str, Any]]:
    from triage import api

    row = {
        "name": "A",
        "kind": "fullscreen",
        "gpu.time": 1,
        "sm.throughput": 40.7,
        "l1tex.throughput": 39.8,
        "l2.throughput": 36.3,
        "vram.throughput": 20,
        **facts,
    }
    d = api.diagnose(generic(tmp_path / "one.csv", [row]))
    return {s["ask"]: s for s in d.bundle.ways["w1"]}


def test_the_path_of_a_latency_bound_pass(tmp_path: Path) -> None:
    found = steps(tmp_path, **{"gpu.idle": 0.2, "sm.active": 98, "sm.throughput_active": 41, "sm.occupancy": 57, "stall.long_scoreboard": 63.5,
                               "stall.barrier": 1, "stall.math_pipe_throttle": 2, "l1tex.hit_rate": 60})  # fmt: skip
    assert found["Top SOL"]["answer"].startswith("B") and found["Top SOL"]["edge"] == "< 60.0 %"
    assert found["GPU idle?"]["state"] == "passes" and found["GPU idle?"]["value"] == "0.2 %"
    assert found["SM throughput while active?"]["answer"].startswith("D")
    assert found["D1: warp slots used?"]["state"] == "limits"
    assert "long scoreboard" in found["D2: top stall reason?"]["value"]
    assert found["TEX hit rate?"]["state"] == "limits"


def test_the_path_says_what_was_not_measured(tmp_path: Path) -> None:
    found = steps(tmp_path)
    assert (
        found["GPU idle?"]["state"] == "not measured"
        and found["SM throughput while active?"]["state"] == "not measured"
    )


def test_the_path_of_an_issue_limited_pass(tmp_path: Path) -> None:
    found = steps(tmp_path, **{"sm.throughput": 92, "l1tex.throughput": 50, "sm.throughput_active": 93})
    assert found["Top SOL"]["answer"].startswith("A") and "GPU idle?" not in found
    assert found["SM throughput while active?"]["answer"].startswith("C")


def test_a_frame_without_times_still_reports(tmp_path: Path) -> None:
    rows = [
        {"name": f"P{i}", "sm.throughput": 40, "l1tex.throughput": 39, "l2.throughput": 30, "vram.throughput": 20}
        for i in range(3)
    ]
    d = diagnosed(str(generic(tmp_path / "untimed.csv", rows)))
    assert "without durations" in summarise(d.bundle)["headline"]
    assert all(text(d, f, full=full) for f in FORMATS for full in (False, True))


def test_several_captures_share_a_report(tmp_path: Path) -> None:
    from triage import api

    d = api.diagnose([frame(tmp_path / "a.csv", 5), frame(tmp_path / "b.csv", 5, seed=8)])
    assert all(text(d, f) for f in FORMATS)


def test_an_empty_selection_still_reports(tmp_path: Path) -> None:
    d = diagnosed(str(frame(tmp_path / "a.csv", 5)), 0)
    assert all(text(d, f) for f in FORMATS)


def test_time_that_was_not_judged_is_said_first() -> None:
    d = triage.diagnose(SAMPLES / "nsys-kernels" / "render_cuda_gpu_kern_sum.csv")
    dark = summarise(d.bundle)["unjudged"]
    assert dark["share"] > 0.9  # all but one kernel, one call of which takes many times the others
    assert "sm__throughput" in dark["collect"]
    for name in ("terminal", "markdown", "jira", "html"):
        said = text(d, name)
        first, then = ("not diagnosed", "Recoverable") if name == "html" else ("Not diagnosed", "Recoverable")
        assert said.index(first) < said.index(then)
        assert "ncu --kernel-name" in said


def test_little_that_was_not_judged_is_not_worth_a_line() -> None:
    d = triage.diagnose(SAMPLES / "nvperf" / "nvperf_metrics.csv")
    assert d.bundle.frame["time_by_verdict"]["not-diagnosed"]
    assert summarise(d.bundle)["unjudged"] is None
    assert "Not diagnosed" not in text(d, "markdown")


def test_a_small_gain_is_no_gain_of_nothing() -> None:
    from triage.ground.phrasing import percent

    assert [percent(s) for s in (0.19, 0.0096, 0.003, 0.00001, 0)] == ["19 %", "1.0 %", "0.3 %", "<0.1 %", "0 %"]


def test_formulas_are_told_with_what_people_call_their_metrics() -> None:
    from triage.rendering.phrases import spoken

    assert (
        spoken("clamp(sm.active / (1 - (gpu.idle or 0)), 0, 1)") == "clamp(SM active / (1 - (GPU idle, else 0)), 0, 1)"
    )
    assert spoken("most(vram.throughput, 0)") == "highest of (DRAM SOL, 0)"
    assert spoken("TEX SOL in the first or second cluster") == "TEX SOL in the first or second cluster"


@pytest.mark.slow
def test_the_largest_is_not_compared_with_itself() -> None:
    """`stall.x >= the largest stall` holds for the largest: 64.4 % >= 64.4 % tells nobody anything."""
    for sample in ("renderdoc/frame-counters.csv", "intel-pti/metrics.4711.csv"):
        for f in diagnose(SAMPLES / sample)["findings"]:
            thresholds = [e for e in f["evidence"] if e["op"] in (">=", "<=") and e["value"] == e["threshold"]]
            assert thresholds == [], (f["rule"], thresholds)


def test_a_verdict_says_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "idle.csv"
    path.write_text("marker,gpu.time [ms],gpu.idle,sm.throughput,sm.active\nA,3,70%,10%,28%\n", "utf-8")
    (idle,) = triage.diagnose(path).to_dict()["workloads"]
    assert idle["verdict"] == "CPU-bound."


@pytest.mark.parametrize(
    "name", ["pytorch-trace/training.pt.trace.json", "nsys-sqlite/training_two_gpus.sqlite", "gpu-trace/demo_frame"]
)
def test_rows_of_an_item_that_spans_workloads_share_its_saving(name: str) -> None:
    doc = diagnosed(SAMPLES / name).to_dict()
    whole = {i["cause"]: i for i in doc["todo"] if i["scope"] == "frame"}
    saved: dict[str, float] = {}
    for w in doc["workloads"]:
        if (cause := next(iter(w["chain"]), "")) in whole:
            assert w["saved_ns"] is not None
            assert w["saved_ns"] <= w["self_ns"] * 1.0001
            saved[cause] = saved.get(cause, 0.0) + w["saved_ns"]
    assert saved
    assert all(ns <= whole[cause]["saved_ns"] * 1.0001 for cause, ns in saved.items())


def test_idle_time_that_items_save_is_to_fix() -> None:
    d = diagnosed(SAMPLES / "pytorch-trace" / "training.pt.trace.json")
    times = {v["verdict"]: v["ns"] for v in summarise(d.bundle)["verdicts"]}
    assert times["idle-to-fix"] == pytest.approx(22.9e6, rel=0.01) == d.verdicts["idle-to-fix"]
    assert "idle" not in times


def test_a_texture_unit_of_a_phone_is_not_called_memory() -> None:
    out = text(diagnosed(str(SAMPLES / "mobile" / "mali-frame.csv")), "terminal")
    assert "texture, load/store, memory 40 %" in out
    assert "tex/LS/mem" in out


def test_a_verdict_names_a_limiter_once() -> None:
    rop = CLASSES.index("rop")
    assert verdict_text(rop, "ROP-bound (colour)", namesake=True) == "ROP-bound (colour)."
    assert verdict_text(rop, "overdraw") == "ROP-bound (colour/depth output); overdraw."


def test_a_sum_over_devices_names_the_one_that_has_it_all() -> None:
    doc = triage.diagnose(str(SAMPLES / "nsys-sqlite" / "training_two_gpus.sqlite")).to_dict()
    first = doc["todo"][0]
    # all its copies are on device 0
    assert over_devices(doc["frame"]) == " over 2 devices" and only_device(first, doc) == "device 0"
    source = next(f for f in doc["findings"] if f["rank"] in first["findings"])["evidence"][0]["source"]
    source["devices"] = ["0", "1"]
    assert only_device(first, doc) == ""
    source["devices"] = ["0"]
    assert only_device(first, {**doc, "captures": doc["captures"] * 2}) == ""  # each has a device 0
    assert over_devices({**doc["frame"], "timeline": {"0": doc["frame"]["timeline"]["0"]}}) == ""


def test_all_time_at_a_limit_is_named() -> None:
    s = summarise(diagnosed(SAMPLES / "gpu-trace" / "demo_frame").bundle)
    at_limit = s["finished"]
    assert at_limit["count"] == len(at_limit["names"]) == 6 and at_limit["names"][:2] == ["Tiled Lighting", "Blur X"]
