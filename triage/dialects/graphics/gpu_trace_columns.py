"""Columns of a GPUTRACE_REGIMES table: their number style, one mean per repeated (per-frame) counter, clocks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from triage.capture import queue_lanes
from triage.capture.arrays import Floats, Masks
from triage.capture.capture import SEP, Column, Table
from triage.capture.source import Source
from triage.dialects import Options
from triage.dialects.graphics import perfworks
from triage.dialects.tables import wide_table
from triage.ground import units

HOW = (
    'export again with: ngfx --activity="GPU Trace Profiler" ... --auto-export, without --multi-pass-metrics,'
    " and give the folder or its GPUTRACE_REGIMES.xls"
)

_DIRECT = "direct queue"
_ON_DIRECT = ("compute.sync_active", "sm.warps_ps", "sm.warps_vtg")
_BESIDE = {"async compute queue": "compute.async_active", "async copy engine": "copy.async_active"}
SEEN = 0.01  # share of a range below which a queue is taken for idle


def style(source: Source, line: int, sep: str, wanted: Sequence[int], options: Options) -> units.Style:
    """The number style; raises UnknownUnit when values contradict each other."""
    if options.decimal:
        return "eu" if options.decimal in ("comma", "eu") else "us"
    keep = set(wanted)
    texts = (c for row in source.head_lines[line : line + 500] for i, c in enumerate(row.split(sep)) if i in keep)
    # the exporter writes '.' whatever the locale; only proof of the contrary changes that
    return units.style(texts, f"{source.path}: ", None if sep == "," else "us") if sep != "," else "us"


def mean(table: Table, header: str, values: list[Floats], columns: list[int], file: int, bare: bool) -> Column:
    """A counter's column; over several frames its mean, with the frames' cells as inputs unless it shall be bare.

    values, columns: one array and its 0-based position per frame.
    """
    unit = perfworks.unit_of(header)
    factor = 0.01 if unit else 1.0
    if len(values) == 1:
        return Column(wide_table.scaled(values[0], factor), header, columns[0] + 1, unit, factor, file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a range that no frame measured: NaN is right
        average = np.nanmean(np.stack(values), axis=0) * factor
    shown = ", ".join(str(c + 1) for c in columns[:6]) + (", ..." if len(columns) > 6 else "")
    formula = f"mean of {len(values)} frames, columns {shown}"
    if bare:
        return Column(average, header, columns[0] + 1, unit, factor, file, formula=formula)
    keys = tuple(f"{header} (frame {k})" for k in range(1, len(values) + 1))
    for key, c, v in zip(keys, columns, values, strict=True):
        table.raw[key] = Column(v * factor, header, c + 1, unit, factor, file)
    return Column(average, header, 0, unit, factor, file, formula=formula, inputs=keys)


def clocks(table: Table) -> None:
    """Clock columns to Hz: `cycles_elapsed.avg.per_second` comes in MHz without saying so.

    Told by magnitude; a column that is neither is dropped with a note.
    """
    for metric in ("sm.frequency", "vram.frequency", "l2.frequency"):
        column = table.columns.get(metric)
        if column is None:
            continue
        factor = perfworks.clock_factor(column.values)
        if factor is None:
            text = f"{column.header[:80]}: neither Hz nor MHz by the size of its figures; not used"
            table.remark("unit-not-understood", text)
            table.unmapped.append(table.columns.pop(metric).header)
        elif factor != 1.0:
            column.values, column.unit, column.factor = column.values * factor, "MHz", factor


def direct_idle(table: Table) -> Masks:
    """Mask of the ranges in which the direct queue was seen to do nothing: neither compute nor warps of a graphics stage."""
    seen = [table.columns[m].values for m in _ON_DIRECT if m in table.columns]
    out: Masks = np.full(len(table), len(seen) == len(_ON_DIRECT))
    with np.errstate(invalid="ignore"):
        for values in seen:
            out &= values < SEEN
    return out


def queues(table: Table) -> None:
    """Lanes of the direct queue and of what ran beside it, from each range's shares of active cycles."""
    time = table.columns.get("gpu.time")
    beside = {n: c.values for n, m in _BESIDE.items() if (c := table.columns.get(m))}
    if time is None or table.paths is None or not any((np.nan_to_num(v) > SEEN).any() for v in beside.values()):
        return
    outer = {str(p) for p in table.paths}
    full = [f"{p}{SEP}{n}" if p else str(n) for p, n in zip(table.paths, table.names, strict=True)]
    leaf = np.array([f not in outer for f in full])
    active = table.columns.get("gpu.active")
    direct = np.nan_to_num(active.values, nan=1.0) if active else np.ones(len(table))
    direct = np.where(direct_idle(table), 0.0, direct)
    shares = {_DIRECT: direct[leaf]} | {n: v[leaf] for n, v in beside.items()}
    table.queues = queue_lanes.by_shares(np.nan_to_num(time.values[leaf]), shares)
    if table.queues[1]:
        table.notes.append(
            "queues are drawn from their share of each range: the export has no times of single submissions"
        )
