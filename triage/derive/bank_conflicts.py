"""Bank conflicts of shared memory: their share of its wavefronts, counted or bounded, and how many a warp has."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Values
from triage.derive import View
from triage.derive._arrays import excess_share, first, over
from triage.derive._derivation import Derivation
from triage.derive.launch_shape import boost_clock, bounded_sms

WIDEST_WAVEFRONTS = 4.0  # of a warp's conflict-free 16-byte access to shared memory, which no other one exceeds
_CONFLICTS = (
    "shared.bank_conflicts",
    "shared.load_bank_conflicts",
    "shared.store_bank_conflicts",
    "shared.wavefronts",
    "shared.load_wavefronts",
    "shared.store_wavefronts",
    "atomics.shared_conflicts",
    "shared.conflict_ways",
    "shared_load.requests",
    "shared_store.requests",
    "l1tex.busy_cycles",
)


def _conflicts(
    total: Values,
    load: Values,
    store: Values,
    waves: Values,
    load_waves: Values,
    store_waves: Values,
    atomic: Values,
    ways: Values,
    load_requests: Values,
    store_requests: Values,
    l1_cycles: Values = np.nan,
) -> tuple[Values, ...]:
    """The share by each way, the surest first: by wavefronts, by ways, at least by requests, by ways alone, at least by L1's cycles."""
    # lanes that update one word are serialised too: padding does not help them
    lost = first(np.maximum(total - np.nan_to_num(atomic), 0), load + store)
    work = first(waves, load_waves + store_waves)
    # Conflicts can exceed the wavefronts, since the two counters may come from different replay passes.
    counted = first(np.where(work > 0, over(lost, work), np.where(lost == 0, 0.0, np.nan)), over(load, load_waves))
    # without wavefronts the requests bound them, of both kinds or of loads alone
    whole = (lost, load_requests + store_requests), (load, load_requests)
    by_requests = first(*(over(part, part + WIDEST_WAVEFRONTS * of) for part, of in whole))
    by_ways = first(*(over(part, ways * of) for part, of in whole))
    # all else that keeps L1 busy is in its cycles, and loads or stores may have been counted alone
    by_cycles = over(first(lost, load, store), l1_cycles)
    return counted, by_ways, by_requests, 1 - over(1.0, ways), by_cycles


def _conflict_share(*inputs: Values) -> Values:
    return np.clip(first(*_conflicts(*inputs)), 0.0, 1.0)


def _exact_conflict_share(*inputs: Values) -> Values:
    """Missing where requests or L1's cycles only bound the wavefronts: the share is at least that then."""
    counted, by_ways, by_requests, ways, _ = _conflicts(*inputs)
    bare = np.where(np.isnan(by_requests), ways, np.nan)
    return np.clip(first(counted, by_ways, bare), 0.0, 1.0)


def _l1_cycles(view: View) -> Values:
    """Cycles of all launches of a workload in which L1 works, summed over the SMs: at least what its data stage takes."""
    each = view["sm.cycles_elapsed"] * np.maximum(view.capture.calls[view.rows], 1)
    cycles = first(each, view["gpu.time"] * 1e-9 * first(view["sm.frequency"], boost_clock(view)))
    return bounded_sms(view, max) * cycles * view["l1tex.throughput"]


DERIVATIONS = (
    Derivation(
        "l1tex.busy_cycles",
        "L1's share of peak x elapsed cycles (at the boost clock, where not measured) x SMs, of the largest product of the architecture where unknown",
        _l1_cycles, optional=("l1tex.throughput", "sm.cycles_elapsed", "sm.frequency", "gpu.time", "device.sm_count"),
        whole=True, ask=("l1tex.throughput", "sm.cycles_elapsed"),
    ),
    Derivation(
        "shared.conflict_share",
        "(bank conflicts - those of atomics) / wavefronts of shared memory, else / (ways x requests), or the same of loads alone, else at least / (conflicts + 4 x requests), else 1 - 1 / ways, else at least conflicts / busy cycles of L1",
        _conflict_share, optional=_CONFLICTS, ask=("shared.bank_conflicts", "shared.wavefronts"),
    ),
    Derivation(
        "shared.load_conflict_share",
        "bank conflicts of shared loads / their wavefronts, where those of stores were not counted",
        lambda load, waves, store, every: np.where(np.isnan(store) & np.isnan(every), over(load, waves), np.nan),
        ("shared.load_bank_conflicts", "shared.load_wavefronts"), ("shared.store_bank_conflicts", "shared.bank_conflicts"),
    ),
    Derivation(
        "shared.exact_conflict_share",
        "bank-conflict share, where wavefronts or ways were counted and requests or cycles of L1 need not bound it",
        _exact_conflict_share, optional=_CONFLICTS[:-1], ask=("shared.bank_conflicts", "shared.wavefronts"),
    ),
    Derivation(
        "shared.excess_share", "excess / all shared wavefronts", excess_share,
        optional=("shared.excess_wavefronts", "shared.access_wavefronts", "shared.access_wavefronts_ideal"),
        ask=("shared.access_wavefronts", "shared.access_wavefronts_ideal"),
    ),
)  # fmt: skip
