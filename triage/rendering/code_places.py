"""Source lines and instructions of a finding in words, and what the warps there wait for."""

from __future__ import annotations

from collections.abc import Sequence

from triage.document.location_entries import LocationEntry, ProducerEntry
from triage.ground.phrasing import percent, plural
from triage.rendering.escape import short
from triage.rendering.phrases import tail

MIN_EXCESS = 2  # accesses over those needed that are worth a word (NVIDIA, Compute Triage Guide)
_QUEUES = {
    "lg throttle": "the load/store queue is filled by",
    "mio throttle": "the MIO queue is filled by",
    "tex throttle": "the texture queue is filled by",
    "drain": "the end of the warp waits for",
}


def location(place: LocationEntry) -> str:
    """`kernel.cu:41 (global load): 62 % of stalls, 8.0x the accesses needed, top stall barrier`."""
    at = _at(place) if place["line"] or place["function"] else f"address{_offset(place)}"
    what = place["access"] or ("" if place["line"] else place["mnemonic"])
    parts = [f"{at}{f' ({what})' if what else ''}: {percent(place['share'])} of {place['what']}"]
    if place["excess"] and place["excess"] > MIN_EXCESS:
        parts.append(f"{place['excess']:.1f}x the accesses needed")
    if place["reason"] and place["reason"] not in place["what"]:
        parts.append(f"top stall {short(place['reason'], 40)}")
    return ", ".join(parts) + (f": {short(place['source'], 100)}" if place["source"] else "")


def in_full(place: LocationEntry) -> str:
    """The place and what its warps wait for."""
    return " - ".join(filter(None, (location(place), waits(place))))


def waits(place: LocationEntry) -> str:
    """`59 % of the waiting here: a shared store waits for the global load (LDG) of argument 2 (const float*), 4 sectors per
    request`; "" where nothing is known of a wait."""
    if place["waits_unknown"]:
        return f"awaited instruction not named: {place['waits_unknown']}"
    awaited: dict[tuple[str, str], dict[tuple[str, int, str | None], list[ProducerEntry]]] = {}
    for p in place["waits_for"]:
        alike = awaited.setdefault((p["reason"], "" if p["queue"] else p["waiter"]), {})
        alike.setdefault((p["kind"], p["candidates"], p["meaning"]), []).append(p)
    alone = sum(len(alike) for alike in awaited.values()) == 1
    texts = [_wait(place, list(alike.values()), alone) for alike in awaited.values()]
    return f"{percent(_share(place['waits_for']))} of the waiting here: {'; '.join(texts)}" if texts else ""


def _wait(place: LocationEntry, kinds: Sequence[Sequence[ProducerEntry]], alone: bool) -> str:
    """One waiting instruction, or queue, and what it waits for. alone: it is all that the place waits for."""
    first = kinds[0][0]
    waiter = first["waiter"] if first["waiter"].isupper() or "_" in first["waiter"] else f"a {first['waiter']}"
    begin = _QUEUES.get(first["reason"], "") if first["queue"] else f"{short(waiter, 60)} waits for"
    parts = [_awaited(place, some) + ("" if alone else f" ({percent(_share(some))})") for some in kinds]
    meanings = dict.fromkeys(some[0]["meaning"] for some in kinds)
    last = next(iter(meanings)) if len(meanings) == 1 else ""
    return f"{begin} {' and '.join(parts)}" + (f", {last}" if last else "")


def _awaited(place: LocationEntry, some: Sequence[ProducerEntry]) -> str:
    """`2 global loads (LDG) of argument 9 (double*), 4.8 sectors per request`: what is awaited of one kind."""
    first = some[0]
    count = sum(p["instructions"] for p in some)
    name = first["kind"] or "instruction"
    if first["candidates"] > 1 and not first["queue"]:
        what = f"one of {plural(first['candidates'], name)}"
    else:
        what = f"the {name}" if count == 1 else plural(count, name)
    code = f" ({first['mnemonic']})" if first["mnemonic"] else ""
    each = {_per_request(p) for p in some}
    origins = dict.fromkeys(_origin(place, p) + (_per_request(p) if len(each) > 1 else "") for p in some)
    return f"{what}{code} {' and '.join(origins)}".rstrip() + (each.pop() if len(each) == 1 else "")


def _per_request(p: ProducerEntry) -> str:
    """`, 4 sectors per request`; "" where they are not counted."""
    if not p["per_request"] or not p["unit"]:
        return ""
    figure = f"{p['per_request']:.1f}".removesuffix(".0")
    return f", {figure} {p['unit'].removesuffix('s') if figure == '1' else p['unit']} per request"


def _origin(place: LocationEntry, p: ProducerEntry) -> str:
    """`of argument 2 (const float*) in the same line`."""
    type_ = f" ({short(p['type'], 40)})" if p["type"] else ""
    argument = f"of argument {p['argument']}{type_}" if p["argument"] else ""
    if p["line"] and (p["file"], p["line"]) == (place["file"], place["line"]):
        where = "in the same line"
    elif p["line"] or p["instructions"] == 1:
        where = f"at {_at(p) if p['line'] or p['function'] != place['function'] else _offset(p)}"
    else:
        where = ""
    return " ".join(filter(None, (argument, where)))


def _share(some: Sequence[ProducerEntry]) -> float:
    return sum(p["share"] or 0 for p in some)


def _at(x: LocationEntry | ProducerEntry) -> str:
    """`kernel.cu:41`, or the function and the offset in it."""
    return f"{tail(x['file'] or '')}:{x['line']}" if x["line"] else f"{short(x['function'], 60)}{_offset(x)}"


def _offset(x: LocationEntry | ProducerEntry) -> str:
    return "" if x["offset"] is None else f"+{x['offset']:#x}"
