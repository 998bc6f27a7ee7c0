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


def crossing(names: Sequence[str], start: Sequence[float], length: Sequence[float]) -> list[int]:
    """Lane of each zone where an export does not tell it: zones of one queue nest or follow each other, they never cross.

    Zones of one name stay on one lane. The name that crosses most others goes to the second lane, until none does.
    """
    order = sorted(range(len(names)), key=lambda i: (start[i], -length[i]))
    across: dict[str, set[str]] = {}
    around: list[int] = []
    for i in order:
        around = [a for a in around if start[a] + length[a] > start[i] + SLACK * length[i]]
        for a in around[-DEEPEST:]:
            if not _holds(start, length, a, i) and names[a] != names[i]:
                across.setdefault(names[a], set()).add(names[i])
                across.setdefault(names[i], set()).add(names[a])
        around.append(i)
    moved: set[str] = set()
    while any(across.values()):
        most = max(across, key=lambda n: (len(across[n]), n))
        moved.add(most)
        for other in across.pop(most):
            across[other].discard(most)
    return [int(n in moved) for n in names]
