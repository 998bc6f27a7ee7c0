"""What a user can say about reading, rules and reports, as one value; it makes the parts that were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import Struct

from triage.ground.method import LATEST
from triage.products.project import Accepted

if TYPE_CHECKING:
    from triage.capture.capture import Capture
    from triage.capture.source import Source
    from triage.diagnosis.diagnosing import Diagnoser
    from triage.reading.stated_needs import Need
    from triage.rulebook.packs import Rulebook


class Settings(Struct, frozen=True):
    """Plain values only: a batch sends them to other processes, and keeps a rulebook per value there.

    dialects: folders of dialect modules, whose code runs. mapping: (column, metric) pairs, sorted. needs: bytes or operations per launch of the kernels that a glob names. min_gain: share of a frame, 0-1. max_unpacked: bytes; None for the reader's
    own limit. scope, budgets, owners, accepted: what the project's file says (see `triage.products.project`). project_note: the same in a line, for reports.
    """

    dialects: tuple[str, ...] = ()
    dialect: str = ""
    device: str = ""
    marker: str = ""
    unfold: bool = False
    mapping: tuple[tuple[str, str], ...] = ()
    needs: tuple[Need, ...] = ()
    events: str = ""
    decimal: str = ""
    max_unpacked: int | None = None
    method: str = LATEST
    engine: str = ""
    rules: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    experimental: bool = False
    formats: tuple[str, ...] = ("html",)
    top: int | None = None
    min_gain: float = 0.0
    full: bool = False
    scope: str = ""
    budgets: tuple[tuple[str, float], ...] = ()
    owners: tuple[tuple[str, str], ...] = ()
    accepted: tuple[Accepted, ...] = ()
    project_note: str = ""

    @property
    def most_unpacked(self) -> int:
        """Bytes that a compressed export may unpack to."""
        from triage.capture.compression import BYTES

        return BYTES if self.max_unpacked is None else self.max_unpacked

    def rulebook(self) -> Rulebook:
        """The rules in force; raises RuleError for a wrong file, TriageError for words that match no rule."""
        from pathlib import Path

        from triage.rulebook import packs

        book = packs.load([Path(r) for r in self.rules])
        return packs.select(book, self.select, self.ignore, self.sets, self.experimental)

    def diagnoser(self) -> Diagnoser:
        """Rules and engine, compiled; raises what `rulebook` does, and TriageError where no engine is installed."""
        from triage.diagnosis.diagnosing import Diagnoser

        return Diagnoser(self.rulebook(), self.method, self.engine)

    def add_dialects(self) -> None:
        """Make the dialects of the user's folders known to this process; raises TriageError for what is none."""
        if self.dialects:
            from triage.dialects import add_folder

            for folder in self.dialects:
                add_folder(folder)

    def read(self, path: str | Source) -> Capture:
        """Read one export; raises CaptureError and its kin in one line."""
        from triage.dialects import Options
        from triage.reading import reader

        self.add_dialects()
        return reader.read(
            path,
            dialect=self.dialect,
            device=self.device,
            marker=self.marker,
            options=Options(mapping=dict(self.mapping), events=self.events, decimal=self.decimal),
            max_unpacked=self.most_unpacked,
            unfold=self.unfold,
            needs=self.needs,
        )


def matches(path: Sequence[str], glob: str) -> bool:
    """True if a glob names this marker, a level above it, or its path (`Frame/Shadows`, `Frame/*/Cascade ?`).

    Names may hold brackets, as `scan [64 x 256]` with its launch shape: the name itself and the part before them match, too.
    """
    levels, want = [level.lower() for level in path], glob.lower()
    whole = "/".join(levels)
    if want in (whole, *levels, *(level.partition(" [")[0] for level in levels)):
        return True
    return fnmatchcase(whole, want) or fnmatchcase(whole, f"{want}/*") or any(fnmatchcase(x, want) for x in levels)
