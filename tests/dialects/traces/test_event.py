from typing import Any

import msgspec
import pytest

from triage.dialects.traces.event import Details, Event, details


def _event(text: bytes) -> Event:
    return msgspec.json.decode(text, type=Event)


def test_details_are_those_of_the_text() -> None:
    event = _event(b'{"ph": "X", "name": "k", "args": {"External id": 7, "grid": [1, 2, 3], "unknown": {"a": []}}}')
    [found] = details([event], Details)
    assert (found.external, found.grid, found.block) == (7, [1, 2, 3], None)
    assert event.row()["args"] == {"External id": 7, "grid": [1, 2, 3], "unknown": {"a": []}}
    assert details([Event.of(event.row()), event], Details) == [found, found]


@pytest.mark.parametrize("args", [b"null", b"7", b'"text"', b"[1]", b"{}"])
def test_details_that_are_no_object_are_empty(args: bytes) -> None:
    assert details([_event(b'{"args": ' + args + b"}")], Details) == [Details()]


@pytest.mark.parametrize("args", [{"bytes": float("nan")}, {"bytes": 7}, None, 3])
def test_an_event_of_a_row_keeps_what_the_row_has(args: Any) -> None:
    event = Event.of({"ph": "X", "ts": 1, "args": args, "other": 2})
    assert (event.ts, event.dur, event.row()["args"]) == (1, 0.0, args)


def test_broken_characters_cost_no_row() -> None:
    event = _event(b'{"args": {"correlation": 4, "x": "\xff"}}')
    assert details([event], Details)[0].correlation == 4
