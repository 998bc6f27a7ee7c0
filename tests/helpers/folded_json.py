"""A result (schema triage/1) with its repeated parts written once, and back: small files whose diffs show what changed.

In a capture of many workloads one cell stands under hundreds of findings, and the texts of a rule under all of its own.
`fold` names each source by its metric and line (`draw.count@75`) and moves the texts that all findings of a rule share
to one line per rule. `unfold` gives the same document again, value for value.
"""

import json
from typing import Any

TEXTS = (
    "title",
    "because",
    "advice",
    "code",
    "verify",
    "caveats",
    "cites",
    "name",
    "cause",
)  # of a rule, where no number fills them

FROM = "from"  # a source that stands in `sources`


def fold(document: dict[str, Any]) -> dict[str, Any]:
    """The document without repetitions, with `rules` and `sources` at its end."""
    sources: dict[str, Any] = {}
    names: dict[str, str] = {}

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(v) for v in value]
        if not isinstance(value, dict):
            return value
        folded = {k: walk(v) for k, v in value.items()}
        if _is_measured(value):
            node = {k: folded[k] for k in ("metric", "value", "unit") if k in folded} | {"source": folded["source"]}
            name = _name(node, sources, names)
            if list(folded) == list(node):
                return name
            return {FROM if k == "source" else k: name if k == "source" else v for k, v in folded.items()}
        return folded

    out = walk(document)
    rules: dict[str, dict[str, Any]] = {}
    of_rule: dict[str, list[dict[str, Any]]] = {}
    for finding in out.get("findings", ()):
        of_rule.setdefault(finding["rule"], []).append(finding)
    for rule, findings in sorted(of_rule.items()):
        first = findings[0]
        rules[rule] = {k: first[k] for k in TEXTS if k in first and all(f.get(k) == first[k] for f in findings)}
    if "findings" in out:
        out["findings"] = [{k: v for k, v in f.items() if k not in rules[f["rule"]]} for f in out["findings"]]
    return out | {"rules": rules, "sources": sources}


def unfold(folded: dict[str, Any]) -> dict[str, Any]:
    """The document that `fold` was given."""
    sources = folded["sources"]

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(v) for v in value]
        if not isinstance(value, dict):
            return value
        out = {}
        for k, v in value.items():
            if k == FROM:
                out["source"] = walk(sources[v]["source"])
            elif k == "inputs":
                out[k] = [walk(sources[i]) if isinstance(i, str) else walk(i) for i in v]
            else:
                out[k] = walk(v)
        return out

    whole = {k: walk(v) for k, v in folded.items() if k not in ("rules", "sources")}
    for finding in whole.get("findings", ()):
        finding.update(folded["rules"][finding["rule"]])
    return whole


def dumps(folded: dict[str, Any]) -> str:
    """One line per entry of a list, rule and source."""
    parts = []
    for key, value in folded.items():
        if isinstance(value, list) and value:
            text = "[\n" + ",\n".join(map(_line, value)) + "\n]"
        elif key in ("rules", "sources") and value:
            text = "{\n" + ",\n".join(f"{_line(k)}:{_line(v)}" for k, v in value.items()) + "\n}"
        else:
            text = _line(value)
        parts.append(f"{_line(key)}:{text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_measured(value: dict[str, Any]) -> bool:
    return "metric" in value and isinstance(value.get("source"), dict)


def _name(node: dict[str, Any], sources: dict[str, Any], names: dict[str, str]) -> str:
    """The name of a value and its source, the same for the same."""
    text = _line(node)
    if text not in names:
        stem = f"{node['metric']}@{_first_line(node['source'], sources)}"
        name, n = stem, 1
        while name in sources:
            n += 1
            name = f"{stem}#{n}"
        names[text], sources[name] = name, node
    return names[text]


def _first_line(source: dict[str, Any], sources: dict[str, Any]) -> str:
    if "line" in source:
        return str(source["line"])
    for i in source.get("inputs", ()):
        return _first_line((sources[i] if isinstance(i, str) else i)["source"], sources)
    return "-"
