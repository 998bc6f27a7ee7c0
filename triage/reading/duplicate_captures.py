"""The same capture given twice is one: its time and its findings must not count double."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from triage.capture.capture import Capture, Quality


def distinct(captures: Sequence[Capture]) -> list[Capture]:
    """The captures without those that have the rows of an earlier one, which gets a remark naming them.

    Rows are compared as they were read, so another name, packing, encoding or line end does not make them others.
    """
    out: list[Capture] = []
    seen: dict[str, Capture] = {}
    for capture in captures:
        first = seen.setdefault(digest(capture), capture) if capture.table.files else capture
        if first is capture:
            out.append(capture)
            continue
        message = f"{capture.input.path} holds the same rows: both count as one capture"
        first.quality.append(Quality("same-capture", message))
    return out


def digest(c: Capture) -> str:
    """Digest of the rows of a capture as they were read: two with one digest are the same capture."""
    h = hashlib.sha256(f"{c.input.dialect} {len(c)} {c.frame_ns!r}".encode())
    for names in (c.names, c.paths):
        h.update("\0".join(map(str, names)).encode("utf-8", "surrogatepass"))
    for metric in sorted(c.facts):
        h.update(metric.encode())
        h.update(np.ascontiguousarray(c.facts[metric], dtype=np.float64).tobytes())
    return h.hexdigest()
