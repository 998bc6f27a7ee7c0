"""The GPU where an export states none, as those of rocprof and VTune do: people and tools name files and folders after it."""

from __future__ import annotations

from pathlib import Path

from triage import devices
from triage.capture.capture import Table
from triage.capture.source import Source
from triage.devices import Device


def by_path(table: Table, source: Source, vendor: str, arch: str = "") -> Device | None:
    """The one product that the file's name tells, else its folder's (`workloads/app/MI300X`); enters and remarks it.

    arch: of the GPU, where the export tells that much; a product of another generation is not meant then.
    """
    path = Path(source.path)
    for name in () if table.device else (path.name, path.parent.name):
        found = devices.named(name, vendor)
        if found is None or (arch and found.arch != arch):
            continue
        table.device = found.name
        table.notes.append(
            f"the export does not state its GPU; the name {name} tells {found.name} (--device overrules)"
        )
        return found
    return None
