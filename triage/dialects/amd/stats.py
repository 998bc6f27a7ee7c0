"""AMD summary tables `Name, Calls, TotalDurationNs, AverageNs, Percentage`: kernels, or host API and copies.

All of them have one header, so the names decide: `hipMemcpy`, `hsa_signal_wait` and `MEMORY_COPY` are not kernels.
"""

from __future__ import annotations

import re

from triage.capture.capture import Table
from triage.capture.redundancy import summary
from triage.capture.source import Source
from triage.dialects.amd import rocm, unquoted_names
from triage.dialects.tables import wide_table
from triage.ground.errors import BadCapture, NotTriageable

REDUNDANT = summary("totalduration", "calls", "average", "percentage", ("stddev",))
ROLES = {
    "name": ("Name",),
    "calls": ("Calls",),
    "total": ("TotalDurationNs", "TotalDuration(ns)", "TotalDuration"),
    "average": ("AverageNs",),
    "percent": ("Percentage",),
    "min": ("MinNs",),
}
# names of runtime domains and operations, made of these words alone: `HIP_RUNTIME_API`, `MEMORY_COPY`
_DOMAINS = re.compile(
    r"(?:HIP|HSA|MARKER|ROCTX|RCCL|ROCDECODE|ROCJPEG|OMPT|KERNEL|MEMORY|SCRATCH|COMPILER|CORE|RUNTIME|AMD_EXT|"
    r"IMAGE_EXT|FINALIZE_EXT|TABLE|HOST|DISPATCH|COPY|ALLOCATION|CONTROL|NAME|API|KFD|_)+\Z"
)
_HOST = (
    (re.compile(r"(?:hip[A-Z]\w*|__hip\w+|hipExt\w+)\Z"), "HIP API calls on the host (hip_stats)"),
    (re.compile(r"hsa_\w+\Z"), "HSA API calls on the host (hsa_stats)"),
    (re.compile(r"(?:Copy(?:Device|Host)\w*To\w+|(?:MEMORY_COPY|Memcpy)\w*)\Z"), "memory copies (copy_stats)"),
    (re.compile(r"(?:rccl|nccl)[A-Z]\w+\Z"), "RCCL calls on the host"),
    (re.compile(r"roctx\w+\Z"), "ROCTx marker calls on the host"),
    (re.compile(r"omp_\w+\Z"), "OpenMP events on the host"),
)


def header(source: Source) -> tuple[int, list[str]]:
    """Line and cells of a stats header; (0, []) when it is none."""
    line, headers = wide_table.header(source)
    found = wide_table.roles(headers, ROLES)
    # the header is the same for kernels, API calls and copies; which it is, only the names tell
    return (line, headers) if {"name", "calls", "total", "average", "percent"} <= set(found) else (0, [])


def kind(names: list[str]) -> str:
    """What the names are when they are no kernels: a phrase for the user, or "" for kernels."""
    kinds = []  # one word per name, for a majority decides
    for name in names:
        what = next((text for pattern, text in _HOST if pattern.fullmatch(name)), "")
        if not what and _DOMAINS.fullmatch(name) and "_" in name:
            what = "sums per domain (domain_stats)"
        kinds.append(what)
    known = [t for t in kinds if t]
    # one kernel may be named like anything; a table is of the host when most of its names are
    return max(set(known), key=known.count) if known and len(known) * 2 > len(kinds) else ""


def names() -> dict[str, list[str]]:
    """Time and calls."""
    return {"gpu.time": ["TotalDurationNs"], "frame.calls": ["Calls"]}


def read(source: Source, dialect: str, hint: str, decimal: str = "") -> Table:
    """Kernels with calls and total time; raises NotTriageable for host-side tables, naming them."""
    line, headers = header(source)
    if not line:
        raise BadCapture(f"{source.path}: not a rocprof stats table", "see: triage facts FILE")
    roles = wide_table.roles(headers, ROLES)
    source = unquoted_names.quoted(source, line, headers, roles["name"])
    wide = wide_table.read(source, line, headers, [roles["calls"], roles["total"]], [roles["name"]], decimal=decimal)
    exported = [str(n) for n in wide.texts[roles["name"]]]
    if what := kind(exported):
        raise NotTriageable(f"{source.path}: {what} (first: {exported[0]!r}), not GPU kernels", hint)
    shown = rocm.names(wide.texts[roles["name"]])
    table = wide.table(dialect, source, shown)
    table.kinds = rocm.kinds(table.names)
    for role, metric, unit in (("total", "gpu.time", "ns"), ("calls", "frame.calls", "")):
        table.columns[metric] = wide.column(roles[role], unit)
    return table
