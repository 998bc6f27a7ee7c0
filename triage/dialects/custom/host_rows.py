"""Rows of a custom table that are the host's: slices of a trace beside those of the GPU, known by their category."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from triage.capture.arrays import Names
from triage.dialects.tables import wide_table
from triage.dialects.tables.wide_table import Wide
from triage.ground.errors import NotTriageable
from triage.ground.phrasing import plural

_HOST_RE = re.compile(
    r"(?:^|[_ ])(?:host|cpu|api|ompt|runtime|driver|python|annotation|nvtx|roctx|ac2g)(?:[_ ]|$)", re.IGNORECASE
)
_GPU_RE = re.compile(r"kernel|gpu|dispatch|device|mem(?:cpy|set|ory)|copy", re.IGNORECASE)


def column(headers: Sequence[str]) -> int:
    """0-based column of categories, -1 for none."""
    return wide_table.find(headers, "category", "cat")


def set_aside(where: str, wide: Wide, categories: Names) -> tuple[Wide, str]:
    """A table without the host's rows, and a note on them, "" for none. Raises NotTriageable where no other row is left."""
    texts = {str(c): c for c in categories}
    host = {c for c in texts if _HOST_RE.search(c)}
    if not host:
        return wide, ""
    gpu = {c for c in texts if c not in host and _GPU_RE.search(c)} or {c for c in texts if c.strip() and c not in host}
    if not gpu:
        some = ", ".join(sorted(host)[:3])
        raise NotTriageable(f"{where}: rows of the host only ({some}), no GPU work", "export the slices of the GPU too")
    keep = np.isin(categories.astype(str), sorted(gpu))
    note = f"{plural(int((~keep).sum()), 'row')} of the host ({', '.join(sorted(host)[:3])}) left out: no GPU work"
    return wide.only(np.flatnonzero(keep)), note
