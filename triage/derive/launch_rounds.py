"""Rounds of groups where the product is not known: by what the launch and the architecture tell."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Values
from triage.derive import View
from triage.derive._arrays import full
from triage.derive._derivation import Derivation
from triage.derive.launch_shape import bounded_sms, model_of, shared_asked
from triage.devices import AmdLimits, Limits


def _estimate(view: View) -> Values:
    """Waves per SM by the resources that are known; where the product is not known, for the smallest of its architecture."""
    device, sms = view.capture.device, bounded_sms(view, min)
    if device is None or not np.isfinite(sms).any():
        return np.nan
    model = model_of(device)
    threads = full(view["launch.block_size"], view.size)
    if model is None or not np.isfinite(threads).any():
        return np.nan
    warps = np.ceil(threads / model.wave_size)
    # AMD's group slots stand for barriers, which a group of one wave does not need
    free = (warps <= 1) & isinstance(model.limits, AmdLimits)
    most = np.where(free, np.inf, model.limits.max_groups)
    most = np.fmin(np.fmin(most, view["launch.resident_groups"]), _held_by_lds(view, model.limits))
    return view["launch.grid_size"] / (sms * np.minimum(np.floor(model.slots / np.maximum(warps, 1)), most))


def _held_by_lds(view: View, limits: Limits) -> Values:
    """Groups that a CU's LDS holds, where registers are unknown; missing for groups without LDS and beyond it."""
    asked = shared_asked(view)
    if not isinstance(limits, AmdLimits):
        return np.nan
    return np.where((asked > 0) & (asked <= limits.lds_per_group), np.floor(limits.lds / np.fmax(asked, 1.0)), np.nan)


DERIVATIONS = (
    Derivation(
        "launch.sm_groups_most", "groups / SMs of the smallest product of the generation, or of one die of any CDNA GPU",
        lambda view: view["launch.grid_size"] / bounded_sms(view, min), ("launch.grid_size",), whole=True,
    ),
    Derivation(
        "launch.waves_estimate",
        "groups / (SMs x groups that the group size and what else is known allow); " "SMs of the smallest product of the generation where unknown",
        _estimate, ("launch.grid_size", "launch.block_size"), ("launch.resident_groups", "launch.shared"), whole=True,
    ),
)  # fmt: skip
