"""What CI services run: the script on good and bad builds, the comment through the real clients, the YAML as written."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.conftest import ROOT
from tests.helpers import forking
from tests.helpers.trackers import TOKEN, Store, serve
from tests.products.test_history import capture
from triage.ground.errors import TriageError
from triage.products.tickets import comments, trackers

SCRIPT = ROOT / "docs" / "ci" / "triage-ci.sh"
LIBRARIES = {"github": "github", "gitlab": "gitlab"}
PROJECTS = {"github": "o/r", "gitlab": "g/p"}
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="the script is written for bash")


def verbs(*args: object) -> Result:
    from triage.commands.cli import triage as group

    return CliRunner().invoke(group, [*map(str, args)], standalone_mode=False)


def ci(home: Path, commit: str, **said: str) -> subprocess.CompletedProcess[str]:
    """The script, as a service would run it for one commit."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "CI_", "TRIAGE_COMMENT"))}
    return subprocess.run(
        ["bash", str(SCRIPT)], cwd=home, capture_output=True, text=True, check=False,
        env={**clean, "PYTHONPATH": str(ROOT), "TRIAGE": f"{sys.executable} -m triage", "GITHUB_SHA": commit,
             "GITHUB_REF_NAME": "main", "TRIAGE_CAPTURES": "out/*.csv", **said},
    )  # fmt: skip


def captures(home: Path, factor: float, seed: int) -> None:
    shutil.rmtree(home / "out", ignore_errors=True)
    (home / "out").mkdir()
    noise = random.Random(seed)
    for r in range(3):
        times = {"Shadow": 1.0, "Light": 2.0 * factor, "Post": 0.5}
        capture(home / "out" / f"{r}.csv", {k: v * noise.gauss(1, 0.003) for k, v in times.items()}, frame=seed * 9 + r)


@needs_bash
def test_a_capture_called_like_an_option_is_a_capture(tmp_path: Path) -> None:
    (tmp_path / "--label=x.csv").write_text("")
    done = ci(tmp_path, "good", TRIAGE="echo", TRIAGE_CAPTURES="*.csv", TRIAGE_SCOPE="--all")
    assert done.stdout.splitlines()[0].endswith("--scope=--all -- --label=x.csv")


def test_one_scope_restores_no_other(tmp_path: Path) -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["runs"]["steps"]
    for given in (s["with"] for s in steps if "cache" in s.get("uses", "")):
        for key in (given["key"], given.get("restore-keys", given["key"])):
            assert key.replace("${{ toJSON(inputs.scope) }}", '"game"').startswith('triage-history-"game"-')


@pytest.mark.slow
@needs_bash
def test_the_script_passes_a_good_build_and_fails_a_slow_one(tmp_path: Path) -> None:
    with forking.command() as forked:
        for n, commit in enumerate(("good1", "good2", "good3")):
            captures(tmp_path, 1.0, n)
            done = ci(tmp_path, commit, TRIAGE=forked)
            assert done.returncode == 0, done.stderr
        captures(tmp_path, 1.2, 9)
        assert ci(tmp_path, "slow4", TRIAGE=forked, TRIAGE_ALLOWED="50%").returncode == 0
    done = ci(tmp_path, "slow4")
    assert done.returncode == 1
    assert "failed on history: Frame # / Light" in done.stderr and "since slow4" in done.stderr
    assert "slow4" in (tmp_path / "triage-out" / "comment.md").read_text()
    assert ElementTree.parse(tmp_path / "triage-out" / "junit.xml").find(".//failure") is not None
    assert json.loads((tmp_path / "triage-out" / "gate.json").read_text())["failed"]
    nothing = ci(tmp_path, "x", TRIAGE_CAPTURES="none/*.csv")
    assert (nothing.returncode, nothing.stderr) == (2, "triage-ci: no captures match none/*.csv\n")


@pytest.mark.slow
@needs_bash
def test_the_script_posts_its_comment(tmp_path: Path) -> None:
    pytest.importorskip("github")
    captures(tmp_path, 1.0, 1)
    with serve("github") as (url, store), forking.command() as forked:
        store.add("a pull request", "", [])
        said = {
            "TRIAGE": forked,
            "TRIAGE_COMMENT": "github",
            "TRIAGE_PROJECT": "o/r",
            "TRIAGE_NUMBER": "1",
            "TRIAGE_URL": url,
        }
        for commit in ("one", "two"):
            done = ci(tmp_path, commit, GITHUB_TOKEN=TOKEN, **said)
            assert done.returncode == 0, done.stderr
        (text,) = store.issues[1]["comments"]
        assert "at two" in text
        again = ci(tmp_path, "three", GITHUB_TOKEN="wrong", **said)
        assert again.returncode == 0  # no token, no comment; the verdict stands
        assert "the comment was not posted" in again.stderr


@pytest.fixture(params=list(LIBRARIES))
def service(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str, Store]]:
    name = str(request.param)
    pytest.importorskip(LIBRARIES[name])
    monkeypatch.setenv(trackers.TOKENS[name], TOKEN)
    with serve(name) as (url, store):
        store.add("a pull request", "", [])
        yield name, url, store


@pytest.mark.filterwarnings("ignore")  # of the client libraries
def test_one_comment_per_key_however_often(service: tuple[str, str, Store], tmp_path: Path) -> None:
    name, url, store = service
    store.issues[1]["comments"].append("somebody's own words <!-- sol-triage gate -->")
    report = tmp_path / "c.md"
    options = ("--post", name, "--project", PROJECTS[name], "--number", 1, "--url", url, "--send")
    for text in ("first", "second"):
        report.write_text(text)
        assert verbs("history", "comment", report, *options).return_value == 0
    verbs("history", "comment", report, *options, "--key", "other")
    mine = store.issues[1]["comments"][1:]
    assert mine == ["<!-- sol-triage gate -->\nsecond", "<!-- sol-triage other -->\nsecond"]
    assert store.issues[1]["comments"][0].startswith("somebody")


def test_a_dry_run_prints_and_sends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    (tmp_path / "c.md").write_text("hello\n")
    done = verbs("history", "comment", tmp_path / "c.md", "--post", "github", "--number", 1)
    assert done.stdout == "<!-- sol-triage gate -->\nhello\n"
    assert isinstance(
        verbs("history", "comment", tmp_path / "c.md", "--post", "github", "--number", 1, "--send").exception,
        TriageError,
    )
    for wrong in ("a b", "-->", ""):
        with pytest.raises(TriageError):
            comments.first_line(wrong)


def test_a_long_comment_is_cut_at_a_whole_line() -> None:
    text = comments.body("".join(f"| row {n} | größer |\n" for n in range(9_000)), "k")
    assert len(text.encode()) <= comments.MAX_COMMENT_BYTES < 65_536
    *rows, _, said = text.rstrip("\n").split("\n")
    assert said.startswith("(cut here")
    assert all(r.endswith("|") for r in rows[1:-1])


def test_the_yaml_names_what_is_there() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    steps = action["runs"]["steps"]
    assert action["runs"]["using"] == "composite"
    assert all("shell" in s for s in steps if "run" in s)
    ran = " ".join(s.get("run", "") for s in steps)
    assert "docs/ci/triage-ci.sh" in ran
    said = {k for s in steps for k in s.get("env", {})}
    known = set(re.findall(r"TRIAGE_\w+", SCRIPT.read_text("utf-8")))
    assert {k for k in said if k.startswith("TRIAGE_")} <= known
    used = set(re.findall(r"inputs\.(\w+)", (ROOT / "action.yml").read_text("utf-8")))
    assert used == set(action["inputs"])
    job = yaml.safe_load((ROOT / "docs" / "ci" / "gitlab.yml").read_text("utf-8"))[".gpu-gate"]
    assert any("docs/ci/triage-ci.sh" in line for line in job["script"])
    assert {k for k in job["variables"] if k != "TRIAGE_SOURCE"} <= known
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    blocks = [yaml.safe_load(b) for b in re.findall(r"```yaml\n(.*?)```", page, re.S)]
    assert len(blocks) == 2
    assert all(len(b.strip().splitlines()) <= 10 for b in re.findall(r"```yaml\n(.*?)```", page, re.S))
    given = blocks[0]["jobs"]["gpu"]["steps"][-1]["with"]
    assert set(given) <= set(action["inputs"])
