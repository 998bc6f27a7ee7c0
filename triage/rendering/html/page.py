"""What the HTML page needs beyond the common variables: packed data, drawings, style and script with their hashes."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from markupsafe import Markup

from triage.document.bundle import Bundle, Entry
from triage.files.bundled import share
from triage.ground import glossary as words
from triage.rendering import phrases
from triage.rendering.html import drawings, packed

# read as they are, never rendered: a brace in them is CSS or JavaScript, not Jinja
STYLES = ("style.css.j2", "style_charts.css.j2")
SCRIPTS = ("script.js.j2", "script_places.js.j2", "script_charts.js.j2", "script_table.js.j2")


def page(b: Bundle, names: dict[str, Any]) -> dict[str, Any]:
    """Variables under `page`. Style and script are allowed by hash, so nothing injected could run."""
    doc = b.document
    nodes = packed.tree(doc)
    data = packed.pack(b, nodes)
    style, script = _joined(STYLES), _joined(SCRIPTS)
    # img-src: the page's icon is a data: address, all it ever loads
    allowed = f"style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:"
    return {
        "style": Markup(style),
        "script": Markup(script),
        "data": Markup(packed.text(data)),
        # default-src does not cover base-uri and form-action: an injected <base> or form must be banned by name
        "csp": f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'",
        "patterns": drawings.patterns(),
        "strip": drawings.strip(names["summary"]["limiters"]),
        "icicle": drawings.icicle(doc, nodes),
        "spread": drawings.spread(names["summary"]),
        "swatch": drawings.swatch,
        "sol_bars": drawings.sol_bars,
        "nodes": len(nodes),
        "glossary": glossary(data),
        "rules": [_rule(r) for r in b.rules.values()],
    }


def _joined(parts: tuple[str, ...]) -> str:
    # a browser hashes every byte between the tags, so nothing may be added around this text later on
    return "\n".join((share("reports") / "_parts" / name).read_text("utf-8").strip() for name in parts)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def glossary(data: dict[str, Any]) -> list[dict[str, str]]:
    """Every unit and metric the page mentions, with its meaning."""
    terms = {row[1]: {"term": row[1], "id": row[0], "meaning": row[3]} for row in data["M"] if row[3]}
    # the schema's own words win over the glossary's: a term stands here once
    for entry in words.entries():
        terms.setdefault(entry.term, {"term": entry.term, "id": "", "meaning": entry.meaning})
    for name, text in (
        ("SOL%", "Speed of light: achieved throughput of a unit as a share of its peak, over elapsed cycles"),
        ("Own time", "Exclusive time: a marker's time without the markers inside it"),
        (
            "Recoverable",
            "Sum over workloads of the best single finding; gains on one workload are alternatives and never add",
        ),
    ):
        terms.setdefault(name, {"term": name, "id": "", "meaning": text})
    return sorted(terms.values(), key=lambda t: (t["term"].lower(), t["id"]))


def _rule(r: Entry) -> Entry:
    """A rule that spoke, with its limits in force and links that can be followed."""
    limits = [{**t, "value": phrases.number(t["value"], t["unit"])} for t in r["thresholds"]]
    cites = [{"text": c["text"], "url": c["url"] if packed.web(c["url"]) else ""} for c in r["cites"]]
    return {**r, "thresholds": limits, "cites": cites}
