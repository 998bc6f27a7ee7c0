"""Data of a page as text that is inert inside a script element: JSON, then its long columns as bytes, compressed.

A long column of whole numbers is not written as digits: its smallest value and greatest common step are in the JSON, and the
steps above it as bytes, all lowest ones first, then all next ones. It packs a quarter smaller than digits and is read without parsing
(reports/_parts/part.js.j2 reads exactly this).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import orjson

from triage.capture.arrays import Indices
from triage.rendering.html.string_table import Json

LEVEL = 5  # of compression: the highest takes four times as long for a twenty-fifth of the size
AHEAD = 2  # parts that are compressed while others are made
MIN_PACKED = 500  # values of a column from which on it is written as bytes
COLUMN = "~"  # key of what stands for a column: [first byte, bytes per value, values, smallest, step]


def blobs(parts: Iterable[tuple[str, Json]]) -> dict[str, str]:
    """Parts as text, compressed while the next are made: that holds no lock of the interpreter. A few at a time are held."""
    out: dict[str, str] = {}
    with ThreadPoolExecutor(AHEAD) as pool:
        waiting: deque[tuple[str, Future[str]]] = deque()
        for name, data in parts:
            waiting.append((name, pool.submit(_compressed, _dumped(data))))
            del data  # of the first part, over all workloads, nothing is kept beside the next
            if len(waiting) > AHEAD:
                first, text = waiting.popleft()
                out[first] = text.result()
        out |= {name: text.result() for name, text in waiting}
    return out


def blob(data: Json) -> str:
    """One part as text."""
    return _compressed(_dumped(data))


class _Columns:
    """Sets aside the columns that a part holds."""

    def __init__(self) -> None:
        self.planes: list[bytes] = []
        self.size = 0

    def __call__(self, found: object) -> object:
        """What JSON writes for an array: itself where it is short, else where its bytes are."""
        if isinstance(found, np.generic):
            return found.item()
        if not isinstance(found, np.ndarray):
            raise TypeError(type(found).__name__)
        if len(found) < MIN_PACKED or found.dtype.kind not in "iu":
            return found.tolist()
        least, most = int(found.min()), int(found.max())
        if least < np.iinfo(np.int32).min or most > np.iinfo(np.int32).max:
            return found.tolist()
        return {COLUMN: [self.size, *self._added(found.astype(np.int64) - least), least]}

    def _added(self, above: Indices) -> tuple[int, int, int]:
        """Bytes per value, values, step."""
        step = int(np.gcd.reduce(above)) or 1
        width = (int(above.max()) // step).bit_length() + 7 >> 3
        planes = (above // step).astype("<u4").view(np.uint8).reshape(-1, 4)[:, :width].T.tobytes()
        self.planes.append(planes)
        self.size += len(planes)
        return width, len(above), step


def _dumped(data: Json) -> bytes:
    columns = _Columns()
    try:
        head = orjson.dumps(data, default=columns)
    except TypeError:  # a lone surrogate in a path
        columns = _Columns()
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=columns)
        head = text.encode("utf-8", "replace")
    return b"".join([len(head).to_bytes(4, "little"), head, *columns.planes])


def _compressed(dumped: bytes) -> str:
    return base64.b64encode(zlib.compress(dumped, LEVEL)).decode()


def read(text: str) -> dict[str, Json]:
    """A part as it was before it was packed, its columns as lists."""
    dumped = zlib.decompress(base64.b64decode(text))
    size = int.from_bytes(dumped[:4], "little")
    planes = np.frombuffer(dumped, np.uint8, offset=4 + size).astype(np.int64)

    def column(found: dict[str, list[int]]) -> dict[str, list[int]] | list[int]:
        if set(found) != {COLUMN}:
            return found
        at, width, n, step, least = found[COLUMN]
        places = 256 ** np.arange(width)[:, None]
        values: list[int] = (
            least + step * (planes[at : at + width * n].reshape(width, n) * places).sum(axis=0)
        ).tolist()
        return values

    data: dict[str, Json] = json.loads(dumped[4 : 4 + size], object_hook=column)
    return data
