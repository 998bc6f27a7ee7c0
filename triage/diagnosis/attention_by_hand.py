"""Operators of an attention written by hand: those that make, change and read a matrix of scores in memory."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from triage.capture.trace_nouns import Operator

MIN_SIDE = 64  # rows and columns: a smaller softmax is that of classes or experts
# what changes the scores one by one, forwards and backwards: mask, scale, dropout, softmax, conversion
_POINTWISE = ("elementwise", "softmax", "copy", "other", "reduction")


def written_out(operators: Sequence[Operator]) -> list[Operator]:
    """Operators of every attention whose matrix of scores is written to memory, longest first."""
    shapes = {
        s for o in operators if o.kind == "softmax" for s in _shapes(o)[:1] if len(s) > 2 and min(s[-2:]) >= MIN_SIDE
    }
    found: list[Operator] = []
    for *front, rows, columns in shapes:
        heads = math.prod(front)
        products = [o for o in operators if o.kind == "matmul" and o.batch > 1 and _over_scores(o, rows, columns)]
        scores = [o for o in products if (o.m, o.n) == (rows, columns) and o.k != columns]
        values = [o for o in products if (o.m, o.k) == (rows, columns) and o.n != columns]
        if scores and values:
            found += products
            found += [o for o in operators if o.kind in _POINTWISE and _covers(o, heads, rows, columns)]
    return [o for o in operators if o in found]


def _shapes(o: Operator) -> list[tuple[int, ...]]:
    """Dims of the arguments."""
    return [tuple(int(n) for n in re.findall(r"\d+", shape)) for shape in o.dims.split(",")]


def _over_scores(o: Operator, rows: int, columns: int) -> bool:
    """True for products that make scores or sum over them, and for their gradients: two of their dims are those of the scores."""
    return (rows, columns) in ((o.m, o.n), (o.m, o.k), (o.k, o.n), (o.n, o.k), (o.n, o.m), (o.k, o.m))


def _covers(o: Operator, heads: int, rows: int, columns: int) -> bool:
    """True where an argument has the elements of the scores, in whatever batches they are counted."""
    return any(len(s) > 2 and s[-2:] == (rows, columns) and math.prod(s[:-2]) == heads for s in _shapes(o))
