"""Access patterns and traffic: what share of what was moved was of no use."""

from __future__ import annotations

from typing import Any

import numpy as np

from triage.derive._derivation import Derivation

SECTOR = 32.0  # bytes; L1, L2 and DRAM move whole sectors
DENSE = 4.0  # sectors of a warp's perfectly coalesced 4-byte access
WIDEST = 16.0  # sectors of a warp's perfectly coalesced 16-byte access: more is waste whatever the type
_EPS = 0.05


def _first(*values: Any) -> Any:
    out = values[0]
    for v in values[1:]:
        out = np.where(np.isnan(out), v, out)
    return out


def _excess(excess: Any, total: Any, ideal: Any) -> Any:
    """Excess share of all global accesses, from the counters per source line."""
    share = _first(excess / np.where(total > 0, total, np.nan), 1 - ideal / np.where(total > 0, total, np.nan))
    return np.clip(share, 0.0, 1.0)


def _waste(used: Any, mine: Any, other: Any, other_used: Any, share: Any, excess: Any, total: Any, ideal: Any) -> Any:
    """Wasted share of one kind of access: bytes used where measured, else the excess, laid on the kind that can have it."""
    measured = np.clip(1 - np.where(used > 0, used, np.nan) / SECTOR, 0.0, 1.0)
    whole = _excess(excess, total, ideal)
    share = np.where(share > 0, share, np.nan)
    # sectors per request tell which kind is dense; a dense kind wastes nothing worth naming, so the other has it all
    sparse_other = (other > DENSE + _EPS) | (np.isnan(other) & np.logical_not(other_used >= SECTOR))
    alone = np.clip(whole / share, 0.0, 1.0)
    laid = np.where(
        np.isnan(mine) | np.isnan(whole),
        np.nan,
        np.where(mine <= DENSE + _EPS, 0.0, np.where(sparse_other, whole, _first(alone, whole))),
    )
    sure = np.where(mine > WIDEST, 1 - WIDEST / mine, np.nan)
    return _first(measured, laid, sure)


def _load_waste(
    used: Any, mine: Any, other: Any, other_used: Any, share: Any, excess: Any, total: Any, ideal: Any
) -> Any:
    # where nothing tells loads from stores, loads are meant: most accesses are
    found = _waste(used, mine, other, other_used, share, excess, total, ideal)
    return _first(found, np.where(np.isnan(mine), _excess(excess, total, ideal), np.nan))


def _store_waste(
    used: Any, mine: Any, other: Any, other_used: Any, share: Any, excess: Any, total: Any, ideal: Any
) -> Any:
    return _waste(used, mine, other, other_used, 1 - share, excess, total, ideal)


def _all_waste(load: Any, store: Any, share: Any, excess: Any, total: Any, ideal: Any) -> Any:
    mixed = share * load + (1 - share) * store
    return _first(_excess(excess, total, ideal), mixed, np.fmax(load, store))


def _conflicts(total: Any, load: Any, store: Any, waves: Any, load_waves: Any, store_waves: Any) -> Any:
    lost = _first(total, load + store)
    work = _first(waves, load_waves + store_waves)
    return np.clip(np.where(work > 0, lost / np.where(work > 0, work, 1), np.where(lost == 0, 0.0, np.nan)), 0.0, 1.0)


def _local(local: Any, gl: Any, gs: Any) -> Any:
    everything = local + gl + gs
    return np.where(everything > 0, local / np.where(everything > 0, everything, 1), np.where(local == 0, 0.0, np.nan))


def _of(part: Any, *rest: Any) -> Any:
    total = part + sum(rest)
    return np.where(total > 0, part / np.where(total > 0, total, 1), np.nan)


def _shared_excess(excess: Any, total: Any, ideal: Any) -> Any:
    return _excess(excess, total, ideal)


_EXCESS = ("global_access.excess_sectors", "global_access.sectors_l2", "global_access.sectors_l2_ideal")
_BYTES = ("vram.bytes_read", "vram.bytes_written")
_FAR = ("l2.sysmem_misses", "l2.peer_misses", "l2.device_misses")
_CONFLICTS = ("shared.bank_conflicts", "shared.load_bank_conflicts", "shared.store_bank_conflicts",
              "shared.wavefronts", "shared.load_wavefronts", "shared.store_wavefronts")  # fmt: skip


def _kind(where: str, other: str, function: Any) -> Derivation:
    optional = (f"{where}.bytes_per_sector", f"{where}.sectors_per_request", f"{other}.sectors_per_request",
                f"{other}.bytes_per_sector", "global_load.share", *_EXCESS)  # fmt: skip
    return Derivation(f"{where}.waste", (), "1 - bytes used per sector / 32, else the excess sectors laid on the accesses that are not dense",
                      function, optional, ask=(f"{where}.bytes_per_sector",))  # fmt: skip


DERIVATIONS = (
    *(Derivation(f"{a}.sectors_per_request", (f"{a}.sectors", f"{a}.requests"), "sectors / requests",
                 lambda s, r: np.where(r > 0, s / np.where(r > 0, r, 1), np.nan)) for a in ("global_load", "global_store")),
    _kind("global_load", "global_store", _load_waste),
    _kind("global_store", "global_load", _store_waste),
    Derivation("global_load.share", ("global_load.sectors", "global_store.sectors"), "load sectors / (load + store sectors)", _of),
    Derivation("global_access.waste", (), "excess sectors / sectors, else the waste of loads and stores by their sectors", _all_waste,
               ("global_load.waste", "global_store.waste", "global_load.share", *_EXCESS), ask=_EXCESS[1:]),
    Derivation("local.sectors", ("local_load.sectors", "local_store.sectors"), "local load + local store sectors", np.add),
    Derivation("local.share", ("local.sectors", "global_load.sectors", "global_store.sectors"),
               "local sectors / (local + global sectors)", _local),
    Derivation("shared.conflict_share", (), "bank conflicts / wavefronts of shared memory", _conflicts, _CONFLICTS,
               ask=("shared.bank_conflicts", "shared.wavefronts")),
    Derivation("shared.excess_share", (), "excess / all shared wavefronts", _shared_excess,
               ("shared.excess_wavefronts", "shared.access_wavefronts", "shared.access_wavefronts_ideal"),
               ask=("shared.access_wavefronts", "shared.access_wavefronts_ideal")),
    Derivation("atomics.share", ("l2.sectors", "atomics.l2_sectors", "atomics.l2_red_sectors"),
               "(atomic + reduction sectors) / L2 sectors",
               lambda t, a, r: np.clip(np.where(t > 0, (a + r) / np.where(t > 0, t, 1), np.nan), 0.0, 1.0)),
    Derivation("l2.far_share", _FAR, "(system + peer misses) / all L2 misses",
               lambda s, p, d: np.where(s + p + d > 0, (s + p) / np.where(s + p + d > 0, s + p + d, 1), np.nan)),
    Derivation("l2.sysmem_share", _FAR, "system misses / all L2 misses",
               lambda s, p, d: np.where(s + p + d > 0, s / np.where(s + p + d > 0, s + p + d, 1), np.nan)),
    Derivation("vram.bytes", (), "bytes read + bytes written, else bandwidth x time",
               lambda r, w, b, t: _first(r + w, b * t * 1e-9), (*_BYTES, "vram.bandwidth", "gpu.time"), ask=_BYTES),
    Derivation("vram.bandwidth", ("vram.bytes_read", "vram.bytes_written", "gpu.time"), "(bytes read + bytes written) / time",
               lambda r, w, t: (r + w) / (t * 1e-9)),
    Derivation("vram.peak_bandwidth", (), "bandwidth / share of peak, else bytes per cycle x clock, else the device table",
               lambda b, s, c, f, d: _first(np.where(s > 0.01, b / s, np.nan), c * f, d),
               ("vram.bandwidth", "vram.throughput", "vram.peak_bytes_per_cycle", "vram.frequency", "device.vram_peak"),
               ask=("vram.bandwidth", "vram.throughput")),
    Derivation("vram.throughput", ("vram.bandwidth", "device.vram_peak"), "bandwidth / the device's peak bandwidth",
               lambda b, p: np.minimum(b / p, 1.0)),
)  # fmt: skip
