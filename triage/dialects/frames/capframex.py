"""CapFrameX records: JSON with the frames of one or several runs, as PresentMon measured them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.frames import frame_logs, pacing
from triage.dialects.tables import whole_json
from triage.ground.errors import NotTriageable

NAME = "capframex"
SIGN = ("capturedata", "msbetweenpresents")
TELLS = {"work": "graphics"}
ROW = "application"
TITLE = "CapFrameX record (JSON)"
CAPTURE = """\
Record with CapFrameX: the `.json` is in its capture folder (Documents/CapFrameX/Captures). GPU times need version 1.7.2 or later. Its
CSV exports are PresentMon tables and read as such.
"""
MAX_BYTES = 512 << 20
# key of CaptureData -> metric; milliseconds (CapFrameX, ISessionCaptureData.cs)
_KEYS = {
    "MsBetweenPresents": "present.interval",
    "GpuActive": "gpu.busy_time",
    "CpuActive": "cpu.busy",
    "MsInPresentAPI": "cpu.present",
    "MsBetweenDisplayChange": "display.time",
}
_HEAD_RE = re.compile(r'"CaptureData"\s*:\s*\{')


def recognise(source: Source) -> Match | None:
    """JSON with runs that hold CaptureData."""
    head = source.head_text.lstrip()
    return Match(0.95, "JSON of CapFrameX: CaptureData") if head.startswith("{") and _HEAD_RE.search(head) else None


def read(source: Source, options: Options) -> Table:
    """One row per frame of all runs; raises BadCapture for damaged JSON, NotTriageable without frames."""
    whole = whole_json.loads(source, MAX_BYTES, "CapFrameX", "copy the record again")
    runs = [r["CaptureData"] for r in _list(_dict(whole).get("Runs")) if isinstance(_dict(r).get("CaptureData"), dict)]
    keys = [k for k in _KEYS if any(_list(r.get(k)) for r in runs)]
    if "MsBetweenPresents" not in keys:
        raise NotTriageable(f"{source.path}: CapFrameX record without frame times", "record again")
    cells = [[_text(r, k, i) for k in keys] for r in runs for i in range(len(_list(r.get("MsBetweenPresents"))))]
    info = _dict(_dict(whole).get("Info"))
    label = str(info.get("ProcessName") or info.get("GameName") or "frame")[:200]
    spec = [(_KEYS[k], k, "ms") for k in keys]
    source.record = "frame"
    table = frame_logs.table(NAME, source, label, spec, cells, range(1, len(cells) + 1))
    table.device = str(info.get("GPU") or "")[:100]
    if len(runs) > 1:
        table.notes.append(f"{len(runs)} runs in one record; their frames are counted together")
    return table


def _text(run: Mapping[str, Any], key: str, at: int) -> str:
    values = _list(run.get(key))
    value = values[at] if at < len(values) else None
    return f"{value:.15g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value or "")[:40]


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def names() -> dict[str, list[str]]:
    """Keys that are used."""
    return {m: [k] for k, m in _KEYS.items()} | {"gpu.time": ["GpuActive"]} | pacing.NAMES


collect = frame_logs.collect
