"""Traces of several ranks are one job: the rank all wait for, and what the others wait."""

import json
from pathlib import Path
from typing import Any

import pytest

from triage.api import diagnose
from triage.capture.capture import Capture
from triage.document.timeline_summary import device_names
from triage.reading import ranks, reader


def _trace(path: Path, rank: int | None, lasts: list[float], world: int = 0) -> str:
    """Kernels of 100 us, each followed by an all-reduce that takes as long as given."""
    rows: list[dict[str, Any]] = []
    now = 0.0
    for i, dur in enumerate(lasts, 1):
        for name, ns in (("gemm", 100.0), ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", dur)):
            args = {"device": 0, "stream": 7, "correlation": 2 * i}
            rows.append(
                {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": now, "dur": ns, "args": args}
            )
            now += ns
    head = {"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]}
    told = (
        {}
        if rank is None
        else {"distributedInfo": {"backend": "nccl", "rank": rank, **({"world_size": world} if world else {})}}
    )
    path.write_text(json.dumps({**head, **told, "traceEvents": rows}))
    return str(path)


def _captures(tmp_path: Path, *given: tuple[int | None, list[float]]) -> list[Capture]:
    return [reader.read(_trace(tmp_path / f"{i}.json", rank, lasts)) for i, (rank, lasts) in enumerate(given)]


def test_the_rank_with_the_shortest_collectives_came_last(tmp_path: Path) -> None:
    early, late = [60.0] * 19 + [10.0], [10.0] * 19 + [15.0]
    paths = [_trace(tmp_path / f"rank{r}.json", r, lasts) for r, lasts in ((4, early), (6, late))]
    found = diagnose(paths)
    assert found.to_dict()["frame"]["ranks"] == [
        {"rank": "4", "comm_ns": 1_150_000, "wait_ns": 900_000, "last": 1},
        {"rank": "6", "comm_ns": 205_000, "wait_ns": 5_000, "last": 18},
    ]
    (skew,) = [f for f in found.to_dict()["findings"] if f["cause"] == "communication-skew"]
    assert "rank 4 waits 900 µs" in skew["message"] and "rank 6 comes last to 18 of 19" in skew["message"]


@pytest.mark.parametrize(("world", "whole"), [(2, True), (0, True), (3, False)])
def test_where_ranks_are_missing_the_last_of_those_given_is_named(world: int, whole: bool, tmp_path: Path) -> None:
    paths = [_trace(tmp_path / f"rank{r}.json", r, [ns] * 20, world) for r, ns in ((0, 60.0), (1, 10.0))]
    doc = diagnose(paths).to_dict()
    (skew,) = [f for f in doc["findings"] if f["cause"] == "communication-skew"]
    assert "rank 1 comes last to 19 of 19" in skew["message"]
    assert ("of the 2 of 3 ranks given" in skew["message"]) != whole
    assert ("none can be later by more than 200 µs in all" in skew["message"]) != whole
    assert [q["check"] for q in doc["quality"] if "2 of 3 ranks" in q["message"]] == (
        [] if whole else ["missing-ranks"]
    )


def test_the_first_collective_of_a_recording_is_no_skew(tmp_path: Path) -> None:
    paths = [_trace(tmp_path / f"rank{r}.json", r, [ns] + [10.0] * 19, 2) for r, ns in ((0, 5_000.0), (1, 10.0))]
    doc = diagnose(paths).to_dict()
    assert not [f for f in doc["findings"] if f["cause"] == "communication-skew"]
    assert [r["wait_ns"] for r in doc["frame"]["ranks"]] == [0, 0]
    assert [q["message"] for q in doc["quality"] if q["check"] == "first-collective"] == [
        "ranks come to the first collective of their recordings up to 4.99 ms apart, probably as profilers start: not counted as waits"
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((0, [50.0] * 5), (0, [10.0] * 5)),  # two runs of one rank
        ((0, [50.0] * 5), (1, [10.0] * 4)),  # nothing tells which belong together
        ((0, [50.0] * 5), (1, [])),
    ],
)
def test_other_traces_are_no_job(
    first: tuple[int, list[float]], second: tuple[int, list[float]], tmp_path: Path
) -> None:
    given = [g for g in (first, second) if g[1]]
    captures = _captures(tmp_path, *given)
    ranks.enter(captures)
    assert all(c.timeline is not None and not c.timeline.job for c in captures)


def test_devices_are_named_by_their_rank(tmp_path: Path) -> None:
    paths = [_trace(tmp_path / f"rank{r}.json", r, [10.0 * r] * 20) for r in (4, 6)]
    frame = diagnose(paths).to_dict()["frame"]
    assert device_names(frame) == {"1:0": "rank 4", "2:0": "rank 6"}
    assert device_names({**frame, "ranks": None})["2:0"] == "capture 2 device 0"
