"""rocprofv3's traces as a timeline: dispatches, and beside them copies and calls of the host where they were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from triage.capture.arrays import Floats, Indices, Names
from triage.capture.source import Source
from triage.capture.timeline.call_classes import class_of
from triage.capture.trace_nouns import (
    COPY,
    FROM_DEVICE,
    KERNEL,
    ON_DEVICE,
    OTHER_WAY,
    TO_DEVICE,
    Calls,
    Operations,
    Trace,
)
from triage.dialects.amd import agents
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    import pandas as pd

_FAR = 1 << 61
# the runtime's calls; HSA's lie below them and are taken where the others are missing
_CALLS = ("_hip_api_trace", "_hip_runtime_trace", "_hip_runtime_api_trace", "_hsa_api_trace")
_TIMES = ("Start_Timestamp", "End_Timestamp")
WAYS = {"HOST_TO_DEVICE": TO_DEVICE, "DEVICE_TO_HOST": FROM_DEVICE, "DEVICE_TO_DEVICE": ON_DEVICE}
# names in rocprofv3's records, which its JSON and its database share: metric -> key of a dispatch, or of its kernel's symbol;
# size as formulas call it -> key of an agent
SEGMENTS = {"launch.shared": "group_segment_size", "launch.scratch": "private_segment_size"}
SYMBOL = {
    "launch.registers": "arch_vgpr_count",
    "launch.accum_registers": "accum_vgpr_count",
    "launch.scalar_registers": "sgpr_count",
}
AGENT_SIZES = {"cu_per_gpu": "cu_count", "num_xcd": "num_xcc", "max_sclk": "max_engine_clk_fcompute", "max_waves_per_cu": "max_waves_per_cu"}  # fmt: skip


def whole(texts: Names) -> Indices | None:
    """Timestamps as whole ns; None where any is none, or beyond any clock."""
    try:
        out = texts.astype(np.int64)
    except (ValueError, TypeError, OverflowError):
        return None
    return out if len(out) and (np.abs(out) < _FAR).all() else None


class Beside(NamedTuple):
    """What was recorded beside the dispatches. copies: start, end, agent, way, name, bytes, Correlation_Id; keys: the correlation id of each call."""

    copies: pd.DataFrame | None
    calls: Calls
    keys: list[str]


def companions(source: Source, ending: str) -> Beside:
    """What the files of the same run hold beside a kernel trace."""
    return Beside(_copies(source, ending), *_calls(source, ending))


def trace(
    start: Names, end: Names, names: Names, agents: Names | None, correlation: Names | None, recorded: Beside
) -> Trace | None:
    """The timeline of a kernel trace in file order, copies behind it; None where its timestamps are no whole numbers."""
    import pandas as pd

    begin, finish = whole(start), whole(end)
    if begin is None or finish is None or (finish < begin).any():
        return None
    copies, calls, keys_of_calls = recorded
    if copies is None:
        copies = pd.DataFrame(columns=["start", "end", "agent", "way", "name", "bytes", "Correlation_Id"])

    def with_copies(dispatches: NDArray[Any], column: str) -> NDArray[Any]:
        return np.concatenate([dispatches, copies[column].to_numpy(dtype=dispatches.dtype)])

    count, zeros = len(begin), np.zeros(len(begin) + len(copies), dtype=np.int64)
    agent = agents if agents is not None else np.full(count, "0", dtype=object)
    wanted = correlation if correlation is not None else np.full(count, "", dtype=object)
    device, keys = pd.factorize(with_copies(agent, "agent"))
    name, words = pd.factorize(with_copies(names, "name"))
    operations = Operations(
        start=with_copies(begin, "start"),
        end=with_copies(finish, "end"),
        kind=np.repeat(np.array([KERNEL, COPY], dtype=np.int8), [count, len(copies)]),
        device=device.astype(np.int64),
        stream=zeros,
        process=zeros,
        call=_called(with_copies(wanted, "Correlation_Id"), keys_of_calls),
        name=name.astype(np.int64),
        bytes=with_copies(zeros[:count], "bytes"),
        way=with_copies(np.full(count, OTHER_WAY, dtype=np.int8), "way"),
        pageable=np.zeros(len(zeros), dtype=bool),
    )
    devices: list[tuple[str, str | None]] = [(str(k).rpartition(" ")[2] or "0", None) for k in keys]
    return Trace(operations, calls, devices, [str(w) for w in words], [""] * len(words))


def _called(wanted: Names, known: Sequence[str]) -> Indices:
    """Position of the first call with the same correlation id, -1 for none."""
    place: dict[str, int] = {}
    for i, key in enumerate(known):
        place.setdefault(key, i)
    place.pop("", None)
    place.pop("0", None)  # work that no call started
    return np.array([place.get(str(k), -1) for k in wanted], dtype=np.int64)


def _calls(source: Source, ending: str) -> tuple[Calls, list[str]]:
    """Calls of the host beside a trace, and their correlation ids."""
    for other in _CALLS:
        found = beside(source, ending, other, ["Function", "Thread_Id", "Correlation_Id", *_TIMES])
        if found is not None:
            start, end = (whole(found[t].to_numpy(dtype=object)) for t in _TIMES)
            if start is not None and end is not None:
                function, thread = (found[c].to_numpy(dtype=object) for c in ("Function", "Thread_Id"))
                return calls_of(start, end, function, thread), found["Correlation_Id"].tolist()
    none = np.zeros(0, dtype=np.int64)
    return Calls(none, none, none, none.astype(np.int8), none, []), []


def calls_of(start: Indices, end: Indices, function: Names, thread: Names) -> Calls:
    """Calls of the host by their function's name and their thread."""
    import pandas as pd

    name, words = pd.factorize(function)
    kinds = np.array([class_of(str(w)) for w in words] or [0], dtype=np.int8)
    threads = pd.factorize(thread)[0].astype(np.int64)
    return Calls(start, np.maximum(start, end), threads, kinds[name], name.astype(np.int64), [str(w) for w in words])


def _copies(source: Source, ending: str) -> pd.DataFrame | None:
    """Copies beside a trace."""
    columns = ["Direction", "Source_Agent_Id", "Destination_Agent_Id", "Correlation_Id", *_TIMES]
    found = beside(source, ending, "_memory_copy_trace", columns)
    if found is None:
        return None
    return copies_of(found.assign(bytes=0))


def copies_of(found: pd.DataFrame) -> pd.DataFrame | None:
    """Copies of a trace as `Beside` holds them; None where their timestamps are no whole numbers."""
    import pandas as pd

    start, end = (whole(found[t].to_numpy(dtype=object)) for t in _TIMES)
    if start is None or end is None or (end < start).any():
        return None
    direction = found["Direction"].str.replace("MEMORY_COPY_", "", regex=False)
    way = direction.map(WAYS).fillna(OTHER_WAY).astype(np.int64)
    # the device: the source of copies from it, the destination of copies to it
    agent = found["Destination_Agent_Id"].where(way != FROM_DEVICE, found["Source_Agent_Id"])
    named = "[copy " + direction.str.lower().str.replace("_", " ") + "]"
    return pd.DataFrame({"start": start, "end": end, "way": way, "agent": agent, "name": named, "bytes": found["bytes"], "Correlation_Id": found["Correlation_Id"]})  # fmt: skip


def beside(source: Source, ending: str, other: str, columns: list[str]) -> pd.DataFrame | None:
    """A table of the same run with these columns as text: `run_kernel_trace.csv` goes with `run_hip_api_trace.csv`."""
    import pandas as pd

    found = agents.beside(source, ending, other)
    if found is None:
        return None
    try:
        with found.open() as f:
            table = pd.read_csv(f, dtype=str, keep_default_na=False, usecols=columns)
    except (TriageError, ValueError, OSError):  # a companion that cannot be read takes nothing from the export itself
        return None
    return table if len(table) else None


def durations(source: Source, ending: str) -> Floats | None:
    """Time (ns) of each dispatch of a counter table, from the trace beside it by dispatch number; None where they do not match."""
    import pandas as pd

    found = beside(source, ending, "_kernel_trace", ["Dispatch_Id", *_TIMES])
    if found is None:
        return None
    start, end = (whole(found[t].to_numpy(dtype=object)) for t in _TIMES)
    if start is None or end is None or not found["Dispatch_Id"].is_unique:
        return None
    with source.open() as f:
        mine = pd.read_csv(f, dtype=str, keep_default_na=False, usecols=["Dispatch_Id"])["Dispatch_Id"].unique()
    took = pd.Series((end - start).astype(np.float64), index=found["Dispatch_Id"]).reindex(mine)
    values: Floats = np.asarray(took, dtype=np.float64)
    return values if np.isfinite(values).any() else None
