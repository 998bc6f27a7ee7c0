"""How many groups a compute unit of an AMD GPU holds, vectorised.

Follows Mesa's ACO (25.0.7) for GCN and RDNA: waves per SIMD from the register files, then **whole
groups** on the SIMDs of a CU (or of a WGP), then LDS. CDNA has no Mesa back end: there the register
tables are LLVM's (22.1.8) and the whole-group arithmetic stays the same.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from triage.devices import AmdLimits
from triage.ground.errors import TriageError
from triage.occupancy.core import UNLIMITED, Core, Ints, conclude, divide

_SGPRS_OF_A_SLOT = 128  # from gfx10 on (LLVM, AMDGPUBaseInfo.cpp: getTotalNumSGPRs)
_AGPRS = 256  # most a wave can address, on every generation that has them


class AmdOptions(Struct, frozen=True):
    """Wave size (32 or 64 lanes) and whether a group may spread over a whole WGP (RDNA)."""

    wave: int
    mode: str = "cu"


def options_for(limits: AmdLimits, wave: int | None, mode: str | None) -> AmdOptions:
    """Fill in the usual choice and refuse what the hardware has not; raises TriageError."""
    # The narrower one first: RDNA compiles compute kernels for 32 lanes unless asked.
    if wave is None:
        wave = limits.wave_sizes[0]
    if wave not in limits.wave_sizes:
        sizes = " or ".join(str(size) for size in limits.wave_sizes)
        raise TriageError(f"--wave {wave}: {limits.arch} runs waves of {sizes} lanes")
    # CU mode by default: a group in WGP mode spreads over both CUs and may use the LDS of both.
    mode = (mode or "cu").lower()
    if mode not in ("cu", "wgp"):
        raise TriageError(f"--mode {mode!r}: choose cu or wgp")
    if mode == "wgp" and limits.simds_per_wgp is None:
        raise TriageError(f"--mode wgp: {limits.arch} has no WGPs, only RDNA has", "remove --mode")
    return AmdOptions(wave, mode)


def simds(limits: AmdLimits, options: AmdOptions) -> int:
    """SIMDs a group's waves are spread over: those of a CU, or of both CUs of a WGP."""
    if options.mode == "wgp" and limits.simds_per_wgp is not None:
        return limits.simds_per_wgp
    return limits.simds


def lds(limits: AmdLimits, options: AmdOptions) -> int:
    """Bytes of LDS that all resident groups share."""
    if options.mode == "wgp" and limits.lds_per_wgp is not None:
        return limits.lds_per_wgp
    return limits.lds


def total_vgprs(limits: AmdLimits, registers: Ints, agprs: Ints | None) -> Ints:
    """Vector registers that count against the file, from architectural and accumulation ones."""
    if agprs is None:
        return registers
    # CDNA2 and later hand out one file: the accumulation registers follow the architectural ones, which end on a
    # multiple of 4. CDNA1 has two files of one size, so the larger demand decides.
    if limits.agprs == "unified":
        rounded = (registers + 3) // 4 * 4 + agprs
        return np.where(agprs > 0, rounded, registers)
    if limits.agprs == "separate":
        return np.maximum(registers, agprs)
    return registers


def allocated_vgprs(limits: AmdLimits, options: AmdOptions, total: Ints) -> Ints:
    """Vector registers per lane a wave takes: at least one granule, in whole granules."""
    # A wave of 32 lanes takes half the bytes per register, so both the file and the granule count double (RDNA).
    unit = limits.vgpr_unit[options.wave]
    return (np.maximum(total, 1) + (unit - 1)) // unit * unit


def evaluate(
    limits: AmdLimits,
    options: AmdOptions,
    threads: Ints,
    registers: Ints,
    shared: Ints,
    sgprs: Ints | None = None,
    agprs: Ints | None = None,
) -> Core:
    """Limits in groups per CU (per WGP in that mode) for arrays of launches; shared in bytes."""
    # Limits count whole groups: all waves of a group are placed together, so registers for 6 waves per SIMD are worth
    # only 4 where a group brings 4 per SIMD (docs/occupancy.md, "What is counted").
    units = simds(limits, options)
    waves = (threads + (options.wave - 1)) // options.wave
    too_wide = threads > limits.max_threads_per_group
    by_waves = divide(limits.waves_per_simd * units, waves)
    by_waves[too_wide] = 0
    total = total_vgprs(limits, registers, agprs)
    per_simd = divide(limits.vgprs[options.wave], allocated_vgprs(limits, options, total))
    # Waves per SIMD stop at the slots, so unused registers never stand for more groups than fit.
    by_registers = divide(np.minimum(per_simd, limits.waves_per_simd) * units, waves)
    by_registers[total > limits.vgprs_per_wave] = 0
    if agprs is not None:
        # asking for accumulation registers where there are none is refused, not ignored
        by_registers[agprs > (_AGPRS if limits.agprs else 0)] = 0
    most = limits.max_groups_per_wgp if options.mode == "wgp" else limits.max_groups
    # A group of one wave needs no barrier, and barriers are what the 16 (32) groups stand for.
    by_groups = np.full_like(waves, most or limits.max_groups)
    by_groups[waves == 1] = UNLIMITED
    found = {
        "waves": by_waves,
        "groups": by_groups,
        "registers": by_registers,
        "shared": _by_shared(limits, options, shared),
    }
    if sgprs is not None:
        found["sgprs"] = _by_sgprs(limits, sgprs, units, waves)
    return conclude(waves, found)


def sgpr_cap(limits: AmdLimits) -> int:
    """Most scalar registers a wave can have as profilers print them, which is as allocated.

    Up to gfx9 what it can address, plus VCC, flat scratch and XNACK, in whole granules; later 128, one slot's own. On
    Tonga and Iceland a hardware bug fixes the allocation at 96, special registers included.
    """
    unit = limits.sgpr_unit
    if unit is None:
        return _SGPRS_OF_A_SLOT
    return limits.sgprs_per_wave if unit == limits.sgprs_per_wave else -(-(limits.sgprs_per_wave + 6) // unit) * unit


def _by_sgprs(limits: AmdLimits, sgprs: Ints, units: int, waves: Ints) -> Ints:
    if limits.sgprs is None or limits.sgpr_unit is None:
        # From gfx10 on every wave slot owns its 128 scalar registers.
        found = np.full_like(sgprs, UNLIMITED)
    else:
        # At least one granule, as with vector registers, except for a launch that says it uses none.
        unit = limits.sgpr_unit
        per_simd = divide(limits.sgprs, np.maximum((sgprs + (unit - 1)) // unit * unit, unit))
        found = divide(np.minimum(per_simd, limits.waves_per_simd) * units, waves)
        found[sgprs == 0] = UNLIMITED
    found[sgprs > sgpr_cap(limits)] = 0
    return found


def allocated_lds(limits: AmdLimits, shared: Ints) -> Ints:
    """Bytes of LDS a group takes, in whole granules."""
    # LLVM ignores the granule, so its occupancy can be a group higher than what the hardware places.
    unit = limits.lds_unit
    return (shared + (unit - 1)) // unit * unit


def _by_shared(limits: AmdLimits, options: AmdOptions, shared: Ints) -> Ints:
    taken = allocated_lds(limits, shared)
    found = divide(lds(limits, options), np.maximum(taken, 1))
    found[taken == 0] = UNLIMITED
    found[shared > limits.lds_per_group] = 0
    return found
