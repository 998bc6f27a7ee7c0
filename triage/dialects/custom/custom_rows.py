"""The rows of somebody's own table: which column names them, what kind of work they are, and where they stand."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from triage import devices
from triage.capture.arrays import Floats, Names
from triage.capture.capture import KINDS, SEP, Column, Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects.custom import tree_columns, vocabulary
from triage.dialects.tables import wide_table

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
        *("parent event id", "parent row", "parent index", "inside", "part of", "under"),
    ),
    "level": ("level", "lvl", "depth", "nesting", "nesting level", "indent", "indentation", "tree level"),
    "id": ("id", "event id", "eid", "index"),
    "kind": ("kind", "type", "workload kind", "workload type", "pass kind", "pass type"),
    "device": (
        *("device", "gpu name", "device name", "gpu model", "gpu type", "graphics card", "video card", "accelerator"),
        *("grafikkarte", "gerät", "carte graphique"),
    ),
    "queue": ("queue", "queue name", "queue type"),
    "limiter": (
        "occupancy limited by",
        "limited by",
        "occupancy limiter",
        "occupancy limit reason",
        "occupancy limiting factor",
        "wave limiter",
        "warp limiter",
    ),
    "frame": ("frame", "frame number", "frame index", "frame id", "frame no"),
}
# beside names: where they stand
OUTER = ("pass", "pass name", "render pass", "section", "zone", "stage", "category", "phase", "area", "subsystem")
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


def roles(source: Source, line: int, headers: list[str], is_metric: Callable[[str], bool]) -> dict[str, int]:
    """role -> position; where no header says that it names the rows, the first column of words does.

    A second column of words that may name rows, `Pass` beside `Marker`, says where they stand, and so does one that has words
    where the names are blank; `GPU` over words names one. Numbers of events name nothing where a column of words does.
    """
    spaced = [vocabulary.CAMEL.sub(" ", h) for h in headers]
    found = wide_table.roles(spaced, ROLES)
    below = [cells(text, source.delimiter, source.skip_space) for text in source.head_lines[line : line + 20]]
    below = [row for row in below if any(row)]

    def worded(place: int) -> bool:
        """Do words stand below a header, and nothing else?"""
        texts = [row[place] if place < len(row) else "" for row in below]
        return bool(texts) and all(re.search(r"[^\W\d]", text) for text in texts)

    if "device" not in found and (place := wide_table.find(headers, "gpu")) >= 0 and worded(place):
        found["device"] = place

    def free() -> list[int]:
        """Places of words that tell nothing else."""
        return [i for i, h in enumerate(headers) if i not in found.values() and h and not is_metric(h) and worded(i)]

    if (
        "name" in found
        and below
        and all(i < len(row) and row[i].strip().isdigit() for i in [found["name"]] for row in below)
    ):
        better = [i for i in free() if wide_table.find([spaced[i]], *OUTER) < 0]
        if better:
            found.setdefault("id", found["name"])
            found["name"] = better[0]
    if not {"name", "path"} & found.keys():
        found.pop("frame", None)  # then it is what names the rows, or a figure
        if words := free():
            found["name"] = words[0]
    if "name" not in found and "path" in found:
        found |= next(({"name": i} for i in free() if _holders(below, found["path"], i)), {})
    if "name" in found and "path" in found and "parent" not in found and _holders(below, found["path"], found["name"]):
        found["parent"] = found.pop("path")  # `Frame` over `Lighting` over `SSR`: one level of each
    elif "name" in found and not {"path", "parent", "level"} & found.keys():
        place = wide_table.find(["" if i == found["name"] else h for i, h in enumerate(headers)], *OUTER)
        if place >= 0 and worded(place):
            found["path"] = place
        elif inside := [i for i, h in enumerate(headers) if i not in found.values() and not is_metric(h) and _holders(below, i, found["name"])]:  # fmt: skip
            found["parent"] = inside[0]
        elif heads := [i for i in free() if i < found["name"] and _heads(below, i, found["name"])]:
            found["path"] = heads[0]
    return found


def _holders(rows: list[list[str]], place: int, name: int) -> bool:
    """Does a column name, in every row that it says something in, another row of the table?"""
    names = {row[name].strip() for row in rows if name < len(row)}
    told = [
        (row[place].strip(), row[name].strip()) for row in rows if max(place, name) < len(row) and row[place].strip()
    ]
    return len(told) > 1 and all(up in names and up != own for up, own in told)


def _heads(rows: list[list[str]], place: int, name: int) -> bool:
    """Does a column have words where names are blank, and again beside the names below: `Post,` and `Post,Bloom`?"""
    alone = {row[place] for row in rows if name >= len(row) or not row[name].strip()}
    return any(row[place] in alone for row in rows if name < len(row) and row[name].strip())


def names(roles: dict[str, int], texts: dict[int, Names], count: int) -> Names:
    """Names as given; a nameless row is called by its place."""
    if "name" in roles:
        found = texts[roles["name"]]
        blank = found == ""
        if "path" in roles:  # whose last level names the row
            blank &= texts[roles["path"]] == ""
        if blank.any():
            found = found.copy()
            found[blank] = [f"row {i + 1}" for i in np.flatnonzero(blank)]
        return found
    return np.array([f"row {i + 1}" for i in range(count)], dtype=object)


def _tree(roles: dict[str, int], texts: dict[int, Names], own: Names) -> tuple[Names, Names | None]:
    """Leaf names and parent paths, by whatever column tells; no paths where the table is flat."""
    if "path" in roles:
        return tree_columns.by_path(own, texts[roles["path"]], "name" in roles)
    if "parent" in roles:
        return own, tree_columns.by_parent(own, texts[roles["parent"]], texts[roles["id"]] if "id" in roles else None)  # fmt: skip
    if "level" in roles and (levels := tree_columns.whole(texts[roles["level"]])):
        own = tree_columns.bare(own)
        return own, tree_columns.by_level(own, levels)
    return tree_columns.by_names(own) or (own, None)


def place(table: Table, roles: dict[str, int], texts: dict[int, Names], headers: list[str]) -> None:
    """Say of the rows what their columns say: kinds, leaf names, paths and queues."""
    if "kind" in roles:
        table.kinds = _kinds(texts[roles["kind"]])
    elif launched := table.columns.get("launch.block_size"):  # a draw has no groups of threads
        table.kinds = np.where(launched.values > 0, "compute", "").astype(object)
    table.names, table.paths = _tree(roles, texts, table.names)
    times = table.columns.get("gpu.time")
    if times is not None and table.paths is None:
        kinds = [""] * len(table.names) if table.kinds is None else table.kinds
        heads = (k in ("frame", "marker") or _is_frame(n) for k, n in zip(kinds, table.names, strict=True))
        # heads stand above their rows: of a million names that begin with none the first is enough
        if next(heads, False) and (levels := tree_columns.by_sums(np.array([True, *heads]), times.values)):
            table.paths = tree_columns.by_level(table.names, levels)
    elif times is not None and table.paths is not None and len(table.names) and _is_frame(table.names[0]):
        table.paths = tree_columns.under_first(table.paths, str(table.names[0]), times.values)
    if "frame" in roles and (numbers := _frames(texts[roles["frame"]])):
        below = [""] * len(numbers) if table.paths is None else table.paths
        table.paths = np.array([f"Frame {n}{SEP}{p}".removesuffix(SEP) for n, p in zip(numbers, below, strict=True)], dtype=object)  # fmt: skip
    if "queue" in roles:
        queues = _queues(texts[roles["queue"]])
        if np.isfinite(queues).any():
            table.columns["queue.async"] = Column(queues, headers[roles["queue"]], roles["queue"] + 1)
    if "limiter" in roles:
        place = roles["limiter"]
        for metric, told in _limits(texts[place]).items():
            table.columns.setdefault(metric, Column(told, headers[place], place + 1))


def of_device(table: Table, texts: Names) -> None:
    """Say of the table which GPU its rows ran on. Of several none: each one's limits would be wrong for the others' rows."""
    told = [t for t in dict.fromkeys(texts) if t]
    known = {found.name if (found := devices.find(t)) else t: t for t in told}
    if len(known) == 1:
        table.device = told[0]
    elif known:
        some = ", ".join(repr(str(t)[:40]) for t in list(known.values())[:3])
        table.notes.append(
            f"the rows are of {len(known)} GPUs ({some}): limits of none were used; keep one GPU's rows, or name it with --device"
        )


def _frames(texts: Names) -> list[int]:
    """Numbers of frames of several rows each; [] where a column of that name holds something else, or one frame."""
    found = [int(t) if re.fullmatch(r"\d{1,9}", t) else -1 for t in (str(t).strip().removesuffix(".0") for t in texts)]
    several = 1 < len(set(found)) <= len(found) // 2
    return found if several and min(found, default=-1) >= 0 else []


def _is_frame(name: object) -> bool:
    return bool(_FRAME.fullmatch(str(name).strip()))


def _kinds(texts: Names) -> Names:
    """Words of KINDS, "" for words nobody knows."""
    known = {t: _KIND_WORDS.get(str(t).strip().lower().replace("_", " ").replace("-", " "), "") for t in set(texts)}
    assert set(known.values()) <= {"", *KINDS}
    return np.array([known[t] for t in texts], dtype=object)


_LIMITS = {
    "limited_by.registers": {"vgpr", "vgprs", "register", "registers", "reg", "regs", "gpr", "gprs", "sgpr", "sgprs"},
    "limited_by.shared": {"lds", "shared", "smem", "tgsm", "groupshared", "slm"},
    "limited_by.groups": {"group", "groups", "threadgroup", "workgroup", "block", "blocks", "cta", "ctas"},
    "limited_by.warps": {"wave", "waves", "warp", "warps", "slots", "wavefront", "wavefronts"},
    "limited_by.barriers": {"barrier", "barriers"},
}


def _limits(texts: Names) -> dict[str, Floats]:
    """Flags of what limits the occupancy, from words such as `VGPR`, `LDS` or `Wave slots`; missing where nobody knows them.

    A word that says two of them (`shared memory per group`) says the first.
    """
    words = {t: set(re.findall(r"[a-z]+", str(t).lower())) for t in set(texts)}
    found = {t: next((metric for metric, own in _LIMITS.items() if own & w), "") for t, w in words.items()}
    if not any(found.values()):
        return {}
    return {m: np.array([float(found[t] == m) if found[t] else np.nan for t in texts]) for m in _LIMITS}


def _queues(texts: Names) -> Floats:
    """1 for a queue of compute or copies, 0 for the graphics queue, missing for words nobody knows."""
    words = {t: re.findall(r"[a-z]+", str(t).lower()) for t in set(texts)}
    own = {t: 1.0 if {"async", "compute", "copy", "transfer"} & set(w) else 0.0 if {"direct", "graphics", "universal"} & set(w) else np.nan for t, w in words.items()}  # fmt: skip
    return np.array([own[t] for t in texts], dtype=float)
