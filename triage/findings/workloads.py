"""The `workloads` of the result: columns prepared once per capture, one entry per shown workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

from triage.diagnosis.diagnosis_result import Diagnosis
from triage.diagnosis.outcomes import Outcomes
from triage.document.bundle import Workloads
from triage.document.entries import WorkloadEntry
from triage.findings.cause_chains import Causes
from triage.findings.finding_types import Finding
from triage.findings.workload_columns import Columns

CHUNK_ENTRIES = (
    100  # entries made ready at once: of a thousand, what was made first has left the cache when it is written
)


class ShownWorkloads(Workloads):
    """The shown workloads in capture order, entries made on access: a million are never in memory at once."""

    def __init__(self, d: Diagnosis, outcomes: Sequence[Outcomes], found: Sequence[Finding], causes: Causes) -> None:
        self._d, self._outcomes, self._causes = d, outcomes, causes
        self._best: dict[tuple[int, int], Finding] = {}
        for f in found:  # findings come best first
            self._best.setdefault((f.part, f.workload), f)

    def __len__(self) -> int:
        return sum(len(o.rows) for o in self._outcomes)

    def __iter__(self) -> Iterator[WorkloadEntry]:
        for c in self.columns:
            for start in range(0, len(c), CHUNK_ENTRIES):
                yield from c.entries(slice(start, start + CHUNK_ENTRIES))

    @overload
    def __getitem__(self, i: int) -> WorkloadEntry: ...
    @overload
    def __getitem__(self, i: slice) -> list[WorkloadEntry]: ...
    def __getitem__(self, i: int | slice) -> WorkloadEntry | list[WorkloadEntry]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        if i < 0:
            i += len(self)
        for c in self.columns:
            if 0 <= i < len(c):
                return next(c.entries(slice(i, i + 1)))
            i -= len(c)
        raise IndexError(i)

    @cached_property
    def columns(self) -> list[Columns]:
        """Columns per capture."""
        return [Columns(self._d, p, o, self._best, self._causes) for p, o in enumerate(self._outcomes)]

    def field(self, name: str) -> list[Any]:
        """One field of all entries, without making them."""
        return [value for c in self.columns for value in c.field(name)]
