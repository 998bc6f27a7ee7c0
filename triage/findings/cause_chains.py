"""Cause chains: which cause explains which finding, and each workload's causes from its root on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from triage import schema
from triage.diagnosis.diagnosis_result import Diagnosis, Item, Part
from triage.diagnosis.outcomes import Outcomes
from triage.diagnosis.root_causes import CauseTable
from triage.document.entries import LinkEntry
from triage.findings.evidence import bare_origin, holding_checks
from triage.findings.finding_types import Check, Finding
from triage.ground.terminology import localize
from triage.inference.evaluate import Lookup
from triage.rulebook.rule import Rule


class Causes:
    """Causes and their effects on the workloads with findings. outcomes: one per part, of the shown workloads.

    roots: of `Part`. place: per part, the position of each of these workloads in its cause table.
    """

    def __init__(self, d: Diagnosis, outcomes: Sequence[Outcomes], places: Iterable[tuple[int, int]]) -> None:
        """places: (part, workload) of the listed findings and of the worst workloads of the to-do items."""
        self.d, self.names = d, d.cause_index.names
        self.code = {name: i for i, name in enumerate(self.names)}
        self.roots = [part.roots for part in d.parts]
        self.place: list[dict[int, int]] = []
        self._among: list[Outcomes] = []
        wanted = set(places)
        for part, shown in zip(d.parts, outcomes, strict=True):
            rows = sorted(w for p, w in wanted if p == part.number and w >= 0)
            self.place.append({w: w if part.few else i for i, w in enumerate(rows)})
            same = part.few or rows == shown.rows.tolist()
            self._among.append(shown if same else Outcomes(d, part, np.array(rows, dtype=np.int64)))

    def _known(self, part: int) -> CauseTable:
        return self.d.parts[part].known or self._among[part].causes

    def explanation(self, part: Part, workload: int, rule: Rule) -> tuple[bool, str | None]:
        """(is the cause of a rule that fired on a workload a root cause, the cause that explains it); -1 is the whole capture."""
        code, whole = self.code[rule.cause], rule.scope == "frame"
        known = part.wholes[workload].causes if whole else self._known(part.number)
        row = known.rows.get(code)
        if row is None:
            return not self.d.cause_index.verdict[code], None
        i = 0 if whole else self.place[part.number][workload]
        at, by = slice(i, i + 1), int(row.by[i])
        # a frame has hundreds of passes: what is too little to be named is no root there
        leads = self.d.cause_index.may_lead(row, at, known.shares) if known.of_frame and not whole else row.root(at)
        return bool(leads[0]) and not self.d.cause_index.verdict[code], self.names[by] if by >= 0 else None

    def may_be_needed(self, part: Part, rule: int) -> bool:
        """Is a rule about a busy unit alone, in a frame? All of its work may be needed."""
        return bool(self.d.cause_index.is_limit[rule]) and self._known(part.number).of_frame

    def links(self, item: Item, f: Finding, found: Sequence[Finding]) -> list[LinkEntry]:
        """A line of causes of an item's worst workload, root first, each explained by the one before, with one number."""
        part, w = item.workloads[0]
        codes = [item.cause] if item.whole or w not in self.place[part] else self._line(part, w)
        best: dict[str, Finding] = {f.rule.cause: f}
        for x in found:  # findings come best first
            if (x.part, x.workload) == (part, w):
                best.setdefault(x.rule.cause, x)
        out: list[LinkEntry] = []
        names = [self.names[c] for c in codes]
        for name in names:
            if name != names[0] and self.d.book.cause(name).is_catch_all:
                continue
            # a yes or no is no number
            evidence = best[name].evidence if name in best else self._evidence(part, w, self.code[name])
            figure = next((e.figure for e in evidence if e.op != "is" and not _flag(e.metric)), "")
            out.append({"cause": name, "title": localize(self.d.book.cause(name).title), "number": figure})
        return out

    def _evidence(self, part: int, w: int, cause: int) -> list[Check]:
        """Evidence of a cause without a listed finding; cells are left out."""
        i, whole = self.place[part][w], self.d.parts[part]
        rule = self.d.book.rules[int(self._known(part).rows[cause].rule[i])]
        view = whole.view if whole.known else self._among[part].view

        return holding_checks(
            rule, self.d.method, Lookup(rule, view, self.d.method), i, lambda metric: bare_origin(view, metric, i)
        )

    def _line(self, part: int, w: int) -> list[int]:
        leader = int(self.d.parts[part].leaders.cause[w])
        return self._known(part).line(leader, self.place[part][w])

    def chain(self, part: int, w: int) -> list[str]:
        """Cause ids of a workload, its root first; consequences only where a finding is listed."""
        leader = int(self.roots[part][w])
        if w not in self.place[part] or self.d.parts[part].leaders.cause[w] < 0:
            return [self.names[leader]] if leader >= 0 else []
        return [self.names[c] for c in self._known(part).chain(leader, self.place[part][w])]


def _flag(metric: str) -> bool:
    """True if a metric is a flag, not a quantity."""
    return schema.known(metric) and schema.get(metric).is_flag
