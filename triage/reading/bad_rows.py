"""Reading without the rows that do not fit: they are set aside, counted and named, and never used as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from triage import dialects
from triage.capture.capture import Quality, Table
from triage.capture.cells import Block
from triage.capture.shape import Misfit
from triage.capture.source import Source
from triage.ground.errors import BadCapture
from triage.ground.phrasing import first_of
from triage.reading import contradictions, duplicates, text_blocks

MAX_NAMED_ROWS = 3  # rows that the remark names; the rest is counted
ROUNDS = 20  # of setting aside; what still does not fit then is no table


def read(
    module: dialects.Dialect, source: Source, options: dialects.Options
) -> tuple[Table, Mapping[int, Sequence[Block]]]:
    """The dialect's table, read again without rows that do not fit where there are some, with a remark for each file.

    Beside it the tables of its files as they stand (text_blocks.small).
    """
    found: dict[str, Misfit] = {}
    sums: dict[int, str] = {}
    against: dict[int, str] | None = None
    for _ in range(ROUNDS):
        try:
            table = module.read(source, options)
        except Misfit as e:
            before = found.setdefault(e.path, e)
            before.lines |= e.lines
            source = source.without(e.path, e.lines)
            continue
        duplicates.refuse(table.files)
        if not sums and source.find is None and (sums := duplicates.totals(table)):
            source = source.without(table.files[0].path, sums)
            continue
        blocks = text_blocks.small(table)
        if against is None and not found:
            against, whole = contradictions.remove(module, table, blocks.get(0, ()))
            table.quality += whole
            if against:
                source = source.without(table.files[0].path, against)
                continue
        aside = found[source.path].lines if source.path in found else {}
        table.excluded = frozenset((*aside, *sums, *(against or {})))
        table.quality += contradictions.remark(against or {})
        table.quality += [_remark(e, e.path == source.path) for e in found.values()]
        table.quality += duplicates.remarks(table) + [_total(line, name) for line, name in sums.items()]
        return table, blocks
    first = next(iter(found.values()))
    raise BadCapture(f"{first.path}: {_where(first)}; many rows do not match the header", "export again")


def ends(files: Iterable[Source]) -> list[Quality]:
    """A remark for each text file whose last line has no end: a number cut there still looks like a number."""
    out = []
    for file in files:
        last = file.last_line
        whole = last.endswith(("\n", "\r", '"', "}", "]", ")"))
        if last.strip() and (not whole or last.rpartition("\n")[2].count('"') == 1):
            what = f"the last line of {file.name} ends in {last[-12:]!r} without a line end: it may have been cut there"
            out.append(Quality("no-last-line-end", what))
    return out


def _total(line: int, name: str) -> Quality:
    text = f"line {line}: {name[:40]!r} is the sum or mean of the other rows, not a workload: excluded"
    return Quality("total-row", text)


def _remark(e: Misfit, alone: bool) -> Quality:
    count = len(e.lines)
    rows = f"{count} of {e.rows} {'row was' if count == 1 else 'rows were'}"
    file = "" if alone else f" of {Path(e.path).name}"
    return Quality("rows-set-aside", f"{rows} excluded{file}, not matching the header: {_where(e)}", doubt=True)


def _where(e: Misfit) -> str:
    return first_of([f"line {line}: {why}" for line, why in sorted(e.lines.items())], MAX_NAMED_ROWS, sep="; ")
