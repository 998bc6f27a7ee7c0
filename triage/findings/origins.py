"""Origins of values: cells read back from the files on demand, formulas over them.

The text of a million cells is not kept. The few cells that a report quotes are fetched by line in one pass over the file,
and compared with what was read the first time, so that a file replaced meanwhile raises an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from triage import schema
from triage.capture.arrays import Indices
from triage.capture.capture import Capture, Column, Derived
from triage.derive import View, derivations
from triage.findings.evidence import at
from triage.findings.finding_types import Origin
from triage.ground.errors import BadCapture
from triage.ground.phrasing import over_rows

QUOTED = 3  # cells named of a value averaged over many


class Origins:
    """Origins of one capture's values. `want` everything first, then ask `origin`: files are read once."""

    def __init__(self, capture: Capture, view: View) -> None:
        self.capture, self.view = capture, view
        self._lines: dict[int, set[int]] = {}
        self._records: dict[int, dict[int, Sequence[str]]] = {}

    def want(self, metrics: Iterable[str], workloads: Iterable[int]) -> None:
        """Announce that these metrics of these workloads will be asked for."""
        # down to the exported columns: a formula is quoted with the cells under it
        todo = {leaf for m in metrics for leaf in self._leaves(m)}
        columns = [c for m in todo if isinstance(c := self._column(m), Column) and c.column]
        for w in workloads:
            for row in self._cells(w):
                for c in columns:
                    self._lines.setdefault(c.file, set()).add(self._line(c, row))

    def origin(self, metric: str, workload: int, position: int) -> Origin:
        """Origin of a metric's value at one workload (its index in the capture, and its position in the view)."""
        return self._origin(metric, workload, position, 0)

    def _origin(self, metric: str, workload: int, position: int, depth: int) -> Origin:
        value, unit = at(self.view[metric], position), schema.get(metric).unit if schema.known(metric) else "count"
        column = self._column(metric)
        exported = self.capture.facts.get(metric)
        # exported for some workloads and computed for others: each has its own origin
        have = exported is not None and not np.isnan(exported[workload])
        if isinstance(column, Column) and (have or metric in self.capture.table.raw):
            return self._from_column(metric, column, workload, value, unit, depth)
        if isinstance(column, Derived):
            return Origin(metric, value, unit, formula=column.formula, devices=self._devices.get(metric, []))
        d = derivations().get(metric)
        if d is None or depth > 6:
            device = self.capture.device
            text = f"device table: {device.name}" if metric.startswith("device.") and device else "not exported"
            return Origin(metric, value, unit, formula=text)
        # a missing optional input had no part in the value
        names = [m for m in (*d.inputs, *d.optional) if not np.isnan(at(self.view[m], position))]
        found = [self._origin(m, workload, position, depth + 1) for m in names[:16]]
        inputs = tuple(sorted(found, key=lambda o: o.value != value))  # of a maximum the one it is comes first
        return Origin(metric, value, unit, formula=d.formula, inputs=inputs)

    @cached_property
    def _devices(self) -> dict[str, list[str]]:
        if self.capture.timeline is None:
            return {}
        from triage.diagnosis.timeline_facts import devices_behind  # only traces need it

        return devices_behind(self.capture.timeline)

    def _from_column(self, metric: str, column: Column, workload: int, value: float, unit: str, depth: int) -> Origin:
        rows = np.asarray(self.capture.rows_of(workload), dtype=np.int64)
        # repeats in which the cell was empty are not part of the mean, nor of its count
        rows = rows[~np.isnan(column.values[rows])]
        if len(rows) > 1:
            how = over_rows(schema.known(metric) and schema.get(metric).additive, len(rows))
            cells = tuple(self._cell(metric, column, r, unit) for r in self._quoted(rows))
            return Origin(metric, value, unit, formula=how, inputs=cells)
        if not len(rows):
            return Origin(metric, value, unit, formula="not exported")
        return self._cell(metric, column, int(rows[0]), unit, depth)

    def _cell(self, metric: str, column: Column, row: int, unit: str, depth: int = 0) -> Origin:
        value = float(column.values[row])
        if column.formula or not column.column:
            raw = self.capture.table.raw
            inputs = []
            for name in column.inputs if depth < 6 else ():
                source = raw.get(name) or self.capture.table.columns.get(name)
                if source is not None and source is not column:
                    inputs.append(
                        self._cell(
                            name, source, row, schema.get(name).unit if schema.known(name) else "count", depth + 1
                        )
                    )
            return Origin(
                metric, value, unit, formula=column.formula or f"as read: {column.header}", inputs=tuple(inputs)
            )
        file = self.capture.table.files[column.file]
        line = self._line(column, row)
        record, line = self._record(column.file, line)
        # rows may be shorter than the header: empty cells at the end may be missing
        cell = record[column.column - 1].strip() if column.column <= len(record) else ""
        return Origin(metric, value, unit, file.path, line, column.header, cell, record=file.record)

    def _quoted(self, rows: Indices) -> list[int]:
        """The rows worth naming: the longest ones."""
        time = self.capture.table.columns.get("gpu.time")
        if time is None or len(rows) <= QUOTED:
            return [int(r) for r in rows[:QUOTED]]
        # they weigh most in the mean; named in the order of the file
        order = np.argsort(-np.nan_to_num(time.values[rows]), kind="stable")[:QUOTED]
        return sorted(int(r) for r in rows[order])

    def _cells(self, workload: int) -> list[int]:
        return self._quoted(np.asarray(self.capture.rows_of(workload), dtype=np.int64))

    def _line(self, column: Column, row: int) -> int:
        return int(column.lines[row]) if column.lines is not None else self.capture.table.line(row)

    def _record(self, file: int, line: int) -> tuple[Sequence[str], int]:
        if file not in self._records:
            self._records[file] = self.capture.table.files[file].records(self._lines.get(file, set()))
        found = self._records[file]
        if line not in found:
            # not announced by `want`: fetched by itself, in a pass of its own
            found.update(self.capture.table.files[file].records([line]))
        if line not in found:
            raise BadCapture(f"{self.capture.table.files[file].path}:{line}: cut during reading", "run again")
        return found[line], line

    def _leaves(self, metric: str, depth: int = 0) -> set[str]:
        column = self._column(metric)
        if isinstance(column, Column):
            out = {metric}
            for name in column.inputs:
                out |= self._leaves(name, depth + 1) if depth < 6 else set()
            return out | (self._inputs(metric, depth) if metric in derivations() else set())
        return self._inputs(metric, depth)

    def _inputs(self, metric: str, depth: int) -> set[str]:
        d = derivations().get(metric)
        if d is None or depth > 6:
            return set()
        return {leaf for m in (*d.inputs, *d.optional) for leaf in self._leaves(m, depth + 1)}

    def _column(self, metric: str) -> Any:
        return self.capture.sources.get(metric) or self.capture.table.raw.get(metric)
