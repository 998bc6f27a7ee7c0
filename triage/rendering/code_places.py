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
_MAX_ORIGINS = 2  # places of awaited instructions of one kind that are named
_MAX_FIGURES = 3  # figures of several accesses that are listed; of more the range


def location(place: LocationEntry) -> str:
    """`kernel.cu:41 (global load) “v = in[i];”: 62 % of stalls, 8.0x the accesses needed, top stall barrier`."""
    at = _at(place) if place["line"] or place["function"] else f"address{_offset(place)}"
    what = place["access"] or ("" if place["line"] else place["mnemonic"])
    code = f" “{short(place['source'], 100)}”" if place["source"] else ""
    parts = [f"{at}{f' ({what})' if what else ''}{code}: {percent(place['share'])} of {place['what']}"]
    if place["excess"] and place["excess"] > MIN_EXCESS:
        parts.append(f"{place['excess']:.1f}x the accesses needed")
    if place["reason"] and place["reason"] not in place["what"]:
        parts.append(f"top stall {short(place['reason'], 40)}")
    return ", ".join(parts)


def in_full(place: LocationEntry) -> str:
    """The place and what its warps wait for."""
    return ". ".join(filter(None, (location(place), waits(place))))


def waits(place: LocationEntry) -> str:
    """`59 % of the waiting here: a shared store waits for the global load (LDG) of argument 2 (const float*), 4 sectors per
    request`; "" where nothing is known of a wait."""
    if place["waits_unknown"]:
        return f"awaited instruction not named: {place['waits_unknown']}"
    awaited: dict[tuple[str, str, str | None], dict[tuple[object, ...], list[ProducerEntry]]] = {}
    for p in place["waits_for"]:
        alike = awaited.setdefault((p["reason"], "" if p["queue"] else p["waiter"], p["pipe"]), {})
        what = "" if p["pipe"] else p["kind"]
        alike.setdefault((what, p["candidates"] > 1, p["operands"], p["meaning"]), []).append(p)
    alone = sum(len(alike) for alike in awaited.values()) == 1
    texts = [_wait(place, list(alike.values()), alone) for alike in awaited.values()]
    return f"{percent(_share(place['waits_for']))} of the waiting here: {'; '.join(texts)}" if texts else ""


def _wait(place: LocationEntry, kinds: Sequence[Sequence[ProducerEntry]], alone: bool) -> str:
    """One waiting instruction, or queue, and what it waits for. alone: it is all that the place waits for."""
    first = kinds[0][0]
    listed = sum(p["instructions"] for some in kinds for p in some)
    least, most = (f(p["candidates"] for some in kinds for p in some) for f in (min, max))
    mixed = least > 1 and (len(kinds) > 1 or listed < most)
    parts = [_awaited(place, some, mixed) + ("" if alone else f" ({percent(_share(some))})") for some in kinds]
    begin = f" one of {most} instructions:" if mixed else ""
    meanings = dict.fromkeys(some[0]["meaning"] for some in kinds)
    last = next(iter(meanings)) if len(meanings) == 1 else ""
    return f"{_waiter(first)}{begin} {(' or ' if mixed else ' and ').join(parts)}" + (f", {last}" if last else "")


def _waiter(first: ProducerEntry) -> str:
    """`a shared store waits for`, `the FP64 pipe is filled by`."""
    if first["number"] is not None:
        return "warps wait at"
    if first["pipe"]:
        return f"the {first['pipe']} pipe is filled by"
    if first["queue"]:
        return _QUEUES.get(first["reason"], "the queue is filled by")
    waiter = first["waiter"] if first["waiter"].isupper() or "_" in first["waiter"] else f"a {first['waiter']}"
    return f"{short(waiter, 60)} waits for"


def _awaited(place: LocationEntry, some: Sequence[ProducerEntry], mixed: bool) -> str:
    """`2 global loads (LDG) of argument 9 (double*), 4.8 sectors per request`: what is awaited of one kind."""
    first = some[0]
    if first["number"] is not None:
        return " and ".join(_barrier(place, p) for p in some)
    each = {_per_request(p) for p in some}
    origins = list(dict.fromkeys(_origin(place, p) + (_per_request(p) if len(each) > 1 else "") for p in some))
    join = " or " if first["candidates"] > 1 else " and "
    places = join.join(origins[:_MAX_ORIGINS]) + (f"{join}elsewhere" if len(origins) > _MAX_ORIGINS else "")
    text = f"{_count(some, mixed)} {places}".rstrip() + (each.pop() if len(each) == 1 else "")
    whose = "its" if sum(p["instructions"] for p in some) == 1 else "their"
    return f"{text}, to have read {whose} registers" if first["operands"] else text


def _count(some: Sequence[ProducerEntry], mixed: bool) -> str:
    """`the global load (LDG)`, `8 global loads (LDG)`, `one of 3 global loads (LDG)`: the last of those ends the wait."""
    first, count = some[0], sum(p["instructions"] for p in some)
    name, candidates = first["kind"] or "instruction", max(p["candidates"] for p in some)
    if first["pipe"] and len({p["kind"] for p in some}) > 1:
        name = "instruction"
    codes = ", ".join(list(dict.fromkeys(p["mnemonic"] for p in some if p["mnemonic"]))[:2])
    if candidates < 2 or mixed or count == 1:
        return (f"the {name}" if count == 1 else plural(count, name)) + (f" ({codes})" if codes else "")
    if count > candidates:
        codes = f"{codes}, {count} in all" if codes else f"{count} in all"
    return f"one of {plural(min(count, candidates), name)}" + (f" ({codes})" if codes else "")


def _barrier(place: LocationEntry, p: ProducerEntry) -> str:
    """`the barrier (BAR) in the same line for warps at k.cu:12 (62 %), there long scoreboard on the global load (LDG)`."""
    number = f" {p['number']}" if p["number"] else ""
    what = plural(p["instructions"], "barrier") if p["instructions"] > 1 else f"the barrier{number}"
    here = p["pc"] == place["pc"] and p["instructions"] == 1
    text = f"this barrier{number}" if here else f"{what} ({p['mnemonic']}) {_origin(place, p)}"
    if (late := p["late"]) is None:
        return text
    of_argument = f" of argument {late['argument']}" if late["argument"] else ""
    awaited = f" on the {late['kind']} ({late['mnemonic']}){of_argument}" if late["kind"] else ""
    reason = f", top stall {late['reason']}{awaited}" if late["reason"] else ""
    where = f"{tail(late['file'] or '')}:{late['line']}" if late["line"] else f"+{late['offset']:#x}"
    return f"{text}; of late warps {percent(late['share'])} are at {where}{reason}"


def _per_request(p: ProducerEntry) -> str:
    """`, 4 sectors per request`, `, 1 sector and 32 operations per request`; "" where they are not counted."""
    figures = [f for f in p["figures"] if f] or ([p["per_request"]] if p["per_request"] else [])
    parts = []
    if figures and p["unit"]:
        texts = [f"{round(f, 1):g}" for f in figures]
        text = " and ".join(texts) if len(texts) <= _MAX_FIGURES else f"{texts[0]} to {texts[-1]}"
        parts.append(f"{text} {p['unit'].removesuffix('s') if text == '1' else p['unit']}")
    if p["operations"] and p["operations"] > 1:
        parts.append(f"{p['operations']:.0f} operations")
    return f", {' and '.join(parts)} per request" if parts else ""


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
