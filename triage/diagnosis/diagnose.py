"""Capture(s) + Rulebook -> Diagnosis: inference in blocks, gains, total order, and details for what is shown.

The first pass walks all workloads in cache-sized blocks and keeps arrays only: which rule fired where, what it would
save. Objects (findings, evidence, blind spots) are made afterwards, for the workloads that are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from triage import __version__
from triage.capture.capture import Capture
from triage.derive import View
from triage.diagnosis.findings import Finding, findings
from triage.diagnosis.firings import Firings, Ledger
from triage.diagnosis.frame_facts import frame_capture
from triage.diagnosis.gain import fractions
from triage.diagnosis.limiter import judge
from triage.diagnosis.outcomes import Details
from triage.inference.engine import Engine
from triage.inference.evaluate import Constants, Lookup, infer
from triage.inference.groups import compile_program
from triage.rulebook.packs import Rulebook
from triage.rulebook.rule import CONFIDENCE, UMBRELLA

BLOCK = 50_000  # a few columns of one block fit the cache
HEAP = 31 << 20  # bytes; without it a million workloads fault in 90,000 pages, with it 20,000
ALL, LISTED = (
    5_000,
    1_000,
)  # without --top: up to ALL findings are all listed, of more the LISTED best; the rest is counted


@dataclass(slots=True)
class Part:
    """One capture's share of a diagnosis. limiter, band: codes per workload; recoverable: low, likely, bound in ns."""

    capture: Capture
    number: int
    firings: Firings
    limiter: Any
    band: Any
    recoverable: tuple[float, ...]
    fired_per_rule: dict[int, int]
    total: int
    frame: Capture
    best: Any

    def workload_id(self, i: int, many: bool) -> str:
        """`w7`, or `2:w7` when several captures are diagnosed together; `frame` for the whole capture."""
        name = "frame" if i < 0 else f"w{i + 1}"
        return f"{self.number + 1}:{name}" if many else name


@dataclass
class Diagnosis:
    """What triage found. Iterate `findings`; `to_frame()` for pandas; render with triage.render."""

    parts: list[Part]
    book: Rulebook
    method: str
    engine: str
    inference: Engine  # kept for its signatures: details infer the shown workloads again
    order: list[tuple[int, int]]  # (part, position in its firings), best first
    total: int  # findings before --top and --min-gain
    top: int | None
    notes: list[str] = field(default_factory=list)
    version: str = __version__

    @cached_property
    def details(self) -> list[Details]:
        """Per part: outcomes, blind spots and origins of the workloads that are shown."""
        return [Details(self, part) for part in self.parts]

    @cached_property
    def findings(self) -> list[Finding]:
        """Finding objects in rank order."""
        return findings(self)

    @property
    def many(self) -> bool:
        """Are several captures diagnosed together?"""
        return len(self.parts) > 1

    def shown(self, part: int) -> Any:
        """Workload indices of a part that a report lists: all, or with --top those its findings concern."""
        n = len(self.parts[part].capture)
        if self.top is None:
            return np.arange(n)
        return np.array(sorted(w for w in self.concerned(part) if w >= 0), dtype=np.int64)

    def concerned(self, part: int) -> set[int]:
        """Workload indices of a part that a listed finding is about."""
        firings = self.parts[part].firings
        return {int(firings.workload[k]) for p, k in self.order if p == part}

    @property
    def frame_ns(self) -> float:
        """Time of all captures together."""
        return float(sum(p.capture.frame_ns for p in self.parts))

    @property
    def recoverable_ns(self) -> tuple[float, float, float]:
        """Sum over workloads of the best single finding: (low, likely, bound)."""
        sums = np.sum([p.recoverable for p in self.parts], axis=0) if self.parts else np.zeros(3)
        return float(sums[0]), float(sums[1]), float(sums[2])

    def to_frame(self) -> Any:
        """One row per finding, as a pandas DataFrame."""
        import pandas as pd

        from triage.document.document import finding_rows

        header, rows = finding_rows(self)
        return pd.DataFrame(list(rows), columns=header)

    def to_dict(self) -> dict[str, Any]:
        """The JSON result (schema triage/1) as plain data."""
        from triage.document.document import document

        return document(self)

    def _repr_html_(self) -> str:
        from triage.rendering.formats import notebook

        return notebook(self)


class Diagnostician:
    """Rules compiled once, ready for many captures; engines remember their signatures between captures."""

    def __init__(self, book: Rulebook, method: str = "v2", engine: str = "") -> None:
        self.book, self.method = book, method
        self.workload = Engine(compile_program(book, method, "workload"), engine)
        frame_program = compile_program(book, method, "frame")
        self.frame = Engine(frame_program, engine) if frame_program.groups else None
        self._id_order = np.argsort(np.argsort([r.id for r in book.rules]))
        self._confidence = np.array([CONFIDENCE[r.gain.confidence] if r.gain else 0.5 for r in book.rules] or [0.5])

    def diagnose(self, captures: Sequence[Capture], top: int | None = None, min_gain: float = 0.0) -> Diagnosis:
        """Diagnose captures together. top: best findings to keep. min_gain: least share of the frame (0-1) to show."""
        limit = top if top is not None else ALL
        parts = [self._part(c, i, limit, min_gain) for i, c in enumerate(captures)]
        keys: list[tuple[float, float, str, int, int, int]] = []
        for p, part in enumerate(parts):
            f = part.firings
            rank = f.rank
            keys += [
                (
                    -float(rank[k]),
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
        listed = LISTED if top is None and total > ALL else limit
        order = [(key[3], key[5]) for key in keys[:listed]]
        notes = []  # which engine inferred is said on stderr: the result is the same
        if total > len(order):
            notes.append(
                f"{total - len(order)} of {total} findings are not listed"
                + ("" if top is not None else "; --top N lists more")
            )
        return Diagnosis(
            parts, self.book, self.method, self.workload.backend.name, self.workload, order, total, top, notes
        )

    def _part(self, capture: Capture, number: int, limit: int, min_gain: float) -> Part:
        n = len(capture)
        np.empty(HEAP, np.uint8)  # and freed: up to that size, glibc now reuses memory instead of mapping it anew
        ledger = Ledger(n, limit, min_gain, capture.frame_ns, self._confidence, self._id_order)
        band, limiter = np.zeros(n, np.int8), np.zeros(n, np.int8)
        constants = Constants(capture)
        for start in range(0, n, BLOCK):
            rows = slice(start, min(start + BLOCK, n))
            view = View(capture, rows)
            verdict = judge(view)
            band[rows], limiter[rows] = verdict.band, verdict.limiter
            self._fire(view, self.workload, capture.self_ns[rows], ledger, start, constants)
        time = np.nan_to_num(capture.self_ns)
        ledger.best *= time
        whole = frame_capture(capture, limiter, (ledger.lead[0] * time, ledger.lead[1]), self.book)
        if self.frame:
            self._fire(View(whole), self.frame, np.array([capture.frame_ns]), ledger, -1, Constants(whole))
        sums = tuple(float(row.sum()) for row in ledger.best)
        return Part(
            capture, number, ledger.firings(), limiter, band, sums, ledger.counts, ledger.total, whole, ledger.best[1]
        )

    def _fire(
        self, view: View, engine: Engine, self_ns: Any, ledger: Ledger, offset: int, constants: Constants
    ) -> None:
        """Infer one block and enter its firings, with their gains, into the ledger."""
        truth = infer(view, engine, constants)
        for index in sorted(truth.fired):
            rule = self.book.rules[index]
            if rule.is_concept:
                continue
            where = np.flatnonzero(truth.fired[index])
            if len(where):
                gains = fractions(rule, Lookup(rule, view, self.method), where)
                ledger.add(index, where + offset, gains, self_ns[where], umbrella=rule.name in UMBRELLA)


def diagnose(
    captures: Sequence[Capture] | Capture,
    book: Rulebook,
    *,
    method: str = "v2",
    engine: str = "",
    top: int | None = None,
    min_gain: float = 0.0,
) -> Diagnosis:
    """One-shot form of Diagnostician."""
    found = [captures] if isinstance(captures, Capture) else list(captures)
    return Diagnostician(book, method, engine).diagnose(found, top, min_gain)
