"""rocprofv3 `*_results.json` (--output-format json): dispatches with times, launch shape and counters of one process."""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from typing import Any

import numpy as np
import orjson

from triage.capture.arrays import Floats
from triage.capture.capture import Column, Table
from triage.capture.compression import bounded
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.amd import rocm
from triage.dialects.amd.counters import counter_names
from triage.dialects.amd.pc_sampling import sample_records, samples
from triage.dialects.amd.rocm_export import Export
from triage.dialects.amd.rocprof import LAUNCH_NAMES
from triage.dialects.amd.rocprofv3 import kernel_trace, rocprofv3_counters
from triage.dialects.amd.rocprofv3.kernel_trace import AGENT_SIZES, SEGMENTS, SYMBOL
from triage.ground.errors import BadCapture, NotTriageable
from triage.ground.phrasing import plural

NAME = "rocprofv3-json"
SIGN = ("rocprofiler-sdk-tool",)
TELLS = {"work": "compute", "vendor": "amd", "api": "hip"}
TITLE = "AMD rocprofv3 JSON (dispatches and counters)"
CAPTURE = """\
    rocprofv3 --kernel-trace --pmc COUNTERS --output-format json -- ./app

writes `*_results.json`: every dispatch with its time, launch shape and counters, and the GPU's sizes. With `--hip-trace --memory-copy-trace`
it holds host calls and copies as well, which tell why the GPU idles.
"""
MAX_BYTES = 1 << 30
_HEAD_RE = re.compile(r'\{\s*"rocprofiler-sdk-tool"')
GPU = 2  # rocprofiler-sdk: ROCPROFILER_AGENT_TYPE_GPU
collect = rocprofv3_counters.collect
Record = dict[str, Any]


def names() -> dict[str, list[str]]:
    """What rocprofv3 can export."""
    return counter_names.exported(rocprofv3_counters.SIZES) | LAUNCH_NAMES


def recognise(source: Source) -> Match | None:
    """JSON whose first key is the tool's."""
    return Match(0.97, "JSON of rocprofv3") if _HEAD_RE.match(source.head_text.lstrip()) else None


def read(source: Source, options: Options) -> Table:
    """The dispatches of the process with most of them; raises NotTriageable where none ran, BadCapture for damaged JSON."""
    try:
        with source.open() as file:
            data = bounded(file, source.path, MAX_BYTES).removeprefix(codecs.BOM_UTF8)
            found = orjson.loads(data)["rocprofiler-sdk-tool"]
        processes = found if isinstance(found, list) else [found]
        run = max(processes, key=lambda p: (len(_records(p)), len(sample_records.records(p))))
        return _table(source, run, len(processes), options)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError, ValueError, IndexError) as e:
        raise BadCapture(
            f"{source.path}: JSON of rocprofv3, damaged or cut ({type(e).__name__})", "export again"
        ) from e


def _records(run: Record) -> list[Record]:
    """Dispatches: with counters where they were collected, which a trace beside them repeats."""
    collected = run.get("callback_records", {}).get("counter_collection", [])
    counted = [{**r.get("dispatch_data", {}), "counted": r} for r in collected]
    return counted or list(run["buffer_records"]["kernel_dispatch"])


def _table(source: Source, run: Record, processes: int, options: Options) -> Table:
    records = _records(run)
    sampled = sample_records.kernels(run)
    if not records and sampled:
        table = Table(NAME, [source], np.array(list(sampled), dtype=object), {}, lines=np.arange(1, len(sampled) + 1))
        table.kinds = rocm.kinds(table.names)
        samples.attach(table, sampled, sample_records.WHERE)
        return table
    if not records:
        raise NotTriageable(
            f"{source.path}: JSON of rocprofv3 without dispatches", "record with: rocprofv3 --kernel-trace -- ./app"
        )
    infos = [r["dispatch_info"] for r in records]
    symbols = {s["kernel_id"]: s for s in run["kernel_symbols"]}
    of = [symbols.get(i["kernel_id"], {}) for i in infos]
    stated = [str(s.get("formatted_kernel_name") or s.get("kernel_name") or "") for s in of]
    shown = rocm.names(np.array(stated, dtype=object))
    table = Table(NAME, [source], shown, {}, lines=np.arange(1, len(records) + 1))
    export = Export(source)
    start, end = (np.array([str(int(r[f"{t}_timestamp"])) for r in records], dtype=object) for t in ("start", "end"))
    took, _ = rocm.elapsed(start, end)
    _computed(table, "gpu.time", took, "end_timestamp - start_timestamp of the dispatch", "ns")
    groups, items = (np.array([[i[what][a] for a in "xyz"] for i in infos], dtype=np.float64) for what in ("workgroup_size", "grid_size"))  # fmt: skip
    _computed(table, "launch.block_size", groups.prod(axis=1), "workgroup_size, x * y * z")
    _computed(table, "launch.threads", items.prod(axis=1), "grid_size, x * y * z")
    _computed(table, "launch.grid_size", rocm.groups(items.T, groups.T), "groups per axis, rounded up, multiplied")
    for metric, key in SEGMENTS.items():
        _computed(table, metric, np.array([float(i.get(key, np.nan)) for i in infos]), f"{key} of the dispatch", "byte")
    for metric, key in SYMBOL.items():
        _computed(table, metric, np.array([float(s.get(key, np.nan)) for s in of]), f"{key} of the kernel's symbol")
    _counters(table, export, run, records)
    _agent(table, export, run, infos[0]["agent_id"]["handle"])
    gpus = _gpus(run)
    agents = np.array([_named(gpus, i["agent_id"]) for i in infos], dtype=object)
    keys = np.array([_correlation(r) for r in records], dtype=object)
    table.trace = kernel_trace.trace(start, end, shown, agents, keys, _recorded(run))
    if processes > 1:
        table.notes.append(f"{plural(processes, 'process')} in this file: the one with most dispatches is shown")
    if "launch.scalar_registers" in table.columns:
        export.roles["sgpr"] = table.columns["launch.scalar_registers"]
    rocm.finish(table, export, options, names())
    if sampled:
        samples.attach(table, sampled, sample_records.WHERE)
    return table


def _recorded(run: Record) -> kernel_trace.Beside:
    """Copies and calls of the host beside the dispatches: of the runtime, of HSA below it where the former are missing."""
    import pandas as pd

    buffers: Record = run["buffer_records"]
    gpus = _gpus(run)
    called: list[Record] = buffers.get("hip_api") or buffers.get("hsa_api") or []
    calls = kernel_trace.calls_of(
        np.array([int(c["start_timestamp"]) for c in called], dtype=np.int64),
        np.array([int(c["end_timestamp"]) for c in called], dtype=np.int64),
        np.array([_operation(run, c) for c in called], dtype=object),
        np.array([str(c.get("thread_id", "")) for c in called], dtype=object),
    )
    copied = [
        {
            "Start_Timestamp": str(int(c["start_timestamp"])),
            "End_Timestamp": str(int(c["end_timestamp"])),
            "Direction": _operation(run, c),
            "Source_Agent_Id": _named(gpus, c["src_agent_id"]),
            "Destination_Agent_Id": _named(gpus, c["dst_agent_id"]),
            "bytes": max(int(c.get("bytes") or 0), 0),
            "Correlation_Id": _correlation(c),
        }
        for c in buffers.get("memory_copy") or []
        if {"src_agent_id", "dst_agent_id"} <= c.keys()
    ]
    copies = kernel_trace.copies_of(pd.DataFrame(copied)) if copied else None
    return kernel_trace.Beside(copies, calls, [_correlation(c) for c in called])


def _gpus(run: Record) -> dict[int, int]:
    """Handle of an agent -> its number among the GPUs, where the file says it."""
    key = "logical_node_type_id"
    return {a["id"]["handle"]: int(a[key]) for a in run.get("agents", []) if a.get("type") == GPU and key in a}


def _named(gpus: dict[int, int], agent: Record) -> str:
    return f"Agent {gpus.get(agent['handle'], agent['handle'])}"


def _correlation(record: Record) -> str:
    """What a call and the work it started share, "" for none."""
    given = record.get("correlation_id")
    return str(given.get("internal", "")) if isinstance(given, dict) else ""


def _operation(run: Record, record: Record) -> str:
    """The name of an operation, which records give by the numbers of its kind and of itself."""
    kinds, kind, operation = run.get("strings", {}).get("buffer_records", []), record.get("kind"), record["operation"]
    if isinstance(operation, str) or not isinstance(kind, int) or not 0 <= kind < len(kinds):
        return str(operation)
    names = kinds[kind].get("operations", [])
    return str(names[operation]) if 0 <= operation < len(names) else str(operation)


def _computed(table: Table, metric: str, values: Floats, formula: str, unit: str = "") -> None:
    table.columns[metric] = Column(values, "", unit=unit, formula=formula)


def _counters(table: Table, export: Export, run: Record, records: list[Record]) -> None:
    """Counters by name, summed over their instances."""
    named = {c["id"]["handle"]: str(c["name"]) for c in run.get("counters", [])}
    values: dict[str, Floats] = defaultdict(lambda: np.full(len(records), np.nan))
    for row, record in enumerate(records):
        for one in record.get("counted", {}).get("records", []):
            name = named.get((one.get("counter_id") or one["id"])["handle"])
            if name is not None:
                held = values[name]
                held[row] = np.nan_to_num(held[row]) + float(one["value"])
    wanted = rocm.wanted(values)
    for name in wanted:
        export.counters[name] = Column(values[name], name, formula=f"{name} of the dispatch, all instances")
    table.unmapped += sorted(set(values) - wanted)


def _agent(table: Table, export: Export, run: Record, handle: int) -> None:
    agent: Record = next((a for a in run.get("agents", []) if a["id"]["handle"] == handle), {})
    export.arch = str(agent.get("name", "")).split(":")[0]
    table.device = str(agent.get("product_name", ""))
    for size, key in AGENT_SIZES.items():
        if float(agent.get(key) or 0) > 0:
            export.specs[size] = Column(np.full(len(table), float(agent[key])), key, formula=f"{key} of the agent")
