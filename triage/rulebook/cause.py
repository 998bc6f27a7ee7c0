"""The noun Cause and its parts: one kind of illness, what it explains, and what cures it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from triage.rulebook.expression import Condition
from triage.rulebook.rule import Cite

VERDICT = "verdict"
FAMILIES = ("host", "launch", "occupancy", "latency", "compute", "memory", "graphics", VERDICT)
# facts that choose advice; a capture has one word of each, or none where nothing tells
FACTS = {
    "work": ("graphics", "compute"),
    "vendor": ("nvidia", "amd", "intel", "apple", "arm", "qualcomm"),
    "api": ("cuda", "hip", "sycl", "opencl", "d3d11", "d3d12", "vulkan", "opengl", "metal"),
}


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
    """One thing to do. where: fact -> words of FACTS under which it applies; since: first architecture that has it."""

    text: str
    where: Mapping[str, tuple[str, ...]]
    since: str = ""


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
