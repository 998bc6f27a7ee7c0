"""A history: kept whole, opened by later versions, and a gate that names the build and the cause."""

import contextlib
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner, Result

from tests.conftest import ROOT
from tests.contracts.test_forged_databases import forge
from triage.capture.capture import SEP
from triage.ground.errors import TriageError
from triage.products.history import schema, store, trend
from triage.products.history.changepoints import levels, shifts
from triage.products.history.gate import gate, matches
from triage.products.history.history_report import verdict
from triage.products.history.record import Key, Run, Todo, names_whole

HEAD = "path,name,kind,gpu.time [ms],sm.throughput [%],l1tex.throughput [%],vram.throughput [%],sm.active_warps"
DAY = 86_400


def verbs(*args: object) -> Result:
    from triage.commands.cli import triage as group

    return CliRunner().invoke(group, ["history", *map(str, args)], standalone_mode=False)


def capture(path: Path, times: dict[str, float], busy: str = "", frame: int = 1) -> Path:
    """A frame of passes; `busy` is the one whose texture unit is at its limit."""
    rows = [
        f"Frame {frame},{name},fullscreen,{ms:.6f},30,{95 if name == busy else 30},20,30" for name, ms in times.items()
    ]
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return path


def builds(
    folder: Path, count: int, *, slow_from: int = 99, factor: float = 1.08, runs: int = 3, seed: int = 1
) -> Path:
    """Builds of three passes; Light takes `factor` times as long from one build on."""
    noise = random.Random(seed)
    file = folder / "h.sqlite"
    for b in range(count):
        paths = []
        for r in range(runs):
            times = {"Shadow": 1.0, "Light": 2.0 * (factor if b >= slow_from else 1), "Post": 0.5}
            times = {k: v * noise.gauss(1, 0.005) for k, v in times.items()}
            paths.append(capture(folder / f"{b}-{r}.csv", times, "Light" if b >= slow_from else "", frame=b * 9 + r))
        done = verbs(
            "add", *paths, "--history", file, "--commit", f"c{b:03}", "--branch", "main", "--at", DAY * (1_000 + b)
        )
        assert done.return_value == 0, done.output
    return file


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve builds; the ninth made Light slower."""
    return builds(tmp_path_factory.mktemp("farm"), 12, slow_from=8)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two builds of one run each."""
    return builds(tmp_path_factory.mktemp("pair"), 2, runs=1)


def some_run(n: int, ns: float = 1e6) -> Run:
    return Run(f"{n:064}", f"{n}.csv", 2 * ns, 0.0, "0", "0", (("A", ns, "x"), ("B", ns, "")), (Todo("x", "X", 1, 1.0, 0.1, "notable", "low", 1),))  # fmt: skip


@pytest.mark.slow
def test_the_gate_names_the_build_and_the_cause(farm: Path) -> None:
    done = verbs("gate", "--history", farm)
    assert done.return_value == 1
    (said,) = done.stderr.splitlines()
    assert re.match(r"triage: failed on history: Frame # / Light [78]\.\d % slower since c008 \(", said)
    assert "New top cause: " in said
    doc = json.loads(verbs("gate", "--history", farm, "-f", "json").stdout)
    assert doc["schema"] == "triage-history/1"
    by = {tuple(m["marker"]): m for m in doc["slower"]}
    light = by["Frame #", "Light"]
    assert (light["by"]["revision"], light["between"]) == ("c008", ["c008"])
    assert light["interval"][0] < 0.08 < light["interval"][1]
    assert light["cause"] != light["was"]
    assert set(by) == {("Frame #", "Light"), ("the whole frame",)}


@pytest.mark.slow
def test_a_build_before_it_passes(farm: Path) -> None:
    done = verbs("gate", "--history", farm, "--build", "c007")
    assert (done.return_value, done.stderr) == (0, "")
    assert "no change against the previous 7 builds" in done.stdout
    assert verbs("gate", "--history", farm, "--fail-on-regression", "20%").return_value == 0


def test_a_named_baseline(farm: Path) -> None:
    assert verbs("gate", "--history", farm, "--baseline", "c002").return_value == 1
    again = verbs("gate", "--history", farm, "--baseline", "c002", "-f", "json")
    assert json.loads(again.stdout)["slower"][0]["by"]["revision"] == "c008"
    assert verbs("gate", "--history", farm, "--baseline", "c009").return_value == 0
    wrong = verbs("gate", "--history", farm, "--baseline", "c0")
    assert isinstance(wrong.exception, TriageError)
    assert "ambiguous build" in str(wrong.exception)


def test_every_format_of_a_gate_and_a_trend(farm: Path) -> None:
    for name in ("terminal", "markdown"):
        text = verbs("gate", "--history", farm, "-f", name).stdout
        assert "c008" in text
        assert "Light" in text
    assert max(map(len, verbs("gate", "--history", farm).stdout.splitlines())) <= 80
    root = ElementTree.fromstring(verbs("gate", "--history", farm, "-f", "junit").stdout)
    names = [(c.get("classname"), c.get("name")) for c in root.iter("testcase")]
    assert ("gate", "no regression") in names
    assert ("Frame #", "Light") in names
    assert len(root.findall(".//failure")) == 3
    shown = verbs("show", "Light", "--history", farm).stdout
    assert "▁" in shown
    assert "█" in shown
    assert "+8" in shown or "+7" in shown
    page = verbs("show", "--history", farm, "-f", "html").stdout
    assert page.count("<title>") == 13  # its own, and one per build
    assert not re.search(r"(src|href)=[\"']?https?:", page)
    assert "data-sortable" in page  # one product: header, theme and tables of the other pages
    assert "Switch to the" in page
    doc = json.loads(verbs("show", "Frame #/*", "--history", farm, "-f", "json").stdout)
    assert doc["of"] == "3 markers"
    assert len(doc["points"]) == 12
    cause = json.loads(verbs("gate", "--history", farm, "-f", "json").stdout)["slower"][0]["cause"]
    (part,) = json.loads(verbs("show", "--history", farm, "-f", "json").stdout)["parts"]
    assert part[0]["marker"] == ["Frame #", "Light"] and part[0]["adds_ns"] > 1e5
    trend = json.loads(verbs("show", cause, "--history", farm, "-f", "json").stdout)
    assert trend["of"] == "cause"
    assert trend["points"][-1]["ns"] >= trend["points"][0]["ns"] == 0
    assert isinstance(verbs("show", "nothing-like-it", "--history", farm).exception, TriageError)
    assert len(verbs("list", "--history", farm).stdout.splitlines()) == 12


def test_a_fix_is_no_regression(tmp_path: Path) -> None:
    file = tmp_path / "h.sqlite"
    noise = random.Random(2)
    with store.opened(str(file), create=True) as db:
        for b in range(14):
            for r in range(3):
                slow = 1.2 if 5 <= b < 9 else 1.0
                store.add(
                    db, Key("main", f"c{b}", "", ""), b, some_run(b * 3 + r, 1e6 * slow * noise.gauss(1, 0.005)), 0
                )
        found = store.builds(db)
        during = gate(db, found, found[7])
        after = gate(db, found, found[-1])
    assert {m["by"]["revision"] for m in during["slower"]} == {"c5"}
    assert after["slower"] == []
    assert after["failed"] == []


def framed(file: Path, rows: list[dict[str, float]]) -> Any:
    """A gate over builds of three runs each, by the times of their markers in ms; noise 0.3 %."""
    noise = random.Random(4)
    with store.opened(str(file), create=True) as db:
        for b, times in enumerate(rows):
            for r in range(3):
                ns = {k: v * 1e6 * noise.gauss(1, 0.003) for k, v in times.items()}
                run = msgspec.structs.replace(
                    some_run(b * 3 + r), frame_ns=sum(ns.values()), times=tuple((k, v, "") for k, v in ns.items())
                )
                store.add(db, Key("main", f"b{b + 1}", "", ""), b, run, 0)
        found = store.builds(db)
        return gate(db, found, found[-1])


def test_the_frame_has_one_line_of_what_is_left_and_of_who_brought_it(tmp_path: Path) -> None:
    base = {"main": 9.0, "bloom": 1.9, "shadow": 1.1}
    bloom, shadow = base | {"bloom": 2.6}, base | {"shadow": 1.5}
    flare = shadow | {"flare": 0.5}
    rows = [base, base, bloom, shadow | {"bloom": 2.6}, shadow, flare, flare]
    doc = framed(tmp_path / "1", rows)
    assert [m["marker"] for m in (*doc["slower"], *doc["faster"])] == [["shadow"], ["the whole frame"]]
    assert [(p["marker"], p["by"], p["came"]) for p in doc["parts"]] == [
        (["flare"], "b6", "new"),
        (["shadow"], "b4", ""),
    ]
    assert doc["since"] == "b2" and not any("b3" in f for f in doc["failed"])  # what b5 took back fails nothing
    assert re.search(
        r"slower than b2 \(.*\): flare \+50\d \u00b5s, new \(b6\), shadow \+\d+ \u00b5s \(b4\)", doc["failed"][-1]
    )
    new = framed(tmp_path / "2", rows[:6])
    assert new["failed"][0].startswith("the whole frame 12.") and "no new change" not in verdict(new)
    assert not any("flare" in n for n in new["notes"])
    gone = framed(tmp_path / "3", [flare, flare, shadow, shadow])
    assert not gone["failed"] and "flare \u2212" in verdict(gone) and ", gone (b3)" in verdict(gone)


@pytest.mark.slow
def test_another_branch_is_held_against_the_main_one(tmp_path: Path) -> None:
    file = builds(tmp_path, 5)
    slow = [capture(tmp_path / f"s{r}.csv", {"Shadow": 1.0, "Light": 2.4, "Post": 0.5}, frame=77 + r) for r in range(2)]
    assert (
        verbs(
            "add", *slow, "--history", file, "--commit", "feature1", "--branch", "topic", "--at", DAY * 2_000
        ).return_value
        == 0
    )
    done = verbs("gate", "--history", file, "--branch", "topic", "--against", "main")
    assert done.return_value == 1
    assert "Frame # / Light 19.8 % slower since feature1" in done.stderr
    alone = verbs("gate", "--history", file, "--branch", "topic")
    assert alone.return_value == 0
    assert (
        " ".join(alone.stdout.split()) == "Frame # at feature1: first build, nothing to compare with. 1 build, 2 runs."
    )


@pytest.mark.slow
def test_single_runs_have_an_assumed_noise(tmp_path: Path) -> None:
    file = builds(tmp_path, 2, slow_from=1, factor=1.3, runs=1)
    done = verbs("gate", "--history", file)
    assert done.return_value == 1
    assert "Frame # / Light 28.4 % slower since c001" in done.stderr
    assert "noise not measured" in " ".join(done.stdout.split())
    for factor, codes in ((1.1, (0, 1)), (1.02, (0, 0))):
        (tmp_path / str(factor)).mkdir()
        file = builds(tmp_path / str(factor), 2, slow_from=1, factor=factor, runs=1)
        assert (
            verbs("gate", "--history", file).return_value,
            verbs("gate", "--history", file, "--strict").return_value,
        ) == codes
    assert "first build, nothing" in verbs("gate", "--history", file, "--strict", "--build", "c000").stdout


def test_the_same_capture_is_one_run(tmp_path: Path) -> None:
    file = builds(tmp_path, 1)
    again = verbs("add", tmp_path / "0-0.csv", "--history", file, "--commit", "c000", "--branch", "main")
    assert "already in the history" in again.stdout
    assert "3 runs" in verbs("list", "--history", file).stdout


@pytest.mark.parametrize("there", [True, False])
def test_no_link_is_followed(tmp_path: Path, there: bool) -> None:
    target, link = tmp_path / "theirs.db", tmp_path / "h.db"
    if there:
        target.write_bytes(b"")
    link.symlink_to(target)
    path = capture(tmp_path / "a.csv", {"Light": 1.0})
    for args in (("add", path, "--commit", "a1", "--history", link), ("list", "--history", link)):
        p = verbs(*args)
        assert p.exit_code != 0 and "a link, expected a file" in str(p.exception)
    assert target.exists() == there and not (there and target.read_bytes())


def test_labels_and_the_order_of_commits(tmp_path: Path) -> None:
    file = builds(tmp_path, 2)
    late = capture(tmp_path / "l.csv", {"Shadow": 1, "Light": 2, "Post": 0.5})
    verbs("add", late, "--history", file, "--commit", "old", "--branch", "main", "--at", "1970-01-05", "--label", "v1")
    first = verbs("list", "--history", file).stdout.splitlines()[0]
    assert first.startswith("1970-01-05  old ")
    assert "(v1)" in first
    assert verbs("gate", "--history", file, "--baseline", "v1").return_value == 0


def test_bad_input_is_one_line_and_nothing_is_lost(tmp_path: Path) -> None:
    missing = verbs("list", "--history", tmp_path / "no.sqlite")
    assert "no such history" in str(missing.exception)
    assert not (tmp_path / "no.sqlite").exists()
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    kept = other.read_bytes()
    good = capture(tmp_path / "a.csv", {"A": 1})
    refused = verbs("add", good, "--history", other, "--commit", "x")
    assert "another program" in str(refused.exception)
    assert other.read_bytes() == kept
    text = tmp_path / "text.sqlite"
    text.write_text("no database at all, " * 99)
    assert "not a triage history" in str(verbs("gate", "--history", text).exception)
    untimed = tmp_path / "u.csv"
    untimed.write_text("name,sm.throughput [%],vram.throughput [%]\nk,40,50\n")
    done = verbs("add", untimed, good, "--history", tmp_path / "h.sqlite", "--commit", "x", "--branch", "b")
    assert done.return_value == 2
    assert "no durations" in done.stderr
    assert "  1 run  " in verbs("list", "--history", tmp_path / "h.sqlite").stdout
    future = tmp_path / "future.sqlite"
    with store.opened(str(future), create=True) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(TriageError, match="newer triage"), store.opened(str(future)):
        pass


@pytest.mark.parametrize("version", range(1, schema.VERSION))
def test_files_of_every_earlier_version_are_opened(
    tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file as that version made it, with runs in it."""
    file = str(tmp_path / "old.sqlite")
    with monkeypatch.context() as old:
        old.setattr(store, "MIGRATIONS", schema.MIGRATIONS[:version])
        old.setattr(store, "VERSION", version)
        with store.opened(file, create=True) as db:
            for n in range(4):
                store.add(db, Key("main", f"c{n}", "", ""), n, some_run(n), 0)
            before = db.execute("SELECT * FROM time").fetchall()
    with store.opened(file) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
        assert db.execute("SELECT * FROM time").fetchall() == before
        assert [b.key.revision for b in store.builds(db)] == ["c0", "c1", "c2", "c3"]
        assert store.add(db, Key("main", "c4", "", ""), 9, some_run(9), 0, "release")
        assert gate(db, found := store.builds(db), found[-1])["failed"] == []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="writers are forked")
def test_two_hundred_killed_writers_lose_no_run_that_was_reported() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "history_kills.py", "200"],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(
        r"^20[0-4] kills, \d+ runs reported as kept, \d+ in the file; 0 lost, 0 halved, file sound", done.stdout
    )


def noisy(builds: int, markers: int, seed: int, runs: int = 3, sigma: float = 0.02) -> tuple[Any, Any]:
    noise = np.random.default_rng(seed).normal(0, sigma, (builds * runs, markers))
    return np.exp(10 + noise), np.repeat(np.arange(builds), runs)


def test_steps_are_found_where_they_are() -> None:
    times, of = noisy(60, 40, 3)
    for m, (build, size) in enumerate([(10, 0.1), (30, 0.08), (55, 0.2), (59, 0.3), (20, -0.1)]):
        times[of >= build, m] *= 1 + size
    found = {(s.marker, s.at): s for s in shifts(levels(times, of, 60))}
    assert set(found) == {(0, 10), (1, 30), (2, 55), (3, 59), (4, 20)}
    for (m, _), size in zip(sorted(found), (0.1, 0.08, 0.2, 0.3, -0.1), strict=True):
        step = next(s for s in found.values() if s.marker == m)
        assert step.low < size < step.high


def test_noise_alone_is_seldom_a_step() -> None:
    false = sum(len([s for s in shifts(levels(*noisy(100, 100, seed), 100)) if s.change > 0]) for seed in range(8))
    assert false <= 12  # one of a hundred builds, over eight hundred


def test_outliers_are_no_steps_and_hide_none() -> None:
    times, of = noisy(60, 50, 9)
    random_ = np.random.default_rng(1)
    times = np.where(random_.random(times.shape) < 0.02, times * 1.4, times)
    times[of >= 40, 7] *= 1.1
    found = [(s.marker, s.at) for s in shifts(levels(times, of, 60)) if s.change > 0]
    assert (7, 40) in found
    assert len(found) <= 3


def test_markers_that_come_and_go_are_no_trouble() -> None:
    times, of = noisy(30, 6, 4)
    times[of < 20, 0] = np.nan
    times[of > 10, 1] = np.nan
    times[:, 2] = np.nan
    times[::3, 3] = np.nan
    times[of == 4, 4] = 0
    assert all(s.marker not in (2,) for s in shifts(levels(times, of, 30)))


def test_globs_over_markers() -> None:
    name = "Frame #\x1fShadows\x1fCascade 2"
    assert all(matches(name, g) for g in ("shadows", "Cascade*", "Frame #/Shadows/*", "frame #/shadows", "*cascade*"))
    assert not any(matches(name, g) for g in ("Shadow", "Cascade", "Shadows/Cascade 3", "frame"))


@pytest.mark.parametrize(
    "sql",
    [
        "create trigger t after insert on run begin delete from run; end",
        "create view v as with recursive n(x) as (select 1 union all select x + 1 from n) select x from n",
        "create virtual table f using fts5(x)",
        "create unique index u on build (branch)",
        "create table other (x)",
        "create index i on run (path)",
    ],
)
def test_nothing_of_a_strangers_history_is_run(tmp_path: Path, sql: str) -> None:
    path = str(tmp_path / "h.sqlite")
    with store.opened(path, create=True):
        pass
    db = sqlite3.connect(path)
    db.execute(sql)
    db.commit()
    db.close()
    with pytest.raises(TriageError, match=r"not a triage history \(holds"), store.opened(path):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("table", ["run", "build", "marker", "cause"])
@pytest.mark.parametrize("command", ["list", "gate", "show"])
def test_a_history_that_claims_more_than_its_bytes_is_refused(
    tmp_path: Path, pair: Path, table: str, command: str
) -> None:
    file = Path(shutil.copy(pair, tmp_path))
    forge(file, table, 8)
    failed = verbs(command, "--history", file).exception
    if (table, command) not in (("marker", "list"), ("cause", "list")):  # a list looks at neither
        assert isinstance(failed, TriageError) and "damaged" in str(failed)


LIES = {"text": "'abc'", "nothing": "NULL", "bytes": "x'ff00'", "far": "9223372036854775807", "below": "-5", "endless": "9e999"}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("lie", LIES)
def test_cells_that_are_not_what_their_column_says_are_one_line(tmp_path: Path, lie: str, farm: Path) -> None:
    columns = {"build": ("branch", "revision", "scope", "device", "at"), "run": ("build", "path", "frame_ns"), "marker": ("name",), "cause": ("name", "title"), "time": ("ns", "cause"), "todo": ("saved_ns",), "label": ("name", "build")}  # fmt: skip
    for table, names in columns.items():
        for name in names:
            path = tmp_path / f"{table}-{name}.sqlite"
            path.write_bytes(farm.read_bytes())
            db = sqlite3.connect(path)
            db.execute("PRAGMA writable_schema = ON")
            untyped = "replace(replace(sql, 'NOT NULL', ''), ' TEXT', '')"
            db.execute(f"UPDATE sqlite_master SET sql = {untyped} WHERE name = ?", (table,))
            db.commit()
            db.close()
            db = sqlite3.connect(path)
            with contextlib.suppress(sqlite3.IntegrityError):  # of the key of a table without row numbers
                db.execute(f"UPDATE OR REPLACE {table} SET {name} = {LIES[lie]}")
            db.commit()
            db.close()
            for words in (["list"], ["gate"], ["show"], ["show", "*"], ["show", "register-spills"]):
                failed = verbs(*words, "--history", path).exception
                assert failed is None or isinstance(failed, TriageError), (table, name, words)


def test_texts_of_a_history_that_share_their_bytes_are_refused(pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("_TEXT", "_PER_BYTE"):
        monkeypatch.setattr(store, limit, 0)
    with pytest.raises(TriageError, match="more text than its bytes can hold"):
        raise verbs("list", "--history", pair).exception or AssertionError


def test_more_runs_and_markers_than_can_be_held_are_said(farm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trend, "CELLS", 10)
    assert "too many for one trend" in str(verbs("gate", "--history", farm).exception)


def test_a_flat_list_is_not_named_after_its_first_marker(tmp_path: Path) -> None:
    flat, nested = ("Shadow", "Light"), (f"Frame #{SEP}Shadow", f"Frame #{SEP}Light")
    assert not names_whole("Shadow", flat) and not names_whole("gemm", ("gemm<int> [4 x 64]", "copy [1 x 64]"))
    assert names_whole("Frame #", nested) and names_whole("game", flat)
    path = tmp_path / "flat.csv"
    path.write_text("name,gpu.time [ms]\nShadow,1\nLight,2\n")
    assert (
        verbs("add", path, "--history", tmp_path / "h.sqlite", "--commit", "c1", "--branch", "main").return_value == 0
    )
    assert verbs("gate", "--history", tmp_path / "h.sqlite").stdout.startswith("Capture at c1:")
