"""The `workloads` of the JSON result: columns prepared once, one dict per shown workload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from triage.capture.capture import SEP
from triage.derive.speed_of_light import RAISED
from triage.diagnosis.limiter import BANDS, CLASSES, GOOD, GREAT
from triage.document.summary import lower_first
from triage.reading.markers import spread
from triage.schema.derived import HARDWARE_UNITS

if TYPE_CHECKING:
    from triage.diagnosis.diagnose import Diagnosis
    from triage.diagnosis.findings import Finding
    from triage.diagnosis.outcomes import Details


def number(value: float, digits: int = 6) -> float | int | None:
    """A JSON number: null for NaN and infinity, an int when it is whole."""
    if value != value or value in (float("inf"), float("-inf")):
        return None
    rounded = round(value, digits)
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded


def numbers(values: Any, digits: int = 6) -> list[float | int | None]:
    """`number` over an array."""
    rounded = np.round(np.asarray(values, dtype=np.float64), digits)
    out: list[float | int | None] = rounded.tolist()
    for i in np.flatnonzero((rounded == np.rint(rounded)) & (np.abs(rounded) < 1e15)).tolist():
        out[i] = int(rounded[i])
    for i in np.flatnonzero(~np.isfinite(rounded)).tolist():
        out[i] = None
    return out


def workloads(d: Diagnosis) -> Iterator[dict[str, Any]]:
    """The shown workloads, in capture order."""
    best: dict[tuple[int, int], Finding] = {}
    for f in d.findings:
        best.setdefault((f.part, f.workload), f)
    for p, details in enumerate(d.details):
        yield from _workloads(d, p, details, best)


def _grades(values: Any, size: int, method: str) -> list[str]:
    """great, good, poor or "" per workload."""
    rate = values if np.ndim(values) else np.full(size, values)
    with np.errstate(invalid="ignore"):
        return np.select([rate > GREAT, rate < GOOD[method], np.isfinite(rate)], ["great", "poor", "good"], "").tolist()  # type: ignore[no-any-return]


def _workloads(
    d: Diagnosis, p: int, details: Details, best: dict[tuple[int, int], Finding]
) -> Iterator[dict[str, Any]]:
    part, c, view = d.parts[p], d.parts[p].capture, details.view
    rows, size = details.rows, details.view.size
    clusters = details.verdict.clusters
    units = [HARDWARE_UNITS[u] for u in clusters.names]
    pct = [numbers(row * 100, 4) for row in clusters.sol]
    order = np.argsort(-clusters.sol, axis=0, kind="stable").T.tolist() if units else [[]] * size  # NaN comes last
    measured = np.isfinite(clusters.sol).sum(axis=0).tolist()
    primary, secondary = clusters.primary.tolist(), clusters.secondary.tolist()
    tex, l2 = (_grades(view[m], size, d.method) for m in ("l1tex.hit_rate", "l2.hit_rate"))
    with np.errstate(all="ignore"):
        bound = numbers(RAISED / clusters.top, 4)
    bands = [BANDS[k] for k in details.verdict.band.tolist()]
    classes = [CLASSES[k] for k in details.verdict.limiter.tolist()]
    calls, duration, own = (numbers(v[rows], 3) for v in (c.calls, c.duration_ns, c.self_ns))
    share = numbers(c.self_ns[rows] / c.frame_ns) if c.frame_ns > 0 else [None] * size
    parents = c.parent[rows].tolist()
    names, paths, kinds = (list(map(str, words[rows].tolist())) for words in (c.names, c.paths, c.kinds))
    opinions = _opinions(c)
    for i, w in enumerate(rows.tolist()):
        ranked = order[i][: measured[i]]
        top = best.get((p, w))
        path, band = paths[i], bands[i]
        grades = {}
        if tex[i]:
            grades["TEX"] = tex[i]
        if l2[i]:
            grades["L2"] = l2[i]
        yield {
            "id": details.ids[w], "capture": c.input.path, "name": names[i],
            "path": path.split(SEP) if path else [], "kind": kinds[i] or None,
            "parent": part.workload_id(parents[i], d.many) if parents[i] >= 0 else None,
            "calls": calls[i], "times": None if c.members is None else _times(c, w), "duration_ns": duration[i], "self_ns": own[i], "share": share[i],
            "sol": [{"unit": units[k], "pct": pct[k][i]} for k in ranked], "band": band,
            "primary": [units[k] for k in ranked if primary[k][i]], "secondary": [units[k] for k in ranked if secondary[k][i]],
            "bound_speedup": bound[i] if band in ("low", "gray") else None, "hit_grades": grades, "limiter_class": classes[i],
            "second_opinion": opinions.get(w, []),
            "verdict": details.sentence(i, lower_first(top.rule.title) if top else ""),
        }  # fmt: skip


def _times(c: Any, w: int) -> dict[str, Any] | None:
    """Shortest, median and longest repeat in ns; null for a workload seen once."""
    if len(c.rows_of(w)) < 2 or (found := spread(np.asarray(c.times(w)))) is None:
        return None
    return dict(zip(("min", "median", "max"), (number(ns, 3) for ns in found), strict=True))


def _opinions(c: Any) -> dict[int, list[dict[str, Any]]]:
    """What the profiler's own rules said, per workload, repeats once."""
    out: dict[int, list[dict[str, Any]]] = {}
    for o, w in zip(c.table.opinions, c.owners([o.row for o in c.table.opinions]), strict=True):
        entry = {"tool": o.tool, "rule": o.rule, "type": o.type, "text": o.text, "speedup": o.speedup}
        listed = out.setdefault(int(w), [])
        if entry not in listed:
            listed.append(entry)
    return out
