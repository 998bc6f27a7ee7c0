"""What AMD's counters mean: names that are metrics already, and formulas that make metrics of raw counters.

Sources: ROCm profiler documentation (derived metrics), ROCm Compute Profiler documentation (System Speed-of-Light,
workgroup manager, LDS, vector L1, L2 pages). Hardware sizes come from the export's own sysinfo.csv under these names:
cu_per_gpu, se_per_gpu, num_xcd, max_waves_per_cu, total_l2_chan, max_sclk (MHz), hbm_bw (GB/s). GRBM counters are
summed over the XCDs of a multi-die GPU, so that one die's cycles are GRBM_GUI_ACTIVE / num_xcd.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from triage.dialects.amd.counters import availability, rdna
from triage.dialects.tables.formulas import names

# derived metric as rocprof prints it -> (canonical id, factor to the canonical unit). Shares are printed in percent,
# fetched and written sizes in kilobytes of 1024
DIRECT: dict[str, tuple[str, float]] = {
    "VALUBusy": ("valu.busy", 0.01),
    "SALUBusy": ("salu.busy", 0.01),
    "VALUUtilization": ("valu.utilization", 0.01),
    "VALUThreadUtilization": ("valu.utilization", 0.01),
    "MfmaUtil": ("mfma.busy", 0.01),
    "MemUnitBusy": ("mem_unit.busy", 0.01),
    "MemUnitStalled": ("mem_unit.stalled", 0.01),
    "WriteUnitStalled": ("mem_unit.write_stalled", 0.01),
    "LDSBankConflict": ("lds.bank_conflict_stall", 0.01),
    "ALUStalledByLDS": ("lds.alu_stalled", 0.01),
    "L2CacheHit": ("l2.hit_rate", 0.01),
    "GPUBusy": ("gpu.active", 0.01),
    "GPU_UTIL": ("gpu.active", 0.01),
    "OccupancyPercent": ("sm.occupancy_elapsed", 0.01),
    "MeanOccupancyPerActiveCU": ("sm.active_warps", 1.0),
    "FETCH_SIZE": ("vram.bytes_read", 1024.0),
    "FetchSize": ("vram.bytes_read", 1024.0),
    "WRITE_SIZE": ("vram.bytes_written", 1024.0),
    "WriteSize": ("vram.bytes_written", 1024.0),
    "Wavefronts": ("waves.launched", 1.0),
    "SQ_WAVES": ("waves.launched", 1.0),
    "SQ_WAVES_sum": ("waves.launched", 1.0),
    "SQ_INSTS": ("inst.executed", 1.0),
    # derived metrics of rocprofiler-sdk under names of its own
    "WAVE_DEP_WAIT": ("waves.dependency_wait", 0.01),
    "WaveDepWait": ("waves.dependency_wait", 0.01),
    "WAVE_ISSUE_WAIT": ("waves.issue_wait", 0.01),
    "WaveIssueWait": ("waves.issue_wait", 0.01),
    "WaveExec": ("waves.active", 0.01),
    "ValuPipeIssueUtil": ("valu.busy", 0.01),
    "SIMD_UTILIZATION": ("sm.active", 1.0),
    "AvgNumActiveThreads": ("valu.active_threads", 1.0),
    "LdsUtil": ("lds.busy", 0.01),
    "LdsBankConflict": ("lds.conflicts_per_access", 1.0),
    "TaUtil": ("mem_unit.busy", 0.01),
    "vL1dCacheUtil": ("l1tex.busy", 0.01),
    "vL1dBufCoalesceRate": ("l1tex.coalescing", 0.01),
    "vL1dDataPendRate": ("l1tex.stalled_l2", 0.01),
    "vL1dRdTagConfStallRate": ("l1tex.tag_stall", 0.01),
    "sL1dCacheHitRate": ("sl1d.hit_rate", 0.01),
    "EaRdLatency": ("fabric.read_latency", 1.0),
    "EaWrLatency": ("fabric.write_latency", 1.0),
    "TCC_REQ_sum": ("l2.requests", 1.0),
    "GL2C_REQ_sum": ("l2.requests", 1.0),
}

# of DIRECT, what only rocprofiler-sdk (rocprofv3) derives
SDK_ONLY = frozenset(
    "WAVE_DEP_WAIT WaveDepWait WAVE_ISSUE_WAIT WaveIssueWait WaveExec ValuPipeIssueUtil SIMD_UTILIZATION AvgNumActiveThreads"
    " LdsUtil LdsBankConflict TaUtil vL1dCacheUtil vL1dBufCoalesceRate vL1dDataPendRate vL1dRdTagConfStallRate"
    " sL1dCacheHitRate EaRdLatency EaWrLatency GPU_UTIL".split()
)

# clocks within the kernel's time, if its cycles were not counted: an upper bound, so shares come out low
_CLOCKS = "max_sclk / 1000 * gpu.time"  # MHz and ns
# cycles summed over what a counter is summed over: every CU, or every shader engine's workgroup dispatcher
_CU = "(GRBM_GUI_ACTIVE / num_xcd * cu_per_gpu)"
_SPI = "(GRBM_SPI_BUSY / num_xcd * se_per_gpu)"
# every request that the vector L1 passes on to L2
_L1_MISSES = (
    "(TCP_TCC_READ_REQ_sum + TCP_TCC_WRITE_REQ_sum + TCP_TCC_ATOMIC_WITH_RET_REQ_sum"
    " + TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum)"
)
_EA_READ = (
    # CDNA4 counts the three request sizes one by one, CDNA3 counts 128-byte reads as "bubble"
    "32 * TCC_EA0_RDREQ_32B_sum + 64 * TCC_EA0_RDREQ_64B_sum + 128 * TCC_EA0_RDREQ_128B_sum",
    "128 * TCC_BUBBLE_sum + 64 * (TCC_EA0_RDREQ_sum - TCC_BUBBLE_sum - TCC_EA0_RDREQ_32B_sum)"
    " + 32 * TCC_EA0_RDREQ_32B_sum",
    "32 * TCC_EA_RDREQ_32B_sum + 64 * (TCC_EA_RDREQ_sum - TCC_EA_RDREQ_32B_sum)",
)


def _ea(formula: str) -> tuple[tuple[str, ...], ...]:
    """A formula over the L2-fabric counters, in the spelling of CDNA3 and of CDNA1/2."""
    return ((formula.replace("TCC_EA_", "TCC_EA0_"),), (formula,))


def _flops(bits: str) -> str:
    p = "SQ_INSTS_VALU"
    return f"64 * ({p}_ADD_{bits} + {p}_MUL_{bits} + {p}_TRANS_{bits} + 2 * {p}_FMA_{bits}) / gpu.time * 1000000000"


def _wide(*narrow: str) -> str:
    mops = "SQ_INSTS_VALU_MFMA_MOPS_"
    wide = f"{mops}F32 + {mops}F64"
    return f"({wide}) / ({wide} + {' + '.join(mops + n for n in narrow)})"


# matrix operations in units of 512; each generation counts the types it has (CDNA4, CDNA3, CDNA2)
_NAMES_BY_WIDTH = (_wide("F16", "BF16", "F8", "F6F4"), _wide("F16", "BF16", "F8"), _wide("F16", "BF16"))


_INSTS = "SQ_INSTS_VALU"
_UTCL2 = ("LFIFO_NOT_RES", "UTCL2_REQ_OUT_OF_CREDITS")


# (canonical id, formula): tried in this order, the first formula whose names are all there wins. A formula may use
# metrics above it, so the order matters for what depends on what
_BASE: tuple[tuple[str, str], ...] = (
    ("gpu.active", "GRBM_GUI_ACTIVE / GRBM_COUNT"),
    ("valu.busy", f"SQ_ACTIVE_INST_VALU / {_CU}"),
    # a vector instruction of 64 lanes takes four cycles of one of four SIMDs (CDNA ISA): busy at least
    ("valu.busy", f"SQ_INSTS_VALU / {_CU}"),
    ("salu.busy", f"SQ_ACTIVE_INST_SCA / {_CU}"),
    ("vmem.busy", f"(SQ_ACTIVE_INST_FLAT + SQ_ACTIVE_INST_VMEM) / {_CU}"),
    ("branch.busy", f"SQ_ACTIVE_INST_MISC / {_CU}"),
    ("mfma.busy", f"SQ_VALU_MFMA_BUSY_CYCLES / ({_CU} * 4)"),
    ("valu.active_threads", "SQ_THREAD_CYCLES_VALU / SQ_ACTIVE_INST_VALU"),
    ("valu.utilization", "SQ_THREAD_CYCLES_VALU / SQ_ACTIVE_INST_VALU / launch.wave_size"),
    ("cu.ipc", "SQ_INSTS / SQ_BUSY_CU_CYCLES"),
    ("sm.active", f"SQ_BUSY_CU_CYCLES / {_CU}"),
    ("sm.active_warps", "4 * SQ_WAVE_CYCLES / SQ_BUSY_CU_CYCLES"),  # SQ_WAVE_CYCLES counts in fours
    ("sm.occupancy", "sm.active_warps / max_waves_per_cu"),
    (
        "sm.occupancy_elapsed",
        "SQ_LEVEL_WAVES.SQ_ACCUM_PREV_HIRES / (SQ_LEVEL_WAVES.GRBM_GUI_ACTIVE / num_xcd * cu_per_gpu * max_waves_per_cu)",
    ),
    ("sm.occupancy_elapsed", f"SQ_LEVEL_WAVES_ACCUM / ({_CU} * max_waves_per_cu)"),
    ("sm.occupancy_elapsed", "MeanOccupancyPerCU / max_waves_per_cu"),
    ("sm.occupancy_elapsed", f"4 * SQ_WAVE_CYCLES / ({_CU} * max_waves_per_cu)"),
    ("waves.dependency_wait", "SQ_WAIT_ANY / SQ_WAVE_CYCLES"),
    ("waves.issue_wait", "SQ_WAIT_INST_ANY / SQ_WAVE_CYCLES"),
    ("waves.active", "SQ_ACTIVE_INST_ANY / SQ_WAVE_CYCLES"),
    ("waves.lds_wait", "SQ_WAIT_INST_LDS / SQ_WAVE_CYCLES"),
    ("valu.insts", "SQ_INSTS_VALU"),
    ("valu.insts", "VALUInsts * waves.launched"),  # per work-item, of those that are active
    # double precision and transcendentals among the vector instructions: what makes them slow
    ("valu.fp64_share", f"({' + '.join(f'{_INSTS}_{op}_F64' for op in ('ADD', 'MUL', 'FMA', 'TRANS'))}) / {_INSTS}"),
    ("valu.trans_share", f"({_INSTS}_TRANS_F16 + {_INSTS}_TRANS_F32) / {_INSTS}"),
    ("valu.trans_share", f"{_INSTS}_TRANS_F32 / {_INSTS}"),
    ("vmem.insts", "SQ_INSTS_VMEM"),
    ("vmem.insts", "SQ_INSTS_VMEM_RD + SQ_INSTS_VMEM_WR"),
    ("vmem.load_insts", "SQ_INSTS_VMEM_RD"),
    ("vmem.load_insts", "SQ_INSTS_TEX_LOAD"),
    ("vmem.load_insts", "VFetchInsts * waves.launched"),
    # per wave and instruction, as rocprof v1 and the Radeon profilers average them
    ("vmem.insts", "(VFetchInsts + VWriteInsts + FlatVMemInsts) * waves.launched"),
    ("vmem.insts", "(VFetchInsts + VWriteInsts) * waves.launched"),
    ("lds.insts", "SQ_INSTS_LDS"),
    ("mfma.inst_share", "SQ_INSTS_MFMA / SQ_INSTS_VALU"),
    *(("mfma.inst_share", f"SQ_INSTS_VALU_MFMA_{kind} / SQ_INSTS_VALU") for kind in ("F16", "BF16", "F8")),
    *(("mfma.wide_share", f) for f in _NAMES_BY_WIDTH),
    ("lds.busy", f"SQ_LDS_IDX_ACTIVE / {_CU}"),
    ("lds.bank_conflict_rate", "SQ_LDS_BANK_CONFLICT / SQ_LDS_IDX_ACTIVE"),
    ("lds.bank_conflict_rate", "SQC_LDS_BANK_CONFLICT / SQC_LDS_IDX_ACTIVE"),  # RDNA counts them in another block
    ("lds.conflicts_per_inst", "SQ_LDS_BANK_CONFLICT / SQ_INSTS_LDS"),
    ("lds.conflicts_per_access", "SQ_LDS_BANK_CONFLICT / (SQ_LDS_IDX_ACTIVE - SQ_LDS_BANK_CONFLICT)"),
    ("lds.bank_conflict_stall", f"SQ_LDS_BANK_CONFLICT / {_CU}"),
    ("mem_unit.busy", f"TA_TA_BUSY_sum / {_CU}"),
    ("mem_unit.stalled", f"TA_ADDR_STALLED_BY_TC_CYCLES_sum / {_CU}"),
    ("mem_unit.write_stalled", f"TA_DATA_STALLED_BY_TC_CYCLES_sum / {_CU}"),
    ("l1tex.hit_rate", f"max(0, 1 - {_L1_MISSES} / TCP_TOTAL_CACHE_ACCESSES_sum)"),
    ("l1tex.busy", "TCP_GATE_EN2_sum / TCP_GATE_EN1_sum"),
    ("l1tex.stalled_l2", "TCP_PENDING_STALL_CYCLES_sum / TCP_GATE_EN1_sum"),
    ("l1tex.coalescing", "64 * TA_TOTAL_WAVEFRONTS_sum / (4 * TCP_TOTAL_ACCESSES_sum)"),
    ("l1tex.tag_stall", "TCP_READ_TAGCONFLICT_STALL_CYCLES_sum / TCP_GATE_EN1_sum"),
    # a fully used line is one request per 64 or 128 bytes, whatever the lanes asked for
    ("vmem.lines_per_inst", "TCP_TOTAL_CACHE_ACCESSES_sum / TA_TOTAL_WAVEFRONTS_sum"),
    ("vmem.lines_per_inst", "TCP_TOTAL_CACHE_ACCESSES_sum / vmem.insts"),
    ("vmem.l2_requests_per_inst", "TCC_REQ_sum / vmem.insts"),
    # stores pass the vector L1: each of its requests to L2 is a line that lanes of a store touched
    ("vmem.lines_per_store", "TCP_TCC_WRITE_REQ_sum / SQ_INSTS_VMEM_WR"),
    # dense stores leave L2 as whole lines, however they came: lines at least
    ("vmem.lines_per_store", "vram.bytes_written / 64 / SQ_INSTS_VMEM_WR"),
    ("vmem.store_share", "TCP_TCC_WRITE_REQ_sum / (TCP_TCC_READ_REQ_sum + TCP_TCC_WRITE_REQ_sum)"),
    ("tlb.miss_rate", "TCP_UTCL1_TRANSLATION_MISS_sum / TCP_UTCL1_REQUEST_sum"),
    ("tlb.miss_rate", "max(0, 1 - TCP_UTCL1_TRANSLATION_HIT_sum / TCP_UTCL1_REQUEST_sum)"),
    ("tlb.miss_rate", "1 - vL1dCacheTcbHitRate / 100"),
    (
        "tlb.miss_rate",
        "TCP_UTCL1_TRANSLATION_MISS_sum / (TCP_UTCL1_TRANSLATION_HIT_sum + TCP_UTCL1_TRANSLATION_MISS_sum)",
    ),
    # what waits for L2's translation cache: its answer, then credits to ask it (MI300 and MI350)
    *(
        ("tlb.stall", f"({' + '.join(f'TCP_UTCL1_STALL_{w}_sum' for w in waits)}) / TCP_GATE_EN1_sum")
        for waits in (_UTCL2, _UTCL2[:1], _UTCL2[1:])
    ),
    ("atomics.share", "TCC_ATOMIC_sum / TCC_REQ_sum"),
    ("atomics.share", "TCC_ATOMIC_sum / (TCC_HIT_sum + TCC_MISS_sum)"),
    ("atomics.share", "(TCP_TOTAL_ATOMIC_WITH_RET_sum + TCP_TOTAL_ATOMIC_WITHOUT_RET_sum) / TCP_TOTAL_ACCESSES_sum"),
    # one cache line per CU and clock is the vector L1's peak, one request per channel and clock that of L2
    ("l1tex.throughput", f"TCP_TOTAL_CACHE_ACCESSES_sum / (cu_per_gpu * {_CLOCKS})"),
    ("l2.throughput", f"TCC_REQ_sum / (total_l2_chan * {_CLOCKS})"),
    ("l2.busy", "TCC_BUSY_sum / (total_l2_chan * GRBM_GUI_ACTIVE / num_xcd)"),
    ("l2.hit_rate", "TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)"),
    ("l2.hit_rate", "GL2C_HIT_sum / (GL2C_HIT_sum + GL2C_MISS_sum)"),
    *(("vram.bytes_read", f) for f in _EA_READ),
    *(
        ("vram.bytes_written", f)
        for (f,) in _ea("64 * TCC_EA_WRREQ_64B_sum + 32 * (TCC_EA_WRREQ_sum - TCC_EA_WRREQ_64B_sum)")
    ),
    ("vmem.l2_reads", "TCP_TCC_READ_REQ_sum"),
    ("vmem.bytes_per_inst", "(vram.bytes_read + vram.bytes_written) / vmem.insts"),
    ("vmem.bytes_per_load", "vram.bytes_read / vmem.load_insts"),
    # the address unit takes the addresses of sixteen lanes a cycle (ROCm Compute Profiler, vector L1: address processing unit)
    ("vmem.address_share", f"4 * vmem.load_insts / {_CU}"),
    ("vram.bandwidth", "(vram.bytes_read + vram.bytes_written) / gpu.time * 1000000000"),
    ("vram.throughput", "(vram.bytes_read + vram.bytes_written) / (hbm_bw * gpu.time)"),  # GB/s times ns is bytes
    ("fabric.read_throughput", "vram.bytes_read / (hbm_bw * gpu.time)"),
    ("fabric.write_throughput", "vram.bytes_written / (hbm_bw * gpu.time)"),
    *(("fabric.read_latency", f) for (f,) in _ea("TCC_EA_RDREQ_LEVEL_sum / TCC_EA_RDREQ_sum")),
    *(("fabric.write_latency", f) for (f,) in _ea("TCC_EA_WRREQ_LEVEL_sum / TCC_EA_WRREQ_sum")),
    *(("fabric.remote_reads", f) for (f,) in _ea("max(0, 1 - TCC_EA_RDREQ_DRAM_sum / TCC_EA_RDREQ_sum)")),
    ("atomics.fabric_share", "TCC_EA0_ATOMIC_sum / TCC_EA0_WRREQ_sum"),
    *(("fabric.read_32b_share", f) for (f,) in _ea("TCC_EA_RDREQ_32B_sum / TCC_EA_RDREQ_sum")),
    *(("fabric.write_stall", f) for (f,) in _ea("TCC_EA_WRREQ_STALL_sum / TCC_BUSY_sum")),
    ("sl1d.hit_rate", "SQC_DCACHE_HITS / (SQC_DCACHE_HITS + SQC_DCACHE_MISSES)"),
    ("l1i.hit_rate", "SQC_ICACHE_HITS / (SQC_ICACHE_HITS + SQC_ICACHE_MISSES)"),
    ("sched.insufficient_waveslots", f"SPI_RA_WAVE_SIMD_FULL_CSN / {_CU}"),
    ("sched.insufficient_vgprs", f"SPI_RA_VGPR_SIMD_FULL_CSN / {_CU}"),
    ("sched.insufficient_sgprs", f"SPI_RA_SGPR_SIMD_FULL_CSN / {_CU}"),
    ("sched.insufficient_lds", f"4 * SPI_RA_LDS_CU_FULL_CSN / {_CU}"),
    ("sched.insufficient_barriers", f"4 * SPI_RA_BAR_CU_FULL_CSN / {_CU}"),
    ("sched.workgroup_limit", f"4 * SPI_RA_TGLIM_CU_FULL_CSN / {_CU}"),
    ("sched.wave_limit", f"4 * SPI_RA_WVLIM_STALL_CSN / {_CU}"),
    ("sched.insufficient_scratch", f"SPI_RA_TMP_STALL_CSN / {_SPI}"),
    ("sched.not_scheduled", f"SPI_RA_REQ_NO_ALLOC_CSN / {_SPI}"),
    ("sched.resource_stall", f"SPI_RA_RES_STALL_CSN / {_SPI}"),
    ("flop.rate_fp32", _flops("F32")),
    ("flop.rate_fp64", _flops("F64")),
)
FORMULAS = (*_BASE, *((m, f.replace(_CU, f"({_CLOCKS} * cu_per_gpu)")) for m, f in _BASE if _CU in f))
# the units of these counters are those of the gfx9 family; others count otherwise under the same names
_GFX9 = re.compile(r"\b(?:SQ_(?!INSTS_)|SQC_(?!LDS)|SPI_|TA_|TCP_|TCC_)")
_SHARED = tuple((m, f) for m, f in FORMULAS if not _GFX9.search(f))


def formulas_of(arch: str, columns: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
    """The formulas that hold for a GPU: by its gfx name, where that is known, else by what was counted."""
    if rdna.is_rdna(arch, columns):
        return (*rdna.FORMULAS, *_SHARED)
    return _SHARED if arch and not arch.startswith("gfx9") else FORMULAS


def direct(arch: str, columns: Iterable[str] = ()) -> dict[str, tuple[str, float]]:
    """DIRECT as it holds for a GPU."""
    return DIRECT | rdna.DIRECT if rdna.is_rdna(arch, columns) else DIRECT


# sub-units whose busiest is the compute unit's share of peak
SM_PARTS = ("valu.busy", "mfma.busy", "salu.busy", "vmem.busy", "branch.busy")
ONE_XCD = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx90c")  # single-die architectures
INFINITY_CACHE = ("gfx940", "gfx941", "gfx942", "gfx950")  # fabric traffic may be answered before it reaches HBM
SPECS = ("cu_per_gpu", "se_per_gpu", "num_xcd", "max_waves_per_cu", "total_l2_chan", "max_sclk", "hbm_bw")


def exported(sizes: tuple[str, ...] = SPECS, arch: str = "") -> dict[str, list[str]]:
    """canonical id -> counter names it is printed as or computed from, where only `sizes` of the GPU are known.

    A formula counts when its sizes are known and every metric in it can itself be had.
    """
    out: dict[str, list[str]] = {}
    for header, (metric, _) in direct(arch).items():
        if not arch or availability.spelled(header, arch):
            out.setdefault(metric, []).append(header)
    for metric, formula in formulas_of(arch):
        used = names(formula)
        if arch and not all(availability.spelled(n, arch) for n in _inputs(formula)):
            continue
        if all(n in sizes for n in used if n in SPECS) and all(
            n in out for n in used if n.islower() and n not in SPECS and n not in GIVEN
        ):
            out.setdefault(metric, []).append(formula)
    if "valu.busy" in out:
        out["sm.throughput"] = [f"max({', '.join(SM_PARTS)})"]
    return out


def counters(metric: str, arch: str = "", without: frozenset[str] = frozenset()) -> list[str]:
    """Counters to collect for a metric: the derived one where there is one, else all inputs of a formula; [] where the GPU has none.

    arch: gfx name, where it is known; else names that all Instinct GPUs have. without: derived metrics that the tool does not know.
    """
    for header, (known, _) in direct(arch).items():
        if known == metric and header not in without and (name := availability.spelled(header, arch)):
            return [name]
    for known, formula in formulas_of(arch):
        if known == metric and (found := _obtainable(formula, arch, without)):
            return found
    return [c for part in SM_PARTS[:2] for c in counters(part, arch, without)] if metric == "sm.throughput" else []


def _obtainable(formula: str, arch: str, without: frozenset[str]) -> list[str]:
    """Counters of a formula, [] where the GPU lacks one of them or of the metrics in it."""
    found: list[str] = []
    for name in names(formula):
        if name in SPECS or name in GIVEN:
            continue
        # a counter of another pass, as `SQ_LEVEL_WAVES.GRBM_GUI_ACTIVE`, is rocprof-compute's affair
        one = counters(name, arch, without) if name.islower() else [availability.spelled(name, arch)]
        if not one or not all(one):
            return []
        found += one
    return list(dict.fromkeys(found))


def _inputs(formula: str) -> list[str]:
    return [n.rpartition(".")[2] for n in names(formula) if not n.islower()]


def first(arch: str = "") -> list[str]:
    """Counters to collect first, if none was asked for: waits and busy units."""
    asked = (
        "waves.launched",
        "valu.busy",
        "waves.dependency_wait",
        "mem_unit.busy",
        "l2.hit_rate",
        "sm.occupancy_elapsed",
    )
    return list(dict.fromkeys(c for m in asked for c in counters(m, arch)))


GIVEN = ("gpu.time", "launch.wave_size")  # every export with dispatches carries these
