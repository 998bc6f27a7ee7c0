"""Kernels with one known illness each, as AMD's and Intel's profilers would print them; all figures made up.

A patient is told in shares (how busy, how often, how long); `counters` turns them into the counters of its GPU, so that
no reader is spared its own formulas. Cycles of a CU are the clock times the duration; SQ counts in groups of four.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Gpu:
    """What the shares are of: compute units, SIMDs of each, wave slots of each, dies, engines, L2 channels, MHz, GB/s."""

    arch: str
    product: str
    units: int
    simds: int
    slots: int
    dies: int
    engines: int
    channels: int
    clock: float
    memory: float
    wave: int = 64


GPUS = {
    "MI50": Gpu("gfx906", "AMD Radeon Instinct MI50", 60, 4, 10, 1, 4, 16, 1725, 1024),
    "Vega 64": Gpu("gfx900", "Radeon RX Vega 64", 64, 4, 10, 1, 4, 16, 1546, 484),
    "MI100": Gpu("gfx908", "AMD Instinct MI100", 120, 4, 10, 1, 8, 32, 1502, 1228.8),
    "MI210": Gpu("gfx90a", "AMD Instinct MI210", 104, 4, 8, 1, 8, 32, 1700, 1638.4),
    "MI300X": Gpu("gfx942", "AMD Instinct MI300X", 304, 4, 8, 8, 32, 128, 2100, 5300),
    "MI300A": Gpu("gfx942", "AMD Instinct MI300A", 228, 4, 8, 6, 24, 96, 2100, 5300),
    "MI355X": Gpu("gfx950", "AMD Instinct MI355X", 256, 4, 8, 8, 32, 128, 2400, 8000),
    "RX 6800 XT": Gpu("gfx1030", "AMD Radeon RX 6800 XT", 72, 2, 16, 1, 4, 16, 2250, 512, 32),
    "RX 7900 XTX": Gpu("gfx1100", "AMD Radeon RX 7900 XTX", 96, 2, 16, 1, 6, 24, 2500, 960, 32),
    "RX 9070 XT": Gpu("gfx1201", "AMD Radeon RX 9070 XT", 64, 2, 16, 1, 4, 16, 2970, 640, 32),
}
# a kernel that does a little of everything: nothing here is an illness
WELL: dict[str, float] = {
    "us": 900, "groups": 20_000, "group": 256, "vgpr": 32, "agpr": 0, "sgpr": 32, "lds": 0, "scratch": 0,
    "valu": 0.30, "salu": 0.08, "mfma": 0, "lanes": 0.98, "lds_busy": 0, "conflicts": 0, "occupancy": 0.85, "active": 0.97,
    "waiting": 0.45, "ta": 0.35, "ta_stalled": 0.05, "write_stalled": 0.01, "lines": 4, "l1": 0.72, "l2": 0.75, "vram": 0.25,
    "tlb": 0.002, "atomics": 0, "icache": 0.999, "remote": 0, "halves": 0.02, "uneven": 1.1, "l1_stalled": 0.15,
    "vgpr_full": 0, "sgpr_full": 0, "lds_full": 0, "slots_full": 0.1, "barriers_full": 0, "scratch_full": 0, "lds_waits": 0.01,
}  # fmt: skip


def loads(gpu: Gpu, k: Numbers) -> float:
    """Vector memory instructions whose lines, less what L1 and L2 hold, are the bytes that memory moved."""
    line = 64 if gpu.wave == 32 or gpu.arch in ("gfx900", "gfx906", "gfx908") else 128
    return k["vram"] * gpu.memory * k["us"] * 1e3 / (k["lines"] * line * (1 - k["l1"]) * (1 - k["l2"]))


def shape(gpu: Gpu, k: Numbers) -> dict[str, float]:
    """Launch shape under the reader-neutral names: work-items, group, bytes, registers."""
    return {"grid": k["groups"] * k["group"], **{n: k[n] for n in ("group", "lds", "scratch", "vgpr", "agpr", "sgpr")}}


def counters(gpu: Gpu, k: Numbers) -> dict[str, float]:
    """Counters of the gfx9 family (Vega and CDNA), in the units of the hardware."""
    cycles = gpu.clock * k["us"]  # of one die
    cu, waves = cycles * gpu.units, k["groups"] * ceil(k["group"] / gpu.wave)
    life = k["occupancy"] * gpu.slots * gpu.simds * cu * k["active"] / 4
    vmem = loads(gpu, k)
    lines = vmem * k["lines"]
    requests = lines * (1 - k["l1"])
    moved = k["vram"] * gpu.memory * k["us"] * 1e3
    reads = 0.7 * moved / 64
    ea = "TCC_EA0" if gpu.arch in ("gfx942", "gfx950") else "TCC_EA"
    valu = k["valu"] * cu
    lds = k["lds_busy"] * cu
    insts = valu / k.get("cycles_each", 1)  # transcendentals and doubles take several
    return {
        "GRBM_COUNT": cycles * gpu.dies * 1.01, "GRBM_GUI_ACTIVE": cycles * gpu.dies, "GRBM_SPI_BUSY": cycles * gpu.dies,
        "SQ_WAVES": waves, "SQ_BUSY_CU_CYCLES": cu * k["active"], "SQ_WAVE_CYCLES": life, "SQ_WAIT_ANY": life * k["waiting"],
        "SQ_WAIT_INST_ANY": life * 0.08, "SQ_WAIT_INST_LDS": life * k["lds_waits"],
        "SQ_ACTIVE_INST_ANY": life * max(0.02, 0.9 - k["waiting"]),
        "SQ_ACTIVE_INST_VALU": valu, "SQ_ACTIVE_INST_SCA": k["salu"] * cu, "SQ_ACTIVE_INST_VMEM": vmem, "SQ_ACTIVE_INST_FLAT": 0,
        "SQ_ACTIVE_INST_MISC": 0.02 * cu, "SQ_THREAD_CYCLES_VALU": valu * gpu.wave * k["lanes"], "SQ_INSTS_VALU": insts,
        "SQ_VALU_MFMA_BUSY_CYCLES": k["mfma"] * cu * 4, "SQ_INSTS_MFMA": k["mfma"] * cu / 8, "SQ_INSTS": valu * 1.5,
        "SQ_INSTS_VMEM_RD": vmem * 0.8, "SQ_INSTS_VMEM_WR": vmem * 0.2, "SQ_INSTS_LDS": lds / 2,
        "SQ_LDS_IDX_ACTIVE": lds, "SQ_LDS_BANK_CONFLICT": lds * k["conflicts"],
        "SQ_INSTS_VALU_TRANS_F32": insts * k.get("trans", 0), "SQ_INSTS_VALU_TRANS_F16": 0,
        **{f"SQ_INSTS_VALU_{op}_F64": insts * k.get("fp64", 0) * part for op, part in (("ADD", 0.2), ("MUL", 0.2), ("FMA", 0.6), ("TRANS", 0))},
        "SQC_DCACHE_HITS": 1e6 * (1 - k.get("scalar_misses", 0.004)), "SQC_DCACHE_MISSES": 1e6 * k.get("scalar_misses", 0.004),
        "SQC_ICACHE_HITS": 1e6 * k["icache"], "SQC_ICACHE_MISSES": 1e6 * (1 - k["icache"]),
        "TA_TA_BUSY_sum": k["ta"] * cu, "TA_ADDR_STALLED_BY_TC_CYCLES_sum": k["ta_stalled"] * cu, "TA_TOTAL_WAVEFRONTS_sum": vmem,
        "TCP_GATE_EN1_sum": cu, "TCP_GATE_EN2_sum": k["ta"] * cu, "TCP_PENDING_STALL_CYCLES_sum": k["l1_stalled"] * cu,
        "TCP_TOTAL_CACHE_ACCESSES_sum": lines, "TCP_TCC_READ_REQ_sum": requests * 0.8, "TCP_TCC_WRITE_REQ_sum": requests * 0.2,
        "TCP_TCC_ATOMIC_WITH_RET_REQ_sum": 0, "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": requests * k["atomics"],
        "TCP_UTCL1_REQUEST_sum": lines, "TCP_UTCL1_TRANSLATION_MISS_sum": lines * k["tlb"],
        "TCP_UTCL1_TRANSLATION_HIT_sum": lines * (1 - k["tlb"]),
        "TCC_REQ_sum": requests, "TCC_HIT_sum": requests * k["l2"], "TCC_MISS_sum": requests * (1 - k["l2"]),
        "TCC_ATOMIC_sum": requests * k["atomics"], "TCC_BUSY_sum": 0.5 * cycles * gpu.channels,
        f"{ea}_RDREQ_sum": reads * (1 + k["halves"]), f"{ea}_RDREQ_32B_sum": reads * 2 * k["halves"],
        f"{ea}_RDREQ_DRAM_sum": reads * (1 + k["halves"]) * (1 - k["remote"]), "TCC_BUBBLE_sum": 0,
        f"{ea}_WRREQ_sum": 0.3 * moved / 64, f"{ea}_WRREQ_64B_sum": 0.3 * moved / 64,
        "SPI_RA_VGPR_SIMD_FULL_CSN": k["vgpr_full"] * cu, "SPI_RA_SGPR_SIMD_FULL_CSN": k["sgpr_full"] * cu,
        "SPI_RA_LDS_CU_FULL_CSN": k["lds_full"] * cu / 4, "SPI_RA_WAVE_SIMD_FULL_CSN": k["slots_full"] * cu,
        "SPI_RA_BAR_CU_FULL_CSN": k["barriers_full"] * cu / 4, "SPI_RA_TMP_STALL_CSN": k["scratch_full"] * cycles * gpu.engines,
    }  # fmt: skip


def derived(gpu: Gpu, k: Numbers) -> dict[str, float]:
    """What rocprof computes of them, in per cent and kilobytes."""
    moved = k["vram"] * gpu.memory * k["us"] * 1e3 / 1024
    rdna, waves = gpu.wave == 32, k["groups"] * ceil(k["group"] / gpu.wave)
    each = loads(gpu, k) / waves
    return {
        "Wavefronts": waves, "VALUBusy": (400 if rdna else 100) * k["valu"], "SALUBusy": 100 * k["salu"],
        "VALUUtilization": 100 * k["lanes"], "MemUnitBusy": 100 * k["ta"], "MemUnitStalled": 100 * k["ta_stalled"],
        "WriteUnitStalled": 100 * k["write_stalled"], "L2CacheHit": 100 * k["l2"], "MfmaUtil": 100 * k["mfma"],
        "LDSBankConflict": 100 * k["conflicts"] * (1 if rdna else k["lds_busy"]), "ALUStalledByLDS": 100 * k["lds_waits"],
        "OccupancyPercent": 100 * k["occupancy"] * k["active"], "FETCH_SIZE": 0.7 * moved, "WRITE_SIZE": 0.3 * moved,
        "VFetchInsts": 0.8 * each, "VWriteInsts": 0.2 * each, "FlatVMemInsts": 0,
    }  # fmt: skip


def rdna(gpu: Gpu, k: Numbers) -> dict[str, float]:
    """Raw counters that RDNA has, in its own units: cycles are not counted in fours."""
    cycles = gpu.clock * k["us"]
    cu, waves = cycles * gpu.units, k["groups"] * ceil(k["group"] / gpu.wave)
    life = k["occupancy"] * gpu.slots * gpu.simds * cu * k["active"]
    requests = loads(gpu, k) * k["lines"]
    misses = requests * (1 - k["l1"])
    reads = 0.7 * k["vram"] * gpu.memory * k["us"] * 1e3 / 128
    return {
        "GRBM_COUNT": cycles * 1.01, "GRBM_GUI_ACTIVE": cycles, "SQ_WAVES": waves, "SQ_WAVE_CYCLES": life, "SQ_WAIT_ANY": life * k["waiting"],
        "SQC_LDS_IDX_ACTIVE": k["lds_busy"] * cu / 2, "SQC_LDS_BANK_CONFLICT": k["lds_busy"] * cu / 2 * k["conflicts"],
        "TCP_REQ_sum": requests, "TCP_REQ_MISS_sum": misses, "GL2C_REQ_sum": misses, "GL2C_HIT_sum": misses * k["l2"],
        "GL2C_MISS_sum": misses * (1 - k["l2"]), "GL2C_EA_RDREQ_32B_sum": 0, "GL2C_EA_RDREQ_64B_sum": 0, "GL2C_EA_RDREQ_96B_sum": 0,
        "GL2C_EA_RDREQ_128B_sum": reads, "GL2C_MC_WRREQ_sum": 0.3 * reads / 0.7 * 2, "GL2C_EA_WRREQ_64B_sum": 0.3 * reads / 0.7 * 2,
        "SQ_WAIT_INST_ANY": life * 0.08, "TA_BUSY_max": k["ta"] * cycles, "SQ_INST_CYCLES_VALU": k["valu"] * cu * 2,
    }  # fmt: skip


_V1 = ("Index", "KernelName", "gpu-id", "queue-id", "queue-index", "pid", "tid", "grd", "wgr", "lds", "scr", "arch_vgpr",
       "accum_vgpr", "sgpr", "wave_size", "sig", "obj")  # fmt: skip
_SHAPES = {"grid": "Grid_Size", "group": "Workgroup_Size", "lds": "LDS_Block_Size", "scratch": "Scratch_Size",
           "vgpr": "VGPR_Count", "agpr": "Accum_VGPR_Count", "sgpr": "SGPR_Count"}  # fmt: skip
_START = 1_700_000_000_000_000_000


def v1(path: Path, gpu: Gpu, rows: Iterable[tuple[str, Numbers]], only: Iterable[str] = ()) -> Path:
    """rocprof v1: one row per dispatch, derived metrics and whatever counters `only` names."""
    lines, at = [], 948_231_000_000_000_000
    for i, (name, k) in enumerate(rows):
        s, values = shape(gpu, k), counters(gpu, k) | derived(gpu, k)
        if not lines:
            chosen = list(only) or [n for n in derived(gpu, k) if n not in ("OccupancyPercent", "FlatVMemInsts")]
            lines.append([*_V1, *chosen, "DispatchNs", "BeginNs", "EndNs", "CompleteNs", "DurationNs"])
        time = round(k["us"] * 1000)
        lines.append([str(c) for c in (i, f"{name} [clone .kd]", 2, 0, i, 31177, 31177, round(s["grid"]), *(round(s[n]) for n in ("group", "lds", "scratch", "vgpr", "agpr", "sgpr")),
                      gpu.wave, "0x0", "0x7f3c5de10", *(f"{values[c]:.10f}" for c in chosen), at - 4000, at, at + time, at + time + 900, time)])  # fmt: skip
        at += time + 10_000
    return _write(path, lines)


def v3(
    path: Path, gpu: Gpu, rows: Iterable[tuple[str, Numbers]], only: Iterable[str] = (), agents: bool = True
) -> Path:
    """rocprofv3: one row per dispatch and counter, with the table of the agents beside it or without."""
    head = ("Correlation_Id", "Dispatch_Id", "Agent_Id", "Queue_Id", "Process_Id", "Thread_Id", *list(_SHAPES.values())[:1], "Kernel_Id", "Kernel_Name", *list(_SHAPES.values())[1:],
            "Counter_Name", "Counter_Value", "Start_Timestamp", "End_Timestamp")  # fmt: skip
    lines, at = [list(head)], _START
    for i, (name, k) in enumerate(rows, 1):
        s, all_of = shape(gpu, k), (rdna if gpu.wave == 32 else counters)(gpu, k)
        values = {**all_of, **derived(gpu, k)}
        time = round(k["us"] * 1000)
        later = gpu.arch.startswith("gfx12")
        taken = list(only) or [c for c in all_of if later or c != "SQ_INST_CYCLES_VALU"]
        before = (
            i,
            i,
            "Agent 4",
            1,
            4711,
            4711,
            round(s["grid"]),
            10 + i,
            name,
            *(round(s[n]) for n in list(_SHAPES)[1:]),
        )
        lines += [[*map(str, before), c, f"{values[c]:.6f}", str(at), str(at + time)] for c in taken]
        at += time + 10_000
    if agents:
        wide = ("Node_Id", "Agent_Type", "Simd_Count", "Max_Waves_Per_Simd", "Wave_Front_Size", "Num_Xcc", "Cu_Count",
                "Simd_Per_Cu", "Max_Engine_Clk_Fcompute", "Name", "Product_Name")  # fmt: skip
        info = (
            4,
            "GPU",
            gpu.units * gpu.simds,
            gpu.slots,
            gpu.wave,
            gpu.dies,
            gpu.units,
            gpu.simds,
            round(gpu.clock),
            gpu.arch,
            gpu.product,
        )
        _write(
            path.with_name(path.name.replace("counter_collection", "agent_info")),
            [list(wide), [0, "CPU", *[0] * 7, "EPYC", "EPYC"], [str(c) for c in info]],
        )
    return _write(path, lines)


def compute(
    folder: Path, gpu: Gpu, rows: Iterable[tuple[str, Numbers]], long: bool = False, sysinfo: bool = True
) -> Path:
    """rocprof-compute: a folder with pmc_perf.csv, wide or long, and the one row about the GPU or not."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = list(rows)
    if long:
        v3(folder / "pmc_perf.csv", gpu, rows, agents=False)
    else:
        names = ("Dispatch_ID", "GPU_ID", "Queue_ID", "PID", "TID", "Grid_Size", "Workgroup_Size", "LDS_Per_Workgroup", "Scratch_Per_Workitem", "Arch_VGPR", "Accum_VGPR", "SGPR", "Wave_Size", "Kernel_Name",
                 "Start_Timestamp", "End_Timestamp", "Correlation_ID")  # fmt: skip
        lines, at = [[*names, *counters(gpu, rows[0][1])]], _START
        for i, (name, k) in enumerate(rows):
            s, time = shape(gpu, k), round(k["us"] * 1000)
            cells = (i, 2, i, 4711, 4711, round(s["grid"]), *(round(s[n]) for n in ("group", "lds", "scratch", "vgpr", "agpr", "sgpr")), gpu.wave, f"{name} (.kd)", at, at + time, 0, *(f"{v:.1f}" for v in counters(gpu, k).values()))  # fmt: skip
            lines.append([str(c) for c in cells])
            at += time + 10_000
        _write(folder / "pmc_perf.csv", lines)
    if sysinfo:
        info = {"workload_name": "patients", "gpu_model": gpu.product.split()[-1], "gpu_arch": gpu.arch, "cu_per_gpu": gpu.units, "simd_per_cu": gpu.simds, "se_per_gpu": gpu.engines,
                "wave_size": gpu.wave, "max_waves_per_cu": gpu.simds * gpu.slots, "max_sclk": round(gpu.clock), "total_l2_chan": gpu.channels, "hbm_bw": gpu.memory, "num_xcd": gpu.dies}  # fmt: skip
        _write(folder / "sysinfo.csv", [list(info), [str(v) for v in info.values()]])
    return folder


def _write(path: Path, lines: list[list[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as f:
        csv.writer(f).writerows(lines)
    return path


def leads(found: Sequence[str], listed: Sequence[str]) -> tuple[str, str]:
    """The first cause found and the first listed; a unit at its limit promises nothing, so it stands in no list."""
    limit = "near-limit" if "near-limit" in found else ""
    return found[0] if found else "", listed[0] if listed else limit
