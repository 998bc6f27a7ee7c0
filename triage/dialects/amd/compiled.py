"""What Radeon GPU Analyzer says of a kernel, joined to its launches: `gfx1100_reduce_stats.csv` beside the capture.

The analyzer names its tables after GPU and kernel, so that only exact names are looked up. What the profiler printed of a launch
stands; the compiler adds what no profiler prints (spilled registers) or what a trace left out (registers, LDS, scratch).
"""

from __future__ import annotations

import re

import numpy as np

from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.dialects import Options
from triage.dialects.amd import rga
from triage.ground import kernel_names
from triage.ground.errors import TriageError

_BARE = re.compile(r"[A-Za-z_]\w*")  # of `reduce<float>`: `reduce`
MAX_KERNELS = 64  # kernels that are looked up: a folder is asked once for each
MAX_NAME = 200  # characters of a kernel's name that a file's name can hold
_FOLDER = ("{arch}_{kernel}_stats.csv", "{kernel}_stats.csv")


def join(table: Table, source: Source, arch: str) -> None:
    """Fill the launch's columns of kernels that a table of the analyzer is beside; nothing without one."""
    if not arch or source.path == "-":
        return
    found: dict[str, Table] = {}
    for name in list(dict.fromkeys(str(n) for n in table.names))[:MAX_KERNELS]:
        if (beside := _beside(source, arch, name)) is not None:
            found[name] = beside
    if not found:
        return
    for metric in dict.fromkeys(m for t in found.values() for m in t.columns):
        given = table.columns.get(metric)
        if given is not None and np.isfinite(given.values).all():
            continue
        values = np.array([_value(found.get(str(n)), metric) for n in table.names])
        if given is not None:
            values = np.where(np.isfinite(given.values), given.values, values)
        header = next(t.columns[metric].header for t in found.values() if metric in t.columns)
        formula = f"{header} of {', '.join(sorted({t.files[0].name for t in found.values()}))}"
        table.columns[metric] = Column.computed(values, formula)
    table.files += [t.files[0] for t in found.values()]
    names = ", ".join(sorted(found))
    table.notes.append(f"the compiler's statistics were joined for {len(found)} kernels ({names})")


def _beside(source: Source, arch: str, name: str) -> Table | None:
    m = _BARE.match(kernel_names.kernel(name))
    if m is None or len(m[0]) > MAX_NAME:
        return None
    for pattern in _FOLDER:
        file = source.sibling(pattern.format(arch=arch, kernel=m[0]))
        try:
            if file is not None and rga.recognise(file) is not None:
                table = rga.read(file, Options())
                return table if len(table) == 1 and table.arch == arch else None
        except TriageError:  # a table that cannot be read is no reason to refuse the capture
            return None
    return None


def _value(table: Table | None, metric: str) -> float:
    return float(table.columns[metric].values[0]) if table is not None and metric in table.columns else np.nan
