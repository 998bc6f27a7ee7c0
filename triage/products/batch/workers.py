"""The work of a batch on one capture, and where it runs: in this process, in several, or on a Dask cluster.

All three call the same `work`, which returns everything as plain data; only the caller writes files. So the bytes do
not depend on where a capture was diagnosed, and a worker that dies leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import warnings
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from triage.ground.errors import CaptureError, TriageError, install, out_of_memory
from triage.products.batch.batch_result import Cell, Overview
from triage.products.batch.find import Found
from triage.products.settings import Settings

if TYPE_CHECKING:
    from triage.capture.source import Source
    from triage.diagnosis.diagnosing import Diagnoser

LISTED = 100  # best findings of a capture that its reports and the table list, unless --top or --full says otherwise
GARBAGE = (1_000_000, 20, 50)  # results are trees of plain data: by default they are collected over and over
AHEAD = 4  # captures handed to each worker in advance; more would only hold results in memory
CONNECT = 10  # seconds in which a Dask scheduler must answer
_BUSY = threading.Lock()  # a Diagnoser remembers signatures; one thread of a Dask worker at a time


class Outcome(Struct):
    """What became of one capture: its reports by format and what the index says of it, or one line of error."""

    found: Found
    error: str = ""
    sha256: str = ""
    content: str = ""  # digest of the rows
    reports: dict[str, str] = field(default_factory=dict)
    summary: Overview | None = None
    rows: list[list[Cell]] = field(default_factory=list)


@cache
def _doctor(settings: Settings) -> Diagnoser:
    return settings.diagnoser()


def work(found: Found, settings: Settings) -> Outcome:
    """Diagnose one capture. Never raises: whatever is wrong with it is its Outcome's `error`."""
    try:
        with _BUSY, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _work(found, settings)
    except TriageError as e:
        return Outcome(found, error=str(e))
    except OSError as e:
        return Outcome(found, error=f"{found.path}: cannot be read ({e.strerror or e}) - check space and permissions")
    except Exception as e:  # one capture must not take down the night's batch
        if out_of_memory(e):
            lack = f"not enough memory for this input ({type(e).__name__}) - split the export"
            return Outcome(found, error=f"{found.path}: {lack}")
        text = " ".join(str(e).split())[:200]
        return Outcome(found, error=f"{found.path}: internal error ({type(e).__name__}: {text}) - please report it")


def _work(found: Found, settings: Settings) -> Outcome:
    from triage.diagnosis.diagnosing import LIST_ALL_UP_TO
    from triage.document.todo_items import item_title
    from triage.findings import assembling
    from triage.products import accepted
    from triage.reading import duplicate_captures
    from triage.rendering import formats

    capture = settings.read(open_source(found.path, settings.most_unpacked))
    d = _doctor(settings).diagnose(
        [capture], settings.top, settings.min_gain, LIST_ALL_UP_TO if settings.full else LISTED
    )
    bundle = assembling.bundle(d, ways=any(formats.shows_ways(name) for name in settings.formats))
    bundle = accepted.apply(bundle, settings.accepted, settings.project_note)
    reports: dict[str, str] = {}
    for name in settings.formats:
        parts: list[str] = []
        formats.render(bundle, name, parts.append, full=settings.full)
        reports[name] = "".join(parts)
    frame = bundle.frame
    overview: Overview = {
        "path": found.path,
        "name": found.name,
        "dialect": capture.input.dialect,
        "device": capture.device_name or None,
        "rows": capture.input.rows,
        "duration_ns": frame["duration_ns"],
        "workloads": frame["workloads"],
        "recoverable_ns": frame["recoverable_ns"],
        "recoverable_low_ns": frame["recoverable_low_ns"],
        "recoverable_bound_ns": frame["recoverable_bound_ns"],
        "findings_total": frame["findings_total"],
        "time_by_verdict": frame["time_by_verdict"],
        "limiters": frame["limiters"],
        "remarks": len(capture.quality),
        "causes": [
            {
                "cause": c["cause"],
                "title": item_title(c),
                "workloads": c["workload_count"],
                "saved_ns": c["saved_ns"],
                "confidence": c["confidence"],
                "message": c["message"],
            }
            for c in accepted.standing(bundle.todo)
        ],
    }
    return Outcome(found, "", capture.sha256, duplicate_captures.digest(capture), reports, overview, bundle.rows)


def open_source(path: str, max_unpacked: int) -> Source:
    """A Source of a local path or of an address that fsspec understands; raises CaptureError."""
    from triage.capture.source import Source

    if "://" not in path:
        return Source(path, max_unpacked=max_unpacked)
    try:
        import fsspec

        # all of it at once: dialects look at the beginning, parse in pieces, and go back for the cells they quote
        with fsspec.open(path, "rb") as f:
            return Source(path, data=f.read(), max_unpacked=max_unpacked)
    except ImportError as e:
        raise CaptureError(f"{path}: remote paths need fsspec ({e})", install("dask")) from e
    except (OSError, ValueError) as e:
        raise CaptureError(f"{path}: cannot be read ({e})", "check the address and its credentials") from e


def local(todo: Sequence[Found], settings: Settings, jobs: int) -> Generator[Outcome, None, None]:
    """Outcomes as they come, from `jobs` processes; from this one when a single job is asked for."""
    if jobs <= 1 or len(todo) <= 1:
        yield from (work(f, settings) for f in todo)
        return
    waiting = deque(todo)
    while waiting:
        lost: list[Found] = []
        yield from _pool(waiting, settings, min(jobs, len(waiting)), lost)
        for found in lost:  # a worker died; alone, the culprit is known by its death
            again: list[Found] = []
            yield from _pool(deque([found]), settings, 1, again)
            if again:
                yield Outcome(
                    found,
                    error=f"{found.path}: the worker process died on it (out of memory?) - try it alone with --top",
                )


def _pool(waiting: deque[Found], settings: Settings, jobs: int, lost: list[Found]) -> Generator[Outcome, None, None]:
    import multiprocessing

    # spawn: the same on every system, and no thread or lock of this process is copied in mid-flight
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_guard)
    running: dict[Future[Outcome], Found] = {}
    try:
        while waiting or running:
            try:
                while waiting and len(running) < jobs * AHEAD:
                    with _undisturbed():
                        running[pool.submit(work, waiting[0], settings)] = waiting[0]
                    waiting.popleft()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    outcome = future.result()
                    del running[future]
                    yield outcome
            except BrokenProcessPool:
                lost += running.values()
                return
    finally:
        workers = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in workers:  # their results are here or no longer needed; a regular exit takes longer
            process.terminate()
        for process in workers:
            process.join(10)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits while workers are started, and they never see it: a Python that is starting would print a traceback."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # handed down to what is started
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _guard() -> None:
    """In a worker: leave Ctrl-C to the parent, and end when the parent is gone, however it went."""
    import gc
    import multiprocessing
    import multiprocessing.connection
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(*GARBAGE)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            multiprocessing.connection.wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def cluster(todo: Sequence[Found], settings: Settings, address: str) -> Generator[Outcome, None, None]:
    """Outcomes as they come from a running Dask cluster; captures of a worker that dies are done by another.

    The workers must see the same paths and have triage installed. Raises TriageError without Dask or scheduler.
    """
    try:
        distributed: Any = importlib.import_module("distributed")  # typed in parts only
    except ImportError as e:
        raise TriageError("--dask needs Dask", install("dask")) from e
    try:
        client = distributed.Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as e:
        raise TriageError(
            f"--dask {address}: no scheduler answers ({type(e).__name__})", "start one with: dask scheduler"
        ) from e
    with client:
        waiting = iter(todo)
        # not all at once: a scheduler keeps every result until it is fetched
        ahead = max(16, AHEAD * sum(client.nthreads().values()))
        names: dict[object, Found] = {}

        def more(count: int) -> list[object]:
            new = []
            for found in islice(waiting, count):
                future = client.submit(work, found, settings, pure=False, retries=2)
                names[future.key] = found
                new.append(future)
            return new

        queue = distributed.as_completed(more(ahead), loop=client.loop)
        for future in queue:
            found = names.pop(future.key)
            try:
                outcome = future.result()
            except Exception as e:  # the cluster gave up on it: its workers died again and again
                outcome = Outcome(
                    found, error=f"{found.path}: the cluster gave it up ({type(e).__name__}) - try it alone"
                )
            future.release()
            for new in more(1):
                queue.add(new)
            yield outcome
