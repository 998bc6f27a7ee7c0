"""Counters of Apple GPUs as Xcode exports them, by metric. Names changed with Xcode 15 and 16 and with each GPU family.

Meanings: Apple, "Optimize Metal apps and games with GPU counters" (WWDC20) and "Discover new Metal profiling tools for M3 and A17 Pro"
(2023). The file states no units: rates are percent, the rest are counts and bytes.
"""

from __future__ import annotations

PERCENT = {
    "ALU Utilization": "alu.utilization",
    "ALU Limiter": "alu.limiter",
    "Texture Sample Limiter": "texture_sample.limiter",
    "Texture Write Limiter": "texture_write.limiter",
    "Buffer Read Limiter": "buffer_read.limiter",
    "Buffer Write Limiter": "buffer_write.limiter",
    "Threadgroup/Imageblock Load Limiter": "threadgroup_memory.limiter",
    "Last Level Cache Limiter": "llc.limiter",
    "Integer and Conditional Limiter": "integer.limiter",
    "Integer and Complex Limiter": "complex.limiter",
    "Instruction Throughput Limiter": "instruction.limiter",
    "L1 Cache Limiter": "l1.limiter",
    "Control Flow Limiter": "control_flow.limiter",
    "Shaded Vertex Read Limiter": "shaded_vertex.limiter",
    "MMU Limiter": "mmu.limiter",
    "Texture Filtering Utilization": "texture_filter.utilization",
    "Texture Read Utilization": "texture_read.utilization",
    "Texture Write Utilization": "texture_write.utilization",
    "Instruction Throughput Utilization": "instruction.utilization",
    "L1 Cache Utilization": "l1.utilization",
    "Last Level Cache Utilization": "llc.utilization",
    "Fragment Shader Launch Utilization": "fragment_launch.utilization",
    "Tiling Block Utilization": "tiler.busy",
    "Kernel Occupancy": "occupancy.compute",
    "Compute Occupancy": "occupancy.compute",
    "FS Occupancy": "occupancy.fragment",
    "Fragment Occupancy": "occupancy.fragment",
    "VS Occupancy": "occupancy.vertex",
    "Vertex Occupancy": "occupancy.vertex",
    "FS Helper Invocations Inefficiency": "pixels.helper_share",
    "L1 Eviction Rate": "l1.evictions",
    "RT Unit Active": "ray.unit_active",
    "Control Flow Utilization": "control_flow.utilization",
    "FS Invocation Utilization": "fragment.utilization",
    "MMU Utilization": "mmu.utilization",
    "L1 Buffer Residency": "l1.buffer_share",
    "Occupancy Manager Target": "occupancy.target",
    "Ray Occupancy": "ray.occupancy",
}
INVERTED = {
    "Last Level Cache Miss Rate": "llc.hit_rate",
    "Texture Cache Miss Rate": "l1tex.hit_rate",
    "Buffer L1 Miss Rate": "l1.buffer_hit_rate",
    "MMU TLB Miss Rate": "mmu.hit_rate",
}
# the highest of several: the parts of one unit, or one unit for several stages
HIGHEST = {
    "alu.limiter": ("F32 Limiter", "F16 Limiter"),
    "alu.utilization": ("F32 Utilization", "F16 Utilization"),
    "texture_sample.limiter": (
        "Texture Filtering Limiter",
        "Texture Read Limiter",
        "Texture Read Cache Limiter",
        "Texture Read Cache Miss Limiter",
    ),
    "shader_launch.limiter": (
        "Fragment Shader Launch Limiter",
        "Vertex Shader Launch Limiter",
        "Compute Shader Launch Limiter",
    ),
    "cull.limiter": ("Clip Unit Limiter", "Cull Unit Limiter"),
    "integer.utilization": ("Integer and Complex Utilization", "Integer and Conditional Utilization"),
    "shader_launch.utilization": ("Vertex Shader Launch Utilization", "Compute Shader Launch Utilization"),
    "raster.utilization": (
        "Rasterizer Sample Processing",
        "Fragment Generator Pixel Processing",
        "Fragment Generator Primitive Processing",
        "Post Clip Cull Primitive Processing",
    ),
    "texture_cache.worst_miss": (
        "FS Texture Cache Miss Rate",
        "VS Texture Cache Miss Rate",
        "Kernel Texture Cache Miss Rate",
    ),
    "depth.utilization": ("Depth Test Utilization", "Depth Load Utilization", "Depth Store Utilization"),
}
PLAIN = {
    "Bytes Read From Device Memory": "vram.bytes_read",
    "Bytes Written To Device Memory": "vram.bytes_written",
    "Kernel Invocations": "launch.threads",
    "FS Invocations": "invocations.ps",
    "VS Invocations": "invocations.vs",
    "Primitives": "prims.input",
    "Primitives Rendered": "prims.rasterized",
    "Pixels Rasterized": "pixels.shaded",
    "Pixels Stored": "pixels.written",
    "Average Pixel Overdraw": "pixels.overdraw",
    "PreZ Test Fails": "pixels.failed_early",
    "Partial Render Count": "tile.partial_renders",
    "Texture Sample Calls": "texture.sample_calls",
    "Texture Accesses": "texture.accesses",
    "Anisotropic Sampler Calls": "texture.anisotropic_calls",
    "Average Anisotropic Level": "texture.anisotropy",
    "Block Compressed Texture Samples": "texture.compressed_samples",
    "Average Samples Per Pixel": "target.samples",
    "FS Helper Invocations": "invocations.helpers",
    "FS Tiles Processed": "tile.count",
    "Attachment Pixels Stored": "pixels.stored",
    "Primitives Clipped": "prims.clipped",
    "Vertices": "vertices.input",
    "Vertices Reused": "vertices.reused",
    "Buffer Device Memory Bytes Read": "buffer.bytes_read",
    "Buffer Device Memory Bytes Written": "buffer.bytes_written",
    "Device Atomic Bytes Read": "atomic.bytes_read",
}
SUMS = {
    "prims.thrown_away": (
        "Primitives Culled (Back-Face)",
        "Primitives Culled (Guard-Band)",
        "Primitives Culled (Off-Screen)",
        "Primitives Culled (Zero-Area)",
    ),
    "alu.instructions": ("FS ALU Instructions", "VS ALU Instructions", "Kernel ALU Instructions"),
    "alu.float_instructions": (
        "FS ALU Float Instructions",
        "VS ALU Float Instructions",
        "Kernel ALU Float Instructions",
    ),
    "buffer.l1_accesses": ("Buffer L1 Read Accesses", "Buffer L1 Write Accesses", "ThreadGroup L1 Read Accesses"),
    "texture.sampler_calls": (
        "1D Texture Sampler Calls",
        "1D Texture Array Sampler Calls",
        "2D Texture Sampler Calls",
        "2D Texture Array Sampler Calls",
        "2D MSAA Texture Sampler Calls",
        "3D Texture Sampler Calls",
    ),
    "msaa.resolved_pixels": ("2X MSAA Resolved Pixels Stored", "4X MSAA Resolved Pixels Stored"),
}


def by_metric() -> dict[str, list[str]]:
    """metric -> counters that hold it, older names first."""
    out: dict[str, list[str]] = {}
    for table in (PERCENT, INVERTED, PLAIN):
        for name, metric in table.items():
            out.setdefault(metric, []).append(name)
    for several in (HIGHEST, SUMS):
        for metric, headers in several.items():
            out.setdefault(metric, []).extend(headers)
    return out


def wanted() -> list[str]:
    """All counters that are read."""
    return [name for headers in by_metric().values() for name in headers]
