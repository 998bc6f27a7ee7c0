"""Queues over a frame: work of its own, beside others, and waits, against a count of whole microseconds."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.dialects import read
from triage.capture.queue_lanes import PARTS, lanes
from triage.capture.source import Source

WORK = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(1, 20)), min_size=1, max_size=12)


@given(WORK)
def test_every_microsecond_is_counted_once(work: list[tuple[int, int, int]]) -> None:
    queue = np.array([q for q, _, _ in work])
    start, length = (np.array([w[i] for w in work], dtype=float) for i in (1, 2))
    span, found = lanes(["a", "b", "c"], queue, start, start + length)
    at = {q: {t for o, s, n in work if o == q for t in range(s, s + n)} for q in set(queue.tolist())}
    if len(at) < 2:
        assert (span, found) == (0.0, [])
        return
    every = set().union(*at.values())
    assert span == max(every) + 1 - min(every)
    assert [lane.name for lane in found] == ["abc"[q] for q in sorted(at)]
    for lane, mine in zip(found, (at[q] for q in sorted(at)), strict=True):
        others = set().union(*(v for v in at.values() if v is not mine))
        assert (lane.busy, lane.beside, lane.waits) == (len(mine), len(mine & others), len(others - mine))
        assert len(lane.parts) == PARTS and abs(sum(lane.parts) * span / PARTS - lane.busy) < 0.02 * span


def test_tracks_of_gpu_zones_are_queues() -> None:
    rows = [
        {"ph": "M", "pid": 7, "tid": t, "name": "thread_name", "args": {"name": n}}
        for t, n in ((2, "GPU Graphics"), (3, "GPU Compute"))
    ]
    rows += [{"ph": "X", "pid": 7, "tid": t, "ts": s, "dur": d, "name": n} for t, s, d, n in ((2, 0, 4000, "G-buffer"), (2, 500, 100, "Rocks"), (2, 6000, 2000, "Post"), (3, 2000, 3000, "SSAO"))]  # fmt: skip
    span, (graphics, compute) = read(Source("x.json", json.dumps({"traceEvents": rows}).encode()), "gpu-zones").queues
    assert (span, graphics.busy, graphics.beside, graphics.waits) == (8e6, 6e6, 2e6, 1e6)
    assert (compute.busy, compute.beside, compute.waits) == (3e6, 2e6, 4e6)
