"""Limiter classes, bands, grades, priorities and confidence, with their names in reports.

Arrays hold positions in these tables, documents the ids. Colours, hatches and fills belong to the renderers, keyed by id.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct
from msgspec.structs import astuple

from triage.ground.method import CLUSTER, HIGH, LOW
from triage.ground.phrasing import points, whole_percent
from triage.ground.terminology import Voice, is_tiler, localize, voice

_HIGH, _LOW = whole_percent(HIGH), whole_percent(LOW)


class Limiter(Struct, frozen=True):
    """One limiter class. name: in legends; brief: in narrow tables; phrase: begins a verdict; limited: ends `25 % ...`;
    meaning: when a workload belongs to it.
    """

    id: str
    name: str
    brief: str
    phrase: str
    limited: str
    meaning: str


LIMITERS = (
    Limiter(
        "unknown", "unknown", "unknown", "limiter unknown", "limiter unknown",
        "no counter tells what limits",
    ),
    Limiter(
        "compute", "SM (compute)", "SM", "compute-bound (SM)", "compute-bound (SM)",
        f"SM side at {_LOW} of peak or more, and highest",
    ),
    Limiter(
        "memory", "memory", "memory", "memory-bound", "memory-bound",
        f"memory side, or PCIe, at {_LOW} of peak or more, and highest",
    ),
    Limiter(
        "balanced", "SM + memory", "SM+mem", "balanced: SM and memory both limit", "limited by SM and memory",
        f"SM and memory sides both high, within {points(CLUSTER)}",
    ),
    Limiter(
        "latency", "latency", "latency", f"latency-bound: no measured unit above {_LOW}", "latency-bound",
        f"no unit reaches {_LOW} of peak",
    ),
    Limiter(
        "small-grid", "small grid", "small grid", "grid too small to fill the GPU", "in grids too small to fill the GPU",
        "the grid has less than one wave of groups: too small to fill the GPU",
    ),
    Limiter(
        "front-end", "front end", "front end", "front-end-bound (index, vertex, culling, raster)", "front-end-bound",
        "index fetch, vertex fetch, culling or raster is the top unit",
    ),
    Limiter(
        "rop", "ROP", "ROP", "ROP-bound (colour/depth output)", "ROP-bound",
        "colour or depth output is the top unit",
    ),
    Limiter(
        "cpu", "CPU", "CPU", "CPU-bound: GPU idle", "CPU-bound",
        "GPU idle, waiting for commands",
    ),
)  # fmt: skip
BY_ID = {x.id: x for x in LIMITERS}
CLASSES = tuple(BY_ID)
# a phone's counters put its texture and load/store units on the side of memory
_OF_TILERS = Limiter(
    "memory", "texture, load/store, memory", "tex/LS/mem", "limited by texture, load/store or memory", "limited by texture, load/store or memory",
    f"texture or load/store unit, a cache or memory at {_LOW} of peak or more, and highest",
)  # fmt: skip


def limiter_words(name: str) -> Limiter:
    """A class by its id, in the words of the GPU that the report is about."""
    return _spoken(voice())[name]


@lru_cache(16)  # rows and drawn nodes ask for the same few
def _spoken(_: Voice) -> dict[str, Limiter]:
    """Every class in the words of the current voice, by id."""
    own = BY_ID | ({"memory": _OF_TILERS} if is_tiler() else {})
    return {name: Limiter(x.id, *map(localize, astuple(x)[1:])) for name, x in own.items()}


# id -> what the top unit's % of peak calls for, in the order of the codes
BANDS = {
    "unknown": "not measured",
    "low": f"below {_LOW}: raise throughput",
    "gray": f"{LOW * 100:.0f} to {_HIGH}: cut work and raise throughput",
    "high": f"above {_HIGH}: cut work",
}
GRADES = ("great", "good", "poor")

LEVELS = ("info", "low", "medium", "high", "critical")
# (priority, least share of the capture's time saved, least confidence), highest first; `info` below all.
# Heuristic: critical is rare - two thirds of the time, by a counter that was measured, and not where a fix may save nothing.
_LEVELS = (
    ("critical", 2 / 3, "high"),
    ("high", 0.10, "medium"),
    ("medium", 0.03, "low"),
    ("low", 0.0, "low"),
)
# Heuristic: a smaller saving has priority `low` and no place among the first items, since two frames of one scene differ
# by more.
MIN_FIRST_SHARE = 0.002
# Of idle time, which every trace has a few per cent of. Heuristic after the thresholds of Nsight Systems' recipes and of
# nsys-ai, which are absolute; these are shares of the span.
_LEVELS_OF_IDLE = (
    ("critical", 0.40, "high"),
    ("high", 0.25, "medium"),
    ("medium", 0.10, "low"),
    ("low", 0.0, "low"),
)
# confidence in a gain model -> weight, which only orders findings of equal saving
CONFIDENCE = {"low": 0.3, "medium": 0.6, "high": 0.9}
# Weight of a likely saving when causes compete. Order by likely x weight put the fixed cause first most often on kernels
# whose fix was measured; the bound or the middle of the interval did worse.
SURENESS = dict(zip(CONFIDENCE, (0.5, 0.75, 1.0), strict=True))


def code(limiter: str) -> int:
    """Return the position of a limiter class in CLASSES; raises ValueError for an unknown one."""
    return CLASSES.index(limiter)


def less_sure(confidence: str) -> str:
    """The next lower confidence; the lowest stays."""
    words = list(CONFIDENCE)
    return words[max(words.index(confidence) - 1, 0)]


def level(share: float | None, confidence: str, of: str = "workload", sure: bool = True) -> str:
    """Return the priority (one of LEVELS) of a saving: share of the capture's time (0-1) and confidence.

    of: `idle` for time in which no device worked. sure: its range begins above 0. `info` for an unknown share and for none.
    """
    if share is None or share != share or share <= 0:
        return "info"
    levels = (_LEVELS_OF_IDLE if of == "idle" else _LEVELS)[not sure :]
    return next(name for name, least, word in levels if share >= least and CONFIDENCE[confidence] >= CONFIDENCE[word])
