"""Shares of peak of AMD's compute units and Intel's vector engines, and how a launch fills them.

Neither vendor prints an SM's share of peak. The busiest of the pipes that issue stands for it: the share of the time in
which vector, scalar, matrix or memory instructions were issued, which is what a share of the issue peak is.
"""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Values
from triage.derive import View
from triage.derive._arrays import first, full, highest, over
from triage.derive._derivation import Derivation
from triage.derive.launch_shape import arguments, model_for_limits
from triage.derive.vendor import RDNA, vendor_of
from triage.devices import AmdLimits, IntelLimits
from triage.devices.limit_tables import amd_rows
from triage.ground.columns import is_column
from triage.ground.method import HIGH

AMD_PIPES = ("valu.busy", "mfma.busy", "salu.busy", "vmem.busy", "branch.busy")
XE_PIPES = ("eu.active", "eu.pipe0", "eu.pipe1", "eu.pipe2", "eu.xmx")
SIMDS = 4  # of a compute unit, before RDNA


def _busiest(vector: Values, *rest: Values) -> Values:
    """The busiest pipe; without the main one only where another is so busy that it leads anyway."""
    top = highest(vector, *rest)
    # MI300 issues to two pipes at once, so that a busy time can pass 100 %
    return np.minimum(np.where(np.isnan(vector) & np.logical_not(top >= HIGH), np.nan, top), 1.0)


def _sm(*pipes: Values) -> Values:
    amd, xe = pipes[: len(AMD_PIPES)], pipes[len(AMD_PIPES) :]
    return first(_busiest(*amd), _busiest(*xe))


def _per_simd(view: View) -> Values:
    """Waves of the launch over the SIMDs (vector engines) of the GPU."""
    device = view.capture.device
    limits = None if device is None else device.limits
    simds = limits.engines if isinstance(limits, IntelLimits) else SIMDS
    simds = limits.simds if isinstance(limits, AmdLimits) else simds
    waves = first(view["waves.launched"], view["launch.grid_size"] * view["launch.group_warps"])
    return over(waves, view["device.sm_count"] * simds)


def _held(view: View) -> Values:
    """Waves resident per compute unit, where the number of its SIMDs is known."""
    device = view.capture.device
    limits = None if device is None else device.limits
    return view["waves.per_simd"] * limits.simds if isinstance(limits, AmdLimits) else np.nan


def _conflict_time(stall: Values, rate: Values, busy: Values, per_access: Values, bandwidth: Values) -> Values:
    """Share of the time that bank conflicts take: measured, their rate times how busy the LDS is, or per access times its useful bandwidth."""
    rate = first(rate, per_access / (1 + per_access))
    return np.clip(first(stall, rate * busy, per_access * bandwidth, rate * bandwidth), 0.0, 1.0)


def _xmx_share(fp16: Values, bf16: Values, int8: Values, every: Values, *alus: Values) -> Values:
    """Matrix instructions over all that pipes executed; 0 where the counters of all types say so."""
    types = sum(np.nan_to_num(v) for v in (fp16, bf16, int8))
    matrix = first(every, np.where(np.isnan(highest(fp16, bf16, int8)), np.nan, types), alus[2])
    return over(matrix, matrix + np.nan_to_num(alus[0]) + np.nan_to_num(alus[1]))


def _xmx(view: View) -> Values:
    """The matrix unit's time: Xe2 calls it the third pipe; else its instructions, one per clock and engine at most."""
    device = view.capture.device
    limits = None if device is None else device.limits
    engines = limits.engines if isinstance(limits, IntelLimits) else np.nan
    slots = view["gpu.cycles"] * view["device.sm_count"] * engines
    return np.minimum(first(view["eu.pipe2"], over(first(view["eu.inst_xmx"], view["eu.inst_alu2"]), slots)), 1.0)


def _slm_conflicts(conflicts: Values, accesses: Values, read: Values, written: Values) -> Values:
    moved = (read + np.nan_to_num(written)) / LINE
    return np.minimum(over(conflicts, first(accesses, moved)), 1.0)


def _barriers(
    stall: Values, active: Values, read: Values, written: Values, lookups: Values, *barriers: Values
) -> Values:
    """Stalls that nothing but barriers explains: threads pass several, and hardly ask L3 beside what SLM moves."""
    messages, threads = barriers
    alone = (messages * WIDEST >= SEVERAL * threads) & (read + written >= APART * LINE * lookups)
    return np.where(alone, np.maximum(stall - active, 0.0), np.nan)


def _allowed(view: View) -> Values:
    """The most occupancy that any AMD GPU allows a launch whose GPU is not known; its scalar registers tell RDNA from the others."""
    asked = arguments(view) if view.capture.device is None and vendor_of(view.capture) == "amd" else None
    if asked is None:
        return np.nan
    at, launch = asked
    out, wave = np.full(view.size, np.nan), full(view["launch.wave_size"], view.size)[at[0]]
    kinds = {bool(full(view["device.is_rdna"], 1)[0])} if is_column(view["launch.scalar_registers"]) else {True, False}
    for limits in amd_rows():
        if limits.arch.startswith(RDNA) in kinds and (model := model_for_limits(limits, wave)) is not None:
            core = model.run(**launch)
            out[at] = np.fmax(out[at], core.groups * np.minimum(core.waves, model.slots) / model.slots)
    return out


_REASONS = ("sbid", "sendwr", "aluwr", "barrier", "control", "instfetch", "pipestall", "other")
FEWEST_SLOTS = 8  # wave slots of a SIMD on Polaris, CDNA 2 and 3; all others have 10, 16 or 20 (devices/amd_limits.csv)
LINE = 64.0  # bytes of a request to SLM and L3 (Intel)
WIDEST = 32  # threads that one instruction serves, and one barrier message stands for, at most
SEVERAL, APART = 4, 8  # heuristics: messages per WIDEST threads, times the bytes of L3 in SLM
DERIVATIONS = (
    Derivation(
        "sm.throughput",
        "the busiest of the pipes: vector, matrix, scalar and memory issue (AMD), vector engine active (Intel)", _sm,
        optional=(*AMD_PIPES, *XE_PIPES),
    ),
    Derivation(
        "launch.waves_per_simd", "waves launched, else groups x waves per group, over compute units x SIMDs", _per_simd,
        optional=("waves.launched", "launch.grid_size", "launch.group_warps", "device.sm_count"), whole=True,
        ask=("launch.grid_size", "launch.block_size"),
    ),
    Derivation("lds.throughput", "LDS busy", lambda busy: busy, ("lds.busy",)),
    Derivation("lds.bank_conflict_rate", "1 - 1 / ways", lambda ways: 1 - 1 / ways, ("shared.conflict_ways",)),
    # active, stalled and idle time are all time; rounding may take the sum just above it
    Derivation(
        "eu.idle", "1 - active - stalled", lambda active, stalled: np.maximum(1 - active - stalled, 0.0), ("eu.active", "eu.stall"),
    ),
    Derivation("eu.pipe1", "the second pipe, extended math", lambda math: math, ("eu.math",)),
    Derivation("sm.active_warps", "waves resident per SIMD x SIMDs", _held, optional=("waves.per_simd",), whole=True),
    Derivation(
        "sm.occupancy_most",
        f"waves resident per SIMD / {FEWEST_SLOTS}, the fewest slots of any AMD GPU, missing where all are filled; else what any allows the launch",
        lambda view: first(np.where((held := view["waves.per_simd"]) < FEWEST_SLOTS, held / FEWEST_SLOTS, np.nan), _allowed(view)),
        optional=("waves.per_simd", "launch.registers", "launch.block_size"), whole=True, ask=("sm.occupancy",),
    ),
    Derivation(
        "lds.conflict_time", "LDS conflict cycles / all cycles, else their share of the LDS's cycles x LDS busy",
        _conflict_time,
        optional=("lds.bank_conflict_stall", "lds.bank_conflict_rate", "lds.busy", "lds.conflicts_per_access", "lds.throughput"),
        ask=("lds.bank_conflict_stall",),
    ),
    Derivation(
        "eu.stall_barrier", "stalled - active, where SLM moves eight times the bytes of L3 between barriers", _barriers,
        ("eu.stall", "eu.active", "slm.bytes_read", "slm.bytes_written", "l3.lookups", "shader.barriers", "invocations.cs"),
    ),
    Derivation(
        "eu.stall_top", "the largest of the stall reasons", highest, optional=tuple(f"eu.stall_{r}" for r in _REASONS),
        ask=("eu.stall_sbid", "eu.stall_barrier"),
    ),
    Derivation(
        "eu.xmx", "the third pipe's time, else matrix instructions / (clocks x engines)", _xmx,
        optional=("eu.pipe2", "eu.inst_xmx", "eu.inst_alu2", "gpu.cycles", "device.sm_count"), whole=True, ask=("eu.pipe2",),
    ),
    Derivation(
        "eu.xmx_share", "matrix instructions / (matrix + ALU instructions)", _xmx_share,
        optional=(*(f"eu.inst_xmx_{t}" for t in ("fp16", "bf16", "int8")), "eu.inst_xmx", *(f"eu.inst_alu{i}" for i in range(3))),
        ask=("eu.inst_xmx_fp16", "eu.inst_xmx_bf16", "eu.inst_alu0"),
    ),
    Derivation(
        "l3.hit_rate", "hits / (hits + misses), else 1 - misses / lookups",
        lambda h, m, n: first(over(h, h + m), np.maximum(1 - over(m, n), 0.0)), optional=("l3.hits", "l3.misses", "l3.lookups"),
        ask=("l3.hits", "l3.misses"),
    ),
    Derivation("lsc.hit_rate", "hits / accesses", lambda h, n: np.minimum(over(h, n), 1.0), ("lsc.hits", "lsc.accesses")),
    Derivation(
        "lsc.overfetch", "memory bytes read / bytes loaded, where nothing is drawn or sampled",
        lambda got, loaded, *others: np.where(np.fmax(highest(*others), 0) > 0, np.nan, over(got, loaded)),
        ("vram.bytes_read", "lsc.bytes_read"), ("sampler.texels", "range.draws"),
    ),
    Derivation("l1i.hit_rate", "hits / (hits + misses)", lambda h, m: over(h, h + m), ("icache.hits", "icache.misses")),
    Derivation(
        "slm.conflict_share", "bank conflicts / accesses, else / (bytes / 64)", _slm_conflicts,
        optional=("slm.bank_conflicts", "slm.accesses", "slm.bytes_read", "slm.bytes_written"),
        ask=("slm.bank_conflicts", "slm.bytes_read"),
    ),
    Derivation(
        "tlb.miss_rate", "TLB misses / L3 reads and writes", lambda m, r, w: np.minimum(over(m, r + np.nan_to_num(w)), 1.0),
        ("tlb.misses", "l3.reads"), ("l3.writes",),
    ),
)  # fmt: skip
