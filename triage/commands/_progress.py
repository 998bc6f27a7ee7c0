"""What a command is doing, said on a terminal once it takes over a second, and taken away again."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator

AFTER = 1.0  # seconds until the first word


class Progress:
    """A line on stderr that follows the step at hand."""

    def __init__(self, live: bool) -> None:
        self.live, self.step, self.start = live, "", time.monotonic()
        self.done = threading.Event()
        self.shown = 0

    def say(self, step: str) -> None:
        """What is done now, such as `reading frame.csv`."""
        self.step = step

    def run(self) -> None:
        """Show the step and the seconds, twice a second."""
        while not self.done.wait(AFTER if not self.shown else 0.5):
            wide = max(20, shutil.get_terminal_size((80, 24)).columns - 1)
            text = f"triage: {self.step} ({time.monotonic() - self.start:.0f} s)"
            line = "".join(c if c.isprintable() else "?" for c in text)[:wide]
            sys.stderr.write("\r" + line.ljust(self.shown))
            sys.stderr.flush()
            self.shown = max(self.shown, len(line))

    def clear(self) -> None:
        """Leave no trace."""
        if self.shown:
            sys.stderr.write("\r" + " " * self.shown + "\r")
            sys.stderr.flush()


@contextlib.contextmanager
def progress() -> Iterator[Progress]:
    """Progress where somebody looks: stderr is a terminal that can go back to the start of its line."""
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
