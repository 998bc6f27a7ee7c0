"""Tile and wave quantisation of matrix products: the part of their tiles and of their last wave that computes nothing.

NVIDIA, Matrix Multiplication Background User's Guide: an output of M x N is cut into tiles of a fixed size, each the work of one
thread block; tiles that reach over the edge and a last wave that fills few SMs take as long as full ones.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import ceil

from msgspec import Struct

from triage.capture.trace_nouns import Operator

# the block's tile in names of cuBLAS, CUTLASS 2 and 3, nvjet, Tensile (hipBLASLt, rocBLAS)
_TILE_RES = tuple(
    re.compile(p)
    for p in (
        r"tilesize(\d{2,3})x(\d{2,3})x\d",
        r"^nvjet_[a-z0-9]{1,12}_(\d{2,3})x(\d{2,3})_",
        r"^Cijk_\w{1,400}?_MT(\d{2,3})x(\d{2,3})x\d",
        r"gemm\w{0,80}?_(\d{2,3})x(\d{2,3})_(?:ldg|stages|sliced|\d{2,3}x\d|[nt]{2}\b)",
        r"GemmShape<\(?i?n?t?\)?(\d{2,3}), ?\(?i?n?t?\)?(\d{2,3}),",
    )
)
# products whose sum over K is shared out: their blocks are more than their tiles
_SPLIT_RE = re.compile(r"split_?k|stream_?k|sliced|_GSU[2-9]|_GSU\d\d|segment_k_on", re.IGNORECASE)
MIN_TILE = 32


class Tiling(Struct, frozen=True):
    """A product cut into tiles of rows x columns on some SMs; used: part of the tiles' area, waves: of tiles over SMs."""

    rows: int
    columns: int
    tiles: int
    used: float
    waves: float

    @property
    def waste(self) -> float:
        """Part of the product's time that quantisation takes: 1 - used tiles x filled waves."""
        return 1 - self.used * self.waves / ceil(self.waves)


@lru_cache(4096)
def tile(name: str) -> tuple[int, int] | None:
    """Rows and columns of a block's tile that a kernel's name states, None where it states none, or K is shared out."""
    text = name[:4096]
    if _SPLIT_RE.search(text):
        return None
    found = next((m for pattern in _TILE_RES if (m := pattern.search(text))), None)
    if found is None:
        return None
    rows, columns = int(found[1]), int(found[2])
    return (rows, columns) if min(rows, columns) >= MIN_TILE else None


def tiling(o: Operator, sms: int) -> Tiling | None:
    """How a product is cut by its longest kernel, None where that is unknown or fewer tiles than SMs leave the grid too small.

    cuBLAS counts by columns: whether rows or columns of the tile meet M is unknown, so that the better of both is taken.
    """
    size = tile(o.kernels[0]) if o.kernels else None
    if o.kind != "matmul" or size is None or not (o.m and o.n and sms):
        return None
    best: Tiling | None = None
    for rows, columns in (size, size[::-1]):
        tiles = ceil(o.m / rows) * ceil(o.n / columns) * max(o.batch, 1)
        used = o.m * o.n * max(o.batch, 1) / (tiles * rows * columns)
        found = Tiling(rows, columns, tiles, used, tiles / sms)
        if best is None or found.waste < best.waste:
            best = found
    return best if best is not None and best.waves >= 1 else None
