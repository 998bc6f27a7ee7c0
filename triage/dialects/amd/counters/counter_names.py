"""What AMD's counters mean: names that are metrics already, and formulas that make metrics of raw counters.

Sources: ROCm profiler documentation (derived metrics), ROCm Compute Profiler documentation (System Speed-of-Light,
workgroup manager, LDS, vector L1, L2 pages). Hardware sizes come from the export's own sysinfo.csv under these names:
cu_per_gpu, se_per_gpu, num_xcd, max_waves_per_cu, total_l2_chan, max_sclk (MHz), hbm_bw (GB/s). GRBM counters are
summed over the XCDs of a multi-die GPU, so that one die's cycles are GRBM_GUI_ACTIVE / num_xcd.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from triage.dialects.amd.counters import availability, rdna
from triage.dialects.tables.formulas import names
from triage.ground import csv_rows

# derived metric as rocprof prints it -> (canonical id, factor to the canonical unit)
DIRECT = csv_rows.factors(__file__, "derived_names.csv")

# of DIRECT, what only rocprofiler-sdk (rocprofv3) derives
SDK_ONLY = frozenset(
    "WAVE_DEP_WAIT WaveDepWait WAVE_ISSUE_WAIT WaveIssueWait WaveExec ValuPipeIssueUtil SIMD_UTILIZATION AvgNumActiveThreads"
    " LdsUtil LdsBankConflict TaUtil vL1dCacheUtil vL1dBufCoalesceRate vL1dDataPendRate vL1dRdTagConfStallRate"
    " sL1dCacheHitRate EaRdLatency EaWrLatency GPU_UTIL".split()
)

# clocks within the kernel's time, if its cycles were not counted: an upper bound, so shares come out low
_CLOCKS = "max_sclk / 1000 * gpu.time"  # MHz and ns
# cycles summed over what a counter is summed over: every CU, or every shader engine's workgroup dispatcher
_CU = "(GRBM_GUI_ACTIVE / num_xcd * cu_per_gpu)"
_SPI = "(GRBM_SPI_BUSY / num_xcd * se_per_gpu)"
# (canonical id, formula): tried in this order, the first formula whose names are all there wins
_BASE = [(m, f.format(CU=_CU, SPI=_SPI, CLOCKS=_CLOCKS)) for m, f in csv_rows.rows(__file__, "formulas.csv")]
FORMULAS = (*_BASE, *((m, f.replace(_CU, f"({_CLOCKS} * cu_per_gpu)")) for m, f in _BASE if _CU in f))
# the units of these counters are those of the gfx9 family; others count otherwise under the same names
_GFX9 = re.compile(r"\b(?:SQ_(?!INSTS_)|SQC_(?!LDS)|SPI_|TA_|TCP_|TCC_)")
_SHARED = tuple((m, f) for m, f in FORMULAS if not _GFX9.search(f))


def formulas_of(arch: str, columns: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
    """The formulas that hold for a GPU: by its gfx name, where that is known, else by what was counted."""
    if rdna.is_rdna(arch, columns):
        return (*rdna.FORMULAS, *_SHARED)
    return _SHARED if arch and not arch.startswith("gfx9") else FORMULAS


def direct(arch: str, columns: Iterable[str] = ()) -> dict[str, tuple[str, float]]:
    """DIRECT as it holds for a GPU."""
    return DIRECT | rdna.DIRECT if rdna.is_rdna(arch, columns) else DIRECT


# sub-units whose busiest is the compute unit's share of peak
SM_PARTS = ("valu.busy", "mfma.busy", "salu.busy", "vmem.busy", "branch.busy")
ONE_XCD = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx90c")  # single-die architectures
INFINITY_CACHE = ("gfx940", "gfx941", "gfx942", "gfx950")  # fabric traffic may be answered before it reaches HBM
SPECS = ("cu_per_gpu", "se_per_gpu", "num_xcd", "max_waves_per_cu", "total_l2_chan", "max_sclk", "hbm_bw")


def exported(sizes: tuple[str, ...] = SPECS, arch: str = "") -> dict[str, list[str]]:
    """canonical id -> counter names it is printed as or computed from, where only `sizes` of the GPU are known.

    A formula counts when its sizes are known and every metric in it can itself be had.
    """
    out: dict[str, list[str]] = {}
    for header, (metric, _) in direct(arch).items():
        if not arch or availability.spelled(header, arch):
            out.setdefault(metric, []).append(header)
    for metric, formula in formulas_of(arch):
        used = names(formula)
        if arch and not all(availability.spelled(n, arch) for n in _inputs(formula)):
            continue
        if all(n in sizes for n in used if n in SPECS) and all(
            n in out for n in used if n.islower() and n not in SPECS and n not in GIVEN
        ):
            out.setdefault(metric, []).append(formula)
    if "valu.busy" in out:
        out["sm.throughput"] = [f"max({', '.join(SM_PARTS)})"]
    return out


def counters(metric: str, arch: str = "", without: frozenset[str] = frozenset()) -> list[str]:
    """Counters to collect for a metric: the derived one where there is one, else all inputs of a formula; [] where the GPU has none.

    arch: gfx name, where it is known; else names that all Instinct GPUs have. without: derived metrics that the tool does not know.
    """
    for header, (known, _) in direct(arch).items():
        if known == metric and header not in without and (name := availability.spelled(header, arch)):
            return [name]
    for known, formula in formulas_of(arch):
        if known == metric and (found := _obtainable(formula, arch, without)):
            return found
    return [c for part in SM_PARTS[:2] for c in counters(part, arch, without)] if metric == "sm.throughput" else []


def _obtainable(formula: str, arch: str, without: frozenset[str]) -> list[str]:
    """Counters of a formula, [] where the GPU lacks one of them or of the metrics in it."""
    found: list[str] = []
    for name in names(formula):
        if name in SPECS or name in GIVEN:
            continue
        # a counter of another pass, as `SQ_LEVEL_WAVES.GRBM_GUI_ACTIVE`, is rocprof-compute's affair
        one = counters(name, arch, without) if name.islower() else [availability.spelled(name, arch)]
        if not one or not all(one):
            return []
        found += one
    return list(dict.fromkeys(found))


def _inputs(formula: str) -> list[str]:
    return [n.rpartition(".")[2] for n in names(formula) if not n.islower()]


def first(arch: str = "") -> list[str]:
    """Counters to collect first, if none was asked for: waits and busy units."""
    asked = "waves.launched valu.busy waves.dependency_wait mem_unit.busy l2.hit_rate sm.occupancy_elapsed".split()
    return list(dict.fromkeys(c for m in asked for c in counters(m, arch)))


GIVEN = ("gpu.time", "launch.wave_size")  # every export with dispatches carries these
