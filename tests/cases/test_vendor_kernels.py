"""Each illness that AMD's and Intel's counters can show comes first, whatever tool and generation printed it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cases import vendor_kernels as amd
from tests.cases import xe_kernels as xe
from tests.conftest import diagnose, run

pytestmark = pytest.mark.slow

Patients = dict[str, tuple[Mapping[str, float], str]]
# nothing busy, waves waiting: what most illnesses look like from afar
LAZY = {"valu": 0.08, "salu": 0.03, "ta": 0.25, "vram": 0.1, "waiting": 0.85, "ta_stalled": 0.08}


def cdna(gpu: str) -> Patients:
    """Name -> (shares, accepted causes). 40 registers leave no second group of 1,024 in 256 a lane, 72 in 512."""
    alone = 40 if amd.GPUS[gpu].slots == 10 else 72

    def of(causes: str, **more: float) -> tuple[Mapping[str, float], str]:
        return amd.WELL | more, causes

    return {
        "stream": of("vram-bandwidth near-limit", lines=2.5, valu=0.09, vram=0.86, ta=0.6, waiting=0.82, l1=0.5, l2=0.02, ta_stalled=0.25, write_stalled=0.1, occupancy=0.9),
        "stride": of("uncoalesced-loads", **LAZY | {"lines": 60, "l1": 0.05, "l2": 0.9, "ta": 0.92, "ta_stalled": 0.4, "waiting": 0.93, "vram": 0.12}),
        "gather": of("uncoalesced-loads", **LAZY | {"lines": 58, "l1": 0.08, "l2": 0.35, "ta": 0.9, "ta_stalled": 0.5, "waiting": 0.95, "vram": 0.55, "halves": 0.7, "groups": 6000}),
        "conflicts": of("bank-conflicts", valu=0.2, lds=16384, lds_busy=0.85, conflicts=0.8, waiting=0.8, ta=0.1, vram=0.05, lds_waits=0.35, l1=0.6),
        "lds_tile": of("shared-memory-traffic shared-memory-latency", valu=0.35, lds=16384, lds_busy=0.78, conflicts=0.01, waiting=0.6, ta=0.1, vram=0.05, lds_waits=0.2),
        "registers": of("occupancy-registers", valu=0.22, vgpr=128, occupancy=0.24, vgpr_full=0.92, slots_full=0, waiting=0.78, ta=0.3, vram=0.2, l2=0.6),
        "lds_room": of("occupancy-shared-memory", valu=0.2, lds=49152, lds_busy=0.15, occupancy=0.12, lds_full=0.95, slots_full=0, waiting=0.8, ta=0.2, vram=0.15),
        "six_groups": of("small-grid", groups=6, occupancy=0.12, active=0.02, valu=0.004, salu=0.001, ta=0.004, ta_stalled=0.001, vram=0.004, us=2500, waiting=0.6, slots_full=0, l1_stalled=0.003),
        "divergent": of("divergence", valu=0.85, lanes=0.22, ta=0.15, vram=0.08, waiting=0.3),
        "particles": of("fp32-bound", valu=0.93, lanes=0.99, ta=0.1, vram=0.04, waiting=0.2, salu=0.1),
        "spill": of("register-spills", **LAZY | {"valu": 0.2, "scratch": 900, "vgpr": 128, "ta": 0.75, "ta_stalled": 0.3, "l1": 0.4, "l2": 0.7, "vram": 0.35}),
        "histogram": of("atomics-contention", **LAZY | {"atomics": 0.7, "l1": 0, "l2": 0.97, "ta": 0.5, "ta_stalled": 0.45, "write_stalled": 0.1, "lines": 16, "waiting": 0.95, "vram": 0.02}),
        "pages": of("address-translation", **LAZY | {"tlb": 0.55, "waiting": 0.96, "l2": 0.3, "l1": 0.2, "lines": 8, "l1_stalled": 0.7, "vram": 0.15, "ta_stalled": 0.5, "ta": 0.55}),
        "chase": of("memory-latency", **LAZY | {"waiting": 0.95, "l1": 0.1, "l2": 0.15, "lines": 4, "vram": 0.12, "ta": 0.3, "ta_stalled": 0.05, "l1_stalled": 0.3, "occupancy": 0.88}),
        "unrolled": of("instruction-fetch", valu=0.25, icache=0.62, waiting=0.7, ta=0.1, vram=0.03),
        "host_data": of("far-memory", **LAZY | {"remote": 0.9, "waiting": 0.95, "l2": 0.1, "l1": 0.5, "vram": 0.03, "ta": 0.4, "ta_stalled": 0.2}),
        "odd_groups": of("partial-warps divergence", valu=0.8, group=33, groups=60000, lanes=0.52, ta=0.2, vram=0.1, waiting=0.35),
        "tuned": of("matrix-bound near-limit", valu=0.3, mfma=0.86, vgpr=128, agpr=128, occupancy=0.12, lds=32768, lds_busy=0.4, conflicts=0.02, waiting=0.6, ta=0.3, vgpr_full=0.9, slots_full=0),
        "starved": of("matrix-underfed", valu=0.15, mfma=0.22, vgpr=128, agpr=64, occupancy=0.2, lds=32768, lds_busy=0.2, conflicts=0.01, waiting=0.85, ta=0.3, vram=0.3, l2=0.7, vgpr_full=0.6, slots_full=0),
        "solver": of("occupancy-group-size", valu=0.25, group=1024, vgpr=alone, lds=32768, lds_busy=0.2, occupancy=0.48, waiting=0.75, groups=4000, slots_full=0, ta=0.2, vram=0.12),
        "lost_tiles": of("l2-locality", valu=0.35, lds=16384, lds_busy=0.3, waiting=0.8, l1=0.3, l2=0.3, ta=0.4, ta_stalled=0.3, vram=0.55, occupancy=0.7),
    }  # fmt: skip


# what the counters that RDNA has can tell apart: no lanes, no reasons of the workgroup manager, gfx12 alone times the ALU
RDNA = ("stream", "conflicts", "lds_tile", "stride", "registers", "six_groups", "chase", "odd_groups", "spill")
RDNA4 = (*RDNA, "particles")
# what rocprof v1's derived metrics can tell apart
DERIVED = ("stream", "conflicts", "lds_tile", "six_groups", "divergent", "particles", "odd_groups", "tuned")


def causes(result: dict[str, Any], name: str) -> tuple[str, str]:
    """The first finding's cause and the first item's, of one kernel; states of a workload are no causes."""
    (kernel,) = (w["id"] for w in result["workloads"] if w["name"] == name)
    found = [f["cause"] for f in result["findings"] if f["workload"] == kernel and f.get("cause") != "low-throughput"]
    listed = [t["cause"] for t in result["todo"] if kernel in t["workloads"]]
    return amd.leads(found, listed)


def wrong(result: dict[str, Any], patients: Mapping[str, tuple[Mapping[str, float], str]]) -> dict[str, Any]:
    """Patients whose first cause is not an accepted one."""
    said = {name: causes(result, name) for name in patients}
    return {n: (s, patients[n][1]) for n, s in said.items() if not set(s) <= set(patients[n][1].split())}


Writer = Callable[[Path, amd.Gpu, list[tuple[str, Mapping[str, float]]]], Path]
TOOLS: dict[str, Writer] = {
    "rocprof v1, counters": lambda d, g, rows: amd.v1(d / "results.csv", g, rows, only=amd.counters(g, rows[0][1])),
    "rocprof v1, derived": lambda d, g, rows: amd.v1(d / "results.csv", g, rows),
    "rocprofv3": lambda d, g, rows: amd.v3(d / "7_counter_collection.csv", g, rows),
    "rocprofv3 without agents": lambda d, g, rows: amd.v3(d / "7_counter_collection.csv", g, rows, agents=False),
    "rocprof-compute": lambda d, g, rows: amd.compute(d / "w", g, rows),
    "rocprof-compute, long": lambda d, g, rows: amd.compute(d / "w", g, rows, long=True),
    "rocprof-compute without sysinfo": lambda d, g, rows: amd.compute(d / "w", g, rows, sysinfo=False),
}
RUNS = [
    ("Vega 64", "rocprof v1, counters", ()), ("Vega 64", "rocprof v1, derived", DERIVED), ("MI50", "rocprof v1, counters", ()),
    ("MI100", "rocprof-compute", ()), ("MI210", "rocprofv3 without agents", ()), ("MI300A", "rocprof-compute, long", ()),
    ("MI300X", "rocprofv3", ()), ("MI355X", "rocprof-compute without sysinfo", ()),
    ("RX 6800 XT", "rocprofv3", RDNA), ("RX 7900 XTX", "rocprofv3 without agents", RDNA), ("RX 9070 XT", "rocprofv3", RDNA4),
]  # fmt: skip


@pytest.mark.parametrize(("gpu", "tool", "only"), RUNS, ids=lambda v: v if isinstance(v, str) else "")
def test_amd(tmp_path: Path, gpu: str, tool: str, only: tuple[str, ...]) -> None:
    patients = {n: p for n, p in cdna(gpu).items() if n in (only or cdna(gpu))}
    if not only and amd.GPUS[gpu].arch in ("gfx900", "gfx906"):  # no matrix cores before CDNA
        patients = {n: p for n, p in patients.items() if n not in ("tuned", "starved")}
    path = TOOLS[tool](tmp_path, amd.GPUS[gpu], [(n, k) for n, (k, _) in patients.items()])
    knows = tool in ("rocprofv3", "rocprof-compute", "rocprof-compute, long")
    result = diagnose(path, "--full", *(() if knows else ("--device", gpu)))
    assert not wrong(result, patients)


def test_a_well_kernel_gets_no_illness(tmp_path: Path) -> None:
    """No unit is busy and waves wait for half of their life: nothing here is worth a tenth of the time."""
    result = diagnose(amd.compute(tmp_path / "w", amd.GPUS["MI300X"], [("well", amd.WELL)]), "--full")
    assert not [f for f in result["findings"] if f.get("cause") != "low-throughput" and f["gain"]["fraction"] > 0.1]


XE_LAZY = {"active": 0.15, "alu0": 0.08, "alu1": 0.06, "both": 0.02, "send": 0.05}


def _xe(causes: str, **more: float) -> tuple[Mapping[str, float], str]:
    return xe.WELL | more, causes


XE: Patients = {
    "stream": _xe("vram-bandwidth near-limit", **XE_LAZY | {"vram": 0.86, "queue_full": 0.7, "sbid": 0.75, "l3": 0.05, "lsc": 0.2}),
    "chase": _xe("memory-latency", **XE_LAZY | {"vram": 0.15, "sbid": 0.72, "l3": 0.3, "lsc": 0.1}),
    "four_groups": _xe("small-grid", groups=4, us=3000, active=0.01, idle=0.96, occupancy=0.03, alu0=0.006, alu1=0.004, both=0.001, send=0.002, vram=0.002, sbid=0.02, aluwr=0.005, control=0.001, pipestall=0.001, other=0.001, sendwr=0.001),
    "uneven": _xe("idle-sms load-imbalance tail-effect small-grid", groups=700, active=0.4, idle=0.45, occupancy=0.4, sbid=0.08),
    "steps": _xe("barrier-waits", **XE_LAZY | {"barrier": 0.55, "slm": 0.1, "group": 1024, "groups": 2000}),
    "unrolled": _xe("instruction-fetch", **XE_LAZY | {"instfetch": 0.5, "icache": 0.6, "sbid": 0.1}),
    "branches": _xe("branch-waits", **XE_LAZY | {"control": 0.45, "sbid": 0.1}),
    "one_pipe": _xe("narrow-pipe", **XE_LAZY | {"active": 0.5, "alu0": 0.05, "alu1": 0.48, "pipestall": 0.4, "sbid": 0.05}),
    "one_chain": _xe("dependency-latency", **XE_LAZY | {"aluwr": 0.55, "sbid": 0.08, "active": 0.3, "alu0": 0.25}),
    "many_sends": _xe("lsu-pressure scalar-access", **XE_LAZY | {"sendwr": 0.5, "sbid": 0.2, "send": 0.3, "lsc": 0.9, "vram": 0.08}),
    "slm_column": _xe("bank-conflicts", **XE_LAZY | {"slm": 0.3, "conflicts": 0.85, "sbid": 0.5, "vram": 0.05}),
    "slm_room": _xe("occupancy-shared-memory", **XE_LAZY | {"dispatch": 0.5, "occupancy": 0.22, "sbid": 0.45, "slm": 0.05, "vram": 0.1}),
    "histogram": _xe("atomics-contention", **XE_LAZY | {"atomics": 0.6, "sbid": 0.7, "vram": 0.02, "l3": 0.97, "lsc": 0.01}),
    "pages": _xe("address-translation", **XE_LAZY | {"tlb": 0.3, "sbid": 0.75, "l3": 0.3, "vram": 0.12}),
    "particles": _xe("fp32-bound", active=0.95, alu0=0.9, alu1=0.3, both=0.25, vram=0.05, sbid=0.02),
    "tuned": _xe("matrix-bound near-limit", active=0.9, xmx=0.86, alu0=0.1, alu1=0.1, sbid=0.3, vram=0.2, occupancy=0.5),
    "starved": _xe("matrix-underfed memory-latency", active=0.3, xmx=0.22, alu0=0.08, alu1=0.1, sbid=0.6, vram=0.2, occupancy=0.5, l3=0.8),
    "gemm_by_hand": _xe("matrix-unused near-limit", active=0.85, xmx=0, alu0=0.8, alu1=0.3, vram=0.05, sbid=0.1),
    "holes": _xe("uncoalesced-loads", **XE_LAZY | {"used": 0.12, "vram": 0.55, "sbid": 0.7, "l3": 0.1, "lsc": 0.05}),
    "few_threads": _xe("low-occupancy memory-latency", **XE_LAZY | {"occupancy": 0.35, "sbid": 0.6, "vram": 0.12, "active": 0.25}),
    "l3_banks": _xe("l2-bandwidth", **XE_LAZY | {"l3_stall": 0.7, "l3": 0.93, "sbid": 0.7, "vram": 0.08, "lsc": 0.1}),
    "texels": _xe("texture-format", **XE_LAZY | {"sampler": 0.95, "bottleneck": 0.6, "sbid": 0.7}),
}  # fmt: skip
# up to Xe-LP: no stall reasons, and no peak of a memory that is the system's
OLD = ("chase", "four_groups", "uneven", "histogram", "particles", "few_threads", "texels")
# what the basic set of Xe-HPG and later can tell apart
BASIC = (
    "stream",
    "four_groups",
    "uneven",
    "unrolled",
    "slm_column",
    "histogram",
    "pages",
    "particles",
    "tuned",
    "starved",
    "gemm_by_hand",
    "holes",
    "l3_banks",
)
XE_RUNS = [("Iris Xe Graphics", "", OLD), ("Arc A770", "", ()), ("Data Center GPU Max 1550", "", ()), ("Arc B580", "", ()), ("Arc B580", "basic", BASIC), ("Data Center GPU Max 1550", "basic", BASIC)]  # fmt: skip


@pytest.mark.parametrize(("gpu", "group", "only"), XE_RUNS, ids=lambda v: v if isinstance(v, str) else "")
def test_intel(tmp_path: Path, gpu: str, group: str, only: tuple[str, ...]) -> None:
    patients = {
        n: p for n, p in XE.items() if (n in only if only else n != "texels")
    }  # no sampler counters from Xe-HPG on
    rows = [(n, k) for n, (k, _) in patients.items()]
    result = diagnose(xe.unitrace(tmp_path / "metrics.77.csv", xe.GPUS[gpu], rows, group), "--full", "--device", gpu)
    assert not wrong(result, patients)


def test_metric_sets_of_one_folder_are_read_together(tmp_path: Path) -> None:
    """The printed command writes one file per set: kernels count once, and the reasons for stalls decide."""
    rows = [(n, XE[n][0]) for n in ("steps", "branches", "slm_column", "histogram")]
    for group in ("basic", "stalls"):
        xe.unitrace(tmp_path / f"metrics_{group}.77.csv", xe.GPUS["Arc B580"], rows, group)
    result = diagnose(tmp_path, "--full", "--device", "Arc B580")
    assert len(result["workloads"]) == len(rows)
    assert not wrong(result, {n: XE[n] for n, _ in rows})
    xe.unitrace(tmp_path / "metrics_more.77.csv", xe.GPUS["Arc B580"], rows[:2], "stalls")
    p = run("diagnose", tmp_path)
    assert p.returncode == 2 and "launched other kernels" in p.stderr


def test_a_comparison_speaks_in_the_words_of_its_gpu(tmp_path: Path) -> None:
    """What changed is told in the generation's words, as the report tells it: waves, GL0 and vector engines, never warps."""
    pairs = {}
    for name, gpu in (("rdna", "RX 7900 XTX"), ("cdna", "MI300X")):
        rows = [amd.WELL | more for more in ({"l1": 0.3, "occupancy": 0.4, "waiting": 0.8}, {"us": 600, "l1": 0.8})]
        for side, k in zip(("before", "after"), rows, strict=True):
            (at := tmp_path / name / side).mkdir(parents=True)
            amd.v3(at / "9_counter_collection.csv", amd.GPUS[gpu], [("k", k)])
        pairs[name] = [tmp_path / name / s / "9_counter_collection.csv" for s in ("before", "after")]
    for side, k in (("before", xe.WELL | {"sbid": 0.4, "occupancy": 0.3}), ("after", xe.WELL | {"us": 500})):
        xe.unitrace(tmp_path / f"{side}.7.csv", xe.GPUS["Arc B580"], [("k", k)])
    pairs["xe"] = [tmp_path / "before.7.csv", tmp_path / "after.7.csv"]
    text = {}
    for name, files in pairs.items():
        device = ("--device", "Arc B580") if name == "xe" else ()
        text[name] = " ".join(run("compare", *files, "--full", *device).stdout.split())
        assert not re.search(r"\b[Ww]arps?\b|\bSMs?\b|L1/TEX", text[name]), text[name]
    assert "GL0" in text["rdna"] and "GL0" not in text["cdna"]
    assert "wave" in text["cdna"] and "thread" in text["xe"] and "XVE" in text["xe"]


# names of the metric sets before Xe-HPG -> those of Xe-HPG (Metrics Discovery; Mesa, oa-acmgt1.xml)
_HPG = {
    "EuActive": "XveActive", "EuStall": "XveStall", "EuThreadOccupancy": "XveThreadOccupancy", "Fpu0Active": "FpuActive", "Fpu1Active": "EmActive",
    "EuFpuBothActive": "XveFpuEmActive", "EuAvgIpcRate": "XveAvgIpcRate", "EuSendActive": "SendActive",
}  # fmt: skip


def test_arc_with_the_names_of_metrics_discovery(tmp_path: Path) -> None:
    """Xe-HPG's own sets still have samplers, and name the engines' pipes anew."""
    gpu = replace(xe.GPUS["Arc A770"], old=True)
    path = xe.unitrace(tmp_path / "metrics.77.csv", gpu, [(n, XE[n][0]) for n in OLD])
    text = path.read_text(encoding="utf-8")
    for old, new in _HPG.items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    result = diagnose(path, "--full", "--device", "Arc A770")
    assert not wrong(result, {n: XE[n] for n in OLD})
