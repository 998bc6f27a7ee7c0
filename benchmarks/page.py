"""Costs of pages to write, open and use: reports of several sizes, and the pages of the other products.

    python benchmarks/page.py [--record] [--no-lighthouse] [MARKERS...]        5,000 and 100,000 markers unless told

Needs node, Chromium and `npm install` in tests/browser; a few minutes. Per page: megabytes, CPU seconds of the command that
writes it, then of the browser's main thread: CPU time until the page is ready, of one search and one sorting, the heap. CPU
time hardly depends on what else the machine does; only the longest task is on the wall clock. Lighthouse gives performance,
accessibility and best practices (0 to 100; its slow phone, simulated for pages up to 2 MB, applied to larger ones, see
lighthouse.mjs). --record writes benchmarks/pages.md. Exit 1 where a promise is broken: 100 for accessibility and best
practices everywhere, performance of 90 for the demo and 80 for 5,000 and 100,000 markers; one megabyte for 5,000 markers and
six for 100,000; two CPU seconds to open any page.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.conftest import SAMPLES  # noqa: E402
from tests.helpers.reports import DEMO, frame  # noqa: E402
from tests.products.test_history import builds  # noqa: E402

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome") or ""
BROWSER = ROOT / "tests" / "browser"
CATEGORIES = ("performance", "accessibility", "best-practices")  # of Lighthouse
SCORES = {"demo": 90, "5,000 markers": 80, "100,000 markers": 80}
MAX_MB = {"5,000 markers": 1.0, "100,000 markers": 6.0}
OPEN_MS = 2_000
HEAD = ("page", "MB", "CPU s to write", "CPU ms to open", "longest task ms", "search ms", "sort ms", "heap MB", "performance", "accessibility", "best practices")  # fmt: skip


def node(script: str, page: Path, *words: str) -> dict[str, Any]:
    """What a script of the browser tests says of one page."""
    done = subprocess.run(["node", BROWSER / script, page, CHROMIUM, *words], cwd=BROWSER, capture_output=True, text=True, check=True)  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def written(*arguments: object) -> float:
    """CPU seconds of one run of the command line."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "triage", *map(str, arguments)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def pages(folder: Path, sizes: list[int]) -> dict[str, Callable[[], tuple[Path, float]]]:
    """Name -> what writes the page and says what that took."""

    def of(name: str, *arguments: object, out: str = "") -> Callable[[], tuple[Path, float]]:
        target = folder / name.replace(" ", "-")
        return lambda: (target / out if out else target.with_suffix(".html"), written(*arguments, "-o", target if out else target.with_suffix(".html")))  # fmt: skip

    one, other = frame(folder / "a.csv", 2_000), frame(folder / "b.csv", 2_000, seed=8)
    reports = {
        f"{n:,} markers": of(f"{n} markers", "diagnose", frame(folder / f"{n}.csv", n), "-f", "html") for n in sizes
    }
    return {
        "demo": of("demo", "diagnose", DEMO, "-f", "html"),
        **reports,
        "kernels, .ncu-rep": of("kernels", "diagnose", SAMPLES / "ncu-rep" / "transpose.ncu-rep", "-f", "html"),
        "kernels, MI210": of("amd", "diagnose", SAMPLES / "rocprof-compute" / "four_kernels_mi210", "-f", "html"),
        "timeline, two GPUs": of(
            "timeline", "diagnose", SAMPLES / "nsys-sqlite" / "training_two_gpus.sqlite", "-f", "html"
        ),
        "occupancy": of("occupancy", "occupancy", "--arch", "sm_86", "--threads", "256", "--regs", "80", "-f", "html"),
        "compare, 2,000 markers": of("compare", "compare", one, other, "-f", "html"),
        "batch, 3 captures": of("batch", "batch", DEMO, one, other, out="index.html"),
        "history, 12 builds": of("history", "history", "show", "--history", builds(folder, 12, slow_from=8)),
    }


def main(words: list[str]) -> int:
    if {"-h", "--help"} & set(words):
        sys.stdout.write(str(__doc__))
        return 0
    if not shutil.which("node") or not CHROMIUM:
        sys.stderr.write("needs node, and Chromium in the path or in CHROMIUM\n")
        return 2
    sizes = [int(w) for w in words if w.isdigit()] or [5_000, 100_000]
    rows, broken = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, make in pages(Path(folder), sizes).items():
            page, seconds = make()
            cost = node("open.mjs", page)
            said = node("lighthouse.mjs", page, *CATEGORIES) if "--no-lighthouse" not in words else {}
            marks = [said.get(key) for key in CATEGORIES]
            used = [cost[k] for k in ("cpu_ms", "longest_ms", "search_ms", "sort_ms", "heap_mb")]
            rows.append([name, f"{page.stat().st_size / 1e6:.2f}", f"{seconds:.1f}", *used, *marks])
            sys.stderr.write(f"{name}: {cost} {marks}\n")
            if page.stat().st_size > MAX_MB.get(name, 6.0) * 1e6:
                broken.append(f"{name} has {page.stat().st_size / 1e6:.2f} MB")
            if cost["cpu_ms"] > OPEN_MS:
                broken.append(f"{name} takes {cost['cpu_ms']} ms to open")
            if said and (marks[1:] != [100, 100] or marks[0] < SCORES.get(name, 0)):
                broken.append(f"{name}: Lighthouse says {marks}")
    cells = [HEAD, ["---"] + ["---:"] * (len(HEAD) - 1), *rows]
    table = "\n".join(f"| {' | '.join('–' if c is None else str(c) for c in row)} |" for row in cells)
    sys.stdout.write(f"{table}\n" + "".join(f"broken: {b}\n" for b in broken))
    if "--record" in words:
        words_of = "Written by `python benchmarks/page.py --record`, which describes the columns. Browser: Chromium without a GPU."
        (ROOT / "benchmarks" / "pages.md").write_text(f"# Page costs\n\n{words_of}\n\n{table}\n", "utf-8")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
