"""The GPU where an export has no field for it: people name files and folders after it, or write it above their tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from triage import devices
from triage.capture.capture import Table
from triage.capture.source import Source
from triage.devices import Device, Vendor


def by_path(table: Table, source: Source, vendor: str, arch: str = "") -> Device | None:
    """The one product in the file's name, else in its folder's (`workloads/app/MI300X`); enters and notes it.

    arch: of the GPU, where the export tells that much; a product of another generation is not meant then.
    """
    path = Path(source.path)
    for name in () if table.device else (path.name, path.parent.name):
        found = devices.named(name, vendor)
        if found is None or (arch and found.arch != arch):
            continue
        table.device = found.name
        table.remark("gpu-from-name", f"GPU by the name {name} alone: {found.name}; --device overrules")
        return found
    return None


def by_comment(table: Table, lines: Sequence[str]) -> None:
    """The one product that the comments above a table name (`# Tesla T4, driver 550`); enters and remarks it."""
    for line in () if table.device else lines:
        found = [d for vendor in get_args(Vendor) if (d := devices.named(line, vendor))]
        if len(found) == 1:
            table.device = found[0].name
            table.notes.append(f"the comment {line.strip()[:60]!r} tells the GPU: {table.device} (--device overrules)")
            return


def remark_unnamed(table: Table, example: str) -> None:
    """A remark where bytes were counted and no GPU is named: its peaks would tell how near the memory is to its limit."""
    if not table.device and any(m.startswith(("vram.", "gti.", "l3.bytes")) for m in table.columns):
        text = f"GPU not named: share of the memory's peak unknown; name it, as in --device {example!r}"
        table.remark("gpu-not-named", text)
