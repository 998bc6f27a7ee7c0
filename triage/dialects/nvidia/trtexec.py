"""TensorRT: layer times of `trtexec --exportProfile`, one row per layer."""

from __future__ import annotations

import re

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options, always
from triage.dialects.tables import kernel_sums, whole_json
from triage.dialects.tables.kernel_sums import Kernel
from triage.ground.errors import NotTriageable
from triage.ground.phrasing import plural

NAME = "trtexec-profile"
SIGN = ('"averagems"', "=== profile (")
TELLS = {"work": "compute", "vendor": "nvidia", "api": "cuda"}
TITLE = "TensorRT layer profile (trtexec --exportProfile, or the log of --dumpProfile)"
CAPTURE = "`trtexec --loadEngine=model.plan --separateProfileRun --exportProfile=profile.json` writes the mean time of each layer."
MAX_BYTES = 64 << 20
_HEAD_RE = re.compile(r'\A\s*\[.{0,4000}?"averageMs"\s*:', re.DOTALL)
_LOG_RE = re.compile(r"=== Profile \((\d+) iterations ?\) ===")
# TensorRT 8 prints the layer last, 10 first: total, mean and median time, share
_FIGURES = r"[\d.]+\s+(?P<time>[\d.]+)\s+[\d.]+\s+[\d.]+"
_LAYER_RE = re.compile(
    rf"\[I\]\s+(?:{_FIGURES}\s+(?P<name>\S.*?)|(?P<first>\S.*?)\s+{_FIGURES.replace('time', 'mean')})\s*$"
)
ROW = "layer"


def recognise(source: Source) -> Match | None:
    """A list of objects with averageMs."""
    if _LOG_RE.search(source.head_text):
        return Match(0.92, "log of trtexec: layer times")
    return Match(0.92, "JSON of trtexec: layers with averageMs") if _HEAD_RE.match(source.head_text) else None


def read(source: Source, options: Options) -> Table:
    """One row per layer, its mean time in an inference; raises BadCapture for damaged JSON, NotTriageable without layers."""
    if _LOG_RE.search(source.head_text):
        return _logged(source)
    whole = whole_json.loads(source, MAX_BYTES, "trtexec", "export again")
    entries = [e for e in whole if isinstance(e, dict)]
    layers = [e for e in entries if "averageMs" in e and str(e.get("name", "")).strip()]
    if not layers:
        raise NotTriageable(f"{source.path}: profile of trtexec without layers", "export again")
    source.record = "layer"
    kernels = [Kernel(i, str(e["name"])[:400], str(e["averageMs"])[:40], "") for i, e in enumerate(layers, 1)]
    table = kernel_sums.table(NAME, source, kernels, "averageMs", "", "ms")
    count = next((e["count"] for e in entries if isinstance(e.get("count"), int)), 0)
    table.notes.append(_note(count))
    table.unmapped = [k for k in layers[0] if k not in ("name", "averageMs")]
    return table


def _logged(source: Source) -> Table:
    """The layers of the last profile in a log; rows without a total are marked as cut."""
    kernels: list[Kernel] = []
    count, total = 0, False
    for number, line in enumerate(source.lines(), 1):
        if m := _LOG_RE.search(line):
            kernels, count, total = [], int(m[1]), False
        elif count and not total and (m := _LAYER_RE.search(line[:4000])):
            name = m["name"] or m["first"]
            total = name == "Total"
            kernels += [] if total else [Kernel(number, name, m["time"] or m["mean"], "")]
    if not kernels:
        raise NotTriageable(f"{source.path}: log of trtexec without layer times", "run trtexec with --dumpProfile")
    table = kernel_sums.table(NAME, source, kernels, "Avg. Time (ms)", "", "ms")
    table.notes.append(_note(count))
    if not total:
        table.remark("rows-missing", "the log ends before the line Total: layers are missing")
    return table


def _note(count: int) -> str:
    return f"layers of TensorRT: mean times of {plural(count, 'inference')}; a layer may be several kernels"


collect = always(
    "a layer is no kernel: record them with nsys profile -t cuda,nvtx -o report trtexec --loadEngine=model.plan"
)


def names() -> dict[str, list[str]]:
    """Keys that are used."""
    return {"gpu.time": ["averageMs", "Avg. Time (ms)"]}
