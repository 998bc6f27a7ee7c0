"""The to-do list: one item per root cause, the same in every format; its sums are the headline."""

import re
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import SAMPLES, bare_capture, diagnose, diagnosis, generic, run
from tests.helpers.reports import text
from triage import api
from triage.derive import View
from triage.diagnosis.diagnosis_result import Item
from triage.diagnosis.root_causes import COMPARABLE, MIN_SAVING_SHARE, CauseIndex, CauseTable, Row
from triage.diagnosis.todo import _Left
from triage.document.todo_items import item_title
from triage.ground import glossary, limiters
from triage.ground.limiters import LEVELS, level
from triage.ground.units import show
from triage.rulebook import packs
from triage.rulebook.packs import Rulebook

DEMO = SAMPLES / "gpu-trace" / "demo_frame"


@pytest.fixture(scope="module")
def demo() -> Any:
    """The diagnosis of the demo frame."""
    return diagnosis(DEMO)


@pytest.mark.slow
def test_sums_are_the_headline(demo: Any) -> None:
    doc = demo.to_dict()
    sums = {part: sum(i[part] for i in doc["todo"]) for part in ("saved_ns", "low_ns", "bound_ns")}
    frame, near = doc["frame"], len(doc["todo"])  # every item is rounded
    assert sums["saved_ns"] == pytest.approx(frame["recoverable_ns"], abs=near)
    assert sums["low_ns"] == pytest.approx(frame["recoverable_low_ns"], abs=near)
    assert min(sums["bound_ns"], frame["duration_ns"]) == pytest.approx(frame["recoverable_bound_ns"], abs=near)
    assert doc["frame"]["recoverable_ns"] <= doc["frame"]["duration_ns"]


def test_items_are_ordered_by_the_number_shown_and_named_once(demo: Any) -> None:
    todo = demo.todo
    assert [i["rank"] for i in todo] == list(range(1, len(todo) + 1))
    assert [i["saved_ns"] for i in todo] == sorted((i["saved_ns"] for i in todo), reverse=True)
    assert len({i["cause"] for i in todo}) == len(todo)
    assert all(i["action"] and i["advice"] and i["title"] for i in todo)


def test_every_workload_is_led_by_one_cause_at_most(demo: Any) -> None:
    doc = demo.to_dict()
    led = [i for i in doc["todo"] if i["scope"] == "workloads"]
    assert sum(i["workload_count"] for i in led) <= len(doc["workloads"])
    leaders = {w["id"]: w["chain"][0] for w in doc["workloads"] if w["chain"]}
    for item in led:
        assert all(leaders[w] == item["cause"] for w in item["workloads"])


def test_the_list_is_the_same_in_every_format(demo: Any) -> None:
    """Titles, order and numbers of the first items, read back from the text of each format."""
    first = demo.todo[:5]
    for fmt in ("terminal", "markdown", "jira", "html"):
        out = " ".join(re.sub(r"<[^>]*>", " ", text(demo, fmt)).replace("\\", "").split())
        at = 0
        for item in first:
            title = item_title(item)
            found = out.find(title, at)
            assert found >= 0, f"{fmt}: {title!r} is missing, or out of order"
            at = found
            assert show(item["saved_ns"], "ns") in out[at - 60 : at + 400], f"{fmt}: another number beside {title!r}"


@pytest.mark.slow
def test_top_cuts_the_list_and_changes_nothing_else(demo: Any) -> None:
    short = run("diagnose", DEMO, "-f", "json", "--top", "3").stdout
    import json

    cut = json.loads(short)
    assert cut["todo"] == [{**i, "findings": c["findings"]} for i, c in zip(demo.todo[:3], cut["todo"], strict=True)]
    assert cut["frame"]["recoverable_ns"] == demo.to_dict()["frame"]["recoverable_ns"]


def test_chains_begin_at_the_root_with_one_number_per_link(demo: Any) -> None:
    chains = [i["chain"] for i in demo.todo]
    assert any(len(c) > 1 for c in chains)
    for item, chain in zip(demo.todo, chains, strict=True):
        assert chain[0]["cause"] == item["cause"]
        assert len(chain) <= 4
        assert len({x["cause"] for x in chain}) == len(chain)


def test_verdicts_are_never_items(demo: Any) -> None:
    verdicts = {c.id for c in packs.load().causes.values() if c.is_verdict}
    assert verdicts and not verdicts & {i["cause"] for i in demo.todo}
    assert not any(f["root"] for f in demo.to_dict()["findings"] if f["cause"] in verdicts)


@pytest.mark.slow
def test_fail_on_asks_the_list(tmp_path: Any) -> None:
    path = generic(tmp_path / "a.csv", [{"name": "Pass", "gpu.time": 1, "gpu.idle": 1.02}])
    levels = {i["level"] for i in diagnosis(path).todo}
    assert levels <= {"low", "info"}
    assert run("diagnose", path, "--fail-on", "critical").returncode == 0


@pytest.mark.parametrize(
    ("share", "confidence", "want"),
    [(0.7, "high", "critical"), (0.5, "high", "high"), (0.5, "medium", "high"), (0.5, "low", "medium"), (0.2, "high", "high"), (0.05, "high", "medium"),
     (0.001, "high", "low"), (0.0, "high", "info"), (None, "low", "info"), (float("nan"), "low", "info")],
)  # fmt: skip
def test_levels_come_from_one_table(share: float | None, confidence: str, want: str) -> None:
    assert level(share, confidence) == want
    assert want in LEVELS
    # what may save nothing is never critical
    assert level(share, confidence, sure=False) == ("high" if want == "critical" else want)


def test_the_glossary_prints_the_rule_of_priorities() -> None:
    of_work, of_idle = glossary.TERMS["priority"].meaning.split("Of idle time")
    for printed, table in ((of_work, limiters._LEVELS), (of_idle, limiters._LEVELS_OF_IDLE)):
        stated = re.findall(r"(\w+) from (two thirds|a tenth|\d+ %)", printed)
        words = {2 / 3: "two thirds", 0.1: "a tenth"}
        assert stated == [(word, words.get(least, f"{100 * least:.0f} %")) for word, least, _ in table if least]


@cache
def every_rule() -> tuple[Rulebook, CauseIndex]:
    """All rules and causes, experimental ones too; made once for all examples."""
    book = packs.load()
    return book, CauseIndex(book)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 5), st.floats(0, 0.99)), min_size=1, max_size=40))
def test_a_small_gain_never_hides_a_large_one(fired: list[tuple[int, int, float]]) -> None:
    """Whatever fires: a leader is a root, and what explains a cause would give back a comparable time."""
    book, words = every_rule()
    reporting = [k for k, r in enumerate(book.rules) if r.cause]
    view = View(bare_capture({}, [f"w{i}" for i in range(6)]))
    entries = [
        (reporting[r % len(reporting)], np.array([w]), (np.zeros(1), np.array([g]), np.array([max(g, 0.9)])))
        for r, w, g in fired
    ]
    known = words.table(view, entries, "v2")
    leaders = words.lead(known, 6)
    for cause, row in known.rows.items():
        for w in np.flatnonzero(row.by >= 0).tolist():
            by = known.rows[int(row.by[w])]
            assert by.fired[w] and by.likely[w] >= COMPARABLE * row.likely[w], words.names[cause]
    for w in range(6):
        if leaders.cause[w] >= 0:
            row = known.rows[int(leaders.cause[w])]
            assert row.root()[w] and not words.verdict[leaders.cause[w]]
            assert row.likely[w] >= MIN_SAVING_SHARE
            assert leaders.likely[w] == (0 if words.once[leaders.cause[w]] else row.likely[w])


@pytest.mark.slow
@pytest.mark.parametrize(
    "sample", ["gpu-trace/demo_frame", "ncu-rep/transpose.ncu-rep", "rocprof-compute/four_kernels_mi210"]
)
def test_chains_are_the_same_however_few_findings_are_listed(sample: str) -> None:
    """--top shortens the list; what an item brings about, with its numbers, stays."""
    whole = api.diagnose(SAMPLES / sample).to_dict()["todo"]
    short = api.diagnose(SAMPLES / sample, top=2).to_dict()["todo"]
    assert len(short) <= 2 and any(len(item["chain"]) > 1 for item in whole)
    assert [i["chain"] for i in short] == [i["chain"] for i in whole[: len(short)]]
    assert all(link["number"] for item in whole for link in item["chain"][1:])


@pytest.mark.parametrize(("occupancy", "items"), [(75, []), (40, ["low-occupancy"])])
def test_a_promise_too_small_to_be_seen_is_a_finding_and_no_item(
    occupancy: float, items: list[str], tmp_path: Any
) -> None:
    row = {"name": "Fog", "kind": "fullscreen", "gpu.time": 1.0, "sm.throughput": 59, "sm.throughput_active": 60}
    units = {"l1tex.throughput": 45, "l2.throughput": 44, "vram.throughput": 43, "sm.occupancy": occupancy}
    doc = api.diagnose(generic(tmp_path / "f.csv", [row | units])).to_dict()
    assert "SOL007" in [f["rule"] for f in doc["findings"]]
    assert [i["cause"] for i in doc["todo"]] == items


def test_what_passes_once_is_in_no_sum(tmp_path: Any) -> None:
    """A first call that loads code is named, and saves nothing from run to run."""
    facts = {"gpu.time": 779.0, "gpu.time_max": 680.0, "gpu.time_median": 1.0, "frame.calls": 100}
    result = diagnose(generic(tmp_path / "k.csv", [{"name": "kernel", **facts}]), "--device", "A100")
    assert [(i["cause"], i["saved_ns"]) for i in result["todo"]] == [("cold-start", 0)]
    assert result["frame"]["recoverable_ns"] == 0


def test_kernels_that_an_item_of_the_frame_replaces_save_only_what_it_leaves() -> None:
    """Attention saves 90 of the 100 ns of three kernels; the second of them would save 10 of 40 ns by itself."""
    capture = SimpleNamespace(self_ns=np.array([50.0, 40.0, 10.0, 20.0]))
    leaders = SimpleNamespace(cause=np.array([-1, 3, -1, -1]), likely=np.array([0.0, 0.25, 0.0, 0.0]))
    part = SimpleNamespace(
        capture=capture, leaders=leaders, claims={7: np.array([True, True, True, False])}, spans={}, number=0
    )
    item = Item(3, 0, 1, 10.0, 5.0, 20.0, 10.0, 0.25, ((0, 1),))
    done = Item(7, 1, 1, 90.0, 0.0, 95.0, 90.0, 0.75, ((0, -1),), whole=True)
    time_left = _Left([part], 120.0)  # type: ignore[list-item]
    time_left.take(done)
    left = time_left.of_workloads(item, done)
    assert (round(left.saved_ns, 9), left.after, left.alone_ns) == (1.0, 7, 10.0)


def _wide(cause: int, saved: float) -> Item:
    return Item(cause, cause, 1, saved, 0.0, saved, saved, 0.5, ((0, -1),), whole=True)


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=30), st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4))
def test_what_never_overlaps_adds_and_what_does_is_shared(kinds: list[int], shares: list[float]) -> None:
    """Items on kernels of their own take nothing from each other; one on all of them takes its share of what they leave."""
    own, of = np.arange(1.0, len(kinds) + 1), np.array(kinds)
    masks = {k: of == k for k in range(4)}
    leaders = SimpleNamespace(cause=np.full(len(of), -1), likely=np.zeros(len(of)))
    capture = SimpleNamespace(self_ns=own, parent=np.full(len(of), -1), depth=np.zeros(len(of)))
    part = SimpleNamespace(capture=capture, leaders=leaders, claims=masks | {9: of > -2}, spans={}, number=0)
    time_left, taken = _Left([part], float(own.sum())), 0.0  # type: ignore[list-item]
    for k, share in enumerate(shares):
        item = _wide(k, share * float(own[masks[k]].sum()))
        assert time_left.share(item) == 1.0 or not masks[k].any()
        time_left.take(item)
        taken += item.saved_ns
    everywhere, nowhere = (time_left.share(_wide(k, 1.0)) for k in (9, 8))
    assert everywhere == pytest.approx(1 - taken / own.sum()) == pytest.approx(nowhere)


def test_a_line_of_causes_has_no_siblings() -> None:
    """0 explains 1 and 2, and 2 explains 3: 1 causes neither of the others."""
    table = CauseTable(1, np.zeros(1, dtype=bool), of_frame=True)
    for cause, by in enumerate((-1, 0, 0, 2)):
        row = table.rows[cause] = Row.blank(1)
        row.fired[0], row.by[0] = True, by
    assert table.line(0, 0) == [0, 2, 3] and table.chain(0, 0) == [0, 1, 2, 3]


def test_exports_of_one_run_are_noted_and_their_notes_given_once(tmp_path: Any) -> None:
    rows = [{"name": n, "gpu.time": t, "sm.throughput": 70} for n, t in (("A", 0.001), ("B", 2.5))]
    first, second = generic(tmp_path / "a.csv", rows), generic(tmp_path / "b.csv", rows)
    both = diagnosis(first, second)
    assert any("1 of 2 captures repeat the names and times of another" in n for n in both.to_dict()["frame"]["notes"])
    assert text(both, "terminal").count("shorter than 10 µs") == 1
    other = generic(tmp_path / "c.csv", [{**r, "gpu.time": r["gpu.time"] * 1.01} for r in rows])
    assert not any("repeat the names" in n for n in diagnosis(first, other).to_dict()["frame"]["notes"])
