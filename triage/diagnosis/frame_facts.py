"""The whole capture as one pseudo-workload, for rules of scope `frame`.

Each fact's source is a formula; where it concerns named workloads the formula names them, and so does the fact's
`detail`, which a frame rule quotes as {detail}. Everything is vectorised; only pairs are limited to the longest passes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from triage.capture.arrays import Codes, Facts, Floats, Indices, Masks
from triage.capture.capture import SEP, Capture, Derived
from triage.derive import View
from triage.diagnosis import frame_barriers, frame_copies
from triage.diagnosis.pass_facts import pass_facts
from triage.diagnosis.spots import PassFacts
from triage.ground.columns import is_column
from triage.ground.kernel_names import kernel
from triage.ground.limiters import CLASSES
from triage.ground.method import BANDWIDTH, MATTERS, RAISED, TINY_NS, stated
from triage.ground.phrasing import first_of, lower_first
from triage.ground.units import show
from triage.reading import pass_order
from triage.reading.pass_order import Fences
from triage.reading.pass_tree import DRAW, MAX_PASS_RANGES
from triage.rulebook.packs import Rulebook
from triage.schema.derived import HARDWARE_UNITS

SHAPES = ("gpu.time", "launch.", "device.", "frame.", "copy.")  # metrics of traces and summaries, which name no unit
MERGED = "frame.merge_share"
LONGEST = 200  # passes considered for pairing: 20,000 pairs, whatever the size of the capture
ORDERED = 0.001  # part of the frame below which a pass is not looked at as a producer or consumer
TRIED = 500  # pairs whose order is looked at
RUNS = 3  # runs of mergeable passes that are named, longest first
PAIRS = 3  # pairs worth naming; each needs its own fences
_FUSED = ("fullscreen", "compute")


def frame_captures(
    capture: Capture, limiter: Codes, lead: tuple[Floats, Indices], book: Rulebook
) -> dict[int, Capture]:
    """One-row Captures of frame-level facts: of the frame (-1), and of markers that have such facts of their own.

    Their sources are formulas over the workloads. lead: per workload, the time its root cause saves and the rule index of its evidence (-1: none).
    """
    own = np.nan_to_num(capture.self_ns)
    leaf = capture.leaf
    total = float(capture.frame_ns)
    over = f"over {len(capture)} workloads"
    known: Facts = {"frame.time": (total, over), "frame.workloads": (float(len(capture)), over)}
    passes = PassFacts()
    if total > 0:
        known["frame.uncovered"] = (capture.uncovered_ns / total, "time outside all ranges / frame time")
        for name, time in zip(CLASSES, np.bincount(limiter, own, len(CLASSES)), strict=True):
            known[f"frame.share_{name.replace('-', '_')}"] = (float(time / total), over)
        if not capture.table.isolated:
            known |= _tiny(capture, own, leaf, total)
        known |= _communication(capture, own, total)
        known |= _weighted(capture, own, leaf, total)
        known |= _merge(capture, own, total)
        known |= _pairs(capture, own, leaf, total)
        passes = pass_facts(capture, total)
        known |= passes.whole
        known |= frame_barriers.facts(capture, total)
        known |= frame_copies.facts(capture, total)
        known |= _common(lead, book, total)
        if capture.timeline is not None:
            from triage.diagnosis.timeline_facts import timeline_facts  # only traces need it

            known |= timeline_facts(capture.timeline, total, capture.device.bus if capture.device else None)
            if capture.table.trace is not None and (capture.table.trace.steps or capture.table.trace.optimizer):
                from triage.diagnosis.step_facts import step_facts

                known |= step_facts(capture.table.trace, total)
            if capture.table.trace is not None and capture.table.trace.messages:
                from triage.diagnosis.collective_facts import collective_facts

                known |= collective_facts(capture.table.trace, total, capture.device)
            if capture.table.trace is not None and capture.table.trace.operators:
                from triage.diagnosis.operator_facts import operator_facts

                peaks = capture.device.peaks if capture.device else None
                blocks = getattr(capture.table.columns.get("launch.grid_size"), "values", None)
                known |= operator_facts(capture.table.trace, peaks, total, _sms(capture), blocks)
            del known["frame.uncovered"]  # what lies between the work is known by its causes
        if without_units(capture):  # elsewhere the counters of a kernel say more
            from triage.diagnosis.kernel_facts import kernel_facts  # only traces and summaries need it

            known = kernel_facts(capture, own, total) | known
        if capture.table.operators:
            from triage.diagnosis.stated_work import stated_facts

            known |= stated_facts(capture.table.operators, capture.device.peaks if capture.device else None, total)
    # a time of 0 is a missing one, never a fact
    if total <= 0:
        known.pop("frame.time")
    cells = passes.origins
    return {-1: _one_row(capture, known, {})} | {
        w: _one_row(capture, facts, {m: cells[m][w] for m in facts if w in cells.get(m, ())})
        for w, facts in passes.placed.items()
    }


def _one_row(capture: Capture, known: Facts, cells: Mapping[str, str]) -> Capture:
    """A capture of one row that has these facts. cells: fact -> the cells that were counted for it."""
    one, total = np.array([0]), float(capture.frame_ns)
    return replace(
        capture,
        names=np.array(["frame"], dtype=object),
        paths=np.array([""], dtype=object),
        kinds=np.array(["frame"], dtype=object),
        calls=np.ones(1),
        parent=one - 1,
        depth=one,
        duration_ns=np.array([total]),
        self_ns=np.array([total]),
        facts={m: np.array([v]) for m, (v, _) in known.items()},
        sources={m: Derived(cells.get(m, f), (), detail=f) for m, (_, f) in known.items()},
        members=None,
        collectable=capture.collectable | frozenset(known),
    )


def without_units(capture: Capture) -> bool:
    """True for exports of kernels by time and launch shape alone: no unit was measured."""
    kernels = capture.input.tells.get("work") == "compute"
    return kernels and all(m.startswith(SHAPES) for m in capture.table.columns)


def _sms(capture: Capture) -> int:
    """SMs or compute units of the device, as exported, else from its table; 0 if unknown."""
    counts = capture.facts.get("device.sm_count", np.array([]))
    known = counts[np.isfinite(counts)]
    return int(known.max()) if len(known) else (capture.device.sm_count or 0) if capture.device else 0


def _tiny(capture: Capture, own: Floats, leaf: Masks, total: float) -> Facts:
    """Ranges shorter than TINY_NS; kernel launches apart from markers, because their fixes differ."""
    # a workload may be a hundred launches of one kernel: what is short is each of them
    calls = np.maximum(capture.calls, 1)
    # copies are short for reasons of their own, and no launch that a graph would save
    timed = leaf & (own > 0) & (capture.kinds != "copy")
    if not timed.any():
        return {}
    tiny = timed & (own / calls < TINY_NS)
    launched = _launches(capture)
    out: Facts = {}
    for name, mask in (("tiny", tiny), ("tiny_marker", tiny & ~launched)):
        where = np.flatnonzero(mask)
        out[f"frame.{name}_count"] = (float(calls[where].sum()), stated("leaf ranges below {tiny}"))
        out[f"frame.{name}_share"] = (
            float(own[where].sum() / total),
            stated("time in leaf ranges below {tiny} / frame time"),
        )
    shown = np.flatnonzero(tiny & ~launched)
    if 0 < len(shown) <= MAX_PASS_RANGES:
        drawn = np.array([bool(DRAW.match(str(n))) for n in capture.names[shown]])
        out["frame.tiny_draw_share"] = (
            float(own[shown][drawn].sum() / own[shown].sum()),
            stated("time in single draws below {tiny} / time in leaf ranges below {tiny}"),
        )
    if (timed & launched).any():
        small, every = tiny & launched, timed & launched
        out["frame.tiny_launch_count"] = (float(calls[small].sum()), stated("launches below {tiny}"))
        out["frame.tiny_launch_share"] = (
            float(calls[small].sum() / calls[every].sum()),
            stated("launches below {tiny} / launches"),
        )
        out["frame.tiny_launch_time"] = (
            float(own[small].sum() / own[every].sum()),
            stated("time in launches below {tiny} / kernel time"),
        )
    return out


def _communication(capture: Capture, own: Floats, total: float) -> Facts:
    """Time in kernels of communication libraries; only a timeline shows what of it ran beside other kernels."""
    if capture.input.tells.get("work") != "compute":
        return {}
    talking = np.flatnonzero(View(capture)["name.collective"] == 1)
    if not len(talking):
        return {"frame.communication": (0.0, "no kernel of a communication library")}
    longest = talking[np.argsort(-own[talking], kind="stable")[:2]]
    named = "; ".join(f"{kernel(str(capture.names[i]))[:60]}: {show(float(own[i]), 'ns')}" for i in longest)
    return {"frame.communication": (float(own[talking].sum() / total), named)}


def _weighted(capture: Capture, own: Floats, leaf: Masks, total: float) -> Facts:
    out: Facts = {}
    for fact, metric in (("frame.idle", "gpu.idle"), ("frame.drain_time", "wfi.sync")):
        values = View(capture)[metric]
        if is_column(values):
            out[fact] = (
                float(np.nansum(np.where(leaf, values * own, 0.0)) / total),
                f"{metric} x time over leaf ranges / frame time",
            )
    # a count, so parents hold their children's: only leaves are added
    drains = capture.facts.get("wfi.go_idle")
    if drains is not None:
        out["frame.drains"] = (float(np.nansum(np.where(leaf, drains, 0.0))), "drains of all leaf ranges")
    return out


def runs(capture: Capture) -> tuple[Masks, Masks]:
    """Neighbours under one parent that all have VRAM as top unit, above BANDWIDTH: (in a run, joined to the one before)."""
    own, vram = np.nan_to_num(capture.self_ns), capture.facts["vram.throughput"]
    lead = vram > BANDWIDTH
    for unit in HARDWARE_UNITS:
        other = capture.facts.get(f"{unit}.throughput")
        if other is not None and unit not in ("vram", "memory"):
            lead &= ~(other > vram)
    good = capture.leaf & lead & (own > 0) & ~_launches(capture)
    some = np.flatnonzero(good)  # kinds are words: only those that matter are looked at
    good[some] = np.isin(capture.kinds[some], _FUSED)
    # workloads stand in the order of the export: neighbours are passes that follow each other
    joined = good[1:] & good[:-1] & (capture.parent[1:] == capture.parent[:-1])
    walls = capture.facts.get("barrier.count")
    if walls is not None:  # what no barrier parts hands nothing over
        joined &= ~(walls[1:] == 0)
    return np.concatenate([[False], joined]) | np.concatenate([joined, [False]]), joined


def _merge(capture: Capture, own: Floats, total: float) -> Facts:
    """Time in `runs`, the longest of them named."""
    if "vram.throughput" not in capture.facts:
        return {}
    part, joined = runs(capture)
    where = np.flatnonzero(part)
    if not len(where):
        return dict.fromkeys((MERGED, "frame.merge_passes"), (0.0, "no two neighbouring passes both lead with VRAM"))
    # where a run begins: not joined to the one before; likewise where it ends
    first = where[(where == 0) | ~np.concatenate([[False], joined])[where]]
    ends = where[~np.concatenate([joined, [False]])[where]]
    # up to the next beginning: what lies between two runs counts 0
    times = np.add.reduceat(np.where(part, own, 0.0), first)
    text = "; ".join(
        _run([str(n) for n in capture.names[first[k] : ends[k] + 1]]) for k in np.argsort(-times, kind="stable")[:RUNS]
    )
    text += f"; and {len(first) - RUNS} more" if len(first) > RUNS else ""
    return {
        MERGED: (float(own[part].sum() / total), text),
        "frame.merge_passes": (float(len(where)), text),
        **_intermediate(capture, part, joined),
    }


def _run(names: list[str]) -> str:
    """`“TAA”, “Sharpen”`: passes that follow each other."""
    return first_of([f"“{n}”" for n in names], 4, " and ")


def _intermediate(capture: Capture, part: Masks, joined: Masks) -> Facts:
    """Bytes that those passes move, and what of it one writes and the next reads again at most."""
    view = View(capture)
    read, written = view["vram.bytes_read"], view["vram.bytes_written"]
    if not is_column(read) or not is_column(written):
        return {}
    moved = (read + written)[part]
    if not np.isfinite(moved).all() or moved.sum() <= 0:
        return {}
    # the first of two writes what the second reads: both ways vanish, as far as the smaller of the two
    handed = np.where(joined, 2 * np.minimum(written[:-1], read[1:]), 0.0).sum()
    share = min(float(handed / moved.sum()), 1.0)
    formula = "2 x the smaller of bytes written by a pass and bytes read by the next / bytes moved by the passes"
    return {
        "frame.merge_bytes": (float(moved.sum()), "bytes moved by the passes of the runs"),
        "frame.merge_handed": (share, formula),
    }


def _launches(capture: Capture) -> Masks:
    """Launches of a compute API: their order is the program's, not the frame's."""
    if capture.timeline is not None and capture.input.tells.get("work") == "compute":
        return np.isin(capture.kinds, ("compute",))
    blocks = capture.facts.get("launch.block_size")
    return np.zeros(len(capture), dtype=bool) if blocks is None else np.isfinite(blocks)


def _pairs(capture: Capture, own: Floats, leaf: Masks, total: float) -> Facts:
    """Pairs of passes that overlap best by every unit's work: SOL x time of both must fit in the time of one."""
    rows = np.flatnonzero(leaf & (own >= MATTERS * total) & ~_launches(capture))
    rows = rows[~np.isin(capture.kinds[rows], ("marker", "frame", "cpu", "copy"))]
    if len(rows) > LONGEST:
        rows = np.sort(rows[np.argpartition(-own[rows], LONGEST)[:LONGEST]])
    view = View(capture, rows)
    units = [u for u in HARDWARE_UNITS if u != "memory" and is_column(view[f"{u}.throughput"])]
    # two units are too few to say of a pair that they share none
    if len(units) < 3:
        return {}
    if len(rows) < 2:
        why = f"no two passes take {MATTERS:.0%} of the frame each"
        return {"frame.pair_share": (0.0, why), "frame.pairs": (0.0, why)}
    sol = np.stack([view[f"{u}.throughput"] for u in units])
    core = [units.index(u) for u in ("sm", "l2") if u in units]
    # an unmeasured unit counts as idle below; the two that every pass needs must have been seen
    whole = np.isfinite(sol[core]).all(axis=0) & (len(core) == 2)
    time = own[rows]
    work = np.nan_to_num(sol) * time
    together = (work[:, :, None] + work[:, None, :]).max(
        axis=0
    ) / RAISED  # no unit gives more in practice, alone or shared
    slots = view["sm.occupancy"]
    if is_column(slots):  # warp slots are one more thing to share, not the only one
        held = np.nan_to_num(slots) * time
        together = np.maximum(together, held[:, None] + held[None, :])
    longest = np.maximum(time[:, None], time[None, :])
    hidden = time[:, None] + time[None, :] - np.maximum(together, longest)
    # only compute has a queue of its own beside graphics: one of the two must be
    compute = capture.kinds[rows] == "compute"
    allowed = whole[:, None] & whole[None, :] & (compute[:, None] | compute[None, :])
    leader = np.nan_to_num(sol).argmax(axis=0)
    alone = ~_on_own_queue(view)  # what runs on a second queue already is not moved there
    allowed &= (alone & compute)[:, None] | (alone & compute)[None, :]
    allowed &= leader[:, None] != leader[None, :]  # two passes that lead with one unit do not complement each other
    hidden = np.triu(np.where(allowed, hidden, 0.0), 1)
    order = np.flatnonzero(leaf & (own >= ORDERED * total))
    place = {int(row): i for i, row in enumerate(order)}
    roles = [_role(capture, int(row)) for row in order]
    walls = frame_barriers.between(capture, order)
    groups = np.full(len(capture), -1)
    for n, p in enumerate(capture.passes):
        groups[p.rows] = -1 if p.rest else n
    saved, texts = 0.0, list[str]()
    for _ in range(TRIED):
        if len(texts) == PAIRS:
            break
        a, b = (int(k) for k in np.unravel_index(int(hidden.argmax()), hidden.shape))
        if hidden[a, b] < MATTERS * total:
            break
        ways = [(x, y) for x, y in ((a, b), (b, a)) if compute[x] and alone[x]]
        for guest, host in ways:
            fences = pass_order.movable(
                roles, place[int(rows[guest])], place[int(rows[host])], walls, groups[order].tolist()
            )
            if fences is not None:
                break
        if fences is None:
            hidden[a, b] = 0.0
            continue
        saved += float(hidden[a, b])
        passages = (_passage(capture, int(rows[k]), float(time[k]), units[int(leader[k])]) for k in (a, b))
        texts.append(" with ".join(passages) + _fences(capture, fences, order))
        # a pass can hide behind one other only
        hidden[[a, b], :] = 0.0
        hidden[:, [a, b]] = 0.0
    return {
        "frame.pair_share": (saved / total, "; ".join(texts) or "no pair complements each other"),
        "frame.pairs": (float(len(texts)), "; ".join(texts) or "none"),
    }


def _on_own_queue(view: View) -> Masks:
    """Ranges that ran on a compute queue: the export says so, or the counter of the second queue does."""
    out = np.zeros(view.size, dtype=bool)
    for metric, least in (("queue.async", 0.5), ("compute.async_active", 0.5)):
        values = view[metric]
        if is_column(values):
            out |= values > least
    return out


def _role(capture: Capture, row: int) -> pass_order.Role | None:
    """Role of a pass, by the markers around it, nearest first, else by its own name, often that of a step; None if unknown."""
    names = [*reversed(str(capture.paths[row]).split(SEP)), str(capture.names[row])]
    return next((r for r in map(pass_order.role, names) if r is not None), None)


def _fences(capture: Capture, fences: Fences, order: Indices) -> str:
    """`, starting “SSAO” after “GBuffer” and waiting for it before “Lighting”`."""
    if fences.after < 0 and fences.before < 0:
        return ""
    begun = f"after “{capture.names[order[fences.after]]}”" if fences.after >= 0 else "first"
    end = f" and waiting for it before “{capture.names[order[fences.before]]}”" if fences.before >= 0 else ""
    return f", starting “{capture.names[order[fences.moved]]}” {begun}{end}"


def _passage(capture: Capture, row: int, time: float, unit: str) -> str:
    return f"“{capture.names[row]}” ({show(time, 'ns')}, {HARDWARE_UNITS[unit]} on top)"


def _common(lead: tuple[Floats, Indices], book: Rulebook, total: float) -> Facts:
    """The rule whose root causes save most time together."""
    saved, rule = lead
    some = (rule >= 0) & (saved > 0)
    if not some.any():
        return {}
    sums = np.bincount(rule[some], weights=saved[some])
    counts = np.bincount(rule[some])
    # a cause in one workload is that workload's own finding already
    sums[counts < 2] = 0.0
    top = int(sums.argmax())
    title = book.rules[top].title
    text = f"“{lower_first(title)}” ({book.rules[top].id})"
    return {
        "frame.common_share": (float(sums[top] / total), text),
        "frame.common_workloads": (float(counts[top]) if sums[top] > 0 else 0.0, text),
    }
