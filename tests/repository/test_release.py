"""What people install and trust: workflows with pinned actions and few permissions, hooks that run, groups that resolve."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.conftest import ROOT
from triage import __version__
from triage.commands.cli import triage

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def workflow(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text("utf-8"))
    return found


def test_actions_are_pinned_by_commit_the_same_one_everywhere() -> None:
    pins: dict[str, set[str]] = {}
    for path in [*WORKFLOWS, ROOT / "action.yml"]:
        for line in path.read_text("utf-8").splitlines():
            if "uses:" in line:
                found = re.fullmatch(r"\s*-? ?uses: ([\w/-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+", line)
                assert found, (path.name, line)
                pins.setdefault("/".join(found[1].split("/")[:2]), set()).add(found[2])
    assert len(pins) >= 8
    assert all(len(commits) == 1 for commits in pins.values()), pins


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_every_job_has_its_own_few_permissions_and_an_end(path: Path) -> None:
    flow = yaml.safe_load(path.read_text("utf-8"))
    assert flow["permissions"] == {}
    for job in flow["jobs"].values():
        assert job["timeout-minutes"] <= 90
        may_write = [k for k, v in job.get("permissions", {}).items() if v == "write"]
        scripts = " ".join(s.get("run", "") for s in job["steps"])
        assert not may_write or "pip" not in scripts  # nothing that was downloaded runs beside a right to write
        assert all(s["with"]["persist-credentials"] is False for s in job["steps"] if "checkout" in s.get("uses", ""))
        assert "${{" not in scripts  # no expression is pasted into a script


def test_the_matrix_holds_every_python_and_system_that_is_promised() -> None:
    quick = workflow("ci")["jobs"]["quick"]["strategy"]["matrix"]
    named = [c.rpartition(" ")[2] for c in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert quick["python"] == named
    systems = {s.partition("-")[0] for s in [*quick["os"], *(i["os"] for i in quick["include"])]}
    assert systems == {"ubuntu", "macos", "windows"}


def test_a_release_publishes_what_was_checked_and_attested() -> None:
    jobs = workflow("release")["jobs"]
    assert [jobs[n].get("needs") for n in ("build", "attest", "publish", "page")] == [
        None,
        "build",
        "attest",
        "publish",
    ]
    assert jobs["publish"]["permissions"] == {"id-token": "write"} and jobs["publish"]["environment"] == "release"
    built = " ".join(s.get("run", "") for s in jobs["build"]["steps"])
    for step in (
        "triage.__version__",
        "CHANGELOG.md",
        "SOURCE_DATE_EPOCH",
        "diff -r dist again",
        "pip check",
        "cyclonedx-py",
    ):
        assert step in built


def test_groups_are_for_people_who_change_triage_and_extras_for_users() -> None:
    assert set(PROJECT["dependency-groups"]) == {"test", "lint", "docs"}
    asked = (ROOT / "Makefile").read_text("utf-8") + (ROOT / ".ci" / "run").read_text("utf-8")
    assert set(re.findall(r"--group (\w+)", asked)) == set(PROJECT["dependency-groups"])


def test_every_dependency_has_its_reason() -> None:
    page = (ROOT / "docs" / "decisions.md").read_text("utf-8").partition("## Dependencies")[2].partition("\n## ")[0]
    needed = [
        *PROJECT["project"]["dependencies"],
        *(x for e in PROJECT["project"]["optional-dependencies"].values() for x in e),
    ]
    for text in needed:
        (name,) = re.findall(r"^[\w-]+", text)
        assert re.search(rf"\b{name}\b", page, re.IGNORECASE), text


def test_the_hooks_take_rules_and_settings(tmp_path: Path) -> None:
    hooks = {h["id"]: h for h in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    files = {"triage-rules": "gpu/rules/half-used.yaml", "triage-settings": "tools/triage.toml"}
    assert set(hooks) == set(files)
    for name, path in files.items():
        assert re.search(hooks[name]["files"], path) and not re.search(hooks[name]["files"], "README.md")
        assert shlex.split(hooks[name]["entry"]) == ["triage", "check"] and hooks[name]["language"] == "python"
    settings = tmp_path / "triage.toml"
    said = {
        'scope = "a"\n': (0, "1 settings file: 0 failures"),
        "scop = 1\n": (1, "scop is no setting - did you mean 'scope'?"),
        '[thresholds]\n"crop-limited.busi" = "4%"\n': (1, "has no threshold 'busi'"),
        '[[accepted]]\ncause = "register-spill"\nreason = "r"\nowner = "o"\nexpires = 2099-01-01\n': (1, "did you mean 'register-spills'?"),
    }  # fmt: skip
    for text, (code, line) in said.items():
        settings.write_text(text)
        done = CliRunner().invoke(triage, ["check", str(settings)], standalone_mode=False)
        assert done.return_value == code and line in done.stdout, (text, done.output)
    rule = ROOT / "rules" / "p3" / "idle-sms.yaml"
    both = CliRunner().invoke(triage, ["check", str(settings), str(rule)], standalone_mode=False)
    assert both.return_value == 1 and "1 rule" in both.stdout


def test_the_page_of_settings_names_the_hooks() -> None:
    page = (ROOT / "docs" / "project.md").read_text("utf-8")
    (config,) = (yaml.safe_load(b) for b in re.findall(r"```yaml\n(.*?)```", page, re.S))
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert {h["id"] for h in config["repos"][0]["hooks"]} == {h["id"] for h in hooks}
    assert config["repos"][0]["rev"] == f"v{__version__}"
