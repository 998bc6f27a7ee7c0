"""Captures + Rulebook -> Diagnosis: inference in blocks, gains, total order.

One pass over all workloads in cache-sized blocks keeps arrays only: which rule fired where, what it would save.
Objects (findings, evidence, blind spots) are made afterwards, from the result, for the workloads that are shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triage.capture.arrays import Floats, Masks
from triage.capture.capture import Capture
from triage.derive import View
from triage.diagnosis.firings import Ledger, timeless
from triage.diagnosis.frame_facts import frame_capture
from triage.diagnosis.gain import fractions
from triage.diagnosis.judged import Diagnosis, Part
from triage.diagnosis.limiter import judge
from triage.diagnosis.roots import Fired, Leaders, Vocabulary
from triage.diagnosis.todo import todo
from triage.ground.limiters import CONFIDENCE
from triage.ground.method import LATEST
from triage.inference.engine import Engine
from triage.inference.evaluate import Lookup
from triage.inference.firing import Candidates, fire
from triage.inference.groups import compile_program
from triage.rulebook.packs import Rulebook

BLOCK = 50_000  # a few columns of one block fit the cache
HEAP = 31 << 20  # bytes; without it a million workloads fault in 90,000 pages, with it 20,000
ALL, LISTED = 5_000, 1_000  # without --top: up to ALL findings are all listed, of more the LISTED best


class Diagnostician:
    """Rules compiled once, ready for many captures; engines remember their signatures between captures."""

    def __init__(self, book: Rulebook, method: str = LATEST, engine: str = "") -> None:
        self.book, self.method = book, method
        self.vocabulary = Vocabulary(book)
        self.workload = Engine(compile_program(book, method, "workload"), engine)
        frame_program = compile_program(book, method, "frame")
        self.frame = Engine(frame_program, engine) if frame_program.groups else None
        self._id_order = np.argsort(np.argsort([r.id for r in book.rules]))
        self._confidence = np.array([CONFIDENCE[r.gain.confidence] if r.gain else 0.5 for r in book.rules] or [0.5])

    def diagnose(
        self, captures: Sequence[Capture], top: int | None = None, min_gain: float = 0.0, listed: int = ALL
    ) -> Diagnosis:
        """Diagnose captures together. top: best findings to keep. min_gain: least share of the frame (0-1) to show.

        listed: best findings to list where no top is said; workloads, sums and the to-do list stay whole.
        """
        limit = top if top is not None else ALL
        parts = [self._part(c, i, limit, min_gain) for i, c in enumerate(captures)]
        keys: list[tuple[float, bool, float, str, int, int, int]] = []
        for p, part in enumerate(parts):
            f = part.firings
            rank, last = f.rank, timeless(f.workload, _untimed(part.capture))
            keys += [
                (
                    -float(rank[k]),
                    bool(last[k]),
                    -float(self._confidence[f.rule[k]]),
                    self.book.rules[int(f.rule[k])].id,
                    p,
                    int(f.workload[k]),
                    k,
                )
                for k in range(len(f))
            ]
        keys.sort()
        total = sum(p.total for p in parts)
        few = limit if top is not None else min(listed, LISTED if total > ALL else ALL)
        order = [(key[4], key[6]) for key in keys[:few]]
        notes = []  # which engine inferred is said on stderr: the result is the same
        if total > len(order):
            notes.append(
                f"{total - len(order)} of {total} findings are not listed"
                + ("" if top is not None else "; --top N lists more")
            )
        items = todo(parts, self.vocabulary)
        return Diagnosis(
            parts, self.book, self.method, self.workload, self.frame, self.vocabulary, items, order, total, top, notes
        )

    def _part(self, capture: Capture, number: int, limit: int, min_gain: float) -> Part:
        n = len(capture)
        np.empty(HEAP, np.uint8)  # and freed: up to that size, glibc now reuses memory instead of mapping it anew
        ledger = Ledger(limit, min_gain, capture.frame_ns, self._confidence, self._id_order, _untimed(capture))
        band, limiter = np.zeros(n, np.int8), np.zeros(n, np.int8)
        every, leaders = View(capture), Leaders.none(n)
        candidates = Candidates(self.workload, every)
        for start in range(0, n, BLOCK):
            rows = slice(start, min(start + BLOCK, n))
            view = every.part(rows)
            limits = judge(view)
            band[rows], limiter[rows] = limits.band, limits.limiter
            fired = self._fire(view, candidates, capture.self_ns[rows], ledger, start)
            leaders.put(rows, self.vocabulary.lead(self.vocabulary.known(view, fired), view.size))
        time = np.nan_to_num(capture.self_ns)
        frame = frame_capture(capture, limiter, (leaders.likely * time, leaders.rule), self.book)
        view, fired = View(frame), []
        if self.frame:
            fired = self._fire(view, Candidates(self.frame, view), np.array([capture.frame_ns]), ledger, -1)
        whole = self.vocabulary.known(view, fired)
        return Part(capture, number, ledger.firings(), limiter, band, leaders, ledger.total, frame, whole)

    def _fire(self, view: View, candidates: Candidates, self_ns: Floats, ledger: Ledger, offset: int) -> list[Fired]:
        """Infer one block; its firings, with their gains, which are entered into the ledger too."""
        fired, out = fire(view, candidates), []
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


def _untimed(capture: Capture) -> Masks | None:
    """Workloads without a time, where the capture has times."""
    return np.isnan(capture.self_ns) if capture.frame_ns > 0 else None


def diagnose(
    captures: Sequence[Capture] | Capture,
    book: Rulebook,
    *,
    method: str = LATEST,
    engine: str = "",
    top: int | None = None,
    min_gain: float = 0.0,
) -> Diagnosis:
    """One-shot form of Diagnostician."""
    found = [captures] if isinstance(captures, Capture) else list(captures)
    return Diagnostician(book, method, engine).diagnose(found, top, min_gain)
