"""The pages for people: the site builds without a broken link, and what the pages show is so."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, run

GENERATED = (
    "rules method causes metrics cli capturing glossary guide contributing changelog".split()
)  # docs/generate.py makes them


def commands(page: str) -> list[list[str]]:
    """The `$ triage ...` lines of a page, in order."""
    text = (ROOT / page).read_text("utf-8")
    lines = [line for block in re.findall(r"```console\n(.*?)```", text, re.S) for line in block.splitlines()]
    return [shlex.split(line[2:], comments=True)[1:] for line in lines if line.startswith("$ triage ")]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the samples lie as in a checkout."""
    home = tmp_path_factory.mktemp("home")
    for name in ("gpu-trace/demo_frame", "compare", "generic"):
        shutil.copytree(ROOT / "sample_captures" / name, home / "sample_captures" / name)
    return home


def inside(home: Path, args: list[str]) -> subprocess.CompletedProcess[str]:
    return run(*args, cwd=home, env={"PYTHONPATH": str(ROOT), "TRIAGE_CONFIG": "off"})


@pytest.mark.slow
def test_the_rule_pack_runs_as_written(checkout: Path) -> None:
    page = (ROOT / "docs" / "rule-pack.md").read_text("utf-8")
    name = re.search(r"`(gpu-rules/[^`]+\.yaml)`", page)
    rule = re.search(r"```yaml\n(.*?)```", page, re.S)
    assert name and rule
    (checkout / name[1]).parent.mkdir(parents=True)
    (checkout / name[1]).write_text(rule[1], "utf-8")
    for args in commands("docs/rule-pack.md"):
        done = inside(checkout, args)
        assert done.returncode == 0, (args, done.stdout, done.stderr)
    settings = re.search(r"```toml\n(.*?)```", page, re.S)
    assert settings
    (checkout / "triage.toml").write_text(settings[1])
    by_file = run(
        "diagnose", "sample_captures/generic/p3_workloads_v2.csv", "-f", "csv",
        cwd=checkout, env={"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert "STU001" in by_file.stdout


def test_the_settings_of_the_page_are_settings(tmp_path: Path) -> None:
    from datetime import date

    from triage.products import project
    from triage.rulebook import packs

    page = (ROOT / "docs" / "project.md").read_text("utf-8")
    text = re.search(r"```toml\n(.*?)```", page, re.S)
    assert text
    (tmp_path / "gpu" / "rules").mkdir(parents=True)
    (tmp_path / "triage.toml").write_text(text[1])
    (tmp_path / ".git").mkdir()
    found = project.load(date(2026, 1, 1), tmp_path, {})
    assert (len(found.accepted), len(found.owners), len(found.budgets)) == (1, 3, 3)
    packs.select(packs.load(), sets=found.sets)  # its threshold is one


def test_every_page_is_in_the_navigation() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    listed = set(re.findall(r"[\w-]+\.md", str(site["nav"])))
    assert listed == {p.name for p in (ROOT / "docs").glob("*.md")} | {f"{name}.md" for name in [*GENERATED, "gallery"]}
    assert site["hooks"] == ["docs/generate.py", "docs/gallery.py"]
    assert site["strict"] is True


@pytest.mark.slow
def test_the_site_builds_strictly(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert all((tmp_path / "site" / f"{name}.html").is_file() for name in [*GENERATED, "gallery"])
    reports = [p.read_text("utf-8") for p in (tmp_path / "site" / "gallery").iterdir()]
    assert len(reports) == 6 and all(r.startswith("<!doctype html>") for r in reports)
    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert not re.search(r"(src|href)=\"https?://(?!squidfunk)", page)


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md", "sample_captures/README.md"]
)
def test_links_in_the_repository_lead_to_files_of_it(page: str) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", (ROOT / page).read_text("utf-8"))
    at = (ROOT / page).parent
    assert not [x for x in links if not (at / x).exists() or ((at / x).stem in GENERATED and (at / x).suffix == ".md")]


def test_the_issue_forms_are_forms() -> None:
    forms = [p for p in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if p.name != "config.yml"]
    assert len(forms) >= 3
    for path in forms:
        form = yaml.safe_load(path.read_text("utf-8"))
        assert {"name", "description", "body"} <= set(form)
        assert all(b["type"] in ("input", "textarea") and b["attributes"]["label"] for b in form["body"])
        assert len({b["id"] for b in form["body"]}) == len(form["body"])
