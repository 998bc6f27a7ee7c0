"""Frames of ill markers as tables of two dozen studios would show them; all figures made up.

Studios name columns in their own words and cases, write percent, fractions or cells with a sign, and say where a marker
stands by a path, a parent's name, a level or blanks before its name. The markers are those of ill_frames.
"""

from dataclasses import dataclass, field
from pathlib import Path

from tests.helpers.frame_layouts import Facts, Marker, passes, total
from triage import schema

_REASONS = "long_scoreboard short_scoreboard barrier wait math_pipe_throttle not_selected lg_throttle tex_throttle mio_throttle no_instruction imc_miss branch_resolving membar drain"
_LAUNCH = {"cs_register_allocation": "register", "cs_shmem_allocation": "shared memory", "ps_register_allocation": "register", "ps_attr_allocation": "attribute", "ps_ooo_warp_completion": "out-of-order warp completion"}  # fmt: skip
_UNITS = "sm SM|l1tex L1TEX|l2 L2|vram DRAM|crop CROP|zrop ZROP|raster Raster|prop PROP|pd PD|vaf VAF|vpc VPC|pcie PCIe|rtcore RT Core"


def _units(form: str, **other: str) -> dict[str, str]:
    """Columns of unit SOLs. form: with {} for the unit; other: names where a studio has its own."""
    named = dict(text.split(" ", 1) for text in _UNITS.split("|")) | other
    return {f"{unit}.throughput": form.format(name) for unit, name in named.items() if name}


def _stalls(form: str, case: str = "title") -> dict[str, str]:
    words = {r: r.replace("_", " ") for r in _REASONS.split()}
    cased = {r: w.title() if case == "title" else w.title().replace(" ", "") if case == "camel" else w.replace(" ", case) for r, w in words.items()}  # fmt: skip
    return {f"stall.{r}": form.format(w) for r, w in cased.items()}


def _named(text: str) -> dict[str, str]:
    """`id=words` parted by |."""
    return dict(pair.split("=", 1) for pair in text.split("|"))


@dataclass(frozen=True)
class Studio:
    """columns: metric -> header. tree: how rows say where they stand. time: header, and the unit's share of a millisecond."""

    columns: dict[str, str]
    ills: str
    time: tuple[str, float] = ("GPU Time (ms)", 1)
    tree: str = "path"
    between: str = "/"
    delimiter: str = ","
    comma: bool = False
    fraction: bool = False
    signed: bool = False
    heads: tuple[str, str, str] = ("Pass", "Path", "Kind")
    also: dict[str, str] = field(default_factory=dict)


_HITS = _named("l1tex.hit_rate=L1 hit rate (%)|l2.hit_rate=L2 hit rate (%)")
_IDLE = _named(
    "gpu.idle=GPU idle %|sm.active=SM active %|wfi.sync=WFI stall %|copy.sync_active=Sync copy active %|sm.throughput=SM %|draw.count=Draws|dispatch.count=Dispatches"
)
_FRONT = _named(
    "prims.input=Input Prims|prims.rasterized=Rasterized Prims|pixels.shaded=Shaded Pixels|invocations.vs=VS Invocations"
)
UNITS = "wide indices|fat vertices|depth tests|streaming|streaming groups|shared by all|coarse raster|healthy"
WAITS = "exposed loads|exposed buffers|group barriers|rows of fetches|constants|long shader|narrow loads|healthy"
STARVED = "registers of groups|registers|big tile|early exits|interpolants"

STUDIOS: dict[str, Studio] = {
    "wiki": Studio(_units("{} SOL (%)") | _HITS | _stalls("Stall {} (%)") | _named("sm.occupancy=Warp occupancy (%)"), WAITS),
    "camel": Studio(_units("{}", sm="smThroughput", l1tex="l1texThroughput", l2="l2Throughput", vram="dramThroughput", crop="cropThroughput", zrop="zropThroughput", raster="rasterThroughput", prop="propThroughput", pd="pdThroughput", vaf="vafThroughput", vpc="vpcThroughput", pcie="pcieThroughput") | _named("l1tex.hit_rate=l1texHitRate|l2.hit_rate=l2HitRate|sm.active=smActive|gpu.idle=gpuIdle") | _stalls("stall{}", "camel"), UNITS + "|exposed loads|constants", ("gpuTimeMs", 1), fraction=True, heads=("name", "path", "kind")),
    "signs in cells": Studio(_units("{}", l1tex="L1/TEX", vram="VRAM") | _named("l1tex.hit_rate=L1 Hit|l2.hit_rate=L2 Hit|sm.occupancy=Occupancy"), UNITS, ("Time [ms]", 1), tree="indent", signed=True, heads=("Marker", "", "Type")),
    "semicolons": Studio(_units("{} Throughput [%]", l1tex="TEX", vram="VRAM") | _named("stall.long_scoreboard=Long Scoreboard [%]|stall.barrier=Barrier [%]|stall.wait=Wait [%]|stall.short_scoreboard=Short Scoreboard [%]|l1tex.hit_rate=TEX Hit Rate [%]"), UNITS + "|exposed loads|group barriers", ("GPU Duration [ms]", 1), between="\\", delimiter=";", comma=True, heads=("Pass", "Hierarchy", "Kind")),
    "parents": Studio(_units("{} throughput %") | _named("prims.input=Input primitives|prims.rasterized=Rasterized primitives|pixels.shaded=Shaded pixels"), "micro-triangles|back faces|" + UNITS, ("Duration (us)", 1e3), tree="parent", heads=("Event", "Parent", "Kind")),
    "levels": Studio(_units("{} (%)"), UNITS + "|buffers on the host", tree="level", heads=("Pass", "Level", "Kind")),
    "stalls alone": Studio(_named("sm.throughput=SM SOL%|sm.occupancy=Achieved Occupancy%") | _stalls("stall_{}", "_"), WAITS + "|interpolation", ("ms", 1), tree="none", heads=("shader", "", "Kind")),
    "stalls by tabs": Studio(_named("sm.throughput=SM Throughput|sm.occupancy=Achieved Occupancy") | _stalls("{} stall"), WAITS, ("Duration (ms)", 1), tree="none", delimiter="\t", heads=("Shader", "", "Kind")),
    "launches": Studio(_named("sm.throughput=SM SOL %|sm.occupancy=Occupancy %|stall.long_scoreboard=Stall long scoreboard %") | {f"launch_stall.{m}": f"{m[:2].upper()} launch stall: {t}{' allocation' if 'ooo' not in m else ''}" for m, t in _LAUNCH.items()}, STARVED, ("GPU ms", 1)),
    "launches in short": Studio(_named("sm.throughput=SM SOL [%]|sm.occupancy=SM Occupancy [%]|stall.long_scoreboard=Long SB stall [%]") | {f"launch_stall.{m}": f"{m[:2].upper()} launch stall {t}{' alloc' if 'ooo' not in m else ''} [%]" for m, t in _LAUNCH.items()}, STARVED, ("time_us", 1e3), between="|"),
    "front end": Studio(_units("{} SOL", l1tex="", l2="", vram="", pcie="", rtcore="") | _FRONT, "wide indices|micro-triangles|back faces|depth tests|coarse raster", ("Duration [us]", 1e3), between=" > "),
    "idle": Studio(_IDLE, "late CPU|readback|serial dispatches|switches", ("time_ms", 1), tree="none", heads=("Range", "", "Kind")),
    "idle, set in": Studio(_named("gpu.idle=GPU idle [%]|sm.active=SM active [%]|wfi.sync=Wait for idle [%]|copy.sync_active=Synchronous copy [%]|sm.throughput=SM throughput [%]|draw.count=Draw calls|dispatch.count=Dispatch count"), "late CPU|readback|serial dispatches|switches", ("t [ms]", 1), tree="indent", heads=("Scope", "", "Kind")),
    "nightly": Studio({f"{u}.throughput": f"{n}_throughput_pct" for u, n in (("sm", "sm"), ("l1tex", "l1tex"), ("l2", "l2"), ("vram", "dram"), ("crop", "crop"), ("zrop", "zrop"), ("raster", "raster"), ("pd", "pd"), ("vaf", "vaf"))} | _named("l1tex.hit_rate=l1tex_hit_rate_pct|sm.active=sm_active_pct|l1tex.filter=l1tex_filter_pct|pipe.xu=pipe_xu_pct|sm.issue_per_active=issue_active_pct"), "arithmetic|volume|transcendentals|one interface|" + UNITS, ("gpu_time_ms", 1), heads=("marker_name", "marker_path", "workload_kind")),
    "shouting": Studio(_units("{}_SOL_PCT", l1tex="L1TEX", vram="FB", pd="PDA", raster="RASTER", pcie="PCIE", rtcore="RTCORE") | _named("l1tex.hit_rate=L1TEX_HIT_PCT|sm.occupancy=OCCUPANCY_PCT"), UNITS, ("GPU_US", 1e3), tree="parent", heads=("MARKER", "PARENT", "KIND")),
    "rays": Studio(_named("sm.throughput=SM SOL%|rtcore.throughput=RT Core SOL%|l1tex.throughput=TEX SOL%|l2.throughput=L2 SOL%|vram.throughput=VRAM SOL%|warp.threads_per_inst=Active threads per warp|stall.long_scoreboard=Stall: long scoreboard %|stall.barrier=Stall: barrier %"), "rays apart|lists of lights|group barriers|exposed buffers|streaming groups", ("GPU Time [us]", 1e3)),
    "pixels": Studio(_named("sm.throughput=SM %|crop.throughput=CROP %|zrop.throughput=ZROP %|vram.throughput=VRAM %|l2.throughput=L2 %|l1tex.throughput=TEX %|pixels.overdraw=Overdraw|pixels.late_z=Late Z %|raster.throughput=Raster %"), "layers of particles|discarding|depth tests|streaming", ("ms", 1)),
    "averages": Studio(_units("{} SOL% (avg)", l1tex="TEX", vram="VRAM"), UNITS, ("mean GPU ms", 1), tree="none"),
    "means": Studio(_units("mean {} %"), UNITS, ("GPU [ms]", 1), between=" » ", heads=("event", "full path", "kind")),
    "unit first": Studio(_units("Throughput {} (%)"), UNITS, ("Duration (ms)", 1), tree="level", heads=("Region", "Depth", "Kind")),
    "dots": Studio(_units("{}.SOL.pct") | _stalls("Stall.{}.pct", "camel") | _named("l1tex.hit_rate=L1TEX.HitRate.pct"), WAITS, ("Time.ms", 1)),
    "dashes": Studio(_units("{} - SOL [%]", l1tex="L1/TEX") | _named("l1tex.hit_rate=L1/TEX - hit rate [%]"), UNITS, ("GPU - time [ms]", 1), between="::"),
    "utilisation": Studio(_units("{} Utilization %"), UNITS + "|buffers on the host|evicted textures", ("GPU time [us]", 1e3), tree="indent"),
    "old counters": Studio(_named("sm.throughput=sm__sol_pct|l1tex.throughput=tex__sol_pct|l2.throughput=ltc__sol_pct|vram.throughput=fbpa__sol_pct|crop.throughput=crop__sol_pct|zrop.throughput=zrop__sol_pct|pd.throughput=ia__sol_pct|gpu.idle=gr__idle_pct|sm.active=sm__active_cycles_pct"), "wide indices|depth tests|streaming|late CPU", ("duration_us", 1e3), tree="none", heads=("workload", "", "kind")),
}  # fmt: skip


def table(studio: Studio, frame: list[Marker], folder: Path) -> Path:
    """A frame in a studio's words; containers hold what their markers add up to."""
    rows = [_head(studio)]

    def row(name: str, above: tuple[str, ...], kind: str, ms: float, facts: Facts) -> None:
        shown = "  " * len(above) + name if studio.tree == "indent" else name
        place = {"path": studio.between.join([*above, name]), "parent": above[-1] if above else "", "level": str(len(above))}  # fmt: skip
        lead = [shown, *([place[studio.tree]] if studio.tree in place else []), kind]
        cells = [_cell(studio, m, facts.get(m)) for m in studio.columns]
        rows.append(studio.delimiter.join([*lead, _number(studio, ms * studio.time[1]), *cells]))

    if studio.tree == "none":
        for m in frame:
            row(m.name, (), m.illness.kind, m.ms, m.facts)
    else:
        row("Frame", (), "", sum(m.ms for m in frame), total(frame))
        for name, under in passes(frame).items():
            row(name, ("Frame",), "", sum(m.ms for m in under), total(under))
            for m in under:
                row(m.name, ("Frame", name), m.illness.kind, m.ms, m.facts)
    file = folder / ("frame.tsv" if studio.delimiter == "\t" else "frame.csv")
    file.write_text("\n".join(rows) + "\n", "utf-8")
    return file


def _head(studio: Studio) -> str:
    name, place, kind = studio.heads
    lead = [name, *([place] if studio.tree in ("path", "parent", "level") else []), kind, studio.time[0]]
    return studio.delimiter.join([*lead, *studio.columns.values()])


def _cell(studio: Studio, metric: str, value: float | None) -> str:
    if value is None:
        return ""
    if schema.get(metric).unit != "ratio":
        return _number(studio, value)
    return _number(studio, value / 100 if studio.fraction else value) + ("%" if studio.signed else "")


def _number(studio: Studio, value: float) -> str:
    text = f"{value:.6g}" if abs(value) < 1e5 else str(round(value))
    return text.replace(".", ",") if studio.comma else text
