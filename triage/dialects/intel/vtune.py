"""Intel VTune Profiler: the hotspots report of a GPU analysis as CSV, one computing task (kernel) per row.

`vtune -report hotspots -group-by computing-task -format csv` over a gpu-hotspots or gpu-offload result. Which columns there are
depends on the GPU and the preset; columns named below are those of Xe GPUs (XVE) and of those before (EU). Times are seconds.
"""

from __future__ import annotations

import re

import numpy as np

from triage import devices
from triage.capture.capture import Column, Table
from triage.capture.cells import cells, delimiter
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects import Match, Options
from triage.dialects.tables import device_name, extents, wide_table
from triage.ground import csv_rows
from triage.ground.collect_command import Command
from triage.ground.errors import BadCapture, NotTriageable

NAME = "vtune"
SIGN = ("computing task",)
TELLS = {"work": "compute", "vendor": "intel", "api": "sycl"}
TITLE = "Intel VTune Profiler, hotspots report by computing task (CSV)"
CAPTURE = """\
    vtune -collect gpu-hotspots -knob characterization-mode=full-compute -r result -- ./app
    vtune -report hotspots -r result -group-by computing-task -format csv -csv-delimiter tab -report-output kernels.csv

The report of a gpu-offload result has the same shape and fewer metrics. A tab as delimiter is the better choice: names of some
columns hold commas. The summary (`vtune -report summary`, as printed or as CSV) is read by its table of hottest computing tasks.
"""
_TIMES = ("Computing Task:Total Time", "Total Time", "GPU Time")
# name in the report without its unit -> (canonical id, factor to its unit)
_METRICS = csv_rows.factors(__file__, "vtune.csv")
_RATIOS = {"GPU L3:Miss Ratio": "l3.hit_rate", "GPU Load Store Cache:Miss Ratio": "lsc.hit_rate"}  # of hits: 1 - it
_READ, _WRITTEN = "GPU Memory Bandwidth, GB/sec:Read", "GPU Memory Bandwidth, GB/sec:Write"
# GB/s of the tasks' own time -> (canonical id, bytes per unit)
_RATES = {
    "GPU Shared Local Memory:Average Bandwidth, GB/sec:Read": ("slm.bytes_read", 1.0),
    "GPU Shared Local Memory:Average Bandwidth, GB/sec:Write": ("slm.bytes_written", 1.0),
    "GPU Shared Local Memory:Average Bandwidth, GB/s": ("slm.accesses", 64.0),
    "GPU L3:Average Bandwidth, GB/sec:Read": ("l3.reads", 64.0),
    "GPU L3:Average Bandwidth, GB/sec:Write": ("l3.writes", 64.0),
}
_GLOBAL, _LOCAL = "Work Size:Global", "Work Size:Local"
_COPY = re.compile(r"zeCommandListAppend(?:Memory|Image)|clEnqueue(?:Read|Write|Copy|Fill)")
_OUTSIDE = "[Outside any task]"
_TASKS = ("Computing Task", "Source Computing Task")


_TITLE_RE = re.compile(r"[\s\d,;\"]{0,40}(?:Hottest|Top) (?:GPU )?Computing Tasks\b", re.IGNORECASE)
_CELL_RE = re.compile(r'"?\d{1,2}"?([\t,;])"?(?:Hottest|Top) (?:GPU )?Computing Tasks\b', re.IGNORECASE)
_RULE_RE = re.compile(r"\s*-{3,}(?:\s+-{3,})+\s*")
_VALUE_RE = re.compile(r"\s*([-+]?[\d.,]+)\s*(?:s|sec|%)\s*")
_LAMBDA_RE = re.compile(r"typeinfo name for\s+")
FIRST_LINES = 400  # of a summary, which prints host tasks and elapsed times before


def names() -> dict[str, list[str]]:
    """The columns of the presets for Xe."""
    out = {"gpu.time": list(_TIMES), "launch.grid_size": [_GLOBAL], "launch.block_size": [_LOCAL]}
    for name, (metric, _) in _METRICS.items():
        out.setdefault(metric, []).append(name)
    for name, (metric, _) in _RATES.items():
        out.setdefault(metric, []).append(name)
    return out | {m: [n] for n, m in _RATIOS.items()} | {"vram.bandwidth": [_READ, _WRITTEN]}


def _plain(header: str) -> str:
    """`EU Array:Active(%)` -> `XVE Array:Active`."""
    bare = re.sub(r"\s*\((?:%|s|sec|B|bytes)\)\s*\Z", "", header.strip())
    return re.sub(r"\bEU\b", "XVE", bare).replace("GB/s:", "GB/sec:")


def _header(source: Source) -> tuple[int, list[str]]:
    """Line and cells of the header, below what VTune printed; (0, []) without a column of computing tasks."""
    for number, line in enumerate(source.head_lines[:FIRST_LINES], 1):
        if line.lstrip('"').startswith(_TASKS):
            source.delimiter = delimiter(line)
            found = [c.strip() for c in cells(line, source.delimiter)]
            whole: list[str] = []
            for cell in found:  # an unquoted `GPU Memory Bandwidth, GB/sec:Read` is one column
                if whole and cell.startswith("GB/s") and source.delimiter == ",":
                    whole[-1] += f", {cell}"
                else:
                    whole.append(cell)
            return number, whole
    return 0, []


def recognise(source: Source) -> Match | None:
    """A column of computing tasks and one of times or of vector engines."""
    line, headers = _header(as_table(source))
    plain = {_plain(h) for h in headers}
    if line and (plain & {*_TIMES, *_METRICS} - {"TLB Misses"}):
        return Match(0.9, f"VTune's hotspots by computing task ({', '.join(headers[:3])}, ...) on line {line}")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per computing task; NotTriageable for a report without times, BadCapture without rows."""
    printed, source = source, as_table(source)
    line, headers = _header(source)
    if not line:
        raise BadCapture(f"{source.path}: not a VTune report by computing task", "see: triage facts FILE")
    at = {_plain(h): i for i, h in reversed(list(enumerate(headers)))}
    time = next((at[t] for t in _TIMES if t in at), -1)
    if time < 0:
        raise NotTriageable(
            f"{source.path}: computing tasks without times", "report again without -column, or with Total Time"
        )
    task = next(at[t] for t in _TASKS if t in at)
    texts = [task, *(at[n] for n in (_GLOBAL, _LOCAL) if n in at)]
    used = {n: at[n] for n in (*_METRICS, *_RATIOS, *_RATES, _READ, _WRITTEN) if n in at}
    numeric = sorted({time, *used.values()})
    wide = wide_table.read(source, line, headers, numeric, texts, decimal=options.decimal)
    outside = np.array([str(n).strip() == _OUTSIDE for n in wide.texts[task]])
    if outside.all():
        raise BadCapture(f"{source.path}: no computing tasks", "profile again: vtune -collect gpu-hotspots")
    if outside.any():  # what the GPU did beside kernels has no time of its own to win back
        wide = wide.only(np.flatnonzero(~outside))
    tasks = np.array([str(n).strip() for n in wide.texts[task]], dtype=object)
    table = wide.table(NAME, source, tasks)
    copies = np.array([bool(_COPY.match(n)) for n in tasks])
    table.kinds = np.where(copies, "copy", "compute").astype(object)
    table.columns["gpu.time"] = wide.column(time, "s", 1e9)
    for name, i in used.items():
        if name in _METRICS and _METRICS[name][0] not in table.columns:
            metric, factor = _METRICS[name]
            column = table.columns[metric] = wide.column(i, "%" if factor == 0.01 else "", factor)
            if metric.startswith("eu."):  # engines have no part in a copy
                column.values = np.where(copies, np.nan, column.values)
    for name, metric in _RATIOS.items():
        if name in used:
            table.raw[name] = wide.column(used[name])
            hits = 1 - table.raw[name].values / 100
            table.columns[metric] = Column.computed(hits, f"1 - {name} / 100", (name,))
    for name, (metric, each) in _RATES.items():
        if name in used:
            table.raw[name] = wide.column(used[name])
            formula = f"{name} * gpu.time" + (f" / {each:g}" if each != 1 else "")  # GB/s times ns is bytes
            values = table.raw[name].values * table.columns["gpu.time"].values / each
            table.columns[metric] = Column.computed(values, formula, (name, "gpu.time"))
    if _READ in used and _WRITTEN in used:
        table.raw |= {n: wide.column(used[n]) for n in (_READ, _WRITTEN)}
        both = (table.raw[_READ].values + table.raw[_WRITTEN].values) * 1e9
        formula = f"({_READ} + {_WRITTEN}) * 1000000000"
        table.columns["vram.bandwidth"] = Column.computed(both, formula, (_READ, _WRITTEN))
    _shape(table, wide, at)
    if not options.device:
        named = {
            d.name for text in printed.head_lines[:1000] if "Name:" in text and (d := devices.named(text, "intel"))
        }
        table.device = named.pop() if len(named) == 1 else ""
        device_name.by_path(table, source, TELLS["vendor"])
        device_name.remark_unnamed(table, "Arc B580")
    if outside.any():
        table.notes.append("the row of what the GPU did outside any computing task is no kernel and was left out")
    return table


def _shape(table: Table, wide: wide_table.Wide, at: dict[str, int]) -> None:
    """Groups and group size from sizes such as `1024 x 1024 x 1`; the global size counts work-items."""
    if _LOCAL not in at:
        return
    odd = Odd()
    sizes = {
        n: extents.totals(extents.read(wide.texts[at[n]], n, wide.line, odd)) for n in (_GLOBAL, _LOCAL) if n in at
    }
    table.quality += odd.remarks()
    product = f"product of {_LOCAL}"
    table.columns["launch.block_size"] = Column.computed(sizes[_LOCAL], product)
    if _GLOBAL in sizes:
        table.raw[_GLOBAL] = Column.computed(sizes[_GLOBAL], f"product of {_GLOBAL}")
        with np.errstate(all="ignore"):
            groups = np.ceil(sizes[_GLOBAL] / np.where(sizes[_LOCAL] > 0, sizes[_LOCAL], np.nan))
        inputs = (_GLOBAL, "launch.block_size")
        table.columns["launch.grid_size"] = Column.computed(groups, f"{_GLOBAL} / {_LOCAL}", inputs)


def collect(metrics: list[str]) -> str:
    """The preset that holds the missing metrics; reasons for stalls are another tool's."""
    if any(m.startswith("eu.stall_") for m in metrics):
        return Command("unitrace -q -g VectorEngineStalls -o metrics.csv ./app", "unitrace")
    run = "vtune -collect gpu-hotspots -knob characterization-mode=full-compute -r result -- ./app"
    return Command(run, "vtune")


def as_table(source: Source) -> Source:
    """The source as a table with tabs where it is such a summary, else itself. Of several tables the first with tasks is taken."""
    if "computing tasks" not in source.head_text.lower() or not _TITLE_RE.search(source.head_text):
        return source
    lines = source.head_lines[:FIRST_LINES]
    titles = [i for i, line in enumerate(lines) if _TITLE_RE.match(line) or _CELL_RE.match(line)]
    tables = [found for i in titles if (found := _exported(lines, i) or _printed(lines, i))]
    if not tables:
        return source
    out = next((t for t in tables if t[-1]), tables[0])
    table = Source(source.path, data=("\n".join(out) + "\n").encode("utf-8", "replace"))
    table.__dict__ |= {"sha256": source.sha256, "size": source.size}  # of the file as it is
    return table


def _printed(lines: list[str], title: int) -> list[str]:
    """The table below a title in columns of fixed width, on its own lines; [] where there is none."""
    rule = next((i for i in range(title + 1, min(title + 4, len(lines))) if _RULE_RE.fullmatch(lines[i])), -1)
    if rule < title + 2:
        return []
    starts = [m.start() for m in re.finditer(r"-+", lines[rule])]
    out = [""] * (rule - 1) + [_cut(lines[rule - 1], starts), ""]
    for line in lines[rule + 1 :]:
        if not line.strip() or line.startswith("[") or len(line) - len(line.lstrip()) < starts[0]:
            break
        out.append(_cut(_LAMBDA_RE.sub(lambda m: " " * len(m[0]), line), starts))
    return out


def _exported(lines: list[str], title: int) -> list[str]:
    """The table below a title of `vtune -report summary -format csv`, without the level before each row; [] where there is none."""
    found = _CELL_RE.match(lines[title])
    if found is None or title + 1 >= len(lines):
        return []
    mark = found[1]
    header = cells(lines[title + 1], mark)
    out = [""] * (title + 1) + ["\t".join(h.strip() for h in header[1:])]
    for line in lines[title + 2 :]:
        row = cells(line, mark)
        if row[0].strip() != header[0].strip() or len(row) < 3 or not row[2].strip():
            break
        out.append("\t".join(_value(_LAMBDA_RE.sub("", cell).strip()) for cell in row[1:]))
    return out if header[1:2] == ["Computing Task"] else []


def _cut(line: str, starts: list[int]) -> str:
    return "\t".join(_value(line[a:b].strip()) for a, b in zip(starts, [*starts[1:], None], strict=True))


def _value(cell: str) -> str:
    """`1.5s` and `93.3%` without their units, which the header holds."""
    return m[1] if (m := _VALUE_RE.fullmatch(cell)) else cell
