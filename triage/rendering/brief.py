"""The diagnosis for a reader who weighs it, such as a language model: per workload the verdict, the numbers that decide with
absolute counts, what speaks against it and what is missing; sure and unsure apart.

No layout, no advice beyond one line, ids instead of titles. Everything derived is marked `~`.
"""

from __future__ import annotations

from collections.abc import Iterator

from triage.document.bundle import Bundle
from triage.document.entries import VERDICT_CLASSES, FindingEntry, ItemEntry, WorkloadEntry
from triage.document.page_entries import CountEntry
from triage.document.time_shares import time_by_verdict
from triage.ground.phrasing import percent, plural
from triage.ground.units import show
from triage.rendering import phrases
from triage.rendering.escape import clean, short
from triage.rendering.findings_csv import Write

MAX_CHARS = 2_000  # of one workload
MAX_WORKLOADS = 12  # the longest of each verdict
MAX_COUNTED = 20  # workloads with their absolute counts, the longest of all
MAX_NAME = 160
MEANING = {
    "fix": "measured mechanism",
    "suspect": "likely by an indirect way, unproven",
    "not-diagnosed": "no verdict: silence is no health",
    "at-limit": "needed work at a roof that no rewrite passes",
}


def brief(b: Bundle, write: Write) -> None:
    """Write the brief: a head, then workloads by verdict, longest first; each at most MAX_CHARS long, cut between lines."""
    frame = b.frame
    captures = ", ".join(
        f"{clean(c['path'])} ({c['dialect']}, {clean(c['device'] or 'unknown GPU')})" for c in b.head["captures"]
    )
    write(f"capture: {captures}\n")
    write(f"total: {phrases.time(frame['duration_ns'])} in {plural(frame['workloads'], b.item)}\n")
    if verdicts := phrases.verdicts(time_by_verdict(b.view)):
        write(f"verdicts: {verdicts}\n")
    for note in frame["notes"]:
        write(f"note: {clean(note)}\n")
    for line in _whole(b):
        write(line + "\n")
    items = {w: i for i in b.todo for w in i["workloads"]}
    findings: dict[str, list[FindingEntry]] = {}
    for f in b.findings:
        findings.setdefault(f["workload"], []).append(f)
    own, verdict_of = b.workloads.field("self_ns"), b.workloads.field("verdict_class")
    longest = sorted(range(len(own)), key=lambda i: -(own[i] or 0.0))
    counted = set(longest[:MAX_COUNTED])
    for verdict in VERDICT_CLASSES:
        mine = [i for i in longest if verdict_of[i] == verdict]
        if mine:
            write(f"\n== {verdict}: {plural(len(mine), b.item)}, {MEANING[verdict]}\n")
        for i in mine[:MAX_WORKLOADS]:
            w = b.workloads[i]
            counts = b.counts[i] if i in counted else []
            write(_fitting(_workload(b, w, counts, findings.get(w["id"], []), items.get(w["id"]))) + "\n")
        if len(mine) > MAX_WORKLOADS:
            write(f"({len(mine) - MAX_WORKLOADS} more, shorter)\n")


def _whole(b: Bundle) -> Iterator[str]:
    """Items about the capture as a whole."""
    for i in b.todo:
        if i["scope"] == "frame":
            yield f"whole capture: {i['cause']} ({i['rule']}, {i['confidence']} confidence) {_saving(i)}. {clean(i['message'])}"


def _fitting(lines: Iterator[str]) -> str:
    """As many of the lines, in their order, as fit."""
    out: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > MAX_CHARS:
            out.append("  (cut)")
            break
        out.append(line)
    return "\n".join(out)


def _workload(
    b: Bundle, w: WorkloadEntry, counts: list[CountEntry], found: list[FindingEntry], item: ItemEntry | None
) -> Iterator[str]:
    calls = f" x{w['calls']:g}" if (w["calls"] or 1) > 1 else ""
    yield f"{short(clean(w['name']), MAX_NAME)}{calls}: {phrases.time(w['self_ns'])} ({percent(w['share'] or 0.0)})"
    root = next(iter(w["chain"]), "")
    if item:
        yield f"  cause: {item['cause']} ({item['rule']}, {item['confidence']} confidence), {_saving_of(found, root)}"
        if item["kernel_owner"]:
            yield f"  owner: {item['kernel_owner']}"
    if len(w["chain"]) > 1:
        yield f"  explains: {', '.join(w['chain'][1:])}"
    for f in sorted(found, key=lambda f: f["cause"] != root)[:4]:
        yield f"  {f['cause'] or f['rule']}: {clean(f['message'])}"
        for e in f["evidence"][:3]:
            yield f"    {clean(phrases.check(e))}"
    if units := [u for u in w["sol"] if u["pct"] is not None]:
        yield f"  units: {phrases.sol(w, len(units))}"
    if counts:
        yield f"  counts: {', '.join(map(_count, counts))}"
    for o in w["second_opinion"][:2]:
        gain = f", speedup {o['speedup']:g} %" if o["speedup"] else ""
        yield f"  {o['tool']} says: {o['rule']}{gain}: {short(clean(o['text']), 160)}"
    # what another finding covers is told above; here is what a number excludes
    out = [r["why"] for r in b.ruled_out if r["workload"] == w["id"] and ": covered by " not in r["why"]]
    if out:
        yield f"  ruled out: {'; '.join(short(clean(why), 110) for why in out[:5])}"
    missing = sorted({m for s in b.blind_spots if w["id"] in s["workloads"] for m in s["missing"]})
    if missing and w["verdict_class"] in ("suspect", "not-diagnosed"):
        yield f"  not measured: {', '.join(missing[:10])}"


def _saving(i: ItemEntry) -> str:
    saved = phrases.time(i["saved_ns"]) if i["saved_ns"] is not None else percent(i["fraction"] or 0.0)
    return f"saves {saved}, {phrases.range_(i['low_ns'], i['bound_ns'])}"


def _saving_of(found: list[FindingEntry], root: str) -> str:
    """`saves 0.41 of its time, 0.2 to 0.67`: fractions, as the cause's finding says."""
    gain = next((f["gain"] for f in found if f["cause"] == root and f["gain"]), None)
    return (
        f"saves {gain['fraction']:.2f} of its time, {gain['low'] or 0:.2f} to {gain['bound'] or 0:.2f}"
        if gain
        else "saving unknown"
    )


def _count(c: CountEntry) -> str:
    """`vram.bytes_read 67.1 MB`; derived ones begin with `~`."""
    return f"{'~' if c['derived'] else ''}{c['metric']} {show(c['value'], c['unit'])}"
