"""Facts about the passes of a frame, where single draws are too small to measure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Floats, Indices, Masks
from triage.capture.capture import Capture, Pass
from triage.derive import View
from triage.diagnosis.pass_waste import waste_facts
from triage.diagnosis.single_draws import Draws, not_culled
from triage.diagnosis.spots import PassFacts, Spot, join, share_facts
from triage.ground.method import MATTERS
from triage.ground.phrasing import plural, whole_percent
from triage.ground.units import show
from triage.reading.pixel_account import THROWN, Account, accounts, column, loose

TINY = 4.0  # pixels per primitive: the limit of rule GFX001
DENSE = 100_000  # heuristic: primitives of a pass below which its density is not worth a finding
LAYERS = 3.0  # layers shaded on the target, as rule GFX002 has it


class _Book(Struct, frozen=True):
    """The passes of a frame that have one target each, the account of each, and their single draws.

    unseen: of each pass, the draws none of whose samples pass. prims, pixels: per workload, that reach the rasteriser, and
    under them.
    """

    capture: Capture
    prims: Floats
    pixels: Floats
    passes: Sequence[Pass]
    accounts: Sequence[Account]
    draws: Draws
    unseen: Sequence[Indices]
    total: float


def pass_facts(capture: Capture, total: float) -> PassFacts:
    """Facts of rule scope `frame` about passes: geometry finer than the screen, needless work. Nothing without passes."""
    view = View(capture)
    waste = waste_facts(capture, view, total) if total > 0 else ()
    return join((*waste, *_pixel_facts(capture, view, total)))


def _pixel_facts(capture: Capture, view: View, total: float) -> tuple[PassFacts, ...]:
    counted = any(np.isfinite(column(view, m)).any() for m in ("prims.drawn", "invocations.vs"))
    pixels = column(view, "pixels.covered")
    shown = np.isfinite(pixels).any() or np.isfinite(column(view, "pixels.passed")).any()
    every = [p for p in capture.passes if not p.rest] or loose(capture)  # between passes there are several targets
    if total <= 0 or not counted or not shown or not every:
        return ()
    draws = Draws.read(capture, every)
    hidden = [draws.unseen(k, p) for k, p in enumerate(every)]
    book = _Book(capture, not_culled(view), pixels, every, accounts(capture, every, view), draws, hidden, total)
    unseen = _unseen(book)
    if not any(len(p.rows) > 1 for p in every) or not np.isfinite(pixels).any():
        return (unseen, _wasted(book))
    return (unseen, _dense(book), _wasted(book), _layered(every, book.accounts, total))


def _unseen(book: _Book) -> PassFacts:
    """Draws none of whose samples pass; nothing where none is found and samples were not counted draw by draw."""
    d = book.draws
    spots = []
    for k, (p, a, part) in enumerate(zip(book.passes, book.accounts, book.unseen, strict=True)):
        time = float(d.time[part].sum())
        if time >= MATTERS * book.total:
            empty = int((d.prims[part] == 0).sum())
            text = f"{d.some(k, part)}{show(time, 'ns')}{f'; {empty:,} of them without primitives' if empty else ''}"
            parts = {"frame.unseen_laid": float(a.survivors)}
            spots.append(Spot(p.marker, time, f"{_name(p)} ({text})", parts, _cells(book, part, ("pixels.passed",))))
    if not spots and not any(np.isfinite(d.passed[rows]).sum() > 1 for rows in d.rows):
        return PassFacts()
    none = "samples of nearly all draws pass"
    return share_facts("frame.unseen_share", spots, book.total, none, ("frame.unseen_laid",))


def _wasted(book: _Book) -> PassFacts:
    """Draws that are shaded before the depth test throws most of them away, in passes that shade several layers.

    Nothing where no pass has both counts. Draws without a pixel shader, or none of whose samples pass, are another matter.
    """
    known = [
        (k, p, a)
        for k, (p, a) in enumerate(zip(book.passes, book.accounts, strict=True))
        if a.shaded is not None and a.thrown is not None
    ]
    if not known:
        return PassFacts()
    spots = [_late(book, k, p, a) for k, p, a in known if (a.shaded or 0) > LAYERS and (a.thrown or 0) >= THROWN]
    none = f"no pass shades more than {LAYERS:g} layers and throws half of them away"
    return share_facts("frame.hidden_share", spots, book.total, none, ("frame.hidden_part",))


def _late(book: _Book, k: int, p: Pass, a: Account) -> Spot:
    """The draws of a pass that lose half of what they shade; the whole pass where they were not counted one by one."""
    d = book.draws
    rows = np.setdiff1d(d.rows[k], book.unseen[k])
    late = rows[(d.shaded[rows] > 0) & (d.passed[rows] <= (1 - THROWN) * d.shaded[rows])]
    time, shaded, passed, thrown, part = p.time_ns, a.shaded or 0, a.passed or 0, a.thrown or 0, ""
    if len(late) and a.target:
        shading, passing = float(d.shaded[late].sum()), float(d.passed[late].sum())
        time, part = float(d.time[late].sum()), d.some(k, late)
        shaded, passed, thrown = shading / a.target, passing / a.target, 1 - passing / shading
    bare = int((d.shaded[d.rows[k]] == 0).sum()) if part else 0
    rest = f"; {plural(bare, 'other')} without pixel shading" if bare else ""
    return Spot(
        p.marker,
        time,
        f"{_name(p)} ({part}{shaded:.1f} layers shaded, {passed:.1f} pass, {whole_percent(thrown)} thrown away{rest})",
        {"frame.hidden_part": thrown},
        _cells(book, late if len(late) else d.rows[k], ("invocations.ps", "pixels.passed")),
    )


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


def _cells(book: _Book, part: Indices, metrics: Sequence[str]) -> str:
    """`sums of “PS Invocations” and “Samples Passed” (counters.csv, lines 958 to 5871)`: what was counted; "" for no columns."""
    table = book.capture.table
    columns = [c for m in metrics if (c := table.columns.get(m)) is not None and c.header]
    rows = part.tolist() if book.draws.by_row else [int(r) for w in part for r in book.capture.rows_of(int(w))]
    if not columns or not rows:
        return ""
    heads = dict.fromkeys(f"“{c.header}”" for c in columns)
    lines = sorted({table.line(r) for r in rows})
    file = PurePath(table.files[columns[0].file].path).name
    span = f"line {lines[0]}" if len(lines) == 1 else f"{len(lines):,} lines, {lines[0]} to {lines[-1]}"
    return f"sums of {' and '.join(heads)} ({file}, {span})"


def _name(p: Pass) -> str:
    return f"“{p.levels[-1] if p.levels else 'frame'}”"


def _visible(a: Account) -> float | None:
    """Layers that are shaded and not thrown away by a late test, which is another cause; None where early tests may hide them."""
    return a.passed if a.thrown is not None else None if a.early else a.shaded


def _dense(book: _Book) -> PassFacts:
    """Draws finer than the screen, by pixels that their own depth test let through.

    Survivors of an equal test say nothing of the triangles: then each draw is as large as in the pass that laid its depth, or
    one layer of the target is shared out, of which two are common.
    """
    laid = book.draws.laid() if any(a.survivors for a in book.accounts) else book.draws.covered
    dense = [
        spot
        for k, (p, a) in enumerate(zip(book.passes, book.accounts, strict=True))
        if len(p.rows) > 1
        if (spot := _fine(book, k, p, a, laid)) is not None
    ]
    none = "no draws of many primitives of a few pixels"
    return share_facts("frame.dense_share", dense, book.total, none, ("frame.dense_excess",))


def _fine(book: _Book, k: int, p: Pass, a: Account, laid: Floats) -> Spot | None:
    """The draws of a pass that are finer than the screen, None where they hold few primitives.

    laid: by draw, what it covered in an earlier pass.
    """
    d = book.draws
    rows = np.setdiff1d(d.rows[k], book.unseen[k])
    prims, size = d.prims[rows], np.fmax(d.covered[rows], laid[rows]) if a.survivors else d.covered[rows]
    known = np.isfinite(laid[rows]) if a.survivors else np.isfinite(prims) & (size > 0)
    if not known.any():
        return _fine_pass(book, p, a, float(d.time[book.unseen[k]].sum()))
    # early tests hide pixels of large triangles, too: in a pass of large ones only draws speak whose pixels were counted before
    if not a.survivors and size[known].sum() >= TINY * prims[known].sum():
        known &= d.before_tests[rows]
    fine = known & (size < TINY * prims)
    part = rows[fine]
    drawn, time = float(d.prims[part].sum()), float(d.time[part].sum())
    if drawn < DENSE or len(part) < 2:  # of a single range rule GFX001 speaks
        return None
    each = float(size[fine].sum()) / drawn
    where = " in the depth pass" if a.survivors else ""
    return _fine_spot(
        book, p, time, f"{d.some(k, part)}{drawn / 1e6:.1f} M primitives, {each:.1f} pixels each{where}", each, part
    )


def _fine_pass(book: _Book, p: Pass, a: Account, unseen_ns: float) -> Spot | None:
    """A pass whose draws were not counted one by one, or behind a depth that other draws laid."""
    drawn, each = geometry(p, book.prims, book.pixels, book.capture.leaf)
    if a.survivors:
        each = a.target / drawn if a.target and drawn else np.inf
    if drawn < DENSE or each >= (TINY / 2 if a.survivors else TINY):
        return None
    where = " in one layer" if a.survivors else ""
    text = f"{drawn / 1e6:.1f} M primitives, {each:.1f} pixels each{where}"
    return _fine_spot(
        book, p, p.time_ns - unseen_ns, text, each, p.rows if not book.draws.by_row else np.array([], dtype=np.int64)
    )


def _fine_spot(book: _Book, p: Pass, time: float, text: str, each: float, part: Indices) -> Spot:
    cells = _cells(book, part, ("prims.rasterized", "prims.input", "pixels.passed", "pixels.shaded", "pixels.drawn"))
    return Spot(p.marker, time, f"{_name(p)} ({text})", {"frame.dense_excess": 1 - each / TINY}, cells)


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
