"""How many blocks of a launch an NVIDIA multiprocessor holds: NVIDIA's own model, vectorised.

Follows `cuda_occupancy.h` of CUDA 13.0.96 for compute capability 3.0 to 12.1, including what it does
at the edges (a launch check that rounds warps up to the sub-partitions, forward compatibility of
6.0 with 6.1, barrier limits from 9.0 on). Everything is int32 arrays of one shape.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from triage.devices import NvidiaLimits
from triage.ground.errors import TriageError
from triage.occupancy.core import UNLIMITED, Core, Ints, conclude, divide

# Partitioned global caching, under which a block lives in one half of the SM, exists on these alone.
_PARTITIONED_CACHING = frozenset({"sm_52", "sm_53", "sm_61", "sm_62"})
# The older cache preference in terms of the newer carve-out, in percent, as the header translates it from 7.0 on.
CACHE_CARVEOUT = {"l1": 0, "equal": 50, "shared": 100}


class CudaOptions(Struct, frozen=True):
    """Function and device settings that NVIDIA's model takes besides the launch itself.

    `optin`: the kernel raised its limit of dynamic shared memory (48 KiB otherwise). `carveout`:
    preferred share of shared memory in percent, -1 = default. `cache`: the older preference (none,
    l1, equal, shared), which a carveout overrules. `global_caching`: partitioned global caching on
    5.2, 5.3, 6.1 and 6.2: off, on (given up when a block does not fit) or strict.
    """

    optin: bool = True
    carveout: int = -1
    cache: str = "none"
    global_caching: str = "off"

    def __post_init__(self) -> None:
        if not -1 <= self.carveout <= 100:
            raise TriageError(f"--carveout {self.carveout}: expected 0 to 100, or -1 for the default")
        if self.cache not in ("none", *CACHE_CARVEOUT):
            raise TriageError(f"cache {self.cache!r}: choose none, l1, equal or shared")
        if self.global_caching not in ("off", "on", "strict"):
            raise TriageError(f"global_caching {self.global_caching!r}: choose off, on or strict")


def evaluate(
    limits: NvidiaLimits,
    options: CudaOptions,
    threads: Ints,
    registers: Ints,
    shared: Ints,
    barriers: Ints | None = None,
) -> Core:
    """Limits in blocks per SM for arrays of launches (threads and registers >= 0, shared in bytes)."""
    warps = (threads + (limits.warp_size - 1)) // limits.warp_size
    caching = options.global_caching != "off" and limits.arch in _PARTITIONED_CACHING
    by_registers, cached = _by_registers(limits, warps, registers, limits.sub_partitions, options, caching)
    if limits.arch == "sm_60":
        # A kernel that no GP10x could hold must not run on GP100 either, although GP100 could.
        other, _ = _by_registers(limits, warps, registers, 4, options, caching)
        by_registers[other == 0] = 0
    by_warps = divide(limits.max_warps, warps)
    if caching:
        halved = divide(limits.max_warps // 2, warps) * 2
        by_warps = np.where(cached, halved, by_warps)
    by_warps *= threads <= limits.max_threads_per_group  # a product instead of a mask: several times faster
    found = {
        "waves": by_warps,
        "groups": np.full_like(by_warps, limits.max_groups),
        "registers": by_registers,
        "shared": _by_shared(limits, options, shared),
    }
    # The header ignores barriers before 9.0, and a launch that does not say how many it uses is taken to use few.
    if limits.barriers is not None and barriers is not None:
        by_barriers = divide(limits.barriers, np.maximum(barriers, 1))
        by_barriers[barriers == 0] = UNLIMITED
        found["barriers"] = by_barriers
    return conclude(warps, found)


def preferred_shared(limits: NvidiaLimits, options: CudaOptions) -> int:
    """Bytes of shared memory per SM under the carve-out (or, before 7.0, cache) preference."""
    if not limits.carveouts:
        # Kepler moves 16 KiB steps between L1 and shared memory; Maxwell and Pascal have both fixed.
        step = {"equal": 1, "l1": 2}.get(options.cache, 0) if limits.generation == "Kepler" else 0
        return limits.shared - step * 16384
    # Percent of the largest carve-out, rounded up to a size the hardware has: 1 % gives the smallest, not none.
    percent = options.carveout if options.carveout >= 0 else CACHE_CARVEOUT.get(options.cache, 100)
    wanted = percent * limits.shared // 100
    return min(size for size in limits.carveouts if size >= wanted)


def allocated_shared(limits: NvidiaLimits, shared: Ints) -> Ints:
    """Bytes of shared memory a block takes: with what the driver reserves, in whole granules."""
    unit = limits.shared_unit  # a power of two, as the header's own rounding needs it
    return (shared + (limits.shared_reserved + unit - 1)) & ~(unit - 1)


def carveout_for(limits: NvidiaLimits, options: CudaOptions, taken: Ints) -> Ints:
    """Bytes of shared memory per SM in effect when a block takes `taken` bytes."""
    preferred = preferred_shared(limits, options)
    sizes = np.asarray(limits.carveouts or (limits.shared,), dtype=np.int32)
    # A preference too small for one block is ignored in favour of the next legal size that holds it.
    legal = sizes[np.minimum(np.searchsorted(sizes, taken), len(sizes) - 1)]
    return np.where(taken <= preferred, np.int32(preferred), legal)


def shared_cap(limits: NvidiaLimits, options: CudaOptions) -> int:
    """Most bytes of shared memory (static plus dynamic) one block may ask for."""
    return limits.shared_per_group_optin if options.optin else limits.shared_per_group


def allocated_registers(limits: NvidiaLimits, registers: Ints) -> Ints:
    """Registers one warp takes, in whole granules."""
    unit = limits.register_unit  # 256 per warp: 8 per thread
    return (registers * limits.warp_size + (unit - 1)) // unit * unit


def _by_registers(
    limits: NvidiaLimits, warps: Ints, registers: Ints, parts: int, options: CudaOptions, caching: bool
) -> tuple[Ints, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    # A warp's registers come from one sub-partition, so the rest of each of the four files stays unused.
    per_warp = allocated_registers(limits, registers)
    per_part = divide(limits.registers // parts, np.maximum(per_warp, 1))
    found = divide(per_part * parts, warps)
    cached = np.zeros(found.shape, dtype=np.bool_)
    if caching:
        # With partitioned global caching a block lives in one half of the SM.
        half = divide(per_part * (parts // 2), warps) * 2
        cached = (half > 0) | (registers == 0)
        if options.global_caching == "strict":
            cached = np.ones_like(cached)
        found = np.where(cached, half, found)
    found[registers == 0] = UNLIMITED
    # The launch check counts as if warps came in multiples of the sub-partitions.
    assumed = per_warp * ((warps + (parts - 1)) // parts * parts)
    refused = (assumed > limits.registers_per_group) | (registers > limits.registers_per_thread)
    found *= ~refused  # several times faster than assigning through the mask
    return found, cached


def _by_shared(limits: NvidiaLimits, options: CudaOptions, shared: Ints) -> Ints:
    # Only a preference below the whole needs the search for a legal size: by default the driver gives all there is.
    taken = allocated_shared(limits, shared)
    preferred = preferred_shared(limits, options)
    if preferred == limits.shared:
        found = divide(preferred, np.maximum(taken, 1))
    else:
        found = divide(carveout_for(limits, options, taken), np.maximum(taken, 1))
    found[taken == 0] = UNLIMITED
    found *= taken <= shared_cap(limits, options) + limits.shared_reserved
    if options.optin:
        # The opt-in size counts only for a block that asks for more than the default allows.
        default = limits.shared_per_group
        found *= (shared + limits.shared_reserved > default) | (taken <= default + limits.shared_reserved)
    return found
