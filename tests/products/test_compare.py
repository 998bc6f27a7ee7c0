"""Before and after: the article's tables, matching, noise, what became of findings and predictions."""

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import SAMPLES, diagnosis
from triage.products.compare import compare_report, verdict
from triage.products.compare.compare_result import Comparison
from triage.products.compare.comparing import compare
from triage.products.compare.explanations import TIME, Move, reading
from triage.products.compare.item import Item, Who
from triage.products.compare.match import Pairs, likeness, match

TABLES = SAMPLES / "compare"
# the method needs every main unit; L2 and CROP stay out of the way here
HEAD = "path,name,kind,gpu.time [ms],sm.throughput [%],l1tex.throughput [%],vram.throughput [%],sm.active_warps,l2.throughput [%],crop.throughput [%]"


def both(before: Path | list[Path], after: Path | list[Path], **options: Any) -> Comparison:
    first, second = (side if isinstance(side, list) else [side] for side in (before, after))
    return compare(diagnosis(*first), diagnosis(*second), **options)


def table(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join([HEAD, *(f"{row},5,5" for row in rows)]) + "\n")
    return path


def run(*args: object) -> Result:
    from triage.commands.cli import triage as verbs

    return CliRunner().invoke(verbs, ["compare", *map(str, args)], standalone_mode=False)


@pytest.mark.parametrize(
    ("before", "after", "gain", "change", "verdict"),
    [
        ("table1_before", "table1_after", None, "+621.4", "slower"),
        ("table2_before", "table2_after", 18.8, "\u221215.8", "faster"),
        ("table3_v1_before", "table3_v1_after", 23.5, "\u221219.1", "faster"),
        ("table3_v2_before", "table3_v2_after", 23.5, "\u221219.1", "faster"),
        ("table2_before", "table3_v2_after", 46.8, "\u221231.9", "faster"),
        ("early_exit_before", "early_exit_after", 21.0, "\u221217.3", "faster"),
        ("ssr_before", "ssr_batch2", 28.6, "\u221222.2", "faster"),
        ("ssr_before", "ssr_batch4", 63.6, "\u221238.9", "faster"),
    ],
)
def test_the_articles_percentages(before: str, after: str, gain: float | None, change: str, verdict: str) -> None:
    """The article quotes before / after - 1; reports say what became of the time, and the document has both."""
    (pair,) = both(TABLES / f"{before}.csv", TABLES / f"{after}.csv")["pairs"]
    assert pair["verdict"] == verdict
    if gain is not None:
        assert pair["gain"] * 100 == pytest.approx(gain, abs=0.06)
    assert f"Time {change} %" in pair["reading"]


def test_table_1_without_its_misprints() -> None:
    doc = both(TABLES / "table1_before.csv", TABLES / "table1_after.csv")
    ratio = {c["metric"]: c["ratio"] for c in doc["pairs"][0]["changes"]}
    assert ratio["l1tex.throughput"] == pytest.approx(0.98, abs=0.005)
    assert ratio["gpu.time"] == pytest.approx(7.21, abs=0.005)
    assert ratio["sm.throughput"] == pytest.approx(1.16, abs=0.005)
    assert ratio["sm.active_warps"] == pytest.approx(1.68, abs=0.005)
    text = {c["metric"]: c["reading"] for c in doc["pairs"][0]["changes"]}
    assert "occupancy alone is not speed" in text["sm.active_warps"]
    assert "(7.2x)" in doc["pairs"][0]["reading"]


@pytest.mark.parametrize("revision", ["v1", "v2"])
def test_table_3_lower_occupancy_is_no_regression(revision: str) -> None:
    doc = both(TABLES / f"table3_{revision}_before.csv", TABLES / f"table3_{revision}_after.csv", threshold=0.0)
    changes = {c["metric"]: c for c in doc["pairs"][0]["changes"]}
    warps = changes["sm.active_warps"]
    assert (warps["before"], warps["after"]) == (62.8, 45.2 if revision == "v1" else 45.6)
    assert "not a regression" in warps["reading"]
    assert warps["sense"] == "neutral"
    assert "not a regression" in changes["l2.hit_rate"]["reading"]
    assert changes["l1tex.throughput"]["sense"] == changes["l1tex.hit_rate"]["sense"] == "good"
    assert doc["regressions"] == []


def test_the_contract() -> None:
    doc = json.loads(run(TABLES / "table2_before.csv", TABLES / "table2_after.csv", "-f", "json").stdout)
    assert doc["schema"] == "triage-compare/1"
    assert doc["unmatched"] == []
    (pair,) = doc["pairs"]
    assert {
        "name",
        "path",
        "before_ns",
        "after_ns",
        "speedup",
        "verdict",
        "changes",
        "fixed",
        "remaining",
        "new",
        "predicted",
    } <= set(pair)
    assert pair["before_ns"] == 5_050_000
    assert pair["speedup"] == pytest.approx(5.05 / 4.25, abs=1e-6)
    for change in pair["changes"]:
        assert {"metric", "before", "after", "ratio", "reading"} <= set(change)
    if p := pair["predicted"]:
        assert 1 <= p["low"] <= p["likely"] <= p["bound"]
        assert p["came_true"] in ("below", "within", "above") or (p["came_true"] is None and p["doubt"])
    for rule in (*pair["fixed"], *pair["remaining"], *pair["new"]):
        assert rule in doc["rules"]


def test_findings_fixed_remaining_new_and_not_to_be_told(tmp_path: Path, book: Any) -> None:
    """States of a workload, such as a busy top unit, are neither fixed nor new."""
    a = table(tmp_path / "a.csv", [",Pass,fullscreen,2,20,25,90,30"])
    b = table(tmp_path / "b.csv", [",Pass,fullscreen,1,94,93,20,30"])
    found = ([f.rule for f in diagnosis(p).findings if f.workload >= 0] for p in (a, b))
    before, after = ({r.id for r in rules if not book.cause(r.cause).is_verdict} for rules in found)
    assert before - after
    assert after - before
    pair = both(a, b)["pairs"][0]
    assert pair["fixed"] == sorted(before - after)
    assert pair["new"] == sorted(after - before)
    assert pair["remaining"] == sorted(before & after)
    again = both(a, a)["pairs"][0]
    assert again["remaining"] == sorted(before)
    assert again["fixed"] == again["new"] == again["unknown"] == []
    blind = tmp_path / "blind.csv"
    blind.write_text("name,kind,gpu.time [ms]\nPass,fullscreen,1\n")
    pair = both(a, blind)["pairs"][0]
    assert pair["fixed"] == []
    assert set(pair["unknown"]) == before


def test_the_prediction_of_what_was_fixed_is_held_against_the_time(tmp_path: Path) -> None:
    def starved(name: str, ms: float, idle: float) -> Path:
        path = tmp_path / name
        path.write_text(f"name,kind,gpu.time [ms],gpu.idle [%]\nPass,fullscreen,{ms},{idle}\n")
        return path

    p = both(starved("a.csv", 2, 45), starved("b.csv", 1.2, 0))["pairs"][0]["predicted"]
    assert p["rule"] == "SOL003"
    assert (p["low"], p["likely"], p["bound"]) == (1.29, 1.82, 1.82)
    assert p["achieved"] == pytest.approx(2 / 1.2, abs=1e-5)
    assert p["came_true"] == "within"
    less = both(starved("a.csv", 2, 45), starved("c.csv", 1.9, 0))["pairs"][0]["predicted"]
    more = both(starved("a.csv", 2, 45), starved("d.csv", 0.5, 0))["pairs"][0]["predicted"]
    assert (less["came_true"], more["came_true"]) == ("below", "above")


def test_renames_need_the_same_parent_and_likeness(tmp_path: Path) -> None:
    a = table(
        tmp_path / "a.csv",
        [
            "Frame,ShadowMap_v1,geometry,2,40,30,20,30",
            "Frame,Blur,compute,1,80,70,20,30",
            "Frame,Sky,draw,1,10,10,10,10",
        ],
    )
    b = table(
        tmp_path / "b.csv",
        [
            "Frame,ShadowMap_v2,geometry,1,42,31,20,30",
            "Frame,Blur,compute,1,80,70,20,30",
            "Frame,Particles,compute,1,90,5,90,60",
        ],
    )
    doc = both(a, b)
    names = {p["name"]: p["was"] for p in doc["pairs"]}
    assert names["ShadowMap_v2"] == {"name": "ShadowMap_v1", "path": ["Frame"]}
    assert names["Blur"] is None
    assert {(u["side"], u["name"]) for u in doc["unmatched"]} == {("before", "Sky"), ("after", "Particles")}


def test_children_of_a_renamed_marker_are_matched(tmp_path: Path) -> None:
    a = table(
        tmp_path / "a.csv",
        [
            ",Lighting pass,marker,5,40,30,20,30",
            "Lighting pass,Tiles,compute,2,40,30,20,30",
            "Lighting pass,Resolve,compute,2,40,30,20,30",
        ],
    )
    b = table(
        tmp_path / "b.csv",
        [
            ",Lighting passes,marker,4,40,30,20,30",
            "Lighting passes,Tiles,compute,1,40,30,20,30",
            "Lighting passes,Resolve,compute,2,40,30,20,30",
        ],
    )
    doc = both(a, b)
    assert {p["name"] for p in doc["pairs"]} == {"Lighting passes", "Tiles", "Resolve"}
    assert doc["unmatched"] == []


def test_the_only_workload_of_each_side_is_one_pair(tmp_path: Path) -> None:
    a = table(tmp_path / "a.csv", [",sgemm_naive,compute,5,40,30,20,30"])
    b = table(tmp_path / "b.csv", [",cutlass_80,compute,1,90,30,20,30"])
    doc = both(a, b)
    assert doc["pairs"][0]["was"]["name"] == "sgemm_naive"
    assert doc["pairs"][0]["speedup"] == 5


def items(names: Sequence[str], kind: str = "draw") -> list[Item]:
    seen: Counter[str] = Counter()
    out = []
    for i, name in enumerate(names):
        out.append(Item(Who("", name, kind, "", seen[name]), i / max(1, len(names))))
        seen[name] += 1
    return out


def matched(before: list[Item], after: list[Item]) -> tuple[Pairs, tuple[list[int], list[int]]]:
    looks = (lambda some: [before[i] for i in some], lambda some: [after[i] for i in some])
    return match([i.who for i in before], [i.who for i in after], looks)


@given(st.lists(st.sampled_from("abcdefgh"), max_size=8), st.lists(st.sampled_from("abcdefgh"), max_size=8))
@settings(max_examples=100, deadline=None)
def test_matching_uses_every_workload_once(before: list[str], after: list[str]) -> None:
    pairs, (gone, new) = matched(items(before), items(after))
    assert sorted([*pairs.before.tolist(), *gone]) == list(range(len(before)))
    assert sorted([*pairs.after.tolist(), *new]) == list(range(len(after)))
    assert sum(not how for how in pairs.how) == sum(min(before.count(n), after.count(n)) for n in set(before))


def test_other_kinds_are_never_taken_for_a_rename() -> None:
    before, after = (items([name], kind) for name, kind in (("Blur1", "compute"), ("Blur2", "draw")))
    assert likeness(before[0], after[0]) == 0
    pairs, (gone, new) = matched([*before, *items("x")], [*after, *items("x")])
    assert len(pairs) == 1
    assert (gone, new) == ([0], [0])


def times(folder: Path, tag: str, values: list[float]) -> list[Path]:
    return [table(folder / f"{tag}{i}.csv", [f",Pass,fullscreen,{t},40,30,20,30"]) for i, t in enumerate(values)]


def test_a_verdict_comes_from_the_repeats(tmp_path: Path) -> None:
    noisy = both(times(tmp_path, "a", [1.0, 1.1, 1.2]), times(tmp_path, "b", [1.0, 1.02, 1.05]))["pairs"][0]
    assert noisy["verdict"] == "cannot tell"
    assert noisy["needs"] and noisy["needs"] > 3
    assert f"{noisy['needs']} more runs per side should decide it" in noisy["reading"]
    low, high = noisy["interval"]  # type: ignore[misc]
    assert low < 1.02 / 1.1 - 1 < high
    assert noisy["before_ns"] == 1_100_000
    calm = both(times(tmp_path, "c", [1.1, 1.101, 1.102]), times(tmp_path, "d", [1.0, 1.001, 1.002]))["pairs"][0]
    assert calm["verdict"] == "faster"
    assert calm["repeats"] == [3, 3]
    assert "(\u22129.3 to \u22128.9 %)" in calm["reading"]
    assert calm["measured"]


def test_one_run_a_side_has_an_assumed_noise(tmp_path: Path) -> None:
    tiny = both(times(tmp_path, "e", [1.0]), times(tmp_path, "f", [1.005]))
    assert tiny["pairs"][0]["verdict"] == "same"
    assert not tiny["pairs"][0]["measured"]
    assert "noise not measured" in " ".join(compare_report.render(tiny, "terminal").split())
    assert (
        both(times(tmp_path, "e", [1.0]), times(tmp_path, "f", [1.005]), floor=0.001)["pairs"][0]["verdict"] == "slower"
    )
    for after, margin, expected, needs in (
        (1.029, None, "same", None),  # the footer's 3 % decides
        (1.031, None, "slower", None),
        (1.025, 0.02, "cannot tell", 2),  # unless less is to be excluded
    ):
        found = both(times(tmp_path, "e", [1.0]), times(tmp_path, "g", [after]), margin=margin)["pairs"][0]
        assert (found["verdict"], found["needs"]) == (expected, needs)


@pytest.mark.slow
@pytest.mark.parametrize("before", ["1e-300", "1e-10", "0", "2e-9"])
def test_no_ratio_is_infinite(before: str, tmp_path: Path) -> None:
    for name, time in (("a", before), ("b", "1")):
        (tmp_path / f"{name}.csv").write_text(f"name,gpu.time [ms]\nShadow,{time}\nLight,5\n")
    p = run(tmp_path / "a.csv", tmp_path / "b.csv")
    assert p.exit_code == 0 and " inf" not in p.output and "+inf" not in p.output and "(inf" not in p.output
    found = diagnosis(tmp_path / "a.csv").parts[0].capture.quality
    assert ("impossible-value" in {q.check for q in found}) == (before in ("1e-300", "1e-10"))


def test_times_that_round_to_nothing_have_a_ratio() -> None:
    judged = verdict.judge([1e-7], [5.0], verdict.Limits())
    assert verdict.longer(judged) == 5_000 and "5,000x the time" in verdict.change(judged)


def test_two_modes_and_outliers_are_said(tmp_path: Path) -> None:
    modes = both(times(tmp_path, "a", [1, 1.01, 1.3, 1.31, 1.005]), times(tmp_path, "b", [1, 1.01, 1.02, 1.0, 1.005]))
    (said,) = modes["pairs"][0]["remarks"]
    assert said.startswith("before: two modes: 3 runs near 1.0")
    for name in ("terminal", "markdown", "html"):
        assert "two modes: 3 runs near" in " ".join(compare_report.render(modes, name).split())
    far = both(times(tmp_path, "c", [1, 1.01, 1.02, 1.0, 1.7]), times(tmp_path, "d", [1.1, 1.11, 1.12, 1.1, 1.105]))
    assert far["pairs"][0]["verdict"] == "slower"  # one outlier of five does not hide it
    assert "1 outlier among 5 runs (1.7 ms)" in far["pairs"][0]["remarks"][0]


@pytest.mark.slow
def test_captures_of_a_side_as_a_shell_writes_them(tmp_path: Path) -> None:
    a, b = times(tmp_path, "a", [1.0, 1.001, 1.002]), times(tmp_path, "b", [1.1, 1.101, 1.102])
    spelled = run("--before", *a, "--after", *b, "-f", "json")
    again = run("--before", a[0], "--before", a[1], a[2], "-f", "json", "--after", *b)
    assert spelled.exit_code == 0, spelled.exception
    assert spelled.stdout == again.stdout == run(",".join(map(str, a)), ",".join(map(str, b)), "-f", "json").stdout
    for wrong in ((a[0],), (a[0], b[0], b[1]), ("--before", a[0]), (a[0], "--before", a[1], "--after", b[0])):
        assert run(*wrong).exit_code == 1


def test_a_gate_says_what_failed_and_what_it_cannot_tell(tmp_path: Path) -> None:
    a, b = times(tmp_path, "a", [1.0, 1.001, 1.002]), times(tmp_path, "b", [1.1, 1.101, 1.102])
    failing = run("--before", *a, "--after", *b, "--fail-on-regression", "5%")
    assert failing.return_value == 1
    assert "failed on regression, allowed 5.0 %: Pass time +10.0 % (+9." in failing.stderr
    unsure = run("--before", *times(tmp_path, "d", [0.9, 1.1]), "--after", *b, "--fail-on-regression", "5%")
    assert unsure.return_value == 0
    assert "2 workloads slower than allowed so far, inconclusive (" in unsure.stderr
    assert "more runs per side should decide half of them)" in unsure.stderr


def test_lists_and_folders_are_repeats(tmp_path: Path) -> None:
    for tag, t in (("a", 2.0), ("b", 1.0)):
        (tmp_path / tag).mkdir()
        for i in range(3):
            table(tmp_path / tag / f"{i}.csv", [f",Pass,fullscreen,{t + i / 1000},40,30,20,30"])
    listed = ",".join(str(tmp_path / "a" / f"{i}.csv") for i in range(3))
    one = run(listed, tmp_path / "b", "-f", "json")
    two = run(tmp_path / "a", tmp_path / "b", "-f", "json")
    assert one.exit_code == 0, one.exception
    assert json.loads(one.stdout) == json.loads(two.stdout)
    assert len(json.loads(one.stdout)["before"]) == 3
    assert json.loads(one.stdout)["pairs"][0]["speedup"] == pytest.approx(2.001 / 1.001)


def test_time_under_no_marker_is_told_apart_from_the_markers(tmp_path: Path) -> None:
    frame = SAMPLES / "gpu-trace" / "demo_frame"
    longer = tmp_path / "frame"
    shutil.copytree(frame, longer)
    whole = diagnosis(frame).frame_ns
    (longer / "BASE" / "FRAME.xls").write_text(f"GPU frame time\t{2 * whole / 1e6}\n")
    doc = both(frame, longer)
    apart = doc["outside"]
    assert apart is not None
    # twice the frame, not one marker slower
    assert doc["frame"]["verdict"] == "slower"
    assert apart["workloads"]["verdict"] == "same"
    assert {p["verdict"] for p in doc["pairs"]} == {"same"}
    for side in ("before", "after"):
        inside = apart["workloads"][f"{side}_ns"] or 0  # type: ignore[literal-required]
        assert inside + apart[f"{side}_ns"] == pytest.approx(doc["frame"][f"{side}_ns"])  # type: ignore[literal-required]
    assert compare_report.headline(doc).startswith("Markers 14.1 ms before")
    assert "within noise of" in compare_report.headline(doc)
    assert "As long" not in compare_report.headline(doc)
    page = compare_report.render(doc, "html")
    assert "Slower</span>" not in page
    assert "outside all markers" in page
    # the gate on the whole frame stays
    assert both(frame, longer, threshold=0.1)["regressions"] == ["the whole frame"]


def test_a_frame_of_its_workloads_alone_has_nothing_outside() -> None:
    assert both(TABLES / "table2_before.csv", TABLES / "table2_after.csv")["outside"] is None


def test_fail_on_regression(tmp_path: Path) -> None:
    a = table(tmp_path / "a.csv", [",Pass,fullscreen,1,40,30,20,30", ",Other,fullscreen,1,40,30,20,30"])
    b = table(tmp_path / "b.csv", [",Pass,fullscreen,1.08,40,30,20,30", ",Other,fullscreen,0.5,40,30,20,30"])
    assert run(a, b).return_value == 0
    assert run(a, b, "--fail-on-regression", "5%").return_value == 1
    assert run(a, b, "--fail-on-regression", "10%").return_value == 0
    root = ElementTree.fromstring(run(a, b, "-f", "junit", "--fail-on-regression", "5%").stdout)
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert root.find(".//failure").get("type") == "regression"  # type: ignore[union-attr]


def test_every_format_says_the_verdict(tmp_path: Path) -> None:
    a = table(tmp_path / "a.csv", [",P|<b>&`x`,fullscreen,2,40,30,20,30"])
    b = table(tmp_path / "b.csv", [",P|<b>&`x`,fullscreen,1,90,30,20,30"])
    doc = both(a, b)
    for name in compare_report.FORMATS:
        text = compare_report.render(doc, name)
        assert "faster" in text or "Time \u221250.0 %" in text
        assert text == compare_report.render(both(a, b), name)
    assert "<b>&`" not in compare_report.render(doc, "html")  # a name is text, whatever it holds
    assert max(map(len, compare_report.render(doc, "terminal").splitlines())) <= 80
    ElementTree.fromstring(compare_report.render(doc, "junit"))


def test_a_millionfold_regression_divides_by_nothing(tmp_path: Path) -> None:
    a = table(tmp_path / "a.csv", [",P,fullscreen,0.000001,40,30,20,30"])
    b = table(tmp_path / "b.csv", [",P,fullscreen,10000,40,30,20,30"])
    doc = both(a, b)
    assert doc["pairs"][0]["speedup"] == 0
    assert "10,000,000,000x the time" in doc["pairs"][0]["reading"]
    assert 'failures="1"' in compare_report.render(doc, "junit")


def test_without_times_there_is_no_verdict(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("name,sm.throughput [%],vram.throughput [%]\nk,40,50\n")
    doc = both(path, path)
    assert doc["pairs"][0]["speedup"] is None
    assert "no verdict" in doc["pairs"][0]["reading"].lower()
    assert doc["pairs"][0]["verdict"] == "cannot tell"
    assert "unchanged" not in compare_report.render(doc, "terminal").splitlines()[0].lower()
    for name in compare_report.FORMATS:
        compare_report.render(doc, name)


@pytest.mark.parametrize(
    ("metric", "before", "after", "verdict", "words", "sense"),
    [
        ("l1tex.hit_rate", 0.8, 0.9, "faster", "a smaller share of requests", "good"),
        ("l2.hit_rate", 0.9, 0.8, "slower", "a larger share of requests", "bad"),
        ("branch.efficiency", 0.0, 1.0, "faster", "nothing counted before", ""),
        ("vram.throughput", 0.8, 0.6, "faster", "less work", "good"),
        ("vram.throughput", 0.8, 0.6, "slower", "only because the time rose", ""),
        ("sm.issue_per_active", 0.5, 0.7, "faster", "fewer idle issue slots", "good"),
        ("sm.issue_per_active", 0.7, 0.5, "slower", "more idle issue slots", "bad"),
        ("stall.long_scoreboard", 0.6, 0.3, "faster", "fewer stalls", "good"),
        ("inst.executed", 1e6, 5e5, "same", "low", "good"),
        ("sm.active_warps", 40, 20, "slower", "fewer warps", "bad"),
        ("sm.active_warps", 20, 40, "faster", "hide more latency", "good"),
        ("l1tex.hit_rate", 0.8, 0.805, "faster", "unchanged", ""),
        ("launch.registers", 32, 64, "same", "launch shape", ""),
    ],
)
def test_readings(metric: str, before: float, after: float, verdict: str, words: str, sense: str) -> None:
    text, found = reading(Move(metric, before, after, verdict, {metric: before, TIME: 2.0}, {metric: after, TIME: 1.0}))
    assert words in text
    assert found == sense
