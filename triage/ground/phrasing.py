"""Small words that every sentence needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from triage.ground.units import show


def plural(n: int, word: str) -> str:
    """`1 workload`, `2 workloads`, `1,200 passes`."""
    if n == 1:
        return f"1 {word}"
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{n:,} {word[:-1]}ies"
    return f"{n:,} {word}es" if word.endswith(("s", "ch", "sh", "x")) else f"{n:,} {word}s"


def over(count: int, word: str) -> str:
    """` over 2 devices`, after a sum over several; "" of one."""
    return f" over {plural(count, word)}" if count > 1 else ""


def over_rows(additive: bool, count: object = "its") -> str:
    """`sum over 3 rows`, `mean over its rows, weighted by GPU time`: how the number of a repeated workload is made."""
    return f"sum over {count} rows" if additive else f"mean over {count} rows, weighted by GPU time"


def with_copies(count: int, copies: int, item: str) -> str:
    """`5 kernels, 2 copies and fills`: what of a count are copies is not called a kernel."""
    work = plural(count - copies, item)
    copied = f"{copies:,} {'copy or fill' if copies == 1 else 'copies and fills'}"
    return f"{work}, {copied}" if copies and copies < count else copied if copies else work


def either(words: Iterable[object]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    *most, last = map(str, words)
    return f"{', '.join(most)} or {last}" if most else last


def first_of(words: Sequence[str], most: int, more: str = " + ", sep: str = ", ") -> str:
    """`a, b`, and of more than `most` words ` + 3 more`."""
    left = f"{more}{len(words) - most} more" if len(words) > most else ""
    return sep.join(words[:most]) + left


def did_you_mean(close: Iterable[str], otherwise: str = "") -> str:
    """`did you mean 'a' or 'b'?` for similar names; `otherwise` where there are none."""
    names = [repr(name) for name in dict.fromkeys(close)]
    return f"did you mean {either(names)}?" if names else otherwise


def lower_first(text: str) -> str:
    """Lower-case the first letter, unless the first word is an abbreviation (SMs, L2, TEX, HiZ)."""
    word = text.partition(" ")[0].partition("-")[0][1:]
    return text if len(text) < 2 or word[:1].isdigit() or word.lower() != word else text[:1].lower() + text[1:]


def cut_middle(text: str, most: int) -> str:
    """A text of at most `most` characters: what is longer loses its middle."""
    head = (most - 1) * 2 // 3
    return text if len(text) <= most else f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def upper_first(text: str) -> str:
    """A sentence begins with a capital."""
    return text[:1].upper() + text[1:]


def whole_percent(share: float) -> str:
    """`0.8` -> `80 %`: how limits are printed in sentences."""
    return f"{share * 100:.0f} %"


def points(gap: float) -> str:
    """`0.1` -> `10 points`: a difference of two shares."""
    return f"{gap * 100:.0f} points"


def as_written(value: float, unit: str) -> str:
    """A chosen number with the digits it has: `80 %`, `12.5 %`, `10 points`, `10 µs`, `1,024`."""
    if unit in ("ratio", "points"):
        return f"{value * 100:.6g} {'%' if unit == 'ratio' else 'points'}"
    return show(value, unit)


FIELD = re.compile(r"\{([^{}:!]+)(?::([^{}]*))?\}")  # as str.format has it, but no attribute or index is ever followed


def fill(text: str, words: Mapping[str, str]) -> str:
    """A text with fields replaced by their words; a field of another name stays."""
    return FIELD.sub(lambda m: words.get(m[1], m[0]), text) if "{" in text else text


_SIGNS = {"<=": "≤", ">=": "≥", "==": "=", "!=": "≠"}
_FAILED = {">": "not above", ">=": "below", "<": "not below", "<=": "above", "==": "not", "!=": "equal to"}


def comparison(name: str, value: str, op: str, limit: str) -> str:
    """`TEX hit rate 57.0 % < 70 %`: a comparison that holds, in words."""
    return f"{name} {value} {_SIGNS.get(op, op)} {limit}"


def failed_comparison(name: str, value: str, op: str, limit: str) -> str:
    """`TEX hit rate 83.0 %, not below 70 %`: a comparison that does not hold, in words."""
    return f"{name} {value}, {_FAILED[op]} {limit}"


def percent(share: float | None) -> str:
    """A share of one: `16 %`, `3.4 %`, `<0.1 %`, the same wherever it stands."""
    if share is None:
        return "–"
    pct = share * 100
    if 0 < pct < 0.1:
        return "<0.1 %"
    # 9.95: what would be printed as 10.0 %
    return f"{pct:.0f} %" if pct >= 9.95 or pct == 0 else f"{pct:.1f} %"
