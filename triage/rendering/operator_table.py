"""Operators of a framework by time: heads and cells as plain text, without empty columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


def of_roof(o: OperatorEntry) -> str:
    """`62 % of 66.9 TFLOP/s`: the share of what the device allows its FLOPs and least bytes; "" where that is not known."""
    return f"{percent(o['roof_share'])} of {rate(o, o['roof_share'])}" if o["roof_share"] else ""


_COLUMNS: tuple[tuple[str, bool, Callable[[OperatorEntry], str]], ...] = (
    ("Operator", False, lambda o: o["op"]),
    ("Dims", False, dims),
    ("Type", False, lambda o: _SHORT.get(o["type"].removeprefix("c10::"), o["type"])),
    ("Calls", True, lambda o: f"{o['calls']:,}"),
    (HEADS.time, True, lambda o: phrases.time(o["total_ns"])),
    (HEADS.device_share, True, lambda o: percent(o["share"])),
    ("Rate", True, rate),
    ("Of roof", True, of_roof),
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
    return f"Operators started {busy}; graphs, earlier launches or other libraries the rest."


def operator_table(
    operators: Sequence[OperatorEntry] | None,
    whole: float | None = None,
    *,
    wide: int = 0,
    most: int = DEFAULT_OPERATORS,
) -> TextTable | None:
    """The table of the `most` longest operators; None without any. whole: device time, ns. wide: columns of a terminal."""
    if not operators:
        return None
    operators = _merged(operators, whole)
    shown = operators[:most]
    left_out = ("Of roof", HEADS.device_share) if wide and wide < NARROW else (HEADS.device_share,) if wide else ()
    if wide and any(map(of_roof, shown)):  # room for one of both
        left_out = ("Rate", *left_out)
    columns = [
        (title, right, cell)
        for title, right, cell in _COLUMNS
        if title not in left_out and (title in _FIXED or any(cell(o) for o in shown))
    ]
    rows = [[cell(o) for _, _, cell in columns] for o in shown]
    return TextTable([(title, right) for title, right, _ in columns], rows, len(operators) - len(shown))
