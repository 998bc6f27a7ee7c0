"""Which workload before is which workload after: by path, name and kind first, then careful guesses at renames.

A guess needs the same parent and a compatible kind, and must be the best for both sides; what stays unmatched is said.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from triage.capture.capture import SEP

ENOUGH = 0.6  # of 1: a rename below this likeness stays unmatched
CLEAR = 0.05  # and it must be ahead of the runner-up by this much
MOST = 150  # leftovers per parent that are compared one with another; more of them are told apart by name alone


@dataclass(slots=True)
class Item:
    """One workload on one side; lists have one entry per repeat. order: its place in the capture, 0 to 1.

    votes: rule id -> did it fire, per repeat that could tell. rules: rule id -> "fired" or "absent". gains: rule id -> (low, likely, bound) fractions of its time.
    """

    path: str
    name: str
    kind: str
    shape: str
    nth: int
    order: float
    times: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    noise: float = 0.0
    values: dict[str, list[float]] = field(default_factory=dict)
    votes: dict[str, list[bool]] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    gains: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    factors: dict[str, list[float]] = field(default_factory=dict)

    @property
    def full(self) -> str:
        """Path and name joined."""
        return f"{self.path}{SEP}{self.name}" if self.path else self.name


@dataclass(frozen=True, slots=True)
class Pair:
    """Two items taken for one. how: "" when their names agree, else why they were taken for one."""

    before: Item
    after: Item
    how: str = ""


def match(before: Sequence[Item], after: Sequence[Item]) -> tuple[list[Pair], list[Item], list[Item]]:
    """(pairs in the order of `after`, items only before, items only after)."""
    left, right = list(before), list(after)
    pairs: list[Pair] = []
    keys: tuple[tuple[Callable[[Item], Hashable], str], ...] = (
        (lambda i: (i.full, i.kind, i.shape, i.nth), ""),
        (lambda i: (i.full, i.kind, i.nth), "same name and kind, another launch shape"),
        (lambda i: (i.full, i.nth), "same name"),
    )
    for key, how in keys:
        left, right = _by_key(left, right, key, how, pairs)
    renamed: dict[str, str] = {}
    # parents before children: once a marker is known to be renamed, what is below it matches by itself
    for depth in sorted({i.path.count(SEP) if i.path else -1 for i in left}):
        level = [i for i in left if (i.path.count(SEP) if i.path else -1) == depth]
        for b, a, how in _renames(level, right, renamed, len(before) == len(after) == 1):
            pairs.append(Pair(b, a, how))
            renamed[b.full] = a.full
            left.remove(b)
            right.remove(a)
        # children of a renamed marker are matched under its new name
        left, right = _by_key(
            left, right, lambda i: (_translate(i.full, renamed), i.kind, i.nth), "its parent was renamed", pairs
        )
    place = {id(i): n for n, i in enumerate(after)}
    pairs.sort(key=lambda p: place[id(p.after)])
    return pairs, left, right


def _by_key(
    left: list[Item], right: list[Item], key: Callable[[Item], Hashable], how: str, pairs: list[Pair]
) -> tuple[list[Item], list[Item]]:
    waiting: dict[Hashable, list[Item]] = {}
    # reversed: pop() below then takes the first of several
    for b in reversed(left):
        waiting.setdefault(key(b), []).append(b)
    taken: set[int] = set()
    rest = []
    for a in right:
        if found := waiting.get(key(a)):
            b = found.pop()
            pairs.append(Pair(b, a, how))
            taken.add(id(b))
        else:
            rest.append(a)
    return [b for b in left if id(b) not in taken], rest


def _translate(full: str, renamed: dict[str, str]) -> str:
    head, tail = full, ""
    while head:
        if head in renamed:
            return renamed[head] + tail
        cut = head.rfind(SEP)
        head, tail = (head[:cut], head[cut:] + tail) if cut >= 0 else ("", tail)
    return full


def _renames(
    left: Sequence[Item], right: Sequence[Item], renamed: dict[str, str], alone: bool
) -> list[tuple[Item, Item, str]]:
    groups: dict[str, tuple[list[Item], list[Item]]] = {}
    for b in left:
        groups.setdefault(_translate(b.path, renamed), ([], []))[0].append(b)
    for a in right:
        if a.path in groups:
            groups[a.path][1].append(a)
    out = []
    for olds, news in groups.values():
        if alone and len(olds) == len(news) == 1:
            out.append((olds[0], news[0], "the only workload on each side"))
        elif len(olds) <= MOST and len(news) <= MOST:
            out += _mutual(olds, news)
    return out


def _mutual(olds: list[Item], news: list[Item]) -> list[tuple[Item, Item, str]]:
    """Pairs that are each other's best and clearly ahead of the runner-up."""
    score = [[likeness(b, a) for a in news] for b in olds]
    out = []
    for i, row in enumerate(score):
        if not row:
            continue
        j = max(range(len(row)), key=row.__getitem__)
        best = row[j]
        # rivals of either side: two olds that claim one new are a doubt too
        others = [v for k, v in enumerate(row) if k != j] + [score[k][j] for k in range(len(olds)) if k != i]
        if best >= ENOUGH and all(best >= v + CLEAR for v in others):
            out.append((olds[i], news[j], f"renamed: same parent and kind, {best:.0%} alike"))
    return out


def likeness(b: Item, a: Item) -> float:
    """0-1: names count half, place in the capture and counters the rest; incompatible kinds are 0."""
    if b.kind and a.kind and b.kind != a.kind:
        return 0.0
    names = alike(b.name, a.name)
    # a quarter of the capture away is as good as anywhere
    near = 1.0 - min(1.0, abs(b.order - a.order) * 4)
    return 0.55 * names + 0.2 * near + 0.25 * _counters(b, a)


def alike(before: str, after: str) -> float:
    """0-1: how much of two names agrees."""
    one, two = plain(before), plain(after)
    return 1.0 if one == two else difflib.SequenceMatcher(None, one, two, autojunk=False).ratio()


def plain(name: str) -> str:
    """A name without what changes from build to build: template and call arguments, digits, case, separators."""
    text = re.sub(r"<[^<>]*>|\([^()]*\)", "", name[:400])
    return re.sub(r"[\W\d_]+", " ", text).strip().lower() or name.lower()[:400]


def _counters(b: Item, a: Item) -> float:
    shared = [m for m in b.values if m in a.values and m != "gpu.time"]
    if not shared:
        return 0.5
    gaps = [abs(b.values[m][0] - a.values[m][0]) / max(abs(b.values[m][0]), abs(a.values[m][0]), 1e-12) for m in shared]
    return 1.0 - min(1.0, sum(gaps) / len(gaps))
