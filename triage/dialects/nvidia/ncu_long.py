"""Rows of (launch, metric, unit, value) -> Table. Shared by every long Nsight Compute layout.

A part's frame has one row per exported record and the columns key, kernel, section, label, metric, unit, value, rule,
rtype, rtext, stype, speedup, block, grid, cc, device, nvtx, calls; absent ones are "". Columns of text are
categories, so the work per distinct spelling is done once and the rest is integer arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field

from triage import schema
from triage.capture.arrays import Floats, Indices, Masks, Names
from triage.capture.capture import SEP, Column, Opinion, Quality, Table
from triage.capture.shape import Misfit
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects.nvidia import ncu_implied, ncu_opinions
from triage.dialects.nvidia import ncu_names as ncu
from triage.dialects.tables import extents
from triage.ground import units
from triage.ground.errors import BadCapture, UnknownUnit

if TYPE_CHECKING:
    import pandas as pd

TOOL = "Nsight Compute"
_ID = re.compile(r"\s*(?:\d{1,15}|\d{1,3}(?:[.,\u00a0\u202f ]\d{3})+)\s*")  # thousands grouped or not
_INSTANCES = re.compile(r"\A([^;()]+)\((.*)\)\Z", re.DOTALL)


class Part(Struct):
    """One table of a file: its rows, the 1-based line of each, the 1-based cell of each role, and unused headers."""

    frame: pd.DataFrame
    lines: Indices
    cells: dict[str, int] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)


def codes(part: pd.DataFrame, name: str | int) -> tuple[Indices, list[str]]:
    """Category number of every row and the words they stand for; an absent column is all ""."""
    import pandas as pd

    if name not in part:
        return np.zeros(len(part), dtype=np.int64), [""]
    column = part[name]
    if not isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype("category")
    numbers = np.asarray(column.cat.codes, dtype=np.int64)
    words = ["" if w is None or w != w else str(w) for w in column.cat.categories]
    if not (numbers < 0).any():
        return numbers, words
    return np.where(numbers < 0, len(words), numbers), [*words, ""]  # a missing cell has no category


def texts(part: pd.DataFrame, name: str | int) -> Names:
    """The cell of every row; an absent column is all ""."""
    numbers, words = codes(part, name)
    return np.array(words, dtype=object)[numbers]


def _join(parts: list[Part]) -> tuple[pd.DataFrame, Indices]:
    import pandas as pd

    if len(parts) == 1:
        return parts[0].frame, parts[0].lines
    plain = [p.frame.astype(object) for p in parts]
    whole = pd.concat(plain, ignore_index=True).fillna("")
    return whole.astype("category"), np.concatenate([p.lines for p in parts])


def decimal_style(
    source: Source, texts: list[str], separator: str, wanted: str, more: Iterable[str] = ()
) -> units.Style:
    """Number style of a file, raising UnknownUnit where it stays open; wanted: the user's choice.

    more: numbers that decide where `texts` do not. Behind commas and on the console `1,024` is a thousand: of two decimals.
    """
    if wanted:
        return "eu" if wanted in ("comma", "eu", ",") else "us"
    us, eu, doubt = units.evidence(texts)
    if not us and not eu and doubt:
        us, eu, _ = units.evidence(more)
        if bool(us) != bool(eu) or ("," in doubt and separator in (",", "")):
            return "eu" if eu and not us else "us"
    return units.style(texts, f"{source.path}: ")


def number(text: str, style: units.Style, additive: bool = False) -> float:
    """One printed value; NaN where there is none. Per-instance lists are summed when the metric adds up."""
    t = text.strip()
    try:
        value = units.parse(t, style)
        return np.nan if value is None else value
    except ValueError:
        pass
    if m := _INSTANCES.match(t):  # `12 (3; 4; 5)`: the value, then its instances
        return number(m[1], style)
    if ";" in t and additive:
        several = [number(x, style) for x in t.split(";")]
        return float(np.sum(several)) if several and np.isfinite(several).all() else np.nan
    return np.nan


def is_id(text: str) -> bool:
    """True if a text is a launch number."""
    return bool(_ID.fullmatch(text))


def numbered(source: Source, ids: Names, kernels: Names, good: Masks, lines: Indices, headers: Sequence[str]) -> None:
    """Raise Misfit for records of a kernel without a launch number; a repeated header is no record."""
    bad = {
        int(lines[i]): f"{str(ids[i])[:40]!r} is no launch number"
        for i in np.flatnonzero(~good)
        if str(ids[i]).strip() and str(kernels[i]).strip() and str(kernels[i]).strip() not in headers
    }
    if bad and 2 * len(bad) <= len(good):
        raise Misfit(source.path, bad, len(good))


def build(
    source: Source, dialect: str, parts: list[Part], separator: str = ",", decimal: str = "", average: bool = False
) -> Table:
    """The table of all parts, one row per key in the order of their first record; raises BadCapture without records.

    average: values are means over `calls` launches of a kernel, so rows are not grouped again.
    """
    import pandas as pd

    frame, lines = _join(parts)
    if not len(frame):
        raise BadCapture(f"{source.path}: header without rows", "nothing was recorded; capture again")
    key, _ = codes(frame, "key")
    launch, distinct = pd.factorize(key)
    count = len(distinct)
    first = np.full(count, len(frame), dtype=np.int64)  # row of each launch's first record: its line, name and shape
    np.minimum.at(first, launch, np.arange(len(frame)))
    kernel, kernels = codes(frame, "kernel")
    names = np.array(kernels, dtype=object)[kernel[first]]
    blank = names == ""
    names[blank] = [f"launch {i}" for i in np.flatnonzero(blank)]
    table = Table(dialect, [source], names, {}, lines=np.asarray(lines)[first], group=not average)
    table.kinds = np.full(count, "compute", dtype=object)
    table.unmapped = [h for h in parts[0].unused if h]
    cells = parts[0].cells
    style = _metrics(table, frame, launch, np.asarray(lines), cells, separator, decimal)
    # each step only fills gaps of the ones before: printed, computed, then taken from a rule's sentence
    _shapes(table, frame, first, cells)
    ncu_implied.complete(table)
    _opinions(table, frame, launch, style)
    ncu_opinions.add(table)
    _nvtx(table, frame, first)
    if average:
        _totals(table, frame, first, cells, style)
    return table


def _metrics(
    table: Table,
    frame: pd.DataFrame,
    launch: Indices,
    lines: Indices,
    cells: dict[str, int],
    separator: str,
    decimal: str,
) -> units.Style:
    """Columns of the table from its records; the number style that they were read with."""
    # what a record means depends on four texts: decided once per distinct combination, packed into one number. The unit
    # belongs to it, for the tool scales units per record: one launch in us, the next in ms
    coded = [codes(frame, c) for c in ("section", "label", "metric", "unit")]
    combined = np.zeros(len(frame), dtype=np.int64)
    for at_, words in coded:
        combined = combined * len(words) + at_
    distinct, combo = np.unique(combined, return_inverse=True)
    found, ranks, heads = [], [], []
    for packed in distinct:
        rest: int = int(packed)
        words_of = []
        for _, words in reversed(coded):
            words_of.append(words[rest % len(words)])
            rest //= len(words)
        unit, name, _label, section = words_of
        found.append(ncu.metric(name, unit, section) if name else "")
        ranks.append(ncu.rank(name))
        heads.append((name, unit))
    ids = sorted({m for m in found if m})
    number_of = {m: i for i, m in enumerate(ids)}
    # combo, which: combination and metric of every record; use: those with a metric, whose cells are parsed once per text
    which = np.array([number_of.get(m, -1) for m in found])[combo]
    use = np.flatnonzero(which >= 0)
    value, texts = codes(frame.iloc[use] if len(use) < len(frame) else frame, "value")
    shown = sorted({texts[i] for i in np.unique(value)}) if len(use) else []
    others = map(str, frame["value"].unique())
    style = decimal_style(table.files[0], shown, separator, decimal, others) if shown else "us"
    ncu_implied.damaged_numbers(table, shown)
    parsed = np.array([number(t, style) for t in texts] or [np.nan])
    listed = np.array([";" in t for t in texts] or [False])
    table.quality += _odd(frame, use, value, texts, parsed, lines).remarks() if len(use) else []
    values = parsed[value] if len(use) else np.empty(0)
    for at in np.flatnonzero(listed[value] & ~np.isfinite(values)) if len(use) else ():
        if schema.get(ids[which[use[at]]]).additive:
            values[at] = number(texts[value[at]], style, additive=True)
    factors, bad = _factors(heads, found)
    scaled = values * factors[combo[use]]
    missing = np.isfinite(values) & ~np.isfinite(scaled)
    if missing.any():
        odd = sorted({heads[combo[use[i]]] for i in np.flatnonzero(missing)})
        table.quality += [
            Quality("unit-not-understood", f"{n} in {u!r}: {bad.get((n, u), 'not its unit')}") for n, u in odd[:20]
        ]
    # of several records for one metric and launch the best name wins, then the first in the file
    good = np.flatnonzero(np.isfinite(scaled))
    order = np.lexsort((use[good], np.array(ranks)[combo[use[good]]], launch[use[good]], which[use[good]]))
    sorted_ = good[order]
    pair = which[use[sorted_]].astype(np.int64) * (len(table) + 1) + launch[use[sorted_]]
    _, keep = np.unique(pair, return_index=True)
    chosen = sorted_[keep]
    start = np.searchsorted(which[use[chosen]], np.arange(len(ids) + 1))
    for i, metric in enumerate(ids):
        rows = chosen[start[i] : start[i + 1]]
        if not len(rows):
            continue
        column = np.full(len(table), np.nan)
        where = np.zeros(len(table), dtype=np.int64)
        column[launch[use[rows]]] = scaled[rows]
        where[launch[use[rows]]] = lines[use[rows]]
        used = sorted({heads[c] for c in np.unique(combo[use[rows]])}, key=lambda h: (ncu.rank(h[0]), h))
        printed = sorted({u for _, u in used})  # several: then no single factor leads back to the cells
        scale = float(factors[combo[use[rows[0]]]]) if len(printed) == 1 else 1.0
        table.columns[metric] = Column(column, used[0][0], cells.get("value", 0), "|".join(printed), scale, lines=where)
    table.unmapped += sorted({h for (h, _), m in zip(heads, found, strict=True) if h and not m})
    return style


def _odd(frame: pd.DataFrame, use: Indices, value: Indices, texts: list[str], parsed: Floats, lines: Indices) -> Odd:
    """The used cells that hold no number, though they are not empty and no list of instances."""
    odd = Odd()
    counts = np.bincount(value, minlength=len(texts))
    at, metrics = codes(frame, "metric")
    for i in np.flatnonzero(~np.isfinite(parsed[: len(texts)]) & (counts > 0)).tolist():
        if texts[i].strip().lower() in units.MISSING or ";" in texts[i] or is_extent(texts[i]):
            continue
        row = int(use[np.argmax(value == i)])
        kind = "not-finite" if not_finite(texts[i]) else "not-a-number"
        odd.add(kind, texts[i], metrics[at[row]], int(lines[row]), int(counts[i]))
    return odd


def not_finite(text: str) -> bool:
    """True if a cell without a number holds nan, infinity or a number too large."""
    try:
        return units.parse(text) is None
    except ValueError:
        return False


def _factors(heads: list[tuple[str, str]], found: list[str]) -> tuple[Floats, dict[tuple[str, str], str]]:
    """(factor per (name, unit), NaN without one; problems of units that do not fit)."""
    out, bad = np.full(len(heads), np.nan), {}
    for i, ((name, unit), metric) in enumerate(zip(heads, found, strict=True)):
        if metric:
            try:
                out[i] = factor(unit, metric, name)
            except UnknownUnit as e:
                bad[name, unit] = e.message
    return out, bad


def factor(unit: str, metric: str, name: str) -> float:
    """Factor from a printed unit to the metric's canonical one; counters whose name says so need no printed unit.

    Raises UnknownUnit for a unit of another kind, and for a share or a time without one.
    """
    target = schema.get(metric).unit
    if metric == "branch.ratio":
        return 1.0  # every version prints the fraction and calls it `%`: 491 of 3,772 instructions are "0.13 %"
    if not unit.strip() and target == "ratio":
        if re.search(r"\.pct|_pct\b|pct_of_peak", name):
            return 0.01
        raise UnknownUnit("a share without a unit (percent or fraction)")
    if not unit.strip() and target == "ns":
        raise UnknownUnit("a time without a unit")
    if unit.strip().lower() in ("n/a", "-"):
        return np.nan
    if target == "count" and unit.strip() == "byte" and name.startswith("sm__shmem_"):
        return 1.0  # the Pascal raw page prints `byte` beside bare counts
    return units.factor(unit, target)


def is_extent(text: str) -> bool:
    """`(256, 1, 1)`: a shape of three sizes, from which a total is taken; not `12,31,0`, a number that is damaged."""
    return len(extents.axes(text)) == 3 and not re.fullmatch(r"[\d,]+", text.strip())


def _shapes(table: Table, frame: pd.DataFrame, first: Indices, cells: dict[str, int]) -> None:
    """Block and grid size from the `(256, 1, 1)` columns, where no section states them; architecture and device."""
    odd = Odd()
    for role, metric in (("block", "launch.block_size"), ("grid", "launch.grid_size")):
        at, words = codes(frame, role)
        shown = np.array(words, dtype=object)[at[first]]
        values = extents.totals(extents.read(shown, f"{role.title()} Size", table.line, odd))
        # the section's own figure is a total as well
        if metric not in table.columns and np.isfinite(values).any():
            table.columns[metric] = Column(values, f"{role.title()} Size", cells.get(role, 0), "(x, y, z)")
    table.quality += odd.remarks()
    seen = []
    for role in ("cc", "device"):
        at, words = codes(frame, role)
        seen.append(list(dict.fromkeys(words[c] for c in at[first])))
    device_of(table, *seen)


def device_of(table: Table, capabilities: list[str], devices: list[str]) -> None:
    """Architecture from compute capabilities (`8.6` -> sm_86) and the device's name where it is not just a number."""
    seen = [w.strip() for w in capabilities if re.fullmatch(r"\d+[.,]\d+", w.strip())]
    if seen:
        table.arch = "sm_" + re.sub("[.,]", "", seen[0])
        if len(seen) > 1:
            table.notes.append(
                f"launches of several GPU generations (CC {', '.join(seen)}); the first one's limits are used"
            )
    named = [re.sub(r"\s*\(\d+\)\Z", "", d.strip()) for d in devices if re.search("[A-Za-z]", d)]
    table.device = table.device or (named[0] if named else "")
    if len(set(named)) > 1:
        table.notes.append(
            f"launches on several devices ({', '.join(dict.fromkeys(named))}); the first one's limits are used"
        )


def _opinions(table: Table, frame: pd.DataFrame, launch: Indices, style: units.Style) -> None:
    """The records of rules, which have no metric but a text and, since 2023, an estimated speedup in percent."""
    named, words = codes(frame, "rule")
    rows = np.flatnonzero(np.array([bool(w.strip()) for w in words])[named])
    if not len(rows):
        return
    cells = (texts(frame.iloc[rows], c) for c in ("rule", "rtype", "rtext", "stype", "speedup"))
    for row, rule, kind, text, scope, claimed in zip(launch[rows].tolist(), *cells, strict=True):
        claim = number(claimed, style)
        speedup = claim / 100 if np.isfinite(claim) else None
        plain = " ".join(text.split())  # a rule that failed quotes its traceback, line breaks included
        table.opinions.append(Opinion(row, TOOL, rule.strip(), kind.strip(), plain, speedup, scope.strip().lower()))


def _nvtx(table: Table, frame: pd.DataFrame, first: Indices) -> None:
    at, words = codes(frame, "nvtx")
    paths = np.array([nvtx_path(w) for w in words], dtype=object)[at[first]]
    if any(paths):
        table.paths = paths


def nvtx_path(text: str) -> str:
    """The range names of an NVTX cell, outermost first: `1  "<default domain>:step:none:..." ` -> `step`."""
    # inner quotes come doubled or not; several ranges may stand in one cell, each `domain:name:type:...`
    levels = []
    for quoted in re.findall(r'"+([^"]+)"+', text) or [re.sub(r"\A\s*\d+\s+", "", text)]:
        fields = quoted.split(":")
        if len(fields) >= 2 and fields[1] not in ("", "none"):
            levels.append(fields[1].strip())
    return SEP.join(levels)


def _totals(table: Table, frame: pd.DataFrame, first: Indices, cells: dict[str, int], style: units.Style) -> None:
    """A per-kernel summary gives means: what adds up is multiplied by the number of launches."""
    at, words = codes(frame, "calls")
    calls = np.array([number(w, style) for w in words])[at[first]]
    if not np.isfinite(calls).any():
        return
    table.columns["frame.calls"] = Column(calls, "Invocations", cells.get("calls", 0))
    for metric in list(table.columns):
        if metric != "frame.calls" and schema.get(metric).additive:
            table.multiply(metric, calls, "Average x Invocations")
    table.notes.append(
        "a summary per kernel: figures are means over its launches; times and counts were multiplied by Invocations"
    )
