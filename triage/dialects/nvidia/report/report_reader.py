"""A report as the table that its raw page as CSV would give: same names, same units, same choice between namesakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Floats, Indices, Names, distinct
from triage.capture.capture import Column, Quality, Table
from triage.capture.location import Locate, Location
from triage.capture.source import Source
from triage.dialects.nvidia import ncu_wide
from triage.dialects.nvidia.report import container, launches, opinions
from triage.dialects.nvidia.report.container import Contents
from triage.dialects.nvidia.report.launches import Launches
from triage.dialects.nvidia.report.wire import Damaged

_TEXTS = ("Kernel Name", "Block Size", "Grid Size")  # cells of a record before the metrics
_VERSIONS = (
    ("Nsight Compute Target", "Nsight Compute"),
    ("CUDA Version", "CUDA"),
    ("Display Driver Version", "driver"),
)


class Cells(Sequence[str]):
    """The cells of one launch, put into words when one is asked for: a report has a thousand and few are quoted."""

    def __init__(self, texts: tuple[str, ...], values: dict[int, Floats], row: int, size: int) -> None:
        self._texts, self._values, self._row, self._size = texts, values, row, size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(self._size))]
        if not -self._size <= at < self._size:
            raise IndexError(at)
        at %= self._size
        if at < len(self._texts):
            return self._texts[at]
        column = self._values.get(at)
        figure = float("nan") if column is None else float(column[self._row])
        if figure != figure:
            return ""
        return str(int(figure)) if figure.is_integer() and abs(figure) < 1e17 else repr(figure)


class _Places(Struct):
    """Locates findings in a report; the modules that read machine code are loaded for the first one."""

    contents: Contents
    _spots: Locate | None = None

    def __call__(self, row: int, metrics: Sequence[str]) -> Sequence[Location]:
        """Where the first of the metrics that is counted per instruction comes from, most first."""
        if self._spots is None:
            from triage.dialects.nvidia.report.hot_spots import Spots

            self._spots = Spots(self.contents)
        return self._spots(row, metrics)


def read(source: Source, dialect: str) -> Table:
    """Every launch in file order; raises BadCapture for a damaged report, NotTriageable for one without launches."""
    contents = container.load(source)
    heads = launches.headers(contents)
    try:
        found = launches.read(contents, heads)
        stated = [o for part in found.rules for o in opinions.read(contents, *part)]
    except Damaged as e:
        raise container.damaged(source, e) from e
    quality = _cut(contents)
    used: dict[int, Floats] = {}  # figures as they stand in the report, by cell
    columns, tried = ncu_wide.choose(
        ncu_wide.candidates(heads), lambda c, metric: _column(c, metric, heads, found, used, quality)
    )
    piece = ncu_wide.Piece(
        names=_names(found.kernels),
        lines=np.arange(1, len(contents) + 1),
        texts=_texts(contents, found),
        columns=columns,
        unmapped=[name for c, (name, _) in enumerate(heads) if c not in tried and name not in launches.ABOUT_DEVICE],
    )
    table = ncu_wide.assemble(source, dialect, [piece], [*_TEXTS, *(n for n, _ in heads)], "us", quality)
    table.opinions = stated
    table.locate = _Places(contents)
    table.notes += _notes(contents)
    table.versions = {label: _short(contents.versions[key]) for key, label in _VERSIONS if contents.versions.get(key)}
    source.record = "result"
    source.find = lambda wanted: _records(wanted, found, used, len(_TEXTS) + len(heads))
    return table


def _column(
    c: int, metric: str, heads: list[tuple[str, str]], found: Launches, used: dict[int, Floats], quality: list[Quality]
) -> Column | None:
    values = found.values[heads[c][0]]
    values = np.where(np.isfinite(values), values, np.nan)
    column = ncu_wide.scaled(values, metric, heads[c], len(_TEXTS) + c + 1, quality)
    if column is not None:
        used[len(_TEXTS) + c] = values
    return column


def _names(kernels: Names) -> Names:
    blank = np.flatnonzero(kernels == "")
    if len(blank):
        kernels = kernels.copy()
        kernels[blank] = [f"launch {i}" for i in blank]
    return kernels


def _texts(contents: Contents, found: Launches) -> dict[str, Names]:
    """What the raw page says in columns that are no counters, by role."""
    devices = {int(n): launches.device_name(contents, int(n)) for n in distinct(found.devices)}
    return {
        "block": found.blocks,
        "grid": found.grids,
        "cc": launches.generation(found.values),
        "device": np.array([devices[n] for n in found.devices.tolist()], dtype=object),
    }


def _cut(contents: Contents) -> list[Quality]:
    if contents.cut < 0:
        return []
    read_ = f"{len(contents)} launch{'es' if len(contents) != 1 else ''}"
    return [Quality("cut-report", f"the report is cut at byte {contents.cut:,}: {read_} before it were read")]


def _notes(contents: Contents) -> list[str]:
    """Which tool and driver made the report, and what its kernels lack."""
    parts = [f"{label} {_short(contents.versions[key])}" for key, label in _VERSIONS if contents.versions.get(key)]
    notes = [f"recorded by {', '.join(parts)}"] if parts else []
    counted = any(n.startswith("smsp__pcsamp_") for n in contents.names)
    if counted and contents.data.find(b".debug_line") < 0:
        notes.append("the kernels carry no line information: compile with -lineinfo, and findings name source lines")
    return notes


def _short(version: str) -> str:
    """`2025.2.1.0 (build 35987062) (public-release)` -> `2025.2.1.0`."""
    return "".join(ch for ch in (version.split() or [""])[0][:40] if ch.isprintable())


def _records(wanted: Sequence[int], found: Launches, used: dict[int, Floats], size: int) -> dict[int, Sequence[str]]:
    """Cells of the launches of these 1-based numbers."""
    rows: Indices = np.array([n - 1 for n in wanted if 0 < n <= len(found.kernels)], dtype=np.int64)
    return {
        row + 1: Cells((found.kernels[row], found.blocks[row], found.grids[row]), used, row, size)
        for row in rows.tolist()
    }
