"""Many captures: which files are captures, names, damaged files, interruption, the same bytes every time."""

import csv
import gzip
import hashlib
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import filelock
import pytest
from click.testing import CliRunner

from tests.conftest import CORPUS
from triage.document.finding_rows import COLUMNS
from triage.ground.errors import ReportError, TriageError
from triage.ground.limiters import SURENESS
from triage.products.batch import find, run, workers
from triage.products.settings import Settings

N = int(os.environ.get("TRIAGE_BATCH_TEST", "50"))  # 200 for the full size
HEAD = "path,name,kind,gpu.time [ms],sm.throughput [%],l1tex.throughput [%],l2.throughput [%],vram.throughput [%],crop.throughput [%],l1tex.hit_rate [%],gpu.idle [%]"
TRIAGE = [sys.executable, "-m", "triage"]


def frame(path: Path, seed: int, rows: int = 8) -> Path:
    r = random.Random(seed)
    lines = [HEAD]
    for i in range(rows):
        sol = ",".join(f"{r.uniform(5, 95):.2f}" for _ in range(5))
        lines.append(f"Frame,Pass{i},fullscreen,{r.uniform(0.05, 3):.4f},{sol},{r.uniform(40, 98):.1f},0")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def tree(folder: Path) -> dict[str, str]:
    """Every file of a batch, its notes included, with its digest; the lock is no output."""
    return {
        p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name != "lock"
    }


def night(folder: Path, good: int, bad: int) -> Path:
    """Captures of several kinds and damaged ones among them."""
    r = random.Random(7)
    for i in range(good):
        path = frame(folder / f"gpu{i % 3}" / f"c{i:03}.csv", i)
        if i % 5 == 1:
            path.write_text(path.read_text().replace(",", ";"))
        if i % 5 == 2:
            path.write_bytes(path.read_text().encode("utf-16"))
    damage = (r.randbytes(2000), b"", HEAD.encode() + b"\n", b"a,b\n1,2\n", b"\x1f\x8b" + r.randbytes(500))
    for i in range(bad):
        (folder / f"bad{i:03}.csv").write_bytes(damage[i % len(damage)])
    return folder


@pytest.mark.slow
def test_a_folder_of_captures(tmp_path: Path) -> None:
    night(tmp_path / "in", 9, 5)
    found = find.gather([str(tmp_path / "in")]).captures
    b = run.run(found, Settings(formats=("json", "csv")), tmp_path / "out")
    assert len(b.captures) == 9
    assert sorted(Path(name).name for name, _ in b.errors) == [f"bad{i:03}.csv" for i in range(5)]
    with (tmp_path / "out" / "errors.csv").open(newline="") as f:
        rows = list(csv.reader(f))
    assert rows[0] == ["file", "reason"]
    assert len(rows) == 6
    assert all("\n" not in reason and reason for _, reason in rows[1:])
    assert len(list((tmp_path / "out" / "reports").glob("*.json"))) == 9
    index = (tmp_path / "out" / "index.md").read_text()
    page = (tmp_path / "out" / "index.html").read_text()
    for c in b.captures:
        assert c.path in index
        assert c.path in page
        for report in c.reports:
            assert f"({report})" in index
            assert (tmp_path / "out" / report).is_file()
    with (tmp_path / "out" / "findings.csv").open(newline="") as f:
        table = list(csv.DictReader(f))
    assert len(table) == b.findings
    assert {row["capture"] for row in table} == {c.path for c in b.captures if c.first != "no findings"}


@pytest.mark.slow
def test_captures_are_ranked_by_recoverable_time_and_causes_by_gain(tmp_path: Path) -> None:
    night(tmp_path / "in", 12, 0)
    b = run.run(find.gather([str(tmp_path / "in")]).captures, Settings(formats=("csv",)), tmp_path / "out")
    gains = [c.recoverable_ns for c in b.captures]
    assert gains == sorted(gains, reverse=True)
    weighed = [c["saved_ns"] * SURENESS[c["confidence"]] for c in b.causes]
    assert weighed == sorted(weighed, reverse=True)
    assert list(b.drawn) == sorted(c.path for c in b.captures)  # a dozen is drawn
    for cause in b.causes:
        parts = [saved[cause["cause"]] for saved in b.drawn.values() if cause["cause"] in saved]
        assert cause["captures"] == len(parts)
        assert cause["saved_ns"] == pytest.approx(sum(parts))


def test_what_is_kept_of_a_capture_does_not_grow_with_its_causes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A night's captures stand in memory side by side until the index is written."""
    monkeypatch.setattr(run.index, "MAX_DRAWN_CAPTURES", 2)
    night(tmp_path / "in", 6, 0)
    b = run.run(find.gather([str(tmp_path / "in")]).captures, Settings(formats=("csv",)), tmp_path / "out")
    assert b.causes and len(pickle.dumps(b.captures)) < 700 * len(b.captures)
    assert sum(bool(c.limiters) for c in b.captures) == 2
    page = (tmp_path / "out" / "index.html").read_text()
    assert page.count('class="strip"') == page.count('class="span"') == 0
    assert page.count('class="who"') > 6


def test_header_of_the_findings_table_is_that_of_the_csv_report(tmp_path: Path) -> None:
    import triage

    assert list(triage.diagnose(frame(tmp_path / "a.csv", 1)).to_frame().columns) == list(COLUMNS)


def test_parquet_holds_the_same_findings(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    night(tmp_path / "in", 4, 1)
    b = run.run(find.gather([str(tmp_path / "in")]).captures, Settings(formats=("csv",)), tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "findings.parquet")
    assert table.num_rows == b.findings
    assert table.column_names == list(COLUMNS)
    assert table.schema.field("saved_ms").metadata == {b"unit": b"ms"}


@pytest.mark.slow
def test_processes_write_what_one_process_writes(tmp_path: Path) -> None:
    night(tmp_path / "in", 7, 3)
    found = find.gather([str(tmp_path / "in")]).captures
    run.run(found, Settings(formats=("json",)), tmp_path / "one", jobs=1)
    run.run(found, Settings(formats=("json",)), tmp_path / "two", jobs=2)
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


@pytest.mark.slow
def test_killed_half_way_and_resumed_gives_the_same_bytes(tmp_path: Path) -> None:
    night(tmp_path / "in", N * 9 // 10, N // 10)
    command = [*TRIAGE, "batch", "in", "-f", "json", "--jobs", "2"]
    straight = subprocess.run([*command, "-o", "straight"], cwd=tmp_path, capture_output=True, text=True)
    assert straight.returncode == 0, straight.stderr
    with subprocess.Popen(
        [*command, "-o", "killed"], cwd=tmp_path, stderr=subprocess.DEVNULL, start_new_session=True
    ) as victim:
        wait_for(tmp_path / "killed", N // 4, victim)
        os.kill(victim.pid, signal.SIGKILL)  # the workers must notice by themselves
        victim.wait()
    assert gone(victim.pid), "workers outlived their parent"
    for path in (tmp_path / "killed").rglob("*"):
        if path.is_file() and path.suffix == ".json":
            assert path.read_text().rstrip().endswith("}"), f"{path} is half-written"
    (tmp_path / "killed" / "reports" / ".left.json.0123abcd.part").write_text("half")
    again = subprocess.run([*command, "-o", "killed", "--resume"], cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert "kept from before" in again.stderr
    assert tree(tmp_path / "killed") == tree(tmp_path / "straight")
    assert len(list((tmp_path / "killed" / "reports").glob("*.json"))) == N * 9 // 10


def wait_for(out: Path, reports: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(12_000):
        if len(list(out.glob("reports/*.json"))) >= reports:
            return
        assert process.poll() is None, "the batch ended before it could be killed"
        time.sleep(0.02)
    raise AssertionError("no progress")


def gone(session: int) -> bool:
    """Is no process of a session left? Waits up to a minute for the workers to notice."""
    if not shutil.which("ps"):
        return True
    for _ in range(600):
        left = subprocess.run(["ps", "-o", "pid=", "-s", str(session)], capture_output=True, text=True).stdout.split()
        if not left:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_interrupt_leaves_no_process_and_no_half_written_file(tmp_path: Path) -> None:
    night(tmp_path / "in", 40, 0)
    command = [*TRIAGE, "batch", "in", "-o", "out", "-f", "json", "--jobs", "2"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True) as p:
        wait_for(tmp_path / "out", 3, p)
        os.killpg(p.pid, signal.SIGINT)
        _, err = p.communicate(timeout=120)
    assert p.returncode == 130
    assert "Traceback" not in err
    assert gone(p.pid)
    assert not list((tmp_path / "out").rglob("*.part"))


@pytest.mark.slow
def test_resume_does_again_what_changed(tmp_path: Path) -> None:
    night(tmp_path / "in", 4, 1)
    found = find.gather([str(tmp_path / "in")]).captures
    settings, out = Settings(formats=("json",)), tmp_path / "out"
    run.run(found, settings, out)
    assert run.run(found, settings, out, resume=True).kept == 4
    frame(tmp_path / "in" / "gpu0" / "c000.csv", 99)
    assert run.run(found, settings, out, resume=True).kept == 3
    assert run.run(found, Settings(formats=("json",), min_gain=0.01), out, resume=True).kept == 0
    report = next((out / "reports").glob("c001*"), None) or next((out / "reports").glob("*c001*"))
    report.write_text("{}")
    assert run.run(found, Settings(formats=("json",), min_gain=0.01), out, resume=True).kept == 3
    fresh = tmp_path / "fresh"
    run.run(found, Settings(formats=("json",), min_gain=0.01), fresh)
    assert tree(out) == tree(fresh)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["null", "[]", "[[", "cut", "rows", "files", "summary", "cell"])
def test_a_damaged_note_is_a_capture_that_is_not_done(tmp_path: Path, what: str) -> None:
    night(tmp_path / "in", 2, 0)
    found = find.gather([str(tmp_path / "in")]).captures
    settings, out = Settings(formats=("json",)), tmp_path / "out"
    run.run(found, settings, out)
    whole = tree(out)
    note = out / ".triage" / f"{found[0].slug}.json"
    text = note.read_text("utf-8")
    said = json.loads(text)
    odd = {"rows": [[1], [2, 3]], "files": None, "summary": None}
    if what in odd:
        text = json.dumps({**said, what: odd[what]})
    elif what == "cell":
        text = json.dumps({**said, "rows": [[*said["rows"][0][:-1], {}], *said["rows"][1:]]})
    note.write_text(text[:-9] if what == "cut" else text if what in (*odd, "cell") else what, "utf-8")
    assert run.run(found, settings, out, resume=True).kept == 1
    assert tree(out) == whole


def test_captures_that_are_gone_take_their_reports_along(tmp_path: Path) -> None:
    night(tmp_path / "in", 4, 0)
    out = tmp_path / "out"
    run.run(find.gather([str(tmp_path / "in")]).captures, Settings(formats=("json",)), out)
    (out / "reports" / "mine.json").write_text("not ours")
    (tmp_path / "in" / "gpu0" / "c000.csv").unlink()
    run.run(find.gather([str(tmp_path / "in")]).captures, Settings(formats=("csv",)), out, resume=True)
    assert sorted(p.name for p in (out / "reports").glob("*.json")) == ["mine.json"]
    assert len(list((out / "reports").glob("*.csv"))) == 3


def test_a_second_batch_into_the_same_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out" / ".triage").mkdir(parents=True)
    with filelock.FileLock(tmp_path / "out" / ".triage" / "lock"), pytest.raises(ReportError, match="another batch"):
        run.run([], Settings(), tmp_path / "out")
    run.run([], Settings(), tmp_path / "out")


def test_a_lock_dies_with_its_process(tmp_path: Path) -> None:
    state = tmp_path / "out" / ".triage"
    state.mkdir(parents=True)
    hold = "import filelock, sys, time; lock = filelock.FileLock(sys.argv[1]); lock.acquire(); print(1, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", hold, str(state / "lock")], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        try:
            with pytest.raises(ReportError) as refused:
                run.run([], Settings(), tmp_path / "out")
        finally:
            holder.kill()
    assert str(refused.value) == f"{tmp_path / 'out'}: another batch writes there - wait for it, or choose another -o"
    run.run([], Settings(), tmp_path / "out")


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_a_planted_lock_is_an_error_and_its_target_stays(tmp_path: Path) -> None:
    (tmp_path / "out" / ".triage").mkdir(parents=True)
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "out" / ".triage" / "lock").symlink_to(tmp_path / "precious")
    with pytest.raises(ReportError, match="cannot be locked"):
        run.run([], Settings(), tmp_path / "out")
    assert (tmp_path / "precious").read_text() == "mine"


def night_run(*args: str) -> tuple[int, str]:
    from triage.commands.cli import triage

    result = CliRunner().invoke(triage, ["batch", *args], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.return_value, result.output  # click 8.1 keeps no stderr of its own


@pytest.mark.slow
def test_exit_codes_and_the_summary_line(tmp_path: Path) -> None:
    night(tmp_path / "in", 3, 2)
    source, out = str(tmp_path / "in"), str(tmp_path / "out")
    code, err = night_run(source, "-o", out, "-f", "csv", "--jobs", "1")
    assert code == 0
    assert "3 captures" in err
    assert "2 files skipped (reasons: errors.csv)" in err
    assert night_run(source, "-o", out, "-f", "csv", "--jobs", "1", "--strict")[0] == 2
    code, err = night_run(str(tmp_path / "in" / "bad000.csv"), "-o", out, "-f", "csv")
    assert code == 2 and len(err.splitlines()) == 1 and "binary data" in err  # one fact, one line
    bad = [str(tmp_path / "in" / f"bad00{i}.csv") for i in range(2)]
    code, err = night_run(*bad, "-o", out, "-f", "csv", "--jobs", "1")
    assert code == 2 and err.splitlines()[-1] == f"triage: none of 2 captures could be read - see {out}/errors.csv"
    (tmp_path / "empty").mkdir()
    with pytest.raises(TriageError, match="no captures"):
        night_run(str(tmp_path / "empty"), "-o", out)
    with pytest.raises(TriageError, match="unknown format"):
        night_run(source, "-o", out, "-f", "nonsense")


def test_a_path_that_does_not_exist_is_an_error_line(tmp_path: Path) -> None:
    frame(tmp_path / "a.csv", 1)
    found = find.gather([str(tmp_path / "a.csv"), str(tmp_path / "nope.csv"), str(tmp_path / "none-*.csv")]).captures
    b = run.run(found, Settings(formats=("csv",)), tmp_path / "out")
    assert len(b.captures) == 1
    assert [reason for _, reason in b.errors] == ["no such file or folder - check the path"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_same_rows_under_other_names_count_once(tmp_path: Path, jobs: int) -> None:
    one = frame(tmp_path / "in" / "b.csv", 1)
    frame(tmp_path / "in" / "c.csv", 2)
    alone = run.run(find.gather([str(tmp_path / "in")]).captures, Settings(formats=("json",)), tmp_path / "alone")
    shutil.copy(one, tmp_path / "in" / "d.csv")
    (tmp_path / "in" / "a.csv").write_bytes(one.read_bytes().replace(b"\n", b"\r\n"))
    (tmp_path / "in" / "e.csv.gz").write_bytes(gzip.compress(one.read_bytes()))
    found = find.gather([str(tmp_path / "in")]).captures
    b = run.run(found, Settings(formats=("json",)), tmp_path / "out", jobs=jobs)
    assert [Path(s["path"]).name for s in b.same] == ["b.csv", "d.csv", "e.csv.gz"]
    assert {Path(s["first"]).name for s in b.same} == {"a.csv"}
    assert {Path(c.path).name for c in b.captures} == {"a.csv", "c.csv"}
    assert (b.findings, [c["saved_ns"] for c in b.causes]) == (alone.findings, [c["saved_ns"] for c in alone.causes])
    lines = [len((tmp_path / out / "findings.csv").read_text().splitlines()) for out in ("out", "alone")]
    assert lines[0] == lines[1] == b.findings + 1
    assert "3 duplicates" in b.line()
    for name in ("index.md", "index.html"):
        text = (tmp_path / "out" / name).read_text()
        assert "Duplicate captures" in text and all(s["reports"][0] in text for s in b.same)
        assert (tmp_path / "out" / b.same[0]["reports"][0]).is_file()
        assert "Duplicate captures" not in (tmp_path / "alone" / name).read_text()
    before = tree(tmp_path / "out")
    again = run.run(found, Settings(formats=("json",)), tmp_path / "out", resume=True)
    assert (again.kept, tree(tmp_path / "out")) == (5, before)


def test_globs_folders_and_files_name_a_capture_once(tmp_path: Path) -> None:
    for i in range(3):
        frame(tmp_path / "in" / f"c{i}.csv", i)
    g = find.gather([str(tmp_path / "in"), str(tmp_path / "in" / "*.csv"), str(tmp_path / "in" / "c1.csv")])
    assert len(g.captures) == 3
    assert len(find.gather([str(tmp_path / "**" / "*.csv")]).captures) == 3
    with pytest.raises(TriageError, match="standard input"):
        find.gather(["-"])


def test_the_output_folder_is_never_input(tmp_path: Path) -> None:
    frame(tmp_path / "a.csv", 1)
    for _ in range(2):
        run.run(
            find.gather([str(tmp_path)], str(tmp_path / "out")).captures, Settings(formats=("csv",)), tmp_path / "out"
        )
    assert len(find.gather([str(tmp_path)], str(tmp_path / "elsewhere")).captures) == 1


def test_exports_that_are_folders_are_one_capture_and_companions_none(tmp_path: Path) -> None:
    if not CORPUS.exists():
        pytest.skip("the corpus of real exports is not beside this checkout")
    g = find.gather([str(CORPUS / "nsight_graphics"), str(CORPUS / "rocprof_compute"), str(CORPUS / "renderdoc")])
    names = {Path(c.path).relative_to(CORPUS).as_posix() for c in g.captures}
    assert "nsight_graphics/scan-tile-throughput/BASE" in names
    assert "rocprof_compute/vcopy-mi200-omniperf2" in names
    assert "renderdoc/unity-frame/example-counters.csv" in names
    assert not [n for n in names if "D3DPERF" in n or "sysinfo" in n or "events.txt" in n or "MANIFEST" in n]


@pytest.mark.parametrize(
    "name",
    [
        "CON",
        "aux.csv",
        "nul.txt",
        "../../etc/passwd",
        "a/../b.csv",
        "x" * 400 + ".csv",
        "日本語.csv",
        "a:b*c?.csv",
        " .csv",
        ".",
        "-rf.csv",
        "COM1.csv.gz",
    ],
)
def test_report_names_are_safe_everywhere(name: str) -> None:
    slug = find.slugify(name)
    assert len(slug) <= 80
    assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")
    assert slug.split("-")[0].upper() not in ("CON", "AUX", "NUL", "COM1") or "-" in slug
    assert not slug.startswith("-")


def test_report_names_never_clash(tmp_path: Path) -> None:
    names = ["a b.csv", "a-b.csv", "A-B.csv", "a_b.csv", "a?b.csv", "sub/a-b.csv"]
    paths = [str(frame(tmp_path / "one" / n, i)) for i, n in enumerate(names)]
    paths += [str(frame(tmp_path / "two" / n, i)) for i, n in enumerate(names)]
    slugs = [c.slug for c in find.gather(paths).captures]
    assert len({s.casefold() for s in slugs}) == len(paths)
    both = [c.slug for c in find.gather([str(tmp_path / "one"), str(tmp_path / "two")]).captures]
    assert len(set(both)) == len(paths)


def test_cells_that_a_spreadsheet_would_run_are_made_inert(tmp_path: Path) -> None:
    path = frame(tmp_path / "=cmd.csv", 3, rows=2)
    path.write_text(path.read_text().replace("Pass0", "=HYPERLINK(1)").replace("Pass1", "@SUM(A1)"))
    run.run(find.gather([str(path)]).captures, Settings(formats=("csv",)), tmp_path / "out")
    with (tmp_path / "out" / "findings.csv").open(newline="") as f:
        cells = [cell for row in csv.reader(f) for cell in row]
    assert "'=HYPERLINK(1)" in cells
    assert not [c for c in cells if c[:1] in ("=", "+", "@")]


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
def test_everything_passed_over_has_a_reason(tmp_path: Path) -> None:
    home = tmp_path / "in"
    for name in ("decoy/a.csv", "old/b.csv", ".hidden/c.csv", "originals.csv"):
        frame(home / name, 1)
    (home / "decoy" / ".triage").mkdir()
    (home / "decoy" / ".triage" / "settings.json").write_text("{}")  # another program's
    (home / "old" / ".triage").mkdir()
    (home / "old" / ".triage" / "lock").touch()
    (home / "way").symlink_to(home / "decoy")
    (home / "gone.csv").symlink_to(home / "nowhere")
    (home / "itself.csv").symlink_to("itself.csv")
    os.mkfifo(home / "pipe.csv")
    (home / "MANIFEST.tsv").write_text("path\tname\n1\t2\n")
    g = find.gather([str(home)])
    assert [c.name for c in g.captures] == ["decoy/a.csv", "originals.csv"]
    assert {Path(path).name for path, why in g.passed if why} == {
        "old", ".triage", ".hidden", "way", "gone.csv", "itself.csv", "pipe.csv", "MANIFEST.tsv",
    }  # fmt: skip


def test_another_programs_index_is_left_alone(tmp_path: Path) -> None:
    night(tmp_path / "in", 1, 0)
    found = find.gather([str(tmp_path / "in")]).captures
    (tmp_path / "out" / ".triage").mkdir(parents=True)
    (tmp_path / "out" / ".triage" / "settings.json").write_text("{}")
    (tmp_path / "out" / "index.html").write_text("mine")
    with pytest.raises(ReportError, match="not written by triage batch"):
        run.run(found, Settings(formats=("csv",)), tmp_path / "out")
    (tmp_path / "out" / "index.html").unlink()
    run.run(found, Settings(formats=("csv",)), tmp_path / "out")
    run.run(found, Settings(formats=("csv",)), tmp_path / "out")
    assert (tmp_path / "out" / ".triage" / "settings.json").read_text() == "{}"


@pytest.mark.slow
def test_a_worker_that_dies_costs_one_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    night(tmp_path / "in", 6, 0)
    found = find.gather([str(tmp_path / "in")]).captures
    monkeypatch.setattr(workers, "work", killer)
    outcomes = {o.found.path: o.error for o in workers.local(found, Settings(formats=("csv",)), 2)}
    assert len(outcomes) == 6
    assert [Path(p).name for p, e in outcomes.items() if "worker process died" in e] == ["c003.csv"]
    assert sum(not e for e in outcomes.values()) == 5


def killer(found: find.Found, settings: Settings) -> workers.Outcome:
    if found.path.endswith("c003.csv"):
        os._exit(9)
    return workers.Outcome(found)


def test_remote_paths(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for i in range(3):
        memory.pipe(f"/night/c{i}.csv", frame(tmp_path / "x.csv", i).read_bytes())
    memory.pipe("/night/bad.csv", b"")
    g = find.gather(["memory://night/*.csv"])
    assert [c.name for c in g.captures] == ["bad.csv", "c0.csv", "c1.csv", "c2.csv"]
    b = run.run(g.captures, Settings(formats=("json",)), tmp_path / "out")
    assert (len(b.captures), len(b.errors)) == (3, 1)
    assert run.run(g.captures, Settings(formats=("json",)), tmp_path / "out", resume=True).kept == 3


def test_captures_are_called_by_what_tells_them_apart() -> None:
    from triage.products.batch.index import called, folder

    assert called(["a/x.csv", "b/x.csv", "c\\y.csv", "z"]) == ["a/x.csv", "b/x.csv", "y.csv", "z"]
    assert called(["d/frame/BASE", "e/frame/BASE", "BASE"]) == ["d/frame", "e/frame", "BASE"]
    assert called(["1/a/x", "2/a/x"]) == ["1/a/x", "2/a/x"] and called([]) == []
    assert (folder("a/b/x.csv", "x.csv"), folder("x.csv", "x.csv"), folder("d/f/BASE", "f")) == ("a/b", "", "d/f/BASE")
