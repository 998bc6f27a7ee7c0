"""What makes a workload, and a finding about it, the same one in another capture: names and shapes, no measured number."""

from __future__ import annotations

import hashlib

import numpy as np

from triage.capture.capture import SEP, Capture
from triage.rulebook.rule import Rule


def identity(c: Capture, workload: int) -> str:
    """Path, name and launch shape of a workload; `frame` for -1."""
    if workload < 0:
        return "frame"
    shape = [
        f"{m}={c.facts[m][workload]:g}"
        # one kernel in two shapes is two workloads; registers are left out, which every compiler run may change
        for m in ("launch.grid_size", "launch.block_size")
        if m in c.facts and not np.isnan(c.facts[m][workload])
    ]
    return SEP.join([str(c.paths[workload]), str(c.names[workload]), *shape])


def fingerprint(rule: Rule, who: str) -> str:
    """Stable over re-runs: rule id and workload identity only."""
    # a name may hold lone surrogates, from bytes that were no text
    return hashlib.sha256(f"{rule.id}\0{who}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
