"""Shader-side counters of NVIDIA graphics profilers: L2 traffic by source, PCIe, registers, launch, L1 stages."""

from triage.schema._metric import Metric
from triage.schema._perfworks import count, share

_L2_SOURCES = {
    "tex": "the L1/TEX caches (shader reads and writes)",
    "crop": "the colour ROPs",
    "zrop": "the depth ROPs",
    "raster": "the rasteriser (ZCULL)",
    "pe": "the primitive engines (vertex and index fetch)",
    "gcc": "the constant and instruction caches",
}
_PIPES = {
    "alu": "integer and logic",
    "fma": "FP32 multiply-add",
    "fmaheavy": "heavy FP32",
    "fmalite": "light FP32",
    "fp16": "half precision",
    "xu": "special functions",
    "lsu": "load/store",
    "tex": "texture",
    "tensor": "tensor",
    "tc": "fifth-generation tensor",
    "fp64": "double precision",
    "uniform": "uniform datapath",
    "adu": "address divergence",
    "cbu": "branch",
}
# parts of a pipe that stand for it where the whole was not exported; their names differ by generation
_PARTS = {"tensor": tuple(f"{kind}_{op}" for kind in ("op", "subpipe") for op in ("hmma", "imma", "dmma"))}
_STAGES = {"ps": "pixel", "cs": "compute", "vtg": "vertex, tessellation and geometry", "3d": "graphics"}
# what a warp waits for before it can start: these, not the stalls, explain low occupancy
_LAUNCH = {
    "register_allocation": "free registers",
    "warp_allocation": "a free warp slot",
    "cta_allocation": "a free group slot",
    "shmem_allocation": "free shared memory",
    "barrier_allocation": "a free barrier",
    "attr_allocation": "attribute space",
    "ooo_warp_completion": "an older pixel warp to finish first (out-of-order completion)",
}


def _launch_stalls() -> tuple[Metric, ...]:
    out = []
    for stage in ("ps", "cs", "vtg"):
        for reason, what in _LAUNCH.items():
            out.append(
                share(
                    f"launch_stall.{stage}_{reason}",
                    f"{stage.upper()} launch stall: {reason.replace('_', ' ')}",
                    "low",
                    f"Elapsed cycles in which a {_STAGES[stage]} shader warp could not start, stalled on {what}",
                    f"tpc__warp_launch_cycles_stalled_shader_{stage}_reason_{reason}",
                )
            )
    return tuple(out)


METRICS = (
    # L2 traffic by source
    *(
        share(
            f"l2_from.{unit}",
            f"L2 traffic from {unit.upper()}",
            "",
            f"Share of L2's sector peak caused by {what}",
            f"lts__t_sector_throughput_srcunit_{unit}",
        )
        for unit, what in _L2_SOURCES.items()
    ),
    share(
        "l2_from.hub",
        "L2 traffic from the hub",
        "",
        "Share of L2's sector peak caused by copies, host and display",
        "lts__t_sector_throughput_srcnode_hub",
    ),
    share(
        "l2_from.fbp",
        "L2 traffic from other partitions",
        "",
        "Share of L2's sector peak caused by other memory partitions",
        "lts__t_sector_throughput_srcnode_fbp",
    ),
    # PCIe
    Metric(
        "pcie.read_bytes",
        "byte",
        "PCIe bytes read",
        "low",
        "Bytes the GPU received over PCI Express",
        ("pcie__read_bytes.sum",),
        additive=True,
    ),
    Metric(
        "pcie.write_bytes",
        "byte",
        "PCIe bytes written",
        "low",
        "Bytes the GPU sent over PCI Express",
        ("pcie__write_bytes.sum",),
        additive=True,
    ),
    share(
        "pcie.read_throughput",
        "PCIe read SOL",
        "",
        "Share of the link's peak spent on reads",
        "pcie__read_bytes",
    ),
    share(
        "pcie.write_throughput",
        "PCIe write SOL",
        "",
        "Share of the link's peak spent on writes",
        "pcie__write_bytes",
    ),
    # shader cores
    share(
        "sm.inst_per_elapsed",
        "Instructions, elapsed",
        "",
        "Warp instructions executed as a share of peak, over elapsed cycles",
        "sm__inst_executed",
        "smsp__inst_executed",
    ),
    *(
        share(
            f"pipe_elapsed.{p}",
            f"{p.upper()} pipe, elapsed",
            "",
            f"Cycles in which the {what} pipe was active, else instructions to it; share of peak over elapsed cycles",
            # an instruction may hold its pipe for many cycles (FP64 on consumer cards, matrix products): the cycles tell
            f"sm__pipe_{p}_cycles_active",
            f"smsp__pipe_{p}_cycles_active",
            f"sm__inst_executed_pipe_{p}",
            f"smsp__inst_executed_pipe_{p}",
            f"sm__inst_executed_pipe_{p}_pred_on_any",
            *(f"sm__pipe_{p}_{part}_cycles_active" for part in _PARTS.get(p, ())),
        )
        for p, what in _PIPES.items()
    ),
    share(
        "sm.groups",
        "Groups resident",
        "",
        "Thread-group slots in use, over elapsed cycles",
        "sm__ctas_active",
    ),
    share(
        "registers.graphics",
        "Registers held by graphics",
        "",
        "Register file allocated to graphics warps, over elapsed cycles",
        "tpc__sm_rf_registers_allocated_shader_3d",
    ),
    share(
        "registers.compute",
        "Registers held by compute",
        "",
        "Register file allocated to compute warps, over elapsed cycles",
        "tpc__sm_rf_registers_allocated_shader_cs",
    ),
    *(
        Metric(
            f"registers_per_thread.{s}",
            "count",
            f"Registers per thread, {s.upper()}",
            "low",
            f"Registers per thread of the {what} shaders, averaged over their warps",
            (
                f"tpc__average_registers_per_thread_shader_{s}.ratio",
                f"tpc__average_registers_per_thread_shader_{s}.avg.ratio",
            ),
            bounded=False,
        )
        for s, what in _STAGES.items()
    ),
    *(
        count(
            f"warps_launched.{s}",
            f"{s.upper()} warps launched",
            "",
            f"Warps launched for {_STAGES[s]} shaders",
            f"tpc__warps_launched_shader_{s}",
        )
        for s in ("ps", "cs", "vtg")
    ),
    *_launch_stalls(),
    share(
        "launch_stall.register_allocation",
        "Launch stall: register allocation",
        "low",
        "Elapsed cycles in which warps of any stage could not start, stalled on free registers",
    ),
    share(
        "launch_stall.vtg_isbe",
        "Launch stall: ISBE",
        "low",
        "Elapsed cycles in which vertex, tessellation or geometry warps waited for space for their output attributes",
        "tpc__pe2sm_vtg_isbe_allocation_cycles_stalled",
    ),
    share(
        "launch_stall.ps_tram",
        "Launch stall: TRAM",
        "low",
        "Elapsed cycles in which pixel warps waited for space for their input attributes",
        "tpc__pe2sm_ps_tram_allocation_cycles_stalled",
    ),
    Metric(
        "stall.rtcore",
        "ratio",
        "Stall: ray tracing",
        "low",
        "Share of the active warps' cycles spent waiting for the ray-tracing core",
        ("smsp__warp_issue_stalled_long_scoreboard_pipe_rtcore_per_warp_active.avg.pct",),
    ),
    Metric(
        "stall.rtcore_throttle",
        "ratio",
        "Stall: ray-tracing throttle",
        "low",
        "Share of the active warps' cycles spent waiting for a free slot in the ray-tracing queue",
        ("smsp__warp_issue_stalled_mio_throttle_pipe_rtcore_per_warp_active.avg.pct",),
    ),
    # L1/TEX stages
    share(
        "l1tex.lsu_data",
        "L1 data stage, LSU",
        "",
        "Share of L1's data-stage peak used by loads and stores",
        "l1tex__data_pipe_lsu_wavefronts",
    ),
    share(
        "l1tex.tex_data",
        "L1 data stage, TEX",
        "",
        "Share of L1's data-stage peak used by texture fetches",
        "l1tex__data_pipe_tex_wavefronts",
    ),
    share("l1tex.filter", "TEX filter", "", "Share of the texture filter's peak", "l1tex__f_wavefronts"),
    share(
        "l1tex.lsu_writeback",
        "L1 write-back, LSU",
        "",
        "Share of the peak at which loads return data to the SM",
        "l1tex__lsu_writeback_active",
    ),
    share(
        "l1tex.tex_writeback",
        "L1 write-back, TEX",
        "",
        "Share of the peak at which texture fetches return data to the SM",
        "l1tex__tex_writeback_active",
    ),
    # the rest of the breakdown behind L1's share of peak
    share(
        "l1tex.lsu_requests",
        "L1 input, LSU",
        "",
        "Share of the peak at which L1 takes in loads, stores and shuffles",
        "l1tex__lsuin_requests",
    ),
    share(
        "l1tex.shared_data",
        "L1 data stage, shared memory",
        "",
        "Share of L1's data-stage peak used by shared memory",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared",
    ),
    share("l1tex.bank_reads", "L1 bank reads", "", "Share of the data banks' read peak", "l1tex__data_bank_reads"),
    share("l1tex.bank_writes", "L1 bank writes", "", "Share of the data banks' write peak", "l1tex__data_bank_writes"),
    share(
        "l1tex.fill",
        "L2 to L1",
        "",
        "Share of the peak at which sectors come from L2 into L1",
        "l1tex__m_xbar2l1tex_read_sectors",
    ),
    share(
        "l1tex.to_l2",
        "L1 to L2",
        "",
        "Share of the peak at which L1 sends requests and stores to L2",
        "l1tex__m_l1tex2xbar_req_cycles_active",
    ),
    share("vram.active", "VRAM active", "", "Cycles in which VRAM moved data", "dram__cycles_active"),
    Metric(
        "l2.frequency",
        "hz",
        "L2 clock",
        "",
        "L2 clock while profiled",
        ("lts__cycles_elapsed.avg.per_second",),
    ),
)
