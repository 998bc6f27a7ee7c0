"""Blind patients: kernels told by their work, whose time a small model finds; made before anybody saw what is said of them.

What makes a patient ill is work whose cure saves a fifth of the time or more in the model, so no share was chosen to please a
rule. Each set was read once before anything was changed for it: 77 of 85 of the first were right, 79 of the second, 84 of the
third. All figures are synthetic.
"""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cases import vendor_kernels as amd
from tests.cases import xe_kernels as xe
from tests.cases.test_vendor_few_counters import AMD, XE
from tests.helpers import vendor_kernel_model as model
from triage import api

STARVED = {"v": 250, "s": 40, "groups": 16_000}
# illness -> (accepted causes, the kernel's work, what its cure changes, GPUs that can have it and show it)
CDNA = ("MI50", "MI100", "MI210", "MI250X", "MI300X", "MI300A", "MI325X", "MI350X", "MI355X")
MATRIX = CDNA[1:]
RDNA = ("RX 6800 XT", "RX 7900 XTX", "RX 7600", "W7900", "RX 9070 XT")
Ill = tuple[str, dict[str, float], dict[str, float], tuple[str, ...]]
AMD_ILL: dict[str, Ill] = {
    "vram": ("vram-bandwidth near-limit", STARVED | {"l1": 0.5, "l2": 0.04, "ld": 48, "st": 24, "flight": 8}, {"ld": 24, "st": 12}, (*CDNA, *RDNA)),
    "l2 thrash": ("l2-locality vram-bandwidth", {"v": 1500, "lds": 8192, "d": 80, "l1": 0.25, "l2": 0.2, "ld": 90, "st": 6, "flight": 6, "uneven": 1.2}, {"l2": 0.85}, CDNA),
    "tlb": ("address-translation", STARVED | {"tlb": 0.6, "l1": 0.15, "l2": 0.4, "lines": 10, "ld": 30, "flight": 3, "groups": 6000}, {"tlb": 0.002}, CDNA),
    "uncoalesced": ("uncoalesced-loads uncoalesced-stores", STARVED | {"lines": 56, "l1": 0.06, "l2": 0.88, "ld": 40, "st": 2}, {"lines": 4, "l1": 0.5}, CDNA),
    "lds conflicts": ("bank-conflicts", {"v": 700, "lds": 16384, "d": 260, "degree": 9, "ld": 12, "st": 4}, {"degree": 1}, (*CDNA, *RDNA)),
    "lds traffic": ("shared-memory-traffic shared-memory-latency", {"v": 500, "lds": 16384, "d": 700, "ld": 8, "st": 4, "chain": 1.0}, {"d": 250}, CDNA),
    "lds room": ("occupancy-shared-memory", {"v": 600, "lds": 40_000, "d": 40, "ld": 40, "flight": 2, "l1": 0.4, "l2": 0.75}, {"lds": 8192}, ("MI50", "MI100", "MI210", "MI300X", "MI300A", *RDNA)),
    "vgprs": ("occupancy-registers", {"v": 700, "vgpr": 168, "ld": 40, "flight": 2, "l1": 0.4, "l2": 0.75}, {"vgpr": 64}, CDNA),
    "spills": ("register-spills", {"v": 900, "vgpr": 128, "agpr": 0, "scratch": 640, "spills": 160, "l1": 0.35, "l2": 0.7, "ld": 20, "flight": 5}, {"spills": 0}, (*CDNA, *RDNA)),
    "small grid": ("small-grid", {"v": 90_000, "s": 9000, "ld": 900, "groups": 14}, {"groups": 14, "v": 5000, "s": 500, "ld": 50}, (*CDNA, *RDNA)),
    "divergence": ("divergence", {"v": 6000, "lanes": 0.24, "ld": 12, "st": 4}, {"v": 1800}, CDNA),
    "odd groups": ("partial-warps divergence", {"v": 4000, "group": 72, "groups": 60_000, "lanes": 0.56, "ld": 10, "st": 4}, {"v": 2300}, CDNA),
    "atomics": ("atomics-contention", STARVED | {"atomics": 6, "hot": 0.05, "ld": 6, "st": 0, "l2": 0.95, "l1": 0.1}, {"atomics": 0.5}, CDNA),
    "matrix starved": ("matrix-underfed", {"v": 400, "m": 90, "vgpr": 120, "agpr": 64, "lds": 24_576, "d": 100, "ld": 48, "flight": 1.5, "l1": 0.2, "l2": 0.85, "lines": 4}, {"flight": 16}, MATRIX),
    "matrix bound": ("matrix-bound near-limit", {"v": 300, "m": 600, "chain": 1.0, "vgpr": 96, "agpr": 32, "lds": 16_384, "d": 120, "ld": 20, "st": 2}, {"m": 300}, MATRIX),
    "matrix unused": ("matrix-unused fp32-bound", {"v": 9000, "chain": 1.05, "lds": 16_384, "d": 300, "ld": 30, "st": 4}, {"v": 1500}, MATRIX),
    "valu": ("fp32-bound", {"v": 9000, "chain": 1.05, "lanes": 0.99, "ld": 14, "st": 6}, {"v": 4500}, CDNA),
    "transcendental": ("special-function-bound", {"v": 3000, "trans": 0.5, "chain": 1.1, "ld": 14, "st": 6}, {"trans": 0.05}, MATRIX),
    "fp64": ("fp64-bound", {"v": 6000, "f64": 0.9, "chain": 1.1, "ld": 14, "st": 6}, {"v": 3000}, CDNA),
    "code": ("instruction-fetch", {"v": 4000, "code": 190, "ld": 10, "st": 4}, {"code": 24}, CDNA),
    "constants": ("constant-misses", {"v": 300, "constants": 60, "ld": 6, "st": 4}, {"constants": 2}, CDNA),
    "chase": ("memory-latency", STARVED | {"flight": 1, "ld": 60, "st": 2, "vgpr": 24, "l1": 0.15, "l2": 0.8, "lines": 2, "groups": 5000}, {"flight": 8}, (*CDNA, *RDNA)),
    "host memory": ("far-memory", STARVED | {"remote": 0.9, "l1": 0.5, "l2": 0.05, "ld": 20, "st": 0}, {"remote": 0}, ("MI50", "MI100", "MI210", "MI250X", "MI300X", "MI325X", "MI355X")),
    "large groups": ("occupancy-group-size barrier-waits", {"group": 1024, "groups": 4000, "vgpr": 72, "lds": 16_384, "d": 80, "barriers": 0.3, "ld": 40, "flight": 2, "v": 500}, {"group": 256, "groups": 16_000, "barriers": 0.05}, ("MI210", "MI250X", "MI300X", "MI300A")),
    "tail": ("tail-effect load-imbalance idle-sms", {"v": 3000, "vgpr": 64, "ld": 60, "flight": 2, "groups": 0}, {"groups": -1}, ("MI100", "MI210", "MI300X")),
}  # fmt: skip
XE_STARVED = {"a0": 250, "a1": 120}
XE_NEW = ("Arc A770", "Arc A380", "Arc B580", "Arc B570", "Data Center GPU Max 1550", "Data Center GPU Max 1100")
DISCRETE = ("Arc A770", "Arc A380", "Arc B580", "Arc B570", "Data Center GPU Max 1550", "Data Center GPU Max 1100")
ALL_XE = ("Iris Xe Graphics", *XE_NEW)
XE_ILL: dict[str, Ill] = {
    "vram": ("vram-bandwidth near-limit", XE_STARVED | {"ld": 60, "st": 30, "lsc": 0.1, "l3": 0.03, "flight": 10}, {"ld": 30, "st": 15}, DISCRETE),
    "chase": ("memory-latency", XE_STARVED | {"ld": 80, "st": 2, "flight": 1, "lsc": 0.1, "l3": 0.75, "groups": 3000}, {"flight": 8}, ALL_XE),
    "tlb": ("address-translation", XE_STARVED | {"tlb": 0.25, "ld": 30, "flight": 2, "lsc": 0.1, "l3": 0.7}, {"tlb": 0.001}, XE_NEW),
    "uncoalesced": ("uncoalesced-loads", XE_STARVED | {"used": 0.11, "hits": 0.3, "ld": 40, "st": 2, "lsc": 0.05, "l3": 0.5}, {"hits": 0.05}, XE_NEW),
    "slm conflicts": ("bank-conflicts", {"a0": 400, "a1": 200, "slm": 220, "degree": 10, "ld": 10, "st": 4}, {"degree": 1}, XE_NEW),
    "small grid": ("small-grid", {"a0": 60_000, "a1": 20_000, "ld": 900, "groups": 3}, {"a0": 6000, "a1": 2000, "ld": 90}, ALL_XE),
    "atomics": ("atomics-contention", XE_STARVED | {"atomics": 60, "ld": 6, "st": 0, "l3": 0.97, "lsc": 0.05}, {"atomics": 4}, XE_NEW),
    "barriers": ("barrier-waits", {"a0": 500, "a1": 200, "barriers": 0.62, "group": 512, "groups": 4000}, {"barriers": 0.05}, XE_NEW),
    "branches": ("branch-waits", {"a0": 220, "a1": 140, "branches": 420, "ld": 12, "chain": 1.05}, {"branches": 10}, XE_NEW),
    "code": ("instruction-fetch", {"a0": 700, "a1": 300, "code": 300, "ld": 10}, {"code": 16}, XE_NEW),
    "alu": ("fp32-bound", {"a0": 9000, "a1": 1500, "chain": 1.05, "ld": 16}, {"a0": 4500}, ALL_XE),
    "chain": ("dependency-latency low-occupancy", {"a0": 1500, "a1": 200, "chain": 12.0, "ld": 8, "threads": 8, "groups": 2400}, {"chain": 1.2}, ("Arc A770", "Arc A380", "Arc B580")),
    "matrix starved": ("matrix-underfed memory-latency", {"a0": 200, "a1": 200, "x": 60, "ld": 70, "flight": 2, "lsc": 0.3, "l3": 0.8, "threads": 4}, {"flight": 12}, XE_NEW),
    "matrix bound": ("matrix-bound near-limit", {"a0": 200, "a1": 200, "x": 900, "ld": 30, "flight": 8}, {"x": 450}, XE_NEW),
    "large register file": ("low-occupancy occupancy-registers memory-latency", {"a0": 300, "a1": 150, "threads": 4, "ld": 60, "flight": 2, "lsc": 0.4, "l3": 0.9}, {"threads": 8}, XE_NEW),
    "slm room": ("occupancy-shared-memory", {"a0": 300, "a1": 150, "room": 0.75, "slm": 30, "ld": 40, "flight": 2, "l3": 0.9}, {"room": 0}, XE_NEW),
    "sends": ("lsu-pressure scalar-access", {"a0": 200, "a1": 200, "ld": 700, "st": 100, "flight": 40, "lsc": 0.97, "l3": 0.9, "bytes": 16, "used": 0.9, "hits": 0.02}, {"ld": 160, "st": 25}, ("Arc A770", "Arc B580")),
    "sampler": ("texture-format", XE_STARVED | {"samples": 120, "flight": 12, "ld": 4}, {"samples": 30}, ("Iris Xe Graphics",)),
}  # fmt: skip


def dose(work: Mapping[str, float], rng: random.Random) -> dict[str, float]:
    """The same illness in another kernel: work differs by a fifth up and down, what divides or limits stays."""
    exact = {
        "group",
        "groups",
        "lds",
        "vgpr",
        "agpr",
        "sgpr",
        "scratch",
        "threads",
        "flight",
        "steps",
        "simd",
        "code",
        "degree",
    }
    return {n: v if n in exact or v <= 1 else v * rng.uniform(0.82, 1.22) for n, v in work.items()}


def _tail(gpu: amd.Gpu, work: Mapping[str, float]) -> dict[str, float]:
    """A grid that fills the GPU once and a bit."""
    holds, _ = model.resident(gpu, model.WELL | work)
    return {**work, "groups": gpu.units * holds // 4 + max(8, gpu.units // 12)}


Patient = tuple[str, str, str, bool, dict[str, float], float]


def patients(seed: int) -> list[Patient]:
    """(illness, accepted causes, GPU, Intel?, its work, what the cure saves) of one set."""
    rng = random.Random(seed)
    out: list[Patient] = []
    for intel, ills in ((False, AMD_ILL), (True, XE_ILL)):
        for name, (causes, work, cure, gpus) in ills.items():
            for gpu in rng.sample(gpus, min(2, len(gpus))):
                mine = dose(work, rng)
                if intel:
                    mine = model.XE_WELL | {"simd": 32 if "Max" in gpu else 16} | mine
                    out.append((name, causes, gpu, True, mine, model.xe_saved(XE[gpu], mine, cure)))
                    continue
                if name == "tail":
                    mine = _tail(AMD[gpu], mine)
                    cure = {"groups": mine["groups"] * 0.9}
                mine = model.WELL | mine
                if AMD[gpu].wave == 32 and "lines" not in work:
                    mine["lines"] = 2
                out.append((name, causes, gpu, False, mine, model.saved(AMD[gpu], mine, cure)))
    return out


def write(folder: Path, p: Patient, rng: random.Random) -> tuple[Path, str]:
    """The capture, as one of the tools that know the GPU would write it; the device to name, where the file does not."""
    name, _, gpu, intel, work, _ = p
    kernel = name.replace(" ", "_")
    if intel:
        return xe.unitrace(folder / "metrics.31.csv", XE[gpu], [(kernel, model.xe_shares(XE[gpu], work))]), gpu
    g = AMD[gpu]
    rows = [(kernel, model.shares(g, work))]
    if g.wave == 32:
        return amd.v3(folder / "9_counter_collection.csv", g, rows), ""
    tool = rng.choice(("v1", "v3", "compute", "long")) if g.arch != "gfx906" else "v1"
    if tool == "v1":
        return amd.v1(folder / "results.csv", g, rows, only=amd.counters(g, rows[0][1])), gpu
    if tool == "v3":
        return amd.v3(folder / "9_counter_collection.csv", g, rows), ""
    return amd.compute(folder / "w", g, rows, long=tool == "long"), ""


def said(result: dict[str, Any]) -> list[str]:
    """The causes of the first finding and of the first item."""
    found = [f["cause"] for f in result["findings"] if f["cause"] != "low-throughput"]
    return [*found[:1], *(t["cause"] for t in result["todo"][:1])]


def judged(seed: int, folder: Path) -> list[tuple[Patient, list[str]]]:
    """Each patient of a set with what was said."""
    rng = random.Random(seed)
    out = []
    for i, p in enumerate(patients(seed)):
        (here := folder / str(i)).mkdir()
        path, device = write(here, p, rng)
        out.append((p, said(api.diagnose(path, device=device).to_dict())))
    return out


SETS = (1806, 7719, 4242)


@pytest.mark.parametrize("seed", SETS)
def test_each_illness_costs_time_in_the_model(seed: int) -> None:
    assert not [(p[0], p[2], round(p[5], 2)) for p in patients(seed) if p[5] < 0.195]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SETS)
def test_the_illness_comes_first(seed: int, tmp_path: Path) -> None:
    all_of = judged(seed, tmp_path)
    wrong = [(p[0], p[2], heard) for p, heard in all_of if not heard or not set(heard) <= set(p[1].split())]
    assert len(all_of) >= 40
    assert len(wrong) <= 0.02 * len(all_of), wrong
