"""Decision paths of all workloads: question by question over all, or the steps of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from triage.diagnosis.diagnosis_result import Diagnosis
from triage.diagnosis.outcomes import EXPLAINED, Outcomes
from triage.document.page_entries import StepEntry
from triage.findings.decision_path import Decisions
from triage.findings.guide import Guide


class Ways(Mapping[str, list[StepEntry]]):
    """Workload id -> steps, made on access.

    decisions: per capture, the questions of the tree over its shown workloads. guides: per capture, the further steps of
    kernels through NVIDIA's guide; left out for more than EXPLAINED workloads.
    """

    def __init__(self, d: Diagnosis, outcomes: Sequence[Outcomes]) -> None:
        self._outcomes = outcomes
        self.decisions = [Decisions(d, o) for o in outcomes]
        self.guides = [Guide(o) if len(o.rows) <= EXPLAINED else None for o in outcomes]

    def __getitem__(self, workload: str) -> list[StepEntry]:
        part, i = self._places[workload]
        return self.decisions[part].steps(i) + self.guided(part, i)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return sum(len(o.rows) for o in self._outcomes)

    def guided(self, part: int, i: int) -> list[StepEntry]:
        """Steps of the i-th workload of a capture through NVIDIA's guide; none for other work."""
        guide = self.guides[part]
        return guide.steps(i) if guide else []

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        return {o.ids[w]: (p, i) for p, o in enumerate(self._outcomes) for i, w in enumerate(o.rows.tolist())}
