"""ROCm tables that hold no kernel's time: API and marker traces, copies, samples, listings. Each is refused by its name."""

from __future__ import annotations

import re

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.tables import wide_table
from triage.ground.errors import NotTriageable

NAME = "rocm-traces"
SIGN = ("timestamp", "operation", "agent", "kernel_dispatch", ".kd")
TELLS = {"work": "compute", "vendor": "amd", "api": "hip"}
TITLE = "AMD ROCm traces without kernel times (API, markers, copies, samples): recognised to be refused"
CAPTURE = "Not an input for triage: use `rocprofv3 --kernel-trace --pmc COUNTERS -f csv -- ./app` instead."

_KERNELS = "rocprofv3 --kernel-trace --pmc SQ_WAVES VALUBusy MemUnitBusy -f csv -- ./app"
# headers that must all be there -> what it is ("": the Domain column says), what to do; the first that fits, so the
# operations of the runtime, which have no header of their own, come last
_KINDS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("Domain", "Function", "Start_Timestamp", "End_Timestamp"), "", _KERNELS),
    (("Kind", "Operation", "Alloc_Flags"), "a trace of scratch memory allocations, not of kernels", _KERNELS),
    (("Kind", "Operation", "Allocation_Size"), "a trace of memory allocations, not of kernels", _KERNELS),
    (("Kind", "Direction", "Start_Timestamp"), "a trace of memory copies, not of kernels", _KERNELS),
    (
        ("Node_Id", "Agent_Type", "Cu_Count"),
        "the list of GPUs and CPUs (agent_info), not a profile",
        "give the *_counter_collection.csv or *_kernel_trace.csv that lies beside it",
    ),
    (
        ("Kind", "Operation", "Start_Timestamp", "End_Timestamp"),
        "a trace of runtime operations, not of kernels",
        _KERNELS,
    ),
)
# (what a cell of the first row is, what the rows are): tables that lost their header line
_HEADLESS = (
    (re.compile(r"KERNEL_DISPATCH"), "dispatches of rocprofv3 (kernel_trace)"),
    (re.compile(r".*(?:\[clone \.kd\]|\.kd)"), "dispatches of rocprof"),
    (re.compile(r"Agent \d{1,4}"), "counters of rocprofv3 (counter_collection)"),
)
_HEADER = "put the header line of the tool's file back as line 1, or record again"
_DOMAINS = {
    "MARKER": "markers (ROCTx ranges timed on the host)",
    "HIP": "HIP API calls timed on the host",
    "HSA": "HSA API calls timed on the host",
    "RCCL": "RCCL calls timed on the host",
    "ROCDECODE": "rocDecode calls timed on the host",
    "ROCJPEG": "rocJPEG calls timed on the host",
    "OMPT": "OpenMP events timed on the host",
}


def names() -> dict[str, list[str]]:
    """Nothing: these tables are refused."""
    return {}


def recognise(source: Source) -> Match | None:
    """The columns of one of the known tables."""
    what, _ = _which(source)
    return Match(0.80, what) if what else None


def read(source: Source, options: Options) -> Table:
    """Never: raises NotTriageable naming the table."""
    what, hint = _which(source)
    what = what or "no table of kernels"
    raise NotTriageable(f"{source.path}: {what}", hint or _KERNELS)


def _which(source: Source) -> tuple[str, str]:
    """What the table is and what to give instead; ("", "") for anything else."""
    line, headers = wide_table.header(source)
    if not line or wide_table.find(headers, "Kernel_Name") >= 0:  # kernels: for the readers
        return "", ""
    for need, what, hint in _KINDS:
        if all(wide_table.find(headers, h) >= 0 for h in need):
            return what or _domain(source, line, headers), hint
    return _headless(headers)


def _headless(first: list[str]) -> tuple[str, str]:
    """What rows without a header are and what to do; ("", "") where the first line is a header, or of other rows."""
    if len(first) < 9 or 2 * sum(c.lstrip("-").replace(".", "", 1).isdigit() for c in first) < len(first):
        return "", ""
    what = next((what for pattern, what in _HEADLESS if any(pattern.fullmatch(c[:4096]) for c in first)), "")
    return (f"{what} without a header line", _HEADER) if what else ("", "")


def _domain(source: Source, line: int, headers: list[str]) -> str:
    """What an API trace traces, from its first record: all of them have one header."""
    at = wide_table.find(headers, "Domain")
    rows = source.records([line + 1])
    domain = (rows.get(line + 1) or [""] * (at + 1))[at : at + 1]
    first = domain[0] if domain else ""  # `HIP_RUNTIME_API_EXT` and the like: only how it begins is stable
    known = next((what for word, what in _DOMAINS.items() if first.startswith(word)), "API calls timed on the host")
    return f"a trace of {known}, not of kernels"
