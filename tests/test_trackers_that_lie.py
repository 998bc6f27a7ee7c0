"""Trackers that stall and lie, on this machine: one line, no token, no ticket twice, nothing a terminal obeys."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import diagnosis, generic, run
from tests.helpers.liars import LIES, lying
from tests.helpers.trackers import TOKEN, serve
from triage.ground.errors import TriageError
from triage.products.tickets import comments, guarded, tickets, trackers

PROJECTS = {"github": "o/r", "gitlab": "g/p", "jira": "GPU", "redmine": "frames"}
LIBRARIES = {"github": "github", "gitlab": "gitlab", "jira": "jira", "redmine": "redminelib"}
pytestmark = pytest.mark.filterwarnings("ignore")  # of the client libraries
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.fixture(scope="module")
def ticket(tmp_path_factory: pytest.TempPathFactory) -> tickets.Ticket:
    return tickets.make(diagnosis(capture(tmp_path_factory.mktemp("in") / "a.csv")).bundle)[0]


def capture(path: Path) -> Path:
    units = {"sm.throughput": 30, "l1tex.throughput": 20, "vram.throughput": 25, "l2.throughput": 9, "gpu.idle": 40}
    return generic(path, [{"name": f"Pass{i}", "gpu.time": 2 + i / 10, **units} for i in range(4)])


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that a test can wait for."""
    for name, value in (("TIMEOUT", 1), ("SECONDS", 0.5), ("LARGEST", 1 << 20), ("MOST", 20)):
        monkeypatch.setattr(guarded, name, value)
    for variable in trackers.TOKENS.values():
        monkeypatch.setenv(variable, TOKEN)
    monkeypatch.delenv("JIRA_USER", raising=False)


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("name", PROJECTS)
def test_a_lie_is_one_line(name: str, lie: str, hurry: None, ticket: tickets.Ticket, tmp_path: Path) -> None:
    pytest.importorskip(LIBRARIES[name])
    with lying(LIES[lie]) as (url, heard), pytest.raises(TriageError) as e:
        trackers.sync(trackers.connect(name, PROJECTS[name], url), ticket, tmp_path)
    text = str(e.value)
    assert "\n" not in text and TOKEN not in text and len(text) < 1_000
    # one attempt to file, whatever came back; and an end to every list
    assert heard.methods.count("POST") <= 1 and 0 < len(heard.methods) <= guarded.MOST + 1, heard.methods


@pytest.mark.parametrize("lie", ["silent", "dripping", "half a JSON", "error", "wait"])
@pytest.mark.parametrize("name", comments.SERVICES)
def test_a_lie_about_comments_is_one_line(name: str, lie: str, hurry: None) -> None:
    pytest.importorskip(LIBRARIES[name])
    with lying(LIES[lie]) as (url, heard), pytest.raises(TriageError) as e:
        comments.post(name, PROJECTS[name], 7, "k", "text", url)
    assert "\n" not in str(e.value) and TOKEN not in str(e.value)
    assert heard.methods.count("POST") <= 1 and 0 < len(heard.methods) <= guarded.MOST + 1, heard.methods


@pytest.mark.parametrize("name", PROJECTS)
def test_a_ticket_whose_answer_is_lost_is_not_filed_twice(
    name: str, hurry: None, ticket: tickets.Ticket, tmp_path: Path
) -> None:
    pytest.importorskip(LIBRARIES[name])
    with serve(name) as (url, store):
        store.lost = True
        with pytest.raises(TriageError):
            trackers.sync(trackers.connect(name, PROJECTS[name], url), ticket, tmp_path)
        assert len(store.issues) == 1
        store.lost = False
        assert "updated" in trackers.sync(trackers.connect(name, PROJECTS[name], url), ticket, tmp_path)
        assert len(store.issues) == 1


@pytest.mark.parametrize("name", PROJECTS)
def test_the_command_says_one_line(name: str, tmp_path: Path) -> None:
    pytest.importorskip(LIBRARIES[name])
    with lying(LIES["a teapot"]) as (url, _):
        where = ("--post", name, "--project", PROJECTS[name], "--url", url, "--scope", "game", "--send")
        p = run(
            "tickets", capture(tmp_path / "a.csv"), "-o", tmp_path / "t", *where, env={trackers.TOKENS[name]: TOKEN}
        )
    lines = p.stderr.splitlines()
    assert p.returncode == 2 and len([x for x in lines if not x.startswith("triage: note")]) == 1, p.stderr
    assert lines[-1].startswith(f"triage: {name}: ")
    assert not OBEYED.search((p.stdout + p.stderr).replace("\n", "")) and TOKEN not in p.stdout + p.stderr
