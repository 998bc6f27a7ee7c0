"""Two columns of times in a custom table: of which one is the total of the frame, repeated in the row of each pass."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from triage.capture.arrays import Floats, Names
from triage.dialects.custom.agree import Columns
from triage.dialects.custom.say import Header
from triage.ground import units
from triage.ground.errors import BadCapture, UnknownUnit

TIME = "gpu.time"
TOLERANCE = 0.02  # of the total: what rounding may add to a part
MIN_PASSES = 3  # of a frame: fewer may take the same time
MIN_ROWS = 2  # of a frame: the total of one row is its own time
_WHY = "the same in all rows of a frame: their total"


def set_aside(columns: Columns, numbers: Mapping[int, Floats]) -> None:
    """Leave the totals of frames unread where each row has a time of its own. numbers: place -> values as printed."""
    for rival in [h for h in columns.rivals if h.reading.metric == TIME and TIME in columns.used]:
        used = columns.used[TIME]
        if used.fixed:
            continue
        times, other = _in_ns(used, numbers), _in_ns(rival, numbers)
        if _is_total(times, other):
            columns.used[TIME], total = rival, used
        elif _is_total(other, times):
            total = rival
        else:
            continue
        columns.rivals = [h for h in columns.rivals if h.place != rival.place]
        columns.unread = [h for h in columns.unread if h.place != rival.place]
        columns.totals.append(replace(total.read_as("", _WHY), by_words=""))


def refuse_lone(where: str, columns: Columns, numbers: Mapping[int, Floats], frames: Names) -> None:
    """Raise BadCapture where the only times are those of numbered frames, repeated in the row of each pass."""
    header = columns.used.get(TIME)
    if header is None or header.fixed:
        return
    times = numbers[header.place]
    distinct, first, group, rows = np.unique(
        frames.astype(str), return_index=True, return_inverse=True, return_counts=True
    )
    alike = (times == times[first][group]).all()
    if alike and len(distinct) > 1 and (rows >= MIN_PASSES).all() and len(np.unique(times[first])) > 1:
        raise BadCapture(
            f"{where}: {header.text!r} is {_WHY}, no time of a pass",
            'add a column with the time of each pass, or name it: --map "COLUMN=gpu.time"',
        )


def _in_ns(header: Header, numbers: Mapping[int, Floats]) -> Floats:
    """Times in nanoseconds, as printed where no unit is known."""
    values, unit = numbers[header.place], header.reading.unit
    try:
        return values * units.factor(unit, "ns") if unit else values
    except UnknownUnit:
        return values


def _is_total(total: Floats, part: Floats) -> bool:
    """True if every value of `total` stands in several rows, whose parts differ and are none of them longer."""
    known = np.isfinite(total) & np.isfinite(part)
    if known.sum() < MIN_ROWS:
        return False
    total, part = total[known], part[known]
    _, first, group, rows = np.unique(total, return_index=True, return_inverse=True, return_counts=True)
    differ = np.bincount(group, part != part[first][group]) > 0
    return bool(
        (rows >= MIN_ROWS).all() and differ.any() and (part <= total * (1 + TOLERANCE)).all() and total.max() > 0
    )
