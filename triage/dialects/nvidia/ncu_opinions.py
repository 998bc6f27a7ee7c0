"""Figures that Nsight Compute states only in the sentences of its rules, read back as metrics.

The details page prints no stall reasons, no coalescing and no bank-conflict counters, but its rules quote them:
"... excessive sectors (75% of the total 33554432 sectors)". The figure is a fact; the advice around it is not used.
A metric that the export holds as a number of its own is never replaced.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from triage.capture.capture import Column, Table

_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_UNITS: dict[str, str] = _DATA["units"]
_PIPES: dict[str, str] = _DATA["pipes"]
_STALL = re.compile(
    r"stalled? (?:waiting )?(?:for |on |due to |after )?(.{5,200}?)\. .*?represents about ([\d.]+)% of the total average of ([\d.]+)",
    re.DOTALL,
)
# the rule's "67.04% above the average" is (maximum - average) / maximum: so on 12 pages whose raw page holds both
_UNEVEN = re.compile(r"One or more ([\w ]+?) have a much .*?Maximum instance value is ([\d.]+)% above", re.DOTALL)
# a composite pipe is named with the one that dominates it: "Shared is the highest ... dominated by its Tensor (FP) sub-pipeline"
_PIPE_NAME = r"(ALU(?: Heavy| Lite)?|FMA(?: Heavy| Lite| \(FP16\))?|FP16|FP64|XU|LSU|TEX|TMA|Uniform|Tensor|Shared)\b"
_PIPE = re.compile(
    rf"\b(?:Shared )?{_PIPE_NAME}[^.]{{0,30}}? is the highest-utilized pipeline \(([\d.]+)%\)( based on elapsed)?",
    re.IGNORECASE,
)
_DOMINATED = re.compile(rf"dominated by its {_PIPE_NAME}[^.]{{0,12}} sub-pipeline", re.IGNORECASE)
_EXECUTED = re.compile(
    rf"executed instructions, the highest utilized pipeline \(([\d.]+)%\) is {_PIPE_NAME}", re.IGNORECASE
)
WARP = 32  # the rule counts instructions of warps; all lanes are taken to work
_LEADERS = ("alu", "fma", "xu")
_ROOF = re.compile(
    r"achieved\s+(?:close to )?([\d.]+)% of this device's fp32 peak[^.]*? ([\d.]+)% of its fp64 peak", re.IGNORECASE
)
_FUSED = re.compile(r"executes ([\d,]+) fused and ([\d,]+) non-fused (FP32|FP64)", re.IGNORECASE)
_SECTORS = re.compile(
    r"global (load|store)s\b[^.]*\..*?results in ([\d.]+) sectors per\s+request.*?would result in ([\d.]+)\*32",
    re.DOTALL,
)
_SHARES = (
    (r"(?:which represent|bank conflicts,) ([\d.]+)% of the\s+overall (?:[\d,]+ )?wavefronts", "shared.conflict_share"),
)


def figures(rule: str, text: str) -> Iterator[tuple[str, float]]:
    """(metric, value) for every figure a rule's sentence holds; `{unit}.cycles_active_max` is relative to the average."""
    # a console's text names the section alone, a table the rule
    if rule.startswith(("CPIStall", "WarpState")) and (m := _STALL.search(text)):
        what = m[1].lower()
        if reason := next((r for phrase, r in _DATA["waits"] if phrase in what), ""):
            yield f"stall.{reason}", float(m[2]) / 100
            yield "warp.cycles_per_issue", float(m[3])
    for pattern, metrics in _DATA["counts"]:
        if found := re.search(pattern, text, re.DOTALL):
            yield from ((metric, float(g.replace(",", ""))) for metric, g in zip(metrics, found.groups(), strict=True))
    if m := _SECTORS.search(text):
        yield f"global_{m[1]}.sectors_per_request", float(m[2])
        yield f"global_{m[1]}.bytes_per_sector", 32 * min(float(m[3]) / float(m[2]), 1.0)
    for pattern, metric in _SHARES:
        if found := re.search(pattern, text):
            yield metric, float(found[1]) / 100
    if (m := _UNEVEN.search(text)) and m[1].lower() in _UNITS and float(m[2]) < 100:
        yield f"{_UNITS[m[1].lower()]}.cycles_active_max", 1 / (1 - float(m[2]) / 100)
    yield from _pipes(text)
    if m := _ROOF.search(text):
        yield "flop.fp32_share", float(m[1]) / 100
        yield "flop.fp64_share", float(m[2]) / 100
    if m := _FUSED.search(text):
        fused, single = (float(g.replace(",", "")) for g in m.groups()[:2])
        if fused + single > 0:
            yield f"flop.{m[3].lower()}", WARP * (2 * fused + single)
            yield f"flop.nonfused_{m[3].lower()}", single / (fused + single)


def _pipes(text: str) -> Iterator[tuple[str, float]]:
    """The busiest pipe by active (newer versions: elapsed) cycles, and the one that executes most instructions."""
    if m := _PIPE.search(text):
        inside = _DOMINATED.search(text)
        named = (inside[1] if inside and m[1].lower() == "shared" else m[1]).lower()
        if pipe := _PIPES.get(named, named):
            yield f"{'pipe_elapsed' if m[3] else 'pipe'}.{pipe}", float(m[2]) / 100
            if pipe in _LEADERS:  # of no other pipe is a figure given: only that it is lower
                yield f"pipe.{pipe}_leads", 1.0
    if re.search(r"All (?:compute )?pipelines are under-utilized", text):
        yield "pipe.all_low", 1.0
    if (m := _EXECUTED.search(text)) and (pipe := _PIPES.get(m[2].lower(), m[2].lower())):
        yield f"pipe.{pipe}", float(m[1]) / 100


def _of_all_accesses(found: dict[str, tuple[str, dict[int, float]]]) -> None:
    """Bank conflicts of loads or of stores as a share of both, where the wavefronts of both are known."""
    _, shares = found.get("shared.conflict_share", ("", {}))
    _, excess = found.get("shared.excess_wavefronts", ("", {}))
    _, made = found.get("shared.access_wavefronts", ("", {}))
    for row in shares.keys() & excess.keys() & made.keys():
        shares[row] = min(shares[row], excess[row] / made[row] if made[row] else 0.0)


def add(table: Table) -> None:
    """Columns for what only the rules' sentences say; shares 0-1, counts as printed."""
    # a counter is never replaced, and a sentence names only the worst of the reasons
    stalls_known = any(m.startswith(("stall.", "stall_cycles.")) for m in table.columns)
    found: dict[str, tuple[str, dict[int, float]]] = {}
    for opinion in table.opinions:
        for metric, value in figures(opinion.rule, opinion.text):
            if metric.startswith("stall.") and stalls_known:
                continue
            rows = found.setdefault(metric, (opinion.rule, {}))[1]
            # a rule fires once per instruction or pipe: the worst counts
            rows[opinion.row] = max(value, rows.get(opinion.row, value))
    _of_all_accesses(found)
    for metric, (rule, rows) in found.items():
        if metric in table.columns:
            continue
        values = np.full(len(table), np.nan)
        values[list(rows)] = list(rows.values())
        inputs: tuple[str, ...] = ()
        if metric.endswith(".cycles_active_max"):
            average = table.columns.get(metric.removesuffix("_max"))
            if average is None:
                continue
            values, inputs = values * average.values, (metric.removesuffix("_max"),)
        table.columns[metric] = Column(values, "", formula=f"as the profiler's rule {rule} states it", inputs=inputs)
