"""What the change of the whole is made of: idle time by its reasons, communication, copies and kernels, at equal work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from triage.ground.kernel_names import is_collective
from triage.ground.phrasing import first_of, lower_first, over, percent
from triage.products.compare.compare_result import ALONE, Comparison, Paired
from triage.products.compare.timeline_changes import BETWEEN, IDLE, of_device
from triage.products.compare.waterfall import ends, figures_added, scale, titles
from triage.products.noise import FASTER, SLOWER
from triage.rendering.escape import short
from triage.rendering.phrases import added, time

NAMED, MIN_CAUSE_SHARE = 2, 0.1  # parts that a sentence names, and the least share of the change they have
MIN_DEVICE_SHARE = 0.84  # of the change on all devices, from which on one device is named
MIN_CHIEF_SHARE = 0.5  # share of the change from which on one workload is the cause that is named


class Cause(NamedTuple):
    """A part of the change in ns. of: what that part is made of, in words."""

    name: str
    adds_ns: float
    of: str = ""


def cause(doc: Comparison, verdict: str) -> str:
    """`idle time 84 % of the change (host code, copy calls), communication 18 %`; "" where nothing changed, or nothing tells."""
    if verdict not in (FASTER, SLOWER):
        return ""
    before, after = ends(doc)
    whole = after - before
    if not whole or (whole > 0) != (verdict == SLOWER):
        return ""
    if not doc["timeline"]:
        return _workload(doc, whole)
    if doc["work"]["unequal"] and not doc["work"]["per_iteration"]:
        return ""  # nothing says how much of it is of as much work
    parts = [c for c in causes(doc) if c.adds_ns / whole >= MIN_CAUSE_SHARE]
    heads = [f"{c.name} {percent(c.adds_ns / whole)}" + " of the change" * (c is parts[0]) for c in parts[:NAMED]]
    return ", ".join(f"{head} ({c.of})" if c.of else head for head, c in zip(heads, parts, strict=False))


def causes(doc: Comparison) -> list[Cause]:
    """The parts of a timeline's change at equal work, largest first."""
    before, after = ends(doc)
    by = scale(doc)
    rows = figures_added(doc)
    idle, copies = rows.get("idle", 0.0), rows.get("exposed copies", 0.0)
    reasons = sorted((w for w in rows if w in IDLE and rows[w] * idle > 0), key=lambda w: -abs(rows[w]))
    why = ", ".join(IDLE[w] for w in reasons[:NAMED] if rows[w] / idle >= MIN_CAUSE_SHARE)
    own: list[tuple[str, tuple[float | None, float | None]]] = [
        (u["name"], (0.0, u["own_ns"]) if u["side"] == "after" else (u["own_ns"], 0.0)) for u in doc["unmatched"]
    ]
    own += [(p["name"], (p["own_ns"][0], p["own_ns"][1])) for p in doc["pairs"]]
    talk = sum((a or 0.0) * by - (b or 0.0) for name, (b, a) in own if is_collective(name))
    parts = [
        Cause(f"idle time{_device(doc, rows, BETWEEN)}", idle, why),
        Cause("communication", talk),
        Cause("exposed copies", copies),
    ]
    work = "other kernels" if talk else f"kernels{_device(doc, rows, 'busy')}"
    parts.append(Cause(work, after - before - idle - talk - copies))
    return sorted(parts, key=lambda c: -abs(c.adds_ns))


def over_devices(doc: Comparison) -> str:
    """` over 2 devices`, after a sum over several of a timeline; "" elsewhere."""
    return over(len({r["device"] for r in doc["timeline"] if "device" in r}), "device")


def _device(doc: Comparison, rows: Mapping[str, float], what: str) -> str:
    """` on device 1`: of several, the one whose busy or idle time is nearly all of the change; "" where several have part of it."""
    names = {key: of_device(key, what) for r in doc["timeline"] if (key := r.get("device"))}
    of = {key: rows[name] for key, name in names.items() if name in rows}
    whole = sum(map(abs, of.values()))
    return next((f" on device {name}" for name, ns in of.items() if whole and abs(ns) >= MIN_DEVICE_SHARE * whole), "")


def _workload(doc: Comparison, whole: float) -> str:
    """The workload that adds most, where it adds at least half of the change of the frame; of a single one what most of its change is, and what was found."""
    if doc["work"]["unequal"] or not doc["pairs"]:
        return ""
    if doc["totals"]["pairs"] == 1 and not doc["unmatched"]:
        pair = doc["pairs"][0]
        some, word = (worse(pair), "now found") if whole > 0 else (pair["fixed"], "no longer found")
        named = [lower_first(doc["rules"][r]["title"]) for r in some]
        rules = f"{word}: {first_of(named, NAMED)}" if some else ""
        return "; ".join(filter(None, (pair["chief"], rules)))
    adds = [(p["own_ns"][1] or 0.0) - (p["own_ns"][0] or 0.0) for p in doc["pairs"]]
    most = max(range(len(adds)), key=lambda i: adds[i] / whole)
    name, ns = short(titles(doc["pairs"])[most], 40), adds[most]
    sides = [(u["own_ns"] or 0.0) * (1 if u["side"] == "after" else -1) for u in doc["unmatched"]]
    if sides and sum(sides) / whole > max(ns / whole, MIN_CHIEF_SHARE):
        return f"mostly {alone_named(doc)}"
    return f"mostly {name} ({added(ns)})" if ns / whole >= MIN_CHIEF_SHARE else ""


def alone_named(doc: Comparison) -> str:
    """`gone: Bloom, 800 µs; new: Fog, 2 ms`: the workloads of one side."""
    parts = []
    for side, word in ALONE.items():
        some = sorted((u for u in doc["unmatched"] if u["side"] == side), key=lambda u: -(u["own_ns"] or 0.0))
        names = [f"{short(' / '.join([*u['path'], u['name']]), 40)}, {time(u['duration_ns'])}" for u in some]
        parts += [f"{word}: {first_of(names, NAMED)}"] if some else []
    return "; ".join(parts)


def worse(pair: Paired) -> list[str]:
    """Rules that fire now and that another cause did not hide before."""
    return [r for r in pair["new"] if r not in pair["hidden"]]
