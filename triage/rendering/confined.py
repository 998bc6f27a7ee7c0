"""Running a user's template in a process of its own, whose processor time and memory the system bounds.

The sandbox counts what a template does; a single comparison of nested values may still take minutes or gigabytes
without a step. Where processes cannot be forked (Windows) the sandbox alone holds.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, NoReturn

from triage.ground.errors import ReportError

Write = Callable[[str], object]
SECONDS = 20  # of a core
MAX_WAIT = 300.0  # seconds without a word from the process
MEMORY = 1 << 30  # bytes beyond what the program holds already
_HEAD = struct.Struct("<cI")
_TEXT, _ERROR, _END = b"t", b"e", b"."
_HINT = "limit its loops and values"


def run(what: str, work: Callable[[Write], None], write: Write) -> None:
    """Call `work` with a function that writes; what it writes is passed on to `write`.

    Raise ReportError for what `work` raises as one, and where it exceeds its time or memory. what: begins the message.
    """
    if not hasattr(os, "fork"):
        work(write)
        return
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of other threads: none of them holds what `work` needs
        child = os.fork()
    if not child:
        _work(work, theirs)
    os.close(theirs)
    with _ended(child) as status, open(ours, "rb", buffering=0) as pipe:
        for kind, text in _messages(pipe):
            if kind == _END:
                return
            if kind == _ERROR:
                message, _, hint = text.partition("\0")
                raise ReportError(message, hint)
            write(text)
    limit = f"{SECONDS} s" if status[0] in (signal.SIGXCPU, signal.SIGKILL) else f"{MEMORY >> 20:,} MB"
    raise ReportError(f"{what}: the template takes more than {limit}", _HINT)


@contextmanager
def _ended(child: int) -> Iterator[list[int]]:
    """A list that holds the signal which ended the process, once the block is left."""
    status = list[int]()
    try:
        yield status
    finally:
        with suppress(OSError):
            os.kill(child, signal.SIGKILL)  # of one that has ended, none
        _, how = os.waitpid(child, 0)
        status.append(os.WTERMSIG(how) if os.WIFSIGNALED(how) else 0)


def _messages(pipe: BinaryIO) -> Iterator[tuple[bytes, str]]:
    while len(head := _read(pipe, _HEAD.size)) == _HEAD.size:
        kind, size = _HEAD.unpack(head)
        yield kind, _read(pipe, size).decode("utf-8", "surrogatepass")


def _read(pipe: BinaryIO, size: int) -> bytes:
    parts = list[bytes]()
    while size and select.select([pipe], [], [], MAX_WAIT)[0] and (block := pipe.read(size)):
        parts.append(block)
        size -= len(block)
    return b"".join(parts)


def _work(work: Callable[[Write], None], handle: int) -> NoReturn:
    """In the process: nothing of the parent's is flushed, closed or called on the way out."""

    def send(kind: bytes, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        for block in (_HEAD.pack(kind, len(data)), data):
            while block:
                block = block[os.write(handle, block) :]

    try:
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, signal.SIG_DFL)
        _limit()
        work(lambda text: send(_TEXT, text))
        send(_END, "")
    except ReportError as e:
        with suppress(BaseException):
            send(_ERROR, f"{e.message}\0{e.hint}")
    except BaseException:  # also of a failed write: the parent has gone
        os._exit(1)
    os._exit(0)


def _limit() -> None:
    import resource

    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_AS, _held() + MEMORY),
    ):
        soft, hard = resource.getrlimit(kind)
        least = min(most, *(x for x in (soft, hard) if x != resource.RLIM_INFINITY), most)
        with suppress(ValueError, OSError):  # a system without this limit
            resource.setrlimit(kind, (least, hard))


def _held() -> int:
    """Bytes of address space in use; a generous guess where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as f:
            return int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 8 << 30
