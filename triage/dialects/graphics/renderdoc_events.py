"""RenderDoc's event tree as text (Event Browser, Export): event id -> name and markers above it.

The counters' CSV has ids only; both files are of one capture, and ids join them.
"""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct, field

from triage.capture.source import Source
from triage.ground.errors import BadCapture, CaptureError

_HEAD = re.compile(r"^\s*EID\s*\|\s*Event\b", re.IGNORECASE)
_ROW = re.compile(r"^\s*(\d{1,18})\s*\|(\s*)(\\?-)?\s?(.*)$")
_MAX_TEXT_FILES = 40  # text files of the folder that are looked into


class EventTree(Struct):
    """One entry per event id: name, markers above it, 1-based line; `source` is where they come from."""

    source: Source
    names: dict[int, str] = field(default_factory=dict)
    parents: dict[int, tuple[str, ...]] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)


def is_events(source: Source) -> bool:
    """True if the head holds the `EID | Event | ...` header."""
    return any(_HEAD.match(line) for line in source.head_lines[:10])


def parse(source: Source) -> EventTree:
    """The tree; depth is half the indent, rounded up: a first child has an odd indent (`\\-`), later ones an even one."""
    tree = EventTree(source)
    stack: list[str] = []
    started = False
    for number, line in enumerate(source.lines(), 1):
        if not started:
            started = bool(_HEAD.match(line))
            continue
        m = _ROW.match(line)
        if m is None:
            continue
        text = m[4]
        cut = text.rfind("|")  # the last column is the action number; event text may hold anything but a final bar
        if cut >= 0 and re.fullmatch(r"\s*(?:\d+(?:-\d+)?)?\s*", text[cut + 1 :]):
            text = text[:cut]
        depth = len(m[2]) // 2  # one blank follows the bar; indents are 1, 2, 4, 6 ... or 3, 5 ... for first children
        eid = int(m[1])
        del stack[depth:]
        while len(stack) < depth:
            stack.append("")
        tree.names[eid], tree.lines[eid] = text.strip(), number
        tree.parents[eid] = tuple(s for s in stack if s)
        stack.append(text.strip())
    return tree


def find(source: Source, wanted: str, ids: set[int]) -> tuple[EventTree | None, str]:
    """The event tree of a counters file, and a note: the one asked for, else the only one beside it that fits.

    wanted: path of an event tree, "" to look beside the file. ids: event ids of the counters. Raises BadCapture when
    the file asked for is no event tree.
    """
    if wanted:
        given = source.related(wanted)
        if not is_events(given):
            raise BadCapture(
                f"{wanted}: not an event list of RenderDoc", "export it: Event Browser > Export > text file"
            )
        tree = parse(given)
        share = len(ids & tree.names.keys()) / max(len(ids), 1)
        doubt = "" if share > 0.5 else f"only {share:.0%} of the events are in {wanted}: is it of the same capture?"
        return tree, doubt
    if source.path == "-":  # nothing lies beside a pipe
        return None, ""
    folder = Path(source.path).parent
    stem = source.name.lower()
    try:
        files = sorted(p for p in folder.iterdir() if p.suffix.lower() in (".txt", ".log") and p.is_file())[
            :_MAX_TEXT_FILES
        ]
    except OSError:
        return None, ""
    trees = []
    for path in files:
        try:
            if is_events(candidate := source.related(path)):
                trees.append(parse(candidate))
        except CaptureError:
            continue
    # ids are running numbers: another capture's tree has many of them too, so nearly all must be there
    fitting = [t for t in trees if len(ids & t.names.keys()) >= 0.9 * len(ids)]
    named = [t for t in fitting if _twin(t.source.name) == _twin(stem)]
    if len(named) == 1 or len(fitting) == 1:
        tree = (named if len(named) == 1 else fitting)[0]
        return tree, f"event names from {tree.source.name}, found beside the counters"
    if fitting:
        return None, f"{len(fitting)} event lists beside this file fit; choose one with --events"
    return None, ""


def _twin(name: str) -> str:
    """What `frame-counters.csv` and `frame-events.txt` have in common: `frame`."""
    return re.sub(r"(?i)(counters?|events?|perf|eventlist)", "", name.rpartition(".")[0].lower()).strip("-_. ")
