"""The words of a batch's index: what index.html and index.md show of every capture and recurring root cause."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote

from triage import __version__
from triage.rendering.phrases import time

if TYPE_CHECKING:
    from triage.products.batch.batch import Batch
    from triage.products.batch.result import Listed


def context(batch: Batch) -> dict[str, object]:
    """Everything the index templates name."""
    # of nothing recoverable at all every bar is empty
    most = max((c["recoverable_ns"] or 0 for c in batch.captures), default=0) or 1
    return {
        "batch": batch,
        "version": __version__,
        "causes": batch.causes,
        "errors": batch.errors,
        "captures": [_capture(c, most) for c in batch.captures],
        "total": sum(c["recoverable_ns"] or 0 for c in batch.captures),
        "spent": sum(c["duration_ns"] or 0 for c in batch.captures),
    }


def _capture(c: Listed, most: float) -> dict[str, object]:
    first = c["causes"][0] if c["causes"] else None
    span = f"{time(c['recoverable_ns'])} ({time(c['recoverable_low_ns'])} to {time(c['recoverable_bound_ns'])})"
    return {
        **c,
        "recoverable": span if c["recoverable_ns"] else "–",
        "first": f"{first['title']} ({time(first['saved_ns'])})" if first else "nothing found",
        "links": [{"text": PurePosixPath(r).name.partition(".")[2], "href": quote(r)} for r in c["reports"]],
        "width": round(100 * (c["recoverable_ns"] or 0) / most),
    }
