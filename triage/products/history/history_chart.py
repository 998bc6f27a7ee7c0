"""Coordinates of the trend's drawing: builds equally far apart, a dot per run, round ticks, changes with their cause."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from triage.products.history.gate_lines import signed
from triage.products.history.history_result import Moved, Named, Point
from triage.rendering.escape import short
from triage.rendering.phrases import time

WIDTH, HEIGHT, LEFT, RIGHT, TOP, FOOT = 1000, 350, 104, 14, 34, 70
NAMES = 24  # builds named on the axis; of more every second one, and so on
TICKS = 5
LETTER = 17  # width of a letter on a phone


def date(at: int) -> str:
    """`2026-05-01`."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def chart(points: Sequence[Point], moved: Sequence[Moved]) -> dict[str, Any]:
    """What the template draws; empty lists without points."""
    size = {
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "top": TOP,
        "foot": HEIGHT - FOOT,
        "zero": "0",
    }
    if not points:
        return {**size, "marks": [], "dots": [], "points": "", "steps": [], "names": []}
    marks = ticks(min(p["low"] for p in points), max(p["high"] for p in points))
    low, high = marks[0], marks[-1]

    def x(i: int) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (i + 0.5) / len(points), 1)

    def y(ns: float) -> float:
        return round(TOP + (HEIGHT - TOP - FOOT) * (high - ns) / (high - low), 1)

    place = {p["build"]["revision"]: i for i, p in enumerate(points)}
    every = math.ceil(len(points) / NAMES)
    return {
        **size,
        "marks": [(y(v), time(v) if v else "0") for v in marks],
        "dots": [
            (x(i), [y(ns) for ns in p["runs"]], f"{name(p)} {date(p['build']['at'])}: {time(p['ns'], 4)}")
            for i, p in enumerate(points)
        ],
        "points": " ".join(f"{x(i)},{y(p['ns'])}" for i, p in enumerate(points)),
        "steps": _rows(
            [(x(place[m["by"]["revision"]]), m["verdict"], note(m)) for m in moved if m["by"]["revision"] in place]
        ),
        "names": [(x(i), name(p)) for i, p in enumerate(points) if (len(points) - 1 - i) % every == 0],
    }


def _rows(steps: Sequence[tuple[float, str, str]]) -> list[tuple[float, int, str, str]]:
    """Changes with the height of their labels: a second row where one would cover the label before it."""
    out: list[tuple[float, int, str, str]] = []
    end = 0.0
    for x, word, text in sorted(steps):
        row = 1 if out and x < end and out[-1][1] == 24 else 0
        out.append((x, 24 + 32 * row, word, text))
        end = x + LETTER * (len(text) + 2)
    return out


def name(p: Point) -> str:
    """The label of a build, else the beginning of its commit."""
    return short(p["build"]["labels"][0], 12) if p["build"]["labels"] else p["build"]["revision"][:10]


def build(b: Named) -> str:
    """`1.9.0 (a1b2c3d4e5f6)`: the label of a build and its commit, or the commit alone."""
    revision = b["revision"][:12]
    return f"{short(b['labels'][0], 40)} ({revision})" if b["labels"] else revision


def note(m: Moved) -> str:
    """`+8.1 % register spilling`."""
    change = signed(m["change"])
    return f"{change} {short(m['title'], 24)}" if m["title"] and m["was"] != m["cause"] else change


def ticks(low: float, high: float) -> list[float]:
    """Round values that hold both ends: multiples of 1, 2 or 5 times a power of ten."""
    span = (high - low) or 0.1 * high or 1.0
    unit = 10 ** math.floor(math.log10(span / TICKS))
    step = next(unit * m for m in (1, 2, 5, 10) if span / (unit * m) <= TICKS)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [i * step for i in range(first, max(last, first + 1) + 1)]
