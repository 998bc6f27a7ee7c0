"""Ratios of graphics counters: per draw, per primitive, per pixel, and L2 traffic by source as shares."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Values
from triage.derive import View
from triage.derive._arrays import first, highest, over
from triage.derive._derivation import Derivation
from triage.derive.vendor import STILL
from triage.ground.columns import is_column
from triage.ground.method import CHAIN, TARGET_SHARE
from triage.ground.phrasing import whole_percent

L2_SOURCES = ("tex", "crop", "zrop", "raster", "pe", "gcc", "hub", "fbp")
# Why a warp of a stage could not start, as the launch-stall counters of Nsight Graphics name it.
_STAGES = ("ps", "cs", "vtg")
_REASONS = (
    "warp_allocation",
    "cta_allocation",
    "shmem_allocation",
    "barrier_allocation",
    "attr_allocation",
    "ooo_warp_completion",
)
# Arm counts quads; what becomes of them, as shares
_OF_QUADS = (
    ("pixels.partial_coverage", "partial"),
    ("prez.quads_culled", "killed_early"),
    ("fpk.quads_killed", "killed_hidden"),
    ("postz.quads", "tested_late"),
    ("postz.quads_killed", "killed_late"),
)
# and cycles of a shader core's units
_OF_CORES = (
    ("shader.stalled", "core.starved", "cycles without a warp to issue"),
    ("alu.utilization", "alu.cycles", "arithmetic cycles"),
    ("load_store.busy", "load_store.cycles", "load/store cycles"),
    ("texture_pipe.busy", "texture_pipe.cycles", "texture filter cycles"),
)
QUAD = 4  # pixels shaded together
_MOSTLY = 0.5  # of a range: it copies, or waits, more than it does anything else
_MIN_REASONS = 3  # reasons counted: fewer leave open what else holds warps back, unless warps themselves were counted


def _per(metric: str, top: str, bottom: str, formula: str) -> Derivation:
    return Derivation(metric, formula, lambda a, b: a / b, (top, bottom))


def _some(count: Values) -> Values:
    """A count, missing where it is 0: a pass that draws depth only shades no pixel and has pixels all the same."""
    return np.where(np.asarray(count) > 0, count, np.nan)


def _sum(*values: Values) -> Values:
    """Sum of those present; missing where none is."""
    total: Values = np.nan
    for v in values:
        total = np.where(np.isnan(total), v, np.where(np.isnan(v), total, total + v))
    return total


def _failed(shaded: Values, passed: Values, prims: Values) -> Values:
    """Shaded pixels that failed; missing where less than half did, or triangles are so small that helper invocations may be these."""
    many = (np.asarray(passed) > 0) & (shaded >= 2 * passed) & ~(shaded <= 2 * QUAD * prims)
    return np.where(many, shaded - passed, np.nan)


def _draws(draw: Values, geometry: Values, screen: Values, draws: Values, *moved: Values) -> Values:
    """1 where a range draws, 0 where not: by its kind, else its draws, else its primitives, pixels and targets.

    moved: primitives and pixels, then shares of peak of the units that only drawing moves.
    """
    kind, counts, shares = highest(draw, geometry, screen), highest(*moved[:2]), highest(*moved[2:])
    drawn = first(draws, highest(counts, np.where(np.isnan(shares), np.nan, shares > STILL)))
    return first(kind, np.where(np.isnan(drawn), np.nan, drawn > 0))


def _worst(*stalls: Values) -> Values:
    """The largest launch stall; missing where so few reasons were counted that another may be larger.

    stalls: of every reason the stages, in the order of _REASONS and _STAGES, and registers of any stage last.
    """
    reasons = [highest(*stalls[i : i + len(_STAGES)]) for i in range(0, len(stalls), len(_STAGES))]
    counted = sum(np.isfinite(r).astype(int) for r in reasons)
    known = (counted >= _MIN_REASONS) | np.isfinite(reasons[0])
    return np.where(known, highest(*reasons), np.nan)


# The counters are shares of L2's sector peak; over their sum they become shares of the traffic there was.
def _l2_share(unit: str) -> Derivation:
    rest = tuple(f"l2_from.{u}" for u in L2_SOURCES if u != unit)
    formula = f"L2 traffic from {unit.upper()} / L2 traffic from all sources; from {whole_percent(TARGET_SHARE)} on where TEX was not counted"
    main = rest.index("l2_from.tex") if unit != "tex" else -1

    def share(own: Values, *other: Values) -> Values:
        part = own / _sum(own, *other)
        # two chosen sources do not add up to the whole; a large share of L2's peak is a larger one of its traffic
        return part if main < 0 else np.where(np.isnan(other[main]), np.where(own >= TARGET_SHARE, own, np.nan), part)

    return Derivation(f"l2_share.{unit}", formula, share, (f"l2_from.{unit}",), rest)


def _awaited(view: View) -> Values:
    """Idle time of ranges that do little else, right after a synchronous copy under the same marker."""
    c, every = view.capture, View(view.capture)
    copied, idle = every["copy.sync_active"], every["gpu.idle"]
    if not is_column(copied) or not is_column(idle):
        return np.nan
    beside = (c.parent[1:] == c.parent[:-1]) & (c.parent[1:] >= 0) & c.leaf[1:] & c.leaf[:-1]
    behind = np.concatenate([[False], beside & (copied[:-1] >= _MOSTLY)]) & (idle >= _MOSTLY)
    return np.where(behind, idle, np.nan)[view.rows]


DERIVATIONS = (
    _per("range.dispatch_time", "gpu.time", "dispatch.count", "GPU time / dispatches"),
    _per("range.draw_time", "gpu.time", "draw.count", "GPU time / draws"),
    Derivation(
        "range.in_chain", f"links of the chain >= {CHAIN}",
        lambda links: np.where(np.isnan(links), np.nan, np.asarray(links) >= CHAIN), ("range.chain",), ask=("gpu.time",),
    ),
    Derivation(
        "range.draws", "kind, else draws, else primitives, pixels or render-target traffic", _draws,
        optional=(*("kind.draw", "kind.geometry", "kind.fullscreen", "draw.count", "prims.input"), *("pixels.shaded", "crop.throughput", "zrop.throughput", "raster.throughput")),
        ask=("draw.count",),
    ),
    _per("range.drain_interval", "gpu.time", "wfi.go_idle", "GPU time / drains"),
    _per("range.barrier_interval", "gpu.time", "barrier.count", "GPU time / barriers"),
    _per("range.switch_interval", "gpu.time", "wfi.switches", "GPU time / switches"),
    Derivation(
        "pixels.passed", "samples that passed before shading + samples that passed after it", lambda early, late: early + late,
        ("pixels.passed_early", "pixels.passed_late"),
    ),
    Derivation(
        "pixels.drawn",
        "pixels from the rasteriser, else pixel-shader invocations, else samples that passed or failed behind early tests",
        lambda pixels, shaded, passed, failed: first(_some(pixels), _some(shaded), _some(passed + failed)),
        optional=("pixels.shaded", "invocations.ps", "pixels.passed", "pixels.failed_late"), ask=("pixels.shaded",),
    ),
    # while pixels wait behind the rasteriser, what waits before it waits for the shaders; a pass of depth alone shows neither
    Derivation(
        "raster.throughput", "rasteriser input available - pixel data ready, where pixels are shaded",
        lambda before, behind: np.where(behind > 0, np.fmax(before - behind, 0.0), np.nan),
        ("stage.raster_waiting", "stage.pixels_ready"),
    ),
    Derivation("valu.busy", "the highest of the shader stages", highest, optional=("valu.busy_ps", "valu.busy_vs", "valu.busy_cs")),
    Derivation("bottleneck.depth", "the slower of both depth tests", highest, optional=("bottleneck.coarse_depth", "bottleneck.early_depth")),
    Derivation(
        "pixels.failed_late", "PS invocations - samples that passed, where more fail than helpers of quads could be", _failed,
        ("invocations.ps", "pixels.passed"), ("prims.drawn",),
    ),
    Derivation(
        "pixels.overdraw", "pixels drawn / pixels of the target; or 1 + pixels drawn again, per pixel of the target",
        lambda drawn, target, again: first(over(drawn, target), 1 + again),
        optional=("pixels.drawn", "target.pixels", "pixels.repainted"), ask=("pixels.drawn", "target.pixels"),
    ),
    *(_per(metric, f"quads.{quads}", "quads.rasterized", f"quads {quads.replace('_', ' ')} / quads rasterised") for metric, quads in _OF_QUADS),
    Derivation("pixels.shaded", "4 x quads rasterised", lambda quads: 4 * quads, ("quads.rasterized",)),
    *(_per(metric, top, "core.cycles", f"{what} / cycles of the cores") for metric, top, what in _OF_CORES),
    _per("tiler.busy", "tiler.cycles", "gpu.cycles", "tiler cycles / GPU cycles"),
    Derivation(
        "pixels.lost", "pixels that failed after shading + those that shaders dropped", _sum,
        optional=("pixels.failed_late", "pixels.discarded"), ask=("pixels.failed_late",),
    ),
    Derivation(
        "pixels.late_fail_share", "pixels shaded in vain / pixels drawn",
        lambda lost, drawn: np.minimum(over(lost, drawn), 1.0), ("pixels.lost", "pixels.drawn"),
    ),
    _per("vertices.per_primitive", "invocations.vs", "prims.input", "VS invocations / primitives in"),
    Derivation(
        "pixels.covered",
        "pixels from the rasteriser, else samples that passed or failed any test, else pixel-shader invocations, else pixels drawn",
        lambda pixels, passed, late, early, shaded, drawn: first(
            _some(pixels),
            _some(passed + late + early),
            _some(shaded),
            np.where(np.isnan(passed + late), _some(drawn), np.nan),  # as the export has them, not from some tests only
        ),
        optional=("pixels.shaded", "pixels.passed", "pixels.failed_late", "pixels.failed_early", "invocations.ps", "pixels.drawn"),
        ask=("pixels.shaded",),
    ),
    Derivation("pixels.per_primitive", "pixels covered / primitives counted", over, ("pixels.covered", "prims.drawn")),
    Derivation(
        "prims.drawn", "primitives rasterised, else primitives in minus culled ones",
        lambda drawn, into, thrown: first(_some(drawn), _some(into - np.nan_to_num(thrown)), into),
        optional=("prims.rasterized", "prims.input", "prims.thrown_away"), ask=("prims.rasterized",),
    ),
    # Clipping makes new primitives, so more can come out than went in.
    Derivation("prims.rasterized", "primitives from the clipper - culled in setup", lambda made, lost: made - np.nan_to_num(lost), ("prims.from_clipper",), ("prims.setup_culled",)),
    Derivation(
        "prims.culled",
        "1 - primitives rasterised / primitives to the clipper, else primitives in; or primitives thrown away / primitives in",
        lambda clipper, into, out, thrown: np.clip(first(1 - over(out, first(_some(clipper), into)), over(thrown, into)), 0, 1),
        optional=("prims.to_clipper", "prims.input", "prims.rasterized", "prims.thrown_away"),
        ask=("prims.rasterized", "prims.input"),
    ),
    Derivation(
        "vram.outgoing_share", "bytes written, else the peak spent on writes, / that of reads and writes",
        lambda wrote, got, writing, reading: first(over(wrote, wrote + got), over(writing, writing + reading)),
        optional=("vram.bytes_written", "vram.bytes_read", "vram.write_throughput", "vram.read_throughput"),
        ask=("vram.bytes_written", "vram.bytes_read"),
    ),
    Derivation(
        "zcull.reject_rate", "1 - samples accepted / samples tested; or pixels killed / those and the pixels drawn",
        lambda kept, seen, killed, drawn: first(1 - over(kept, seen), over(killed, killed + drawn)),
        optional=("zcull.accepted", "zcull.samples", "zcull.killed", "pixels.drawn"), ask=("zcull.accepted", "zcull.samples"),
    ),
    Derivation("copy.awaited", "GPU idle in a range that mostly idles, behind a synchronous copy under the same marker", _awaited, ("gpu.idle",), whole=True),
    *(_l2_share(u) for u in ("tex", "crop", "zrop", "gcc")),
    Derivation(
        "launch_stall.register_allocation", "highest stall of all shader stages", highest,
        optional=tuple(f"launch_stall.{stage}_register_allocation" for stage in _STAGES),
        ask=("launch_stall.ps_register_allocation", "launch_stall.cs_register_allocation"),
    ),
    Derivation(
        "launch_stall.worst", "largest launch stall of any stage and resource, where three or that of warp slots were counted",
        _worst,
        optional=(*(f"launch_stall.{stage}_{r}" for r in _REASONS for stage in _STAGES), "launch_stall.register_allocation"),
    ),
    Derivation("ray.tests", "box tests + triangle tests", _sum, ("ray.box_tests",), ("ray.triangle_tests",)),
    Derivation("ray.stalls", "stalled on the core + stalled on its queue", _sum, ("stall.rtcore",), ("stall.rtcore_throttle",)),
)  # fmt: skip
