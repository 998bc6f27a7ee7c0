"""One profiler export per module; this folder is the registry.

A dialect module declares NAME, TITLE, CAPTURE (how to make such an export) and three functions:

    recognise(source) -> Match | None      by content; the strongest match reads the file
    read(source, options) -> Table         raises BadCapture / NotTriageable
    names() -> dict[str, list[str]]        canonical id -> names this tool gives it (what it can export)

and optionally TELLS, the facts that all its exports share (work, vendor, api, framework; words of rulebook.applies.FACTS), ROW,
what a row of them is called, and `collect(metrics) -> str`: the exact command or menu path that collects metrics.
`names` and `collect` may take `arch`, where the counters differ by generation of the GPU.

SIGN, optional: words in lower case of which at least one stands in the head of every text file that it recognises, or
the bytes with which each of its files begins; with it FOLDERS = True if it recognises folders. Only then is a dialect
asked, and a bundled one imported: here both are read as text, each one literal on one line. Files that are no text are
shown to all without such bytes.

To add one, put a module into any folder below this one; nothing else lists it. Folders are named after who writes the
exports; a dialect lies beside what it alone uses, `tables/` holds what all share. Dialects from outside this package:
docs/dialect.md. Three things stand elsewhere:

- Files that lie beside an export and belong to it are found by the reader itself, but a batch must not take them for
  captures of their own: declare them in `_FAMILIES` of triage/products/batch/find.py.
- What Nsight Compute calls a metric, which spelling wins and how to collect it is `nvidia/ncu_names.py`, for all its
  pages together.
- A counter whose meaning no tool disputes is an alias in triage/schema, not a table of a dialect.
"""

from triage.dialects.contract import Dialect, Match, Options, always, collector, exportable
from triage.dialects.picking import is_known, pick
from triage.dialects.registry import add_folder, dialects, has_events, named, noun, require, tells

__all__ = [
    "Dialect",
    "Match",
    "Options",
    "add_folder",
    "always",
    "collector",
    "dialects",
    "exportable",
    "has_events",
    "is_known",
    "named",
    "noun",
    "pick",
    "require",
    "tells",
]
