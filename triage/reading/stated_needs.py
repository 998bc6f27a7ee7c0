"""Compulsory bytes that the user states of a kernel (`--needs NAME=537MB`): inputs and outputs, each moved once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from triage.capture.capture import Capture, Derived
from triage.ground.errors import TriageError
from triage.ground.kernel_names import kernel

METRIC = "work.needed_bytes"
_SIZE_RE = re.compile(r"(\d+(?:\.\d+)?) ?([kMGT]?)(i?)B?")


def parse_size(text: str, option: str) -> float:
    """`537MB`, `1.5GiB` -> bytes; plain letters are powers of 1000. Raises TriageError."""
    m = _SIZE_RE.fullmatch(text.strip())
    if m is None or not float(m[1]):
        raise TriageError(f"{option} {text!r}: expected bytes per launch such as 537MB or 1.5GiB")
    return float(m[1]) * (1024.0 if m[3] else 1000.0) ** " kMGT".index(m[2] or " ")


def enter(capture: Capture, needs: Sequence[tuple[str, float]]) -> None:
    """Add the stated bytes to the workloads that they name, times the calls of each; of two that fit the first holds.

    needs: (glob over names, whole or shortened, without regard to case; bytes per launch). Raises TriageError for one that names no workload.
    """
    if not needs:
        return
    names = [(str(n).lower(), kernel(str(n)).lower()) for n in capture.names]
    stated = np.full(len(names), np.nan)
    for glob, size in reversed(needs):
        want = glob.lower()
        fits = np.array([fnmatchcase(whole, want) or fnmatchcase(short, want) for whole, short in names], dtype=bool)
        if not fits.any():
            raise TriageError(
                f"--needs {glob}: no workload of that name in {capture.input.path}", "see: triage facts FILE"
            )
        stated[fits] = size
    capture.facts[METRIC] = stated * capture.calls
    capture.sources[METRIC] = Derived("stated with --needs, x calls", ())
