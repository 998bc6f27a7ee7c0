"""Identity of workloads and findings across captures: from names and launch shapes, without measured numbers."""

from __future__ import annotations

import hashlib
import re

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


VERSION = 2  # of the fingerprints of items; changing their input files every ticket anew, so it is counted


def scope(c: Capture) -> str:
    """Stable name of what was captured.

    The first root marker ("Frame 4711" is "Frame #"), or the first kernel without its template arguments: neither moves
    with measured numbers. "" for an empty capture.
    """
    if not len(c):
        return ""
    top = str(c.paths[0]).partition(SEP)[0] if c.paths[0] else str(c.names[0])
    if c.paths.any():
        return re.sub(r"\d+", "#", top)
    return kernel_base(top)


def kernel_base(name: str) -> str:
    """A kernel's name without template arguments and parameters."""
    return re.split(r"[<(]", name, maxsplit=1)[0].removeprefix("void ").strip()


def of_item(cause: str, captured: str) -> str:
    """Fingerprint of an item of the to-do list: 16 hexadecimal digits of its cause and of what was captured (see `scope`)."""
    return hashlib.sha256(f"ticket/{VERSION}\0{cause}\0{captured}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def fingerprint(rule: Rule, who: str) -> str:
    """Stable over re-runs: rule id and workload identity only."""
    # a name may hold lone surrogates, from bytes that were no text
    return hashlib.sha256(f"{rule.id}\0{who}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
