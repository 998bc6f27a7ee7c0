"""What a process keeps of diagnoses that are done: memory, open files, threads, processes of its own. Linux only."""

import gc
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

SETTLED = 100  # calls after which caches are full and allocators have what they need


class Held(NamedTuple):
    """kb: resident memory; files: open descriptors; threads: alive, of the interpreter and of libraries."""

    kb: int
    files: int
    threads: int


def held() -> Held:
    """What this process holds now."""
    gc.collect()
    if sys.platform != "linux":
        return Held(0, 0, threading.active_count())
    own = Path("/proc/self")
    kb = int((own / "statm").read_text().split()[1]) * 4
    return Held(kb, len(list((own / "fd").iterdir())), len(list((own / "task").iterdir())))


def grown(call: Callable[[], object], calls: int, threads: int = 1, settled: int = SETTLED) -> Held:
    """What `calls` calls from some threads leave behind beyond what the first `settled` did."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: call() and None, range(settled)))
        before = held()
        list(pool.map(lambda _: call() and None, range(calls - settled)))
        after = held()
    return Held(*(a - b for a, b in zip(after, before, strict=True)))
