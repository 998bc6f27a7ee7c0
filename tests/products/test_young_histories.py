"""Histories of few builds: what the gate says it never misses fails, noise alone does not, and nothing passes unsaid."""

import re
from itertools import product
from typing import Any

import msgspec
import numpy as np
import pytest

from benchmarks import history_young as young
from triage.products.history import history_chart, history_report
from triage.products.history.gate import judge
from triage.products.history.gate_lines import line
from triage.products.history.trend import FRAME
from triage.products.history.trend_series import _line


def test_no_step_above_the_printed_change_passes_and_noise_alone_does() -> None:
    missed, asked, alarms, rounds = young.promises(np.random.default_rng(7), 120)
    assert (missed, asked) == (0, rounds)
    assert alarms <= 2


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_noise_of_few_markers_seldom_fails(runs: int) -> None:
    random = np.random.default_rng(runs)
    sizes = product((2, 3, 5, 9), range(40))
    failed = [
        bool(young.judged(young.simulated(random, n, runs, 3, (0.01, 0.05)), "rolling")["failed"]) for n, _ in sizes
    ]
    assert sum(failed) <= 4


def test_slow_downs_of_young_histories_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(5)
    for factor, builds, runs, baseline in product((1.3, 7.0), (2, 3, 8), (2, 5), young.BASELINES):
        change = np.where(np.arange(12) == 5, factor, 1.0)
        doc = young.judged(young.simulated(random, builds, runs, 12, (0.005, 0.03), change), baseline)
        assert any(m["marker"] == ["Frame", "5"] and m["failing"] for m in doc["slower"]), (
            factor,
            builds,
            runs,
            baseline,
        )
        assert ("judged by the runs" in " ".join(doc["notes"])) == (builds < 8)


def trend(times: list[list[float]], runs: int = 1) -> Any:
    """One marker, `times` per build."""
    base = young.simulated(np.random.default_rng(0), len(times), runs, 1, (0.01, 0.02))
    rows = np.array([t for build in times for t in build])
    return msgspec.structs.replace(base, times=np.column_stack([rows, rows]))


def test_no_percentage_above_999_and_no_cause_that_did_not_move() -> None:
    doc = judge(trend([[1e5, 1.01e5], [9e9, 9.1e9]], 2), "the previous build")
    for form in ("terminal", "markdown", "junit"):
        text = history_report.gate(doc, form)
        assert not re.search(r"\d{4,}(\.\d+)? %|\d,\d{3}(\.\d+)? %", text), text
        assert "over 1,000x" in text
    moved = {**doc["slower"][0], "cause": "x", "was": "x", "title": "Registers"}
    text = history_report.gate({**doc, "slower": [moved]}, "markdown")  # type: ignore[list-item]
    assert "Registers" not in text and "ause" not in line(moved, doc)  # type: ignore[arg-type]


def test_a_step_is_reported_with_what_became_of_it() -> None:
    halved = trend([[7e5], [7e5], [5.05e6], [4.25e6], [3.44e6]])
    doc = judge(halved, "before")
    assert "still slower since 002: Frame / 0 4.91x" in history_report.verdict(doc)
    assert any("6.64x the time" in f and "4.91x the time now" in f for f in doc["failed"])
    shown = history_report.trend(_line(halved, "frame", FRAME, halved.times[:, -1:], FRAME), "terminal")
    words = " ".join(shown.split())
    assert (
        "3.440 ms at 004, 4.91x since 000" in words
        and "Latest change: \u221226.0 % at 004 or 003 (one build so far)." in words
    )
    assert "level 4.650 ms -> 3.440 ms" in words
    fixed = trend([[6e6] * 3, [5.99e6] * 3, [6.3e6] * 3, [6.29e6] * 3, [6e6] * 3, [6.22e6] * 3], 3)
    doc = judge(fixed, "before")
    assert "still slower" not in history_report.verdict(doc)
    assert "faster" not in history_report.verdict(doc)  # what 004 took back leaves nothing to act on
    assert {m["by"]["revision"] for m in (*doc["slower"], *doc["faster"])} == {"005"} and len(doc["failed"]) == 1
    assert "faster" in history_report.verdict(
        judge(trend([[6e6] * 3, [6.3e6] * 3, [6e6] * 3], 3), "before")
    )  # the fix itself
    for form in ("html", "markdown"):
        assert "Now" in history_report.gate(judge(halved, "before"), form)


def test_a_trend_tells_the_net_and_what_is_new() -> None:
    t = young.simulated(np.random.default_rng(0), 4, 1, 1, (0.001, 0.002))
    t.times[:, -1] = [6e6, 6.2e6, 6.3e6, 6.3e6]
    text = history_report.trend(_line(t, "frame", FRAME, t.times[:, -1:], FRAME), "terminal")
    assert "+5.0 % since 000 (range" in text and "No lasting change beyond noise" in " ".join(text.split())
    t.times[:2, 0], t.times[2:, 0] = np.nan, (5e5, 5.05e5)
    doc = _line(t, "marker", "0", t.times[:, :1], t.markers[0])
    text = " ".join(history_report.trend(doc, "terminal").split())
    assert doc["new"] and "+1.0 % since 002, where it is new" in text and "\u2581\u2581" in text


def test_markers_without_a_baseline_are_named() -> None:
    t = young.simulated(np.random.default_rng(0), 3, 3, 2, (0.01, 0.02))
    t.times[t.of < 2, 1] = np.nan
    assert "new: Frame / 1, 53.02 \u00b5s" in judge(t, "")["notes"]
    t.times[:, 1] = np.where(t.of < 2, t.times[:, 0], np.nan)
    assert any(n.startswith("gone: Frame / 1, ") for n in judge(t, "")["notes"])


def test_a_change_is_told_alike_before_and_after_the_spread_between_builds_is_measured() -> None:
    changing = [[x, x * 1.001, x * 0.999] for x in (6e6, 6e6, 6.24e6, 6.24e6, 6e6, 6.27e6, 6.27e6, 6.27e6, 6.27e6)]
    for builds in (7, 9):
        doc = judge(trend(changing[:builds], 3), "")
        assert [m["by"]["revision"] for m in doc["slower"]] == ["005"]


def test_a_gain_that_was_lost_is_a_slow_down() -> None:
    doc = judge(trend([[6e6] * 3, [6e6] * 3, [5e6] * 3, [5e6] * 3, [6e6] * 3, [6e6] * 3], 3), "")
    assert [m["by"]["revision"] for m in doc["slower"]] == ["004"] and not doc["faster"]


def test_a_trend_for_dashboards_and_its_drawing() -> None:
    points = [
        {"build": {"revision": f"c{i}", "branch": 'a"b', "at": i, "labels": ["v1"] * (i == 2), "runs": 2}, "ns": ns, "low": ns, "high": ns + 1, "runs": [ns, ns + 1]}
        for i, ns in enumerate((1.0e6, 1.01e6, 2.0e6))
    ]  # fmt: skip
    by = points[2]["build"]
    moved = [{"by": by, "change": 1.0, "verdict": "slower", "cause": "x", "title": "Spills", "was": None}]
    doc: Any = {"of": "frame", "what": "frame", "scope": "s\n", "device": "", "points": points, "moved": moved}
    text = history_report.trend(doc, "openmetrics")
    assert text.endswith("# EOF\n")
    sample = re.compile(r'[a-z_]+\{([a-z]+="(\\.|[^"\\\n])*",?)+\} [-+.e\d]+ \d+')
    lines = [row for row in text.splitlines() if not row.startswith("#")]
    assert len(lines) == 13 and all(sample.fullmatch(row) for row in lines)
    assert 'build="c2",branch="a\\"b",stat="median"} 0.002 2' in text
    drawn = history_chart.chart(points, moved)  # type: ignore[arg-type]
    assert [label for _, label in drawn["marks"]] == ["1 ms", "1.5 ms", "2 ms", "2.5 ms"]
    assert [label for _, label in drawn["names"]] == ["c0", "c1", "v1"]
    assert drawn["steps"][0][2:] == ("slower", "2x Spills") and [len(d[1]) for d in drawn["dots"]] == [2, 2, 2]
