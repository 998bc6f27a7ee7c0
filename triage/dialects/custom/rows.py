"""The columns of a custom table that are about its rows: names, place in the tree, kind of work, queue, GPU."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from triage import devices
from triage.capture.arrays import Floats, Names
from triage.capture.capture import KINDS, SEP, Column, Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects.custom import tree_columns
from triage.dialects.custom.say import by_name
from triage.dialects.custom.vocabulary import CAMEL_RE
from triage.dialects.tables import wide_table
from triage.schema import ROW_NAME

ROLES = {
    "name": "name|marker|workload|event|kernel|pass|event name|kernel name|marker name|label|pass name|workload name|range|range name"
    "|region|scope|shader|draw call|encoder|render pass|section|zone",
    "path": "path|marker path|full name|hierarchy|full path|marker hierarchy|scope path|zone path|group",
    "parent": "parent|parent name|parent marker|parent id|parent pass|belongs to|parent event|parent event id|parent row|parent index"
    "|inside|part of|under",
    "level": "level|lvl|depth|nesting|nesting level|indent|indentation|tree level",
    "id": "id|event id|eid|index",
    "kind": "kind|type|workload kind|workload type|pass kind|pass type",
    "device": "device|gpu name|device name|gpu model|gpu type|graphics card|video card|accelerator|grafikkarte|gerät|carte graphique",
    "queue": "queue|queue name|queue type",
    "limiter": "occupancy limited by|limited by|occupancy limiter|occupancy limit reason|occupancy limiting factor|wave limiter|warp limiter",
    "frame": "frame|frame number|frame index|frame id|frame no",
}
_ROLES = {role: headers.split("|") for role, headers in ROLES.items()}
# beside names: the pass that they are of
_OUTER = ("pass", "pass name", "render pass", "section", "zone", "stage", "category", "phase", "area", "subsystem")
_KINDS = {
    "fullscreen": "fullscreen|full screen|post|ps",
    "compute": "compute|cs|dispatch|kernel",
    "geometry": "geometry|gbuffer|shadow",
    "draw": "draw",
    "copy": "copy|transfer",
    "raytracing": "raytracing|ray tracing|rt",
    "marker": "marker|range",
    "frame": "frame",
    "cpu": "cpu",
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words.split("|")}
assert _KINDS.keys() <= set(KINDS)
# words for what limits the occupancy; of two in one cell the first counts: `shared memory per group`
_LIMITS = {
    "limited_by.registers": {"vgpr", "vgprs", "register", "registers", "reg", "regs", "gpr", "gprs", "sgpr", "sgprs"},
    "limited_by.shared": {"lds", "shared", "smem", "tgsm", "groupshared", "slm"},
    "limited_by.groups": {"group", "groups", "threadgroup", "workgroup", "block", "blocks", "cta", "ctas"},
    "limited_by.warps": {"wave", "waves", "warp", "warps", "slots", "wavefront", "wavefronts"},
    "limited_by.barriers": {"barrier", "barriers"},
}
_ASYNC, _GRAPHICS = {"async", "compute", "copy", "transfer"}, {"direct", "graphics", "universal"}
# a row of such a name heads the rows of its frame
_FRAME_RE = re.compile(r"(?:gpu |whole )?(?:frame|scene|total|capture|root)[ _#:]*\d*", re.IGNORECASE)
_KERNEL_RE = re.compile(r"\bkernel(?:[ _]?name)?\Z", re.IGNORECASE)  # `Main kernel name`
_LOOKED_AT = 20  # rows


class _Layout(Struct):
    """The headers of a table, its first rows, and the roles of columns that are known so far (role -> 0-based column)."""

    headers: list[str]
    rows: list[list[str]]
    roles: dict[str, int]

    def is_text(self, column: int) -> bool:
        """True if every cell holds a letter."""
        texts = [row[column] if column < len(row) else "" for row in self.rows]
        return bool(texts) and all(re.search(r"[^\W\d]", text) for text in texts)

    def open(self) -> list[int]:
        """Columns that have no role and no metric's name."""
        return [i for i, h in enumerate(self.headers) if i not in self.roles.values() and not by_name(h).metric]

    def open_texts(self) -> list[int]:
        """Open columns of text."""
        return [i for i in self.open() if self.headers[i] and self.is_text(i)]

    def find_outer(self) -> int:
        """The column that is called a pass or a section, -1 for none."""
        return wide_table.find(["" if i == self.roles["name"] else h for i, h in enumerate(self.headers)], *_OUTER)

    def holds_parents(self, column: int, name: int) -> bool:
        """True if a column names, in every row where it is filled, another row of the table."""
        names = {row[name].strip() for row in self.rows if name < len(row)}
        filled = [(row[column].strip(), row[name].strip()) for row in self.rows if max(column, name) < len(row) and row[column].strip()]  # fmt: skip
        return len(filled) > 1 and all(parent in names and parent != name for parent, name in filled)

    def holds_heads(self, column: int, name: int) -> bool:
        """True if a column is filled where names are blank, and again beside the names below: `Post,` and `Post,Bloom`."""
        heads = {row[column] for row in self.rows if name >= len(row) or not row[name].strip()}
        return any(row[column] in heads for row in self.rows if name < len(row) and row[name].strip())


def roles(source: Source, line: int, headers: list[str], mapping: Mapping[str, str] = {}) -> dict[str, int]:
    """Role -> 0-based column; where no header names the rows, the first column of text does.

    line: 1-based, of the header. mapping: header -> what the user reads it as.
    """
    spaced = [CAMEL_RE.sub(" ", h) for h in headers]
    rows = [cells(text, source.delimiter, source.skip_space) for text in source.head_lines[line : line + _LOOKED_AT]]
    known = wide_table.roles(spaced, _ROLES)
    if chosen := [c for h, to in mapping.items() if to == ROW_NAME and (c := wide_table.find(headers, h)) >= 0]:
        known = {role: c for role, c in known.items() if c != chosen[0]} | {"name": chosen[0]}
    layout = _Layout(headers, [row for row in rows if any(row)], known)
    for rule in (_find_device, *(() if chosen else (_find_name,)), _find_parents):
        rule(layout)
    return layout.roles


def reason(role: str, header: str) -> str:
    """Why a column has a role, in a few words."""
    return "by name" if wide_table.find([CAMEL_RE.sub(" ", header)], *_ROLES[role]) == 0 else "by its cells"


def _find_device(layout: _Layout) -> None:
    """`GPU` over text names the GPU; over numbers it is a time."""
    column = wide_table.find(layout.headers, "gpu")
    if "device" not in layout.roles and column >= 0 and layout.is_text(column):
        layout.roles["device"] = column


def _find_name(layout: _Layout) -> None:
    """Numbers of events name nothing where a column of text does; without any name the first column of text is one."""
    found, rows = layout.roles, layout.rows
    called = [i for i in layout.open_texts() if _KERNEL_RE.search(CAMEL_RE.sub(" ", layout.headers[i]))]
    if called and "name" not in found:
        found["name"] = called[0]
    if (
        "name" in found
        and rows
        and all(found["name"] < len(row) and row[found["name"]].strip().isdigit() for row in rows)
    ):
        texts = [i for i in layout.open_texts() if wide_table.find([CAMEL_RE.sub(" ", layout.headers[i])], *_OUTER) < 0]
        if texts:
            found.setdefault("id", found["name"])
            found["name"] = texts[0]
    if not {"name", "path"} & found.keys():
        found.pop("frame", None)  # then it names the rows, or is a figure
        texts = layout.open_texts()
    elif "name" not in found:
        texts = [i for i in layout.open_texts() if layout.holds_parents(found["path"], i)]
    else:
        return
    if texts:
        found["name"] = texts[0]


def _find_parents(layout: _Layout) -> None:
    """Where no header says so, a second column may tell what a row is part of: its pass, its parent, or the last head above."""
    found = layout.roles
    name = found.get("name", -1)
    if name < 0 or "parent" in found or ("level" in found and "path" not in found):
        return
    if "path" in found:
        if layout.holds_parents(found["path"], name):
            found["parent"] = found.pop("path")  # `Frame` over `Lighting` over `SSR`: one level of each
    elif (outer := layout.find_outer()) >= 0 and layout.is_text(outer):
        found["path"] = outer
    elif parents := [i for i in layout.open() if layout.holds_parents(i, name)]:
        found["parent"] = parents[0]
    elif heads := [i for i in layout.open_texts() if i < name and layout.holds_heads(i, name)]:
        found["path"] = heads[0]


def names(roles: dict[str, int], texts: dict[int, Names], count: int) -> Names:
    """Names as given; a nameless row is called by its number."""
    if "name" not in roles:
        return np.array([f"row {i + 1}" for i in range(count)], dtype=object)
    given = np.array([n.strip(" `") if "`" in n else n for n in texts[roles["name"]]], dtype=object)  # code in Markdown
    blank = given == ""
    if "path" in roles:  # whose last level names the row
        blank &= texts[roles["path"]] == ""
    if blank.any():
        given[blank] = [f"row {i + 1}" for i in np.flatnonzero(blank)]
    return given


def enter_device(table: Table, texts: Names) -> None:
    """Enter the GPU of the rows. Of several none: each one's limits would be wrong for the others' rows."""
    stated = [t for t in dict.fromkeys(texts) if t]
    products = {device.name if (device := devices.find(t)) else t: t for t in stated}
    if len(products) == 1:
        table.device = stated[0]
    elif products:
        some = ", ".join(repr(str(t)[:40]) for t in list(products.values())[:3])
        table.notes.append(
            f"the rows are of {len(products)} GPUs ({some}): limits of none were used; keep one GPU's rows, or name it with --device"
        )


def enter(table: Table, roles: dict[str, int], texts: dict[int, Names], headers: list[str]) -> None:
    """Enter what columns tell of the rows: kinds, leaf names, paths, queues, and what limits the occupancy."""
    if "kind" in roles:
        table.kinds = _kinds(texts[roles["kind"]])
    elif launched := table.columns.get("launch.block_size"):  # a draw has no groups of threads
        table.kinds = np.where(launched.values > 0, "compute", "").astype(object)
    table.names, table.paths = _tree(roles, texts, table.names)
    _put_under_frames(table)
    if "frame" in roles and (numbers := _frames(texts[roles["frame"]])):
        below = [""] * len(numbers) if table.paths is None else table.paths
        table.paths = np.array([f"Frame {n}{SEP}{p}".removesuffix(SEP) for n, p in zip(numbers, below, strict=True)], dtype=object)  # fmt: skip
    for role, values_of in (("queue", _queues), ("limiter", _limits)):
        if role in roles:
            column = roles[role]
            entries = {m: Column(v, headers[column], column + 1) for m, v in values_of(texts[column]).items()}
            # a column of its own says more of a limit than a word
            table.columns |= (
                entries if role == "queue" else {m: c for m, c in entries.items() if m not in table.columns}
            )


def _tree(roles: dict[str, int], texts: dict[int, Names], own: Names) -> tuple[Names, Names | None]:
    """Leaf names and parent paths, by the column that has them; no paths where the table is flat."""
    if "path" in roles:
        return tree_columns.by_path(own, texts[roles["path"]], "name" in roles)
    if "parent" in roles:
        return own, tree_columns.by_parent(own, texts[roles["parent"]], texts[roles["id"]] if "id" in roles else None)
    if "level" in roles and (levels := tree_columns.whole(texts[roles["level"]])):
        own = tree_columns.bare(own)
        return own, tree_columns.by_level(own, levels)
    return tree_columns.by_names(own) or (own, None)


def _put_under_frames(table: Table) -> None:
    """Rows below one that is called a frame, and takes their time, are its own."""
    times = table.columns.get("gpu.time")
    if times is None:
        return
    if table.paths is None:
        kinds = [""] * len(table.names) if table.kinds is None else table.kinds
        heads = (k in ("frame", "marker") or _is_frame(n) for k, n in zip(kinds, table.names, strict=True))
        # heads stand above their rows: of a million names that begin with none the first is enough
        if next(heads, False) and (levels := tree_columns.by_sums(np.array([True, *heads]), times.values)):
            table.paths = tree_columns.by_level(table.names, levels)
    elif len(table.names) and _is_frame(table.names[0]):
        table.paths = tree_columns.under_first(table.paths, str(table.names[0]), times.values)


def _frames(texts: Names) -> list[int]:
    """Numbers of frames of several rows each; [] where a column of that name holds something else, or one frame."""
    numbers = [int(t) if re.fullmatch(r"\d{1,9}", t) else -1 for t in (str(t).strip().removesuffix(".0") for t in texts)]  # fmt: skip
    several = 1 < len(set(numbers)) <= len(numbers) // 2
    return numbers if several and min(numbers, default=-1) >= 0 else []


def _is_frame(name: object) -> bool:
    return bool(_FRAME_RE.fullmatch(str(name).strip()))


def _kinds(texts: Names) -> Names:
    """Words of KINDS, "" for unknown words."""
    kinds = {t: _KIND_OF.get(str(t).strip().lower().replace("_", " ").replace("-", " "), "") for t in set(texts)}
    return np.array([kinds[t] for t in texts], dtype=object)


def _limits(texts: Names) -> dict[str, Floats]:
    """1 for what limits the occupancy, by words such as `VGPR`, `LDS` or `Wave slots`; missing for unknown words."""
    words = {t: set(re.findall(r"[a-z]+", str(t).lower())) for t in set(texts)}
    limit = {t: next((metric for metric, known in _LIMITS.items() if known & w), "") for t, w in words.items()}
    if not any(limit.values()):
        return {}
    return {m: np.array([float(limit[t] == m) if limit[t] else np.nan for t in texts]) for m in _LIMITS}


def _queues(texts: Names) -> dict[str, Floats]:
    """1 for a queue of compute or copies, 0 for the graphics queue, missing for unknown words."""
    words = {t: set(re.findall(r"[a-z]+", str(t).lower())) for t in set(texts)}
    queue = {t: 1.0 if _ASYNC & w else 0.0 if _GRAPHICS & w else np.nan for t, w in words.items()}
    return (
        {}
        if np.isnan(list(queue.values())).all()
        else {"queue.async": np.array([queue[t] for t in texts], dtype=float)}
    )
