"""Numbers to weigh a verdict by: absolute counts, deciding ratios, stalls, near misses, causes that were not tested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np

from triage import schema
from triage.capture.capture import Column
from triage.derive import derivations
from triage.diagnosis import verdicts
from triage.diagnosis.outcomes import Outcomes
from triage.document.page_entries import NearEntry, NumberEntry, OpenEntry, WeighedEntry
from triage.findings.evidence import at
from triage.findings.near_misses import near_misses
from triage.ground.phrasing import over_rows
from triage.ground.stalls import STALLS
from triage.inference.evaluate import BLIND, NOT_APPLICABLE
from triage.rulebook.cause import Cause
from triage.rulebook.rule import Rule

COUNTS = (
    "launch.grid_size", "launch.block_size", "launch.registers", "launch.shared_static", "launch.shared_dynamic", "inst.executed",
    "vram.bytes_read", "vram.bytes_written", "work.needed_bytes", "l2.sectors", "global_load.requests", "global_load.sectors",
    "global_store.requests", "global_store.sectors", "global_access.sectors_l2", "global_access.sectors_l2_ideal",
    "local_load.sectors", "local_store.sectors", "launch.scratch", "shared.wavefronts", "shared.access_wavefronts_ideal",
    "shared.bank_conflicts", "lds.insts", "vmem.insts", "valu.insts", "atomics.requests", "flop.fp32", "draw.count", "dispatch.count",
    "prims.input", "pixels.shaded",
)  # fmt: skip
RATIOS = (
    "sm.active", "sm.occupancy", "occupancy.theoretical", "launch.waves", "sm.issue_per_active", "warp.threads_per_inst",
    "global_load.sectors_per_request", "global_store.sectors_per_request", "global_load.waste", "global_store.waste",
    "vmem.bytes_per_inst", "shared.conflict_ways", "lds.conflicts_per_inst", "l1tex.hit_rate", "l2.hit_rate",
    "pipe.lsu_use", "pipe.fma_use", "pipe.tensor_use", "valu.busy", "mfma.busy", "lds.busy", "waves.memory_wait", "eu.active",
    "eu.stall", "eu.occupancy", "work.dram_excess", "work.roof", "pixels.overdraw", "pixels.per_primitive", "gpu.idle",
)  # fmt: skip
NOTABLE_STALL = 0.03  # heuristic: of warp time; five of these leave little unsaid
MAX_STALLS = 5
NEAR = 0.15  # heuristic: a miss by more excludes; 25 % beside 100 % of active lanes is far
SMALL = 64  # workloads up to which one is looked at among all; of more it is looked at alone, which infers it again


class Weighed(Sequence[WeighedEntry]):
    """What there is to weigh of each shown workload; worked out when it is asked for, without reading any file."""

    def __init__(self, outcomes: Sequence[Outcomes]) -> None:
        self._outcomes = outcomes

    def __len__(self) -> int:
        return sum(len(o.rows) for o in self._outcomes)

    @overload
    def __getitem__(self, i: int) -> WeighedEntry: ...
    @overload
    def __getitem__(self, i: slice) -> list[WeighedEntry]: ...
    def __getitem__(self, i: int | slice) -> WeighedEntry | list[WeighedEntry]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        for o in self._outcomes:
            if 0 <= i < len(o.rows):
                return _weighed(o, i) if len(o.rows) <= SMALL else _weighed(Outcomes(o.d, o.part, o.rows[i : i + 1]), 0)
            i -= len(o.rows)
        raise IndexError(i)


def _weighed(o: Outcomes, i: int) -> WeighedEntry:
    root = _root(o, i)
    alike = root.confused_with if root else ()
    decides = [*(root.decides if root else ()), *(c.by for c in alike)]
    ratios = [
        m for m in dict.fromkeys((*decides, *RATIOS)) if schema.known(m) and m not in COUNTS and "stall." not in m
    ]
    stalls = _numbers(o, i, (f"stall.{name}" for name in STALLS))
    # what looks like the root cause first, then causes of which most rules wait
    first = [c.cause for c in alike]
    untested = sorted(_open(o, i), key=lambda x: (x[1]["cause"] not in first, -x[0], x[1]["cause"]))
    return {
        "counts": _numbers(o, i, COUNTS),
        "ratios": [n for n in _numbers(o, i, ratios) if not schema.get(n["metric"]).is_flag],
        "stalls": sorted((s for s in stalls if s["value"] >= NOTABLE_STALL), key=lambda s: -s["value"])[:MAX_STALLS],
        "near": _near(o, i),
        "open": [entry for _, entry in untested],
        "alike": [{"cause": c.cause, "how": c.how} for c in alike],
        "lacking": [group.label for group, lacks in verdicts.missing(o.view) if np.broadcast_to(lacks, o.view.size)[i]],
    }


def _root(o: Outcomes, i: int) -> Cause | None:
    """The root cause of the workload at position i."""
    leader = int(o.part.leaders.cause[o.rows[i]])
    return o.d.book.cause(o.d.cause_index.names[leader]) if leader >= 0 else None


def _numbers(o: Outcomes, i: int, metrics: Iterable[str]) -> list[NumberEntry]:
    """Those of the metrics that are known at position i."""
    w, facts, out = int(o.rows[i]), o.capture.facts, list[NumberEntry]()
    for m in metrics:
        value = at(o.view[m], i)
        if not np.isfinite(value):
            continue
        formula = ""
        column = o.capture.sources.get(m)
        if m not in facts or not np.isfinite(facts[m][w]):
            known = derivations().get(m)
            formula = known.formula if known else "device table"
        elif column is not None and column.formula:
            formula = column.formula
        elif isinstance(column, Column) and len(o.capture.rows_of(w)) > 1:
            formula = over_rows(schema.get(m).additive)
        out.append({"metric": m, "value": value, "unit": schema.get(m).unit, "formula": formula})
    return out


def _near(o: Outcomes, i: int) -> list[NearEntry]:
    rules = o.d.book.rules
    found = ((rules[n.rule], n.why) for n in near_misses(o, i) if n.gap <= NEAR)
    return [{"cause": r.cause, "rule": r.id, "why": why} for r, why in found if _is_cause(o, r)]


def _is_cause(o: Outcomes, rule: Rule) -> bool:
    """True if a rule names something that can be wrong, not a state such as `near-limit`."""
    return not rule.is_concept and bool(rule.cause) and o.d.book.cause(rule.cause).family != "verdict"


def _open(o: Outcomes, i: int) -> Iterator[tuple[int, OpenEntry]]:
    """Causes of which every rule that applies lacks a metric; with the number of these rules."""
    states: dict[str, list[tuple[int, int]]] = {}
    for k, rule in enumerate(o.d.book.rules):
        if _is_cause(o, rule) and rule.scope != "frame" and (code := int(o.outcome(k)[i])) != NOT_APPLICABLE:
            states.setdefault(rule.cause, []).append((code, k))
    for cause, codes in states.items():
        if all(code == BLIND for code, _ in codes):
            needs = sorted((n for _, k in codes if (n := _absent(o, i, o.waits_for(k, i)))), key=len)
            if needs:
                yield len(codes), {"cause": cause, "missing": needs[0]}


def _absent(o: Outcomes, i: int, metrics: Iterable[str]) -> list[str]:
    """Those of the metrics that are not known at position i."""
    return [m for m in metrics if not np.isfinite(at(o.view[m], i))]
