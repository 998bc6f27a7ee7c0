"""Numbers and units as profilers print them -> canonical numbers.

Canonical units: `ratio` (0-1), `ns`, `byte`, `byte/s`, `hz`, `flop/s`, `cycle`, `count`.
Everything that only counts things (inst, warp, sector, register/thread ...) is `count`.
Size prefixes are SI, as every profiler seen prints them (32.77 Kbyte is 32768 byte); KiB and MiB are binary.

The locale of a file is decided from values that leave no doubt; a file in which every number could be read
two ways is refused, never guessed.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from triage.ground.errors import UnknownUnit

Style = Literal["us", "eu"]  # us: 1,234.5   eu: 1.234,5

_SI = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_TIME = {
    # "µ" is both the micro sign and the Greek letter, depending on who typed it
    "ns": 1.0, "nsecond": 1.0, "nanosecond": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "usecond": 1e3, "microsecond": 1e3,
    "ms": 1e6, "msecond": 1e6, "millisecond": 1e6, "msec": 1e6, "usec": 1e3, "nsec": 1.0,
    "s": 1e9, "sec": 1e9, "second": 1e9, "min": 6e10, "minute": 6e10,
}  # fmt: skip
_COUNTS = frozenset(
    "inst warp thread block register sector request sample sm tpc cluster pass branch issue wavefront wave sgpr vgpr "
    "count instruction transaction cu xcc workgroup group byte_count pixel primitive draw call event item lane cta "
    "waves cus simd kib_count op fragment quad triangle prim tri polygon vertex vertice texel ray layer invocation "
    "clk clock lane".split()
)
_COUNT_SUFFIXES = {"k": 1e3, "K": 1e3, "thousand": 1e3, "M": 1e6, "million": 1e6, "millions": 1e6}  # of counts


@lru_cache(16_384)
def unit(text: str) -> tuple[str, float]:  # noqa: C901 - one branch per family of units
    """Canonical unit and factor of a printed unit: `"Kbyte"` -> `("byte", 1000.0)`; raises UnknownUnit."""
    raw = text.strip().strip("[]()").strip()
    low = raw.lower()
    if low in ("", "-", "count", "#", "x", "none", "unitless"):
        return "count", 1.0
    if low in ("%", "pct", "percent", "pct of peak"):
        return "ratio", 0.01
    if low in ("ratio", "fraction"):
        return "ratio", 1.0
    if m := re.fullmatch(r"([kmgt]i?)o(?:ctets?)?((?:/|\s*par\s*)s)?", low):  # French: `Go/s`
        low = f"{m[1]}b{'/s' if m[2] else ''}"
    singular = low[:-1] if low.endswith("s") and not low.endswith("ss") and low not in _TIME and len(low) > 2 else low
    for name in (low, singular):
        if name in _TIME:
            return "ns", _TIME[name]
    if m := re.fullmatch(r"([kmgtp]?)i?(?:bytes?|b)", low):
        return "byte", 1024.0 ** "kmgtp".index(m[1]) * 1024 if "i" in low and m[1] else _SI[m[1]]
    if m := re.fullmatch(r"([kmgtp]?)i?(?:bytes?|b)(?:/|ps|\s*per\s*)(s|sec|second|)", low):
        base = 1024.0 ** ("kmgtp".index(m[1]) + 1) if "ib" in low and m[1] else _SI[m[1]]
        return "byte/s", base
    if low in ("°c", "degc", "celsius"):
        return "celsius", 1.0
    if m := re.fullmatch(r"([kmgt]?)hz", low):
        return "hz", _SI[m[1]]
    # ncu prints clocks as cycles per time, in the unit that gives a short number
    if m := re.fullmatch(r"([kmgt]?)cycles?/(\w+)", low):
        if m[2] in _TIME:
            return "hz", _SI[m[1]] * 1e9 / _TIME[m[2]]
        return "count", _SI[m[1]]
    if m := re.fullmatch(r"([kmgtp]?)(?:flops?(?:/s)?|flop/second)", low):
        return "flop/s", _SI[m[1]]
    if re.fullmatch(r"[kmgt]?cycles?", low):
        return "cycle", _SI[low[0] if low[0] in "kmgt" else ""]
    if m := re.fullmatch(r"([kmgt]?)i?(?:bytes?|b)/\w+", low):  # Kbyte/block; rates matched above
        return "byte", 1024.0 if "ib" in low else _SI[m[1]]
    if raw in _COUNT_SUFFIXES:
        return "count", _COUNT_SUFFIXES[raw]
    words = re.split(r"[/\s]+", singular)
    if all(w in _COUNTS or w.rstrip("s") in _COUNTS or w.rstrip("es") in _COUNTS or w == "cycle" for w in words):
        return "count", 1.0
    raise UnknownUnit(f"unknown unit {raw!r}", "see: docs/metrics.md")


def known(text: str) -> bool:
    """True for a known unit."""
    try:
        return bool(unit(text))
    except UnknownUnit:
        return False


def factor(text: str, target: str) -> float:
    """What a value printed in unit `text` is multiplied by to reach canonical unit `target`; raises UnknownUnit."""
    canonical, f = unit(text)
    if canonical == target:
        return f
    # Profilers print "" and "%" for figures that are plain numbers here, such as IPC or a compression ratio.
    if target == "count" and canonical in ("cycle", "ratio"):
        return f
    if canonical == "count" and f == 1.0 and target != "ns":  # a bare number: already in the canonical unit
        return 1.0
    raise UnknownUnit(f"{text.strip()!r} is not a unit of {target}")


# What one style alone could have printed. A group of exactly three digits behind a single sign is left out on purpose:
# 1.234 is either. So are plain integers, which say nothing.
_PLAIN = re.compile(r"[+-]?\d+(?:[eE][+-]?\d+)?\Z")
_US = re.compile(
    r"[+-]?(?:\d{1,3}(?:,\d{3})+\.\d*|\d{1,3}(?:,\d{3}){2,}|\d*\.\d{0,2}|\d*\.\d{4,}|0+\.\d+|\d{4,}\.\d+|\.\d+"
    r"|\d*\.\d*[eE][+-]?\d+)\Z"
)
_EU = re.compile(
    r"[+-]?(?:\d{1,3}(?:\.\d{3})+,\d*|\d{1,3}(?:\.\d{3}){2,}|\d*,\d{0,2}|\d*,\d{4,}|0+,\d+|\d{4,},\d+|,\d+"
    r"|\d*,\d*[eE][+-]?\d+)\Z"
)
_UNIT_LETTERS = string.ascii_letters + "%µμ/"


def evidence(texts: Iterable[str]) -> tuple[str, str, str]:
    """First value that proves the US style, that proves the European one, and that could be either; "" for none."""
    us = eu = doubt = ""
    for text in texts:
        if us and "," not in text and text.count(".") < 2:  # a point more: the style is known
            continue
        t = text.strip().rstrip(_UNIT_LETTERS).strip()
        if not t or _PLAIN.match(t):
            continue
        if not us and _US.match(t):
            us = t
        elif not eu and _EU.match(t):
            eu = t
        elif not doubt and re.fullmatch(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", t):
            doubt = t
        if us and eu:
            break
    return us, eu, doubt


def style(texts: Iterable[str], where: str = "", default: Style | None = None) -> Style:
    """The number style of a file, from values that allow one reading only.

    `default` is used when nothing speaks (or only doubtful values do); without it doubt raises UnknownUnit.
    """
    us, eu, doubt = evidence(texts)
    if us and eu:
        if default:
            return default
        raise UnknownUnit(
            f"{where}numbers contradict each other: {us!r} has a decimal point, {eu!r} a decimal comma",
            "export again with one number format",
        )
    if us or eu:
        return "us" if us else "eu"
    if doubt and default is None:
        a, b = re.split(r"[.,]", doubt)
        raise UnknownUnit(
            f"{where}{doubt!r} can be read as {a} or as {a}{b}, and no other number of the file decides it",
            "say --decimal point or --decimal comma, or export with LC_ALL=C (ncu: --print-units base)",
        )
    return default or "us"


# One way to match every number: with an optional point between two runs of digits, a long run that ends in a letter
# could be cut in two at every digit, which takes time with its square.
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_GLUED = re.compile(r"([+-]?[\d.,]+(?:[eE][+-]?\d+)?)\s*([a-zA-Z%µμ/]+)\Z")
MISSING = frozenset(
    ("", "-", "--", "n/a", "na", "no data", "none", "null", "#n/a", "not available", "unavailable", "(not available)",
     "?", "<n/a>")
)  # fmt: skip
# what a division by zero leaves behind: no value either, but never without a remark
NOT_FINITE = frozenset(
    ("nan", "-nan", "+nan", "nan(ind)", "-nan(ind)", "inf", "-inf", "+inf", "infinity", "-infinity", "+infinity",
     "1.#inf", "-1.#inf", "1.#qnan", "-1.#ind", "#div/0!", "#value!", "#num!")
)  # fmt: skip
# Groups of thousands, or of hundreds above the first thousand as in India. Spaces that do not break and apostrophes
# group in French and Swiss locales.
_GROUPED = {
    mark: re.compile(
        rf"[+-]?(?:[1-9]\d{{0,2}}(?:[{mark}\u00a0\u202f']\d{{3}})+|[1-9]\d?(?:{mark}\d{{2}})+{mark}\d{{3}})"
        rf"(?:{point}\d*)?(?:[eE][+-]?\d+)?"
    )
    for mark, point in ((",", r"\."), (r"\.", ","))
}
_MARKS = re.compile("[,.\u00a0\u202f']")


def parse(text: str, style: Style = "us") -> float | None:
    """A printed number -> float; None when the cell says that there is no value. Raises ValueError on anything else.

    Thousands must be grouped as such: `1,5` is no number in the style of `1,234.5`, never 15.
    """
    t = text.strip()
    low = t.lower()
    if low in MISSING or low in NOT_FINITE:
        return None
    if not _NUMBER.fullmatch(t) or style == "eu":
        group, point = (r"\.", ",") if style == "eu" else (",", ".")
        whole, sign, rest = t.partition(point)
        if _MARKS.search(whole):
            if not _GROUPED[group].fullmatch(t):
                raise ValueError(text)
            whole = _MARKS.sub("", whole)
        t = f"{whole}.{rest}" if sign else whole
        if not _NUMBER.fullmatch(t):
            raise ValueError(text)
    value = float(t)
    return value if abs(value) != float("inf") else None


def not_finite(text: str) -> bool:
    """True if a cell that `parse` gives no value for holds nan, infinity, or a number too large for a float."""
    return text.strip().lower() not in MISSING


def parse_glued(text: str, style: Style = "us") -> tuple[float | None, str]:
    """A number with its unit glued on (`12.052ms`, `47.79%`) -> (number, unit text); raises ValueError."""
    t = text.strip()
    if m := _GLUED.match(t):
        return parse(m[1], style), m[2]
    return parse(t, style), ""


def glued(text: str) -> str:
    """The unit text glued to a number (`12.052ms` -> `ms`), "" where there is none."""
    m = _GLUED.match(text)
    return m[2] if m else ""


_SCALES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))


def _rounded(value: float, digits: int) -> str:
    """Significant digits, never in powers of ten; of more than three, zeros at the end as well."""
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}" if digits <= 3 else f"{value:#.{digits}g}".rstrip(".")


def show(value: float, unit: str, digits: int = 3) -> str:
    """A canonical value as people read it: 0.472 ratio -> `47.2 %`, 1.23e6 ns -> `1.23 ms`, NaN -> `not measured`."""
    if value != value:
        return "not measured"
    if unit in ("ratio", "points"):
        return show(*display(value, unit)) if unit == "ratio" else f"{value * 100:.1f} points"
    if unit == "%":  # 100.0 % looks like a measurement; it is a limit or a whole
        return f"{value:.1f} %" if abs(abs(value) - 100) > 0.05 else f"{value:.0f} %"
    if unit == "celsius":
        return f"{value:.0f} °C"
    scales = {
        "ns": ("ns", (("s", 1e9), ("ms", 1e6), ("µs", 1e3))),
        "byte": ("B", _SCALES),
        "byte/s": ("B/s", _SCALES),
        "flop/s": ("FLOP/s", _SCALES),
        "hz": ("Hz", _SCALES),
    }
    if unit in scales:
        base, steps = scales[unit]
        for name, size in steps:
            if abs(value) >= 0.9995 * size:  # what would round to 1,000 of the smaller unit
                return f"{_rounded(value / size, digits)} {name if unit == 'ns' else name + base}"
        return f"{_rounded(value, digits)} {base}"
    whole = abs(value) < 1e15 and (value == int(value) or abs(value) >= 1e4)
    text = f"{value:,.0f}" if whole else f"{value:,.4g}"
    return text + (" cycles" if unit == "cycle" else "")


def display(value: float, unit: str) -> tuple[float, str]:
    """Value and unit as the JSON result and the tables carry them: ratios become percent, differences of ratios points."""
    if unit in ("ratio", "points"):
        return round(value * 100, 6), "%" if unit == "ratio" else unit
    return value, unit
