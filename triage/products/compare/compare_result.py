"""What a comparison says, as plain data (triage-compare/1). Times are ns, shares and ratios 0-1 unless a unit is given."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from triage.document.numbers import number

SCHEMA = "triage-compare/1"
ALONE = {"before": "gone", "after": "new"}  # side -> what a workload of it alone is


class Judged(TypedDict):
    """Two durations (medians) and the verdict: faster, slower, same or `cannot tell`; without times `same` and None.

    change: of the time, after / before - 1 (-0.2: a fifth less than before), which every report shows; interval: of that
    change, from the repeats where measured, else assumed. gain: before / after - 1. noise: the smallest change that would
    have been seen, a share. needs: further runs a side that would tell, where the verdict is `cannot tell`.
    remarks: outliers, two modes.
    """

    before_ns: float | None
    after_ns: float | None
    speedup: float | None
    gain: float | None
    change: float | None
    noise: float | None
    interval: list[float | None] | None
    measured: bool
    needs: int | None
    remarks: list[str]
    verdict: str


class Change(TypedDict):
    """One counter before and after, in the unit that is shown, and what its movement means beside the time."""

    metric: str
    label: str
    before: float | None
    after: float | None
    unit: str
    ratio: float | None
    reading: str
    sense: str
    moved: bool


class Predicted(TypedDict):
    """What the best finding predicted, as speed-ups. came_true: below, within or above; None if unknown.

    change, interval: the same promise as changes of the time, like those that were measured. doubt: why nothing is
    known (`too wide`, `the runs cannot tell`, `still there`), "" where came_true says it.
    """

    low: float
    likely: float
    bound: float
    rule: str
    change: float | None
    interval: list[float | None]
    achieved: float | None
    came_true: str | None
    doubt: str


class Name(TypedDict):
    """A workload's name and the markers around it."""

    name: str
    path: list[str]


class Paired(Judged):
    """One workload on both sides. matched: why it was taken for one, "" where the names agree. shape: grid and block of its launches,
    after; "" where unknown.

    per_call: times are of one call, because the sides have different numbers of them; total_ns: of all calls;
    own_ns: of these without what lies below. gone: rule of `fixed` -> the comparison after that no longer holds. hidden: rules of
    `new` that another finding covered before.
    """

    name: str
    path: list[str]
    kind: str | None
    shape: str
    was: Name | None
    matched: str
    calls: list[float | None]
    per_call: bool
    total_ns: list[float | None]
    own_ns: list[float | None]
    repeats: list[int]
    reading: str
    chief: str
    changes: list[Change]
    fixed: list[str]
    gone: dict[str, str]
    remaining: list[str]
    new: list[str]
    hidden: list[str]
    unknown: list[str]
    predicted: Predicted | None


class Alone(Name):
    """A workload of one side, `before` or `after`."""

    side: str
    kind: str | None
    duration_ns: float | None
    own_ns: float | None


class Row(TypedDict):
    """One figure of two timelines; ratio: after / before, None where there was nothing before. device: of several, the one it is of."""

    what: str
    unit: str
    before: float | None
    after: float | None
    ratio: float | None
    device: NotRequired[str]


def row(what: str, unit: str, before: float, after: float) -> Row:
    """One figure, rounded."""
    return {
        "what": what,
        "unit": unit,
        "before": number(before, 1),
        "after": number(after, 1),
        "ratio": number(after / before, 4) if before else None,
    }


class Rate(TypedDict):
    """Time of one iteration on both sides. unit: step, frame or sequence (of so many kernels). outliers: in words.

    device: of several, the one before on which the sequence ran, else "".
    """

    unit: str
    kernels: int
    device: str
    judged: Judged
    outliers: list[str]


class Work(TypedDict):
    """Amounts of work on both sides. what, ratio: the amount that stands for all, after / before; unequal: beyond 1 %.

    weighted: calls after / before, each at its time before. window: measured length, after / before.
    per_launch: change of the time of as many calls as before; per_unit: of the time per `what`, where that is no call.
    """

    rows: list[Row]
    what: str | None
    ratio: float | None
    weighted: float | None
    unequal: bool
    window: float | None
    per_iteration: Rate | None
    per_launch: float | None
    per_unit: float | None


class Kind(TypedDict):
    """A kind of change (real, method, hardware, work, noise) and what shows it. further: what the headline and the warnings leave out."""

    kind: str
    evidence: list[str]
    further: list[str]


class Input(TypedDict):
    """One capture that was compared; setting: what is known of its GPU and work (vendor, arch, api, work)."""

    path: str
    sha256: str
    dialect: str
    setting: dict[str, str]


class Outside(TypedDict):
    """Time of the frame under no workload (medians, ns), and the verdict on the workloads alone."""

    before_ns: float | None
    after_ns: float | None
    workloads: Judged


class Totals(TypedDict):
    """Of all pairs, listed or not. verdicts: how many have each. needs: further runs a side that would decide half of those that
    cannot be decided, None where no number would. regressed: those that are slower than allowed, or slower at all where nothing is
    allowed for. open: those that look slower than allowed and cannot be decided.
    """

    pairs: int
    unmatched: int
    verdicts: dict[str, int]
    needs: int | None
    regressed: int
    open: int


class Comparison(TypedDict):
    """The whole document. pairs, unmatched: of very many only those that matter most; totals counts all. warnings: why the two sides may not be of the same work, most important first. outside: None where the
    workloads are the whole frame, or a timeline says what lies between.
    """

    schema: str
    tool: dict[str, str]
    before: list[Input]
    after: list[Input]
    noise_floor: float
    margin: float
    threshold: float | None
    warnings: list[str]
    kinds: list[Kind]
    work: Work
    frame: Judged
    outside: Outside | None
    totals: Totals
    pairs: list[Paired]
    unmatched: list[Alone]
    timeline: list[Row]
    regressions: list[str]
    rules: dict[str, dict[str, str]]
