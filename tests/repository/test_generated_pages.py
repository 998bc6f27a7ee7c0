"""Pages generated from the program: complete, written where asked, with links that lead somewhere."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.helpers import scripts
from triage.commands import cli


@pytest.fixture(scope="module")
def generator() -> Any:
    return scripts.load(ROOT / "docs" / "generate.py")


@pytest.fixture(scope="module")
def pages(generator: Any) -> dict[str, str]:
    return dict(generator.pages())


def test_pages_are_written_into_a_folder_and_kept_out_of_git(
    generator: Any, pages: dict[str, str], tmp_path: Path
) -> None:
    assert generator.main([str(tmp_path)]) == 0
    made = {p.relative_to(tmp_path).with_suffix("").as_posix(): p.read_text("utf-8") for p in tmp_path.rglob("*.md")}
    assert made == pages
    assert generator.main(["--check"]) == 2
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert {
        f"/docs/{folder}/" if folder else f"/docs/{name}.md" for name in pages for folder in [name.rpartition("/")[0]]
    } <= set(ignored)


def test_no_page_is_longer_than_a_reader_scrolls(pages: dict[str, str]) -> None:
    assert not {name: len(text.splitlines()) for name, text in pages.items() if len(text.splitlines()) > 400}


def test_links_within_a_page_lead_to_its_anchors(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        anchors = re.findall(r'<a id="([^"]+)">', text)
        assert len(anchors) == len(set(anchors)), name
        heads = {h.lower().replace(" ", "-") for h in re.findall(r"(?m)^#+ ([\w ]+)$", text)}
        assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= {*anchors, *heads}, name


def test_every_rule_metric_verb_and_dialect_has_its_section(pages: dict[str, str], book: Any) -> None:
    from triage import dialects, schema
    from triage.ground import glossary

    assert all(f"](rules/{r.id.lower()}.md)" in pages["rules"] and f"rules/{r.id.lower()}" in pages for r in book.rules)
    assert all(f'<a id="{m}">' in pages[f"metrics/{m.partition('.')[0]}"] for m in schema.all_metrics())
    assert all(f"# triage {verb}\n" in pages[f"cli/{verb}"] for verb in cli.VERBS)
    capturing = "".join(text for name, text in pages.items() if name.startswith("capturing/"))
    assert all(f'<a id="{d}">' in capturing for d in dialects.dialects())
    assert pages["glossary"].count("| <a id=") == len(glossary.entries())


def test_the_benchmark_page_shows_the_recorded_runs() -> None:
    module = scripts.load(ROOT / "benchmarks" / "bench.py")
    assert (ROOT / "benchmarks" / "README.md").read_text("utf-8") == module.page()
