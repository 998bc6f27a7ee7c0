"""A folder that captures arrive in: each is diagnosed once it is complete, by the same engine as a batch.

A capture is complete when neither its size nor its time changed between two looks (and for folders, those of all their
files). What is done stands in the output folder's notes, as after a batch: a watch that is killed goes on where it was.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from triage.products.batch import find, run
from triage.products.batch.batch_contents import Batch
from triage.products.batch.run import Progress
from triage.products.settings import Settings

State = tuple[tuple[str, int, int], ...]


def state(path: str) -> State:
    """Names, sizes and times of a capture's files; empty while it cannot be looked at."""
    found = []
    try:
        files = [path] if not os.path.isdir(path) else [os.path.join(h, f) for h, _, fs in os.walk(path) for f in fs]
        for f in sorted(files):
            s = os.stat(f)
            found.append((f, s.st_size, s.st_mtime_ns))
    except OSError:
        return ()
    return tuple(found)


def watch(
    folders: Sequence[str],
    settings: Settings,
    out: Path,
    *,
    every: float,
    jobs: int = 1,
    progress: Progress | None = None,
    report: Callable[[Batch], None] | None = None,
    rounds: int | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Look every so many seconds. report: callback after each round that did something. rounds: looks; None: for ever."""
    seen: dict[str, State] = {}
    done: dict[str, State] = {}
    look = 0
    while rounds is None or look < rounds:
        gathered = find.gather(folders, str(out))
        found = gathered.captures
        now = {f.path: state(f.path) for f in found}
        # a file that is still being written looks different a moment later, and one that is empty is not begun
        ready = [f for f in found if now[f.path] == seen.get(f.path) and any(size for _, size, _ in now[f.path])]
        if any(done.get(f.path) != now[f.path] for f in ready):
            # all that is complete, not only the new: the index and the tables are those of a batch over all of them
            batch = run.run(ready, settings, out, jobs=jobs, resume=True, progress=progress, passed=gathered.passed)
            done = {f.path: now[f.path] for f in ready}
            if report:
                report(batch)
        seen = now
        look += 1
        if rounds is None or look < rounds:
            sleep(every)
