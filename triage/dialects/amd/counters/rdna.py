"""What the counters of RDNA mean: other names than on gfx9, and other units under the same names.

Source: rocprofiler-sdk, counter definitions of gfx10, gfx11 and gfx12 (OccupancyPercent, WAVE_DEP_WAIT, VALUBusy, LdsUtil,
FETCH_SIZE, WRITE_SIZE). SQ_WAVE_CYCLES counts single cycles here, and four SIMDs, one WGP's, share the cycles that pipes count.
"""

from __future__ import annotations

from collections.abc import Iterable

_READS = "GL2C_EA_RDREQ_{}B_sum"
_WGP = "(GRBM_GUI_ACTIVE * cu_per_gpu / 2)"
_CLOCKS = "max_sclk / 1000 * gpu.time"  # MHz and ns
_SIZES = (32, 64, 96, 128)


def _bytes(*sizes: int) -> str:
    return " + ".join(f"{s} * {_READS.format(s)}" for s in sizes)


def _requests(*sizes: int) -> str:
    return "(" + " + ".join(_READS.format(s) for s in sizes) + ")"


# as counter_names.FORMULAS: the first whose names are all there wins. gfx12 has no reads of 96 bytes
FORMULAS: tuple[tuple[str, str], ...] = (
    ("valu.busy", f"SQ_INST_CYCLES_VALU / {_WGP}"),
    ("valu.busy", f"SQ_INST_CYCLES_VALU / ({_CLOCKS} * cu_per_gpu / 2)"),
    ("sm.occupancy_elapsed", "SQ_WAVE_CYCLES / (GRBM_GUI_ACTIVE * cu_per_gpu * max_waves_per_cu)"),
    ("sm.occupancy_elapsed", f"SQ_WAVE_CYCLES / ({_CLOCKS} * cu_per_gpu * max_waves_per_cu)"),
    ("sm.active_warps", "SQ_WAVE_CYCLES / SQ_BUSY_CYCLES"),
    ("waves.dependency_wait", "SQ_WAIT_ANY / SQ_WAVE_CYCLES"),
    ("waves.issue_wait", "SQ_WAIT_INST_ANY / SQ_WAVE_CYCLES"),
    ("lds.busy", f"SQC_LDS_IDX_ACTIVE / {_WGP}"),
    ("lds.busy", f"SQC_LDS_IDX_ACTIVE / ({_CLOCKS} * cu_per_gpu / 2)"),
    ("mem_unit.busy", "TA_TA_BUSY_max / GRBM_GUI_ACTIVE"),
    ("l1tex.hit_rate", "max(0, 1 - TCP_REQ_MISS_sum / TCP_REQ_sum)"),
    ("l2.throughput", f"GL2C_REQ_sum / (total_l2_chan * {_CLOCKS})"),
    ("l2.throughput", f"(GL2C_HIT_sum + GL2C_MISS_sum) / (total_l2_chan * {_CLOCKS})"),
    ("vram.bytes_read", _bytes(*_SIZES)),
    ("vram.bytes_read", _bytes(32, 64, 128)),
    ("vram.bytes_written", "32 * (GL2C_MC_WRREQ_sum - GL2C_EA_WRREQ_64B_sum) + 64 * GL2C_EA_WRREQ_64B_sum"),
    ("fabric.read_32b_share", f"{_READS.format(32)} / {_requests(*_SIZES)}"),
    ("fabric.read_32b_share", f"{_READS.format(32)} / {_requests(32, 64, 128)}"),
    ("l1i.hit_rate", "SQC_ICACHE_HITS / (SQC_ICACHE_HITS + SQC_ICACHE_MISSES)"),
)
# shares that rocprof prints under one name for both families, and that are of something else here
DIRECT = {"LDSBankConflict": ("lds.bank_conflict_rate", 0.01)}
# derived metrics that the definitions give for gfx9 alone; gfx12 has VALUBusy, of SQ_INST_CYCLES_VALU
LACKING = frozenset(
    "VALUBusy SALUBusy VALUUtilization VALUThreadUtilization MfmaUtil MemUnitStalled SQ_INSTS FetchSize WriteSize TCC_REQ_sum"
    " WaveDepWait WaveIssueWait WaveExec ValuPipeIssueUtil SIMD_UTILIZATION AvgNumActiveThreads LdsBankConflict LdsUtil TaUtil"
    " vL1dCacheUtil vL1dBufCoalesceRate vL1dDataPendRate vL1dRdTagConfStallRate sL1dCacheHitRate EaRdLatency EaWrLatency".split()
)
_OWN = ("GL2C_", "GL1C_", "TCP_REQ")


def is_rdna(arch: str, counters: Iterable[str] = ()) -> bool:
    """Is it an RDNA GPU: by its name, else by counters that only RDNA has?"""
    if arch:
        return arch.startswith(("gfx10", "gfx11", "gfx12"))
    return any(c.startswith(_OWN) for c in counters)
