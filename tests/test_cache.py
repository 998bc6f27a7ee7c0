"""The place of compiled rules and templates: never out of date, never trusted blindly, never needed."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLES, run
from triage.files import cache
from triage.rulebook import packs

SAMPLE = SAMPLES / "generic" / "p3_workloads_v2.csv"
RULE = ROOT / "rules" / "p3"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("TRIAGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("rule files were read again")

    monkeypatch.setattr(packs, "_read", fail)


def test_remembered_rules_are_the_rules(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = packs.load()
    assert [p.name[:6] for p in place.iterdir()] == ["rules-"]
    forbid_reading(monkeypatch)
    again = packs.load()
    assert again.sha256 == fresh.sha256
    for a, b in zip(fresh.rules, again.rules, strict=True):
        assert pickle.dumps(a) == pickle.dumps(b)
        for when_a, when_b in zip(a.when.values(), b.when.values(), strict=True):
            for c, d in zip(when_a.conditions, when_b.conditions, strict=True):
                assert c(lambda name: 0.7) == d(lambda name: 0.7)


def test_the_same_report_with_and_without(place: Path) -> None:
    for form in ("json", "markdown", "html"):
        cold = run("diagnose", SAMPLE, "-f", form)
        warm = run("diagnose", SAMPLE, "-f", form)
        none = run("diagnose", SAMPLE, "-f", form, env={"TRIAGE_CACHE": "off"})
        assert cold.stdout == warm.stdout == none.stdout and cold.returncode == 0, form
    assert {p.name.partition("-")[0] for p in place.iterdir()} == {"rules", "template.md", "template.html"}


def test_a_changed_rule_is_read_again(place: Path, tmp_path: Path) -> None:
    mine = tmp_path / "rules"
    mine.mkdir()
    source = sorted(RULE.glob("*.yaml"))[0]
    text = source.read_text("utf-8").replace("\nname: ", "\nname: my-").replace("id: SOL", "id: TST")
    own = mine / f"my-{source.name}"
    own.write_text(text, "utf-8")
    before = packs.load([mine])
    assert before.sha256
    own.write_text(text.replace("title: ", "title: Another "), "utf-8")
    after = packs.load([mine])
    changed = [b.title for a, b in zip(before.rules, after.rules, strict=True) if a.title != b.title]
    assert len(changed) == 1 and changed[0].startswith("Another ") and before.sha256 != after.sha256


@pytest.mark.parametrize("damage", [b"", b"x", b"\x80\x05garbage", None])
def test_damage_is_made_again(place: Path, damage: bytes | None) -> None:
    fresh = packs.load()
    (kept,) = place.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1] + b"?" if damage is None else damage)
    assert packs.load().sha256 == fresh.sha256
    assert kept.read_bytes() == whole


def test_what_does_not_unpickle_is_made_again(place: Path) -> None:
    fresh = packs.load()
    (kept,) = place.iterdir()
    data = b"\x80\x05not a pickle"
    kept.write_bytes(hashlib.sha256(data).digest() + data)
    assert packs.load().sha256 == fresh.sha256


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_others_may_write_is_not_trusted(place: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    packs.load()
    (kept,) = place.iterdir()
    (kept if what == "file" else place).chmod(0o777)
    assert cache.recall(kept.name) is None
    (kept if what == "file" else place).chmod(0o700)
    assert cache.recall(kept.name) is not None
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert cache.recall(kept.name) is None


@pytest.mark.parametrize("place", ["off", "/dev/null/x", "/proc/nothing"])
def test_nowhere_to_write(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setenv("TRIAGE_CACHE", place)
    assert packs.load().rules
    assert run("diagnose", SAMPLE, "-f", "markdown").stderr == ""


def test_the_oldest_go(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST", 3)
    for i in range(6):
        cache.keep(f"n{i}", b"x")
        os.utime(place / f"n{i}", (i, i))
    assert sorted(p.name for p in place.iterdir()) == ["n3", "n4", "n5"]
    shutil.rmtree(place)
    assert cache.recall("n5") is None


def test_default_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRIAGE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert cache.folder() == tmp_path / "sol-triage"
