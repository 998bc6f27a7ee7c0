"""`triage --version`: one version for all that names it, the commit of a checkout, and what is installed."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.conftest import ROOT
from triage import __version__
from triage.commands import _version
from triage.commands.cli import triage
from triage.document.entries import SCHEMA


def printed(*args: str) -> list[str]:
    done = CliRunner().invoke(triage, list(args))
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def test_the_version_stands_in_one_place_and_all_agree_with_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" in project["project"]["dynamic"] and "version" not in project["project"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)
    assert re.search(rf"(?m)^version: {__version__}$", (ROOT / "CITATION.cff").read_text("utf-8"))
    heads = re.findall(r"(?m)^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert heads[0] == __version__ and len(heads) == len(set(heads))


def test_a_checkout_prints_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*args: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(["git", *who, *args], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    monkeypatch.setattr(_version, "CHECKOUT", tmp_path)
    assert printed("--version") == [f"triage {__version__}"]
    git("init", "-q")
    assert printed("--version") == [f"triage {__version__}"]  # nothing is committed yet
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-qm", "one")
    git("tag", "-a", "v9", "-m", "a tag is not a commit")
    at = git("rev-parse", "--short=9", "HEAD").strip()
    assert printed("--version") == [f"triage {__version__} ({at})"]
    (tmp_path / "a").write_text("2")
    assert printed("--version") == [f"triage {__version__} ({at}+)"]
    monkeypatch.setenv("PATH", str(tmp_path))  # no git
    assert printed("--version") == [f"triage {__version__}"]


def test_verbose_names_the_engine_and_every_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {"durable", *_version.OPTIONAL} == set(extras)
    for extra, (_, package, _) in _version.OPTIONAL.items():
        assert any(re.match(rf"{package}\b", needed) for needed in extras[extra])
    for asked in (["--version", "--verbose"], ["--verbose", "--version"]):
        first, python, engine, *rest = printed(*asked)
        assert first.startswith(f"triage {__version__}")
        assert python.startswith("Python 3.") and engine.startswith("engine: ") and "CLIPS (clipspy 1." in engine
        assert [line.partition(":")[0] for line in rest] == list(_version.OPTIONAL)
    monkeypatch.setattr(_version.importlib.util, "find_spec", lambda _: None)
    assert all("not installed; for " in line for line in list(_version.long())[3:])


def test_verbose_alone_is_refused() -> None:
    done = CliRunner().invoke(triage, ["--verbose", "list", "rules"])
    assert "write: triage --version --verbose" in str(done.exception)


def keys(schema: object, at: str = "") -> set[str]:
    """Every key that a JSON schema describes, by path."""
    found: set[str] = set()
    if isinstance(schema, dict):
        for name, inner in schema.get("properties", {}).items():
            found |= {f"{at}{name}", *keys(inner, f"{at}{name}.")}
        for part in ("items", "additionalProperties"):
            found |= keys(schema.get(part), at)
        for part in ("anyOf", "oneOf", "allOf"):
            for inner in schema.get(part, []):
                found |= keys(inner, at)
        for name, inner in schema.get("$defs", {}).items():
            found |= keys(inner, f"{name}.")
    return found


def test_no_key_of_the_result_is_ever_removed_within_its_version() -> None:
    """The promise of docs/compatibility.md. A new key is added to the list when it is released."""
    schema = json.loads((ROOT / "triage" / "document" / "result.schema.json").read_text("utf-8"))
    assert schema["$id"] == schema["properties"]["schema"]["const"] == SCHEMA == "triage/1"
    released = (ROOT / "tests" / "data" / "result_keys_1.txt").read_text("utf-8").split()
    assert len(released) > 200
    assert not set(released) - keys(schema)
