"""Small words that every sentence needs."""

from __future__ import annotations

from collections.abc import Iterable


def plural(n: int, word: str) -> str:
    """`1 workload`, `2 workloads`, `1,200 passes`."""
    if n == 1:
        return f"1 {word}"
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{n:,} {word[:-1]}ies"
    return f"{n:,} {word}es" if word.endswith(("s", "ch", "sh", "x")) else f"{n:,} {word}s"


def either(words: Iterable[object]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    *most, last = map(str, words)
    return f"{', '.join(most)} or {last}" if most else last


def did_you_mean(close: Iterable[str], otherwise: str = "") -> str:
    """`did you mean 'a' or 'b'?` for similar names; `otherwise` where there are none."""
    names = [repr(name) for name in dict.fromkeys(close)]
    return f"did you mean {either(names)}?" if names else otherwise


def lower_first(text: str) -> str:
    """Lower-case the first letter, unless the first word is an abbreviation (SMs, L2, TEX)."""
    return text if len(text) < 2 or text[1].isupper() or text[1].isdigit() else text[0].lower() + text[1:]


def upper_first(text: str) -> str:
    """A sentence begins with a capital."""
    return text[:1].upper() + text[1:]


def whole_percent(share: float) -> str:
    """`0.8` -> `80 %`: how limits are printed in sentences."""
    return f"{share * 100:.0f} %"


def points(gap: float) -> str:
    """`0.1` -> `10 points`: a difference of two shares."""
    return f"{gap * 100:.0f} points"


_SIGNS = {"<=": "≤", ">=": "≥", "==": "=", "!=": "≠"}
FLIPPED = {
    ">": "<=",
    ">=": "<",
    "<": ">=",
    "<=": ">",
    "==": "!=",
    "!=": "==",
}  # an operator -> what holds where it fails


def comparison(name: str, value: str, op: str, limit: str) -> str:
    """`TEX hit rate 57.0 % < 70.0 %`: the one way a comparison is put into words."""
    return f"{name} {value} {_SIGNS.get(op, op)} {limit}"


def percent(share: float | None) -> str:
    """A share of one: `16 %`, `3.4 %`, `<0.1 %`, the same wherever it stands."""
    if share is None:
        return "–"
    pct = share * 100
    if 0 < pct < 0.1:
        return "<0.1 %"
    # 9.95: what would be printed as 10.0 %
    return f"{pct:.0f} %" if pct >= 9.95 or pct == 0 else f"{pct:.1f} %"
