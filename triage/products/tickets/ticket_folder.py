"""A folder of tickets: texts, attachments and tickets.json, which the next run reads with --since."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from triage.document.bundle import Bundle
from triage.files import plain_json, writing
from triage.ground.errors import TriageError
from triage.products.tickets.compose import MIN_TICKET_SHARE, why_left_out
from triage.products.tickets.states import assign_states
from triage.products.tickets.text import body
from triage.products.tickets.ticket import FIXED, SCHEMA, Ticket
from triage.rendering import formats


def read_old(path: Path) -> list[dict[str, Any]]:
    """Entries of an earlier tickets.json; raises TriageError when it is none."""
    try:
        old = plain_json.load(path)
        if old["schema"] != SCHEMA:
            raise ValueError(f"schema {old['schema']!r}")
        # what was not seen or fixed then is still known: it may come back
        listed = [*old["tickets"], *old.get("missing", ())]
        return [{**t, "fingerprint": str(t["fingerprint"]), "title": str(t["title"])} for t in listed]
    except OSError as e:
        raise TriageError(f"{path}: cannot be read ({e.strerror or e})", "check --since") from e
    except (ValueError, KeyError, TypeError) as e:
        raise TriageError(f"{path}: not a list of tickets ({e})", "check --since") from e


def write(
    found: Sequence[Ticket],
    b: Bundle,
    out: Path,
    old: Sequence[dict[str, Any]] = (),
    scope: str = "",
    part: bool = False,
    least: float = MIN_TICKET_SHARE,
) -> list[dict[str, Any]]:
    """Write tickets, attachments and tickets.json into a folder; returns the entries of `old` that are not found now.

    part: the bundle is of some workloads of the capture only. least: as `compose.make` had it.
    """
    # before anything is written: it goes by the listing of the last run, which the new one replaces
    _clear(out)
    missing = assign_states(found, old, b, scope, part)
    shared = []
    for name, form in (("diagnosis.html", "html"), ("diagnosis.json", "json")):
        if form in formats.formats():
            with writing.atomic(out / name) as put:
                formats.render(b, form, put, full=True)
            shared.append(name)
    for t in found:
        texts = {
            # what GitHub takes as an issue's text, and Jira as a description
            "ticket.md": body(t, "markdown", 65_536),
            "ticket.jira.txt": body(t, "jira", 32_767),
            "evidence.json": _json(t.evidence()),
        }
        for name, text in texts.items():
            with writing.atomic(out / t.folder / name) as put:
                put(text)
        t.files = [*(f"{t.folder}/{name}" for name in texts), *shared]
    fixed = [o for o in missing if o["state"] == FIXED]
    rest = left_out(found, b, least)
    listing = {
        "schema": SCHEMA,
        "tickets": [t.listing() for t in found],
        "gone": [{k: o[k] for k in ("fingerprint", "title", "rule")} for o in fixed],
        "missing": missing,
        "left_out": {"items": len(rest), "saved_ns": round(sum(i["saved_ns"] or 0.0 for i in rest), 1), "each": rest},
    }
    # last: it never lists what is not there
    with writing.atomic(out / "tickets.json") as put:
        put(_json(listing))
    return missing


def left_out(found: Sequence[Ticket], b: Bundle, least: float) -> list[dict[str, Any]]:
    """Items of the to-do list that have no ticket, in the order of the list, each with its saving in ns and the reason."""
    causes = {t.cause["cause"] for t in found}
    total = b.view["frame"]["duration_ns"]
    return [
        {"title": i["title"], "saved_ns": i["saved_ns"], "why": why_left_out(i, total, least)}
        for i in b.todo
        if i["cause"] not in causes
    ]


def _json(data: object) -> str:
    return plain_json.dumps(data, indent=1) + "\n"


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
