"""Arm's GPU Profile layer (libGPULayers): one row per render pass, dispatch or transfer of a frame, with queue cycles."""

from __future__ import annotations

import numpy as np

from triage.capture.capture import SEP, Column, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.tables import wide_table
from triage.ground.errors import BadCapture

NAME = "arm-layer"
SIGN = ("workload type", "workload_type")
TELLS = {"work": "graphics", "vendor": "arm"}
MAY_LACK = ("Label",)
TITLE = "Arm GPU Profile layer (libGPULayers), one row per workload"
CAPTURE = """\
    python3 lgl_android_install.py --layer layer_gpu_profile --config layer_config.json --profile out

writes `out/frame_00600.csv`, one table per frame. Times are queue cycles: the file holds no clock. Pin the GPU's clock while recording.
"""
CLOCK_HZ = 1e9  # assumed: shares of the frame do not depend on it
# counter names of the layer's source (layer_gpu_profile/source/device.cpp)
_QUEUES = (
    "Compute queue active cycles",
    "Vertex queue active cycles",
    "Binning phase queue active cycles",
    "Non-fragment queue active cycles",
    "Fragment queue active cycles",
    "Main phase queue active cycles",
)
_PLAIN = {
    "External read bytes": "vram.bytes_read",
    "External write bytes": "vram.bytes_written",
    "Input primitives": "prims.input",
    "Visible primitives": "prims.rasterized",
    "Fragment threads": "invocations.ps",
}
_KINDS = {"compute": "compute", "dispatch": "compute", "trace": "raytracing", "transfer": "copy", "copy": "copy", "image": "copy", "buffer": "copy", "render": "geometry"}  # fmt: skip


def recognise(source: Source) -> Match | None:
    """Index, Workload type, counters, Label."""
    _, headers = wide_table.header(source)
    good = all(wide_table.find(headers, h) >= 0 for h in ("Workload type", "Label"))
    return Match(0.94, "Arm GPU Profile layer: Workload type, counters, Label") if good else None


def read(source: Source, options: Options) -> Table:
    """One row per workload; raises BadCapture without queue cycles."""
    line, headers = wide_table.header(source)
    kind, label = wide_table.find(headers, "Workload type"), wide_table.find(headers, "Label")
    queues = [c for h in _QUEUES if (c := wide_table.find(headers, h)) >= 0]
    plain = {c: metric for h, metric in _PLAIN.items() if (c := wide_table.find(headers, h)) >= 0}
    if not queues or kind < 0 or label < 0:
        raise BadCapture(f"{source.path}: no queue cycles", "add the queue counters to the layer, record again")
    numeric = [*queues, *plain]
    wide = wide_table.read(source, line, headers, numeric, [kind, label], decimal=options.decimal)
    kinds = [str(k).strip() for k in wide.texts[kind]]
    levels = [[w for w in str(t).split("|") if w.strip()] for t in wide.texts[label]]
    shown = [own[-1] if own else f"{what} {i}" for i, (own, what) in enumerate(zip(levels, kinds, strict=True))]
    table = wide.table(NAME, source, np.array(shown, dtype=object))
    table.paths = np.array([SEP.join(own[:-1]) for own in levels], dtype=object)
    words = [next((kind for part, kind in _KINDS.items() if part in k.lower()), "") for k in kinds]
    table.kinds = np.array(words, dtype=object)
    for c, metric in plain.items():
        table.columns[metric] = wide.column(c)
    table.raw |= {headers[c]: wide.column(c) for c in queues}
    # the layer runs one workload at a time: its phases follow each other, except vertex work beside the non-fragment queue
    cycles = np.nansum([wide.numbers[c] for c in queues], axis=0)
    inputs = tuple(headers[c] for c in queues)
    formula = f"queue cycles / {CLOCK_HZ / 1e9:g} GHz (assumed)"
    table.columns["gpu.time"] = Column(cycles * 1e9 / CLOCK_HZ, "", formula=formula, inputs=inputs)
    text = f"times are queue cycles at an assumed {CLOCK_HZ / 1e9:g} GHz: shares hold, milliseconds do not"
    table.remark("assumed-clock", text)
    table.unmapped = [h for h in table.unmapped if h != "Index"]
    table.notes.append("the layer serialises workloads: what overlaps in the game does not overlap here")
    return table


def names() -> dict[str, list[str]]:
    """Counters that are used."""
    return {metric: [header] for header, metric in _PLAIN.items()} | {"gpu.time": list(_QUEUES)}
