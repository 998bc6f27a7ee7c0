"""What the GPU and the API at hand can do (features.toml), as flags that choose advice: missing where neither is known."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from triage.capture.arrays import Values
from triage.derive import View
from triage.derive._arrays import full
from triage.derive._derivation import Derivation
from triage.derive.api_kind import api_known

FEATURES = ("mesh_shaders", "variable_rate", "sampler_feedback", "ray_reordering", "compute_queue")


@cache
def table() -> Mapping[str, Mapping[str, Any]]:
    """features.toml: feature -> its first generations and APIs."""
    return tomllib.loads(Path(__file__).with_name("features.toml").read_text(encoding="utf-8"))


def has(feature: str, arch: str, api: str) -> float:
    """1 where an architecture has a feature and the API offers it, 0 where one of them does not, NaN where nobody knows.

    arch: as in the device table (sm_86, gfx1100, xe-hpg), "" for unknown. api: a word of derive.api.APIS or "".
    """
    entry = table()[feature]
    if api and api not in entry["apis"]:
        return 0.0
    if (m := re.fullmatch(r"sm_(\d+)\w*", arch)) is not None:
        return float("sm" in entry and int(m[1]) >= entry["sm"])
    if (m := re.match(r"gfx(\d+?)[0-9a-f]{2}(?:_|$)", arch)) is not None:  # major, minor, stepping
        generation = int(m[1]) * 100 + int(arch[3 + len(m[1])], 16) * 10
        return float("gfx" in entry and generation >= entry["gfx"])
    if arch.startswith(("gen", "xe")):
        return float("intel_without" in entry and arch not in entry["intel_without"])
    return float("nan")


def _flag(feature: str) -> Derivation:
    def known(view: View) -> Values:
        device = view.capture.device
        found = has(feature, device.arch if device else "", api_known(view))
        return full(found, view.size) if found == found else np.nan

    return Derivation(f"can.{feature}", "the device's generation and the API (features.toml)", known, whole=True)


DERIVATIONS = tuple(_flag(f) for f in FEATURES)
