"""Samples of warps that wait, by reason and instruction; and counters per instruction at wanted addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from triage.capture.arrays import Floats, Indices
from triage.dialects.nvidia import ncu_names
from triage.dialects.nvidia.report.instances import Instances

_PCSAMP = "smsp__pcsamp_warps_issue_stalled_"
SAMPLES = "smsp__pcsamp_sample_count"
READY = ("selected", "not_selected")  # a warp that issues, or could: it does not wait
_WHOLE = 0.95  # part of the samples from which on their reasons are called complete


def reason(name: str) -> str:
    """`long_scoreboard` for the samples of one stall reason, "" for any other metric."""
    if not name.startswith(_PCSAMP) or name.endswith("_not_issued"):
        return ""
    return ncu_names.metric(name, "warp").removeprefix("stall_samples.") or name.removeprefix(_PCSAMP)


def reasons(found: Instances) -> dict[str, str]:
    """Reason -> its metric, for the reasons that samples were kept for and that are a wait."""
    return {r: n for r, n in all_reasons(found).items() if r not in READY}


def all_reasons(found: Instances) -> dict[str, str]:
    """Reason -> its metric, warps that are ready included."""
    if found.reasons is None:
        found.reasons = {r: n for n in found.names() if (r := reason(n))}
    return found.reasons


class Waiting(NamedTuple):
    """metric: the counters in words. Addresses, samples of waiting warps there, and their sum over the launch.

    total: more than the samples by address where only some reasons were kept.
    """

    metric: str
    pcs: Indices
    values: Floats
    total: float


def waiting(found: Instances) -> Waiting:
    """All samples but those of warps that are ready; of the reasons that were kept where all are not counted."""
    ready = [n for r, n in all_reasons(found).items() if r in READY]
    without = f", without {' and '.join(READY)}"
    pcs, values = summed(*found.values(SAMPLES))
    if len(pcs):
        for n in ready:
            values = np.maximum(values - at(pcs, *found.values(n)), 0.0)
        pcs, values = pcs[values > 0], values[values > 0]
        return Waiting(SAMPLES + without if ready else SAMPLES, pcs, values, float(values.sum()))
    parts = [found.values(n) for n in reasons(found).values()]
    if not parts:
        return Waiting("", pcs, values, 0.0)
    pcs, values = summed(np.concatenate([p for p, _ in parts]), np.concatenate([v for _, v in parts]))
    whole = found.total(SAMPLES) - sum(float(found.values(n)[1].sum()) for n in ready)
    return Waiting(f"{_PCSAMP}*{without}", pcs, values, max(float(values.sum()), whole))


def taken(found: Instances, pcs: Indices) -> Floats:
    """All samples at some addresses, warps that are ready included; of the reasons that were kept where all are not counted."""
    if len(found.values(SAMPLES)[0]):
        return at(pcs, *found.values(SAMPLES))
    return sum((at(pcs, *found.values(n)) for n in all_reasons(found).values()), np.zeros(len(pcs)))


def by_reason(found: Instances, pcs: Indices) -> tuple[dict[str, float], float]:
    """Samples by reason at some addresses together, and all of the waiting there; 0 where that is not known."""
    counts = {r: float(at(pcs, *found.values(n)).sum()) for r, n in reasons(found).items()}
    all_ = waiting(found)
    known = float(all_.values.sum()) > _WHOLE * all_.total
    return counts, float(at(pcs, all_.pcs, all_.values).sum()) if known else 0.0


def moved(found: Instances, name: str, to: Mapping[int, int]) -> None:
    """Give samples of one reason, and the sum over reasons, other addresses."""
    pcs, values = summed(*found.values(name))
    targets = np.array([to.get(pc, pc) for pc in pcs.tolist()], np.int64)
    found.put(name, *summed(targets, values))
    if len(found.values(SAMPLES)[0]):
        all_pcs, all_values = found.values(SAMPLES)
        some = np.concatenate([all_values, -values, values])
        where, sums = summed(np.concatenate([all_pcs, pcs, targets]), some)
        found.put(SAMPLES, where, np.maximum(sums, 0.0))


def summed(pcs: Indices, values: Floats) -> tuple[Indices, Floats]:
    """Each address once, in order."""
    distinct, place = np.unique(pcs, return_inverse=True)
    return distinct, np.bincount(place, values, len(distinct)).astype(np.float64)


def at(wanted: Indices, pcs: Indices, values: Floats) -> Floats:
    """Values at the wanted addresses, 0 where there is none."""
    if not len(pcs):
        return np.zeros(len(wanted))
    pcs, values = summed(pcs, values)
    place = np.minimum(np.searchsorted(pcs, wanted), len(pcs) - 1)
    return np.where(pcs[place] == wanted, values[place], 0.0)


def present(found: Instances, names: tuple[str, ...]) -> str:
    """The first of some metrics that has instances, "" if none has."""
    return next((n for n in names if len(found.values(n)[0])), "")
