"""The `workloads` of the result: columns prepared once per capture, one entry per shown workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from triage.capture.arrays import Values
from triage.capture.capture import SEP, Capture
from triage.diagnosis.judged import Diagnosis
from triage.diagnosis.nouns import Finding
from triage.diagnosis.outcomes import Outcomes
from triage.diagnosis.second_opinion import SecondOpinion
from triage.document.bundle import Entry
from triage.document.causes import Causes
from triage.document.numbers import number, numbers
from triage.ground.limiters import BANDS, CLASSES
from triage.ground.method import GOOD_HIT_RATE, GREAT_HIT_RATE, HIGH, RAISED
from triage.ground.wording import lower_first
from triage.reading.markers import spread
from triage.schema.derived import HARDWARE_UNITS

_BANDS = tuple(BANDS)


class Workloads:
    """The shown workloads in capture order, made afresh at each iteration: a million are never in memory at once."""

    def __init__(self, d: Diagnosis, outcomes: Sequence[Outcomes], found: Sequence[Finding], causes: Causes) -> None:
        self._d, self._outcomes, self._causes = d, outcomes, causes
        self._best: dict[tuple[int, int], Finding] = {}
        for f in found:  # findings come best first
            self._best.setdefault((f.part, f.workload), f)

    def __len__(self) -> int:
        return sum(len(o.rows) for o in self._outcomes)

    def __iter__(self) -> Iterator[Entry]:
        for p, o in enumerate(self._outcomes):
            yield from _entries(self._d, p, o, self._best, self._causes)


def _grades(values: Values, size: int, method: str) -> list[str]:
    """great, good, poor or "" per workload."""
    rate = np.broadcast_to(values, size)
    with np.errstate(invalid="ignore"):
        words = np.select(
            [rate > GREAT_HIT_RATE, rate < GOOD_HIT_RATE[method], np.isfinite(rate)], ["great", "poor", "good"], ""
        )
    return [str(word) for word in words]


def _entries(
    d: Diagnosis, p: int, o: Outcomes, best: dict[tuple[int, int], Finding], causes: Causes
) -> Iterator[Entry]:
    part, c, view = d.parts[p], d.parts[p].capture, o.view
    rows, size = o.rows, o.view.size
    clusters = o.limits.clusters
    units = [HARDWARE_UNITS[u] for u in clusters.names]
    pct = [numbers(row * 100, 4) for row in clusters.sol]
    order = np.argsort(-clusters.sol, axis=0, kind="stable").T.tolist() if units else [[]] * size  # NaN comes last
    measured = np.isfinite(clusters.sol).sum(axis=0).tolist()
    primary, secondary = clusters.primary.tolist(), clusters.secondary.tolist()
    tex, l2 = (_grades(view[m], size, d.method) for m in ("l1tex.hit_rate", "l2.hit_rate"))
    with np.errstate(all="ignore"):
        # without shares of peak what the instructions need is the floor: traffic can be saved, instructions stay
        floor = np.fmax(np.fmax(view["unit.issue"], view["unit.math"]), view["unit.lsu"])
        bound = numbers(
            np.where(clusters.top > HIGH, np.nan, np.where(np.isnan(clusters.top), 1 / floor, RAISED / clusters.top)), 4
        )
    bands = [_BANDS[k] for k in o.limits.band.tolist()]
    classes = [CLASSES[k] for k in o.limits.limiter.tolist()]
    calls, duration, own = (numbers(v[rows], 3) for v in (c.calls, c.duration_ns, c.self_ns))
    share = numbers(c.self_ns[rows] / c.frame_ns) if c.frame_ns > 0 else [None] * size
    parents = c.parent[rows].tolist()
    names, paths, kinds = (list(map(str, words[rows].tolist())) for words in (c.names, c.paths, c.kinds))
    opinions = _opinions(o)
    leads, judged = part.leaders.rule, part.judged[rows].tolist()
    led = part.leaders.cause[rows] >= 0
    saved = numbers(np.where(led, part.leaders.likely[rows] * c.self_ns[rows], np.nan), 1)
    for i, w in enumerate(rows.tolist()):
        ranked = order[i][: measured[i]]
        lead, top = leads[w], best.get((p, w))
        said = d.book.rules[lead].title if lead >= 0 else top.rule.title if top else ""
        path, band = paths[i], bands[i]
        grades = {}
        if tex[i]:
            grades["TEX"] = tex[i]
        if l2[i]:
            grades["L2"] = l2[i]
        yield {
            "id": o.ids[w],
            "capture": c.input.path,
            "name": names[i],
            "path": path.split(SEP) if path else [],
            "kind": kinds[i] or None,
            "parent": part.workload_id(parents[i], d.many) if parents[i] >= 0 else None,
            "calls": calls[i],
            "times": None if c.members is None else _times(c, w),
            "duration_ns": duration[i],
            "self_ns": own[i],
            "share": share[i],
            "sol": [{"unit": units[k], "pct": pct[k][i]} for k in ranked],
            "band": band,
            "primary": [units[k] for k in ranked if primary[k][i]],
            "secondary": [units[k] for k in ranked if secondary[k][i]],
            "bound_speedup": bound[i],
            "hit_grades": grades,
            "limiter_class": classes[i],
            "chain": causes.chain(p, w),
            "saved_ns": saved[i],
            "judged": judged[i],
            "second_opinion": opinions.get(w, []),
            "verdict": o.sentence(i, lower_first(said) if said else ""),
        }


def _times(c: Capture, w: int) -> Entry | None:
    """Shortest, median and longest repeat in ns; null for a workload seen once."""
    if len(c.rows_of(w)) < 2 or (found := spread(np.asarray(c.times(w)))) is None:
        return None
    return dict(zip(("min", "median", "max"), (number(ns, 3) for ns in found), strict=True))


def _opinions(o: Outcomes) -> dict[int, list[Entry]]:
    """What the profiler's own rules said, per workload, repeats once; and what is said here to the same."""
    c = o.capture
    if not c.table.opinions:
        return {}
    out: dict[int, list[Entry]] = {}
    ours = SecondOpinion(o)
    told: set[tuple[int, str, str, str, float | None]] = set()
    for x, w in zip(c.table.opinions, map(int, c.owners([x.row for x in c.table.opinions])), strict=True):
        key = (w, x.rule, x.type, x.text, x.speedup)
        if key in told:
            continue
        told.add(key)
        heard = ours.heard(x, w)
        out.setdefault(w, []).append(
            {
                "tool": x.tool,
                "rule": x.rule,
                "type": x.type,
                "text": x.text,
                "speedup": x.speedup,
                "cause": heard.cause or None,
                "verdict": heard.verdict,
                "ours": number(heard.ours) if heard.ours is not None else None,
                "why": heard.why or None,
            }
        )
    return out
