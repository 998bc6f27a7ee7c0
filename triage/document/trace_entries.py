"""Entries of traces in the result: devices with their idle time, and kernels."""

from __future__ import annotations

from typing import Annotated, TypeAlias, TypedDict

from triage.ground.gap_reasons import GAP_WORDS

GapCause: TypeAlias = Annotated[str, tuple(GAP_WORDS)]


class GapClassEntry(TypedDict):
    """Idle time of one class on one device."""

    cause: GapCause
    total_ns: int
    count: int
    led_ns: int
    blamed_ns: int


class GapEntry(TypedDict):
    """One stretch of idle time. cause: the class to which most of it goes, which is cause_ns. loading_ns: waits for a data loader."""

    start_ns: int
    length_ns: int
    cause: GapCause
    cause_ns: int
    loading_ns: int
    led_by: GapCause
    call: str | None
    before: str
    after: str
    before_id: str | None
    after_id: str | None


class DeviceEntry(TypedDict):
    """The timeline of one device."""

    name: str | None
    span_ns: int
    busy_ns: int
    idle_ns: int
    gap_count: int
    largest_gap_ns: int
    gaps: list[GapClassEntry]
    longest_gaps: list[GapEntry]
    kernels: int
    kernel_ns: int
    median_kernel_ns: float | None
    short_kernel_share: float | None
    copies: int
    copy_busy_ns: int
    copy_hidden_ns: int
    h2d_bytes: int
    d2h_bytes: int
    d2d_bytes: int
    pageable_copies: int
    small_copies: int
    memsets: int
    graph_launches: int
    streams: int
    overlap_ns: int
    elsewhere_ns: int
    compute_ns: int
    comm_ns: int
    exposed_comm_ns: int
    exposed_copy_ns: int
    collective_ns: int
    collective_wait_ns: int
    before_ns: int
    after_ns: int
    lanes: dict[str, list[float]]


class OperatorEntry(TypedDict):
    """All calls of a framework's operator with the same dims and type; flops and bytes of one call, the least it can do.

    B, M, N, K: of a product. roof_share: rate over what the device allows it, 0 to 1.
    """

    capture: str
    op: str
    kind: str
    type: str
    dims: str
    calls: int
    total_ns: int
    share: float | None
    flops: float | None
    bytes: float | None
    B: int | None
    M: int | None
    N: int | None
    K: int | None
    roof_share: float | None
    kernel: str


class RankEntry(TypedDict):
    """One rank of a job. wait_ns: time in collectives beyond the rank that came last; last: how often it was that."""

    rank: str
    comm_ns: int
    wait_ns: int
    last: int


class StepEntry(TypedDict):
    """One step of a framework's profiler."""

    capture: str
    name: str
    ns: int
    batch: str


class KernelEntry(TypedDict):
    """All launches of one kernel of a trace."""

    capture: str
    name: str
    function: str | None
    launches: int
    total_ns: int
    share: float | None
    skip: int | None
    profile: str | None
