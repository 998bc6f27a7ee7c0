"""Chains of tiny work: ranges of a few microseconds, one behind the other under one marker.

What such a range costs is starting and ending it; its counters say little, and its shader is not what to tune.
"""

from __future__ import annotations

import numpy as np

from triage import schema
from triage.capture.arrays import Floats
from triage.capture.capture import Capture, Derived, Quality
from triage.ground.method import TINY_NS, in_words, stated
from triage.ground.phrasing import plural
from triage.reading.pass_tree import is_frame

FORMULA = stated("ranges below {tiny} that follow each other under one marker, repeats counted")
_NO_LINK = ("marker", "frame", "cpu", "copy")


def links(capture: Capture) -> Floats | None:
    """Per workload how many links its chain has, 0 outside of any; None where no range of graphics work is timed
    in its frame.

    Kernel launches are left out: their order is the program's, and rules of their own count them.
    """
    if not is_frame(capture) or capture.table.isolated:
        return None
    own = capture.self_ns
    timed = capture.leaf & (own > 0)
    if not timed.any():
        return None
    calls = np.maximum(capture.calls, 1.0)
    tiny = timed & (own / calls < TINY_NS)
    some = np.flatnonzero(tiny)
    tiny[some] = ~np.isin(capture.kinds[some], _NO_LINK)
    some = np.flatnonzero(tiny)
    out = np.zeros(len(capture))
    if len(some):
        ends = (np.diff(some) > 1) | (np.diff(capture.parent[some]) != 0)
        run = np.concatenate([[0], np.cumsum(ends)])
        out[some] = np.bincount(run, calls[some])[run]
    return out


def enter(capture: Capture) -> None:
    """Give every workload the length of its chain; replayed one by one, short work keeps its counts only."""
    if capture.table.isolated:
        _counts_only(capture)
    found = links(capture)
    if found is not None:
        capture.facts["range.chain"] = found
        capture.sources["range.chain"] = Derived(FORMULA, ("gpu.time",))


def _counts_only(capture: Capture) -> None:
    """Blank the rates of short actions that were replayed one by one: most of what they show is starting and draining."""
    own = np.nan_to_num(capture.self_ns)
    tiny = capture.leaf & (own > 0) & (own / np.maximum(capture.calls, 1.0) < TINY_NS)
    if not tiny.any():
        return
    for metric, values in capture.facts.items():
        if schema.known(metric) and not schema.get(metric).additive and schema.get(metric).unit == "ratio":
            capture.facts[metric] = np.where(tiny, np.nan, values)
    count, share = int(capture.calls[tiny].sum()), float(own[tiny].sum() / own.sum())
    text = f"{plural(count, 'action')} below {in_words()['tiny']}, replayed one by one, take {share:.0%} of the time: their rates show starting and draining, and are not used"
    capture.quality.append(Quality("short-replay", text))
