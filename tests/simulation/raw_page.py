"""Writes a run as the wide CSV of `ncu --page raw --csv`: names, units, one row."""

from pathlib import Path

from tests.helpers import ncu_pages

from .counters import counters
from .machine import Run


def number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) or abs(value) >= 1e6 else f"{value:.6f}"


def write(path: Path, run: Run) -> Path:
    k = run.work
    shown = {name: (unit, number(value)) for name, (value, unit) in counters(run).items()}
    first = ncu_pages.launch(k.name, k.block, k.grid, run.chip.cc)
    return ncu_pages.raw(path, first, {"device__attribute_display_name": ("", run.chip.name), **shown})
