"""docs/house.md is true: the rooms stand as it says, and a newcomer's changes take the places it promises."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT, checkout, run
from tests.regolden import opened
from triage import dialects
from triage.rulebook import applies

PAGE = (ROOT / "docs" / "house.md").read_text("utf-8")
SAMPLE = "sample_captures/generic/p3_workloads_v2.csv"


def layers() -> list[str]:
    """Rooms of the import contract, ground floor first; those of one floor in the order of their floor."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    floors = next(c for c in contracts if c["containers"] == ["triage"])["layers"]
    return [room.strip() for floor in reversed(floors) for room in floor.split("|")]


def test_the_rooms_are_listed_in_order_with_their_own_sentence() -> None:
    listed = re.findall(r"^\| `([\w.]+?)/?` \| (.+) \|$", PAGE.partition("## Where do I go")[0], re.MULTILINE)
    named = {name.removesuffix(".py"): text for name, text in listed}
    order = layers()
    assert set(named) == set(order)
    floors = [r.strip() for f in reversed([" | ".join(order)]) for r in f.split("|")]
    # rooms of one floor may stand in any order: compare the floors, not the rooms
    place = {room: i for i, room in enumerate(floors)}
    assert [
        place[n] for n in named if n in ("ground", "schema", "capture", "diagnosis", "document", "commands")
    ] == sorted(place[n] for n in ("ground", "schema", "capture", "diagnosis", "document", "commands"))
    for room, text in named.items():
        path = ROOT / "triage" / room / "__init__.py"
        path = path if path.is_file() else path.parent.with_suffix(".py")
        said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        assert " ".join(said.partition("\n\n")[0].split()) == text, (
            f"{room}: the page and the room say different things"
        )


def test_every_path_the_page_names_is_there() -> None:
    for path in re.findall(r"`((?:triage|rules|reports|sample_captures)/[\w./]*)`", PAGE):
        assert (ROOT / path).exists(), path
    for room, module in re.findall(r"`(\w+)/(\w+\.py)`", PAGE):
        assert (ROOT / "triage" / room / module).is_file(), f"{room}/{module}"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A checkout of one's own, to change as the page says."""
    return checkout(tmp_path, "sample_captures/generic")


def replaced(path: Path, old: str, new: str) -> None:
    """Change one place of a file."""
    text = path.read_text("utf-8")
    assert text.count(old) == 1, f"{path.name}: {text.count(old)} places"
    path.write_text(text.replace(old, new), "utf-8")


def said(home: Path, *arguments: str) -> str:
    """What the changed checkout answers; a failing command fails the test."""
    p = run(*arguments, cwd=home)
    assert p.returncode == 0, p.stderr
    return p.stdout


def test_a_threshold_of_a_rule_is_one_line(home: Path) -> None:
    replaced(home / "rules/memory/register-spills.yaml", *threshold(home / "rules/memory/register-spills.yaml"))
    assert "77" in said(home, "explain", "register-spills")


def threshold(path: Path) -> tuple[str, str]:
    """The first percentage of a rule file, and another."""
    found = re.search(r"value: \d+(\.\d+)?%", path.read_text("utf-8"))
    assert found
    return found[0], "value: 77%"


def test_a_number_of_the_method_is_one_place(home: Path) -> None:
    replaced(home / "triage/ground/method.py", '"high": _both(0.80,', '"high": _both(0.85,')
    assert "85" in said(home, "explain", "high-sol")  # the rules
    parts = opened(said(home, "diagnose", SAMPLE, "-f", "html"))
    assert parts["core"]["marks"] == [60, 85]  # the charts
    assert "above 85 %: cut work" in parts["more"]["bandText"]  # the words


def test_a_word_of_a_limiter_class_is_one_place(home: Path) -> None:
    replaced(home / "triage/ground/limiters.py", 'f"latency-bound: no unit above {_LOW}"', '"bound by waiting"')
    assert "Bound by waiting" in said(home, "diagnose", SAMPLE, "-f", "json")
    page = said(home, "diagnose", SAMPLE, "-f", "html")
    assert "latency-bound: no unit above" not in f"{page} {opened(page)}".lower()


@pytest.mark.parametrize("name", dialects.dialects())
def test_what_a_dialect_tells_are_words_that_rules_know(name: str) -> None:
    assert applies.read(dialects.tells(name)).keys() == dialects.tells(name).keys()


@pytest.mark.parametrize("name", ["slack.txt", "ticketing.md", "comparison.md", "jira-like.md"])
def test_a_format_is_one_template_whatever_its_name(home: Path, name: str) -> None:
    format = name.split(".")[0]
    (home / "reports" / f"{name}.j2").write_text("{# escape: text #}\n{{ summary.headline | prose }}\n", "utf-8")
    assert format in said(home, "list", "formats")
    assert format in " ".join(said(home, "diagnose", "--help").split())
    assert said(home, "diagnose", SAMPLE, "-f", format).strip().endswith(".")
    said(home, "batch", SAMPLE, "-o", "out", "-f", format)
    assert [p.name.partition(".")[2] for p in (home / "out" / "reports").iterdir()] == [name.split(".", 1)[1]]


def test_a_format_that_does_not_say_how_it_escapes_is_refused(home: Path) -> None:
    (home / "reports" / "slack.txt.j2").write_text("{{ summary.headline }}\n", "utf-8")
    p = run("diagnose", SAMPLE, "-f", "slack", cwd=home)
    assert p.returncode == 2
    assert "slack.txt.j2:1: escaping not declared" in p.stderr
    assert p.stdout == ""


def test_nothing_is_written_before_everything_is_known(tmp_path: Path) -> None:
    """An input that vanishes between reading and writing leaves no half report behind."""
    capture = tmp_path / "a.csv"
    capture.write_text("name,gpu.time [ms],sm.throughput [%],vram.throughput [%]\nPass,1,50,20\n", "utf-8")
    code = (
        "import sys, triage; from triage.rendering.formats import render\n"
        "from triage.findings.assembling import bundle; from triage.diagnosis.diagnosing import Diagnoser\n"
        "from triage.rulebook import packs; from pathlib import Path\n"
        "d = Diagnoser(packs.select(packs.load())).diagnose([triage.read(sys.argv[1])])\n"
        "Path(sys.argv[1]).write_text('gone')\n"
        "try:\n    render(bundle(d), 'json', sys.stdout.write)\n"
        "except triage.TriageError as e:\n    sys.exit(str(e))\n"
    )
    p = subprocess.run(
        [sys.executable, "-c", code, str(capture)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert p.returncode == 1
    assert "a.csv" in p.stderr
    assert p.stdout == ""
