"""The noun Cause and its parts: one kind of illness, what it explains, and what cures it."""

from __future__ import annotations

from dataclasses import dataclass

from triage.rulebook.applies import Applies
from triage.rulebook.expression import Condition
from triage.rulebook.rule import Cite

VERDICT = "verdict"
FAMILIES = ("host", "launch", "occupancy", "latency", "compute", "memory", "graphics", VERDICT)


@dataclass(frozen=True, slots=True)
class Explains:
    """Another cause that this one brings about; only where `when` holds, if it is given."""

    cause: str
    when: Condition | None = None


@dataclass(frozen=True, slots=True)
class Confused:
    """A cause that looks alike, and the metric that tells the two apart."""

    cause: str
    by: str
    how: str


@dataclass(frozen=True, slots=True)
class Cure:
    """One thing to do, and where: shown only where a capture tells all of these facts."""

    text: str
    where: Applies


@dataclass(frozen=True, slots=True)
class Cause:
    """One kind of illness. family: one of FAMILIES; causes of family `verdict` are states, never things to do."""

    id: str
    family: str
    title: str
    meaning: str
    explains: tuple[Explains, ...]
    decides: tuple[str, ...]
    confused_with: tuple[Confused, ...]
    advice: tuple[Cure, ...]
    cites: tuple[Cite, ...]
    file: str = ""

    @property
    def is_verdict(self) -> bool:
        """A state of the workload (finished, or nothing busy), never something to do."""
        return self.family == VERDICT

    def __repr__(self) -> str:
        return f"<Cause {self.id}: {self.title[:80]}>"
