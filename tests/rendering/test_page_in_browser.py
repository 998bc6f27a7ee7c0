"""The HTML report in a real browser, and its Lighthouse scores. Screenshots land in out/, to be looked at."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT, SAMPLES, run
from tests.helpers.reports import DEMO, diagnosed, frame, hostile, text

pytestmark = pytest.mark.slow

HERE = ROOT / "tests" / "browser"
NODE = shutil.which("node")
CHROMIUM = (
    os.environ.get("CHROMIUM")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)


def needs(package: str) -> None:
    """Skip with the reason where the browser or its driver is missing."""
    if not NODE or not CHROMIUM:
        pytest.skip("node or chromium is not installed")
    if not (HERE / "node_modules" / package).is_dir():
        pytest.skip(f"{package} is not installed: cd tests/browser && npm install")


NSYS = SAMPLES / "nsys-trace" / "render_cuda_gpu_trace.csv"
SOURCES: dict[str, Callable[[Path], Path]] = {
    "demo": lambda _: DEMO,
    "large": lambda folder: frame(folder / "large.csv", 5_000),
    "huge": lambda folder: frame(folder / "huge.csv", 100_000),
    "hostile": lambda folder: hostile(folder / "hostile.csv"),
    "report": lambda _: SAMPLES / "ncu-rep" / "transpose.ncu-rep",
    "kernels": lambda _: SAMPLES / "ncu-raw" / "transpose.raw.csv",
    "amd": lambda _: SAMPLES / "rocprof-compute" / "four_kernels_mi210",
    "timeline": lambda _: SAMPLES / "nsys-sqlite" / "training_two_gpus.sqlite",
    "trace": lambda _: NSYS,
    "untimed": lambda _: SAMPLES / "generic" / "p3_workloads_v2.csv",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: Any) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("pages")

    def made(name: str) -> Path:
        out: Path = folder / f"{name}.html"
        if not out.exists():
            out.write_text(text(diagnosed(str(SOURCES[name](folder))), "html"), encoding="utf-8")
        return out

    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[str]:
    """Where one browser listens, which all walks use."""
    needs("playwright-core")
    command = [str(NODE), str(HERE / "serve.mjs"), str(CHROMIUM)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE) as server:
        assert server.stdin and server.stdout
        yield server.stdout.readline().strip()
        server.stdin.close()  # which ends it


def node(script: str, *args: object) -> tuple[int, dict[str, Any]]:
    p = subprocess.run(
        [str(NODE), str(HERE / script), *map(str, args)], capture_output=True, text=True, timeout=240, cwd=HERE
    )
    assert p.stdout.strip(), p.stderr[-1500:]
    found: dict[str, Any] = json.loads(p.stdout.strip().splitlines()[-1])
    return p.returncode, found


@pytest.mark.parametrize("name", SOURCES)
def test_the_page_works_and_asks_nobody(name: str, pages: Callable[[str], Path], browser: str) -> None:
    shots = ROOT / "out" / "screenshots"
    shots.mkdir(parents=True, exist_ok=True)
    code, found = node("walk.mjs", pages(name), shots / name, browser)
    assert found["failed"] == []
    assert code == 0


@pytest.fixture(scope="module")
def plain_pages(tmp_path_factory: Any) -> dict[str, Path]:
    """Pages of the other products."""
    folder = tmp_path_factory.mktemp("plain")
    before, after = frame(folder / "a.csv", 60), frame(folder / "b.csv", 60, seed=8)
    compared, shaped, many = folder / "compare.html", folder / "occupancy.html", folder / "many"
    assert run("compare", before, after, "-f", "html", "-o", compared).returncode == 0
    assert (
        run("occupancy", "--arch", "sm_86", "--threads", "256", "--regs", "80", "-f", "html", "-o", shaped).returncode
        == 0
    )
    (folder / "damaged.csv").write_bytes(b"\0\1" * 99)
    assert run("batch", before, after, DEMO, folder / "damaged.csv", "-o", many).returncode == 0
    from tests.products.test_history import builds

    long = folder / "long.html"
    one, other = frame(folder / "c.csv", 2_000), frame(folder / "d.csv", 2_000, seed=8)
    assert run("compare", one, other, "-f", "html", "-o", long).returncode == 0
    trend, kept = folder / "history.html", builds(folder, 6, slow_from=4)
    assert run("history", "show", "--history", kept, "-o", trend).returncode == 0
    return {"compare": compared, "long": long, "occupancy": shaped, "batch": many / "index.html", "history": trend}


@pytest.mark.parametrize("name", ["compare", "long", "occupancy", "batch", "history"])
def test_the_other_pages_work_alike(name: str, plain_pages: dict[str, Path], browser: str) -> None:
    shots = ROOT / "out" / "screenshots"
    shots.mkdir(parents=True, exist_ok=True)
    code, found = node("plain.mjs", plain_pages[name], shots / name, browser)
    assert found["failed"] == []
    assert code == 0


def accessible(page: Path) -> None:
    """What a page is, at its best; how fast it is depends on who else works here, and is for `benchmarks/page.py` to say."""
    needs("lighthouse")
    categories = ("accessibility", "best-practices")
    _, found = node("lighthouse.mjs", page, CHROMIUM, *categories)
    assert [found[c] for c in categories] == [100, 100], found


@pytest.mark.parametrize("name", ["compare", "occupancy", "batch", "history"])
def test_the_other_pages_are_accessible(name: str, plain_pages: dict[str, Path]) -> None:
    accessible(plain_pages[name])


@pytest.mark.parametrize("name", ["demo", "large"])
def test_lighthouse_scores(name: str, pages: Callable[[str], Path]) -> None:
    accessible(pages(name))


def test_the_page_writes_numbers_as_every_other_report() -> None:
    """Times, shares and values of the script and of Python, ties and the borders between units included."""
    if not NODE:
        pytest.skip("node is not installed")
    from triage.ground.phrasing import percent
    from triage.rendering import phrases

    random = np.random.default_rng(1)
    sizes = [
        *(10 ** random.uniform(-1, 13, 2_000)).round(1),
        12.25e6,
        348.5e3,
        349.5e3,
        999.6,
        999.4,
        999_500,
        999_499,
        1e9,
        0.0,
    ]
    shares = [*random.uniform(0, 1.2, 500), 0.1225, 0.12375, 0.0995, 0.09949, 0.0005, 1.0, 0.9995, 0.0]
    text = (ROOT / "reports" / "_parts" / "base.js.j2").read_text("utf-8")
    script = text[text.index("// Numbers as every other") : text.index("function plural")]
    units = ["ns", "byte", "byte/s", "hz", "%"]
    program = f"{script}\nconst [s, p, u] = {json.dumps([list(map(float, sizes)), list(map(float, shares)), units])};"
    program += "console.log(JSON.stringify([s.map(time), p.map(percent), u.map((x) => s.map((v) => value(x === '%' ? v % 130 : v, x)))]));"
    done = subprocess.run([NODE, "-e", program], capture_output=True, text=True, check=True, encoding="utf-8")
    times, percents, values = json.loads(done.stdout)
    assert [(v, a, b) for v, a, b in zip(sizes, times, map(phrases.time, sizes), strict=True) if a != b] == []
    assert [(v, a, b) for v, a, b in zip(shares, percents, map(percent, shares), strict=True) if a != b] == []
    for unit, found in zip(units, values, strict=True):
        asked = [v % 130 if unit == "%" else v for v in sizes]
        said = [phrases.number(v, unit) for v in asked]
        assert [(v, a, b) for v, a, b in zip(asked, found, said, strict=True) if a != b] == []
