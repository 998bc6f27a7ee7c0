"""The place of compiled rules and templates: never out of date, never trusted blindly, never needed."""

import hashlib
import io
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, SAMPLES, run
from triage import schema
from triage.dialects.custom import vocabulary
from triage.files import cache
from triage.rulebook import pack, packs

SAMPLE = SAMPLES / "generic" / "p3_workloads_v2.csv"
RULE = ROOT / "rules" / "p3"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("TRIAGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / cache.OWN


def files(place: Path) -> list[Path]:
    """What is kept, without the mark."""
    return sorted(p for p in place.iterdir() if p.name != cache.MARK)


def kind(kept: Path) -> str:
    """`rules` of `rules-<digests>.cache`."""
    return kept.name.partition("-")[0]


def key(kept: Path) -> str:
    """What it was kept under."""
    return kept.name.removesuffix(".cache")


def loaded() -> packs.Rulebook:
    """The bundled rules as a new process has them."""
    packs._built.cache_clear()
    return packs.load()


def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("rule files were read again")

    monkeypatch.setattr(packs, "_read", fail)


def test_remembered_rules_are_the_rules(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = loaded()
    assert [kind(p) for p in files(place)] == ["rules"]
    forbid_reading(monkeypatch)
    again = loaded()
    assert again.sha256 == fresh.sha256
    for a, b in zip(fresh.rules, again.rules, strict=True):
        assert pickle.dumps(a) == pickle.dumps(b)
        for when_a, when_b in zip(a.when.values(), b.when.values(), strict=True):
            for c, d in zip(when_a.conditions, when_b.conditions, strict=True):
                assert c(lambda name: 0.7) == d(lambda name: 0.7)


@pytest.mark.slow
def test_the_same_report_with_and_without(place: Path) -> None:
    for form in ("json", "markdown", "html"):
        cold = run("diagnose", SAMPLE, "-f", form)
        warm = run("diagnose", SAMPLE, "-f", form)
        none = run("diagnose", SAMPLE, "-f", form, env={"TRIAGE_CACHE": "off"})
        assert cold.stdout == warm.stdout == none.stdout and cold.returncode == 0, form
    assert {kind(p) for p in files(place)} == {"rules", "template.markdown", "template.html"}


def test_a_changed_rule_is_read_again(place: Path, tmp_path: Path) -> None:
    mine = tmp_path / "rules"
    mine.mkdir()
    source = packs.below(RULE)[0]
    shutil.copy(RULE / pack.FILE, mine)
    text = source.read_text("utf-8").replace("\nname: ", "\nname: my-").replace("id: SOL", "id: TST")
    own = mine / f"my-{source.name}"
    own.write_text(text, "utf-8")
    before = packs.load([mine])
    assert before.sha256
    own.write_text(text.replace("title: ", "title: Another "), "utf-8")
    after = packs.load([mine])
    changed = [b.title for a, b in zip(before.rules, after.rules, strict=True) if a.title != b.title]
    assert len(changed) == 1 and changed[0].startswith("Another ") and before.sha256 != after.sha256
    (mine / pack.FILE).unlink()  # what all rules of a folder share counts as well
    assert packs.load([mine]).sha256 != after.sha256


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"x", b"\x80\x05garbage", None])
def test_damage_is_made_again(place: Path, damage: bytes | None) -> None:
    fresh = loaded()
    (kept,) = files(place)
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1] + b"?" if damage is None else damage)
    assert loaded().sha256 == fresh.sha256
    assert kept.read_bytes() == whole


def test_what_does_not_unpickle_is_made_again(place: Path) -> None:
    fresh = loaded()
    (kept,) = files(place)
    data = b"\x80\x05not a pickle"
    kept.write_bytes(hashlib.sha256(data).digest() + data)
    assert loaded().sha256 == fresh.sha256


@pytest.mark.parametrize("damage", [b"{}garbage", b"[]", b'{"busy sm": 3}'])
def test_remembered_words_are_the_words(place: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes) -> None:
    fresh = vocabulary.metrics.__wrapped__()
    (kept,) = files(place)
    whole = kept.read_bytes()
    kept.write_bytes(hashlib.sha256(damage).digest() + damage)
    assert list(vocabulary.metrics.__wrapped__().items()) == list(fresh.items())
    assert kept.read_bytes() == whole
    monkeypatch.setattr(vocabulary, "_build_metrics", dict)
    assert list(vocabulary.metrics.__wrapped__().items()) == list(fresh.items())


def test_remembered_words_are_named_after_every_list_of_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    monkeypatch.setattr(vocabulary.stored, "digest", lambda files: read.extend(files) or "0")
    vocabulary.metrics.__wrapped__()
    lists = set(Path(schema.__file__).parent.glob("*.csv"))
    assert lists and lists <= {p.resolve() for p in read}


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_others_may_write_is_not_trusted(place: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    loaded()
    (kept,) = files(place)
    (kept if what == "file" else place).chmod(0o777)
    assert cache.recall(key(kept)) is None
    (kept if what == "file" else place).chmod(0o700)
    assert cache.recall(key(kept)) is not None
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert cache.recall(key(kept)) is None


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_nothing_is_written_where_others_could_swap_it(place: Path) -> None:
    place.mkdir(parents=True)
    place.chmod(0o777)
    cache.keep("n-1", b"x")
    assert list(place.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_planted_links_are_not_followed(place: Path, tmp_path: Path) -> None:
    cache.keep("n-1", b"x")
    (kept,) = files(place)
    other = kept.rename(tmp_path / "other")
    kept.symlink_to(other)
    before = other.read_bytes()
    assert cache.recall("n-1") is None
    cache.keep("n-1", b"y")
    assert other.read_bytes() == before and not kept.is_symlink() and cache.recall("n-1") == b"y"


@pytest.mark.slow
@pytest.mark.parametrize("place", ["off", "/dev/null/x", "/proc/nothing"])
def test_nowhere_to_write(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setenv("TRIAGE_CACHE", place)
    assert loaded().rules
    assert run("diagnose", SAMPLE, "-f", "markdown").stderr == ""


def test_the_oldest_go(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_CACHED_FILES", 3)
    for i in range(6):
        cache.keep(f"n-{i}", b"x")
        os.utime(place / f"n-{i}.cache", (i, i))
    assert sorted(key(p) for p in files(place)) == ["n-3", "n-4", "n-5"]
    shutil.rmtree(place)
    assert cache.recall("n-5") is None


def test_files_of_the_user_are_left_alone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever they are called, in the folder that TRIAGE_CACHE names and in the cache's own."""
    monkeypatch.setattr(cache, "MAX_CACHED_FILES", 1)
    cache.keep("n-0", b"x")
    theirs = {"thesis.tex", "rules", "template.md-b", f"sha256-{'0' * 64}", "x.part", "y.cache", "Rules-a.cache"}
    for folder in (place, place.parent):
        for name in theirs:
            (folder / name).write_text("mine")
            os.utime(folder / name, (1, 1))
    (place.parent / "rules-0.cache").write_text("mine")
    (place / f"{'0' * 12}.part").write_text("left by a killed process")
    os.utime(place / f"{'0' * 12}.part", (1, 1))
    for i in range(3):
        cache.keep(f"n-{i}", b"x")
        os.utime(place / f"n-{i}.cache", (i + 2, i + 2))
    assert {p.name for p in files(place)} == theirs | {"n-2.cache"}
    assert {p.name for p in place.parent.iterdir()} == theirs | {"rules-0.cache", cache.OWN}


def test_a_folder_without_the_mark_is_not_touched(place: Path) -> None:
    place.mkdir(parents=True)
    (place / "rules-1.cache").write_bytes(b"mine")
    cache.keep("rules-1", b"x")
    assert (place / "rules-1.cache").read_bytes() == b"mine" and cache.recall("rules-1") is None
    (place / "rules-1.cache").unlink()
    cache.keep("rules-1", b"x")  # empty, as a killed process may leave it
    assert cache.recall("rules-1") == b"x"
    (place / cache.MARK).unlink()
    assert cache.recall("rules-1") is None


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_a_link_in_place_of_the_folder_or_the_mark_is_not_followed(place: Path, tmp_path: Path) -> None:
    cache.keep("n-1", b"x")
    elsewhere = place.rename(tmp_path / "elsewhere")
    place.symlink_to(elsewhere)
    before = sorted(p.name for p in elsewhere.iterdir())
    cache.keep("n-2", b"y")
    assert cache.recall("n-1") is None and sorted(p.name for p in elsewhere.iterdir()) == before
    place.unlink()
    elsewhere.rename(place)
    assert cache.recall("n-1") == b"x"
    mark = (place / cache.MARK).rename(tmp_path / "mark")
    (place / cache.MARK).symlink_to(mark)
    assert cache.recall("n-1") is None


@pytest.mark.parametrize("name", ["../n-1", "n-1/x", "n", "", "N-1", "n-\n", "n-" + "x" * 300])
def test_names_that_are_not_the_caches_are_not_kept(place: Path, name: str) -> None:
    cache.keep(name, b"x")
    assert not place.exists() or not files(place)


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch executed",)


@pytest.mark.slow
@pytest.mark.parametrize("what", [Evil(), [print], packs.Rulebook, Path("x"), {"a": packs._read}])
def test_a_pickle_of_anything_but_rules_is_not_obeyed(
    place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: object
) -> None:
    monkeypatch.chdir(tmp_path)
    fresh = loaded()
    (kept,) = files(place)
    data = pickle.dumps(what, 5)
    kept.write_bytes(hashlib.sha256(data).digest() + data)
    with pytest.raises(pickle.UnpicklingError):
        packs._Restricted(io.BytesIO(data)).load()
    assert loaded().sha256 == fresh.sha256
    assert not Path("executed").exists()


def test_default_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRIAGE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if os.name == "posix":
        assert cache.folder() == tmp_path / "sol-triage"
    else:
        place = cache.folder()
        assert place is not None and place.is_absolute() and place.name == "sol-triage"


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    import platformdirs

    monkeypatch.delenv("TRIAGE_CACHE")
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *_, **__: Path("~/.cache/sol-triage"))
    assert cache.folder() is None

    def nobody(*_: object, **__: object) -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr(platformdirs, "user_cache_path", nobody)
    assert cache.folder() is None
    cache.keep("n-1", b"x")
    assert cache.recall("n-1") is None
