"""How a launch maps onto a machine, and how many warps hide a latency."""

from __future__ import annotations

import math

from msgspec import Struct

from triage.ground.errors import TriageError

Shape = tuple[int, int, int]


class LaunchShape(Struct, frozen=True):
    """A grid of groups on `units` SMs, CUs or WGPs that each hold `resident` groups at once.

    `threads` of a group and groups of the `grid` in x, y, z; `wave_size` in lanes.
    """

    threads: Shape
    grid: Shape
    units: int
    unit: str
    resident: int
    wave_size: int

    @property
    def group_threads(self) -> int:
        """Threads of one group."""
        return math.prod(self.threads)

    @property
    def groups(self) -> int:
        """Groups of the grid."""
        return math.prod(self.grid)

    @property
    def subgroups(self) -> int:
        """Warps or waves of one group."""
        return -(-self.group_threads // self.wave_size)

    @property
    def idle_lanes(self) -> int:
        """Lanes of a group's last warp that no thread uses."""
        return self.subgroups * self.wave_size - self.group_threads

    @property
    def capacity(self) -> int:
        """Groups the machine runs at once: those that would fill it."""
        return self.units * self.resident

    @property
    def waves(self) -> float:
        """Grid over capacity: how many times the machine is filled (NVIDIA calls this waves)."""
        return self.groups / self.capacity if self.capacity else math.inf

    @property
    def rounds(self) -> int:
        """Waves, with the last begun one counted whole."""
        # -(-a // b) rounds up in integers: a float would lose groups beyond 2**53
        return -(-self.groups // self.capacity) if self.capacity else 0

    @property
    def tail(self) -> int:
        """Groups of the last, not full wave; 0 when the grid ends with a full one."""
        return self.groups % self.capacity if self.capacity else 0

    @property
    def to_fill(self) -> int:
        """Groups to add so that the last wave is full."""
        return self.rounds * self.capacity - self.groups

    @property
    def utilisation(self) -> float:
        """Share of the slots of all begun waves that hold a group, 0 to 1."""
        return self.groups / (self.rounds * self.capacity) if self.rounds else 0.0

    @property
    def idle_units(self) -> int:
        """SMs, CUs or WGPs that never get a group."""
        # Groups are taken to go to empty units first, so only a grid smaller than the machine leaves some without work.
        return max(self.units - self.groups, 0)

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "threads": list(self.threads),
            "grid": list(self.grid),
            "units": self.units,
            "unit": self.unit,
            "groups": self.groups,
            "group_threads": self.group_threads,
            "subgroups": self.subgroups,
            "idle_lanes": self.idle_lanes,
            "capacity": self.capacity,
            "waves": self.waves if self.capacity else None,  # JSON has no infinity
            "rounds": self.rounds,
            "tail": self.tail,
            "to_fill": self.to_fill,
            "utilisation": self.utilisation,
            "idle_units": self.idle_units,
        }


def parse_shape(text: str, what: str) -> Shape:
    """ "256", "16x16" or "8x8x4" as three numbers; raises TriageError."""
    # "16x16", "16*16" and CUDA's "(16,16)" without its brackets
    parts = text.lower().replace("*", "x").replace(",", "x").split("x")
    try:
        numbers = [int(part) for part in parts]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
        raise TriageError(f"{what} {text!r}: expected N, XxY or XxYxZ, whole numbers of 1 or more")
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


def launch_shape(
    threads: Shape, grid: Shape, units: int, resident: int, wave_size: int, unit: str = "SM"
) -> LaunchShape:
    """How a grid maps onto `units` that each hold `resident` groups; raises TriageError."""
    # 0 resident groups is an answer (the launch cannot run), 0 threads or units is a mistake.
    if min(*threads, *grid, units, wave_size) < 1 or resident < 0:
        raise TriageError("launch shape: expected sizes of 1 or more")
    return LaunchShape(threads, grid, units, unit, resident, wave_size)


def warps_needed(latency: float, issue_rate: float, intensity: float = 1) -> int:
    """Warps that hide a latency: ceil(latency x issue rate / intensity).

    `latency` in cycles, `issue_rate` in warp instructions per cycle and SM, `intensity` in
    instructions issued per instruction that waits (1 for dependent arithmetic). Source: CUDA C++
    Programming Guide, "Multiprocessor Level"; raises TriageError for numbers that are not positive.
    """
    if not (latency >= 0 and issue_rate > 0 and intensity > 0):
        raise TriageError(
            f"latency {latency:g}, issue rate {issue_rate:g}, intensity {intensity:g}: expected positive numbers"
        )
    return math.ceil(latency * issue_rate / intensity)
