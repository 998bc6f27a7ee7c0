"""Intel unitrace --stall-sampling: samples of threads by instruction address and reason, summed up per kernel.

A row is one instruction of one kernel: how often a thread was found executing it (Active), and how often waiting there, by reason.
The file holds no times; those of the same run stand in the report beside it (`out.4711.csv` beside `out.metrics.4711.csv`).
"""

from __future__ import annotations

import numpy as np

from triage.capture.capture import Column, Quality, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.intel import intel_pti, pti
from triage.ground.errors import BadCapture, TriageError

NAME = "intel-stalls"
SIGN = ("sbidstall",)
TELLS = {"work": "compute", "vendor": "intel", "api": "sycl"}
TITLE = "Intel unitrace stall samples (EuStallSampling) per kernel"
CAPTURE = """\
    unitrace --stall-sampling -d -o out.csv ./app

writes `out.metrics.<pid>.csv` with the samples and `out.<pid>.csv` with the times of the kernels; give triage the first, it finds
the second beside it. Needs Ponte Vecchio, Xe2 or later and the right to sample (observation by all users of the device).
"""
_ACTIVE = "Active"
# reason as sampled -> the metric of the hardware's own share of time
_REASONS = {
    "SbidStall": "eu.stall_sbid",
    "SendStall": "eu.stall_sendwr",
    "DistStall": "eu.stall_aluwr",
    "SyncStall": "eu.stall_barrier",
    "ControlStall": "eu.stall_control",
    "InstrFetchStall": "eu.stall_instfetch",
    "PipeStall": "eu.stall_pipestall",
    "OtherStall": "eu.stall_other",
}
_MORE = ("PSDepStall",)  # pixel shaders' order; counted among all samples
MAX_SAMPLES = 1e15  # samples of a reason at one instruction; a sampler takes some thousand a second
MIN_SAMPLES = 100  # samples below which shares are a guess: the error of one half is then 5 points


def names() -> dict[str, list[str]]:
    """The reasons, and the times of the report beside the samples."""
    return {m: [r] for r, m in _REASONS.items()} | {"gpu.time": ["Time"], "frame.calls": ["Calls"]}


def _headers(lines: list[str]) -> list[tuple[int, list[str]]]:
    """1-based lines and bare names of the headers of sample tables."""
    found = []
    for number, line in enumerate(lines, 1):
        if line.lstrip().lstrip('"').startswith("Kernel") and "SbidStall" in line:
            found.append((number, [pti.split(c)[0] for c in pti.cut(line)]))
    return found


def recognise(source: Source) -> Match | None:
    """A header with kernels, instruction addresses and reasons."""
    if "SbidStall" not in source.head_text:
        return None
    for line, headers in _headers(source.head_lines):
        if {"Kernel", "IP", _ACTIVE} <= set(headers):
            return Match(0.92, f"stall samples (Kernel, IP, {_ACTIVE}, ..., SbidStall) on line {line}")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per kernel; BadCapture without samples."""
    blocks = _blocks(source)
    kernels: dict[str, dict[str, float]] = {}
    hottest: dict[str, tuple[float, str]] = {}
    lines: dict[str, int] = {}
    remarks: list[Quality] = []
    for block in blocks:
        bare = [pti.split(h)[0] for h in block.headers]
        wanted = [(n, bare.index(n)) for n in (_ACTIVE, *_REASONS, *_MORE) if n in bare]
        data = pti.load(source, [block], bare.index("Kernel"), [i for _, i in wanted])
        addresses = [pti.cut(row)[bare.index("IP") - len(bare)] for row in block.rows]
        counts = np.array([data.numbers[i] for _, i in wanted])
        counted = np.isfinite(counts).all(axis=0)
        remarks += data.quality
        # check before summing: a sum hides a bad sample
        absurd = counted & ((counts < 0) | (counts > MAX_SAMPLES)).any(axis=0)
        if absurd.any():
            hold = f"{int(absurd.sum())} rows hold counts below 0 or beyond {MAX_SAMPLES:.0e} samples"
            first = int(data.lines[np.argmax(absurd)])
            remarks.append(Quality("impossible-value", f"{hold}; they were left out (first: line {first})"))
            counted &= ~absurd
        for row, name in enumerate(data.names):
            if not counted[row]:  # remarked
                continue
            sums = kernels.setdefault(name, {})
            lines.setdefault(name, int(data.lines[row]))
            waits = 0.0
            for reason, i in wanted:
                count = float(data.numbers[i][row])
                sums[reason] = sums.get(reason, 0.0) + count
                waits += count if reason != _ACTIVE else 0.0
            if waits > hottest.get(name, (0.0, ""))[0]:
                hottest[name] = (waits, addresses[row])
    total = {n: sum(s.values()) for n, s in kernels.items()}
    order = [n for n in sorted(kernels, key=lambda n: -total[n]) if total[n]]
    if not order:
        raise BadCapture(f"{source.path}: no samples", "run the kernels longer, or sample more often")
    table = Table(NAME, [source], np.array(order, dtype=object), {}, lines=np.array([lines[n] for n in order]))
    table.kinds = np.full(len(order), "compute", dtype=object)
    for reason, metric in _REASONS.items():
        if any(reason in kernels[n] for n in order):
            values = np.array([kernels[n].get(reason, np.nan) / total[n] for n in order])
            formula = f"sum of {reason} / sum of all samples"
            table.columns[metric] = Column.computed(values, formula)
    for i, name in enumerate(order):
        waits = total[name] - kernels[name].get(_ACTIVE, 0.0)
        if waits and i < 3:
            most, where = hottest[name]
            table.notes.append(f"{name}: {100 * most / waits:.0f} % of stalls at instruction {where}")
        if total[name] < MIN_SAMPLES:
            text = f"{name} was found {total[name]:.0f} times: too seldom to tell its reasons apart"
            table.remark("few-samples", text, i)
    table.quality += remarks
    _times(table, source, options)
    return table


def _blocks(source: Source) -> list[pti.Block]:
    """Headers with the rows below them; the application may print in between."""
    out = [b for b in pti.blocks(source, lambda line: "SbidStall" in line and "Kernel" in line) if b.rows]
    if not out:
        raise BadCapture(f"{source.path}: header without samples", "run the kernels longer, or sample more often")
    return out


def _times(table: Table, source: Source, options: Options) -> None:
    """gpu.time and calls by name, from the report of the same run."""
    beside = source.sibling(source.name.replace(".metrics.", ".")) if ".metrics." in source.name else None
    try:
        other = intel_pti.read(beside, options) if beside is not None else None
    except TriageError:  # a report without times is no reason to refuse the samples
        other = None
    if other is None:
        table.notes.append("no times: give unitrace -d as well, and keep its report beside the samples")
        return
    table.files.append(other.files[0])
    for metric in ("gpu.time", "frame.calls"):
        if metric in other.columns:
            column = other.columns[metric]
            mine = [column.values[other.names == n] for n in table.names]
            values = np.array([m.sum() if len(m) else np.nan for m in mine])
            formula = f"sum of {column.header} in {other.files[0].name}"
            table.columns[metric] = Column.computed(values, formula)


collect = intel_pti.collect
