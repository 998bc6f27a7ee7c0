"""Contents of a report about one launch, as plain values for the renderers."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import asdict

from triage.devices import Device, NvidiaLimits
from triage.ground.errors import TriageError
from triage.occupancy.clusters import Clusters
from triage.occupancy.grid import LaunchShape, warps_needed
from triage.occupancy.occupancy_result import Occupancy
from triage.occupancy.steps import SWEPT, Plateau, label, percent

_AROUND = 3  # ranges shown on each side of the present value


class Latency(Struct, frozen=True):
    """Warps it takes to hide a latency, against those that are resident."""

    cycles: float
    intensity: float
    issue_rate: float
    needed: int
    resident: int

    @property
    def text(self) -> str:
        """One sentence."""
        short = self.needed - self.resident
        verdict = "enough" if short <= 0 else f"{short} short"
        formula = f"ceil({self.cycles:g} x {self.issue_rate:g} / {self.intensity:g})"
        needed = f"{self.needed} needed to hide {self.cycles:g} cycles = {formula}"
        return f"{needed}; {self.resident} resident, {verdict}"


class Report(Struct, frozen=True):
    """One launch with its surroundings: device, neighbouring values, grid, latency."""

    now: Occupancy
    device: Device | None = None
    shape: LaunchShape | None = None
    latency: Latency | None = None
    clusters: Clusters | None = None

    @property
    def title(self) -> str:
        """Device or architecture, and what the numbers are per."""
        limits, model = self.now.model.limits, self.now.model
        name = f"{self.device.name}, {limits.arch}" if self.device and self.device.sm_count else limits.arch
        return f"{name} ({limits.generation}), {model.words['wave']}s of {model.wave_size}, per {model.unit}"

    @property
    def asked(self) -> str:
        """The launch in words."""
        launch, words = self.now.launch, self.now.model.words
        parts = [f"{launch.threads:,} threads", f"{launch.registers} {words['registers']}"]
        if launch.agprs is not None:
            parts.append(f"{launch.agprs} AGPR")
        if launch.sgprs is not None:
            parts.append(f"{launch.sgprs} SGPR")
        parts.append(f"{launch.shared:,} B {words['shared']}")
        if launch.barriers is not None:
            parts.append(f"{launch.barriers} barriers")
        return ", ".join(parts) + f" per {words['group']}"

    @property
    def verdict(self) -> str:
        """Occupancy, groups and waves in one line."""
        now, words = self.now, self.now.model.words
        if not now.groups:
            return f"cannot run: {now.why}"
        groups = f"{now.groups} {words['group']}{'s' * (now.groups != 1)}"
        waves = f"{now.waves} of {now.model.slots} {words['wave']}s"
        return f"{percent(now.occupancy)}: {groups} = {waves}, limited by {' and '.join(now.limiters)}"

    @property
    def limits(self) -> list[tuple[str, str, bool]]:
        """Per limiter: name, its own maximum of groups, whether it binds."""
        return [
            (name, "no limit" if math.isinf(most) else f"{most:.0f}", name in self.now.limiters)
            for name, most in self.now.limits.items()
        ]

    @property
    def wasted(self) -> list[str]:
        """What stays unused, a line each."""
        found = []
        words = self.now.model.words
        called = {"registers": "register file", "shared": words["shared"], "waves": f"{words['wave']} slots"}
        for name, item in self.now.wasted.items():
            if name == "lanes":
                if item.free:
                    found.append(f"lanes: {item.free} of {item.capacity} idle in every {words['group']}")
                continue
            if item.unit == "bytes":
                amount, whole = f"{item.free / 1024:,.4g} KiB", f"{item.capacity / 1024:,.4g} KiB"
                extra = f"; {item.rounding:,} B taken by granules and reserve" if item.rounding else ""
            else:
                amount, whole, extra = f"{item.free}", f"{item.capacity} slots", ""
            found.append(f"{called[name]}: {amount} of {whole} unused ({percent(item.free_share)}){extra}")
        return found

    @property
    def steps(self) -> list[tuple[str, str]]:
        """Direction and text of the steps worth showing."""
        return [
            (step.direction, step.text)
            for step in self.now.steps
            if step.resource != "threads" or step.direction == "up"
        ]

    def neighbours(self) -> list[tuple[str, list[tuple[Plateau, bool]]]]:
        """Per resource: the ranges of values around the present one, and which it lies in."""
        found = []
        for resource in SWEPT[:3]:  # all but threads: their neighbours are other programs
            value = getattr(self.now.launch, resource)
            if value is None or (resource == "sgprs" and self.now.model.nvidia):
                continue
            levels = self.now.plateaus(resource)
            here = next((i for i, level in enumerate(levels) if level.high >= value), len(levels) - 1)
            around = levels[max(here - _AROUND, 0) : here + _AROUND + 1]
            unit = label(self.now.model, resource)
            found.append((unit, [(level, level.low <= value <= level.high) for level in around]))
        return found

    @property
    def shape_lines(self) -> list[tuple[str, str]]:
        """How the grid maps onto the machine, name and text."""
        shape, words = self.shape, self.now.model.words
        if shape is None:
            return []
        (sx, sy, _), group, wave = shape.threads, words["group"], words["wave"]
        lanes = f"{shape.subgroups} {wave}s of {shape.wave_size} lanes, {shape.idle_lanes} lanes idle"
        found = [
            (f"{wave}s per {group}", lanes),
            ("flattened index", f"z*{sx}*{sy} + y*{sx} + x; {wave} = index // {shape.wave_size}"),
        ]
        if not shape.capacity:  # nothing fits, so there are no waves to speak of
            return [*found, (f"{group}s", f"{shape.groups:,}, none can run")]
        used = percent(shape.utilisation)
        return [
            *found,
            (f"{group}s", f"{shape.groups:,} on {shape.units} {shape.unit}s holding {shape.resident} each"),
            ("full wave", f"{shape.capacity:,} {group}s at once"),
            ("waves", f"{shape.waves:.2f}, {used} of the slots of {shape.rounds} waves used"),
            ("tail effect", f"{shape.tail:,} {group}s in the last wave; {shape.to_fill:,} more would fill it"),
            (f"idle {shape.unit}s", f"{shape.idle_units}"),
        ]

    @property
    def cluster_lines(self) -> list[tuple[str, str]]:
        """How many clusters fit, name and text."""
        c = self.clusters
        if c is None:
            return []
        layout = c.layout
        groups = c.sms * c.groups
        fit = f"{c.least:,}" if c.least == c.most else f"{c.least:,} to {c.most:,}, depending on the die's SM layout"
        used = (
            percent(c.share(c.least))
            if c.least == c.most
            else f"{percent(c.share(c.least))} to {percent(c.share(c.most))}"
        )
        found = [
            (
                "groups per cluster",
                f"{c.size}, all in one GPC: {c.sms} SMs in {layout.gpcs} GPCs of at most {layout.sms_per_gpc}",
            ),
            ("clusters at once", fit),
            ("GPU occupancy", f"{used}; single groups reach {percent(groups * c.warps / (c.sms * c.slots))}"),
        ]
        if not c.portable:
            found.append(
                ("opt in", f"more than {layout.portable} groups: cudaFuncAttributeNonPortableClusterSizeAllowed")
            )
        if c.least != c.most:
            found.append(("exact number", "cudaOccupancyMaxActiveClusters on the device"))
        return [
            *found,
            ("layout", layout.doubt or layout.chip),
        ]

    def to_dict(self) -> dict[str, object]:
        """The JSON result."""
        latency = self.latency
        return {
            "schema": "triage-occupancy/1",
            "device": self.device.name if self.device else None,
            **self.now.to_dict(),
            "neighbours": [
                {"resource": unit, **asdict(level), "here": here}
                for unit, levels in self.neighbours()
                for level, here in levels
            ],
            "launch_shape": self.shape.to_dict() if self.shape else None,
            "clusters": self.clusters.to_dict() if self.clusters else None,
            "latency": None
            if latency is None
            else {
                "cycles": latency.cycles,
                "intensity": latency.intensity,
                "issue_rate": latency.issue_rate,
                "waves_needed": latency.needed,
                "waves_resident": latency.resident,
            },
        }


def latency_of(now: Occupancy, cycles: float, intensity: float, issue_rate: float | None) -> Latency:
    """Warps needed against warps resident; raises TriageError where the issue rate is not known."""
    if issue_rate is None:
        limits = now.model.limits
        if not isinstance(limits, NvidiaLimits):
            raise TriageError(f"issue rate of {limits.arch} unknown", "add --issue-rate, warp instructions per cycle")
        # One warp scheduler per sub-partition, one instruction per cycle each. AMD's issue rate depends on the mix of
        # instructions (scalar, vector, memory go in parallel), so no single number is in the tables.
        issue_rate = limits.sub_partitions
    return Latency(cycles, intensity, issue_rate, warps_needed(cycles, issue_rate, intensity), now.waves)


class Plot(Struct, frozen=True):
    """Occupancy over one resource as an SVG path in a box of `width` by `height` units."""

    title: str
    path: str
    x: float
    y: float
    ticks: tuple[tuple[float, str], ...]
    value: str


def plots(report: Report, width: float = 560, height: float = 120) -> list[Plot]:
    """One plot per resource, x from 0 to the most the hardware takes, y from 0 to 1 upwards."""
    now = report.now
    found = []
    for resource in SWEPT:
        value = getattr(now.launch, resource)
        if value is None or (resource == "sgprs" and now.model.nvidia):
            continue
        levels = now.plateaus(resource)
        most = max(levels[-1].high, 1)
        # A staircase: a horizontal line per range of equal answers, a jump between them.
        points: list[str] = []
        left = 0.0
        for level in levels:
            right, y = width * level.high / most, height * (1 - level.occupancy)
            points.append(f"{'M' if not points else 'L'}{left:.1f} {y:.1f}H{right:.1f}")
            left = right
        step = most / 4
        ticks = tuple((width * i / 4, f"{step * i:,.0f}") for i in range(5))
        unit = f"bytes of {now.model.words['shared']}" if resource == "shared" else label(now.model, resource)
        x = width * min(value, most) / most
        found.append(Plot(unit, "".join(points), x, height * (1 - now.occupancy), ticks, f"{value:,}"))
    return found
