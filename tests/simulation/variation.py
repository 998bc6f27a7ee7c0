"""Another machine of the same kind: what is not printed on a data sheet differs, within what is seen in practice."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from msgspec.structs import replace

from .chips import CHIPS
from .machine import REACHED

LOWEST = {"vram": 0.8, "l2": 0.65, "issue": 0.92}  # of its peak; the highest is what leaves nothing


@contextmanager
def another_machine(seed: int | None) -> Iterator[None]:
    """Latencies within a third, and the part of their peak that units reach; None leaves the machine as it is."""
    chips, reached = dict(CHIPS), dict(REACHED)
    if seed is not None:
        r = Random(f"machine/{seed}")
        for name, chip in chips.items():
            CHIPS[name] = replace(
                chip, l2_ns=chip.l2_ns * r.uniform(0.75, 1.33), vram_ns=chip.vram_ns * r.uniform(0.75, 1.33)
            )
        REACHED.update({unit: r.uniform(low, 0.99) for unit, low in LOWEST.items()})
    try:
        yield
    finally:
        CHIPS.update(chips)
        REACHED.update(reached)
