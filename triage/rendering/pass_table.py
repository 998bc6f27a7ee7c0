"""The pass table as every report shows it: headers and cells as plain text, columns without any figure left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from triage.document.bundle import Entry
from triage.ground.limiters import BY_ID
from triage.ground.phrasing import percent
from triage.ground.terminology import said
from triage.ground.units import show
from triage.rendering import phrases

SHORT = 12  # passes a short report lists, the longest
Cell = Callable[[Entry], str]


@dataclass(frozen=True)
class PassTable:
    """headers: (text, to the right). rows: cells as text, in the order of the frame. more: passes not listed. limiters: class of each row."""

    headers: list[tuple[str, bool]]
    rows: list[list[str]]
    more: int
    limiters: list[str]


def count(value: float | None) -> str:
    """`412`, `43.1 k`, `3.2 M`; empty where it is not known."""
    if value is None:
        return ""
    for unit, size in ((" G", 1e9), (" M", 1e6), (" k", 1e4)):
        if value >= size:
            scaled = value / (1e3 if unit == " k" else size)
            return f"{scaled:.1f}{unit}" if scaled < 100 else f"{scaled:.0f}{unit}"
    return f"{value:,.0f}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}" if value < 100 else count(round(value))


def _moved(p: Entry) -> str:
    read, written = p["read_bytes"], p["written_bytes"]
    if read is None or written is None:
        return ""
    return show(read + written, "byte")


def _read_share(p: Entry) -> str:
    read, written = p["read_bytes"], p["written_bytes"]
    return f"{read / written:.1f}:1" if read is not None and written else ""


def _per_pixel(p: Entry) -> str:
    bytes_, least = p["bytes_per_pixel"], p["least_bytes_per_pixel"]
    return "" if bytes_ is None else _ratio(bytes_) + (f" (least {_ratio(least)})" if least else "")


def name(p: Entry) -> str:
    """A pass by its marker; what a wrapper holds beside its markers by the wrapper."""
    own = p["name"] or "(no marker)"
    return f"(rest of {own})" if p["rest"] and p["name"] else own


_COLUMNS: tuple[tuple[str, bool, Cell], ...] = (
    ("Pass", False, name),
    ("Time", True, lambda p: phrases.time(p["duration_ns"])),
    ("Share", True, lambda p: percent(p["share"])),
    ("Draws", True, lambda p: count(p["draws"])),
    ("Disp.", True, lambda p: count(p["dispatches"])),
    ("Prims in", True, lambda p: count(p["primitives_in"])),
    ("Prims", True, lambda p: count(p["primitives"])),
    ("Pixels", True, lambda p: count(p["pixels"] if p["pixels"] is not None else p["pixel_invocations"])),
    ("Px/prim", True, lambda p: _ratio(p["pixels_per_primitive"])),
    ("Moved", True, _moved),
    ("Read:write", True, _read_share),
    ("Byte/px", True, _per_pixel),
    ("Limiter", False, lambda p: said(BY_ID[p["limiter_class"]].brief)),
    ("Root cause", False, lambda p: p["title"] or "–"),
    ("Saves", True, lambda p: phrases.time(p["saved_ns"]) if p["saved_ns"] else "–"),
)
# what fits a window of 80 columns
_NARROW = ("Pass", "Time", "Share", "Draws", "Disp.", "Prims", "Px/prim", "Moved", "Root cause")
_LEAST = ("Pass", "Time", "Share", "Root cause")  # below NARROW
NARROW = 72
_ALWAYS = ("Pass", "Time", "Share", "Limiter", "Root cause", "Saves")


def pass_table(passes: Sequence[Entry], *, full: bool = False, wide: int = 0, most: int = SHORT) -> PassTable | None:
    """The table of the `most` longest passes; None where there are none. full: all of them; wide: columns of a terminal."""
    if not passes:
        return None
    listed = len(passes) if full else most
    longest = set(sorted(range(len(passes)), key=lambda i: (-(passes[i]["duration_ns"] or 0), i))[:listed])
    shown = [p for i, p in enumerate(passes) if i in longest]
    fitting = _LEAST if wide < NARROW else _NARROW
    columns = [
        (title, right, cell)
        for title, right, cell in _COLUMNS
        if (not wide or title in fitting) and (title in _ALWAYS or any(cell(p) not in ("", "0") for p in shown))
    ]
    rows = [[cell(p) for _, _, cell in columns] for p in shown]
    return PassTable(
        [(title, right) for title, right, _ in columns],
        rows,
        len(passes) - len(shown),
        [p["limiter_class"] for p in shown],
    )
