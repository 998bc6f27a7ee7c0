"""The HTML report in a real browser, and its Lighthouse scores. Screenshots land in out/, to be looked at."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.helpers.reports import DEMO, diagnosed, frame, hostile, text

HERE = ROOT / "tests" / "browser"
NODE = shutil.which("node")
CHROMIUM = (
    os.environ.get("CHROMIUM")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)
OPEN_MS = 1_000 * float(os.environ.get("TRIAGE_TEST_PATIENCE", "2"))  # a loaded test machine is not a reader's


def needs(package: str) -> None:
    """Skip with the reason where the browser or its driver is missing."""
    if not NODE or not CHROMIUM:
        pytest.skip("node or chromium is not installed")
    if not (HERE / "node_modules" / package).is_dir():
        pytest.skip(f"{package} is not installed: cd tests/browser && npm install")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: Any) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    sources = {"demo": DEMO, "large": frame(folder / "large.csv", 5_000), "hostile": hostile(folder / "hostile.csv")}
    out = {}
    for name, source in sources.items():
        out[name] = folder / f"{name}.html"
        out[name].write_text(text(diagnosed(str(source)), "html"), encoding="utf-8")
    return out


def node(script: str, *args: object) -> tuple[int, dict[str, Any]]:
    p = subprocess.run(
        [str(NODE), str(HERE / script), *map(str, args)], capture_output=True, text=True, timeout=240, cwd=HERE
    )
    assert p.stdout.strip(), p.stderr[-1500:]
    found: dict[str, Any] = json.loads(p.stdout.strip().splitlines()[-1])
    return p.returncode, found


@pytest.mark.parametrize("name", ["demo", "large", "hostile"])
def test_the_page_works_and_asks_nobody(name: str, pages: dict[str, Path]) -> None:
    needs("playwright-core")
    shots = ROOT / "out" / "screenshots"
    shots.mkdir(parents=True, exist_ok=True)
    code, found = node("report.mjs", pages[name], shots / name, CHROMIUM)
    assert code == 0 and found["failed"] == []
    assert found["opened_ms"] < OPEN_MS


def test_lighthouse_scores(pages: dict[str, Path]) -> None:
    needs("lighthouse")
    _, found = node("lighthouse.mjs", pages["demo"], CHROMIUM)
    assert found["accessibility"] == 100 and found["best-practices"] >= 95, found
