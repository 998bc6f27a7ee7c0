"""Every canonical metric: id, unit, meaning, which way is better, and the names tools give it.

Ids are `where.what`, lower snake case, no unit in the name. The modules of this folder hold the metrics by area;
a new metric is one entry in one of them. Readers map foreign names to ids, rules speak ids only.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from functools import cache, lru_cache

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


@cache
def all_metrics() -> dict[str, Metric]:
    """id -> Metric, in the order of the area modules."""
    found: dict[str, Metric] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda i: i.name):
        if not info.name.startswith("_"):
            for metric in importlib.import_module(f"{__name__}.{info.name}").METRICS:
                if metric.id in found:
                    raise ValueError(f"metric {metric.id} is declared twice")
                found[metric.id] = metric
    return found


def known(metric: str) -> bool:
    """True for a canonical id."""
    return metric in all_metrics()


def get(metric: str) -> Metric:
    """The metric of an id; KeyError when there is none."""
    return all_metrics()[metric]


def close(text: str) -> list[str]:
    """Ids that look like `text`, for error messages."""
    return difflib.get_close_matches(text, list(all_metrics()), 3, 0.6)


def normal(name: str) -> str:
    """A foreign name reduced to what matters when comparing: case, spaces, underscores and quotes do not."""
    return _short(name) if len(name) <= MAX_HEADER_CHARS else _reduced(name)


def _reduced(name: str) -> str:
    return _BETWEEN.sub(" ", name.lower()).strip(' "')


MAX_HEADER_CHARS = 200  # characters; every dialect asks for the same headers, and strangers' names must not be kept
_short = lru_cache(8192)(_reduced)
_BETWEEN = re.compile(r"[\s_\-\u00ad\u200b-\u200d\u2060\ufeff]+")  # invisible characters too
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


def _joined(name: str) -> str:
    return re.sub(r"[_.\-]", "", name).lower()


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
