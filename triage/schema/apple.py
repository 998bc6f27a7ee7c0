"""Further counters of Apple GPUs (Xcode, Export GPU Counters), for `triage facts` and comparisons."""

from triage.schema._metric import Metric

METRICS = (
    Metric("integer.utilization", "ratio", "Integer utilisation", "", "Time in which integer and complex instructions executed"),
    Metric("control_flow.utilization", "ratio", "Control flow utilisation", "", "Time in which branches and loops executed"),
    Metric("shader_launch.utilization", "ratio", "Vertex and compute launch utilisation", "", "Time in which vertex or compute threads were launched"),
    Metric("raster.utilization", "ratio", "Fragment generator busy", "", "Time in which the busiest part of the rasteriser worked"),
    Metric("fragment.utilization", "ratio", "Fragment invocation utilisation", "", "Share of the peak rate of fragment invocations"),
    Metric("mmu.utilization", "ratio", "MMU utilisation", "", "Time in which address translation worked"),
    Metric("mmu.hit_rate", "ratio", "TLB hit rate", "high", "Address translations found in the TLB"),
    Metric("l1.buffer_hit_rate", "ratio", "Buffer L1 hit rate", "high", "Buffer accesses found in the L1 cache"),
    Metric("l1.buffer_share", "ratio", "L1 held by buffers", "", "Part of the L1 cache that holds buffers"),
    Metric("texture_cache.worst_miss", "ratio", "Texture cache misses by stage", "low", "Highest texture cache miss rate of the shader stages"),
    Metric("occupancy.manager_aim", "ratio", "Occupancy manager aim", "", "Occupancy that the occupancy manager aims at"),
    Metric("ray.occupancy", "ratio", "Ray occupancy", "", "Ray slots that were filled"),
    Metric("alu.instructions", "count", "ALU instructions", "low", "ALU instructions of all stages", additive=True),
    Metric("alu.float_instructions", "count", "Float instructions", "low", "Floating-point instructions of all stages", additive=True),
    Metric("buffer.l1_accesses", "count", "L1 accesses", "low", "L1 accesses of buffers and threadgroup memory", additive=True),
    Metric("buffer.bytes_read", "byte", "Buffer bytes read", "low", "Bytes of buffers read from device memory", additive=True),
    Metric("buffer.bytes_written", "byte", "Buffer bytes written", "low", "Bytes of buffers written to device memory", additive=True),
    Metric("atomic.bytes_read", "byte", "Device atomic bytes", "low", "Bytes that device atomics read", additive=True),
    Metric("texture.sample_calls", "count", "Texture samples", "low", "Texture sample calls", additive=True),
    Metric("texture.sampler_calls", "count", "Texture samples by kind", "low", "Sample calls of all kinds of textures", additive=True),
    Metric("texture.anisotropic_calls", "count", "Anisotropic samples", "low", "Sample calls with an anisotropic filter", additive=True),
    Metric("texture.compressed_samples", "count", "Block-compressed samples", "high", "Samples of block-compressed textures", additive=True),
    Metric("texture.accesses", "count", "Texture accesses", "low", "Accesses of texture units", additive=True),
    Metric("invocations.helpers", "count", "Helper invocations, count", "low", "Fragment invocations that only help neighbours", additive=True),
    Metric("tile.count", "count", "Tiles", "", "Tiles that fragment work was done for", additive=True),
    Metric("target.samples", "count", "Samples per pixel", "low", "Samples per pixel of the targets, on average", ("Target Samples", "MSAA Samples"), bounded=False),
    Metric("pixels.stored", "count", "Attachment pixels stored", "low", "Pixels that all attachments stored", additive=True),
    Metric("vertices.reused", "count", "Vertices reused", "high", "Vertices that were not shaded again", additive=True),
)  # fmt: skip
