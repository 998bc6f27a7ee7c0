"""Results of NVIDIA's own rules per launch, with their estimates, as plain text."""

from __future__ import annotations

import re

import numpy as np

from triage.capture.arrays import Indices
from triage.capture.capture import Opinion
from triage.dialects.nvidia.ncu_long import TOOL
from triage.dialects.nvidia.report.container import Contents, text
from triage.dialects.nvidia.report.wire import FieldValues, gather

_KINDS = {2: "WRN", 4: "OPT"}  # types of messages as the file numbers them; 0, 1 and 3: none, fine, failed
_SCOPES = {1: "local", 2: "global"}
_MAX_TEXT_BYTES = 1 << 14  # bytes of a rule's text
# @section:ID:words@, @url:words:address@, @source:address:words@
_MARKUP = re.compile(r"@(?:section|source):[^:@]*:([^@]*)@|@url:([^:@]*):[^@]*@")


def plain(words: str) -> str:
    """A rule's text without its markup, in one line."""
    return " ".join(_MARKUP.sub(lambda m: m[1] or m[2] or "", words).split())


def read(contents: Contents, launch: Indices, begin: Indices, end: Indices) -> list[Opinion]:
    """The warnings and optimisations among rule results: [begin, end) bytes of each, and the launch it belongs to."""
    data = contents.data
    rules = gather(data, begin, end, (1, 3))
    bodies = rules[3].bytes()
    items = gather(data, bodies.start, bodies.stop, (1,))[1].bytes()
    rule = bodies.which[items.which]
    parts = gather(data, items.start, items.stop, (1, 8, 10))
    messages = parts[1].bytes()
    fields = gather(data, messages.start, messages.stop, (1, 2))
    kind = _filled(fields[2], len(messages))
    words = fields[1].bytes()
    have, last = words.last(len(messages))
    keep = np.isin(kind[have], list(_KINDS))
    have, last = have[keep], last[keep]
    item = messages.which[have]
    scope, percent = _estimates(contents, parts[10].bytes(), len(items))
    focus = _focus(contents, parts[8].bytes())
    ids = _texts(contents, rules[1].bytes(), len(begin))
    return [
        Opinion(
            int(launch[rule[i]]),
            TOOL,
            ids[rule[i]],
            _KINDS[int(kind[m])],
            plain(text(data, a, b, _MAX_TEXT_BYTES)) + focus.get(i, ""),
            percent[i] / 100 if np.isfinite(percent[i]) else None,
            _SCOPES.get(int(scope[i]), ""),
        )
        for m, i, a, b in zip(
            have.tolist(), item.tolist(), words.start[last].tolist(), words.stop[last].tolist(), strict=True
        )
    ]


def _filled(found: FieldValues, size: int) -> Indices:
    """One number per message, 0 where it is absent."""
    out = np.zeros(size, dtype=np.int64)
    have, last = found.last(size)
    out[have] = np.minimum(found.value[last], 1 << 30).astype(np.int64)
    return out


def _texts(contents: Contents, found: FieldValues, size: int) -> list[str]:
    out = [""] * size
    have, last = found.last(size)
    known: dict[bytes, str] = {}
    for i, a, b in zip(have.tolist(), found.start[last].tolist(), found.stop[last].tolist(), strict=True):
        raw = bytes(contents.data[a : min(b, a + 200)])
        if raw not in known:
            known[raw] = " ".join(raw.decode("utf-8", "replace").split())
        out[i] = known[raw]
    return out


def _estimates(contents: Contents, found: FieldValues, size: int) -> tuple[Indices, list[float]]:
    """(kind, percent of the run time) per item; NaN where none was made."""
    inner = gather(contents.data, found.start, found.stop, (1, 2))
    scope, percent = np.zeros(size, dtype=np.int64), np.full(size, np.nan)
    scope[found.which] = _filled(inner[1], len(found))
    have, last = inner[2].last(len(found))
    percent[found.which[have]] = inner[2].floats()[last]
    return scope, percent.tolist()


def _focus(contents: Contents, found: FieldValues) -> dict[int, str]:
    """What to change, by item: ` [sm__throughput...: 82.1; increase ...]`."""
    inner = gather(contents.data, found.start, found.stop, (2, 3, 5))
    names, notes = (_texts(contents, inner[n].bytes(), len(found)) for n in (2, 5))
    figures = np.full(len(found), np.nan)
    have, last = inner[3].last(len(found))
    figures[have] = inner[3].floats()[last]
    out: dict[int, str] = {}
    for i, name, figure, note in zip(found.which.tolist(), names, figures.tolist(), notes, strict=True):
        parts = [f"{name}: {figure:.6g}" if np.isfinite(figure) else name, plain(note)]
        out.setdefault(i, f" [{'; '.join(p for p in parts if p)}]" if name else "")
    return out
