"""The diagnosis for a reader who weighs it, such as a language model: per workload the verdict, the numbers that decide with
absolute counts, what speaks against it and what is missing; sure and unsure apart.

No layout, no advice, ids instead of titles. What is computed begins with `~`; the formulas stand at the end, each once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage import schema
from triage.document.bundle import Bundle
from triage.document.entries import (
    VERDICT_CLASSES,
    EvidenceEntry,
    FindingEntry,
    GainEntry,
    ItemEntry,
    OpinionEntry,
    WorkloadEntry,
)
from triage.document.headline import counted
from triage.document.page_entries import NumberEntry, WeighedEntry
from triage.document.time_shares import time_by_verdict
from triage.ground.phrasing import percent, plural
from triage.ground.units import show
from triage.rendering import phrases, timeline_phrases, verdict_phrases
from triage.rendering.brief_timeline import operators, timeline
from triage.rendering.escape import clean, short
from triage.rendering.findings_csv import Write

MAX_CHARS = 2_000  # of one workload
MAX_FULL, MAX_LISTED = 4, 20  # workloads of each verdict in full, and in one line
TRIFLE = 0.005  # of all self time: heuristic, what is shorter gets one line
MAX_WHOLE = 8  # items about the capture as a whole
MAX_ITEMS = 5  # of the to-do list
MAX_OPINIONS = 4  # of the profiler
MAX_NAME, MAX_FORMULA = 160, 200
MEANING = {
    "fix": "the mechanism was measured",
    "suspect": "indirect evidence, unproven",
    "not-diagnosed": "no cause shown; that is not health",
    "at-limit": "needed work at a roof that no rewrite passes",
}


def brief(b: Bundle, write: Write) -> None:
    """Write the brief: a head, then workloads by verdict, largest saving first, then longest; each at most MAX_CHARS long, cut between lines."""
    for line in (*_head(b), *_whole(b)):
        write(line + "\n")
    findings: dict[str, list[FindingEntry]] = {}
    for f in b.findings:
        findings.setdefault(f["workload"], []).append(f)
    items = {w: i for i in b.todo for w in i["workloads"]}
    order = _order(b, findings)
    formulas: dict[str, list[str]] = {}
    verdict_of, own = b.workloads.field("verdict_class"), b.workloads.field("self_ns")
    times = [t or 0.0 for t in own]
    least = min(TRIFLE * sum(times), max(times, default=0.0))
    for verdict in VERDICT_CLASSES:
        mine = [i for i in order if verdict_of[i] == verdict]
        if not mine:
            continue
        write(f"\n== {verdict}: {plural(len(mine), b.item)}, {MEANING[verdict]}\n")
        same = _same(b, mine)
        for n, alike in enumerate(same[:MAX_LISTED]):
            w = b.workloads[alike[0]]
            found = findings.get(w["id"], [])
            more = sum(times[i] for i in alike[1:])
            name = _name(w) + (f" (and {len(alike) - 1:,} alike, {phrases.time(more)})" if len(alike) > 1 else "")
            if n < MAX_FULL and times[alike[0]] >= least:
                part = _Workload(b, w, b.weighed[alike[0]], found, items.get(w["id"]), formulas)
                write(_fitting([name, *(f"  {line}" for line in part.lines())]) + "\n")
            else:
                saves = f", saves ~{phrases.time(w['saved_ns'])}" if w["saved_ns"] else ""
                write(name + (f"; {w['chain'][0]}{saves}" if w["chain"] else "") + "\n")
        if left := sum(map(len, same[MAX_LISTED:])):
            write(f"({left:,} more, shorter)\n")
    if formulas:
        write("\n== formulas of numbers with ~\n")
        write("".join(f"{', '.join(names)} = {formula}\n" for formula, names in formulas.items()))


def _head(b: Bundle) -> Iterator[str]:
    frame = b.frame
    for c in b.head["captures"]:
        yield f"capture: {clean(c['path'])} ({c['dialect']}, {clean(c['device'] or 'unknown GPU')})"
    yield f"total: {phrases.time(frame['duration_ns'])} in {counted(b.view, b.item)}"
    if verdicts := verdict_phrases.verdicts(time_by_verdict(b.view)):
        yield f"verdicts: {verdicts}"
    for text in (timeline_phrases.steps(frame["steps"]), timeline_phrases.ranks(frame["ranks"])):
        if text:
            yield text
    yield from timeline(frame)
    yield from operators(frame["operators"] or (), b.head["captures"])
    yield from (f"note: {clean(note)}" for note in frame["notes"])
    yield from (f"note: {clean(q['message'])}" for q in b.quality[:4] if q["message"] not in frame["notes"])
    if b.todo:
        yield f"to do, by saving: {'; '.join(map(_item, b.todo[:MAX_ITEMS]))}"
    yield "~: computed, formulas at the end. Every id: triage explain ID"


def _item(i: ItemEntry) -> str:
    """`1. bus-traffic ~28.3 ms (suspected, medium confidence)`."""
    saved = phrases.item_saving(i)
    suspected = "suspected, " if i["verdict_class"] == "suspect" else ""
    return f"{i['rank']}. {i['cause']} ~{saved} ({suspected}{i['confidence']} confidence)"


def _whole(b: Bundle) -> Iterator[str]:
    """Items about the capture as a whole; those of low confidence, or that may save nothing, apart."""
    items = [i for i in b.todo if i["scope"] == "frame"][:MAX_WHOLE]
    for head, sure in (("sure", True), ("unsure", False)):
        mine = [i for i in items if (i["confidence"] == "high" and bool(i["low_ns"])) == sure]
        if mine:
            yield f"\n== whole capture, {head}"
        for i in mine:
            saved = phrases.item_saving(i)
            within = f", {phrases.range_(i['low_ns'], i['bound_ns'])}" if i["saved_ns"] else ""
            yield f"{i['rank']}. {i['cause']} ({i['rule']}, {i['confidence']} confidence), saves ~{saved}{within}: {clean(i['message'])}"


def _order(b: Bundle, findings: dict[str, list[FindingEntry]]) -> list[int]:
    """Positions by saving, then by time; without those that only hold others, where there are times."""
    own, saved, names = (b.workloads.field(name) for name in ("self_ns", "saved_ns", "id"))
    timed = any(own)
    keep = (i for i in range(len(own)) if own[i] or not timed or names[i] in findings)
    return sorted(keep, key=lambda i: (-(saved[i] or 0.0), -(own[i] or 0.0)))


def _same(b: Bundle, mine: Sequence[int]) -> list[list[int]]:
    """Workloads of one name and root cause together, in their order."""
    names, chains = b.workloads.field("name"), b.workloads.field("chain")
    out: dict[tuple[str, str], list[int]] = {}
    for i in mine:
        out.setdefault((names[i], next(iter(chains[i]), "")), []).append(i)
    return list(out.values())


def _fitting(lines: Sequence[str]) -> str:
    """As many of the lines, in their order, as fit."""
    out: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > MAX_CHARS - len("  (cut)"):
            out.append("  (cut)")
            break
        out.append(line)
    return "\n".join(out)


def _name(w: WorkloadEntry) -> str:
    calls = f" x{w['calls']:g}" if (w["calls"] or 1) > 1 else ""
    time = f"{phrases.time(w['self_ns'])} ({percent(w['share'] or 0.0)})"
    if w["self_ns"] is None:
        time = "time not measured"
    elif not w["self_ns"]:
        time = f"{phrases.time(w['duration_ns'])} with what it holds"
    return f"{short(clean(w['name']), MAX_NAME)}{calls}: {time}"


class _Workload:
    """One workload in lines. formulas: formula -> names of the numbers computed by it, entered here."""

    def __init__(
        self,
        b: Bundle,
        w: WorkloadEntry,
        weighed: WeighedEntry,
        found: list[FindingEntry],
        item: ItemEntry | None,
        formulas: dict[str, list[str]],
    ) -> None:
        self.b, self.w, self.weighed, self.found, self.item = b, w, weighed, found, item
        self.root = next(iter(w["chain"]), "")
        self.formulas = formulas

    def lines(self) -> Iterator[str]:
        """The verdict first, then what weighs most."""
        yield from self.cause()
        yield from self.others()
        yield from self.opinions()
        if units := [u for u in self.w["sol"] if (u["pct"] or 0.0) >= 1]:
            yield f"units, % of peak: {phrases.sol(self.w, len(units))}"
        yield from self.numbers("stalls", self.weighed["stalls"])
        yield from self.numbers("counts", self.weighed["counts"])
        yield from self.numbers("ratios", self.weighed["ratios"])
        yield from self.against()
        yield from self.missing()

    def cause(self) -> Iterator[str]:
        """The root cause, its saving, what it rests on, and whose kernel it is."""
        f = next((f for f in self.found if f["cause"] == self.root), None)
        word = "cause" if self.w["verdict_class"] == "fix" else "suspected cause"
        if self.root and f:
            yield f"{word}: {self.root} ({f['rule']}, {f['confidence']} confidence), {_saving(f['gain'])}"
            yield f"  {clean(f['message'])}"
            yield f"  by {self.evidence(f, 4)}"
        elif self.root and self.w["saved_ns"] is None and self.w["verdict_class"] in ("fix", "suspect"):
            yield f"{word}: {self.root}, an item of the whole capture"
        elif self.root:  # of many workloads only the largest findings are listed
            saves = f", saves ~{phrases.time(self.w['saved_ns'])}" if self.w["saved_ns"] else ""
            yield f"{word}: {self.root}{saves}; evidence: triage explain {self.w['id']} --on FILE"
        else:
            yield "cause: none shown"
        if self.item and (self.item["kernel_owner"] or "own") != "own":
            yield f"owner: {self.item['kernel_owner']}"

    def others(self) -> Iterator[str]:
        """Further findings: effects of the root, and others, which are alternatives. States (`near-limit`) are no causes."""
        effects, seen = self.w["chain"][1:], {self.root}
        kinds = [("effect", effects), ("also seen" if self.root else "seen, no saving shown", None)]
        for word, causes in kinds:
            for f in self.found:
                mine = f["cause"] in effects if causes is not None else f["root"] or bool(f["explained_by"])
                if not mine or f["cause"] in seen:
                    continue
                seen.add(f["cause"])
                saves = "" if f["cause"] in effects or not self.root else f", alone {_saving(f['gain'])}"
                yield f"{word}: {f['cause']} ({f['rule']}, {f['confidence']} confidence{saves}) by {self.evidence(f, 2)}"
            if causes and (rest := [c for c in causes if c not in seen]):
                seen.update(rest)
                yield f"effects: {', '.join(rest)}"

    def opinions(self) -> Iterator[str]:
        """The profiler's own estimates beside ours, those with a cause first."""
        heard = (o for o in self.w["second_opinion"] if o["cause"] or o["speedup"] or o["why"])
        yield from map(_opinion, sorted(heard, key=lambda o: (not o["cause"], -(o["speedup"] or 0.0)))[:MAX_OPINIONS])

    def numbers(self, head: str, entries: Sequence[NumberEntry]) -> Iterator[str]:
        if entries:
            yield f"{head}: {', '.join(map(self.number, entries))}"

    def number(self, n: NumberEntry) -> str:
        """`vram.bytes_read 67.1 MB`; a computed one `~flop.fp32 875,823,998`."""
        return f"{self.mark(n['metric'], n['formula'])} {show(n['value'], n['unit'])}"

    def mark(self, name: str, formula: str) -> str:
        """The name, with `~` where it has a formula, which is kept."""
        if not formula:
            return name
        text = short(clean(formula), MAX_FORMULA)
        names = self.formulas.setdefault(text, [])
        if name not in names:
            names.append(name)
        return f"~{name}"

    def evidence(self, f: FindingEntry, most: int) -> str:
        """Comparisons with metric ids: `~global_store.waste 50.0 % > 25 %; ...`."""
        return "; ".join(self.check(e) for e in f["evidence"][:most]) or "its time"

    def check(self, e: EvidenceEntry) -> str:
        """One comparison."""
        known = schema.known(e["metric"])
        name = clean(e["metric"] if known else phrases.label(e["metric"]))
        text = self.mark(name, str(e["source"].get("formula", "")))
        if e["op"] == "is":
            stated = phrases.number(e["value"], e["unit"])
            return f"{text} {stated}" if e["threshold"] is None else f"{text}: {'yes' if e['value'] else 'no'}"
        return f"{text} {phrases.number(e['value'], e['unit'])} {e['op']} {phrases.limit(e)}"

    def against(self) -> Iterator[str]:
        """Causes by the number that excludes them: near misses, look-alikes of the root cause and others."""
        here = {*self.w["chain"], *(f["cause"] for f in self.found)}
        near = {n["cause"]: n["why"] for n in reversed(self.weighed["near"]) if n["cause"] not in here}
        if near:
            yield f"near misses: {_reasons(list(near.items())[::-1][:4])}"
        out: dict[str, str] = {}
        for workload, r in self.b.excluded:
            cause = self.b.cause_of.get(r.rule, "")
            # findings covered by another one are listed above
            if workload == self.w["id"] and not r.covered and cause not in here | {*near, ""}:
                out.setdefault(cause, r.reason)
        alike = [x["cause"] for x in self.weighed["alike"]]
        if out:
            yield f"ruled out: {_reasons(sorted(out.items(), key=lambda x: x[0] not in alike)[:6])}"

    def missing(self) -> Iterator[str]:
        """What was not measured, and the causes that therefore were not tested."""
        if self.weighed["lacking"] and not (self.root and self.found):
            yield f"not measured, so silence means nothing: {', '.join(self.weighed['lacking'])}"
        if untested := self.weighed["open"]:
            yield "not tested: " + "; ".join(
                f"{x['cause']} (needs {', '.join(x['missing'][:3])}{', ...' * (len(x['missing']) > 3)})"
                for x in untested[:6]
            )
        if alike := self.weighed["alike"]:
            yield "looks alike: " + "; ".join(f"{x['cause']} ({clean(x['how'])})" for x in alike[:3])


def _saving(gain: GainEntry | None) -> str:
    """`saves ~41 % of its time (20 to 66 %)`."""
    if not gain:
        return "saving unknown"
    of = "the idle time" if gain["of"] == "idle" else "its time"
    low, bound = gain["low"] or 0.0, gain["bound"] or 0.0
    doubt = ", may save nothing" if low < 0.005 else ""
    if gain["fraction"] < 0.005:
        return f"saving ~0, at most {percent(bound)}"
    return f"saves ~{percent(gain['fraction'])} of {of} ({percent(low)} to {percent(bound)}{doubt})"


def _opinion(o: OpinionEntry) -> str:
    """`Nsight Compute: RULE names uncoalesced-loads, estimates 54 % (ours 41 %); here: root`."""
    ours = f" (ours {percent(o['ours'])})" if o["ours"] is not None else ""
    figure = f", estimates {percent(o['speedup'])}{ours}" if o["speedup"] else ""
    names = f" names {o['cause']}" if o["cause"] else ""
    why = "" if o["cause"] else f": {short(clean(o['why'] or o['text']), 110)}"
    return f"{clean(o['tool'])}: {clean(o['rule'])}{names}{figure}; here: {o['verdict']}{why}"


def _reasons(pairs: Sequence[tuple[str, str]]) -> str:
    return "; ".join(f"{cause} ({short(clean(why), 90)})" for cause, why in pairs)
