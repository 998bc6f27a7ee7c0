"""The cells that every page of `ncu --csv` begins with, and the columns of its two pages."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

LAUNCH = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC")  # fmt: skip
DETAILS = (
    *LAUNCH,
    *("Section Name", "Metric Name", "Metric Unit", "Metric Value"),
    *("Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup"),
)
NAME = "kernel(float *, const float *, int)"


def launch(name: str, block: int, grid: int, cc: str) -> list[str]:
    """The cells under LAUNCH."""
    return ["0", "4711", "app", "127.0.0.1", name, "1", "7", f"({block}, 1, 1)", f"({grid}, 1, 1)", "0", cc]


def raw(path: Path, first: list[str], columns: Mapping[str, tuple[str, str]]) -> Path:
    """A raw page of one launch: names, units, one row. columns: name -> (unit, cell)."""
    cells = [[*LAUNCH, *columns], [""] * len(LAUNCH) + [unit for unit, _ in columns.values()]]
    return _write(path, [*cells, [*first, *(cell for _, cell in columns.values())]])


def details(path: Path, first: list[str], rows: Iterable[Iterable[str]]) -> Path:
    """A details page of one launch; rows: the cells from `Section Name` on."""
    return _write(path, [DETAILS, *([*first, *row] for row in rows)])


def _write(path: Path, rows: Iterable[Iterable[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return path
