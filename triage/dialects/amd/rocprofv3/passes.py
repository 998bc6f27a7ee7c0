"""Counter tables of one folder as one table: passes of a program that ran once for each group of counters.

rocprofv3 writes pass N of an input file below `pmc_N` (`pass_N` for jobs of YAML and JSON), a file per process in each. Dispatches of
two passes belong together by kernel and occurrence; processes that dispatched other kernels are left out, and named.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from triage.capture.arrays import Indices
from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.dialects.amd import agents, long
from triage.dialects.amd.rocm_export import Export
from triage.dialects.tables import wide_table
from triage.ground.errors import BadCapture, CaptureError
from triage.ground.phrasing import plural

PASS_RE = re.compile(r"(?:pass|pmc)_(\d+)\Z")


Reader = Callable[[Source], tuple[Table, Export]]


def load(source: Source, ending: str, dialect: str, decimal: str) -> tuple[Table, Export, Source]:
    """(the dispatches with the counters of all passes, their export, the file of the first pass), of rocprofv3's tables.

    Raises BadCapture where the passes ran different kernels, or several programs lie in one folder.
    """

    def read(file: Source) -> tuple[Table, Export]:
        line, headers = wide_table.header(file)
        return long.load(file, dialect, line, headers, decimal)

    files = agents.tables_in_folder(source, ending) if source.is_folder else [source]
    return joined(source, files, read)


def joined(source: Source, files: Sequence[Source], read: Reader) -> tuple[Table, Export, Source]:
    """As `load`, of the files of a folder, each read by the same reader."""
    if len(files) == 1:
        table, export = read(files[0])
        return table, export, files[0]
    runs: list[tuple[Source, Table, Export]] = []
    for file in sorted(files, key=_number):
        try:
            runs.append((file, *read(file)))
        except CaptureError as e:
            if "without rows" not in str(e):  # a helper process dispatched nothing
                raise
    alike = _alike(source, runs)
    (first, table, export), *others = alike
    for file, other, more in others:
        _join(table, export, file, other, more)
    if left := [r for r in runs if not any(r[1] is a[1] for a in alike)]:
        names = ", ".join(Path(file.path).name for file, *_ in left[:3])
        table.remark("other-processes", f"{plural(len(left), 'file')} of other processes not shown: {names}")
    return table, export, first


def _number(file: Source) -> tuple[int, str]:
    numbers = (int(m[1]) for part in Path(file.path).parts[::-1] if (m := PASS_RE.match(part)))
    return next(numbers, 0), file.path


def _alike(source: Source, runs: list[tuple[Source, Table, Export]]) -> list[tuple[Source, Table, Export]]:
    """The runs of the program that took most time: one for each pass, the same kernels in all."""
    groups: dict[frozenset[tuple[str, int]], list[tuple[Source, Table, Export]]] = defaultdict(list)
    for run in runs:
        groups[frozenset(Counter(map(str, run[1].names)).items())].append(run)
    numbers = {_number(file)[0] for file, *_ in runs}
    if not groups:
        raise BadCapture(f"{source.path}: header without rows", "nothing was recorded; capture again")
    best = max(groups.values(), key=_time)
    shown = ", ".join(file.path for file, *_ in runs[:3])
    if numbers != {0}:
        if {_number(file)[0] for file, *_ in best} != numbers:
            hint = "name one of the files alone; passes are joined only if all runs launch the same kernels"
            raise BadCapture(f"{source.path}: passes dispatched other kernels ({shown})", hint)
    elif len(best) == 1:
        raise BadCapture(
            f"{source.path}: {len(runs)} runs or passes in this folder ({shown})", "name one of these files"
        )
    kept: list[tuple[Source, Table, Export]] = []
    known: set[str] = set()
    for run in best:  # a rank of the same program repeats the counters; another pass adds some
        new = set(run[2].counters) | set(run[1].unmapped)
        if not kept or new - known:
            kept.append(run)
            known |= new
    return kept


def _time(group: list[tuple[Source, Table, Export]]) -> tuple[float, int]:
    column = group[0][1].columns.get("gpu.time")
    return (float(np.nansum(column.values)) if column is not None else 0.0), len(group[0][1])


def _join(table: Table, export: Export, file: Source, other: Table, more: Export) -> None:
    """Counters of another pass on the table's dispatches, by kernel and occurrence."""
    order = _order(table, other)
    table.files.append(file)
    for name, column in more.counters.items():
        if name not in export.counters:
            lines = column.lines if column.lines is None else column.lines[order]
            export.counters[name] = Column(
                column.values[order], column.header, column.column, column.unit, column.factor, len(table.files) - 1, lines
            )  # fmt: skip
    table.unmapped += [u for u in other.unmapped if u not in table.unmapped]


def _order(table: Table, other: Table) -> Indices:
    """For each dispatch of a table the row of the other that is the same occurrence of its kernel."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row in range(len(other) - 1, -1, -1):
        rows[str(other.names[row])].append(row)
    return np.array([rows[str(name)].pop() for name in table.names], dtype=np.int64)
