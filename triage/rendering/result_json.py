"""The result as JSON, streamed: one finding or workload per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import orjson

from triage.document.bundle import Bundle
from triage.files import plain_json
from triage.rendering.findings_csv import Write

CHUNK_ENTRIES = (
    500  # entries written at once: a write is looked at for what a terminal would obey, each at its own cost
)


def write_json(b: Bundle, write: Write) -> None:
    """Write the result (schema triage/1). Workloads are made as they are written; everything else is fetched already."""
    write("{\n")
    for n, (key, value) in enumerate(b.view.items()):
        write((",\n" if n else "") + f'"{key}":')
        if isinstance(value, dict | str) or not isinstance(value, Iterable):
            write(_dump(value))
            continue
        write("[")
        for k, lines in enumerate(_pieces(value)):
            write(("," if k else "") + "\n" + lines)
        write("\n]")
    write("\n}\n")


def _pieces(entries: Iterable[object]) -> Iterator[str]:
    waiting = map(_dump, entries)
    while some := list(islice(waiting, CHUNK_ENTRIES)):
        yield ",\n".join(some)


def _dump(value: object) -> str:
    try:
        return plain_json.plain(orjson.dumps(value).decode())
    except TypeError:  # a lone surrogate in a path, an integer beyond 64 bits
        # the slow way, for this one entry; a character that UTF-8 has no place for becomes `?`
        return plain_json.dumps(value)
