"""Facts over a frame's workloads, computed by triage/diagnosis/frame_facts.py: pairs, runs, common causes, drains."""

from triage.ground.method import stated
from triage.schema._metric import Metric

METRICS = (
    # Counters of tiny ranges include start-up and drain; many such ranges mean that the launches are the cost.
    Metric(
        "frame.tiny_marker_count",
        "count",
        "Tiny ranges",
        "low",
        stated("Leaf markers (no kernel launches) shorter than {tiny} each, repeats counted"),
        bounded=False,
    ),
    Metric(
        "frame.tiny_marker_share",
        "ratio",
        "Time in tiny ranges",
        "low",
        stated("Share of the frame in leaf markers shorter than {tiny}"),
    ),
    Metric(
        "frame.tiny_draw_share",
        "ratio",
        "Single draws among tiny ranges",
        "",
        stated("Share of the time in leaf markers shorter than {tiny} that single draws take, timed one by one"),
    ),
    Metric(
        "frame.tiny_launch_count",
        "count",
        "Tiny launches",
        "low",
        stated("Kernel launches shorter than {tiny} each"),
        bounded=False,
    ),
    Metric(
        "frame.tiny_launch_share",
        "ratio",
        "Share of tiny launches",
        "low",
        stated("Kernel launches shorter than {tiny}, of all launches"),
    ),
    Metric(
        "frame.tiny_launch_time",
        "ratio",
        "Time in tiny launches",
        "low",
        stated("Share of the capture's kernel time in launches shorter than {tiny}"),
    ),
    Metric(
        "frame.communication",
        "ratio",
        "Communication kernels",
        "low",
        "Share of the capture's time in kernels of NCCL, RCCL and similar libraries",
    ),
    # idle time and drains, over leaf ranges only: parents contain them again
    Metric("frame.idle", "ratio", "Frame idle", "low", "GPU idle over the frame's leaf ranges, weighted by their time"),
    Metric(
        "frame.barriers", "count", "Barriers", "low", "Barriers between the pieces of work of the frame", bounded=False
    ),
    Metric(
        "frame.barrier_share",
        "ratio",
        "Short work behind barriers",
        "low",
        "Time in ranges below 20 µs that each begin behind a barrier of their own, over the frame",
    ),
    Metric(
        "frame.drains",
        "count",
        "Pipeline drains in the frame",
        "low",
        "Commands that drain the graphics queue, leaf ranges only",
        bounded=False,
    ),
    Metric(
        "frame.drain_time",
        "ratio",
        "Time in pipeline drains",
        "low",
        "Share of the frame in which the front end waited for idle",
    ),
    # savings of several passes together
    Metric(
        "frame.merge_share",
        "ratio",
        "Time in mergeable passes",
        "low",
        "Share of the frame in runs of neighbouring fullscreen or compute passes with VRAM as top unit",
    ),
    Metric("frame.merge_passes", "count", "Mergeable passes", "low", "Passes in those runs", bounded=False),
    Metric(
        "frame.merge_bytes", "byte", "Bytes of mergeable passes", "low", "VRAM bytes that those passes read and write"
    ),
    Metric(
        "frame.merge_handed",
        "ratio",
        "Bytes handed on",
        "",
        "Share of those bytes that one pass writes and the next reads again, upper bound",
    ),
    Metric(
        "frame.pair_share",
        "ratio",
        "Time hidden by overlapping pairs",
        "",
        "Share of the frame that the best pairs of complementary passes hide if they overlap perfectly",
    ),
    Metric(
        "frame.pairs",
        "count",
        "Complementary pairs",
        "",
        "Pairs of passes behind that share (up to three)",
        bounded=False,
    ),
    Metric(
        "frame.dense_share",
        "ratio",
        "Time in dense geometry",
        "low",
        "Share of the frame in passes that draw 100,000 primitives and more of less than four pixels each",
    ),
    Metric(
        "frame.dense_excess",
        "ratio",
        "Excess geometry",
        "low",
        "How far the pixels per primitive of those passes lie below four, weighted by their time",
    ),
    Metric(
        "frame.hidden_share",
        "ratio",
        "Time in passes of hidden layers",
        "low",
        "Share of the frame in passes that shade more than three layers of their target and throw half or more away behind the shader",
    ),
    Metric(
        "frame.hidden_part",
        "ratio",
        "Shaded pixels thrown away",
        "low",
        "Shaded pixels of those passes that fail depth or stencil, weighted by their time",
    ),
    Metric(
        "frame.layered_share",
        "ratio",
        "Time in passes of many layers",
        "low",
        "Share of the frame in passes that draw more than three layers on their target",
    ),
    Metric(
        "frame.layered_excess",
        "ratio",
        "Layers beyond the third",
        "low",
        "Share of the pixels of those passes in layers beyond the third, weighted by their time",
    ),
    Metric(
        "frame.layered_blended",
        "ratio",
        "Blended passes of many layers",
        "",
        "Share of the time of those passes in passes of blended layers, by their names",
    ),
    Metric(
        "frame.common_share",
        "ratio",
        "Time behind one cause",
        "",
        "Saving of the most frequent best finding over all its workloads, as a share of the frame",
    ),
    Metric(
        "frame.common_workloads",
        "count",
        "Workloads with that cause",
        "",
        "Workloads whose best finding it is",
        bounded=False,
    ),
)
