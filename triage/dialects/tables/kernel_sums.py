"""Kernels with their time and calls, as tools print or write them for people: rows found again by number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from triage.capture.arrays import Floats
from triage.capture.capture import SEP, Table
from triage.capture.source import Source
from triage.dialects.tables import text_rows
from triage.ground import units
from triage.ground.errors import UnknownUnit
from triage.ground.kernel_names import is_cut

_COPY_RE = re.compile(
    r"\[?(?:CUDA )?mem(?:cpy|set)\b|\[(?:Host|Device)To(?:Host|Device)Copy\b|i?(?:cl|ze\w*)(?:Enqueue|Append)\w*(?:Buffer|Image|Memory|SVM|USM|Mem)\w*",
    re.IGNORECASE,
)
ROUNDING = 0.05  # of a printed percentage


class Kernel(NamedTuple):
    """One kernel: line or number of its row, name, and texts of its time and calls. path: scopes around it, outermost first."""

    line: int
    name: str
    time: str
    calls: str
    path: tuple[str, ...] = ()


def table(dialect: str, source: Source, kernels: Sequence[Kernel], time: str, calls: str, unit: str = "ns") -> Table:
    """A table of kernels. time, calls: headers, "" for none; unit: of times that carry none."""
    made = Table(dialect, [source], np.array([k.name for k in kernels], dtype=object), {})
    made.lines = np.array([k.line for k in kernels], dtype=np.int64)
    if any(k.path for k in kernels):
        made.paths = np.array([SEP.join(k.path) for k in kernels], dtype=object)
    made.kinds = np.array(["copy" if _COPY_RE.match(k.name) else "compute" for k in kernels], dtype=object)
    glued = [_parsed(k.time) for k in kernels]
    ns = {u: units.factor(u, "ns") for _, u in glued if u}
    common = min(ns, key=ns.__getitem__, default="")  # times in several units are written in the finest of them
    shown = [f"{v * ns[u] / ns[common]:.12g}" if u else k.time for k, (v, u) in zip(kernels, glued, strict=True)]
    spec = [("gpu.time", time, common or unit), ("frame.calls" if calls else "", calls, "")]
    text_rows.enter(made, spec, [[text, k.calls] for text, k in zip(shown, kernels, strict=True)])
    keep_cut_apart(made)
    printed = {k.line: [k.time, k.calls] for k in kernels}
    source.find = lambda wanted: {n: printed[n] for n in wanted if n in printed}
    return made


def keep_cut_apart(table: Table) -> None:
    """Keep rows of a summary apart whose names were cut to the same text: it has one row per kernel."""
    cut = [n for n in table.names if is_cut(str(n))]
    if len(set(cut)) < len(cut):
        table.group = False
        table.notes.append("kernels whose names the tool cut to the same text are listed apart")


def say_missing(table: Table, shares: Floats) -> None:
    """Remark on printed percentages of the time that leave out kernels."""
    total = float(np.nansum(shares))
    if np.isfinite(shares).all() and total < 100 - ROUNDING * (10 + len(shares)):
        table.remark(
            "shares-off",
            f"the percentages add up to {total:.1f} %: rows are missing: times are at least what is listed",
        )


def _parsed(text: str) -> tuple[float, str]:
    """Value and unit of `1.5ms`; no unit where it carries none of time."""
    try:
        value, unit = units.parse_glued(text)
        return (value or 0.0), unit if units.factor(unit, "ns") else ""
    except (ValueError, UnknownUnit):
        return 0.0, ""
