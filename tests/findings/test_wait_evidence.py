"""What followed waits are evidence for: the meanings that the reader gives, causes that exist, and one line of each."""

from typing import Any, cast

import pytest

from triage.dialects.nvidia.sass import producers
from triage.document.location_entries import LocationEntry
from triage.findings import wait_evidence
from triage.rulebook import packs


def place(*waits: tuple[float, str, str, str]) -> LocationEntry:
    """A place with (share, kind, mnemonic, meaning) of what it waits for."""
    keys = ("share", "kind", "mnemonic", "meaning")
    listed = [{**dict(zip(keys, w, strict=True)), "argument": None} for w in waits]
    at: dict[str, Any] = {"file": "a/k.cu", "line": 7, "function": "k", "offset": 16, "waits_for": listed}
    return cast(LocationEntry, at)


SPILLS = "register spills or an indexed local array"


def test_every_meaning_has_its_evidence_and_every_cause_exists() -> None:
    import inspect

    table = wait_evidence._table()
    source = inspect.getsource(producers.meaning)
    assert all(f'"{meaning}"' in source for meaning in table)
    known = packs.load().causes
    assert all(cause in known for entry in table.values() for cause in entry["causes"])


def test_several_producers_of_one_meaning_count_together() -> None:
    found = wait_evidence.evidence(
        "memory-latency",
        [
            place(
                (0.4, "conversion", "F2F", "no memory latency"),
                (0.3, "double-precision operation", "DADD", "no memory latency"),
            )
        ],
    )
    assert found is not None
    assert found.because.startswith(
        "long-scoreboard waits at k.cu:7: 70 % for the conversion (F2F) and double-precision operation (DADD)"
    )
    assert "70 % of the waiting at k.cu:7" in found.advice
    assert found.cite["url"].startswith("https://")


@pytest.mark.parametrize(
    ("cause", "places"),
    [
        ("memory-latency", []),
        ("memory-latency", [place()]),
        ("memory-latency", [place((0.5, "local load", "LDL", SPILLS))]),  # half of it is not most of it
        ("memory-latency", [place((0.9, "global load", "LDG", ""))]),
        ("tail-effect", [place((0.9, "local load", "LDL", SPILLS))]),
    ],
)
def test_no_evidence(cause: str, places: list[LocationEntry]) -> None:
    assert wait_evidence.evidence(cause, places) is None
