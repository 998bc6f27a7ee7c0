"""What spreadsheets, scripts and people do to an export beside `damage.KINDS`: empty and merged cells, other spellings,
totals, factors, rows and columns moved. Each function changes a sheet, and returns False where it offers no place."""

import random
import re
from collections.abc import Callable

from tests.helpers.damage import KINDS, Damage, _in_cell, _numeric
from tests.helpers.sheets import NUMBER, Sheet, count

TOTALS = ("Total", "Gesamt", "Summe", "Somme", "Totale", "Suma", "Totaal", "Итого", "合計", "总计", "Grand Total", "Subtotal", "Average", "Mittelwert")  # fmt: skip
_FULL_WIDTH = str.maketrans({c: chr(c + 0xFEE0) for c in range(0x21, 0x7F)})


def _kind(name: str, work: Callable[[Sheet, random.Random], bool]) -> Damage:
    work.__name__ = name
    return work


def _cell(name: str, change: Callable[[str, random.Random], str], pattern: str = r"[1-9]") -> Damage:
    return _kind(name, lambda s, r: _in_cell(s, r, lambda t: change(t, r), pattern))


def _header(s: Sheet) -> bool:
    return not any(map(NUMBER.match, s.cells(s.head)))


def _wide(s: Sheet) -> list[int]:
    return [i for i in range(s.head, len(s.lines)) if count(s.lines[i], s.sep) == s.width]


def _text_at(s: Sheet, line: int) -> int:
    """The cell of a row that holds a name: the longest text, -1 for none."""
    cells = [c.strip('" \r') for c in s.cells(line)]
    found = [i for i, c in enumerate(cells) if re.search(r"[A-Za-z]{3}", c) and not NUMBER.match(c)]
    return max(found, key=lambda i: len(cells[i]), default=-1)


def _name(name: str, change: Callable[[str, random.Random], str], repeated: bool = True) -> Damage:
    def work(s: Sheet, r: random.Random) -> bool:
        line = r.choice(s.body)
        at = _text_at(s, line)
        if at < 0:
            return False
        cells = s.cells(line)
        old = cells[at].strip()
        if repeated and sum(count(s.lines[i], s.sep) == s.width and s.cells(i)[at].strip() == old for i in s.body) < 2:
            return False
        quoted = old.startswith('"')
        new = change(old.strip('"'), r)
        if new == old.strip('"'):
            return False
        cells[at] = f'"{new}"' if quoted else new
        s.put(line, cells)
        return True

    return _kind(name, work)


def _head(name: str, change: Callable[[str, random.Random], str]) -> Damage:
    def work(s: Sheet, r: random.Random) -> bool:
        if not _header(s):
            return False
        cells = s.cells(s.head)
        at = r.randrange(len(cells))
        old = cells[at].strip("\r")
        quoted = old.startswith('"')
        new = change(old.strip('"'), r)
        cells[at] = f'"{new}"' if quoted else new
        s.put(s.head, cells)
        return old.strip('"') != new

    return _kind(name, work)


def _every(name: str, change: Callable[[str], str], pattern: str) -> Damage:
    def work(s: Sheet, r: random.Random) -> bool:
        line = r.choice(s.body)
        at = _numeric(s, r, line, pattern)
        if at < 0 or s.sep == "|":
            return False
        for i in _wide(s):
            cells = s.cells(i)
            plain = cells[at].strip('" \r')
            if i != s.head and NUMBER.match(plain):
                new = change(plain)
                cells[at] = f'"{new}"' if '"' in cells[at] or s.sep in new else new
                s.put(i, cells)
        return True

    return _kind(name, work)


def _scaled(t: str, factor: float) -> str:
    return f"{float(t) * factor:.12g}"


def _spaced(t: str, by: str) -> str:
    whole, dot, rest = t.partition(".")
    return re.sub(r"(?<=\d)(?=(?:\d{3})+$)", by, whole) + dot + rest


def swapped_cells(s: Sheet, r: random.Random) -> bool:
    """Two numbers of a row change places."""
    line = r.choice(s.body)
    cells = s.cells(line)
    found = [i for i, c in enumerate(cells) if NUMBER.match(c)]
    if len(found) < 2:
        return False
    a, b = r.sample(found, 2)
    cells[a], cells[b] = cells[b], cells[a]
    s.put(line, cells)
    return True


def swapped_heads(s: Sheet, r: random.Random) -> bool:
    """Two columns change names."""
    line = r.choice(s.body)
    found = [i for i, c in enumerate(s.cells(line)) if NUMBER.match(c)]
    if len(found) < 2 or not _header(s):
        return False
    a, b = r.sample(found, 2)
    cells = s.cells(s.head)
    cells[a], cells[b] = cells[b], cells[a]
    s.put(s.head, cells)
    return True


def merged_names(s: Sheet, r: random.Random) -> bool:
    """Of equal names in neighbouring rows only the first is left, as vertically merged cells are exported."""
    done = False
    at = _text_at(s, s.body[0])
    rows = [i for i in s.body if count(s.lines[i], s.sep) == s.width]
    if at < 0:
        return False
    before = ""
    for i in rows:
        cells = s.cells(i)
        name = cells[at].strip()
        if name == before:
            cells[at], done = "", True
            s.put(i, cells)
        before = name
    return done


def merged_cells(s: Sheet, r: random.Random) -> bool:
    """Two neighbouring cells become one over both: the second is empty."""
    line = r.choice(s.body)
    cells = s.cells(line)
    found = [i for i, c in enumerate(cells[1:], 1) if NUMBER.match(c)]
    if not found:
        return False
    cells[r.choice(found)] = ""
    s.put(line, cells)
    return True


def total_row(s: Sheet, r: random.Random) -> bool:
    """A row of sums below the others, in the language of a spreadsheet."""
    rows = [i for i in s.body if count(s.lines[i], s.sep) == s.width]
    at = _text_at(s, rows[0]) if rows else -1
    if at < 0 or len(rows) < 2:
        return False
    grid = [s.cells(i) for i in rows]
    sums = [str(sum(float(c[k].strip('" \r')) for c in grid)) if all(NUMBER.match(c[k]) for c in grid) else "" for k in range(s.width)]  # fmt: skip
    if not any(sums):
        return False
    sums[at] = r.choice(TOTALS)
    s.lines.insert(rows[-1] + 1, s.sep.join(sums))
    return True


def doubled_row(s: Sheet, r: random.Random) -> bool:
    """A row twice, one below the other; not of launches that may be alike."""
    line = r.choice(s.body)
    if len({c for c in s.cells(line) if NUMBER.match(c) and len(c.strip('" ')) > 3}) < 2:
        return False
    s.lines.insert(line, s.lines[line])
    return True


def shifted_row(s: Sheet, r: random.Random) -> bool:
    """From some cell on, a row stands one cell further to the right; the last cell is lost."""
    line = r.choice(s.body)
    cells = s.cells(line)
    at = r.randrange(1, len(cells))
    s.put(line, [*cells[:at], "", *cells[at:-1]])
    return True


def shifted_left(s: Sheet, r: random.Random) -> bool:
    """A cell is deleted with the others moved up, as a spreadsheet does: the last one is empty."""
    line = r.choice(s.body)
    cells = s.cells(line)
    at = r.randrange(len(cells))
    s.put(line, [*cells[:at], *cells[at + 1 :], ""])
    return True


def _changed_column(s: Sheet, r: random.Random, change: Callable[[list[str]], list[str]]) -> bool:
    """A column of numbers with its cells changed together; False where there is none, or nothing changes."""
    rows = [i for i in s.body if count(s.lines[i], s.sep) == s.width]
    at = _numeric(s, r, r.choice(rows)) if len(rows) > 2 else -1
    if at < 0:
        return False
    old = [s.cells(i)[at] for i in rows]
    new = change(old)
    if new == old:
        return False
    for i, value in zip(rows, new, strict=True):
        cells = s.cells(i)
        cells[at] = value
        s.put(i, cells)
    return True


def shifted_column(s: Sheet, r: random.Random) -> bool:
    """The cells of one column stand one row lower than the others."""
    return _changed_column(s, r, lambda old: ["", *old[:-1]])


def sorted_column(s: Sheet, r: random.Random) -> bool:
    """One column is sorted and the others are not."""
    return _changed_column(
        s, r, lambda old: sorted(old, key=lambda c: float(c.strip('" \r')) if NUMBER.match(c) else 0.0)
    )


def log_line(s: Sheet, r: random.Random) -> bool:
    """A line of another program between the rows."""
    s.lines.insert(r.choice(s.body), r.choice(("==4711== Profiling application: ./app", "WARNING: 3 records dropped", "Killed", "# done, see log", "step 3, loss 0.25, lr 0.1")))  # fmt: skip
    return True


def nul_bytes(s: Sheet, r: random.Random) -> bool:
    """A few NUL bytes where a page of the disk was lost."""
    line = r.choice(s.body)
    text = s.lines[line]
    at = r.randrange(len(text))
    s.lines[line] = text[:at] + "\0" * r.choice((1, 8)) + text[at + 8 :]
    return True


def lost_block(s: Sheet, r: random.Random) -> bool:
    """From the middle of one row to the middle of a later one, as a lost block of a file leaves it."""
    if len(s.body) < 3:
        return False
    a, b = sorted(r.sample(s.body, 2))
    first, last = s.lines[a], s.lines[b]
    s.lines[a : b + 1] = [first[: r.randrange(1, len(first))] + last[r.randrange(1, len(last)) :]]
    return True


SPREADSHEET_KINDS: tuple[Damage, ...] = (
    _cell("empty_cell", lambda t, r: ""),
    _cell("dash_cell", lambda t, r: r.choice(("-", "--", "–"))),
    _cell("null_cell", lambda t, r: r.choice(("null", "NULL", "None", "N/A", "n/a", "NA", "<na>", "?", "."))),
    _cell("error_cell", lambda t, r: r.choice(("#DIV/0!", "#VALUE!", "#NAME?", "#####", "#N/A"))),
    _cell("date_cell", lambda t, r: r.choice(("3-Mar", "2026-03-05", "05.03.2026", "12:30"))),
    _cell("thousandfold", lambda t, r: _scaled(t, r.choice((1e3, 1e-3))), r"^\d+(\.\d+)?$"),
    _cell("millionfold", lambda t, r: _scaled(t, r.choice((1e6, 1e-6))), r"^\d+(\.\d+)?$"),
    _cell("hundredfold", lambda t, r: _scaled(t, r.choice((1e2, 1e-2))), r"^\d+(\.\d+)?$"),
    _cell("lost_point", lambda t, r: t.replace(".", ""), r"\d\.\d"),
    _cell("spaced_thousands", lambda t, r: _spaced(t, r.choice((" ", "\u00a0", "\u202f", "\u2009"))), r"^\d{4,}"),
    _cell("apostrophe_thousands", lambda t, r: _spaced(t, r.choice(("'", "\u2019"))), r"^\d{4,}"),
    _cell("underscored", lambda t, r: _spaced(t, "_"), r"^\d{4,}"),
    _cell("leading_apostrophe", lambda t, r: "'" + t),
    _cell("equals_text", lambda t, r: f'="{t}"' if r.random() < 0 else f"={t}"),
    _cell("full_width_digits", lambda t, r: t.translate(_FULL_WIDTH)),
    _cell("arabic_digits", lambda t, r: t.translate({48 + d: 0x660 + d for d in range(10)})),
    _cell("minus_sign", lambda t, r: "\u2212" + t, r"^[1-9]"),
    _cell("negated", lambda t, r: "-" + t, r"^[1-9]"),
    _cell("in_brackets", lambda t, r: f"({t})", r"^[1-9]"),
    _cell("stray_letter", lambda t, r: t[:1] + r.choice("lOoI") + t[1:]),
    _cell("stray_plus_minus", lambda t, r: f"{t}±1"),
    _cell("approximate", lambda t, r: r.choice(("~", "<", ">", "≈")) + t),
    _cell("fraction", lambda t, r: f"{t}/2"),
    _cell("two_values", lambda t, r: f"{t} {t}"),
    _cell("two_lines", lambda t, r: f'"{t}\n{t}"'),
    _cell("zeroed", lambda t, r: "0"),
    _cell("hex", lambda t, r: hex(int(t)), r"^\d+$"),
    _cell("exponent", lambda t, r: f"{float(t):.2E}", r"^\d{5,}$"),
    _name("trailing_blank", lambda t, r: t + " " * r.choice((1, 3))),
    _name("no_break_space", lambda t, r: t + "\u00a0" if r.random() < 0.5 else "\u00a0" + t),
    _name("inner_no_break_space", lambda t, r: t.replace(" ", "\u00a0", 1)),
    _name("zero_width", lambda t, r: t[:2] + r.choice("\u200b\ufeff\u00ad") + t[2:]),
    _name("full_width_name", lambda t, r: t.translate(_FULL_WIDTH)),
    _name("upper_case", lambda t, r: t.upper()),
    _name("double_blank", lambda t, r: t.replace(" ", "  ", 1)),
    _name("escaped_name", lambda t, r: t.replace("<", "&lt;").replace(">", "&gt;")),
    _name("empty_name", lambda t, r: "", repeated=False),
    _name("numbered_name", lambda t, r: str(r.randrange(9)), repeated=False),
    _head("head_blank", lambda t, r: r.choice((t + " ", " " + t, t + "\u00a0"))),
    _head("head_case", lambda t, r: t.upper()),
    _head("head_empty", lambda t, r: ""),
    _head("head_other", lambda t, r: "Column1"),
    _head("head_unit", lambda t, r: re.sub(r"\b(ns|us|ms|KB|MB|GB)\b", lambda m: {"ns": "us", "us": "ms", "ms": "s"}.get(m[0], "B"), t)),
    _head("head_zero_width", lambda t, r: "\ufeff" + t),
    _head("head_two_lines", lambda t, r: t.replace(" ", "\n", 1)),
    _every("column_thousandfold", lambda t: _scaled(t, 1e3), r"^[1-9]\d*(\.\d+)?$"),
    _every("column_spaced", lambda t: _spaced(t, " "), r"^\d{4,}"),
    _every("column_decimal_comma", lambda t: t.replace(".", ","), r"\d\.\d"),
    _every("column_rounded", lambda t: f"{float(t):.0f}", r"\d\.\d\d"),
    _every("column_percent", lambda t: f"{t}%", r"^\d"),
    _every("column_fraction", lambda t: _scaled(t, 0.01), r"^[1-9]\d?(\.\d+)?$"),
    _every("column_zero", lambda t: "0", r"^[1-9]"),
    _every("column_empty", lambda t: "", r"^[1-9]"),
    swapped_cells, swapped_heads, merged_names, merged_cells, total_row, doubled_row, shifted_row, shifted_left, shifted_column, sorted_column,
    log_line, nul_bytes, lost_block,
)  # fmt: skip
EVERY_KIND = (*KINDS, *SPREADSHEET_KINDS)
