"""Trace-event JSON whose tracks are GPU queues: wgpu-profiler, bgfx, engines' own, Perfetto's export. Times, no counters."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from triage.capture import queue_lanes
from triage.capture.capture import Quality, Table
from triage.capture.source import Source
from triage.dialects import Match, Options, always
from triage.dialects.tables import text_rows, zones
from triage.dialects.traces.json_rows import JsonRows, Row
from triage.ground.errors import BadCapture, NotTriageable
from triage.ground.phrasing import plural

NAME = "gpu-zones"
SIGN = ("traceevents", '"ph"')
TELLS = {"work": "graphics"}
TITLE = "Trace events (Chrome JSON) of GPU zones: wgpu-profiler, bgfx, engines, Perfetto"
CAPTURE = """\
Write zones of GPU timestamps as Chrome trace events: `wgpu_profiler::chrometrace::write_chrometrace`, bgfx's profiler, or your engine's.
Name the thread, process or category of GPU queues "GPU ..." so that CPU zones beside them are kept apart.
"""
MAX_ZONES = 2_000_000
MAX_DEPTH = 1_000
_TRACE_RE = re.compile(r'"traceEvents"\s*:')
# the marks of profilers whose traces have a reader of their own, and of browsers
_OTHERS_RE = re.compile(
    r'"deviceProperties"|"schemaVersion"|rocprofiler|roctracer|"CPU HIP API"|"BeginNs"|devtools\.|blink|CrBrowserMain|"(?:disabled-by-default-)?gpu\.[a-z]+"|"/(?:host|device|job):[A-Za-z]|"[cg]pu/\d+"|"Hip \d|"[Cc]at"\s*:\s*"(?:kernel|Kernel|'
    r"gpu_mem\w+|gpu_op|(?:CL_)?Flow_\w+|cpu_op|Operator|cuda_\w+|hip_\w+|Runtime|Memcpy|Memset|user_annotation|python_function|mtia\w*|kernel_dispatch|memory_copy|hip_api|rocm_\w+|privateuse1\w*|fwdbwd|ac2g)\""
)
_GPU_RE = re.compile(r"\bGPU|GPU\b|\bgpu_|Vulkan|\bD3D1[12]|\bDX1[12]|OpenGL|\bMetal\b|\b(?:Graphics|Compute|Copy|Transfer|Direct|3D) ?Queue|VkQueue|Render ?Stage", re.IGNORECASE)  # fmt: skip
_CPU_RE = re.compile(r"\bCPU\b|thread|worker|\bmain\b|wait|submit|present\b|process", re.IGNORECASE)
_CALL_RE = re.compile(r"(?:vk|gl|egl|wgpu|ID3D\d+|IDXGI|MTL)[A-Z]\w+(?:::\w+)?")  # of an API, on the host
# what passes of a frame are called; several of them tell a trace that names no track
_PASS_RE = re.compile(
    r"pass\b|shadow|cascade|g-?buffer|depth|lighting|bloom|tone ?map|\bpost|ssao|gtao|hbao|\bssr\b|\btaa\b|fxaa|smaa|upscal|blur|sky|opaque|transparen|"
    r"translucen|particle|deferred|forward|skinning|culling|draw|render|dispatch|composit|blit|resolve|\bui\b|imgui|egui|terrain|water|volumetric|fog|decal",
    re.IGNORECASE,
)
_SPEC = (("", "name", ""), ("gpu.time", "dur", "us"))


def recognise(source: Source) -> Match | None:
    """Trace events that no other profiler's reader knows, and that speak of a GPU or of passes."""
    if source.is_folder:
        return None
    text = source.head_text
    if not _TRACE_RE.search(text) and not (text.lstrip().startswith("[") and '"ph"' in text[:8192]):
        return None
    if _OTHERS_RE.search(text) or '"ph"' not in text:
        return None
    labels = re.findall(r'"(?:name|cat|pid|tid)"\s*:\s*"([^"\\]{1,120})"', text[:65536])
    if any(_GPU_RE.search(w) for w in labels):
        return Match(0.96, "trace events that name a GPU track")
    passes = '"cat"' not in text and '"thread_name"' not in text and _are_passes(labels)
    return Match(0.96, "trace events without tracks, named like passes") if passes else None


def _are_passes(names: list[str]) -> bool:
    distinct = set(names)
    return 2 * sum(bool(_PASS_RE.search(n)) for n in distinct) >= max(len(distinct), 2)


class _Zones:
    """Zones of all tracks: name, start, length in us, track, number of the row; and what the tracks are called."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, float, tuple[str, str], str, int]] = []
        self.tracks: dict[tuple[str, str], str] = {}
        self.odd = 0
        self._open: dict[tuple[str, str], list[tuple[str, float, str, int]]] = {}

    def add(self, row: dict[str, Any], number: int) -> None:
        phase, name = row.get("ph"), str(row.get("name") or "(unnamed zone)")[:400]
        track = (str(row.get("pid", ""))[:100], str(row.get("tid", ""))[:100])
        if phase == "M":
            args = row.get("args")
            if name in ("thread_name", "process_name") and isinstance(args, dict):
                key = track if name == "thread_name" else (track[0], "")
                self.tracks[key] = f"{self.tracks.get(key, '')} {str(args.get('name') or '')[:200]}".strip()
        elif phase in ("X", "B", "E"):
            start, length = _number(row.get("ts")), _number(row.get("dur"))
            category = str(row.get("cat") or "")[:200]
            waiting = self._open.setdefault(track, [])
            if phase == "B" and start is not None and len(waiting) < MAX_DEPTH:
                waiting.append((name, start, category, number))
            elif phase == "E" and start is not None and waiting:
                begun = waiting.pop()
                self._enter(begun[0], begun[1], start - begun[1], track, begun[2], begun[3])
            elif phase == "X" and start is not None and length is not None:
                self._enter(name, start, length, track, category, number)
            else:
                self.odd += 1

    def _enter(
        self, name: str, start: float, length: float, track: tuple[str, str], category: str, number: int
    ) -> None:
        if length < 0:
            self.odd += 1
        elif len(self.rows) < MAX_ZONES:
            self.rows.append((name, start, length, track, category, number))

    def called(self, track: tuple[str, str]) -> str:
        """What a track is called: its thread and process, ids only where they are words."""
        words = [
            self.tracks.get((track[0], ""), ""),
            self.tracks.get(track, ""),
            *(t for t in track if not t.lstrip("-").isdigit()),
        ]
        return " ".join(w for w in words if w)


def _number(value: object) -> float | None:
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else np.nan
    except ValueError:
        return None
    return number if abs(number) < 1e15 else None


def read(source: Source, options: Options) -> Table:
    """One row per GPU zone, nested by time; raises NotTriageable where no zone is of a GPU, BadCapture without zones."""
    rows, found = JsonRows(source), _Zones()
    number = 0
    for batch in rows:
        for row in batch:
            number += 1
            found.add(row, number)
    if not found.rows:
        raise BadCapture(f"{source.path}: trace events without complete zones", "export the trace again")
    gpu = _gpu_rows(found)
    if not gpu:
        raise NotTriageable(
            f"{source.path}: {plural(len(found.rows), 'CPU zone')} of a trace, no GPU work",
            "record GPU timestamps on a track named GPU, or capture the frame with GPU Trace, PIX or RenderDoc",
        )
    gpu.sort(key=lambda r: r[1])
    tracks = list(dict.fromkeys(r[3] for r in gpu))
    lane = [tracks.index(r[3]) if len(tracks) <= 64 else 0 for r in gpu]
    names = [r[0] for r in gpu]
    paths = zones.paths(names, [r[1] for r in gpu], [r[2] for r in gpu], lane)
    table = Table(NAME, [source], np.array(names, dtype=object), {}, np.array(paths, dtype=object))
    table.lines = np.array([r[5] for r in gpu], dtype=np.int64)
    source.record = "event"
    text_rows.enter(table, _SPEC, [[r[0], f"{r[2]:.15g}"] for r in gpu])
    table.collectable = frozenset()
    shown = [found.called(t) or f"track {i + 1}" for i, t in enumerate(tracks)]
    begun, lasted = (np.array([r[i] for r in gpu]) * 1000 for i in (1, 2))
    table.queues = queue_lanes.lanes(shown, np.array(lane, dtype=np.int64), begun, begun + lasted)
    _say(table, rows, found, gpu, tracks)
    return table


def _gpu_rows(found: _Zones) -> list[tuple[str, float, float, tuple[str, str], str, int]]:
    """Zones of GPU tracks or categories; all zones where nothing names a track and their names are those of passes."""
    named = {
        t: bool(_GPU_RE.search(found.called(t))) and not _CPU_RE.search(found.called(t))
        for t in {r[3] for r in found.rows}
    }
    by_category = {r[4]: bool(_GPU_RE.search(r[4])) for r in found.rows if not _CALL_RE.fullmatch(r[0])}
    if any(named.values()):
        return [r for r in found.rows if named[r[3]]]
    if any(by_category.values()):
        return [r for r in found.rows if by_category.get(r[4]) and not _CALL_RE.fullmatch(r[0])]
    anonymous = not any(by_category) and not any(found.called(t) for t in named)
    return found.rows if anonymous and _are_passes([r[0] for r in found.rows]) else []


def _say(table: Table, rows: JsonRows[Row], found: _Zones, gpu: list[Any], tracks: list[tuple[str, str]]) -> None:
    table.notes.append(f"{plural(len(gpu), 'GPU zone')} of a trace: times without counters")
    if others := len(found.rows) - len(gpu):
        table.notes.append(f"{plural(others, 'CPU zone')} left out: no GPU work")
    if not any(found.called(t) for t in tracks):
        text = "no track is named: zones were taken for GPU zones by their names; name the track GPU to be sure"
        table.quality.append(Quality("gpu-zones", text))
    if len(tracks) > 1:
        table.quality.append(
            Quality("several-queues", f"zones of {len(tracks)} GPU tracks: what overlaps counts twice in their sum")
        )
    if rows.cut:
        table.quality.append(Quality("cut-trace", f"trace is cut ({rows.cut}): read to the last whole row"))
    if left := found.odd + rows.unreadable:
        table.quality.append(Quality("rows-left-out", f"{plural(left, 'row')} without readable times"))


def names() -> dict[str, list[str]]:
    """The one key that is used."""
    return {"gpu.time": ["dur"]}


collect = always(
    "trace events have no counters of GPU units: capture the frame with Nsight Graphics GPU Trace, PIX or RenderDoc"
)
