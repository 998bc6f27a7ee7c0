"""Step 3 of 4: whether the values of a custom table bear out what its headers are read as, and what headers leave open.

Values are evidence: a share above 110 % counts something, 25 of 64 warps are no 33 % of them, a time of 0.3 is no nanosecond. Each rule
below accepts a column, changes what it is read as, leaves it unread, or asks for a unit (BadCapture), with a remark.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct, field

from triage import devices, schema
from triage.capture.arrays import Floats, Masks
from triage.capture.capture import Column, Quality
from triage.dialects.custom import say, vocabulary
from triage.dialects.custom.agree import Columns
from triage.dialects.custom.say import Header
from triage.dialects.tables import unit_inference
from triage.ground import units
from triage.ground.errors import UnknownUnit
from triage.ground.stalls import MIN_REASONS
from triage.ground.units import show

TOLERANCE = 0.02  # of the larger: two figures that tools rounded in their own way
PERCENT = 0.01
MAX_PERCENT = 110.0  # what passes of a profiler that ran one after another may add up to
MAX_NAMED_PERCENT = 1_000.0  # no rounding and no passes reach it; hundreds do occur (RenderDoc's hit rates)
ALL_REASONS = 8  # of so many stall reasons the sum is close to all
MAX_WARPS = 64  # of any NVIDIA SM (compute capability 3.0 to 8.0, 9.0 and 10.0)
ABOVE_THEORY = 0.05  # by what rounding may lift an achieved occupancy above the theoretical one
MAX_BLOCK = 1024  # threads
WARP_LANES = 32
FRACTION_LIMIT = 0.5  # of shares that never exceed 1: above it they look like fractions
# columns of these names count warps with some people, and hold the share of their slots with others
_WARPS = {"occupancy.theoretical_warps": "occupancy.theoretical", "sm.active_warps": "sm.occupancy"}
_BARE_WARPS_RE = re.compile(r"sm occupancy|sm (?:warps active|max warps|maximum warps)")
# shares that are a good part of one in any work that runs: all of them below 1 % would be absurd
_NEVER_TINY = frozenset(
    "l1tex.hit_rate l2.hit_rate l3.hit_rate llc.hit_rate sm.active gpu.active sm.occupancy occupancy.theoretical"
    " sol.top sm.throughput_active eu.occupancy valu.utilization branch.efficiency".split()
)
NO_VALUES: Floats = np.array([])


class Evidence(Struct):
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
        return NO_VALUES if header is None else self.numbers[header.place]

    def bare(self, kind: str) -> dict[str, Floats]:
        """Metric -> values of the used columns of a kind that state no unit."""
        used = self.columns.used.items()
        return {m: self.numbers[h.place] for m, h in used if m.startswith(kind) and not h.reading.unit}

    def shares(self, unit: str) -> dict[str, Header]:
        """Metric -> header of the used shares that state this unit."""
        return {m: h for m, h in self.columns.used.items() if h.reading.unit == unit and schema.get(m).unit == "ratio"}

    def rename(self, metric: str, other: str, why: str, unit: str | None = None) -> None:
        """Use a metric's column for another metric."""
        self.columns.used[other] = self.columns.used.pop(metric).read_as(other, why, unit)

    def remark(self, check: str, message: str, row: int = -1) -> None:
        """Add a remark on the data, of one row or of all."""
        self.quality.append(Quality(check, message, row))


def _counts(evidence: Evidence) -> None:
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
    if known.unit != "ratio" or not known.bounded or header.reading.unit or not np.isfinite(values).any():
        return False
    return bool(np.nanmax(values) > (MAX_NAMED_PERCENT if named else MAX_PERCENT))


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
        bare = count in used and share not in used and not used[count].reading.unit
        if not bare or not _BARE_WARPS_RE.fullmatch(schema.normal(used[count].text)):
            continue
        text, values = used[count].text[:60], evidence.values(count)
        if why := _why_no_warps(evidence, values):
            which = "fractions of 1" if why == "no value exceeds 1" else "percentages"
            evidence.rename(count, share, f"{which}, {why}", "" if np.nanmax(values, initial=0) <= 1 else "%")
            hint = f"{which}, {why}; write [%] or [warps] to be sure"
        else:
            hint = "warps of an SM, as in NVIDIA's article; if it is a percentage, write [%]"
        evidence.remark("occupancy-unit", f"{text!r} states no unit and was read as {hint}")


def _why_no_warps(evidence: Evidence, values: Floats) -> str:
    """Why a bare occupancy counts no warps, "" where it may.

    Warps cannot be more than an SM's slots, nor fill more of them than is possible in theory. Where neither decides, the
    other shares do: people who write a sign at each of them would have written it here.
    """
    finite = values[np.isfinite(values)]
    if len(finite) and finite.max() <= 1:
        return "no value exceeds 1"
    device = devices.find(evidence.device) if evidence.device else None
    slots = device.max_warps_per_sm if device else MAX_WARPS
    theory = evidence.values("occupancy.theoretical")
    possible = theory * (1.0 if np.nanmax(theory, initial=0) <= 1 else PERCENT) if len(theory) else np.inf
    with np.errstate(invalid="ignore"):
        if (values > slots).any() or (values / slots > possible + ABOVE_THEORY).any():
            return "there are no such counts of warps"
    shares = [h for m, h in evidence.columns.used.items() if (s := schema.get(m)).unit == "ratio" and s.bounded]
    return "" if any(h.reading.unit for h in shares) else "as the other shares"


def _stall_reasons(evidence: Evidence) -> None:
    """Bare columns of stall reasons hold cycles or shares: where their sums deny the one, they are the other."""
    for metrics_of, kind, other, are, why in (
        (
            _in_cycles,
            "stall.",
            "stall_cycles.",
            "cycles per issued instruction, not as shares",
            "cycles, by their sums",
        ),
        (_in_shares, "stall_cycles.", "stall.", "shares of the time, not as cycles", "shares, being few"),
    ):
        metrics = metrics_of(evidence, evidence.bare(kind))
        for metric in metrics:
            evidence.rename(metric, metric.replace(kind, other), why)
        if metrics:
            evidence.notes.append(f"{len(metrics)} columns of stall reasons have no unit and were read as {are}")


def _in_cycles(evidence: Evidence, bare: Mapping[str, Floats]) -> list[str]:
    """Metrics of columns such as `stall_long_scoreboard` that hold cycles per issued instruction.

    An issued warp's own is one by definition, in every row, and all of them add up to the cycles that an instruction takes;
    shares of several rows do neither.
    """
    if len(bare) < MIN_REASONS or any(m.replace("stall.", "stall_cycles.") in evidence.columns.used for m in bare):
        return []
    total = np.nansum(list(bare.values()), axis=0)
    per_issue = evidence.bare("warp.cycles_per_issue").get("warp.cycles_per_issue", NO_VALUES)
    issued = bare.get("stall.selected", NO_VALUES)
    return (
        list(bare) if _always(issued, np.ones(len(issued)), total > 1) or _always(total, per_issue, total > 0) else []
    )


def _in_shares(evidence: Evidence, bare: Mapping[str, Floats]) -> list[str]:
    """Metrics of columns such as `Stall Long Scoreboard`, cycles in Nsight Compute, that hold shares: in a table of few reasons.

    Not where they add up to more than all, where an issued warp's one cycle stands among them, nor beside their total.
    """
    used = evidence.columns.used
    bare = {m: v for m, v in bare.items() if "__" not in (text := used[m].text.lower()) and "cycle" not in text}
    if not bare or len(bare) >= ALL_REASONS or "warp.cycles_per_issue" in used:
        return []
    issued = next((m for m in ("stall_cycles.selected", "stall.selected") if m in used), "")
    if issued and not used[issued].reading.unit and (np.abs(evidence.values(issued) - 1) <= TOLERANCE).all():
        return []
    if np.nansum(list(bare.values()), axis=0).max(initial=0) > 100 * (1 + TOLERANCE):
        return []
    return [m for m in bare if m.replace("stall_cycles.", "stall.") not in used]


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
    filled = np.isfinite(values) & (values != 0)
    small = filled & (values <= 1)
    if not small.any() or not schema.get(metric).bounded:
        return False
    all_small, never_tiny, message, row = small.sum() == filled.sum(), metric in _NEVER_TINY, "", -1
    if all_small and never_tiny:
        message = "was read as fractions of 1 although other shares of the file are percentages: none exceeds 1"
    elif all_small and metric.endswith(".throughput") and small.sum() > 1 and values[small].max() > FRACTION_LIMIT:
        message = f"was read as percentages, although none exceeds 1: if they are fractions, write “{name} [ratio]”"
    elif never_tiny:
        message = f"holds {small.sum()} values of 1 and less among percentages: read as percentages, but they may be fractions"
        row = int(np.argmax(small))
    if message:
        evidence.remark("mixed-shares", f"{name} {message}", row)
    return bool(all_small and never_tiny)


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
    if not sure or max(float(filled[m].max()) for m in sure) <= FRACTION_LIMIT:
        return
    names = ", ".join(repr(signed[m].text[:60]) for m in sure[:3])
    message = f"columns say percent, and no value exceeds 1 ({names} among them): read as fractions of 1; write [ratio] to say so"
    evidence.remark("mixed-shares", f"{len(shares)} {message}")
    evidence.factors |= dict.fromkeys(signed, 1.0)


def _other_units(evidence: Evidence) -> None:
    """Times, counts out of so many, lanes, and all else in the unit that the header states.

    Raises BadCapture for a time that may be in two units, UnknownUnit for a unit that the metric cannot be in.
    """
    for metric, header in evidence.columns.used.items():
        unit, values = header.reading.unit, evidence.numbers[header.place]
        if header.fixed and not unit and schema.get(metric).unit == "ns":
            raise UnknownUnit(
                f"{evidence.where}: column {header.text!r} states no unit",
                f"write it behind the metric: --map {shlex.quote(f'{header.text}={metric} [ms]')}",
            )
        if metric == "gpu.time" and not unit:
            unit, remark = unit_inference.time_unit(evidence.where, header.text, values)
            evidence.quality += [remark] if remark else []
            evidence.columns.used[metric] = header.read_as(metric, header.reading.why, unit)
        if metric in evidence.factors:
            continue
        if unit.startswith("/"):
            evidence.factors[metric] = 1 / float(unit[1:])
        elif metric == "warp.threads_per_inst" and header.by_words:
            evidence.factors[metric] = _lanes_factor(unit, values)
        else:
            evidence.factors[metric] = _stated_factor(evidence.where, metric, header.text, unit)


def _stated_factor(where: str, metric: str, text: str, unit: str) -> float:
    try:
        target = schema.get(metric).unit
        target = say.RATES[target] if say.is_rate(metric, unit) else target
        return units.factor(unit, target) if unit else 1.0  # without a unit: taken for canonical
    except UnknownUnit as e:
        raise UnknownUnit(f"{where}: column {text!r}: {e.message}", e.hint) from e


def _lanes_factor(unit: str, values: Floats) -> float:
    """What makes active lanes a count: they are written as a count, as a fraction or as a percentage of a warp."""
    top = np.nanmax(values, initial=0)
    if unit == "%" or (not unit and top > WARP_LANES):
        return WARP_LANES / 100
    return float(WARP_LANES) if unit == "ratio" or top <= 1 else 1.0


def _tiny_percentages(evidence: Evidence) -> None:
    """Remark on shares in per cent that are too small for that in every row."""
    percentages = {h.text[:60]: evidence.numbers[h.place] for m, h in evidence.columns.used.items() if m in _NEVER_TINY and evidence.factors[m] == PERCENT}  # fmt: skip
    odd = [
        repr(text) for text, v in percentages.items() if not _exceeds(v, 1) and (np.isfinite(v) & (v != 0)).sum() > 1
    ]
    if odd:
        message = "percent, and no value exceeds 1 %: if they are fractions of 1, write [ratio] for the unit"
        evidence.remark("mixed-shares", f"{', '.join(odd[:3])} {'says' if len(odd) == 1 else 'say'} {message}")


def _exceeds(values: Floats, limit: float) -> bool:
    """True if any finite value is larger."""
    return bool(((values > limit) & (values < np.inf)).any())


def believe(evidence: Evidence) -> None:
    """Decide by the values what each used column holds, and the factor that makes it canonical."""
    for rule in (_counts, _threads_of_a_block, _bare_occupancy, _stall_reasons, _by_words, _bare_shares, _signed_shares, _other_units, _tiny_percentages):  # fmt: skip
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
