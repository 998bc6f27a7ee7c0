"""PresentMon: CPU, GPU and display timing of every present (versions 1.x, 2.x and later)."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from triage import schema
from triage.capture import shape
from triage.capture.arrays import Masks, Names
from triage.capture.capture import Column, Table
from triage.capture.cells import cells
from triage.capture.redundancy import Sum
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.frames import pacing
from triage.dialects.tables import wide_table
from triage.ground import units
from triage.ground.errors import BadCapture, NotTriageable
from triage.ground.phrasing import first_of, plural

NAME = "presentmon"
ROW = "application"  # what reports call a row
SIGN = ("application",)
REDUNDANT = (
    Sum(("frametime", "msbetweenappstart"), (("cpubusy", "mscpubusy"), ("cpuwait", "mscpuwait"))),
    Sum(("gputime", "msgputime"), (("gpubusy", "msgpubusy"), ("gpuwait", "msgpuwait"))),
)
# NA where nothing was clicked, nothing of that kind was instrumented, or no frame was displayed (PresentMon, README-CaptureApplication.md)
_LACKING = "ClickToPhotonLatency AllInputToPhotonLatency InstrumentedLatency FlipDelay AnimationError AnimationTime"
MAY_LACK = frozenset(prefix + name for prefix in ("", "Ms") for name in _LACKING.split())
# times of 2.x, printed with four decimals (PresentMon, CsvOutput.cpp)
_TIMES = "CPUBusy CPUWait GPULatency GPUTime GPUBusy GPUWait VideoBusy DisplayLatency DisplayedTime"
DECIMALS = frozenset(prefix + name for prefix in ("", "Ms") for name in _TIMES.split())
# NA where no frame was displayed (the same file)
TOGETHER = ("DisplayLatency", "DisplayedTime", "MsDisplayLatency", "MsDisplayedTime")
TELLS = {"work": "graphics"}
TITLE = "PresentMon frame timing"
CAPTURE = """\
    PresentMon.exe --process_name game.exe --timed 30 --output_file frames.csv

GPU columns are on unless `--no_track_gpu` is given (1.x: options have one dash; add `-track_gpu`). Frame timing says whether the
CPU or the GPU sets the frame rate; capture the frame with GPU Trace, PIX or RenderDoc to see which pass.
All PresentMon times are milliseconds.
"""
# the desktop compositor presents beside every application: skip it unless it is alone
_DESKTOP = tuple(
    f"{name}.exe"
    for name in "dwm explorer searchhost startmenuexperiencehost textinputhost shellexperiencehost".split()
)
CLEAR = 3.0  # times the GPU work of the next application: that is the one that was measured
# 1.x takes options with one dash, 2.x with two and tracks the GPU unless told not to (PresentMon, README-ConsoleApplication.md)
_TRACK = "record with PresentMon 2.x, or 1.9 with -track_gpu"
_FRAMEVIEW = re.compile(r"gpu\d*util|renderpresentlatency")
_UTIL = re.compile(r"gpu0util(?:\(%\))?")
GAP = 1.5  # times the median time on the screen: a refresh was missed
_TRACKED = ("gpu.time", "gpu.busy_time")
# role -> headers without their optional "ms", as PresentMon 1.x, 2.x and later write them
_COLUMNS = {
    "present.interval": ("frametime", "betweenpresents", "betweenappstart"),
    "cpu.busy": ("cpubusy",),
    "cpu.wait": ("cpuwait",),
    "cpu.present": ("inpresentapi",),
    "gpu.time": ("gputime", "gpuduration"),
    "gpu.busy_time": ("gpubusy", "gpuactive"),
    "gpu.wait": ("gpuwait",),
    "gpu.latency": ("gpulatency",),
    "gpu.video_busy": ("videobusy", "gpuvideobusy", "gpuvideoactive"),
    "display.latency": ("displaylatency",),
    "display.time": ("displayedtime", "betweendisplaychange"),
}


def _plain(header: str) -> str:
    """A header as the versions have it in common: `msGPUActive`, `MsGPUBusy`, `GPUBusy` -> `gpuactive`, `gpubusy`."""
    bare = header.strip().lower().replace(" ", "").replace("_", "")
    return bare.removesuffix("(ms)").removesuffix("[ms]").removeprefix("ms")


def recognise(source: Source) -> Match | None:
    """Application and a swap chain or process, with present timing columns."""
    _, headers = wide_table.header(source)
    plain = {_plain(h) for h in headers}
    who = "application" in plain and plain & {"processid", "swapchainaddress", "swapchain"}
    timing = [m for m, wanted in _COLUMNS.items() if plain & set(wanted)]
    own = plain & {"frametime", "betweenpresents", "betweenappstart", "cpubusy", "gpubusy", "gpuactive"}
    if who and timing and own:
        return Match(0.93, f"PresentMon columns: Application, swap chain and {len(timing)} timings")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per present, grouped into one workload per application and swap chain.

    Raises NotTriageable when there are no times at all.
    """
    line, headers = wide_table.header(source)
    plain = [_plain(h) for h in headers]
    place = {m: next((plain.index(w) for w in wanted if w in plain), -1) for m, wanted in _COLUMNS.items()}
    found = {m: i for m, i in place.items() if i >= 0}
    if not {"present.interval", "gpu.time", "gpu.busy_time"} & found.keys():
        raise NotTriageable(f"{source.path}: PresentMon table without frame or GPU times", _TRACK)
    who = [plain.index(r) if r in plain else -1 for r in ("application", "processid", "swapchainaddress")]
    texts = [c for c in who if c >= 0]
    style = wide_table.number_style(source, source.head_lines[line:], list(found.values()), options.decimal)
    # captures appended to one file repeat the header
    repeats = [
        n
        for n, text in enumerate(source.head_lines, 1)
        if n > line and headers[0] and text.startswith(headers[0] + source.delimiter)
    ]
    numeric = sorted({*found.values(), *(i for i, h in enumerate(plain) if _UTIL.match(h))})
    wide = wide_table.read(source, line, headers, numeric, texts, style=style, skip=repeats)
    shape.alike(source, {headers[c]: wide.texts[c] for c in who[1:2] if c >= 0}, wide.line)
    shown = _names([wide.texts[c] if c >= 0 else None for c in who])
    table = wide.table(NAME, source, shown)
    table.unmapped = [h for c, h in enumerate(headers) if h and c not in (*found.values(), *texts)]
    table.kinds = np.full(len(table), "frame", dtype=object)
    for metric, i in found.items():
        table.columns[metric] = wide.column(i, "ms", 1e6)  # whether or not the header says so
    for metric in ("gpu.time", "gpu.busy_time", "gpu.wait"):  # `NA` throughout, where the GPU was not tracked
        if metric in table.columns and not np.isfinite(table.columns[metric].values).any():
            table.unmapped.append(table.columns.pop(metric).header)
    # 1.x has GPUActive only; since 2.x GPUTime includes the GPU's waits within the frame and GPUBusy does not
    if "gpu.time" not in table.columns and "gpu.busy_time" in table.columns:
        busy = table.columns["gpu.busy_time"]
        table.columns["gpu.time"] = Column(busy.values, busy.header, busy.column, busy.unit, busy.factor)
        table.notes.append(f"{busy.header} also stands for the frame's GPU time: this version has no separate one")
    if "gpu.time" not in table.columns:
        _say_untracked(table, headers, plain, wide)
    if "gpu" in plain and len(source.head_lines) > line:  # OCAT, CapFrameX and FrameView name it beside the frames
        first = cells(source.head_lines[line], source.delimiter)
        table.device = first[plain.index("gpu")].strip()[:100] if len(first) > plain.index("gpu") else ""
    judged = _only_target(table, wide.texts[who[0]] if who[0] >= 0 else None)
    _drop_untracked(table, judged)
    _say_gaps(table, judged)
    pacing.judge(table, judged)
    # what was recorded is all that frame timing has; only GPU times may still be switched on
    table.collectable = frozenset() if "gpu.time" in table.columns else frozenset(_TRACKED)
    count = len(set(table.names))
    table.notes.append(
        f"{len(table)} presents of {count} swap chain{'s' if count > 1 else ''}; GPU time is the sum of the target's, other"
        " times are means"
    )
    return table


def _say_untracked(table: Table, headers: list[str], plain: list[str], wide: wide_table.Wide) -> None:
    """Remark that GPU times are missing; of FrameView with the load that its driver sampled, for it has no such times."""
    if not any(_FRAMEVIEW.match(h) for h in plain):
        table.remark("no-times", f"the GPU was not tracked, only the CPU's side is known; {_TRACK}")
        return
    util = next((i for i, h in enumerate(plain) if _UTIL.match(h)), -1)
    loads = wide.numbers.get(util, np.zeros(0))
    text = f" ({pacing.load(float(np.nanmean(loads)) / 100)})" if np.isfinite(loads).any() else ""
    table.remark("no-times", f"FrameView has no GPU time per frame{text}; {_TRACK}")


def _drop_untracked(table: Table, judged: Masks) -> None:
    """Leave out GPU times that are 0 in most frames: there the GPU was not tracked, and the rest holds several frames' work."""
    column = table.columns.get("gpu.time")
    if column is None or 2 * int((column.values[judged] > 0).sum()) >= int(judged.sum()):
        return
    none = int((column.values[judged] == 0).sum())
    for metric in _TRACKED:
        table.columns.pop(metric, None)
    table.remark(
        "no-times",
        f"{column.header} is 0 in {none} of {plural(int(judged.sum()), 'frame')}: the GPU was not tracked; {_TRACK}",
    )


def _say_gaps(table: Table, judged: Masks) -> None:
    """Remark on frames that stayed on the screen for longer than the others although they were presented evenly."""
    shown, interval = (table.columns.get(m) for m in ("display.time", "present.interval"))
    if shown is None or interval is None:
        return
    times = np.where(judged & (shown.values > 0), shown.values, np.nan)
    if not np.isfinite(times).any():
        return
    usual, even = np.nanmedian(times), np.nanmedian(interval.values[judged])
    long = (times > GAP * usual) & (interval.values < pacing.STUTTER * even)
    if count := int(long.sum()):
        longest = units.show(float(np.nanmax(times[long])), "ns")
        table.remark(
            "display-gaps",
            f"{plural(count, 'frame')} of {int(judged.sum())} stayed on the screen for up to {longest} (usual {units.show(float(usual), 'ns')}):"
            " missed refreshes, although presents are even",
            int(np.argmax(long)),
        )


def _names(columns: list[Names | None]) -> Names:
    """`game.exe`, with process and swap chain only where the application has several."""
    import pandas as pd

    app, process, chain = columns
    if app is None:
        raise BadCapture("PresentMon table without an Application column", "export again")
    blank = np.full(len(app), "", dtype=object)
    process, chain = (blank if c is None else c for c in (process, chain))
    frame = pd.DataFrame({"app": app, "process": process, "chain": chain}, dtype=object)
    parts = frame.drop_duplicates()
    several = parts.groupby("app", sort=False).size()
    shown = {}
    for a, p, c in parts.itertuples(index=False):
        name = str(a) or "(unnamed application)"
        shown[(a, p, c)] = name if several.get(a, 1) == 1 else f"{name} (process {p}, swap chain {c})"
    return np.array([shown[key] for key in zip(app, process, chain, strict=True)], dtype=object)


def _target(table: Table, apps: Names) -> str:
    """The application that was meant, no compositor or shell: the GPU works most for it by far, else most presents, longest."""
    import pandas as pd

    known = pd.Series(apps).str.lower()
    work = table.columns.get("gpu.busy_time") or table.columns.get("gpu.time")
    per_row = np.zeros(len(table)) if work is None else np.nan_to_num(work.values)
    busy = pd.Series(per_row).groupby(known).sum().drop(list(_DESKTOP), errors="ignore")
    first, *rest = busy.nlargest(2) if len(busy) else [0.0]
    # a launcher's page may be presented more often than a slow game
    if rest and first >= CLEAR * rest[0] and first > 0:
        return str(busy.idxmax())
    counts = known[~known.isin(_DESKTOP)].value_counts()
    if counts.empty:
        return ""
    interval = table.columns.get("present.interval")
    most = [str(a) for a in counts.index[counts == counts.iloc[0]]]
    if len(most) == 1 or interval is None:
        return most[0]
    return max(most, key=lambda a: float(np.nansum(interval.values[known == a])))


def _only_target(table: Table, apps: Names | None) -> Masks:
    """Which rows are the target application's; they come first, and only they keep their GPU time.

    A sum over processes that share the GPU is nobody's frame, and what a compositor or an editor waits for is no cause.
    """
    target = _target(table, apps) if apps is not None else ""
    if apps is None or not target:
        return np.ones(len(table), dtype=bool)
    other = np.array([str(a).lower() != target for a in apps])
    if not other.any():
        return ~other
    if column := table.columns.get("gpu.time"):
        column.values = np.where(other, np.nan, column.values)
    # the target's rows first, so that it is what every list begins with
    order = np.argsort(other, kind="stable")
    table.lines = (np.arange(len(table)) + table.first_line if table.lines is None else table.lines)[order]
    for c in table.columns.values():
        c.values = c.values[order]
    assert table.kinds is not None
    table.names, table.kinds = table.names[order], table.kinds[order]
    count = Counter(str(a) for a in apps[other])
    some = first_of([f"{name[:60]} ({plural(n, 'present')})" for name, n in count.most_common()], 4, " and ")
    table.remark(
        "background",
        f"judged is {next(str(a) for a in apps if str(a).lower() == target)}; in the background, sharing the GPU and not "
        f"judged: {some}",
    )
    return ~other[order]


def names() -> dict[str, list[str]]:
    """Columns as the versions name them."""
    out = {
        m: [a for a in schema.get(m).aliases if a.lower().removeprefix("ms") in wanted]
        for m, wanted in _COLUMNS.items()
    }
    return {
        **out,
        "gpu.time": ["GPUTime", "MsGPUTime"],
        "gpu.busy_time": ["GPUBusy", "MsGPUBusy", "msGPUActive"],
        **pacing.NAMES,
        "present.gpu_share": ["GPUBusy / FrameTime"],
        "present.cpu_share": ["CPUBusy / FrameTime"],
    }


def collect(metrics: list[str]) -> str:
    """Frame timing has no unit counters; the tools that do. Only GPU times it may have left out."""
    if metrics and set(metrics) <= set(_TRACKED):
        return _TRACK
    return "PresentMon has no counters of GPU units: capture the frame with Nsight Graphics GPU Trace, PIX or RenderDoc"
