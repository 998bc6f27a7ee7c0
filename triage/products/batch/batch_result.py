"""What a batch remembers of a capture, as plain data: it comes from other processes and out of notes on disk."""

from __future__ import annotations

from typing import TypedDict

from msgspec import Struct

Cell = str | float | None


class Cause(TypedDict):
    """A root cause in one capture."""

    cause: str
    title: str
    workloads: int
    saved_ns: float | None
    confidence: str
    message: str


class Limited(TypedDict):
    """Own time of the workloads of one limiter class; share: of the frame, 0-1."""

    limiter_class: str
    self_ns: float | None
    share: float | None


class Overview(TypedDict):
    """What the index says of a capture. path: as it was opened; name: below what the user typed."""

    path: str
    name: str
    dialect: str
    device: str | None
    rows: int
    duration_ns: float | None
    workloads: int
    recoverable_ns: float | None
    recoverable_low_ns: float | None
    recoverable_bound_ns: float | None
    findings_total: int
    time_by_verdict: dict[str, float | None]
    limiters: list[Limited]
    remarks: int
    causes: list[Cause]


class Listed(Struct):
    """A capture in the index: what that shows and no more, since a night's captures stand in memory side by side.

    first: what to do first, in words. limiters: none where the index has no drawings. reports: paths below the output folder.
    """

    path: str
    device: str | None
    workloads: int
    remarks: int
    duration_ns: float | None
    recoverable_ns: float | None
    recoverable_low_ns: float | None
    recoverable_bound_ns: float | None
    undiagnosed_ns: float
    first: str
    limiters: list[Limited]
    reports: list[str]


class Same(TypedDict):
    """A capture that holds the rows of one that is listed, and counts with it. first: the path of that one."""

    path: str
    first: str
    reports: list[str]


class Recurring(TypedDict):
    """A root cause over captures. worst: the capture in which it costs the most, with its report and message."""

    cause: str
    title: str
    captures: int
    workloads: int
    saved_ns: float
    confidence: str
    worst: str
    worst_ns: float
    report: str
    message: str


class Note(TypedDict):
    """OUT/.triage/<name>.json: that a capture is done. mark: what its reports depend on besides; files: name -> sha256.

    sha256: of the capture's bytes; content: of its rows, whatever they are called and however they are packed. seal: of
    all this, so that a damaged note is noticed.
    """

    mark: str
    sha256: str
    content: str
    files: dict[str, str]
    summary: Overview
    rows: list[list[Cell]]
    seal: str
