"""The shown workloads of one capture as columns: what the entries of the result are made of, and what a page packs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from triage.capture.arrays import Codes, Floats, Masks, Values
from triage.capture.capture import SEP, Capture
from triage.diagnosis.judged import Diagnosis
from triage.diagnosis.nouns import Finding
from triage.diagnosis.outcomes import Outcomes
from triage.diagnosis.second_opinion import SecondOpinion
from triage.document.bundle import Entry
from triage.document.causes import Causes
from triage.document.numbers import number, numbers
from triage.ground.limiters import BANDS, CLASSES, GRADES
from triage.ground.method import GOOD_HIT_RATE, GREAT_HIT_RATE, HIGH, RAISED
from triage.ground.voice import said
from triage.ground.wording import lower_first
from triage.reading.markers import spread
from triage.schema.derived import HARDWARE_UNITS

_BANDS = tuple(BANDS)
NEAR = 1_000  # workloads whose units are put in order together
# shares of peak per unit, and per workload its measured units, busiest first; per unit, whether it limits first or second
_Ranked = tuple[list[list[Any]], list[list[int]], list[list[bool]], list[list[bool]]]


class Columns:
    """Columns over the shown workloads of a part, in capture order; attributes called like fields of an entry hold theirs.

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
        self.units = [HARDWARE_UNITS[u] for u in clusters.names]
        self.pct: Floats = clusters.sol * 100
        self.primary: Masks = clusters.primary
        self.secondary: Masks = clusters.secondary
        self.own: Floats = c.self_ns[rows]
        self.time: Floats = c.duration_ns[rows]
        self.limiter: Codes = o.limits.limiter
        self.bands: Codes = o.limits.band
        self.paths: list[str] = c.paths[rows].tolist()  # levels joined with SEP
        self.name = list(map(str, c.names[rows].tolist()))
        self.causes = causes.names
        self.leader = d.parts[p].leaders.cause[rows]
        self._near: tuple[int, _Ranked] = (-1, ([], [], [], []))
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

    @cached_property
    def duration_ns(self) -> list[Any]:
        """Inclusive time; None without times."""
        return numbers(self.time, 3)

    @cached_property
    def self_ns(self) -> list[Any]:
        """Exclusive time; None without times."""
        return numbers(self.own, 3)

    @cached_property
    def share(self) -> list[Any]:
        """Exclusive time as a share of the capture's."""
        total = self._capture.frame_ns
        return numbers(self.own / total) if total > 0 else [None] * len(self)

    @cached_property
    def saved(self) -> Floats:
        """What the cause that leads a workload gives back, in ns; NaN where none leads."""
        led = self.leader >= 0
        return np.where(led, self._d.parts[self._p].leaders.likely[self.rows] * self.own, np.nan)

    @cached_property
    def saved_ns(self) -> list[Any]:
        """`saved` as the result has it."""
        return numbers(self.saved, 1)

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
    def led(self) -> list[bool]:
        """Does a cause lead it?"""
        out: list[bool] = (self.leader >= 0).tolist()
        return out

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
        """How good the hit rate of L1/TEX is."""
        return _grades(self._o.view["l1tex.hit_rate"], len(self), self._d.method)

    @cached_property
    def l2(self) -> Codes:
        """How good the hit rate of L2 is."""
        return _grades(self._o.view["l2.hit_rate"], len(self), self._d.method)

    @cached_property
    def verdict(self) -> list[str]:
        """One sentence per workload; those that say the same share it."""
        book, causes = self._d.book, self._d.vocabulary.names
        made: dict[tuple[int, str], str] = {}
        out = []
        for i, (w, limiter) in enumerate(zip(self.rows.tolist(), self.limiter.tolist(), strict=True)):
            lead, top = int(self.leader[i]), self._best.get((self._p, w))
            key = (limiter, book.cause(causes[lead]).title if lead >= 0 else top.rule.title if top else "")
            if key not in made:
                made[key] = self._o.sentence(i, lower_first(said(key[1])))
            out.append(made[key])
        return out

    @cached_property
    def opinions(self) -> dict[int, list[Entry]]:
        """What the profiler's own rules said, by position in the capture."""
        return _opinions(self._o)

    @cached_property
    def bound_speedup(self) -> list[Any]:
        """How much faster a workload could get at most before its top unit is full; None where it is."""
        view, top = self._o.view, self._o.limits.clusters.top
        with np.errstate(all="ignore"):
            # without shares of peak what the instructions need is the floor: traffic can be saved, instructions stay
            floor = np.fmax(np.fmax(view["unit.issue"], view["unit.math"]), view["unit.lsu"])
            return numbers(np.where(top > HIGH, np.nan, np.where(np.isnan(top), 1 / floor, RAISED / top)), 4)

    def times(self, i: int) -> Entry | None:
        """Shortest, median and longest repeat in ns; None for a workload seen once."""
        c, w = self._capture, int(self.rows[i])
        if c.members is None or len(c.rows_of(w)) < 2 or (found := spread(np.asarray(c.times(w)))) is None:
            return None
        return dict(zip(("min", "median", "max"), (number(ns, 3) for ns in found), strict=True))

    @property
    def repeated(self) -> bool:
        """Do workloads stand for several rows?"""
        return self._capture.members is not None

    def entry(self, i: int) -> Entry:
        """One workload as the result has it."""
        pct, ranked, primary, secondary = self._ranked(i // NEAR)
        units, order, w, k = self.units, ranked[i % NEAR], int(self.rows[i]), i % NEAR
        path, parent = self.paths[i], int(self._capture.parent[w])
        return {
            "id": self.id[i],
            "capture": self.capture,
            "name": self.name[i],
            "path": str(path).split(SEP) if path else [],
            "kind": self.kind[i] or None,
            "parent": self._d.parts[self._p].workload_id(parent, self._d.many) if parent >= 0 else None,
            "calls": self.calls[i],
            "times": self.times(i),
            "duration_ns": self.duration_ns[i],
            "self_ns": self.self_ns[i],
            "share": self.share[i],
            "sol": [{"unit": units[u], "pct": pct[u][k]} for u in order],
            "band": self.band[i],
            "primary": [units[u] for u in order if primary[u][k]],
            "secondary": [units[u] for u in order if secondary[u][k]],
            "bound_speedup": self.bound_speedup[i],
            "hit_grades": {c: GRADES[code - 1] for c, code in (("TEX", self.tex[i]), ("L2", self.l2[i])) if code},
            "limiter_class": self.limiter_class[i],
            "chain": self.chain_of(i),
            "saved_ns": self.saved_ns[i],
            "judged": self.judged[i],
            "second_opinion": self.opinions.get(w, []),
            "verdict": self.verdict[i],
        }

    @property
    def _capture(self) -> Capture:
        return self._d.parts[self._p].capture

    def _ranked(self, block: int) -> _Ranked:
        """Of the NEAR workloads of a block; entries are nearly always made one after another, so that one is kept."""
        if self._near[0] != block:
            self._near = block, self._rank(slice(block * NEAR, (block + 1) * NEAR))
        return self._near[1]

    def _rank(self, some: slice) -> _Ranked:
        if not self.units:
            return [], [[]] * NEAR, [], []
        pct = self.pct[:, some]
        order = np.argsort(-pct, axis=0, kind="stable").T.tolist()  # NaN comes last
        count = np.isfinite(pct).sum(axis=0).tolist()
        ranked = [units[:n] for units, n in zip(order, count, strict=True)]
        return (
            [numbers(row, 4) for row in pct],
            ranked,
            self.primary[:, some].tolist(),
            self.secondary[:, some].tolist(),
        )


def _grades(values: Values, size: int, method: str) -> Codes:
    """1 + position in GRADES per workload, 0 where not measured."""
    rate = np.broadcast_to(values, size)
    with np.errstate(invalid="ignore"):
        # a rate that is not measured compares false with everything, and stays 0
        return np.select([rate > GREAT_HIT_RATE, rate < GOOD_HIT_RATE[method], np.isfinite(rate)], [1, 3, 2], 0).astype(
            np.int8
        )


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
