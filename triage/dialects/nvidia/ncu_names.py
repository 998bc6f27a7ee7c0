"""What Nsight Compute calls the canonical metrics, over all its versions; and how to ask it for them.

Sources: the metric names and section labels that exports of 2018 to 2026 carry; NVIDIA, Nsight Compute Profiling
Guide (metrics structure, sections); NVIDIA, Nsight Compute CLI, nvprof transition guide.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from triage import schema
from triage.ground import csv_rows
from triage.ground.collect_command import Command
from triage.ground.errors import UnknownUnit
from triage.ground.units import unit

# label or counter -> canonical id, where the schema's own aliases do not say it
OWN: dict[str, str] = dict(csv_rows.rows(__file__, "ncu_names.csv"))
# labels that stand for two quantities -> dimension of the printed unit -> canonical id. `Memory Throughput` is a
# percentage in GPU Speed Of Light and a bandwidth in Memory Workload Analysis.
_BY_UNIT: dict[str, dict[str, str]] = {
    "memory throughput": {"ratio": "memory.throughput", "byte/s": "vram.bandwidth"},
    "dram throughput": {"ratio": "vram.throughput", "byte/s": "vram.bandwidth"},
    "l1/tex cache throughput": {"ratio": "l1tex.throughput_active"},
    "l2 cache throughput": {"ratio": "l2.throughput"},
    "compute throughput": {"ratio": "sm.throughput"},
    "cycles": {"cycle": "sm.cycles_elapsed"},
}
# a spelling that means the same, and is only used when the better one is absent
_WEAKER = (
    "one or more eligible",
    "warp cycles per issue active",
    "smsp__warp_cycles_per_issue_active",
    "smsp__issue_active_per_active_cycle_pct",
    "sm__cycles_elapsed.avg",
    "average sm active cycles",
)
# schema aliases that are too short to mean in Nsight Compute what they mean in a hand-written table
_NOT_HERE = frozenset(
    "time gpu idle count sm tex l2 vram dram cycles registers regs groups occupancy calls instances".split()
)
_SUFFIX = re.compile(r"[\s(\[]+([a-z0-9]+__[a-z0-9_.]+)[)\]]?\s*\Z")


@cache
def _table() -> dict[str, str]:
    table = {k: v for k, v in schema.by_alias().items() if k not in _NOT_HERE}
    table |= {schema.normal(k): v for k, v in OWN.items() if schema.known(v)}
    return table


@lru_cache(16_384)
def metric(name: str, unit_text: str = "", section: str = "") -> str:
    """Canonical id of an exported metric, "" when it means nothing to us.

    Between namesakes the printed unit decides, and without one the section.
    """
    key = schema.normal(name.removeprefix("breakdown:"))
    if key in _BY_UNIT:
        try:
            dimension = unit(unit_text)[0]
        except UnknownUnit:
            return ""
        if dimension == "count":  # no unit: the section decides between percentage and bandwidth
            dimension = {"memory workload analysis": "byte/s"}.get(section.lower(), "ratio" if section else "")
        return _BY_UNIT[key].get(dimension, "")
    found = _table().get(key, "")
    if not found and (m := _SUFFIX.search(name[-400:])):  # --print-metric-name label-name
        found = _table().get(schema.normal(m[1]), "")
    return found


@lru_cache(16_384)
def rank(name: str) -> int:
    """Preference among names of one metric: lower wins. The order of the schema's aliases, then other names."""
    key = schema.normal(name)
    if key in {schema.normal(w) for w in _WEAKER}:
        return 900
    found = _table().get(key, "")
    if not found:
        return 500
    aliases = [schema.normal(a) for a in schema.get(found).aliases]
    return aliases.index(key) if key in aliases else 400


_PERFWORKS = re.compile(r"[a-z0-9]+__[a-z0-9_.]+\Z")
# counters of Pascal's tools, which today's ncu does not know: never to be asked for
_LEGACY = re.compile(r"(_sol_pct|_per_sec|hitrate_pct|_per_(active|elapsed)_cycle(_pct)?|_avg|_max|_sum)\Z")


# aliases of graphics tools and of tables made by hand: nothing to be asked of ncu
_GRAPHICS = tuple(
    "gr__ tpc__ fe__ crop__ zrop__ pda__ ia__ vaf__ vpc__ pes__ raster__ prop__ dramc__ memory. gpu__engine vram__ l2__"
    " pd__ pcie__ rtcore__ memory__".split()
)


@cache
def _by_metric() -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for entry in schema.all_metrics().values():
        for alias in entry.aliases:
            key = schema.normal(alias)
            counter = bool(_PERFWORKS.match(alias))
            graphics = alias.startswith(_GRAPHICS)
            # `memory_l...`: counters of SourceCounters, which are no PerfWorks names
            label = (key in _LABELS or alias.startswith("memory_l")) and not counter
            if (counter and not graphics and "realtime" not in alias) or label:
                table.setdefault(entry.id, []).append(alias)
    for own, canonical in OWN.items():
        if schema.known(canonical) and own not in table.get(canonical, []):
            table.setdefault(canonical, []).append(own)
    for shown, meant in _BY_UNIT.items():
        for canonical in meant.values():
            table.setdefault(canonical, []).append(shown.title())
    return table


_LABELS = frozenset(schema.normal(label) for (label,) in csv_rows.rows(__file__, "ncu_labels.csv"))


# words of counters that only GPUs of some compute capabilities have (times ten) -> the first and the last of these.
# FP32 in two halves: since GA10x (Profiling Guide, Pipelines), and FP16 in its own pipe before it; compute data
# compression: since A100 (its white paper); warp-group products and bulk copies: since Hopper (its white paper)
_GENERATIONS = {
    "fmaheavy": (86, 999),
    "fmalite": (86, 999),
    ".fp16": (0, 80),
    "l2.compression": (80, 999),
    "gmma": (90, 999),
    "copies.bulk": (90, 999),
}


def _missing(arch: str) -> list[str]:
    """Words of the metrics for which a GPU has no counters; none where its architecture is not known."""
    capability = re.fullmatch(r"sm_(\d{2,3})\w?", arch)
    return [w for w, (low, high) in _GENERATIONS.items() if not low <= int(capability[1]) <= high] if capability else []


def names(arch: str = "") -> dict[str, list[str]]:
    """canonical id -> names Nsight Compute exports it under, modern counters first. arch: of the GPU, "" for any."""
    absent = _missing(arch)
    # neither is an alias in the schema: one is a column of summaries, the other stands in for issue slots
    extra = {"frame.calls": ["Invocations"], "sm.issue_per_active": ["One or More Eligible"]}
    table = {k: list(v) for k, v in _by_metric().items()}
    for key, more in extra.items():
        table.setdefault(key, [])
        table[key] += [m for m in more if m not in table[key]]
    return {k: v for k, v in table.items() if not any(word in k for word in absent)}


# section to ask for -> beginnings of metrics: what cannot be asked for by --metrics, or only comes with its section
_SECTIONS = {
    "LaunchStats": ("launch.", "device."),
    "Occupancy": ("occupancy.",),
    "WarpStateStats": ("stall.", "stall_cycles."),
    "SourceCounters": ("global_access.", "shared.access", "shared.excess", "branch.", "stall_samples."),
    "MemoryWorkloadAnalysis_Tables": ("local.spill",),
}


_CSV = "--csv --page raw --print-units base --log-file kernels.csv"


def collect(metrics: list[str], output: str = _CSV) -> Command:
    """A complete command that collects the canonical metrics, newest counter names first. output: where they go."""
    wanted: set[str] = set()
    sections: set[str] = set()
    for canonical in metrics:
        section = next((s for s, prefixes in _SECTIONS.items() if canonical.startswith(prefixes)), "")
        counters = [n for n in _by_metric().get(canonical, []) if _PERFWORKS.match(n) and not _LEGACY.search(n)]
        if section:
            sections.add(section)
        elif counters:  # one counter alone needs fewer passes than its section
            wanted.add(counters[0])
        elif canonical in _by_metric():
            sections.add(
                "ComputeWorkloadAnalysis" if canonical.startswith(("sm.", "inst.")) else "MemoryWorkloadAnalysis"
            )
    if not wanted and not sections:
        return Command("")
    wanted.add("gpu__time_duration.sum")  # without a time nothing can be ranked
    chosen = "".join(f"--section {s} " for s in sorted(sections, reverse=True))
    return Command.asking("ncu --metrics ", sorted(wanted), f" {chosen}{output} ./your-app", glue=",", program="ncu")
