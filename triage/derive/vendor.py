"""Whose GPU it is, as facts: rules about one vendor's hardware ask before they speak."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice

import numpy as np

from triage import schema
from triage.capture.arrays import Values
from triage.capture.capture import Capture
from triage.derive import View
from triage.derive._arrays import full
from triage.derive._derivation import Derivation

# counters that no other vendor's profiler exports; NVIDIA's are what this project's own are named after, so none decides
# alone (_BESIDE)
OWN: dict[str, tuple[str, ...]] = {
    "amd": (
        "sched.",
        "valu.",
        "salu.",
        "mfma.",
        "lds.",
        "mem_unit.",
        "waves.",
        "fabric.",
        "launch.scalar_registers",
        "launch.accum_registers",
        "launch.vgpr_spills",
    ),
    "intel": (
        "eu.",
        "sampler.",
        "slm.",
        "gti.",
        "l3.",
        "lsc.",
        "bottleneck.",
        "shader.accesses",
        "shader.atomics",
        "shader.barriers",
    ),
}
# the queues and schedulers of NVIDIA's SM, which tables of other GPUs have no words for: beside as many of these a counter
# of AMD's or Intel's is a stranger's name for something else
_BESIDE = (
    *("stall.lg_throttle", "stall.mio_throttle", "stall.tex_throttle", "stall.math_pipe_throttle"),
    *("stall.short_scoreboard", "stall.not_selected", "launch_stall."),
)
SEVERAL = 3  # of these beside sizes of launches: a frame's table may have borrowed NVIDIA's words, one of kernels has its counters
# GPUs of phones and Macs, of which no limits are known here: how their names begin, and counters that no other vendor's tool has
_TILERS = (
    (
        "apple",
        ("apple",),
        (
            "alu.limiter",
            "integer.limiter",
            "texture_sample.limiter",
            "buffer_read.limiter",
            "llc.limiter",
            "mmu.limiter",
        ),
    ),
    ("arm", ("mali", "immortalis"), ("varying.busy", "warp.diverged", "texture_filter.cycles")),
    ("qualcomm", ("adreno",), ("shader.stalled", "texture_pipe.stalled", "vertex_fetch.stalled")),
)
_DRAWN = ("bottleneck.", "pixels.", "prims.", "vertices.")  # counters that only drawing moves
_DRAWING = (  # units and counts that stand still, or next to it, where nothing is drawn
    *("crop.throughput", "zrop.throughput", "pd.throughput", "vaf.throughput", "vpc.throughput", "raster.throughput"),
    *("rtcore.throughput", "draw.count", "invocations.ps", "invocations.vs"),
)
# counted by profilers of frames alone: which stage has warps, and what keeps its warps from starting
_FRAMES = ("launch_stall.", "sm.warps_cs", "sm.warps_ps", "sm.warps_vtg")
_COPIES = re.compile(r"mem ?(?:cpy|copy|set)", re.IGNORECASE)  # rows between kernels that have no groups either
LOST = 0.05  # of the rows of a table of kernels, those whose group size somebody may have lost
STILL = 0.02  # of a unit's peak: copies and clears by kernels leave such traces
_DRAWS = frozenset(("draw", "geometry", "fullscreen"))  # kinds of work
# gfx names count generations: gfx9 is both GCN5 and CDNA, RDNA begins at gfx10.
RDNA = ("gfx10", "gfx11", "gfx12")


def of_kernels(tells: Mapping[str, str]) -> bool:
    """Do exports with these facts (fact -> word, of their dialect) hold nothing but kernels?"""
    return tells.get("work") == "compute"


def vendor_of(capture: Capture) -> str:
    """Whose GPU a capture is about: "nvidia", "amd", "intel", or "" where neither device, tool nor counters tell.

    Where a table has counters of two vendors, as names that somebody mapped make it, the majority decides.
    """
    if capture.device is not None:
        return capture.device.vendor
    if vendor := capture.input.tells.get("vendor", ""):
        return vendor
    if any(schema.perfworks(c.header) for c in capture.table.columns.values()):
        return "nvidia"
    votes = {vendor: sum(m.startswith(own) for m in capture.facts) for vendor, own in (*OWN.items(), ("", _BESIDE))}
    first, *rest = (vendor for vendor, n in votes.items() if n == max(votes.values()))
    if not rest and first:
        return first
    strangers = any(votes[vendor] for vendor in OWN)
    return "nvidia" if not strangers and _launched_by_cuda(capture) else ""


def _launched_by_cuda(capture: Capture) -> bool:
    """Does a table of launches, which no tool signed, tell several reasons to wait that only NVIDIA's SMs have?"""
    reasons = {m.partition(".")[2] for m in capture.facts if m.replace("_cycles", "").startswith(_BESIDE)}
    return len(reasons) >= SEVERAL and "launch.block_size" in capture.facts and not of_a_frame(capture)


def tiler_of(capture: Capture) -> str:
    """The vendor of a GPU that draws in tiles, by its name or counters: "apple", "arm", "qualcomm", or ""."""
    name = capture.table.device.casefold()
    for vendor, names, counters in _TILERS:
        if any(word in name for word in names) or any(m in capture.facts for m in counters):
            return vendor
    return ""


def _is(vendor: str) -> Derivation:
    def flag(view: View) -> Values:
        found = vendor_of(view.capture)
        if vendor in OWN:
            return full(found == vendor, view.size)
        # a table of nobody's may be anybody's
        return full(found == vendor, view.size) if found else np.nan

    tells = "the device's vendor, or counters or a tool of this vendor only"
    return Derivation(f"device.is_{vendor}", tells, flag, whole=True)


def _rdna(view: View) -> Values:
    device = view.capture.device
    arch = device.arch if device is not None else view.capture.table.arch
    return full(arch == "gfx1" or arch.startswith(RDNA), view.size)  # "gfx1": known by its registers alone


def drawing_counted(capture: Capture) -> bool:
    """Do counters of a capture show that something is drawn?"""
    if any(m.startswith(_DRAWN) for m in capture.facts):
        return True
    return any(bool((capture.facts[m] > STILL).any()) for m in _DRAWING if m in capture.facts)


def drawn(view: View) -> bool:
    """Does a view's capture hold anything that is drawn, by its counters or the kinds of its work? Looked for once."""
    c = view.capture
    return view.whole.once("drawn", lambda: of_a_frame(c) or not _DRAWS.isdisjoint(c.kinds.tolist()))


def of_a_frame(capture: Capture) -> bool:
    """Do counters of a capture show that it is of a frame, though it may hold dispatches only?"""
    return (
        drawing_counted(capture)
        or any(m.startswith(_FRAMES) for m in capture.facts)
        or (not of_kernels(capture.input.tells) and _draws_beside_dispatches(capture))
    )


def _draws_beside_dispatches(capture: Capture) -> bool:
    """Does work without a group size stand beside work with one, as the draws of a frame do? A cell or two may be lost."""
    if (size := capture.facts.get("launch.block_size")) is None or not (size > 0).any():
        return False
    leaf = capture.leaf
    without = np.flatnonzero(leaf & (capture.kinds == "") & (capture.self_ns > 0) & ~(size > 0))
    enough = max(2, LOST * int(leaf.sum()))
    draws = (name for name in capture.names[without] if not _COPIES.search(str(name)))
    return next(islice(draws, int(enough), None), None) is not None


def _kernels(view: View) -> Values:
    return full(of_kernels(view.capture.input.tells), view.size)


def _drawn(view: View) -> Values:
    return full(1.0, view.size) if drawn(view) else np.nan


def _capability(view: View) -> Values:
    device = view.capture.device
    if device is None or not device.arch.startswith("sm_"):
        return np.nan
    return full(int(device.arch[3:]) / 10, view.size)


DERIVATIONS = (
    _is("amd"),
    _is("intel"),
    _is("nvidia"),
    Derivation("work.kernels", "a profiler of CUDA, HIP, SYCL or OpenCL kernels", _kernels, whole=True),
    Derivation("work.drawn", "counters of draws, or draws, geometry and full-screen passes", _drawn, whole=True),
    Derivation("device.capability", "compute capability of the device, by its name or table", _capability, whole=True),
    Derivation(
        "device.is_rdna", "the architecture is gfx10 or later, by the device or its scalar registers", _rdna, whole=True
    ),
)  # fmt: skip
