"""Frames whose illness is known because they were made to have it: one marker, its counters, the causes that may lead.

Synthetic. Shares are percent, `ms` is the marker's time. A frame may hold containers (kind `marker`), on which nothing may
be found.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Marker:
    """One range. causes: any of these may come first; () = nothing may be found."""

    name: str
    kind: str
    ms: float
    causes: tuple[str, ...]
    facts: dict[str, float] = field(default_factory=dict)
    path: str = ""


def _units(**units: float) -> dict[str, float]:
    return {f"{unit}.throughput": share for unit, share in units.items()}


def _m(
    name: str, kind: str, ms: float, causes: str, facts: dict[str, float] | None = None, path: str = "", **units: float
) -> Marker:
    """units: shares of peak by unit name."""
    return Marker(name, kind, ms, tuple(causes.split()), _units(**units) | (facts or {}), path)


def _f(**facts: float) -> dict[str, float]:
    """Metric ids with a double underscore for the dot."""
    return {k.replace("__", "."): v for k, v in facts.items()}


FRAMES: dict[str, list[Marker]] = {
    "geometry": [
        _m("Shadow cascade", "geometry", 1.2, "index-fetch", pd=62, vaf=30, l2=20, sm=14, vram=25, l1tex=4),
        _m("Depth prepass", "geometry", 0.9, "vertex-fetch", vaf=66, pd=38, l2=31, sm=17, vram=29, l1tex=3),
        _m("Foliage", "geometry", 2.2, "small-triangles",
           _f(prims__input=3e6, prims__rasterized=1.6e6, pixels__shaded=2.4e6), raster=64, vpc=48, pd=30, sm=31, l2=20, vram=18, l1tex=12),
        _m("City", "geometry", 1.8, "culled-primitives",
           _f(prims__input=4e6, prims__rasterized=3e5, pixels__shaded=5e6), vpc=68, pd=41, vaf=33, sm=30, l2=20, vram=22, l1tex=8),
        _m("Terrain", "geometry", 1.0, "vertex-reuse",
           _f(prims__input=1e6, prims__rasterized=5e5, invocations__vs=2.9e6, pixels__shaded=9e6, sm__warps_vtg=40), vaf=52, pd=33, sm=38, l2=20, vram=20, l1tex=8),
        _m("Depth heavy", "geometry", 1.5, "zrop-bound", zrop=78, crop=0, raster=40, sm=15, l2=41, vram=30, l1tex=3),
        _m("Rasteriser", "geometry", 1.5, "raster-bound", raster=81, vpc=44, pd=28, sm=21, l2=25, vram=16, l1tex=6),
    ],
    "pixels": [
        _m("Particles", "geometry", 2.0, "crop-bound overdraw", _f(pixels__overdraw=7), crop=88, sm=35, l1tex=30, l2=44, vram=40),
        _m("UI", "draw", 0.6, "crop-bound", crop=71, sm=12, l1tex=20, l2=30, vram=33),
        _m("GBuffer", "geometry", 2.5, "render-target-traffic vram-bandwidth",
           _f(l2_from__crop=62, l2_from__tex=20, l2_from__zrop=8), vram=78, crop=52, l2=49, sm=28, l1tex=25),
        _m("Alpha-tested leaves", "geometry", 1.4, "late-depth overdraw",
           _f(pixels__late_z=24, pixels__depth_tested=8e6, pixels__depth_passed=2e6, sm__warps_ps=50), sm=44, zrop=38, l1tex=30, l2=21, vram=19),
        _m("Opaque unsorted", "geometry", 2.4, "overdraw",
           _f(pixels__shaded=26e6, target__pixels=3.7e6), sm=62, l1tex=41, l2=33, vram=30, crop=28, zrop=22),
    ],
    "fullscreen": [
        _m("Blur", "fullscreen", 1.0, "sm-tex-interface", _f(l1tex__hit_rate=90, l2__hit_rate=88), sm=92, l1tex=92, l2=35, vram=25, crop=20),
        _m("Ambient occlusion", "fullscreen", 2.0, "issue-bound fp32-bound",
           _f(sm__issue_per_active=93, sm__throughput_active=94, sm__active=99), sm=92, l1tex=60, l2=35, vram=20, crop=2),
        _m("Reflections", "fullscreen", 1.6, "l1-locality memory-latency",
           _f(l1tex__hit_rate=41, l2__hit_rate=78, sm__active=98, stall__long_scoreboard=66, sm__throughput_active=46, sm__occupancy=92), sm=45, l2=38, l1tex=34, vram=30, crop=1),
        _m("Ray march", "fullscreen", 1.6, "memory-latency",
           _f(l1tex__hit_rate=88, l2__hit_rate=91, sm__active=99, stall__long_scoreboard=72, sm__throughput_active=40, sm__occupancy=95), sm=39, l1tex=36, l2=22, vram=12, crop=1),
        _m("Tone mapping", "fullscreen", 0.5, "vram-bandwidth mergeable-passes", vram=84, l2=40, l1tex=25, sm=22, crop=41),
        _m("Film grain", "fullscreen", 0.5, "vram-bandwidth mergeable-passes", vram=82, l2=39, l1tex=24, sm=20, crop=43),
        _m("Volume lookup", "fullscreen", 0.8, "texture-format",
           _f(l1tex__filter=88, l1tex__hit_rate=94, l2__hit_rate=90), l1tex=88, sm=41, l2=20, vram=14),
        _m("Material", "fullscreen", 0.8, "texture-queue", _f(l1tex__hit_rate=93, l2__hit_rate=90), l1tex=84, sm=55, l2=30, vram=20),
        _m("Motion blur early exit", "fullscreen", 1.0, "ordered-retirement",
           _f(sm__occupancy=52, launch_stall__ps_ooo_warp_completion=44, launch_stall__ps_register_allocation=1, sm__throughput_active=43,
              stall__long_scoreboard=30, sm__active=98, l1tex__hit_rate=85, l2__hit_rate=86), sm=41, l1tex=33, l2=30, vram=22, crop=18),
        _m("Subsurface", "fullscreen", 1.3, "occupancy-registers",
           _f(sm__occupancy=28, launch_stall__ps_register_allocation=61, launch_stall__ps_ooo_warp_completion=0, sm__throughput_active=36,
              stall__long_scoreboard=52, sm__active=99, l1tex__hit_rate=88, l2__hit_rate=90), sm=35, l1tex=28, l2=22, vram=16),
        _m("Interpolants", "geometry", 1.3, "occupancy-attributes",
           _f(sm__occupancy=31, launch_stall__ps_attr_allocation=48, launch_stall__ps_register_allocation=2, sm__throughput_active=36,
              stall__long_scoreboard=50, sm__active=97, l1tex__hit_rate=88, l2__hit_rate=90), sm=35, l1tex=26, l2=22, vram=16),
    ],
    "compute": [
        _m("Tiled lighting", "compute", 2.0, "occupancy-shared-memory",
           _f(sm__occupancy=33, launch_stall__cs_shmem_allocation=55, launch_stall__cs_register_allocation=1, sm__throughput_active=39,
              stall__long_scoreboard=44, sm__active=98), sm=38, l1tex=22, l2=25, vram=20),
        _m("Histogram", "compute", 0.7, "barrier-waits",
           _f(stall__barrier=58, stall__long_scoreboard=12, sm__throughput_active=35, sm__active=98, sm__occupancy=80), sm=34, l1tex=20, l2=12, vram=10),
        _m("Downsample chain", "compute", 0.08, "launch-overhead pipeline-drains",
           _f(dispatch__count=12, sm__active=38, gpu__idle=0), sm=9, l1tex=7, l2=10, vram=12),
        _m("Barriers", "compute", 0.6, "pipeline-drains",
           _f(wfi__sync=34, wfi__go_idle=60, sm__active=58, dispatch__count=8), sm=30, l1tex=20, l2=22, vram=25),
        _m("Skinning", "compute", 0.9, "vram-bandwidth", _f(l2__hit_rate=72), vram=89, l2=44, l1tex=22, sm=15),
        _m("Cluster cull", "compute", 0.9, "l2-bandwidth", _f(l2__hit_rate=92, l1tex__hit_rate=72), l2=86, l1tex=45, sm=30, vram=20),
        _m("Unit division", "compute", 0.7, "special-function-bound", _f(pipe__xu=86, pipe__fma=25, pipe__alu=30, sm__throughput_active=87, sm__issue_per_active=45, sm__active=99), sm=86, l1tex=20, l2=18, vram=12),
        _m("Local arrays", "compute", 1.2, "register-spills lsu-pressure",
           _f(stall__lg_throttle=47, stall__long_scoreboard=25, local_load__requests=5e6, local_store__requests=3e6, global_load__requests=1e6, global_store__requests=2e5,
              sm__throughput_active=30, sm__active=99), l2=68, l1tex=60, sm=30, vram=22),
    ],
    "host": [
        _m("Streaming", "draw", 2.0, "blocking-copy", _f(copy__sync_active=38, gpu__idle=37), sm=20, l1tex=15, l2=20, vram=25, pcie=62),
        _m("Starved", "draw", 2.0, "cpu-bound idle-gap", _f(gpu__idle=35, copy__sync_active=0, sm__active=60), sm=30, l1tex=25, l2=20, vram=25),
        _m("Vertices in system memory", "draw", 2.0, "bus-traffic", _f(gpu__idle=0), pcie=83, sm=8, l1tex=5, l2=14, vram=6, vaf=11),
        _m("Upload", "copy", 1.0, "bus-traffic", _f(sm__active=0), pcie=85, sm=0, l1tex=0, l2=10, vram=12),
    ],
    "rays": [
        _m("Path trace", "raytracing", 3.0, "ray-divergence", _f(warp__threads_per_inst=9, stall__long_scoreboard=30, sm__throughput_active=42, sm__active=98), rtcore=30, sm=41, l1tex=35, l2=30, vram=20),
        _m("Shadow rays", "raytracing", 2.0, "ray-traversal", _f(warp__threads_per_inst=27, stall__rtcore=52, stall__long_scoreboard=12, sm__active=98, sm__throughput_active=20), rtcore=84, sm=20, l1tex=30, l2=35, vram=20),
    ],
    "stalls": [
        _m("Texture queue", "fullscreen", 1.0, "texture-queue",
           _f(stall__tex_throttle=46, stall__long_scoreboard=14, sm__throughput_active=48, sm__active=98, sm__occupancy=88, l1tex__hit_rate=93), sm=47, l1tex=62, l2=20, vram=12),
        _m("Constants", "geometry", 1.0, "constant-misses",
           _f(stall__imc_miss=41, stall__long_scoreboard=9, sm__throughput_active=38, sm__active=97, sm__occupancy=88), sm=37, l1tex=12, l2=20, vram=10),
        _m("Uber shader", "fullscreen", 1.0, "instruction-fetch",
           _f(stall__no_instruction=44, stall__long_scoreboard=12, sm__throughput_active=38, sm__active=97, sm__occupancy=88), sm=37, l1tex=12, l2=20, vram=10),
        _m("Interpolation", "geometry", 1.0, "shared-memory-latency",
           _f(stall__short_scoreboard=48, stall__long_scoreboard=12, sm__throughput_active=42, sm__active=97, sm__occupancy=90), sm=41, l1tex=22, l2=20, vram=10),
        _m("Dependent math", "fullscreen", 1.0, "dependency-latency",
           _f(stall__wait=47, stall__long_scoreboard=12, sm__throughput_active=55, sm__active=99, sm__occupancy=45), sm=54, l1tex=12, l2=10, vram=10),
        _m("Buffer walk", "compute", 1.0, "lsu-pressure",
           _f(stall__lg_throttle=52, stall__long_scoreboard=20, sm__throughput_active=35, sm__active=99, sm__occupancy=85), sm=34, l1tex=20, l2=25, vram=20),
    ],
    "shapes": [
        _m("Short groups", "compute", 1.0, "launch-rate",
           _f(sm__occupancy=31, sm__active=98, sm__throughput_active=33, launch_stall__cs_register_allocation=0, launch_stall__cs_shmem_allocation=0,
              launch_stall__cs_cta_allocation=1, dispatch__count=1, stall__long_scoreboard=20), sm=32, l1tex=20, l2=22, vram=20),
        _m("Uneven tiles", "compute", 1.0, "idle-sms load-imbalance", _f(sm__active=61, gpu__idle=0, wfi__sync=0, dispatch__count=1), sm=38, l1tex=30, l2=22, vram=18),
        _m("Many switches", "geometry", 1.0, "pipeline-drains", _f(wfi__sync=22, wfi__go_idle=45, wfi__switches=44, sm__active=72), sm=35, l1tex=30, l2=22, vram=18),
        _m("Weak coarse culling", "geometry", 1.0, "zrop-bound",
           _f(zcull__samples=1e7, zcull__accepted=9.5e6, pixels__depth_tested=9e6, pixels__depth_passed=3e6), zrop=76, raster=40, sm=30, l1tex=20, l2=30, vram=25),
        _m("Smoke", "geometry", 1.0, "crop-bound",
           {"crop.read_throughput": 70.0, "crop.write_throughput": 74.0}, crop=82, sm=35, l1tex=30, l2=45, vram=40),
        _m("Streaming pass", "fullscreen", 1.0, "l2-locality vram-bandwidth", _f(l2__hit_rate=12, l1tex__hit_rate=75), vram=88, l2=35, l1tex=30, sm=20, crop=10),
    ],
    "few counters": [
        _m("Stalled on loads", "fullscreen", 2.0, "memory-latency l1-locality", _f(stall__long_scoreboard=61, l1tex__hit_rate=16), sm=33),
        _m("Plain VRAM", "compute", 2.0, "vram-bandwidth", vram=81),
        _m("Plain idle", "draw", 2.0, "cpu-bound idle-gap pipeline-drains", _f(gpu__active=58)),
        _m("Plain drains", "draw", 2.0, "pipeline-drains", _f(wfi__sync=28, wfi__go_idle=90)),
        _m("Plain micro-triangles", "geometry", 2.0, "small-triangles", _f(prims__rasterized=2e6, pixels__shaded=3e6)),
        _m("Plain overdraw", "geometry", 2.0, "overdraw", _f(pixels__overdraw=8)),
        _m("Plain barrier stall", "compute", 2.0, "barrier-waits", _f(stall__barrier=52, stall__long_scoreboard=10), sm=30),
        _m("Plain registers", "compute", 2.0, "occupancy-registers", _f(sm__occupancy=20, launch_stall__cs_register_allocation=55), sm=30),
    ],
    "one or two counters": [
        _m("Registers", "compute", 2.0, "occupancy-registers", _f(sm__occupancy=19, launch_stall__cs_register_allocation=52)),
        _m("Order", "fullscreen", 2.0, "ordered-retirement", _f(sm__occupancy=42, launch_stall__ps_ooo_warp_completion=41)),
        _m("Group memory", "compute", 2.0, "occupancy-shared-memory", _f(sm__occupancy=22, launch_stall__cs_shmem_allocation=41)),
        _m("Attributes", "geometry", 2.0, "occupancy-attributes", _f(sm__occupancy=33, launch_stall__ps_attr_allocation=39)),
        _m("Colour units", "geometry", 2.0, "crop-bound", crop=86),
        _m("Depth units", "geometry", 2.0, "zrop-bound", zrop=81),
        _m("Hidden after shading", "geometry", 2.0, "late-depth", _f(pixels__late_z=27)),
        _m("Thrown away", "geometry", 2.0, "culled-primitives", _f(prims__input=2e6, prims__rasterized=1.5e5)),
        _m("Rays apart", "raytracing", 2.0, "ray-divergence", _f(warp__threads_per_inst=7)),
        _m("Queue of texture requests", "fullscreen", 2.0, "texture-queue", _f(stall__tex_throttle=49)),
    ],
    "attributes and latency together": [
        _m("Hair", "geometry", 1.5, "occupancy-attributes",
           _f(launch_stall__ps_attr_allocation=35, launch_stall__ps_register_allocation=2, sm__occupancy=38, sm__active=96,
              sm__throughput_active=37, stall__long_scoreboard=42), sm=35, l1tex=20, l2=24, vram=19),
    ],
    "containers": [
        _m("Frame", "marker", 10.0, "", _f(sm__active=80, gpu__idle=12, stall__long_scoreboard=60), sm=40, l1tex=38, l2=30, vram=30),
        _m("Shadows", "marker", 4.0, "", _f(gpu__idle=10, sm__active=70), path="Frame", pd=50, sm=10, l1tex=4, l2=15, vram=20),
        _m("Cascade 0", "geometry", 2.0, "index-fetch", _f(gpu__idle=0), path="Frame/Shadows", pd=60, vaf=20, sm=10, l1tex=4, l2=15, vram=20),
        _m("Cascade 1", "geometry", 2.0, "index-fetch", _f(gpu__idle=0), path="Frame/Shadows", pd=60, vaf=20, sm=10, l1tex=4, l2=15, vram=20),
        _m("Post", "marker", 5.0, "", _f(gpu__idle=2), path="Frame", vram=70, sm=40, l1tex=30, l2=40),
        _m("Bloom", "fullscreen", 3.0, "vram-bandwidth mergeable-passes", path="Frame/Post", vram=88, sm=20, l1tex=30, l2=40),
        _m("Grade", "fullscreen", 2.0, "issue-bound fp32-bound", _f(sm__throughput_active=95, sm__issue_per_active=94, sm__active=99), path="Frame/Post", vram=30, sm=93, l1tex=30, l2=40),
    ],
    "apple": [
        _m("ALU", "fullscreen", 4.0, "issue-bound fp32-bound", _f(alu__limiter=94, alu__utilization=88, buffer_read__limiter=5, texture_sample__limiter=20, llc__limiter=12)),
        _m("Texture sample", "fullscreen", 4.0, "texture-queue l1-bandwidth texture-format", _f(alu__limiter=30, alu__utilization=22, texture_sample__limiter=93, llc__limiter=20)),
        _m("Buffer reads", "compute", 4.0, "lsu-pressure l1-bandwidth data-reuse", _f(alu__limiter=30, alu__utilization=22, buffer_read__limiter=91, llc__limiter=30)),
        _m("Tile memory", "compute", 4.0, "shared-memory-traffic", _f(alu__limiter=30, alu__utilization=22, threadgroup_memory__limiter=92, llc__limiter=10)),
        _m("Last level", "compute", 4.0, "l2-bandwidth", _f(alu__limiter=30, alu__utilization=22, llc__limiter=93, buffer_read__limiter=40)),
        _m("Page walks", "compute", 4.0, "address-translation", _f(alu__limiter=20, alu__utilization=12, mmu__limiter=81, buffer_read__limiter=40)),
        _m("Target writes", "fullscreen", 4.0, "render-target-traffic crop-bound", _f(alu__limiter=20, alu__utilization=12, texture_write__limiter=90, llc__limiter=40)),
    ],
    "mali": [
        _m("Arithmetic", "fullscreen", 6.0, "fp32-bound issue-bound", _f(alu__utilization=94, texture_pipe__busy=30, load_store__busy=20)),
        _m("Load and store", "fullscreen", 6.0, "lsu-pressure", _f(alu__utilization=40, texture_pipe__busy=30, load_store__busy=91)),
        _m("Texturing", "fullscreen", 6.0, "texture-queue", _f(alu__utilization=40, texture_pipe__busy=92, load_store__busy=20)),
        _m("External memory", "fullscreen", 6.0, "vram-bandwidth", _f(alu__utilization=30, texture_pipe__busy=30, vram__stalled=42)),
    ],
    "adreno": [
        _m("Busy texture pipes", "fullscreen", 6.0, "texture-queue l1-bandwidth texture-format", _f(texture_pipe__busy=93, texture_pipe__stalled=3, shader__busy=50)),
        _m("Stalled fetches", "fullscreen", 6.0, "memory-latency", _f(texture_pipe__busy=50, texture_pipe__stalled=55, shader__busy=60, l1tex__hit_rate=60)),
        _m("System memory", "fullscreen", 6.0, "vram-bandwidth memory-latency", _f(vram__stalled=45, shader__busy=40, shader__stalled=50)),
    ],
}  # fmt: skip


def table(frame: str) -> str:
    """One frame as a generic table."""
    markers = FRAMES[frame]
    metrics = list(dict.fromkeys(m for marker in markers for m in marker.facts))
    from triage import schema

    def unit(metric: str) -> str:
        return " [%]" if schema.get(metric).unit == "ratio" else ""

    lines = [",".join(["name", "path", "kind", "gpu.time [ms]", *(m + unit(m) for m in metrics)])]
    for marker in markers:
        cells = [f"{marker.facts[m]:g}" if m in marker.facts else "" for m in metrics]
        lines.append(",".join([marker.name, marker.path, marker.kind, f"{marker.ms:g}", *cells]))
    return "\n".join(lines) + "\n"
