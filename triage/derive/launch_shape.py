"""Launch shape and occupancy theory: what the launch asks for against what the device holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from triage.capture.arrays import Floats, Indices, Values
from triage.derive._arrays import full, highest, least, over
from triage.derive._derivation import Derivation
from triage.derive.vendor import tiler_of, vendor_of
from triage.devices import AmdLimits, Device, IntelLimits, Limits, listing
from triage.ground.columns import is_column
from triage.ground.errors import TriageError
from triage.schema.kernel import LIMITERS

if TYPE_CHECKING:
    from triage.derive import View
    from triage.occupancy.model import Model

MAIN_START = 0.4  # start-up share from which a launch is mostly that, as the rule on start-up time has it
START_NS = 1500.0  # ns; the shortest kernels in public traces: 1.1 µs on H100, 1.5 on B200, 1.7 on RTX 4090, 2.5 on T4
SAME_PEAK = 0.06  # products of one generation whose bandwidths differ by less are taken as one
SAME = 0.005  # an occupancy that is printed in whole percent
CLUSTERS_SINCE = 9.0  # compute capability; CUDA Programming Guide, Thread Block Clusters
SAMPLE = 4096  # rows of a capture that are asked what the device is
HALF = 0.0051  # waves are printed with two decimals: half of the last one, and a little for binary fractions
# word in occupancy.limit_* -> name of the limiter in triage.occupancy
LIMITS = {"registers": "registers", "shared": "shared", "groups": "groups", "warps": "waves", "barriers": "barriers"}
_HELD = tuple(f"occupancy.limit_{word}" for word in LIMITS)
_ASKED = ("launch.block_size", "launch.registers")


def shared_asked(view: View) -> Values:
    """Bytes of shared memory a group asks for, without what the driver adds; missing where the export does not say."""
    # The model adds the driver's reserve (1 KiB per block from 8.0 on) and rounds to granules itself: adding it twice
    # would cost a group. The allocated size, rounded already, is only taken where nothing better is there.
    own = view["launch.shared_static"] + np.nan_to_num(view["launch.shared_dynamic"])
    whole = view["launch.shared"] - np.nan_to_num(view["launch.shared_driver"])
    return np.maximum(np.where(np.isnan(own), whole, own), 0.0)


def model_of(device: Device | None, wave: float = np.nan) -> Model | None:
    """The occupancy model of a device, for waves of the exported width where the hardware has several.

    None without a device, and where the exported width does not exist on it.
    """
    return None if device is None or isinstance(device.limits, IntelLimits) else model_for_limits(device.limits, wave)


def model_for_limits(limits: Limits, wave: float) -> Model | None:
    """The occupancy model of an architecture for waves of a width, of its own one for NaN; None where it has no such waves."""
    from triage.occupancy.model import model_for  # a room that only launches need

    try:
        if isinstance(limits, AmdLimits):
            return model_for(limits, int(wave) if wave == wave else None)
        return model_for(limits)
    except TriageError:
        return None


def arguments(view: View, shared_too: bool = True) -> tuple[Indices, dict[str, Indices]] | None:
    """(positions with a complete launch, arguments of the occupancy model there); None for none. shared_too: else as if none asked for any."""
    # An average over launches that differ is a fraction: no launch asked for that many, so there is nothing to answer.
    threads, registers = (full(view[m], view.size) for m in _ASKED)
    shared = np.floor(full(shared_asked(view), view.size)) if shared_too else np.zeros(view.size)
    whole = (threads == np.floor(threads)) & (registers == np.floor(registers))
    at = np.flatnonzero((threads >= 1) & (registers >= 0) & (shared >= 0) & whole)
    if not len(at):
        return None
    found = {"threads": threads[at], "registers": registers[at], "shared": shared[at]}
    if view.capture.device is not None and view.capture.device.vendor == "amd":
        for metric, name in (("launch.scalar_registers", "sgprs"), ("launch.accum_registers", "agprs")):
            column = view.capture.facts.get(metric)
            if column is not None and bool((column >= 0).all()):  # of the whole capture, whichever rows are looked at
                found[name] = np.floor(column[view.rows][at])
    # 2**53 lies beyond any limit, and a damaged cell of 1e30 does not overflow.
    return at, {k: np.minimum(v, 2.0**53).astype(np.int64) for k, v in found.items()}


def _theory(view: View) -> dict[str, Floats]:
    """Limits in groups per SM, and occupancy (0 to 1), as the calculator has them; empty when it cannot run."""
    return view.once("occupancy theory", lambda: _calculate(view))


def _calculate(view: View) -> dict[str, Floats]:
    wave = view.capture.facts.get("launch.wave_size", np.full(1, np.nan))
    width = float(np.nanmax(wave)) if np.isfinite(wave).any() else np.nan  # of the whole capture
    model, asked, stated = model_of(view.capture.device, width), arguments(view), None
    if model is not None and asked is None and np.isnan(shared_asked(view)).all():
        stated = view.capture.facts.get("occupancy.theoretical")
        asked = None if stated is None else arguments(view, shared_too=False)
    if model is None or asked is None:
        return {}
    from triage.occupancy.core import UNLIMITED

    at, launch = asked
    core = model.run(**launch)
    if stated is not None:  # unknown shared memory is no limit where the rest explains the stated occupancy
        explained = (
            np.abs(core.groups * np.minimum(core.waves, model.slots) / model.slots - stated[view.rows][at]) <= SAME
        )
        at = at[explained]
        core = model.run(**{name: values[explained] for name, values in launch.items()})
    out: dict[str, Floats] = {}
    for metric, name in LIMITS.items():
        if name in core.limits:
            column = np.full(view.size, np.nan)
            # A resource that is not used limits nothing; as a number it would enter the least of the limits.
            column[at] = np.where(core.limits[name] == UNLIMITED, np.nan, core.limits[name])
            out[metric] = column
    column = np.full(view.size, np.nan)
    column[at] = core.groups * np.minimum(core.waves, model.slots) / model.slots
    out["occupancy"] = column
    return out


_PER_THREAD = ("registers_per_thread.ps", "registers_per_thread.cs", "registers_per_thread.vtg", "launch.registers")


def _by_registers(view: View) -> Values:
    """Part of the warp slots that the register file can fill, whatever the stage or the group size."""
    device = view.capture.device
    model = model_of(device) if device is not None and device.vendor == "nvidia" else None
    held = highest(*(view[m] for m in _PER_THREAD))
    if model is None or not is_column(held):
        return np.nan
    asked = np.ceil(np.clip(np.nan_to_num(held, nan=1.0), 1, model.cap("registers"))).astype(np.int64)
    # of groups of one warp, as the stages of the graphics pipeline launch them
    warps = model.run(
        threads=np.full(view.size, model.wave_size), registers=asked, shared=np.zeros(view.size, np.int64)
    )
    share = np.minimum(warps.limits["registers"], model.slots) / model.slots
    return np.where(held > 0, share, np.nan)


def _limit(which: str) -> Derivation:
    return Derivation(
        f"occupancy.limit_{which}",
        f"occupancy model of the device: groups per SM allowed by {LIMITERS[which]}",
        lambda view: _theory(view).get(which, np.nan),
        _ASKED,
        ("launch.shared", "launch.shared_static", "launch.shared_dynamic"),
        whole=True,
    )


def _limited(which: str) -> Derivation:
    # Several can bind at once, and each of them is named: freeing one of them alone does not help.
    def flag(mine: Values, *rest: Values) -> Values:
        return np.where(np.isnan(mine), np.nan, (mine <= least(mine, *rest)).astype(float))

    others = tuple(m for m in _HELD if m != f"occupancy.limit_{which}")
    return Derivation(
        f"limited_by.{which}",
        "its limit is the smallest of the occupancy limits",
        flag,
        (f"occupancy.limit_{which}",),
        others,
    )


def _sms(view: View) -> Values:
    """SMs of the device.

    What the device or its table says, the ratio of summed to single elapsed cycles, what the printed waves say, or the one product with
    such a peak bandwidth. One number per capture, from its first rows, whichever rows are looked at.
    """
    total = view["device.sm_total"]
    if is_column(total):
        return total
    count = view.whole.once("sms", lambda: _counted(view.part(slice(0, SAMPLE))))
    return full(count, view.size) if count == count else np.nan


def _counted(sample: View) -> float:
    counted = np.round(full(sample["sm.cycles_elapsed_sum"] / sample["sm.cycles_elapsed"], sample.size))
    return next((n for n in (_middle(counted), _fitting(sample), _by_peak(sample)) if n == n), np.nan)


def _table_sms(view: View) -> Values:
    device = view.capture.device
    return full(device.sm_count, view.size) if device is not None and device.sm_count else np.nan


def boost_clock(view: View) -> float:
    """Hz of an NVIDIA GPU's table entry, NaN where unknown: no kernel runs faster, and profilers hold the clock below it."""
    device = view.capture.device
    return (device.peaks.boost_clock_hz if device is not None and device.vendor == "nvidia" else None) or np.nan


def bounded_sms(view: View, bound: Callable[[list[int]], int]) -> Values:
    """SM count; where unknown, `bound` (min or max) of the products of the architecture, NaN where that is unknown too.

    A GPU with matrix cores of AMD that was not named is any CDNA, or one die of it, since dies can be used as GPUs of their own.
    """
    sms, device = view["device.sm_count"], view.capture.device
    if np.isfinite(sms).any() or (device is None and not _has_matrix_cores(view)):
        return sms
    if device is None:
        known = [
            d.sm_count // n for d in listing() if d.sm_count and d.generation[:4] == "CDNA" for n in (1, d.dies or 1)
        ]
    else:
        known = [d.sm_count for d in listing() if d.arch == device.arch and d.sm_count]
    return float(bound(known)) if known else np.nan


def _has_matrix_cores(view: View) -> bool:
    """True for AMD's GPUs with accumulation registers or MFMA instructions, which only CDNA has."""
    return any(np.any(np.nan_to_num(view[m]) > 0) for m in ("launch.accum_registers", "mfma.inst_share", "mfma.busy"))


def _middle(values: Values) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else np.nan


def _by_peak(view: View) -> float:
    """SMs of the only product of the architecture that has the measured peak bandwidth."""
    # Two products can share an architecture and a memory, so more than one SM count answers nothing. Below 2 % the
    # share of peak is too coarse to divide by.
    device, used = view.capture.device, view["vram.throughput"]
    peak = _middle(full(view["vram.bandwidth"] / np.where(used > 0.02, used, np.nan), view.size))
    if device is None or not peak > 0:
        return np.nan
    counts = {
        d.sm_count
        for d in listing()
        if d.arch == device.arch and d.peaks.dram_bytes_per_s and abs(d.peaks.dram_bytes_per_s / peak - 1) < SAME_PEAK
    } - {None}
    return float(counts.pop() or np.nan) if len(counts) == 1 else np.nan


def _fitting(view: View) -> float:
    """The one SM count that agrees with every printed wave count (two decimals), NaN when none or several do."""
    facts = view.capture.facts
    if "launch.waves" not in facts or "launch.grid_size" not in facts:
        return np.nan
    waves = facts["launch.waves"][view.rows]
    groups = facts["launch.grid_size"][view.rows] / view["launch.resident_groups"]
    use = (waves >= 0.02) & np.isfinite(groups)
    if not use.any():
        return np.nan
    # Every row allows the counts between groups / (waves + half a digit) and groups / (waves - half a digit).
    low, high = (groups[use] / (waves[use] + HALF)).max(), (groups[use] / (waves[use] - HALF)).min()
    least = float(np.ceil(low - 1e-9))
    return least if least == float(np.floor(high + 1e-9)) else np.nan


def _waves(groups: Values, sms: Values, fitting: Values) -> Values:
    share = groups / sms
    return np.where(fitting > 0, share / fitting, np.where(np.isnan(fitting) & (share < 1), share, np.nan))


def _wave_size(view: View) -> Values:
    device = view.capture.device
    if device is None:  # every NVIDIA GPU has warps of 32, whichever it is
        return full(32.0, view.size) if vendor_of(view.capture) == "nvidia" else np.nan
    return full(device.warp_size, view.size)


def _idle_lanes(view: View) -> Values:
    threads, wave = view["launch.block_size"], view["launch.wave_size"]
    # no GPU of NVIDIA or AMD has narrower warps, and in wider ones no fewer lanes stay empty; those of others may be narrower
    if not is_column(wave) and wave != wave and vendor_of(view.capture) in ("", "amd") and not tiler_of(view.capture):
        wave = 32.0
    return 1 - threads / (np.ceil(threads / wave) * wave)


def _per_call(view: View) -> Values:
    time = view["gpu.time"]
    return time / np.maximum(view.capture.calls[view.rows], 1) if is_column(time) else np.nan


def _of_span(view: View) -> Values:
    """Only a timeline says how long the run is that a kernel is part of."""
    time = view["gpu.time"]
    return time / view.capture.frame_ns if view.capture.timeline is not None and is_column(time) else np.nan


def _spread(active: Values, block: Values, nvidia: Values, idle: Values, start: Values) -> Values:
    # other vendors' counters of busy units count by the quarter of cycles, or not alike on all chips
    busy = active / (1 - np.nan_to_num(idle)) / np.maximum(1 - np.nan_to_num(start), active)
    return np.where((block > 0) & (nvidia > 0), np.minimum(busy, 1.0), np.nan)


DERIVATIONS = (
    # device and launch
    Derivation(
        "device.sm_count",
        "SMs of the device, else summed / single elapsed cycles, else the product with the measured peak bandwidth", _sms,
        whole=True,
    ),
    Derivation("device.sm_total", "device table", _table_sms, whole=True),
    Derivation(
        "launch.sm_share", "SMs in use / SMs of the device", lambda used, all_: np.minimum(over(used, all_), 1.0),
        ("device.sm_count", "device.sm_total"),
    ),
    Derivation(
        "launch.cluster_size", "0 before compute capability 9, which brought clusters",
        lambda capability: np.where(capability < CLUSTERS_SINCE, 0.0, np.nan), ("device.capability",),
    ),
    Derivation("launch.wave_size", "warp width of the architecture", _wave_size, whole=True),
    Derivation(
        "launch.group_warps", "threads per group / warp width, rounded up", lambda b, w: np.ceil(b / w),
        ("launch.block_size", "launch.wave_size"),
    ),
    Derivation(
        "launch.idle_lanes", "1 - threads / (warps x warp width), of 32 at least where the GPU is not known", _idle_lanes,
        optional=("launch.block_size", "launch.wave_size"), whole=True, ask=("launch.block_size",),
    ),
    Derivation("launch.time", "GPU time / calls", _per_call, ("gpu.time",), whole=True),
    Derivation("launch.of_span", "GPU time of all launches / span of the devices", _of_span, ("gpu.time",), whole=True),
    Derivation(
        "launch.start_share", f"{START_NS / 1000:g} µs, the time of an empty kernel / time of one launch",
        lambda time, block, nvidia: np.where((block > 0) & (nvidia > 0), np.minimum(over(START_NS, time), 1.0), np.nan),
        ("launch.time", "launch.block_size", "device.is_nvidia"),
    ),
    Derivation(
        "launch.too_short", "in a chain of tiny work, or mostly start-up: two fifths of the time or more",
        lambda chain, start: highest(chain, np.where(np.isnan(start), np.nan, np.asarray(start >= MAIN_START, float))),
        optional=("range.in_chain", "launch.start_share"), ask=("gpu.time",),
    ),
    Derivation(
        "launch.spread", "SM active / share of the SMs that got work / (1 - start-up share)", _spread,
        ("sm.active", "launch.block_size", "device.is_nvidia"), ("launch.idle_sms", "launch.start_share"),
    ),
    Derivation("launch.threads", "threads per group x groups", lambda b, g: b * g, ("launch.block_size", "launch.grid_size")),
    # what fits
    *(_limit(w) for w in LIMITS),
    *(_limited(w) for w in LIMITS),
    Derivation(
        "occupancy.by_registers", "warps in the register file / warp slots", _by_registers, optional=_PER_THREAD, whole=True,
    ),
    Derivation(
        "launch.resident_groups", "the smallest of the occupancy limits", least, optional=_HELD, ask=("occupancy.theoretical",),
    ),
    Derivation(
        "occupancy.theoretical", "occupancy model of the device for threads, registers and shared memory of a group",
        lambda view: _theory(view).get("occupancy", np.nan), _ASKED,
        ("launch.shared", "launch.shared_static", "launch.shared_dynamic"), whole=True, ask=_ASKED,
    ),
    # how the grid fills the machine
    Derivation(
        "launch.waves", "groups / (SMs x groups per SM, 1 where unknown and not every SM gets one)", _waves,
        ("launch.grid_size", "device.sm_count"), ("launch.resident_groups",), ask=("launch.grid_size", *_ASKED),
    ),
    Derivation(
        "launch.tail_loss", "1 - waves / waves rounded up, where at least one wave is full",
        # 2.000001 waves are 2 that were not printed exactly: without the slack they would have an almost empty third
        lambda waves: np.where(waves >= 1, 1 - waves / np.ceil(waves - 1e-6), np.nan), ("launch.waves",),
    ),
    Derivation(
        "launch.idle_sms", "1 - groups / SMs, else 1 - waves x groups that fit on one SM",
        lambda g, n, w, r: np.clip(1 - np.where(np.isnan(g / n), w * r, g / n), 0.0, 1.0),
        optional=("launch.grid_size", "device.sm_count", "launch.waves", "launch.resident_groups"),
        ask=("launch.grid_size", "launch.waves"),
    ),
    Derivation(
        "occupancy.gap", "theoretical - achieved occupancy", lambda t, a: t - a, ("occupancy.theoretical", "sm.occupancy"),
    ),
)  # fmt: skip
