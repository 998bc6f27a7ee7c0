"""Every canonical metric: id, unit, meaning, which way is better, and the names tools give it.

Ids are `where.what`, lower snake case, no unit in the name. The tables of this folder hold the metrics by area; a new metric is
one row in one of them. Families of metrics, made from a list, are in the module beside their table. Readers map foreign
names to ids, rules speak ids only. Columns of the tables:

traits: `flag`, `unbounded`, `additive`, as in Metric. names: see Metric.aliases; `COUNTER.*` is every form of a PerfWorks counter.
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

from triage.ground import csv_rows
from triage.ground.method import stated
from triage.schema._metric import Metric

__all__ = [
    "Metric",
    "all_metrics",
    "by_alias",
    "by_label",
    "close",
    "get",
    "identified",
    "known",
    "normal",
    "perfworks",
]


_FOLDER = Path(__file__).parent


@cache
def all_metrics() -> dict[str, Metric]:
    """id -> Metric, by area: its table, then the families of its module."""
    found: dict[str, Metric] = {}
    for area in sorted({p.stem for p in _FOLDER.iterdir() if p.suffix in (".csv", ".py") and p.name[0] != "_"}):
        for metric in _area(area):
            if metric.id in found:
                raise ValueError(f"metric {metric.id} is declared twice")
            found[metric.id] = metric
    return found


def _area(area: str) -> Iterator[Metric]:
    if (table := _FOLDER / f"{area}.csv").exists():
        yield from (_metric(*row) for row in csv_rows.rows(__file__, table.name))
    if (_FOLDER / f"{area}.py").exists():
        yield from importlib.import_module(f"{__name__}.{area}").METRICS


def _metric(metric: str, unit: str, label: str, better: str, traits: str, meaning: str, names: str) -> Metric:
    is_flag = "flag" in traits
    return Metric(
        metric,
        unit,
        label,
        better,
        stated(meaning),
        tuple(name for given in names.split("; ") for name in _names(given, unit)) if names else (),
        bounded=not (is_flag or "unbounded" in traits),
        additive="additive" in traits,
        is_flag=is_flag,
    )


def _names(given: str, unit: str) -> tuple[str, ...]:
    counter = given.removesuffix(".*")
    if counter == given:
        return (given,)
    # GPU Trace prints many counters with _realtime in the name; RenderDoc, PIX and the Perf SDK print them without
    if unit != "ratio":
        return f"{counter}_realtime.sum", f"{counter}.sum"
    # the average of the units' shares and the share of the summed peak are one number; tools print either
    shares = (f"_realtime.avg{_PEAK}", f".avg{_PEAK}", f".sum{_PEAK}")
    return tuple(counter + form for form in shares)


_PEAK = ".pct_of_peak_sustained_elapsed"


def known(metric: str) -> bool:
    """True for a canonical id."""
    return metric in all_metrics()


def get(metric: str) -> Metric:
    """The metric of an id; KeyError when there is none."""
    return all_metrics()[metric]


def target(text: str) -> tuple[str, str]:
    """(metric, unit) that a column is mapped to, the unit "" where none is given: `gpu.time [ms]`."""
    metric, _, unit = text.partition("[")
    return metric.strip(), unit.rstrip("] ")


def is_target(text: str) -> bool:
    """True for what a column may be mapped to: a metric, with or without a unit, or the names of the rows."""
    return text == ROW_NAME or known(target(text)[0])


def close(text: str) -> list[str]:
    """Ids that look like `text`, for error messages."""
    return difflib.get_close_matches(text, list(all_metrics()), 3, 0.6)


def normal(name: str) -> str:
    """A foreign name reduced to what matters when comparing: case, spaces, underscores and quotes do not."""
    return _short(name) if len(name) <= MAX_HEADER_CHARS else _reduced(name)


def _reduced(name: str) -> str:
    return " ".join(name.lower().translate(_BETWEEN).split()).strip(' "')


MAX_HEADER_CHARS = 200  # characters; every dialect asks for the same headers, and strangers' names must not be kept
ROW_NAME = "name"  # what a column that names the rows is mapped to
_short = lru_cache(8192)(_reduced)
_BETWEEN = str.maketrans(dict.fromkeys("_-\u00ad\u200b\u200c\u200d\u2060\ufeff", " "))  # invisible characters too
LONGEST = 1_000  # characters; no counter's name comes near
_PERFWORKS = re.compile(r"(?:^|[.\s])((?:[a-z0-9]+)__[a-z0-9_]+)((?:\.[a-z0-9_]+)*)\s*\Z", re.IGNORECASE)


def perfworks(name: str) -> str:
    """A PerfWorks counter without hardware-group and metric-set prefixes, or "" when it is not one.

    `FE_B.TriageSCG.gr__cycles_active.avg.pct_of_peak_sustained_elapsed` -> `gr__cycles_active.avg.pct_...`
    """
    # the search grows with the square of the length: a hostile header of a megabyte would take minutes
    m = _PERFWORKS.search(name) if len(name) <= LONGEST else None
    return (m[1] + m[2]).lower() if m else ""


@cache
def by_label() -> dict[str, str]:
    """normalised label -> id, for every label of two words or more of one metric only that is no alias."""
    table: dict[str, set[str]] = {}
    for metric in all_metrics().values():
        table.setdefault(normal(metric.label), set()).add(metric.id)
    return {
        label: min(ids) for label, ids in table.items() if len(ids) == 1 and " " in label and label not in by_alias()
    }


def identified(name: str) -> str:
    """The id that a name spells with other joints, "" for none: `stall_long_scoreboard`, `StallLongScoreboard`.

    Words with blanks between them are no identifier: they are a tool's name of something, or somebody's.
    """
    return _by_joints().get(_joined(name), "") if name and " " not in name and len(name) <= MAX_HEADER_CHARS else ""


@cache
def _by_joints() -> dict[str, str]:
    return {_joined(m): m for m in all_metrics()}


_JOINTS = str.maketrans("", "", "_.-")


def _joined(name: str) -> str:
    return name.translate(_JOINTS).lower()


@cache
def by_alias() -> dict[str, str]:
    """normalised alias -> id, for every alias that means one thing whatever tool wrote it."""
    table: dict[str, str] = {}
    for metric in all_metrics().values():
        for alias in (metric.id, *metric.aliases):
            key = normal(alias)
            if table.setdefault(key, metric.id) != metric.id:
                raise ValueError(f"alias {alias!r} means both {table[key]} and {metric.id}")
    return table
