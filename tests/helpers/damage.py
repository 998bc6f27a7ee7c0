"""One damage to one real export, and whether the reader noticed.

Every kind does what spreadsheets, scripts, broken pipes and full disks do to an export. What the reader makes of the
damaged export must be what it made of the whole one, or it says so: a refusal, or a remark of `DAMAGE`. Values
that differ without either are a silent change, the worst fault that a reader can have.
"""

import gzip
import hashlib
import io
import random
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.helpers import fuzzing, looks_right
from tests.helpers.sheets import NUMBER, Sheet, count, sheet
from triage.capture.capture import Capture
from triage.ground.errors import TriageError
from triage.reading import reader

# kinds of remarks that say something was lost or changed
DAMAGE = frozenset(
    ("rows-set-aside", "rows-left-out", "not-a-number", "not-finite", "foreign-unit", "impossible-value", "damaged-timestamps", "no-last-line-end",
     "unit-not-understood", "own-unit", "no-duration", "companion-left-out", "ambiguous-counter",
     "repeated-rows", "total-row", "contradiction", "name-spelling", "no-name", "tables-left-out", "calls-by-table", "columns-disagree", "empty-cell", "odd-cell", "far-off", "lost-header")
)  # fmt: skip

SEEDS = 20  # of every kind on every export
_SHAPE = re.compile(
    r'\s*"?\s*(?!0x)[({]?\s*\d+(?:\s*[ x,;]\s*\d+){1,2}\s*[)}]?\s*"?\s*\Z'
)  # `(256, 1, 1)`, `4096 x 4096`


Damage = Callable[[Sheet, random.Random], bool]  # False: this export offers no place for it


def _numeric(s: Sheet, r: random.Random, line: int, pattern: str = r"\d") -> int:
    """A cell of a line that holds a number, or sizes along axes, in which a pattern stands, -1 for none."""
    found = [i for i, c in enumerate(s.cells(line)) if (NUMBER.match(c) or _SHAPE.match(c)) and re.search(pattern, c)]
    return r.choice(found) if found else -1


def _in_cell(s: Sheet, r: random.Random, change: Callable[[str], str], pattern: str = r"\d") -> bool:
    line = r.choice(s.body)
    at = _numeric(s, r, line, pattern)
    if at < 0:
        return False
    cells = s.cells(line)
    old = cells[at].strip()
    quoted = old.startswith('"')
    new = change(old.strip('" '))
    cells[at] = f'"{new}"' if quoted and not new.startswith('"') else new
    s.put(line, cells)
    return True


def extra_cell(s: Sheet, r: random.Random) -> bool:
    """One cell too many, somewhere in a row."""
    line = r.choice(s.body)
    cells = s.cells(line)
    cells.insert(r.randrange(len(cells)), r.choice(cells))
    s.put(line, cells)
    return True


def missing_cell(s: Sheet, r: random.Random) -> bool:
    """A cell is gone, and with it the place of those behind it."""
    line = r.choice(s.body)
    cells = s.cells(line)
    del cells[r.randrange(len(cells))]
    s.put(line, cells)
    return True


def cut_last_row(s: Sheet, r: random.Random) -> bool:
    """The file ends within its last row."""
    del s.lines[s.body[-1] + 1 :]
    last = s.lines[-1].rstrip("\r")
    s.lines[-1] = last[: r.randrange(1, len(last))]
    return True


def open_quote(s: Sheet, r: random.Random) -> bool:
    """A quote that nothing closes, before or behind a cell's text."""
    line = r.choice(s.body)
    cells = s.cells(line)
    # between tabs a quote is part of a name
    at = r.randrange(len(cells)) if s.sep != "\t" else _numeric(s, r, line)
    if at < 0:
        return False
    cells[at] = '"' + cells[at] if r.random() < 0.7 else cells[at] + '"'
    s.put(line, cells)
    return True


def decimal_comma(s: Sheet, r: random.Random) -> bool:
    """A number with a decimal comma, unquoted, as another locale writes it."""
    return _in_cell(s, r, lambda t: t.replace(".", ","), r"\.")


def quoted_comma(s: Sheet, r: random.Random) -> bool:
    """A decimal comma within quotes, in the first row as likely as in another."""
    s.body = s.body[: 1 if r.random() < 0.5 else None]
    return _in_cell(s, r, lambda t: '"' + (t.replace(".", ",") if "." in t else t + ",0") + '"')


def foreign_unit(s: Sheet, r: random.Random) -> bool:
    """A unit glued to a number: a real one or none at all."""
    unit = r.choice(("us", " us", " ms", "furlong", " furlong", " KB", "%", " GHz", "x", " cycles"))
    return _in_cell(s, r, lambda t: t + unit)


def text_cell(s: Sheet, r: random.Random) -> bool:
    """Text where a number belongs."""
    return _in_cell(s, r, lambda _: r.choice(("#REF!", "error", "12 34", "0x1F", "1.2.3", "(5)", "true", "1e", "--5")))


def extra_column(s: Sheet, r: random.Random) -> bool:
    """A first column nobody asked for, as data-frame libraries write their row numbers."""
    if any(map(NUMBER.match, s.cells(s.head))):  # no header: rows of several widths
        return False
    name = r.choice(("", "index", "Unnamed: 0", "#"))
    wide = [i for i in range(s.head, len(s.lines)) if count(s.lines[i], s.sep) == s.width]
    for n, i in enumerate(wide):
        quote = '"' if s.lines[i].startswith('"') else ""
        s.put(i, [f"{quote}{name if i == s.head else n - 1}{quote}", *s.cells(i)])
    return True


def reordered_columns(s: Sheet, r: random.Random) -> bool:
    """The same columns in another order."""
    if any(map(NUMBER.match, s.cells(s.head))):
        return False
    order = list(range(s.width))
    r.shuffle(order)
    for i in range(s.head, len(s.lines)):
        if count(s.lines[i], s.sep) == s.width:
            cells = s.cells(i)
            s.put(i, [cells[c] for c in order])
    return True


def impossible_value(s: Sheet, r: random.Random) -> bool:
    """What no machine measures: a negative figure, one of years, a share of 2,508 %."""
    return _in_cell(s, r, lambda t: r.choice((f"-{t.lstrip('+-')}1", "1" + "0" * 24, "-2508", "9" * 25)), r"[1-9]")


def not_finite(s: Sheet, r: random.Random) -> bool:
    """No number, infinity, and a number beyond every float."""
    return _in_cell(s, r, lambda _: r.choice(("nan", "NaN", "inf", "-inf", "Infinity", "1e999", "-1e999")))


def appended(s: Sheet, r: random.Random) -> bool:
    """The export once more behind itself, with its header or without, as `>>` does; not of a figure or two."""
    if len({c for i in s.body for c in s.cells(i) if NUMBER.match(c)} - {"0", "1"}) < 6:
        return False
    start = r.choice((0, s.head, s.body[0]))
    while s.lines and not s.lines[-1].strip():
        s.lines.pop()
    s.lines += [*s.lines[start:], ""]
    return True


def header_again(s: Sheet, r: random.Random) -> bool:
    """The header once more between the rows, as it is where several exports were put together."""
    if any(map(NUMBER.match, s.cells(s.head))):
        return False
    s.lines.insert(r.choice(s.body[1:] or s.body), s.lines[s.head])
    return True


def other_header(s: Sheet, r: random.Random) -> bool:
    """Another header between the rows: one of its columns, and the rows below, in another unit."""
    cells = s.cells(s.head)
    units = {"ms": ("us", 1e3), "us": ("ms", 1e-3), "ns": ("us", 1e-3), "%": ("ratio", 0.01)}
    found = [i for i, c in enumerate(cells) if re.search(r"[(\[](ms|us|ns|%)[)\]]", c)]
    if not found or len(s.body) < 2:
        return False
    at, below = r.choice(found), r.choice(s.body[1:])
    factor = 1.0

    def another(m: re.Match[str]) -> str:
        nonlocal factor
        factor = units[m[1]][1]
        return units[m[1]][0]

    cells[at] = re.sub(r"(?<=[(\[])(ms|us|ns|%)(?=[)\]])", another, cells[at])
    for i in (i for i in s.body if i >= below):
        row = s.cells(i)
        if not NUMBER.match(row[at]):
            return False
        row[at] = f"{float(row[at].strip(chr(34) + ' ')) * factor:.12g}"
        s.put(i, row)
    end = "\r" if s.lines[s.head].endswith("\r") else ""
    s.lines.insert(below, s.sep.join(cells) + end)
    return True


def blank_column(s: Sheet, r: random.Random) -> bool:
    """An empty last column, as spreadsheets leave it behind."""
    if any(map(NUMBER.match, s.cells(s.head))):
        return False
    for i in range(s.head, len(s.lines)):
        if count(s.lines[i], s.sep) == s.width:
            s.put(i, [*s.cells(i), ""])
    return True


def sheet_line(s: Sheet, r: random.Random) -> bool:
    """A first line that tells a spreadsheet the separator, the right one or another."""
    s.lines.insert(0, f"sep={r.choice((s.sep, *',;'))}" + ("\r" if s.lines[0].endswith("\r") else ""))
    return True


def doubled_column(s: Sheet, r: random.Random) -> bool:
    """A column once more under its own name, over other values."""
    line = r.choice(s.body)
    at = _numeric(s, r, line)
    head = [c.strip('" \r') for c in s.cells(s.head) if c.strip()]
    if at < 0 or any(map(NUMBER.match, s.cells(s.head))):
        return False
    # GPU Trace has a column of each name for each frame: once more is the layout of another number of them
    if len(set(head)) == 2 < len(head):
        return False
    first = r.random() < 0.5
    for i in range(s.head, len(s.lines)):
        if count(s.lines[i], s.sep) == s.width:
            cells = s.cells(i)
            other = cells[at]
            if i != s.head and NUMBER.match(other):
                quote = '"' if other.strip().startswith('"') else ""
                other = f"{quote}{float(other.strip(chr(34) + ' ')) * 0.37 + 1:.6g}{quote}"
            cells.insert(at if first else len(cells), other)
            s.put(i, cells)
    return True


def blank_line(s: Sheet, r: random.Random) -> bool:
    """An empty line between two rows."""
    s.lines.insert(r.choice(s.body), "")
    return True


def split_row(s: Sheet, r: random.Random) -> bool:
    """A line end, of this system or another, within a number."""
    end = r.choice(("\n", "\r"))
    return _in_cell(s, r, lambda t: t[:1] + end + t[1:], r"\d\d")


def other_delimiter(s: Sheet, r: random.Random) -> bool:
    """A row, or a header, that another delimiter divides, as one that was copied from a spreadsheet."""
    line = r.choice([s.head, *s.body])
    cells = [c if c.strip().startswith('"') or not set(c) & set(",;\t|") else f'"{c}"' for c in s.cells(line)]
    by = r.choice([d for d in ",;\t|" if d != s.sep])
    s.lines[line] = by.join(cells) + ("\r" if s.lines[line].endswith("\r") else "")
    return True


KINDS: tuple[Damage, ...] = (
    other_delimiter,
    doubled_column,
    blank_line,
    split_row,
    extra_cell,
    missing_cell,
    cut_last_row,
    open_quote,
    decimal_comma,
    quoted_comma,
    foreign_unit,
    text_cell,
    extra_column,
    reordered_columns,
    impossible_value,
    not_finite,
    appended,
    header_again,
    other_header,
    blank_column,
    sheet_line,
)


@dataclass(frozen=True, slots=True)
class Read:
    """What a reader made of an export: its workloads with their facts, and what it remarked of damage."""

    names: tuple[str, ...]
    facts: dict[str, tuple[float, ...]]
    frame_ns: float
    remarks: frozenset[str]


def taken(path: Path, dialect: str = "") -> Read | str:
    """A reading of an export, or the line with which it is refused."""
    try:
        return of(reader.read(str(path), dialect=dialect))
    except TriageError as e:
        return str(e)


def of(c: Capture) -> Read:
    """What counts of a capture."""
    names = tuple(f"{p}|{n}" for p, n in zip(c.paths, c.names, strict=True))
    facts = {m: tuple(float(f"{x:.9g}") for x in v) for m, v in sorted(c.facts.items()) if np.isfinite(v).any()}
    remarks = frozenset(f"{q.check}: {q.message}" for q in c.quality if q.check in DAMAGE)
    return Read(names, facts, float(f"{c.frame_ns:.9g}"), remarks)


def same(a: Read, b: Read) -> str:
    """Where two readings differ, "" where they do not."""
    if a.names != b.names:
        return f"workloads {len(a.names)} -> {len(b.names)}"
    for metric in sorted({*a.facts, *b.facts}):
        x = a.facts.get(metric, (np.nan,) * len(a.names))
        y = b.facts.get(metric, (np.nan,) * len(b.names))
        other = ~np.isclose(x, y, rtol=1e-6, atol=0, equal_nan=True)
        if other.any():
            at = int(np.argmax(other))
            return f"{metric} of {a.names[at]!r:.40}: {x[at]:g} -> {y[at]:g}"
    return "" if a.frame_ns == b.frame_ns else f"frame {a.frame_ns:g} -> {b.frame_ns:g}"


def only_missing(a: Read, b: Read) -> bool:
    """True if the second reading lacks figures of the first and says nothing else: reports call them not measured."""
    if a.names != b.names or a.frame_ns != b.frame_ns or not set(b.facts) <= set(a.facts):
        return False
    for metric, x in a.facts.items():
        y = np.array(b.facts.get(metric, (np.nan,) * len(x)))
        if not (np.isnan(y) | np.isclose(x, y, rtol=1e-6, atol=0)).all() or (
            metric == "gpu.time" and np.isnan(y).any()
        ):
            return False
    return True


@dataclass(slots=True)
class Outcome:
    """How one damaged export was taken, and what changed.

    `refused`, `remarked`, `same`, `missing` (see only_missing), `right` (changed, but see looks_right), or `silent`.
    """

    label: str
    kind: str
    seed: int
    how: str
    what: str = ""


def exports(*roots: Path) -> list[fuzzing.Seed]:
    """Every export below some folders that a dialect reads, shortened."""
    return [s for root in roots for s in fuzzing.seeds(root)]


def _layouts(seeds: list[fuzzing.Seed]) -> list[list[fuzzing.Seed]]:
    """Exports that begin alike, as those of one tool do, together."""
    alike: dict[bytes, list[fuzzing.Seed]] = {}
    for seed in seeds:
        alike.setdefault(_first_line(seed.files.get(seed.main, seed.label.encode())), []).append(seed)
    return list(alike.values())


def _first_line(data: bytes) -> bytes:
    packed = data[:2] == b"\x1f\x8b"
    with gzip.GzipFile(fileobj=io.BytesIO(data)) if packed else io.BytesIO(data) as file:
        return file.readline(1 << 16)


def shared(seeds: list[fuzzing.Seed], share: int, most: int) -> dict[str, tuple[Damage, ...]]:
    """Label -> kinds of damage, one in `share`, for so many of the exports that begin alike, as of one tool."""
    return {
        seed.label: KINDS[at % share :: share]
        for first, alike in enumerate(_layouts(seeds))
        for at, seed in enumerate(alike[:most], first)
    }


def shared_out(
    seeds: list[fuzzing.Seed], kinds: Sequence[str], each: int
) -> Iterator[tuple[fuzzing.Seed, tuple[str, ...], float]]:
    """Every export with some of the kinds, so that each kind meets `each` exports of a layout, or all where there are fewer.

    The number says for how many exports of its layout one stands.
    """
    for alike in _layouts(seeds):
        for at, seed in enumerate(alike):
            some = tuple(kind for n, kind in enumerate(kinds) if (at + n * each) % len(alike) < each)
            yield seed, some, max(1.0, len(alike) / each)


def unpacked(data: bytes) -> bytes:
    """Without gz, where it can be unpacked: the corpus holds cut files as well."""
    try:
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except EOFError:
        return data


def campaign(
    seed: fuzzing.Seed, folder: Path, seeds: int = SEEDS, kinds: tuple[Damage, ...] = KINDS, start: int = 0
) -> Iterator[Outcome]:
    """Every kind of damage to one export, with `seeds` seeds from `start` on; nothing where no dialect reads it undamaged."""
    files = {n: unpacked(d) for n, d in seed.files.items()}
    main = seed.main.removesuffix(".gz")
    files = {n.removesuffix(".gz"): d for n, d in files.items()}
    whole = taken(fuzzing.lay(fuzzing.Case(seed.label, files, main), folder))
    if isinstance(whole, str):
        return
    tables = sorted(n for n, d in files.items() if sheet(d) is not None)
    known: dict[bytes, Read | str] = {}
    for kind in kinds if tables else ():
        for number in range(start, start + seeds):
            r = random.Random(f"{seed.label} {kind.__name__} {number}")
            name = main or r.choice(tables)
            s = sheet(files[name])
            before = list(s.lines) if s else []
            if s is None or not kind(s, r):
                continue
            data = s.bytes()
            digest = hashlib.sha256(f"{name}\0".encode() + data).digest()
            if digest not in known:  # a short export has few places for some kinds
                known[digest] = taken(fuzzing.lay(fuzzing.Case(seed.label, {**files, name: data}, main), folder))
            got = known[digest]
            if isinstance(got, str):
                yield Outcome(seed.label, kind.__name__, number, "refused")
            elif not (what := same(whole, got)):
                yield Outcome(seed.label, kind.__name__, number, "same")
            elif got.remarks - whole.remarks:
                yield Outcome(seed.label, kind.__name__, number, "remarked")
            else:
                strange = kind not in KINDS
                right = looks_right.why(before, s) if strange else ""
                how = "missing" if strange and only_missing(whole, got) else "right" if right else "silent"
                yield Outcome(seed.label, kind.__name__, number, how, f"{right}: {what}" if right else what)
    shutil.rmtree(folder, ignore_errors=True)
