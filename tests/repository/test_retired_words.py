"""Words that the project no longer uses stay out of its docs, help and reports; rules and causes are `triage check`'s."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.conftest import ROOT
from triage.commands import cli
from triage.ground.retired_words import retired

GENERATED = "<!-- Generated"
# code, addresses and fields are no prose
_MARKDOWN = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)|https?://\S+", re.DOTALL)
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|<style.*?</style>", re.DOTALL)


def _lines(path: Path, code: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """(place, line) of a file, code blanked out and line numbers kept."""
    text = code.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), path.read_text("utf-8"))
    for n, line in enumerate(text.split("\n"), 1):
        yield f"{path.relative_to(ROOT)}:{n}", line


def docs() -> Iterator[tuple[str, str]]:
    """Lines of the pages that people write."""
    for path in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "skills").rglob("*.md")),
    ):
        if path.is_file() and not path.read_text("utf-8").startswith(GENERATED):
            yield from _lines(path, _MARKDOWN)


def reports() -> Iterator[tuple[str, str]]:
    """Lines of templates, without the code in them."""
    for path in sorted((ROOT / "reports").rglob("*.j2")):
        if not path.name.endswith((".css.j2", ".js.j2")):
            yield from _lines(path, _TEMPLATE)


def help_texts() -> Iterator[tuple[str, str]]:
    """Help of every command and option."""

    def below(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
        yield name, f"{command.help or ''} {command.short_help or ''}"
        yield from ((f"{name} {p.name}", p.help or "") for p in command.params if isinstance(p, click.Option))
        for inner in getattr(command, "commands", {}).values():
            yield from below(inner, f"{name} {inner.name}")

    context = click.Context(cli.triage, info_name="triage")
    for verb in cli.triage.list_commands(context):
        if command := cli.triage.get_command(context, verb):
            yield from below(command, f"triage {verb}")


@pytest.mark.parametrize("texts", [docs, reports, help_texts], ids=["docs", "reports", "help"])
def test_no_text_uses_a_retired_word(texts: object) -> None:
    assert callable(texts)
    found = [f"{place}: {word!r} - write: {instead}" for place, text in texts() for word, instead in retired(text)]
    assert not found, f"{len(found)} retired words\n" + "\n".join(found)


def test_each_kind_of_text_is_read() -> None:
    """Each of them holds words at all: a moved folder would pass for a clean one."""
    assert all(len(" ".join(text for _, text in kind()).split()) > 300 for kind in (docs, reports, help_texts))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("About 3 ms could come back", ["could come back"]),
        ("It gives back 3 ms", ["gives back"]),
        ("Nobody counted the turns", ["Nobody", "turns"]),
        ("VRAM leads; this leads to misses", ["leads"]),
        ("turns off blending", []),
        ("He understands leadership and upstanding spokes", []),
    ],
)
def test_whole_words_in_any_case(text: str, found: list[str]) -> None:
    assert sorted(word for word, _ in retired(text)) == sorted(found)
