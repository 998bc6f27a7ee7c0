"""Which workload before is which workload after: by path, name and kind first, then careful guesses at renames.

A guess needs the same parent and a compatible kind, and must be the best for both sides; what stays unmatched is listed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache, partial

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Indices
from triage.capture.capture import SEP
from triage.products.compare.item import Item, Who

MIN_LIKENESS = 0.6  # of 1: a rename below this likeness stays unmatched
CLEAR = 0.05  # and it must be ahead of the runner-up by this much
MAX_UNMATCHED_PER_PARENT = (
    150  # leftovers per parent that are compared one with another; above it they are matched by name alone
)
ALTOGETHER = (
    250_000  # such comparisons, some 10 to 60 µs each: without an end, a new prefix of 200,000 names took half an hour
)


class Pairs(Struct, frozen=True):
    """Workloads taken for one, by their positions on both sides, in the order of `after`. how: why they were, "" where their
    names agree. joined: per side, positions whose times together are those of the first, where passes were merged or split.
    """

    before: Indices
    after: Indices
    how: list[str]
    joined: tuple[list[list[int]], list[list[int]]]

    def __len__(self) -> int:
        return len(self.how)


Look = Callable[[Sequence[int]], Sequence[Item]]  # workloads of a side as objects


def match(
    before: Sequence[Who], after: Sequence[Who], looks: tuple[Look, Look]
) -> tuple[Pairs, tuple[list[int], list[int]]]:
    """(pairs, positions that are only before and only after). looks: how workloads of both sides are looked at."""
    place = {who: i for i, who in enumerate(before)}
    partner = np.array([place.get(who, -1) for who in after], dtype=np.int64)
    taken = np.zeros(len(before), dtype=bool)
    taken[partner[partner >= 0]] = True
    guess = _Guess(before, after, looks, np.flatnonzero(~taken).tolist(), np.flatnonzero(partner < 0).tolist())
    guess.by_key(lambda w: (w.full, w.kind, w.nth), "same name and kind, different launch shape")
    guess.by_key(lambda w: (w.full, w.nth), "same name")
    joined = guess.joined()
    guess.renames()
    how = [""] * len(after)
    for a, (b, why) in guess.found.items():
        partner[a], how[a] = b, why
    both = np.flatnonzero(partner >= 0)
    return Pairs(partner[both], both, [how[a] for a in both.tolist()], joined), (guess.left, guess.right)


class _Guess:
    """What is left of both sides once exact names are matched, and what of it is taken for one: after -> (before, why)."""

    def __init__(
        self, before: Sequence[Who], after: Sequence[Who], looks: tuple[Look, Look], left: list[int], right: list[int]
    ) -> None:
        self.before, self.after, self.looks = before, after, looks
        self.left, self.right = left, right
        self.found: dict[int, tuple[int, str]] = {}
        self.still = ALTOGETHER

    def by_key(self, key: Callable[[Who], Hashable], why: str) -> None:
        """Match what has one key; of several the first ones."""
        waiting: dict[Hashable, list[int]] = {}
        # reversed: pop() below then takes the first of several
        for b in reversed(self.left):
            waiting.setdefault(key(self.before[b]), []).append(b)
        self._take([(found.pop(), a, why) for a in self.right if (found := waiting.get(key(self.after[a])))])

    def renames(self) -> None:
        """Match what was renamed, parents before children: what is below a renamed marker then matches by itself."""
        renamed: dict[str, str] = {}
        for depth in sorted({self.before[b].depth for b in self.left}):
            guessed = self._renamed([b for b in self.left if self.before[b].depth == depth], renamed)
            renamed |= {self.before[b].full: self.after[a].full for b, a, _ in guessed}
            self._take(guessed)
            if renamed:
                self.by_key(partial(_translated, renamed), "parent renamed")

    def joined(self) -> tuple[list[list[int]], list[list[int]]]:
        """Match what was merged or split: one workload of one side and several of the other, whose names say so."""
        out: tuple[list[list[int]], list[list[int]]] = ([], [])
        if len(self.left) * len(self.right) > ALTOGETHER:
            return out
        merged = _parts_of([(a, self.after[a]) for a in self.right], [(b, self.before[b]) for b in self.left])
        split = _parts_of([(b, self.before[b]) for b in self.left], [(a, self.after[a]) for a in self.right])
        for olds, news, why in (*((m, [a], "merged") for a, m in merged), *(([b], m, "split") for b, m in split)):
            if set(olds) <= set(self.left) and set(news) <= set(self.right):
                out[0].append(olds)
                out[1].append(news)
                self.found[news[0]] = olds[0], f"{why}: same parent and kind, times added up"
                self.left = [b for b in self.left if b not in olds]
                self.right = [a for a in self.right if a not in news]
        return out

    def _take(self, pairs: Sequence[tuple[int, int, str]]) -> None:
        self.found |= {a: (b, why) for b, a, why in pairs}
        gone = {b for b, _, _ in pairs}
        self.left = [b for b in self.left if b not in gone]
        self.right = [a for a in self.right if a not in self.found]

    def _renamed(self, left: Sequence[int], renamed: dict[str, str]) -> list[tuple[int, int, str]]:
        groups: dict[str, tuple[list[int], list[int]]] = {}
        for b in left:
            groups.setdefault(_translate(self.before[b].path, renamed), ([], []))[0].append(b)
        for a in self.right:
            if self.after[a].path in groups:
                groups[self.after[a].path][1].append(a)
        out = []
        for olds, news in groups.values():
            if len(self.before) == len(self.after) == len(olds) == len(news) == 1:
                out.append((olds[0], news[0], "the only workload on each side"))
            elif (
                news
                and len(olds) <= MAX_UNMATCHED_PER_PARENT
                and len(news) <= MAX_UNMATCHED_PER_PARENT
                and len(olds) * len(news) <= self.still
            ):
                self.still -= len(olds) * len(news)
                looked = (look(some) for look, some in zip(self.looks, (olds, news), strict=True))
                out += [(olds[i], news[j], why) for i, j, why in _mutual(*looked)]
        return out


def _parts_of(wholes: Sequence[tuple[int, Who]], parts: Sequence[tuple[int, Who]]) -> Iterator[tuple[int, list[int]]]:
    """Each whole with at least two parts of its name: `Bloom` of `Bloom down` and `Bloom up`, `add mul` of `add` and `mul`."""
    beside: dict[tuple[str, str], list[tuple[int, set[str]]]] = {}
    for p, who in parts:
        beside.setdefault((who.path, who.kind), []).append((p, set(plain(who.name).split())))
    for w, who in wholes:
        name, near = set(plain(who.name).split()), beside.get((who.path, who.kind), [])
        for mine in ([p for p in near if name < p[1]], [p for p in near if p[1] < name]):
            if len(mine) > 1 and name <= set().union(*(words for _, words in mine)):
                yield w, [p for p, _ in mine]
                break


def _translated(renamed: dict[str, str], who: Who) -> Hashable:
    return _translate(who.full, renamed), who.kind, who.nth


def _translate(full: str, renamed: dict[str, str]) -> str:
    head, tail = full, ""
    while head:
        if head in renamed:
            return renamed[head] + tail
        cut = head.rfind(SEP)
        head, tail = (head[:cut], head[cut:] + tail) if cut >= 0 else ("", tail)
    return full


def _mutual(olds: Sequence[Item], news: Sequence[Item]) -> list[tuple[int, int, str]]:
    """Pairs, by position, that are each other's best and clearly ahead of the runner-up."""
    score = [[likeness(b, a) for a in news] for b in olds]
    out = []
    for i, row in enumerate(score):
        j = max(range(len(row)), key=row.__getitem__)
        best = row[j]
        # rivals of either side: two olds that claim one new are a doubt too
        rivals = sum(v >= MIN_LIKENESS for v in row), sum(old[j] >= MIN_LIKENESS for old in score)
        others = [v for k, v in enumerate(row) if k != j] + [score[k][j] for k in range(len(olds)) if k != i]
        # more of them on one side: it may be several of them in one
        if best >= MIN_LIKENESS and rivals[0] == rivals[1] and all(best >= v + CLEAR for v in others):
            out.append((i, j, f"renamed: same parent and kind, {best:.0%} alike"))
    return out


def likeness(b: Item, a: Item) -> float:
    """0-1: names count half, place in the capture and counters the rest; incompatible kinds are 0."""
    if b.who.kind and a.who.kind and b.who.kind != a.who.kind:
        return 0.0
    names = alike(b.who.name, a.who.name)
    # a quarter of the capture away is as good as anywhere
    near = 1.0 - min(1.0, abs(b.order - a.order) * 4)
    return 0.55 * names + 0.2 * near + 0.25 * _counters(b, a)


def alike(before: str, after: str) -> float:
    """0-1: how much of two names agrees."""
    return _ratio(plain(before), plain(after))


@lru_cache(maxsize=16_384)  # names of a group often differ in nothing that is compared
def _ratio(one: str, two: str) -> float:
    return 1.0 if one == two else difflib.SequenceMatcher(None, one, two, autojunk=False).ratio()


@lru_cache(maxsize=1_024)
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
