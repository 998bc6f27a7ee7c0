"""The pixel account of a pass: how many layers it shades and passes on its target, and what is thrown away.

layers shaded = pixels shaded / pixels of the target; layers passed = samples that pass depth and stencil / pixels of the target.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Floats
from triage.capture.capture import SEP, Capture, Derived, Pass
from triage.derive import View
from triage.derive.graphics_ratios import QUAD
from triage.ground.columns import is_column
from triage.reading import laid_depth, pass_order
from triage.reading.laid_depth import counted

FULL = 65_536  # pixels of full-screen work: smaller targets are tiles, probes and mips
MAX_TRIANGLES = 3  # primitives of one full-screen draw
MAX_VERTICES = 6  # of one full-screen draw: two triangles without an index buffer
MAX_LOOSE = 2_000  # draws without a marker that are looked at
MAX_NAME_CHARS = 400
SAME = 0.01  # counts this close are one size
THROWN = 0.5  # heuristic: share of the shaded pixels that fail behind the shader; alpha-tested edges lose less
FORMULA = "pixels of the pass's or the frame's full-screen work"
_SIZE_RE = re.compile(r"(?<!\d)(\d{3,5}) ?[x×] ?(\d{3,5})(?!\d)")
_OWN_SIZE_RE = re.compile(r"shadow|cascade|\bcsm|atlas|reflect|\bhalf|quarter|mip|pyramid|probe|cube|\blut\b|downs|probe|planar|cookie|froxel|voxel|impost|bloom|blur|\bdof\b|depth.?of.?field|ssao|\bao\b|ambient.?occl|\bssr\b|volumetric|minimap", re.IGNORECASE)  # fmt: skip


class Account(Struct, frozen=True):
    """target: pixels of a pass's render target, None if unknown. shaded, passed: layers on it, None if unknown.

    shaded is unknown, too, where triangles are so small that most invocations may be helpers of their quads.
    thrown: share of the shaded pixels that fail depth or stencil behind the shader, None if unknown. survivors: the pixels are
    what an equal test of a depth laid before let through, and say nothing of the triangles. early: the pixels were counted
    before early tests, which may reject most of them unseen. blended: by its name, a pass of blended layers.
    """

    target: float | None
    shaded: float | None
    passed: float | None
    thrown: float | None
    survivors: bool
    early: bool
    blended: bool


def accounts(capture: Capture, found: Sequence[Pass], view: View) -> list[Account]:
    """The account of each pass."""
    drawn, shaded, passed, prims = (
        column(view, m) for m in ("pixels.drawn", "invocations.ps", "pixels.passed", "prims.drawn")
    )
    if not (passed > 0).any():  # a counter that is 0 throughout was not measured
        passed = np.full(view.size, np.nan)
    stated = column(view, "target.pixels")
    draws = column(view, "draw.count")
    leaf, draws = capture.leaf, np.maximum(np.where(np.isfinite(draws), draws, capture.calls), 1.0)
    few_vertices = column(view, "invocations.vs") <= MAX_VERTICES * draws
    few = np.where(np.isfinite(prims), prims <= MAX_TRIANGLES * draws, few_vertices)
    screen = leaf & (drawn >= FULL * draws) & few
    each = np.where(screen, drawn / draws, np.nan)
    whole = _largest(capture, each)
    laid = capture.facts.get("range.depth_laid", np.zeros(view.size))
    out = []
    for p in found:
        target = _target(p, stated, each, whole)
        pixels, ps, kept, made = (counted(v, p, leaf) for v in (drawn, shaded, passed, prims))
        blended = bool(p.levels) and pass_order.layer(SEP.join(p.levels[:-1]), p.levels[-1]) == "blended"
        survivors = bool(laid[p.rows].any())
        # a pass of full-screen triangles has large ones, however few its pixels
        helpers = False  # included in ps, one quad per triangle
        if ps is not None and made is not None and not survivors:
            helpers = bool(MAX_TRIANGLES * draws[p.rows].sum() < made) and ps <= QUAD * made
        thrown = None if helpers or ps is None or kept is None or kept > ps else 1 - kept / ps
        early = ps is None and not blended
        layers = None if helpers else _over(ps or pixels, target)
        out.append(Account(target, layers, _over(kept, target), thrown, survivors, early, blended))
    return out


def loose(capture: Capture) -> list[Pass]:
    """Draws without a marker, each as a pass: one that covers its target several times is known all the same."""
    every = np.arange(0 if capture.passes else len(capture))
    rest = np.concatenate([p.rows for p in capture.passes if p.rest] or [every])
    rows = rest[capture.leaf[rest]][:MAX_LOOSE].tolist()
    return [Pass((str(capture.names[i]),), np.array([i]), float(capture.self_ns[i])) for i in rows]


def enter(capture: Capture) -> None:
    """Enter which passes draw geometry whose depth was laid, and the targets of those that are one workload.

    From the targets their layers follow. Only where shaded pixels were counted and are seen: those of late tests are another
    cause. Nothing where no pixels were counted.
    """
    view = View(capture)
    if not is_column(view["pixels.drawn"]):
        _enter_sizes(capture, view)
        return
    laid_depth.enter(capture, view)
    if is_column(view["target.pixels"]):
        return
    single = [p for p in capture.passes if len(p.rows) == 1 and not p.rest] + loose(capture)
    targets = np.full(len(capture), np.nan)
    for p, a in zip(single, accounts(capture, single, view), strict=True):
        if not a.early and (a.thrown or 0.0) < THROWN and a.shaded is not None:
            targets[p.rows] = a.target
    if np.isfinite(targets).any():
        capture.facts["target.pixels"] = targets
        capture.sources["target.pixels"] = Derived(FORMULA, ("pixels.drawn", "prims.drawn"))


def _enter_sizes(capture: Capture, view: View) -> None:
    """Enter the targets whose size a name states, where primitives were counted and pixels were not."""
    if is_column(view["target.pixels"]) or not is_column(view["prims.drawn"]):
        return
    targets = np.array([_named_size(str(name)) or np.nan for name in capture.names])
    if np.isfinite(targets).any():
        capture.facts["target.pixels"] = targets
        capture.sources["target.pixels"] = Derived("width x height in the marker's name", ())


def column(view: View, metric: str) -> Floats:
    """A metric of every workload, NaN where the whole capture lacks it."""
    values: Floats = view[metric]
    return values if is_column(values) else np.full(view.size, np.nan)


def _over(pixels: float | None, target: float | None) -> float | None:
    return None if pixels is None or not target else pixels / target


def _target(p: Pass, stated: Floats, each: Floats, whole: float | None) -> float | None:
    """Pixels of a pass's target: as exported, by its name, by its own full-screen work, else by the frame's."""
    known = stated[p.rows][np.isfinite(stated[p.rows])]
    if len(known):
        return float(np.median(known))
    name = p.levels[-1] if p.levels else ""
    if size := _named_size(name):
        return size
    if (own := _commonest(each[p.rows])) is not None:
        return own
    return None if any(_OWN_SIZE_RE.search(level) for level in p.levels) else whole


def _named_size(name: str) -> float | None:
    """Width times height, as the end of a name states them."""
    sizes = _SIZE_RE.findall(name[:MAX_NAME_CHARS])
    return float(int(sizes[-1][0]) * int(sizes[-1][1])) if sizes else None


def _largest(capture: Capture, sizes: Floats) -> float | None:
    """The largest size: of a frame's full-screen work that of its picture, while chains of blurs and mips repeat smaller ones.

    Passes that by their names often have a size of their own tell nothing of the picture's.
    """
    rows = np.flatnonzero(np.isfinite(sizes))
    known = [sizes[i] for i in rows.tolist() if not _OWN_SIZE_RE.search(str(capture.names[i])[:MAX_NAME_CHARS])]
    return float(max(known)) if known else None


def _commonest(sizes: Floats) -> float | None:
    """The size that most values are within a hundredth of, the larger one of equals; None where fewer than two agree."""
    known = np.sort(sizes[np.isfinite(sizes)])
    if len(known) < 2:
        return None
    counts = np.searchsorted(known, known * (1 + SAME), "right") - np.arange(len(known))
    best = int(counts.max())
    return float(known[np.flatnonzero(counts == best)[-1]]) if best >= 2 else None
