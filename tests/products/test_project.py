"""triage.toml: what it may say, what becomes of accepted causes, budgets, owners."""

import json
import os
import re
import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.conftest import SAMPLES
from triage.ground.errors import TriageError
from triage.products import project
from triage.products.settings import matches

FRAME = SAMPLES / "gpu-trace" / "demo_frame"
TODAY = date(2026, 6, 1)
CAUSE = {"cause": "x", "reason": "r", "owner": "o", "expires": "2027-01-01"}


def verbs(*args: object) -> Result:
    from triage.commands.cli import triage as group

    return CliRunner().invoke(group, [*map(str, args)], standalone_mode=False)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, and we are in it."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def todo(*args: object) -> list[dict[str, Any]]:
    done = verbs("diagnose", FRAME, "-f", "json", *args)
    assert done.exception is None, done.exception
    found: list[dict[str, Any]] = json.loads(done.stdout)["todo"]
    return found


def accept(home: Path, cause: str, **more: object) -> None:
    entry = {"reason": "waits for the new compiler", "owner": "ann", "expires": "2999-01-01", "cause": cause, **more}
    lines = [f"{k} = {json.dumps(v)}" for k, v in entry.items()]
    (home / "triage.toml").write_text("[[accepted]]\n" + "\n".join(lines) + "\n")


@pytest.mark.slow
def test_an_accepted_cause_is_shown_and_is_nothing_to_do(home: Path) -> None:
    first = todo()[0]
    accept(home, first["cause"])
    items = todo()
    assert items[0]["accepted"] == {
        "state": "accepted", "reason": "waits for the new compiler", "owner": "ann", "expires": "2999-01-01",
    }  # fmt: skip
    assert all("accepted" not in i for i in items[1:])
    for name in ("terminal", "markdown", "html", "jira"):
        text = " ".join(verbs("diagnose", FRAME, "-f", name).stdout.split())
        assert "1 root cause accepted" in text
        assert "waits for the new compiler (ann, until 2999" in text.replace("\\", "").replace("&#45;", "-")
    shown = verbs("diagnose", FRAME).stdout.partition("To do")[2].partition("Markers")[0]
    assert first["title"] not in shown
    assert verbs("tickets", FRAME, "-o", home / "t").return_value == 0
    causes = {t["cause"] for t in json.loads((home / "t" / "tickets.json").read_text())["tickets"]}
    assert causes
    assert first["cause"] not in causes


@pytest.mark.slow
def test_it_comes_back_when_it_expires_or_grows(home: Path) -> None:
    first = todo()[0]
    accept(home, first["cause"], expires="2020-01-01")
    assert todo()[0]["accepted"]["state"] == "expired"
    assert "acceptance expired" in " ".join(verbs("diagnose", FRAME).stdout.split())
    accept(home, first["cause"], saves_ms=first["saved_ns"] / 1e6 / 2)
    assert todo()[0]["accepted"]["state"] == "grown"
    accept(home, first["cause"], saves_ms=first["saved_ns"] / 1e6)
    assert todo()[0]["accepted"]["state"] == "accepted"


@pytest.mark.slow
def test_accepted_for_one_marker_covers_no_other(home: Path) -> None:
    many = next(i for i in todo() if i["workload_count"] > 1)
    accept(home, many["cause"], marker="no such marker")
    assert all("accepted" not in i for i in todo())
    accept(home, many["cause"], marker="*")
    assert any("accepted" in i for i in todo())


@pytest.mark.slow
def test_fail_on_names_what_failed_and_passes_what_is_accepted(home: Path) -> None:
    items = todo()
    level = max((i["level"] for i in items), key=("info", "low", "medium", "high", "critical").index)
    at_level = [i for i in items if i["level"] == level]
    done = verbs("diagnose", FRAME, "--fail-on", level)
    assert done.return_value == 1
    assert f"failed on {level}: {at_level[0]['title']} ({level}" in done.stderr
    entries = "\n".join(
        f'[[accepted]]\ncause = "{i["cause"]}"\nreason = "r"\nowner = "o"\nexpires = 2999-01-01' for i in at_level
    )
    (home / "triage.toml").write_text(entries)
    assert verbs("diagnose", FRAME, "--fail-on", level).return_value == 0
    assert "<failure" not in verbs("diagnose", FRAME, "--fail-on", level, "-f", "junit").stdout


def test_budgets_fail_where_something_may_fail(home: Path) -> None:
    (home / "triage.toml").write_text('[budgets]\n"Tiled Lighting" = 0.5\n"Terrain" = 99\n')
    noted = verbs("diagnose", FRAME)
    assert noted.return_value == 0
    assert re.search(r"note: Tiled Lighting takes 1\.48 ms, over its budget of 500 µs", noted.stderr)
    assert verbs("diagnose", FRAME, "--fail-on", "critical").return_value == 1


def test_a_target_says_what_brings_the_frame_under(home: Path) -> None:
    (home / "triage.toml").write_text(
        '[budgets]\nframe = 99\n"Particles" = {ms = 0.5, owner = "@vfx"}\n"Nothing" = 1\n'
    )
    done = verbs("diagnose", FRAME, "--target", "12.5ms", "-f", "json", "--fail-on", "budget")
    assert done.return_value == 1
    budgets = {e["marker"]: e for e in json.loads(done.stdout)["frame"]["budgets"]}
    frame, particles = budgets["frame"], budgets["Particles"]
    assert (
        frame["allowed_ns"] == 12.5e6
        and frame["over_ns"] > 0
        and frame["saves_ns"] >= frame["over_ns"]
        and frame["items"][0] == 1
    )
    assert particles["owner"] == "@vfx" and 0 < particles["saves_ns"] < particles["over_ns"]
    assert budgets["Nothing"]["matched"] == 0
    for form in ("terminal", "markdown", "jira", "html"):
        assert "over by" in verbs("diagnose", FRAME, "--target", "12.5", "-f", form).stdout
    junit = verbs("diagnose", FRAME, "--target", "60fps", "-f", "junit").stdout
    assert '<testcase classname="budget" name="frame"' in junit and 'type="budget"' in junit
    assert verbs("diagnose", FRAME, "--target", "99ms", "--fail-on", "budget", "--marker", "Terrain*").return_value == 0


@pytest.mark.parametrize("name", ["capframex/game.json", "mangohud/game.csv"])
def test_a_target_of_a_log_of_frames_holds_for_its_median_frame(home: Path, name: str) -> None:
    done = verbs("diagnose", SAMPLES / name, "--target", "16.6ms", "-f", "json", "--fail-on", "budget")
    (budget,) = json.loads(done.stdout)["frame"]["budgets"]
    assert 14e6 < budget["ns"] < 17e6 and done.return_value == int(budget["over_ns"] > 0)


@pytest.mark.parametrize("text", ["0", "16.6 s s", "-5ms", "nan", "1e3", "99999999999"])
def test_a_target_is_a_time(home: Path, text: str) -> None:
    assert "expected a time such as 16.6ms" in str(verbs("diagnose", FRAME, "--target", text).exception)


def test_a_cause_in_markers_of_two_owners_becomes_two_tickets(home: Path) -> None:
    (home / "triage.toml").write_text('scope = "game"\n[owners]\n"Particles" = "@vfx"\n"*" = "@rendering"\n')
    verbs("tickets", FRAME, "-o", home / "t")
    tickets = [
        t for t in json.loads((home / "t" / "tickets.json").read_text())["tickets"] if t["cause"] == "crop-bound"
    ]
    assert {t["owner"] for t in tickets} == {"@vfx", "@rendering"} and len({t["fingerprint"] for t in tickets}) == 2
    assert not any("Particles" in w for t in tickets if t["owner"] != "@vfx" for w in t["workloads"])


def test_owners_stand_in_tickets(home: Path) -> None:
    (home / "triage.toml").write_text('scope = "game"\n[owners]\n"*" = "@rendering"\n')
    verbs("tickets", FRAME, "-o", home / "t")
    tickets = json.loads((home / "t" / "tickets.json").read_text())["tickets"]
    assert {t["owner"] for t in tickets} <= {"@rendering", None}
    assert any(t["owner"] for t in tickets)
    one = next(t for t in tickets if t["owner"])
    text = (home / "t" / next(f for f in one["files"] if f.endswith("ticket.md"))).read_text()
    assert text.splitlines()[2] == "Owner: @rendering"


def test_thresholds_and_rules_of_the_file_hold_and_the_command_line_goes_before(home: Path) -> None:
    (home / "triage.toml").write_text('[thresholds]\n"high-sol.high" = "1%"\n')
    from triage.rulebook import packs

    rule = packs.load().find("high-sol")
    assert rule is not None
    name = next(iter(rule.thresholds))
    (home / "triage.toml").write_text(f'[thresholds]\n"high-sol.{name}" = "nonsense"\n')
    wrong = verbs("diagnose", FRAME)
    assert isinstance(wrong.exception, TriageError)
    (home / "triage.toml").write_text('rules = ["none"]\n')
    assert "rules[0] 'none' is no folder" in str(verbs("diagnose", FRAME).exception)


def test_where_it_is_looked_for(home: Path) -> None:
    below = home / "a" / "b"
    below.mkdir(parents=True)
    (home / "pyproject.toml").write_text('[tool.triage]\nscope = "game"\n')
    assert project.load(TODAY, below, {}).scope == "game"
    (home / "a" / "triage.toml").write_text('scope = "nearer"\n')
    assert project.load(TODAY, below, {}).scope == "nearer"
    assert project.load(TODAY, below, {"TRIAGE_CONFIG": "off"}) == project.Project()
    assert project.load(TODAY, below, {"TRIAGE_CONFIG": str(home / "pyproject.toml")}).scope == "game"
    (home.parent / "triage.toml").write_text('scope = "somebody else\'s"\n')
    (home / "pyproject.toml").unlink()
    (home / "a" / "triage.toml").unlink()
    assert project.load(TODAY, below, {}) == project.Project()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scop = 'x'", "scop is no setting - did you mean 'scope'?"),
        ("scope = 1", "scope must be a text"),
        ("scope =", "triage.toml: "),
        ("[budgets]\na = '3'", "budgets.a '3' is no number of milliseconds"),
        ("[budgets]\na = -1", "budgets.a -1 is no number"),
        ("[budgets]\na = {owner = 'o'}", "budgets.a None is no number of milliseconds"),
        ("[budgets]\na = {ms = 1, owner = 2}", "budgets.a.owner must be a text"),
        ("[owners]\na = 1", "owners.a must be a text"),
        ("accepted = [1]", "accepted[0] must be a table"),
        ("[[accepted]]\ncause = 'x'\nowner = 'o'\nexpires = 2027-01-01", "accepted[0] has no reason"),
        ("[[accepted]]\ncause = 'x'\nowner = 'o'\nreason = 'r'\nexpires = 'soon'", "'soon' is no date"),
        ("[[accepted]]\ncauses = 'x'", "accepted[0].causes is no setting - did you mean 'cause'?"),
    ],
)
def test_mistakes_are_one_line_that_names_the_key(home: Path, text: str, said: str) -> None:
    (home / "triage.toml").write_text(text)
    with pytest.raises(TriageError) as e:
        project.load(TODAY, home, {})
    assert said in str(e.value)
    assert "\n" not in str(e.value)


def test_a_day_is_accepted_to_its_end() -> None:
    at = Path("triage.toml")
    assert not project.parse(at, {"accepted": [{**CAUSE, "expires": "2026-06-01"}]}, TODAY).accepted[0].expired
    assert project.parse(at, {"accepted": [{**CAUSE, "expires": "2026-05-31"}]}, TODAY).accepted[0].expired


def test_globs() -> None:
    path = ["Frame", "Shadows", "Cascade 2"]
    assert all(matches(path, g) for g in ("shadows", "Cascade*", "Frame/Shadows/*", "frame/shadows", "*"))
    assert not any(matches(path, g) for g in ("Shadow", "Shadows/Cascade 3", ""))


def test_what_the_file_changed_is_named_in_every_report(home: Path) -> None:
    (home / "triage.toml").write_text('[thresholds]\n"uncoalesced-global-loads.tolerable" = "40%"\n')
    for name in ("terminal", "json", "html", "markdown"):
        text = " ".join(verbs("diagnose", SAMPLES / "generic" / "p3_workloads_v2.csv", "-f", name).stdout.split())
        assert "settings from" in text and "uncoalesced-global-loads.tolerable=40%" in text.replace("\\", "")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners")
def test_settings_of_another_user_are_passed_over_and_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "triage.toml").write_text('scope = "game"\n')
    (home / "other.toml").write_text('scope = "named"\n')
    uid = os.stat(home).st_uid
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1 if uid else 1)
    monkeypatch.setattr(project, "ROOT", -1)
    assert project.load(TODAY, home, {}) == project.Project()
    assert [line.partition(":")[0] for line in project.passed_over(home, {})] == [str(home / "triage.toml")]
    assert project.load(TODAY, home, {}, str(home / "other.toml")).scope == "named"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="takes root to make another user's link")
def test_a_link_of_another_user_to_own_settings_is_passed_over(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "mine.toml").write_text('scope = "mine"\n')
    (home / "triage.toml").symlink_to(home / "mine.toml")
    assert project.load(TODAY, home, {}).scope == "mine"
    os.chown(home / "triage.toml", 12_345, -1, follow_symlinks=False)
    assert project.load(TODAY, home, {}) == project.Project()
    assert len(project.passed_over(home, {})) == 1


def test_outside_of_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "triage.toml").write_text('scope = "above"\n')
    assert project.load(TODAY, tmp_path / "a", {}) == project.Project()
    assert project.load(TODAY, tmp_path, {}).scope == "above"


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 40_000) + " = 1", "[" + ".".join(["a"] * 40_000) + "]", 'x = {"b" . ' + " . ".join(["a"] * 20_000) + " = 1}",
        "a = " + "[" * 50_000, "a = " + "{b = " * 20_000, "a = " + "9" * 9_000, '"""' + '\\"""' * 20_000 + "\\", "'" * 99_999, "a = 1\n" * 20_000,
        "[[" + ".".join(["a"] * 13) + "]]", "# " + "." * 99_999 + "\nscope = 1", "x = '" + "[" * 9_999 + "'",
    ],
)  # fmt: skip
def test_hostile_settings_end_in_a_line_at_once(home: Path, text: str) -> None:
    (home / "triage.toml").write_text(text)
    began = time.process_time()
    with pytest.raises(TriageError) as e:
        project.load(TODAY, home, {})
    assert time.process_time() - began < 1 and len(str(e.value)) < 1_000
