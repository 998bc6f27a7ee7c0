"""Ctrl-C and SIGTERM, raised where Python can be left.

What a signal handler raises comes up wherever the main thread stands. In an import, in the start of a thread, in the
callback of a weak reference it is swallowed, or it leaves a lock held for which another thread then waits for ever: of
150 interrupted diagnoses two ran on and two hung. So an interruption waits there for a moment and is raised behind it,
one that was swallowed comes again, and a program that has not ended some seconds later is ended without asking.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

AGAIN = 0.01  # seconds until an interruption that had to wait is tried once more
LAST = 10.0  # seconds after which it waits no longer
# functions of threading in which it may be raised: they wait, or run what is not theirs; the others hold locks
_OPEN = frozenset({"wait", "wait_for", "join", "_wait_for_tstate_lock", "run", "_bootstrap", "_bootstrap_inner"})


class Interruption:
    """The signals of one program. told: the user has read that it was interrupted."""

    def __init__(self) -> None:
        self.told = False
        self._number = 0  # the signal that came
        self._until = 0.0  # by the monotonic clock

    def prepare(self) -> None:
        """Take over both signals, and the alarm that they wait by; whoever ignores Ctrl-C, as nohup does, means it."""
        signal.signal(signal.SIGTERM, self._come)
        if signal.getsignal(signal.SIGINT) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(signal.SIGINT, self._come)
        if hasattr(signal, "setitimer"):  # not on Windows, where it is raised at once
            signal.signal(signal.SIGALRM, self._alarm)
            sys.unraisablehook = self._swallowed

    def _come(self, number: int, frame: FrameType | None) -> None:
        self._number, self._until = number, self._until or time.monotonic() + LAST
        self._alarm(number, frame)

    def _alarm(self, _: int, frame: FrameType | None) -> None:
        left = self._until - time.monotonic()
        if left <= 0:
            self._end()
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, left if (now := leavable(frame)) else AGAIN)
            if not now:
                return
        raise KeyboardInterrupt if self._number == signal.SIGINT else SystemExit(143)

    def _end(self) -> None:
        if not self.told:
            with contextlib.suppress(OSError):  # nobody reads it
                os.write(2, b"triage: interrupted\n")
        os._exit(130 if self._number == signal.SIGINT else 143)

    def _swallowed(self, what: UnraisableHookArgs) -> None:
        if self._number and issubclass(what.exc_type, KeyboardInterrupt | SystemExit):
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
        else:
            sys.__unraisablehook__(what)


def leavable(frame: FrameType | None) -> bool:
    """Can an exception come up there? Not in an import, not where a lock is taken, nor while a thread is started."""
    top = True
    while frame is not None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if file.startswith("<frozen importlib"):
            return False
        if file.endswith(("threading.py", os.path.join("futures", "thread.py"))) and name not in _OPEN:
            return False
        if top and file.endswith(("contextlib.py", "weakref.py")):  # between a resource and the block that frees it
            return False
        frame, top = frame.f_back, False
    return True
