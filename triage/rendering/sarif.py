"""SARIF 2.1.0 (OASIS): a result per to-do item, a rule per cause, the fingerprints that tickets and histories have too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from triage.document.bundle import Bundle
from triage.document.entries import ItemEntry
from triage.document.page_entries import CauseEntry
from triage.document.todo_items import is_accepted
from triage.files import plain_json
from triage.rendering import places
from triage.rendering.escape import clean
from triage.rendering.findings_csv import Write

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}
FINGERPRINT = "triageCause/v2"  # of causes and what was captured: the same in tomorrow's capture


def sarif(b: Bundle, write: Write) -> None:
    """Write one run. Accepted items are suppressed results; remarks on the data are notifications."""
    rules = {name: k for k, name in enumerate(dict.fromkeys(i["cause"] for i in b.todo))}
    at = {i["fingerprint"]: found for i, found in places.standing(b)}
    tool = b.head["tool"]
    run = {
        "tool": {
            "driver": {
                "name": tool["name"],
                "semanticVersion": tool["version"],
                "rules": [_rule(b.causes[name]) for name in rules],
            }
        },
        "artifacts": [{"location": _file(c["path"]), "hashes": {"sha-256": c["sha256"]}} for c in b.head["captures"]],
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {"level": "note", "message": {"text": clean(text)}} for text in _notes(b)
                ],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(i, rules[i["cause"]], at.get(i["fingerprint"], [])) for i in b.todo],
        "properties": {"durationNs": b.frame["duration_ns"], "recoverableNs": b.frame["recoverable_ns"]},
    }
    write(plain_json.dumps({"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]}, indent=1) + "\n")


def _notes(b: Bundle) -> Iterator[str]:
    yield from b.frame["notes"]
    yield from (q["message"] for q in b.quality)


def _rule(c: CauseEntry) -> dict[str, Any]:
    """A cause as a rule."""
    link = next((x["url"] for x in c["cites"] if x["url"] and x["url"].startswith("https://")), None)
    return {
        "id": c["id"],
        "shortDescription": {"text": clean(c["title"])},
        "fullDescription": {"text": clean(c["meaning"])},
        **({"helpUri": link} if link else {}),
    }


def _result(item: ItemEntry, rule: int, found: list[places.Place]) -> dict[str, Any]:
    figures = {k: item[k] for k in ("rank", "saved_ns", "share", "confidence", "workload_count")}
    result: dict[str, Any] = {
        "ruleId": item["cause"],
        "ruleIndex": rule,
        "level": LEVELS[item["level"]],
        "message": {"text": places.sentence(item)},
        "locations": [_location(p) for p in found],
        "partialFingerprints": {FINGERPRINT: item["fingerprint"]},
        "rank": round(100 * min(1.0, item["share"] or item["fraction"] or 0.0), 3),
        "properties": figures,
    }
    if is_accepted(item):
        result["suppressions"] = [{"kind": "external", "justification": clean(item["accepted"]["reason"])}]
    return result


def _location(p: places.Place) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _file(p.file)}
    if p.line > 0:
        physical["region"] = {"startLine": p.line}
    return {"physicalLocation": physical, **({"message": {"text": clean(p.text)}} if p.text else {})}


def _file(path: str) -> dict[str, str]:
    """A path as a URI reference (RFC 3986): relative as it was typed, absolute as file:."""
    text = clean(path).replace("\\", "/")
    absolute = "file://" if text.startswith("/") else "file:///" if text[1:3] == ":/" else ""
    return {"uri": absolute + quote(text, safe="/" if not absolute else "/:")}
