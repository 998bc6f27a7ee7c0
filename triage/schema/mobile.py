"""What mobile and Apple GPUs' counters say. Tile-based GPUs overlap vertex and fragment work: shares need not add up.

"Limiter" (Xcode): share of the time in which the unit worked or held up the work behind it; not a share of peak.
"""

from triage.schema._metric import Metric

METRICS = (
    Metric(
        "alu.utilization",
        "ratio",
        "ALU utilisation",
        "",
        "Time in which the shader cores' ALUs executed",
        ("Arithmetic unit utilization", "% Shader ALU Capacity Utilized", "ALU Utilization"),
    ),
    Metric("alu.limiter", "ratio", "ALU limiter", "", "Time in which the ALUs worked or held work up"),
    Metric(
        "texture_sample.limiter",
        "ratio",
        "Texture sample limiter",
        "",
        "Time in which texture sampling worked or held work up",
    ),
    Metric(
        "texture_write.limiter",
        "ratio",
        "Texture write limiter",
        "",
        "Time in which texture writes worked or held work up",
    ),
    Metric(
        "buffer_read.limiter", "ratio", "Buffer read limiter", "", "Time in which buffer reads worked or held work up"
    ),
    Metric(
        "buffer_write.limiter",
        "ratio",
        "Buffer write limiter",
        "",
        "Time in which buffer writes worked or held work up",
    ),
    Metric(
        "threadgroup_memory.limiter",
        "ratio",
        "Threadgroup memory limiter",
        "",
        "Time in which threadgroup or image-block memory worked or held work up",
    ),
    Metric(
        "llc.limiter",
        "ratio",
        "Last-level cache limiter",
        "",
        "Time in which the last-level cache worked or held work up",
    ),
    Metric("llc.hit_rate", "ratio", "Last-level cache hit rate", "high", "Hits in the system's last-level cache"),
    Metric("mmu.limiter", "ratio", "MMU limiter", "low", "Time in which address translation worked or held work up"),
    Metric("occupancy.compute", "ratio", "Kernel occupancy", "", "Thread slots filled with compute threads"),
    Metric("occupancy.fragment", "ratio", "Fragment occupancy", "", "Thread slots filled with fragment threads"),
    Metric("occupancy.vertex", "ratio", "Vertex occupancy", "", "Thread slots filled with vertex threads"),
    # Snapdragon counters; they sum over shader processors, so a part can exceed the whole
    Metric(
        "shader.busy",
        "ratio",
        "Shader busy",
        "",
        "Time in which the shader processors were busy",
        ("% Shaders Busy", "Execution core utilization"),
    ),
    Metric(
        "shader.stalled",
        "ratio",
        "Shader stalled",
        "low",
        "Time in which the shader processors were stalled",
        ("% Shaders Stalled",),
    ),
    Metric(
        "texture_pipe.busy",
        "ratio",
        "Texture pipes busy",
        "",
        "Time in which the texture pipes were busy",
        ("% Texture Pipes Busy", "Texture unit utilization"),
    ),
    Metric(
        "load_store.busy",
        "ratio",
        "Load/store unit busy",
        "",
        "Time in which the load/store unit was busy",
        ("Load/store unit utilization",),
    ),
    Metric(
        "varying.busy",
        "ratio",
        "Varying unit busy",
        "",
        "Time in which the unit that interpolates varyings was busy",
        ("Varying unit utilization",),
    ),
    Metric(
        "texture_pipe.stalled",
        "ratio",
        "Texture fetch stalled",
        "low",
        "Time in which texture fetches were stalled",
        ("% Texture Fetch Stall",),
    ),
    # a phone has no video memory of its own: what others call VRAM is the system's memory here
    Metric(
        "vram.stalled",
        "ratio",
        "Stalled on memory",
        "low",
        "Time in which the GPU waited for system memory",
        ("% Stalled on System Memory", "External bus read stall rate"),
    ),
)
