"""The pages for people: the site builds without a broken link, and what the pages show is so."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT

GENERATED = (
    "rules method causes metrics cli capturing glossary guide contributing changelog".split()
)  # docs/generate.py makes them


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
