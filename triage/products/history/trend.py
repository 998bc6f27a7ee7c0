"""The runs of some builds as arrays: times and root causes per run and marker, the whole frame as the last column."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Floats, Indices
from triage.capture.capture import SEP
from triage.ground.errors import TriageError
from triage.ground.phrasing import plural
from triage.products.history.changepoints import Shift
from triage.products.history.history_result import Added
from triage.products.history.store import Build, Database

FRAME = "the whole frame"
MAX_PARTS = 3  # markers that the line of the frame names
MIN_PART = 0.1  # of the change of the frame: a marker that adds less does not explain it
CELLS = 1 << 24  # runs times markers: 16 bytes each, and as much again while levels are looked for


class Trend(Struct, frozen=True):
    """times: runs x markers in ns, NaN where a marker did not run. of: row in `builds` of each run, ascending.

    cause: runs x markers, index into `causes` ((id, title) pairs) or -1.
    """

    builds: list[Build]
    markers: list[str]
    times: Floats
    of: Indices
    cause: Indices
    causes: list[tuple[str, str]]

    def cause_of(self, marker: int, first: int, end: int) -> tuple[str, str] | None:
        """The root cause most runs of builds first..end-1 give to a marker; of the frame, of its longest marker."""
        rows = np.flatnonzero((self.of >= first) & (self.of < end))
        seen = Counter(int(c) for c in self.cause[rows, marker] if c >= 0)
        if not seen:
            return None
        return self.causes[min(seen, key=lambda c: (-seen[c], c))]

    def middle(self, marker: int, first: int, end: int) -> float:
        """Median ns of a marker over the runs of builds first..end-1; NaN of nothing."""
        values = self.times[(self.of >= first) & (self.of < end), marker]
        values = values[np.isfinite(values)]
        return float(np.median(values)) if len(values) else float("nan")

    def adds(self, before: tuple[int, int], after: tuple[int, int], now: int) -> Floats:
        """What each marker adds from one range of builds to another, ns; 0 for a side in whose build nearest, or `now`, it did not run."""
        sides = zip((before, after), (before[1] - 1, now), strict=True)
        first, second = (
            _middles(self.times[(self.of >= start) & (self.of < end)], self.times[self.of == at])
            for (start, end), at in sides
        )
        return second - first


def _middles(times: Floats, nearest: Floats) -> Floats:
    """Median of each marker over some runs, 0 where it did not run in the nearest build."""
    ran = np.asarray(np.isfinite(nearest).any(axis=0))
    return np.array([np.nanmedian(column) if there else 0.0 for column, there in zip(times.T, ran, strict=True)])


def parts_of(trend: Trend, steps: Sequence[Shift], span: tuple[int, int, int]) -> list[Added]:
    """The markers that changed the frame most since builds start..until-1, either way, each with the build that brought it."""
    start, until, at = span
    last = len(trend.builds) - 1
    adds = trend.adds((start, until), (at, last + 1), last)
    sign = np.sign(adds[-1])
    out: list[Added] = []
    most = np.argsort(-np.abs(adds[:-1]), kind="stable")[:MAX_PARTS].tolist()
    for m in sorted((m for m in most if abs(adds[m]) > MIN_PART * abs(adds[-1])), key=lambda m: -sign * adds[m]):
        ran = [b for b in range(start, last + 1) if trend.middle(m, b, b + 1) > 0]
        was, now_ = until - 1 in ran, last in ran
        if was and now_:
            own = [s for s in steps if s.marker == m and s.at > start and (s.change > 0) == (adds[m] > 0)]
            by = max(own, key=lambda s: abs(s.change)).at if own else None
        else:
            by = ran[-1] + 1 if was else next(b for b in ran if b >= until)
        if by is not None:
            name, ns, came = trend.markers[m].split(SEP), round(float(adds[m]), 1), "" if was else "new"
            revision = trend.builds[by].key.revision
            out.append({"marker": name, "adds_ns": ns, "by": revision, "came": came if now_ else "gone"})
    return out


def load(db: Database, builds: Sequence[Build]) -> Trend:
    """The runs of these builds, in this order."""
    runs = [r for b in builds for r in b.runs]
    row = {r: i for i, r in enumerate(runs)}
    of = np.array([i for i, b in enumerate(builds) for _ in b.runs], dtype=np.int64)
    # by the key of the table, a stretch at a time: a history of years holds many more runs than are asked for
    low, high = (min(runs), max(runs)) if runs else (0, -1)
    wanted = "SELECT run, marker, ns, ifnull(cause, -1) FROM time WHERE run BETWEEN ? AND ?"
    found = [t for t in db.rows(wanted, (int, int, float, int), (low, high)) if t[0] in row]
    ids = sorted({m for _, m, _, _ in found})
    column = {m: i for i, m in enumerate(ids)}
    names: dict[int, str] = dict(db.rows("SELECT id, name FROM marker", (int, str)))
    known = list(db.rows("SELECT id, name, title FROM cause ORDER BY id", (int, str, str)))
    causes = [(name, title) for _, name, title in known]
    place = {-1: -1, **{i: n for n, (i, _, _) in enumerate(known)}}
    if not all(m in names for m in ids) or not all((ns or 0) > 0 and c in place for _, _, ns, c in found):
        raise sqlite3.DatabaseError("times of nothing")
    if len(runs) * len(ids) > CELLS:
        hint = "keep a history per scope, or lower --last"
        raise TriageError(f"{plural(len(runs), 'run')} with {plural(len(ids), 'marker')}: too many for one trend", hint)
    times = np.full((len(runs), len(ids) + 1), np.nan)
    cause = np.full((len(runs), len(ids) + 1), -1, dtype=np.int64)
    if found:
        at = np.array([(row[r], column[m]) for r, m, _, _ in found]).T
        times[at[0], at[1]] = [ns for _, _, ns, _ in found]
        cause[at[0], at[1]] = [place[c] for _, _, _, c in found]
    for run, ns in db.rows("SELECT id, frame_ns FROM run WHERE id BETWEEN ? AND ?", (int, float), (low, high)):
        if run in row and ns and ns > 0:
            times[row[run], -1] = ns
    for i in range(len(runs)):
        # the frame is led by what leads most of its time
        led = np.bincount(cause[i, :-1][cause[i, :-1] >= 0], times[i, :-1][cause[i, :-1] >= 0])
        cause[i, -1] = int(np.argmax(led)) if len(led) and led.max() > 0 else -1
    return Trend(list(builds), [*(names[m] for m in ids), FRAME], times, of, cause, causes)
