"""What a neighbourhood filter pays for the border of its tile."""

from __future__ import annotations

import math

from msgspec import Struct

from triage.ground.errors import TriageError


class GroupShape(Struct, frozen=True):
    """One thread-group shape for a tile: `per_thread` results and `loads` per thread."""

    shape: tuple[int, ...]
    threads: int
    per_thread: int
    loads: int
    fits: bool


class Tile(Struct, frozen=True):
    """A tile of `size` elements that needs a border of `border` elements on every side."""

    size: tuple[int, ...]
    border: int

    @property
    def payload(self) -> int:
        """Elements the tile computes."""
        return math.prod(self.size)

    @property
    def total(self) -> int:
        """Elements with the border: loads with shared memory."""
        return math.prod(edge + 2 * self.border for edge in self.size)

    @property
    def border_elements(self) -> int:
        """Elements of the border alone."""
        return self.total - self.payload

    @property
    def neighbours(self) -> int:
        """Elements one result reads: (2 x border + 1) to the power of the dimensions."""
        return int((2 * self.border + 1) ** len(self.size))

    @property
    def loads_without(self) -> int:
        """Loads when every thread reads its whole neighbourhood from memory."""
        return self.payload * self.neighbours

    @property
    def reduction(self) -> float:
        """How many times fewer loads shared memory makes of them."""
        return self.loads_without / self.total

    @property
    def over_payload(self) -> float:
        """Border over payload: loads wasted per useful element."""
        return self.border_elements / self.payload

    @property
    def over_total(self) -> float:
        """Border over everything loaded: wasted share of all loads."""
        return self.border_elements / self.total

    def shared_bytes(self, element: int = 4) -> int:
        """Bytes of shared memory for the tile with its border."""
        return self.total * element

    def groups(self, max_threads: int = 1024) -> tuple[GroupShape, ...]:
        """Thread-group shapes for the tile: one thread per result, then ever fewer, then one per load."""
        shapes = [self.size]
        while math.prod(shapes[-1]) > 32:  # smaller groups than a warp leave lanes empty
            shape = list(shapes[-1])
            # Halve the longest edge but keep x, along which memory is read.
            side = max(range(len(shape)), key=lambda axis: (axis > 0 and shape[axis] > 1, shape[axis]))
            shape[side] = -(-shape[side] // 2)
            shapes.append(tuple(shape))
        small = [shape for shape in shapes[1:] if math.prod(shape) <= max_threads]
        found = [self._shape(shape, max_threads) for shape in [self.size, *small[:5]]]
        # One thread per loaded element needs no loop over loads; the border's threads idle while results are computed.
        whole = tuple(edge + 2 * self.border for edge in self.size)
        if self.border:
            found.append(self._shape(whole, max_threads))
        return tuple(found)

    def _shape(self, shape: tuple[int, ...], max_threads: int) -> GroupShape:
        threads = math.prod(shape)
        results, loads = -(-self.payload // threads), -(-self.total // threads)
        return GroupShape(shape, threads, results, loads, threads <= max_threads)

    def to_dict(self, element: int = 4, max_threads: int = 1024) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "tile": list(self.size),
            "border": self.border,
            "payload": self.payload,
            "border_elements": self.border_elements,
            "total": self.total,
            "loads_with_shared": self.total,
            "loads_without_shared": self.loads_without,
            "load_reduction": self.reduction,
            "border_over_payload": self.over_payload,
            "border_over_total": self.over_total,
            "element_bytes": element,
            "shared_bytes": self.shared_bytes(element),
            "groups": [
                {
                    "shape": list(group.shape),
                    "threads": group.threads,
                    "results_per_thread": group.per_thread,
                    "loads_per_thread": group.loads,
                    "fits": group.fits,
                }
                for group in self.groups(max_threads)
            ],
        }


def tile(size: str | tuple[int, ...], border: int) -> Tile:
    """ "16x16" or (16, 16) with a border of `border` elements; raises TriageError."""
    try:
        edges = tuple(int(part) for part in (size.lower().split("x") if isinstance(size, str) else size))
    except ValueError:
        edges = ()
    if not 1 <= len(edges) <= 3 or min(edges) < 1 or max(edges) > 65536:
        raise TriageError(f"--tile {size!r}: expected W, WxH or WxHxD with edges of 1 to 65,536")
    if not 0 <= border <= 65536:
        raise TriageError(f"--border {border}: expected 0 to 65,536")
    return Tile(edges, border)
