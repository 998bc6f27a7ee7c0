"""SM activity, issue, occupancy and stalls from whichever counter the tool exported."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triage.capture.arrays import Floats, Masks, Names, Values
from triage.derive import View
from triage.derive._arrays import first, highest, over
from triage.derive._derivation import Derivation
from triage.ground.columns import is_column
from triage.ground.stalls import MIN_REASONS, STALLS

# Reasons that are no loss: the warp issues, or is ready while another one issues.
BUSY = ("selected", "not_selected")
REASONS = tuple(r for r in STALLS if r not in BUSY)
_APART = 0.02  # heuristic: by how much two shares of the same time may differ and still be of one run
_SCHEDULERS = 4.0  # of every SM since Maxwell, but GP100 with its compute capability of 6.0
FEW_ELIGIBLE = 0.5  # warps: so few seldom meet in one cycle, so that nearly each of them issues
STALL_NAMED = 0.3  # Nsight Compute names a stall reason from this share on


class Kinds(NamedTuple):
    """Kind of every workload, and where it is known."""

    names: Names
    known: Masks


def _gpu_idle(
    active: Values, busy: Values, sm: Values, load: Values, eu_idle: Values, eu: Values, valu: Values, kernels: Values
) -> Values:
    # replays of single draws count a busy time that is not theirs: PIX on Intel says 40 % of a dispatch whose engines execute
    # 99 % of it. And what a profiled kernel calls idle are its own start and end.
    at_work = highest(sm, load, 1 - eu_idle, eu, valu)
    counted = np.where((busy >= at_work - _APART) & (kernels != 1), np.where(busy >= 1 - _APART, 1.0, busy), np.nan)
    return np.clip(1 - first(active, counted), 0, 1)


def _share(reason: str) -> Derivation:
    def share(view: View) -> Values:
        cycles, life = view[f"stall_cycles.{reason}"], view[f"stall_latency.{reason}"]
        return first(
            cycles / _per_issue(view), over(life, view.once("stall_latency", lambda: _total(view, "stall_latency")))
        )

    return Derivation(
        f"stall.{reason}",
        "stall cycles per issue / warp cycles per issue, else this reason's share of warp latency",
        share,
        optional=(f"stall_cycles.{reason}", f"stall_latency.{reason}"),
        whole=True,
        ask=(f"stall_cycles.{reason}",),
    )


def _per_issue(view: View) -> Values:
    """Warp latency in cycles per issue, to which the cycles of all reasons add up, busy ones included.

    Where it was not exported, warps over issue rate give it; else the sum of several reasons, too low where some are missing.
    """

    def latency() -> Values:
        stated = first(view["warp.cycles_per_issue"], view["warp.cycles_per_executed"])
        by_rate = over(view["warp.active_per_scheduler"], view["sm.issue_per_active"])
        listed = [r for r in STALLS if is_column(view[f"stall_cycles.{r}"])]
        # the cycle that issues is always there; of a reason or two, what a warp does for the rest of its time is unknown
        issuing = float(BUSY[0] not in listed) if len(listed) >= MIN_REASONS else np.nan
        return first(stated, by_rate, _total(view, "stall_cycles") + issuing)

    return view.once("warp_latency", latency)


def _total(view: View, kind: str) -> Values:
    """Cycles of all reasons that were exported, NaN for none."""
    listed = [v for r in STALLS if is_column(v := view[f"{kind}.{r}"])]
    return sum(map(np.nan_to_num, listed[1:]), np.nan_to_num(listed[0])) if listed else np.nan


def losses(view: View) -> tuple[list[str], Floats]:
    """(reasons measured, their shares as (reasons, workloads), below 0 where missing) without the harmless ones."""
    return view.once("losses", lambda: _stack(view))


def _stack(view: View) -> tuple[list[str], Floats]:
    have = [r for r in REASONS if is_column(view[f"stall.{r}"])]
    if not have:
        return have, np.zeros((0, view.size))
    # -1 instead of NaN: a maximum over the reasons then needs no mask.
    return have, np.stack([np.nan_to_num(view[f"stall.{r}"], nan=-1.0) for r in have])


def _top_share(view: View) -> Values:
    have, stack = losses(view)
    if not have:
        return np.nan
    best = stack.max(axis=0)
    return np.where(best < 0, np.nan, best)


def _largest(view: View) -> Values:
    top, (have, stack) = view["stall.top_share"], losses(view)
    if not have:
        return np.nan
    busy = sum(np.nan_to_num(view[f"stall.{r}"]) for r in BUSY)
    unlisted = 1.0 - busy - np.maximum(stack, 0.0).sum(axis=0)
    return np.where((top < STALL_NAMED) & (unlisted > top), np.nan, top)


def _top_is(reason: str) -> Derivation:
    def flag(view: View) -> Values:
        have, stack = losses(view)
        if reason not in have:
            return np.nan
        mine = stack[have.index(reason)]
        return np.where(mine < 0, np.nan, (mine >= stack.max(axis=0)).astype(float))

    return Derivation(
        f"stall.top_is_{reason}",
        f"{reason.replace('_', ' ')} is the largest stall reason",
        flag,
        (f"stall.{reason}",),
        whole=True,
    )


def _occupancy(warps: Values, slots: Values, cs: Values, ps: Values, vtg: Values, compute: Values) -> Values:
    drawing = ps + vtg + np.nan_to_num(cs)  # without both of them some of the warps may be those that nobody counted
    dispatched = np.where((compute == 1) | (np.isnan(compute) & np.isnan(ps) & np.isnan(vtg)), cs, np.nan)
    stages = first(drawing, dispatched)
    return first(warps / slots, np.where(stages > 0, np.minimum(stages, 1.0), np.nan))


def _issued(
    each: Values,
    elapsed: Values,
    active: Values,
    warps: Values,
    cycles: Values,
    issued: Values,
    executed: Values,
    generation: Values,
    eligible: Values,
) -> Values:
    """Issue slots used; of schedulers that issue two instructions at a time, and by eligible warps, at most so many."""
    rate = first(issued, executed) / np.where(generation == 6.0, _SCHEDULERS / 2, _SCHEDULERS)
    most = np.where(eligible < FEW_ELIGIBLE, eligible, np.nan)  # a cycle that issues has an eligible warp
    return first(each, *(np.minimum(x, 1.0) for x in (over(elapsed, active), over(warps, cycles), rate, most)))


def _at_most(view: View) -> Values:
    """Issue slots that can be used where full warp slots take turns, each as long as the listed stall cycles say."""
    listed = _total(view, "stall_cycles")
    return np.minimum(view["device.max_warps"] / _SCHEDULERS / (1 + listed), 1.0)


def _kinds(view: View) -> Kinds:
    kinds = view.capture.kinds[view.rows]
    return Kinds(kinds, kinds != "")


def _kind(kind: str) -> Derivation:
    def flag(view: View) -> Values:
        kinds, known = view.once("kinds", lambda: _kinds(view))
        return np.where(known, (kinds == kind).astype(float), np.nan) if known.any() else np.nan

    return Derivation(f"kind.{kind}", f"the workload's kind is {kind}", flag, whole=True)


DERIVATIONS = (
    Derivation(
        "gpu.idle", "1 - GPU active, else 1 - GPU busy", _gpu_idle,
        optional=("gpu.active", "gpu.busy", "sm.active", "sm.throughput", "eu.idle", "eu.active", "valu.busy", "work.kernels"),
        ask=("gpu.active",),
    ),
    # Averages over all SMs of counters from two passes can differ by a cycle: active never exceeds elapsed.
    Derivation(
        "sm.active",
        "1 - SM idle, else active cycles / elapsed cycles (or the busiest SM's), of the SMs that the launch could use",
        lambda idle, act, elapsed, part, most: np.where(np.isnan(idle), np.minimum(act / first(elapsed, most) / np.where(part > 0, part, 1.0), 1.0), 1 - idle),
        optional=("sm.idle", "sm.cycles_active", "sm.cycles_elapsed", "launch.sm_share", "sm.cycles_active_max"),
    ),
    Derivation(
        "sm.occupancy", "active warps / warp slots per SM, else slots filled by warps of all stages", _occupancy,
        optional=("sm.active_warps", "device.max_warps", "sm.warps_cs", "sm.warps_ps", "sm.warps_vtg", "kind.compute"),
        ask=("sm.active_warps", "device.max_warps"),
    ),
    Derivation(
        "warp.active_per_scheduler", "occupancy x warp slots / 4 schedulers per SM",
        lambda occupancy, slots, generation: np.where(generation == 6.0, np.nan, occupancy * slots / _SCHEDULERS),
        ("sm.occupancy", "device.max_warps", "device.capability"),
    ),
    Derivation(
        "sm.issue_per_active",
        "instructions issued per scheduler and active cycle, else issue slots used over elapsed cycles / SM active, else active warps per scheduler / warp cycles per issue, else IPC / 4 schedulers (2 of GP100), else eligible warps where they are few",
        _issued,
        optional=("warp.issued_per_scheduler", "sm.issue_per_elapsed", "sm.active", "warp.active_per_scheduler", "warp.cycles_per_issue", "sm.ipc_issued", "sm.ipc_active", "device.capability", "warp.eligible"),
        ask=("sm.issue_per_elapsed", "sm.active"),
    ),
    Derivation(
        "sm.issue_at_most", "warp slots per scheduler / (1 + stall cycles per issue that were listed)", _at_most,
        ("device.max_warps",), whole=True,
    ),
    Derivation(
        "l1tex.throughput", "TEX SOL over active cycles x SM active", lambda busy, active: busy * first(active, 1.0),
        ("l1tex.throughput_active",), ("sm.active",),
    ),
    # P3 v2: SOL counts over elapsed cycles, so idle time lowers it; over active ones it decides case C or D.
    Derivation(
        "sm.throughput_active", "SM SOL / SM active", lambda s, a: np.minimum(s / a, 1.0), ("sm.throughput", "sm.active"),
    ),
    *(_share(r) for r in STALLS),
    Derivation("stall.top_share", "largest stall share", _top_share, whole=True),
    Derivation(
        "stall.largest", "highest stall share, from 30 % on or where unlisted reasons cannot be higher", _largest,
        ("stall.top_share",), whole=True,
    ),
    _top_is("long_scoreboard"),
    _top_is("barrier"),
    *(_kind(k) for k in ("fullscreen", "compute", "geometry", "draw", "copy", "raytracing")),
)  # fmt: skip
