"""Speed-of-light percentages: how close each hardware unit runs to its peak, over elapsed cycles."""

from triage.schema._metric import Metric


# Names from before 2019 end in __sol_pct; there fbpa is the memory, ltc is L2, ia the primitive distributor.
def _sol(metric: str, short: str, meaning: str, *aliases: str) -> Metric:
    where = metric.split(".")[0]
    return Metric(
        metric,
        "ratio",
        f"{short} SOL",
        "",
        meaning,
        (
            f"{short} SOL%",
            f"{short} SOL",
            f"{short} throughput",
            f"{where}__throughput.avg.pct_of_peak_sustained_elapsed",
            f"{where}__sol_pct",
            *aliases,
        ),
    )


def _pw(unit: str) -> tuple[str, ...]:
    return (f"{unit}__throughput.avg.pct_of_peak_sustained_elapsed", f"{unit}__throughput.pct")


METRICS = (
    # a unit's throughput is the highest of its sub-units, over elapsed cycles: idle time lowers it (P3)
    _sol(
        "sm.throughput",
        "SM",
        "Achieved share of the SM's peak, the highest of its sub-units (issue, ALU, FMA, ...)",
        "SM",
        "SM [%]",
        "Compute (SM) [%]",
        "Compute (SM) Throughput",
        "CU SOL%",
    ),
    _sol(
        "l1tex.throughput",
        "TEX",
        "Achieved share of the L1/TEX cache's peak: tags, data, texture filtering",
        "TEX",
        "L1TEX SOL%",
        "L1 SOL%",
        "tex__sol_pct",
        "L1TEX",
    ),
    _sol(
        "l2.throughput",
        "L2",
        "Achieved share of the L2 cache's peak",
        "L2",
        *_pw("lts"),
        "lts__sol_pct",
        "ltc__sol_pct",
        "L2 Cache Throughput",
        "SOL L2 Cache",
    ),
    _sol(
        "vram.throughput",
        "VRAM",
        "Achieved share of VRAM's peak bandwidth",
        "VRAM",
        "DRAM",
        "DRAM SOL%",
        *_pw("dramc"),
        *_pw("dram"),
        *_pw("fbpa"),
        "fbpa__sol_pct",
        "dram__sol_pct",
        "GPU % Bus Busy",
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "DRAM Throughput",
        "SOL DRAM",
        "Memory SOL%",
    ),
    _sol(
        "crop.throughput",
        "CROP",
        "Achieved share of the colour raster operation units' peak: writes and blending",
        "CROP",
    ),
    _sol("zrop.throughput", "ZROP", "Achieved share of the depth/stencil raster operation units' peak", "ZROP"),
    # P3 v1 has one unit IA here; v2 splits it into index fetch (PD), attributes (VAF) and culling (VPC)
    _sol(
        "pd.throughput",
        "PD",
        "Achieved share of the primitive distributor's peak: index fetch and distribution",
        "PD",
        "IA",
        "PDA",
        "IA SOL%",
        "PDA SOL%",
        *_pw("pda"),
        "ia__sol_pct",
        "pda__sol_pct",
    ),
    _sol("vaf.throughput", "VAF", "Achieved share of the vertex attribute fetch unit's peak", "VAF"),
    _sol("vpc.throughput", "VPC", "Achieved share of the viewport/cull unit's peak: clip, cull, perspective", "VPC"),
    _sol("pes.throughput", "PES", "Achieved share of the primitive engine's shared unit's peak", "PES"),
    _sol("raster.throughput", "Raster", "Achieved share of the rasteriser's peak", "RASTER"),
    _sol("prop.throughput", "PROP", "Achieved share of the pre-ROP unit's peak", "PROP"),
    _sol(
        "rtcore.throughput",
        "RTCORE",
        "Achieved share of the ray-tracing core's peak",
        "rtcore__cycles_executed.avg.pct_of_peak_sustained_elapsed",
        "RT core throughput",
    ),
    _sol("pcie.throughput", "PCIe", "Achieved share of the PCI Express link's peak", "PCIE"),
)
