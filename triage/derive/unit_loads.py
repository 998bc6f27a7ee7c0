"""How busy each part of the GPU was, from the breakdown behind the shares of peak; and what the busy ones work at.

A roll-up (SM, L1, L2) is the highest of its parts. Where it stands clearly above all parts that were exported, a part
that nobody counted leads, and the roll-up stands for it.
"""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Values
from triage.derive import View
from triage.derive._arrays import first, highest, least, over
from triage.derive._derivation import Derivation
from triage.ground.method import LOW

# NVIDIA, Nsight Compute Profiling Guide: the short scoreboard awaits shared memory, some 20 cycles for each load. Heuristic: half
# of the requests of a busy L1 would be 3 % of warp time and more
MAX_UNAWAITED = 0.005
MAX_UNKNOWN_SHARE = 0.5  # a bound that leaves both answers open is no answer
BEYOND = 0.03  # a roll-up and its highest part come from two passes: that far apart they are still one number
ROUNDED = 0.001  # one figure of one pass, printed twice
# LSU requests L1 takes in per turn of its data stage, both at peak; measured per generation. On sm_120 (public captures of a
# transposition and of a matrix product) that is the rate of loads and of shared memory, a global store takes as long as three.
# sm_100 and sm_103 are left out: public captures of theirs hold the pipe's share of peak beside no count of requests.
PEAK_REQUESTS = {
    **dict.fromkeys(("sm_70", "sm_72", "sm_80", "sm_90"), 1.0),
    **dict.fromkeys(("sm_75", "sm_86", "sm_87", "sm_89", "sm_120"), 0.5),
}
_MATH = ("alu", "fma", "fmaheavy", "fp16", "fp64", "xu", "tensor", "tc", "uniform", "cbu")
_DATA = ("lsu_data", "lsu_writeback", "bank_reads", "bank_writes", "tex_data", "filter", "tex_writeback")
_TEXTURE = ("tex_data", "filter", "tex_writeback")
_SIDES = ("sm.throughput", "memory.throughput", "vram.throughput", "l2.throughput", "sm.issue_per_elapsed")
_ASKED = ("launch.shared_static", "launch.shared_dynamic")
_REQUESTS = tuple(f"{kind}_{op}.requests" for kind in ("global", "local", "shared") for op in ("load", "store"))
TENSOR_OPS = tuple(f"tensor_ops.{t}" for t in ("fp16", "bf16", "tf32", "int8", "fp8", "fp64"))


def _led(whole: Values, *parts: Values) -> Values:
    """The roll-up where none of its parts explains it, else missing."""
    return np.where(np.isnan(highest(*parts)) | (whole > highest(*parts) + BEYOND), whole, np.nan)


def _pipe(view: View, pipe: str) -> Values:
    """Share of peak of one math pipe over elapsed cycles: exported so, else over active cycles times the active share."""
    while_active = np.fmax(view[f"pipe_busy.{pipe}"], view[f"pipe.{pipe}"])
    return first(view[f"pipe_elapsed.{pipe}"], while_active * view["sm.active"])


def _texture_pipe(view: View) -> Values:
    """Share of peak of the texture pipe; over active cycles where nobody knows how long the SM was."""
    return first(_pipe(view, "tex"), view["pipe.tex"])


def _lsu(view: View) -> Values:
    counted = first(view["l1tex.lsu_requests"], view["pipe_elapsed.lsu"], view["pipe.lsu"] * view["sm.active"])
    return first(counted, _of_both_sides(view))


def _of_both_sides(view: View) -> Values:
    """The share of peak that SM and memory have in common where neither L2, DRAM, issue nor a math pipe makes it.

    Both roll-ups count the pipe through which loads, stores and shared memory pass. Else missing.
    """
    sm, memory, *beside = (view[metric] for metric in _SIDES)
    others = highest(*beside, *(view[f"{kind}.{p}"] for kind in ("pipe", "pipe_busy") for p in _MATH))
    return np.where((np.abs(sm - memory) <= ROUNDED) & (sm >= LOW) & (sm > others + BEYOND), sm, np.nan)


def _math(view: View) -> Values:
    pipes = highest(*(_pipe(view, p) for p in _MATH))
    # what L1 writes back the SM takes in: the same transfers count in both roll-ups
    back = view["l1tex.lsu_writeback"]
    # and where the memory pipes are as busy as the SM, one of them leads
    others = (view["unit.issue"], view["unit.lsu"], _texture_pipe(view), back, view["memory.pipes_busy"])
    return highest(pipes, _led(view["sm.throughput"], pipes, *others, _twin(view)))


def _twin(view: View) -> Values:
    """L1's share of peak where it is the SM's too, and issue and pipes are below even while active: what both count are L1's transfers; else missing."""
    sm, l1, issue = view["sm.throughput"], view["l1tex.throughput"], view["sm.issue_per_active"]
    below = highest(issue, *(view[f"{kind}.{p}"] for kind in ("pipe", "pipe_busy") for p in _MATH))
    known = ~np.isnan(issue) & ~np.isnan(view["pipe.fma"])
    return np.where(known & (np.abs(sm - l1) <= ROUNDED) & (below < sm - BEYOND), l1, np.nan)


def _l1_data(whole: Values, lsu: Values, fill: Values, out: Values, *parts: Values) -> Values:
    # the roll-up counts the ways in and out too, which are other units'
    return highest(*parts, _led(whole, lsu, fill, out, *parts))


def _implied_fill(
    l1: Values, link: Values, access: Values, hits: Values, vram: Values, l2: Values, lsu: Values, shared: Values
) -> Values:
    """L1's share of peak where the page's figures leave only its way from L2 to make it; else missing.

    The busiest link is as busy as L1, no stage of L1 that counts as access is, most sectors miss, and neither video memory
    nor L2 nor the load/store pipe nor shared memory makes that figure. L2 sends what arrives: an idle one fills nothing.
    """
    alone = (l1 > highest(access, vram, l2, lsu, shared) + BEYOND) & ~np.isnan(access) & ~(l2 < BEYOND)
    leads = alone & (np.abs(link - l1) <= BEYOND) & (hits < MAX_UNKNOWN_SHARE)
    return np.where(leads, l1, np.nan)


def _useful(*counts: Values) -> Values:
    """A fix of the stores removes nothing that was read, nor one of the loads anything that was written."""
    moved, loads, stores, waste, load_waste, store_waste, read, written = counts
    both = (loads + stores) * 32 * (1 - waste)
    beside_loads, beside_stores = loads * 32 * (1 - load_waste) + written, read + stores * 32 * (1 - store_waste)
    return np.clip(over(first(both, beside_stores, beside_loads), moved), 0.0, 1.0)


def _none_asked(static: Values, dynamic: Values) -> Values:
    """0 where a group asks for no shared memory at all, else missing."""
    return np.where(static + np.nan_to_num(dynamic) == 0, 0.0, np.nan)


def _shared_share(
    part: Values, whole: Values, counted: Values, accesses: Values, atomic: Values, *rest: Values
) -> Values:
    """Shared memory's share of the wavefronts of L1's data stage.

    Hardware counts shuffles and special registers as wavefronts of shared memory, too: kernels without any shared memory
    show one and more per warp. The accesses of the source are counted without them.
    """
    own = first(np.minimum(over(accesses + np.nan_to_num(atomic), counted), 1.0), np.float64(1.0))
    static, dynamic, waits, l1, *through_l2 = rest
    unused = np.where((l1 >= LOW) & (waits < MAX_UNAWAITED), 0.0, np.nan)
    at_least = np.where(part == 0, np.nan, _at_least_shared(l1, *through_l2))
    bounds = _none_asked(static, dynamic), unused, at_least, np.where(part >= LOW, part, np.nan)
    return np.minimum(first(over(part, whole) * own, *bounds), 1.0)


def _at_least_shared(l1: Values, hits: Values, l2: Values) -> Values:
    """Shared memory's least share of L1's turns where L1 is busy, misses, and L2 still has little to do; else missing.

    What misses comes through L2: 64 bytes a cycle and SM at its peak, at least 32 to a turn of L1.
    """
    passed = over(2 * l2, np.where(hits < 1, 1 - hits, np.nan))
    least_share = 1 - over(passed, l1)
    return np.where((l1 >= LOW) & (least_share >= MAX_UNKNOWN_SHARE), least_share, np.nan)


def _turns(view: View) -> Values:
    device = view.capture.device
    rate = PEAK_REQUESTS.get(device.arch) if device is not None else None
    if rate is None:
        return np.nan
    return over(view["l1tex.lsu_data"], rate * view["unit.lsu"])


def _least_turns(view: View) -> Values:
    """Turns per request at least, where the pipe's requests were not counted: SM SOL is not below their share of peak.

    Only where L2 has less than half of L1's load: then no link to it is what keeps L1 busy, its access stages are.
    """
    device = view.capture.device
    rate = PEAK_REQUESTS.get(device.arch) if device is not None and device.arch else max(PEAK_REQUESTS.values())
    if rate is None:
        return np.nan
    l1, counted = view["unit.l1_data"], ~np.isnan(view["unit.lsu"])
    return np.where(counted | (l1 <= 2 * view["l2.throughput"]), np.nan, over(l1, rate * view["sm.throughput"]))


def _matrix(view: View) -> Values:
    active = highest(*(view[f"{kind}.{p}"] for kind in ("pipe_busy", "pipe") for p in ("tensor", "tc")))
    return first(
        highest(*(_pipe(view, p) for p in ("tensor", "tc"))), active, highest(*map(view.__getitem__, TENSOR_OPS))
    )


def _operations(view: View, metric: str) -> Values:
    """Counted operations over what the device's data sheet states for dense FP16 products; the time is the launch's."""
    device = view.capture.device
    peak = None if device is None else device.peaks.fp16_tensor_tflops
    return np.nan if peak is None else over(view[metric], peak * 1e3 * view["gpu.time"])  # TFLOP/s times ns


DERIVATIONS = (
    *(
        Derivation(
            f"tensor_ops.{t}", f"flop.tensor_{t} / (peak of dense FP16 products x time)",
            lambda view, t=t: _operations(view, f"flop.tensor_{t}"), (f"flop.tensor_{t}", "gpu.time"), whole=True,
            ask=(f"tensor_ops.{t}",),
        )
        for t in ("fp16", "bf16")
    ),
    Derivation(
        "l1tex.fill", "TEX SOL, where the busiest link is as busy, most sectors miss and nothing else makes that figure",
        _implied_fill, ("l1tex.throughput", "memory.request_throughput", "memory.access_throughput", "l1tex.hit_rate"),
        ("vram.throughput", "l2.throughput", "memory.pipes_busy", "l1tex.shared_data"),
    ),
    # a wavefront per cycle is the peak of an SM's data stage
    Derivation(
        "l1tex.shared_data", "wavefronts of shared memory, else those of its accesses, / elapsed cycles of all L1s",
        lambda waves, accesses, cycles: np.minimum(over(first(waves, accesses), cycles), 1.0),
        optional=("shared.wavefronts", "shared.access_wavefronts", "l1tex.cycles_elapsed_sum"), ask=("shared.wavefronts",),
    ),
    Derivation(
        "unit.matrix",
        "the busier of the tensor pipes of all generations, over elapsed cycles, else operations over their peak", _matrix,
        optional=(*(f"{kind}.{p}" for p in ("tensor", "tc") for kind in ("pipe_elapsed", "pipe_busy", "pipe")), *TENSOR_OPS),
        whole=True, ask=("pipe_elapsed.tensor",),
    ),
    Derivation(
        "unit.lsu",
        "L1's input from the LSU, else the LSU pipe, else what SM and memory share above all that only one of them counts",
        _lsu, optional=("l1tex.lsu_requests", "pipe_elapsed.lsu", "pipe.lsu", "sm.active", *_SIDES), whole=True,
        ask=("l1tex.lsu_requests",),
    ),
    Derivation(
        "unit.l1_data", "the highest of L1's data stage, banks and write-back; L1's share of peak where none of them is higher",
        _l1_data, optional=("l1tex.throughput", "unit.lsu", "l1tex.fill", "l1tex.to_l2", *(f"l1tex.{p}" for p in _DATA)),
        ask=("l1tex.lsu_data", "l1tex.throughput"),
    ),
    Derivation(
        "unit.texture", "the highest of L1's texture data stage, filter, write-back and input pipe",
        lambda view: highest(*(view[f"l1tex.{part}"] for part in _TEXTURE), _texture_pipe(view)),
        optional=(*(f"l1tex.{p}" for p in _TEXTURE), "pipe_elapsed.tex", "pipe.tex"), whole=True,
        ask=("l1tex.filter", "l1tex.tex_data"),
    ),
    Derivation(
        "unit.shared",
        "shared memory's part of L1's data stage, the LDS's share of peak or time; 0 for groups without shared memory",
        lambda part, lds, static, dynamic: first(part, lds, _none_asked(static, dynamic)),
        optional=("l1tex.shared_data", "lds.throughput", *_ASKED), ask=("l1tex.shared_data",),
    ),
    Derivation(
        "unit.l2", "the highest of L2, its look-up and the crossbar", highest,
        optional=("l2.throughput", "l2.active", "l1tex.fill", "l1tex.to_l2"), ask=("l2.throughput",),
    ),
    Derivation(
        "unit.vram", "the higher of VRAM active and VRAM SOL", highest, optional=("vram.active", "vram.throughput"),
        ask=("vram.throughput",),
    ),
    Derivation(
        "unit.math", "the busiest math pipe; SM SOL where no measured part of the SM is higher", _math,
        optional=("sm.throughput", "l1tex.throughput", "sm.issue_per_active", *(f"pipe_elapsed.{p}" for p in _MATH), *(f"pipe.{p}" for p in _MATH)),
        whole=True, ask=("sm.throughput",),
    ),
    Derivation(
        "unit.issue", "issue slots used, else instructions executed, over elapsed cycles; at most those over active cycles",
        lambda issued, executed, rate, active: first(issued, executed, rate * first(active, 1.0)),
        optional=("sm.issue_per_elapsed", "sm.inst_per_elapsed", "sm.issue_per_active", "sm.active"),
        ask=("sm.issue_per_elapsed",),
    ),
    Derivation(
        "unit.top", "the highest share of peak of all measured units", highest,
        optional=(*(f"unit.{u}" for u in ("lsu", "l1_data", "shared", "l2", "vram", "math", "issue")), *(f"{u}.throughput" for u in ("sm", "l1tex", "l2", "vram", "memory"))),
        ask=("sm.throughput", "memory.throughput"),
    ),
    Derivation(
        "unit.shading", "the highest measured part of the shader cores, stalls not counted", highest,
        optional=(*("sm.throughput", "sm.issue_per_active", "unit.math", "pipe.fma", "pipe.alu", "valu.busy", "eu.active"), "alu.utilization"),
        ask=("sm.throughput",),
    ),
    Derivation(
        "unit.shared_active", "shared memory's part of L1's data stage / SM active, else / share of SMs with a group",
        lambda busy, active, idle: np.minimum(over(busy, first(active, np.where(idle > 0, 1 - idle, np.nan))), 1.0),
        ("unit.shared",), ("sm.active", "launch.idle_sms"),
    ),
    # what the busy ones work at
    Derivation(
        "l1tex.shared_share",
        "wavefronts of shared memory accesses / all wavefronts of L1's data stage; 0 for groups without shared memory, or where L1 is busy and no warp waits for it; at least the part that L2 cannot have sent",
        _shared_share,
        optional=("l1tex.shared_data", "l1tex.lsu_data", "shared.wavefronts", "shared.access_wavefronts", "atomics.shared_wavefronts", *_ASKED, "stall.short_scoreboard", "l1tex.throughput", "l1tex.hit_rate", "l2.throughput"),
        ask=("l1tex.shared_data", "l1tex.lsu_data"),
    ),
    Derivation(
        "lsu.turns_per_request", "wavefronts of L1's data stage / LSU requests, at the generation's peak rates", _turns,
        optional=("l1tex.lsu_data", "unit.lsu"), whole=True, ask=("l1tex.lsu_data", "l1tex.lsu_requests"),
    ),
    Derivation(
        "lsu.least_turns",
        "L1's share of peak / SM SOL at the generation's peak rates, where LSU requests were not counted and L2 is less than half as busy as L1",
        _least_turns, optional=("unit.l1_data", "unit.lsu", "l2.throughput", "sm.throughput"), whole=True,
        ask=("l1tex.lsu_data", "l1tex.lsu_requests"),
    ),
    Derivation(
        "global_access.request_share", "global requests / (global + local + shared requests)",
        lambda gl, gs, ll, ls, sl, ss: over(gl + gs, gl + gs + ll + ls + sl + ss), _REQUESTS,
    ),
    Derivation(
        "vram.useful_share",
        "bytes requested by global accesses / VRAM bytes; where loads or stores were not counted, all that VRAM read or wrote for them",
        _useful, ("vram.bytes",),
        ("global_load.sectors", "global_store.sectors", "global_access.waste", "global_load.waste", "global_store.waste", "vram.bytes_read", "vram.bytes_written"),
        ask=("global_load.sectors", "global_store.sectors"),
    ),
    Derivation(
        "warp.used_threads", "the lower of active and predicated-on threads", least,
        optional=("warp.unpredicated_threads_per_inst", "warp.threads_per_inst"), ask=("warp.unpredicated_threads_per_inst",),
    ),
    Derivation("warp.latency", "cycles of all warps / warps launched", over, ("warp.cycles_all", "sm.warps_launched")),
    Derivation(
        "inst.per_warp", "instructions executed / warps launched",
        lambda n, warps, groups, each: over(n, first(warps, groups * each)), ("inst.executed",),
        ("sm.warps_launched", "launch.grid_size", "launch.group_warps"),
    ),
)  # fmt: skip
