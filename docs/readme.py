"""Refresh the pictures of the HTML report that README.md and the site show.

    python docs/readme.py            (make readme)

The picture needs node, playwright-core (tests/browser) and a Chromium; without them they are left as they are.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = "sample_captures/gpu-trace/demo_frame"
QUEUES = "sample_captures/gpu-trace/async_frame"
BUDGETS = (
    "[budgets]\nShadows = 1.2\nGBuffer = 2.0\nLighting = 2.5\nTransparency = 1.0\n"  # ms, of the passes in the picture
)


def triage(*arguments: str) -> str:
    """One run of the command line, from the project's root."""
    command = [sys.executable, "-m", "triage", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, encoding="utf-8").stdout


def picture() -> bool:
    """docs/report.png, light; True when it could be taken."""
    browser = next((b for b in ("chromium", "chromium-browser", "google-chrome") if shutil.which(b)), "")
    if not browser or not shutil.which("node") or not (ROOT / "tests/browser/node_modules").is_dir():
        return False
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    (out / "budgets.toml").write_text(BUDGETS, encoding="utf-8")
    script = ROOT / "tests/browser/screenshot.mjs"
    pages = {
        "readme": ((DEMO,), {"light": "report", "dark-frame": "report-frame"}),
        "budgets": ((DEMO, "--config", "out/budgets.toml"), {"light-passes": "report-passes"}),
        "queues": ((QUEUES,), {"light-queues": "report-queues"}),
    }
    for name, (arguments, shots) in pages.items():
        triage("diagnose", *arguments, "-f", "html", "-o", f"out/{name}.html")
        command = ["node", str(script), str(out / f"{name}.html"), str(out / name), shutil.which(browser) or ""]
        subprocess.run(command, check=True)
        for shot, target in shots.items():
            shutil.copyfile(out / f"{name}-{shot}.png", ROOT / f"docs/{target}.png")
    return True


def main() -> None:
    """Take the pictures."""
    if not picture():
        sys.stderr.write("no browser here: the pictures were left as they are\n")


if __name__ == "__main__":
    main()
