"""The noun Rule and its parts, compiled and ready to evaluate."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from msgspec import Struct, field

from triage.ground import units
from triage.rulebook.applies import Applies
from triage.rulebook.expression import Condition, Expression

# Publishers whose documents are about their own hardware alone, as they stand in the text of a source.
PUBLISHERS = {
    "nvidia": re.compile(r"\bNVIDIA\b"),
    "amd": re.compile(r"\b(?:AMD|AMDGPU|GPUOpen|ROCm)\b"),
    "intel": re.compile(r"\bIntel\b"),
}


class Cite(Struct, frozen=True):
    """A source a rule rests on."""

    key: str
    text: str
    url: str = ""

    @property
    def vendors(self) -> frozenset[str]:
        """Vendors whose hardware the source is about; none for a source about every GPU."""
        return _publishers(self.text)


@cache
def _publishers(text: str) -> frozenset[str]:
    return frozenset(v for v, name in PUBLISHERS.items() if name.search(text))


class Threshold(Struct, frozen=True):
    """A named number with unit and reason. value per method revision; unit is canonical."""

    name: str
    values: dict[str, float]
    unit: str
    why: str
    cite: str

    def value(self, method: str) -> float:
        """The number in force for a method revision."""
        return self.values[method]


class When(Struct, frozen=True):
    """given (concepts, all needed), all_of, any_of: all of them must hold."""

    given: tuple[str, ...]
    all_of: tuple[Condition, ...]
    any_of: tuple[Condition, ...]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Every atomic comparison."""
        return self.all_of + self.any_of


LIMIT = "limit"
# grade of evidence -> confidence: a counter of the fault itself, a stall reason, a rate that fits, no narrower cause, and a
# busy unit without a counted excess: work of a frame that may all be needed
EVIDENCE = {"mechanism": "high", "stall": "medium", "rate": "low", "absence": "low", LIMIT: "medium"}


# What a gain is a fraction of: the self time of the workload (or frame), or idle time outside all workloads, of which
# every instant counts for one cause only
GAIN_OF = ("workload", "idle")
# idle time of a launch that no work inside it can fill: before and after it, and while some SMs have ended
ENDS = ("start", "uneven")


class Demand(Struct, frozen=True):
    """The part of a unit's demand that remains after the fix: likely, and at best."""

    unit: str  # of ground.gpu_units.UNITS, or EVERY: all units without a demand of their own
    likely: Expression
    best: Expression


class GainModel(Struct, frozen=True):
    """What the fix does to a workload; diagnosis.gain turns it into low, likely and bound fractions of the time.

    remains: demands that fall. time: share of the time that the fix saves by what was measured of waits or idle
    units, None where the demands alone tell. best: most of it. sure: part of the likely gain that is safe. scope: a word of GAIN_OF. reach: share of peak at which a unit limits, None for the model's own number. ends: words of
    ENDS, idle time of a launch that the fix ends; the rest stays.
    """

    remains: tuple[Demand, ...]
    time: Expression | None
    best: Expression | None
    sure: float
    evidence: str  # a word of EVIDENCE
    confidence: str  # a word of ground.limiters.CONFIDENCE
    because: str
    scope: str = "workload"
    reach: float | None = None
    ends: tuple[str, ...] = ()

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Every formula stated."""
        demands = [e for d in self.remains for e in (d.likely, d.best)]
        return (*demands, *(e for e in (self.time, self.best) if e is not None))


class Advice(Struct, frozen=True):
    """One thing to do; look: it changes nothing, and finds out more. Shown unless `only_if` or a fact of `where` is known to be false."""

    text: str
    only_if: Condition | None = None
    code: str = ""
    language: str = ""
    where: Applies = field(default_factory=dict)
    look: bool = False


class TellApart(Struct, frozen=True):
    """Another rule for the same symptom, and the metric that decides between the two."""

    rule: str
    by: str
    how: str


# Steps of the decision path that compare with a threshold of a rule (findings.decision_path asks them).
PATH = (
    "high", "low", "gpu-idle", "sm-active-screen", "sm-active-geometry", "issue", "occupancy", "sm-tex-gap", "stall",
)  # fmt: skip

# Fields that a sentence may use in braces beside the rule's own names; findings.text_fields fills them.
TEXT_FIELDS = frozenset((
    "workload", "top_unit", "top_units", "kind", "top_stall", "limiter", "next_step", "loader_function", "detail",
))  # fmt: skip


class Rule(Struct, frozen=True):
    """One rule file.

    cause: what the rule gives evidence for, an id of rulebook.causes; a rule of a user's own may leave it to its name. applies: where it
    speaks, silent on a capture that says otherwise; a rule of vendors' own sources speaks of their GPUs only. setting: it
    says what the work is, not what is wrong with it. unweighed: name of the rule of which it is the section `unweighed`; that
    one says what is missing. written: the rule as its file has it, with the names of numbers in
    its texts (rulebook.texts).
    """

    id: str
    name: str
    pack: str
    title: str
    status: str
    since: str
    scope: str
    methods: tuple[str, ...]
    cites: tuple[Cite, ...]
    needs: tuple[str, ...]
    uses: tuple[str, ...]
    thresholds: dict[str, Threshold]
    let: dict[str, Expression]
    when: dict[str, When]  # by method
    concludes: tuple[str, ...]
    overruled_by: tuple[str, ...]
    rules_out: str
    finding: str
    gain: GainModel | None
    advice: tuple[Advice, ...]
    verify: str
    caveats: tuple[Advice, ...]
    tell_apart: tuple[TellApart, ...]
    tests: tuple[Any, ...]
    file: str
    line: int = 1
    summary: str = ""
    cause: str = ""
    applies: Applies = field(default_factory=dict)
    setting: bool = False
    path: dict[str, str] = field(default_factory=dict)  # step of PATH -> threshold
    labels: dict[str, str] = field(default_factory=dict)  # let -> what people read in its place
    overrides: dict[str, float] = field(default_factory=dict)
    unweighed: str = ""
    written: Rule | None = None

    def threshold(self, name: str, method: str) -> float:
        """A threshold in force: --set wins over the file."""
        return self.overrides[name] if name in self.overrides else self.thresholds[name].value(method)

    def __repr__(self) -> str:
        return f"<Rule {self.id} {self.name}: {self.title[:80]}>"

    @property
    def is_concept(self) -> bool:
        """Concludes something for other rules, reports nothing itself."""
        return not self.finding

    @property
    def sources(self) -> dict[str, tuple[Cite, ...]]:
        """See sources."""
        return sources(self.cites)


def reached(rule: Rule, names: Iterable[str]) -> set[str]:
    """These names and all that they read through lets: thresholds, lets and metrics."""
    out: set[str] = set()
    todo = list(names)
    while todo:
        if (name := todo.pop()) not in out:
            out.add(name)
            todo += rule.let[name].names if name in rule.let else ()
    return out


def reads(rule: Rule, names: Iterable[str]) -> set[str]:
    """Metric ids behind names, through lets."""
    return reached(rule, names) - rule.let.keys() - rule.thresholds.keys()


def sources(cites: Iterable[Cite]) -> dict[str, tuple[Cite, ...]]:
    """vendor -> its own sources; empty where all sources are about every GPU."""
    cites = tuple(cites)
    found = {v: tuple(c for c in cites if v in c.vendors) for v in PUBLISHERS}
    return {v: own for v, own in found.items() if own}


# number, then anything: ground.units knows the units, not this pattern
_VALUE = re.compile(r"\s*([+-]?[\d.]+(?:[eE][+-]?\d+)?)\s*(.*)\Z")


def quantity(text: Any) -> tuple[float, str]:
    """`80%` -> (0.8, ratio); `10 points` -> (0.1, points); `32 byte` -> (32, byte); 5 -> (5, count). Raises ValueError."""
    # YAML's `yes` is a bool, and a bool would pass for the number 1
    if isinstance(text, bool) or text is None:
        raise ValueError("a number with a unit, such as 80% or 32 byte")
    if isinstance(text, int | float):
        return float(text), "count"
    m = _VALUE.match(str(text))
    if not m:
        raise ValueError(f"cannot read {text!r} as a number with a unit")
    if m[2] in ("points", "point", "pp"):
        return float(m[1]) / 100, "points"
    if m[2] in ("x", "times"):
        return float(m[1]), "count"
    unit, factor = units.unit(m[2])
    # 57 x 0.01 is 0.5700000000000001, 57 / 100 is 0.57: a threshold is exactly what its author wrote
    return float(m[1]) * factor if factor != 0.01 else float(m[1]) / 100, unit
