"""Workflow commands of GitHub Actions: an annotation per to-do item, at its source line or at its cell of the capture."""

from __future__ import annotations

from triage.document.bundle import Bundle
from triage.rendering import places
from triage.rendering.escape import clean
from triage.rendering.findings_csv import Write

KINDS = {"critical": "error", "high": "error", "medium": "warning", "low": "notice", "info": "notice"}


def github(b: Bundle, write: Write) -> None:
    """Write `::warning file=F,line=N,title=T::text` per item, the largest saving first.

    Escaped as GitHub's toolkit does (packages/core/src/command.ts), so that no name of a capture begins a command.
    """
    for item, (first, *_) in places.standing(b):
        line = f",line={first.line}" if first.line else ""
        head = f"{KINDS[item['level']]} file={_property(first.file)}{line},title={_property(item['title'])}"
        write(f"::{head}::{_data(places.sentence(item))}\n")


def _data(text: str) -> str:
    return clean(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
