"""What a history keeps of a run: plain data, made of a diagnosis."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, convert

from triage.capture.capture import SEP
from triage.diagnosis.diagnosis_result import Diagnosis
from triage.document.bundle import Bundle
from triage.findings.identity import kernel_base
from triage.findings.identity import scope as scope_of
from triage.ground.errors import TriageError

MAX_MARKERS_PER_RUN = 5_000  # markers kept of a run, the longest; the others together are one
OTHERS = "(all others)"
SHAPE = ("launch.grid_size", "launch.block_size")


class Key(Struct, frozen=True):
    """What runs must share to be compared. revision: a commit, or whatever names a build."""

    branch: str
    revision: str
    scope: str
    device: str


class Todo(Struct, frozen=True):
    """An item of a run's to-do list."""

    cause: str
    title: str
    rank: int
    saved_ns: float | None
    share: float | None
    level: str
    confidence: str
    workloads: int


class Run(Struct, frozen=True):
    """One capture. times: (marker, exclusive ns, root cause or ""); a marker is the levels of its path joined by SEP."""

    sha256: str
    path: str
    frame_ns: float | None
    recoverable_ns: float | None
    version: str
    rules: str
    times: tuple[tuple[str, float, str], ...]
    todo: tuple[Todo, ...]


def names_whole(scope: str, markers: Sequence[str]) -> bool:
    """True for the name of what holds the markers; false where it is but the first of those that stand beside each other."""
    kernels = (kernel_base(m.partition(" [")[0]) for m in markers)
    return any(m.startswith(scope + SEP) for m in markers) or scope not in kernels


def record(d: Diagnosis, b: Bundle) -> Run:
    """A diagnosis of one capture as a Run. Raises TriageError where the capture has no times: there is no trend in it."""
    (part,) = d.parts
    c = part.capture
    root = scope_of(c)
    times: dict[str, tuple[float, str]] = {}
    seen: dict[str, int] = {}
    for w, entry in enumerate(b.workloads):
        ns = float(c.self_ns[w])
        if not np.isfinite(ns) or ns <= 0:
            continue
        levels = [str(x) for x in (*entry["path"], entry["name"])]
        if len(levels) > 1 and re.sub(r"\d+", "#", levels[0]) == root:
            # "Frame 4711" is another name in every capture
            levels[0] = root
        shape = " x ".join(f"{c.facts[m][w]:g}" for m in SHAPE if m in c.facts and np.isfinite(c.facts[m][w]))
        name = SEP.join(levels) + (f" [{shape}]" if shape else "")
        nth = seen[name] = seen.get(name, 0) + 1
        times[name if nth == 1 else f"{name} #{nth}"] = ns, next(iter(entry["chain"]), "")
    if not times:
        raise TriageError(f"{c.input.path}: no durations", "add captures with durations")
    longest = sorted(times.items(), key=lambda kv: (-kv[1][0], kv[0]))
    kept = [(name, ns, cause) for name, (ns, cause) in longest[:MAX_MARKERS_PER_RUN]]
    if rest := sum(ns for _, (ns, _) in longest[MAX_MARKERS_PER_RUN:]):
        kept.append((OTHERS, rest, ""))
    whole = b.frame["duration_ns"], b.frame["recoverable_ns"]
    todo = tuple(convert(i | {"workloads": i["workload_count"]}, Todo) for i in b.todo)
    return Run(c.sha256, c.input.path, *whole, d.version, d.book.sha256, tuple(kept), todo)


def shown(marker: str) -> str:
    """`Frame / Shadows / Cascade 2`."""
    return marker.replace(SEP, " / ")
