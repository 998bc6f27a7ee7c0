"""Radeon GPU Analyzer statistics: registers, LDS and scratch per kernel and target, from the compiler. No times.

The table holds what a kernel uses beside what the GPU offers (`USED_VGPRs`, `AVAILABLE_VGPRs`); only what is used counts here.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.tables import wide_table
from triage.ground.errors import BadCapture

NAME = "rga"
SIGN = ("vgprs",)
TELLS = {"vendor": "amd"}
TITLE = "AMD Radeon GPU Analyzer statistics (registers, LDS, scratch)"
CAPTURE = """\
    rga -s opencl -c gfx1100 -a stats.csv kernel.cl
    rga -s vk-offline -c gfx1100 -a stats.csv --comp shader.comp

writes one table per kernel and GPU (`-a`, `--analysis`). It is a compiler's view: occupancy limits can be judged from it,
times and counters cannot.
"""
_METRICS = {
    "USED_VGPRs": "launch.registers",
    "USED_SGPRs": "launch.scalar_registers",
    "USED_LDS_BYTES": "launch.shared",
    "SCRATCH_MEM": "launch.scratch",
    "WAVEFRONT_SIZE": "launch.wave_size",
    "THREADS_PER_WORKGROUP": "launch.block_size",
    "VGPR_SPILLS": "launch.vgpr_spills",
    "SGPR_SPILLS": "launch.sgpr_spills",
}
_NEVER_ZERO = ("launch.wave_size", "launch.block_size")  # written as 0 where the compiler does not know
# `N/A` where the source does not fix the group size
_AXES = tuple(f"CL_WORKGROUP_{a}_DIMENSION" for a in "XYZ")


def names() -> dict[str, list[str]]:
    """The columns used."""
    return {metric: [header] for header, metric in _METRICS.items()}


def recognise(source: Source) -> Match | None:
    """USED_VGPRs beside AVAILABLE_VGPRs and a DEVICE, whatever the separator."""
    line, headers = wide_table.header(source)
    if len(wide_table.positions(headers, ("DEVICE", "USED_VGPRs", "USED_SGPRs"))) == 3:
        return Match(0.95, f"compiler statistics (DEVICE, USED_VGPRs, ...) on line {line}")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per kernel and GPU; raises BadCapture without rows."""
    line, headers = wide_table.header(source)
    found = {_METRICS[h]: c for h, c in wide_table.positions(headers, _METRICS).items()}
    axes = list(wide_table.positions(headers, _AXES).values())
    device = wide_table.find(headers, "DEVICE")
    if device < 0 or not found:
        raise BadCapture(f"{source.path}: not an RGA statistics table", "see: triage facts FILE")
    wide = wide_table.read(source, line, headers, [*found.values(), *axes], [device], decimal=options.decimal)
    devices = [str(d).strip() for d in wide.texts[device]]
    if (bad := next((d for d in devices if not re.search("[A-Za-z]", d)), None)) is not None:
        raise BadCapture(f"{source.path}: DEVICE is {bad[:40]!r}, no GPU's name", "analyse the kernel again")
    stem = _kernel(source.name, devices)  # the table names GPUs only
    shown = np.array([stem or f"kernel ({d})" for d in devices], dtype=object)
    table = wide.table(NAME, source, shown)
    table.kinds = np.full(len(table), "compute", dtype=object)
    for metric, c in found.items():
        values = wide.numbers[c]
        if metric in _NEVER_ZERO:
            values = np.where(values == 0, np.nan, values)
        if np.isfinite(values).any():
            table.columns[metric] = Column(values, headers[c], c + 1)
    _workgroup(table, wide, axes)
    if not table.columns:
        raise BadCapture(f"{source.path}:{line + 1}: no numeric cells", "analyse the kernel again")
    if len(set(devices)) == 1:  # the column holds gfx names, which are both
        table.arch = table.device = devices[0]
    else:
        table.notes.append(
            f"statistics for {len(set(devices))} GPUs ({', '.join(dict.fromkeys(devices))}): name one with --device"
        )
        table.names = np.array([f"{stem or 'kernel'} ({d})" for d in devices], dtype=object)
    table.notes.append("compiler statistics: no times, so nothing is ranked and no share of the frame is known")
    return table


def _workgroup(table: Table, wide: wide_table.Wide, axes: list[int]) -> None:
    """The group size the source demands, where all three sizes are stated."""
    if len(axes) != 3:
        return
    values = np.prod([np.where(wide.numbers[c] == 0, np.nan, wide.numbers[c]) for c in axes], axis=0)
    if not np.isfinite(values).any():
        return
    sizes = tuple(wide.headers[c] for c in axes)
    table.raw |= {wide.headers[c]: wide.column(c) for c in axes}
    table.columns["launch.block_size"] = Column.computed(values, " * ".join(sizes), sizes)


def _kernel(file: str, devices: list[str]) -> str:
    """The kernel's name, from the file's name: `gfx1100_reduce_stats.csv` -> `reduce`."""
    stem = Path(file.removesuffix(".gz")).stem
    for device in set(devices):
        stem = re.sub(rf"(?:^|_){re.escape(device)}(?=_|$)", "", stem, flags=re.IGNORECASE)
    stem = re.sub(r"(?:^|_)(?:stats|statistics|analysis|stdin)(?=_|$)", "", stem).strip("_")
    return stem
