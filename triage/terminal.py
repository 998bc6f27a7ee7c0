"""The terminal report: fits 80 columns, no colour when piped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from triage.diagnosis import Diagnosis


def terminal(d: Diagnosis, write: Any, *, full: bool = False, width: int = 80, color: bool = False) -> None:
    """Print the ranked findings."""
    for f in d.findings:
        write(f"{f.rank:3} {f.rule.id} {f.workload_name[:30]:30} {f.message}\n")
