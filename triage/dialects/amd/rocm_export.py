"""What any AMD export is before it is a table of metrics."""

from __future__ import annotations

from msgspec import Struct, field

from triage.capture.capture import Column
from triage.capture.source import Source


class Export(Struct):
    """Columns of one export before they are metrics: by role, by counter name, and the GPU's own sizes."""

    source: Source
    roles: dict[str, Column] = field(default_factory=dict)
    counters: dict[str, Column] = field(default_factory=dict)
    specs: dict[str, Column] = field(default_factory=dict)
    arch: str = ""
