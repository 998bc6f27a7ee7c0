"""NVTX ranges of an Nsight Systems database: steps, layers and phases as the path of the work launched inside them."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Indices, Names
from triage.capture.capture import SEP
from triage.capture.timeline.nesting import Nest
from triage.capture.timeline.spans import union
from triage.capture.trace_nouns import HOST, Calls
from triage.dialects.tables.database import MISSING, Database, sane

_PUSHED = 59  # opened and closed on one thread; 60 is started on one and may end on another


def read(db: Database) -> Calls | None:
    """Ranges with a text, in the form of calls, whose kind is 0 for ranges of one thread; None where there are none."""
    name = db.table("NVTX_EVENTS")
    columns = db.columns(name)
    if not name or not {"start", "end", "globalTid"} <= set(columns):
        return None
    kind = "eventType" if "eventType" in columns else str(_PUSHED)
    where = f'"end" is not null and {kind} in (59, 60)'
    got = db.numbers(name, ("start", "end", "globalTid", "eventType", "textId"), where)
    if not len(got["start"]):
        return None
    inline = [t for (t,) in db.texts(name, ["text"], where)] if "text" in columns else []
    text, texts = _texts(db, got.get("textId", np.full(len(got["start"]), MISSING)), inline)
    good, _ = sane(got["start"], got["end"])
    good &= np.array([bool(t) for t in texts] or [False], dtype=bool)[text]
    pushed = got.get("eventType", np.full(len(good), _PUSHED)) == _PUSHED
    kinds = np.where(pushed, 0, 1).astype(np.int8)
    return Calls(got["start"][good], got["end"][good], got["globalTid"][good], kinds[good], text[good], texts)


def system(db: Database, calls: Calls) -> Calls | None:
    """Calls of the operating system on threads that call the runtime, outside its calls; None where none were recorded."""
    name = db.table("OSRT_API")
    columns = ("start", "end", "globalTid", "nameId")
    if not name or not set(columns) <= set(db.columns(name)):
        return None
    threads = np.unique(calls.thread[calls.name >= 0]).tolist()
    where = f'"globalTid" in ({", ".join(map(str, threads))})'
    start, end, thread, named = db.numbers(name, columns, where).values()
    good, _ = sane(start, end)
    for one in threads:
        mine, of = thread == one, calls.thread == one
        inside = union(calls.start[of], calls.end[of])
        good &= ~mine | (inside.until(start + 1) == inside.until(start))
    texts = db.strings(db.table("StringIds"), np.unique(named))
    ids, code = np.unique(named[good], return_inverse=True)
    words = [f"{texts.get(i, '')}()" for i in ids.tolist()]
    return Calls(start[good], end[good], thread[good], np.full(len(code), HOST, dtype=np.int8), code, words)


def paths(ranges: Calls | None, calls: Calls, call: Indices) -> Names | None:
    """Names of the ranges around the call that started each operation, outermost first; None where there are none."""
    if ranges is None or not (call >= 0).any():
        return None
    have = np.flatnonzero(call >= 0)
    at, thread = calls.start[call[have]], calls.thread[call[have]]
    out: Names = np.full(len(call), "", dtype=object)
    # started ranges belong to a process: they hold what any of its threads does
    for kind, of in ((1, 24), (0, 0)):
        rows = np.flatnonzero(ranges.kind == kind)
        if len(rows):
            threads = ranges.thread[rows] >> of
            nest = Nest(ranges.start[rows], ranges.end[rows], threads, ranges.name[rows], ranges.names)
            out[have] = _below(out[have], nest.paths_at(thread >> of, at))
    return out if (out != "").any() else None


def _below(outer: Names, inner: Names) -> Names:
    """Paths joined, where both are there."""
    both = (outer != "") & (inner != "")
    out: Names = np.where(inner != "", inner, outer)
    out[both] = outer[both] + SEP + inner[both]
    return out


def _texts(db: Database, ids: Indices, inline: list[str]) -> tuple[Indices, list[str]]:
    """(number of each range's text, texts): written beside the range, or in the table of strings."""
    import pandas as pd

    codes, words = pd.factorize(np.array(inline or [""] * len(ids), dtype=object))
    texts = [str(w) for w in words]
    if all(texts):
        return codes.astype(np.int64), texts
    more, found = pd.factorize(ids)
    known = db.strings(db.table("StringIds"), found[found != MISSING])
    blank = np.array([not t for t in texts])
    out = np.where(blank[codes], more + len(texts), codes)
    return out.astype(np.int64), texts + [known.get(int(i), "") for i in found]
