"""Findings as a table: the columns of CSV reports, Parquet files, pandas and a batch's findings.csv, once."""

from __future__ import annotations

from typing import TypeAlias

COLUMNS = tuple(
    "rank capture workload path name limiter_class rule rule_name title level confidence saved_ms fraction share speedup "
    "message evidence advice fingerprint".split()
)
Row: TypeAlias = list[str | int | float | None]  # one finding under COLUMNS
# what a number counts; a share of one where it says so
UNITS = {
    "saved_ms": "ms",
    "fraction": "share of the workload's time",
    "share": "share of the capture's time",
    "speedup": "factor on the workload",
}
NUMBERS = ("saved_ms", "fraction", "share", "speedup")  # null or a float; rank is a whole number, the rest is text
