"""A slice of what strangers try with templates, histories, paths and settings; `make hard` tries all of it."""

from pathlib import Path

import pytest

from tests.helpers import strangers
from triage.rendering import confined

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    ("kind", "every", "count"),
    [("hostile_templates", 13, 248), ("tampered_histories", 9, 144), ("paths_of_agents", 1, 150), ("hostile_settings", 1, 67)],
)  # fmt: skip
def test_attacks_end_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, every: int, count: int
) -> None:
    monkeypatch.setattr(confined, "SECONDS", 1)
    attacks = list(getattr(strangers, kind)(tmp_path))
    assert len(attacks) == count
    beyond = [e for e in map(strangers.judge, attacks[::every]) if e.wrong]
    assert not beyond, beyond


def test_a_judge_sees_what_is_beyond(tmp_path: Path) -> None:
    def fails() -> str:
        raise KeyError("x")

    for attack in (strangers.Attack("a", 1, lambda: strangers.SECRET), strangers.Attack("b", 1, fails)):
        assert strangers.judge(attack).wrong
