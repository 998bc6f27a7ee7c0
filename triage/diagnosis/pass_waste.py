"""Work of passes that a frame does not need: samples resolved apart, multisampled targets at their limit, passes drawn twice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from triage.capture.arrays import Floats, Masks
from triage.capture.capture import SEP, Capture, Pass
from triage.derive import View
from triage.derive.graphics_ratios import QUAD
from triage.derive.vendor import drawing_counted
from triage.diagnosis.single_draws import not_culled
from triage.diagnosis.spots import PassFacts, Spot, share_facts
from triage.ground.method import LOW
from triage.ground.units import show
from triage.reading.laid_depth import counted
from triage.reading.pass_tree import CALL
from triage.reading.pixel_account import column

SAMPLES_RE = re.compile(
    r"(?<![A-Za-z0-9])(?:(2|4|8|16) ?[x×] ?MS(?:AA)?|MS(?:AA)? ?[x×]?[ :=_-]?(2|4|8|16)[x×]?)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_RESOLVE_RE = re.compile(
    r"(?:vkCmd|ID3D\w{1,40}::)?Resolve(?:Image|Subresource)\w*|\b(?:msaa|multi-?sampl\w{0,8})[ _:-]{0,3}(?:colou?r|depth)?[ _:-]{0,3}resolve"
    r"|\bresolve[ _:.-]{0,3}(?:msaa|multi-?sampl|\w{0,8}?[248]x(?![A-Za-z0-9]))|(?<![A-Za-z0-9])[248]x[ _:.-]{0,3}(?:colou?r|depth|hdr)?[ _:.-]{0,3}resolve",
    re.IGNORECASE,
)
# stages of a tiler's surface, as ovrgpuprofiler and AGI name them
_STAGE_RE = re.compile(r"(?:GMEM )?(?:Load|Store) ?(?:Colou?r|Depth)\w*(?:/Stencil)?", re.IGNORECASE)
_KEPT_RE = re.compile(r"(?:GMEM )?Store ?Colou?r", re.IGNORECASE)  # what the next pass or the screen reads
MAX_RUNS = 3  # per frame: more are levels, cascades or batches
ALIKE = 0.05  # heuristic: by how much the times of one pass drawn twice differ
MANY = 10_000  # heuristic: primitives from which equal counts of two passes are no coincidence
# passes that draw the scene for another eye than the camera's, and how often they may draw all of its geometry
_VIEWS = (
    (
        re.compile(
            r"reflect|mirror|planar|scene ?capture|cube ?(?:map|capture)|portal|rear ?view|mini ?map|feedback",
            re.IGNORECASE,
        ),
        1.0,
    ),
    (re.compile(r"shadow|cascade", re.IGNORECASE), 6.0),
)
_SAME = ("prims.drawn", "invocations.vs", "invocations.ps", "draw.count")


def waste_facts(capture: Capture, view: View, total: float) -> Iterator[PassFacts]:
    """Facts of rule scope `frame` about needless work of passes; only those that names or counters can tell."""
    if capture.input.tells.get("work") == "graphics" or drawing_counted(capture):
        yield _second_runs(capture, view, total)
    if not capture.passes:
        return
    yield _views(capture, view, total)
    yield _resolves(capture, total)
    yield _tile_transfers(capture, total)
    yield _binned(capture, total)
    yield _multisampled(capture.passes, view, total)
    yield _twice(capture, view, total)


def samples(name: str) -> int:
    """Samples per pixel that a name states, 1 where it states none."""
    m = SAMPLES_RE.search(name[:400])
    return int(m[1] or m[2]) if m else 1


def _views(capture: Capture, view: View, total: float) -> PassFacts:
    """Passes of further views that draw as much as the camera's, or shadows many times as much; nothing where primitives were not counted."""
    # of primitives that are nearly all culled, or counted as smaller than a quad, other rules speak
    prims = np.where(column(view, "pixels.per_primitive") < QUAD, np.nan, not_culled(view))
    leaf = capture.leaf
    drawn = [(p, counted(prims, p, leaf) or 0.0) for p in capture.passes if not p.rest]
    most = [
        (p, n, next((m for pattern, m in _VIEWS if any(pattern.search(level[:400]) for level in p.levels)), 0.0))
        for p, n in drawn
    ]
    camera = max((n for _, n, times in most if not times), default=0.0)
    if camera < MANY:
        return PassFacts()
    spots = [
        Spot(
            p.marker,
            p.time_ns,
            f"“{p.levels[-1]}” ({n / 1e6:.1f} M primitives, {n / camera:.1f} times those of the camera's largest pass)",
            {"frame.view_excess": 1 - times * camera / n if times > 1 else 0.5},
        )
        for p, n, times in most
        if times and n >= times * camera
    ]
    return share_facts(
        "frame.view_share", spots, total, "no view draws as much as the camera's", ("frame.view_excess",)
    )


def _resolves(capture: Capture, total: float) -> PassFacts:
    """Time of ranges that only resolve samples; nothing in a frame without a sign of multisampling."""
    where = np.array([bool(_RESOLVE_RE.search(str(n)[:400])) for n in capture.names])
    if not where.any():
        return PassFacts()
    return share_facts(
        "frame.resolve_share", [Spot(i, *x) for i, x in _timed(capture, where)], total, "no timed resolve"
    )


def _tile_transfers(capture: Capture, total: float) -> PassFacts:
    """Time of loads into tile memory and of depth stores; nothing in a frame whose surfaces have no such stages."""
    stages = np.array([bool(_STAGE_RE.fullmatch(str(n)[:40])) for n in capture.names])
    if not stages.any():
        return PassFacts()
    where = stages & [not _KEPT_RE.match(str(n)[:40]) for n in capture.names]
    spots = [Spot(int(capture.parent[i]), *x) for i, x in _timed(capture, where)]
    return share_facts("frame.tile_share", spots, total, "only colour is stored")


def _binned(capture: Capture, total: float) -> PassFacts:
    """Surfaces of a tiler that sort triangles into bins for longer than they render; nothing where no stage is binning."""
    names = np.array([str(n)[:40].casefold() for n in capture.names])
    binning, own, rendering = names == "binning", np.nan_to_num(capture.self_ns), np.zeros(len(capture))
    if not binning.any():
        return PassFacts()
    drawn = np.flatnonzero((names == "render") & (capture.parent >= 0))
    np.add.at(rendering, capture.parent[drawn], own[drawn])
    spots = []
    for i in np.flatnonzero(binning & (own > rendering[capture.parent])).tolist():
        behind = float(rendering[capture.parent[i]])
        text = f"“{_place(capture, i)}” ({show(float(own[i]), 'ns')}, then {show(behind, 'ns')} of rendering)"
        parts = {"frame.dense_excess": 1 - behind / float(own[i])}
        spots.append(Spot(int(capture.parent[i]), float(own[i]), text, parts))
    none = "no surface is binned for longer than it renders"
    return share_facts("frame.dense_share", spots, total, none, ("frame.dense_excess",))


def _timed(capture: Capture, where: Masks) -> list[tuple[int, tuple[float, str]]]:
    """Ranges that take time, longest first: (range, (its time, how to name it))."""
    own = np.nan_to_num(capture.self_ns)
    rows = np.flatnonzero(where & (own > 0))
    rows = rows[np.argsort(-own[rows], kind="stable")]
    return [(int(i), (float(own[i]), f"“{_place(capture, int(i))}” ({show(float(own[i]), 'ns')})")) for i in rows]


def _place(capture: Capture, i: int) -> str:
    """`Surface 1440x1584, LoadColor`: a range behind the marker around it, which tells stages of one name apart."""
    around = str(capture.paths[i]).rpartition(SEP)[2]
    return f"{around}, {capture.names[i]}" if around else str(capture.names[i])


def _multisampled(found: Sequence[Pass], view: View, total: float) -> PassFacts:
    """Multisampled passes whose colour or depth units limit; nothing where no pass is known to be multisampled."""
    stated = column(view, "target.samples")
    known = [(p, n) for p in found if (n := _samples_of(p, stated)) > 1]
    if not known:
        return PassFacts()
    busy = np.fmax(column(view, "crop.throughput"), column(view, "zrop.throughput"))
    weights = np.nan_to_num(view.capture.self_ns)
    bad = []
    for p, n in known:
        rows = p.rows[np.isfinite(busy[p.rows]) & (weights[p.rows] > 0)]
        if len(rows) and float(np.average(busy[rows], weights=weights[rows])) > LOW:
            bad.append((p, n))
        elif not len(rows):
            return PassFacts()  # whether they limit was not counted
    spots = [
        Spot(
            p.marker,
            p.time_ns,
            f"“{p.levels[-1] if p.levels else 'frame'}” ({n} samples)",
            {"frame.msaa_part": 1 - 1 / n},
        )
        for p, n in bad
    ]
    none = "no multisampled pass at the limit of its colour or depth units"
    return share_facts("frame.msaa_share", spots, total, none, ("frame.msaa_part",))


def _samples_of(p: Pass, stated: Floats) -> int:
    known = stated[p.rows][np.isfinite(stated[p.rows])]
    return round(float(np.median(known))) if len(known) else max((samples(level) for level in p.levels), default=1)


def _twice(capture: Capture, view: View, total: float) -> PassFacts:
    """Passes whose triangles, vertices, shaded pixels and draws are those of an earlier one; nothing where these were not counted."""
    if capture.frames is not None:  # each marker then stands for all frames
        return PassFacts()
    columns = [column(view, m) for m in _SAME]
    first: dict[tuple[float | None, ...], Pass] = {}
    again: list[tuple[Pass, Pass]] = []
    compared = False
    leaf = capture.leaf
    for p in capture.passes:
        counts = tuple(counted(c, p, leaf) for c in columns)
        prims, _, shaded, _ = counts
        if not prims or not shaded or sum(c is not None for c in counts) < 3 or p.rest:
            continue
        compared = True
        if prims >= MANY and (known := first.setdefault(counts, p)) is not p:
            again.append((p, known))
    if not compared:
        return PassFacts()
    spots = [Spot(p.marker, p.time_ns, f"“{p.levels[-1]}” like “{k.levels[-1]}”") for p, k in again]
    return share_facts("frame.duplicate_share", spots, total, "no two passes with equal counts")


def _second_runs(capture: Capture, view: View, total: float) -> PassFacts:
    """Further runs of markers where the others run once, in a frame whose pixels, which would tell them apart, were not counted."""
    if capture.frames is not None or np.isfinite(column(view, "pixels.covered")).any():
        return PassFacts()
    own, leaf = np.nan_to_num(capture.self_ns), capture.leaf & (capture.kinds != "copy")
    timed = leaf & (own > 0)
    none = "no marker runs twice where others run once"
    if not (timed & (capture.calls > 1)).any():  # a million names are not looked at
        marked = any(not CALL.match(str(n)) for n in capture.names[timed])
        return share_facts("frame.second_share", [], total, none) if marked else PassFacts()
    marked = timed & np.array([not CALL.match(str(n)) for n in capture.names])
    if not marked.any() or np.median(capture.calls[marked]) != 1:
        return PassFacts()
    rows = [
        int(i)
        for i in np.flatnonzero(marked & (capture.calls > 1) & (capture.calls <= MAX_RUNS))
        if _alike(capture, int(i))
    ]
    spots = []
    for i in rows:
        runs = int(capture.calls[i])
        each = float(own[i]) / runs
        text = f"“{capture.names[i]}” ({'twice' if runs == 2 else f'{runs} times'} {show(each, 'ns')})"
        spots.append(Spot(i, each * (runs - 1), text))
    return share_facts("frame.second_share", spots, total, none)


def _alike(capture: Capture, i: int) -> bool:
    """True if two runs take the same time, or an export of means does not tell them apart."""
    time = capture.table.columns["gpu.time"].values[capture.rows_of(i)]
    return len(time) < 2 or float(np.ptp(time)) <= ALIKE * float(time.max())
