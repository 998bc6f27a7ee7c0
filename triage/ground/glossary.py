"""The words of reports, one short entry each, with their names across vendors and APIs and the sources.

The entries are data (glossary.toml beside this file) and read on first use; tooltips, `triage explain TERM` and
docs/glossary.md come from them.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TypedDict

from msgspec import Struct

from triage.ground.method import stated
from triage.ground.stalls import STALLS

__all__ = ["Entry", "close", "entries", "find"]

_FILE = Path(__file__).resolve().parent / "glossary.toml"


class Entry(Struct, frozen=True):
    """One term. also: other spellings that find it. names: vendor or API -> its word. heard: words of ours that
    another vendor's name replaces in sentences about its GPU. plain: the one of them to use where no name fits. see:
    related terms."""

    term: str
    meaning: str
    also: tuple[str, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    heard: tuple[str, ...] = ()
    plain: str = ""
    see: tuple[str, ...] = ()
    cites: tuple[tuple[str, str], ...] = ()


# The keys of one table of the file; "is", which Python keeps for itself, rules the class form out.
_Term = TypedDict(
    "_Term",
    {
        "is": str,
        "also": list[str],
        "names": dict[str, str],
        "heard": list[str],
        "plain": str,
        "see": list[str],
        "cite": list[str],
    },
    total=False,
)


@cache
def entries() -> tuple[Entry, ...]:
    """Every entry, in alphabetical order."""
    data = tomllib.loads(_FILE.read_text("utf-8"))
    sources = {key: (str(v["text"]), str(v.get("url", ""))) for key, v in data["sources"].items()}
    terms: dict[str, _Term] = data["terms"]
    found = [_entry(term, v, sources) for term, v in terms.items()]
    found += _stalls(sources)
    return tuple(sorted(found, key=lambda e: e.term.casefold()))


def _entry(term: str, v: _Term, sources: dict[str, tuple[str, str]]) -> Entry:
    return Entry(
        term,
        stated(" ".join(v["is"].split())),
        tuple(v.get("also", ())),
        tuple(v.get("names", {}).items()),
        tuple(v.get("heard", ())),
        v.get("plain", ""),
        tuple(v.get("see", ())),
        tuple(sources[key] for key in v.get("cite", ())),
    )


def _stalls(sources: dict[str, tuple[str, str]]) -> list[Entry]:
    """One entry per stall reason, from the schema's own words."""
    out = []
    for reason, meaning in STALLS.items():
        name = reason.replace("_", " ")
        text = f"Stall reason of a warp: {meaning}."
        out.append(
            Entry(
                f"stall: {name}",
                text,
                (name, reason, f"stall {name}", f"stall_{reason}", f"stall.{reason}"),
                (),
                (),
                "",
                ("stall",),
                (sources["ncu"],),
            )
        )
    return out


def _plain(text: str) -> str:
    return re.sub(r"[\s_\-]+", " ", text.strip().casefold())


@cache
def _index() -> dict[str, Entry]:
    table: dict[str, Entry] = {}
    for words in (
        lambda e: (e.term,),
        lambda e: e.also,
        lambda e: tuple(w for _, n in e.names for w in re.split(r", | / ", n)),
    ):
        for entry in entries():  # a term's own name wins over other spellings, and these over vendors' names
            for word in words(entry):
                table.setdefault(_plain(word), entry)
    return table


def find(term: str) -> Entry | None:
    """The entry a word means, in any case, by any of its names; a plural finds the singular."""
    table, word = _index(), _plain(term)
    return table.get(word) or (table.get(word[:-1]) if word.endswith("s") else None)


def close(text: str) -> list[str]:
    """Terms that look like `text`."""
    import difflib  # only for words that are not found

    return [_index()[w].term for w in difflib.get_close_matches(_plain(text), list(_index()), 3, 0.7)]


# Read on first use: most commands never show a term, and parsing the file costs every one of them.
def __getattr__(name: str) -> dict[str, Entry]:
    if name == "TERMS":  # term -> Entry, for the pages that list them
        return {e.term: e for e in entries()}
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
