"""Captures as people name them, the same in every command; formats implied by names; words for small consoles."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT, SAMPLES, run
from triage.commands import _common, _inputs, cli
from triage.ground.errors import CaptureError

ONE = SAMPLES / "compare" / "ssr_before.csv"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("a.csv", "b 1.csv", "odd[1].csv", "'quoted'.csv"):
        (tmp_path / name).write_bytes(ONE.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("a.csv", "a.csv"),
        ("'a.csv'", "a.csv"),
        ('"b 1.csv"', "b 1.csv"),
        (" 'a.csv' ", "a.csv"),
        ("~/a.csv", "{home}/a.csv"),
        ("file://{home}/b%201.csv", "{home}/b 1.csv"),
        ("FILE://localhost{home}/a.csv", "{home}/a.csv"),
        # what exists under the very name is taken as it is
        ("odd[1].csv", "odd[1].csv"),
        ("'quoted'.csv", "'quoted'.csv"),
        ("-", "-"),
        ("gone.csv", "gone.csv"),
    ],
)
def test_what_was_typed_is_understood(typed: str, meant: str, folder: Path) -> None:
    typed, meant = (text.replace("{home}", str(folder)) for text in (typed, meant))
    assert _inputs.spelled(typed) == meant
    assert _inputs.expanded(typed) == (meant,)
    assert _inputs.single(typed) == meant


def test_a_pattern_names_what_matches(folder: Path) -> None:
    assert _inputs.expanded("*.csv") == ("'quoted'.csv", "a.csv", "b 1.csv", "odd[1].csv")
    assert _inputs.single("a*.csv") == "a.csv"
    with pytest.raises(CaptureError, match="matches 4 files"):
        _inputs.single("*.csv")
    with pytest.raises(CaptureError, match="no file matches"):
        _inputs.expanded("*.xls")


@pytest.mark.slow
@given(st.text(max_size=40))
def test_any_text_is_a_place_or_one_clear_error(text: str) -> None:
    try:
        found = _inputs.expanded(text)
    except CaptureError:
        return
    assert found and all(isinstance(f, str) for f in found)


COMMANDS: dict[str, list[str]] = {
    "diagnose": ["diagnose", "{}"],
    "facts": ["facts", "{}"],
    "explain": ["explain", "high-sol", "--on", "{}"],
    "compare": ["compare", "{}", str(ONE)],
    "tickets": ["tickets", "{}", "-o", "out"],
    "batch": ["batch", "{}", "-o", "out"],
    "opinions": ["diagnose", "{}", "--opinions"],
    "history": ["history", "add", "{}", "--history", "h.db", "--commit", "1"],
    "comment": ["history", "comment", "{}", "--post", "github", "--project", "a/b", "--number", "1"],
    "marker": ["explain", "ScreenSpaceReflections", "--on", "{}"],
}
# commands whose arguments are no captures: folders and rule files have a test of their own, words are no places
ELSEWHERE = {"check", "watch", "mcp", "demo", "list", "occupancy"}


def test_every_command_with_captures_is_in_the_table() -> None:
    verbs = {args[0] for args in COMMANDS.values()}
    assert verbs | ELSEWHERE == set(cli.VERBS) and not verbs & ELSEWHERE


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_reads_and_refuses_alike(name: str, folder: Path) -> None:
    for typed in ("'a.csv'", f"file://{folder}/a.csv", "a*.csv"):
        p = run(*(part.format(typed) for part in COMMANDS[name]), cwd=folder)
        assert p.returncode == 0, f"{typed}: {p.stderr}"
    for address in ("http://host/a.csv", "https://host/a.csv"):
        p = run(*(part.format(address) for part in COMMANDS[name]), cwd=folder)
        assert p.returncode == 2 and "not opened" in p.stderr and len(p.stderr.splitlines()) == 1, p.stderr


@pytest.mark.slow
@pytest.mark.parametrize("spelled", ["{}", '"{}"', "file://{}"])
def test_folders_and_outputs_are_read_as_captures_are(spelled: str, folder: Path) -> None:
    box, out = folder / "in", folder / "out of"
    box.mkdir()
    (box / "a.csv").write_bytes(ONE.read_bytes())
    seen = run("watch", "--once", "--every", 0.05, spelled.format(box), "-o", spelled.format(out))
    assert seen.returncode == 0 and (out / "index.html").is_file(), seen.stderr
    refused = run("watch", "--once", "https://example.org/box", "-o", out)
    assert refused.returncode == 2 and "not opened" in refused.stderr
    rules = spelled.format(ROOT / "rules" / "amd" / "one-large-group.yaml")
    assert run("check", rules).returncode == 0


@pytest.mark.parametrize(
    ("output", "fmt"),
    [
        ("r.html", "html"),
        ("r.HTM", "html"),
        ("r.json", "json"),
        ("r.md", "markdown"),
        ("r.csv", "csv"),
        ("r.xml", "junit"),
        ("r.jira.txt", "jira"),
        ("r.txt", "terminal"),
        ("r", "terminal"),
        (None, "terminal"),
    ],
)
def test_the_name_of_the_output_implies_the_format(output: str | None, fmt: str) -> None:
    assert _common.implied(None, output) == fmt
    assert _common.implied("json", output) == "json"
    assert _common.implied(None, output, ("terminal",)) == "terminal"


@pytest.mark.slow
def test_formats_follow_names_on_the_command_line(folder: Path) -> None:
    for verb in (
        ["diagnose", "a.csv"],
        ["compare", "a.csv", "a.csv"],
        ["occupancy", "--arch", "sm_86", "--threads", "64", "--regs", "40"],
    ):
        assert run(*verb, "-o", "r.html", cwd=folder).returncode == 0
        assert (folder / "r.html").read_text().startswith("<!doctype html>")
        (folder / "r.html").unlink()


def test_nothing_at_all_prints_the_help() -> None:
    p = run()
    assert p.returncode == 0 and p.stderr == ""
    assert "Usage: triage" in p.stdout and len(p.stdout.splitlines()) > 10 and "diagnose" in p.stdout


@pytest.mark.slow
@pytest.mark.parametrize("spelled", ["{}/o.md", "'{}/o.md'", "file://{}/o.md"])
@pytest.mark.parametrize(
    "verb",
    [
        ["diagnose", "a.csv"],
        ["compare", "a.csv", "a.csv"],
        ["occupancy", "--arch", "sm_86", "--threads", "64", "--regs", "40"],
        ["occupancy", "--tile", "16x16", "--border", "1"],
    ],
    ids=lambda v: " ".join(v[:2]),
)
def test_outputs_are_named_alike(verb: list[str], spelled: str, folder: Path) -> None:
    p = run(*verb, "-o", spelled.format(folder), cwd=folder)
    assert p.returncode == 0 and (folder / "o.md").stat().st_size > 100, p.stderr
    refused = run(*verb, "-o", "https://host/o.md", cwd=folder)
    assert refused.returncode == 2 and "not opened" in refused.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems open pages without $BROWSER")
def test_the_demo_opens_in_the_browser_that_is_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """$BROWSER gets the page's address; without any browser one line says where the page lies."""
    browser = folder / "browser"
    browser.write_text('#!/bin/sh\nprintf %s "$1" > "$(dirname "$0")/asked"\n')
    browser.chmod(0o755)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BROWSER", str(browser))
    p = run("demo", "--open", cwd=folder)
    page = Path(p.stdout.strip())
    assert p.returncode == 0 and p.stderr == "" and (folder / "asked").read_text() == page.as_uri()
    assert page.read_text("utf-8").startswith("<!doctype html>")
    named = run("demo", "--open", "-o", "my demo.html", cwd=folder)
    assert named.returncode == 0 and (folder / "asked").read_text() == (folder / "my demo.html").as_uri()
    monkeypatch.delenv("BROWSER")
    monkeypatch.setenv("PATH", str(folder / "nothing"))
    p = run("demo", "--open", "-o", "demo.html", cwd=folder)
    assert p.returncode == 2 and p.stderr.strip() == "triage: no browser found - open demo.html"
    assert (folder / "demo.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.slow
def test_the_demo_needs_no_checkout(folder: Path) -> None:
    p = run("demo", cwd=folder)
    assert p.returncode == 0 and "recoverable" in p.stdout
    assert "note: a synthetic capture: nothing in it was measured" in p.stdout
    p = run("demo", "-o", "demo.html", cwd=folder)
    assert p.returncode == 0 and p.stdout.strip() == "demo.html"
    assert (folder / "demo.html").read_text().rstrip().endswith("</html>")
    for what, place in (("frame", "demo_frame"), ("kernel", "transpose.ncu-rep"), ("trace", "training.pt.trace.json")):
        assert run("demo", what, "--copy", "own", cwd=folder).stdout.split() == [str(Path("own") / place)]
    assert "recoverable" in run("diagnose", Path("own") / "demo_frame", cwd=folder).stdout
    again = run("demo", "--copy", "own", cwd=folder)
    assert again.returncode == 2 and again.stderr.strip().endswith("exists already - name another folder")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp437", "utf-8"])
def test_a_console_of_few_characters_loses_no_figure(encoding: str) -> None:
    command = [sys.executable, "-m", "triage", "diagnose", str(SAMPLES / "gpu-trace" / "demo_frame"), "--full"]
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    p = subprocess.run(command, capture_output=True, encoding=encoding, cwd=ROOT, env=env, timeout=300, check=False)
    assert p.returncode == 0 and "?" not in p.stdout
    arrow = "→" if "→".encode(encoding, "ignore") else "->"
    assert arrow in p.stdout


@pytest.mark.slow
def test_fail_on_says_what_failed() -> None:
    p = run("diagnose", SAMPLES / "gpu-trace" / "demo_frame", "--fail-on", "low")
    assert p.returncode == 1
    assert "failed on low: " in p.stderr and len(p.stderr.splitlines()) == 1


def test_output_makes_no_folder_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from triage.files import writing
    from triage.ground.errors import ReportError

    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for path in ("deep/er/x.html", str(tmp_path / "x.html"), str(tmp_path / "here" / "new" / "x.html")):
        with writing.sink(path) as write:
            write("x")
        assert Path(path).read_text() == "x"
    with (
        pytest.raises(ReportError, match=r"there: no such folder - make it first"),
        writing.sink(str(tmp_path / "there" / "x.html")),
    ):
        pass
    assert not (tmp_path / "there").exists()
