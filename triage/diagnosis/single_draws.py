"""Single draws of a frame's passes: what each covers, passes and shades, where a pass is a sum of draws with counters of their own.

What only some draws of a pass show is billed to these draws, never to the pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from triage.capture.arrays import Floats, Indices, Masks, Names
from triage.capture.capture import Capture, Pass
from triage.derive import View
from triage.ground.phrasing import plural
from triage.reading.pass_tree import DRAW
from triage.reading.pixel_account import column

_KEPT = 0.3  # of the primitives: with fewer survivors only a busy rasteriser minds their size, as rule GFX001 has it
_SCENE = 10_000  # primitives: boxes around objects have fewer
_TESTING_RE = re.compile(r"occlu|quer(?:y|ies)|prox(?:y|ies)|\bh-?z|culling|conditional|predicat|vox", re.IGNORECASE)


class Draws(Struct, frozen=True):
    """One value per draw (row of the table; workload, where a capture holds several frames), NaN where unknown.

    prims: that reached the rasteriser, NaN where most, but not all were culled before. covered: pixels under them. shaded, passed: pixel-shader
    invocations, samples that pass depth and stencil. fed: drew something, by vertices or primitives. before_tests: no early test hid
    what is covered. rows: of the passes, by position. by_row: they are rows of the table.
    """

    names: Names
    time: Floats
    prims: Floats
    covered: Floats
    shaded: Floats
    passed: Floats
    fed: Masks
    before_tests: Masks
    rows: Sequence[Indices]
    by_row: bool

    @classmethod
    def read(cls, capture: Capture, passes: Sequence[Pass]) -> Draws:
        """The draws of some passes."""
        leaf = capture.leaf
        inside = [p.rows[leaf[p.rows]] for p in passes]
        one_by_one = capture.frames is None and capture.members is not None
        if one_by_one:
            single = _apart(capture)
            inside = [np.sort(np.concatenate([capture.rows_of(int(w)) for w in rows] or [rows])) for rows in inside]
        else:
            single = capture
        view = View(single)
        shaded, passed = column(view, "invocations.ps"), column(view, "pixels.passed")
        if not (passed > 0).any():  # a counter that is 0 throughout was not measured
            passed = np.full(view.size, np.nan)
        whole = np.isfinite(column(view, "pixels.shaded")) | np.isfinite(column(view, "pixels.failed_early"))
        raw = [column(view, m) for m in ("prims.input", "prims.rasterized", "invocations.vs")]
        return cls(
            single.names,
            np.nan_to_num(single.self_ns),
            np.where(column(view, "prims.rasterized") == 0, 0.0, not_culled(view)),
            column(view, "pixels.covered"),
            shaded,
            passed,
            np.any([np.nan_to_num(values) > 0 for values in raw], axis=0),
            whole | (shaded > passed),
            inside,
            one_by_one,
        )

    def unseen(self, k: int, p: Pass) -> Indices:
        """Draws of the k-th pass none of whose samples pass; none where the pass tests bounds or writes elsewhere.

        Of a pass without any sample its name, few primitives or shaded pixels tell that.
        """
        rows = self.rows[k]
        known = rows[np.isfinite(self.passed[rows]) & self.fed[rows] & (self.time[rows] > 0)]
        hidden: Indices = known[self.passed[known] == 0]
        whole = len(hidden) == len(known) and (
            not (self.shaded[known] == 0).all() or np.nansum(self.prims[known]) < _SCENE
        )
        return known[:0] if whole or any(_TESTING_RE.search(level[:400]) for level in p.levels) else hidden

    def laid(self) -> Floats:
        """By draw, the pixels that the draw of the same call and primitives covered in an earlier pass, NaN without one."""
        seen: dict[tuple[str, float], float] = {}
        out = np.full(len(self.time), np.nan)
        known = np.isfinite(self.prims) & np.isfinite(self.covered)
        for rows in self.rows:
            keys = {r: (str(self.names[r]), float(self.prims[r])) for r in rows.tolist()}
            out[rows] = [seen.get(key, np.nan) for key in keys.values()]
            for r in rows[known[rows]].tolist():
                seen[keys[r]] = max(seen.get(keys[r], 0.0), float(self.covered[r]))
        return out

    def some(self, k: int, part: Indices) -> str:
        """`79 of 1,631 draws, `: how many of the k-th pass, "" for all of them."""
        rows = self.rows[k]
        if len(part) >= len(rows):
            return ""
        noun = "draw" if all(DRAW.match(str(self.names[r])) for r in part[:100]) else "range"
        return f"{len(part):,} of {plural(len(rows), noun)}, "


def not_culled(view: View) -> Floats:
    """Primitives that reach the rasteriser, NaN where most are culled before and it is not what limits."""
    most = (column(view, "prims.culled") > 1 - _KEPT) & (column(view, "primary.raster") != 1)
    return np.where(most, np.nan, column(view, "prims.drawn"))


def _apart(capture: Capture) -> Capture:
    """The capture with every row of its table a workload."""
    table = capture.table
    n = len(table)
    nothing = np.full(n, "", dtype=object)
    time = table.columns["gpu.time"].values if "gpu.time" in table.columns else np.full(n, np.nan)
    return replace(
        capture,
        names=table.names,
        paths=nothing if table.paths is None else table.paths,
        kinds=nothing if table.kinds is None else table.kinds,
        calls=np.ones(n),
        parent=np.full(n, -1),
        depth=np.zeros(n, dtype=np.int64),
        duration_ns=time,
        self_ns=time,
        facts={m: c.values for m, c in table.columns.items()},
        members=None,
        passes=(),
    )
