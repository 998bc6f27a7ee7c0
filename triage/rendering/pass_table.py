"""The pass table of every report: heads and cells as plain text, without empty columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from triage.document.entries import PassEntry
from triage.ground.limiters import limiter_words
from triage.ground.phrasing import percent
from triage.ground.units import show
from triage.rendering import phrases
from triage.rendering.labels import HEADS
from triage.rendering.text_table import TextTable

DEFAULT_PASSES = 12  # passes a short report lists, the longest
Cell = Callable[[PassEntry], str]


def count(value: float | None) -> str:
    """`412`, `43.1 k`, `3.2 M`; "" for None."""
    if value is None:
        return ""
    for unit, size in ((" G", 1e9), (" M", 1e6), (" k", 1e4)):
        if value >= size:
            scaled = value / (1e3 if unit == " k" else size)
            return f"{scaled:.1f}{unit}" if scaled < 100 else f"{scaled:.0f}{unit}"
    return f"{value:,.0f}"


def _drawn(p: PassEntry, value: float | None) -> str:
    """A count of what draws make; "" for the 0 of a pass without draws."""
    return "" if not value and not p["draws"] else count(value)


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}" if value < 100 else count(round(value))


def _per_primitive(p: PassEntry) -> str:
    """Pixels per primitive; "" for triangles that cover the screen, at most two a draw."""
    few = p["draws"] and (p["primitives_in"] or p["primitives"] or 0.0) <= 2 * p["draws"]
    return "" if few else _ratio(p["pixels_per_primitive"])


def _moved(p: PassEntry) -> str:
    read, written = p["read_bytes"], p["written_bytes"]
    if read is None or written is None:
        return ""
    return show(read + written, "byte")


def _read_share(p: PassEntry) -> str:
    read, written = p["read_bytes"], p["written_bytes"]
    return f"{read / written:.1f}:1" if read is not None and written else ""


def _per_pixel(p: PassEntry) -> str:
    bytes_, least = p["bytes_per_pixel"], p["least_bytes_per_pixel"]
    return "" if bytes_ is None else _ratio(bytes_) + (f", min {_ratio(least)}" if least else "")


def _layers(p: PassEntry) -> str:
    """`19.8, 2.9 pass`: layers shaded on the target, and how many of them pass the tests where that was counted."""
    shaded, passed = p["layers"], p["layers_passed"]
    return "" if shaded is None else _ratio(shaded) + (f", {_ratio(passed)} pass" if passed is not None else "")


def name(p: PassEntry) -> str:
    """Name of a pass: its marker, or `(X, other)` for work of a wrapper outside its markers."""
    own = p["name"] or "(unmarked)"
    return f"({own}, other)" if p["rest"] and p["name"] else own


_COLUMNS: tuple[tuple[str, bool, Cell], ...] = (
    ("Pass", False, name),
    (HEADS.time, True, lambda p: phrases.time(p["duration_ns"])),
    (HEADS.share, True, lambda p: percent(p["share"])),
    ("Draws", True, lambda p: count(p["draws"])),
    ("Dispatches", True, lambda p: count(p["dispatches"])),
    ("Primitives in", True, lambda p: _drawn(p, p["primitives_in"])),
    ("Primitives out", True, lambda p: _drawn(p, p["primitives"])),
    ("Pixels", True, lambda p: _drawn(p, p["pixels"] if p["pixels"] is not None else p["pixel_invocations"])),
    ("Layers", True, _layers),
    ("Px/prim", True, _per_primitive),
    ("Bytes moved", True, _moved),
    ("Read:write", True, _read_share),
    ("Bytes/px", True, _per_pixel),
    (HEADS.limiter, False, lambda p: limiter_words(p["limiter_class"]).brief),
    (HEADS.root_cause, False, lambda p: p["title"] or "–"),
    (HEADS.saves, True, lambda p: phrases.time(p["saved_ns"]) if p["saved_ns"] else "–"),
)
# what fits a window of 80 columns, under shorter heads
_SHORTER = {"Dispatches": "Disp.", "Primitives out": "Prims", "Bytes moved": "Bytes"}
_NARROW_COLUMNS = (
    "Pass", HEADS.time, HEADS.share, "Draws", "Dispatches", "Primitives out", "Px/prim", "Bytes moved", HEADS.root_cause,
)  # fmt: skip
_NARROWEST_COLUMNS = ("Pass", HEADS.time, HEADS.share, HEADS.root_cause)  # below NARROW
NARROW = 72
_FIXED_COLUMNS = ("Pass", HEADS.time, HEADS.share, HEADS.limiter, HEADS.root_cause, HEADS.saves)


def decisive_first(table: TextTable) -> TextTable:
    """The columns of limiter, root cause and saving beside the time, under short heads: a narrow window cuts the details."""
    order = sorted(range(len(table.headers)), key=lambda i: table.headers[i][0] not in _FIXED_COLUMNS)
    return replace(
        table,
        headers=[(_SHORTER.get(text, text), right) for text, right in (table.headers[i] for i in order)],
        rows=[[row[i] for i in order] for row in table.rows],
    )


def pass_table(
    passes: Sequence[PassEntry], *, full: bool = False, wide: int = 0, most: int = DEFAULT_PASSES
) -> TextTable | None:
    """The table of the `most` longest passes; None without passes. full: all of them; wide: columns of a terminal."""
    if not passes:
        return None
    listed = len(passes) if full else most
    longest = set(sorted(range(len(passes)), key=lambda i: (-(passes[i]["duration_ns"] or 0), i))[:listed])
    shown = [p for i, p in enumerate(passes) if i in longest]
    fitting = _NARROWEST_COLUMNS if wide < NARROW else _NARROW_COLUMNS
    columns = [
        (title, right, cell)
        for title, right, cell in _COLUMNS
        if (not wide or title in fitting) and (title in _FIXED_COLUMNS or any(cell(p) not in ("", "0") for p in shown))
    ]
    rows = [[cell(p) for _, _, cell in columns] for p in shown]
    return TextTable(
        [(_SHORTER.get(title, title) if wide else title, right) for title, right, _ in columns],
        rows,
        len(passes) - len(shown),
        [p["limiter_class"] for p in shown],
        [(p["duration_ns"] or 0.0, p["saved_ns"] or 0.0) for p in shown],
    )
