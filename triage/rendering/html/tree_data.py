"""The marker tree of a page: groups and workloads, with the time each holds."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from triage.capture.capture import SEP
from triage.document.bundle import Bundle
from triage.ground.limiters import CLASSES
from triage.rendering import phrases
from triage.rendering.html.string_table import significant


class Nodes(Struct):
    """Columns over the nodes; node 0 is the whole. work: position of the workload, -1 for a group. ns: inclusive time."""

    parent: list[int]
    name: list[str]
    work: list[int]
    ns: list[float]

    def __len__(self) -> int:
        return len(self.name)


def tree(b: Bundle) -> Nodes:
    """Build the tree: levels without a workload become nodes with the summed time of their descendants."""
    columns = b.workloads.columns
    many = len(b.head["captures"]) > 1
    nodes = Nodes([-1], ["All captures" if many else "Whole capture"], [-1], [])
    level: dict[tuple[int, str], int] = {}
    # group of a whole path below a node, so that the levels of a path are looked up once
    seen: dict[tuple[int, int, str], int] = {}

    def node(parent: int, name: str, work: int) -> int:
        nodes.parent.append(parent)
        nodes.name.append(name)
        nodes.work.append(work)
        return len(nodes.name) - 1

    first = 0
    for c in columns:
        root = 0
        # the same marker in two captures is two nodes
        if many and len(c):
            root = node(0, phrases.tail(c.capture), -1)
        of: dict[int, int] = {}
        depth = [0] * len(c)
        above, names, paths = c.above, c.name, c.paths
        for start in range(len(c)):
            if start in of:
                continue
            # a parent may come after its children
            todo = [start]
            while todo:
                i = todo[-1]
                if i in of:
                    todo.pop()
                    continue
                up = above[i]
                if up >= 0 and up not in of:
                    todo.append(up)
                    continue
                todo.pop()
                # a path begins at the root, where the parent already has its own levels
                at, skip = (of[up], depth[up] + 1) if up >= 0 else (root, 0)
                path = paths[i]
                key = (at, skip, path)
                if key not in seen:
                    levels = path.split(SEP) if path else []
                    here = at
                    for name in levels[skip:]:
                        if (here, name) not in level:
                            level[(here, name)] = node(here, name, -1)
                        here = level[(here, name)]
                    seen[key] = here
                depth[i] = path.count(SEP) + 1 if path else 0
                of[i] = node(seen[key], names[i], first + i)
        first += len(c)
    _times(b, nodes)
    tops = [k for k, parent in enumerate(nodes.parent) if parent == 0]
    if tops == [1] and nodes.ns[1] >= 0.9999 * nodes.ns[0]:
        # a single marker spans everything: it is the root
        return Nodes([p - 1 for p in nodes.parent[1:]], nodes.name[1:], nodes.work[1:], nodes.ns[1:])
    return nodes


def _times(b: Bundle, nodes: Nodes) -> None:
    own = np.concatenate([np.nan_to_num(c.time) for c in b.workloads.columns])
    own = np.array(significant(np.append(own, 0.0), 8))[nodes.work].tolist()  # a group, -1, has none
    below = [0.0] * len(nodes)
    nodes.ns = [0.0] * len(nodes)
    # backwards, since a node comes after its parent: its sum is complete when passed up
    for k in range(len(nodes) - 1, -1, -1):
        # without a time of its own, or shorter than what runs in it on several queues, it is as wide as what it holds
        nodes.ns[k] = ns = max(own[k], below[k])
        if nodes.parent[k] >= 0:
            below[nodes.parent[k]] += ns
    # time under no marker belongs to the frame too and stays empty in the drawing
    nodes.ns[0] = max(nodes.ns[0], b.frame["duration_ns"] or 0)
    nodes.ns[0] = significant(np.array([nodes.ns[0]]), 8)[0] or 0


def leaders(b: Bundle, nodes: Nodes) -> list[tuple[str, float]]:
    """Limiter class of the largest part of each node's exclusive time, children included, and that part; a workload's own without times."""
    limiter = np.concatenate([c.limiter for c in b.workloads.columns]).tolist()
    own = np.concatenate([np.nan_to_num(c.own) for c in b.workloads.columns]).tolist()
    held: dict[int, list[float]] = {}
    out = [("unknown", 1.0)] * len(nodes)
    for k in range(len(nodes) - 1, -1, -1):
        parent, w = nodes.parent[k], nodes.work[k]
        mine = held.pop(k, None) or [0.0] * len(CLASSES)
        if w >= 0:
            mine[limiter[w]] += own[w]
        # ties go to the first word in the alphabet: the same input gives the same page
        most, name = min(zip((-ns for ns in mine), CLASSES, strict=True))
        if most:
            out[k] = name, -most / sum(mine)
        elif w >= 0:
            out[k] = CLASSES[limiter[w]], 1.0
        if parent >= 0:
            held[parent] = [a + b for a, b in zip(held.get(parent, [0.0] * len(CLASSES)), mine, strict=True)]
    return out
