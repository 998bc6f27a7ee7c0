"""The page about Python: its examples run and print what stands there; the package's names are those it promises."""

import builtins
import doctest
from pathlib import Path
from typing import Any

import triage
from tests.conftest import ROOT


def test_the_examples_run(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(ROOT)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(
        str(ROOT / "docs" / "python.md"), module_relative=False, globs={"folder": tmp_path}, optionflags=options
    )
    vars(builtins).pop("_", None)  # what a prompt remembers
    assert tried > 10 and not failed


def test_public_names_are_all_there_and_nothing_else() -> None:
    assert sorted(triage.__all__) == triage.__all__ and sorted([*triage.__all__, "__version__"]) == sorted(dir(triage))
    assert all(getattr(triage, name).__module__.startswith("triage") for name in triage.__all__ if name != "occupancy")
    assert not any(name.startswith("_") for name in triage.__all__)


def test_a_list_without_items_says_so() -> None:
    path = ROOT / "sample_captures" / "gpu-trace" / "demo_frame"
    assert repr(triage.diagnose(path, top=0).todo) == "nothing to do"
