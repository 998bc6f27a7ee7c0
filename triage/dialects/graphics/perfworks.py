"""PerfWorks counters as NVIDIA's graphics tools print them: which metric a header means, and what follows from them.

Shared by GPU Trace, the Nsight Perf SDK, and the NVIDIA plug-ins of RenderDoc and PIX. What stands before a counter
(`FE_A.TriageSCG.`) changes with the GPU, the metric set and the shader profiler, so only what follows counts.
"""

from __future__ import annotations

import re
import warnings
from functools import cache, lru_cache

import numpy as np

from triage import schema
from triage.capture.arrays import Floats, Names
from triage.capture.capture import Column, Table

PCT = ".avg.pct_of_peak_sustained_elapsed"
STALL = "tpc__warps_issue_stalled_"
# Names whose meaning these tools fix; schema aliases cover the rest.
_LOCAL = {
    "dramc__cycles_elapsed.avg.per_second": "vram.frequency",
    "gpc__cycles_elapsed.avg": "sm.cycles_elapsed",
    "sm__inst_executed_realtime.sum": "inst.executed",
    f"tpc__warps_inactive_sm_active{PCT}": "sm.unused_slots",
    f"tpc__warps_inactive_sm_idle{PCT}": "sm.idle",
    f"tpc__warps_active_shader_cs{PCT}": "sm.warps_cs",
    f"tpc__warps_active_shader_ps{PCT}": "sm.warps_ps",
    f"tpc__warps_active_shader_vtg{PCT}": "sm.warps_vtg",
    "gpu__time_duration": "gpu.time",
}
# stall reasons that the graphics tools cut finer than Nsight Compute: the pipe waited for, or a plural
_REASONS = {
    "long_scoreboard_pipe_l1tex": "stall.long_scoreboard",
    "long_scoreboard": "stall.long_scoreboard",
    "long_scoreboard_pipe_rtcore": "stall.rtcore",
    "mio_throttle_pipe_mio": "stall.mio_throttle",
    "mio_throttle": "stall.mio_throttle",
    "mio_throttle_pipe_rtcore": "stall.rtcore_throttle",
    "no_instructions": "stall.no_instruction",
}
_WARPS = ("ps", "cs", "vtg")
_WORLD = re.compile(r"(?:World|Screen)Pipe_throughput\.avg\.pct_of_peak_sustained_elapsed\Z")
SLACK = 0.05  # heuristic: by how much counters of two passes over the frame may differ


def counter(header: str) -> str:
    """The PerfWorks part of a header without tool prefixes, or ""."""
    if (m := _WORLD.search(header.strip())) is not None:
        return m[0]
    return schema.perfworks(header)


@lru_cache(16_384)
def metric_of(header: str) -> str:
    """Canonical id of a PerfWorks header, or ""."""
    name = counter(header)
    return (_LOCAL.get(name) or schema.by_alias().get(schema.normal(name), "")) if name else ""


@lru_cache(16_384)
def stall_of(header: str) -> str:
    """`stall.<reason>` of a PC-sampler column in % of peak warp slots, or ""."""
    name = counter(header)
    if not name.startswith(STALL) or not name.endswith(PCT):
        return ""
    reason = name[len(STALL) : -len(PCT)].removesuffix("_realtime")
    metric = _REASONS.get(reason, f"stall.{reason}")
    return metric if schema.known(metric) else ""


@lru_cache(16_384)
def warps_of(header: str) -> str:
    """`ps`, `cs` or `vtg` for the average number of resident warps per SM and elapsed cycle, else ""."""
    m = re.fullmatch(r"tpc__warps_active_shader_(ps|cs|vtg)(?:_realtime)?\.avg\.per_cycle_elapsed", counter(header))
    return m[1] if m else ""


def unit_of(header: str) -> str:
    """`%` for counters that print percent (those before Turing end in `_pct`), else "" (the canonical unit)."""
    return "%" if re.search(r"(?:\.pct(?:_of_peak_sustained_\w+)?|_pct)\Z", counter(header)) else ""


def clock_factor(values: Floats) -> float | None:
    """Factor to Hz of a clock column without a unit: MHz or Hz by magnitude; None if neither fits."""
    seen = values[np.isfinite(values) & (values > 0)]
    if not len(seen):
        return 1.0
    low, high = float(seen.min()), float(seen.max())
    if low >= 10 and high < 1e5:  # no GPU clock runs at 100 kHz or 100 GHz
        return 1e6
    return 1.0 if low >= 1e7 else None


def add(table: Table, metric: str, values: Floats, formula: str, inputs: tuple[str, ...]) -> None:
    """A computed column, unless the metric was exported; an all-missing result is left out."""
    if metric not in table.columns and np.isfinite(values).any():
        table.columns[metric] = Column.computed(values, formula, inputs)


def compute(table: Table) -> None:
    """Metrics that follow from exported counters, each with its formula, where the tool did not export them."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        _warps(table)
        _stalls(table)


def _get(table: Table, metric: str) -> Floats | None:
    column = table.columns.get(metric)
    return None if column is None else column.values


def _warps(table: Table) -> None:
    """Occupancy, active SMs and issue rates; the counters are over elapsed cycles, so idle SMs dilute them."""
    shares = [f"sm.warps_{s}" for s in _WARPS if f"sm.warps_{s}" in table.columns]
    active = _get(table, "sm.active")
    if len(shares) >= 2:  # one stage alone is no occupancy
        total = np.sum([table.columns[m].values for m in shares], axis=0)
        add(table, "sm.occupancy_elapsed", total, " + ".join(shares), tuple(shares))
        unused, idle = _get(table, "sm.unused_slots"), _get(table, "sm.idle")
        # sm.active may be missing: from idle SMs, or from the slots that are unused though the SM is not idle
        if active is None and idle is not None:
            active = 1 - idle
        if active is None and unused is not None and not _outdone(table, total + unused):
            active = np.minimum(total + unused, 1.0)
            inputs = (*shares, "sm.unused_slots")
            text = f"{' + '.join(inputs)} (every warp slot of an SM that is not idle)"
            add(table, "sm.active", active, text, inputs)
        if active is not None:
            name = "sm.active" if "sm.active" in table.columns else "sm.idle"
            share = "sm.active" if name == "sm.active" else "(1 - sm.idle)"
            add(table, "sm.occupancy", _over(total, active), f"({' + '.join(shares)}) / {share}", (*shares, name))
            raws = [h for h in table.raw if warps_of(h)]
            if len(raws) >= 2:
                warps = np.sum([table.raw[h].values for h in raws], axis=0)
                add(table, "sm.active_warps", _over(warps, active), f"({' + '.join(raws)}) / {share}", (*raws, name))
    inst = _get(table, "sm.inst_per_elapsed")
    if inst is not None:
        why = "instructions executed stand for instructions issued"
        add(table, "sm.issue_per_elapsed", inst, f"sm.inst_per_elapsed: {why}", ("sm.inst_per_elapsed",))
        if active is not None:
            name = "sm.active" if "sm.active" in table.columns else "sm.idle"
            text = f"sm.inst_per_elapsed / {'sm.active' if name == 'sm.active' else '(1 - sm.idle)'}: {why}"
            add(table, "sm.issue_per_active", np.minimum(_over(inst, active), 1.0), text, ("sm.inst_per_elapsed", name))


def _outdone(table: Table, active: Floats) -> bool:
    """True where SMs would work longer than they hold warps: the slots that were counted are not all of them."""
    busy = _get(table, "sm.throughput")
    if busy is None or not (busy > active + SLACK).any():
        return False
    row = int(np.nanargmax(busy - active))
    table.remark("warp-slots", "SM throughput is above the sum of the warp slots: the time with warps is unknown", row)
    return True


def _over(a: Floats, b: Floats) -> Floats:
    """a / b, NaN where b is not positive."""
    return np.where(b > 0, a / np.where(b > 0, b, 1.0), np.nan)


def _stalls(table: Table) -> None:
    """PC-sampler stalls are % of the peak warp slots; as shares of the resident warps they add up to one."""
    headers = [h for h in table.raw if stall_of(h)]
    if not headers:
        return
    stack = np.stack([table.raw[h].values for h in headers])
    total = np.nansum(stack, axis=0)
    # a resident warp always has a reason, at least `selected`: a sum of 0 means no samples
    dead = ~(total > 0)
    every, formula = f"sum of the {len(headers)} stall reasons", f"{headers[0]} + ... + {headers[-1]}"
    resident = _get(table, "sm.occupancy_elapsed")
    if resident is not None:  # slots in use, that of warps in a state that was not exported among them
        total, formula = np.fmax(total, resident), f"the higher of {formula} and sm.occupancy_elapsed"
    table.raw[every] = Column(total, every, formula=formula)
    for h in headers:
        share = np.where(dead, np.nan, table.raw[h].values / np.where(dead, 1.0, total))
        add(table, stall_of(h), share, f"this reason / {every}", (h, every))
    if dead.all():
        table.remark(
            "stalls-unavailable",
            f"all {len(headers)} PC-sampler stall columns are 0 for every "
            "range: the sampler recorded nothing; unavailable, not zero",
        )
    elif dead.any():
        rows = np.flatnonzero(dead)
        shown = ", ".join(str(table.names[r])[:40] for r in rows[:3])
        table.remark(
            "stalls-unavailable",
            f"all {len(headers)} stall columns are 0 for {len(rows)} of "
            f"{len(dead)} ranges ({shown}{', ...' if len(rows) > 3 else ''}): unavailable, not zero",
            int(rows[0]),
        )


def kinds(table: Table) -> Names:
    """What a range does, from its draw and dispatch counts; "" where they do not tell."""
    out = np.full(len(table), "", dtype=object)
    draws, dispatches = _get(table, "draw.count"), _get(table, "dispatch.count")
    if draws is None or dispatches is None:
        return out
    prims, pixels = _get(table, "prims.input"), _get(table, "pixels.shaded")
    with np.errstate(all="ignore"):
        only_draws = (draws > 0) & (dispatches == 0)
        out[(dispatches > 0) & (draws == 0)] = "compute"
        out[only_draws] = "draw"
        if prims is not None:
            out[only_draws & (prims > 2 * draws)] = "geometry"
            if pixels is not None:  # one or two triangles per draw over much of the screen
                out[only_draws & (prims <= 2 * draws) & (pixels >= 1e5 * draws)] = "fullscreen"
        pixel, compute_warps, vertex = (_get(table, f"sm.warps_{s}") for s in _WARPS)
        # draws of a neighbour may leak into a compute range's count
        if pixel is not None and compute_warps is not None and vertex is not None:
            total = pixel + compute_warps + vertex
            out[(out == "") & (dispatches > 0) & (total > 0) & (compute_warps >= 0.95 * total)] = "compute"
    return out


_UNITS = frozenset(
    "sm smsp l1tex lts dram dramc crop zrop pda vaf vpc pes raster prop rtcore pcie fe gr gpc gpu tpc".split()
)


@cache
def names() -> dict[str, list[str]]:
    """canonical id -> PerfWorks names, for every metric that has one (names of old tools left out)."""
    out: dict[str, list[str]] = {}
    for metric in schema.all_metrics().values():
        found = [a for a in metric.aliases if "." in a and counter(a).partition("__")[0] in _UNITS]
        if found:
            out[metric.id] = sorted(found, key=lambda a: a.startswith("dramc__"))  # GPU Trace alone says dramc
    for name, target in _LOCAL.items():
        out.setdefault(target, []).append(name)
    return out
