"""What a diagnosis is made of, once it is shown: origins, checks, gains, findings, blind spots.

The arrays behind them are in `judged`; these objects are made only for what a report lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from triage.capture.location import Location
from triage.rulebook.rule import Cite, Rule

Outcome = Literal["fired", "silent", "blind", "not applicable", "overruled"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from: a cell as exported (file, 1-based line, column header, text), or a formula over inputs.

    value is in the canonical unit of the metric. record: what a line is called in files that are no text (`result`).
    """

    metric: str
    value: float
    unit: str
    file: str = ""
    line: int = 0
    column: str = ""
    text: str = ""
    formula: str = ""
    inputs: tuple[Origin, ...] = ()
    record: str = "line"


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison that a finding rests on, in display units (ratios as percent).

    why: the comparison in words. said: its left side alone, `TEX hit rate 57.0 %`.
    """

    metric: str
    value: float
    unit: str
    op: str
    threshold: float | None
    margin: float | None
    source: Origin
    why: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Gain:
    """Time a finding would give back: fractions (0-1) of the workload's exclusive time, and what that is in the frame.

    saved_ns is NaN where no time is known; share is then the fraction of the workload.
    """

    fraction: float
    low: float
    bound: float
    saved_ns: float
    share: float
    speedup: float
    because: str
    scope: str = "workload"


@dataclass(frozen=True, slots=True)
class BlindSpot:
    """Metrics nobody collected, the rules that wait for them, and the command that would collect them.

    workloads: the first of those concerned; count: how many there are.
    """

    missing: tuple[str, ...]
    rules: tuple[str, ...]
    workloads: tuple[int, ...]
    count: int
    collect: str


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """One rule's statement about one workload. part: index of the capture; workload: index in it, -1 for the frame.

    locations: the lines or instructions it is about, where the export counts them.
    """

    rank: int
    rule: Rule
    part: int
    workload: int
    workload_id: str
    workload_name: str
    level: str
    confidence: str
    message: str
    gain: Gain | None
    because: tuple[str, ...]
    evidence: tuple[Check, ...]
    advice: tuple[str, ...]
    code: tuple[tuple[str, str], ...]  # (language, text)
    caveats: tuple[str, ...]
    cites: tuple[Cite, ...]
    fingerprint: str
    locations: tuple[Location, ...] = ()

    def __repr__(self) -> str:
        saves = f", saves {self.gain.fraction:.0%} of it" if self.gain else ""
        return f"<Finding {self.rank}: {self.rule.id} {self.rule.name} on {self.workload_name[:60]!r}{saves}>"
