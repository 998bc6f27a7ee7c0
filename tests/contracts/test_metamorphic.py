"""What changes nothing about the work must change nothing about the diagnosis: order, units, further columns, two files."""

import csv
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CORPUS, SAMPLES, diagnosis, needs_corpus
from triage.ground.errors import TriageError

Rows = list[list[str]]
GENERIC = [SAMPLES / "generic" / n for n in ("p3_workloads_v2.csv", "p3_examples_v2.csv", "frame_handmade.csv")]
TIMED = SAMPLES / "generic" / "frame_handmade.csv"
AMD = [SAMPLES / "rocprofv3-stats" / "4711_kernel_stats.csv"]
ORDERLESS = ("rocprof", "rocprof_compute", "nsys")  # folders of tables whose rows and columns have no order
MOST = 40_000  # bytes of an export of the corpus that is tried


def table(path: Path) -> Rows:
    return list(csv.reader(io.StringIO(path.read_text("utf-8-sig"))))


def put(path: Path, rows: Rows) -> Path:
    with path.open("w", newline="", encoding="utf-8") as f:
        csv.writer(f, lineterminator="\n").writerows(rows)
    return path


def works(found: dict[tuple[str, str], Any]) -> dict[tuple[str, str], Any]:
    """Without what is said of the frame: which passes are neighbours is in the order of the rows."""
    return {k: v for k, v in found.items() if not k[1].endswith("frame")}


def judged(*paths: Path) -> dict[tuple[str, str], tuple[Any, ...]]:
    """(rule, workload) -> what was found there, without the places in the file."""
    found = diagnosis(*paths).to_dict()
    ids = {w["id"]: (w["name"], tuple(w["path"]) if isinstance(w["path"], list) else w["path"]) for w in found["workloads"]}  # fmt: skip
    out = {}
    for f in found["findings"]:
        gain = f["gain"] and {k: pytest.approx(v, rel=1e-6) for k, v in f["gain"].items() if isinstance(v, int | float)}
        who = ids[f["workload"]] if f.get("workload") in ids else f.get("workload")
        out[f["rule"], str(who)] = (f["confidence"], f["cause"], gain)
    return out


def shuffled_rows(rows: Rows, head: int) -> Rows:
    body = rows[head:]
    random.Random(3).shuffle(body)
    return rows[:head] + body


def shuffled_columns(rows: Rows, head: int) -> Rows:
    order = list(range(len(rows[0])))
    random.Random(5).shuffle(order)
    return [[r[c] for c in order] for r in rows]


def blank_column(rows: Rows, head: int) -> Rows:
    return [[*r, ""] for r in rows]


def foreign_column(rows: Rows, head: int) -> Rows:
    return [[*r, "my remark" if n < head else f"run {n}"] for n, r in enumerate(rows)]


def doubled_column(rows: Rows, head: int) -> Rows:
    """Every column of a metric once more: what pasting two exports side by side makes."""
    return [[*r, *r[1:]] for r in rows]


def blank_rows(rows: Rows, head: int) -> Rows:
    return [line for n, r in enumerate(rows) for line in ([r] if n < head else [r, [""] * len(r)])]


CHANGES: list[Callable[[Rows, int], Rows]] = [shuffled_rows, shuffled_columns, blank_column, foreign_column, doubled_column, blank_rows]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c.__name__)
@pytest.mark.parametrize("path", [*GENERIC, *AMD], ids=lambda p: p.name)
def test_what_says_nothing_of_the_work_changes_nothing(
    tmp_path: Path, path: Path, change: Callable[[Rows, int], Rows]
) -> None:
    plain = put(tmp_path / "plain.csv", table(path))
    other = put(tmp_path / path.name, change(table(path), 1))
    want = judged(plain) if path in GENERIC else judged(path)
    got = judged(other)
    assert (works(got) == works(want)) if change is shuffled_rows else got == want
    assert want or path in AMD  # kernel statistics alone say little


def test_times_in_another_unit_are_the_same_times(tmp_path: Path) -> None:
    rows = table(TIMED)
    at = next(i for i, h in enumerate(rows[0]) if "[ms]" in h)
    for unit, factor in (("us", 1e3), ("ns", 1e6), ("s", 1e-3)):
        head = [h.replace("[ms]", f"[{unit}]") if i == at else h for i, h in enumerate(rows[0])]
        body = [[f"{float(c) * factor:.10g}" if i == at and c else c for i, c in enumerate(r)] for r in rows[1:]]
        assert judged(put(tmp_path / "a.csv", [head, *body])) == judged(TIMED), unit


def test_shares_as_fractions_are_the_same_shares(tmp_path: Path) -> None:
    rows = table(TIMED)
    which = [i for i, h in enumerate(rows[0]) if "[%]" in h or "%" in h]
    assert which
    head = [h.replace("[%]", "[ratio]") for h in rows[0]]
    body = [[f"{float(c) / 100:.10g}" if i in which and c else c for i, c in enumerate(r)] for r in rows[1:]]
    assert judged(put(tmp_path / "a.csv", [head, *body])) == judged(TIMED)


@pytest.mark.parametrize("factor", [0.5, 3])
def test_all_times_scaled_give_the_same_causes_and_scaled_gains(tmp_path: Path, factor: float) -> None:
    rows = table(TIMED)
    at = next(i for i, h in enumerate(rows[0]) if "[ms]" in h)
    body = [[f"{float(c) * factor:.10g}" if i == at and c else c for i, c in enumerate(r)] for r in rows[1:]]
    before = diagnosis(TIMED).to_dict()["findings"]
    after = diagnosis(put(tmp_path / "a.csv", [rows[0], *body])).to_dict()["findings"]
    scaled = {(f["rule"], f["workload"]): f["gain"] for f in after}
    shared = [f for f in before if (f["rule"], f["workload"]) in scaled]
    assert len(shared) >= 0.9 * max(len(before), len(after))  # absolute floors may drop the smallest
    for f in shared:
        likely = f["gain"] and f["gain"].get("saved_ns")
        if likely:
            assert scaled[f["rule"], f["workload"]]["saved_ns"] == pytest.approx(likely * factor, rel=1e-6)


def test_a_capture_in_two_files_is_the_capture(tmp_path: Path) -> None:
    rows = table(TIMED)
    half = len(rows) // 2
    a = put(tmp_path / "a.csv", rows[:half])
    b = put(tmp_path / "b.csv", [rows[0], *rows[half:]])
    assert works(judged(a, b)).keys() == works(judged(TIMED)).keys()


@pytest.mark.slow
@needs_corpus
def test_real_exports_in_another_order_of_rows_or_columns_say_the_same(tmp_path: Path) -> None:
    tried = 0
    for path in sorted(p for d in ORDERLESS for p in (CORPUS / d).rglob("*.csv")):
        rows = table(path) if path.stat().st_size < MOST else []
        if len(rows) < 3 or len({len(r) for r in rows}) != 1 or not rows[0][0]:
            continue
        try:
            want = works(judged(put(tmp_path / path.name, rows)))  # without what lies beside it
        except TriageError:  # calls of the host, a companion of another file
            continue
        tried += 1
        for change in (shuffled_rows, shuffled_columns, blank_column):
            assert works(judged(put(tmp_path / path.name, change(rows, 1)))) == want, (path.name, change.__name__)
    assert tried > 3
