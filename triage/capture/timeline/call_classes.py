"""What a call's name says it does; names of versions and suffixes come and go, so parts of them decide."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from triage.capture.trace_nouns import API, GAPS

_PARTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
# a launch of a function that came from a module is a launch, not a load
_LAUNCHES = re.compile(r"ModuleLaunch")


def class_of(call: str) -> int:
    """The class of GAPS, up to API, of a call by its name: cudaMemcpyAsync_v3020 copies."""
    name = _LAUNCHES.sub("Launch", call)
    return next((GAPS.index(kind) for kind, parts in _PARTS.items() if any(part in name for part in parts)), API)
