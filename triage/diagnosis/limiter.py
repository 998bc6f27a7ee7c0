"""Band and limiter class per workload. Complete facts always get a class."""

from __future__ import annotations

from functools import reduce

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Codes, Floats
from triage.derive import View
from triage.derive.sm_activity import STALL_NAMED
from triage.derive.speed_of_light import Clusters, clusters
from triage.ground.columns import is_column
from triage.ground.limiters import BANDS, code
from triage.ground.method import BALANCED, HIGH, IDLE_LIMITS, LOW, TINY_NS

PACING_SHARE = 0.5  # the side that bounds half of the frames sets the pace
_EPS = 1e-9  # 70.5 % lies 10 points above 60.5 %, whatever binary fractions say

_BANDS = tuple(BANDS)


class Limits(Struct):
    """Codes per workload: positions in ground.limiters.BANDS and LIMITERS."""

    band: Codes
    limiter: Codes
    clusters: Clusters


def judge(view: View) -> Limits:
    """Band and limiter class of every workload of a view; worked out once."""
    return view.once("limits", lambda: _judge(view))


def _judge(view: View) -> Limits:
    c = clusters(view)
    band = np.zeros(view.size, dtype=np.int8)
    with np.errstate(invalid="ignore"):
        band[c.top < LOW] = _BANDS.index("low")
        band[(c.top >= LOW) & (c.top <= HIGH)] = _BANDS.index("gray")
        band[c.top > HIGH] = _BANDS.index("high")
    return Limits(band, _limiter(view), c)


def _array(view: View, metric: str) -> Floats:
    v = view[metric]
    return v if is_column(v) else np.full(view.size, v)


# What stands for a side whose shares of peak were not exported: the parts it is made of. A class is better than none,
# and rules judge more strictly.
_MEMORY = ("l1tex.throughput", "l2.throughput", "vram.throughput", "unit.l2", "unit.shared", "unit.lsu")
_PATH = ("memory.throughput", "l1tex.throughput", "l2.throughput", "vram.throughput", "unit.l2")
_COMPUTE = ("unit.math", "unit.issue")
# phones export no share of peak: there a unit's own limiter decides, or the time in which it worked or held work up.
# Only high ones count: units of a tiler alternate between vertices and fragments, so low ones do not mean waiting.
_TILER_CORES = ("alu.limiter", "integer.limiter", "complex.limiter", "unit.shading", "pipe.xu", "varying.busy")
_TILER_MEMORY = tuple(
    "texture_sample.limiter texture_write.limiter buffer_read.limiter buffer_write.limiter threadgroup_memory.limiter "
    "llc.limiter mmu.limiter texture_pipe.busy load_store.busy texture_pipe.stalled vram.stalled".split()
)
# Without either: shares of the time in which a stage held the others up, or threads stood still.
_HELD = (
    ("front-end", ("bottleneck.vertex_fetch", "bottleneck.setup", "bottleneck.barycentric")),
    ("rop", ("bottleneck.depth", "pixels.export_stalled")),
    ("memory", ("gti.queue_full", "vram.stalled")),
    ("latency", ("stall.top_share", "eu.stall", "shader.stalled", "texture_pipe.stalled")),
)
HELD_UP = STALL_NAMED  # no vendor of these counters gives a line of its own


def _side(view: View, whole: str, parts: tuple[str, ...]) -> Floats:
    """Share of peak of a side, else the highest of its parts."""
    out = _array(view, whole)
    if not np.isnan(out).any():
        return out
    return np.where(np.isnan(out), reduce(np.fmax, (_array(view, part) for part in parts)), out)


def _limiter(view: View) -> Codes:
    # the ray-tracing core sits in the SM, whose own figure leaves it out
    sm = np.fmax(_side(view, "sm.side", _COMPUTE), view["rtcore.throughput"])
    mem = _side(view, "memory.throughput", _MEMORY)
    front, rop = _array(view, "frontend.side"), _array(view, "rop.side")
    waves, idle = _array(view, "launch.waves"), _array(view, "gpu.idle")
    waves = np.where(np.isnan(waves), _array(view, "launch.waves_estimate"), waves)
    with np.errstate(invalid="ignore"):
        # waiting included: only where it is nearly all of the time does it say what limits
        rop = np.fmax(rop, np.where(view["zrop.busy"] >= HIGH, view["zrop.busy"], np.nan))
        # with one side missing the other can still decide when it is high; below that it stays open
        best = np.fmax(np.fmax(sm, mem), np.fmax(front, rop))
        both = np.isfinite(sm) & np.isfinite(mem)
        core = np.fmax(sm, mem)
        high = core >= LOW
        gap = sm - mem
        late, busy = _array(view, "present.cpu_bound"), _array(view, "present.gpu_bound")
        choices = [
            # of frame timing: in most frames the CPU works all the time and the GPU does not
            (late >= PACING_SHARE) & ~(busy >= PACING_SHARE),
            # copies keep the bus busy while all units idle or wait: no CPU is waited for, and no latency
            (best < LOW) & (view["pcie.throughput"] >= LOW),
            # the idle time of short ranges, barriers among them, is start-up and drain
            (idle >= IDLE_LIMITS) & (best < LOW) & ~(_array(view, "gpu.time") < TINY_NS),
            # ~(a >= b) is not a < b: a core that was not measured (NaN) does not stand in the way
            (front > 0) & (front >= best) & ~(core >= front),
            (rop > 0) & (rop >= best) & ~(core >= rop),
            # before latency, which holds as well: that the launch is too small is the narrower answer
            both & ~high & (waves < 1),
            # shared memory and the load-store pipe alone do not tell that memory has room
            both & ~high & np.isfinite(reduce(np.fmax, (_array(view, m) for m in _PATH))),
            both & high & (np.abs(gap) < BALANCED - _EPS),
            both & high & (gap > 0),
            both & high,
            ~both & (sm >= LOW),
            ~both & (mem >= LOW),
        ]
    words = "cpu memory cpu front-end rop small-grid latency balanced compute memory compute memory".split()
    out, open_ = np.zeros(view.size, dtype=np.int8), np.ones(view.size, dtype=bool)
    for word, holds in zip(words, choices, strict=True):  # the first that holds; np.select takes ten times as long
        out += (holds & open_).view(np.int8) * np.int8(code(word))
        open_ &= ~holds
    return _by_longest_wait(view, _tilers(view, out))


def _tilers(view: View, out: Codes) -> Codes:
    """Limiter classes, by a phone's units where shares of peak do not decide."""
    sides = [[view[m] for m in side if is_column(view[m])] for side in (_TILER_CORES, _TILER_MEMORY)]
    if not any(sides):
        return out
    cores, memory = (reduce(np.fmax, found, np.full(view.size, np.nan)) for found in sides)
    with np.errstate(invalid="ignore"):
        leads = np.where(np.isnan(cores) | (memory > cores), code("memory"), code("compute"))
        both = (np.minimum(cores, memory) >= LOW) & (np.abs(cores - memory) < BALANCED - _EPS)
        decided = (out == code("unknown")) & (np.fmax(cores, memory) >= LOW)
    return np.where(decided, np.where(both, code("balanced"), leads), out).astype(np.int8)


def _by_longest_wait(view: View, out: Codes) -> Codes:
    """Limiter classes, by the longest wait where neither shares of peak nor unit limiters decide."""
    longest = np.full(view.size, HELD_UP)
    chosen = np.array(out)
    for word, metrics in _HELD:
        for share in (view[m] for m in metrics if is_column(view[m])):
            with np.errstate(invalid="ignore"):
                ahead = (out == code("unknown")) & (share >= longest)
            chosen[ahead], longest = code(word), np.where(ahead, share, longest)
    return chosen.astype(np.int8)
