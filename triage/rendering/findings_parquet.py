"""Findings as a Parquet table, with the unit and meaning of each column in its schema; nothing without pyarrow."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import orjson

from triage.document.finding_rows import COLUMNS, NUMBERS, UNITS
from triage.ground.errors import ReportError

GROUP = 2_000  # findings of a row group, at least


@contextlib.contextmanager
def parquet(path: Path) -> Iterator[Callable[[Sequence[Sequence[object]]], None]]:
    """Where rows under COLUMNS go that are the table when the block ends. Raises ReportError where it cannot be written."""
    try:
        import pyarrow as pa
        import pyarrow.json as pj
        import pyarrow.parquet as pq
    except ImportError:
        yield lambda found: None
        return
    kinds = {"rank": pa.int64(), **dict.fromkeys(NUMBERS, pa.float64())}
    schema = pa.schema(
        [
            pa.field(name, kinds.get(name, pa.string()), metadata={"unit": UNITS[name]} if name in UNITS else None)
            for name in COLUMNS
        ]
    )
    parsing = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    waiting: list[bytes] = []

    def group() -> None:
        # by its own JSON parser: to make columns of lists it imports pandas first
        lines = b"\n".join(waiting)
        whole = pj.ReadOptions(use_threads=False, block_size=len(lines) + 1)
        # the parser drops what the schema says beyond names and types
        writer.write_table(pj.read_json(io.BytesIO(lines), whole, parsing).cast(schema))
        waiting.clear()

    def add(found: Sequence[Sequence[object]]) -> None:
        waiting.extend(orjson.dumps(dict(zip(COLUMNS, row, strict=True))) for row in found)
        if len(waiting) >= GROUP:  # a night's findings need not fit in memory, nor what is known of a group per capture
            group()

    # not writing.atomic: pyarrow opens the file itself, and writes bytes
    part = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    try:
        with pq.ParquetWriter(part, schema) as writer:
            yield add
            if waiting:
                group()
        os.replace(part, path)
    except (OSError, pa.ArrowException) as e:
        raise ReportError(f"{path}: cannot be written ({e})", "check space and permissions") from e
    finally:
        part.unlink(missing_ok=True)
