"""Ranges that a thread opens and closes: which one an instant lies in, and the path of names down to it."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from triage.capture.arrays import Indices, Names
from triage.capture.capture import SEP

DEEP = 32  # levels; more is a runaway recursion, and no marker
# House judgement: layers come by the dozen, steps by the hundred; beyond this many texts that differ only in their numbers,
# the numbers tell nothing apart.
MANY = 100
# and what is an id wherever it stands: `call: 4`, anything of five digits, addresses; what PyTorch's emit_nvtx puts behind an
# operator's name is none of it
_IDS = re.compile(r"(?<=\w[=:])\s*\d+|(?<=\w\s[=:])\s*\d+|0x[0-9a-fA-F]+|\d{5,}")
_OPERATOR_IDS = re.compile(r", (?:op_id|seq) = \d+")


class Nest:
    """Ranges of many threads: start, end in ns, thread, and the number of their text in `texts`."""

    def __init__(self, start: Indices, end: Indices, thread: Indices, text: Indices, texts: Sequence[str]) -> None:
        order = np.lexsort((-end, start, thread))
        self.start, self.end, self.thread, text = start[order], end[order], thread[order], text[order]
        self.parent = np.full(len(order), -1, dtype=np.int64)
        self.depth = np.zeros(len(order), dtype=np.int64)
        cuts = np.append(np.flatnonzero(np.diff(self.thread, prepend=self.thread[:1] - 1)), len(order))
        self._slice = {int(self.thread[a]): (int(a), int(b)) for a, b in itertools.pairwise(cuts.tolist())}
        for a, b in self._slice.values():
            self._link(a, b)
        known, words = folded(texts)
        self.path, self.paths = self._paths(known[text], words)

    def _link(self, a: int, b: int) -> None:
        """Depth and parent of one thread's ranges: properly nested ones are exact, overlapping ones near enough."""
        start, end = self.start[a:b], self.end[a:b]
        # as many of those begun before as have not ended yet; equal bounds nest
        depth = np.arange(b - a) - np.minimum(np.searchsorted(np.sort(end), start, "right"), np.arange(b - a))
        self.depth[a:b] = depth = np.minimum(depth, DEEP)
        for level in range(1, int(depth.max(initial=0)) + 1):
            mine, above = np.flatnonzero(depth == level), np.flatnonzero(depth == level - 1)
            if len(above):
                at = np.searchsorted(above, mine) - 1
                self.parent[a + mine] = np.where(at >= 0, a + above[at], -1)

    def _paths(self, text: Indices, words: list[str]) -> tuple[Indices, list[str]]:
        """(number of each range's path, the paths): ranges of one path have one number, 0 is the empty one."""
        import pandas as pd

        path = np.zeros(len(text), dtype=np.int64)
        paths = [""]
        for level in range(int(self.depth.max(initial=0)) + 1):
            mine = np.flatnonzero(self.depth == level)
            above = self.parent[mine]
            key = np.where(above >= 0, path[above], 0) * len(words) + text[mine]
            codes, found = pd.factorize(key)
            path[mine] = codes + len(paths)
            for k in found.tolist():
                up, word = paths[k // len(words)], words[k % len(words)]
                paths.append(f"{up}{SEP}{word}" if up and word else up or word)
        return path, paths

    def paths_at(self, thread: Indices, time: Indices) -> Names:
        """The path of the innermost range around each instant of a thread, "" outside of all."""
        out = np.zeros(len(time), dtype=np.int64)
        order = np.argsort(thread, kind="stable")
        if len(order):
            sorted_threads = thread[order]
            cuts = np.append(np.flatnonzero(np.diff(sorted_threads, prepend=sorted_threads[:1] - 1)), len(order))
            for low, high in itertools.pairwise(cuts.tolist()):
                if (own := self._slice.get(int(sorted_threads[low]))) is not None:
                    mine = order[low:high]
                    out[mine] = self._inside(*own, time[mine])
        names: Names = np.array(self.paths, dtype=object)[out]
        return names

    def _inside(self, a: int, b: int, time: Indices) -> Indices:
        at = a + np.searchsorted(self.start[a:b], time, "right") - 1
        at[at < a] = -1
        for _ in range(DEEP + 1):
            over = np.flatnonzero((at >= 0) & (self.end[at] < time))
            if not len(over):
                break
            at[over] = self.parent[at[over]]
        at[(at >= 0) & (self.end[at] < time)] = -1
        return np.where(at >= 0, self.path[at], 0)


def folded(texts: Sequence[str]) -> tuple[Indices, list[str]]:
    """(number of each text's word, the words): texts that differ only in their numbers are one where they are MANY."""
    import pandas as pd

    plain = [_IDS.sub("#", _OPERATOR_IDS.sub("", " ".join(t.replace(SEP, " ").split())[:200])) for t in texts]
    shapes = [re.sub(r"\d+", "#", t) for t in plain]
    often = Counter(shapes)
    chosen = [shape if often[shape] > MANY else text for shape, text in zip(shapes, plain, strict=True)]
    codes, words = pd.factorize(np.array(chosen, dtype=object))
    return codes.astype(np.int64), [str(w) for w in words] or [""]
