"""What the counters of RDNA mean: other names than on gfx9, and other units under the same names.

Source: rocprofiler-sdk, counter definitions of gfx10, gfx11 and gfx12 (OccupancyPercent, WAVE_DEP_WAIT, VALUBusy, LdsUtil,
FETCH_SIZE, WRITE_SIZE). SQ_WAVE_CYCLES counts single cycles here. A WGP has four SIMDs and one LDS; cycles of the vector ALU are summed over the SIMDs, which
AMD's VALUBusy divides by WGPs alone, so that it reaches 400 %; older tools divide by the SIMDs, as their instructions tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from triage.capture.arrays import Floats
from triage.capture.capture import Column
from triage.ground import csv_rows

_SIMDS = 4  # of a WGP
_SUMMED = {"WGP": "(GRBM_GUI_ACTIVE * cu_per_gpu / 2)", "CLOCKS": "max_sclk / 1000 * gpu.time"}  # MHz and ns
# as counter_names.FORMULAS: the first whose names are all there wins
FORMULAS = tuple((m, f.format_map(_SUMMED)) for m, f in csv_rows.rows(__file__, "rdna_formulas.csv"))
# shares that rocprof prints under one name for both families, and that are of something else here
DIRECT = {
    "LDSBankConflict": ("lds.bank_conflict_rate", 0.01),
    "VALUBusy": ("valu.busy", 0.01 / _SIMDS),
    "ValuPipeIssueUtil": ("valu.busy", 0.01 / _SIMDS),
    "MeanOccupancyPerActiveCU": ("sm.active_warps", 0.5),  # divided by cycles of WGPs, of two CUs each
}
_WAVES = 16  # of a SIMD
_COUNTED = ("VALUBusy", "SQ_INSTS_VALU", "SQ_WAVE_CYCLES", "OccupancyPercent")
SGPRS = 128  # of every wave (LLVM, AMDGPUBaseInfo.cpp: getTotalNumSGPRs)
UNKNOWN = "gfx1"  # an RDNA GPU, whichever
_OWN = ("GL2C_", "GL1C_", "TCP_REQ")


def is_rdna(arch: str, counters: Iterable[str] = ()) -> bool:
    """True for an RDNA GPU: by its name, else by counters that only RDNA has."""
    if arch:
        return arch == UNKNOWN or arch.startswith(("gfx10", "gfx11", "gfx12"))
    return any(c.startswith(_OWN) for c in counters)


def has_rdna_registers(sgprs: Floats) -> bool:
    """True if all waves hold 128 scalar registers, as from gfx10 on; before it a wave has 112 at most."""
    return len(sgprs) > 0 and bool((sgprs == SGPRS).all())


def of_simds(counters: Mapping[str, Column]) -> dict[str, tuple[str, float]]:
    """VALUBusy as a share of the SIMDs, where it is: an instruction takes a SIMD for one cycle at least."""
    if not all(name in counters for name in _COUNTED):
        return {}
    busy, instructions, cycles, percent = (counters[name].values for name in _COUNTED)
    more = instructions * _WAVES * percent > cycles * busy / _SIMDS
    return {"VALUBusy": ("valu.busy", 0.01)} if more.any() else {}
