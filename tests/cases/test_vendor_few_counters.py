"""The counters people collect are few: each illness still comes first, or what would show it is named with a command."""

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.cases import vendor_kernels as amd
from tests.cases import xe_kernels as xe
from triage import api

pytestmark = pytest.mark.slow

AMD = amd.GPUS | {
    "MI250X": amd.Gpu("gfx90a", "AMD Instinct MI250X", 110, 4, 8, 1, 8, 32, 1700, 1638.4),
    "MI325X": amd.Gpu("gfx942", "AMD Instinct MI325X", 304, 4, 8, 8, 32, 128, 2100, 6000),
    "MI350X": amd.Gpu("gfx950", "AMD Instinct MI350X", 256, 4, 8, 8, 32, 128, 2200, 8000),
    "RX 7600": amd.Gpu("gfx1102", "AMD Radeon RX 7600", 32, 2, 16, 1, 2, 8, 2655, 288, 32),
    "W7900": amd.Gpu("gfx1100", "AMD Radeon PRO W7900", 96, 2, 16, 1, 6, 24, 2495, 864, 32),
}
XE = xe.GPUS | {
    "Arc A380": xe.Xe(8, 16, 8, 2000, 186, 16),
    "Arc B570": xe.Xe(18, 8, 8, 2500, 380, 16),
    "Data Center GPU Max 1100": xe.Xe(56, 8, 8, 1550, 1228.8, 32),
}
LAZY = {"valu": 0.06, "salu": 0.02, "ta": 0.2, "vram": 0.08, "waiting": 0.88, "ta_stalled": 0.07}
DERIVED = "VALUBusy SALUBusy VALUUtilization MemUnitBusy MemUnitStalled WriteUnitStalled L2CacheHit LDSBankConflict ALUStalledByLDS FETCH_SIZE WRITE_SIZE Wavefronts"
WAVES = "SQ_WAVES SQ_WAVE_CYCLES SQ_WAIT_ANY GRBM_GUI_ACTIVE"
# kernel -> (accepted causes, GPU, counters of the one run, shares)
COUNTED: dict[str, tuple[str, str, str, dict[str, float]]] = {
    "add_f16": ("vram-bandwidth near-limit", "MI250X", DERIVED, {"vram": 0.78, "valu": 0.05, "lines": 2, "l1": 0.5, "l2": 0.03, "ta": 0.5, "ta_stalled": 0.3}),
    "write_full": ("vram-bandwidth near-limit", "MI100", DERIVED, {"vram": 0.85, "valu": 0.02, "ta": 0.3, "write_stalled": 0.75, "ta_stalled": 0.1, "l2": 0.02, "l1": 0}),
    "trsv": ("small-grid", "MI325X", f"{WAVES} SQ_BUSY_CU_CYCLES", {"groups": 40, "occupancy": 0.03, "active": 0.13, "waiting": 0.7, "valu": 0.01, "us": 400, "vram": 0.005}),
    "softmax": ("bank-conflicts", "MI325X", f"{WAVES} SQ_LDS_BANK_CONFLICT SQ_LDS_IDX_ACTIVE SQ_WAIT_INST_LDS", {"lds": 20480, "lds_busy": 0.7, "conflicts": 0.66, "lds_waits": 0.28, "valu": 0.15, "waiting": 0.7}),
    "frontier": ("divergence", "MI250X", DERIVED, {"valu": 0.72, "lanes": 0.3, "ta": 0.3, "vram": 0.1, "waiting": 0.4}),
    "options": ("fp32-bound", "MI300X", f"{WAVES} SQ_ACTIVE_INST_VALU SQ_THREAD_CYCLES_VALU", {"valu": 0.9, "lanes": 0.99, "vram": 0.2, "waiting": 0.2}),
    "flash_bwd": ("register-spills", "MI300X", f"{WAVES} TCC_REQ_sum TCC_HIT_sum TCC_MISS_sum", LAZY | {"scratch": 1400, "vgpr": 128, "agpr": 128, "occupancy": 0.12, "l2": 0.7, "l1": 0.3, "vram": 0.3, "ta": 0.6}),
    "conv": ("occupancy-shared-memory", "MI300A", f"{WAVES} SQ_BUSY_CU_CYCLES SPI_RA_LDS_CU_FULL_CSN SPI_RA_VGPR_SIMD_FULL_CSN", {"lds": 65536, "occupancy": 0.12, "lds_full": 0.9, "slots_full": 0, "waiting": 0.82, "valu": 0.18, "vram": 0.1}),
    "gemm_fp8": ("matrix-bound near-limit", "MI350X", f"{WAVES} SQ_VALU_MFMA_BUSY_CYCLES SQ_ACTIVE_INST_VALU SQ_LDS_IDX_ACTIVE SQ_LDS_BANK_CONFLICT", {"mfma": 0.82, "valu": 0.2, "vgpr": 128, "agpr": 128, "occupancy": 0.12, "lds": 65536, "lds_busy": 0.5, "conflicts": 0.01}),
    "sgemm_nn": ("matrix-unused", "MI300X", f"{WAVES} SQ_VALU_MFMA_BUSY_CYCLES SQ_ACTIVE_INST_VALU SQ_THREAD_CYCLES_VALU", {"mfma": 0, "valu": 0.85, "lanes": 1, "lds": 16384}),
    "mega": ("instruction-fetch", "MI300X", f"{WAVES} SQC_ICACHE_HITS SQC_ICACHE_MISSES SQ_ACTIVE_INST_VALU", {"icache": 0.7, "valu": 0.2, "waiting": 0.8, "vram": 0.02}),
    "blocks_of_70": ("partial-warps", "MI250X", DERIVED, {"group": 70, "groups": 90000, "valu": 0.75, "lanes": 0.55, "ta": 0.2, "vram": 0.1}),
    "lds_table": ("shared-memory-traffic shared-memory-latency", "MI250X", DERIVED, {"lds": 16384, "lds_busy": 0.9, "conflicts": 0.02, "lds_waits": 0.4, "valu": 0.2, "ta": 0.05, "vram": 0.03}),
    "list_walk": ("memory-latency", "MI300X", f"{WAVES} SQ_ACTIVE_INST_VALU TCC_HIT_sum TCC_MISS_sum TCC_EA0_RDREQ_sum TCC_EA0_RDREQ_32B_sum TCC_BUBBLE_sum", LAZY | {"waiting": 0.96, "l2": 0.2, "l1": 0.1, "vram": 0.06}),
    "pages_far": ("address-translation", "MI355X", f"{WAVES} TCP_UTCL1_STALL_LFIFO_NOT_RES_sum TCP_GATE_EN1_sum SQ_ACTIVE_INST_VALU", LAZY | {"waiting": 0.96, "utcl2": 0.55}),
    "copy": ("vram-bandwidth near-limit", "RX 7600", "", {"vram": 0.88, "valu": 0.05, "lines": 2, "l1": 0.5, "l2": 0.03, "ta": 0.6, "waiting": 0.85}),
    "rows": ("bank-conflicts", "W7900", f"{WAVES} SQC_LDS_IDX_ACTIVE SQC_LDS_BANK_CONFLICT", {"lds": 16384, "lds_busy": 0.8, "conflicts": 0.7, "waiting": 0.75, "valu": 0.2}),
    "twenty": ("small-grid", "RX 9070 XT", WAVES, {"groups": 20, "occupancy": 0.02, "active": 0.3, "waiting": 0.7, "us": 500}),
    "wide_tile": ("occupancy-shared-memory", "RX 7900 XTX", WAVES, {"lds": 49152, "group": 128, "occupancy": 0.12, "waiting": 0.8, "valu": 0.1, "vram": 0.1}),
    "unrolled_16": ("occupancy-registers", "RX 6800 XT", f"{WAVES} GL2C_HIT_sum GL2C_MISS_sum", {"vgpr": 248, "occupancy": 0.24, "waiting": 0.8, "valu": 0.2, "vram": 0.2}),
}  # fmt: skip


def first(result: dict[str, Any]) -> tuple[str, str]:
    """The causes of the first finding and of the first item."""
    found = [f["cause"] for f in result["findings"] if f["cause"] != "low-throughput"]
    return amd.leads(found, [item["cause"] for item in result["todo"]])


@pytest.mark.parametrize("name", COUNTED)
def test_one_run_of_counters(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    causes, gpu, only, shares = COUNTED[name]
    counted = amd.counters

    def more(gpu: amd.Gpu, k: amd.Numbers) -> dict[str, float]:
        stalled = k.get("utcl2", 0) * gpu.clock * k["us"] * gpu.units
        return {**counted(gpu, k), "TCP_UTCL1_STALL_LFIFO_NOT_RES_sum": stalled}

    monkeypatch.setattr(amd, "counters", more)
    derived = only is DERIVED
    write, file = (amd.v1, "results.csv") if derived else (amd.v3, "9_counter_collection.csv")
    path = write(tmp_path / file, AMD[gpu], [(name, amd.WELL | shares)], only.split())  # type: ignore[operator]
    result = api.diagnose(path, device=gpu if derived else "").to_dict()
    assert set(first(result)) <= set(causes.split()), result["findings"]


_SOL = {
    "VALU Utilization": (20, 100), "SALU Utilization": (4, 100), "MFMA Utilization": (0, 100), "VMEM Utilization": (5, 100), "Branch Utilization": (2, 100),
    "VALU Active Threads": (62, 64), "IPC": (0.5, 5), "Active CUs": (304, 304), "Wavefront Occupancy": (6000, 9728), "LDS Bank Conflicts/Access": (0, 32),
    "vL1D Cache Hit Rate": (60, 100), "vL1D Cache BW": (12000, 81715), "L2 Cache Hit Rate": (70, 100), "L2 Cache BW": (3000, 34406), "L2-Fabric Read BW": (400, 5300),
    "L2-Fabric Write BW": (100, 5300), "sL1D Cache Hit Rate": (99, 100), "L1I Hit Rate": (99.8, 100),
}  # fmt: skip
# rows of the speed-of-light panel that differ from the above
SOL: dict[str, tuple[str, dict[str, float]]] = {
    "alu": ("fp32-bound", {"VALU Utilization": 93}),
    "conflicts": ("bank-conflicts", {"LDS Bank Conflicts/Access": 9.5}),
    "stream": ("vram-bandwidth near-limit", {"L2-Fabric Read BW": 3600, "L2-Fabric Write BW": 600, "L2 Cache Hit Rate": 5, "vL1D Cache Hit Rate": 50, "VALU Utilization": 6}),
    "matrix": ("matrix-bound near-limit", {"MFMA Utilization": 85}),
    "starved": ("matrix-underfed", {"MFMA Utilization": 20, "VALU Utilization": 12}),
    "divergent": ("divergence", {"VALU Active Threads": 14, "VALU Utilization": 70}),
    "twelve units": ("small-grid", {"Active CUs": 12, "Wavefront Occupancy": 40, "VALU Utilization": 1, "IPC": 0.3}),
    "code": ("instruction-fetch", {"L1I Hit Rate": 62}),
    "l2": ("l2-bandwidth", {"L2 Cache BW": 29500, "L2 Cache Hit Rate": 97, "vL1D Cache Hit Rate": 5, "vL1D Cache BW": 30000}),
    "stride": ("uncoalesced-loads", {"vL1D Cache Hit Rate": 1, "L2 Cache Hit Rate": 93, "L2 Cache BW": 15000, "vL1D Cache BW": 20000, "VALU Utilization": 3}),
}  # fmt: skip


@pytest.mark.parametrize("name", SOL)
def test_one_speed_of_light_panel(name: str, tmp_path: Path) -> None:
    causes, rows = SOL[name]
    with (path := tmp_path / "201.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["Metric", "Avg", "Unit", "Peak", "Pct of Peak"])
        for row, (usual, peak) in _SOL.items():
            value = rows.get(row, usual)
            unit = (
                "pct" if peak == 100 else "Gb/s" if row.endswith("BW") else "Threads" if row.endswith("Threads") else ""
            )
            out.writerow([row, value, unit, peak, 100 * value / peak])
    assert set(first(api.diagnose(path, device="MI300X").to_dict())) <= set(causes.split())


XE_LAZY = {"active": 0.12, "alu0": 0.07, "alu1": 0.05, "both": 0.02, "send": 0.04}
ONE_SET: dict[str, tuple[str, str, str, dict[str, float]]] = {
    "triad": ("vram-bandwidth near-limit", "Data Center GPU Max 1100", "", XE_LAZY | {"vram": 0.8, "sbid": 0.8, "l3": 0.02, "lsc": 0.1, "queue_full": 0.6}),
    "twelve": ("small-grid", "Arc B570", "", {"groups": 12, "active": 0.05, "idle": 0.9, "occupancy": 0.05, "alu0": 0.03, "alu1": 0.02, "both": 0.01, "send": 0.01, "vram": 0.01, "sbid": 0.03}),
    "steps": ("barrier-waits", "Data Center GPU Max 1100", "stalls", XE_LAZY | {"barrier": 0.6, "sbid": 0.12, "group": 1024, "groups": 4000}),
    "columns": ("bank-conflicts", "Arc A380", "", XE_LAZY | {"slm": 0.4, "conflicts": 0.7, "sbid": 0.5, "vram": 0.03}),
    "bins": ("atomics-contention", "Data Center GPU Max 1100", "basic", XE_LAZY | {"atomics": 0.5, "sbid": 0.75, "vram": 0.02, "l3": 0.98, "lsc": 0.02}),
    "banks": ("l2-bandwidth", "Data Center GPU Max 1100", "", XE_LAZY | {"l3_stall": 0.6, "l3": 0.95, "sbid": 0.75, "vram": 0.06, "lsc": 0.05}),
    "branches": ("branch-waits", "Arc A380", "stalls", XE_LAZY | {"control": 0.5, "sbid": 0.12}),
    "chain": ("dependency-latency", "Arc B570", "", XE_LAZY | {"aluwr": 0.5, "sbid": 0.1, "active": 0.35, "alu0": 0.3}),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_SET)
def test_one_set_of_intel_metrics(name: str, tmp_path: Path) -> None:
    causes, gpu, group, shares = ONE_SET[name]
    path = xe.unitrace(tmp_path / "metrics.5.csv", XE[gpu], [(name, xe.WELL | shares)], group)
    assert set(first(api.diagnose(path, device=gpu).to_dict())) <= set(causes.split())
