"""What the HTML template needs beyond the common variables: packed data, drawings, style and script with their hashes."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import importlib
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from triage.files.bundled import share
from triage.rendering import phrases
from triage.rendering.html import drawings, packed

if TYPE_CHECKING:
    from triage.diagnosis.diagnose import Diagnosis

STYLES = ("_style.css.j2", "_style_charts.css.j2")
SCRIPTS = ("_script.js.j2", "_script_charts.js.j2", "_script_table.js.j2")


def page(d: Diagnosis, names: dict[str, Any]) -> dict[str, Any]:
    """Variables under `page`. Style and script are allowed by hash, so nothing injected could run."""
    doc = names["result"]
    nodes = packed.tree(doc)
    data = packed.pack(doc, nodes, names["decision"], names["roofline"])
    style, script = _joined(STYLES), _joined(SCRIPTS)
    return {
        "style": Markup(style), "script": Markup(script), "data": Markup(packed.text(data)),
        "csp": f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; base-uri 'none'; form-action 'none'",
        "patterns": drawings.patterns(), "strip": drawings.strip(names["summary"]["limiters"]), "icicle": drawings.icicle(doc, nodes),
        "spread": drawings.spread(names["summary"]), "swatch": drawings.swatch, "sol_bars": drawings.sol_bars, "nodes": len(nodes),
        "glossary": glossary(data), "rules": _rules(d, doc),
    }  # fmt: skip


def _joined(parts: tuple[str, ...]) -> str:
    return "\n".join((share("reports") / name).read_text("utf-8").strip() for name in parts)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def glossary(data: dict[str, Any]) -> list[dict[str, str]]:
    """Every unit and metric the page mentions, with its meaning."""
    terms = {row[1]: {"term": row[1], "id": row[0], "meaning": row[3]} for row in data["M"] if row[3]}
    for term, meaning in _terms().items():
        terms.setdefault(term, {"term": term, "id": "", "meaning": meaning})
    for name, text in (("SOL%", "Speed of light: achieved throughput of a unit as a share of its peak, over elapsed cycles"),
                       ("Own time", "Exclusive time: a marker's time without the markers inside it"),
                       ("Recoverable", "Sum over workloads of the best single finding; gains on one workload are alternatives and never add")):  # fmt: skip
        terms.setdefault(name, {"term": name, "id": "", "meaning": text})
    return sorted(terms.values(), key=lambda t: (t["term"].lower(), t["id"]))


def _terms() -> dict[str, str]:
    """Words of the trade, where the glossary is part of this installation."""
    with contextlib.suppress(ImportError):
        words = importlib.import_module("triage.ground.glossary")
        return {str(term): str(getattr(entry, "meaning", entry)) for term, entry in getattr(words, "TERMS", {}).items()}
    return {}


def _rules(d: Diagnosis, doc: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules that spoke, with thresholds and sources: what `triage explain` says, for readers of the page."""
    used = {f["rule"] for f in doc["findings"]} | {r["rule"] for r in doc["ruled_out"]}
    out = []
    for rule in sorted(d.book.rules, key=lambda r: r.id):
        if rule.id not in used:
            continue
        cites = {c.key: c.text for c in rule.cites}
        limits = []
        for t in rule.thresholds.values():
            value = rule.threshold(t.name, d.method)
            why = t.why or cites.get(t.cite, "")
            limits.append({"name": t.name.replace("_", " "), "value": phrases.number(value * 100, "%") if t.unit == "ratio" else phrases.number(value, t.unit),
                           "why": why, "house": not t.cite})  # fmt: skip
        out.append({"id": rule.id, "name": rule.name, "title": rule.title, "summary": rule.summary or rule.title, "thresholds": limits,
                    "cites": [{"text": c.text, "url": c.url if c.url.startswith(("https://", "http://")) else ""} for c in rule.cites]})  # fmt: skip
    return out
