"""What if: the nearest values of each resource at which the answer changes.

Every value a resource can take is evaluated at once, so a step is the true nearest one whatever the
rounding rules in between.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict
from numpy.typing import NDArray

from triage.devices import NvidiaLimits
from triage.occupancy.model import Launch, Model

Direction = Literal["up", "down"]
# Registers first: they are what most often limits, and what a compiler flag can change (P3, D1).
SWEPT = ("registers", "shared", "sgprs", "threads")
_LABELS = {"registers": "registers", "shared": "B shared", "sgprs": "SGPR", "threads": "threads"}


class Change(Struct, frozen=True):
    """One resource of a launch going from `before` to `after` (bytes for shared)."""

    resource: str
    before: int
    after: int
    label: str

    @property
    def text(self) -> str:
        """As in "40 -> 32 VGPR"."""
        return f"{self.before:,} -> {self.after:,} {self.label}"

    @property
    def words(self) -> str:
        """As in "VGPRs 40 -> 32"."""
        # the other labels are plurals, or a unit that has none
        return f"{self.label}{'s' if self.label in ('VGPR', 'SGPR') else ''} {self.before:,} -> {self.after:,}"


class Step(Struct, frozen=True):
    """A change and what it does: `groups` and `occupancy` before and after."""

    direction: Direction
    changes: tuple[Change, ...]
    groups: tuple[int, int]
    occupancy: tuple[float, float]
    noun: str = "group"

    @property
    def resource(self) -> str:
        """The resource that changes; several are joined by "+"."""
        return "+".join(change.resource for change in self.changes)

    @property
    def before(self) -> int:
        """Present value of the (first) resource."""
        return self.changes[0].before

    @property
    def after(self) -> int:
        """Value of the (first) resource at which the answer changes."""
        return self.changes[0].after

    @property
    def effort(self) -> float:
        """Relative size of the largest change, to tell small steps from big ones."""
        return max(abs(change.before - change.after) / max(change.before, 1) for change in self.changes)

    @property
    def text(self) -> str:
        """As in "40 -> 32 VGPR: 1 -> 2 groups, 40 % -> 80 %"."""
        changes = " and ".join(change.text for change in self.changes)
        before, after = (percent(share) for share in self.occupancy)
        return f"{changes}: {self.groups[0]} -> {self.groups[1]} {self.noun}s, {before} -> {after}"

    @property
    def words(self) -> str:
        """As in "VGPRs 40 -> 32: 2 groups fit instead of 1, occupancy 40 % -> 80 %"."""
        changes = " and ".join(change.words for change in self.changes)
        before, after = (percent(share) for share in self.occupancy)
        then = f"{self.groups[1]} {self.noun}{'s fit' if self.groups[1] != 1 else ' fits'}"
        return f"{changes}: {then} instead of {self.groups[0]}, occupancy {before} -> {after}"

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "resource": self.resource,
            "direction": self.direction,
            "changes": [
                {"resource": change.resource, "before": change.before, "after": change.after} for change in self.changes
            ],
            "groups": list(self.groups),
            "occupancy": list(self.occupancy),
            "text": self.text,
        }


class Plateau(Struct, frozen=True):
    """Values `low` to `high` of a resource that all give the same answer."""

    low: int
    high: int
    groups: int
    waves: int
    occupancy: float


def percent(share: float) -> str:
    """0.4 as "40 %", 0.625 as "62.5 %"."""
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def values(model: Model, resource: str) -> NDArray[np.int64]:
    """Every value of `resource` worth trying, in rising order: the last one before each change.

    Registers, scalar registers and threads (whole warps) are all tried; shared memory at the ends
    of its allocation granules, since nothing changes within one.
    """
    cap = model.cap(resource)
    if resource == "threads":
        return np.arange(model.wave_size, cap + 1, model.wave_size)
    if resource != "shared":
        return np.arange(1, cap + 1)
    if isinstance(model.limits, NvidiaLimits):
        # The reserve is part of what is rounded up, so the last useful byte lies that much before a granule's end.
        unit, reserved = model.limits.shared_unit, model.limits.shared_reserved
    else:
        unit, reserved = model.limits.lds_unit, 0
    ends = np.arange(unit, cap + reserved + unit, unit) - reserved
    inside = ends[(ends >= 0) & (ends <= cap)]
    return np.unique(np.concatenate([[0, cap], inside]))


def plateaus(model: Model, launch: Launch, resource: str) -> tuple[Plateau, ...]:
    """Ranges of `resource` with the same number of waves and groups, in rising order."""
    tried = values(model, resource)
    core = model.run(**{**asdict(launch), resource: tried})
    total = core.groups * core.waves
    # More threads per group can mean as many groups and yet more waves, so both decide where an answer ends.
    differs = (np.diff(core.groups) != 0) | (np.diff(total) != 0)
    ends = np.append(np.nonzero(differs)[0], len(tried) - 1)
    found, low = [], int(tried[0])
    for end in ends.tolist():
        waves = int(total[end])
        found.append(Plateau(low, int(tried[end]), int(core.groups[end]), waves, waves / model.slots))
        low = int(tried[end]) + 1 if resource != "threads" else int(tried[end]) + model.wave_size
    return tuple(found)


def nearest(model: Model, launch: Launch, groups: int) -> tuple[Step, ...]:
    """The nearest step up and down per resource, then the nearest joint step where none helps alone."""
    found: list[Step] = []
    for resource in SWEPT:
        if resource == "sgprs" and (launch.sgprs is None or model.nvidia):
            continue
        if resource == "threads":
            found += _by_threads(model, launch, groups)
        else:
            found += _by_resource(model, launch, resource, groups)
    # Two resources that bind at once block each other: then only a change of both helps.
    if not any(step.direction == "up" and step.resource != "threads" for step in found):
        joint = _together(model, launch, groups)
        if joint is not None:
            found.append(joint)
    return tuple(found)


def _by_resource(model: Model, launch: Launch, resource: str, groups: int) -> list[Step]:
    now = getattr(launch, resource)
    levels = plateaus(model, launch, resource)
    found = []
    # Less of a resource raises occupancy, so "up" looks below the present value: at the highest level that is better.
    up = [level for level in levels if level.high < now and level.groups > groups]
    if up:
        found.append(_step(model, launch, "up", resource, up[-1].high, groups, up[-1].groups))
    down = [level for level in levels if level.low > now and level.groups < groups]
    if down:
        found.append(_step(model, launch, "down", resource, down[0].low, groups, down[0].groups))
    return found


def _by_threads(model: Model, launch: Launch, groups: int) -> list[Step]:
    tried = values(model, "threads")
    core = model.run(**{**asdict(launch), "threads": tried})
    total = core.groups * core.waves
    # By waves, not groups: half the threads in twice the groups is the same occupancy.
    now = groups * -(-launch.threads // model.wave_size)
    found = []
    directions: tuple[Direction, Direction] = ("up", "down")
    for direction in directions:
        better = total > now if direction == "up" else total < now
        if better.any():
            # Of two sizes equally far the smaller group comes first.
            index = int(np.argmin(np.where(better, np.abs(tried - launch.threads), np.iinfo(np.int64).max)))
            change = Change("threads", launch.threads, int(tried[index]), _LABELS["threads"])
            occupancy = (now / model.slots, int(total[index]) / model.slots)
            then = int(core.groups[index])
            found.append(Step(direction, (change,), (groups, then), occupancy, model.words["group"]))
    return found


def _together(model: Model, launch: Launch, groups: int) -> Step | None:
    """The smallest joint change of registers, scalar registers and shared memory that helps."""
    # Limits are independent of each other, so one table per resource gives its value for a target.
    now = {name: int(limit) for name, limit in model.run(**asdict(launch)).limits.items()}
    changeable = [name for name in ("registers", "shared", "sgprs") if name in now]
    fixed = min(limit for name, limit in now.items() if name not in changeable)
    tables = {}
    for resource in changeable:
        tried = values(model, resource)
        tables[resource] = tried, model.run(**{**asdict(launch), resource: tried}).limits[resource]
    for target in range(groups + 1, fixed + 1):
        changes = []
        # From the next number of groups upwards, by the largest values that reach it: the first hit is the smallest.
        for resource in (name for name in changeable if now[name] < target):
            tried, limit = tables[resource]
            fits = tried[(limit >= target) & (tried < getattr(launch, resource))]
            if not len(fits):
                break
            before = getattr(launch, resource)
            changes.append(Change(resource, before, int(fits[-1]), label(model, resource)))
        else:
            waves = -(-launch.threads // model.wave_size)
            # limits come in steps: what reaches the target may reach more
            reached = int(model.run(**{**asdict(launch), **{c.resource: c.after for c in changes}}).groups)
            occupancy = (groups * waves / model.slots, reached * waves / model.slots)
            return Step("up", tuple(changes), (groups, reached), occupancy, model.words["group"])
    return None


def label(model: Model, resource: str) -> str:
    """Unit of a resource as people write it: VGPR and LDS on AMD."""
    if not model.nvidia and resource in ("registers", "shared"):
        return {"registers": "VGPR", "shared": "B LDS"}[resource]
    return _LABELS[resource]


def _step(
    model: Model, launch: Launch, direction: Direction, resource: str, after: int, groups: int, then: int
) -> Step:
    waves = -(-launch.threads // model.wave_size)
    change = Change(resource, getattr(launch, resource), after, label(model, resource))
    occupancy = (groups * waves / model.slots, then * waves / model.slots)
    return Step(direction, (change,), (groups, then), occupancy, model.words["group"])
