"""Metrics that triage computes from others (triage/derive)."""

from triage.ground.method import stated
from triage.schema._metric import Metric, flag

HARDWARE_UNITS: dict[str, str] = {
    # metric prefix -> name shown, in the order of the data flow; ties go to the earlier one
    "sm": "SM", "l1tex": "TEX", "l2": "L2", "vram": "VRAM", "crop": "CROP", "zrop": "ZROP", "pd": "PD", "vaf": "VAF",
    "vpc": "VPC", "pes": "PES", "raster": "RASTER", "prop": "PROP", "rtcore": "RTCORE", "pcie": "PCIe", "memory": "MEM",
}  # fmt: skip
# A phone's tools give no share of peak for most of its units, but how busy they were or how long they held work up:
# metric -> name shown beside the others
TILER_UNITS: dict[str, str] = {
    "texture_pipe.busy": "TEXTURE", "texture_sample.limiter": "TEXTURE", "texture_write.limiter": "TEXTURE WRITE",
    "load_store.busy": "LOAD/STORE", "buffer_read.limiter": "BUFFER READ", "buffer_write.limiter": "BUFFER WRITE",
    "threadgroup_memory.limiter": "TILE MEMORY", "varying.busy": "VARYING", "tiler.busy": "TILER", "llc.limiter": "LLC",
    "mmu.limiter": "MMU", "alu.limiter": "ALU", "integer.limiter": "INT", "complex.limiter": "COMPLEX",
}  # fmt: skip
SHADER_PIPES: dict[str, str] = {"alu.utilization": "ALU", "pipe.fma": "FMA", "pipe.xu": "SFU"}  # beside any of those


METRICS = (
    # clusters of units (P3, steps 2 and 3)
    Metric("sol.top", "ratio", "Top SOL", "", "The highest unit SOL% of the workload"),
    Metric(
        "sol.seen",
        "ratio",
        "Highest SOL seen",
        "",
        "The highest unit SOL% among those measured, whether or not an unmeasured unit might be higher",
    ),
    Metric(
        "sol.next",
        "ratio",
        "Next SOL",
        "",
        "The highest SOL% outside the first cluster: the next limit after the top units",
    ),
    Metric("sol.sm_tex_gap", "ratio", "SM to TEX distance", "", "Distance between SM SOL% and TEX SOL%"),
    Metric(
        "sol.bound",
        "count",
        "Bound on raising SOL",
        "",
        stated("{raised} divided by the top SOL%: the speed-up if the top unit reached {raised}"),
        bounded=False,
    ),
    # the sides that are weighed against each other
    Metric("sm.side", "ratio", "SM side", "", "SM SOL%, as one side of the SM/memory balance"),
    Metric(
        "memory.side",
        "ratio",
        "Memory side",
        "",
        "The highest SOL% of the memory system: the profiler's own figure, else the highest of TEX, L2 and VRAM",
    ),
    Metric("frontend.side", "ratio", "Front end", "", "The highest SOL% of PD, VAF, VPC, PES, raster and PROP"),
    Metric("rop.side", "ratio", "ROP side", "", "The highest SOL% of CROP and ZROP"),
    *(
        flag(f"primary.{u}", f"{n} is a top unit", f"1 when {n} is in the first cluster of units by SOL%")
        for u, n in HARDWARE_UNITS.items()
    ),
    *(flag(f"top.{u}", f"{n} is the top unit", f"1 when {n} has the highest SOL%") for u, n in HARDWARE_UNITS.items()),
    *(
        flag(f"involved.{u}", f"{n} is a limiter", f"1 when {n} is in the first or second cluster of units by SOL%")
        for u, n in HARDWARE_UNITS.items()
    ),
    *(
        flag(f"kind.{k}", f"Kind: {k}", f"1 when the workload is of kind {k}, 0 when of another, missing when unknown")
        for k in ("fullscreen", "compute", "geometry", "draw", "copy", "raytracing")
    ),
    # stall reasons
    Metric(
        "stall.top_share",
        "ratio",
        "Top stall share",
        "low",
        "Share of the active warps' cycles lost to the top stall reason",
    ),
    Metric(
        "stall.largest",
        "ratio",
        "Largest stall share, for certain",
        "low",
        "The top stall share, unknown where it is small and reasons that were not listed may be larger",
    ),
    flag(
        "stall.top_is_long_scoreboard",
        "Long scoreboard is the top stall",
        "1 when long scoreboard is the largest stall reason",
    ),
    flag("stall.top_is_barrier", "Barrier is the top stall", "1 when barrier is the largest stall reason"),
)
