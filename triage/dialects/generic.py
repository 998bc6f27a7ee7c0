"""Generic table: one row per workload, headers are canonical metric ids or any alias of the schema.

What people write by hand or from their own scripts, and the escape hatch for every table nobody has taught us yet
(`--map "Their Column=canonical.id"`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from triage import devices, schema
from triage.capture.arrays import Floats, Names
from triage.capture.capture import KINDS, Column, Quality, Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects._tables import exported, plausible, spoken, tree_columns, wide_table
from triage.ground import units
from triage.ground.errors import BadCapture, NotTriageable, UnknownUnit

NAME = "generic"
TITLE = "Generic table, one row per workload"
CAPTURE = "Write a CSV with a `name` column and one column per metric; headers are canonical ids or aliases, units in brackets."

ROLES = {
    "name": (
        *("name", "marker", "workload", "event", "kernel", "pass", "event name", "kernel name", "marker name", "label"),
        *("pass name", "workload name", "range", "range name", "region", "scope", "shader", "draw call", "encoder"),
        *("render pass", "section", "zone"),
    ),
    "path": (
        *("path", "marker path", "full name", "hierarchy", "full path", "marker hierarchy", "scope path"),
        *("zone path", "group"),
    ),
    "parent": (
        *("parent", "parent name", "parent marker", "parent id", "parent pass", "belongs to", "parent event"),
        *("parent event id", "parent row", "parent index"),
    ),
    "level": ("level", "depth", "nesting", "indent", "tree level"),
    "id": ("id", "event id", "eid", "index"),
    "kind": ("kind", "type", "workload kind", "workload type", "pass kind", "pass type"),
    "device": ("device", "gpu name", "device name"),
    "queue": ("queue", "queue name", "queue type"),
}
OUTER = ("pass", "pass name", "render pass", "section", "zone", "stage", "category")  # beside names: where they stand
UNITS_ALONE = 2  # columns that are called by a unit and nothing more: then a pipe may be, too
_BESIDE_SM = {"texture_pipe.busy": "l1tex.throughput"}  # a phone's words, where the table is of a GPU with SMs
_FRAME = re.compile(
    r"(?:gpu |whole )?(?:frame|scene|total|capture|root)[ _#:]*\d*", re.IGNORECASE
)  # a row that is called so heads the rows of its frame
_KIND_WORDS = {
    "fullscreen": "fullscreen",
    "full screen": "fullscreen",
    "post": "fullscreen",
    "ps": "fullscreen",
    "compute": "compute",
    "cs": "compute",
    "dispatch": "compute",
    "kernel": "compute",
    "geometry": "geometry",
    "gbuffer": "geometry",
    "shadow": "geometry",
    "draw": "draw",
    "copy": "copy",
    "transfer": "copy",
    "raytracing": "raytracing",
    "ray tracing": "raytracing",
    "rt": "raytracing",
    "marker": "marker",
    "range": "marker",
    "frame": "frame",
    "cpu": "cpu",
}


def names() -> dict[str, list[str]]:
    """Every metric under its id and aliases."""
    return {m.id: [m.id, *m.aliases] for m in schema.all_metrics().values()}


def metric_of(header: str, mapping: dict[str, str] | None = None) -> tuple[str, str]:
    """(canonical id, unit text) of a header; ("", "") when it means nothing to us.

    mapping: normalised header -> canonical id, as the user gave it.
    """
    if mapping and schema.normal(header) in mapping:
        return mapping[schema.normal(header)], wide_table.split_unit(header)[1]
    return _known(header) if len(header) <= wide_table.LONGEST else ("", "")


@lru_cache(4096)  # every wide table is asked for its hundreds of headers, most of them the same in a batch
def _known(header: str) -> tuple[str, str]:
    table = schema.by_alias()
    bare, unit = wide_table.split_unit(header)
    if bare == header.strip() and (m := re.fullmatch(r"(.+?)\s*\[([^\[\]]+)\]", header.strip())):
        bare, unit = m[1], m[2]  # an unknown unit on a known metric must be refused, not passed over
    # as it stands, without its unit, without a tool's prefixes, without a unit behind `_`: the first that is known
    for name, u in ((header, ""), (bare, unit), (schema.perfworks(bare), unit), wide_table.split_suffix(bare)):
        if name and (found := _own(schema.identified(name)) or table.get(schema.normal(name)) or _labelled(name)):
            if not u and (name.endswith(("%", ".pct")) or re.search(r"(_|\.)pct($|_|\.)", name)):
                u = "%"
            # `[% of peak]` is a percentage, whatever it says it is one of
            return found, "%" if u.startswith("%") else u
    return "", ""


def _own(metric: str) -> str:
    """A metric, "" where it is one that is computed: nobody's column is called so by chance."""
    return "" if metric.startswith(spoken.OURS) else metric


def _labelled(name: str) -> str:
    metric = _own(schema.by_label().get(schema.normal(name), ""))
    return "" if metric.startswith(spoken.RARER) else metric  # `Stalled: barrier` is Intel's label, and anybody's words


def recognise(source: Source) -> Match | None:
    """A header with a name column and at least one measure we know, or at least two columns we know.

    Names and a count alone are any list there is: of people and their calls, say.
    """
    if source.is_folder or not source.head_text.strip():
        return None
    line, headers = wide_table.header(source)
    mapped = [metric for h in headers if (metric := metric_of(h)[0])]
    named = bool({"name", "path"} & _roles(source, line, headers).keys())
    if named and len(mapped) < 2:  # words alone say less than names: a tool's table has some of them too
        said = [metric for metric, _ in spoken.read(headers).values()]
        mapped = said if len(said) >= 2 else mapped
    measured = any(schema.get(metric).unit != "count" for metric in mapped)
    if (named and measured) or len(mapped) >= 2:
        # low: a tool's own export has aliases among its headers too, and its own reader knows more
        return Match(0.30, f"{len(mapped)} of {len(headers)} headers are canonical metrics or aliases of them")
    return None


def read(source: Source, options: Options) -> Table:
    """The table; raises BadCapture without rows or metrics, UnknownUnit for a header's unit that does not fit."""
    line, headers = wide_table.header(source)
    if not line:
        raise BadCapture(f"{source.path}: the file is empty", "export again")
    headers, below = plausible.with_units(source, line, headers)
    mapping = {schema.normal(k): v for k, v in options.mapping.items()}
    roles = _roles(source, line, headers)
    taken = set(roles.values())
    columns: dict[str, tuple[int, str]] = {}
    unmapped = []
    rivals: list[tuple[str, int, str]] = []  # metric, column and unit of those that say once more what another says
    known = [metric_of(header, mapping) if header and i not in taken else ("", "") for i, header in enumerate(headers)]
    own = [i in taken or schema.normal(h) in mapping for i, h in enumerate(headers)]  # what the user says stands
    asked = ["" if mine or not _doubted(k) else h for h, k, mine in zip(headers, known, own, strict=True)]
    stalls = any(metric.startswith("stall.") for metric, _ in known)
    units_alone = sum(m.endswith(".throughput") and " " not in h.strip() for h, (m, _) in zip(headers, known, strict=True))  # fmt: skip
    words = spoken.read(asked, stalls=stalls, pipes=units_alone >= UNITS_ALONE)
    words = {i: found for i, found in words.items() if not known[i][0] or schema.get(found[0]).unit == "ratio"}
    words |= spoken.busy(["" if mine else h for h, mine in zip(headers, own, strict=True)], [words.get(i, k) for i, k in enumerate(known)])  # fmt: skip
    told = [words.get(i) or k for i, k in enumerate(known)]
    if any(metric == "sm.throughput" for metric, _ in told):
        told = [(_BESIDE_SM.get(metric, metric), unit) for metric, unit in told]
    for i, header in enumerate(headers):
        if i in taken or not header:
            continue
        metric, unit = told[i]
        if (
            not own[i] and not header.startswith(metric) and _foreign(metric, unit)
        ):  # `L2 (MB)`, `Time %`: something else of the same name
            metric = ""
        if metric and metric not in columns:
            columns[metric] = (i, unit)
        else:
            unmapped.append(header)
            rivals += [(metric, i, unit)] if metric else []
    if not columns:
        raise _nothing_known(source, headers)
    numeric = [*(c for c, _ in columns.values()), *(c for _, c, _ in rivals)]
    style = wide_table.number_style(source, source.head_lines[line:], numeric, options.decimal)
    wide = wide_table.read(source, line, len(headers), numeric, list(roles.values()), style=style, skip=below)
    count = len(wide.numbers[numeric[0]])
    _refuse_half_row(source, line, len(headers), count, wide.numbers)
    counts = [m for m, (c, u) in columns.items() if plausible.no_share(m, u, wide.numbers[c], named=c not in words)]
    unmapped += [headers[columns.pop(m)[0]] for m in counts]
    if not columns:
        raise _nothing_known(source, headers)
    _refuse_list(
        source, {m: headers[c] for m, (c, _) in columns.items()}, [wide.numbers[c] for c, _ in columns.values()]
    )
    table = Table(NAME, [source], _names(roles, wide, count), {}, first_line=wide.first_line, lines=wide.lines)
    table.quality += wide.quality
    if "device" in roles:
        table.device = next((d for d in wide.texts[roles["device"]] if d), "")
    table.quality += _occupancy(columns, headers, wide.numbers, table.device)
    table.notes += _by_words(headers, {i: m for i, (m, _) in words.items() if columns.get(m, (-1,))[0] == i})
    # people write 0.47 or 47 for a share; a file does one of them throughout
    percent = _bare_ratios_are_percent(columns, wide.numbers, headers, table.notes)
    bare = {m: c for m, (c, unit) in columns.items() if not unit and schema.get(m).unit == "ratio"}
    whole: Sequence[str] = ()
    if percent:
        whole, said = plausible.fractions(
            {m: wide.numbers[c] for m, c in bare.items()}, {m: headers[c] for m, c in bare.items()}
        )
        table.quality += said
    signed = {m: c for m, (c, unit) in columns.items() if unit == "%" and schema.get(m).unit == "ratio"}
    said = plausible.called_percent(
        {m: wide.numbers[c] for m, c in signed.items()}, {m: headers[c] for m, c in signed.items()}
    )
    table.quality += said
    signs = 1.0 if said else 0.01
    for metric, (c, unit) in columns.items():
        target = schema.get(metric).unit
        if metric == "gpu.time" and not unit:
            unit, remark = plausible.time_unit(f"{source.path}:{line}", headers[c], wide.numbers[c])
            table.quality += [remark] if remark else []
        if not unit:  # anything but a share is taken for canonical
            factor = 0.01 if target == "ratio" and percent and metric not in whole else 1.0
        else:
            try:
                factor = signs if metric in signed else units.factor(unit, target)
            except UnknownUnit as e:
                raise UnknownUnit(f"{source.path}:{line}: column {headers[c]!r}: {e.message}", e.hint) from e
        values = wide_table.scaled(wide.numbers[c], factor)
        table.columns[metric] = Column(values, headers[c], c + 1, unit, factor)
    table.quality += plausible.stated(table.columns)
    for metric, c, unit in rivals:
        table.quality += plausible.disagree(
            metric, table.columns[metric], headers[c], unit, wide.numbers[c], table.line
        )
    if "kind" in roles:
        table.kinds = _kinds(wide.texts[roles["kind"]])
    table.names, table.paths = _tree(roles, wide.texts, table.names)
    if table.paths is None and "gpu.time" in table.columns:
        kinds = [""] * count if table.kinds is None else table.kinds
        heads = [k in ("frame", "marker") or bool(_FRAME.fullmatch(str(n).strip())) for k, n in zip(kinds, table.names, strict=True)]  # fmt: skip
        if levels := tree_columns.by_sums(np.array(heads), table.columns["gpu.time"].values):
            table.paths = tree_columns.by_level(table.names, levels)
    elif table.paths is not None and count and "gpu.time" in table.columns and _FRAME.fullmatch(name := str(table.names[0]).strip()):  # fmt: skip
        table.paths = tree_columns.under_first(table.paths, name, table.columns["gpu.time"].values)
    if "queue" in roles:
        queues = _queues(wide.texts[roles["queue"]])
        if np.isfinite(queues).any():
            table.columns["queue.async"] = Column(queues, headers[roles["queue"]], roles["queue"] + 1)
    table.unmapped = unmapped
    table.quality += _unread(unmapped)
    table.collect = exported.asking(headers, columns)
    if not exported.tool_of(headers):
        table.collectable = frozenset(m for m in names() if m in columns or table.collect([m]))
    return table


def _roles(source: Source, line: int, headers: list[str]) -> dict[str, int]:
    """role -> position; where no header says that it names the rows, the first column of words does.

    A second column of words that may name rows, `Pass` beside `Marker`, says where they stand; `GPU` over words names one.
    """
    roles = wide_table.roles([spoken.CAMEL.sub(" ", h) for h in headers], ROLES)
    below = [cells(text, source.delimiter, source.skip_space) for text in source.head_lines[line : line + 8]]
    below = [row for row in below if any(row)]

    def worded(place: int) -> bool:
        """Do words stand below a header, and nothing else?"""
        found = [row[place] if place < len(row) else "" for row in below]
        return bool(found) and all(re.search(r"[^\W\d]", text) for text in found)

    if "device" not in roles and (place := wide_table.find(headers, "gpu")) >= 0 and worded(place):
        roles["device"] = place
    if not {"name", "path"} & roles.keys():
        place = next((i for i in range(len(headers)) if i not in roles.values()), -1)
        if place >= 0 and not metric_of(headers[place])[0] and worded(place):
            roles["name"] = place
    elif "name" in roles and not {"path", "parent", "level"} & roles.keys():
        place = wide_table.find(headers, *OUTER)
        if place >= 0 and place != roles["name"] and worded(place):
            roles["path"] = place
    return roles


def _doubted(known: tuple[str, str]) -> bool:
    """Is a header unknown, or one of shares where the metric of its name is none? `SM Occupancy [%]` counts no warps."""
    metric, unit = known
    return not metric or (unit == "%" and schema.get(metric).unit != "ratio")


def _occupancy(
    columns: dict[str, tuple[int, str]], headers: list[str], numbers: dict[int, Floats], device: str
) -> list[Quality]:
    """What is said of a column `SM Occupancy` that states no unit; where it is no count of warps, its metric is changed."""
    place, unit = columns.get("sm.active_warps", (-1, ""))
    if place < 0 or unit or "sm.occupancy" in columns or schema.normal(headers[place]) != "sm occupancy":
        return []
    found = devices.find(device) if device else None
    warps, said = plausible.counted_warps(columns, numbers, headers[place], found.max_warps_per_sm if found else plausible.SLOTS)  # fmt: skip
    if not warps:
        del columns["sm.active_warps"]
        columns["sm.occupancy"] = (place, "" if np.nanmax(numbers[place], initial=0) <= 1 else "%")
    return [said]


def _foreign(metric: str, unit: str) -> bool:
    """Is a unit understood, and none that the metric can be in?"""
    try:
        return bool(metric and unit and units.unit(unit) and not units.factor(unit, schema.get(metric).unit))
    except UnknownUnit:
        return units.known(unit)


def _by_words(headers: list[str], said: dict[int, str]) -> list[str]:
    """What to say of columns that were recognised by their words."""
    if not said:
        return []
    some = ", ".join(f"{headers[i][:40]!r} as {metric}" for i, metric in list(said.items())[:3])
    return [f"{len(said)} columns were recognised by their words, {some}; to read one otherwise: --map"]


def _unread(unmapped: list[str]) -> list[Quality]:
    """A remark on the columns that nobody understood, and what to do about it."""
    if not unmapped:
        return []
    some, rest = ", ".join(repr(h[:40]) for h in unmapped[:6]), f" and {len(unmapped) - 6} more" * (len(unmapped) > 6)
    which = "1 column was" if len(unmapped) == 1 else f"{len(unmapped)} columns were"
    said = (
        f'{which} not read: {some}{rest}; to read one: --map "{unmapped[0][:40]}=metric" (triage facts suggests which)'
    )
    return [Quality("columns-unread", said)]


def _names(roles: dict[str, int], wide: wide_table.Wide, count: int) -> Names:
    """Names as given; a nameless row is called by its place."""
    if "name" in roles:
        found = wide.texts[roles["name"]]
        blank = found == ""
        if "path" in roles:  # whose last level names the row
            blank &= wide.texts[roles["path"]] == ""
        if blank.any():
            found = found.copy()
            found[blank] = [f"row {i + 1}" for i in np.flatnonzero(blank)]
        return found
    return np.array([f"row {i + 1}" for i in range(count)], dtype=object)


def _tree(roles: dict[str, int], texts: dict[int, Names], names: Names) -> tuple[Names, Names | None]:
    """Leaf names and parent paths, by whatever column tells; no paths where the table is flat."""
    if "path" in roles:
        return tree_columns.by_path(names, texts[roles["path"]], "name" in roles)
    if "parent" in roles:
        return names, tree_columns.by_parent(names, texts[roles["parent"]], texts[roles["id"]] if "id" in roles else None)  # fmt: skip
    if "level" in roles and (levels := tree_columns.whole(texts[roles["level"]])):
        names = tree_columns.bare(names)
        return names, tree_columns.by_level(names, levels)
    if levels := tree_columns.indents(names):
        names = tree_columns.bare(names)
        return names, tree_columns.by_level(names, levels)
    return tree_columns.within_names(names) or (names, None)


def _kinds(texts: Names) -> Names:
    """Words of KINDS, "" for words nobody knows."""
    known = {t: _KIND_WORDS.get(str(t).strip().lower().replace("_", " ").replace("-", " "), "") for t in set(texts)}
    assert set(known.values()) <= {"", *KINDS}
    return np.array([known[t] for t in texts], dtype=object)


def _queues(texts: Names) -> Floats:
    """1 for a queue of compute or copies, 0 for the graphics queue, missing for words nobody knows."""
    words = {t: re.findall(r"[a-z]+", str(t).lower()) for t in set(texts)}
    own = {t: 1.0 if {"async", "compute", "copy", "transfer"} & set(w) else 0.0 if {"direct", "graphics", "universal"} & set(w) else np.nan for t, w in words.items()}  # fmt: skip
    return np.array([own[t] for t in texts], dtype=float)


def _bare_ratios_are_percent(
    columns: dict[str, tuple[int, str]], numbers: dict[int, Floats], headers: list[str], notes: list[str]
) -> bool:
    """Ratios without a unit: percent when any of them exceeds 1, else fractions. One decision for the whole file."""
    # ratios that may exceed 1 by their nature say nothing about how the file writes shares
    bare = [
        c for m, (c, unit) in columns.items() if not unit and schema.get(m).unit == "ratio" and schema.get(m).bounded
    ]
    if not bare:
        return True
    top = max((float(np.nanmax(numbers[c])) for c in bare if np.isfinite(numbers[c]).any()), default=0.0)
    percent = top > 1.0
    notes.append(
        f"{len(bare)} ratio columns have no unit (first: {headers[bare[0]]!r}); their values reach {top:g}, "
        f"so they were read as {'percent' if percent else 'fractions of 1'}"
    )
    return percent


def _nothing_known(source: Source, headers: list[str]) -> BadCapture:
    return BadCapture(
        f"{source.path}: none of the {len(headers)} columns is a known metric (first: {headers[0][:40]!r})",
        '--map "Their Column=canonical.id"; see: triage list metrics',
    )


def _refuse_half_row(source: Source, line: int, width: int, count: int, numbers: dict[int, Floats]) -> None:
    """A single record that ends before its first number is a cut file, not a workload without metrics."""
    if not any(np.isfinite(v).any() for v in numbers.values()):
        got = len(cells(source.head_lines[line], source.delimiter)) if len(source.head_lines) > line else 0
        what = f"the only row has {got} of {width} cells" if count == 1 and got < width else "no cell holds a number"
        raise BadCapture(f"{source.path}:{line + 1}: {what}", "the export was cut off or is empty; export again")


def _refuse_list(source: Source, headers: dict[str, str], numbers: list[Floats]) -> None:
    """A list of files or machines has a column called `gpu` and one that counts, and is no capture."""
    measures = [(headers[m], v) for m, v in zip(headers, numbers, strict=True) if m != "frame.calls"]
    if measures and not any(np.isfinite(v).any() for _, v in measures):
        raise NotTriageable(
            f"{source.path}: no cell of {', '.join(repr(h) for h, _ in measures[:3])} holds a number",
            "a list that only counts is no capture; give the profiler's own export",
        )
