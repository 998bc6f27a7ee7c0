"""The trend of the frame, of markers, or of a cause, build by build."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from triage.capture.arrays import Floats
from triage.capture.capture import SEP
from triage.ground.errors import TriageError
from triage.products.history.changepoints import Shift, levels, shifts, with_frame
from triage.products.history.gate import matches, moved, named
from triage.products.history.history_result import SCHEMA, Line, Part, Point
from triage.products.history.store import Build, Database
from triage.products.history.trend import FRAME, MIN_PART, Trend, load

PARTS = 2  # markers that a change of the frame names


def trend_of(db: Database, order: Sequence[Build], what: str = "") -> Line:
    """The trend over these builds. what: "" for the frame, a glob over markers, or the id of a cause.

    A glob that names several markers is their sum. Raises TriageError for what is neither.
    """
    trend = load(db, order)
    if not what or what.lower() == "frame":
        return _line(trend, "frame", FRAME, trend.times[:, -1:], FRAME)
    mine = [m for m, name in enumerate(trend.markers[:-1]) if matches(name, what)]
    if mine:
        rows = trend.times[:, mine]
        total = np.where(np.isfinite(rows).any(axis=1), np.nansum(rows, axis=1), np.nan)[:, None]
        name = trend.markers[mine[0]] if len(mine) == 1 else what
        return _line(trend, "marker" if len(mine) == 1 else f"{len(mine)} markers", what, total, name)
    saved = _saved(db, order, what)
    if saved is None:
        raise TriageError(f"unknown marker or cause {what!r}", "see: triage history show")
    return _line(trend, "cause", what, saved, what)


def _saved(db: Database, order: Sequence[Build], cause: str) -> Floats | None:
    """Saving of a cause in each run, ns; 0 where it is not on the list."""
    found = next(db.rows("SELECT id FROM cause WHERE name = ?", (int,), (cause,)), None)
    if found is None:
        return None
    by: dict[int, float | None] = dict(db.rows("SELECT run, saved_ns FROM todo WHERE cause = ?", (int, float), found))
    return np.array([[by.get(r) or 0.0] for b in order for r in b.runs])


def _line(trend: Trend, kind: str, what: str, values: Floats, name: str) -> Line:
    points: list[Point] = []
    for i, b in enumerate(trend.builds):
        mine = values[trend.of == i, 0]
        mine = mine[np.isfinite(mine)]
        if len(mine):
            low, middle, high = float(mine.min()), float(np.median(mine)), float(mine.max())
            runs = [round(float(ns), 1) for ns in mine]
            points.append(
                {"build": named(b), "ns": round(middle, 1), "low": round(low, 1), "high": round(high, 1), "runs": runs}
            )
    alone = Trend(
        trend.builds,
        [name],
        values,
        trend.of,
        trend.cause[:, -1:] if name == FRAME else _cause(trend, name),
        trend.causes,
    )
    count = len(trend.markers)
    if name in trend.markers:  # exactly what the gate sees
        steps = [s for s in with_frame(trend.times, trend.of, len(trend.builds))[1] if trend.markers[s.marker] == name]
        steps = [replace(s, marker=0) for s in steps]
    else:
        steps = shifts(levels(np.where(values > 0, values, np.nan), trend.of, len(trend.builds)), among=count)
    starts = [0, *(s.at for s in steps)]
    return {
        "schema": SCHEMA,
        "kind": "trend",
        "what": what,
        "of": kind,
        "scope": trend.builds[-1].key.scope if trend.builds else "",
        "device": trend.builds[-1].key.device if trend.builds else "",
        "new": bool(points) and points[0]["build"] != named(trend.builds[0]),
        "points": points,
        "moved": [moved(alone, s, starts[i]) for i, s in enumerate(steps)],
        "parts": [_parts(trend, s, starts[i]) for i, s in enumerate(steps)] if name == FRAME else [],
    }


def _parts(trend: Trend, s: Shift, start: int) -> list[Part]:
    """The markers that add most to a change of the frame, either way; start: of the level before it."""
    # a marker that this build brought or dropped counts with all its time, one of another build not at all
    adds = trend.adds((start, s.at), (s.at, s.until), s.at)
    order = np.argsort(-np.abs(adds[:-1]), kind="stable")[:PARTS].tolist()
    least = MIN_PART * abs(adds[-1])
    return [
        {"marker": trend.markers[m].split(SEP), "adds_ns": round(float(adds[m]), 1)}
        for m in order
        if abs(adds[m]) > least
    ]


def _cause(trend: Trend, name: str) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    if name in trend.markers:
        m = trend.markers.index(name)
        return trend.cause[:, m : m + 1]
    return np.full((len(trend.of), 1), -1, dtype=np.int64)
