"""Arm's GPU Profile layer (libGPULayers), and tables of its counters per pass: one row per render pass, dispatch or transfer."""

from __future__ import annotations

import numpy as np

from triage import schema
from triage.capture.arrays import Floats
from triage.capture.capture import SEP, Column, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.tables import wide_table
from triage.ground.errors import BadCapture

NAME = "arm-layer"
SIGN = ("workload type", "workload_type", "render pass", "render_pass")
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
# counters by the names of the schema
_COUNTS = (
    *("External read bytes", "External write bytes", "Output external read bytes", "Output external write bytes"),
    *("Input primitives", "Visible primitives", "Fragment threads", "Late ZS tested quads", "Late ZS killed quads"),
    *("Rasterized fine quads", "Partial rasterized fine quads"),
)
_LABELS = ("Label", "Render pass")
_SHARES = {"fma pipe utilization": "alu.utilization"}  # beside the names of the schema
_LANES = 4.0  # pixels of a quad, whose samples take the texture unit a cycle at its full rate
_TEXTURE = ("Texture unit cycles", "Texture samples")
_UNITS = (
    "Arithmetic unit instructions",
    "Load/store unit cycles",
    "Varying unit cycles",
)  # a cycle or less for each instruction
# counters, which the layer prints with two decimals and other tools with none
WHOLE = {h.lower() for h in (*_QUEUES, *_COUNTS, *_TEXTURE, *_UNITS, "Width", "Height", "GPU active cycles")}
MIN_QUEUES = 2  # columns of queue cycles that tell a table of passes
_KINDS = {"compute": "compute", "dispatch": "compute", "trace": "raytracing", "transfer": "copy", "copy": "copy", "image": "copy", "buffer": "copy", "render": "geometry"}  # fmt: skip


def recognise(source: Source) -> Match | None:
    """Index, Workload type, counters, Label."""
    _, headers = wide_table.header(source)
    if all(wide_table.find(headers, h) >= 0 for h in ("Workload type", "Label")):
        return Match(0.94, "Arm GPU Profile layer: Workload type, counters, Label")
    if wide_table.find(headers, "Render pass") >= 0 and len(wide_table.positions(headers, _QUEUES)) >= MIN_QUEUES:
        return Match(0.94, "counters of Arm's GPU Profile layer by Render pass")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per workload; raises BadCapture without queue cycles."""
    line, headers = wide_table.header(source)
    kind = wide_table.find(headers, "Workload type")
    label = next(iter(wide_table.positions(headers, _LABELS).values()), -1)
    queues = list(wide_table.positions(headers, _QUEUES).values())
    if not queues or label < 0:
        raise BadCapture(f"{source.path}: no queue cycles", "add the queue counters to the layer, record again")
    plain, shares = _metrics(headers, {kind, label, *queues})
    counts = wide_table.positions(headers, (*_TEXTURE, *_UNITS, "Width", "Height", "GPU active cycles"))
    numeric = sorted({*queues, *plain, *shares, *counts.values()})
    texts = [label, *([kind] if kind >= 0 else [])]
    wide = wide_table.read(source, line, headers, numeric, texts, decimal=options.decimal)
    kinds = [str(k).strip() for k in wide.texts[kind]] if kind >= 0 else ["Render pass"] * len(wide.texts[label])
    levels = [[w for w in str(t).split("|") if w.strip()] for t in wide.texts[label]]
    shown = [own[-1] if own else f"{what} {i}" for i, (own, what) in enumerate(zip(levels, kinds, strict=True))]
    table = wide.table(NAME, source, np.array(shown, dtype=object))
    table.paths = np.array([SEP.join(own[:-1]) for own in levels], dtype=object)
    words = [next((kind for part, kind in _KINDS.items() if part in k.lower()), "") for k in kinds]
    table.kinds = np.array(words, dtype=object)
    for c, metric in plain.items():
        table.columns[metric] = wide.column(c)
    for c, metric in shares.items():
        table.columns.setdefault(metric, wide.column(c, "%", 0.01))
    if "Width" in counts and "Height" in counts:
        pixels = wide.numbers[counts["Width"]] * wide.numbers[counts["Height"]]
        table.columns["target.pixels"] = Column(pixels, "", formula="Width x Height")
    _per_sample(table, {h: wide.numbers[c] for h, c in counts.items()})
    # the layer runs one workload at a time: its phases follow each other, except vertex work beside the non-fragment queue
    timed = [counts["GPU active cycles"]] if "GPU active cycles" in counts else queues
    table.raw |= {headers[c]: wide.column(c) for c in timed}
    cycles = np.nansum([wide.numbers[c] for c in timed], axis=0)
    inputs = tuple(headers[c] for c in timed)
    formula = f"{'queue' if timed == queues else 'active'} cycles / {CLOCK_HZ / 1e9:g} GHz (assumed)"
    table.columns["gpu.time"] = Column(cycles * 1e9 / CLOCK_HZ, "", formula=formula, inputs=inputs)
    text = f"times are queue cycles at an assumed {CLOCK_HZ / 1e9:g} GHz: shares hold, milliseconds do not"
    table.remark("assumed-clock", text)
    table.unmapped = [h for h in table.unmapped if h not in ("Index", *counts)]
    table.notes.append("the layer serialises workloads: what overlaps in the game does not overlap here")
    return table


def _metrics(headers: list[str], taken: set[int]) -> tuple[dict[int, str], dict[int, str]]:
    """Counts, and shares in percent, by what the schema calls them: column -> metric."""
    found: dict[int, str] = {}
    for c, header in enumerate(headers):
        bare = schema.normal(header.strip().removesuffix("%"))
        metric = schema.by_alias().get(bare) or _SHARES.get(bare, "")
        if c not in taken and metric and metric not in found.values():
            found[c] = metric
    shares = {c: m for c, m in found.items() if schema.get(m).unit == "ratio"}
    counts = {c: m for c, m in found.items() if schema.get(m).unit in ("byte", "count") and m != "target.pixels"}
    return counts, shares


def _per_sample(table: Table, counts: dict[str, Floats]) -> None:
    """What a quad of samples takes the texture unit, and that unit's part of the cycles of all; cores are not told apart."""
    if not all(h in counts for h in _TEXTURE):
        return
    cycles, samples = (counts[h] for h in _TEXTURE)
    others = [counts[h] for h in _UNITS if h in counts]
    with np.errstate(invalid="ignore", divide="ignore"):
        each = np.where(samples > 0, _LANES * cycles / samples, np.nan)
        part = cycles / (cycles + np.sum(others, axis=0)) if others else np.full(len(cycles), np.nan)
    table.columns["texture_filter.cycles"] = Column(each, "", formula=f"{_LANES:g} x {' / '.join(_TEXTURE)}")
    if others:
        table.columns["texture_filter.unit_cycles"] = Column(part, "", formula=f"{_TEXTURE[0]} / cycles of all units")


def names() -> dict[str, list[str]]:
    """Counters that are used."""
    known = schema.by_alias()
    return {known[schema.normal(header)]: [header] for header in _COUNTS} | {"gpu.time": list(_QUEUES)}
