"""The one-word answers and every word said of them: limiter classes, bands, levels, confidence.

An answer travels as a code (its position in the table) inside and as its id in documents. How it looks (hatch, colour,
fill) belongs to the renderers, keyed by id.
"""

from __future__ import annotations

from dataclasses import dataclass

from triage.ground.method import CLUSTER, HIGH, LOW
from triage.ground.phrasing import points, whole_percent

_HIGH, _LOW = whole_percent(HIGH), whole_percent(LOW)


@dataclass(frozen=True, slots=True)
class Limiter:
    """One limiter class. name: in legends; brief: where a table is narrow; phrase: begins a verdict; limited: ends
    `25 % of it ...`; meaning: when a workload belongs to it.
    """

    id: str
    name: str
    brief: str
    phrase: str
    limited: str
    meaning: str


LIMITERS = (
    Limiter(
        "unknown", "unknown", "unknown", "the limiter cannot be told from what was collected", "of unknown limiter",
        "what was collected cannot tell",
    ),
    Limiter(
        "compute", "SM (compute)", "SM", "limited by the SM", "limited by the SM",
        f"the SM side stands at or above {_LOW} of its peak and leads",
    ),
    Limiter(
        "memory", "memory", "memory", "limited by the memory system", "limited by memory",
        f"the memory system stands at or above {_LOW} of its peak and leads",
    ),
    Limiter(
        "balanced", "SM + memory", "SM+mem", "SM and memory system limit together", "limited by SM and memory alike",
        f"SM and memory system both stand high, within {points(CLUSTER)}",
    ),
    Limiter(
        "latency", "latency", "latency", "latency-bound: no unit is busy", "waiting on latency (no unit busy)",
        f"no unit reaches {_LOW}: work waits for results",
    ),
    Limiter(
        "small-grid", "small launch", "small", "the launch is too small to fill the GPU",
        "in launches too small for the GPU", "the launch has less than one wave of groups: it cannot fill the GPU",
    ),
    Limiter(
        "front-end", "front end", "front end", "limited by the graphics front end", "limited by the graphics front end",
        "index fetch, vertex fetch, culling or raster leads",
    ),
    Limiter(
        "rop", "ROP", "ROP", "limited by the raster operation units", "limited by raster output (ROP)",
        "colour or depth output leads",
    ),
    Limiter(
        "cpu", "CPU", "CPU", "the GPU waits for the CPU", "waiting for the CPU",
        "the GPU idles and waits for commands",
    ),
)  # fmt: skip
BY_ID = {x.id: x for x in LIMITERS}
CLASSES = tuple(BY_ID)

# id -> what the top unit's SOL asks for, in the order of their codes
BANDS = {
    "unknown": "not measured",
    "low": f"below {_LOW}: raise the SOL",
    "gray": f"{_LOW} to {_HIGH}: remove work and raise the SOL",
    "high": f"above {_HIGH}: remove work",
}
GRADES = ("great", "good", "poor")

LEVELS = ("info", "low", "medium", "high", "critical")
# (level, least share of the capture's time given back, least sure gain model), worst first; less than all is `info`.
# House judgement: critical is rare - two thirds of the time, by a counter that was measured.
_LEVELS = (
    ("critical", 2 / 3, "high"),
    ("high", 0.10, "medium"),
    ("medium", 0.03, "low"),
    ("low", 0.0, "low"),
)
# House judgement: what gives back less than this share of the time is of the level `low` too, and never what to do first -
# two frames of one scene differ by more.
SMALL = 0.002
# Of idle time: a trace in which nothing waits still shows a few per cent of it. House judgement after the thresholds of
# Nsight Systems' recipes and of nsys-ai, which are absolute; these are shares of the span.
_LEVELS_OF_IDLE = (
    ("critical", 0.40, "high"),
    ("high", 0.25, "medium"),
    ("medium", 0.10, "low"),
    ("low", 0.0, "low"),
)
# how sure a gain model is; the weight only orders findings of equal gain
CONFIDENCE = {"low": 0.3, "medium": 0.6, "high": 0.9}


def code(limiter: str) -> int:
    """Position of a limiter class in CLASSES; ValueError for a word that is none."""
    return CLASSES.index(limiter)


def less_sure(confidence: str) -> str:
    """The next lower confidence; the lowest stays."""
    words = list(CONFIDENCE)
    return words[max(words.index(confidence) - 1, 0)]


def level(share: float | None, confidence: str, of: str = "workload") -> str:
    """Severity from the share of the capture's time (0-1) that a fix gives back and how sure that is (CONFIDENCE).

    of: `idle` for time in which no device worked. `info` where the share is nothing or unknown.
    """
    if share is None or share != share or share <= 0:
        return "info"
    sure = CONFIDENCE[confidence]
    return next(
        name
        for name, least, surely in (_LEVELS_OF_IDLE if of == "idle" else _LEVELS)
        if share >= least and sure >= CONFIDENCE[surely]
    )
