"""GPU performance triage: profiler exports in, a ranked and evidenced list of what to fix out.

    >>> import triage
    >>> diagnosis = triage.diagnose("frame.csv")
    >>> for finding in diagnosis.findings: print(finding.message)

Importing this package imports neither pandas nor an engine; the first read does.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "1.0.0"  # the one place: pyproject.toml reads it from here

_FRONT_DOOR = {
    "read": "triage.api",
    "diagnose": "triage.api",
    "explain": "triage.api",
    "occupancy": "triage.occupancy",
    "Capture": "triage.capture.capture",
    "Diagnosis": "triage.api",
    "Finding": "triage.findings.finding_types",
    "Rule": "triage.rulebook.rule",
    "TriageError": "triage.ground.errors",
}
__all__ = ["Capture", "Diagnosis", "Finding", "Rule", "TriageError", "diagnose", "explain", "occupancy", "read"]


def __getattr__(name: str) -> Any:
    if name in _FRONT_DOOR:
        return getattr(importlib.import_module(_FRONT_DOOR[name]), name)
    raise AttributeError(f"module 'triage' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_FRONT_DOOR])
