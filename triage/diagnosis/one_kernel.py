"""The kernel that a profiler of single kernels is asked for, where asking for all would take hours or never end."""

from __future__ import annotations

import re
import shlex

import numpy as np

from triage.capture.capture import Capture
from triage.diagnosis.frame_facts import without_units
from triage.ground.kernel_names import is_collective, is_cut, kernel

PROFILER = "ncu"  # the one that replays each kernel, and waits for ever in a replayed collective


def _filter(name: str) -> str:
    """The function as ncu matches it: whole, or its beginning where the profiler cut the name, or adds to it (`f[abi:v1]`)."""
    function = kernel(name).partition("<")[0]
    whole = not is_cut(name) or bool(re.search(r"[<(]", name))
    begin = re.match(r"\w{3,}", function)
    return function if begin is None or (whole and "[" not in function) else f"regex:^{begin[0]}"


def one_kernel(capture: Capture) -> str:
    """Its options for one launch of the longest kernel that is no collective, of a program with collectives or a summary; else ""."""
    names = capture.names.astype(str)
    talking = sorted(n for n in set(names.tolist()) if is_collective(n))
    fit = (capture.kinds == "compute") & ~np.isin(names, talking)
    if not fit.any() or not (talking or without_units(capture)):
        return ""
    row = int(np.argmax(np.where(fit, np.nan_to_num(capture.self_ns), -1.0)))
    function = shlex.quote(_filter(names[row]))
    return f"--kernel-name {function} --launch-skip {int(max(capture.calls[row], 1)) // 2} --launch-count 1 "
