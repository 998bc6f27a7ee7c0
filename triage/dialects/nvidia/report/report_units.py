"""Units of Nsight Compute's metrics by name: a report stores none, and its values are in base units.

The names follow PerfWorks' grammar (NVIDIA, Nsight Compute Profiling Guide, "Metrics Structure"); what the tool prints
for the others is as its raw page has it.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from pathlib import Path

_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_EXACT: dict[str, str] = _DATA["names"]
_RULES: list[tuple[re.Pattern[str], str]] = [(re.compile(pattern), unit) for pattern, unit in _DATA["rules"]]
_STEMS: list[tuple[re.Pattern[str], str]] = [(re.compile(pattern), unit) for pattern, unit in _DATA["stems"]]


@lru_cache(16_384)
def unit(name: str) -> str:
    """Unit of a metric's value in a report, as the raw page prints it with base units; "" where it has none."""
    if name in _EXACT:
        return _EXACT[name]
    found = next(text for pattern, text in _RULES if pattern.search(name))
    if found not in ("rate", "per cycle", "stem"):
        return found
    head = name.partition(".")[0]
    counted = head if "__" in head else name  # without the suffixes of roll-ups
    base = next((text for pattern, text in _STEMS if pattern.search(counted)), "")
    if found == "rate":
        return "hz" if base == "cycle" else f"{base}/s" if base else ""
    if found == "per cycle":
        return base if base == "warp" else f"{base}/cycle" if base not in ("", "cycle") else ""
    return base
