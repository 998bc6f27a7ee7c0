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
        ("Threadgroup/Imageblock Load Limiter",),
    ),
    Metric(
        "llc.limiter",
        "ratio",
        "Last-level cache limiter",
        "",
        "Time in which the last-level cache worked or held work up",
    ),
    Metric("llc.hit_rate", "ratio", "Last-level cache hit rate", "high", "Hits in the system's last-level cache"),
    Metric(
        "integer.limiter",
        "ratio",
        "Integer limiter",
        "",
        "Time in which integer and conditional instructions ran or held work up",
        ("Integer and Conditional Limiter",),
    ),
    Metric(
        "complex.limiter",
        "ratio",
        "Complex-instruction limiter",
        "",
        "Time in which the unit of integer multiplication and complex functions ran or held work up",
        ("Integer and Complex Limiter",),
    ),
    Metric(
        "instruction.limiter",
        "ratio",
        "Instruction throughput limiter",
        "",
        "Time in which instructions were issued or waited for issue",
    ),
    Metric("l1.limiter", "ratio", "L1 cache limiter", "", "Time in which the L1 cache worked or held work up"),
    Metric(
        "control_flow.limiter", "ratio", "Control flow limiter", "", "Time in which branches and loops held work up"
    ),
    Metric(
        "shaded_vertex.limiter",
        "ratio",
        "Shaded vertex read limiter",
        "",
        "Time in which fragments waited for varyings",
    ),
    Metric(
        "shader_launch.limiter", "ratio", "Shader launch limiter", "", "Time in which launching threads held work up"
    ),
    Metric("cull.limiter", "ratio", "Clip and cull limiter", "", "Time in which clipping or culling held work up"),
    Metric(
        "texture_filter.utilization", "ratio", "Texture filter utilisation", "", "Time in which texture filters worked"
    ),
    Metric("texture_read.utilization", "ratio", "Texture read utilisation", "", "Time in which texture reads worked"),
    Metric(
        "texture_write.utilization", "ratio", "Texture write utilisation", "", "Time in which texture writes worked"
    ),
    Metric("instruction.utilization", "ratio", "Instruction throughput", "", "Time in which instructions were issued"),
    Metric("l1.utilization", "ratio", "L1 cache utilisation", "", "Time in which the L1 cache worked"),
    Metric("llc.utilization", "ratio", "Last-level cache utilisation", "", "Time in which the last-level cache worked"),
    Metric(
        "fragment_launch.utilization",
        "ratio",
        "Fragment launch utilisation",
        "",
        "Time in which fragment threads were launched",
    ),
    Metric("depth.utilization", "ratio", "Depth utilisation", "", "Time in which depth was tested, loaded or stored"),
    Metric(
        "l1.evictions", "ratio", "L1 evictions", "low", "Lines that left the L1 cache for others, of those it holds"
    ),
    Metric("ray.unit_active", "ratio", "Ray tracing unit active", "", "Time in which the ray tracing unit worked"),
    Metric(
        "pixels.failed_early",
        "count",
        "Pixels that failed before shading",
        "",
        "Pixels that hidden-surface removal or the depth test rejected before the fragment shader",
        ("PreZSamplesFailingZ",),
        additive=True,
    ),
    Metric(
        "tile.partial_renders",
        "count",
        "Partial renders",
        "low",
        "Times at which tiles were stored and loaded again within a pass",
        bounded=False,
    ),
    Metric(
        "msaa.resolved_pixels",
        "count",
        "MSAA pixels resolved",
        "",
        "Pixels of multisampled targets that were resolved and stored",
        additive=True,
    ),
    # Arm's libGPUCounters names; shares of the quads that were rasterised
    Metric(
        "postz.quads_killed",
        "ratio",
        "Quads killed after shading",
        "low",
        "Quads that the depth test behind the fragment shader threw away",
        ("Late ZS killed quad percentage", "Late ZS killed quads percentage"),
    ),
    Metric(
        "fpk.quads_killed",
        "ratio",
        "Quads killed before shading",
        "high",
        "Quads that a later opaque one hid before they were shaded (forward pixel kill)",
        ("FPK killed quad percentage", "FPK killed quads percentage"),
    ),
    Metric(
        "pixels.partial_coverage",
        "ratio",
        "Partly covered quads",
        "low",
        "Fragment quads with a lane that only helps its neighbours",
        ("Partial coverage percentage",),
    ),
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
        "tiler.busy",
        "ratio",
        "Tiler busy",
        "",
        "Time in which the tiler worked, which culls primitives and sorts them into tiles",
        ("Tiler utilization",),
    ),
    Metric(
        "texture_pipe.stalled",
        "ratio",
        "Texture fetch stalled",
        "low",
        "Time in which texture fetches were stalled",
        ("% Texture Fetch Stall",),
    ),
    Metric(
        "vertex_fetch.stalled",
        "ratio",
        "Vertex fetch stalled",
        "low",
        "Time in which no more vertex data could be asked for",
        ("% Vertex Fetch Stall",),
    ),
    Metric(
        "texture_filter.cycles",
        "count",
        "Filter cycles per texture instruction",
        "low",
        "Cycles of the texture filter per texture instruction; 1 is full rate",
        ("Texture filtering cycles per instruction", "Texture CPI"),
        bounded=False,
    ),
    Metric(
        "warp.diverged",
        "ratio",
        "Diverged instructions",
        "low",
        "Instructions at which the threads of a warp took different ways",
        ("Warp divergence percentage", "Warp divergence"),
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
