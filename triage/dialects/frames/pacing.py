"""Frame pacing: who sets the pace of how many frames, and how even they are. A mean hides both."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from triage.capture.arrays import Floats
from triage.capture.capture import Column, Table
from triage.ground import units

FULL = 0.9  # a side that works for nine tenths of a frame sets its pace
STUTTER = 2.0  # a frame twice as long as the median one is seen
LOWEST = 1.0  # percent of the frames: the 1 % lows


def pacing(interval: Floats, gpu: Floats | None, cpu: Floats | None) -> dict[str, float]:
    """Facts of some frames (times in one unit): median and 1 % low frame time, share of stuttering and of bound frames."""
    good = np.isfinite(interval) & (interval > 0)
    if not good.any():
        return {}
    times = interval[good]
    median = float(np.median(times))
    out = {
        "present.median": median,
        "present.low": float(np.percentile(times, 100 - LOWEST)),
        "present.stutter": float((times > STUTTER * median).mean()),
    }
    for name, busy in (("gpu", gpu), ("cpu", cpu)):
        if busy is not None and (known := good & np.isfinite(busy)).any():
            share = busy[known] / interval[known]
            out[f"present.{name}_bound"] = float((share >= FULL).mean())
    return out


def describe(facts: Mapping[str, float], frames: int) -> str:
    """`; half of the frames take 16.2 ms or less, 1 % low 22 ms (45 fps), 0.5 % stutter` of pacing() in ns; "" without frames.

    A hundredth of fewer than a hundred frames is none of them: then the slowest are meant.
    """
    median, low = facts.get("present.median", np.nan), facts.get("present.low", np.nan)
    if not (median > 0 and low > 0):
        return ""
    which = "1 % low" if frames >= 100 / LOWEST else f"slowest of {frames} about"
    slow = f"{which} {units.show(low, 'ns')} ({1e9 / low:.0f} fps)"
    stutter = facts["present.stutter"] * 100
    seen = f"{stutter:.1f} % stutter" if stutter > 0 else "none stutters"
    return f"; half of the frames take {units.show(median, 'ns')} or less, {slow}, {seen}"


def enter(table: Table, facts: dict[str, Floats], formula: str) -> None:
    """Facts as columns, one value per row."""
    for metric, values in facts.items():
        table.columns[metric] = Column(values, metric, formula=formula, inputs=("present.interval",))


FORMULAS = "over the frames: median, 99th percentile, part above twice the median, part with a side busy for 90 %"
NAMES = {m: ["FrameTime"] for m in ("present.median", "present.low", "present.stutter")}
NAMES |= {m: ["busy time / FrameTime"] for m in ("present.gpu_bound", "present.cpu_bound")}
