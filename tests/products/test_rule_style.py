"""What `triage check` says of the style of bundled rules and causes."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.conftest import checkout, run
from triage.products.rule_checks import wording_check
from triage.rulebook import cause_reader, packs
from triage.rulebook.packs import Rulebook


def failures(book: Rulebook, name: str, **changes: object) -> list[str]:
    """What is said of a bundled rule with some of its texts changed."""
    rule = replace(book.by_name[name], written=None, **changes)  # type: ignore[arg-type]
    others = [r for r in book.rules if r.name != name]
    return [str(f) for f in wording_check.check([*others, rule], ())]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"title": "The SM waits"}, "without 'The' at its start"),
        ({"title": "Warps wait for their group"}, "without 'Warps' at its start"),
        ({"title": "one two three four five six seven eight"}, "at most 7 words (has 8)"),
        ({"title": "L1 data stage saturated"}, "unique in its pack"),
        ({"finding": "Nobody measured it."}, "finding: 'Nobody' - write: the passive"),
        ({"finding": " ".join(["word"] * 26) + "."}, "clauses of at most 25 words (has 26)"),
        ({"summary": "The bus is full."}, "summary: 'The bus' - write: PCIe"),
    ],
)
def test_a_text_that_breaks_the_style(book: Rulebook, changes: dict[str, object], said: str) -> None:
    found = failures(book, "kernel-barriers", **changes)
    assert found and all(said in x for x in found), found
    assert all(":" in x and Path(x.split(":")[0]).is_file() for x in found)


def test_names_of_fields_are_no_words(book: Rulebook) -> None:
    assert failures(book, "kernel-barriers", finding="Wavefronts: {turns:.0f}, at {leads}.") == []
    assert failures(book, "kernel-barriers", finding=f"{' '.join(['word'] * 13)}: {' '.join(['word'] * 13)}.") == []


def test_causes_are_read_too() -> None:
    every = cause_reader.load(packs.cause_files())
    wrong = replace(every["overdraw"], title="Far too many layers of pixels", meaning="It stands in the way.")
    said = [str(f) for f in wording_check.check([], [wrong])]
    assert len(said) == 2
    assert "at most 5 words (has 6)" in said[0]
    assert "meaning: 'stands' - write: is, lies" in said[1]
    assert [str(f) for f in wording_check.check([], every.values())] == []


@pytest.mark.slow
def test_the_command_names_file_line_and_word(tmp_path: Path) -> None:
    home = checkout(tmp_path, "sample_captures/generic")
    path = home / "rules" / "compute" / "kernel-barriers.yaml"
    text = path.read_text("utf-8")
    at = next(n for n, line in enumerate(text.split("\n"), 1) if line.startswith("verify:"))
    path.write_text(text.replace("\nverify: ", "\nverify: Nobody waits; "), "utf-8")
    p = run("check", path, cwd=home)
    assert p.returncode == 1
    assert f"kernel-barriers.yaml:{at}: verify: 'Nobody' - write: the passive" in p.stdout


def test_rules_of_users_keep_their_own_style(tmp_path: Path, book: Rulebook) -> None:
    rule = replace(book.by_name["kernel-barriers"], file=str(tmp_path / "own.yaml"), title="The warps wait")
    assert wording_check.check([rule], ()) == []
