"""Shared helpers of the tests."""

import atexit
import csv
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.helpers import forking

gc.set_threshold(100_000, 20, 50)  # what tests make are trees, as in the program; cycles are few and may wait
# A busy machine is no defect: no example is timed.
settings.register_profile("house", deadline=None)
settings.load_profile("house")

# A shell that starts us in the background hands SIGINT down as ignored, and our children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What runs remember of one another stays within these tests.
CACHE = os.environ["TRIAGE_CACHE"] = tempfile.mkdtemp(prefix="triage-cache-")
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "sample_captures"
SHARED = ROOT.parent / "shared"  # beside the checkout, never part of it
CORPUS = SHARED / "corpus"
FORMATS = ("terminal", "brief", "markdown", "jira", "html", "json", "csv", "junit")
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real exports is not beside this checkout")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each worker keeps neighbouring tests: what they read once is read by one worker; the idle one takes what is left."""
    if config.getoption("dist") != "load":
        return None  # as the command line says
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def pytest_collection_finish() -> None:
    """Seven thousand tests outlive every run: what collects garbage need not look at them each time."""
    gc.collect()
    gc.freeze()


def run(
    *args: object,
    input: str | None = None,  # noqa: A002 - as subprocess.run names it
    env: dict[str, str] | None = None,
    cwd: Path = ROOT,
    first: str = "",
    check: bool = False,
    **how: Any,
) -> subprocess.CompletedProcess[str]:
    """The real command line of the checkout at `cwd`, in a process of its own.

    first: code that the process runs before it. how: as subprocess.run takes it.
    """
    whole = {**os.environ, **(env or {})}
    if input is None and whole.get("TRIAGE_CACHE") == CACHE and forking.possible(cwd, env, how):
        done = forking.run([*map(str, args)], cwd, whole, how.get("timeout", 300), first)
        if check:
            done.check_returncode()
        return done
    program = ["-c", f"{first}\nfrom triage.__main__ import main; main()"] if first else ["-m", "triage"]
    return subprocess.run(
        [sys.executable, *program, *map(str, args)],
        **{"capture_output": "stdout" not in how, "timeout": 300, **how},
        text=True, encoding="utf-8", input=input, cwd=cwd, env=whole, check=check,
    )  # fmt: skip


def bare_capture(facts: dict[str, Any], names: Any, kinds: Any = None, ns: Any = None, **more: Any) -> Any:
    """Workloads that no file holds, each 1 ns long unless `ns` says otherwise. more: other fields of Capture."""
    import numpy as np

    from triage.capture.capture import Capture, InputFile, Table

    n, names = len(names), np.array(names, dtype=object)
    one, nothing = np.zeros(n, dtype=np.int64), np.full(n, "", dtype=object)
    time = np.ones(n) if ns is None else ns
    fields = {"collectable": frozenset(facts), "calls": np.ones(n), **more}
    return Capture(
        input=InputFile("test", "test", "", n), table=Table("test", [], names, {}), names=names, paths=nothing,
        kinds=nothing if kinds is None else np.array(kinds, dtype=object), parent=one - 1, depth=one, duration_ns=time,
        self_ns=time, facts=facts, sources={}, device=None, **fields,
    )  # fmt: skip


def diagnosis_of(captures: Any, book: Any, *, top: int | None = None) -> Any:
    """The diagnosis of one capture or several by the rules of a book."""
    from triage.capture.capture import Capture
    from triage.diagnosis.diagnosing import Diagnoser

    return Diagnoser(book).diagnose([captures] if isinstance(captures, Capture) else list(captures), top)


def generic(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A generic table: ratios in percent, times in ms, the rest bare."""
    from triage import schema

    heads = ["name", *sorted({k for r in rows for k in r} - {"name"})]

    def unit(h: str) -> str:
        if not schema.known(h):
            return ""
        return {"ratio": " [%]", "ns": " [ms]"}.get(schema.get(h).unit, "")

    with path.open("w", newline="", encoding="utf-8") as f:
        w = csv.writer(f)
        w.writerow([h + unit(h) for h in heads])
        w.writerows([r.get(h, "") for h in heads] for r in rows)
    return path


def diagnose(*args: object) -> dict[str, Any]:
    """`triage diagnose ... -f json`, parsed."""
    p = run("diagnose", *args, "-f", "json")
    assert p.returncode in (0, 1), p.stderr
    result: dict[str, Any] = json.loads(p.stdout)
    return result


def checkout(folder: Path, *more: str) -> Path:
    """A copy of what the tool runs from, without its tests; `more` names further paths to copy."""
    for name in ("triage", "rules", "reports", "pyproject.toml", *more):
        source, target = ROOT / name, folder / name
        if source.is_dir():
            # bytecode too: every run in the copy would compile the package again; but not the 15,000 files of the browser
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("node_modules"))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    return folder


@pytest.fixture(scope="session")
def book() -> Any:
    """The bundled rules."""
    from triage.rulebook import packs

    return packs.load(tests=True)


@cache
def doctor() -> Any:
    """The bundled rules, compiled once for all tests that diagnose in this process."""
    from triage.diagnosis.diagnosing import Diagnoser
    from triage.rulebook import packs

    return Diagnoser(packs.select(packs.load()))


@cache
def captures() -> tuple[Any, ...]:
    """Every bundled capture that a reader takes, read once for all tests of this process."""
    from triage.products.rule_checks.coverage import samples

    return tuple(samples())


def diagnosis(*paths: Path) -> Any:
    """A Diagnosis of captures together, without loading the rules again."""
    from triage.api import Diagnosis
    from triage.reading import reader

    return Diagnosis.from_judged(doctor().diagnose([reader.read(str(p)) for p in paths]))
