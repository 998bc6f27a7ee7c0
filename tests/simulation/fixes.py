"""What each cause's cure would change in a kernel: the machine runs the cured kernel, and the difference is the truth."""

import math
from collections.abc import Callable

from msgspec.structs import replace

from .chips import CHIPS
from .machine import RAMP_NS, limits, run
from .work import Access, Work

Cure = Callable[[Work], Work]


def _split(k: Work, times: float) -> Work:
    """The same work dealt out to more groups."""
    each = {n: getattr(k, n) / times for n in ("ffma", "fadd", "fmul", "fp16", "imad", "alu", "xu", "dfma", "mma", "wide_mma", "uniform", "branch",
            "shared_load", "shared_store", "shared_atomic", "shuffle", "async_copy", "bulk_copy", "red", "atom", "texture", "sleep", "fence",
            "barriers", "fetch_wait", "constant_wait", "drain")}  # fmt: skip
    each |= {
        n: replace(getattr(k, n), count=getattr(k, n).count / times)
        for n in ("load", "store", "local_load", "local_store")
    }
    return replace(k, grid=max(1, round(k.grid * times)), **each)


def _fewer(k: Work, share: float) -> Work:
    """The same groups with less of everything each."""
    return replace(_split(k, 1 / share), grid=k.grid)


def _dense(a: Access) -> Access:
    return replace(a, sectors=0.0, turns=0.0)


def _wide(a: Access, most: float = 16) -> Access:
    times = max(1.0, most / a.width)
    return replace(
        a,
        width=a.width * times,
        count=a.count / times,
        sectors=a.sectors * times if a.sectors else 0.0,
        turns=a.turns * times if a.turns else 0.0,
    )


def _step(k: Work, names: tuple[str, ...]) -> Work:
    """One resource no longer decides: room for twice the groups."""
    chip = CHIPS[k.chip]
    if "registers" in names:
        low = next(
            (
                r
                for r in range(k.regs, 23, -8)
                if limits(replace(k, regs=r), chip).registers > limits(k, chip).registers
            ),
            k.regs,
        )
        goal = max(24, min(low, k.regs // 2))
        k = replace(k, regs=goal)
    if "shared" in names:
        k = replace(k, static=k.static // 2, dynamic=k.dynamic // 2)
    if "group" in names and k.block > 64:
        k = replace(_split(k, 1), block=k.block // 2, grid=k.grid * 2, skew=k.skew * 0.7)
    if "tiny" in names and k.block < 128:
        times = 128 // max(k.block, 32) or 1
        k = replace(k, block=k.block * times, grid=max(1, k.grid // times))
    return k


def _tail(k: Work) -> Work:
    chip = CHIPS[k.chip]
    wave = limits(k, chip).groups * chip.sms
    whole = k.grid / wave
    if whole <= 1:
        return k
    return _split(replace(k, jitter=0.0), max(1, math.floor(whole) + (whole > math.floor(whole))) * wave / k.grid)


def _reuse(k: Work) -> Work:
    return replace(
        k,
        load=replace(k.load, count=k.load.count / 6),
        shared_load=k.shared_load + k.load.count / 3,
        l1_hit=min(k.l1_hit, 0.3),
        static=k.static + 4096,
    )


CURES: dict[str, Cure] = {
    "uncoalesced-loads": lambda k: replace(k, load=_dense(k.load), local_load=_dense(k.local_load)),
    "uncoalesced-stores": lambda k: replace(k, store=_dense(k.store), merged_stores=0.0 if k.merged_stores < 0.5 else k.merged_stores),
    "bank-conflicts": lambda k: replace(k, load_ways=k.ideal_load_ways, store_ways=1.0, atomic_ways=min(k.atomic_ways, 2)),
    "shared-memory-traffic": lambda k: replace(k, shared_load=k.shared_load / 3, shuffle=k.shuffle / 2),
    "shared-memory-latency": lambda k: replace(k, shared_load=k.shared_load / 2, shuffle=k.shuffle / 2, ilp=k.ilp * 1.5),
    "data-reuse": _reuse,
    "scalar-access": lambda k: replace(k, load=_wide(k.load), store=_wide(k.store)),
    "lsu-pressure": lambda k: replace(k, load=_wide(k.load), store=_wide(k.store), shared_load=k.shared_load / 2, local_load=replace(k.local_load, count=k.local_load.count / 2), local_store=replace(k.local_store, count=k.local_store.count / 2), red=k.red / 2, shuffle=k.shuffle / 2),
    "l1-bandwidth": lambda k: replace(k, load=replace(k.load, count=k.load.count / 2), shared_load=k.shared_load / 2, local_load=replace(k.local_load, count=k.local_load.count / 2), texture=k.texture / 2),
    "l1-locality": lambda k: replace(k, l1_footprint=k.l1_footprint / 6, l1_hit=k.l1_hit if k.l1_footprint else k.l1_hit + (1 - k.l1_hit) * k.l2_hit / 2),
    "l2-locality": lambda k: replace(k, l2_footprint=k.l2_footprint / 6),
    "l2-bandwidth": lambda k: replace(k, l1_hit=1 - (1 - k.l1_hit) / 2, store=replace(k.store, count=k.store.count * 0.6)),
    "vram-bandwidth": lambda k: replace(k, load=replace(k.load, count=k.load.count / 2), store=replace(k.store, count=k.store.count / 2), async_copy=k.async_copy / 2),
    "memory-latency": lambda k: replace(k, mlp=k.mlp * 3),
    "occupancy-registers": lambda k: _step(k, ("registers",)),
    "occupancy-shared-memory": lambda k: _step(k, ("shared",)),
    "occupancy-group-size": lambda k: _step(k, ("group",)),
    "tiny-groups": lambda k: _step(k, ("tiny",)),
    "low-occupancy": lambda k: _step(k, ("registers", "shared", "group", "tiny")),
    "barrier-waits": lambda k: replace(k, barriers=k.barriers * 0.25),
    "dependency-latency": lambda k: replace(k, ilp=k.ilp * 3),
    "special-function-bound": lambda k: replace(k, xu=k.xu / 4, ffma=k.ffma + k.xu),
    "fp64-bound": lambda k: replace(k, dfma=0.0, ffma=k.ffma + k.dfma),
    "narrow-pipe": lambda k: replace(k, dfma=k.dfma / 4, xu=k.xu / 4, fp16=k.fp16 / 2),
    "integer-bound": lambda k: replace(k, imad=k.imad / 2, alu=k.alu / 2),
    "fp32-bound": lambda k: replace(k, ffma=k.ffma / 2, fadd=k.fadd / 2, fmul=k.fmul / 2),
    "issue-bound": lambda k: replace(k, ffma=k.ffma / 1.5, fadd=k.fadd / 1.5, fmul=k.fmul / 1.5, alu=k.alu / 1.5, imad=k.imad / 1.5, shared_load=k.shared_load / 1.5),
    "matrix-bound": lambda k: replace(k, mma=k.mma / 2, wide_mma=k.wide_mma / 2),
    "matrix-unused": lambda k: replace(k, ffma=k.ffma / 12, imad=k.imad / 4, mma=k.mma / 2),
    "matrix-underfed": lambda k: replace(k, mlp=k.mlp * 4, barriers=k.barriers / 3, sleep=k.sleep / 3, shared_load=k.shared_load / 1.5, load_ways=k.ideal_load_ways),
    "unfused-math": lambda k: replace(k, fadd=k.fadd - min(k.fadd, k.fmul), fmul=k.fmul - min(k.fadd, k.fmul), ffma=k.ffma + min(k.fadd, k.fmul)),
    "debug-build": lambda k: replace(k, local_load=Access(), local_store=Access(), alu=k.alu / 3, branch=k.branch / 3, imad=k.imad / 2, ilp=k.ilp * 3, mlp=k.mlp * 3),
    "divergence": lambda k: replace(_fewer(k, k.threads / 32), threads=32, unpredicated=32) if k.threads < 31 else k,
    "predication": lambda k: replace(_fewer(k, k.unpredicated / 32), unpredicated=32, threads=32) if k.unpredicated < 31 else k,
    "partial-warps": lambda k: _fewer(replace(k, block=k.warps * 32), 1 - k.idle_lanes),
    "small-grid": lambda k: _split(k, 8) if k.grid < limits(k, CHIPS[k.chip]).groups * CHIPS[k.chip].sms else k,
    "tail-effect": _tail,
    "load-imbalance": lambda k: _tail(replace(k, imbalance=0.0, idle_share=0.0, skew=k.skew * 0.6)),
    "idle-sms": lambda k: _tail(replace(_split(k, 4) if k.grid < CHIPS[k.chip].sms else k, imbalance=0.0, idle_share=0.0)),
    "atomics-contention": lambda k: replace(k, red=k.red / 16, atom=k.atom / 16, hot_slices=0, atomic_ways=1.0, shared_atomic=k.shared_atomic / 2, drain=k.drain / 8),
    "register-spills": lambda k: replace(k, local_load=Access(), local_store=Access()),
    "instruction-fetch": lambda k: replace(k, fetch_wait=0.0),
    "constant-misses": lambda k: replace(k, constant_wait=0.0),
    "branch-waits": lambda k: replace(k, branch=k.branch / 4),
    "fence-waits": lambda k: replace(k, fence=0.0, drain=0.0),
    "sleeping-warps": lambda k: replace(k, sleep=0.0),
    "texture-queue": lambda k: replace(k, texture=k.texture / 2),
    "far-memory": lambda k: replace(k, far=0.0),
    "bus-traffic": lambda k: replace(k, far=0.0),
}  # fmt: skip


def gain(work: Work, cause: str) -> float | None:
    """Share of the time the cause's cure saves on the machine; None where the machine knows no cure."""
    before = run(work)
    if cause == "launch-overhead":
        return RAMP_NS / before.ns
    if cause not in CURES:
        return None
    return 1 - run(CURES[cause](work)).ns / before.ns
