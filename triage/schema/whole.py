"""Facts about the whole capture, for rules of scope `frame`."""

from triage.ground.limiters import CLASSES
from triage.ground.method import stated
from triage.schema._metric import Metric

METRICS = (
    # time outside all markers has no name, so no other rule covers it
    Metric("frame.time", "ns", "Frame time", "low", "GPU time of the whole capture"),
    Metric("frame.workloads", "count", "Workloads", "", "Workloads after grouping repeats", bounded=False),
    Metric(
        "frame.bus_copies", "ratio", "Time in host-device copies", "low", "Share of the time of all kernels and copies"
    ),
    Metric("frame.uncovered", "ratio", "Uncovered time", "low", "Share of the frame outside all markers"),
    Metric(
        "frame.tiny_count",
        "count",
        "Tiny ranges",
        "low",
        stated("Leaf ranges shorter than {tiny} each, repeats counted"),
        bounded=False,
    ),
    Metric(
        "frame.tiny_share",
        "ratio",
        "Time in tiny ranges",
        "low",
        stated("Share of the frame spent in leaf ranges shorter than {tiny}"),
    ),
    *(
        Metric(
            f"frame.share_{c.replace('-', '_')}",
            "ratio",
            f"Share of time: {c}",
            "",
            f"Share of the time in workloads of class {c}",
        )
        for c in CLASSES
    ),
)
