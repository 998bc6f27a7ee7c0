"""The marker tree of a page: groups and workloads, with the time each holds."""

from __future__ import annotations

from typing import Any

from triage.rendering import phrases
from triage.rendering.html.words import rounded


def tree(doc: dict[str, Any]) -> list[list[Any]]:
    """Nodes of the marker tree: [parent, name, workload index or -1, inclusive ns]; node 0 is the whole.

    Levels that are no workload themselves become nodes whose time is the sum of what lies below.
    """
    many = len(doc["captures"]) > 1
    index = {w["id"]: i for i, w in enumerate(doc["workloads"])}
    nodes: list[list[Any]] = [[-1, "All captures" if many else "Whole capture", -1, 0.0]]
    roots: dict[str, int] = {}
    of: dict[str, int] = {}
    level: dict[tuple[int, str], int] = {}

    def node(parent: int, name: str, workload: int) -> int:
        nodes.append([parent, name, workload, 0.0])
        return len(nodes) - 1

    def place(w: dict[str, Any]) -> int:
        if w["id"] in of:
            return of[w["id"]]
        above = doc["workloads"][index[w["parent"]]] if w["parent"] in index else None
        if above is not None:
            # a path begins at the root, and the parent stands there already with its own levels
            at, skip = place(above), len(above["path"]) + 1
        else:
            at, skip = 0, 0
            if many:
                # the same marker in two captures is two nodes
                if w["capture"] not in roots:
                    roots[w["capture"]] = node(0, phrases.tail(w["capture"]), -1)
                at = roots[w["capture"]]
        for name in w["path"][skip:]:
            key = (at, name)
            if key not in level:
                level[key] = node(at, name, -1)
            at = level[key]
        of[w["id"]] = node(at, w["name"], index[w["id"]])
        return of[w["id"]]

    for w in doc["workloads"]:
        place(w)
    below = [0.0] * len(nodes)
    # backwards, since a node stands after its parent: its sum is whole when it is passed up
    for k in range(len(nodes) - 1, -1, -1):
        parent, _, w, _ = nodes[k]
        own = (doc["workloads"][w]["duration_ns"] or 0.0) if w >= 0 else 0.0
        # without a time of its own, or shorter than what runs in it on several queues, it is as wide as what it holds
        nodes[k][3] = rounded(max(own, below[k]), 8)
        if parent >= 0:
            below[parent] += nodes[k][3]
    # time under no marker belongs to the frame too and stays empty in the drawing
    nodes[0][3] = max(nodes[0][3], doc["frame"]["duration_ns"] or 0)
    tops = [k for k, n in enumerate(nodes) if n[0] == 0]
    if len(tops) == 1 and nodes[tops[0]][3] >= 0.9999 * nodes[0][3] and tops[0] == 1:
        nodes = [[n[0] - 1, *n[1:]] for n in nodes[1:]]  # a single marker spans everything: it is the root
    return nodes


def leaders(doc: dict[str, Any], nodes: list[list[Any]]) -> list[str]:
    """Limiter class of each node: a workload's own, for a group the one with most exclusive time below."""
    below: list[dict[str, float]] = [{} for _ in nodes]
    out = [""] * len(nodes)
    for k in range(len(nodes) - 1, -1, -1):
        parent, _, w, _ = nodes[k]
        if w >= 0:
            work = doc["workloads"][w]
            out[k] = work["limiter_class"]
            below[k][out[k]] = below[k].get(out[k], 0.0) + (work["self_ns"] or 0.0)
        else:
            # ties go to the first word in the alphabet: the same input gives the same page
            out[k] = max(sorted(below[k]), key=lambda c: below[k][c], default="unknown")
        if parent >= 0:
            for name, ns in below[k].items():
                below[parent][name] = below[parent].get(name, 0.0) + ns
    return out
