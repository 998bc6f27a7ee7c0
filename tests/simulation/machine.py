"""Runs a kernel on a chip: demand per unit, a warp's own latency, waves of groups; time and stalls follow."""

import math

from msgspec import Struct

from .chips import CHIPS, Chip
from .work import Work

RAMP_NS = 900.0  # from the launch's start to full SMs, and back
REACHED = {"vram": 0.92, "l2": 0.8, "issue": 0.98}  # of its peak a unit gets in practice
BUS = 45e9  # bytes per second from the host
PIPES = ("issue", "fma", "fmaheavy", "alu", "xu", "fp64", "tensor", "uniform", "cbu", "fp16")
MATH = {"fma", "fmaheavy", "alu", "fp64", "tensor", "fp16", "uniform"}


class Limits(Struct, frozen=True):
    """Resident groups per SM that each resource allows."""

    blocks: int
    registers: int
    shared: int
    warps: int

    @property
    def groups(self) -> int:
        return max(1, min(self.blocks, self.registers, self.shared, self.warps))


class Run(Struct, frozen=True):
    """What happened: cycles, shares of time, and sums over the launch."""

    work: Work
    chip: Chip
    limits: Limits
    waves: float
    cycles: float
    active: float  # average SM's active share
    busiest: float  # busiest SM's
    occupancy: float  # achieved, 0 to 1, while active
    issue: float  # per scheduler and active cycle
    demand: dict[str, float]  # cycles per SM and unit, average over all SMs
    stalls: dict[str, float]  # warps per issue
    sums: dict[str, float]

    @property
    def ns(self) -> float:
        return self.cycles / self.chip.ghz

    def elapsed(self, unit: str) -> float:
        """A unit's use of the whole time, percent."""
        return 100 * self.demand[unit] / self.cycles

    def while_active(self, unit: str) -> float:
        return self.elapsed(unit) / self.active


def limits(work: Work, chip: Chip) -> Limits:
    per_warp = math.ceil(work.regs * 32 / 256) * 256
    registers = 16_384 // per_warp * 4 // work.warps
    asked = work.static + work.dynamic
    shared = int(chip.shared // (math.ceil((asked + 1024) / 128) * 128)) if asked else chip.blocks
    return Limits(chip.blocks, registers, shared, chip.warps // work.warps)


def hit_rates(work: Work, chip: Chip, resident: float) -> tuple[float, float]:
    room = (
        (chip.l1_kb * 1024 - (work.static + work.dynamic + 1024) * max(resident / work.warps, 1))
        if work.l1_footprint
        else 1
    )
    wanted = work.l1_footprint * resident
    l1 = work.l1_hit * min(1.0, max(room, 8192) / wanted) if wanted else work.l1_hit
    l2 = work.l2_hit * min(1.0, chip.l2_mb / work.l2_footprint) if work.l2_footprint else work.l2_hit
    return l1, l2


def traffic(work: Work, l1: float, l2: float) -> dict[str, float]:
    """Per warp: sectors between the levels."""
    local_l1 = max(l1, 0.35) if work.l1_footprint else max(l1, 0.5)
    loads = work.load.count * work.load.touched
    local_in, local_out = (
        work.local_load.count * work.local_load.touched,
        work.local_store.count * work.local_store.touched,
    )
    stores = work.store.count * work.store.touched
    atomics = (work.red + work.atom) * work.atomic_sectors
    copies = work.async_copy * 16 + work.bulk_copy / 32
    textures = work.texture * 12
    in_ = loads * (1 - l1) + local_in * (1 - local_l1) + copies + textures * (1 - l1)
    out = stores + local_out * 0.9 + atomics
    missed = in_ * (1 - l2)
    written = stores * (1 - work.merged_stores) + local_out * (0.1 if l2 > 0.5 else 0.6)
    if l2 > 0.85:
        written *= 0.15
    return {"loads": loads, "stores": stores, "local_in": local_in, "local_out": local_out, "atomics": atomics, "in": in_,
            "out": out, "missed": missed * (1 - work.far), "far": missed * work.far, "written": written, "local_hit": local_l1}  # fmt: skip


def demands(work: Work, chip: Chip, flow: dict[str, float]) -> tuple[dict[str, float], dict[str, float], float]:
    """Cycles per warp of an SM's units, bytes or sectors per warp of the shared ones, and instructions."""
    memory = (
        work.load.count
        + work.store.count
        + work.local_load.count
        + work.local_store.count
        + work.red
        + work.atom
        + work.async_copy
    )
    shared = work.shared_load + work.shared_store + work.shared_atomic + work.shuffle
    fp32 = work.ffma + work.fadd + work.fmul
    inst = (fp32 + work.fp16 + work.imad + work.alu + work.xu + work.dfma + work.mma + work.wide_mma + work.uniform + work.branch
            + memory + shared + work.texture + work.barriers)  # fmt: skip
    both = fp32 + work.imad
    unit = {"issue": inst / 4, "alu": work.alu / chip.alu, "xu": work.xu * 2, "fp64": work.dfma / chip.fp64,
            "uniform": work.uniform / 2, "cbu": work.branch / 2, "fp16": work.fp16 / chip.fma,
            "tensor": work.mma / chip.mma + (work.wide_mma / chip.wide_mma if work.wide_mma else 0)}  # fmt: skip
    half = chip.fma / 2
    unit["fmaheavy"] = max(work.imad, both / 2) / half if chip.split_fma else 0.0
    unit["fma"] = both / chip.fma
    requests = memory + shared
    lg = (work.load.count * work.load.wavefronts + work.store.count * work.store.wavefronts + work.local_load.count * work.local_load.wavefronts
          + work.local_store.count * work.local_store.wavefronts + (work.red + work.atom) * max(1, work.atomic_sectors / 4))  # fmt: skip
    tiles = (work.shared_load * work.load_ways + work.shared_store * work.store_ways + work.shared_atomic * work.atomic_ways
             + work.async_copy * 4 + work.bulk_copy / 128)  # fmt: skip
    back = (
        work.load.count * max(1, work.load.width / 4)
        + work.local_load.count
        + work.shared_load * max(1.0, work.ideal_load_ways)
        + work.shuffle
    )
    unit |= {"lsuin": requests / chip.lsu, "turns": lg + tiles + work.shuffle, "tiles": tiles + work.shuffle, "back": back,
             "fill": (flow["in"] + work.atom * work.atomic_sectors) * 32 / chip.fill, "out": flow["out"] * 32 / 32, "tex": work.texture * 4}  # fmt: skip
    wide = {"l2": (flow["in"] + flow["out"]) * 32, "vram": (flow["missed"] + flow["written"]) * 32, "bus": flow["far"] * 32,
            "atomics": (work.red + work.atom) * work.atomic_lanes, "memory": memory, "shared": shared}  # fmt: skip
    return unit, wide, inst


def latencies(work: Work, chip: Chip, l1: float, l2: float, inst: float) -> dict[str, float]:
    """Cycles a warp waits by itself, per stall reason, with empty queues."""
    deep = chip.l2_ns + (1 - l2) * (chip.vram_ns + 1400 * work.far)
    load = l1 * 34 + (1 - l1) * deep * chip.ghz
    local = 0.6 * 34 + 0.4 * chip.l2_ns * chip.ghz
    math_ = work.ffma + work.fadd + work.fmul + work.imad + work.alu + work.uniform + work.fp16
    waits = {
        "long_scoreboard": work.load.count / work.mlp * load + work.local_load.count / max(work.mlp, 2) * local
        + work.async_copy / max(work.mlp * 2, 4) * deep * chip.ghz + work.atom * chip.l2_ns * 1.2 * chip.ghz
        + work.texture / work.mlp * (load + 250) + work.bulk_copy / 65_536 / work.mlp * deep * chip.ghz * 4,
        "short_scoreboard": (work.shared_load + work.shared_atomic * 1.5 + work.shuffle) / work.ilp * 24 + work.xu / work.ilp * 20,
        "wait": math_ * max(4.6 / work.ilp, 1.1) + work.dfma / work.ilp * (8 if chip.fp64 >= 1 else 44) + work.mma / work.ilp * 32
        + work.branch * 4,
        "barrier": work.barriers * work.skew,
        "branch_resolving": work.branch * 6.5,
        "no_instruction": inst * 0.06 + work.fetch_wait,
        "imc_miss": 30 + work.constant_wait,
        "sleeping": work.sleep,
        "membar": work.fence,
        "drain": 4 + work.drain,
        "dispatch_stall": inst * 0.02,
        "misc": 1.0,
    }  # fmt: skip
    if chip.generation >= 9 and work.wide_mma:
        waits["gmma" if chip.cc == "9.0" else "long_scoreboard"] = (
            waits.get("gmma", waits["long_scoreboard"]) + work.wide_mma * 30
        )
    return waits


def queue(work: Work, unit: str, wide: dict[str, float]) -> str:
    """The stall reason that waits for a full unit shows up as."""
    if unit in MATH:
        return "math_pipe_throttle"
    tiled = wide["shared"] > 1.5 * wide["memory"]
    if unit == "atomics":
        return "long_scoreboard" if work.atom > work.red else "lg_throttle"
    if unit in ("lsuin", "turns", "tiles", "back"):
        return "mio_throttle" if tiled else "lg_throttle"
    if unit in ("vram", "l2", "bus", "fill", "out"):
        return "lg_throttle" if work.store.count > 3 * work.load.count + work.async_copy else "long_scoreboard"
    return {"issue": "not_selected", "xu": "mio_throttle", "tex": "tex_throttle", "cbu": "branch_resolving"}[unit]


def run(work: Work) -> Run:
    chip = CHIPS[work.chip]
    lim = limits(work, chip)
    sms = max(1, round(chip.sms * (1 - work.idle_share)))
    waves = work.grid / (lim.groups * sms)
    used = min(sms, work.grid)
    groups = work.grid / used if waves < 1 else float(lim.groups)
    resident = groups * work.warps
    l1, l2 = hit_rates(work, chip, resident)
    flow = traffic(work, l1, l2)
    unit, wide, inst = demands(work, chip, flow)
    waits = latencies(work, chip, l1, l2, inst)
    warps = work.grid * work.warps
    per_sm = warps / used
    shared = {
        "l2": wide["l2"] * warps / chip.l2,
        "vram": wide["vram"] * warps / chip.vram * chip.ghz * 1e9,
        "bus": wide["bus"] * warps / BUS * chip.ghz * 1e9,
        "atomics": wide["atomics"] * warps / (work.hot_slices or chip.slices),
    }
    pressure = {u: c * per_sm / REACHED.get(u, 0.96) for u, c in unit.items()} | {
        u: c / REACHED.get(u, 0.96) for u, c in shared.items()
    }
    serial = inst * 1.15 + sum(waits.values())
    alone = per_sm / resident * serial
    p = work.overlap
    busy = (sum(v**p for v in pressure.values() if v > 0) + alone**p) ** (1 / p)
    ragged = 1.0
    if waves > 1:
        ragged = 1 + max(0.0, math.ceil(waves - 1e-9) / waves - 1) * max(0.0, 1 - waves / 14) + work.jitter / waves
    cycles = busy * ragged * (1 + work.imbalance) + RAMP_NS * chip.ghz
    active = busy / cycles * used / chip.sms
    active_used = busy / cycles
    achieved = (
        min(resident, float(chip.warps))
        / chip.warps
        * (0.96 if waves >= 1 else 0.93)
        * (1 - 0.35 * min(work.imbalance, 1))
    )
    achieved = max(achieved, 1 / chip.warps)
    issue = inst * per_sm / 4 / busy
    per_issue = max(achieved * chip.warps / 4 / issue, 1.0)
    stalls = {r: w * 0.98 for r, w in waits.items()}
    rest = max(per_issue * inst - inst - sum(stalls.values()), 0.0)
    heat = {u: (v / busy) ** 4 for u, v in pressure.items()}
    total = sum(heat.values()) or 1.0
    for u, h in heat.items():
        reason = queue(work, u, wide)
        stalls[reason] = stalls.get(reason, 0.0) + rest * h / total
    scale = (per_issue - 1) / max(sum(stalls.values()), 1e-9)
    stalls = {r: w * scale for r, w in stalls.items()} | {"selected": 1.0}
    demand = {u: c * warps / chip.sms for u, c in unit.items()} | shared
    demand["atomics"] = wide["atomics"] * warps / chip.slices  # what the average slice shows
    sums = {k: v * warps for k, v in (flow | wide | {"inst": inst}).items() if k != "local_hit"} | {
        "l1": l1,
        "l2_hit": l2,
        "local_hit": flow["local_hit"],
        "warps": warps,
    }
    uneven = work.imbalance > 0.02 or ragged > 1.05 or used < chip.sms
    return Run(
        work,
        chip,
        lim,
        waves,
        cycles,
        active,
        0.995 if uneven else min(1.0, active_used * 1.004),
        achieved,
        issue,
        demand,
        stalls,
        sums,
    )
