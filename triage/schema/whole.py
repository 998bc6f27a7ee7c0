"""Shares of the whole capture by class of limiter, for rules of scope `frame`."""

from triage.ground.limiters import CLASSES
from triage.schema._metric import Metric

METRICS = tuple(
    Metric(
        f"frame.share_{c.replace('-', '_')}",
        "ratio",
        f"Share of time: {c}",
        "",
        f"Share of the time in workloads of class {c}",
    )
    for c in CLASSES
)
