"""Operators of a framework by time: heads and cells as plain text, without empty columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from triage.devices import find
from triage.document.entries import CaptureEntry
from triage.document.trace_entries import OperatorEntry
from triage.ground.method import LOW_INTENSITY
from triage.ground.phrasing import percent
from triage.ground.units import show
from triage.rendering import phrases
from triage.rendering.labels import HEADS
from triage.rendering.text_table import TextTable

DEFAULT_OPERATORS = 8  # operators a short report lists, the longest
MAX_OPERATORS = 200  # that the page lists
MAX_NARROW = 64  # rows of a product: heuristic, a batch of tokens being decoded
MIN_COVER = 0.85  # of the busy time: heuristic, what operators leave out is small
MEMORY = 0.98  # of the peak: a roof whose bytes need this is memory's; what the rounded share can tell
NARROW = 72  # columns of a terminal below which the FLOP rate is left out
_SHORT = {
    "BFloat16": "BF16",
    "Half": "FP16",
    "float": "FP32",
    "double": "FP64",
    "Float8_e4m3fn": "FP8",
    "Float8_e5m2": "FP8",
}


def dims(o: OperatorEntry) -> str:
    """`16×5185×5185×64` of a product (batch, M, N, K), else the dims of its arguments."""
    sizes = [n for n in (o["B"], o["M"], o["N"], o["K"]) if n]
    return "×".join(map(str, sizes[o["B"] == 1 :])) if o["kind"] == "matmul" and o["K"] else o["dims"]


def rate(o: OperatorEntry, over: float = 1.0) -> str:
    """Work of all calls over their time (and over a share of the roof): least bytes of elementwise operators and narrow products, else FLOPs."""
    work_per_byte = o["flops"] / o["bytes"] if o["flops"] and o["bytes"] else LOW_INTENSITY
    narrow = 0 < (o["M"] or 0) <= MAX_NARROW and work_per_byte < LOW_INTENSITY  # its bytes set the pace
    unit, work = ("byte/s", o["bytes"]) if o["kind"] == "elementwise" or narrow else ("flop/s", o["flops"])
    return show(work * o["calls"] / (o["total_ns"] * 1e-9) / over, unit) if work and o["total_ns"] else ""


def bandwidths(captures: Sequence[CaptureEntry]) -> dict[str, float]:
    """Path -> peak DRAM bandwidth of its device, bytes per s, where that is known."""
    found = {c["path"]: find(c["device"]) for c in captures if c["device"]}
    return {path: d.peaks.dram_bytes_per_s for path, d in found.items() if d and d.peaks.dram_bytes_per_s}


def of_roof(o: OperatorEntry, peaks: Mapping[str, float]) -> str:
    """`62 % of 66.9 TFLOP/s`, below memory's roof `16 % of 3.35 TB/s`: the share of what the device allows its FLOPs and least bytes; "" where not known."""
    if not o["roof_share"]:
        return ""
    roof, peak = rate(o, o["roof_share"]), peaks.get(o["capture"])
    needed = (o["bytes"] or 0.0) * o["calls"] / (o["total_ns"] * 1e-9) / o["roof_share"]
    return f"{percent(o['roof_share'])} of {show(peak, 'byte/s') if peak and needed >= MEMORY * peak else roof}"


_Column: TypeAlias = tuple[str, bool, Callable[[OperatorEntry], str]]
_COLUMNS: tuple[_Column, ...] = (
    ("Operator", False, lambda o: o["op"]),
    ("Dims", False, dims),
    ("Type", False, lambda o: _SHORT.get(o["type"].removeprefix("c10::"), o["type"])),
    ("Calls", True, lambda o: f"{o['calls']:,}"),
    (HEADS.time, True, lambda o: phrases.time(o["total_ns"])),
    (HEADS.device_share, True, lambda o: percent(o["share"])),
    ("Rate", True, rate),
)
_FIXED = ("Operator", "Calls", HEADS.time)


def _merged(operators: Sequence[OperatorEntry], whole: float | None) -> list[OperatorEntry]:
    """Operators of several captures, equal ones as one; the longest says how near the roof it is. share: of whole, ns."""
    out: dict[tuple[str, str, str], OperatorEntry] = {}
    for o in operators:
        first = out.setdefault((o["op"], o["dims"], o["type"]), {**o, "calls": 0, "total_ns": 0, "share": 0.0})
        first["calls"] += o["calls"]
        first["total_ns"] += o["total_ns"]
        first["share"] = first["total_ns"] / whole if whole else None
    return sorted(out.values(), key=lambda o: -o["total_ns"])


def cover(operators: Sequence[OperatorEntry] | None) -> str:
    """How much of the busy time the operators started; "" where it is most."""
    share, ns = (sum(o[key] or 0.0 for o in operators or ()) for key in ("share", "total_ns"))
    if not 0 < share < MIN_COVER:
        return ""
    busy = f"{phrases.time(ns)} of {phrases.time(ns / share)} busy"
    return f"Operators account for {busy}; collectives, graphs, earlier launches or other libraries for the rest."


def operator_table(
    operators: Sequence[OperatorEntry] | None,
    whole: float | None = None,
    *,
    captures: Sequence[CaptureEntry] = (),
    wide: int = 0,
    most: int = DEFAULT_OPERATORS,
) -> TextTable | None:
    """The table of the `most` longest operators; None without any. whole: device time, ns. captures: whose devices are known. wide: columns of a terminal."""
    if not operators:
        return None
    operators = _merged(operators, whole)
    shown, roof = operators[:most], partial(of_roof, peaks=bandwidths(captures))
    left_out = ("Of roof", HEADS.device_share) if wide and wide < NARROW else (HEADS.device_share,) if wide else ()
    if wide and any(map(roof, shown)):  # room for one of both
        left_out = ("Rate", *left_out)
    every: tuple[_Column, ...] = (*_COLUMNS, ("Of roof", True, roof))
    columns = [
        (title, right, cell)
        for title, right, cell in every
        if title not in left_out and (title in _FIXED or any(cell(o) for o in shown))
    ]
    rows = [[cell(o) for _, _, cell in columns] for o in shown]
    return TextTable([(title, right) for title, right, _ in columns], rows, len(operators) - len(shown))
