"""Workflow commands of GitHub Actions: an annotation per to-do item, at its source line or at its cell of the capture."""

from __future__ import annotations

from triage.document.bundle import Bundle
from triage.document.summary import summarise
from triage.rendering import places
from triage.rendering.escape import clean
from triage.rendering.findings_csv import Write

KINDS = {"critical": "error", "high": "error", "medium": "warning", "low": "notice", "info": "notice"}


def github(b: Bundle, write: Write) -> None:
    """Write `::warning file=F,line=N,title=T::text` per item, the largest saving first; without items the headline.

    Escaped as GitHub's toolkit does (packages/core/src/command.ts), so that no name of a capture begins a command.
    """
    standing = list(places.standing(b))
    if not standing:
        write(f"::notice title=triage::{_data(summarise(b)['headline'])}\n")
    for note in b.frame["notes"]:
        write(f"::notice title=triage::{_data(note)}\n")
    for item, (first, *_) in standing:
        line = f",line={first.line}" if first.line else ""
        head = f"{KINDS[item['level']]} file={_property(first.file)}{line},title={_property(item['title'])}"
        write(f"::{head}::{_data(places.sentence(item))}\n")


def _data(text: str) -> str:
    return clean(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
