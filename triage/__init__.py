"""GPU performance triage: profiler exports in, a ranked and evidenced list of what to fix out.

    >>> import triage
    >>> diagnosis = triage.diagnose("frame.csv")
    >>> diagnosis.todo
    >>> diagnosis.save("report.html")

Importing this package imports neither pandas nor an engine; the first read does.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "1.0.0"  # the one place: pyproject.toml reads it from here

_FRONT_DOOR = {
    "read": "triage.api",
    "compare": "triage.products.compare.compared",
    "diagnose": "triage.api",
    "explain": "triage.api",
    "occupancy": "triage.occupancy",
    "Capture": "triage.capture.capture",
    "Compared": "triage.products.compare.compared",
    "Diagnosis": "triage.api",
    "Finding": "triage.findings.finding_types",
    "Rule": "triage.rulebook.rule",
    "TriageError": "triage.ground.errors",
}
__all__ = [
    "Capture",
    "Compared",
    "Diagnosis",
    "Finding",
    "Rule",
    "TriageError",
    "compare",
    "diagnose",
    "explain",
    "occupancy",
    "read",
]


def __getattr__(name: str) -> Any:
    if name in _FRONT_DOOR:
        return getattr(importlib.import_module(_FRONT_DOOR[name]), name)
    raise AttributeError(f"module 'triage' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
