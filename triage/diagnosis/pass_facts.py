"""Facts about the passes of a frame, where single draws are too small to measure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

import numpy as np

from triage.capture.arrays import Floats, Masks
from triage.capture.capture import Capture, Pass
from triage.derive import View
from triage.diagnosis.pass_waste import waste_facts
from triage.diagnosis.spots import PassFacts, Spot, join, share_facts
from triage.ground.phrasing import whole_percent
from triage.reading.pixel_account import THROWN, Account, accounts, column

TINY = 4.0  # pixels per primitive: the limit of rule GFX001
KEPT = 0.3  # of the primitives: with fewer survivors only a busy rasteriser minds their size, as rule GFX001 has it
DENSE = 100_000  # heuristic: primitives of a pass below which its density is not worth a finding
LAYERS = 3.0  # layers shaded on the target, as rule GFX002 has it


def pass_facts(capture: Capture, total: float) -> PassFacts:
    """Facts of rule scope `frame` about passes: geometry finer than the screen, needless work. Nothing without passes."""
    view = View(capture)
    waste = waste_facts(capture, view, total) if total > 0 else ()
    return join((*waste, *_pixel_facts(capture, view, total)))


def _pixel_facts(capture: Capture, view: View, total: float) -> tuple[PassFacts, ...]:
    prims, pixels = column(view, "prims.drawn"), column(view, "pixels.covered")
    if total <= 0 or not np.isfinite(prims).any() or not np.isfinite(pixels).any():
        return ()
    prims = np.where((column(view, "prims.culled") > 1 - KEPT) & (column(view, "primary.raster") != 1), np.nan, prims)
    every = [p for p in capture.passes if not p.rest]  # what lies between the passes draws to several targets
    book = accounts(capture, every, view)
    found = [(p, a) for p, a in zip(every, book, strict=True) if len(p.rows) > 1]
    if not found:
        return ()
    return (
        _dense(capture, found, prims, pixels, total),
        _wasted(
            capture,
            every,
            book,
            np.where(column(view, "invocations.ps") == 0, np.nan_to_num(capture.self_ns), 0.0),
            total,
        ),
        _layered(every, book, total),
    )


def _wasted(
    capture: Capture, every: Sequence[Pass], book: Sequence[Account], unshaded: Floats, total: float
) -> PassFacts:
    """Passes that shade several layers of which the depth test throws most away; nothing where no pass has both counts.

    unshaded: time in ns of each range that runs no pixel shader, which is not the passes' shading.
    """
    known = [(p, a) for p, a in zip(every, book, strict=True) if a.shaded is not None and a.thrown is not None]
    if not known:
        return PassFacts()
    spots = [
        Spot(
            p.marker,
            p.time_ns - float(unshaded[p.rows].sum()),
            f"{_name(p)} ({a.shaded:.1f} layers shaded, {a.passed or 0:.1f} pass, {whole_percent(a.thrown or 0)} thrown away)",
            {"frame.hidden_part": a.thrown or 0},
            _cells(capture, p, ("invocations.ps", "pixels.passed")),
        )
        for p, a in known
        if (a.shaded or 0) > LAYERS and (a.thrown or 0) >= THROWN
    ]
    none = f"no pass shades more than {LAYERS:g} layers and throws half of them away"
    return share_facts("frame.hidden_share", spots, total, none, ("frame.hidden_part",))


def _layered(every: Sequence[Pass], book: Sequence[Account], total: float) -> PassFacts:
    """Passes of several ranges that let more than three layers through; a single one states its own; nothing where none is known."""
    known = [
        (p, a, layers)
        for p, a in zip(every, book, strict=True)
        if len(p.rows) > 1 and (layers := _visible(a)) is not None
    ]
    if not known:
        return PassFacts()
    spots = [
        Spot(
            p.marker,
            p.time_ns,
            f"{_name(p)} ({layers:.1f} layers)",
            {"frame.layered_excess": 1 - LAYERS / layers, "frame.layered_blended": float(a.blended)},
        )
        for p, a, layers in known
        if layers > LAYERS
    ]
    none = f"no pass with more than {LAYERS:g} layers"
    return share_facts("frame.layered_share", spots, total, none, ("frame.layered_excess", "frame.layered_blended"))


def _cells(capture: Capture, p: Pass, metrics: Sequence[str]) -> str:
    """`sums of “PS Invocations” and “Samples Passed” (counters.csv, lines 958 to 5871)`: what was counted; "" for no columns."""
    table = capture.table
    columns = [c for m in metrics if (c := table.columns.get(m)) is not None and c.header]
    rows = [int(r) for w in p.rows for r in capture.rows_of(int(w))]
    if not columns or not rows:
        return ""
    heads = dict.fromkeys(f"“{c.header}”" for c in columns)
    lines = sorted({table.line(r) for r in rows})
    file = PurePath(table.files[columns[0].file].path).name
    span = f"line {lines[0]}" if len(lines) == 1 else f"lines {lines[0]} to {lines[-1]}"
    return f"sums of {' and '.join(heads)} ({file}, {span})"


def _name(p: Pass) -> str:
    return f"“{p.levels[-1] if p.levels else 'frame'}”"


def _visible(a: Account) -> float | None:
    """Layers that are shaded and not thrown away by a late test, which is another cause; None where early tests may hide them."""
    return a.passed if a.thrown is not None else None if a.early else a.shaded


def _dense(
    capture: Capture, found: Sequence[tuple[Pass, Account]], prims: Floats, pixels: Floats, total: float
) -> PassFacts:
    """Passes finer than the screen, by pixels that their own depth test let through.

    Survivors of an equal test say nothing of the triangles: then one layer of the target is shared out, of which two are common.
    """
    dense = [
        Spot(
            p.marker,
            p.time_ns,
            f"{_name(p)} ({n / 1e6:.1f} M primitives, {px:.1f} pixels each{' in one layer' if a.survivors else ''})",
            {"frame.dense_excess": 1 - px / TINY},
            _cells(capture, p, ("prims.rasterized", "prims.input", "pixels.passed", "pixels.shaded", "pixels.drawn")),
        )
        for p, a in found
        for n, px in [_share_of_target(a, *geometry(p, prims, pixels, capture.leaf))]
        if n >= DENSE and px < (TINY / 2 if a.survivors else TINY)
    ]
    none = "no pass with many primitives of a few pixels"
    return share_facts("frame.dense_share", dense, total, none, ("frame.dense_excess",))


def _share_of_target(a: Account, drawn: float, each: float) -> tuple[float, float]:
    if not a.survivors:
        return drawn, each
    return drawn, a.target / drawn if a.target and drawn else np.inf


def geometry(p: Pass, prims: Floats, pixels: Floats, leaf: Masks) -> tuple[float, float]:
    """(primitives, pixels per primitive) over the ranges of a pass that draw; prims, pixels: what reached the rasteriser, as drawn.

    leaf: true for ranges of the capture without ranges inside. Counts of markers are those of the ranges within, once more: they
    stand only for a pass none of whose ranges was counted.
    """
    counted = np.isfinite(prims[p.rows]) & np.isfinite(pixels[p.rows])
    rows = p.rows[counted & leaf[p.rows]]
    if not len(rows):
        rows = p.rows[counted & (p.rows == p.marker)]
    drawn = float(prims[rows].sum())
    return drawn, float(pixels[rows].sum()) / drawn if drawn else np.inf
