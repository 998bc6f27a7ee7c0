"""Figures of one workload that must agree, whatever tool printed them: where they do not, none of them is used.

Held on 95 to 98 exports of Nsight Compute each: threads exactly, bytes within 0.02 %, cycles within 11 %.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from triage import schema
from triage.capture.arrays import Floats, Masks, numbered
from triage.capture.capture import Quality, Table
from triage.devices import Device
from triage.ground.units import show
from triage.reading import at_most
from triage.reading.at_most import measured

WARP_SLOTS = (16, 20, 24, 32, 40, 48, 64)  # per SM, CU or SIMD, of all architectures in devices/
WAVES = (8, 16, 32, 64, 128)  # threads, of all vendors
REGISTERS = ("launch.registers", "launch.accum_registers", "launch.scalar_registers")
WARP = 32  # threads, of all GPUs whose tools export the groups that fit
LIMITS = ("occupancy.limit_groups", "occupancy.limit_registers", "occupancy.limit_shared", "occupancy.limit_warps")
WHOLE = (
    "launch.threads", "launch.grid_size", "launch.block_size", *REGISTERS, "draw.count", "dispatch.count",
    "invocations.vs", "invocations.ps", "invocations.cs", "invocations.helpers",
)  # fmt: skip
FEW = 3  # launches of a kernel, of which one may well be of another build
SOME = ("launch.threads", "launch.grid_size", "launch.block_size", "launch.wave_size", "launch.registers", "launch.scalar_registers", "frame.calls", "device.sm_count", "gpu.cycles", "sm.cycles_elapsed")  # fmt: skip
RUN = ("inst.executed", "inst.issued", "gpu.active", "sm.active_warps")  # of a launch; a range of a frame may hold none
# of all architectures in devices/, with room: 255 registers (NVIDIA) and 512 vector registers (AMD CDNA) per thread, 128 scalar ones (AMD), 256 KiB of
# shared memory per SM, 64 warps per SM (80 waves per WGP, AMD RDNA 1), 20 per scheduler, waves of 128 (Adreno)
MAX_OF = {
    "launch.registers": 512.0,
    "launch.accum_registers": 512.0,
    "launch.scalar_registers": 128.0,
    "launch.block_size": 4096.0,
    **dict.fromkeys(("launch.shared", "launch.shared_static", "launch.shared_dynamic", "launch.shared_driver"), 1048576.0),
    "launch.shared_config": 1048576.0,
    "sm.active_warps": 80.0,
    "warp.active_per_scheduler": 20.0,
    "warp.threads_per_inst": 128.0,
    "device.sm_count": 4096.0,
    **dict.fromkeys(("global_load.bytes_per_sector", "global_store.bytes_per_sector"), 32.0),
}  # fmt: skip
MOVED = ("vram.bytes_read", "vram.bytes_written")
NEED_PEAK = (*MOVED, "vram.bandwidth")
PEAK_ROOM = 1.15  # data sheets round, and memory may be overclocked


@dataclass(frozen=True, slots=True)
class Identity:
    """`quotient` of the values of `metrics` lies between two bounds; sentence: what is wrong where it does not."""

    metrics: tuple[str, ...]
    quotient: Callable[..., Floats]
    low: float
    high: float
    sentence: str


def _slots(warps: Floats, occupancy: Floats) -> Floats:
    return _nearest(warps / occupancy, WARP_SLOTS)


def _waves(size: Floats) -> Floats:
    return _nearest(size, WAVES)


def _nearest(values: Floats, among: tuple[int, ...]) -> Floats:
    off: Floats = np.min([np.abs(values / n - 1) for n in among], axis=0)
    return off


def _per(part: Floats, whole: Floats) -> Floats:
    return part / whole


# Definitions: NVIDIA, Nsight Compute, Kernel Profiling Guide (metrics structure; warp scheduler states; launch and occupancy metrics).
# Where figures come from several replays, or may be of units of several numbers, bounds are wide.
IDENTITIES = (
    Identity(
        ("launch.threads", "launch.grid_size", "launch.block_size"), lambda threads, grid, block: threads / (grid * block),
        1 - 1e-6, 1 + 1e-6, "threads are not groups times group size",
    ),
    Identity(
        ("sm.cycles_elapsed", "gpu.time", "sm.frequency"), lambda cycles, ns, hz: cycles / (ns * 1e-9 * hz), 0.75, 1.25,
        "cycles are not time times clock",
    ),
    Identity(
        ("vram.bandwidth", "vram.bytes_read", "vram.bytes_written", "gpu.time"),
        lambda rate, read, written, ns: (read + written) / (rate * ns * 1e-9), 0.95, 1.05, "bytes are not bandwidth times time",
    ),
    Identity(
        ("vram.bandwidth", "vram.throughput", "vram.peak_bytes_per_cycle", "vram.frequency"),
        lambda rate, share, peak, hz: rate / (share * peak * hz),
        0.4, 2.5, "bandwidth is not the throughput of memory times its peak",
    ),
    Identity(
        ("vram.throughput", "vram.read_throughput", "vram.write_throughput"),
        lambda both, read, written: (read + written) / both, 0.9, 1.1, "reads and writes are not the throughput of memory",
    ),
    Identity(
        ("eu.active", "eu.stall", "eu.idle"), lambda active, stall, idle: active + stall + idle, 0.95, 1.05,
        "active, stalled and idle time are not all time",
    ),
    Identity(
        ("eu.active", "eu.stall"), lambda active, stall: active + stall, 0, 1.05,
        "active and stalled time are more than all time",
    ),
    Identity(("sm.active_warps", "sm.occupancy"), _slots, 0, 0.03, "active warps and occupancy are of no SM"),
    Identity(("occupancy.theoretical_warps", "occupancy.theoretical"), _slots, 0, 0.03, "theoretical warps and occupancy are of no SM"),
    Identity(("launch.wave_size",), _waves, 0, 0.01, "waves of no GPU"),
    Identity(("inst.executed", "inst.issued"), _per, 0, 1.05, "fewer instructions were issued than executed"),
    Identity(
        ("sm.issue_per_elapsed", "sm.issue_per_active", "sm.active"), lambda elapsed, active, share: elapsed / (active * share),
        0.9, 1.1, "the issue rates with and without idle time differ by another share than SM active",
    ),
    Identity(
        ("warp.cycles_per_issue", "warp.issued_per_scheduler", "warp.active_per_scheduler"),
        lambda cycles, issued, active: cycles * issued / active,
        0.5, 3, "warps are not cycles per issue times issues per cycle",
    ),
    *(
        Identity(
            (more, less, "inst.issued", "inst.executed"),
            lambda more, less, issued, executed: more / less / (issued / executed),
            0.4, 2.5, "the rates of issued and executed instructions differ by another share than their counts",
        )
        for more, less in (("warp.cycles_per_executed", "warp.cycles_per_issue"), ("sm.ipc_issued", "sm.ipc_active"))
    ),
    Identity(("stall_cycles.selected",), lambda cycles: cycles, 0.4, 2.5, "an instruction is issued in one cycle"),
    Identity(("sm.active_warps", "warp.active_per_scheduler"), _per, 0.8, 6, "warps per SM and per scheduler are of no SM"),
    Identity(("sm.ipc_issued", "warp.issued_per_scheduler"), _per, 0.8, 6, "instructions per SM and per scheduler are of no SM"),
    Identity(("sm.ipc_issued", "sm.issue_per_active"), _per, 0.8, 8, "instructions per cycle and issue slots used are of no SM"),
    Identity(("sm.ipc_elapsed", "sm.inst_per_elapsed"), _per, 0.8, 6, "instructions per cycle and their share of the peak are of no SM"),
    Identity(("sm.issue_per_active", "warp.issued_per_scheduler"), _per, 0.1, 2, "issue slots used per SM and per scheduler are of no SM"),
    Identity(
        ("sm.ipc_elapsed", "sm.ipc_active", "sm.cycles_active", "sm.cycles_elapsed"),
        lambda elapsed, active, some, every: elapsed / active / (some / every),
        0.4, 2.5, "instructions per cycle with and without idle time differ by another share than active cycles",
    ),
    *(
        Identity(
            (count, rate, cycles, "device.sm_count"), lambda count, ipc, cycles, sms: count / (ipc * cycles * sms), 0.3, 3,
            "instructions are not cycles times instructions per cycle",
        )
        for count, rate, cycles in (("inst.executed", "sm.ipc_elapsed", "sm.cycles_elapsed"), ("inst.executed", "sm.ipc_active", "sm.cycles_active"), ("inst.issued", "sm.ipc_issued", "sm.cycles_active"))
    ),
    *(
        Identity((active, "sm.cycles_elapsed"), _per, 0, 1.25, "more active cycles than cycles")
        for unit in ("sm", "smsp", "l1tex")
        for active in (f"{unit}.cycles_active", f"{unit}.cycles_active_max")
    ),
    Identity(("smsp.cycles_elapsed_sum", "sm.cycles_elapsed_sum"), _per, 0.9, 4.5, "cycles of all SMs and of their parts are of no SM"),
    Identity(
        ("sm.cycles_elapsed_sum", "sm.cycles_elapsed", "device.sm_count"), lambda all_of, cycles, sms: all_of / (cycles * sms),
        0.1, 2.5, "cycles of all SMs are not their number times the cycles of one",
    ),
    Identity(("sm.frequency", "device.max_clock"), lambda hz, khz: hz / (khz * 1e3), 0, 2, "the clock is beyond the highest of the device"),
    Identity(
        ("launch.waves", "launch.grid_size", "device.sm_count", *LIMITS),
        lambda waves, groups, sms, *limits: waves * sms * np.min(limits, axis=0) / groups,
        0.4, 4, "waves are not groups by those that the SMs hold at a time",
    ),
    Identity(
        ("occupancy.theoretical_warps", "launch.block_size", *LIMITS),
        lambda warps, threads, *limits: warps / (np.min(limits, axis=0) * np.ceil(threads / WARP)),
        0.2, 1.05, "theoretical warps are not groups per SM times warps per group",
    ),
    Identity(
        ("occupancy.limit_warps", "launch.block_size"), lambda groups, threads: groups * np.ceil(threads / WARP), 8, 64,
        "warps of the groups that fit are of no SM",
    ),
    Identity(
        ("occupancy.limit_registers", "launch.block_size", "launch.registers"),
        lambda groups, threads, registers: groups * np.ceil(threads / WARP) * WARP * registers,
        4096, 131072, "registers of the groups that fit are of no SM",
    ),
    Identity(
        ("global_access.excess_sectors", "global_access.sectors_l2", "global_access.sectors_l2_ideal"),
        lambda excess, every, ideal: (every - ideal) / excess,
        0.95, 1.05, "excess sectors are not all sectors but for the ideal ones",
    ),
    *(
        Identity((f"{kind}.sectors", f"{kind}.requests"), _per, 0, 40, "more sectors than a warp has threads")
        for kind in ("global_load", "global_store", "local_load", "local_store")
    ),
)  # fmt: skip


def check(table: Table, device: Device | None) -> list[Quality]:
    """Blank figures that contradict each other; a remark for each kind. device: with its peak of the memory, if known."""
    if table.trace is not None:  # of launches alone: what else it tells is known by its operations
        return _not_whole(table) + _beyond_bounds(table)
    out = []
    stalls = (
        Identity(
            (m, "warp.cycles_per_issue"), _per, 0, 2.5, "a warp stalls longer than it takes between two instructions"
        )
        for m in table.columns
        if m.startswith("stall_cycles.")
    )
    with np.errstate(all="ignore"):
        for one in (*IDENTITIES, *stalls):
            if not all(m in table.columns for m in one.metrics):
                continue
            values = [measured(table, m) for m in one.metrics]
            if any(v is None for v in values):
                continue
            quotient = one.quotient(*values)
            bad = (quotient < one.low) | (quotient > one.high)
            if bad.any():
                whole = np.logical_and.reduce([np.isfinite(v) & (v > 0) for v in values if v is not None])
                out += _blank(table, one.metrics, bad & whole, one.sentence)
    for metrics, bad, sentence in at_most.found(table):
        out += _blank(table, metrics, bad, sentence)
    out += _not_whole(table) + [q for metric in REGISTERS for q in _one_binary(table, metric)]
    return out + _beyond_bounds(table) + _beyond_peak(table, device)


def _not_whole(table: Table) -> list[Quality]:
    out = []
    for metric in WHOLE:
        if (column := table.columns.get(metric)) is not None:
            with np.errstate(invalid="ignore"):
                bad = np.isfinite(column.values) & (column.values != np.floor(column.values))
            out += _blank(table, (metric,), bad, "a count that is not whole")
    return out


def _one_binary(table: Table, metric: str) -> list[Quality]:
    """A remark where one launch of a kernel has other registers than all others: they belong to its code."""
    found = measured(table, metric)
    if found is None or len(table) <= FEW:
        return []
    codes, names = numbered(table.names)
    order = np.argsort(codes, kind="stable")
    for some in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        values = found[some]
        if len(some) <= FEW or np.isnan(values).any():
            continue
        other = values != np.median(values)
        if other.sum() == 1:
            row, name = int(some[np.argmax(other)]), str(names[codes[some[0]]])
            text = f"{name[:80]}, line {table.line(row)}: {found[row]:g} registers, in {len(some) - 1} other launches {np.median(values):g}"
            return [Quality("contradiction", text, row, doubt=True)]
    return []


def _beyond_bounds(table: Table) -> list[Quality]:
    """Counts that no launch has: of nothing at all, or of more than any SM holds."""
    out = []
    for metric in (*SOME, *RUN) if "launch.block_size" in table.columns else SOME:
        if (column := table.columns.get(metric)) is not None:
            out += _blank(table, (metric,), column.values == 0, "a count of 0")
    for metric, most in MAX_OF.items():
        if (column := table.columns.get(metric)) is not None:
            with np.errstate(invalid="ignore"):
                out += _blank(table, (metric,), column.values > most, "more than any device has")
    return out


def _beyond_peak(table: Table, device: Device | None) -> list[Quality]:
    """More bytes per second than the device's memory moves: the time is wrong, or the bytes are."""
    peak = None if device is None else device.peaks.dram_bytes_per_s
    if not peak:
        return []
    text = f"more bytes per second than its memory moves ({show(peak, 'byte/s')})"
    out: list[Quality] = []
    with np.errstate(all="ignore"):
        if (rate := measured(table, "vram.bandwidth")) is not None:
            out += _blank(table, ("vram.bandwidth",), rate > PEAK_ROOM * peak, text)
        ns, moved = measured(table, "gpu.time"), [m for m in MOVED if measured(table, m) is not None]
        if moved and ns is not None:
            bad = sum(table.columns[m].values for m in moved) / (ns * 1e-9) > PEAK_ROOM * peak
            out += _blank(table, (*moved, "gpu.time"), bad, text)
    return out


def _blank(table: Table, metrics: tuple[str, ...], bad: Masks, sentence: str) -> list[Quality]:
    if not bad.any():
        return []
    first = int(np.argmax(bad))
    figures = ", ".join(
        f"{schema.get(m).label} {show(float(table.columns[m].values[first]), schema.get(m).unit)}" for m in metrics
    )
    blank = set(metrics)
    # and whatever was computed from them
    for name, column in (*table.columns.items(), *table.raw.items()):
        if name in blank or blank & set(column.inputs):
            column.values = np.where(bad, np.nan, column.values)
    at = f"first: {str(table.names[first])[:80]}, line {table.line(first)}: {figures}"
    rows = f"{int(bad.sum())} of {len(table)} rows"
    return [Quality("contradiction", f"{rows}: {sentence} ({at}); treated as missing", first, doubt=True)]
