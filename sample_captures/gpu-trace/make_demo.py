# ruff: noqa: E731, T201 - the table of passes reads best in long lines
"""Write the synthetic demo frame: python sample_captures/gpu-trace/make_demo.py

A 4K game frame of about 14 ms on a fictional capture of an RTX 3080, in the layout of a GPU Trace auto-export. No figure was
measured. Every leaf is stated below with what limits it; parents are the time-weighted mean of their leaves (rates) or their sum
(counts), so inclusive times and counters are consistent. Same script, same bytes.
"""

from __future__ import annotations

import random
from pathlib import Path

OUT = Path(__file__).parent / "demo_frame" / "BASE"
GHZ, SLOTS, SMS = 1.440, 48, 68
P = ".avg.pct_of_peak_sustained_elapsed"
UNITS = {
    "sm": "GPUTrace.sm__throughput",
    "tex": "SM_A.TriageSCG.l1tex__throughput",
    "l2": "LTS.TriageSCG.lts__throughput",
    "vram": "FBSP.TriageSCG.dramc__throughput",
    "crop": "ROP.TriageSCG.crop__throughput",
    "zrop": "ROP.TriageSCG.zrop__throughput",
    "pd": "HUB_B.TriageSCG.pda__throughput",
    "vaf": "TPC.TriageSCG.vaf__throughput",
    "vpc": "GPC_B.TriageSCG.vpc__throughput",
    "pes": "GPC_B.TriageSCG.pes__throughput",
    "raster": "GPC_A.TriageSCG.raster__throughput",
    "prop": "GPC_A.TriageSCG.prop__throughput",
    "pcie": "PCI.TriageSCG.pcie__throughput",
}
STALLS = (
    "long_scoreboard_pipe_l1tex",
    "short_scoreboard",
    "barrier",
    "wait",
    "math_pipe_throttle",
    "tex_throttle",
    "lg_throttle",
    "mio_throttle_pipe_mio",
    "no_instruction",
    "not_selected",
    "selected",
    "dispatch_stall",
    "branch_resolving",
    "imc_miss",
    "drain",
    "membar",
    "sleeping",
    "misc",
)
SHORT = {
    "long": "long_scoreboard_pipe_l1tex",
    "short": "short_scoreboard",
    "math": "math_pipe_throttle",
    "tex": "tex_throttle",
    "lg": "lg_throttle",
    "mio": "mio_throttle_pipe_mio",
    "noinst": "no_instruction",
    "notsel": "not_selected",
    "sel": "selected",
}
# path | ms | kind | units SOL % | TEX hit, L2 hit | GPU active %, SM active %, occupancy % of active | issue % of active | stalls % of
# resident warps | extras: registers stall (ps/cs launch), wfi, draws, prims, Mpix, groups, isbe
LEAVES = """
Frame/Begin Frame/Upload Constants | 0.061 | copy | pcie 21 l2 4 vram 3 | 0 41 | 62 0 0 | 0 | | wfi 4
Frame/Begin Frame/Skinning | 0.118 | cs 14 | sm 28 tex 24 l2 33 vram 30 | 61 72 | 99 88 44 | 31 | long 52 short 9 wait 14 sel 9 | cs_reg 11
Frame/Shadows/Cascade 0 | 0.402 | geo 612 3.6 | vpc 79 pd 58 vaf 61 raster 44 sm 21 tex 9 l2 22 vram 14 zrop 34 | 77 81 | 99.6 71 33 | 19 | long 30 wait 22 short 12 | isbe 6 mpix 4.1
Frame/Shadows/Cascade 1 | 0.371 | geo 540 3.1 | vpc 77 pd 57 vaf 60 raster 42 sm 20 tex 9 l2 21 vram 13 zrop 30 | 77 80 | 99.6 69 32 | 18 | long 30 wait 22 short 12 | isbe 6 mpix 3.3
Frame/Shadows/Cascade 2 | 0.349 | geo 488 2.9 | vpc 76 pd 56 vaf 62 raster 37 sm 19 tex 8 l2 21 vram 12 zrop 24 | 76 80 | 99.5 68 31 | 17 | long 31 wait 22 short 11 | isbe 7 mpix 2.0
Frame/Shadows/Cascade 3 | 0.318 | geo 433 2.7 | vpc 74 pd 55 vaf 63 raster 31 sm 18 tex 8 l2 20 vram 11 zrop 17 | 76 79 | 99.5 66 30 | 17 | long 31 wait 22 short 11 | isbe 7 mpix 1.1
Frame/Shadows/Local Lights | 0.166 | geo 211 0.7 | vpc 52 pd 49 vaf 71 raster 28 sm 16 tex 7 l2 19 vram 12 zrop 21 | 75 78 | 98.9 61 28 | 15 | long 33 wait 20 | isbe 5 mpix 1.4
Frame/Depth Prepass/Opaque | 0.544 | geo 1480 4.2 | zrop 66 raster 58 vpc 49 pd 41 vaf 44 sm 22 tex 11 l2 30 vram 33 prop 52 | 79 77 | 99.7 74 29 | 20 | long 29 wait 24 | mpix 26 isbe 3
Frame/Depth Prepass/Alpha Tested | 0.231 | geo 320 1.1 | tex 63 sm 48 zrop 44 raster 47 vpc 30 pd 27 vaf 24 l2 41 vram 36 prop 49 | 83 74 | 99.6 83 41 | 46 | long 38 tex 12 wait 12 | mpix 12 ps_reg 4
Frame/GBuffer/Terrain | 0.482 | geo 118 1.9 | crop 71 vram 68 tex 58 sm 47 l2 55 raster 44 prop 57 vpc 22 pd 20 vaf 18 zrop 26 | 86 71 | 99.7 91 40 | 42 | long 41 wait 11 tex 9 | mpix 10.4 ps_reg 9
Frame/GBuffer/Static Meshes | 0.871 | geo 1610 5.4 | crop 67 sm 61 tex 60 vram 63 l2 54 raster 46 prop 55 vpc 38 pd 35 vaf 33 zrop 28 | 84 69 | 99.6 89 38 | 55 | long 37 wait 12 tex 8 | mpix 17.6 ps_reg 12
Frame/GBuffer/Foliage | 0.553 | geo 702 3.3 | tex 66 sm 63 raster 61 vpc 57 crop 41 vram 46 l2 52 prop 58 pd 44 vaf 47 zrop 30 | 78 66 | 99.6 87 43 | 56 | long 44 tex 10 wait 9 | mpix 14.9 ps_reg 7
Frame/GBuffer/Skinned | 0.204 | geo 96 0.8 | sm 52 tex 50 crop 46 vram 41 l2 40 raster 38 prop 40 vpc 29 pd 25 vaf 31 zrop 20 | 85 72 | 98.8 84 35 | 47 | long 36 wait 13 | mpix 3.9 ps_reg 14
Frame/GBuffer/Decals | 0.158 | draw 140 0.02 | crop 83 vram 57 tex 49 sm 38 l2 47 prop 61 raster 52 | 88 75 | 99.5 90 42 | 35 | long 40 wait 10 | mpix 8.8
Frame/Hi-Z/Build Pyramid | 0.087 | cs 12 | l2 36 vram 31 tex 28 sm 12 | 48 71 | 99.4 52 31 | 14 | long 58 barrier 8 | wfi 19
Frame/SSAO/Deinterleave | 0.094 | cs 1 | vram 84 l2 66 tex 47 sm 17 | 38 52 | 99.8 97.5 61 | 16 | long 71 lg 8 | cs_reg 0
Frame/SSAO/Coarse AO | 0.612 | cs 16 | tex 49 sm 47 l2 34 vram 8 | 71 96 | 99.9 99.2 70 | 48 | long 64 tex 6 wait 9 | cs_reg 21
Frame/SSAO/Blur X | 0.141 | cs 1 | tex 93.5 sm 91.8 l2 38 vram 21 | 94 88 | 99.8 98.7 82 | 69 | tex 55 long 21 sel 12 | cs_reg 1
Frame/SSAO/Blur Y | 0.139 | cs 1 | tex 92.9 sm 91.4 l2 41 vram 22 | 93 87 | 99.8 98.8 82 | 68 | tex 54 long 22 sel 12 | cs_reg 1
Frame/SSR/Classify | 0.072 | cs 1 | vram 61 l2 52 sm 33 tex 39 | 66 60 | 99.6 93 55 | 34 | long 49 barrier 13 | cs_reg 2
Frame/SSR/Trace | 0.894 | full | tex 43.2 sm 38.9 l2 35 vram 17 crop 5 | 57 83 | 99.9 98.4 37 | 39 | long 73 branch 6 wait 6 | ps_reg 31 mpix 8.29
Frame/SSR/Resolve | 0.236 | cs 1 | vram 67 l2 62 tex 59 sm 41 | 74 58 | 99.8 97 58 | 41 | long 55 tex 8 | cs_reg 6
Frame/Lighting/Tile Cull | 0.148 | cs 1 | sm 62 tex 26 l2 24 vram 11 | 81 86 | 99.7 96 49 | 63 | barrier 34 long 19 math 11 short 9 | cs_reg 3
Frame/Lighting/Tiled Lighting | 1.482 | cs 1 | sm 86.2 tex 51 l2 39 vram 28 | 89 82 | 99.9 99.3 33 | 87 | math 24 notsel 21 wait 15 long 13 sel 13 | cs_reg 34
Frame/Lighting/Subsurface | 0.219 | full | tex 68 sm 66 l2 47 vram 38 crop 14 | 87 73 | 99.8 97 44 | 67 | long 35 wait 14 sel 12 | ps_reg 9 mpix 2.2
Frame/Lighting/Sky | 0.133 | full | crop 64 sm 55 tex 33 vram 49 l2 36 | 92 77 | 99.6 95 52 | 56 | wait 24 math 18 long 19 | mpix 3.1
Frame/Volumetrics/Inject | 0.287 | cs 1 | sm 57 tex 54 l2 49 vram 40 | 73 62 | 99.7 94 41 | 58 | long 43 math 12 wait 11 | cs_reg 17
Frame/Volumetrics/Integrate | 0.194 | cs 1 | l2 71 vram 62 tex 46 sm 18 | 31 49 | 99.8 82 24 | 17 | long 83 | cs_reg 4
Frame/Volumetrics/Apply | 0.176 | full | crop 74 vram 72 tex 57 l2 50 sm 30 | 86 60 | 99.7 97.9 60 | 29 | long 54 | mpix 8.29
Frame/Occlusion Readback/Copy to System Memory | 0.214 | copy | pcie 88 l2 11 vram 9 | 0 22 | 99.1 0 0 | 0 | | wfi 31
Frame/Occlusion Readback/Wait | 0.188 | gap | sm 2 l2 1 vram 1 | 80 70 | 31 9 14 | 4 | long 40 | wfi 9
Frame/Transparency/Glass | 0.263 | geo 84 0.2 | tex 61 sm 57 crop 55 vram 50 l2 48 raster 22 prop 37 zrop 12 vpc 9 pd 8 vaf 8 | 80 68 | 99.4 88 34 | 58 | long 45 wait 12 | mpix 5.2 ps_reg 19
Frame/Transparency/Particles | 0.902 | draw 65 0.61 | crop 91.7 vram 64 prop 62 tex 52 l2 46 sm 44 raster 48 zrop 15 vpc 12 pd 10 vaf 11 | 91 70 | 99.8 93 47 | 41 | long 36 wait 12 drain 10 | mpix 97 ps_reg 5
Frame/Transparency/Distortion | 0.117 | draw 12 0.01 | crop 58 tex 47 vram 44 l2 40 sm 33 prop 38 raster 30 | 82 66 | 98.7 84 39 | 32 | long 51 wait 10 | mpix 3.3
Frame/Anti-Aliasing/TAA | 0.418 | cs 1 | vram 87.6 l2 71 tex 63 sm 42 | 83 46 | 99.9 98.9 58 | 43 | long 49 lg 8 wait 10 | cs_reg 3
Frame/Anti-Aliasing/Sharpen | 0.182 | cs 1 | vram 89 l2 64 tex 52 sm 35 | 90 41 | 99.8 98.6 66 | 36 | long 52 wait 10 | cs_reg 0
Frame/Motion Blur/Tile Max | 0.064 | cs 2 | vram 58 l2 49 tex 35 sm 15 | 44 52 | 99.4 76 46 | 16 | long 66 barrier 9 | wfi 8
Frame/Motion Blur/Gather | 0.571 | full | tex 52.1 sm 46.5 l2 44 vram 25 crop 11 | 63 79 | 99.9 98.8 46 | 47 | long 68 tex 7 wait 8 | ps_reg 17 mpix 8.29
Frame/Depth of Field/Downsample | 0.083 | cs 1 | vram 81 l2 58 tex 44 sm 18 | 70 45 | 99.6 95 60 | 18 | long 61 |
Frame/Depth of Field/Gather | 0.337 | cs 1 | tex 78 sm 52 l2 61 vram 33 | 74 77 | 99.8 98 55 | 53 | long 47 tex 21 | cs_reg 8
Frame/Depth of Field/Composite | 0.121 | full | crop 69 vram 76 l2 54 tex 50 sm 24 | 88 50 | 99.6 97 62 | 24 | long 57 | mpix 8.29
Frame/Bloom/Threshold | 0.058 | cs 1 | vram 79 l2 52 tex 41 sm 18 | 72 44 | 99.2 92 57 | 19 | long 60 | wfi 4
Frame/Bloom/Down 1 | 0.024 | cs 1 | l2 33 vram 27 tex 22 sm 9 | 64 66 | 97.0 61 39 | 14 | long 66 | wfi 22
Frame/Bloom/Down 2 | 0.0112 | cs 1 | l2 19 vram 13 tex 12 sm 5 | 63 70 | 94.0 38 27 | 12 | long 67 | wfi 37
Frame/Bloom/Down 3 | 0.0079 | cs 1 | l2 9 vram 6 tex 5 sm 2.2 | 62 73 | 91.0 17 16 | 11 | long 68 | wfi 49
Frame/Bloom/Down 4 | 0.0071 | cs 1 | l2 4 vram 3 tex 2 sm 0.9 | 61 74 | 90.0 6 9 | 11 | long 68 | wfi 55
Frame/Bloom/Down 5 | 0.0069 | cs 1 | l2 2 vram 2 tex 1 sm 0.4 | 60 74 | 89.5 2 6 | 10 | long 68 | wfi 57
Frame/Bloom/Up 4 | 0.0072 | cs 1 | l2 4 vram 3 tex 3 sm 0.9 | 66 74 | 90.1 6 9 | 11 | long 67 | wfi 55
Frame/Bloom/Up 3 | 0.0083 | cs 1 | l2 10 vram 7 tex 6 sm 2.4 | 67 73 | 91.2 18 16 | 12 | long 66 | wfi 48
Frame/Bloom/Up 2 | 0.0118 | cs 1 | l2 20 vram 14 tex 14 sm 6 | 68 71 | 94.3 39 27 | 13 | long 66 | wfi 36
Frame/Bloom/Up 1 | 0.0261 | cs 1 | l2 36 vram 30 tex 26 sm 10 | 69 67 | 97.2 63 39 | 15 | long 65 | wfi 21
Frame/Post/Exposure Histogram | 0.069 | cs 2 | l2 47 vram 44 sm 24 tex 31 | 58 63 | 99.0 83 50 | 26 | short 34 barrier 16 long 22 lg 9 | wfi 11
Frame/Post/Tonemap + Grade | 0.224 | full | vram 90.4 crop 77 l2 58 tex 55 sm 33 | 87 39 | 99.9 98.8 63 | 33 | long 46 wait 13 | mpix 8.29
Frame/Post/Film Grain | 0.151 | full | vram 88.2 crop 79 l2 53 sm 26 tex 41 | 89 38 | 99.8 98.7 65 | 26 | long 48 wait 13 | mpix 8.29
Frame/UI/HUD | 0.142 | draw 118 0.012 | crop 37 tex 26 sm 17 l2 22 vram 24 raster 14 prop 24 | 86 72 | 93 58 22 | 19 | long 39 wait 15 | mpix 2.6 wfi 3
Frame/UI/Text | 0.057 | draw 41 0.02 | crop 24 tex 19 sm 11 l2 14 vram 15 raster 11 prop 15 | 88 74 | 90 49 19 | 15 | long 41 wait 16 | mpix 0.7 wfi 3
Frame/Present/Copy to Back Buffer | 0.096 | full | vram 86 crop 70 l2 49 tex 40 sm 12 | 91 35 | 99.2 96 60 | 12 | long 58 | mpix 8.29
"""
UNCOVERED_MS = 0.117  # between the markers


def leaf(line: str) -> tuple[str, float, dict[str, float]]:
    """One leaf's path, time in ms and exported counters by column name."""
    path, ms, kind, sol, hits, active, issue, stalls, extra = (c.strip() for c in line.split("|"))
    rng = random.Random(path)
    near = lambda v: max(0.0, v * (1 + rng.uniform(-0.004, 0.004)))
    pairs = lambda text: {k: float(v) for k, v in zip(text.split()[::2], text.split()[1::2], strict=True)}
    sol_, more, t = pairs(sol), pairs(extra), float(ms)
    sol_.setdefault("pes", 0.72 * sol_.get("vpc", 0.0))
    word, *numbers = kind.split()
    gr, sm, occ = (float(v) for v in active.split())
    tex_hit, l2_hit = (float(v) for v in hits.split())
    counts = [float(n) for n in numbers]
    draws = counts[0] if word in ("geo", "draw") else 1.0 if word == "full" else 0.0
    prims = counts[1] * 1e6 if word in ("geo", "draw") else draws
    out = {f"{name}{P}": near(sol_.get(unit, rng.uniform(0, 0.4))) for unit, name in UNITS.items()}
    out[f"FE_B.TriageSCG.gr__cycles_active{P}"] = gr
    out[f"HOST.TriageSCG.gpu__engine_cycles_active_any_syncce{P}"] = near(84.0) if word == "copy" else 0.0
    out[f"FE_A.TriageSCG.gr__compute_cycles_active_queue_sync{P}"] = near(gr * 0.97) if word == "cs" else 0.0
    out[f"FE_A.TriageSCG.gr__compute_cycles_active_queue_async{P}"] = 0.0
    out[f"FE_B.TriageSCG.fe__cycles_stalled_cmd_wfi_queue_sync{P}"] = near(more.get("wfi", 0.3))
    out["FE_B.TriageSCG.fe__draw_count.sum"] = draws
    out["FE_A.TriageSCG.gr__dispatch_count.sum"] = counts[0] if word == "cs" and counts else 0.0
    out["SM_B.TriageSCG.l1tex__t_sector_hit_rate.pct"] = tex_hit
    out["LTS.TriageSCG.lts__average_t_sector_hit_rate_realtime.pct"] = l2_hit
    share = 0.66 if word in ("full", "draw") else 0.6
    out[f"LTS.TriageSCG.lts__t_sector_throughput_srcunit_tex{P}"] = near(sol_.get("l2", 0) * share)
    out[f"ROP.TriageSCG.lts__t_sector_throughput_srcunit_crop{P}"] = near(sol_.get("crop", 0) * 0.31)
    out[f"ROP.TriageSCG.lts__t_sector_throughput_srcunit_zrop{P}"] = near(sol_.get("zrop", 0) * 0.27)
    out[f"FBSP.TriageSCG.dramc__read_throughput{P}"] = near(sol_.get("vram", 0) * 0.68)
    out[f"FBSP.TriageSCG.dramc__write_throughput{P}"] = near(sol_.get("vram", 0) * 0.31)
    out["PCI.TriageSCG.pcie__read_bytes.sum"] = near(sol_.get("pcie", 0.02) * 0.12 * t * 31.5e6 / 100)
    out["PCI.TriageSCG.pcie__write_bytes.sum"] = near(sol_.get("pcie", 0.02) * 0.88 * t * 31.5e6 / 100)
    pixels = more.get("mpix", 0.0) * 1e6
    out["HUB_B.TriageSCG.pda__input_prims_realtime.sum"] = prims
    out["GPC_A.TriageSCG.raster__zcull_input_samples_realtime.sum"] = pixels * 1.8
    out["GPC_A.TriageSCG.raster__zcull_input_samples_op_accepted_realtime.sum"] = pixels * 1.1
    out["GPC_A.TriageSCG.prop__input_pixels_type_3d_realtime.sum"] = pixels
    out["GPC_A.TriageSCG.prop__prop2zrop_pixels_realtime.sum"] = pixels * (0.95 if "zrop" in sol_ else 0.0)
    out["GPC_A.TriageSCG.prop__prop2crop_pixels_realtime.sum"] = pixels * (0.93 if "crop" in sol_ else 0.0)
    out["gpc__cycles_elapsed.avg.per_second"] = GHZ * 1e3
    out["gpc__cycles_elapsed.avg"] = t * GHZ * 1e6
    out["dramc__cycles_elapsed.avg.per_second"] = 9251.0
    warps = occ * sm / 100
    for stage in ("vtg", "ps", "cs"):
        mix = {"geo": {"vtg": 0.35, "ps": 0.65}, "draw": {"vtg": 0.04, "ps": 0.96}, "full": {"ps": 1.0}}.get(
            word, {"cs": 1.0}
        ).get(stage, 0.0)
        out[f"TPC.TriageSCG.tpc__warps_active_shader_{stage}_realtime.avg.per_cycle_elapsed"] = (
            warps * mix / 100 * SLOTS
        )
        out[f"TPC.TriageSCG.tpc__warps_active_shader_{stage}_realtime{P}"] = warps * mix
    out[f"TriageSCG.tpc__warps_inactive_sm_active_realtime{P}"] = sm - warps
    out[f"TriageSCG.tpc__warps_inactive_sm_idle_realtime{P}"] = 100 - sm
    out[f"tpc__warp_launch_cycles_stalled_shader_ps_reason_register_allocation{P}"] = near(more.get("ps_reg", 0.0))
    out[f"tpc__warp_launch_cycles_stalled_shader_cs_reason_register_allocation{P}"] = near(more.get("cs_reg", 0.0))
    out[f"tpc__pe2sm_vtg_isbe_allocation_cycles_stalled{P}"] = near(more.get("isbe", 0.0))
    inst = float(issue) * sm / 100
    out[f"SM_A.TriageSCG.sm__inst_executed_realtime{P}"] = inst
    out["SM_A.TriageSCG.sm__inst_executed_realtime.sum"] = inst / 100 * 4 * SMS * t * GHZ * 1e6
    out["smsp__thread_inst_executed_per_inst_executed.ratio"] = (
        0.0 if word == "copy" else near(24.0 if "Trace" in path else 30.1)
    )
    named = {SHORT.get(k, "branch_resolving" if k == "branch" else k): v for k, v in pairs(stalls).items()}
    rest = [s for s in STALLS if s not in named and s not in ("membar", "sleeping")]
    weights = [rng.uniform(0.5, 1.5) for _ in rest]
    left = max(100 - sum(named.values()), 0.0)
    named |= {s: left * w / sum(weights) for s, w in zip(rest, weights, strict=True)}
    for reason in STALLS:  # % of peak warp slots, as the sampler exports them
        out[f"GPUTrace.PCSampler.tpc__warps_issue_stalled_{reason}{P}"] = named.get(reason, 0.0) * warps / 100
    return path, t, out


def main() -> None:
    """Write the five tables."""
    leaves = [leaf(line) for line in LEAVES.strip().splitlines()]
    columns = list(leaves[0][2])
    order: list[str] = []
    for path, _, _ in leaves:
        for depth in range(1, path.count("/") + 2):
            level = "/".join(path.split("/")[:depth])
            if level not in order:
                order.append(level)
    rows: list[tuple[str, float, list[float]]] = []
    for level in order:
        below = [(t, v) for p, t, v in leaves if p == level or p.startswith(level + "/")]
        total = sum(t for t, _ in below)
        values = []
        for c in columns:
            additive = c.endswith(".sum") or c == "gpc__cycles_elapsed.avg"
            values.append(sum(v[c] * (1 if additive else t / total) for t, v in below))
        rows.append((level, total, values))
    frame = rows[0][1] + UNCOVERED_MS
    OUT.mkdir(parents=True, exist_ok=True)
    number = lambda v: f"{v:.6g}"
    write = lambda name, lines, end="\r\n": (OUT / name).write_bytes(
        (end.join(lines) + (end if end == "\r\n" else "")).encode()
    )
    write("GPUTRACE_REGIMES.xls", ["\t".join(["flattened_event_name", *columns]),
          *("\t".join([level, *map(number, values)]) for level, _, values in rows)])  # fmt: skip
    write("D3DPERF_EVENTS.xls", ["event_text\ttime_ms",
          *(f"{' ' * 8 * level.count('/')}{level.rpartition('/')[2]}\t{number(t)}" for level, t, _ in rows)])  # fmt: skip
    write("GPUTRACE_FRAME.xls", [f"{c}\t{number(v)}" for c, v in zip(columns, rows[0][2], strict=True)])
    write("FRAME.xls", [f"GPU frame time\t{number(frame)}"], "\n")
    info = {"Operating System": "Windows 11", "Device Name": "NVIDIA GeForce RTX 3080", "Chip Name": "GA102", "Driver Version": "000.00 (synthetic)",
            "Product Version": "synthetic sample, no capture", "Process File Name": "demo.exe", "API": "Direct3D 12", "Max Duration ": "1000 ms",
            "Limited To": "1 Frames", "GPU Clocks": "Locked to Base", "Metric Set": "Throughput Metrics", "Real-Time Shader Profiler": "Enabled",
            "Multi-Pass Metrics": "Disabled"}  # fmt: skip
    write("REPRO_INFO.xls", [f"{k}\t{v}" for k, v in info.items()])
    print(f"{len(leaves)} leaves, {len(rows)} markers, {len(columns)} counters, {frame:.3f} ms")


if __name__ == "__main__":
    main()
