"""Captures + Rulebook -> Diagnosis: inference in blocks, savings, total order.

One pass over all workloads in cache-sized blocks keeps arrays only: which rule fired where, what it saves. Entries
(findings, evidence, blind spots) are made afterwards, from the result, for the workloads that are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from triage.capture.arrays import Floats, Masks
from triage.capture.capture import Capture
from triage.derive import View
from triage.diagnosis import ranking
from triage.diagnosis.diagnosis_result import Diagnosis, Item, Part, Whole
from triage.diagnosis.firings import Ledger, untimed
from triage.diagnosis.frame_facts import MERGED, frame_captures, runs, without_units
from triage.diagnosis.gain import fractions
from triage.diagnosis.limiter import judge
from triage.diagnosis.minor_passes import minor_passes
from triage.diagnosis.root_causes import CauseIndex, CauseTable, Fired, Leaders
from triage.diagnosis.todo import todo
from triage.diagnosis.verdicts import AT_LIMIT, FIX, NOT_DIAGNOSED, SUSPECT, verdicts
from triage.ground.limiters import CONFIDENCE, code
from triage.ground.method import LATEST
from triage.ground.phrasing import as_written, plural
from triage.ground.units import show
from triage.inference.engine import Engine
from triage.inference.evaluate import Lookup, infer
from triage.inference.firing import Candidates, fire
from triage.inference.groups import compile_program
from triage.rulebook.packs import Rulebook

BLOCK = 50_000  # a few columns of one block fit the cache
MIN_BLOCKS = 12  # per capture, down to MIN_BLOCK_WORKLOADS each: the results of a block take 2.6 KB per workload
MIN_BLOCK_WORKLOADS = 10_000
KEEP_FACTS_UP_TO = 2_000  # workloads of a capture up to which a pass keeps its results, for the entries
HEAP_BYTES = 31 << 20  # bytes; without it a million workloads fault in 90,000 pages, with it 20,000
LIST_ALL_UP_TO = 5_000  # findings that are all listed without --top
OWN_SHARE = 0.5  # of a range's time; with less outside the ranges within, its counters are theirs
DEFAULT_LISTED = 1_000  # the best of more findings, listed without --top


class Diagnoser:
    """Rules compiled once, ready for many captures; engines remember their signatures between captures."""

    def __init__(self, book: Rulebook, method: str = LATEST, engine: str = "") -> None:
        self.book, self.method = book if method == LATEST else book.under(method), method
        self.cause_index = CauseIndex(book)
        self.workload = Engine(compile_program(book, method, "workload"), engine)
        frame_program = compile_program(book, method, "frame")
        self.frame = Engine(frame_program, engine) if frame_program.groups else None
        self._id_order = np.argsort(np.argsort([r.id for r in book.rules]))
        # among equal savings a rule that states no effect comes last: it names a state, not a cause
        self._confidence = np.array([CONFIDENCE[r.gain.confidence] if r.gain else 0.0 for r in book.rules] or [0.0])

    def diagnose(
        self, captures: Sequence[Capture], top: int | None = None, min_gain: float = 0.0, listed: int = LIST_ALL_UP_TO
    ) -> Diagnosis:
        """Diagnose captures together. top: items to list, with their findings. min_gain: minimum saving to list, a share (0-1).

        listed: findings to list without `top`. Sums are always of the whole capture; a note says what is left out.
        """
        limit = max(top or 0, LIST_ALL_UP_TO)
        parts = [self._part(c, i, limit, min_gain) for i, c in enumerate(captures)]
        total, frame_ns = sum(p.total for p in parts), float(sum(p.capture.frame_ns for p in parts))
        items = todo(parts, self.cause_index)
        kept = ranking.significant(items, min_gain, frame_ns)[:top]
        first = ranking.of_items(parts, kept)
        known = set(first)
        rest = [k for k in ranking.by_saving(parts, self._confidence, self._id_order) if k not in known]
        if top is None:
            order = [*first, *rest][: min(listed, DEFAULT_LISTED if total > LIST_ALL_UP_TO else LIST_ALL_UP_TO)]
        else:
            order = [*first, *rest[: top - len(kept)]]
        least = as_written(min_gain, "ratio").replace(" ", "")
        chosen = [f"--min-gain {least}"] * (min_gain > 0) + [f"--top {top}"] * (top is not None)
        notes = _repeats(captures) + _left_out(items, kept, total - len(order), total, chosen)
        return Diagnosis(
            parts,
            self.book,
            self.method,
            self.workload,
            self.frame,
            self.cause_index,
            items,
            kept,
            order,
            total,
            top,
            notes,
        )

    def _part(self, capture: Capture, number: int, limit: int, min_gain: float) -> Part:
        n = len(capture)
        np.empty(HEAP_BYTES, np.uint8)  # and freed: up to that size, glibc now reuses memory instead of mapping it anew
        ledger = Ledger(limit, min_gain, capture.frame_ns, self._confidence, self._id_order, untimed(capture))
        band, limiter, verdict = np.zeros(n, np.int8), np.zeros(n, np.int8), np.zeros(n, np.int8)
        every, leaders, known = View(capture), Leaders.none(n), None
        few = n <= min(KEEP_FACTS_UP_TO, BLOCK)
        candidates = None if few else Candidates(self.workload, every)
        minor = minor_passes(capture)
        block = min(BLOCK, max(MIN_BLOCK_WORKLOADS, n // MIN_BLOCKS))
        for start in range(0, n, block):
            rows = slice(start, min(start + block, n))
            view = every if few else every.part(rows)
            limits = judge(view)
            band[rows], limiter[rows] = limits.band, limits.limiter
            # of few workloads all outcomes are reported, which takes the three-valued truth
            where = infer(view, self.workload).fired if candidates is None else fire(view, candidates)
            if minor.any():
                where = {rule: fired & ~minor[rows] for rule, fired in where.items()}
            fired = self._gains(where, view, capture.self_ns[rows], ledger, start)
            found = self.cause_index.table(view, fired, self.method)
            leaders.put(rows, self.cause_index.lead(found, view.size))
            verdict[rows] = verdicts(view, limits, leaders, self.cause_index, rows)
            known = found if view is every else None
        claims: dict[int, Masks] = {}
        led = np.flatnonzero((limiter == 0) & (leaders.cause >= 0))
        assumed = self.cause_index.limiter[leaders.cause[led]]
        if without_units(capture):  # launch shapes tell whether a grid is small, and nothing of any unit
            assumed = np.where(assumed == code("small-grid"), assumed, code("unknown"))
        limiter[led] = assumed
        time = np.nan_to_num(capture.self_ns)
        over = frame_captures(capture, limiter, (leaders.likely * time, leaders.rule), self.book)
        wholes = self._wholes(capture, over, leaders, ledger)
        whole = wholes[-1].causes
        if capture.timeline is not None or without_units(capture) or (whole.rows and (capture.kinds == "copy").any()):
            from triage.capture.timeline.targets import next_step
            from triage.diagnosis.claimed_kernels import settle, unclaimed  # only traces and summaries need it

            claims = settle(verdict, capture, whole, self.cause_index, self.book, leaders)
            if (trace := capture.table.trace) is not None and trace.command is not None:
                # counters of a kernel that an item explains come after the item
                capture.collect = next_step(trace, unclaimed(verdict, capture, leaders, claims)) or (
                    lambda _metrics: ""
                )
        # counters of a range that holds others are of all of it: they say nothing of the little between those
        between = ~capture.leaf & (time < OWN_SHARE * np.nan_to_num(capture.duration_ns)) & (leaders.cause < 0)
        limiter[between], verdict[between & (verdict == AT_LIMIT)] = code("unknown"), NOT_DIAGNOSED
        for w in [w for w, one in wholes.items() if w >= 0 and one.root >= 0 and leaders.cause[w] < 0]:
            verdict[w] = self._to_fix(wholes[w].causes, wholes[w].root)
        spans = self._spans(capture, whole)
        for cause, mine in spans.items():
            verdict[mine & np.isin(verdict, (NOT_DIAGNOSED, AT_LIMIT))] = self._to_fix(whole, cause)
        firings, rules = ledger.firings(), frozenset(ledger.counts)
        return Part(
            capture,
            number,
            firings,
            limiter,
            band,
            verdict,
            leaders,
            ledger.total,
            wholes,
            every,
            known,
            rules,
            claims,
            spans,
        )

    def _to_fix(self, causes: CauseTable, cause: int) -> int:
        return SUSPECT if self.cause_index.is_suspect[causes.rows[cause].rule[0]] else FIX

    def _spans(self, capture: Capture, whole: CauseTable) -> dict[int, Masks]:
        """Cause of the whole capture that rests on passes in a row -> these passes."""
        causes = [c for c, row in whole.rows.items() if MERGED in self.book.rules[row.rule[0]].needs and row.root()[0]]
        return {c: runs(capture)[0] for c in causes}

    def _wholes(
        self, capture: Capture, of: Mapping[int, Capture], leaders: Leaders, ledger: Ledger
    ) -> dict[int, Whole]:
        """Frame rules on the capture (-1) and on its markers.

        What a marker fulfils by itself is its own finding, unless ranges within it have that cause as theirs.
        """
        rows = {p.marker: p.rows for p in capture.passes}
        fired = {w: infer(View(c), self.frame).fired if self.frame else {} for w, c in of.items()}
        for w in fired.keys() - {-1}:
            within = set(leaders.cause[rows.get(w, [w])].tolist())
            fired[w] = {r: m for r, m in fired[w].items() if m.any() and self.cause_index.of_rule[r] not in within}
        own = {rule for w, rules in fired.items() if w >= 0 for rule in rules}
        fired[-1] = {rule: mask for rule, mask in fired[-1].items() if rule not in own}
        out = {}
        for w, c in of.items():
            view = View(c)
            gains = self._gains(fired[w], view, np.array([capture.frame_ns]), ledger, w)
            out[w] = Whole(c, self.cause_index.table(view, gains, self.method))
        return out

    def _gains(
        self, fired: Mapping[int, Masks], view: View, self_ns: Floats, ledger: Ledger, offset: int
    ) -> list[Fired]:
        """Return the firings of one block with their savings, and enter them into the ledger."""
        out = []
        for index in sorted(fired):
            rule = self.book.rules[index]
            if rule.is_concept:
                continue
            where = np.flatnonzero(fired[index])
            if len(where):
                gains = fractions(rule, Lookup(rule, view, self.method), where)
                ledger.add(index, where + offset, gains, self_ns[where])
                out.append((index, where, gains))
        return out


def _repeats(captures: Sequence[Capture]) -> list[str]:
    """A note where captures hold the same names and times, as exports of one run do."""
    timed = [(c.self_ns.tobytes(), *c.names[:1000]) for c in captures if c.frame_ns > 0 and len(captures) > 1]
    again = len(timed) - len(set(timed))
    of = plural(len(captures), "capture")
    return [f"{again} of {of} repeat the names and times of another: exports of one run count double"] if again else []


def _left_out(items: Sequence[Item], kept: Sequence[Item], fewer: int, total: int, chosen: Sequence[str]) -> list[str]:
    """A note on what reports leave out; the engine is named on stderr only: the result is the same."""
    if not fewer and len(kept) == len(items):
        return []
    findings = f"{fewer:,} of {plural(total, 'finding')} not listed"
    if not chosen:
        return [f"{findings}; --top N lists more"]
    left = [i for i in items if i not in kept]
    if not left:
        return [f"{findings}: {' '.join(chosen)}"]
    ns = float(np.nansum([i.saved_ns for i in left]))
    saved = f" ({show(ns, 'ns')})" if ns else ""
    return [f"{len(left):,} of {plural(len(items), 'item')}{saved} and {findings}: {' '.join(chosen)}"]
