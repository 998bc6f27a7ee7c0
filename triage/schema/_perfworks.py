"""Entries whose names are PerfWorks counters: a counter has one name per tool that prints it, all made the same way."""

from triage.schema._metric import Metric

PCT = ".avg.pct_of_peak_sustained_elapsed"
# the average of the units' shares and the share of the summed peak are one number; tools print either
SHARES = (PCT, ".sum.pct_of_peak_sustained_elapsed")


# GPU Trace prints many counters with _realtime in the name; RenderDoc, PIX and the Perf SDK print them without.
def share(metric: str, label: str, better: str, meaning: str, *counters: str) -> Metric:
    """A ratio that PerfWorks prints as a share of the unit's peak over elapsed cycles."""
    names = (name for c in counters for name in (f"{c}_realtime{PCT}", *(f"{c}{form}" for form in SHARES)))
    return Metric(metric, "ratio", label, better, meaning, tuple(names))


def count(metric: str, label: str, better: str, meaning: str, *counters: str, also: tuple[str, ...] = ()) -> Metric:
    """A sum over all units; repeats add up. also: names in tools that do not print PerfWorks counters."""
    names = (name for c in counters for name in (f"{c}_realtime.sum", f"{c}.sum"))
    return Metric(metric, "count", label, better, meaning, (*names, *also), additive=True)
