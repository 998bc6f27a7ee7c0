"""Queues over a frame: work of its own, beside others, and waits, against a count of whole microseconds."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.dialects import read
from triage.capture.queue_lanes import PARTS, by_shares, lanes
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


def test_zones_that_cross_are_of_a_second_queue() -> None:
    """Tracy names no queue: what overlaps without nesting cannot be of one."""
    rows = ["name,src_file,Time from start of program,GPU execution time"]
    for at in (0, 20_000_000):
        rows += [f"Frame,a.cpp,{at},9000000", f"Depth,a.cpp,{at},900000", f"Opaque,a.cpp,{at + 1000000},5000000"]
        rows += [f"Post,a.cpp,{at + 7000000},1500000", f"Simulation,a.cpp,{at + 8000000},3000000"]
    table = read(Source("x.csv", "\n".join(rows).encode()), "tracy-gpu")
    first, second = table.queues[1]
    assert first.busy == 18e6 and second.busy == 6e6 and first.beside == second.beside == 2e6
    assert table.paths is not None and set(table.paths) == {"", "Frame"}


def test_shares_of_ranges_are_lanes_and_an_idle_queue_is_none() -> None:
    lengths = np.array([4e6, 6e6])
    shares = {"direct": np.array([1.0, 0.5]), "async": np.array([0.25, np.nan]), "copy": np.zeros(2)}
    span, (direct, beside) = by_shares(lengths, shares)
    assert (span, direct.busy, beside.busy, beside.beside) == (7e6, 7e6, 1e6, 1e6)
    assert by_shares(lengths, {"direct": np.ones(2)}) == (0.0, [])
