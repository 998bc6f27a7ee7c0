"""Timed zones of GPU queues: which lies in which, by their times."""

from __future__ import annotations

from collections.abc import Sequence

from triage.capture.capture import DEEPEST, SEP

SLACK = 1e-3  # part of a zone by which the one inside may stick out: clocks are rounded


def paths(names: Sequence[str], start: Sequence[float], length: Sequence[float], lane: Sequence[int]) -> list[str]:
    """Path of each zone: the names of those of its lane that hold it, outermost first."""
    out = [""] * len(names)
    order = sorted(range(len(names)), key=lambda i: (lane[i], start[i], -length[i]))
    around: list[int] = []
    for i in order:
        while around and (lane[around[-1]] != lane[i] or not _holds(start, length, around[-1], i)):
            around.pop()
        out[i] = SEP.join(names[a] for a in around[:DEEPEST])
        around.append(i)
    return out


def _holds(start: Sequence[float], length: Sequence[float], outer: int, inner: int) -> bool:
    slack = SLACK * length[inner]
    return (
        start[inner] < start[outer] + length[outer] - slack
        and start[inner] + length[inner] <= start[outer] + length[outer] + slack
    )
