"""The passes of a frame: its marker tree cut where people speak of passes, every range in exactly one of them.

A marker that takes more than half of the frame is a wrapper and shown as what it holds, as long as that is named; what
lies in it without a marker of its own is a pass of its own. The times of the passes add up to those of the ranges.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field

from triage.capture.arrays import Floats
from triage.capture.capture import SEP, Capture, Pass, Table
from triage.derive.vendor import of_kernels

WRAPPER = 0.5  # heuristic: a marker around more than half of the frame is no pass
MAX_PASS_RANGES = 50_000  # ranges up to which a capture is a frame of passes
# names of API calls as frame profilers list them, with their arguments or without
CALL = re.compile(
    r"(?:ID3D\w+::|vkCmd|gl)?(?:Draw|Dispatch|Copy|Clear|Resolve|Discard|Blit|ResourceBarrier|Barrier|ExecuteIndirect|MultiDraw|Trace)\w*"
    r"\s*(?:\(.*)?$"
)
DRAW = re.compile(r"(?:ID3D\w+::|vkCmd|gl)?(?:Multi)?Draw(?![a-z])\w*\s*(?:\(.*)?$")  # one draw by its call
DRAWN = ("fullscreen", "geometry", "draw", "raytracing")


class _Node(Struct):
    levels: tuple[str, ...]
    first: int  # of its ranges, for which it was made
    below: dict[str, _Node] = field(default_factory=dict)
    own: list[int] = field(default_factory=list)
    marker: int = -1
    time: float = 0.0

    def child(self, name: str, row: int) -> _Node:
        if name not in self.below:
            self.below[name] = _Node((*self.levels, name), row)
        return self.below[name]

    def rows(self) -> list[int]:
        out = list(self.own)
        for node in self.below.values():
            out += node.rows()
        return out


def may_be_frame(table: Table, tells: Mapping[str, str]) -> bool:
    """Might these rows be rendering work, rather than launches of a compute API or a table too long to be a frame?"""
    if of_kernels(tells) or "launch.block_size" in table.columns:
        return False
    return 0 < len(table) <= MAX_PASS_RANGES and "present.interval" not in table.columns


def is_frame(capture: Capture) -> bool:
    """True for a frame of rendering work, rather than launches of a compute API or a table too long to be one."""
    if not 0 < len(capture) <= MAX_PASS_RANGES or "launch.block_size" in capture.facts:
        return False
    if of_kernels(capture.input.tells):
        return False
    return (
        bool(np.isin(capture.kinds, DRAWN).any())
        or bool((capture.parent >= 0).any())
        or bool((capture.paths != "").any())
        or counts_draws(capture)
    )


def counts_draws(capture: Capture) -> bool:
    """True for a table that counts the draws of its rows: it is a frame's, whoever wrote it."""
    return bool((capture.facts.get("draw.count", np.zeros(1)) > 0).any())


def passes(capture: Capture) -> list[Pass]:
    """The passes in the order of the frame; [] where the capture is no frame or nothing was timed."""
    if not is_frame(capture):
        return []
    own = np.nan_to_num(capture.self_ns)
    total = float(own.sum())
    if total <= 0:
        return []
    root = _tree(capture, own)
    found: list[tuple[int, Pass]] = []
    _cut(root, total, own, found)
    return [p for _, p in sorted(found, key=lambda f: f[0])]


def _tree(capture: Capture, own: Floats) -> _Node:
    root = _Node((), 0)
    nodes: dict[str, list[_Node]] = {}
    paths, names = map(str, capture.paths.tolist()), map(str, capture.names.tolist())
    for i, (path, name, ns, leaf) in enumerate(zip(paths, names, own.tolist(), capture.leaf.tolist(), strict=True)):
        if path not in nodes:
            chain = [root]
            for level in path.split(SEP) if path else []:
                chain.append(chain[-1].child(level, i))
            nodes[path] = chain
        chain = nodes[path]
        node = chain[-1]
        # a draw or dispatch has no name of its own: it belongs to the marker it stands in, where it stands in one
        if not (leaf and ((capture.table.leaf_time and path) or CALL.match(name))):
            node = node.child(name, i)
            chain = [*chain, node]
            node.marker = i
        node.own.append(i)
        for n in chain:
            n.time += ns
    return root


def _cut(node: _Node, total: float, own: Floats, found: list[tuple[int, Pass]]) -> None:
    named = sum(n.time for n in node.below.values())
    if node.below and (not node.levels or (node.time > WRAPPER * total and named > 0.5 * node.time)):
        for below in node.below.values():
            _cut(below, total, own, found)
        loose = [i for i in node.own if own[i] > 0]
        if loose:
            found.append((loose[0], Pass(node.levels, np.array(loose), float(own[loose].sum()), True, node.marker)))
        return
    rows = np.array(sorted(node.rows()), dtype=np.int64)
    if node.time > 0:
        found.append((node.first, Pass(node.levels, rows, node.time, not node.levels, node.marker)))
