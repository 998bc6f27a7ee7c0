"""Which dialect reads a source: all that may know it are asked, and the strongest match wins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects import registry
from triage.dialects.contract import Dialect, Match
from triage.dialects.registry import Entry
from triage.ground.errors import CaptureError, NotTriageable, UnknownDialect

MIN_CERTAIN = 0.6  # score from which installed dialects are not asked; tables of no tool score 0.3
MAX_OFFERED = 32  # files of a folder that are looked at, to name the one to give


def pick(source: Source, wanted: str = "", mapped: bool = False) -> tuple[Dialect, str]:
    """The dialect of a source and why; raises UnknownDialect with the columns seen, NotTriageable for an empty file.

    wanted: a dialect's name, TriageError if there is none. mapped: the user gave --map, so a table that no dialect
    recognises is read as generic.
    """
    if wanted:
        return registry.require(wanted), "asked for with --dialect"
    matches, refusals = find_matches(source, registry.listed().values())
    if max((m.score for m, _ in matches), default=0.0) < MIN_CERTAIN:
        more, more_refusals = find_matches(source, registry.installed().values())
        matches, refusals = matches + more, refusals + more_refusals
    if matches:
        # the name breaks ties, so that the choice does not depend on the order of files
        match, dialect = max(matches, key=lambda m: (m[0].score, m[1].NAME))
        return dialect, match.why
    if refusals:  # not text, and no profiler's own file either: why it is not says more than "unknown"
        raise refusals[0]
    if not source.is_folder and not source.head_text.strip():
        raise NotTriageable(f"{source.path}: the file is empty", "export again")
    if mapped and not source.is_folder:
        return registry.bundled()["generic"].load(), "columns mapped with --map"
    raise _unknown(source)


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
        if e.folders if source.is_folder else text is None or e.sign is None or any(word in text for word in e.sign):
            yield e.load()


def _plain_text(source: Source) -> str | None:
    """The head of a text file in lower case, without its numbers; None for anything else."""
    if source.is_folder or b"\0" in source.head:
        return None
    with suppress(CaptureError):
        # no SIGN has digits or commas, of which a table is full: words are found in a fifth of the time
        return source.head_text.lower().encode("utf-8", "replace").translate(None, b"0123456789,").decode("utf-8")
    return None


def _unknown(source: Source) -> UnknownDialect:
    """Why a source cannot be read, and what to do instead."""
    lists = "or list supported formats: triage list dialects"
    if not source.is_folder:
        first = [repr(c.strip()[:40]) for c in cells(_first_line(source))[:3]]
        seen = f"first columns: {', '.join(first)}" if len(first) > 1 else f"first line: {''.join(first)}"
        hint = f"map columns with --map (see: triage facts {source.path}), {lists}"
        return UnknownDialect(f"{source.path}: unknown format ({seen})", hint)
    children = source.children()
    if offer := _offer(source, children):
        return UnknownDialect(f"{source.path}: the folder as a whole is no export", offer)
    names = ", ".join(c.name for c in children[:3])
    hint = "give a capture, or diagnose all below a folder: triage batch FOLDER"
    return UnknownDialect(
        f"{source.path}: unknown format (first files: {names})" if names else f"{source.path}: the folder is empty",
        f"{hint}; {lists}" if names else hint,
    )


def _first_line(source: Source) -> str:
    return next((line for line in source.head_lines if line.strip()), "")


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
    others = f", one of {len(offered)} of its kind here; all at once: triage batch {folder.path}"
    return f"give the file itself: {path} ({title}){others if len(offered) > 1 else ''}"
