"""What a capture of several frames or queues holds, as entries of the result."""

from __future__ import annotations

from typing import TypedDict


class MarkerFramesEntry(TypedDict):
    """Times of one marker over the frames of a capture."""

    workload: str
    name: str
    median_ns: float | None
    p99_ns: float | None
    low_1_ns: float | None
    worst_ns: float | None
    worst_frame: int


class FramesEntry(TypedDict):
    """Several frames in one capture."""

    count: int
    median_ns: float | None
    p99_ns: float | None
    longest_ns: float | None
    stutter: float | None
    low_1_ns: float | None
    markers: list[MarkerFramesEntry]


class QueueEntry(TypedDict):
    """What a queue did over the frame."""

    name: str
    busy_ns: float | None
    beside_ns: float | None
    waits_ns: float | None
    parts: list[float]
