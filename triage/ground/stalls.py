"""Why a warp waits: the stall reasons that profilers report, in words."""

from __future__ import annotations

import tomllib
from pathlib import Path

MIN_REASONS = 4  # of fewer stall reasons the sum is unknown
STALLS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
