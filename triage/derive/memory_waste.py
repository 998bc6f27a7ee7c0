"""Access patterns and traffic: what share of what was moved was of no use."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from triage.capture.arrays import Values
from triage.derive._arrays import either, excess_share, first, over
from triage.derive._derivation import Derivation

SECTOR = 32.0  # bytes; L1, L2 and DRAM move whole sectors
# A warp's 32 threads x 4 bytes are 128 bytes: 4 sectors where neighbours read neighbours (8 for 8-byte types), up to 32
# where every thread hits a sector of its own. Nsight Compute's MemoryCacheAccessPattern rule counts the same way.
DENSE = 4.0  # sectors of a warp's perfectly coalesced 4-byte access
WIDEST_COALESCED_SECTORS = 16.0  # of a warp's coalesced 16-byte access: more is waste whatever the type
EXCUSED = 0.25  # what the rules of both kinds tolerate: from there on the other kind is at fault
# Bytes per second of 16 lanes and one direction, as NVIDIA's data sheets give them: V100 and T4 have PCI Express 3.0, A100 and
# all of 8.x have 4.0, H100 and later 5.0. Before which compute capability -> peak.
_LINKS = ((8.0, 16e9), (9.0, 32e9))
_FASTEST = 64e9
_EPS = 0.05  # sectors: an average of 4.02 is still dense


def _waste(
    used: Values, mine: Values, other: Values, other_used: Values, share: Values, widest: Values, *excess: Values
) -> Values:
    """Wasted share of one kind of access, 0 to 1: bytes used where measured, else the excess, laid on who can have it.

    used, other_used: bytes used per sector of this kind and of the other. mine, other: sectors per request. share: this
    kind among all global sectors. widest: bytes of the largest element of the kernel's arrays, where its name states them.
    """
    measured = np.clip(1 - np.where(used > 0, used, np.nan) / SECTOR, 0.0, 1.0)
    # a request touches one sector at least: lanes that read the same word use few bytes and waste no sector
    measured = np.where(np.isnan(mine), measured, np.minimum(measured, 1 - 1 / np.fmax(mine, 1.0)))
    whole = excess_share(*excess)
    share = np.where(share > 0, share, np.nan)
    # sectors per request tell which kind is dense; a dense kind wastes nothing worth naming, so the other has it all
    sparse_other = (other > DENSE + _EPS) | (np.isnan(other) & np.logical_not(other_used >= SECTOR))
    alone = np.clip(whole / share, 0.0, 1.0)
    # ... but for what exceeds all sectors of the other
    beyond = np.fmax(np.clip((whole - 1 + share) / share, 0.0, 1.0), 0.0)
    laid = np.where(
        np.isnan(mine) | np.isnan(whole),
        np.nan,
        np.fmax(np.where(mine <= DENSE + _EPS, 0.0, np.where(sparse_other, whole, first(alone, whole))), beyond),
    )
    # Without any of that 16 sectors may be honest 16-byte accesses, more never is: then elements of the stated width lie
    # apart, of which 32 of n bytes fill n sectors of 32
    dense = np.fmin(np.where(widest > 0, widest, np.nan), WIDEST_COALESCED_SECTORS)
    sure = np.where(mine > WIDEST_COALESCED_SECTORS, 1 - dense / mine, np.nan)
    return first(measured, laid, sure)


def _load_waste(
    used: Values, mine: Values, other: Values, other_used: Values, share: Values, widest: Values, *excess: Values
) -> Values:
    # where loads and stores are not separated, take loads: most accesses are
    found = _waste(used, mine, other, other_used, share, widest, *excess)
    # ... unless stores are known to be sparse, and nothing says so of the loads
    stores_only = other_used < SECTOR * (1 - EXCUSED)
    return first(found, np.where(np.isnan(mine) & np.logical_not(stores_only), excess_share(*excess), np.nan))


def _store_waste(
    used: Values, mine: Values, other: Values, other_used: Values, share: Values, widest: Values, *excess: Values
) -> Values:
    return _waste(used, mine, other, other_used, 1 - share, widest, *excess)


def _all_waste(load: Values, store: Values, share: Values, *excess: Values) -> Values:
    mixed = share * load + (1 - share) * store
    # the kind that was counted is dense: nothing is known of the other
    one = np.where((np.isnan(load) | np.isnan(store)) & (np.fmax(load, store) == 0), np.nan, np.fmax(load, store))
    return first(excess_share(*excess), mixed, one)


# A kernel that never touches shared (local) memory has no traffic to divide by, yet its share is known: it is 0.
def _local(loads: Values, stores: Values, gl: Values, gs: Values, l1: Values, *requests: Values) -> Values:
    local = loads + stores
    everything = first(local + gl + gs, l1)
    whole = np.where(everything > 0, over(local, everything), np.where(local == 0, 0.0, np.nan))
    sectors = first(whole, over(loads, loads + gl), over(stores, stores + gs))
    # without sectors the instructions: a dense access of either memory is one request of as many sectors
    return first(sectors, _local(*requests, np.float64(np.nan))) if requests else sectors


def _atomics(
    all_: Values,
    atomics: Values,
    reductions: Values,
    lines: Values,
    line_atomics: Values,
    line_reductions: Values,
    loads: Values,
    stores: Values,
    asked: Values,
    requested: Values,
    *xe: Values,
) -> Values:
    by_lines = over(either(line_atomics, line_reductions), lines)
    ours = either(asked, requested)
    by_requests = over(ours, either(loads, stores) + ours)  # of those that were counted
    l3, reads, writes, messages, every, sends, lines_l1, lookups, loaded, stored = xe
    at_l2 = either(atomics, reductions)
    # a message takes one access of the load/store cache or several, so that the share comes out low, never high
    # atomics are accesses themselves: a total below them was not counted in this replay
    accesses = first(np.where(every >= messages, every, np.nan), sends, lines_l1, lookups)
    on_xe = first(over(l3, reads + np.nan_to_num(writes) + l3), over(messages, accesses))
    by_l1 = over(at_l2, either(loaded, stored) + at_l2)
    return np.clip(first(over(at_l2, all_), by_lines, by_requests, on_xe, by_l1), 0.0, 1.0)


def _on_the_bus(time_ns: Values, read: Values, written: Values, capability: Values, moved: Values) -> Values:
    """Assume the fastest link for unknown GPUs; traffic above it used another link."""
    peak = np.select([capability < generation for generation, _ in _LINKS], [peak for _, peak in _LINKS], _FASTEST)
    share = over(first(np.fmax(read, written), moved), time_ns * 1e-9 * peak)  # both directions at a time
    return np.where(share <= 1, share, np.nan)


_EXCESS = ("global_access.excess_sectors", "global_access.sectors_l2", "global_access.sectors_l2_ideal")
_BYTES = ("vram.bytes_read", "vram.bytes_written")
_FAR = ("l2.sysmem_misses", "l2.peer_misses", "l2.device_misses")


def _kind(where: str, other: str, function: Callable[..., Values]) -> Derivation:
    optional = (
        f"{where}.bytes_per_sector",
        f"{where}.sectors_per_request",
        f"{other}.sectors_per_request",
        f"{other}.bytes_per_sector",
        "global_load.share",
        "name.widest_array",
        *_EXCESS,
    )
    return Derivation(
        f"{where}.waste",
        "1 - bytes used per sector / 32, else the excess sectors laid on the accesses that are not dense, else those beyond 16 or the widest array's element",
        function,
        optional=optional,
        ask=(f"{where}.bytes_per_sector",),
    )


DERIVATIONS = (
    # access patterns
    *(
        Derivation(f"{a}.sectors_per_request", "sectors / requests", over, (f"{a}.sectors", f"{a}.requests"))
        for a in ("global_load", "global_store")
    ),
    Derivation(
        "global_store.sectors", "bytes from L1 to L2 / 32, where nothing but global stores sends any",
        lambda sent, local, atomics, reductions: np.where(local + atomics + reductions == 0, sent / SECTOR, np.nan),
        ("l1tex.write_bytes", "local_store.requests", "atomics.requests", "atomics.red_requests"),
    ),
    _kind("global_load", "global_store", _load_waste),
    _kind("global_store", "global_load", _store_waste),
    Derivation(
        "global_load.share", "load sectors / (load + store sectors)", lambda loads, stores: over(loads, loads + stores),
        ("global_load.sectors", "global_store.sectors"),
    ),
    Derivation(
        "global_access.waste", "excess sectors / sectors, else waste of loads and stores weighted by sectors", _all_waste,
        optional=("global_load.waste", "global_store.waste", "global_load.share", *_EXCESS), ask=_EXCESS[1:],
    ),
    Derivation("local.sectors", "local load + local store sectors", np.add, ("local_load.sectors", "local_store.sectors")),
    Derivation(
        "local.share",
        "local sectors / (local + global sectors), else / all sectors of L1, else the same of loads or stores alone, else of requests",
        _local,
        optional=("local_load.sectors", "local_store.sectors", "global_load.sectors", "global_store.sectors", "l1tex.sectors", "local_load.requests", "local_store.requests", "global_load.requests", "global_store.requests"),
        ask=("local.sectors", "global_load.sectors", "global_store.sectors"),
    ),
    # L2
    Derivation(
        "atomics.l2_sectors", "sectors of arithmetic atomics + of compare-and-swap", np.add,
        ("atomics.l2_alu_sectors", "atomics.l2_cas_sectors"),
    ),
    Derivation(
        "atomics.l2_requests", "requests of arithmetic atomics + of compare-and-swap", np.add,
        ("atomics.l2_alu_requests", "atomics.l2_cas_requests"),
    ),
    Derivation("copies.bulk_bytes", "sectors of bulk copies x 32", lambda sectors: sectors * 32, ("copies.bulk_sectors",)),
    Derivation(
        "copies.bulk_share", "bytes of bulk copies / (bulk copies + global loads)",
        lambda bulk, sectors: over(bulk, bulk + np.nan_to_num(sectors) * 32), ("copies.bulk_bytes",), ("global_load.sectors",),
    ),
    Derivation(
        "atomics.share",
        "(atomic + reduction sectors) / L2 sectors, else the same of the L2 requests, of the global ones or of L1's sectors",
        _atomics,
        optional=("l2.sectors", "atomics.l2_sectors", "atomics.l2_red_sectors", "l2.requests", "atomics.l2_requests", "atomics.l2_red_requests", "global_load.requests", "global_store.requests", "atomics.requests", "atomics.red_requests", "l3.atomics", "l3.reads", "l3.writes", "shader.atomics", "shader.accesses", "eu.inst_send", "lsc.accesses", "l3.lookups", "global_load.sectors", "global_store.sectors"),
        ask=("l2.sectors", "atomics.l2_sectors", "atomics.l2_red_sectors"),
    ),
    Derivation(
        "l2.far_share", "(system + peer misses) / all L2 misses, else those to system memory",
        lambda s, p, d, system: first(over(s + p, s + p + d), system), optional=(*_FAR, "l2.sysmem_share"), ask=_FAR,
    ),
    Derivation(
        "l2.sysmem_share", "system misses / all L2 misses, else / (L2 sectors x (1 - hit rate))",
        lambda s, p, d, sectors, hits: first(over(s, s + p + d), np.minimum(over(s, sectors * (1 - hits)), 1.0)), optional=(*_FAR, "l2.sectors", "l2.hit_rate"), ask=_FAR,
    ),
    Derivation(
        "pcie.least_share", "the larger of bytes read and written / time / peak of the fastest 16-lane PCIe link of this GPU",
        _on_the_bus, ("gpu.time",), ("pcie.read_bytes", "pcie.write_bytes", "device.capability", "pcie.bytes"), ask=("pcie.read_bytes",),
    ),
    Derivation(
        "pcie.bytes", "64 x transactions with system memory, beside a memory of the GPU's own",
        lambda reads, own, writes: 64 * (reads + np.nan_to_num(writes)) + 0 * own, ("sysmem.reads", "vram.bytes_read"), ("sysmem.writes",),
    ),
    # video memory
    Derivation(
        "vram.bytes", "bytes read + bytes written, else bandwidth x time, else those of Intel's interface to memory",
        lambda r, w, b, t, *gti: first(r + w, b * t * 1e-9, sum(gti)),
        optional=(*_BYTES, "vram.bandwidth", "gpu.time", "gti.bytes_read", "gti.bytes_written"), ask=_BYTES,
    ),
    Derivation(
        "vram.bandwidth", "(bytes read + bytes written) / time", lambda r, w, t: (r + w) / (t * 1e-9),
        ("vram.bytes_read", "vram.bytes_written", "gpu.time"),
    ),
    # A share of 1 % or less is printed with too few digits to divide by.
    Derivation(
        "vram.peak_bandwidth",
        "bandwidth / share of peak, else bytes per cycle x clock, else 2 x bus width / 8 x clock, else the device table",
        lambda b, s, c, f, w, d: first(np.where(s > 0.01, b / s, np.nan), c * f, w / 4 * f, d),
        optional=(
            "vram.bandwidth",
            "vram.throughput",
            "vram.peak_bytes_per_cycle",
            "vram.frequency",
            "device.bus_bits",  # two transfers a cycle of the memory clock
            "device.vram_peak",
        ),
        ask=("vram.bandwidth", "vram.throughput"),
    ),
    Derivation(
        "vram.throughput", "bandwidth / the device's peak bandwidth, else L2-fabric reads and writes",
        lambda b, p, r, w: np.minimum(first(b / p, r + np.nan_to_num(w)), 1.0),
        optional=("vram.bandwidth", "device.vram_peak", "fabric.read_throughput", "fabric.write_throughput"),
        ask=("vram.bandwidth",),
    ),
)  # fmt: skip
