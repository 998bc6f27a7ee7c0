"""Refresh what README.md shows of a real run: the terminal output of `make demo`, and a picture of the HTML report.

    python docs/readme.py            (make readme)

The picture needs node, playwright-core (tests/browser) and a Chromium; without them only the text is refreshed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = "sample_captures/gpu-trace/demo_frame"
BLOCK = re.compile(r"(<!-- demo:begin -->\n```text\n).*?(```\n<!-- demo:end -->)", re.DOTALL)
LINES = 50  # of the terminal output: the frame, the first things to do and the worst markers


def triage(*arguments: str) -> str:
    """One run of the command line, from the project's root."""
    command = [sys.executable, "-m", "triage", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, encoding="utf-8").stdout


def refreshed(text: str) -> str:
    """README.md with today's output in its demo block."""
    shown = "\n".join(triage("diagnose", DEMO).splitlines()[:LINES])
    return BLOCK.sub(lambda m: f"{m[1]}{shown}\n...\n{m[2]}", text)


def picture() -> bool:
    """docs/report.png, light; True when it could be taken."""
    browser = next((b for b in ("chromium", "chromium-browser", "google-chrome") if shutil.which(b)), "")
    if not browser or not shutil.which("node") or not (ROOT / "tests/browser/node_modules").is_dir():
        return False
    out = ROOT / "out"
    triage("diagnose", DEMO, "-f", "html", "-o", str(out / "readme.html"))
    script = ROOT / "tests/browser/screenshot.mjs"
    subprocess.run(
        ["node", str(script), str(out / "readme.html"), str(out / "readme"), shutil.which(browser) or ""], check=True
    )
    shutil.copyfile(out / "readme-light.png", ROOT / "docs/report.png")
    shutil.copyfile(out / "readme-dark-frame.png", ROOT / "docs/report-frame.png")
    return True


def main() -> None:
    """Write both."""
    readme = ROOT / "README.md"
    readme.write_text(refreshed(readme.read_text("utf-8")), "utf-8")
    if not picture():
        sys.stderr.write("no browser here: the picture was left as it is\n")


if __name__ == "__main__":
    main()
