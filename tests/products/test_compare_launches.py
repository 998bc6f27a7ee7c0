"""Launches of two timelines are matched by name and launch shape; what differs beside them stands in the first lines."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.conftest import SAMPLES, diagnosis
from triage.products.compare import causes, compare_headline
from triage.products.compare.compare_report import render
from triage.products.compare.comparing import compare
from triage.products.compare.waterfall import titles

TRACE = SAMPLES / "nsys-sqlite" / "training_two_gpus.sqlite"
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"


def mixed(path: Path, wide: float) -> tuple[Path, str]:
    """The sample with one kernel on two grids of equal size, a share of its launches on the fast one; (file, its name)."""
    shutil.copy(TRACE, path)
    with sqlite3.connect(path) as db:
        most = f"select demangledName, count(*) from {KERNELS} group by 1 order by 2 desc limit 1"
        name, count = db.execute(most).fetchone()
        rows = [
            r for (r,) in db.execute(f"select rowid from {KERNELS} where demangledName = ? order by start", (name,))
        ]
        for i, row in enumerate(rows):
            grid, ns = ((64, 1), 1_000) if i < wide * count else ((1, 64), 4_000)
            db.execute(f"update {KERNELS} set gridX = ?, gridY = ?, end = start + ? where rowid = ?", (*grid, ns, row))
        (text,) = db.execute("select value from StringIds where id = ?", (name,)).fetchone()
    return path, text


def test_another_mix_of_grids_is_no_slow_down(tmp_path: Path) -> None:
    (before, name), (after, _) = mixed(tmp_path / "b.sqlite", 0.75), mixed(tmp_path / "a.sqlite", 0.25)
    doc = compare(diagnosis(before), diagnosis(after))
    pairs = [p for p in doc["pairs"] if p["name"] == name]
    assert {p["shape"].partition(",")[0] for p in pairs} == {"64x1x1", "1x64x1"}
    assert all(p["change"] == pytest.approx(0.0) for p in pairs) and not doc["unmatched"]
    named = titles(doc["pairs"])
    assert len({*named}) == len(named) and any("(64x1x1, 256x1x1)" in n for n in named)
    assert "inconclusive" not in render(doc, "terminal").splitlines()[0]


def test_ranges_that_a_record_cut_off_match_without_them(tmp_path: Path) -> None:
    bare = tmp_path / "bare.sqlite"
    shutil.copy(TRACE, bare)
    with sqlite3.connect(bare) as db:
        db.execute("delete from NVTX_EVENTS where rowid % 3 = 0")
    doc = compare(diagnosis(TRACE), diagnosis(bare))
    assert not doc["unmatched"] and all(p["change"] == pytest.approx(0.0) for p in doc["pairs"])


def test_other_gpus_are_said_first(tmp_path: Path) -> None:
    sides = []
    for side, uuid in (("b", "GPU-11111111-aa"), ("a", "GPU-22222222-bb")):
        sides.append(tmp_path / f"{side}.sqlite")
        shutil.copy(TRACE, sides[-1])
        with sqlite3.connect(sides[-1]) as db:
            db.execute("create table if not exists TARGET_INFO_SYSTEM_ENV (name text, value text)")
            db.execute("drop table if exists TARGET_INFO_GPU")
            say = ("DeviceEnvironment", f"A=1;NVIDIA_VISIBLE_DEVICES={uuid};SECRET=word")
            db.execute("insert into TARGET_INFO_SYSTEM_ENV (name, value) values (?, ?)", say)
    doc = compare(*map(diagnosis, sides))
    (warning,) = doc["warnings"]
    assert warning.startswith("the sides ran on different GPUs (GPU-11111111 before, GPU-22222222 after)")
    assert "SECRET" not in str(doc) and doc["kinds"][0]["kind"] == "hardware"
    assert not any("GPU-11111111" in line for line in compare_headline.kinds(doc))  # the warning has it


def test_the_first_sentence_names_what_the_change_is_made_of() -> None:
    doc = compare(diagnosis(TRACE), diagnosis(TRACE))
    span = doc["frame"]["before_ns"] or 0.0
    slower = {**doc["frame"], "after_ns": span * 1.2, "verdict": "slower", "change": 0.2, "speedup": 1 / 1.2}
    rows = [
        {**r, "after": (r["before"] or 0.0) + {"idle": 0.18, "idle: host code": 0.17}.get(r["what"], 0.0) * span}
        for r in doc["timeline"]
    ]
    late = {**doc, "frame": slower, "timeline": rows}
    assert causes.cause(late, "slower") == "idle time 90 % of the change (host code), kernels 10 %"  # type: ignore[arg-type]
    assert "idle time 90 %" in compare_headline.sentences(late)[0]  # type: ignore[arg-type]
    assert not causes.cause(late, "same")  # type: ignore[arg-type]
