"""All dialects by name: bundled, from folders of --dialects, and of installed distributions.

Bundled modules are read as text and imported one by one, when a file may be theirs: importing all costs as much as a
small diagnosis. Installed ones are looked up only if no bundled dialect is certain of a file, or for an unknown name.
"""

from __future__ import annotations

import importlib
from ast import literal_eval
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple, cast

from triage.dialects import outside
from triage.dialects.contract import Dialect, missing_parts
from triage.ground.errors import TriageError


class Entry(NamedTuple):
    """A dialect that need not be imported yet. sign: None without SIGN. folders: True if it may recognise folders."""

    name: str
    sign: tuple[str, ...] | bytes | None
    folders: bool
    load: Callable[[], Dialect]


_added: dict[str, Entry] = {}  # from folders, in the order given
_folders: set[Path] = set()


@cache
def bundled() -> Mapping[str, Entry]:
    """name -> dialect of this package; nothing is imported."""
    home = Path(__file__).parent
    entries = (_declared(home, path) for path in sorted(home.rglob("*.py")))
    return {e.name: e for e in entries if e is not None}


def _declared(home: Path, path: Path) -> Entry | None:
    """The dialect that a bundled module's text declares, None for a module without NAME."""
    text = path.read_text("utf-8")

    def literal(word: str) -> str:
        return text.partition(f"\n{word} = ")[2].partition("\n")[0]

    if not (name := literal("NAME")):
        return None
    sign = literal("SIGN")
    module = ".".join((__package__, *path.relative_to(home).with_suffix("").parts))
    return Entry(
        literal_eval(name),
        literal_eval(sign) if sign else None,
        not sign or literal("FOLDERS") == "True",
        partial(_load, module),
    )


@cache
def _load(module: str) -> Dialect:
    found = importlib.import_module(module)
    if missing := missing_parts(found):
        raise TypeError(f"{module} is no dialect: it lacks {', '.join(missing)}")
    return cast(Dialect, found)


def listed() -> Mapping[str, Entry]:
    """name -> bundled dialects and those of added folders."""
    return {**bundled(), **_added}


@cache
def installed() -> Mapping[str, Entry]:
    """name -> dialects of installed distributions; raises TriageError for a name that a bundled dialect has."""
    entries = {}
    for point in outside.installed():
        if point.name in bundled() or point.name in entries:
            raise TriageError(
                f"{point.owner}: dialect name {point.name!r} is taken",
                f"uninstall {point.owner}, or rename its dialect",
            )
        entries[point.name] = Entry(point.name, None, True, point.load)
    return entries


def add_folder(folder: str) -> list[str]:
    """Add the dialect modules of a folder, for the rest of the process; the names of the new ones.

    Runs their code, once. Raises TriageError for a folder without dialects, a module that is none, and a name that is taken.
    """
    path = Path(folder).resolve()
    if path in _folders:
        return []
    new: dict[str, Entry] = {}
    for file, dialect in outside.in_folder(Path(folder)):
        if dialect.NAME in listed() or dialect.NAME in new:
            raise TriageError(f"{file}: dialect name {dialect.NAME!r} is taken", "choose another NAME")
        new[dialect.NAME] = entry(dialect)
    _added.update(new)
    _folders.add(path)
    return list(new)


def entry(dialect: Dialect) -> Entry:
    """The entry of an imported dialect."""
    sign = getattr(dialect, "SIGN", None)
    return Entry(dialect.NAME, sign, sign is None or getattr(dialect, "FOLDERS", False), lambda: dialect)


def dialects() -> dict[str, Dialect]:
    """name -> dialect, all of them imported; raises TriageError for an installed one that is broken."""
    return {name: e.load() for name, e in {**installed(), **listed()}.items()}


def named(name: str) -> Dialect | None:
    """The dialect of a name, None for an unknown one; no other is imported."""
    wanted = listed().get(name) or (installed().get(name) if name else None)
    return wanted.load() if wanted else None


def require(name: str) -> Dialect:
    """The dialect of a name; raises TriageError for an unknown one, with the likely one."""
    if (dialect := named(name)) is not None:
        return dialect
    close = get_close_matches(name, [*listed(), *installed()], 1)
    raise TriageError(
        f"unknown dialect {name!r}", f"did you mean {close[0]!r}?" if close else "see: triage list dialects"
    )


def tells(dialect: Dialect | str) -> Mapping[str, str]:
    """Facts that all exports of a dialect share: fact -> word of rulebook.applies.FACTS; none for an unknown name."""
    return getattr(named(dialect) if isinstance(dialect, str) else dialect, "TELLS", {})


def has_events(dialect: Dialect) -> bool:
    """True for a dialect whose counters have an event list of their own (`EVENTS`), which --events names."""
    return bool(getattr(dialect, "EVENTS", False))


def noun(names: Iterable[str]) -> str:
    """What a row of these dialects' exports is called: kernel, application (`ROW` of the dialect), else marker."""
    nouns = {getattr(named(n), "ROW", "kernel" if tells(n).get("work") == "compute" else "marker") for n in set(names)}
    return nouns.pop() if len(nouns) == 1 else "marker"
