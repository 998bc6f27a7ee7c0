"""Trackers: filed once, updated ever after, through the real client libraries.

GitHub, GitLab, Jira and Redmine are contract fakes here; a real Redmine is used where its Debian packages are
installed (TRIAGE_REDMINE=1 asks for it, TRIAGE_REDMINE="URL KEY" names one that runs).
"""

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.conftest import ROOT, diagnosis
from tests.helpers.trackers import TOKEN, Store, serve
from triage.ground.errors import TriageError
from triage.products.tickets import compose, ticket_folder, trackers
from triage.products.tickets.ticket import Ticket

NAMES = ("github", "gitlab", "jira", "redmine")
PROJECTS = {"github": "o/r", "gitlab": "g/p", "jira": "GPU", "redmine": "frames"}
LIBRARIES = {"github": "github", "gitlab": "gitlab", "jira": "jira", "redmine": "redminelib"}
pytestmark = pytest.mark.filterwarnings("ignore")  # of the client libraries
HEAD = "path,name,kind,gpu.time [ms],sm.throughput [%],l1tex.throughput [%],vram.throughput [%],l2.throughput [%],crop.throughput [%],gpu.idle [%]"


def capture(path: Path, shift: float = 0.0) -> Path:
    rows = [
        f"Frame,Pass{i},fullscreen,{2 + i / 10 + shift},{30 + i},{20 + i},{25 + i},9,5,{0 if i else 40 + shift}"
        for i in range(6)
    ]
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return path


def file(*args: object) -> Result:
    from triage.commands.cli import triage as verbs

    return CliRunner().invoke(verbs, ["tickets", *map(str, args)], standalone_mode=False)


@pytest.fixture(params=NAMES)
def fake(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str, Store]]:
    name = str(request.param)
    pytest.importorskip(LIBRARIES[name])
    if name == "github":  # its library waits a second between two writes, as a real service asks for
        monkeypatch.setattr("github.Requester.Requester._Requester__deferRequest", lambda *_: None, raising=False)
    monkeypatch.setenv(trackers.TOKENS[name], TOKEN)
    monkeypatch.delenv("JIRA_USER", raising=False)
    with serve(name) as (url, store):
        yield name, url, store


@pytest.mark.slow
def test_posting_twice_leaves_one_ticket_updated(tmp_path: Path, fake: tuple[str, str, Store]) -> None:
    name, url, store = fake
    options = ("--post", name, "--scope", "game", "--project", PROJECTS[name], "--url", url, "--send")
    first = file(capture(tmp_path / "a.csv"), "-o", tmp_path / "t", *options)
    assert first.exit_code == 0, first.exception
    count = len(store.issues)
    assert count == len(ticket_folder.read_old(tmp_path / "t" / "tickets.json")) > 0
    before = {n: i["body"] for n, i in store.issues.items()}
    second = file(capture(tmp_path / "b.csv", 0.5), "-o", tmp_path / "t", *options)
    assert second.exit_code == 0, second.exception
    assert "updated" in second.stdout
    assert "created" not in second.stdout
    assert len(store.issues) == count
    assert all(i["body"] != before[n] for n, i in store.issues.items())
    assert all(TOKEN in t for t in store.tokens)
    for result in (first, second):
        assert TOKEN not in result.stdout + result.stderr
    if name in ("jira", "redmine"):
        assert all({"evidence.json"} <= set(i["attachments"]) for i in store.issues.values())


def one(tmp_path: Path) -> Ticket:
    return compose.make(diagnosis(capture(tmp_path / "a.csv")).bundle)[0]


def test_two_runs_that_file_at_one_time_leave_one_ticket(tmp_path: Path, fake: tuple[str, str, Store]) -> None:
    name, url, store = fake
    t = one(tmp_path)
    tracker = trackers.connect(name, PROJECTS[name], url)
    mark = trackers.marker(t.fingerprint)

    def rival(s: Store) -> None:
        s.add(f"filed by another run [{mark}]", "theirs", [mark])

    store.rival = rival
    done = trackers.sync(tracker, t, tmp_path)
    assert "updated" in done
    assert len(tracker.find(t.fingerprint)) == 1
    assert trackers.number(tracker.find(t.fingerprint)[0]) == 1
    assert "Fingerprint" in store.issues[1]["body"]
    assert any("uplicate" in c for c in store.issues[2]["comments"])


def test_jira_cloud_whose_search_lags_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jira")
    monkeypatch.setenv("JIRA_TOKEN", TOKEN)
    monkeypatch.setenv("JIRA_USER", "me@example.org")
    found = compose.make(diagnosis(capture(tmp_path / "a.csv")).bundle)
    for t in found:
        t.files = []
    with serve("jira") as (url, store):
        store.cloud = True
        tracker = trackers.connect("jira", "GPU", url)
        assert all("created" in trackers.sync(tracker, t, tmp_path) for t in found)
        twin = trackers.marker(found[0].fingerprint)  # what another run filed meanwhile, unseen
        store.add("twin", "theirs", [twin])
        store.add("something else", "", [])
        assert all("updated" in trackers.sync(tracker, t, tmp_path) for t in found)
        assert [i["number"] for i in store.labelled(twin)] == [1]
        assert len(store.issues) == len(found) + 2


@pytest.mark.slow
def test_a_problem_that_is_gone_is_said_in_its_ticket(tmp_path: Path, fake: tuple[str, str, Store]) -> None:
    name, url, store = fake
    options = ("--post", name, "--scope", "game", "--project", PROJECTS[name], "--url", url, "--send")
    assert file(capture(tmp_path / "a.csv"), "-o", tmp_path / "t", *options).exit_code == 0
    calm = tmp_path / "b.csv"
    calm.write_text(f"{HEAD}\nFrame,Pass0,fullscreen,2,95,20,20,9,5,0\nFrame,Pass1,fullscreen,2,95,20,20,9,5,0\n")
    done = file(calm, "-o", tmp_path / "u", "--since", tmp_path / "t" / "tickets.json", *options)
    assert done.exit_code == 0, done.exception
    assert "fixed" in done.stdout
    assert any("no longer shows this cause" in c for i in store.issues.values() for c in i["comments"])


def test_a_wrong_token_is_one_line_without_the_token(
    tmp_path: Path, fake: tuple[str, str, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, url, _ = fake
    monkeypatch.setenv(trackers.TOKENS[name], "wrong-secret")
    result = file(
        capture(tmp_path / "a.csv"),
        "-o",
        tmp_path / "t",
        "--post",
        name,
        "--project",
        PROJECTS[name],
        "--url",
        url,
        "--send",
    )
    assert isinstance(result.exception, TriageError)
    assert "wrong-secret" not in str(result.exception)
    assert "\n" not in str(result.exception)


def test_labels_that_may_not_be_set_are_noticed(tmp_path: Path, fake: tuple[str, str, Store]) -> None:
    name, url, store = fake
    if name == "redmine":
        pytest.skip("its marker stands in the subject")
    store.labels_allowed = False
    with pytest.raises(TriageError, match="allow the token to set labels"):
        trackers.sync(trackers.connect(name, PROJECTS[name], url), one(tmp_path), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_dry_run_sends_nothing_and_needs_no_token(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in trackers.TOKENS.values():
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(socket, "socket", no_network)
    result = file(
        capture(tmp_path / "a.csv"),
        "-o",
        tmp_path / "t",
        "--post",
        name,
        "--scope",
        "game",
        "--project",
        PROJECTS[name],
    )
    assert result.exit_code == 0, result.exception
    for t in ticket_folder.read_old(tmp_path / "t" / "tickets.json"):
        assert f"triage-{t['fingerprint']}" in result.stdout
        assert f"title: {t['title']}" in result.stdout


def no_network(*args: Any, **options: Any) -> Any:
    raise AssertionError("a dry run opened a connection")


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    with pytest.raises(TriageError, match="GITHUB_TOKEN is not set"):
        trackers.connect("github", "o/r")
    with pytest.raises(TriageError, match="needs --project"):
        trackers.connect("github", "")
    monkeypatch.setenv("JIRA_TOKEN", "x")
    pytest.importorskip("jira")
    with pytest.raises(TriageError, match="not a Jira project key"):
        trackers.connect("jira", 'GPU" OR project = "X', "http://127.0.0.1:1")
    with pytest.raises(TriageError, match="not a fingerprint"):
        trackers.marker('x" OR labels != "')
    result = file(capture(tmp_path / "a.csv"), "-o", tmp_path / "t", "--send")
    assert "needs --post" in str(result.exception)


@pytest.fixture(scope="module")
def real_redmine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    wanted = os.environ.get("TRIAGE_REDMINE", "")
    if " " in wanted:
        url, key = wanted.split()
        yield url, key
        return
    if not wanted or not Path("/usr/share/redmine").is_dir():
        pytest.skip("no real Redmine: install redmine and redmine-sqlite, and set TRIAGE_REDMINE=1")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    script = ROOT / "tests" / "redmine" / "start.sh"
    folder = tmp_path_factory.mktemp("redmine")
    with subprocess.Popen(
        [script, folder, str(port)], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        if not line.startswith("ready"):
            pytest.skip("Redmine is installed, but does not start here")
        _, url, key = line.split()
        try:
            wait_for(url)
            yield url, key
        finally:
            server.terminate()


def wait_for(url: str) -> None:
    for _ in range(240):
        try:
            urllib.request.urlopen(f"{url}/projects.json", timeout=20).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.5)
    raise AssertionError("Redmine does not answer")


def test_a_real_redmine_ends_up_with_one_updated_ticket_each(
    tmp_path: Path, real_redmine: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    redminelib = pytest.importorskip("redminelib")
    url, key = real_redmine
    monkeypatch.setenv("REDMINE_API_KEY", key)
    options = ("--post", "redmine", "--project", "frames", "--url", url, "--send", "--scope", f"run {time.time_ns()}")
    assert (first := file(capture(tmp_path / "a.csv"), "-o", tmp_path / "t", *options)).exit_code == 0, first.exception
    assert (second := file(capture(tmp_path / "b.csv", 0.5), "-o", tmp_path / "u", *options)).exit_code == 0, (
        second.exception
    )
    assert "created" in first.stdout
    assert "created" not in second.stdout
    server = redminelib.Redmine(url, key=key)
    listed = ticket_folder.read_old(tmp_path / "u" / "tickets.json")
    assert listed
    for t in listed:
        found = list(server.issue.filter(project_id="frames", status_id="*", subject=f"~triage-{t['fingerprint']}"))
        assert len(found) == 1
        issue = server.issue.get(found[0].id, include=["attachments", "journals"])
        assert issue.subject.startswith(t["title"][:100])
        assert len(issue.journals) >= 1
        assert sorted(a.filename for a in issue.attachments).count("evidence.json") == 1
        body = (tmp_path / "u" / next(f for f in t["files"] if f.endswith("ticket.md"))).read_text()
        heading, _, owner, *_ = body.splitlines()  # the tracker has the heading as its subject
        assert heading.startswith("# ") and owner in issue.description
