"""Tables that a tool wrote beside a file that is not read, by the same stem."""

from __future__ import annotations

from triage.capture.source import Source


def advice(source: Source, otherwise: str) -> str:
    """`give results.csv or results.stats.csv, of the same run`, where they are there, else what to do otherwise."""
    stem = source.name.removesuffix(".gz").rpartition(".")[0]
    found = [f.path for ending in (".csv", ".stats.csv") if (f := source.sibling(stem + ending)) is not None]
    return f"give {' or '.join(found)}, of the same run" if found else otherwise
