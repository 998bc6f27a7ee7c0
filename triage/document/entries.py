"""The result (schema triage/1) as types: one TypedDict per JSON object, its keys in the order in which they are written.

result.schema.json has the meaning, unit and range of each key; a test compares it with these types. Words of a fixed list are
`Annotated` with that list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NotRequired, TypeAlias, TypedDict, final

from triage.document.budget_entries import BudgetEntry
from triage.document.capture_entries import FramesEntry, QueueEntry
from triage.document.location_entries import LocationEntry
from triage.document.trace_entries import DeviceEntry, KernelEntry, OperatorEntry, RankEntry, StepEntry
from triage.ground.limiters import BANDS, CLASSES, CONFIDENCE, GRADES, LEVELS
from triage.ground.method import REVISIONS

SCHEMA = "triage/1"
OPERATORS = ("<", "<=", ">", ">=", "==", "!=", "is")
VERDICT_CLASSES = ("fix", "suspect", "not-diagnosed", "at-limit")  # of a workload, in their precedence
VERDICTS = ("root", "named", "ruled out", "blind", "not seen", "no cause")  # on a cause that the profiler names

Level: TypeAlias = Annotated[str, LEVELS]
Confidence: TypeAlias = Annotated[str, tuple(CONFIDENCE)]
LimiterClass: TypeAlias = Annotated[str, CLASSES]


class ToolEntry(TypedDict):
    """What made a result."""

    name: str
    version: str
    rules_sha256: str
    method: Annotated[str, REVISIONS]


class CaptureEntry(TypedDict):
    """One input."""

    path: str
    sha256: str
    dialect: str
    device: str | None
    rows: int
    workloads: int
    frames: FramesEntry | None
    unmapped: list[str]
    notes: list[str]
    accounted: NotRequired[dict[str, int]]
    isolated: NotRequired[bool]
    queue_span_ns: NotRequired[float | None]
    queues: NotRequired[list[QueueEntry]]


class LimiterEntry(TypedDict):
    """Self time of one limiter class."""

    limiter_class: LimiterClass
    self_ns: float | None
    share: float | None


class FrameEntry(TypedDict):
    """Totals of all captures."""

    duration_ns: float | None
    workloads: int
    recoverable_ns: float | None
    recoverable_low_ns: float | None
    recoverable_bound_ns: float | None
    uncovered_ns: float | None
    limiters: list[LimiterEntry]
    findings_total: int
    findings_listed: int
    notes: list[str]
    time_by_verdict: dict[str, float | None]
    unjudged_ns: float | None
    unjudged_collect: str | None
    collect_all: str | None
    timeline: dict[str, DeviceEntry] | None
    kernels: list[KernelEntry] | None
    operators: list[OperatorEntry] | None
    steps: list[StepEntry] | None
    ranks: list[RankEntry] | None
    budgets: NotRequired[list[BudgetEntry]]


class TimesEntry(TypedDict):
    """Times of a workload's repeats in ns."""

    min: float | None
    median: float | None
    max: float | None


class UnitEntry(TypedDict):
    """Share of peak of one unit, in percent."""

    unit: str
    pct: float | None


class OpinionEntry(TypedDict):
    """One result of the profiler's own rules, and the verdict on it here."""

    tool: str
    rule: str
    type: str
    text: str
    speedup: float | None
    cause: str | None
    verdict: Annotated[str, VERDICTS]
    ours: float | None
    why: str | None


class WorkloadEntry(TypedDict):
    """One marker, draw or kernel."""

    id: str
    capture: str
    name: str
    path: list[str]
    kind: str | None
    parent: str | None
    calls: float | None
    times: TimesEntry | None
    duration_ns: float | None
    self_ns: float | None
    share: float | None
    sol: list[UnitEntry]
    band: Annotated[str, tuple(BANDS)]
    primary: list[str]
    secondary: list[str]
    bound_speedup: float | None
    hit_grades: dict[str, Annotated[str, GRADES]]
    limiter_class: LimiterClass
    chain: list[str]
    saved_ns: float | None
    judged: bool
    verdict_class: Annotated[str, VERDICT_CLASSES]
    second_opinion: list[OpinionEntry]
    verdict: str


class PassEntry(TypedDict):
    """One pass of a frame."""

    capture: str
    name: str
    path: list[str]
    rest: bool
    ranges: int
    calls: float | None
    duration_ns: float | None
    share: float | None
    draws: float | None
    dispatches: float | None
    primitives_in: float | None
    primitives: float | None
    vertices: float | None
    pixels: float | None
    pixel_invocations: float | None
    compute_invocations: float | None
    read_bytes: float | None
    written_bytes: float | None
    pixels_per_primitive: float | None
    bytes_per_pixel: float | None
    least_bytes_per_pixel: float | None
    target_pixels: float | None
    layers: float | None
    layers_passed: float | None
    thrown_away: float | None
    limiter_class: LimiterClass
    cause: str | None
    title: str | None
    saved_ns: float | None


class LinkEntry(TypedDict):
    """One cause of a cause chain, with a number that shows it."""

    cause: str
    title: str
    number: str


class CodeEntry(TypedDict):
    """An example."""

    language: str
    text: str


class CiteEntry(TypedDict):
    """A source."""

    text: str
    url: str | None


class AcceptedEntry(TypedDict):
    """Why a project accepts a root cause."""

    state: Annotated[str, ("accepted", "expired", "grown")]
    reason: str
    owner: str
    expires: str


class ItemEntry(TypedDict):
    """One item of the to-do list: a root cause over all its workloads."""

    rank: int
    cause: str
    title: str
    verdict_class: Annotated[str, ("fix", "suspect")]
    level: Level
    confidence: Confidence
    saved_ns: float | None
    share: float | None
    low_ns: float | None
    bound_ns: float | None
    alone_ns: float | None
    fraction: float | None
    scope: Annotated[str, ("workloads", "frame")]
    workload_count: int
    workloads: list[str]
    names: list[str]
    kernel_owner: str | None
    chain: list[LinkEntry]
    message: str
    action: str
    action_kind: Annotated[str, ("fix", "try", "investigate")]
    advice: list[str]
    code: list[CodeEntry]
    verify: str | None
    caveats: list[str]
    cites: list[CiteEntry]
    rule: str
    rules: list[str]
    findings: list[int]
    fingerprint: str
    accepted: NotRequired[AcceptedEntry]


class GainEntry(TypedDict):
    """Saving of one finding: fractions of the workload's time, ns, share of the frame."""

    fraction: float
    saved_ns: float | None
    share: float | None
    speedup: float
    low: float | None
    bound: float | None
    of: str


@final
class CellEntry(TypedDict):
    """A cell as exported."""

    file: str
    line: int
    column: str
    text: str
    record: NotRequired[str]


class InputEntry(TypedDict):
    """One input of a formula."""

    metric: str
    value: float | None
    unit: str
    source: SourceEntry


@final
class FormulaEntry(TypedDict):
    """A formula and its inputs. devices: of a sum over several those that have part of it."""

    formula: str
    inputs: list[InputEntry]
    devices: NotRequired[list[str]]


SourceEntry: TypeAlias = CellEntry | FormulaEntry


class EvidenceEntry(TypedDict):
    """One comparison that a finding rests on, in display units. stated: its number stands in the finding's sentence."""

    metric: str
    value: float | None
    unit: str
    op: Annotated[str, OPERATORS]
    threshold: float | None
    margin: float | None
    source: SourceEntry
    stated: NotRequired[bool]


class FindingEntry(TypedDict):
    """One rule that fired on one workload."""

    rank: int
    rule: str
    name: str
    title: str
    workload: str
    level: Level
    confidence: Confidence
    message: str
    gain: GainEntry | None
    because: list[str]
    evidence: list[EvidenceEntry]
    advice: list[str]
    code: list[CodeEntry]
    verify: str | None
    caveats: list[str]
    cites: list[CiteEntry]
    cause: str
    root: bool
    explained_by: str | None
    locations: list[LocationEntry]
    fingerprint: str


class RuledOutEntry(TypedDict):
    """A cause that a number excludes on one workload."""

    rule: str
    workload: str
    why: str


class BlindSpotEntry(TypedDict):
    """Missing counters and the rules that need them."""

    missing: list[str]
    rules: list[str]
    causes: list[str]
    workloads: list[str]
    count: int
    collect: str


class QualityEntry(TypedDict):
    """A note on the quality of the data."""

    check: str
    workload: str | None
    message: str


class Head(TypedDict):
    """The result but for its lists."""

    schema: str
    tool: ToolEntry
    captures: list[CaptureEntry]
    frame: FrameEntry


class Result(Head):
    """The whole result of a diagnosis."""

    workloads: Sequence[WorkloadEntry]
    passes: list[PassEntry]
    todo: list[ItemEntry]
    findings: list[FindingEntry]
    ruled_out: list[RuledOutEntry]
    blind_spots: list[BlindSpotEntry]
    quality: list[QualityEntry]
