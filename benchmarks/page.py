"""How quickly the page opens: builds the report of the demo frame and of larger frames, and lets Lighthouse score each.

    python benchmarks/page.py [MARKERS...]        5,000 and 100,000 markers unless told

Needs node, Chromium and `npm install` in tests/browser. Prints megabytes, seconds of the whole command, and Lighthouse's
performance, accessibility and best practices (0 to 100; its simulated slow phone). Exit 1 where a promise of the README fails.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.helpers.reports import DEMO, frame  # noqa: E402

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome") or ""
DEMO_SCORE, LARGE_SCORE = 90, 80


def scores(page: Path) -> dict[str, int]:
    """Lighthouse's categories of one page, 0 to 100."""
    script = ROOT / "tests" / "browser" / "lighthouse.mjs"
    done = subprocess.run(
        ["node", script, page, CHROMIUM], cwd=script.parent, capture_output=True, text=True, check=True
    )
    found: dict[str, int] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main(sizes: list[int]) -> int:
    kept = True
    print("| page | MB | s | performance | accessibility | best practices |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        sources = {"demo": DEMO} | {f"{n:,} markers": frame(Path(folder) / f"{n}.csv", n) for n in sizes}
        for name, source in sources.items():
            page, start = Path(folder) / "page.html", time.perf_counter()
            subprocess.run([sys.executable, "-m", "triage", "diagnose", source, "-o", page], cwd=ROOT, check=True)
            seconds, found = time.perf_counter() - start, scores(page)
            row = [found[key] for key in ("performance", "accessibility", "best-practices")]
            print(f"| {name} | {page.stat().st_size / 1e6:.2f} | {seconds:.1f} | {row[0]} | {row[1]} | {row[2]} |")
            kept &= row[1:] == [100, 100] and row[0] >= (DEMO_SCORE if source == DEMO else LARGE_SCORE)
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main([int(word) for word in sys.argv[1:]] or [5_000, 100_000]))
