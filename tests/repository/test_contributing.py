"""The steps of CONTRIBUTING.md, taken as written by somebody who has only the checkout."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.conftest import ROOT, checkout, run

pytestmark = pytest.mark.slow

PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
SAMPLE = "sample_captures/generic/p3_workloads_v2.csv"
TASKS = ("A rule", "A cause", "A metric", "A dialect", "A report", "A device")
BEFORE = {"A cause": ("A rule",)}  # what a section says it starts with
_BLOCK = r"\n+```(?P<kind>\w+)\n(?P<text>.*?)^```$"
_STEP_RE = re.compile(
    rf"\b[Ww]rite\s+`(?P<write>[^`]+)`:{_BLOCK}"
    rf"|\bAppend to `(?P<append>[^`]+)`:{_BLOCK.replace('kind', 'kind2').replace('text', 'text2')}"
    r"|\bIn\s+`(?P<edit>[^`]+)`,\s+replace\s+`(?P<old>[^`]+)`\s+with\s+`(?P<new>[^`]+)`"
    r"|\bRun:\n+```console\n(?P<run>.*?)^```$",
    re.M | re.S,
)


@dataclass
class Task:
    """A section: the files that it names, and what its commands print."""

    heading: str
    files: dict[str, str] = field(default_factory=dict)  # path -> how it is touched
    printed: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        section = PAGE.partition(f"\n## {self.heading}\n")[2].partition("\n## ")[0]
        assert section, self.heading
        return section

    def take(self, home: Path) -> Task:
        """Do what the section says, in a checkout."""
        steps = list(_STEP_RE.finditer(self.text))
        # a block that is no step would be read and never tried
        assert self.text.count("\n```") == 2 * sum(not m["edit"] for m in steps), self.heading
        for m in steps:
            if m["run"]:
                self.printed += [self.output(home, *command) for command in commands(m["run"])]
                continue
            how = next(word for word in ("write", "append", "edit") if m[word])
            path = home / m[how]
            self.files[m[how]] = how
            if how == "write":
                path.parent.mkdir(parents=True, exist_ok=True)
                assert not path.exists(), path
                path.write_text(m["text"], "utf-8")
            elif how == "edit":
                text = path.read_text("utf-8")
                assert text.count(m["old"]) == 1, (path, m["old"])
                path.write_text(text.replace(m["old"], m["new"]), "utf-8")
            else:
                path.write_text(path.read_text("utf-8") + m["text2"], "utf-8")
        return self

    @staticmethod
    def output(home: Path, command: str, *expected: str) -> str:
        """What a command prints; it must succeed and hold the lines that the page shows below it."""
        arguments = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', command)]
        assert arguments[0] == "triage"
        p = run(*arguments[1:], cwd=home)
        assert (p.returncode, p.stderr) == (0, ""), (command, p.stdout, p.stderr)
        for line in expected:
            assert line in " ".join(p.stdout.split()), (command, line, p.stdout)
        return p.stdout


def commands(block: str) -> Iterator[list[str]]:
    """A console block: each command with the lines that it prints."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        yield part.splitlines()


def state(home: Path) -> dict[str, str]:
    """Path -> digest of every file of a checkout."""
    files = (p for p in sorted(home.rglob("*")) if p.is_file() and "__pycache__" not in p.parts)
    return {p.relative_to(home).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def places(heading: str) -> list[str]:
    """The places that the table of the page names for a task, as patterns."""
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| [{heading.lower()}]"))
    return [re.sub(r"<\w+>", "*", path) for path in re.findall(r"`([\w<>./*]+/[\w<>./*]*)`", row)]


@pytest.mark.parametrize("heading", TASKS)
def test_a_task_works_as_written_in_the_places_that_it_names(heading: str, tmp_path: Path) -> None:
    home = checkout(tmp_path, "sample_captures/generic")
    for first in BEFORE.get(heading, ()):
        Task(first).take(home)
    before = state(home)
    task = Task(heading).take(home)
    after = state(home)
    assert {path for path in after if after[path] != before.get(path)} == set(task.files)
    assert set(before) <= set(after)
    assert task.printed, "nothing was tried"
    # what stands in no folder of the project is a capture to try it on
    touched = [path for path in task.files if "/" in path]
    allowed = [p if not p.endswith("/") else f"{p}*" for p in places(heading)] + ["rules/compute/*.yaml"] * (
        heading == "A cause"
    )
    assert touched
    assert [path for path in touched if not any(fnmatch(path, p) for p in allowed)] == []


def test_every_task_of_the_table_has_a_section() -> None:
    linked = re.findall(r"^\| \[(.+?)\]\(#([\w-]+)\)", PAGE, re.M)
    assert sorted(words for words, _ in linked) == sorted(t.lower() for t in TASKS)
    assert all(anchor == words.replace(" ", "-") for words, anchor in linked)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with its tests, to which the page's rule and cause have been added, and nothing more."""
    folder = checkout(
        tmp_path_factory.mktemp("home"), "sample_captures", "tests", "docs", "README.md", "CONTRIBUTING.md"
    )
    for heading in ("A rule", "A cause"):
        Task(heading).take(folder)
    return folder


def test_a_new_rule_is_reported(home: Path) -> None:
    capture = home / "kernel.csv"
    capture.write_text(
        "name,kind,gpu.time [ms],launch.grid_size,branch.ratio [%],sm.issue_per_active [%]\nk,compute,1,4096,40,85\n",
        "utf-8",
    )
    p = run("diagnose", "kernel.csv", "-f", "json", cwd=home)
    found = [(f["rule"], f["cause"]) for f in json.loads(p.stdout)["findings"]]
    assert ("CMP900", "branch-overhead") in found, (found, p.stderr)


def test_a_new_rule_with_a_new_cause_asks_no_other_file_to_follow(home: Path) -> None:
    """The tests that look at all rules and causes, in a checkout where one of each is new.

    Not the slow ones: those of thresholds hold of a new rule by the way its boundaries are found.
    """
    files = (
        "rules/test_threshold_boundaries.py", "rules/test_minimum_values.py", "rulebook/test_causes.py", "rulebook/test_rulefile.py",
        "findings/test_guide.py", "findings/test_profiler_rules.py", "contracts/test_code_names_no_rule.py",
    )  # fmt: skip
    p = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "not slow", "-p", "no:cacheprovider", *(f"tests/{f}" for f in files)],
        capture_output=True, text=True, cwd=home, check=False,
    )  # fmt: skip
    assert p.returncode == 0, p.stdout[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["p3/idle-sms", "memory/register-spills"])
def test_a_bundled_rule_is_checked_alone(rule: str) -> None:
    p = run("check", f"rules/{rule}.yaml")
    assert (p.returncode, p.stderr) == (0, ""), p.stdout
    assert len(p.stdout.splitlines()) == 1, p.stdout
    assert re.search(r"\b1 rule\b.*\b0 failures\b", p.stdout), p.stdout


@pytest.mark.slow
def test_a_mistake_in_a_new_rule_is_found_where_it_stands(home: Path) -> None:
    rule = home / "rules" / "compute" / "branch-heavy-kernel.yaml"
    text = rule.read_text("utf-8")
    rule.write_text(text.replace("expect: silent", "expect: fires"), "utf-8")
    try:
        p = run("check", "rules/compute/branch-heavy-kernel.yaml", cwd=home)
    finally:
        rule.write_text(text, "utf-8")
    assert p.returncode == 1
    assert (
        "expected fires, got silent: every condition must hold, but branch.ratio 6.0 %, not above many 25.0 %"
        in p.stdout
    )
    line = next(n for n, t in enumerate(text.splitlines(), 1) if "expect: silent" in t)
    assert f"branch-heavy-kernel.yaml:{line}: " in p.stdout
