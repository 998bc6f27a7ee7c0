"""Every row of a file is accounted for: read, merged into others, left out with a remark, or of another kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triage.capture.capture import Rows, Table
from triage.capture.cells import Block


def rows(table: Table, blocks: Sequence[Block]) -> Rows | None:
    """What became of the rows with figures in the file that a table stands in; None where it holds none.

    blocks: the tables of that file.
    """
    there = {line for block in blocks for line in block.lines} | table.excluded
    if not there:
        return None
    own = {table.line(i) for i in range(len(table))} & there
    merged = {
        line
        for c in (*table.columns.values(), *table.raw.values())
        if c.file == 0 and c.lines is not None
        for line in c.lines.tolist()
    }
    merged &= there - own
    left_out = table.excluded - own - merged
    time = table.columns.get("gpu.time")
    untimed = 0 if time is None else int(np.isnan(time.values).sum())
    other = len(there) - len(own) - len(merged) - len(left_out)
    return Rows(len(there), len(own), len(merged), len(left_out), other, untimed)
