"""Frame pacing: who sets the pace of how many frames, and how even they are. A mean hides both."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from triage.capture.arrays import Floats, Indices, Masks, numbered
from triage.capture.capture import Column, Table
from triage.ground import units

TOLERANCE = 0.02  # by which rounding may lift a side's work above the frames
FULL = 0.9  # a side that works for nine tenths of a frame sets its pace
STUTTER = 2.0  # a frame twice as long as the median one is seen
HALF = 0.5  # the side that bounds most frames sets the pace
MAX_JUDGED = 20  # workloads with a remark of their own
LOWEST = 1.0  # percent of the frames: the 1 % lows


def pacing(interval: Floats | None, gpu: Floats | None, cpu: Floats | None, sampled: bool = False) -> dict[str, float]:
    """Facts of some frames (times in one unit): median and 1 % low frame time, share of stuttering and of bound frames.

    sampled: frames between them were not recorded: nothing is known of the slow ones.
    """
    if interval is None:
        return {}
    good = np.isfinite(interval) & (interval > 0)
    if not good.any():
        return {}
    times = interval[good]
    median = float(np.median(times))
    out = {"present.median": median}
    if not sampled:
        few = len(times) < 100 / LOWEST  # a hundredth of them is none: the slowest
        out["present.low"] = float(times.max() if few else np.percentile(times, 100 - LOWEST))
        out["present.stutter"] = float((times > STUTTER * median).mean())
    for name, busy in (("gpu", gpu), ("cpu", cpu)):
        if busy is not None and (known := good & np.isfinite(busy)).any():
            share = busy[known] / interval[known]
            out[f"present.{name}_bound"] = float((share >= FULL).mean())
    return out


def describe(facts: Mapping[str, float], frames: int) -> str:
    """`; half of the frames take 16.2 ms or less, 1 % low 22 ms (45 fps), 0.5 % stutter` of pacing() in ns; "" without frames.

    Of fewer than a hundred frames the slowest is meant.
    """
    median, low = facts.get("present.median", np.nan), facts.get("present.low", np.nan)
    if not median > 0:
        return ""
    if not low > 0:
        return f"; half of the recorded frames take {units.show(median, 'ns')} or less"
    which = "1 % low" if frames >= 100 / LOWEST else f"slowest of {frames}:"
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


def judge(table: Table, judged: Masks, who: Mapping[str, str] | None = None) -> None:
    """Shares of the frame, pacing and one remark per workload of frame times: which side sets the frame rate.

    judged: rows that are judged. who: metric of a side -> what it is called, where that is not GPU and CPU.
    """
    codes, distinct = numbered(table.names)
    for metric, part in (("present.gpu_share", "gpu.busy_time"), ("present.cpu_share", "cpu.busy")):
        _share(table, codes, judged, metric, part)
    facts: dict[str, Floats] = {}
    for code in sorted(set(codes[judged].tolist()))[:MAX_JUDGED]:
        rows = codes == code
        interval, gpu_busy, cpu_busy = (_of(table, m, rows) for m in ("present.interval", "gpu.busy_time", "cpu.busy"))
        found = pacing(interval, gpu_busy, cpu_busy, table.sampled)
        for metric, value in found.items():
            facts.setdefault(metric, np.full(len(table), np.nan))[rows] = value
        shares = [_of(table, f"present.{side}_share", rows) for side in ("gpu", "cpu")]
        gpu, cpu = (float(s[0]) if s is not None else np.nan for s in shares)
        message = sentence(gpu, cpu, found, who or {}) if gpu_busy is not None or np.isfinite(cpu) else load(gpu)
        even = describe(found, int(rows.sum()))
        name = str(distinct[code])[:60]
        if message or even:
            text = f"{name}: {message}{even}" if message else f"{name}{even.replace(';', ':', 1)}"
            check = "frame-bound" if message else "frame-pacing"
            table.remark(check, text, int(np.argmax(rows)))
    enter(table, facts, FORMULAS)


def _of(table: Table, metric: str, rows: Masks) -> Floats | None:
    return table.columns[metric].values[rows] if metric in table.columns else None


def _share(table: Table, codes: Indices, judged: Masks, metric: str, part: str) -> None:
    """Sum of a side's time over the sum of frame times: a mean of shares would weigh short frames like long ones."""
    if part not in table.columns or "present.interval" not in table.columns:
        return
    a, b = table.columns[part].values, table.columns["present.interval"].values
    where = np.isfinite(a) & np.isfinite(b)
    with np.errstate(all="ignore"):
        parts, wholes = (np.bincount(codes, np.where(where, v, 0.0)) for v in (a, b))
        shares = np.where(wholes > 0, parts / wholes, np.nan)
    over = np.flatnonzero(shares > 1 + TOLERANCE)
    for code in over[np.isin(over, codes[judged])][:MAX_JUDGED].tolist():
        row = int(np.argmax(codes == code))
        side, frames = (units.show(float(v[code]), "ns") for v in (parts, wholes))
        table.remark(
            "busy-over-frame",
            f"{str(table.names[row])[:60]}: {metric[8:11].upper()} busy for {side} in frames of {frames}, more than is possible: work of"
            " frames before or after is counted; read as 100 %",
            row,
        )
    share = np.where(judged, np.minimum(shares, 1.0)[codes], np.nan)
    formula = f"sum of {part} / sum of present.interval over the frames"
    table.columns[metric] = Column(share, metric, formula=formula, inputs=(part, "present.interval"))


def load(share: float) -> str:
    """What a driver's load of the GPU says of the pace: it is sampled, and high too where the clock is low; "" if unknown."""
    if not np.isfinite(share):
        return ""
    verdict = "probably GPU-bound" if share >= FULL else "probably not GPU-bound" if share < HALF else "which side sets the pace is open"  # fmt: skip
    return f"GPU load {share:.0%}, sampled by the driver: {verdict}"


def sentence(gpu: float, cpu: float, facts: Mapping[str, float], who: Mapping[str, str]) -> str:
    """Which side sets the frame rate, in one sentence; "" where the GPU's side is unknown.

    gpu, cpu: busy over frame time, NaN if unknown. facts: of `pacing`; the part of the frames that a side bounds decides,
    its share of the time only where frames are not known one by one.
    """
    if not np.isfinite(gpu):
        return ""
    often = {
        side: facts.get(f"present.{side}_bound", float(share >= FULL)) for side, share in (("gpu", gpu), ("cpu", cpu))
    }
    cpu_name = who.get("cpu", "the CPU")
    sides = f"the GPU works {min(gpu, 9.99):.0%} of the frame time"
    sides += f", {cpu_name} {min(cpu, 9.99):.0%}" if np.isfinite(cpu) else ""
    frames = [f"{name} for {FULL:.0%} or more in {often[side]:.0%} of the frames" for side, name in (("gpu", "the GPU"), ("cpu", cpu_name)) if f"present.{side}_bound" in facts]  # fmt: skip
    text = f" ({', '.join(frames)})" if frames else ""
    if often["gpu"] >= HALF:
        longer = often["cpu"] > often["gpu"] and cpu > gpu
        both = f"bound by {cpu_name}, and the GPU" if longer else f"GPU-bound, and {cpu_name}"
        verdict = (
            f"{both} is busy {'nearly ' if longer else ''}as long: shorten both"
            if often["cpu"] >= HALF
            else "GPU-bound"
        )
    elif often["cpu"] >= HALF:
        verdict = f"CPU-bound, {cpu_name}" if "cpu" in who else "CPU-bound"
    else:
        verdict = (
            "neither: a frame cap, V-Sync or a wait"
            if np.isfinite(cpu)
            else "not GPU-bound; CPU times are not exported"
        )
    return f"{sides}{text}: {verdict}"
