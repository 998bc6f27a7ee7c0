"""Facts of one workload that choose advice and no rule: how it draws or that it dispatches, which way it copies, its language."""

from __future__ import annotations

from triage.capture.capture import SEP, Capture
from triage.capture.trace_nouns import way_of
from triage.inference.rule_context import WAYS
from triage.reading.pass_order import layer
from triage.reading.pass_tree import DRAWN


def own_facts(capture: Capture, workload: int, language: str) -> dict[str, str]:
    """Words of rulebook.applies.FACTS; unknown ones are left out. language: what a kernel was written in, "" if unknown."""
    if workload < 0:
        return {}
    kind, path, name = str(capture.kinds[workload]), str(capture.paths[workload]), str(capture.names[workload])
    facts = {
        "layer": layer(path, name),
        "stage": "draw" if kind in DRAWN else "dispatch" if kind == "compute" else "",
        "copied": WAYS.get(way_of(f"{path}{SEP}{name}"), "") if kind in ("copy", "") else "",
        "api": language,
    }
    return {fact: word for fact, word in facts.items() if word}
