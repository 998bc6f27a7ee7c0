"""Comparisons of very many workloads: everything is judged and counted, what matters most is listed, and little is held."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.conftest import ROOT, diagnosis
from triage.files import plain_json
from triage.products.compare import compare_report, listing, match, side
from triage.products.compare import comparing as comparing
from triage.products.compare.compare_result import Comparison

HEAD = "path,name,gpu.time [us],gpu.idle [%],sm.throughput [%],vram.throughput [%]"
ALL, LISTED = 40, 12


def table(path: Path, times: Sequence[float], idle: Sequence[float], frame: str = "Frame") -> Path:
    """Workloads two to a marker; frame: what every third stands below."""
    rows = (
        f"{frame if i % 3 == 0 else 'Frame'}/{i // 2},pass_{i},{t:.3f},{idle[i]},{20 + i % 60},{70 - i % 60}"
        for i, t in enumerate(times)
    )
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return path


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """200 workloads: 20 far slower, some faster, ten of which a rule says something else, most within the noise."""
    rng = np.random.default_rng(5)
    before = rng.lognormal(3, 1, 200)
    after = before * np.concatenate([np.full(20, 1.4), np.full(10, 0.7), 1 + rng.uniform(-0.05, 0.05, 170)])
    return (table(tmp_path / "a.csv", before, [0] * 200), table(tmp_path / "b.csv", after, [0] * 190 + [60] * 10))


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "ALL", ALL)
    monkeypatch.setattr(listing, "LISTED", LISTED)


def compared(sides: tuple[Path, Path], **options: Any) -> Comparison:
    return comparing.compare(*(diagnosis(p) for p in sides), **options)


def key(p: Any) -> tuple[str, str]:
    return "/".join(p["path"]), p["name"]


def test_of_very_many_pairs_all_are_counted_and_the_worst_are_listed(sides: tuple[Path, Path], bounded: None) -> None:
    few, full = compared(sides, threshold=0.05), compared(sides, threshold=0.05, full=True)
    assert len(few["pairs"]) == LISTED and len(full["pairs"]) == 200
    for field in ("totals", "frame", "warnings", "regressions", "outside", "noise_floor", "margin"):
        assert few[field] == full[field], field  # type: ignore[literal-required]
    # the totals are what the whole list says
    assert few["totals"]["verdicts"] == dict(Counter(p["verdict"] for p in full["pairs"]))
    assert few["totals"]["pairs"] == 200
    assert len(few["regressions"]) == few["totals"]["regressed"] > LISTED
    needs = sorted(p["needs"] for p in full["pairs"] if p["needs"])
    assert few["totals"]["needs"] == (needs[len(needs) // 2] if needs else None)
    # what is listed is listed in the same order and says the same
    entries = {key(p): p for p in full["pairs"]}
    assert all(p == entries[key(p)] for p in few["pairs"])
    assert [key(p) for p in full["pairs"] if key(p) in set(map(key, few["pairs"]))] == [*map(key, few["pairs"])]
    # more regressions than are listed: those that cost most
    worst = sorted((p for p in full["pairs"] if p["verdict"] == "slower"), key=lambda p: p["before_ns"] - p["after_ns"])  # type: ignore[operator]
    assert set(map(key, few["pairs"])) == set(map(key, worst[:LISTED]))
    # what moved most is named of what is listed
    assert compare_report.headline(few).partition(" faster")[0] == compare_report.headline(full).partition(" faster")[0]
    assert (
        compare_report.failed(few)
        and compare_report.failed(few).partition(" and ")[2] == compare_report.failed(full).partition(" and ")[2]
    )


def test_what_rules_say_comes_before_what_cannot_be_told(
    sides: tuple[Path, Path], bounded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "LISTED", 150)
    doc, full = compared(sides), compared(sides, full=True)
    told = {key(p) for p in full["pairs"] if p["fixed"] or p["new"]}
    changed = {key(p) for p in full["pairs"] if p["verdict"] in ("slower", "faster")}
    assert told and len(told | changed) < 150
    assert told | changed <= set(map(key, doc["pairs"]))


@pytest.mark.parametrize("form", compare_report.FORMATS)
def test_every_report_says_how_many_are_not_listed(sides: tuple[Path, Path], bounded: None, form: str) -> None:
    doc = compared(sides, threshold=0.05)
    text = " ".join(compare_report.render(doc, form).split())
    if form == "json":
        assert json.loads(text)["totals"]["pairs"] == 200
        assert "totals" not in json.loads(compare_report.render(compared(sides, full=True), form))
        return
    assert f"{200 - LISTED} of 200 pairs counted but not listed" in text
    assert "counted but not listed" not in compare_report.render(compared(sides, full=True), form)
    if form == "junit":
        suite = ElementTree.fromstring(compare_report.render(doc, form)).find("testsuite")
        assert suite is not None
        assert (suite.get("tests"), suite.get("failures")) == (str(LISTED + 1), str(LISTED + 1))
        (rest,) = (c for c in suite if c.get("name") == "unlisted pairs")
        more = doc["totals"]["regressed"] - LISTED
        assert rest.find("failure").get("message") == f"{more} unlisted pairs slower than allowed"  # type: ignore[union-attr]


def test_the_gate_sees_what_is_not_listed(sides: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "ALL", 1)
    monkeypatch.setattr(listing, "LISTED", 0)
    doc = compared(sides, threshold=0.05)
    assert doc["pairs"] == []
    assert len(doc["regressions"]) >= 20
    for form in compare_report.FORMATS:
        compare_report.render(doc, form)
    assert (
        "more" in compare_report.failed(doc)
        or "together" in compare_report.failed(doc)
        or "frame" in compare_report.failed(doc)
    )


def test_of_very_many_without_a_partner_the_longest_are_listed(tmp_path: Path, bounded: None) -> None:
    times = [float(1 + i % 50) for i in range(300)]
    doc = compared(
        (table(tmp_path / "a.csv", times, [0] * 300, "One"), table(tmp_path / "b.csv", times, [0] * 300, "Other"))
    )
    assert doc["totals"]["unmatched"] == 200 > ALL
    assert len(doc["unmatched"]) == LISTED
    assert min(u["duration_ns"] or 0 for u in doc["unmatched"]) >= 48_000
    for form in ("terminal", "markdown", "html"):
        text = " ".join(compare_report.render(doc, form).split())
        assert f"{200 - LISTED} of 200 unmatched markers not listed" in text


def test_objects_are_made_of_what_is_listed_only(
    sides: tuple[Path, Path], bounded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def counted(*args: Any) -> side.Item:
        made.append(args[0])
        return item(*args)

    item = side.Item
    monkeypatch.setattr(side, "Item", counted)
    compared(sides)
    assert len(made) == 2 * LISTED


def test_guesses_at_renames_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name has a new prefix: all of a parent are compared with all, and 200,000 of them took half an hour."""
    asked = []
    likeness = match.likeness
    monkeypatch.setattr(match, "ALTOGETHER", 30)
    monkeypatch.setattr(match, "likeness", lambda b, a: asked.append(b) or likeness(b, a))
    a = table(tmp_path / "a.csv", [1.0] * 100, [0] * 100)
    b = tmp_path / "b.csv"
    b.write_text(a.read_text().replace("pass_", "new_pass_", 98))
    doc = compared((a, b))
    assert len(asked) <= 30
    assert doc["totals"]["pairs"] + doc["totals"]["unmatched"] // 2 == 100


@pytest.mark.parametrize(
    "value", [{}, {"a": []}, {"a": [], "b": {}, "c": [1, {"x": ["two\nlines", {}]}], "d": {"e": [[]]}}]
)
def test_json_in_pieces_is_the_same_json(value: dict[str, Any]) -> None:
    assert "".join(plain_json.entries(value)) == plain_json.dumps(value, indent=1)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is counted in other units elsewhere")
def test_a_large_comparison_takes_little_memory(tmp_path: Path) -> None:
    """A list per workload, counter and run, and an entry per pair: 60,000 of them took 1.0 GB."""
    times = np.random.default_rng(1).lognormal(3, 1, 60_000)
    for name, factor in (("a", 1.0), ("b", 1.02)):
        table(tmp_path / f"{name}.csv", (times * factor).tolist(), [i % 40 for i in range(60_000)])
    command = [sys.executable, "-m", "triage", "compare", *(str(tmp_path / f"{n}.csv") for n in "ab"), "-o", str(tmp_path / "out.html")]  # fmt: skip
    code = f"import resource, subprocess; subprocess.run({command!r}, check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert int(p.stdout.split()[-1]) < 400_000  # KB; the program itself takes 90,000


@pytest.mark.parametrize("form", ["terminal", "markdown"])
def test_a_text_shows_what_adds_most_and_counts_the_rest(form: str, tmp_path: Path) -> None:
    before = np.linspace(10, 60, 50)
    factors = np.linspace(1.1, 2, 50)
    doc = compared((table(tmp_path / "a.csv", before, [0] * 50), table(tmp_path / "b.csv", before * factors, [0] * 50)))
    text, page = (compare_report.render(doc, f) for f in (form, "html"))
    assert all(f"pass_{i}" in text for i in range(30, 50)) and "pass_29" not in text
    assert "30 further pairs changed" in " ".join(text.split()) and "together +" in text
    assert "pass_29" in compare_report.render(doc, form, full=True) and "pass_29" in page


def test_changes_that_scatter_alone_explains_are_counted(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    before = rng.lognormal(3, 1, 500)
    after = before * np.exp(rng.normal(0, 0.06, 500))
    doc = compared((table(tmp_path / "a.csv", before, [0] * 500), table(tmp_path / "b.csv", after, [0] * 500)))
    (text,) = (k for k in compare_report.kinds(doc) if k.startswith("noise"))
    changed = sum(doc["totals"]["verdicts"].get(v, 0) for v in ("faster", "slower"))
    assert changed > 100 and f"{changed} workloads faster or slower, none beyond what scatter alone explains" in text
