"""Columns of a GPUTRACE_REGIMES table: chunk by chunk, mapped columns only, one mean per repeated (per-
frame) counter.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pandas as pd

from triage import units
from triage.dialects import Options, _pw, _wide
from triage.errors import BadCapture
from triage.model import Column, Quality, Table
from triage.source import Source

_CHUNK = 6 << 20  # bytes of text per chunk: keeps the parser's tables small
HOW = (
    'export again with: ngfx --activity="GPU Trace Profiler" ... --auto-export, without --multi-pass-metrics,'
    " and give the folder or its GPUTRACE_REGIMES.xls"
)


def style(source: Source, line: int, sep: str, wanted: Sequence[int], options: Options) -> units.Style:
    """The number style; raises UnknownUnit when values contradict each other."""
    if options.decimal:
        return "eu" if options.decimal in ("comma", "eu") else "us"
    keep = set(wanted)
    texts = (c for row in source.head_lines[line : line + 500] for i, c in enumerate(row.split(sep)) if i in keep)
    # the exporter writes '.' whatever the locale; only proof of the contrary changes that
    return units.style(texts, f"{source.path}: ", None if sep == "," else "us") if sep != "," else "us"


def columns(
    source: Source, line: int, width: int, wanted: list[int], style: units.Style
) -> tuple[dict[int, Any], list[str], Any, list[Quality]]:
    """(numbers by column, marker paths, explicit lines or None, remarks), chunk by chunk through the C
    parser.
    """
    rows = max(64, _CHUNK // max(8 * width, 1))
    quality: list[Quality] = []
    parts: dict[int, list[Any]] = {c: [] for c in wanted}
    paths: list[str] = []
    lines: list[Any] = []
    handle: Any = source.plain_path or source.open()
    reader: Any = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = pd.read_csv(
                handle,
                sep=source.delimiter,
                header=None,
                names=list(range(width)),
                index_col=False,
                usecols=[0, *wanted],
                dtype=cast(Any, {0: object}),
                skiprows=line,
                skip_blank_lines=False,
                keep_default_na=False,
                na_values=cast(Any, {c: [""] if c == 0 else _wide._NA for c in (0, *wanted)}),
                encoding=source.encoding,
                encoding_errors="replace",
                thousands="," if style == "us" else ".",
                decimal="." if style == "us" else ",",
                low_memory=False,
                engine="c",
                chunksize=rows,
                quoting=csv.QUOTE_NONE if source.delimiter == "\t" else csv.QUOTE_MINIMAL,
            )
            start = line + 1
            for chunk in reader:
                keep = ~chunk.isna().all(axis=1).to_numpy()
                lines.append(np.flatnonzero(keep) + start)
                start += len(chunk)
                if not keep.all():
                    chunk = chunk[keep]
                paths += [str(p) for p in chunk[0].fillna("")]
                for c in wanted:
                    parts[c].append(_wide._floats(chunk[c], style, source, c, quality))
    except (
        pd.errors.ParserError,
        pd.errors.EmptyDataError,
        UnicodeError,
        csv.Error,
        ValueError,
        OverflowError,
    ) as e:
        if isinstance(e, pd.errors.EmptyDataError):
            raise BadCapture(f"{source.path}: a header but no rows", HOW) from e
        wide = _wide._slow(source, line, width, wanted, [0], style, set(), None)
        return wide.numbers, [str(p) for p in wide.texts[0]], wide.lines, wide.quality
    finally:
        if reader is not None:
            reader.close()
        if source.plain_path is None:
            handle.close()
    if not paths:
        raise BadCapture(
            f"{source.path}: a header but no markers",
            "the application emitted no markers, or the export was cut",
        )
    number = np.concatenate(lines)
    straight = bool((number == np.arange(line + 1, line + 1 + len(number))).all())
    unique = {(q.check, q.message): q for q in quality}
    return (
        {c: np.concatenate(p) if len(p) > 1 else p[0] for c, p in parts.items()},
        paths,
        None if straight else number,
        list(unique.values()),
    )


def mean(table: Table, header: str, values: list[Any], columns: list[int], file: int, bare: bool) -> Column:
    """A counter's column; over several frames its mean, with the frames' cells as inputs where memory
    allows.
    """
    unit = _pw.unit_of(header)
    factor = 0.01 if unit else 1.0
    if len(values) == 1:
        return Column(values[0] * factor if unit else values[0], header, columns[0] + 1, unit, factor, file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        average = np.nanmean(np.stack(values), axis=0) * factor
    shown = ", ".join(str(c + 1) for c in columns[:6]) + (", ..." if len(columns) > 6 else "")
    formula = f"mean of {len(values)} frames, columns {shown}"
    if bare:
        return Column(average, header, columns[0] + 1, unit, factor, file, formula=formula)
    keys = tuple(f"{header} (frame {k})" for k in range(1, len(values) + 1))
    for key, c, v in zip(keys, columns, values, strict=True):
        table.raw[key] = Column(v * factor, header, c + 1, unit, factor, file)
    return Column(average, header, 0, unit, factor, file, formula=formula, inputs=keys)


def clocks(table: Table) -> None:
    """Clock columns come in MHz without saying so; by magnitude, else they are dropped."""
    for metric in ("sm.frequency", "vram.frequency", "l2.frequency"):
        column = table.columns.get(metric)
        if column is None:
            continue
        factor = _pw.clock_factor(column.values)
        if factor is None:
            table.notes.append(f"{column.header}: neither Hz nor MHz by its size; not used")
            table.unmapped.append(table.columns.pop(metric).header)
        elif factor != 1.0:
            column.values, column.unit, column.factor = column.values * factor, "MHz", factor
