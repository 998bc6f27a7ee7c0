"""Sentences on verdicts: to fix, suspected, not diagnosed, at a hardware limit."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from triage.document.entries import VERDICT_CLASSES, ItemEntry, UnitEntry
from triage.document.markers_by_time import MarkerRow
from triage.document.summary import Summary
from triage.document.time_shares import IDLE, IDLE_TO_FIX, MIN_PRESSURE, UndiagnosedEntry, VerdictEntry, needed
from triage.ground.kernel_names import kernel
from triage.ground.method import DRAM_REACHED, HIGH
from triage.ground.phrasing import percent, plural
from triage.ground.terminology import localize, voice
from triage.rendering.escape import short
from triage.rendering.labels import HEADS
from triage.rendering.phrases import and_more, number, several, time


def verdict(name: str) -> str:
    """`Not diagnosed`: a word of VERDICT_CLASSES as people read it."""
    words = (HEADS.to_fix, HEADS.suspected, HEADS.not_diagnosed, HEADS.at_limit)
    idle = {IDLE: HEADS.idle, IDLE_TO_FIX: HEADS.idle_to_fix}
    return str(idle.get(name) or words[VERDICT_CLASSES.index(name)])


def advised(c: ItemEntry) -> str:
    """Label of an item's first advice: `Fix`; `Try` for a suspect; `Investigate` where it finds out more."""
    return str({"fix": HEADS.fix, "try": HEADS.attempt, "investigate": HEADS.investigate}[c["action_kind"]])


def root_cause(m: MarkerRow) -> str:
    """Title of the root cause; without one the verdict in lower case."""
    return m["title"] or verdict(m["workload"]["verdict_class"]).lower()


def verdicts(entries: Sequence[VerdictEntry]) -> str:
    """`to fix 3.1 ms (63 %), not diagnosed 1.8 ms (37 %)`: the time by verdict; "" without times."""
    return ", ".join(f"{verdict(v['verdict']).lower()} {time(v['ns'])} ({percent(v['share'])})" for v in entries)


def unjudged(s: Summary) -> str:
    """`Not diagnosed 668 ms (100 %): 12 kernels, counters missing. Collect:`; "" where that is little."""
    return f"{HEADS.not_diagnosed} {undiagnosed(s['unjudged'])}" if s["unjudged"] else ""


def _busiest(top: UnitEntry) -> str:
    """`TEX at 66 % of peak; needed work unknown`: what is known of a busiest unit."""
    if not pressed(top):
        return f"no measured unit above {number(top['pct'], '%')} of peak"
    known = f"{localize(top['unit'])} at {number(top['pct'], '%')} of peak"
    of_dram = (top["pct"] or 0.0) / 100 if top["unit"] == "VRAM" else 0.0
    if of_dram >= DRAM_REACHED[0]:  # below it more bytes in flight may help too
        return f"{known}: only fewer bytes help; {needed(top)} unknown"
    if of_dram >= HIGH:
        known += f" ({percent(DRAM_REACHED[0])} to {percent(DRAM_REACHED[1])} is attainable)"
    return f"{known}; {needed(top)} unknown"


def pressed(top: UnitEntry | None) -> bool:
    """True for a unit close enough to its peak to be what limits."""
    return top is not None and (top["pct"] or 0.0) >= MIN_PRESSURE


def dark(u: UndiagnosedEntry, command: bool = True) -> str:
    """Reasons of undiagnosed time: `31 markers (4.16 ms), the longest Foliage: TEX at 66 % of peak; ... 117 µs outside all markers: ...`."""
    sentences = []
    both = bool(u["count"] and u["uncovered_ns"])  # with one reason alone, its time is the total
    if u["count"]:
        first, many = short(u["names"][0], 40), u["count"] > 1
        who = several(u["count"], u["copies"]) if many else first
        ns = f" ({time(u['ns'] - u['uncovered_ns'])})" if both else ""
        why = f"{',' if many else ':'} {'counters missing' if u['collect'] else 'times alone show no cause'}"
        if u["function"]:
            name, most, launches = u["function"]
            why += f"; {time(most)} of it in {launches:,} launches of {short(name, 40)}"
        if u["top"] and (pressed(u["top"]) or not u["collect"]):
            why = f"{f', the longest {first}' if many else ''}: {_busiest(u['top'])}"
        sentences.append(f"{who}{ns}{why}.")
    if u["uncovered_ns"]:
        where = f"{time(u['uncovered_ns'])} outside" if both else "Outside"
        sentences.append(f"{where} all {voice().item}s: unmarked work or idle GPU.")
    sentences += filter(None, [stated_needs(u), "Collect:" if u["collect"] and command else ""])
    return " ".join(sentences)


def stated_needs(u: UndiagnosedEntry | None) -> str:
    """`--needs NAME=100MB states what it must move, and decides.`: where only the need of a kernel's work is not known."""
    if u is None or not pressed(u["top"]) or voice().item != "kernel":
        return ""
    name = f"*{re.split('[<( ]', kernel(u['names'][0]))[0]}*" if u["names"] else "NAME"
    work, other = ("FLOP", "bytes") if u["top"] and u["top"]["unit"] == "SM" else ("bytes", "FLOP")
    stated = shlex.quote(f"{short(name, 60)}={work.upper()}")
    return f"To decide, state its {work} per launch: --needs {stated} (or {other})."


def undiagnosed(u: UndiagnosedEntry, command: bool = True) -> str:
    """`1.7 ms (13 %): 2 markers, counters missing. Collect:`."""
    return f"{time(u['ns'])} ({percent(u['share'])}): {dark(u, command)}"


def more_at_limit(s: Summary) -> str:
    """`8 shorter markers (1.38 ms): Blur X, Blur Y + 6 more`: at a hardware limit, beside those whose readings are shown; "" without readings."""
    shown, all_ = s["limit_readings"], s["finished"]
    if not shown or len(shown) == all_["count"]:
        return ""
    left, names = all_["count"] - len(shown), all_["names"][len(shown) :]
    ns = time(all_["ns"] - sum(r["ns"] for r in shown))
    return f"{plural(left, f'shorter {voice().item}')} ({ns}): {', '.join(names)}{and_more(left - len(names))}"
