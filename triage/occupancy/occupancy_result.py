"""What a question about occupancy is answered with: one launch, or arrays of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from triage.occupancy import notes as remarks
from triage.occupancy import steps as sweeps
from triage.occupancy import waste
from triage.occupancy.core import LIMITERS, UNLIMITED, Bits, Ints, Numbers
from triage.occupancy.model import Launch, Model
from triage.occupancy.steps import Plateau, Step
from triage.occupancy.waste import Waste


class Occupancy(Struct, frozen=True, dict=True):
    """Theoretical occupancy of one launch.

    `groups` (blocks) and `waves` (warps) are resident per `unit`: SM, CU, or WGP in that mode;
    `occupancy` is waves over wave slots, 0 to 1. `limits` gives each limiter's own maximum of
    groups (inf: it never limits), `limiters` the binding ones. `sgprs` and `barriers` appear where
    the hardware has such a limit and the launch gives the number.
    """

    model: Model
    launch: Launch
    groups: int
    waves: int
    occupancy: float
    limiters: tuple[str, ...]
    limits: dict[str, float]
    waves_per_group: int
    asked: str = ""

    @property
    def arch(self) -> str:
        """Canonical name of the architecture ("sm_86", "gfx90a")."""
        return self.model.limits.arch

    @property
    def unit(self) -> str:
        """What `groups` and `waves` are per: SM, CU or WGP."""
        return self.model.unit

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Nearest changes that raise ("up") or lower ("down") occupancy, per resource."""
        return sweeps.nearest(self.model, self.launch, self.groups)

    def step(self, resource: str, direction: str = "up") -> Step | None:
        """The nearest step of one resource, None when no value of it changes the answer so."""
        for step in self.steps:
            if step.resource == resource and step.direction == direction:
                return step
        return None

    @property
    def best_step(self) -> Step | None:
        """The smallest change that helps: of one limiting resource, else of several together."""
        # Another group size changes the program, so it is shown as a step but never as the smallest change.
        ups = [step for step in self.steps if step.direction == "up" and step.resource != "threads"]
        return min(ups, key=lambda step: (len(step.changes), step.effort), default=None)

    @cached_property
    def wasted(self) -> dict[str, Waste]:
        """What stays unused: `registers`, `shared` (bytes), `waves` (slots), `lanes` (per group)."""
        return waste.account(self.model, self.launch, self.groups, self.waves_per_group)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Where sources disagree about this very answer, and what it takes for granted."""
        return remarks.disagreements(self.model, self.launch, self.groups, self.limiters, self.asked)

    @cached_property
    def why(self) -> str:
        """Why the launch cannot run; empty when it can."""
        return "" if self.groups else remarks.refusal(self.model, self.launch, self.limits)

    def plateaus(self, resource: str) -> tuple[Plateau, ...]:
        """Ranges of `resource` with the same answer, all else unchanged, in rising order."""
        return sweeps.plateaus(self.model, self.launch, resource)

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON; a limiter that never limits is null."""
        model, launch = self.model, self.launch
        return {
            "arch": self.arch,
            "unit": self.unit,
            "wave_size": model.wave_size,
            "launch": {
                "threads": launch.threads,
                "registers": launch.registers,
                "shared": launch.shared,
                "sgprs": launch.sgprs,
                "agprs": launch.agprs,
                "barriers": launch.barriers,
            },
            "groups": self.groups,
            "waves": self.waves,
            "waves_per_group": self.waves_per_group,
            "max_waves": model.slots,
            "occupancy": self.occupancy,
            "limiters": list(self.limiters),
            "limits": {name: None if math.isinf(most) else int(most) for name, most in self.limits.items()},
            "wasted": {name: item.to_dict() for name, item in self.wasted.items()},
            "steps": [step.to_dict() for step in self.steps],
            "notes": list(self.notes),
            "why": self.why,
        }


class OccupancyArray(Struct, frozen=True, dict=True):
    """Theoretical occupancy of many launches; every array has the broadcast shape of the arguments.

    `groups` (int32) are resident per unit; bit i of `binding` is set where LIMITERS[i] binds.
    Everything else is worked out when asked for; `at(index)` gives one launch with steps and notes.
    """

    model: Model
    arguments: Mapping[str, int | Numbers]
    groups: Ints
    binding: Bits

    @cached_property
    def waves(self) -> Ints:
        """Resident warps or waves per unit."""
        threads = np.asarray(self.arguments["threads"]).astype(np.int64)  # may come unsigned
        # A group too wide for the machine has 0 groups; its waves are cut so that the product stays within int32.
        per_group = np.minimum(-(-threads // self.model.wave_size), self.model.slots)
        waves: Ints = self.groups * per_group.astype(np.int32)
        return waves

    @cached_property
    def occupancy(self) -> NDArray[np.float64]:
        """Waves over wave slots, 0 to 1."""
        return self.waves / self.model.slots

    @cached_property
    def limits(self) -> dict[str, Ints]:
        """Each limiter's own maximum of groups; UNLIMITED where it never limits."""
        return self.model.run(**self.arguments).limits

    @cached_property
    def limiters(self) -> dict[str, NDArray[np.bool_]]:
        """Per limiter, where it binds."""
        return {name: (self.binding & (1 << bit)) != 0 for bit, name in enumerate(LIMITERS)}

    def at(self, index: int | tuple[int, ...]) -> Occupancy:
        """The full answer for one element."""
        shape = self.groups.shape
        # Arguments broadcast: a scalar or a row of the grid stands for all elements.
        values = {
            name: int(np.broadcast_to(np.asarray(value), shape)[index])
            for name, value in self.arguments.items()
            if value is not None
        }
        return single(self.model, Launch(**values))


def single(model: Model, launch: Launch, asked: str = "") -> Occupancy:
    """Evaluate one launch; `asked` is the architecture as the user spelled it, for the notes."""
    core = model.run(**sweeps.arguments(launch))
    groups, waves = int(core.groups), int(core.waves)
    bits = int(core.binding)
    limits = {name: int(limit) for name, limit in core.limits.items()}
    return Occupancy(
        model=model,
        launch=launch,
        groups=groups,
        waves=groups * waves,
        occupancy=groups * waves / model.slots,
        limiters=tuple(name for i, name in enumerate(LIMITERS) if bits >> i & 1),
        limits={name: math.inf if limit == UNLIMITED else limit for name, limit in limits.items()},
        waves_per_group=waves,
        asked=asked,
    )
