"""Ctrl-C and SIGTERM, raised where Python can be left.

What a signal handler raises appears wherever the main thread is. In an import, in the start of a thread, in the
callback of a weak reference it is swallowed, or it leaves a lock held for which another thread then waits for ever: of
150 interrupted diagnoses two went on and two hung. So an interruption is delayed there, one that was swallowed is
raised again, and a program that has not ended after some seconds is ended by force.
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

RETRY_AFTER = 0.01  # seconds until a delayed interruption is tried again
MAX_DELAY = 10.0  # seconds after which the program is ended
# functions of threading in which it may be raised: they wait or run other code; the others hold locks
BLOCKING_CALLS = frozenset(
    {"wait", "wait_for", "join", "_wait_for_tstate_lock", "run", "_bootstrap", "_bootstrap_inner"}
)


class Interruption:
    """The signals of one program. reported: the user has read that it was interrupted."""

    def __init__(self) -> None:
        self.reported = False
        self._number = 0  # the signal received
        self._until = 0.0  # by the monotonic clock
        self._ending = False  # a signal that comes now is too late to say so again

    def prepare(self) -> None:
        """Handle both signals and the alarm that delays them; an ignored Ctrl-C (nohup) stays ignored."""
        signal.signal(signal.SIGTERM, self._come)
        if signal.getsignal(signal.SIGINT) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(signal.SIGINT, self._come)
        if hasattr(signal, "setitimer"):  # not on Windows, where it is raised at once
            signal.signal(signal.SIGALRM, self._alarm)
            sys.unraisablehook = self._swallowed

    def _come(self, number: int, frame: FrameType | None) -> None:
        self._number, self._until = number, self._until or time.monotonic() + MAX_DELAY
        self._alarm(number, frame)

    def _alarm(self, _: int, frame: FrameType | None) -> None:
        if self._ending:
            return
        left = self._until - time.monotonic()
        if left <= 0:
            self._end()
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, left if (now := leavable(frame)) else RETRY_AFTER)
            if not now:
                return
        raise KeyboardInterrupt if self._number == signal.SIGINT else SystemExit(143)

    def _end(self) -> None:
        self._ending = True
        if not self.reported:
            with contextlib.suppress(OSError):  # stderr is closed
                os.write(2, b"triage: interrupted\n")
        os._exit(130 if self._number == signal.SIGINT else 143)

    def _swallowed(self, what: UnraisableHookArgs) -> None:
        if self._number and issubclass(what.exc_type, KeyboardInterrupt | SystemExit):
            signal.setitimer(signal.ITIMER_REAL, RETRY_AFTER)
        else:
            sys.__unraisablehook__(what)


def leavable(frame: FrameType | None) -> bool:
    """True if an exception may be raised there: not in an import, not under a lock, not while a thread starts."""
    top = True
    while frame is not None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if file.startswith("<frozen importlib"):
            return False
        if file.endswith(("threading.py", os.path.join("futures", "thread.py"))) and name not in BLOCKING_CALLS:
            return False
        if top and file.endswith(("contextlib.py", "weakref.py")):  # between a resource and the block that frees it
            return False
        frame, top = frame.f_back, False
    return True
