"""What people's own tables leave unsaid about units, read by the evidence of the values - and said - or asked about."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from triage import devices, schema
from triage.capture.arrays import Floats, Masks
from triage.capture.capture import Column, Quality
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects.tables import wide_table
from triage.ground import units
from triage.ground.errors import BadCapture, UnknownUnit
from triage.ground.units import show

SHORTEST_NS = 1_000.0  # no capture's longest range is shorter than a microsecond
LONGEST_MS = 2_000.0  # milliseconds that a capture of fractional times may add up to
ALIKE = 0.02  # of the larger: two figures that tools rounded in their own way
FROM_PERCENT = 0.01
OVER = 110.0  # per cent: what passes of a profiler that ran one after another may add up to
ABSURD = 1_000.0  # per cent: no profiler's rounding or passes come there; hundreds do occur (RenderDoc's hit rates)
MANY_REASONS = 4  # of fewer stall reasons nobody knows what they add up to
ALL_REASONS = 8  # stall reasons in a table: of so many the sum is close to all, whatever they are counted in
# counts of warps -> the shares that columns may hold that are called so: the article's `SM Occupancy`, and what PerfWorks calls
# them, without what would say which
_WARPS = {"occupancy.theoretical_warps": "occupancy.theoretical", "sm.active_warps": "sm.occupancy"}
_OPEN = re.compile(r"sm occupancy|sm (?:warps active|max warps|maximum warps)")
SLOTS = 64  # warps that any NVIDIA SM holds at most (compute capability 3.0 to 8.0, 9.0 and 10.0)
ABOVE_THEORY = 0.05  # what an achieved occupancy may exceed the theoretical one by, for all that was rounded
LARGEST_BLOCK = 1024  # threads
SMALL = 0.5  # of a share that stands beside percentages: so little is no percentage of these
# shares that are a good part of one in any work that runs: all of them below 1 % would be absurd
_NEVER_TINY = ("l1tex.hit_rate", "l2.hit_rate", "l3.hit_rate", "llc.hit_rate", "sm.active", "gpu.active", "sm.occupancy", "occupancy.theoretical",
               "sol.top", "sm.throughput_active", "eu.occupancy", "valu.utilization", "branch.efficiency")  # fmt: skip


def time_unit(where: str, header: str, values: Floats) -> tuple[str, Quality | None]:
    """(unit, remark) of a time column without a unit: canonical ns where that can be, ms where only that can be.

    where: file and line. Raises BadCapture where the values leave it open.
    """
    known = values[np.isfinite(values) & (values > 0)]
    if not len(known) or known.max() >= SHORTEST_NS:
        return "", None
    fractional = bool((known != np.floor(known)).any())
    if fractional and known.sum() <= LONGEST_MS and (known.min() < 1 or known.max() < 100):
        said = (
            f"{header[:60]} states no unit; its values ({known.min():g} to {known.max():g}) are too short for ns and were read as "
            f"ms: write “{header[:60]} [ms]” to be sure"
        )
        return "ms", Quality("time-unit", said)
    raise BadCapture(
        f"{where}: column {header!r} without a unit ({known.min():g} to {known.max():g} may be ms or us)",
        f'write the unit into the header, such as "{header} [ms]"',
    )


def fractions(columns: Mapping[str, Floats], headers: Mapping[str, str]) -> tuple[Sequence[str], list[Quality]]:
    """Of shares without a unit in a table of percentages, those that are fractions of one; and what to say of them.

    columns: metric -> values of the columns without a unit.
    """
    found, said = [], []
    for metric, values in columns.items():
        known = values[np.isfinite(values) & (values != 0)]
        if not len(known) or not schema.get(metric).bounded:
            continue
        name, small = headers[metric][:60], known <= 1
        if small.all() and (
            metric in _NEVER_TINY or (metric.endswith(".throughput") and len(known) > 1 and known.max() > SMALL)
        ):
            if metric in _NEVER_TINY:
                found.append(metric)
                said.append(
                    Quality(
                        "mixed-shares",
                        f"{name} was read as fractions of 1 although other shares of the file are percentages: none exceeds 1",
                    )
                )
            else:
                said.append(
                    Quality(
                        "mixed-shares",
                        f"{name} was read as percentages, although none exceeds 1: if they are fractions, write “{name} [ratio]”",
                    )
                )
        elif small.any() and not small.all() and metric in _NEVER_TINY:
            row = int(np.flatnonzero(np.isfinite(values) & (values != 0) & (values <= 1))[0])
            said.append(
                Quality(
                    "mixed-shares",
                    f"{name} holds {int(small.sum())} values of 1 and less among percentages: read as percentages, but they may be fractions",
                    row,
                )
            )
    return found, said


def called_percent(columns: Mapping[str, Floats], headers: Mapping[str, str]) -> list[Quality]:
    """A remark where every share that its header calls a percentage is a fraction of 1, as spreadsheets save them; else none.

    columns: metric -> values as printed, of shares with a sign. Where none exceeds 1, among them some that are a good part of
    one in any work that runs, no percentage was meant.
    """
    shares = {m: v for m, v in columns.items() if schema.get(m).bounded}
    if any(_exceeds(v, 1) for v in shares.values()):  # as the first of them does nearly always
        return []
    known = {m: v[np.isfinite(v) & (v != 0)] for m, v in shares.items()}
    sure = [m for m in known if m in _NEVER_TINY and len(known[m]) > 1]
    if not sure or max(float(known[m].max()) for m in sure) <= SMALL:
        return []
    names = ", ".join(repr(headers[m][:60]) for m in sure[:3])
    said = f"{len(known)} columns say percent, and no value exceeds 1 ({names} among them): read as fractions of 1; write [ratio] to say so"
    return [Quality("mixed-shares", said)]


def occupancy(
    columns: dict[str, tuple[int, str]], headers: Sequence[str], numbers: Mapping[int, Floats], device: str
) -> list[Quality]:
    """What is said of columns such as `SM Occupancy` that state no unit; where they are no counts of warps, their metric is changed."""
    found = devices.find(device) if device else None
    slots, remarks = found.max_warps_per_sm if found else SLOTS, []
    for count, share in _WARPS.items():
        place, unit = columns.get(count, (-1, ""))
        if place < 0 or unit or share in columns or not _OPEN.fullmatch(schema.normal(headers[place])):
            continue
        warps, said = _counted_warps(columns, numbers, place, headers[place], slots)
        remarks.append(said)
        if not warps:
            del columns[count]
            columns[share] = (place, "" if np.nanmax(numbers[place], initial=0) <= 1 else "%")
    return remarks


def _counted_warps(
    columns: Mapping[str, tuple[int, str]], numbers: Mapping[int, Floats], place: int, header: str, slots: int
) -> tuple[bool, Quality]:
    """(is a column `SM Occupancy` without a unit one of warps?, what to say of it).

    The article counts warps under that name, most people mean a share of the slots. Warps cannot be more than an SM's slots
    (slots: of the GPU that the table names, else of any), nor fill a larger part of them than is possible in theory. Where
    neither tells, the other shares do: people who write a sign at each of them would have written it here.
    """
    values = numbers[place]
    c, _ = columns.get("occupancy.theoretical", (-1, ""))
    possible = numbers[c] * (1.0 if np.nanmax(numbers[c], initial=0) <= 1 else FROM_PERCENT) if c >= 0 else np.inf
    known = values[np.isfinite(values)]
    with np.errstate(invalid="ignore"):
        beyond = bool((values > slots).any() or (values / slots > possible + ABOVE_THEORY).any())
    signs = [bool(u) for m, (_, u) in columns.items() if schema.get(m).unit == "ratio" and schema.get(m).bounded]
    small = bool(len(known)) and known.max() <= 1
    if small or beyond or not any(signs):
        which = "fractions of 1" if small else "percentages"
        why = (
            "no value exceeds 1" if small else "there are no such counts of warps" if beyond else "as the other shares"
        )
        said = f"{header[:60]!r} states no unit and was read as {which}, {why}; write [%] or [warps] to be sure"
        return False, Quality("occupancy-unit", said)
    said = f"{header[:60]!r} states no unit and was read as warps of an SM, as in NVIDIA's article; if it is a percentage, write [%]"
    return True, Quality("occupancy-unit", said)


def shares_of_waits(
    columns: Mapping[str, tuple[int, str]], numbers: Mapping[int, Floats], headers: Sequence[str]
) -> list[str]:
    """Reasons whose bare column, `Stall Long Scoreboard`, is one of percentages, though Nsight Compute counts cycles so.

    Cycles are shares only where all reasons stand beside them. A table of a few reasons means shares, unless they add up to
    more than all, an issued warp's one cycle stands among them, or the cycles that they are of.
    """
    kind = "stall_cycles."
    bare = {m.removeprefix(kind): c for m, (c, unit) in columns.items() if m.startswith(kind) and not unit and "__" not in headers[c] and "cycle" not in headers[c].lower()}  # fmt: skip
    if not bare or len(bare) >= ALL_REASONS or "warp.cycles_per_issue" in columns:
        return []
    added = np.nansum([numbers[c] for c in bare.values()], axis=0)
    place, unit = columns.get("stall_cycles.selected", columns.get("stall.selected", (-1, "")))
    cycles = place >= 0 and not unit and bool((np.abs(numbers[place] - 1) <= ALIKE).all())
    if cycles or added.max(initial=0) > 100 * (1 + ALIKE):
        return []
    return [reason for reason in bare if f"stall.{reason}" not in columns]


def cycles_of_waits(columns: Mapping[str, tuple[int, str]], numbers: Mapping[int, Floats]) -> list[str]:
    """Reasons whose bare column of a share, `stall_long_scoreboard`, holds cycles per issued instruction.

    Of these an issued warp's own is one by definition, in every row, and all of them add up to the cycles that an instruction
    takes; shares of several rows do neither.
    """
    kind = "stall."
    bare = {m.removeprefix(kind): c for m, (c, unit) in columns.items() if m.startswith(kind) and not unit}
    if len(bare) < MANY_REASONS or any(f"stall_cycles.{reason}" in columns for reason in bare):
        return []
    added = np.nansum([numbers[c] for c in bare.values()], axis=0)
    one = numbers[bare["selected"]] if "selected" in bare else np.array([])
    all_, unit = columns.get("warp.cycles_per_issue", (-1, ""))
    whole = numbers[all_] if all_ >= 0 and not unit else np.array([])
    return list(bare) if _always(one, 1.0, added > 1) or _always(added, whole, added > 0) else []


def _always(values: Floats, expected: Floats | float, told: Masks) -> bool:
    """Are values the expected ones in all of the rows in which something is told, and in two at least?"""
    if not len(values) or not np.size(expected):
        return False
    with np.errstate(invalid="ignore"):
        same = np.abs(values - expected) <= ALIKE * np.abs(expected)
    return bool(told.sum() > 1 and same[told].all())


def threads_of_a_block(columns: dict[str, tuple[int, str]], numbers: Mapping[int, Floats]) -> None:
    """`Threads` beside `Blocks` are a block's where a launch has fewer than blocks: all of them cannot be."""
    if not {"launch.threads", "launch.grid_size"} <= columns.keys() or "launch.block_size" in columns:
        return
    threads, groups = (numbers[columns[m][0]] for m in ("launch.threads", "launch.grid_size"))
    with np.errstate(invalid="ignore"):
        if (threads < groups).any() and not (threads > LARGEST_BLOCK).any():
            columns["launch.block_size"] = columns.pop("launch.threads")


def no_share(metric: str, unit: str, values: Floats, named: bool = False) -> bool:
    """Are these too large for the share that a column seems to mean? Then it counts things, as `L2 hits` may.

    named: by a metric's own name, not by words that may mean another; such a column must be further off.
    """
    known = schema.get(metric)
    share = known.unit == "ratio" and known.bounded and not unit
    return bool(share and np.isfinite(values).any() and np.nanmax(values) > (ABSURD if named else OVER))


def with_units(source: Source, line: int, headers: Sequence[str]) -> tuple[list[str], Sequence[int]]:
    """The headers with the units that stand in a row of their own below them; and that row's line, if there is one.

    line: 1-based, of the header. Raises BadCapture where both say a unit, and not the same.
    """
    below = source.head_lines[line] if len(source.head_lines) > line else ""
    row = [c.strip().strip("[]()") for c in cells(below, source.delimiter, source.skip_space)] if below.strip() else []
    if len(row) > len(headers) or not any(row) or not all(not u or (not u.isdigit() and units.known(u)) for u in row):
        return list(headers), ()
    out = list(headers)
    for i, unit in enumerate(row):
        _, own = wide_table.split_unit(headers[i])
        own = own or wide_table.split_suffix(headers[i])[1]
        if unit and not own:
            out[i] = f"{headers[i]} [{unit}]"
        elif unit and units.unit(unit) != units.unit(own):
            raise BadCapture(
                f"{source.path}:{line + 1}: second unit {unit!r} for {headers[i][:60]!r}",
                "remove one of them",
            )
    return out, (line + 1,)


def disagree(
    metric: str, used: Column, header: str, unit: str, values: Floats, line: Callable[[int], int]
) -> list[Quality]:
    """A remark where a further column of a metric says something else than the one that is used.

    values: of the further column, as printed. line: 1-based line of a row.
    """
    known = schema.get(metric).unit
    try:
        other = values * (units.factor(unit, known) if unit else used.factor)
    except UnknownUnit:
        other = np.full(len(values), np.inf)
    with np.errstate(invalid="ignore"):
        differ = np.abs(other - used.values) > ALIKE * np.maximum(np.abs(other), np.abs(used.values))
    if not differ.any():
        return []
    first = int(np.argmax(differ))
    said = (
        f"{used.header[:60]!r} and {header[:60]!r} are both {metric}, and differ in {int(differ.sum())} rows (first: "
        f"{show(float(used.values[first]), known)} and {show(float(other[first]), known)}, line {line(first)}): the first was used"
    )
    return [Quality("columns-disagree", said, first)]


def stated(columns: Mapping[str, Column]) -> list[Quality]:
    """A remark on shares that their header calls percentages, and that are too small for that in every row."""
    odd = [
        c.header[:60]
        for m, c in columns.items()
        if m in _NEVER_TINY and schema.get(m).unit == "ratio" and c.factor == FROM_PERCENT and _tiny(c.values)
    ]
    if not odd:
        return []
    names = ", ".join(repr(h) for h in odd[:3])
    said = f"{names} {'says' if len(odd) == 1 else 'say'} percent, and no value exceeds 1 %: if they are fractions of 1, write [ratio] for the unit"
    return [Quality("mixed-shares", said)]


def _tiny(values: Floats) -> bool:
    return not _exceeds(values, FROM_PERCENT) and int((np.isfinite(values) & (values != 0)).sum()) > 1


def _exceeds(values: Floats, most: float) -> bool:
    """Is any finite value larger?"""
    return bool(((values > most) & (values < np.inf)).any())
