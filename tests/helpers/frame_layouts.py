"""Frames made of markers with one known illness each, as four tools would print them; all figures made up.

An illness is a healthy range of its kind of work with what makes it ill put over it. Numbers are drawn from the ranges an
engineer would call this illness, by a generator seeded with the frame's name, so that a rule that only knows one example
fails on the next. Containers hold what their markers add up to and are never ill.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from triage import schema

Facts = dict[str, float]
PASSES = ("Shadows", "Opaque", "Lighting", "Post", "Simulation")
WAITS = {
    "long_scoreboard": (8, 19), "short_scoreboard": (1, 5), "barrier": (0, 4), "wait": (7, 13), "math_pipe_throttle": (2, 9),
    "not_selected": (2, 9), "selected": (15, 30), "lg_throttle": (0, 3), "tex_throttle": (0, 5), "mio_throttle": (0, 4),
    "no_instruction": (1, 6), "imc_miss": (0, 4), "branch_resolving": (1, 5), "drain": (0, 2), "membar": (0, 1),
}  # fmt: skip
_NEAR = ("near-limit", "vram-bandwidth", "mergeable-passes")  # at the limit of the memory: that, or how to move less


class Draw:
    """Numbers from ranges, two digits after the point."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def __call__(self, low: float, high: float) -> float:
        return round(self.random.uniform(low, high), 2)

    def count(self, low: float, high: float) -> int:
        """A whole number."""
        return round(self.random.uniform(low, high))


@dataclass(frozen=True)
class Illness:
    """kind: of work. causes: any may come first; () = nothing may be promised. ill: what it puts over healthy work."""

    kind: str
    causes: tuple[str, ...]
    ill: Callable[[Draw], Facts]


@dataclass(frozen=True)
class Marker:
    """One range of a frame."""

    name: str
    illness: Illness
    under: str
    ms: float
    facts: Facts


def _healthy(kind: str, d: Draw) -> Facts:
    units = {"sm": d(18, 42), "l1tex": d(12, 34), "l2": d(10, 32), "vram": d(8, 36), "pcie": d(0, 4)}
    facts: Facts = {
        "gpu.idle": d(0, 0.8), "wfi.sync": d(0, 2), "copy.sync_active": d(0, 1), "sm.active": d(96, 99.5),
        "l1tex.hit_rate": d(82, 95), "l2.hit_rate": d(76, 95), "sm.occupancy": d(62, 88), "warp.threads_per_inst": d(27, 31.5),
        **{f"stall.{reason}": d(*spread) for reason, spread in WAITS.items()},
    }  # fmt: skip
    if kind == "copy":
        units = {"sm": 0, "l1tex": 0, "l2": d(5, 20), "vram": d(5, 20), "pcie": d(0, 5), "crop": 0, "zrop": 0}
        facts = {"gpu.idle": 0, "sm.active": 0}
    elif kind == "compute":
        units |= dict.fromkeys(("crop", "zrop", "pd", "vaf", "vpc", "raster"), 0)
        facts |= {"dispatch.count": 1, "draw.count": 0}
        facts |= {f"launch_stall.cs_{r}_allocation": d(0, 2) for r in ("register", "shmem", "cta")}
        facts["launch_stall.cs_warp_allocation"] = d(6, 30)
    elif kind == "raytracing":
        units |= {"rtcore": d(15, 35), "crop": 0, "zrop": 0}
        facts |= {"dispatch.count": 1, "draw.count": 0}
    else:
        facts |= {f"launch_stall.ps_{r}": d(0, 2) for r in ("register_allocation", "attr_allocation", "ooo_warp_completion")}  # fmt: skip
        facts["launch_stall.ps_warp_allocation"] = d(6, 30)
        if kind == "fullscreen":
            units |= {"crop": d(3, 16), "zrop": d(0, 1), "pd": d(0, 0.2), "vaf": d(0, 0.2), "vpc": d(0, 0.2)}
            units |= {"raster": d(1, 6), "prop": d(4, 16)}
            facts |= {"draw.count": 1, "dispatch.count": 0, "prims.input": 1, "pixels.shaded": 3.7e6}
        else:
            units |= {"crop": d(6, 22), "zrop": d(8, 24), "pd": d(5, 22), "vaf": d(5, 22), "vpc": d(3, 14)}
            units |= {"raster": d(6, 22), "prop": d(8, 24)}
            facts |= {"draw.count": d.count(40, 900), "dispatch.count": 0, **_triangles(d, d(0.4e6, 3e6))}
    return {f"{unit}.throughput": sol for unit, sol in units.items()} | facts


def _triangles(d: Draw, n: float, drawn: float = 0.55, pixels: float = 12, shaded: float = 0.8) -> Facts:
    return {"prims.input": round(n), "prims.rasterized": round(n * drawn), "pixels.shaded": round(n * drawn * pixels), "invocations.vs": round(n * shaded)}  # fmt: skip


def _ill(kind: str, causes: str, ill: Callable[[Draw], Facts]) -> Illness:
    return Illness(kind, tuple(causes.split()), ill)


def _sol(**units: float) -> Facts:
    return {f"{unit}.throughput": sol for unit, sol in units.items()}


def _stall(**reasons: float) -> Facts:
    return {f"stall.{reason}": share for reason, share in reasons.items()}


def _short_of(d: Draw, resource: str) -> Facts:
    """Few warps, because a resource keeps more from starting, and loads that more warps would hide."""
    kind = resource.split("_")[0]
    return {"sm.occupancy": d(18, 38), f"launch_stall.{resource}": d(32, 66), f"launch_stall.{kind}_warp_allocation": 0,
            **_sol(sm=d(25, 40)), **_stall(long_scoreboard=d(36, 56))}  # fmt: skip


def _same(d: Draw) -> Facts:
    v = d(82, 95)
    return _sol(sm=v, l1tex=v + d(-0.8, 0.8)) | _stall(tex_throttle=d(8, 18))


def _busy(d: Draw, **also: float) -> Facts:
    v = d(84, 95)
    return _sol(sm=v, l1tex=d(25, 50)) | {"sm.issue_per_active": min(99.0, v + 1), **also}


def _special(d: Draw) -> Facts:
    v = d(82, 93)
    return {**_sol(sm=v), "pipe.xu": v, "pipe.fma": d(15, 30), "pipe.alu": d(15, 35), "sm.issue_per_active": d(30, 50), "stall.math_pipe_throttle": d(22, 40)}  # fmt: skip


def _copied(d: Draw) -> Facts:
    c = d(20, 45)
    return {"copy.sync_active": c, "gpu.idle": c * 0.95, "sm.active": 97 - c, **_sol(sm=d(12, 25))}


def _starved(d: Draw) -> Facts:
    idle = d(15, 45)
    return {"gpu.idle": idle, "sm.active": 98 - idle, **_sol(sm=d(12, 25))}


_LOW = dict.fromkeys(("sm", "l1tex", "vaf", "pd", "vram", "raster", "zrop", "crop", "l2"), 6.0)
ILLNESSES: dict[str, Illness] = {
    # geometry
    "wide indices": _ill("geometry", "index-fetch", lambda d: _sol(pd=d(62, 88), vaf=d(18, 40))),
    "fat vertices": _ill("geometry", "vertex-fetch", lambda d: _sol(vaf=d(62, 88), pd=d(18, 40))),
    "micro-triangles": _ill("geometry", "small-triangles", lambda d: _sol(raster=d(45, 75), vpc=d(25, 42)) | _triangles(d, d(2e6, 8e6), pixels=d(0.7, 2.6))),
    "back faces": _ill("geometry", "culled-primitives", lambda d: _sol(vpc=d(60, 80), pd=d(30, 45)) | _triangles(d, d(2e6, 8e6), drawn=d(0.05, 0.18), pixels=40)),
    "unordered indices": _ill("geometry", "vertex-reuse", lambda d: _sol(vaf=d(44, 58), pd=d(20, 30)) | _triangles(d, d(1e6, 4e6), shaded=d(2.3, 2.95)) | {"sm.warps_vtg": d(30, 55)}),
    "depth tests": _ill("geometry", "zrop-bound", lambda d: _sol(zrop=d(70, 92), crop=0, raster=d(25, 45), sm=d(8, 18), l2=d(15, 30))),
    "coarse raster": _ill("geometry", "raster-bound", lambda d: _sol(raster=d(68, 90), vpc=d(25, 40))),
    "layers of particles": _ill("geometry", "crop-bound overdraw", lambda d: _sol(crop=d(72, 95)) | {"pixels.overdraw": d(5, 9), "prims.input": 20_000, "prims.rasterized": 18_000, "invocations.vs": 40_000}),
    "unsorted": _ill("geometry", "overdraw", lambda d: _sol(sm=d(48, 66)) | {"pixels.shaded": 3.7e6 * d(5, 8), "target.pixels": 3.7e6}),
    "discarding": _ill("geometry", "late-depth overdraw", lambda d: _sol(zrop=d(25, 40), sm=d(35, 45)) | {"pixels.late_z": d(15, 40), "sm.warps_ps": 50, "pixels.depth_tested": 8e6, "pixels.depth_passed": 2e6}),
    "many targets": _ill("geometry", "render-target-traffic vram-bandwidth", lambda d: _sol(vram=d(70, 90), crop=d(40, 55), l2=d(40, 55)) | {"l2_from.crop": d(50, 65), "l2_from.tex": d(12, 20), "l2_from.zrop": d(5, 10)}),
    "interpolants": _ill("geometry", "occupancy-attributes", lambda d: _short_of(d, "ps_attr_allocation")),
    "switches": _ill("geometry", "pipeline-drains", lambda d: {"wfi.sync": d(18, 45), "sm.active": d(45, 72), **_sol(sm=d(15, 30))}),
    "late CPU": _ill("geometry", "cpu-bound idle-gap", _starved),
    "buffers on the host": _ill("geometry", "bus-traffic", lambda d: _sol(**_LOW) | _sol(pcie=d(65, 92))),
    "constants": _ill("geometry", "constant-misses", lambda d: _stall(imc_miss=d(34, 52))),
    # screens
    "one interface": _ill("fullscreen", "sm-tex-interface", _same),
    "arithmetic": _ill("fullscreen", "issue-bound fp32-bound", lambda d: _busy(d)),
    "scattered taps": _ill("fullscreen", "l1-locality memory-latency", lambda d: {"l1tex.hit_rate": d(25, 52), **_stall(long_scoreboard=d(52, 72)), **_sol(sm=d(28, 45), l2=d(30, 44))}),
    "exposed loads": _ill("fullscreen", "memory-latency", lambda d: _stall(long_scoreboard=d(52, 76)) | _sol(sm=d(28, 45))),
    "streaming": _ill("fullscreen", "vram-bandwidth mergeable-passes", lambda d: _sol(vram=d(78, 90), l2=d(36, 45), crop=d(25, 42)) | {"l2.hit_rate": d(50, 75)}),
    "volume": _ill("fullscreen", "texture-format", lambda d: _sol(l1tex=d(82, 93), sm=d(30, 48)) | {"l1tex.filter": d(82, 93)}),
    "many fetches": _ill("fullscreen", "l1-bandwidth", lambda d: _sol(l1tex=d(82, 93), sm=d(40, 60)) | {"l1tex.filter": d(15, 35)}),
    "early exits": _ill("fullscreen", "ordered-retirement", lambda d: _short_of(d, "ps_ooo_warp_completion")),
    "registers": _ill("fullscreen", "occupancy-registers", lambda d: _short_of(d, "ps_register_allocation")),
    "rows of fetches": _ill("fullscreen", "texture-queue", lambda d: _stall(tex_throttle=d(38, 58)) | _sol(l1tex=d(48, 66), sm=d(36, 50))),
    "long shader": _ill("fullscreen", "instruction-fetch", lambda d: _stall(no_instruction=d(34, 52))),
    "interpolation": _ill("fullscreen", "shared-memory-latency", lambda d: _stall(short_scoreboard=d(36, 54))),
    "dependent math": _ill("fullscreen", "dependency-latency", lambda d: _stall(wait=d(38, 55)) | _sol(sm=d(40, 58)) | {"sm.occupancy": d(38, 52)}),
    "at the limit": _ill("fullscreen", " ".join(_NEAR), lambda d: _sol(vram=d(92, 96), l2=d(40, 50)) | {"l2.hit_rate": d(50, 60)}),
    # dispatches
    "arithmetic in groups": _ill("compute", "issue-bound fp32-bound", lambda d: _busy(d)),
    "exposed buffers": _ill("compute", "memory-latency", lambda d: _stall(long_scoreboard=d(52, 76)) | _sol(sm=d(28, 45))),
    "streaming groups": _ill("compute", "vram-bandwidth mergeable-passes", lambda d: _sol(vram=d(78, 90), l2=d(36, 45)) | {"l2.hit_rate": d(50, 75)}),
    "shared by all": _ill("compute", "l2-bandwidth", lambda d: _sol(l2=d(80, 93), l1tex=d(35, 50)) | {"l1tex.hit_rate": d(70, 80), "l2.hit_rate": d(88, 96)}),
    "registers of groups": _ill("compute", "occupancy-registers", lambda d: _short_of(d, "cs_register_allocation")),
    "big tile": _ill("compute", "occupancy-shared-memory", lambda d: _short_of(d, "cs_shmem_allocation")),
    "group barriers": _ill("compute", "barrier-waits", lambda d: _stall(barrier=d(42, 65)) | _sol(sm=d(20, 38))),
    "serial dispatches": _ill("compute", "pipeline-drains", lambda d: {"wfi.sync": d(18, 45), "sm.active": d(45, 72), "dispatch.count": d.count(6, 30), **_sol(sm=d(15, 30))}),
    "transcendentals": _ill("compute", "special-function-bound", _special),
    "local arrays": _ill("compute", "register-spills lsu-pressure", lambda d: _stall(lg_throttle=d(35, 52)) | _sol(l2=d(55, 70), l1tex=d(45, 60)) | {"local_load.requests": 5e6, "local_store.requests": 3e6, "global_load.requests": 1e6, "global_store.requests": 2e5}),
    "narrow loads": _ill("compute", "lsu-pressure", lambda d: _stall(lg_throttle=d(38, 58))),
    "shared queue": _ill("compute", "shared-memory-latency", lambda d: _stall(short_scoreboard=d(20, 30), mio_throttle=d(16, 26))),
    "switches over types": _ill("compute", "branch-waits divergence", lambda d: _stall(branch_resolving=d(32, 46))),
    "fences": _ill("compute", "fence-waits", lambda d: _stall(membar=d(28, 40), drain=d(4, 9))),
    "short groups": _ill("compute", "launch-rate", lambda d: {"sm.occupancy": d(18, 36), "launch_stall.cs_warp_allocation": d(0, 2), **_sol(sm=d(25, 38)), **_stall(long_scoreboard=d(18, 28))}),
    "uneven tiles": _ill("compute", "idle-sms load-imbalance", lambda d: {"sm.active": d(45, 72), "wfi.sync": d(0, 0.8), "dispatch.count": 1, **_sol(sm=d(18, 30))}),
    "healthy": _ill("compute", "", lambda d: _sol(sm=d(66, 76), l1tex=d(45, 55), l2=d(30, 45), vram=d(30, 50)) | _stall(long_scoreboard=d(8, 14))),
    "lists of lights": _ill("compute", "divergence", lambda d: {"warp.threads_per_inst": d(8, 14), **_sol(sm=d(55, 70))}),
    "strided buffers": _ill("compute", "uncoalesced-loads", lambda d: {"global_load.sectors_per_request": d(22, 31), **_stall(long_scoreboard=d(45, 60)), **_sol(l1tex=d(55, 75), l2=d(50, 70), sm=d(12, 25), vram=d(40, 60))}),
    "one counter for all": _ill("compute", "atomics-contention", lambda d: {"atomics.share": d(25, 60), **_stall(long_scoreboard=d(45, 70)), **_sol(sm=d(8, 18), l2=d(20, 40))}),
    "banks": _ill("compute", "bank-conflicts", lambda d: {"shared.conflict_share": d(45, 75), **_stall(short_scoreboard=d(30, 40), mio_throttle=d(14, 24)), **_sol(sm=d(25, 40), l1tex=d(50, 66))}),
    "upscaling network": _ill("compute", "matrix-bound near-limit", lambda d: {**_sol(sm=d(78, 90)), "pipe.tensor": d(78, 90), "pipe.fma": 20, "pipe.alu": 20, "sm.issue_per_active": d(30, 45)}),
    "bit tricks": _ill("compute", "integer-bound", lambda d: {**_sol(sm=d(82, 93)), "pipe.alu": d(82, 93), "pipe.fma": d(30, 50), "pipe.xu": 10, "sm.issue_per_active": d(70, 79)}),
    "tessellation": _ill("geometry", "raster-bound", lambda d: _sol(pes=d(68, 88))),
    "evicted textures": _ill("fullscreen", "bus-traffic", lambda d: _sol(pcie=d(62, 80))),
    # the rest
    "upload": _ill("copy", "bus-traffic", lambda d: _sol(pcie=d(70, 92))),
    "readback": _ill("geometry", "blocking-copy", _copied),
    "rays apart": _ill("raytracing", "ray-divergence", lambda d: {"warp.threads_per_inst": d(7, 16), **_stall(long_scoreboard=d(18, 30)), **_sol(sm=d(30, 48))}),
    "boxes": _ill("raytracing", "ray-traversal", lambda d: _sol(rtcore=d(75, 92), sm=d(14, 28)) | {"stall.rtcore": d(40, 60)}),
}  # fmt: skip


def markers(frame: str, names: Iterable[str], without: tuple[str, ...] = ()) -> list[Marker]:
    """The markers of a frame. without: beginnings of metric ids nobody collected, except where they make the illness."""
    d = Draw(frame)
    out = []
    for i, name in enumerate(names):
        illness = ILLNESSES[name]
        ill = illness.ill(d)
        facts = {m: v for m, v in _healthy(illness.kind, d).items() if not m.startswith(without)} if without else _healthy(illness.kind, d)  # fmt: skip
        facts |= {m: round(v, 2) for m, v in ill.items()}
        if "sm.active" in facts and facts["sm.active"] and "sm.throughput_active" not in without:
            active = min(99.9, 100 * facts["sm.throughput"] / facts["sm.active"])
            facts |= {"sm.throughput_active": round(active, 2)}
            facts.setdefault("sm.issue_per_active", round(0.9 * active, 2))
        out.append(Marker(name, illness, PASSES[i % len(PASSES)], d(0.3, 2.5), facts))
    return out


def columns(frame: list[Marker]) -> list[str]:
    """Metric ids of a frame in the order in which they first appear."""
    return list(dict.fromkeys(m for marker in frame for m in marker.facts))


def total(part: list[Marker]) -> Facts:
    """What a container of markers shows: counts added up, shares weighed by time."""
    out: Facts = {}
    for metric in columns(part):
        have = [m for m in part if metric in m.facts]
        if schema.get(metric).additive:
            out[metric] = sum(m.facts[metric] for m in have)
        else:
            out[metric] = round(sum(m.facts[metric] * m.ms for m in have) / sum(m.ms for m in have), 3)
    return out


def passes(frame: list[Marker]) -> dict[str, list[Marker]]:
    """Container -> its markers, in order."""
    return {name: under for name in PASSES if (under := [m for m in frame if m.under == name])}


# ---- layouts: each writes the frame below a folder and returns what to diagnose


def generic(frame: list[Marker], folder: Path) -> Path:
    """A table with a path column; containers are rows of kind marker with inclusive numbers."""
    metrics = columns(frame)
    unit = {m: " [%]" if schema.get(m).unit == "ratio" else "" for m in metrics}
    rows = [",".join(["name", "path", "kind", "gpu.time [ms]", *(m + unit[m] for m in metrics)])]

    def row(name: str, path: str, kind: str, ms: float, facts: Facts) -> None:
        rows.append(",".join([name, path, kind, f"{ms:g}", *(f"{facts[m]:g}" if m in facts else "" for m in metrics)]))

    row("Frame", "", "marker", sum(m.ms for m in frame), total(frame))
    for name, under in passes(frame).items():
        row(name, "Frame", "marker", sum(m.ms for m in under), total(under))
        for m in under:
            row(m.name, f"Frame/{name}", m.illness.kind, m.ms, m.facts)
    return _text(folder / "frame.csv", "\n".join(rows) + "\n")


def gpu_trace(frame: list[Marker], folder: Path) -> Path:
    """The five files of Nsight Graphics' automatic export."""
    metrics, base = _perfworks(columns(frame)), folder / "BASE"
    base.mkdir()
    events, regimes = ["event_text\ttime_ms"], ["\t".join(["flattened_event_name", *metrics.values()])]

    def row(path: str, depth: int, ms: float, facts: Facts) -> None:
        events.append(" " * 8 * depth + path.split("/")[-1] + f"\t{ms:g}")
        regimes.append("\t".join([path, *(f"{facts.get(m, 0):g}" for m in metrics)]))

    row("Frame", 0, sum(m.ms for m in frame), total(frame))
    for name, under in passes(frame).items():
        row(f"Frame/{name}", 1, sum(m.ms for m in under), total(under))
        for m in under:
            row(f"Frame/{name}/{m.name}", 2, m.ms, m.facts)
    _text(base / "D3DPERF_EVENTS.xls", "\r\n".join(events) + "\r\n")
    _text(base / "GPUTRACE_REGIMES.xls", "\r\n".join(regimes) + "\r\n")
    _text(base / "FRAME.xls", f"GPU frame time\t{sum(m.ms for m in frame):g}")
    whole = total(frame)
    _text(base / "GPUTRACE_FRAME.xls", "".join(f"{n}\t{whole[m]:g}\r\n" for m, n in metrics.items()))
    _text(
        base / "REPRO_INFO.xls",
        "Device Name\tNVIDIA GeForce RTX 4090\r\nAPI\tD3D12\r\nMetric Set\tThroughput Metrics\r\n",
    )
    return base


_CALLS = {"fullscreen": "DrawInstanced", "geometry": "DrawIndexedInstanced", "compute": "Dispatch", "raytracing": "DispatchRays", "copy": "CopyBufferRegion"}  # fmt: skip


def pix(frame: list[Marker], folder: Path) -> Path:
    """pixtool save-event-list with NVIDIA's counters: markers with one call each, time of markers inclusive."""
    metrics = _perfworks(columns(frame))
    head = ("Queue ID", "Parent", "Name", "Global ID", "EOP Start Time (ns)", "EOP to EOP Duration (ns)",
            "Execution Start Time (ns)", "TOP to EOP Duration (ns)")  # fmt: skip
    rows, at, gid = [", ".join([*head, *metrics.values()])], 0, 0

    def row(parent: int, name: str, event: str, start: int, ns: int, facts: Facts) -> int:
        number = len(rows) - 1
        cells = [str(number), str(parent), name, event, str(start), str(ns), str(start), str(ns)]
        rows.append(", ".join([*cells, *(f"{facts.get(m, 0):g}" for m in metrics)]))
        return number

    for name, under in passes(frame).items():
        parent = row(-1, name, "", at, sum(round(m.ms * 1e6) for m in under), total(under))
        for m in under:
            ns, gid = round(m.ms * 1e6), gid + 1
            marker = row(parent, m.name, "", at, ns, m.facts)
            row(marker, _CALLS[m.illness.kind], str(gid), at, ns, m.facts)
            at += ns
    return _text(folder / "events.csv", "\ufeff" + "\r\n".join(rows) + "\r\n")


def renderdoc(frame: list[Marker], folder: Path) -> Path:
    """RenderDoc's counters by event and its list of events; only calls have counters."""
    calls = {"fullscreen": "Draw(3)", "geometry": "DrawIndexed(930360)", "compute": "Dispatch(240, 135, 1)", "raytracing": "DispatchRays(1920, 1080, 1)", "copy": "CopyBufferRegion()"}  # fmt: skip
    metrics = _perfworks(columns(frame))
    unit = {m: " (%)" if schema.get(m).unit == "ratio" else "" for m in metrics}
    counters = [",".join(["EID", "GPU Duration (µs)", *(n + unit[m] for m, n in metrics.items())])]
    events, eid, action = ["frame.rdc - Frame #7", "", " EID  | Event | Action #", "-----"], 1, 1
    for name, under in passes(frame).items():
        events.append(f"{eid} | - {name} | {action}-{action + len(under) - 1}")
        eid += 1
        for k, m in enumerate(under):
            first = "\\" if k == 0 else " "
            events.append(f"{eid} |  {first}- {m.name} | {action}" if k == 0 else f"{eid} |   - {m.name} | {action}")
            events.append(f"{eid + 1} |    \\- {calls[m.illness.kind]} | {action}")
            counters.append(",".join([str(eid + 1), f"{m.ms * 1e3:g}", *(f"{m.facts.get(n, 0):g}" for n in metrics)]))
            eid, action = eid + 2, action + 1
    _text(folder / "frame-events.txt", "\n".join(events) + "\n")
    return _text(folder / "frame-counters.csv", "\n".join(counters) + "\n")


LAYOUTS = {"generic": generic, "gpu-trace": gpu_trace, "pix": pix, "renderdoc": renderdoc}


_ROLLUPS = (".pct", ".sum", ".ratio", "_elapsed", "_active")
_ALSO = ("VS Invocations", "Rasterized Primitives", "gr__idle_pct")  # what the APIs themselves count


def _perfworks(metrics: Iterable[str]) -> dict[str, str]:
    """Metric id -> the counter's name, of those that NVIDIA's counters have."""
    out = {}
    for m in metrics:
        names = [a for a in schema.get(m).aliases if a in _ALSO or ("__" in a and a.endswith(_ROLLUPS))]
        if names:
            out[m] = names[0]
    return out


def _text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


# ---- counters of AMD's and Intel's plug-ins: illness -> (call, causes, counters)

Vendor = dict[str, tuple[str, str, Callable[[Draw], dict[str, float]]]]
_AMD_WELL = {"VALUBusy": (20, 40), "VALUUtilization": (88, 99), "SALUBusy": (4, 15), "MemUnitBusy": (20, 45), "MemUnitStalled": (1, 6),
             "WriteUnitStalled": (0, 2), "L0CacheHit": (78, 93), "L2CacheHit": (75, 92), "TexUnitBusy": (20, 45), "CSLDSBankConflict": (0, 1),
             "PSExportStalls": (0, 4), "DepthStencilTestBusy": (3, 20), "PrimitivesIn": (5e4, 2e5), "CulledPrims": (2e4, 2.4e4), "PSPixelsIn": (2e6, 4e6),
             "VsGsVerticesIn": (4e4, 5e4)}  # fmt: skip
AMD: Vendor = {
    "full ALUs": ("Dispatch(240, 135, 1)", "fp32-bound issue-bound", lambda d: {"VALUBusy": d(88, 97)}),
    "full texture units": ("Draw(3)", "texture-queue l1-bandwidth texture-format", lambda d: {"TexUnitBusy": d(88, 98), "VALUBusy": d(20, 45)}),
    "misses": ("Dispatch(240, 135, 1)", "memory-latency l1-locality lsu-pressure", lambda d: {"MemUnitBusy": d(88, 98), "MemUnitStalled": d(35, 60), "L0CacheHit": d(20, 45), "L2CacheHit": d(30, 45), "VALUBusy": d(6, 15)}),
    "lanes apart": ("Dispatch(240, 135, 1)", "divergence", lambda d: {"VALUUtilization": d(28, 50), "VALUBusy": d(66, 82)}),
    "banks in conflict": ("Dispatch(240, 135, 1)", "bank-conflicts", lambda d: {"CSLDSBankConflict": d(18, 40)}),
    "exports": ("DrawIndexed(1200)", "crop-bound render-target-traffic", lambda d: {"PSExportStalls": d(35, 60)}),
    "depth": ("DrawIndexed(90000)", "zrop-bound", lambda d: {"DepthStencilTestBusy": d(82, 96), "VALUBusy": d(5, 15)}),
    "dust": ("DrawIndexed(9000000)", "small-triangles", lambda d: {"PrimitivesIn": 3e6, "CulledPrims": 1.2e6, "PSPixelsIn": d(1.2e6, 3e6), "VsGsVerticesIn": 2e6}),
    "backs": ("DrawIndexed(12000000)", "culled-primitives", lambda d: {"PrimitivesIn": 4e6, "CulledPrims": d(3.3e6, 3.8e6), "PSPixelsIn": 9e6, "VsGsVerticesIn": 2.4e6}),
    "well": ("DrawIndexed(90000)", "", lambda d: {"VALUBusy": d(40, 55)}),
}  # fmt: skip
_INTEL_WELL = {"EuActive": (45, 60), "EuStall": (15, 24), "EuThreadOccupancy": (60, 78), "SamplerBottleneck": (0, 4), "SamplersBusy": (20, 50), "VfBottleneck": (0, 4),
               "SfBottleneck": (0, 3), "HiDepthBottleneck": (0, 3), "BcBottleneck": (0, 3), "GTRequestQueueFull": (0, 8), "L3Lookups": (1e6, 2e6), "L3Misses": (1e5, 2e5),
               "IA Primitives": (4e4, 5e4), "Clipper Primitives Out": (2.4e4, 3e4), "PS Invocations": (1e6, 2e6), "VS Invocations": (2e4, 3e4)}  # fmt: skip
INTEL: Vendor = {
    "attributes": ("DrawIndexedInstanced", "vertex-fetch", lambda d: {"VfBottleneck": d(35, 65), "EuActive": d(12, 22)}),
    "depth": ("DrawIndexedInstanced", "zrop-bound", lambda d: {"HiDepthBottleneck": d(35, 65), "EuActive": d(10, 20), "EuStall": d(6, 12)}),
    "setup": ("DrawIndexedInstanced", "raster-bound", lambda d: {"SfBottleneck": d(35, 60), "EuActive": d(20, 35)}),
    "sampler": ("DrawInstanced", "texture-format texture-queue", lambda d: {"SamplerBottleneck": d(40, 70), "SamplersBusy": d(92, 99), "EuActive": d(28, 38), "EuStall": d(48, 58), "EuThreadOccupancy": d(82, 92)}),
    "full engines": ("Dispatch", "fp32-bound issue-bound", lambda d: {"EuActive": d(93, 98), "EuStall": d(1, 2)}),
    "waits": ("DrawInstanced", "memory-latency", lambda d: {"EuActive": d(12, 22), "EuStall": d(68, 82), "EuThreadOccupancy": d(84, 95)}),
    "waits hardly for the sampler": ("DrawInstanced", "memory-latency", lambda d: {"EuActive": d(12, 20), "EuStall": d(72, 82), "EuThreadOccupancy": d(84, 95), "SamplerBottleneck": d(11, 20)}),
    "memory": ("DrawInstanced", "vram-bandwidth", lambda d: {"GTRequestQueueFull": d(75, 98), "EuActive": d(12, 22), "EuStall": d(66, 80), "EuThreadOccupancy": d(84, 92), "L3Misses": 9e5}),
    "few threads": ("Dispatch", "low-occupancy", lambda d: {"EuActive": d(24, 30), "EuStall": d(62, 66), "EuThreadOccupancy": d(18, 35)}),
    "dust": ("DrawIndexedInstanced", "small-triangles", lambda d: {"IA Primitives": 3e6, "Clipper Primitives Out": 1.6e6, "PS Invocations": d(1.2e6, 3e6), "VS Invocations": 2e6}),
    "backs": ("DrawIndexedInstanced", "culled-primitives", lambda d: {"IA Primitives": 4e6, "Clipper Primitives Out": d(2e5, 5e5), "PS Invocations": 6e6, "VS Invocations": 2e6}),
    "well": ("DrawIndexedInstanced", "", lambda d: {"EuActive": d(60, 70)}),
}  # fmt: skip
VENDORS = {"amd": (AMD, _AMD_WELL), "intel": (INTEL, _INTEL_WELL)}


def vendor_rows(frame: str, vendor: str) -> dict[str, dict[str, float]]:
    """Illness -> counters of one event."""
    d, (illnesses, well) = Draw(frame), VENDORS[vendor]
    out = {}
    for name, (_, _, ill) in illnesses.items():
        row = {counter: d(*spread) for counter, spread in well.items()} | ill(d)
        if vendor == "intel":
            row["EuIdle"] = round(100 - row["EuActive"] - row["EuStall"], 2)
        out[name] = row
    return out


def vendor_pix(frame: str, vendor: str, folder: Path) -> Path:
    """pixtool's list with a vendor's counters, one call below a marker of the illness's name."""
    rows = vendor_rows(frame, vendor)
    columns = list(next(iter(rows.values())))
    lines = [", ".join(["Queue ID", "Parent", "Name", "Global ID", "EOP to EOP Duration (ns)", *columns])]
    for i, (name, row) in enumerate(rows.items()):
        ns, cells = str(400_000 + 10_000 * i), [f"{row[c]:g}" for c in columns]
        lines.append(", ".join([str(2 * i), "-1", name, "", ns, *cells]))
        call = VENDORS[vendor][0][name][0].split("(")[0]
        lines.append(", ".join([str(2 * i + 1), str(2 * i), call, str(i + 1), ns, *cells]))
    return _text(folder / "events.csv", "\n".join(lines) + "\n")


def vendor_renderdoc(frame: str, vendor: str, folder: Path) -> Path:
    """RenderDoc's counters and events with a vendor's counters."""
    rows = vendor_rows(frame, vendor)
    columns = list(next(iter(rows.values())))
    lines = [",".join(["EID", "GPU Duration (ms)", *columns])]
    events = ["frame.rdc - Frame #1", "", " EID  | Event | Action #", "-----"]
    for i, (name, row) in enumerate(rows.items(), 1):
        lines.append(",".join([str(2 * i + 1), f"{0.4 + 0.01 * i:g}", *(f"{row[c]:g}" for c in columns)]))
        call = VENDORS[vendor][0][name][0]
        events += [f"{2 * i} | - {name} | {i}", f"{2 * i + 1} |  \\- {call if '(' in call else call + '(3)'} | {i}"]
    _text(folder / "frame-events.txt", "\n".join(events) + "\n")
    return _text(folder / "frame-counters.csv", "\n".join(lines) + "\n")
