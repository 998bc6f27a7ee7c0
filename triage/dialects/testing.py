"""Checks that every dialect must pass, bundled or not: `python -m triage.dialects.testing DIR SAMPLE...`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from triage import schema
from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.dialects import picking, registry
from triage.dialects.contract import Dialect, Match, Options, collector, missing_parts
from triage.files import bundled
from triage.ground import units
from triage.ground.errors import CaptureError, NotTriageable, TriageError

NAME_RE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
CUTS = (0.0, 0.25, 0.5, 0.9, 0.99)  # of a sample, as a full disk or a broken download leaves it
MAX_CELLS = 200  # of a column, whose cells are read again


def check_dialect(dialect: Dialect, samples: Iterable[str | Path], others: Iterable[str | Path] = ()) -> list[str]:
    """What is wrong with a dialect, one problem a line; [] if nothing is.

    samples: exports of its tool, files or folders. others: exports that are not of its tool; the bundled samples that
    other dialects read are always among them.
    """
    if problems := list(_interface(dialect)):
        return problems
    own = list(map(str, samples))
    if not own:
        return ["no sample to check it with"]
    for path in own:
        problems += _strongest(dialect, path) or [*_readable(dialect, path), *_damaged(dialect, path)]
    for path in (*map(str, others), *_foreign_samples(dialect.NAME)):
        problems += _foreign(dialect, path)
    return problems


def _interface(dialect: Dialect) -> Iterator[str]:
    """Problems of the declared attributes."""
    if missing := missing_parts(dialect):
        yield f"lacks {', '.join(missing)}"
        return
    if not NAME_RE.fullmatch(dialect.NAME):
        yield f"NAME {dialect.NAME!r}: expected lower-case words with hyphens"
    for text in ("TITLE", "CAPTURE"):
        if not getattr(dialect, text).strip():
            yield f"{text} is empty"
    sign = getattr(dialect, "SIGN", ())
    words = isinstance(sign, tuple) and all(re.fullmatch(r"[^A-Z0-9,]+", str(word)) for word in sign)
    if not words and not (isinstance(sign, bytes) and sign):
        yield f"SIGN {sign!r}: expected a tuple of words in lower case, without digits and commas, or bytes"
    names = dialect.names()
    for metric, headers in names.items():
        if not schema.known(metric):
            close = schema.close(metric)
            yield f"names(): unknown metric {metric!r}" + (f", did you mean {close[0]!r}?" if close else "")
        elif isinstance(headers, str) or not all(isinstance(h, str) and h for h in headers):
            yield f"names(): {metric!r}: expected a list of names, got {headers!r}"
    collect = collector(dialect)
    if collect and names and not (isinstance(command := collect(list(names)), str) and command.strip()):
        yield f"collect() of all its metrics returns {command!r}, expected a command"


def _match(dialect: Dialect, source: Source) -> Match | str | None:
    """Its match, or the problem with it; a CaptureError counts as none."""
    try:
        match = dialect.recognise(source)
    except CaptureError:
        return None
    except Exception as e:
        return f"{source.path}: recognise() raises {type(e).__name__}: {e}"
    if match is None or (isinstance(match, Match) and 0 < match.score <= 1 and match.why.strip()):
        return match
    return f"{source.path}: recognise() returns {match!r}, expected Match(score above 0, up to 1, and why) or None"


def _strongest(dialect: Dialect, path: str) -> list[str]:
    """Problems of recognising its own sample."""
    match = _match(dialect, Source(path))
    if not isinstance(match, Match):
        return [match or f"{path}: not recognised"]
    if not any(True for _ in picking.candidates(Source(path), [registry.entry(dialect)])):
        return [
            f"{path}: recognised, but hidden by SIGN or FOLDERS: none of {getattr(dialect, 'SIGN', ())} is in its head"
        ]
    if _match(dialect, Source(path)) != match:
        return [f"{path}: recognise() returns another match the second time"]
    name, score = _best(Source(path), dialect.NAME)
    if score >= match.score:
        return [f"{path}: {name} matches with {score:g}, not below its own {match.score:g}"]
    return []


def _best(source: Source, without: str) -> tuple[str, float]:
    """(name, score) of the strongest match but one dialect's; ("", 0) for none."""
    rivals = [e for e in registry.listed().values() if e.name != without]
    matches, _ = picking.find_matches(source, rivals)
    return max(((d.NAME, m.score) for m, d in matches), key=lambda pair: pair[1], default=("", 0.0))


def _read(dialect: Dialect, source: Source) -> Table | TriageError | str:
    """Its table, its CaptureError, or the problem with either."""
    try:
        table = dialect.read(source, Options())
    except TriageError as e:
        return (
            e
            if isinstance(e, CaptureError)
            else f"{source.path}: read() raises {type(e).__name__}, expected CaptureError"
        )
    except Exception as e:
        return f"{source.path}: read() raises {type(e).__name__}: {e}"
    return (
        table if isinstance(table, Table) else f"{source.path}: read() returns {type(table).__name__}, expected Table"
    )


def _readable(dialect: Dialect, path: str) -> list[str]:
    """Problems of reading its own sample. A dialect without names() is there to refuse."""
    with np.errstate(all="ignore"):
        first, second = (_read(dialect, Source(path)) for _ in range(2))
    if isinstance(first, str):
        return [first]
    if isinstance(first, TriageError):
        return [] if isinstance(first, NotTriageable) and not dialect.names() else [f"{path}: refused: {first}"]
    problems = [f"{path}: {p}" for p in table_problems(first, dialect.NAME)] or [
        f"{path}: {p}" for p in _lost_cells(first)
    ]
    if not isinstance(second, Table) or not _equal(first, second):
        problems.append(f"{path}: read() returns another table the second time")
    return problems


def table_problems(table: Table, name: str) -> list[str]:
    """Problems of a table that no report could be made from."""
    problems = [] if table.dialect == name else [f"dialect {table.dialect!r}, expected {name!r}"]
    problems += [] if table.files else ["files is empty, expected the source"]
    problems += [] if len(table) else ["no rows"]
    for metric, column in table.columns.items():
        if not schema.known(metric):
            problems.append(f"unknown metric {metric!r}")
        elif np.asarray(column.values).dtype != np.float64 or np.shape(column.values) != (len(table),):
            problems.append(f"{metric}: values: expected {len(table)} float64, one per row")
        elif not column.column and not column.formula:
            problems.append(f"{metric}: neither a cell (column) nor a formula")
        elif column.column and not 0 <= column.file < len(table.files):
            problems.append(f"{metric}: file {column.file}, expected 0 to {len(table.files) - 1}")
        problems += [
            f"{metric}: input {i!r} is no column of the table"
            for i in column.inputs
            if i not in table.columns and i not in table.raw
        ]
    for texts in (table.paths, table.kinds):
        if texts is not None and len(texts) != len(table):
            problems.append(f"paths or kinds: {len(texts)} texts for {len(table)} rows")
    return problems


def _lost_cells(table: Table) -> Iterator[str]:
    """Columns whose values are not those of the cells that a report would quote."""
    for metric, column in table.columns.items():
        if not column.column or column.formula:
            continue
        rows = np.flatnonzero(np.isfinite(column.values))[:MAX_CELLS].tolist()
        lines = [int(column.lines[r]) if column.lines is not None else table.line(r) for r in rows]
        records = table.files[column.file].records([n for n in lines if n > 0])
        for row, line in zip(rows, lines, strict=True):
            if problem := _lost(column, float(column.values[row]), records.get(line, ())):
                yield f"{metric}, row {row}: value {column.values[row]:g}, but line {line} {problem}"
                break


def _lost(column: Column, value: float, record: Sequence[str]) -> str:
    """What the cell of a value says instead; "" where it agrees, or is no plain number."""
    if len(record) < column.column:
        return f"has {len(record)} cells, not {column.column}"
    if column.lines is not None:  # a record per value, whose unit may differ from row to row
        return ""
    try:
        cell = units.parse(record[column.column - 1])
    except ValueError:
        return ""
    if cell is None or not np.isclose(float(cell) * column.factor, value, rtol=1e-6, atol=1e-12):
        return f"has {record[column.column - 1]!r} (times {column.factor:g})"
    return ""


def _equal(a: Table, b: Table) -> bool:
    return (
        list(a.names) == list(b.names)
        and a.columns.keys() == b.columns.keys()
        and all(np.array_equal(c.values, b.columns[m].values, equal_nan=True) for m, c in a.columns.items())
    )


def _damaged(dialect: Dialect, path: str) -> Iterator[str]:
    """Problems with cut samples: each is read, or refused with CaptureError."""
    if Path(path).is_dir():
        return
    data = Path(path).read_bytes()
    for part in CUTS:
        source = Source(f"{path} (first {part:.0%})", data[: int(len(data) * part)])
        match = _match(dialect, source)
        if isinstance(match, Match):
            with np.errstate(all="ignore"):
                result = _read(dialect, source)
            match = result if isinstance(result, str) else None
        if match:
            yield match


def _foreign_samples(name: str) -> Iterator[str]:
    """Bundled samples that another dialect recognises."""
    for path in sorted(bundled.share("sample_captures").glob("*/*")):
        if path.parent.name != name and _best(Source(str(path)), name)[1] > 0:
            yield str(path)


def _foreign(dialect: Dialect, path: str) -> list[str]:
    """Problems with an export of another tool: it must not match more strongly than the others."""
    match = _match(dialect, Source(path))
    if not isinstance(match, Match):
        return [match] if match else []
    name, score = _best(Source(path), dialect.NAME)
    return (
        []
        if match.score < score
        else [f"{path}: matches with {match.score:g}, but is an export of {name or 'no tool'}"]
    )


def main(folder: str, samples: Sequence[str]) -> int:
    """Check the dialects of a folder, each with the samples that it reads; the number of problems."""
    new = registry.add_folder(folder)
    readers = {path: picking.pick(Source(path))[0].NAME for path in samples}
    problems = [f"{path}: read by {name}" for path, name in readers.items() if name not in new]
    for name in new:
        own = [path for path, reader in readers.items() if reader == name]
        problems += [f"{name}: {p}" for p in check_dialect(registry.require(name), own)]
    sys.stdout.write("".join(f"{p}\n" for p in problems) or f"{', '.join(new)}: no problems\n")
    return len(problems)


if __name__ == "__main__":
    try:
        raise SystemExit(min(main(sys.argv[1], sys.argv[2:]), 1))
    except (IndexError, TriageError) as error:
        usage = "usage: python -m triage.dialects.testing DIR SAMPLE..."
        raise SystemExit(str(error) if isinstance(error, TriageError) else usage) from None
