"""What the counters of RDNA mean: other names than on gfx9, and other units under the same names.

Source: rocprofiler-sdk, counter definitions of gfx10, gfx11 and gfx12 (OccupancyPercent, WAVE_DEP_WAIT, VALUBusy, LdsUtil,
FETCH_SIZE, WRITE_SIZE). SQ_WAVE_CYCLES counts single cycles here. A WGP has four SIMDs and one LDS; cycles of the vector ALU are summed over the SIMDs, which
AMD's VALUBusy divides by WGPs alone, so that it reaches 400 %.
"""

from __future__ import annotations

from collections.abc import Iterable

from triage.capture.arrays import Floats

_READS = "GL2C_EA_RDREQ_{}B_sum"
_WGP = "(GRBM_GUI_ACTIVE * cu_per_gpu / 2)"
_SIMDS = 4  # of a WGP
_CLOCKS = "max_sclk / 1000 * gpu.time"  # MHz and ns
_SIZES = (32, 64, 96, 128)


def _bytes(*sizes: int) -> str:
    return " + ".join(f"{s} * {_READS.format(s)}" for s in sizes)


def _requests(*sizes: int) -> str:
    return "(" + " + ".join(_READS.format(s) for s in sizes) + ")"


# as counter_names.FORMULAS: the first whose names are all there wins. gfx12 has no reads of 96 bytes
FORMULAS: tuple[tuple[str, str], ...] = (
    ("valu.busy", f"SQ_INST_CYCLES_VALU / ({_SIMDS} * {_WGP})"),
    ("valu.busy", f"SQ_INST_CYCLES_VALU / ({_SIMDS} * {_CLOCKS} * cu_per_gpu / 2)"),
    ("sm.occupancy_elapsed", "SQ_WAVE_CYCLES / (GRBM_GUI_ACTIVE * cu_per_gpu * max_waves_per_cu)"),
    ("sm.occupancy_elapsed", f"SQ_WAVE_CYCLES / ({_CLOCKS} * cu_per_gpu * max_waves_per_cu)"),
    ("sm.active_warps", "SQ_WAVE_CYCLES / SQ_BUSY_CYCLES"),
    ("waves.dependency_wait", "SQ_WAIT_ANY / SQ_WAVE_CYCLES"),
    ("waves.issue_wait", "SQ_WAIT_INST_ANY / SQ_WAVE_CYCLES"),
    ("lds.busy", f"SQC_LDS_IDX_ACTIVE / {_WGP}"),
    ("lds.busy", f"SQC_LDS_IDX_ACTIVE / ({_CLOCKS} * cu_per_gpu / 2)"),
    ("mem_unit.busy", "TA_BUSY_max / GRBM_GUI_ACTIVE"),
    ("l1tex.hit_rate", "max(0, 1 - TCP_REQ_MISS_sum / TCP_REQ_sum)"),
    ("l2.throughput", f"GL2C_REQ_sum / (total_l2_chan * {_CLOCKS})"),
    ("l2.throughput", f"(GL2C_HIT_sum + GL2C_MISS_sum) / (total_l2_chan * {_CLOCKS})"),
    ("vram.bytes_read", _bytes(*_SIZES)),
    ("vram.bytes_read", _bytes(32, 64, 128)),
    *(  # gfx12 counts the requests under the other name
        ("vram.bytes_written", f"32 * ({all_} - GL2C_EA_WRREQ_64B_sum) + 64 * GL2C_EA_WRREQ_64B_sum")
        for all_ in ("GL2C_MC_WRREQ_sum", "GL2C_EA_WRREQ_sum")
    ),
    ("fabric.read_32b_share", f"{_READS.format(32)} / {_requests(*_SIZES)}"),
    ("fabric.read_32b_share", f"{_READS.format(32)} / {_requests(32, 64, 128)}"),
    ("l1i.hit_rate", "SQC_ICACHE_HITS / (SQC_ICACHE_HITS + SQC_ICACHE_MISSES)"),
)
# shares that rocprof prints under one name for both families, and that are of something else here
DIRECT = {
    "LDSBankConflict": ("lds.bank_conflict_rate", 0.01),
    "VALUBusy": ("valu.busy", 0.01 / _SIMDS),
    "ValuPipeIssueUtil": ("valu.busy", 0.01 / _SIMDS),
}
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
