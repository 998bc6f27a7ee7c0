"""Work that the user states of a kernel: `--needs NAME=537MB` (inputs and outputs, each moved once) or `--needs NAME=137GFLOP`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np

from triage.capture.capture import Capture, Derived
from triage.ground.errors import TriageError
from triage.ground.kernel_names import kernel, plain

BYTES, FLOPS = "work.needed_bytes", "work.needed_flops"
_CALLS_RE = re.compile(r" ×[\d,]+$")
_AMOUNT_RE = re.compile(r"(\d+(?:\.\d+)?) ?([kMGT]?)(?:(i?)B?|(FLOPs?|flops?))")


class Need(NamedTuple):
    """What one launch of the workloads that a glob names must do. metric: BYTES or FLOPS."""

    glob: str
    amount: float
    metric: str = BYTES

    def __str__(self) -> str:
        return f"{self.glob}={self.amount:,.0f} {'B' if self.metric == BYTES else 'FLOP'}"


def need(glob: str, text: str, option: str) -> Need:
    """`537MB`, `1.5GiB` -> bytes, `137GFLOP` -> operations; plain letters are powers of 1000. Raises TriageError."""
    m = _AMOUNT_RE.fullmatch(text.strip())
    if m is None or not float(m[1]):
        raise TriageError(
            f"{option} {text!r}: expected bytes per launch such as 537MB or 1.5GiB, or operations such as 137GFLOP"
        )
    amount = float(m[1]) * (1024.0 if m[3] else 1000.0) ** " kMGT".index(m[2] or " ")
    return Need(glob, amount, FLOPS if m[4] else BYTES)


def enter(capture: Capture, needs: Sequence[Need]) -> None:
    """Add the stated work to the workloads that are named, times the calls of each; of two that fit the first holds.

    A glob is over names, whole or as reports print them, without regard to case. Raises TriageError for one that names no workload.
    """
    if not needs:
        return
    names = [{form(str(n)).lower() for form in (str, plain, kernel)} for n in capture.names]
    for metric in dict.fromkeys(n.metric for n in needs):
        stated = np.full(len(names), np.nan)
        for glob, amount, _ in reversed([n for n in needs if n.metric == metric]):
            fits = np.array([_fits(glob.lower(), forms) for forms in names], dtype=bool)
            if not fits.any():
                raise TriageError(
                    f"--needs {glob}: no workload of that name in {capture.input.path}", "see: triage facts FILE"
                )
            stated[fits] = amount
        capture.facts[metric] = stated * capture.calls
        capture.sources[metric] = Derived("stated with --needs, x calls", ())


def _fits(glob: str, names: set[str]) -> bool:
    """True if a glob, or a name with its middle left out and its calls behind it as tables print them, is one of the names."""
    want = _CALLS_RE.sub("", glob).replace("…", "*")
    return glob in names or any(fnmatchcase(name, want) for name in names)
