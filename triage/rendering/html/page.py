"""What the HTML pages need beyond the common variables: packed data, drawings, style and script with their hashes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache

from markupsafe import Markup

from triage.document.bundle import MAX_PASSES, Bundle
from triage.document.entries import CiteEntry
from triage.document.page_entries import RuleEntry
from triage.document.summary import Summary
from triage.files.bundled import share
from triage.ground import glossary as words
from triage.rendering import phrases
from triage.rendering.frames_table import DEFAULT_MARKERS, MAX_MARKERS, frames_table
from triage.rendering.html import bars, drawings, lanes, operator_roofline, packing, page_data
from triage.rendering.html.string_table import Json, Words, web
from triage.rendering.html.tree_data import Nodes, tree
from triage.rendering.labels import HEADS
from triage.rendering.operator_table import DEFAULT_OPERATORS, MAX_OPERATORS, operator_table
from triage.rendering.pass_table import decisive_first, pass_table

# read as they are, never rendered: a brace in them is CSS or JavaScript, not Jinja
STYLES = ("base.css.j2",)
REPORT_STYLES = (*STYLES, "grid.css.j2", "style.css.j2", "style_charts.css.j2")
SCRIPTS = ("base.js.j2",)
# a table of any length, from packed rows
GRID_STYLES, GRID_SCRIPTS = (*STYLES, "grid.css.j2"), (*SCRIPTS, "part.js.j2", "grid.js.j2")
REPORT_SCRIPTS = (
    *SCRIPTS, "part.js.j2", "unpack.js.j2", "address.js.j2", "grid.js.j2", "script_charts.js.j2", "script_places.js.j2", "finding.js.j2", "marker.js.j2",
    "script_table.js.j2", "reference.js.j2", "script.js.j2",
)  # fmt: skip


def page(b: Bundle, summary: Summary, brief: bool = False) -> dict[str, object]:
    """Variables under `page`. Style and script are allowed by hash, so nothing injected could run.

    brief: no script, no packed data and only the beginning of long lists, so that a notebook stays small.
    """
    nodes = tree(b)
    passes = pass_table(b.view["passes"], full=not brief)
    passes = passes and decisive_first(passes)
    views = parts_named("view", ".html.j2")
    bounds = [c["bound_ns"] or 0.0 for c in summary["causes"]]
    return {
        **shell(
            (*REPORT_STYLES, *parts_named("view", ".css.j2")),
            # the last one starts the page: parts that add to it come before
            () if brief else (*REPORT_SCRIPTS[:-1], *parts_named("view", ".js.j2"), REPORT_SCRIPTS[-1]),
        ),
        "brief": brief,
        "passes": passes,
        "pass_bars": bars.pass_bars(passes.times, [row[0] for row in passes.rows], b.frame.get("budgets", []))
        if passes
        else [],
        "over_frames": frames_table(b.view["captures"], most=DEFAULT_MARKERS if brief else MAX_MARKERS),
        "operators": operator_table(
            b.view["frame"]["operators"],
            b.view["frame"]["duration_ns"],
            captures=b.view["captures"],
            most=DEFAULT_OPERATORS if brief else MAX_OPERATORS,
        ),
        "operator_roofline": ""
        if brief
        else operator_roofline.roofline(b.view["frame"]["operators"], summary["duration_ns"]),
        "most_passes": MAX_PASSES,
        "parts": {} if brief else {name: Markup(text) for name, text in packing.blobs(_parts(b, nodes)).items()},
        "views": views,
        "index": {w: i for i, w in enumerate(b.workloads.field("id"))},
        "titles": {name: c["title"] for name, c in b.causes.items()},
        "found": {f["rank"]: f for f in b.findings},
        "strip": bars.strip(summary["limiters"]),
        "verdicts": bars.verdicts(summary["verdicts"]),
        "budget": bars.budget(summary),
        "budgeted": bars.sums(summary),
        "ruler": bars.ruler(summary["duration_ns"]),
        "ruled": bars.ruler,
        "interval": bars.interval,
        "lanes": lanes.lanes,
        "queues": lanes.queues(b.view["captures"]),
        "most_ns": max(bounds, default=0.0),
        "icicle": "" if brief else drawings.icicle(b, nodes),
        "narrow": None if b.frame["timeline"] is None else drawings.too_narrow(nodes),
        "nodes": len(nodes),
    }


def shell(styles: Sequence[str] = STYLES, scripts: Sequence[str] = SCRIPTS) -> dict[str, object]:
    """What every page of the product has: style, script, the policy that allows these two and nothing else, hatches."""
    style, script = joined(tuple(styles)), joined(tuple(scripts))
    # img-src: the page's icon is a data: address, all it ever loads
    allowed = f"style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:"
    return {
        "style": Markup(style),
        "script": Markup(script),
        # default-src does not cover base-uri and form-action: an injected <base> or form must be banned by name
        "csp": f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'",
        "patterns": bars.patterns(),
        "swatch": bars.swatch,
    }


def parts_named(kind: str, suffix: str) -> list[str]:
    """Parts of the page that are found by their name, such as `view_passes.html.j2`: a new view is a new file."""
    return sorted(p.name for p in (share("reports") / "_parts").glob(f"{kind}_*{suffix}"))


@cache
def joined(names: tuple[str, ...]) -> str:
    """Parts as one text, without indentation and lines of comment."""
    lines = []
    for name in names:
        for line in (share("reports") / "_parts" / name).read_text("utf-8").splitlines():
            text = line.strip()
            if text and not text.startswith("//"):
                lines.append(text)
    # a browser hashes every byte between the tags, so nothing may be added around this text later on
    return "\n".join(lines)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _parts(b: Bundle, nodes: Nodes) -> Iterator[tuple[str, Json]]:
    words = Words()
    yield from page_data.pack(b, nodes, words)
    yield "words", reference(b, words.metric_rows)


def reference(b: Bundle, metrics: Sequence[Sequence[str]]) -> dict[str, Json]:
    """Content behind links: rules that fired or were ruled out, causes, and the glossary with the metrics of the page."""
    return {
        "rules": [_rule(r) for r in b.rules.values()],
        "causes": [{**c, "cites": _cites(c["cites"])} for c in b.causes.values()],
        "glossary": glossary(metrics),
    }


def glossary(metrics: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    """Every unit and metric the page mentions, with its meaning."""
    terms = {row[1]: {"term": row[1], "id": row[0], "meaning": row[3]} for row in metrics if row[3]}
    # the schema wins over the glossary: each term once
    for entry in words.entries():
        terms.setdefault(entry.term, {"term": entry.term, "id": "", "meaning": entry.meaning})
    for name, text in (
        ("SOL%", "Speed of light: achieved throughput of a unit as a share of its peak, over elapsed cycles"),
        (HEADS.self_time, "A marker's time without the markers inside it; exclusive time in Nsight Systems"),
        (HEADS.recoverable, "Sum of savings over the to-do list: each workload counts once, with its root cause"),
    ):
        terms.setdefault(name, {"term": name, "id": "", "meaning": text})
    return sorted(terms.values(), key=lambda t: (t["term"].lower(), t["id"]))


def _rule(r: RuleEntry) -> dict[str, object]:
    """A rule that fired, with its thresholds in force and safe links."""
    limits = [{**t, "value": phrases.number(t["value"], t["unit"])} for t in r["thresholds"]]
    return {**r, "thresholds": limits, "cites": _cites(r["cites"])}


def _cites(found: Sequence[CiteEntry]) -> list[Json]:
    return [{"text": c["text"], "url": c["url"] if web(c["url"]) else ""} for c in found]
