"""Evidence from waits that were followed to their instruction: a line of reasons, of advice, and its source."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from triage.document.entries import CiteEntry
from triage.document.location_entries import LocationEntry, ProducerEntry
from triage.ground.phrasing import fill, percent

_MAIN = 0.5  # NVIDIA, Compute Triage Guide: what takes more than half of a line's samples is what the line waits for


class WaitEvidence(NamedTuple):
    """because: why it is so. advice: begins with a verb. cite: its source."""

    because: str
    advice: str
    cite: CiteEntry


@cache
def _table() -> dict[str, dict[str, str | list[str]]]:
    return tomllib.loads((Path(__file__).parent / "wait_evidence.toml").read_text("utf-8"))


def evidence(cause: str, places: Sequence[LocationEntry]) -> WaitEvidence | None:
    """What the waiting at the first place mostly shows, where it is evidence for a cause; None where it shows nothing."""
    if not places:
        return None
    shown: defaultdict[str, list[ProducerEntry]] = defaultdict(list)
    for p in places[0]["waits_for"]:
        shown[p["meaning"] or ""].append(p)
    for meaning, some in shown.items():
        share = sum(p["share"] or 0 for p in some)
        known = _table().get(meaning, {})
        if share <= _MAIN or cause not in known.get("causes", ()):
            continue
        words = {"share": percent(share), "what": _what(some), "place": _place(places[0])}
        texts = {k: fill(v, words) for k, v in known.items() if isinstance(v, str)}
        return WaitEvidence(texts["because"], texts["advice"], {"text": texts["cite"], "url": texts["url"]})
    return None


def _what(some: Sequence[ProducerEntry]) -> str:
    """`global load (LDG) of argument 2`, `conversion (F2F) and double-precision operation (DADD)`."""
    names = [
        f"{p['kind']} ({p['mnemonic']})" + (f" of argument {p['argument']}" if p["argument"] else "") for p in some
    ]
    return " and ".join(dict.fromkeys(names))


def _place(at: LocationEntry) -> str:
    """`kernel.cu:41`, or function and offset."""
    if at["line"]:
        return f"{(at['file'] or '').replace(chr(92), '/').rpartition('/')[2]}:{at['line']}"
    return at["function"][:60] + (f"+{at['offset']:#x}" if at["offset"] is not None else "")
