"""nvprof, summary per kernel: total time, calls, mean, shortest and longest run."""

from __future__ import annotations

import numpy as np

from triage.capture.capture import Column, Table
from triage.capture.redundancy import Extremes, Ordered, Product, Shares
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects import Match, Options
from triage.dialects.nvidia import nvprof, nvprof_metrics
from triage.ground import units
from triage.ground.errors import NotTriageable, UnknownUnit
from triage.schema import normal

NAME = "nvprof-summary"
SIGN = ("time(%)", "avg", "nvprof", "profiling")
TELLS = {"work": "compute", "vendor": "nvidia", "api": "cuda"}
TITLE = "nvprof CSV, summary per kernel"
CAPTURE = nvprof.CAPTURE
REDUNDANT = (
    Product(("time",), ("calls",), ("avg",)),
    Shares(("time%",), ("time",)),
    Ordered((("min",), ("avg",), ("max",))),
    Extremes(("time",), ("calls",), ("min",), ("max",)),
)
_TIMES = {"gpu.time": "time", "gpu.time_min": "min", "gpu.time_max": "max"}


def names() -> dict[str, list[str]]:
    """canonical id -> header."""
    return {"gpu.time": ["Time"], "gpu.time_min": ["Min"], "gpu.time_max": ["Max"], "frame.calls": ["Calls"]}


collect = nvprof_metrics.collect


def recognise(source: Source) -> Match | None:
    """Time(%), Calls, Avg, Name; and every nvprof output without a table, to refuse it by name."""
    found = nvprof.find(source)
    if any(f.kind == "summary" for f in found):
        return Match(0.9, "nvprof summary columns: Time(%), Time, Calls, Avg, Min, Max, Name")
    if not found and nvprof.is_text(source):
        return Match(0.8, "nvprof output without a CSV table")
    if found and all(f.kind == "unified memory" for f in found):
        return Match(0.7, "an nvprof table without kernels")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per GPU activity; API calls are left out. Raises NotTriageable when nothing ran on the GPU."""
    found = [f for f in nvprof.find(source) if f.kind == "summary"]
    if not found:
        raise nvprof.refuse(source, nvprof.find(source))
    best = found[0]
    low = [normal(h) for h in best.headers]
    rows = nvprof.records(source, best)
    # versions with a Type column print GPU activities and API calls in one table
    of_type = low.index("type") if "type" in low else -1
    gpu = [
        (n, r) for n, r in rows if of_type < 0 or not r[of_type].strip() or r[of_type].strip().lower().startswith("gpu")
    ]
    name = low.index("name")
    if of_type < 0:  # API tables look the same: their names are C functions of the runtime
        gpu = [(n, r) for n, r in gpu if not r[name].startswith(("cuda", "cu")) or "(" in r[name]]
    if not gpu:
        raise NotTriageable(
            f"{source.path}: nvprof summary of {len(rows)} API calls, without GPU work",
            "run: nvprof --csv --print-gpu-summary ./your-app",
        )
    table = Table(
        NAME,
        [source],
        np.array([r[name] for _, r in gpu], dtype=object),
        {},
        lines=np.array([n for n, _ in gpu]),
    )
    odd = Odd()
    for metric, header in _TIMES.items():
        if header in low:
            c = low.index(header)
            table.columns[metric] = _time(source, best, gpu, c, odd)
    calls = low.index("calls")
    table.columns["frame.calls"] = Column(
        np.array([odd.number(r[calls], "us", best.headers[calls], n) for n, r in gpu], dtype=float),
        best.headers[calls],
        best.position(calls),
    )
    table.quality += odd.remarks()
    table.kinds = np.array(["copy" if n.startswith("[CUDA ") else "compute" for n in table.names], dtype=object)
    table.unmapped = [h for i, h in enumerate(best.headers) if h and low[i] not in ("name", "calls", *_TIMES.values())]
    table.notes.append("an nvprof summary: times without counters")
    if len(gpu) < len(rows):
        table.notes.append(f"{len(rows) - len(gpu)} API calls in the table were left out")
    return table


def _time(source: Source, found: nvprof.TableLocation, rows: list[tuple[int, list[str]]], c: int, odd: Odd) -> Column:
    """A time column in ns, its unit from the unit record or the values; raises UnknownUnit without either."""
    values: list[float] = []
    seen: set[str] = set()
    for line, row in rows:
        text = row[c]
        try:
            value, glued = units.parse_glued(text)
            unit = glued or found.units[c]
            factor = units.factor(unit, "ns") if unit else 1.0
        except (ValueError, UnknownUnit):
            odd.number(text, "us", found.headers[c], line)
            values.append(np.nan)
            continue
        if value is None and units.not_finite(text):
            odd.add("not-finite", text, found.headers[c], line)
        if value is not None and not unit:
            raise UnknownUnit(
                f"{source.path}:{found.line}: column {found.headers[c]!r} has no unit",
                "export with nvprof --csv",
            )
        values.append(np.nan if value is None else value * factor)
        if glued and found.units[c] not in ("", glued):
            odd.add("own-unit", text, found.headers[c], line)
        seen.add(unit)
    seen.discard("")
    unit = "|".join(sorted(seen))
    factor = units.factor(unit, "ns") if len(seen) == 1 else 1.0  # mixed: no single one leads back to the cells
    return Column(np.array(values), found.headers[c], found.position(c), unit, factor)
