"""Generic table: one row per workload, headers are canonical metric ids or any alias of the schema.

What people write by hand or from their own scripts, and the escape hatch for every table nobody has taught us yet
(`--map "Their Column=canonical.id"`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from triage import schema
from triage.capture.arrays import Floats, Names
from triage.capture.capture import KINDS, SEP, Column, Table
from triage.capture.source import Source, cells, delimiter
from triage.dialects import Match, Options
from triage.dialects._tables import plausible, wide_table
from triage.ground import units
from triage.ground.errors import BadCapture, UnknownUnit

NAME = "generic"
TITLE = "Generic table, one row per workload"
CAPTURE = "Write a CSV with a `name` column and one column per metric; headers are canonical ids or aliases, units in brackets."

ROLES = {
    "name": tuple("name,marker,workload,event,kernel,pass,event name,kernel name,marker name,label".split(",")),
    "path": ("path", "marker path", "full name", "hierarchy"),
    "kind": ("kind", "type", "workload kind"),
    "device": ("device", "gpu name", "device name"),
    "queue": ("queue", "queue name", "queue type"),
}
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
    table = schema.by_alias()
    if mapping and schema.normal(header) in mapping:
        return mapping[schema.normal(header)], wide_table.split_unit(header)[1]
    if len(header) > wide_table.LONGEST:
        return "", ""
    bare, unit = wide_table.split_unit(header)
    if bare == header.strip() and (m := re.fullmatch(r"(.+?)\s*\[([^\[\]]+)\]", header.strip())):
        bare, unit = m[1], m[2]  # an unknown unit on a known metric must be refused, not passed over
    # as it stands, without its unit, without a tool's prefixes, without a unit behind `_`: the first that is known
    for name, u in ((header, ""), (bare, unit), (schema.perfworks(bare), unit), wide_table.split_suffix(bare)):
        if (found := table.get(schema.normal(name))) and name:
            if not u and (name.endswith(("%", ".pct")) or re.search(r"(_|\.)pct($|_|\.)", name)):
                u = "%"
            return found, u
    return "", ""


def _header(source: Source) -> tuple[int, list[str]]:
    """1-based line and cells of the first line that is neither blank nor a comment; BadCapture when there is none."""
    for number, line in enumerate(source.head_lines[:200], 1):
        if line.strip() and not line.lstrip().startswith(("#", "//")):
            source.delimiter = delimiter(line)
            source.skip_space = ", " in line and source.delimiter == ","
            return number, [c.strip() for c in cells(line, source.delimiter, source.skip_space)]
    raise BadCapture(f"{source.path}: the file is empty", "export again")


def recognise(source: Source) -> Match | None:
    """A header with a name column and at least one column we can map, or at least two that we can."""
    if source.is_folder or not source.head_text.strip():
        return None
    _, headers = _header(source)
    mapped = [h for h in headers if metric_of(h)[0]]
    named = wide_table.find(headers, *ROLES["name"], *ROLES["path"]) >= 0
    if (named and mapped) or len(mapped) >= 2:
        # low: a tool's own export has aliases among its headers too, and its own reader knows more
        return Match(0.30, f"{len(mapped)} of {len(headers)} headers are canonical metrics or aliases of them")
    return None


def read(source: Source, options: Options) -> Table:
    """The table; raises BadCapture without rows or metrics, UnknownUnit for a header's unit that does not fit."""
    line, headers = _header(source)
    headers, below = plausible.with_units(source, line, headers)
    mapping = {schema.normal(k): v for k, v in options.mapping.items()}
    roles = wide_table.roles(headers, ROLES)
    taken = set(roles.values())
    columns: dict[str, tuple[int, str]] = {}
    unmapped = []
    rivals: list[tuple[str, int, str]] = []  # metric, column and unit of those that say once more what another says
    for i, header in enumerate(headers):
        if i in taken or not header:
            continue
        metric, unit = metric_of(header, mapping)
        if metric and metric not in columns:
            columns[metric] = (i, unit)
        else:
            unmapped.append(header)
            rivals += [(metric, i, unit)] if metric else []
    if not columns:
        raise BadCapture(
            f"{source.path}: none of the {len(headers)} columns is a known metric (first: {headers[0][:40]!r})",
            '--map "Their Column=canonical.id"; see: triage list metrics',
        )
    numeric = [*(c for c, _ in columns.values()), *(c for _, c, _ in rivals)]
    style = wide_table.number_style(source, source.head_lines[line:], numeric, options.decimal)
    wide = wide_table.read(source, line, len(headers), numeric, list(roles.values()), style=style, skip=below)
    count = len(wide.numbers[numeric[0]])
    _refuse_half_row(source, line, len(headers), count, wide.numbers)
    table = Table(NAME, [source], _names(roles, wide, count), {}, first_line=wide.first_line, lines=wide.lines)
    table.quality += wide.quality
    # people write 0.47 or 47 for a share; a file does one of them throughout
    percent = _bare_ratios_are_percent(columns, wide.numbers, headers, table.notes)
    bare = {m: c for m, (c, unit) in columns.items() if not unit and schema.get(m).unit == "ratio"}
    whole: Sequence[str] = ()
    if percent:
        whole, said = plausible.fractions(
            {m: wide.numbers[c] for m, c in bare.items()}, {m: headers[c] for m, c in bare.items()}
        )
        table.quality += said
    for metric, (c, unit) in columns.items():
        target = schema.get(metric).unit
        if metric == "gpu.time" and not unit:
            unit, remark = plausible.time_unit(f"{source.path}:{line}", headers[c], wide.numbers[c])
            table.quality += [remark] if remark else []
        if not unit:  # anything but a share is taken for canonical
            factor = 0.01 if target == "ratio" and percent and metric not in whole else 1.0
        else:
            try:
                factor = units.factor(unit, target)
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
    if "path" in roles:
        table.names, table.paths = _paths(table.names, wide.texts[roles["path"]], "name" in roles)
    if "queue" in roles:
        queues = _queues(wide.texts[roles["queue"]])
        if np.isfinite(queues).any():
            table.columns["queue.async"] = Column(queues, headers[roles["queue"]], roles["queue"] + 1)
    if "device" in roles:
        table.device = next((d for d in wide.texts[roles["device"]] if d), "")
    table.unmapped = unmapped
    return table


def _names(roles: dict[str, int], wide: wide_table.Wide, count: int) -> Names:
    """Names as given; a nameless row is called by its place."""
    if "name" in roles:
        found = wide.texts[roles["name"]]
        blank = found == ""
        if blank.any():
            found = found.copy()
            found[blank] = [f"row {i + 1}" for i in np.flatnonzero(blank)]
        return found
    return np.array([f"row {i + 1}" for i in range(count)], dtype=object)


def _paths(names: Names, paths: Names, named: bool) -> tuple[Names, Names]:
    """Leaf names and parent paths; a path may or may not repeat the workload's name as its last level."""
    leaf, parent = names.copy(), np.empty(len(names), dtype=object)
    for i, path in enumerate(paths):
        levels = [p.strip() for p in str(path).strip("/").split("/") if p.strip()]
        if levels and (not named or levels[-1] == names[i]):
            leaf[i] = levels.pop()
        elif named and str(path).endswith(names[i]) and "/" in names[i]:  # a name may itself hold slashes
            levels = [p for p in str(path)[: -len(names[i])].strip("/").split("/") if p]
        parent[i] = SEP.join(levels)
    return leaf, parent


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


def _refuse_half_row(source: Source, line: int, width: int, count: int, numbers: dict[int, Floats]) -> None:
    """A single record that ends before its first number is a cut file, not a workload without metrics."""
    if not any(np.isfinite(v).any() for v in numbers.values()):
        got = len(cells(source.head_lines[line], source.delimiter)) if len(source.head_lines) > line else 0
        what = f"the only row has {got} of {width} cells" if count == 1 and got < width else "no cell holds a number"
        raise BadCapture(f"{source.path}:{line + 1}: {what}", "the export was cut off or is empty; export again")
