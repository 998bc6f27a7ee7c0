"""Which dialect reads a source: all that may know it are asked, and the strongest match wins."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from triage import schema
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects import quoted_text, registry
from triage.dialects.contract import Dialect, Match
from triage.dialects.registry import Entry
from triage.ground.errors import CaptureError, NotTriageable, UnknownDialect
from triage.schema import normal

_UNIT_RE = re.compile(r"([^(\[]*)[(\[](.+)[)\]]")  # `Duration (ms)`
_NUMBER_RE = re.compile(r"-?[\d.:/ ]*\d[\d.:/ ]*(?:[eE][+-]?\d+)?%?")
MIN_CERTAIN = 0.6  # score from which no further round of dialects is asked; tables of no tool score 0.3
CUSTOM = "generic"  # tables of no tool
MAX_OFFERED = 32  # files of a folder that are looked at, to name the one to give


def pick(source: Source, wanted: str = "", mapped: Iterable[str] = ()) -> tuple[Dialect, str]:
    """The dialect of a source and why; raises UnknownDialect with the columns seen, NotTriageable for an empty file.

    wanted: a dialect's name, TriageError if there is none. mapped: headers that the user maps; an unknown table with one
    of them is a custom table.
    """
    if wanted:
        return registry.require(wanted), "asked for with --dialect"
    with suppress(CaptureError):  # binary, or a folder
        quoted_text.unmark(source)
    matches, refusals = _asked(source)
    of_no_tool = all(d.NAME == CUSTOM for _, d in matches) and (not matches or quoted_text.is_page(source))
    if of_no_tool and not refusals and not source.is_folder:
        matches = _within(source) or matches
    if matches:
        # the name breaks ties, so that the choice does not depend on the order of files
        match, dialect = max(matches, key=lambda m: (m[0].score, m[1].NAME))
        return dialect, match.why
    if refusals:  # not text, and no profiler's own file either: why it is not says more than "unknown"
        raise refusals[0]
    if not source.is_folder and not source.head_text.strip():
        raise NotTriageable(f"{source.path}: the file is empty", "export again")
    parts = () if source.is_folder else quoted_text.tables(source) if quoted_text.is_page(source) else (source,)
    if mapped and (part := next((p for p in parts if _has_column(p, mapped)), None)):
        source.rewrite(part.written)
        return registry.require(CUSTOM), "columns mapped with --map or in triage.toml"
    raise _unknown(source)


def is_known(source: Source) -> bool:
    """True if a dialect recognises a source; says no more, and so looks at no file of a folder that none recognises."""
    return bool(_asked(source)[0])


def _within(source: Source) -> list[tuple[Match, Dialect]]:
    """Matches of the surest table within a text that no dialect recognises as a whole; the source is then that table."""
    found = [(matches, part) for part in quoted_text.tables(source) if (matches := _asked(part)[0])]
    if not found:
        return []
    matches, part = max(found, key=lambda f: max(m.score for m, _ in f[0]))  # of equals the longest, which comes first
    source.around = sum(bool(line.strip()) for line in source.head_lines) - sum(map(bool, part.head_lines))
    source.rewrite(part.written)
    which = "the longest table" if len(found) > 1 else "a table"
    return [(Match(m.score, f"{m.why}, {which} in a text"), d) for m, d in matches]


def _asked(source: Source) -> tuple[list[tuple[Match, Dialect]], list[CaptureError]]:
    matches: list[tuple[Match, Dialect]] = []
    refusals: list[CaptureError] = []
    for entries in _rounds():
        more, more_refusals = find_matches(source, entries)
        matches, refusals = matches + more, refusals + more_refusals
        if max((m.score for m, _ in matches), default=0.0) >= MIN_CERTAIN:
            break
    return matches, refusals


def _rounds() -> Iterator[list[Entry]]:
    """Dialects in the order in which they are asked: of binary files, of texts, of tables of no tool with installed ones."""
    tools = dict(registry.listed())
    custom = tools.pop(CUSTOM)
    yield [e for e in tools.values() if isinstance(e.sign, bytes)]
    yield [e for e in tools.values() if not isinstance(e.sign, bytes)]
    yield [custom, *registry.installed().values()]


def find_matches(source: Source, entries: Iterable[Entry]) -> tuple[list[tuple[Match, Dialect]], list[CaptureError]]:
    """Matches of the dialects that recognise a source, and the errors of those that cannot look at it."""
    matches, refusals = [], []
    for dialect in candidates(source, entries):
        try:
            if (match := dialect.recognise(source)) is not None:
                matches.append((match, dialect))
        except CaptureError as e:  # not text: a dialect of binary files may still know it
            refusals.append(e)
    return matches, refusals


def candidates(source: Source, entries: Iterable[Entry]) -> Iterator[Dialect]:
    """The dialects whose declaration does not rule a source out."""
    text = _plain_text(source)
    for e in entries:
        if e.folders if source.is_folder else _may_be_of(source, text, e.sign):
            yield e.load()


def _may_be_of(source: Source, text: str | None, sign: tuple[str, ...] | bytes | None) -> bool:
    if isinstance(sign, bytes):
        return source.head.startswith(sign)
    return text is None or sign is None or any(word in text for word in sign)


def _plain_text(source: Source) -> str | None:
    """The lines of the head of a text file in lower case, without numbers and each once; None for anything else."""
    if source.is_folder or b"\0" in source.head:
        return None
    with suppress(CaptureError):
        # no SIGN has digits or commas, of which a table is full: words are found in a fifth of the time
        text = source.head_text.lower().encode("utf-8", "replace").translate(None, b"0123456789,").decode("utf-8")
        return "\n".join(dict.fromkeys(text.split("\n")))
    return None


def _has_column(source: Source, headers: Iterable[str]) -> bool:
    """True if a table has one of these columns."""
    from triage.dialects.tables import wide_table

    return not {normal(h) for h in headers}.isdisjoint(map(normal, wide_table.header(source)[1]))


def _unknown(source: Source) -> UnknownDialect:
    """The error for a source that no dialect recognises, with its first columns, line or files."""
    path = source.path
    if source.is_folder:
        return _unknown_folder(source)
    lists = "or list supported formats: triage list dialects"
    # a rule of dashes above a table says nothing of it
    table = next(quoted_text.tables(source), source) if quoted_text.is_page(source) else source
    lines = [line.strip(" \t|") for line in table.head_lines if line.strip()] or [""]
    first = next((line for line in lines if any(c.isalnum() for c in line)), lines[0])
    columns = [c.strip()[:40] for c in cells(first)[:3]]
    if not first.replace("\t", "").isprintable() or "\ufffd" in first:
        return UnknownDialect(f"{path}: unknown format, probably binary", "export the table as CSV")
    if first.startswith(("{", "[")) and not re.match(r"\[\w[^\]\"{]*\] ?\S", first):  # a log's time and level
        return UnknownDialect(f"{path}: JSON in no layout that triage reads", f"export a table, {lists}")
    if len(columns) < 2:
        return UnknownDialect(f"{path}: unknown format (first line: {first[:60]!r})", f"export a table, {lists}")
    if all(_NUMBER_RE.fullmatch(c.strip()) for c in cells(first)):
        return UnknownDialect(
            f"{path}: unknown format, rows without a header line (first: {', '.join(map(repr, columns))})",
            "put the header line of the tool's file back as line 1",
        )
    if sum(bool(line.strip()) for line in source.head_lines[:3]) == 1:
        return UnknownDialect(
            f"{path}: unknown format, a header without rows ({', '.join(map(repr, columns))})", f"record again, {lists}"
        )
    if unit := next(filter(None, map(_unit_of_time, columns)), ""):
        return UnknownDialect(f"{path}: unknown unit {unit}", "use ns, us, ms or s")
    hint = f"map columns with --map (see: triage facts {path}), {lists}"
    return UnknownDialect(f"{path}: unknown format (first columns: {', '.join(map(repr, columns))})", hint)


def _unit_of_time(column: str) -> str:
    """`'furlongs' in 'Duration (furlongs)'` for a column of times in an unknown unit, "" for any other."""
    named = _UNIT_RE.fullmatch(column)
    return f"{named[2]!r} in {column!r}" if named and schema.by_alias().get(normal(named[1])) == "gpu.time" else ""


def _unknown_folder(folder: Source) -> UnknownDialect:
    children = folder.children()
    if offer := _offer(folder, children):
        return UnknownDialect(f"{folder.path}: a folder, not an export", offer)
    names = ", ".join(c.name for c in children[:3])
    what = f"unknown format (first files: {names})" if names else "folder is empty"
    return UnknownDialect(f"{folder.path}: {what}", f"name a capture, or use: triage batch {folder.path}")


def _offer(folder: Source, children: Iterable[Source]) -> str:
    """What to give instead of a folder that is no export: its file that a dialect is surest of; "" for none."""
    best, offered = 0.0, dict[str, str]()
    for child in list(children)[:MAX_OFFERED]:
        matches, _ = find_matches(child, registry.listed().values())
        match, dialect = max(matches, key=lambda m: m[0].score, default=(Match(0.0, ""), None))
        if dialect is None or match.score < best:
            continue
        if match.score > best:
            best, offered = match.score, {}
        offered[child.path] = dialect.TITLE
    if not offered:
        return ""
    path, title = next(iter(offered.items()))
    others = f", one of {len(offered)} of this kind; or all: triage batch {folder.path}"
    return f"name a file in it: {path} ({title}){others if len(offered) > 1 else ''}"
