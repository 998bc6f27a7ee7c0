"""Intel PTI tools: oneprof, finetrace, unitrace and the PTI samples: hardware metrics or times per kernel.

The output is a text with sections (`== Kernel Metrics ==`, `=== Device #0 Metrics ===`), a header per block with units in
brackets, trailing commas, and what the application printed around it. Kernels are keyed `GEMM[SIMD32 {4; 1024; 1} {256; 1; 1}]`:
width, groups, threads per group.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import NoReturn

import numpy as np
from msgspec import Struct, field

from triage import devices, schema
from triage.capture.arrays import Floats
from triage.capture.capture import Column, Table
from triage.capture.redundancy import Extremes, Ordered, Product, Shares, Sum
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.intel import properties, pti, sets
from triage.dialects.tables import device_name, extents
from triage.ground.collect_command import Command
from triage.ground.errors import BadCapture, NotTriageable, UnknownUnit

NAME = "intel-pti"
SIGN = ("[ns]", "(ns)")
FOLDERS = True
REDUNDANT = (
    Sum(("end",), (("start",), ("time",)), room=0.0),
    Product(("time",), ("calls",), ("average",)),
    Shares(("time%",), tables=4),  # of Level Zero and OpenCL, kernels and calls
    Ordered((("min",), ("average",), ("max",))),
    Extremes(("time",), ("calls",), ("min",), ("max",)),
)
TELLS = {"work": "compute", "vendor": "intel", "api": "sycl"}
TITLE = "Intel PTI (unitrace, oneprof, finetrace, PTI samples)"
CAPTURE = """\
    unitrace -q -g ComputeBasic -o metrics.csv ./app

queries the hardware metrics of every kernel instance; give triage the `metrics.<pid>.csv` it writes. For kernels of many
milliseconds `unitrace -k -i 50 ...` samples over time instead (many rows per kernel, weighted by their time). More groups:
`-g VectorEngineProfile`, `-g MemoryProfile`; `unitrace --metric-list` lists them. Write each group to
`out/metrics_GROUP.csv` and give triage the folder `out`: the groups are read together. Hardware metrics need the FLAT device hierarchy
(`ZE_FLAT_DEVICE_HIERARCHY=FLAT`). Older: `oneprof -q ./app` (per kernel), `oneprof -k ./app` (sampled).
`unitrace -d -v ./app` alone writes times without metrics: enough to rank kernels, not to say why they are slow. Its table
of kernel properties (SIMD width, SLM, spills, register file) is read with them.
"""
_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_UNITS: dict[str, float] = _DATA["units"]
_NAMES: dict[str, list[str]] = _DATA["names"]
_METRICS = {name: metric for metric, names in _NAMES.items() for name in names}
# columns in which the hardware's reports say that they are not to be trusted; spelled as exported
_FLAGS = {
    "ReportError": "reports with errors",
    "ReportInconsistent": "inconsistent reports",
    "OverrunOccured": "buffer overruns",
    "ReportLost": "lost reports",
    "ReportCtxSwitchLost": "reports lost at context switches",
    "QuerySplitOccurred": "split queries",
    "ReportWithoutWorkload": "reports without a workload",
    "CoreFrequencyChanged": "changes of the core clock",
}
MAX_LOG_LINES = 200  # lines of the application above its table in which a GPU's name is looked for
_RATES = ("GPU_MEMORY_BYTE_READ_RATE", "GPU_MEMORY_BYTE_WRITE_RATE")  # GB/s
# `GEMM[SIMD32 {4; 1024; 1} {256; 1; 1}]`: width, groups, threads per group; each may be left out
_KEY = re.compile(r"\s*\[\s*(?:SIMD\s*(\d+))?\s*(?:\{([\d; ]+)\})?\s*(?:\{([\d; ]+)\})?\s*\]\s*\Z")
_COPY = re.compile(
    r"(?:zeCommandListAppendMemory|clEnqueue(?:Read|Write|Copy|Fill)|zeCommandListAppend(?:Image|Barrier))"
)


_AREAS = ("eu", "l3", "slm", "gti", "sampler", "gpu", "lsc", "icache", "tlb", "shader")
# metric -> its position in the kernel's key
_KEYED = {
    "launch.wave_size": "SIMD width in Kernel",
    "launch.grid_size": "first {} of Kernel",
    "launch.block_size": "second {} of Kernel",
}


def names() -> dict[str, list[str]]:
    """What ComputeBasic and its kin print."""
    out = dict(_NAMES)
    for m in schema.all_metrics().values():
        ours = m.id.split(".")[0] in _AREAS
        if ours and m.aliases and m.id not in ("gpu.idle", "gpu.active"):
            have = out.get(m.id, [])
            # aliases of other tools: PerfWorks counters, labels of several words, words of hand-written tables
            have = have + [a for a in m.aliases if "__" not in a and " " not in a and a not in [*have, "GPU", "time"]]
            if have:
                out[m.id] = have
    out |= {
        "launch.wave_size": ["[SIMD..] of the kernel key"],
        "launch.grid_size": ["first {..} of the kernel key"],
        "launch.block_size": ["second {..} of the kernel key"],
        **properties.NAMES,
        "vram.bandwidth": ["GPU_MEMORY_BYTE_READ, GPU_MEMORY_BYTE_WRITE"],
    }
    return out


def recognise(source: Source) -> Match | None:
    """A header with GpuTime[ns] or Time[ns], a PTI sample's EU columns, or unitrace's timing summary."""
    if source.is_folder:
        files = sets.files(source)
        return Match(0.90, f"a folder with {files[0].name} and others") if len(files) > 1 else None
    # application output may come first, so every line of the head is looked at; this spares all other files the look
    if not any(word in source.head_text for word in ("[ns]", "(ns)")):
        return None
    for line, _, cells in pti.headers(source.head_lines):
        if pti.first(cells) in ("Kernel", "SubDeviceId", "Function", "GlobalInstanceId"):
            strong = any("[" in c for c in cells) or any(c.startswith(("EU ", "XVE")) for c in cells)
            return Match(0.88 if strong else 0.72, f"PTI columns ({', '.join(cells[:4])}, ...) on line {line}")
    return None


class _Plan(Struct):
    """Which column of a block becomes what: metric -> (0-based column, unit, factor); the others by header."""

    metrics: dict[str, tuple[int, str, float]] = field(default_factory=dict)
    flags: dict[str, int] = field(default_factory=dict)
    extra: dict[str, int] = field(default_factory=dict)
    unmapped: list[str] = field(default_factory=list)


def _plan(headers: list[str], path: str) -> _Plan:
    """What to make of a block's columns; raises UnknownUnit for a unit that no PTI tool writes."""
    plan = _Plan()
    known = schema.by_alias()
    for i, header in enumerate(headers):
        name, unit = pti.split(header)
        if not name or name in ("Kernel", "SubDeviceId"):
            continue
        if name in _FLAGS:
            plan.flags[name] = i
        metric = _METRICS.get(name) or known.get(schema.normal(name), "")
        if metric == "gpu.time" and unit == "%":
            metric = ""  # the share of the total, not the time
        if name in ("GlobalInstanceId", "KernelTime", *_RATES):
            plan.extra[name] = i
        # GpuTime wins over KernelTime in any order; a note says if they differ
        if not metric or (metric in plan.metrics and name != "GpuTime"):
            if name not in plan.extra and name not in plan.flags:
                plan.unmapped.append(header)
            continue
        if unit.lower() not in _UNITS:
            raise UnknownUnit(f"{path}: unknown unit {unit!r} of {name}", "export again with an Intel PTI tool")
        if not unit and schema.get(metric).unit in ("ratio", "ns", "hz"):
            plan.unmapped.append(header)  # without its unit the number could be anything
            continue
        plan.metrics[metric] = (i, unit, _UNITS[unit.lower()])
    return plan


def read(source: Source, options: Options) -> Table:
    """Kernels (one row per record); raises NotTriageable for host calls and for samples without kernels.

    BadCapture for a header without rows, UnknownUnit for a unit that no PTI tool writes.
    """
    if source.is_folder:
        return sets.join(source, [read(file, options) for file in sets.files(source)])
    blocks = pti.blocks(source)
    kernels = [b for b in blocks if pti.first(b.headers) in ("Kernel", "GlobalInstanceId") and b.lines]
    if not kernels:
        _refuse(source, blocks)
    compiled = [b for b in kernels if pti.at(b.headers, pti.SPILLS) >= 0]
    kernels = [b for b in kernels if _plan(b.headers, source.path).metrics.get("gpu.time")]
    if not kernels:
        raise NotTriageable(
            f"{source.path}: kernels without a time column", "profile with: unitrace -q -o metrics.csv ./app"
        )
    groups: dict[tuple[str, ...], list[pti.Block]] = {}
    for b in kernels:
        groups.setdefault(tuple(b.headers), []).append(b)
    # one output may hold tables of several shapes: the one with most metrics, then with most rows
    best = max(
        groups.values(), key=lambda g: (len(_plan(g[0].headers, source.path).metrics), sum(len(b.lines) for b in g))
    )
    plan = _plan(best[0].headers, source.path)
    table = _table(source, best, plan, compiled)
    if not options.device:
        _device(table, source, best[0].line)
        device_name.remark_unnamed(table, "Arc B580")
    left = sum(len(g) for g in groups.values()) - len(best)
    if left:
        text = f"{left} other kernel tables of this file hold other columns and were left out"
        table.remark("tables-left-out", text)
    return table


def _refuse(source: Source, blocks: list[pti.Block]) -> NoReturn:
    """Why blocks without kernels cannot be triaged."""
    if any(pti.first(b.headers) == "SubDeviceId" for b in blocks):
        raise NotTriageable(
            f"{source.path}: time samples of the whole device (Raw Metrics), not of kernels",
            "profile per kernel: unitrace -q -o metrics.csv ./app (oneprof -q)",
        )
    if any(pti.first(b.headers) == "Function" for b in blocks):
        raise NotTriageable(
            f"{source.path}: host API calls (host timing), not GPU kernels",
            "profile with: unitrace -q -o metrics.csv ./app",
        )
    raise BadCapture(f"{source.path}: header without rows", "nothing was recorded; capture again")


def _table(source: Source, blocks: list[pti.Block], plan: _Plan, compiled: list[pti.Block]) -> Table:
    headers = blocks[0].headers
    at = pti.at(headers, "Kernel")
    numeric = sorted({c for c, _, _ in plan.metrics.values()} | set(plan.flags.values()) | set(plan.extra.values()))
    data = pti.load(source, blocks, at, numeric)
    table = Table(NAME, [source], np.array([_name(n) for n in data.names], dtype=object), {}, lines=data.lines)
    table.quality += data.quality
    table.kinds = np.array(["copy" if _COPY.match(n) else "compute" for n in data.names], dtype=object)
    for metric, (c, unit, factor) in plan.metrics.items():
        values = data.numbers[c] * factor if factor != 1.0 else data.numbers[c]
        table.columns[metric] = Column(values, headers[c], c + 1, unit, factor)
    _launch(table, data.names)
    properties.join(table, source, compiled, data.names)
    _derive(table, plan, data)
    for flag, c in plan.flags.items():
        bad = np.flatnonzero(np.nan_to_num(data.numbers[c]) != 0)
        if len(bad):
            verb, whose = ("is", "its") if len(bad) == 1 else ("are", "their")
            table.remark(
                "profiler-flags",
                f"{len(bad)} of {len(table)} rows {verb} marked {flag} ({_FLAGS[flag]}): {whose} metrics may be wrong",
                int(bad[0]),
            )
    table.unmapped = plan.unmapped
    return table


def _device(table: Table, source: Source, line: int) -> None:
    """The GPU that the application named before the table ("Running on Intel(R) Arc(TM) ..."), else the file's name."""
    named = (devices.named(text, TELLS["vendor"]) for text in source.head_lines[: min(line - 1, MAX_LOG_LINES)])
    found = {device.name for device in named if device is not None and device.sm_count is not None}
    if len(found) == 1:
        table.device = found.pop()
    elif not found:  # with several GPUs the one that ran is unknown
        device_name.by_path(table, source, TELLS["vendor"])


def _name(key: str) -> str:
    return (_KEY.sub("", key) if _KEY.search(key) else key).strip() or key


def _launch(table: Table, keys: list[str]) -> None:
    """Width, groups and threads per group from the kernel keys."""
    known: dict[str, tuple[float, ...]] = {}
    for key in set(keys):
        m = _KEY.search(key)
        known[key] = (
            float(m[1]) if m and m[1] else np.nan,
            *extents.totals([extents.axes(m[i] or "") if m else [] for i in (2, 3)]).tolist(),
        )
    stack = np.array([known[k] for k in keys]).reshape(-1, 3)
    for i, (metric, text) in enumerate(_KEYED.items()):
        if np.isfinite(stack[:, i]).any():
            table.columns[metric] = Column(stack[:, i], text, formula=text)


def _derive(table: Table, plan: _Plan, data: pti.Data) -> None:
    """Memory bandwidth; how many calls sampled rows stand for."""
    c = table.columns
    with np.errstate(all="ignore"):
        moved = ("vram.bytes_read", "vram.bytes_written")
        if all(m in c for m in moved):
            time = np.where(c["gpu.time"].values > 0, c["gpu.time"].values, np.nan)
            rate = (c[moved[0]].values + c[moved[1]].values) / time * 1e9
            formula = "(vram.bytes_read + vram.bytes_written) / gpu.time * 1000000000"
            c["vram.bandwidth"] = Column.computed(rate, formula, (*moved, "gpu.time"))
        elif set(_RATES) <= set(plan.extra):  # already per second
            parts = [data.numbers[plan.extra[n]] * 1e9 for n in _RATES]
            table.raw |= {n: Column(v, n, plan.extra[n] + 1) for n, v in zip(_RATES, parts, strict=True)}
            formula = " + ".join(_RATES)
            c["vram.bandwidth"] = Column.computed(parts[0] + parts[1], formula, _RATES)
        if "KernelTime" in plan.extra and c["gpu.time"].column != plan.extra["KernelTime"] + 1:
            kernel = data.numbers[plan.extra["KernelTime"]]
            off = np.abs(kernel / c["gpu.time"].values - 1) > 0.1
            if off.any():
                table.remark(
                    "two-times",
                    f"KernelTime and GpuTime differ by more than 10 % in {int(off.sum())} rows",
                    int(np.argmax(off)),
                )
    # a kernel of ten samples is ten rows; weighted by time they average to its rates, and as tenths they count as one
    if data.sampled and "frame.calls" not in c:
        share = _samples(data, plan)
        tables = len(set(data.block.tolist()))
        if "GlobalInstanceId" not in plan.extra and tables > 1:
            text = f"the samples name no kernel instance: each of {tables} tables was taken for calls of its own"
            table.remark("calls-by-table", text)
        c["frame.calls"] = Column(share, "1 / samples of the instance", formula="1 / samples of the instance")
        table.notes.append(
            f"{len(table)} rows are time samples of {round(float(share.sum()))} kernel instances, weighted by GpuTime"
        )


def _samples(data: pti.Data, plan: _Plan) -> Floats:
    """1 / number of samples of each row's kernel instance: by instance number, else by block of the file."""
    ids = data.numbers[plan.extra["GlobalInstanceId"]] if "GlobalInstanceId" in plan.extra else data.block
    keys: dict[tuple[str, float], int] = {}
    codes = np.array([keys.setdefault((n, float(i)), len(keys)) for n, i in zip(data.names, ids, strict=True)])
    return np.asarray(1.0 / np.bincount(codes)[codes], dtype=np.float64)


# metric set -> how the metrics it alone holds begin; ComputeBasic holds the rest
_SETS = {
    "VectorEngineStalls": ("eu.stall_", "eu.dispatch_stall"),
    "VectorEngineProfile": ("eu.xmx", "eu.inst_", "eu.pipe", "eu.send_active", "l3.busy", "l3.queue_full"),
    "MemoryProfile": ("l3.", "slm.", "gti.", "vram.", "tlb.", "lsc."),
}


def collect(metrics: list[str]) -> str:
    """The unitrace command with the metric sets that hold the missing metrics, one run each."""
    own = {m: next((s for s, begins in _SETS.items() if m.startswith(begins)), "ComputeBasic") for m in metrics}
    groups = [s for s in ("ComputeBasic", *_SETS) if s in own.values()] or ["ComputeBasic"]
    if len(groups) == 1:
        return Command(f"unitrace -q -g {groups[0]} -o metrics.csv ./app", "unitrace")
    each = "unitrace -q -g $set -o out/metrics_$set.csv ./app"
    return Command(f"mkdir -p out; for set in {' '.join(groups)}; do {each}; done", "unitrace")
