"""The command that profiles one launch of a kernel: what follows a timeline."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from hashlib import sha256

from triage.ground.collect_command import Command

MAX_FILE = 40  # characters of a file's name
MAX_PART = 100  # characters of a kernel's name that a filter for parts of names gets


def ncu(function: str, skip: int, sections: Sequence[str], app: str) -> str:
    """The Nsight Compute run of one launch, into a file of its own."""
    chosen = f"--kernel-name {shlex.quote(function)} --launch-skip {skip} --launch-count 1"
    return Command(f"ncu {chosen} {' '.join(f'--section {s}' for s in sections)} -o {_file(function)} {app}", "ncu")


def rocprof_compute(function: str, app: str) -> str:
    """The rocprof-compute run of all launches whose name holds the function's, or its beginning."""
    run = f"rocprof-compute profile --name {_file(function)} --kernel {shlex.quote(function[:MAX_PART])} -- {app}"
    return Command(run, "rocprof-compute")


def _file(function: str) -> str:
    """A name of a file or folder that no other function gets: names too long for one begin alike."""
    name = re.sub(r"\W+", "_", function).strip("_") or "kernel"
    if len(name) <= MAX_FILE:
        return name
    return f"{name[:MAX_FILE].strip('_')}_{sha256(function.encode()).hexdigest()[:4]}"
