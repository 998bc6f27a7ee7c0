"""The current step of a command, shown on a terminal after a second and erased at the end."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator

AFTER = 1.0  # seconds until the step is shown


class Progress:
    """A line on stderr with the current `step`, such as `reading frame.csv`."""

    def __init__(self, live: bool) -> None:
        self.live, self.step, self.start = live, "", time.monotonic()
        self.done = threading.Event()
        self.shown = 0

    def run(self) -> None:
        """Show the step and the seconds so far, twice a second."""
        while not self.done.wait(AFTER if not self.shown else 0.5):
            wide = max(20, shutil.get_terminal_size((80, 24)).columns - 1)
            text = f"triage: {self.step} ({time.monotonic() - self.start:.0f} s)"
            line = "".join(c if c.isprintable() else "?" for c in text)[:wide]
            sys.stderr.write("\r" + line.ljust(self.shown))
            sys.stderr.flush()
            self.shown = max(self.shown, len(line))

    def clear(self) -> None:
        """Erase the line."""
        if self.shown:
            sys.stderr.write("\r" + " " * self.shown + "\r")
            sys.stderr.flush()


@contextlib.contextmanager
def progress() -> Iterator[Progress]:
    """Show progress if stderr is a terminal that can return to the start of a line."""
    shown = Progress(sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb")
    if not shown.live:
        yield shown
        return
    thread = threading.Thread(target=shown.run, daemon=True)
    thread.start()
    try:
        yield shown
    finally:
        shown.done.set()
        thread.join()
        shown.clear()
