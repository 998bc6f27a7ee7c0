"""Trackers that stall and lie, on this machine: one line, no token, no ticket twice, nothing a terminal obeys."""

import base64
import re
from pathlib import Path

import pytest

from tests.conftest import diagnosis, generic, run
from tests.helpers.failing_trackers import LIES, lying, said
from tests.helpers.trackers import TOKEN, serve
from triage.ground.errors import TriageError
from triage.products.tickets import comments, compose, http_client, trackers
from triage.products.tickets.ticket import Ticket

PROJECTS = {"github": "o/r", "gitlab": "g/p", "jira": "GPU", "redmine": "frames"}
LIBRARIES = {"github": "github", "gitlab": "gitlab", "jira": "jira", "redmine": "redminelib"}
pytestmark = pytest.mark.filterwarnings("ignore")  # of the client libraries
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.fixture(scope="module")
def ticket(tmp_path_factory: pytest.TempPathFactory) -> Ticket:
    return compose.make(diagnosis(capture(tmp_path_factory.mktemp("in") / "a.csv")).bundle)[0]


def capture(path: Path) -> Path:
    units = {"sm.throughput": 30, "l1tex.throughput": 20, "vram.throughput": 25, "l2.throughput": 9, "gpu.idle": 40}
    return generic(path, [{"name": f"Pass{i}", "gpu.time": 2 + i / 10, **units} for i in range(4)])


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that a test can wait for."""
    for name, value in (("TIMEOUT", 1), ("SECONDS", 0.25), ("LARGEST", 1 << 20), ("MAX_RESPONSES", 20)):
        monkeypatch.setattr(http_client, name, value)
    for variable in trackers.TOKENS.values():
        monkeypatch.setenv(variable, TOKEN)
    monkeypatch.delenv("JIRA_USER", raising=False)


@pytest.mark.slow
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("name", PROJECTS)
def test_a_lie_is_one_line(name: str, lie: str, hurry: None, ticket: Ticket, tmp_path: Path) -> None:
    pytest.importorskip(LIBRARIES[name])
    with lying(LIES[lie]) as (url, heard), pytest.raises(TriageError) as e:
        trackers.sync(trackers.connect(name, PROJECTS[name], url), ticket, tmp_path)
    text = str(e.value)
    assert "\n" not in text and TOKEN not in text and len(text) < 1_000
    # one attempt to file, whatever came back; and an end to every list
    assert heard.methods.count("POST") <= 1 and 0 < len(heard.methods) <= http_client.MAX_RESPONSES + 1, heard.methods


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 900 + "]" * 900])
@pytest.mark.parametrize("charset", ["utf-8", "utf-16", "utf-16-le", "utf-32", "latin-1", "none-such"])
@pytest.mark.parametrize("told", [True, False])
def test_no_parser_sees_a_deep_answer(text: str, charset: str, told: bool, hurry: None) -> None:
    requests = pytest.importorskip("requests")
    body = text.encode("utf-8" if charset == "none-such" else charset)
    response = requests.Response()
    response.encoding = charset if told else None
    response._content, response._content_consumed = body, True
    with pytest.raises(TriageError, match="nested more than 60"):
        http_client._flat(response, "here")


@pytest.mark.parametrize("lie", ["silent", "dripping", "half a JSON", "error", "wait"])
@pytest.mark.parametrize("name", comments.SERVICES)
def test_a_lie_about_comments_is_one_line(name: str, lie: str, hurry: None) -> None:
    pytest.importorskip(LIBRARIES[name])
    with lying(LIES[lie]) as (url, heard), pytest.raises(TriageError) as e:
        comments.post(name, PROJECTS[name], 7, "k", "text", url)
    assert "\n" not in str(e.value) and TOKEN not in str(e.value)
    assert heard.methods.count("POST") <= 1 and 0 < len(heard.methods) <= http_client.MAX_RESPONSES + 1, heard.methods


@pytest.mark.parametrize("name", PROJECTS)
@pytest.mark.parametrize("code", [200, 301, 302, 307, 308])
def test_the_token_goes_to_one_address(name: str, code: int, hurry: None, ticket: Ticket, tmp_path: Path) -> None:
    pytest.importorskip(LIBRARIES[name])
    with lying(LIES["nothing"]) as (elsewhere, heard):
        away = elsewhere.replace("http://", f"http://{TOKEN}@")
        lie = said(code, "[]", Location=away, Link=f'<{elsewhere}/x>; rel="next"', X_Next_Page="2")
        with lying(lie) as (url, _), pytest.raises(TriageError) as e:
            trackers.sync(trackers.connect(name, PROJECTS[name], url), ticket, tmp_path)
    assert not heard.methods and TOKEN not in str(e.value)
    assert code == 200 or "redirects to" in str(e.value)


@pytest.mark.parametrize("name", PROJECTS)
def test_no_proxy_hears_what_is_for_this_machine(
    name: str, hurry: None, ticket: Ticket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(LIBRARIES[name])
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    with lying(LIES["nothing"]) as (proxy, heard), serve(name) as (url, store):
        monkeypatch.setenv("http_proxy", proxy)
        assert "created" in trackers.sync(trackers.connect(name, PROJECTS[name], url), ticket, tmp_path)
    assert store.issues and not heard.methods


@pytest.mark.parametrize(
    "url",
    [
        "https://good.example@evil.example",
        "http://evil.example\\@127.0.0.1/",
        "http://[::1]@evil.example",
        "http://[::1",
        "http://tracker.example",
    ],
)
def test_addresses_that_pretend_are_refused(url: str, hurry: None) -> None:
    for name, project in PROJECTS.items():
        with pytest.raises(TriageError, match="--url"):
            trackers.connect(name, project, url)
    for name in comments.SERVICES:
        with pytest.raises(TriageError, match="--url"):
            comments.post(name, PROJECTS[name], 7, "k", "text", url)


def test_no_form_of_a_token_is_shown(
    hurry: None, ticket: Ticket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jira")
    monkeypatch.setenv("JIRA_USER", "me@example.org")
    basic = base64.b64encode(f"me@example.org:{TOKEN}".encode()).decode()
    lie = said(401, f'{{"errorMessages": ["Authorization: Basic {basic}"]}}')
    with lying(lie) as (url, _), pytest.raises(TriageError, match="Basic") as e:
        trackers.sync(trackers.connect("jira", "GPU", url), ticket, tmp_path)
    assert basic not in str(e.value)


@pytest.mark.parametrize("name", PROJECTS)
def test_a_ticket_whose_answer_is_lost_is_not_filed_twice(
    name: str, hurry: None, ticket: Ticket, tmp_path: Path
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


@pytest.mark.slow
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
