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
    (out / "readme.toml").write_text(BUDGETS, encoding="utf-8")
    triage("diagnose", DEMO, "--config", str(out / "readme.toml"), "-f", "html", "-o", str(out / "readme.html"))
    script = ROOT / "tests/browser/screenshot.mjs"
    subprocess.run(
        ["node", str(script), str(out / "readme.html"), str(out / "readme"), shutil.which(browser) or ""], check=True
    )
    shutil.copyfile(out / "readme-light.png", ROOT / "docs/report.png")
    shutil.copyfile(out / "readme-dark-frame.png", ROOT / "docs/report-frame.png")
    shutil.copyfile(out / "readme-light-passes.png", ROOT / "docs/report-passes.png")
    triage("diagnose", QUEUES, "-f", "html", "-o", str(out / "queues.html"))
    subprocess.run(
        ["node", str(script), str(out / "queues.html"), str(out / "queues"), shutil.which(browser) or ""], check=True
    )
    shutil.copyfile(out / "queues-light-queues.png", ROOT / "docs/report-queues.png")
    return True


def main() -> None:
    """Take the pictures."""
    if not picture():
        sys.stderr.write("no browser here: the pictures were left as they are\n")


if __name__ == "__main__":
    main()
