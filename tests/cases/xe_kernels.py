"""Kernels with one known illness each, as Intel's tools print them for each generation of Xe; all figures made up.

Told in shares of the time, as the vector engines count them; bytes and requests follow from the share of the memory's peak.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Xe:
    """Xe cores, engines of each, threads of an engine, MHz, GB/s, SIMD width of the kernels here; spelling of the metrics."""

    cores: int
    engines: int
    threads: int
    clock: float
    memory: float
    simd: int
    old: bool = False


GPUS = {
    "Iris Xe Graphics": Xe(6, 16, 7, 1350, 68, 16, old=True),
    "Arc A770": Xe(32, 16, 8, 2100, 560, 16),
    "Data Center GPU Max 1550": Xe(64, 8, 8, 1600, 1638.4, 32),
    "Arc B580": Xe(20, 8, 8, 2670, 456, 16),
}
STALLS = ("sbid", "sendwr", "aluwr", "barrier", "control", "instfetch", "pipestall", "other")
# a kernel that does a little of everything
WELL: dict[str, float] = {
    "us": 800, "groups": 8000, "group": 256, "active": 0.55, "idle": 0.02, "occupancy": 0.88, "both": 0.15, "alu0": 0.30, "alu1": 0.25,
    "send": 0.06, "xmx": 0, "vram": 0.25, "l3": 0.75, "lsc": 0.60, "l3_stall": 0.05, "queue_full": 0.02, "tlb": 0.001,
    "conflicts": 0, "slm": 0, "atomics": 0, "icache": 0.999, "sampler": 0, "bottleneck": 0, "dispatch": 0, "used": 1, "fp64": 0, "math": 0.02,
    "sbid": 0.15, "sendwr": 0.03, "aluwr": 0.05, "barrier": 0, "control": 0.02, "instfetch": 0.005, "pipestall": 0.03, "other": 0.02,
}  # fmt: skip


def metrics(gpu: Xe, k: Numbers) -> dict[str, float]:
    """Columns with their units, of all metric sets together."""
    ns = k["us"] * 1e3
    cycles = gpu.clock * k["us"]
    engines = cycles * gpu.cores * gpu.engines
    read, written = 0.7 * k["vram"] * gpu.memory * ns, 0.3 * k["vram"] * gpu.memory * ns
    misses = (read + written) / 64
    lookups = misses / (1 - k["l3"])
    stall = max(0.0, 1 - k["active"] - k["idle"])
    head = {"GpuTime[ns]": ns, "GpuCoreClocks[cycles]": cycles, "AvgGpuCoreFrequencyMHz[MHz]": gpu.clock}
    loaded = lookups * 64 / (1 - k["lsc"]) * k["used"] if k["used"] == 1 else read * k["used"]
    slm = k["slm"] * cycles * gpu.cores  # accesses of 64 bytes
    if gpu.old:  # metric sets up to Xe-LP: no stall reasons, no load/store cache
        return head | {
            "GpuBusy[%]": 99, "CsThreads[threads]": k["groups"] * k["group"] / gpu.simd, "EuActive[%]": 100 * k["active"], "EuStall[%]": 100 * stall,
            "EuFpuBothActive[%]": 100 * k["both"], "Fpu0Active[%]": 100 * k["alu0"], "Fpu1Active[%]": 100 * k["alu1"], "EuAvgIpcRate[number]": 1 + k["both"],
            "EuSendActive[%]": 100 * k["send"], "EuThreadOccupancy[%]": 100 * k["occupancy"], "SamplerTexels[texels]": k["sampler"] * 1e7,
            "SamplerTexelMisses[texels]": k["sampler"] * 5e5, "SamplersBusy[%]": 100 * k["sampler"], "SamplerBottleneck[%]": 100 * k["bottleneck"],
            "SlmBytesRead[bytes]": slm * 48, "SlmBytesWritten[bytes]": slm * 16, "ShaderMemoryAccesses[messages]": lookups, "ShaderAtomics[messages]": k["atomics"] * lookups,
            "L3ShaderThroughput[bytes]": lookups * 64, "L3Lookups[events]": lookups, "L3Misses[events]": misses, "ShaderBarriers[messages]": k["barrier"] * 1e5,
            "GtiReadThroughput[bytes]": read, "GtiWriteThroughput[bytes]": written,
        }  # fmt: skip
    alu = engines * (k["alu0"] + k["alu1"])
    out = head | {
        "GPU_BUSY[%]": 99.5, "XVE_ACTIVE[%]": 100 * k["active"], "XVE_STALL[%]": 100 * stall, "XVE_THREADS_OCCUPANCY_ALL[%]": 100 * k["occupancy"],
        "XVE_MULTIPLE_PIPE_ACTIVE[%]": 100 * k["both"], "XVE_INST_EXECUTED_ALU0_ALL_UTILIZATION[%]": 100 * k["alu0"],
        "XVE_INST_EXECUTED_ALU1_ALL_UTILIZATION[%]": 100 * k["alu1"], "XVE_INST_EXECUTED_SEND_ALL_UTILIZATION[%]": 100 * k["send"],
        "XVE_INST_EXECUTED_ALU0_ALL[events]": engines * k["alu0"], "XVE_INST_EXECUTED_ALU1_ALL[events]": engines * k["alu1"],
        "XVE_INST_EXECUTED_SEND_ALL[events]": engines * k["send"], "XVE_INST_ISSUED_ALL[events]": alu * 1.05,
        "XVE_INST_EXECUTED_FP64[events]": alu * k["fp64"], "XVE_INST_EXECUTED_MATH[events]": alu * k["math"],
        "XVE_COMPUTE_THREAD_COUNT[threads]": k["groups"] * k["group"] / gpu.simd, "XVE_ATOMIC_ACCESS_COUNT[messages]": k["atomics"] * lookups,
        "LOAD_STORE_CACHE_ACCESS[events]": loaded / 64, "LOAD_STORE_CACHE_HIT[events]": loaded / 64 * k["lsc"], "LOAD_STORE_CACHE_BYTE_READ[bytes]": loaded,
        "LOAD_STORE_CACHE_BYTE_WRITE[bytes]": written, "LOAD_STORE_CACHE_PARTIAL_WRITE_COUNT[events]": 0,
        "SLM_ACCESS_COUNT[events]": slm, "SLM_BANK_CONFLICT_COUNT[events]": slm * k["conflicts"], "SLM_BYTE_READ[bytes]": slm * 48, "SLM_BYTE_WRITE[bytes]": slm * 16,
        "L3_HIT[events]": lookups - misses, "L3_MISS[events]": misses, "L3_READ[events]": lookups * 0.7, "L3_WRITE[events]": lookups * 0.3,
        "L3_ATOMIC_ACCESS[events]": k["atomics"] * lookups, "L3_STALL[%]": 100 * k["l3_stall"], "GPU_MEMORY_BYTE_READ[bytes]": read, "GPU_MEMORY_BYTE_WRITE[bytes]": written,
        "GPU_MEMORY_REQUEST_QUEUE_FULL[%]": 100 * k["queue_full"], "TLB_MISS[events]": k["tlb"] * lookups,
        "ICACHE_HIT[events]": 1e7 * k["icache"], "ICACHE_MISS[events]": 1e7 * (1 - k["icache"]),
        "THREADGROUP_DISPATCH_QUEUE0_RESOURCE_STALL[%]": 100 * k["dispatch"],
        **{f"XVE_STALL_{s.upper()}[%]": 100 * k[s] for s in STALLS},
    }  # fmt: skip
    matrix = (
        "XVE_INST_EXECUTED_ALU2_ALL" if gpu.engines == 8 and gpu.memory < 1000 else "XVE_INST_EXECUTED_XMX_ALL"
    )  # Xe2 calls it ALU2
    return out | {
        f"{matrix}_UTILIZATION[%]": 100 * k["xmx"],
        "XVE_INST_EXECUTED_XMX_BF16[events]": engines * k["xmx"] / 8,
    }


SETS = {
    "basic": ("XVE_ACTIVE", "XVE_STALL[", "XVE_THREADS", "XVE_MULTIPLE", "XVE_INST_EXECUTED_ALU", "XVE_INST_EXECUTED_SEND", "XVE_INST_EXECUTED_XMX_ALL",
              "XVE_INST_ISSUED", "XVE_COMPUTE", "XVE_ATOMIC", "GPU_", "SLM_B", "L3_", "LOAD_STORE", "TLB", "ICACHE"),
    "stalls": ("XVE_ACTIVE", "XVE_STALL", "XVE_THREADS", "THREADGROUP", "GPU_BUSY"),
}  # fmt: skip


def unitrace(path: Path, gpu: Xe, rows: Iterable[tuple[str, Numbers]], only: str = "") -> Path:
    """unitrace -q (oneprof -q for older generations); only: the name of one metric set."""
    lines: list[str] = []
    for i, (name, k) in enumerate(rows, 1):
        values = metrics(gpu, k)
        if only and not gpu.old:
            values = {h: v for h, v in values.items() if h.startswith((*SETS[only], "GpuTime", "GpuCore", "AvgGpu"))}
        if not lines:
            title = "== Query Kernel Metrics ==" if gpu.old else "=== Device #0 Metrics ==="
            ids = "SubDeviceId" if gpu.old else "GlobalInstanceId,SubDeviceId"
            lines = [title, "", f"Kernel,{ids},{','.join(values)},"]
        key = f"{name}[SIMD{gpu.simd} {{{k['groups']:.0f}; 1; 1}} {{{k['group']:.0f}; 1; 1}}]"
        lines.append(f'"{key}",{"0" if gpu.old else f"{i},0"},{",".join(f"{v:.6g}" for v in values.values())},')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
