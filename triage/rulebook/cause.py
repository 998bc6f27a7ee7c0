"""The noun Cause and its parts: one thing that can be wrong, what it explains, and what fixes it."""

from __future__ import annotations

from msgspec import Struct

from triage.ground.limiters import CLASSES
from triage.rulebook.expression import Condition
from triage.rulebook.rule import Advice, Cite

VERDICT = "verdict"
# family -> limiter class of a workload whose units do not tell it, "" where each cause states its own. Overdraw and its
# like may fill any unit.
FAMILIES = {
    "host": "cpu", "launch": "", "occupancy": "latency", "latency": "latency", "compute": "compute", "memory": "memory",
    "graphics": "", VERDICT: "",
}  # fmt: skip


class Explains(Struct, frozen=True):
    """Another cause that this one brings about; only where `when` holds, if it is given."""

    cause: str
    when: Condition | None = None


class Confused(Struct, frozen=True):
    """A cause that looks alike, and the metric that distinguishes the two."""

    cause: str
    by: str
    how: str


class Cause(Struct, frozen=True):
    """One thing that can be wrong. family: one of FAMILIES; causes of family `verdict` are states, never things to do.

    limits: the limiter class that it implies, "" for that of its family. reserved: why no rule names it yet. work: the
    one kind of work in which it occurs, "" for any. place: the metric whose instructions are where it is, "" for the first
    of its evidence. is_catch_all: a symptom that nearly every cause brings about; reported alone, or not at all.
    unit: of ground.gpu_units.UNITS, which it says is busy: only rules that lower that unit's demand bring it about; "" for most.
    is_once: its time passes once per run, and is in no sum of recoverable time. namesake: its title names its limiter class, too.
    banner: a line on its workloads above the list, whatever leads it; "" for most.
    """

    id: str
    family: str
    title: str
    meaning: str
    explains: tuple[Explains, ...]
    decides: tuple[str, ...]
    confused_with: tuple[Confused, ...]
    advice: tuple[Advice, ...]
    cites: tuple[Cite, ...]
    file: str = ""
    limits: str = ""
    reserved: str = ""
    work: str = ""
    place: str = ""
    unit: str = ""
    is_catch_all: bool = False
    is_once: bool = False
    namesake: bool = False
    banner: str = ""

    @property
    def limiter(self) -> str:
        """Limiter class of a workload with this root cause, where no unit decides; "unknown" where nothing implies one."""
        return self.limits or FAMILIES[self.family] or CLASSES[0]

    @property
    def is_drawn(self) -> bool:
        """True if it occurs only where something is drawn."""
        return self.family == "graphics" or self.work == "graphics"

    @property
    def is_verdict(self) -> bool:
        """A state of the workload (finished, or nothing busy), never something to do."""
        return self.family == VERDICT

    def __repr__(self) -> str:
        return f"<Cause {self.id}: {self.title[:80]}>"
