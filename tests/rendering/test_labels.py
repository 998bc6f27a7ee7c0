"""One label per concept in every report: each head is spelled in rendering/labels.py alone, and once."""

import re
from pathlib import Path

import pytest

from triage.rendering.html import bars
from triage.rendering.labels import AS_DATA, HEADS

ROOT = Path(__file__).resolve().parents[2]
# labels of words that also stand in sentences: only as heads of a table, a tile or a section must they come from the table
HEAD = r"""(?:<dt[^>]*>|<th[^>]*>|<h[1-4][^>]*>|<b>|\|\| ?|^\| .*\| |\*\*|label: ["']|el\("h4", null, ["']|grid\.add_row\(["']|\(\(["'])"""
RETIRED = (
    "Own time", "With children", "Exclusive time", "Busiest units", "Limited by", "Level", "Could come back", "Gives back", "Gives",
    "Time to gain", "Back", "Budget", "Do first", "First to do", "Cannot be judged", "Not judged", "Finished", "About the data",
    "Check afterwards", "Done when", "Mind", "Other ways", "Where it stands", "Idle for", "Led by", "Worst in", "Not read",
    "Explained by", "Without a counterpart", "Steps",
)  # fmt: skip


def sources() -> list[Path]:
    code = [p for folder in ("rendering", "products") for p in (ROOT / "triage" / folder).rglob("*.py")]
    return [p for p in (*code, *(ROOT / "reports").rglob("*.j2")) if p.name not in ("labels.py", "base.js.j2")]


def test_each_label_stands_once() -> None:
    assert len(set(AS_DATA.values())) == len(AS_DATA)
    for head in ("Self time", "Share", "Limiter", "Root cause", "Saves"):
        assert list(AS_DATA.values()).count(head) == 1


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_renderer_spells_a_head_itself(path: Path) -> None:
    text = path.read_text("utf-8")
    spelled = [
        HEADS.self_time,
        HEADS.limiter,
        HEADS.root_cause,
        HEADS.saves,
        HEADS.top_units,
        HEADS.recoverable,
        *RETIRED,
    ]
    words = "|".join(map(re.escape, spelled))
    assert re.findall(rf"{HEAD}(?:{words})\b(?!\w)", text, re.MULTILINE) == []


def test_no_renderer_says_a_retired_word() -> None:
    said = re.compile(
        r"could come back|gives? back|at least nothing|cannot be judged|worst first|no rule found|without a counterpart"
    )
    found = {str(p.relative_to(ROOT)): said.findall(p.read_text("utf-8")) for p in sources()}
    assert {p: words for p, words in found.items() if words} == {}


def test_bars_of_passes_share_a_scale_and_have_words() -> None:
    over = {"marker": "shadows", "ns": 2e6, "allowed_ns": 1e6, "over_ns": 1e6, "items": [], "saves_ns": 0.0, "owner": None, "matched": 1}  # fmt: skip
    first, second = bars.pass_bars([(2e6, 5e5), (1e6, 0.0)], ["Shadows", "UI"], [over])  # type: ignore[list-item]
    assert 'aria-label="2 ms, 500 µs recoverable, budget 1 ms"' in first and 'class="p-limit" x="50%"' in first
    assert 'aria-label="1 ms, nothing recoverable"' in second and 'class="p-time" width="50%"' in second
    assert bars.pass_bars([(0.0, 0.0)], ["A"], []) == [""]
