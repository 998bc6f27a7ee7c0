"""Names that differ only in how a spreadsheet or an editor wrote them: blanks, invisible characters, width, case."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

import numpy as np

from triage.capture.capture import Quality, Table
from triage.ground.phrasing import plural

INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_NAMELESS = re.compile(r"\s*|(?:row|dispatch|launch) \d{1,9}")  # as readers call what has no name
_ESCAPED = ("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")  # as pages of the web write names
# lines of names, any of which may be nameless; parts of lines that a spelling may be another one by, besides case
_NAMELESS_LINE = re.compile(r"\n(?:\s*|\d+|(?:row|dispatch|launch) \d{1,9})(?=\n)")
_SPELLINGS = ("&", "  ", " \n", "\n ", *"\t\r\v\f\x1c\x1d\x1e\x1f")
MAX_SHOWN = 3
SAMPLE = 5_000  # names that tell whether names repeat
MAX_TRACED = 20_000  # operations of a trace whose names are looked at


def check(table: Table, kernels: bool) -> list[Quality]:
    """Remarks of `nameless`, `unite` and `broken`; of most tables one look at all names tells that there is none."""
    names = [*map(str, table.names.tolist())]
    if len({*names[:SAMPLE]}) < len(names[:SAMPLE]):  # where names repeat, each is looked at once
        names = [*dict.fromkeys(names)]
    lines = "\n".join(["", *names, ""])
    named = lines.isascii() and _NAMELESS_LINE.search(lines) is None
    odd = '"' in lines or lines.count("\n") > len(names) + 1
    found = ([] if named else nameless(table, kernels)) + ([] if _spelt_once(lines, len(names)) else unite(table))
    # blanks around a name that has one spelling are none of its letters
    if any(n != n.strip() for n in names[:SAMPLE]):
        table.names = np.array([str(n).strip() for n in table.names], dtype=object)
    return found + (broken(table) if odd else [])


def _spelt_once(lines: str, names: int) -> bool:
    """True if no two of many names, a line each, can be spellings of one."""
    if not lines.isascii() or lines.count("\n") != names + 1 or any(part in lines for part in _SPELLINGS):
        return False
    folded = lines.casefold()
    return folded == lines or len({*folded.split("\n")}) == len({*lines.split("\n")})


def key(name: str) -> str:
    """What all spellings of one name share."""
    for escaped, sign in _ESCAPED if "&" in name else ():
        name = name.replace(escaped, sign)
    if name.isascii() and "  " not in name and name == name.strip():
        return name.casefold()
    text = unicodedata.normalize("NFKC", name.translate(INVISIBLE))
    return " ".join(text.split()).casefold()


def nameless(table: Table, kernels: bool) -> list[Quality]:
    """A remark on rows without a name, or with a number for one: of merged cells, only the first is exported.

    kernels: workloads are functions of a program, all of which have names.
    """
    empty = np.fromiter((_NAMELESS.fullmatch(str(n)) is not None for n in table.names), bool, len(table))
    if not kernels and empty.all():
        empty[:] = False
    empty |= np.fromiter((str(n).isdigit() for n in table.names), bool, len(table))
    if not empty.any():
        return []
    first = int(np.argmax(empty))
    some = plural(int(empty.sum()), "row")
    text = f"{some} without a name, or with a number for one (first: line {table.line(first)}): merged cells, or a lost one; listed by themselves"
    return [Quality("no-name", text, first)]


def broken(table: Table) -> list[Quality]:
    """A remark on the first name with a line break, or a quote that nothing closes; names of C++ have two of them."""
    names = map(str, () if table.trace is not None and len(table) > MAX_TRACED else table.names.tolist())
    odd = next((n for n in names if "\n" in n or ('"' in n and n.count('"') % 2)), "")
    what = "a line break in it" if "\n" in odd else "a quote that nothing closes"
    return [Quality("name-spelling", f"{odd[:60]!r} has {what}")] if odd else []


def unite(table: Table) -> list[Quality]:
    """Give all spellings of a name the most frequent one, of equally frequent ones the first; a remark says which."""
    if len(table) < 2 or (table.trace is not None and len(table) > MAX_TRACED):
        return []
    count = Counter(map(str, table.names))
    spellings: dict[str, list[str]] = {}
    for name in count:
        spellings.setdefault(key(name), []).append(name)
    other = {n: max(names, key=count.__getitem__) for names in spellings.values() if len(names) > 1 for n in names}
    other = {n: best for n, best in other.items() if n != best}
    if not other:
        return []
    bad = np.array([str(n) in other for n in table.names])
    if table.trace is None:
        table.names = np.array([other.get(str(n), n) for n in table.names], dtype=object)
    first = int(np.argmax(bad))
    shown = "; ".join(f"{n[:60]!r} as {best[:60]!r}" for n, best in list(other.items())[:MAX_SHOWN])
    rows = f"{plural(int(bad.sum()), 'row')} with another spelling of a name (blanks, width or case)"
    done = "read as one" if table.trace is None else "kept apart"
    return [Quality("name-spelling", f"{rows}, {done}: {shown}", first)]
