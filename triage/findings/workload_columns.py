"""The shown workloads of one capture as columns, for the entries of the result and for the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, cast

import numpy as np

from triage.capture.arrays import Codes, Floats, Masks, Values
from triage.capture.capture import SEP, Capture
from triage.diagnosis.diagnosis_result import Diagnosis
from triage.diagnosis.outcomes import Outcomes
from triage.document.entries import VERDICT_CLASSES, OpinionEntry, TimesEntry, WorkloadEntry
from triage.document.numbers import number, numbers
from triage.findings.cause_chains import Causes
from triage.findings.finding_types import Finding
from triage.findings.profiler_rules import SecondOpinion
from triage.findings.text_fields import verdict_text
from triage.ground.columns import is_column
from triage.ground.limiters import BANDS, CLASSES, GRADES
from triage.ground.method import GOOD_HIT_RATE, GREAT_HIT_RATE, HIGH, RAISED
from triage.ground.phrasing import lower_first
from triage.ground.terminology import localize
from triage.reading.marker_tree import spread
from triage.schema.derived import HARDWARE_UNITS, SHADER_PIPES, TILER_UNITS

_BANDS = tuple(BANDS)
# fields with figures -> column of Columns behind them, and digits that the result has
FIGURES = {
    "duration_ns": ("time", 3),
    "self_ns": ("own", 3),
    "share": ("shares", 6),
    "saved_ns": ("saved", 1),
    "bound_speedup": ("speedup", 4),
}


class Columns:
    """Columns over the shown workloads of a part, in capture order; attributes named like fields of an entry hold their values.

    units: names of the units measured. pct: (units, workloads), their share of peak in percent, NaN where not measured.
    primary, secondary: boolean of the same shape. tex, l2: 1 + position in GRADES, 0 where not measured. leader:
    position in `causes` of the root cause, -1 for none. above: position of the workload that holds this one, -1 where none is shown.
    """

    def __init__(
        self, d: Diagnosis, p: int, o: Outcomes, best: Mapping[tuple[int, int], Finding], causes: Causes
    ) -> None:
        self._d, self._p, self._o, self._best, self._causes = d, p, o, best, causes
        c, rows = d.parts[p].capture, o.rows
        clusters = o.limits.clusters
        self.rows, self.capture = rows, c.input.path
        # a phone's units stand beside those with a share of peak, in no cluster
        more = {m: o.view[m] for m in TILER_UNITS if is_column(o.view[m])}
        tilers = {TILER_UNITS[m] for m in more}
        more |= {
            m: o.view[m] for m, name in SHADER_PIPES.items() if tilers and name not in tilers and is_column(o.view[m])
        }
        none = np.zeros((len(more), len(rows)), dtype=bool)
        self.units = [*(HARDWARE_UNITS[u] for u in clusters.names), *((TILER_UNITS | SHADER_PIPES)[m] for m in more)]
        self.pct: Floats = np.vstack([clusters.sol, *more.values()]) * 100
        self.primary: Masks = np.vstack([clusters.primary, none])
        self.secondary: Masks = np.vstack([clusters.secondary, none])
        self.own: Floats = c.self_ns[rows]
        self.time: Floats = c.duration_ns[rows]
        self.limiter: Codes = o.limiter
        self.bands: Codes = o.limits.band
        self.paths: list[str] = c.paths[rows].tolist()  # levels joined with SEP
        self.name = list(map(str, c.names[rows].tolist()))
        self.causes = causes.names
        self.leader = causes.roots[p][rows]
        self._own_leader = d.parts[p].leaders.cause[rows]
        self.verdict_class = [VERDICT_CLASSES[code] for code in d.parts[p].verdict[rows].tolist()]
        self.judged: list[bool] = d.parts[p].judged[rows].tolist()

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def id(self) -> list[str]:
        """Ids in the report."""
        return [self._o.ids[w] for w in self.rows.tolist()]

    @cached_property
    def kind(self) -> list[str]:
        """Words of KINDS, or "" where it is not known."""
        return list(map(str, self._capture.kinds[self.rows].tolist()))

    @cached_property
    def calls(self) -> list[Any]:
        """How many calls a workload stands for."""
        return numbers(self._capture.calls[self.rows], 3)

    def field(self, name: str) -> list[Any]:
        """One field of all entries; None for figures that are not known."""
        found: list[Any] = self._figures(name) if name in FIGURES else getattr(self, name)
        return found

    def _figures(self, name: str, some: slice = slice(None)) -> list[Any]:
        column, digits = FIGURES[name]
        return numbers(getattr(self, column)[some], digits)

    @cached_property
    def shares(self) -> Floats:
        """Self time as a share of that of all captures; NaN without times."""
        total = self._d.frame_ns
        return self.own / (total if total > 0 else np.nan)

    @cached_property
    def saved(self) -> Floats:
        """Saving of the root cause in ns; NaN without one."""
        return np.asarray(self._d.saved_ns(self._d.parts[self._p])[self.rows])

    @cached_property
    def limiter_class(self) -> list[str]:
        """Words of CLASSES."""
        return [CLASSES[k] for k in self.limiter.tolist()]

    @cached_property
    def band(self) -> list[str]:
        """Words of BANDS."""
        return [_BANDS[k] for k in self.bands.tolist()]

    @cached_property
    def chain(self) -> list[list[str]]:
        """Cause ids, root first; consequences only where a finding is listed."""
        return [self.chain_of(i) for i in range(len(self))]

    def chain_of(self, i: int) -> list[str]:
        """`chain` of one workload."""
        return self._causes.chain(self._p, int(self.rows[i]))

    @cached_property
    def listed(self) -> list[int]:
        """Positions of workloads that a listed finding is about."""
        known = np.array(sorted(self._causes.place[self._p]), dtype=np.int64)
        out: list[int] = np.flatnonzero(np.isin(self.rows, known)).tolist()
        return out

    @cached_property
    def above(self) -> list[int]:
        """Position of the workload that holds each; -1 for none, and where it is not shown."""
        c, place = self._capture, np.full(len(self._capture) + 1, -1, dtype=np.int64)
        place[self.rows] = np.arange(len(self))
        out: list[int] = place[c.parent[self.rows]].tolist()
        return out

    @cached_property
    def tex(self) -> Codes:
        """Grade of the L1/TEX hit rate: 1 + position in GRADES, 0 where not measured."""
        return _grades(self._o.view["l1tex.hit_rate"], len(self), self._d.method)

    @cached_property
    def l2(self) -> Codes:
        """The same of L2."""
        return _grades(self._o.view["l2.hit_rate"], len(self), self._d.method)

    @cached_property
    def verdict(self) -> list[str]:
        """One sentence per workload; equal ones share the text."""
        book, causes = self._d.book, self._d.cause_index.names
        made: dict[tuple[int, str, bool, bool], str] = {}
        out = []
        workloads = zip(self.rows.tolist(), self.limiter.tolist(), self._o.units_measured.tolist(), strict=True)
        for i, (w, limiter, measured) in enumerate(workloads):
            lead, top = int(self._own_leader[i]), self._best.get((self._p, w))
            cause = book.causes.get(causes[lead] if lead >= 0 else top.rule.cause if top else "")
            title = cause.title if lead >= 0 and cause else top.rule.title if top else ""
            key = (limiter, title, bool(cause and cause.namesake and cause.limiter == CLASSES[limiter]), measured)
            if key not in made:
                made[key] = verdict_text(limiter, lower_first(localize(title)), namesake=key[2], measured=measured)
            out.append(made[key])
        return out

    @cached_property
    def opinions(self) -> dict[int, list[OpinionEntry]]:
        """Results of the profiler's own rules, by position in the capture."""
        return _opinions(self._o)

    @cached_property
    def speedup(self) -> Floats:
        """Maximum speedup until the top unit is at its limit; NaN where it is."""
        view, top = self._o.view, self._o.limits.clusters.top
        with np.errstate(all="ignore"):
            # without shares of peak what the instructions need is the floor: traffic can be saved, instructions stay
            floor = np.fmax(np.fmax(view["unit.issue"], view["unit.math"]), view["unit.lsu"])
            return np.where(top > HIGH, np.nan, np.where(np.isnan(top), 1 / floor, RAISED / top))

    def times(self, i: int) -> TimesEntry | None:
        """Shortest, median and longest repeat in ns; None for a workload seen once."""
        c, w = self._capture, int(self.rows[i])
        if c.members is None or len(c.rows_of(w)) < 2 or (found := spread(np.asarray(c.times(w)))) is None:
            return None
        least, median, most = (number(ns, 3) for ns in found)
        return {"min": least, "median": median, "max": most}

    @property
    def repeated(self) -> bool:
        """True if workloads stand for several rows."""
        return self._capture.members is not None

    def entries(self, some: slice) -> Iterator[WorkloadEntry]:
        """Entries of neighbouring workloads, made field by field: one by one each costs a hundred times as much."""
        part, rows, units, pct = self._d.parts[self._p], self.rows[some].tolist(), self.units, self.pct[:, some]
        shares = list(zip(*(numbers(row, 4) for row in pct), strict=True)) or [()] * len(rows)
        measured = np.isfinite(pct).sum(axis=0).tolist()
        order = np.argsort(-pct, axis=0, kind="stable").T.tolist() if units else [[] for _ in rows]
        ranked = [busiest[:n] for busiest, n in zip(order, measured, strict=True)]  # NaN came last

        def named(which: Masks) -> list[list[str]]:
            chosen = which[:, some].T.tolist()
            return [[units[u] for u in us if so[u]] for us, so in zip(ranked, chosen, strict=True)]

        fields: dict[str, Iterable[object]] = {
            "id": self.id[some],
            "capture": [self.capture] * len(rows),
            "name": self.name[some],
            "path": [str(path).split(SEP) if path else [] for path in self.paths[some]],
            "kind": [kind or None for kind in self.kind[some]],
            "parent": [
                part.workload_id(w, self._d.many) if w >= 0 else None for w in part.capture.parent[rows].tolist()
            ],
            "calls": self.calls[some],
            "times": map(self.times, range(len(self))[some]),
            "duration_ns": self._figures("duration_ns", some),
            "self_ns": self._figures("self_ns", some),
            "share": self._figures("share", some),
            "sol": [[{"unit": units[u], "pct": p[u]} for u in us] for us, p in zip(ranked, shares, strict=True)],
            "band": self.band[some],
            "primary": named(self.primary),
            "secondary": named(self.secondary),
            "bound_speedup": self._figures("bound_speedup", some),
            "hit_grades": [
                {c: GRADES[code - 1] for c, code in (("TEX", tex), ("L2", l2)) if code}
                for tex, l2 in zip(self.tex[some].tolist(), self.l2[some].tolist(), strict=True)
            ],
            "limiter_class": self.limiter_class[some],
            "chain": [self._causes.chain(self._p, w) for w in rows],
            "saved_ns": self._figures("saved_ns", some),
            "judged": self.judged[some],
            "verdict_class": self.verdict_class[some],
            "second_opinion": [self.opinions.get(w, []) for w in rows],
            "verdict": self.verdict[some],
        }
        rows_of_fields = zip(*fields.values(), strict=True)
        return (cast(WorkloadEntry, dict(zip(fields, values, strict=True))) for values in rows_of_fields)

    @property
    def _capture(self) -> Capture:
        return self._d.parts[self._p].capture


def _grades(values: Values, size: int, method: str) -> Codes:
    """1 + position in GRADES per workload, 0 where not measured."""
    rate = np.broadcast_to(values, size)
    with np.errstate(invalid="ignore"):
        # a rate that is not measured compares false with everything, and stays 0
        return np.select([rate > GREAT_HIT_RATE, rate < GOOD_HIT_RATE[method], np.isfinite(rate)], [1, 3, 2], 0).astype(
            np.int8
        )


def _opinions(o: Outcomes) -> dict[int, list[OpinionEntry]]:
    """Results of the profiler's own rules per workload, repeats once, each with the verdict here."""
    c = o.capture
    if not c.table.opinions:
        return {}
    out: dict[int, list[OpinionEntry]] = {}
    ours = SecondOpinion(o)
    known: set[tuple[int, str, str, str, float | None]] = set()
    for x, w in zip(c.table.opinions, map(int, c.owners([x.row for x in c.table.opinions])), strict=True):
        key = (w, x.rule, x.type, x.text, x.speedup)
        if key in known:
            continue
        known.add(key)
        compared = ours.compare(x, w)
        out.setdefault(w, []).append(
            {
                "tool": x.tool,
                "rule": x.rule,
                "type": x.type,
                "text": x.text,
                "speedup": x.speedup,
                "cause": compared.cause or None,
                "verdict": compared.verdict,
                "ours": number(compared.ours) if compared.ours is not None else None,
                "why": compared.why or None,
            }
        )
    return out
