"""Unreal Insights: timer statistics (Timers panel or `TimingInsights.ExportTimerStatistics`); seconds over the whole session."""

from __future__ import annotations

import re

import numpy as np

from triage.capture.arrays import Floats, Masks, Names
from triage.capture.capture import Column, Quality, Table
from triage.capture.redundancy import Extremes, Ordered, Product
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.frames import frame_logs
from triage.dialects.tables import wide_table
from triage.ground.errors import NotTriageable
from triage.ground.phrasing import plural

NAME = "unreal-timers"
SIGN = ("incl",)
TELLS = {"work": "graphics"}
TITLE = "Unreal Insights timer statistics"
CAPTURE = """\
    UnrealInsights.exe -OpenTraceFile=game.utrace -NoUI -AutoQuit \\
        -ExecOnAnalysisCompleteCmd="TimingInsights.ExportTimerStatistics gpu.csv -threads=GPU*"

Record with `-trace=gpu,frame,cpu`. `-threads=GPU*` leaves CPU threads out, whose timers are no GPU work. Times are seconds over the
session (of `-region` where one is given); triage shows them per frame.
"""
REDUNDANT = (
    *(
        one
        for total, by in (("incl", "i."), ("excl", "e."))
        for one in (
            Product((total,), ("count",), (by + "avg",)),
            Ordered(((by + "min",), (by + "avg",), (by + "max",))),
            Ordered(((by + "min",), (by + "med",), (by + "max",))),
            Extremes((total,), ("count",), (by + "min",), (by + "max",)),
        )
    ),
    Ordered((("excl",), ("incl",))),
)
_NEEDED = ("Name", "Count", "Incl")
_GROUP_RE = re.compile(r"(GPU\d*(?: ?- ?\w+)?|.{1,60}?Queue \d+)/(.+)", re.IGNORECASE | re.DOTALL)
# timers of the engine's CPU threads: ticks, tasks, waits, functions
_CPU_RE = re.compile(
    r"^(?:CPU|GameThread|Game Thread|Render ?Thread|RHI ?Thread|RHIThread|.*Worker.*|Background.*)/|^(?:GameThread|RenderThread|RHIThread)$"
    r"|WaitFor|Wait for|::Tick|Tick$|^Tick|Slate|GarbageCollect|^[FU][A-Z]\w+::|^F[A-Z][a-z]\w+_[A-Z]|Task|Thread|Worker|AsyncLoading|GameMode|World"
    r"|(?:^|- +)Frame:? \d+$",  # of one frame
)
_FRAME_RE = re.compile(r"(?:GPU ?)?frame(?: time)?|total", re.IGNORECASE)
ALIKE = 0.02  # of a count: what a session's first and last frame make of it
MAX_NAMED = 3


def recognise(source: Source) -> Match | None:
    """Name, Count, Incl and Excl."""
    _, headers = wide_table.header(source)
    if all(wide_table.find(headers, h) >= 0 for h in (*_NEEDED, "Excl")):
        return Match(0.94, "Unreal Insights timers: Name, Count, Incl, Excl")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per GPU timer, its exclusive time per frame; raises NotTriageable where all timers are of the CPU."""
    line, headers = wide_table.header(source)
    name, count, incl, excl = (wide_table.find(headers, h) for h in (*_NEEDED, "Excl"))
    extra = [i for h in ("I.Max", "I.Med") if (i := wide_table.find(headers, h)) >= 0]
    kinds = [i for h in ("Type", "TimerType", "ThreadName", "Group") if (i := wide_table.find(headers, h)) >= 0][:1]
    numeric = [count, incl, excl, *extra]
    wide = wide_table.read(source, line, headers, numeric, [name, *kinds], decimal=options.decimal)
    names = np.array([str(n) for n in wide.texts[name]], dtype=object)
    gpu, stated = _gpu(names, wide.texts[kinds[0]] if kinds else None)
    twins = np.zeros(len(names), dtype=bool) if stated else _twins(names, gpu, wide.numbers[excl])
    gpu &= ~twins
    if not gpu.any():
        instead = "export the GPU's: TimingInsights.ExportTimerStatistics gpu.csv -threads=GPU*"
        raise NotTriageable(f"{source.path}: CPU timers of Unreal Insights, no GPU work", instead)
    rows = np.flatnonzero(gpu)
    kept = wide.only(rows)
    shown = np.array([m[2] if (m := _GROUP_RE.fullmatch(str(n))) else n for n in names[rows]], dtype=object)
    table = Table(NAME, [source], shown, {}, lines=kept.lines, quality=wide.quality, group=False)
    calls = kept.numbers[count]
    frames = _frames(names[rows], calls, wide.numbers[count][~gpu])
    own = table.raw[headers[excl]] = kept.column(excl, "s", 1e9)
    if not stated:
        mixed = "CPU timers are among them" if (~gpu).any() else "no column or name says which timers are the GPU's"
        text = f"{mixed}: those that look like the GPU's were kept; export with -threads=GPU*"
        table.remark("gpu-timers", text, doubt=True)
    formula = f"{headers[excl]} / {frames:,.0f} frames" if frames > 1 else headers[excl]
    table.columns["gpu.time"] = Column(own.values / frames, headers[excl], formula=formula, inputs=(headers[excl],))
    runs = np.round(calls / frames)
    if frames > 1 and (runs > 1).any():
        formula = f"{headers[count]} / {frames:,.0f} frames"
        table.columns["frame.calls"] = Column(np.maximum(runs, 1.0), headers[count], formula=formula)
    _say(table, kept.numbers[incl], calls, frames)
    if len(extra) == 2:
        table.quality += _spikes(shown, *(kept.numbers[c] for c in extra))
    if others := int((~gpu).sum()):
        table.notes.append(f"{plural(others, 'CPU timer')} left out: no GPU work")
    table.collectable = frozenset()
    return table


def _gpu(names: Names, kinds: Names | None) -> tuple[Masks, bool]:
    """(which timers are the GPU's, True if the export says so)."""
    if kinds is not None:
        gpu = np.array([bool(re.match(r"GPU|.*Queue", str(k), re.IGNORECASE)) for k in kinds])
        if gpu.any() or any(str(k).strip() for k in kinds):
            return gpu, True
    gpu = np.array([bool(_GROUP_RE.fullmatch(str(n))) for n in names])
    if gpu.any():
        return gpu, True
    return np.array([not _CPU_RE.search(str(n)) for n in names]), False


def _twins(names: Names, gpu: Masks, excl: Floats) -> Masks:
    """Of timers of one name, all but the longest: a scope that is timed on both sides has a CPU timer, whose work is its children's."""
    longest: dict[str, int] = {}
    for i in np.flatnonzero(gpu).tolist():
        best = longest.setdefault(str(names[i]), i)
        if excl[i] > excl[best]:
            longest[str(names[i])] = i
    kept = np.zeros(len(names), dtype=bool)
    kept[list(longest.values())] = True
    return gpu & ~kept


def _frames(names: Names, calls: Floats, others: Floats) -> float:
    """Frames of the session, 1 where they are unknown: how often the frame's own timer ran, else the commonest number of calls.

    A timer may run twice per frame, or every second one: where counts are multiples of each other, timers of the CPU that ran
    about as often as one of them decide.
    """
    known = np.isfinite(calls) & (calls >= 1)
    own = [bool(_FRAME_RE.fullmatch(str(n).rpartition("/")[2])) for n in names[known]]
    if any(own):
        return float(calls[known][own.index(True)])
    counts = calls[known].astype(np.int64).tolist()
    if not counts:
        return 1.0
    common = max(set(counts), key=lambda c: (counts.count(c), c))
    rivals = [c for c in set(counts) if c > 1 and c != common and (common % c == 0 or c % common == 0)]
    if not rivals:
        return float(common)
    near = [c for c in (common, *rivals) if (np.abs(others - c) <= ALIKE * c).any()]
    if len(near) == 1:
        return float(near[0])
    return float(common) if counts.count(common) > len(counts) / 2 and common == max(common, *rivals) else 1.0


def _say(table: Table, incl: Floats, calls: Floats, frames: float) -> None:
    if frames > 1:
        note = f"timers of {frames:,.0f} frames: exclusive seconds of the session over the frames; a mean, so spikes do not show in it"
        table.notes.append(note)
    else:
        table.remark("no-frames", "the number of frames is unknown: times are sums over the session, not per frame")
    known = calls[np.isfinite(calls)]
    if odd := int((known < frames).sum()):
        table.notes.append(f"{plural(odd, 'timer')} did not run in every frame")
    if np.nansum(incl) > 0 and not np.nansum(table.raw[next(iter(table.raw))].values) > 0:
        table.remark("no-times", "all exclusive times are 0: export the column Excl")


def _spikes(names: Names, longest: Floats, median: Floats) -> list[Quality]:
    """Timers whose longest call takes twice their median one, those with the most to lose first."""
    with np.errstate(all="ignore"):
        excess = np.where((median > 0) & (longest > 2 * median), longest - median, 0.0)
    order = np.argsort(-excess, kind="stable")[:MAX_NAMED]
    text = "{:.60}: longest call {:.3g} ms, median {:.3g} ms"
    chosen = order[excess[order] > 0].tolist()
    return [Quality("spike", text.format(str(names[i]), longest[i] * 1e3, median[i] * 1e3), i) for i in chosen]


def names() -> dict[str, list[str]]:
    """The column that is used."""
    return {"gpu.time": ["Excl"]}


collect = frame_logs.no_counters("Insights")
