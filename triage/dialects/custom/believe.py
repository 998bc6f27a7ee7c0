"""Step 3 of 4: whether the values of a custom table bear out what its headers are read as, and what headers leave open.

Values are evidence: a share above 110 % counts something, 25 of 64 warps are no 33 % of them, a time of 0.3 is no nanosecond. Each rule
below accepts a column, changes what it is read as, leaves it unread, or asks for a unit (BadCapture), with a remark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from triage import devices, schema
from triage.capture.arrays import Floats, Masks
from triage.capture.capture import Column, Quality
from triage.dialects.custom import vocabulary
from triage.dialects.custom.agree import Columns
from triage.dialects.custom.say import Header
from triage.dialects.tables import unit_inference
from triage.ground import units
from triage.ground.errors import UnknownUnit
from triage.ground.units import show

TOLERANCE = 0.02  # of the larger: two figures that tools rounded in their own way
PERCENT = 0.01
MAX_PERCENT = 110.0  # what passes of a profiler that ran one after another may add up to
MAX_NAMED_PERCENT = 1_000.0  # no rounding and no passes reach it; hundreds do occur (RenderDoc's hit rates)
MIN_REASONS = 4  # of fewer stall reasons the sum is unknown
ALL_REASONS = 8  # of so many stall reasons the sum is close to all
MAX_WARPS = 64  # of any NVIDIA SM (compute capability 3.0 to 8.0, 9.0 and 10.0)
ABOVE_THEORY = 0.05  # by what rounding may lift an achieved occupancy above the theoretical one
MAX_BLOCK = 1024  # threads
WARP_LANES = 32
MAX_FRACTION = 0.5  # of a share beside percentages: smaller values may be fractions
# columns of these names count warps with some people, and hold the share of their slots with others
_WARPS = {"occupancy.theoretical_warps": "occupancy.theoretical", "sm.active_warps": "sm.occupancy"}
_BARE_WARPS_RE = re.compile(r"sm occupancy|sm (?:warps active|max warps|maximum warps)")
# shares that are a good part of one in any work that runs: all of them below 1 % would be absurd
_NEVER_TINY = ("l1tex.hit_rate", "l2.hit_rate", "l3.hit_rate", "llc.hit_rate", "sm.active", "gpu.active", "sm.occupancy", "occupancy.theoretical",
               "sol.top", "sm.throughput_active", "eu.occupancy", "valu.utilization", "branch.efficiency")  # fmt: skip


@dataclass(slots=True)
class Evidence:
    """Columns and their values. numbers: place -> values as printed. device: GPU named by the table. where: header's file:line.

    factors: metric -> what makes printed values canonical.
    """

    columns: Columns
    numbers: Mapping[int, Floats]
    device: str = ""
    where: str = ""
    factors: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    quality: list[Quality] = field(default_factory=list)

    def values(self, metric: str) -> Floats:
        """Values of a used metric, as printed; none for others."""
        header = self.columns.used.get(metric)
        return np.array([]) if header is None else self.numbers[header.place]

    def unit(self, metric: str) -> str | None:
        """Unit text of a used metric, None for others."""
        header = self.columns.used.get(metric)
        return None if header is None else header.reading.unit

    def shares(self, unit: str) -> dict[str, Header]:
        """Metric -> header of the used shares that state this unit."""
        return {m: h for m, h in self.columns.used.items() if h.reading.unit == unit and schema.get(m).unit == "ratio"}

    def rename(self, metric: str, other: str, why: str, unit: str | None = None) -> None:
        """Use a metric's column for another metric."""
        self.columns.used[other] = self.columns.used.pop(metric).read_as(other, why, unit)


def counts(evidence: Evidence) -> None:
    """Columns called like a share whose values count something are that count, where it is a metric; else not read."""
    columns, numbers = evidence.columns, evidence.numbers
    for metric in [m for m, h in columns.used.items() if is_no_share(h, numbers[h.place], named=not h.by_words)]:
        count = vocabulary.pairs("counted").get(metric, metric)
        if count not in columns.used:
            evidence.rename(metric, count, "values too large for a share")
        else:
            columns.unread.append(columns.used.pop(metric).read_as("", f"values too large for {metric}"))
        for rival in columns.rivals:
            if rival.reading.metric == metric and not is_no_share(rival, numbers[rival.place]):
                columns.rivals.remove(rival)
                columns.unread.remove(rival)
                columns.used[metric] = rival
                break


def is_no_share(header: Header, values: Floats, named: bool = False) -> bool:
    """True if values without a unit are too large for the share that a header is read as: `L2 hits` may be a count.

    named: by a metric's own name, not by words that may mean another; such a column must be further off.
    """
    known = schema.get(header.reading.metric)
    bare_share = known.unit == "ratio" and known.bounded and not header.reading.unit
    return bool(
        bare_share
        and np.isfinite(values).any()
        and bool(np.nanmax(values) > (MAX_NAMED_PERCENT if named else MAX_PERCENT))
    )


def _threads_of_a_block(evidence: Evidence) -> None:
    """`Threads` beside `Blocks` are a block's where a launch has fewer of them than blocks."""
    used = evidence.columns.used
    if not {"launch.threads", "launch.grid_size"} <= used.keys() or "launch.block_size" in used:
        return
    threads, blocks = evidence.values("launch.threads"), evidence.values("launch.grid_size")
    with np.errstate(invalid="ignore"):
        if (threads < blocks).any() and not (threads > MAX_BLOCK).any():
            evidence.rename("launch.threads", "launch.block_size", "fewer than blocks: one block's")


def _bare_occupancy(evidence: Evidence) -> None:
    """`SM Occupancy` without a unit is a count of warps (NVIDIA's article) or a share of their slots (most people)."""
    used = evidence.columns.used
    for count, share in _WARPS.items():
        header = used.get(count)
        if header is None or header.reading.unit or share in used or not _BARE_WARPS_RE.fullmatch(schema.normal(header.text)):  # fmt: skip
            continue
        reading, why = _warps_or_share(evidence, evidence.values(count))
        if reading == "warps of an SM":
            message = f"states no unit and was read as {reading}, {why}; if it is a percentage, write [%]"
        else:
            message = f"states no unit and was read as {reading}, {why}; write [%] or [warps] to be sure"
            evidence.rename(
                count, share, f"{reading}, {why}", "" if np.nanmax(evidence.values(count), initial=0) <= 1 else "%"
            )
        evidence.quality.append(Quality("occupancy-unit", f"{header.text[:60]!r} {message}"))


def _warps_or_share(evidence: Evidence, values: Floats) -> tuple[str, str]:
    """(what a bare occupancy is read as, why).

    Warps cannot be more than an SM's slots, nor fill more of them than is possible in theory. Where neither decides, the
    other shares do: people who write a sign at each of them would have written it here.
    """
    device = devices.find(evidence.device) if evidence.device else None
    slots = device.max_warps_per_sm if device else MAX_WARPS
    theory = evidence.values("occupancy.theoretical")
    possible = theory * (1.0 if np.nanmax(theory, initial=0) <= 1 else PERCENT) if len(theory) else np.inf
    finite = values[np.isfinite(values)]
    if len(finite) and finite.max() <= 1:
        return "fractions of 1", "no value exceeds 1"
    with np.errstate(invalid="ignore"):
        if (values > slots).any() or (values / slots > possible + ABOVE_THEORY).any():
            return "percentages", "there are no such counts of warps"
    shares = (h.reading.unit for m, h in evidence.columns.used.items() if schema.get(m).unit == "ratio" and schema.get(m).bounded)  # fmt: skip
    return ("warps of an SM", "as in NVIDIA's article") if any(shares) else ("percentages", "as the other shares")


def _stall_cycles(evidence: Evidence) -> None:
    """Bare columns such as `stall_long_scoreboard` hold cycles per issued instruction where their sums say so.

    An issued warp's own is one by definition, in every row, and all of them add up to the cycles that an instruction takes;
    shares of several rows do neither.
    """
    bare = {m: evidence.values(m) for m, h in evidence.columns.used.items() if m.startswith("stall.") and not h.reading.unit}  # fmt: skip
    if len(bare) < MIN_REASONS or any(_as_cycles(m) in evidence.columns.used for m in bare):
        return
    total = np.nansum(list(bare.values()), axis=0)
    per_issue = evidence.values("warp.cycles_per_issue") if evidence.unit("warp.cycles_per_issue") == "" else np.array([])  # fmt: skip
    issued = bare.get("stall.selected", np.array([]))
    if _always(issued, np.ones(len(issued)), total > 1) or _always(total, per_issue, total > 0):
        for metric in bare:
            evidence.rename(metric, _as_cycles(metric), "cycles per issued instruction, by their sums")
        evidence.notes.append(f"{len(bare)} columns of stall reasons have no unit and were read as cycles per issued instruction, not as shares")  # fmt: skip


def _stall_shares(evidence: Evidence) -> None:
    """Bare columns such as `Stall Long Scoreboard`, cycles in Nsight Compute, are shares in a table of few reasons.

    Not where they add up to more than all, where an issued warp's one cycle stands among them, nor beside their total.
    """
    bare = {m: evidence.values(m) for m, h in evidence.columns.used.items() if m.startswith("stall_cycles.") and not h.reading.unit and "__" not in h.text and "cycle" not in h.text.lower()}  # fmt: skip
    if not bare or len(bare) >= ALL_REASONS or "warp.cycles_per_issue" in evidence.columns.used:
        return
    issued = next((m for m in ("stall_cycles.selected", "stall.selected") if m in evidence.columns.used), "")
    if issued and not evidence.unit(issued) and (np.abs(evidence.values(issued) - 1) <= TOLERANCE).all():
        return
    if np.nansum(list(bare.values()), axis=0).max(initial=0) > 100 * (1 + TOLERANCE):
        return
    shares = [m for m in bare if _as_share(m) not in evidence.columns.used]
    for metric in shares:
        evidence.rename(metric, _as_share(metric), "shares, of few reasons")
    if shares:
        evidence.notes.append(f"{len(shares)} columns of stall reasons have no unit and were read as shares of the time, not as cycles")  # fmt: skip


def _as_cycles(metric: str) -> str:
    return metric.replace("stall.", "stall_cycles.")


def _as_share(metric: str) -> str:
    return metric.replace("stall_cycles.", "stall.")


def _always(values: Floats, expected: Floats, rows: Masks) -> bool:
    """True if values are the expected ones in each of these rows, two at least."""
    if not len(values) or not len(expected):
        return False
    with np.errstate(invalid="ignore"):
        same = np.abs(values - expected) <= TOLERANCE * np.abs(expected)
    return bool(rows.sum() > 1 and same[rows].all())


def _by_words(evidence: Evidence) -> None:
    """Note the columns that were recognised by their words, for the reader to check."""
    words = sorted((h.place, h.text, m) for m, h in evidence.columns.used.items() if h.by_words == m)
    if words:
        some = ", ".join(f"{text[:40]!r} as {metric}" for _, text, metric in words[:3])
        evidence.notes.append(
            f"{len(words)} columns were recognised by their words, {some}; to read one otherwise: --map"
        )


def _bare_shares(evidence: Evidence) -> None:
    """Shares without a unit: percentages where any of them exceeds 1, else fractions. One decision for the whole file."""
    bare = evidence.shares("")
    # what may exceed 1 by its nature says nothing of how the file writes shares
    bounded = [h for m, h in bare.items() if schema.get(m).bounded]
    top = max((float(np.nanmax(v)) for h in bounded if np.isfinite(v := evidence.numbers[h.place]).any()), default=0.0)
    percent = not bounded or top > 1
    if bounded:
        evidence.notes.append(f"{len(bounded)} ratio columns have no unit (first: {bounded[0].text!r}); their values reach {top:g}, so they were read as {'percent' if percent else 'fractions of 1'}")  # fmt: skip
    for metric, header in bare.items():
        # rates of misses may all be small
        fraction = not percent or (not header.reading.lacks and _is_fraction(evidence, metric, header.text[:60]))
        evidence.factors[metric] = 1.0 if fraction else PERCENT


def _is_fraction(evidence: Evidence, metric: str, name: str) -> bool:
    """True if a share without a unit holds fractions in a table of percentages; a remark where that is in doubt."""
    values = evidence.values(metric)
    rows = np.isfinite(values) & (values != 0)
    if not rows.any() or not schema.get(metric).bounded:
        return False
    never_tiny, small = metric in _NEVER_TINY, values[rows] <= 1
    remark, row = "", -1
    if small.all() and never_tiny:
        remark = f"{name} was read as fractions of 1 although other shares of the file are percentages: none exceeds 1"
    elif small.all() and metric.endswith(".throughput") and len(small) > 1 and values[rows].max() > MAX_FRACTION:
        remark = (
            f"{name} was read as percentages, although none exceeds 1: if they are fractions, write “{name} [ratio]”"
        )
    elif small.any() and not small.all() and never_tiny:
        remark = f"{name} holds {int(small.sum())} values of 1 and less among percentages: read as percentages, but they may be fractions"
        row = int(np.flatnonzero(rows & (values <= 1))[0])
    evidence.quality += [Quality("mixed-shares", remark, row)] if remark else []
    return bool(small.all() and never_tiny)


def _signed_shares(evidence: Evidence) -> None:
    """Shares in per cent are fractions where every one of them is, as spreadsheets save them.

    That is where none exceeds 1, and among them are some that are a good part of one in any work that runs.
    """
    signed = evidence.shares("%")
    evidence.factors |= dict.fromkeys(signed, PERCENT)
    shares = {m: evidence.values(m) for m in signed if schema.get(m).bounded}
    if any(_exceeds(v, 1) for v in shares.values()):  # as the first of them does nearly always
        return
    filled = {m: v[np.isfinite(v) & (v != 0)] for m, v in shares.items()}
    sure = [m for m in filled if m in _NEVER_TINY and len(filled[m]) > 1]
    if not sure or max(float(filled[m].max()) for m in sure) <= MAX_FRACTION:
        return
    names = ", ".join(repr(signed[m].text[:60]) for m in sure[:3])
    message = f"{len(shares)} columns say percent, and no value exceeds 1 ({names} among them): read as fractions of 1; write [ratio] to say so"
    evidence.quality.append(Quality("mixed-shares", message))
    evidence.factors |= dict.fromkeys(signed, 1.0)


def _other_units(evidence: Evidence) -> None:
    """Times, counts out of so many, lanes, and all else in the unit that the header states.

    Raises BadCapture for a time that may be in two units, UnknownUnit for a unit that the metric cannot be in.
    """
    for metric, header in evidence.columns.used.items():
        if metric not in evidence.factors:
            evidence.factors[metric] = _factor(evidence, metric, header)


def _factor(evidence: Evidence, metric: str, header: Header) -> float:
    """What makes printed values canonical."""
    unit, values = header.reading.unit, evidence.numbers[header.place]
    if metric == "gpu.time" and not unit:
        unit, remark = unit_inference.time_unit(evidence.where, header.text, values)
        evidence.quality += [remark] if remark else []
        evidence.columns.used[metric] = header.read_as(metric, header.reading.why, unit)
    if unit.startswith("/"):
        return 1 / float(unit[1:])
    if metric == "warp.threads_per_inst" and header.by_words:
        return _lanes_factor(unit, values)
    try:
        return units.factor(unit, schema.get(metric).unit) if unit else 1.0  # without a unit: taken for canonical
    except UnknownUnit as e:
        raise UnknownUnit(f"{evidence.where}: column {header.text!r}: {e.message}", e.hint) from e


def _lanes_factor(unit: str, values: Floats) -> float:
    """What makes active lanes a count: they are written as a count, as a fraction or as a percentage of a warp."""
    top = np.nanmax(values, initial=0)
    if unit == "%" or (not unit and top > WARP_LANES):
        return WARP_LANES / 100
    return float(WARP_LANES) if unit == "ratio" or top <= 1 else 1.0


def _tiny_percentages(evidence: Evidence) -> None:
    """Remark on shares in per cent that are too small for that in every row."""
    odd = [
        repr(h.text[:60])
        for m, h in evidence.columns.used.items()
        if m in _NEVER_TINY and evidence.factors[m] == PERCENT and _is_tiny(evidence.numbers[h.place])
    ]
    if odd:
        message = f"{', '.join(odd[:3])} {'says' if len(odd) == 1 else 'say'} percent, and no value exceeds 1 %: if they are fractions of 1, write [ratio] for the unit"
        evidence.quality.append(Quality("mixed-shares", message))


def _is_tiny(percentages: Floats) -> bool:
    return not _exceeds(percentages, 1) and int((np.isfinite(percentages) & (percentages != 0)).sum()) > 1


def _exceeds(values: Floats, limit: float) -> bool:
    """True if any finite value is larger."""
    return bool(((values > limit) & (values < np.inf)).any())


RULES: tuple[Callable[[Evidence], None], ...] = (
    *(_threads_of_a_block, _bare_occupancy, _stall_cycles, _stall_shares, _by_words),
    *(_bare_shares, _signed_shares, _other_units, _tiny_percentages),
)


def believe(evidence: Evidence) -> None:
    """Decide by the values what each used column holds, and the factor that makes it canonical."""
    for rule in RULES:
        rule(evidence)


def disagreement(used: Column, metric: str, rival: Header, values: Floats, line: Callable[[int], int]) -> list[Quality]:
    """A remark where a further column of a metric holds other values than the one that is used.

    values: of the further column, as printed. line: 1-based line of a row.
    """
    unit, target = rival.reading.unit, schema.get(metric).unit
    try:
        other = values * (units.factor(unit, target) if unit else used.factor)
    except UnknownUnit:
        other = np.full(len(values), np.inf)
    with np.errstate(invalid="ignore"):
        differ = np.abs(other - used.values) > TOLERANCE * np.maximum(np.abs(other), np.abs(used.values))
    if not differ.any():
        return []
    first = int(np.argmax(differ))
    message = (
        f"{used.header[:60]!r} and {rival.text[:60]!r} are both {metric}, and differ in {int(differ.sum())} rows (first: "
        f"{show(float(used.values[first]), target)} and {show(float(other[first]), target)}, line {line(first)}): the first was used"
    )
    return [Quality("columns-disagree", message, first)]
