"""Structure-aware damage to real exports, and the judge that says whether the tool took it well.

A case is one export (a file or a folder) after a few mutations. Mutations know what an export is made of: bytes,
cells, headers, units, line ends, encodings, marker paths, sizes. Everything is drawn from one `random.Random`, so a
case is reproduced by its number alone.
"""

import contextlib
import gzip
import random
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import SAMPLES
from triage.inference.engine import Backend

ROWS = 24  # lines a seed keeps: damage to a short table finds the same faults faster
MAX_LINE = 1_000  # characters of an error line
Files = dict[str, bytes]


@dataclass(frozen=True)
class Seed:
    """An undamaged export: its files by relative name, and the one the user would type ("" for the folder itself)."""

    label: str
    files: Files
    main: str


def seeds(*roots: Path) -> list[Seed]:
    """Every export below the sample folder (and further folders), shortened."""
    found = []
    for root in roots or (SAMPLES,):
        for path in sorted(p for p in root.rglob("*") if p.is_file()):
            label = path.relative_to(root).as_posix()
            if (
                path.suffix in (".md", ".py", ".pyc", ".json", ".cu", ".hip", ".txt.license")
                or "MANIFEST" in path.name
                or path.name.startswith(("ORIGIN", "MANIFEST", "README"))
                or path.stat().st_size > 4 << 20
            ):
                continue
            found.append(Seed(label, {path.name: shorten(path.read_bytes())}, path.name))
        for folder in sorted({p.parent for p in root.rglob("*.csv")} - {root}):
            files = {
                p.name: shorten(p.read_bytes())
                for p in sorted(folder.iterdir())
                if p.is_file() and p.stat().st_size < 1 << 20
            }
            found += [Seed(folder.relative_to(root).as_posix(), files, "")] if 1 < len(files) < 40 else []
    return found


def shorten(data: bytes) -> bytes:
    """The first lines of a text; all of anything else."""
    lines = data.split(b"\n")
    return (
        data
        if len(lines) <= 3 * ROWS or data.startswith((b"\x1f\x8b", b"NVR\0"))
        else b"\n".join(lines[: 3 * ROWS]) + b"\n"
    )


# What profilers, spreadsheets and strangers put into cells.
CELLS = [
    "", " ", "-", "--", "n/a", "N/A", "nan", "NaN", "inf", "-inf", "1e999", "-1e999", "1e308", "-1e308", "1e-320", "0", "-0", "-1", "00", "1.", ".5",
    "1,5", "1.234", "1,234", "1.234,5", "1,234.5", "1'234", "1 234", "1\u00a0234", "0x10", "1e5", "1E+05", "١٢٣", "½", "²", "१", "true", "False", "None",
    "12.052ms", "47.79%", "100%", "101%", "-5%", "1e9%", "5 furlong", "9" * 25, "9" * 400, "0." + "0" * 400 + "1", "=cmd|' /C calc'!A0", "+1+1", "@SUM(A1)",
    "<script>alert(1)</script>", "]]>", "\x1b[31mred", "\x1b]0;x\x07", "\u202egpj", "\udced\udca0\udc80", "\ufeff", "\x85", "\u2028", "a\tb", '"', '""', '"a', "a\"b",
    "{{7*7}}", "{% raw %}", "{0.__class__}", "%s%n", "../../etc/passwd", "C:\\CON", "A/B/C", "/", "//", "A::B", "x" * 5000, "a/" * 700, "(" * 400,
    "void k<T>(int, float)", "k(" * 200, "__attribute__", "1970-01-01", "(1, 1, 1)", "(2147483648, 99999999999, 1)", "[1,2", "1;2;3", "0/0", "5/0", "\\N",
    "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e19", "2147483648", "4294967296", "NaN%", "#DIV/0!", "\r", "\n", "\0",
]  # fmt: skip
HEADS = [
    "", "name", "Name", "ID", "Kernel Name", "Duration", "gpu.time [ms]", "gpu.time [%]", "gpu.time [byte]", "sm.throughput [%]", "kind", "path", "calls",
    "launch.grid_size", "launch.block_size", "Metric Name", "Metric Value", "Metric Unit", "GPU Duration (ms)", "KernelName", "Grid Size", "Start (ns)",
    "vram.throughput", "Unnamed: 0", "index", "x" * 3000, "a.b.c.d", "[", "]", "[%]", "()", "(ms)", "%", "time (furlong)", "EventID", "Level", "BeginNs",
]  # fmt: skip
TOKENS = [
    b'"', b'""', b",", b";", b"\t", b"|", b"\n", b"\r", b"\r\n", b"\n\n\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xe9", b"\xf0\x9f", b"1e999", b"nan",
    b"-", b"=", b"==PROF== ", b"==1234==", b"[", b"]", b"{", b"(", b"%", b"\x1b[2J", b"\x1a", b"\x00\x01\x02", b"Section: ", b"---", b"#", b"sep=;\n", b"," * 300, b'"' * 301,
    b"\xe2\x80\xae", b"\xed\xa0\x80", b"\xc2\x85", b"\x0c", b"\x0b", b"\x1c", b"\x1f",
]  # fmt: skip


def mutate(data: bytes, r: random.Random, others: list[bytes]) -> bytes:
    """One mutation."""
    return r.choices(_OPS, _WEIGHTS)[0](data, r, others)


def _bytes(d: bytes, r: random.Random, others: list[bytes]) -> bytes:
    b, j = bytearray(d), r.randrange(len(d) + 1)
    match r.randrange(6):
        case 0 if d:
            b[j % len(d)] = r.randrange(256)
        case 1:
            del b[j : j + r.randrange(1, 200)]
        case 2:
            b[j:j] = b[j : j + r.randrange(300)]
        case 3:
            b[j:j] = r.choice(TOKENS)
        case 4:
            del b[j:]
        case _:
            b[j : j + 1] = bytes(r.randrange(256) for _ in range(r.randrange(1, 9)))
    return bytes(b)


def separator(line: str) -> str:
    """The sign that divides a line into most cells."""
    return max(",;\t|", key=line.count)


def _text(d: bytes) -> list[str]:
    return d.decode("utf-8", "surrogateescape").split("\n")


def _join(lines: list[str]) -> bytes:
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _cells(d: bytes, r: random.Random, others: list[bytes]) -> bytes:
    lines = _text(d)
    for _ in range(r.choice((1, 1, 3, 12))):
        i = r.randrange(len(lines))
        sep = separator(lines[i])
        row = lines[i].split(sep)
        value = r.choice(CELLS)
        if r.random() < 0.4 and (sep in value or "\n" in value or '"' in value):
            value = '"' + value.replace('"', '""') + '"'
        elif r.random() < 0.2:
            value = f'"{value}"'
        row[r.randrange(len(row))] = value
        lines[i] = sep.join(row)
    return _join(lines)


def _column(d: bytes, r: random.Random, others: list[bytes]) -> bytes:
    lines = _text(d)
    head = r.randrange(min(len(lines), 12))
    sep = separator(lines[head])
    width = lines[head].count(sep) + 1
    c, e, how, value = r.randrange(width), r.randrange(width), r.randrange(6), r.choice(CELLS)
    for i, line in enumerate(lines):
        row = line.split(sep)
        if len(row) <= max(c, e):
            continue
        if how == 0:
            del row[c]
        elif how == 1:
            row[c], row[e] = row[e], row[c]
        elif how == 2:
            row.insert(e, row[c])
        elif how == 3 and i > head:
            row[c] = value
        elif how == 4 and i > head:
            row[c] = ""
        elif how == 5 and i > head:
            row[c] = row[e]
        lines[i] = sep.join(row)
    return _join(lines)


def _header(d: bytes, r: random.Random, others: list[bytes]) -> bytes:
    lines = _text(d)
    i = r.randrange(min(len(lines), 12))
    sep = separator(lines[i])
    row = lines[i].split(sep)
    for _ in range(r.choice((1, 2, 6))):
        c = r.randrange(len(row))
        match r.randrange(5):
            case 0:
                row[c] = r.choice(HEADS)
            case 1:
                row[c] = row[r.randrange(len(row))]
            case 2:
                row[c] = row[c].upper() if r.random() < 0.5 else row[c].strip('"')
            case 3:
                row[c] += r.choice((" [ms]", " [%]", " (GB/s)", " [byte]", ".sum", ".pct", "_ns", " [", "]"))
            case _:
                row.insert(c, r.choice(HEADS))
    lines[i] = sep.join(row)
    return _join(lines)


def _lines(d: bytes, r: random.Random, others: list[bytes]) -> bytes:
    lines = d.split(b"\n")
    i, j = r.randrange(len(lines)), r.randrange(len(lines))
    match r.randrange(7):
        case 0:
            del lines[i : i + r.choice((1, 1, 5))]
        case 1:
            lines[i], lines[j] = lines[j], lines[i]
        case 2:
            lines[i:i] = [lines[j]] * r.choice((1, 1, 3, 60))
        case 3:
            lines[i:i] = [b""] * r.choice((1, 5, 500))
        case 4:
            lines.sort(reverse=r.random() < 0.5)
        case 5:
            lines[i] = lines[i][: r.randrange(len(lines[i]) + 1)]
        case _:
            other = r.choice(others).split(b"\n")
            lines[i:j] = other[: r.randrange(len(other) + 1)]
    return b"\n".join(lines)


def _encoding(d: bytes, r: random.Random, others: list[bytes]) -> bytes:
    text = d.decode("utf-8", "replace")
    match r.randrange(9):
        case 0:
            return text.encode("utf-16")
        case 1:
            return text.encode("utf-16-le")
        case 2:
            return text.encode("utf-16-be")
        case 3:
            return b"\xef\xbb\xbf" + d
        case 4:
            return text.replace("e", "é", 3).encode("cp1252", "replace")
        case 5:
            return text.encode("utf-32")
        case 6:
            return gzip.compress(d, mtime=0)[: None if r.random() < 0.7 else r.randrange(len(d) + 1)]
        case 7:
            return text.encode("utf-16")[: r.randrange(2 * len(text) + 2)]
        case _:
            return gzip.compress(gzip.compress(d, mtime=0), mtime=0)


def _ends(d: bytes, r: random.Random, others: list[bytes]) -> bytes:
    d = d.replace(b"\r\n", b"\n")
    match r.randrange(4):
        case 0:
            return d.replace(b"\n", b"\r\n")
        case 1:
            return d.replace(b"\n", b"\r")
        case 2:
            return b"".join(line + r.choice((b"\n", b"\r\n", b"\r", b"\n\r")) for line in d.split(b"\n"))
        case _:
            return d.rstrip(b"\n")


def _delimiter(d: bytes, r: random.Random, others: list[bytes]) -> bytes:
    a, b = r.sample((b",", b";", b"\t", b"|"), 2)
    return d.replace(a, b) if r.random() < 0.7 else d.replace(b",", b";").replace(b".", b",")


def _sizes(d: bytes, r: random.Random, others: list[bytes]) -> bytes:
    lines = d.split(b"\n")
    i = r.randrange(len(lines))
    match r.randrange(6):
        case 0:
            lines += lines[1:] * r.choice((2, 20))
        case 1:
            lines[i] *= r.choice((2, 40))
        case 2:
            lines[i] += b"," * r.choice((10, 3_000))
        case 3:
            lines[i] += b"x" * r.choice((1_000, 200_000))
        case 4:
            return d[: r.randrange(60)]
        case _:
            lines = [line + lines[-2] if len(lines) > 1 else line for line in lines]
    return b"\n".join(lines[:3_000])[: 1 << 20]


def _names(d: bytes, r: random.Random, others: list[bytes]) -> bytes:
    """Words become hostile or deeply nested names wherever they stand."""
    import re

    words = sorted(set(re.findall(rb"[A-Za-z_][A-Za-z0-9_]{3,}", d)))
    if not words:
        return d
    new = r.choice(
        (
            b"a/b/c/d/e",
            b"/".join([b"p"] * r.choice((40, 900))),
            b"<b>&amp;</b>",
            b"=1+1",
            b"\x1b[31m",
            "漢字🙂\u202e".encode(),
            b"CON",
            b"..",
            b"x" * 3000,
            b"{{x}}",
            b"\\",
        )
    )
    return d.replace(r.choice(words), new)


def _numbers(d: bytes, r: random.Random, others: list[bytes]) -> bytes:
    """All numbers scaled, negated or blanked: still a fine table, with absurd figures."""
    import re

    how = r.randrange(6)
    new = [b"0", b"-1", b"1e300", b"", b"100", b"99999999999999999999"][how]
    share = r.choice((0.05, 0.5, 1.0))
    return re.sub(rb"(?<![A-Za-z_\d.])\d+(?:\.\d+)?(?![A-Za-z_\d])", lambda m: new if r.random() < share else m[0], d)


_OPS: list[Callable[[bytes, random.Random, list[bytes]], bytes]] = [
    _bytes,
    _cells,
    _column,
    _header,
    _lines,
    _encoding,
    _ends,
    _delimiter,
    _sizes,
    _names,
    _numbers,
]
_WEIGHTS = [4, 6, 4, 4, 4, 1, 1, 1, 1, 2, 2]
OPERATIONS = [f.__name__.strip("_") for f in _OPS]


@dataclass(frozen=True)
class Case:
    """A damaged export. dialect: forced reader, or "" for detection."""

    seed: str
    files: Files
    main: str
    dialect: str = ""
    number: int = -1


def case(number: int, pool: list[Seed], dialects: list[str]) -> Case:
    """Case `number`: always the same for the same pool. Seeds take turns, so each gets its share."""
    r = random.Random(number)
    seed = pool[number % len(pool)]
    others = [next(iter(r.choice(pool).files.values())) for _ in range(2)]
    files = dict(seed.files)
    for _ in range(r.choice((1, 1, 2, 4, 8))):
        name = r.choice(sorted(files)) if not seed.main or r.random() < 0.1 else seed.main
        if not seed.main and r.random() < 0.05 and len(files) > 1:
            del files[name]
            continue
        files[name] = mutate(files[name], r, others)
    return Case(seed.label, files, seed.main, r.choice(dialects) if r.random() < 0.06 else "", number)


def lay(c: Case, folder: Path) -> Path:
    """Write a case's files; returns what the user would type."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in c.files.items():
        (folder / name).write_bytes(data)
    return folder / c.main if c.main else folder


class OutOfTime(BaseException):
    """A case took longer than its share; no Exception, so that nothing swallows it."""


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the body after some seconds."""

    def ring(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Tally:
    """What a campaign saw. faults: (case, kind, traceback or words)."""

    reports: int = 0
    refused: int = 0
    slowest: float = 0.0
    kinds: dict[str, int] = field(default_factory=dict)
    faults: list[tuple[Case, str, str]] = field(default_factory=list)

    @property
    def cases(self) -> int:
        return self.reports + self.refused + len(self.faults)


@dataclass
class Spy:
    """An engine's backend that notes every word it is given beyond those it may see."""

    inner: Backend
    allowed: frozenset[str]
    leaks: list[str]

    @property
    def name(self) -> str:
        """The engine behind it."""
        return self.inner.name

    def run(self, literals: Sequence[str]) -> list[str]:
        """See Backend."""
        self.leaks += [x for x in literals if x not in self.allowed]
        return self.inner.run(literals)


class Judge:
    """Reader, diagnosis and every renderer over one case after another, and what was wrong with how they took it."""

    def __init__(self, book: Any = None, seconds: float = 20.0, wanted: list[str] | None = None) -> None:
        from triage.diagnosis.diagnosing import Diagnoser
        from triage.rendering import formats
        from triage.rulebook import packs

        self.doctor = Diagnoser(book or packs.select(packs.load()))
        self.seconds = seconds
        self.formats = wanted or formats.formats()
        self.leaks: list[str] = []
        self.spy()

    def spy(self) -> None:
        """Watch every word that goes to an engine: numbers of the rules' inputs, nothing else."""
        for engine in (self.doctor.workload, self.doctor.frame):
            if engine is not None:
                inputs = {f"{g.number}.{i}" for g in engine.program.groups for i in range(len(g.inputs))}
                engine.backend = Spy(engine.backend, frozenset(i + form for i in inputs for form in "TP"), self.leaks)

    def one(self, path: Path, dialect: str = "") -> str:
        """ "report", or the text of the TriageError. Anything else that is raised is a fault."""
        from triage.findings import assembling
        from triage.ground.errors import TriageError
        from triage.reading import reader
        from triage.rendering import formats

        try:
            capture = reader.read(str(path), dialect=dialect, max_unpacked=64 << 20)
        except TriageError as e:
            line = str(e)
            assert len(line.splitlines()) == 1, f"an error of {len(line.splitlines())} lines: {line[:200]!r}"
            assert len(line) <= MAX_LINE, f"an error of {len(line)} characters: {line[:200]!r}"
            return line
        bundle = assembling.bundle(self.doctor.diagnose([capture], top=50))
        for name in self.formats:
            text: list[str] = []
            formats.render(bundle, name, text.append)
            check(name, "".join(text))
        return "report"

    def run(self, cases: Iterator[Case], folder: Path) -> Tally:
        """Judge many cases."""
        tally = Tally()
        for c in cases:
            path = lay(c, folder)
            start = time.perf_counter()
            try:
                with alarm(self.seconds):
                    told = self.one(path, c.dialect)
                tally.reports, tally.refused = tally.reports + (told == "report"), tally.refused + (told != "report")
            except OutOfTime:
                tally.faults.append((c, "slow", traceback.format_exc()))
            except BaseException as e:
                if isinstance(e, KeyboardInterrupt):
                    raise
                tally.faults.append((c, f"{type(e).__name__}: {str(e)[:160]}", traceback.format_exc()))
            tally.slowest = max(tally.slowest, time.perf_counter() - start)
            tally.kinds[c.seed] = tally.kinds.get(c.seed, 0) + 1
        if self.leaks:
            tally.faults.append((Case("engine", {}, ""), "file content reached the C engine", repr(self.leaks[:3])))
        return tally


CONTROL = frozenset(map(chr, (*range(9), *range(11, 32), *range(127, 160))))
BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def check(fmt: str, text: str) -> None:
    """What holds for every report of a format, whatever the input was."""
    assert text, f"{fmt}: empty report"
    text.encode("utf-8")  # no lone surrogates
    if fmt == "json":
        import json

        json.loads(text, parse_constant=_refuse)
        return
    if fmt == "junit":
        import xml.etree.ElementTree as tree

        tree.fromstring(text)
    if fmt == "csv":
        import csv
        import io

        for row in csv.reader(io.StringIO(text, newline="")):
            assert all(c[:1] not in "=@\t\r" and (c[:1] not in "+-" or _plain(c)) for c in row if c), (
                f"csv: live cell {row!r:.200}"
            )
    bad = (CONTROL - {"\r"} if fmt == "csv" else CONTROL) & set(text)
    assert not bad, f"{fmt}: control characters {sorted(bad)!r}"
    if fmt in ("terminal", "markdown", "html", "jira", "junit"):
        assert not BIDI & set(text), f"{fmt}: direction controls"


def _plain(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _refuse(name: str) -> Any:
    raise AssertionError(f"json: {name} is no JSON number")
