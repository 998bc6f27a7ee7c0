"""Root causes -> tickets: a title a lead understands, one screen of text, attachments, a fingerprint that stays.

A fingerprint is made of the cause and of what was captured (the root marker, or --scope), never of numbers or of the
set of workloads: the same problem tomorrow, a little stronger here and weaker there, is the same ticket.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triage.diagnosis.identity import of_item
from triage.document import summary
from triage.document.bundle import Bundle
from triage.files import writing
from triage.ground.errors import TriageError
from triage.rendering import declared, formats, phrases, templates
from triage.rendering.escape import short

SCHEMA = "triage-tickets/1"
LEAST = 0.01  # share of the frame below which a root cause gets no ticket: nobody would work on it
CLEAR = 0.05  # a value closer to its threshold than this part of it may be across it tomorrow
KEEP = 0.5  # a ticket of the last run stays down to this part of LEAST, so that noise does not close and reopen it
UNTIMED = 0.05  # without times: the fraction of a workload that its best finding must save
TITLE = 200  # every tracker takes 255 characters, and the fingerprint may have to fit too
# (evidence rows, advice, ruled out, caveats, sources): the first that fits the tracker's limit is used
SIZES = ((8, 6, 5, 4, 4), (5, 4, 3, 2, 2), (3, 3, 1, 0, 1), (1, 1, 0, 0, 0), (0, 0, 0, 0, 0))


@dataclass(slots=True)
class Ticket:
    """One root cause. cause: as summary.causes gives it. saved_ns: None without times. files: relative to the folder."""

    fingerprint: str
    title: str
    rule: str
    workloads: list[str]
    saved_ns: float | None
    cause: dict[str, Any]
    doc: dict[str, Any]
    files: list[str] = field(default_factory=list)

    def listing(self) -> dict[str, Any]:
        """The entry of tickets.json."""
        c = self.cause
        return {
            "fingerprint": self.fingerprint,
            "title": self.title,
            "rule": self.rule,
            "cause": self.cause["cause"],
            "workloads": self.workloads,
            "saved_ns": self.saved_ns,
            "files": self.files,
            "share": c["share"],
            "level": c["level"],
            "confidence": c["confidence"],
        }

    def body(self, markup: str, limit: int, attached: bool = False) -> str:
        """The text in `markdown` or `jira` markup, at most `limit` characters: detail gives way, tables stay whole."""
        for size in SIZES:
            text = templates.render(declared.templates("tickets")[markup], **self._words(size, attached))
            # parts that are left out leave their empty lines behind
            text = calm(re.sub(r"\n{3,}", "\n\n", text)) if markup == "markdown" else re.sub(r"\n{3,}", "\n\n", text)
            if len(text) <= limit:
                return text
        raise TriageError(f"ticket {self.fingerprint}: does not fit {limit} characters", "see its attachment")

    def _words(self, size: tuple[int, int, int, int, int], attached: bool) -> dict[str, Any]:
        rows, advice, out, caveats, cites = size
        c, doc = self.cause, self.doc
        found = {f["rank"]: f for f in doc["findings"]}
        evidence = [found[r] for r in c["findings"] if r in found]
        by_id = {w["id"]: w for w in doc["workloads"]}
        worst = c["workloads"][0]
        # of the workload that matters most, each reason once; all of them are in evidence.json
        why = dict.fromkeys(
            r["why"] for r in doc["ruled_out"] if r["workload"] == worst and r["rule"] not in c["rules"]
        )
        return {
            "c": c,
            "tool": doc["tool"],
            "fingerprint": self.fingerprint,
            "attached": attached,
            "lead": lead(c, doc),
            "chain": phrases.chain(c),
            "saving": saving(c),
            "places": self.workloads[:3],
            "captures": doc["captures"][:3],
            "more_captures": max(0, len(doc["captures"]) - 3),
            "rows": [_row(f, by_id) for f in evidence[:rows]],
            "hidden": max(0, len(evidence) - rows),
            "locations": list(dict.fromkeys(phrases.location(x) for f in evidence[:rows] for x in f["locations"]))[:5],
            "advice": [short(a, 500) for a in c["advice"][:advice]],
            "ruled_out": [short(w, 300) for w in list(why)[:out]],
            "caveats": [short(t, 400) for t in c["caveats"][:caveats]],
            "cites": c["cites"][:cites],
        }

    def evidence(self) -> dict[str, Any]:
        """Everything behind the ticket: its findings with their cells, what was ruled out, the captures."""
        ids = set(self.cause["workloads"])
        return {
            "schema": SCHEMA,
            "fingerprint": self.fingerprint,
            "title": self.title,
            "tool": self.doc["tool"],
            "captures": self.doc["captures"],
            "findings": [f for f in self.doc["findings"] if f["cause"] == self.cause["cause"] and f["workload"] in ids],
            "ruled_out": [r for r in self.doc["ruled_out"] if r["workload"] in ids],
        }


def _row(f: dict[str, Any], by_id: dict[str, dict[str, Any]]) -> dict[str, Any]:
    w = by_id.get(f["workload"])
    shown = f["evidence"][:3]
    return {
        "name": phrases.path(w, 60) if w else "frame",
        "own_ns": w["self_ns"] if w else None,
        "saves": phrases.saves(f),
        "checks": short("; ".join(phrases.check(e) for e in shown), 200),
        "cells": short("; ".join(_cell(e) for e in shown), 300),
    }


def _cell(e: dict[str, Any]) -> str:
    """Where a compared value stands; of a highest or lowest value, the input it was taken from."""
    for i in e["source"].get("inputs", ()):
        if i["value"] == e["value"]:
            return f"{phrases.label(i['metric'])}: {phrases.cell(i['source'])}"
    return phrases.cell(e["source"])


def make(b: Bundle, scope: str = "", least: float = LEAST, old: Sequence[dict[str, Any]] = ()) -> list[Ticket]:
    """Tickets of a diagnosis, largest saving first. scope: replaces the captured root. old: last run's entries.

    least: share of the frame (0-1) a root cause must give back, counting only what stands clear of its thresholds; one
    that had a ticket keeps it down to half of that.
    """
    known = {t.get("fingerprint") for t in old}
    out: dict[str, Ticket] = {}
    for root, numbers, todo in b.scopes:
        part = _cut(b.document, numbers) if len(b.scopes) > 1 else b.document
        for c in summary.causes(todo, part):
            mark = of_item(c["cause"], scope or root)
            # under --scope several roots share a fingerprint: one ticket is filed
            if mark in out or not _worth(c, part, least, mark in known):
                continue
            by_id = {w["id"]: w for w in part["workloads"]}
            names = [phrases.path(by_id[w], 120) if w in by_id else "frame" for w in c["workloads"]]
            out[mark] = Ticket(mark, title(c, part), c["rule"], names, c["saved_ns"], c, part)
    return sorted(out.values(), key=lambda t: (-(t.saved_ns or 0.0), t.rule, t.fingerprint))


def _cut(doc: dict[str, Any], numbers: Sequence[int]) -> dict[str, Any]:
    """The document of some of its captures (numbered from 1)."""
    mine = tuple(f"{n}:" for n in numbers)
    workloads = [w for w in doc["workloads"] if w["id"].startswith(mine)]
    total = sum(w["self_ns"] or 0 for w in workloads)
    return {
        **doc,
        "captures": [doc["captures"][n - 1] for n in numbers],
        "workloads": workloads,
        "findings": [f for f in doc["findings"] if f["workload"].startswith(mine)],
        "frame": {**doc["frame"], "duration_ns": total or None},
    }


def _worth(c: dict[str, Any], doc: dict[str, Any], least: float, known: bool) -> bool:
    """Does a root cause deserve a ticket? A new one must stand clear of its thresholds, a known one may waver."""
    ranks = set(c["findings"])
    found = [f for f in doc["findings"] if f["rank"] in ranks and (known or _clear_cut(f))]
    if known:
        least *= KEEP
    gains = [f["gain"] for f in found if f["gain"]]
    total = doc["frame"]["duration_ns"]
    if not gains or not total:
        # `least` is a share of the frame; without times it scales the fraction that is asked for instead
        return any((g["fraction"] or 0.0) >= UNTIMED * least / LEAST for g in gains)
    return bool(sum(g["saved_ns"] or 0.0 for g in gains) >= least * total)


def _clear_cut(f: dict[str, Any]) -> bool:
    return all(
        # a threshold of 0 has no part of itself to be clear of
        e["margin"] is None or not e["threshold"] or abs(e["margin"]) >= CLEAR * abs(e["threshold"])
        for e in f["evidence"]
        if e["op"] in ("<", "<=", ">", ">=")
    )


def title(c: dict[str, Any], doc: dict[str, Any]) -> str:
    """`Many TEX fetches miss the L1: 7 workloads (Blur, SSR, ...), about 3.1 ms (19 %) to gain`."""
    names = list(dict.fromkeys(c["names"]))
    if c["names"] == ["frame"] * len(c["names"]):
        where = "whole frame"
    elif len(names) == 1:
        where = short(names[0], 60)
    else:
        where = (
            f"{len(names)} workloads ({short(names[0], 30)}, {short(names[1], 30)}{', …' if len(names) > 2 else ''})"
        )
    gain = f", about {phrases.time(c['saved_ns'])} ({phrases.percent(c['share'])}) to gain" if c["saved_ns"] else ""
    return short(f"{c['title']}: {where}{gain}", TITLE)


def lead(c: dict[str, Any], doc: dict[str, Any]) -> str:
    """The first sentence of the body."""
    total = doc["frame"]["duration_ns"]
    if not c["saved_ns"] or not total:
        return f"{c['title']} ({phrases.cause(c)})."
    return f"{c['title']}: about {phrases.time(c['saved_ns'])} of {phrases.time(total)} GPU time could come back ({phrases.percent(c['share'])})."


def saving(c: dict[str, Any]) -> str:
    """`about 3.1 ms, at least 1 ms, at most 5 ms`."""
    if c["saved_ns"] is None:
        return f"{phrases.percent(c['fraction'])} of a workload's time, no times known"
    low = f"at least {phrases.time(c['low_ns'])}" if c["low_ns"] else "at least nothing"
    return f"about {phrases.time(c['saved_ns'])}; {low}, at most {phrases.time(c['bound_ns'])}"


def calm(body: str) -> str:
    """Markdown in which no text outside code calls a person or another issue."""
    return _ALIVE.sub(lambda m: f"{m[3]}\u200b" if m[3] else m[0], body)


# a code span | a link in angle brackets | what would call somebody
# trackers look for mentions after rendering, when a backslash is gone; the invisible blank stays
_ALIVE = re.compile(r"((?<!`)(`+)(?!`).*?(?<!`)\2(?!`)|<https?://[^>\s]+>)|([@#])(?=\w)")


def read_old(path: Path) -> list[dict[str, Any]]:
    """Entries of an earlier tickets.json; raises TriageError when it is none."""
    try:
        old = json.loads(path.read_text(encoding="utf-8"))
        if old["schema"] != SCHEMA:
            raise ValueError(f"schema {old['schema']!r}")
        return [{**t, "fingerprint": str(t["fingerprint"]), "title": str(t["title"])} for t in old["tickets"]]
    except OSError as e:
        raise TriageError(f"{path}: cannot be read ({e.strerror or e})", "give last run's tickets.json") from e
    except (ValueError, KeyError, TypeError) as e:
        raise TriageError(f"{path}: no list of tickets ({e})", "give last run's tickets.json") from e


def write(found: Sequence[Ticket], b: Bundle, out: Path, old: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    """Write tickets, attachments and tickets.json into a folder; returns the entries of `old` that are gone."""
    # before anything is written: it goes by the listing of the last run, which the new one replaces
    _clear(out)
    shared = []
    for name, format in (("diagnosis.html", "html"), ("diagnosis.json", "json")):
        if format in formats.formats():
            with writing.atomic(out / name) as put:
                formats.render(b, format, put, full=True)
            shared.append(name)
    for t in found:
        # the name is for people, and cut; the fingerprint keeps the folders of two tickets apart
        folder = f"{re.sub(r'[^a-z0-9-]', '-', t.cause['cause'])[:60]}-{t.fingerprint[:8]}"
        evidence = (
            json.dumps(t.evidence(), ensure_ascii=False, allow_nan=False, indent=1).encode("utf-8", "replace").decode()
        )
        texts = {
            # what GitHub takes as an issue's text, and Jira as a description
            "ticket.md": t.body("markdown", 65_536),
            "ticket.jira.txt": t.body("jira", 32_767),
            "evidence.json": evidence + "\n",
        }
        for name, text in texts.items():
            with writing.atomic(out / folder / name) as put:
                put(text)
        t.files = [*(f"{folder}/{name}" for name in texts), *shared]
    here = {t.fingerprint for t in found}
    gone = [
        {"fingerprint": o["fingerprint"], "title": o["title"], "rule": o.get("rule")}
        for o in old
        if o["fingerprint"] not in here
    ]
    listing = {"schema": SCHEMA, "tickets": [t.listing() for t in found], "gone": gone}
    # last: it never lists what is not there
    with writing.atomic(out / "tickets.json") as put:
        put(
            json.dumps(listing, ensure_ascii=False, allow_nan=False, indent=1).encode("utf-8", "replace").decode()
            + "\n"
        )
    return gone


def _clear(out: Path) -> None:
    """Remove the ticket texts an earlier run listed, so that a folder never shows yesterday's tickets."""
    with contextlib.suppress(TriageError):
        for t in read_old(out / "tickets.json"):
            for name in t.get("files", []):
                # a listing may come from anybody: nothing but names that `write` gives is ever removed
                if re.fullmatch(r"[a-z0-9-]{1,80}/[a-z.]{1,40}", str(name)):
                    (out / name).unlink(missing_ok=True)
                    with contextlib.suppress(OSError):
                        # a folder into which people laid something of their own stays
                        (out / name).parent.rmdir()
