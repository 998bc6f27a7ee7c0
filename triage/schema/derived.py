"""Metrics that triage computes from others (triage/derive)."""

from triage.schema._metric import flag

HARDWARE_UNITS: dict[str, str] = {
    # metric prefix -> name shown, in the order of the data flow; ties go to the earlier one
    "sm": "SM", "l1tex": "TEX", "lds": "LDS", "l2": "L2", "vram": "VRAM", "crop": "CROP", "zrop": "ZROP", "pd": "PD",
    "vaf": "VAF", "vpc": "VPC", "pes": "PES", "raster": "RASTER", "prop": "PROP", "rtcore": "RTCORE", "pcie": "PCIe", "memory": "MEM",
}  # fmt: skip
# A phone's tools give no share of peak for most of its units, but how busy they were or how long they held work up:
# metric -> name shown beside the others
TILER_UNITS: dict[str, str] = {
    "texture_pipe.busy": "TEXTURE", "texture_sample.limiter": "TEXTURE", "texture_write.limiter": "TEXTURE WRITE",
    "load_store.busy": "LOAD/STORE", "buffer_read.limiter": "BUFFER READ", "buffer_write.limiter": "BUFFER WRITE",
    "threadgroup_memory.limiter": "TILE MEMORY", "varying.busy": "VARYING", "tiler.busy": "TILER", "llc.limiter": "LLC",
    "mmu.limiter": "MMU", "alu.limiter": "ALU", "integer.limiter": "INT", "complex.limiter": "COMPLEX",
    "l1.limiter": "L1", "instruction.limiter": "INSTRUCTION", "control_flow.limiter": "CONTROL FLOW",
    "shaded_vertex.limiter": "VARYING", "shader_launch.limiter": "LAUNCH", "cull.limiter": "CULL",
}  # fmt: skip
# beside any of those that has no unit of that name
SHADER_PIPES: dict[str, str] = {"alu.utilization": "ALU", "pipe.fma": "FMA", "pipe.xu": "SFU"}


METRICS = (
    *(
        flag(f"primary.{u}", f"{n} is a top unit", f"1 when {n} is in the first cluster of units by SOL%")
        for u, n in HARDWARE_UNITS.items()
    ),
    *(flag(f"top.{u}", f"{n} is the top unit", f"1 when {n} has the highest SOL%") for u, n in HARDWARE_UNITS.items()),
    *(
        flag(f"involved.{u}", f"{n} is a limiter", f"1 when {n} is in the first or second cluster of units by SOL%")
        for u, n in HARDWARE_UNITS.items()
    ),
)
