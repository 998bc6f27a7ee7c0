"""Several frames in one capture: separated by a numbered marker around each, or by the sequence of markers that repeats.

Their times are added up by workload as everywhere; a note says what one frame takes and which frame stands out.
"""

from __future__ import annotations

import re

import numpy as np

from triage.capture.arrays import Floats, Indices, numbered
from triage.capture.capture import SEP, Capture, Quality, Table
from triage.capture.frame_spread import MANY, spreads
from triage.ground.phrasing import plural
from triage.ground.units import show

MIN_FRAME_MARKERS = 3  # different markers in a sequence: fewer repeat without being frames
SPIKE = 2.0  # a marker that takes twice its median in one frame is worth a remark
VISIBLE = 0.05  # as far as what it takes beyond that is a twentieth of a frame
MAX_NAMED_SPIKES = 3  # spikes that are named
_FRAME = re.compile(r"(frame)\s*[#:_ ]?\s*(\d+)", re.IGNORECASE)


def split(table: Table) -> Indices | None:
    """Number of the frame of every row from markers such as `Frame 17`, which are taken off the paths; None for none."""
    tops = [str(p).split(SEP, 1)[0] for p in table.paths] if table.paths is not None else [""] * len(table)
    tops = [top or str(name) for top, name in zip(tops, table.names, strict=True)]
    found = {top: m for top in set(tops) if (m := _FRAME.fullmatch(top.strip()))}
    numbers = {m[2] for m in found.values()}
    if len(numbers) < 2 or any(top not in found for top in tops):
        return None
    order = {top: i for i, top in enumerate(dict.fromkeys(tops))}
    if table.paths is not None:
        # a grouped marker must not differ from frame to frame
        table.paths = np.array([_bare(str(p)) for p in table.paths], dtype=object)
    table.names = np.array([found[str(n)][1] if str(n) in found else n for n in table.names], dtype=object)
    return np.array([order[top] for top in tops])


def _bare(path: str) -> str:
    top, sep, rest = path.partition(SEP)
    m = _FRAME.fullmatch(top.strip())
    return (m[1] if m else top) + sep + rest


def period(table: Table) -> Indices | None:
    """Number of the frame of every row where one sequence of markers repeats throughout; None where it does not."""
    n = len(table)
    words = (
        table.names if table.paths is None else [f"{p}{SEP}{w}" for p, w in zip(table.paths, table.names, strict=True)]
    )
    codes, distinct = numbered(np.asarray(words, dtype=object))
    if all(str(w).isdigit() for w in distinct):  # a sweep over settings repeats them too
        return None
    if n < 2 * MIN_FRAME_MARKERS or len(distinct) < MIN_FRAME_MARKERS or len(distinct) > n // 2:
        return None
    # the first marker comes back where a frame begins: only these distances can be the period
    for p in np.flatnonzero(codes == codes[0])[1:]:
        if p > n // 2:
            return None
        if (codes[p:] == codes[:-p]).all():
            return np.arange(n) // int(p)
    return None


def enter(capture: Capture, frame: Indices, codes: Indices) -> None:
    """Times of the frames, and remarks on them and on what stands out. codes: workload of every row."""
    column = capture.table.columns.get("gpu.time")
    if column is None:
        return
    time = np.nan_to_num(column.values)
    leaf = capture.leaf[codes]
    sums = _own(capture, frame, codes, time).sum(axis=0)
    frames = sums[sums > 0]
    if len(frames) < 2:
        return
    capture.frames = frames
    middle, longest = float(np.median(frames)), int(np.argmax(frames))
    low = f"99 % within {show(float(np.percentile(frames, 99)), 'ns')}, " if len(frames) >= MANY else ""
    text = f"{plural(len(frames), 'frame')} in one capture, median {show(middle, 'ns')}, {low}longest {show(float(frames[longest]), 'ns')}"
    text += f" (frame {longest + 1}); workload times are sums over all frames"
    capture.quality.append(Quality("several-frames", text))
    each = _by_frame(codes, frame, np.where(leaf, time, 0.0), len(capture))
    capture.spreads = spreads(each)
    capture.quality += _spikes(capture, each, codes, middle)


def enter_intervals(capture: Capture) -> None:
    """Times of the frames of a log of frame times: those of its first application, which is the one that is judged."""
    interval = capture.table.columns.get("present.interval")
    if interval is None or not len(capture) or not capture.table.group or capture.table.sampled:
        return
    times = interval.values[np.asarray(capture.rows_of(0), dtype=np.int64)]
    known = times[np.isfinite(times) & (times > 0)]
    if len(known) > 1:
        capture.frames = known


def _own(capture: Capture, frame: Indices, codes: Indices, time: Floats) -> Floats:
    """Time per workload and frame without that of the workloads below it: what a marker leaves over is the frame's too."""
    each = _by_frame(codes, frame, time, len(capture))
    below, inner = np.zeros_like(each), np.flatnonzero(capture.parent >= 0)
    np.add.at(below, capture.parent[inner], each[inner])
    own: Floats = np.maximum(each - below, 0.0)
    return own


def _by_frame(codes: Indices, frame: Indices, time: Floats, workloads: int) -> Floats:
    """Time per workload and frame."""
    count = int(frame.max()) + 1
    each = np.bincount(codes * count + frame, time, workloads * count).reshape(workloads, count)
    return each.astype(np.float64)


def _spikes(capture: Capture, each: Floats, codes: Indices, middle: float) -> list[Quality]:
    # against the median of the other frames: of two, the longer one is no part of what is usual
    median = np.median(np.sort(each, axis=1)[:, :-1], axis=1)
    excess = each.max(axis=1) - median
    odd = np.flatnonzero((each.max(axis=1) > SPIKE * median) & (median > 0) & (excess >= VISIBLE * middle))
    odd = odd[np.argsort(-excess[odd], kind="stable")]
    first = np.array([int(np.argmax(codes == w)) for w in odd[:MAX_NAMED_SPIKES]], dtype=np.int64)
    out = []
    for w, row in zip(odd[:MAX_NAMED_SPIKES], first, strict=True):
        longest, usual = (show(float(ns), "ns") for ns in (each[w].max(), median[w]))
        what = f"{str(capture.names[w])[:60]} takes {longest} in frame {int(each[w].argmax()) + 1}"
        out.append(Quality("spike", f"{what}, median {usual} in the others", int(row)))
    return out
