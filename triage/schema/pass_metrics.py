"""What a render pass does per draw, dispatch, primitive and pixel; computed in triage/derive/graphics_ratios.py."""

from triage.ground.method import stated
from triage.schema._metric import Metric, flag

METRICS = (
    Metric("range.dispatch_time", "ns", "Time per dispatch", "", "GPU time of the range over its dispatches"),
    Metric("range.draw_time", "ns", "Time per draw", "", "GPU time of the range over its draws"),
    Metric(
        "range.chain",
        "count",
        "Links of the chain",
        "low",
        stated(
            "Ranges below {tiny} that follow each other under one marker, this one among them; computed when a capture is read"
        ),
        bounded=False,
    ),
    flag(
        "range.in_chain",
        "In a chain of tiny work",
        stated("1 where {chain} or more ranges below {tiny} follow each other"),
    ),
    flag(
        "range.draws",
        "Draws",
        "1 where the range draws: by its kind, its draws, its primitives or pixels, or the traffic of its targets",
    ),
    Metric(
        "range.drain_interval",
        "ns",
        "Time between pipeline drains",
        "high",
        "GPU time of the range over the commands that drain the queue",
    ),
    # what an event list or a table of one's own says about order
    Metric(
        "barrier.count",
        "count",
        "Barriers",
        "low",
        "Barriers recorded inside the range, or between a single call and the work before it",
        ("Barriers", "Barrier Count", "Resource Barriers", "Pipeline Barriers"),
        bounded=False,
        additive=True,
    ),
    Metric(
        "range.barrier_interval",
        "ns",
        "Time between barriers",
        "high",
        "GPU time of the range over its barriers",
    ),
    flag(
        "queue.async", "On another queue", "1 where the range ran on a compute or copy queue, 0 on the graphics queue"
    ),
    Metric(
        "range.switch_interval",
        "ns",
        "Time between switches",
        "high",
        "GPU time of the range over its switches between graphics and compute",
    ),
    Metric(
        "prims.drawn",
        "count",
        "Primitives drawn",
        "low",
        "Primitives that reached the rasteriser; those fetched, where only they were counted",
        bounded=False,
    ),
    Metric(
        "pixels.drawn",
        "count",
        "Pixels drawn",
        "",
        "Pixels from the rasteriser; pixel-shader invocations, where only they were counted",
        bounded=False,
    ),
    Metric("prims.culled", "ratio", "Primitives culled", "low", "Primitives fetched that never reached the rasteriser"),
    Metric(
        "vertices.per_primitive",
        "count",
        "Vertices shaded per primitive",
        "low",
        "Vertex shader invocations per primitive; about 0.6 with good reuse, 3 without any",
        bounded=False,
    ),
    # No export seen so far carries the target's size; custom tables can.
    Metric(
        "range.depth_laid",
        "ratio",
        "Behind its own depth",
        "",
        "1 where an earlier pass drew the same geometry over many more pixels: what is shaded survived an equal depth test",
    ),
    Metric(
        "target.pixels",
        "count",
        "Pixels of the target",
        "",
        "Width times height of the render target",
        ("Target Pixels", "Render Target Pixels"),
    ),
    Metric(
        "target.pixel_bytes",
        "byte",
        "Bytes of a target pixel",
        "",
        "Bytes per pixel of all render targets together; the least a pass writes",
        ("Target Bytes per Pixel",),
    ),
    Metric(
        "pixels.overdraw",
        "count",
        "Overdraw",
        "low",
        "Pixels shaded per pixel of the render target",
        ("Overdraw",),
        bounded=False,
    ),
    Metric(
        "l2_share.tex",
        "ratio",
        "L2 traffic of shaders",
        "",
        "L1/TEX misses and shader writes as a share of all L2 traffic",
    ),
    Metric(
        "l2_share.crop", "ratio", "L2 traffic of colour targets", "", "Colour ROP traffic as a share of all L2 traffic"
    ),
    Metric("l2_share.zrop", "ratio", "L2 traffic of depth", "", "Depth ROP traffic as a share of all L2 traffic"),
    Metric(
        "l2_share.gcc",
        "ratio",
        "L2 traffic of constants",
        "low",
        "Misses of the constant and instruction caches as a share of all L2 traffic",
    ),
    Metric(
        "launch_stall.worst",
        "ratio",
        "Worst launch stall",
        "low",
        "The largest share of cycles in which warps of one stage could not start, stalled on one resource",
    ),
    Metric(
        "ray.stalls",
        "ratio",
        "Stalls on ray tracing",
        "low",
        "Share of the active warps' cycles waiting for the ray-tracing core or its queue",
    ),
)
