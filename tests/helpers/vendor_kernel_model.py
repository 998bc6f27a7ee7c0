"""A small model of how AMD's compute units and Intel's Xe cores spend the time of a kernel, for patients of known illness.

A kernel is told by its work: instructions of a wave, lines of an access, hits, registers, LDS, groups. The model finds how
long each unit and the chain of a wave's waiting take, and from these the shares that `vendor_kernels` and `xe_kernels`
turn into counters. Which illness a patient has is no opinion: `saved` runs the model again without it. All figures made up.
"""

from collections.abc import Mapping
from math import ceil

from tests.cases import vendor_kernels as amd
from tests.cases import xe_kernels as xe

Work = Mapping[str, float]
# per wave: instructions of the vector and scalar ALU, matrix unit, LDS, loads, stores, atomics; what each finds
WELL: dict[str, float] = {
    "groups": 24_000, "group": 256, "vgpr": 40, "agpr": 0, "sgpr": 32, "lds": 0, "scratch": 0,
    "v": 900, "chain": 1.3, "trans": 0.04, "f64": 0, "s": 120, "m": 0, "steps": 16, "d": 0, "degree": 1, "ld": 30, "st": 10, "spills": 0,
    "atomics": 0, "hot": 0, "lines": 4, "l1": 0.55, "l2": 0.6, "flight": 4, "remote": 0, "tlb": 0.002, "code": 8, "constants": 0,
    "lanes": 0.97, "longest": 1.0, "barriers": 0, "uneven": 1.1, "repeat": 1,
}  # fmt: skip
# registers of a lane's SIMD (per wave of this GPU), granule, KiB of LDS of a compute unit, cycles of an FP64 instruction
_ROOM = {
    "gfx900": (256, 4, 64, 16), "gfx906": (256, 4, 64, 2), "gfx908": (256, 4, 64, 2), "gfx90a": (512, 8, 64, 1),
    "gfx942": (512, 8, 64, 1), "gfx950": (512, 8, 160, 1), "gfx1030": (1024, 16, 64, 16), "gfx1100": (1536, 24, 64, 32), "gfx1102": (1024, 16, 64, 32),
    "gfx1201": (1536, 24, 64, 32),
}  # fmt: skip
_SHARP = 5  # how hard the slowest unit hides the others


def resident(gpu: amd.Gpu, k: Work) -> tuple[int, str]:
    """Waves that a compute unit holds, and what limits them."""
    registers, unit, lds, _ = _ROOM[gpu.arch]
    each = ceil(k["group"] / gpu.wave)
    taken = ceil(max(k["vgpr"] + (k["agpr"] if registers == 512 else 0), 1) / unit) * unit
    slots = gpu.slots * gpu.simds // each
    room = {
        "slots": slots,
        "vgpr": registers // taken * gpu.simds // each,
        "lds": int(lds * 1024 // k["lds"]) if k["lds"] else slots,
    }
    least = min(room, key=lambda n: (room[n], n != "slots"))
    return max(1, room[least]) * each, least


def _phase(gpu: amd.Gpu, k: Work, groups: float) -> tuple[float, dict[str, float], float]:
    """Cycles of each unit while `groups` run in whole rounds, of all of them together, and of a wave's life."""
    rdna, each = gpu.wave == 32, ceil(k["group"] / gpu.wave)
    waves, cycles_of_f64 = groups * each, _ROOM[gpu.arch][3]
    fullest = ceil(groups / gpu.units) * each  # the unit with most groups sets the end
    here = min(resident(gpu, k)[0], fullest)
    vmem = k["ld"] + k["st"] + k["spills"]
    requests = vmem * k["lines"] * (1 - k["l1"]) + k["atomics"] * 16
    issue = k["v"] * (1 + 3 * k["trans"] + (cycles_of_f64 - 1) * k["f64"])
    slow = 1.35 if gpu.dies > 1 else 1.0
    far = 800 * (1 - k["remote"]) + 3200 * k["remote"]
    latency = slow * (120 + (1 - k["l1"]) * (180 + (1 - k["l2"]) * far + 25 * k["tlb"] * 900))
    miss, beat = _misses(gpu, k), 1 if rdna else 4
    waits = (
        (k["ld"] + k["spills"]) / k["flight"] * latency
        + k["d"] / 3 * (64 + 2 * k["degree"])
        + k["atomics"] * 400 * slow
        + issue / 8 * miss * 260
        + k["constants"] * 450 * slow
    )
    life = (issue * beat * k["chain"] + k["s"] * 4 + k["m"] * k["steps"] * 1.3 + waits) / (1 - k["barriers"])
    moved = waves * _bytes(gpu, k)
    per_cycle = gpu.memory * 1e3 / gpu.clock
    units = {
        "valu": fullest * issue / (gpu.simds if rdna else 1),
        "salu": fullest * k["s"],
        "mfma": fullest * k["m"] * k["steps"] / 4,
        "lds": fullest * k["d"] * (1 if rdna else 2) * k["degree"],
        "ta": fullest * vmem * max(2 if rdna else 4, k["lines"]),
        "l2": waves * requests / gpu.channels * k["uneven"],
        "vram": moved * (1 - k["remote"]) / per_cycle / 0.9,
        "host": moved * k["remote"] / (55e3 / gpu.clock),
        "hot": k["atomics"] * gpu.wave * waves * k["hot"],
        "code": fullest * issue / 8 * miss * 22,
        "latency": fullest * life / here,
    }
    return sum(t**_SHARP for t in units.values()) ** (1 / _SHARP), units, here


def _misses(gpu: amd.Gpu, k: Work) -> float:
    return max(0.0005, 1 - (64 if gpu.arch in ("gfx942", "gfx950") else 32) / k["code"])


def _bytes(gpu: amd.Gpu, k: Work) -> float:
    """What a wave moves to and from memory."""
    line = 128 if gpu.arch in ("gfx90a", "gfx942", "gfx950") else 64
    return (k["ld"] + k["st"] + k["spills"]) * k["lines"] * line * (1 - k["l1"]) * (1 - k["l2"])


def _amd(gpu: amd.Gpu, k: Work) -> tuple[float, dict[str, float]]:
    """Cycles, and what there is to count of them: whole rounds first, then the groups that are left over."""
    each = ceil(k["group"] / gpu.wave)
    holds, limiter = resident(gpu, k)
    round_of = gpu.units * holds // each
    rounds = k["groups"] / round_of
    whole = int(rounds) * round_of if 1 < rounds < 4 else k["groups"]
    parts = [(g, *_phase(gpu, k, g)) for g in (whole, k["groups"] - whole) if g]
    spent = sum(p[1] for p in parts)
    total = spent * k["longest"] + 2500
    # a unit's work is that of all groups, wherever the fullest compute unit has most of it
    even = [min(1.0, g / gpu.units) if g < gpu.units else g / gpu.units / ceil(g / gpu.units) for g, *_ in parts]
    share = {n: sum(p[2][n] * e for p, e in zip(parts, even, strict=True)) / total for n in parts[0][2]}
    shared = ("l2", "vram", "host", "hot")  # one for all compute units
    share |= {n: sum(p[2][n] for p in parts) / total for n in shared}
    active = sum(p[1] * min(1.0, p[0] / gpu.units) for p in parts) / total * 0.985
    lives = sum(p[1] * p[3] * e for p, e in zip(parts, even, strict=True)) / total  # resident waves of a unit
    mine = lives * total * gpu.units / (k["groups"] * each)
    issue = k["v"] * (1 + 3 * k["trans"] + (_ROOM[gpu.arch][3] - 1) * k["f64"])
    worked = min(0.97, (issue * (1 if gpu.wave == 32 else 4) + k["s"] * 4) / mine)
    ready = min(0.9, share["valu"] ** 3 + share["mfma"] ** 3 * 0.6) * (1 - worked)
    queue = max(share[n] for n in ("ta", "l2", "vram", "hot", "host"))
    full = min(0.97, 1.05 - 1 / rounds) if rounds > 1.2 else 0.0
    vmem = k["ld"] + k["st"] + k["spills"]
    requests = vmem * k["lines"] * (1 - k["l1"]) + k["atomics"] * 16
    moved = k["groups"] * each * _bytes(gpu, k)
    return total, {
        "us": total / gpu.clock, "valu": share["valu"], "salu": share["salu"], "mfma": share["mfma"], "lds_busy": share["lds"],
        "conflicts": 1 - 1 / k["degree"], "occupancy": lives / gpu.slots / gpu.simds / active * 0.97, "active": active,
        "waiting": max(0.05, 1 - worked - ready), "ta": min(0.98, share["ta"] + queue**3 * 0.3), "ta_stalled": 0.55 * queue**3,
        "write_stalled": 0.7 * queue**3 * k["st"] / max(vmem, 1), "lines": k["lines"], "l1": k["l1"], "l2": k["l2"], "tlb": k["tlb"],
        "vram": moved / total / (gpu.memory * 1e3 / gpu.clock), "atomics": k["atomics"] * 16 / max(requests, 1e-9), "icache": 1 - _misses(gpu, k),
        "remote": k["remote"], "halves": 0.02 if k["lines"] < 24 else 0.6, "l1_stalled": min(0.95, (1 - k["l1"]) * (share["latency"] * 0.4 + queue**2 * 0.6)),
        "lds_waits": min(0.7, k["d"] / 3 * (64 + 2 * k["degree"]) / mine + share["lds"] ** 3 * 0.4),
        "slots_full": full * (limiter == "slots"), "vgpr_full": full * (limiter == "vgpr"), "lds_full": full * (limiter == "lds"),
        "fp64": k["f64"], "trans": k["trans"], "cycles_each": issue / k["v"], "scalar_misses": 0.3 if k["constants"] > 4 else 0.004,
    }  # fmt: skip


def shares(gpu: amd.Gpu, k: Work) -> dict[str, float]:
    """The kernel as `vendor_kernels` takes it."""
    _, counted = _amd(gpu, k)
    return (
        amd.WELL | {n: k[n] for n in ("groups", "group", "vgpr", "agpr", "sgpr", "lds", "scratch", "lanes")} | counted
    )


def saved(gpu: amd.Gpu, k: Work, cure: Work) -> float:
    """Share of the time that goes with the illness."""
    return 1 - _amd(gpu, {**k, **cure})[0] / _amd(gpu, k)[0]


# per thread: instructions of the two pipes, messages, matrix steps; what each message finds
XE_WELL: dict[str, float] = {
    "groups": 9000, "group": 256, "simd": 16, "threads": 8, "a0": 1200, "a1": 500, "math": 0.02, "f64": 0, "chain": 1.2, "x": 0, "ld": 40, "st": 12, "bytes": 64,
    "used": 1, "lsc": 0.6, "l3": 0.6, "flight": 3, "slm": 0, "degree": 1, "atomics": 0, "tlb": 0.001, "code": 16, "branches": 0, "taken": 10, "barriers": 0,
    "samples": 0, "room": 0, "hits": 1, "spills": 0, "longest": 1.0,
}  # fmt: skip


def _xe(gpu: xe.Xe, k: Work) -> tuple[float, dict[str, float]]:
    engines = gpu.cores * gpu.engines
    lanes = 16 if gpu.engines == 8 else 8
    count = k["groups"] * ceil(k["group"] / k["simd"])
    width = max(1.0, k["simd"] / lanes)
    slots = min(gpu.threads, k["threads"])
    fullest = max(1.0, ceil(k["groups"] / gpu.cores) * ceil(k["group"] / k["simd"]) / gpu.engines)
    here = min(slots * (1 - k["room"]), fullest)
    p0 = k["a0"] * width * (1 + k["f64"] * (15 if gpu.engines == 16 else 1))
    p1 = k["a1"] * width + k["a0"] * k["math"] * 4 * width
    sends = k["ld"] + k["st"] + k["spills"] + k["slm"] + k["atomics"] + k["samples"]
    through = k["ld"] + k["st"] + k["spills"]
    asked = through * k["bytes"] * k["simd"] / 16 / k["used"] * k["hits"]
    beyond = asked * (1 - k["lsc"])
    moved = count * beyond * (1 - k["l3"])
    per_cycle = gpu.memory * 1e3 / gpu.clock
    away = 160 + (1 - k["lsc"]) * (220 + (1 - k["l3"]) * 650) + k["tlb"] * 900 * 12
    data = (
        through / k["flight"] * away
        + k["slm"] / 3 * (60 + 4 * k["degree"])
        + k["atomics"] * 380
        + k["samples"] / k["flight"] * 420
    )
    fetch = max(0.0, 1 - 48 / k["code"]) * (p0 + p1) / 8 * 14 if k["code"] > 48 else 0.002 * (p0 + p1)
    control = k["branches"] * 26
    alu = max(0.0, (p0 + p1) * (k["chain"] - 1)) * 1.5
    life = p0 + p1 * 0.8 + k["x"] * 8 + sends * 2 + data + fetch + control + alu
    life /= 1 - k["barriers"]
    units = {
        "a0": fullest * p0, "a1": fullest * p1, "x": fullest * k["x"] * 8, "send": fullest * sends * 4,
        "slm": count / gpu.cores * k["slm"] * k["simd"] / 16 * k["degree"], "l3": count * (beyond / 64 + k["atomics"] * 4) / gpu.cores * 1.4,
        "atomics": count * k["atomics"] * k["simd"] / 24, "code": fullest * fetch * 2.2, "vram": moved / per_cycle / 0.9, "sampler": count / gpu.cores * k["samples"] * k["simd"] / 4,
        "latency": fullest * life / max(here, 0.01),
    }  # fmt: skip
    total = sum(t**_SHARP for t in units.values()) ** (1 / _SHARP) * k["longest"] + 3000
    share = {n: t / total for n, t in units.items()}
    average = count / engines / fullest
    loaded = min(1.0, here) * average / k["longest"] ** 0.8
    pipes = [share[n] * average for n in ("a0", "a1", "x")]
    active = min(0.985 * loaded, max(pipes) + 0.35 * (sum(pipes) - max(pipes)) + share["send"] * average * 0.15)
    stalled = max(0.0, loaded - active)
    full = max(share["l3"], share["vram"], share["sampler"], share["slm"])
    why = {
        "sbid": data + life * full**4, "sendwr": sends * 1.5 + life * 0.8 * share["send"] ** 4, "aluwr": alu + 1, "control": control + 1,
        "instfetch": fetch + life * share["code"] ** 4, "barrier": life * k["barriers"], "pipestall": 0.02 * life + life * 0.7 * max(pipes) ** 4, "other": 0.02 * life,
    }  # fmt: skip
    whole = sum(why.values())
    return total, {
        "us": total / gpu.clock, "active": active, "idle": max(0.0, 1 - loaded), "occupancy": here / gpu.threads * average / k["longest"] ** 0.8 * 0.97,
        "both": min(pipes[0], pipes[1]) * 0.4, "alu0": pipes[0], "alu1": pipes[1], "send": share["send"] * average * 0.25, "xmx": pipes[2],
        "vram": moved / total / per_cycle, "l3": k["l3"], "lsc": k["lsc"], "l3_stall": share["l3"] ** 3 * 0.8, "queue_full": share["vram"] ** 4 * 0.85,
        "tlb": k["tlb"], "conflicts": 1 - 1 / k["degree"], "slm": share["slm"] / k["degree"], "atomics": k["atomics"] * 4 / max(1e-9, beyond / 64 + k["atomics"] * 4),
        "icache": 1 - (max(0.0, 1 - 48 / k["code"]) * 0.6 if k["code"] > 48 else 0.001), "sampler": min(0.99, share["sampler"] * 1.1), "bottleneck": share["sampler"] ** 3,
        "dispatch": min(0.9, k["room"] * 0.8), "used": k["used"], "fp64": k["f64"], "math": k["math"],
        **{n: stalled * t / whole for n, t in why.items()},
    }  # fmt: skip


def xe_shares(gpu: xe.Xe, k: Work) -> dict[str, float]:
    """The kernel as `xe_kernels` takes it."""
    return xe.WELL | {n: k[n] for n in ("groups", "group")} | _xe(gpu, k)[1]


def xe_saved(gpu: xe.Xe, k: Work, cure: Work) -> float:
    """Share of the time that goes with the illness."""
    return 1 - _xe(gpu, {**k, **cure})[0] / _xe(gpu, k)[0]
