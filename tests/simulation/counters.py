"""A run's counters under the names `ncu --set full --page raw` gives them on its chip."""

from .machine import Run

E, A = ".avg.pct_of_peak_sustained_elapsed", ".avg.pct_of_peak_sustained_active"
Counters = dict[str, tuple[float, str]]
STALLS = ("barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle", "long_scoreboard", "math_pipe_throttle",
          "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle",
          "wait")  # fmt: skip


def units(run: Run) -> dict[str, float]:
    """Percent of peak over the whole time, by counter (without its suffix)."""
    e, k, chip = run.elapsed, run.work, run.chip
    per_sm = run.sums["warps"] / chip.sms / run.cycles * 100
    l2 = e("l2")
    reads = run.sums["in"] / max(run.sums["in"] + run.sums["out"], 1)
    out = {
        "sm__inst_executed": e("issue") * 0.995, "sm__issue_active": e("issue"), "sm__pipe_alu_cycles_active": e("alu"),
        "sm__pipe_fma_cycles_active": e("fma"), "sm__pipe_fp64_cycles_active": e("fp64"), "sm__pipe_tensor_cycles_active": e("tensor"),
        "sm__inst_executed_pipe_xu": e("xu"), "sm__inst_executed_pipe_lsu": e("lsuin"), "sm__inst_executed_pipe_uniform": e("uniform"),
        "sm__inst_executed_pipe_cbu_pred_on_any": e("cbu"), "sm__inst_executed_pipe_tex": e("tex") / 2,
        "sm__inst_executed_pipe_adu": (k.barriers + 1) * per_sm, "idc__request_cycles_active": 2 * per_sm,
        "sm__mio_inst_issued": (run.sums["memory"] + run.sums["shared"] + k.xu * run.sums["warps"]) / chip.sms / run.cycles * 100 / 2,
        "l1tex__lsuin_requests": e("lsuin"), "l1tex__data_pipe_lsu_wavefronts": e("turns"), "l1tex__lsu_writeback_active": e("back"),
        "l1tex__data_bank_reads": e("turns") * 0.45, "l1tex__data_bank_writes": e("turns") * 0.2 + e("fill") * 0.25,
        "l1tex__m_xbar2l1tex_read_sectors": e("fill"), "l1tex__m_l1tex2xbar_req_cycles_active": e("out") * 0.7 + e("fill") * 0.12,
        "l1tex__f_wavefronts": e("tex"), "l1tex__data_pipe_tex_wavefronts": e("tex") * 0.5, "l1tex__tex_writeback_active": e("tex") * 0.5,
        "lts__t_sectors": l2 * 0.9, "lts__t_tag_requests": l2 * 0.45, "lts__d_sectors": l2 * 0.62, "lts__lts2xbar_cycles_active": l2 * reads,
        "lts__xbar2lts_cycles_active": l2 * (1 - reads), "lts__d_atomic_input_cycles_active": min(95.0, e("atomics")),
        "dram__cycles_active": e("vram"),
    }  # fmt: skip
    if chip.split_fma:
        out["sm__pipe_fmaheavy_cycles_active"] = e("fmaheavy")
        out["sm__inst_executed_pipe_fma_type_fp16"] = e("fp16")
    else:
        out["sm__inst_executed_pipe_fp16"] = e("fp16")
        out["sm__pipe_shared_cycles_active"] = max(e("tensor"), e("fp64"))
    if chip.generation >= 9:
        out["l1tex__m_xbar2l1tex_read_sectors_mem_dshared"] = 0.0
        out["sm__pipe_tma_cycles_active"] = min(20.0, k.bulk_copy / 16_384 * per_sm)
    if chip.cc == "10.0":
        out["sm__pipe_tc_cycles_active"] = e("tensor") if k.wide_mma else 0.0
        out["sm__pipe_tensor_subpipe_hmma_cycles_active"] = 0.0 if k.wide_mma else e("tensor")
    return out


def throughputs(run: Run) -> dict[str, float]:
    """The rolled-up speeds of light, percent."""
    u = units(run)
    l1 = max(v for n, v in u.items() if n.startswith("l1tex__"))
    l2 = max(v for n, v in u.items() if n.startswith("lts__"))
    access = max(u[n] for n in ("l1tex__data_bank_reads", "l1tex__data_bank_writes", "l1tex__data_pipe_lsu_wavefronts", "l1tex__f_wavefronts",
                                "lts__t_sectors", "lts__d_sectors", "lts__t_tag_requests", "lts__d_atomic_input_cycles_active"))  # fmt: skip
    request = max(u[n] for n in ("dram__cycles_active", "l1tex__lsu_writeback_active", "l1tex__m_xbar2l1tex_read_sectors",
                                 "l1tex__m_l1tex2xbar_req_cycles_active", "lts__lts2xbar_cycles_active", "lts__xbar2lts_cycles_active"))  # fmt: skip
    pipes = max(u["sm__inst_executed_pipe_lsu"], u["idc__request_cycles_active"], u["sm__mio_inst_issued"])
    return {"sm": max(v for n, v in u.items() if n.startswith("sm__")), "l1": l1, "l2": l2, "access": access, "request": request,
            "memory": max(access, request), "memory_pipes": pipes, "vram": u["dram__cycles_active"]}  # fmt: skip


def _times(run: Run) -> Counters:
    cycles, k, sms = run.cycles, run.work, run.chip.sms
    sol = throughputs(run)
    return {
        "gpu__time_duration.sum": (run.ns, "ns"), "gpc__cycles_elapsed.max": (cycles, "cycle"), "sm__cycles_elapsed.max": (cycles, "cycle"),
        "gpc__cycles_elapsed.avg.per_second": (run.chip.ghz * 1e9, "hz"), "sm__cycles_elapsed.avg.per_second": (run.chip.ghz * 1e9, "hz"),
        "sm__cycles_active.avg": (cycles * run.active, "cycle"), "sm__cycles_active.max": (cycles * run.busiest, "cycle"),
        "sm__cycles_active.sum": (cycles * run.active * sms, "cycle"), "smsp__cycles_active.avg": (cycles * run.active * 0.998, "cycle"),
        "smsp__cycles_active.max": (cycles * run.busiest, "cycle"), "l1tex__cycles_active.avg": (cycles * run.active, "cycle"),
        "l1tex__cycles_active.max": (cycles * run.busiest, "cycle"), "lts__cycles_active.avg": (cycles * 0.9, "cycle"),
        "lts__cycles_active.max": (cycles * 0.93, "cycle"), "sm__throughput" + E: (sol["sm"], "%"),
        "gpu__compute_memory_throughput" + E: (sol["memory"], "%"), "gpu__compute_memory_access_throughput" + E: (sol["access"], "%"),
        "gpu__compute_memory_request_throughput" + E: (sol["request"], "%"), "sm__memory_throughput" + E: (sol["memory_pipes"], "%"),
        "gpu__dram_throughput" + E: (sol["vram"], "%"), "l1tex__throughput" + A: (sol["l1"] / run.active, "%"),
        "l1tex__throughput" + E: (sol["l1"], "%"), "lts__throughput" + E: (sol["l2"], "%"),
        "profiler__replayer_passes": (38, "pass"), "launch__grid_size": (k.grid, ""), "launch__block_size": (k.block, ""),
        "launch__thread_count": (k.grid * k.block, "thread"), "launch__registers_per_thread": (k.regs, "register/thread"),
        "launch__shared_mem_per_block_static": (k.static, "byte/block"), "launch__shared_mem_per_block_dynamic": (k.dynamic, "byte/block"),
        "launch__shared_mem_per_block_driver": (1024, "byte/block"), "launch__shared_mem_per_block": (k.static + k.dynamic + 1024, "byte/block"),
        "launch__waves_per_multiprocessor": (k.grid / (run.limits.groups * sms), ""), "launch__sm_count": (sms, "SM"),
        "device__attribute_multiprocessor_count": (sms, ""), "launch__uses_green_context": (0, ""), "launch__uses_cdp": (0, ""),
        "launch__occupancy_limit_blocks": (run.limits.blocks, "block"), "launch__occupancy_limit_registers": (run.limits.registers, "block"),
        "launch__occupancy_limit_shared_mem": (run.limits.shared, "block"), "launch__occupancy_limit_warps": (run.limits.warps, "block"),
    }  # fmt: skip


def _warps(run: Run) -> Counters:
    k, chip = run.work, run.chip
    theory = run.limits.groups * k.warps / chip.warps
    per_issue = sum(run.stalls.values())
    lanes = 1 - k.idle_lanes
    out: Counters = {
        "sm__warps_active" + A: (100 * run.occupancy, "%"), "sm__warps_active.avg.per_cycle_active": (run.occupancy * chip.warps, "warp"),
        "sm__maximum_warps_per_active_cycle_pct": (100 * theory, "%"), "smsp__maximum_warps_avg_per_active_cycle": (theory * chip.warps / 4, "warp"),
        "smsp__warps_active.avg.per_cycle_active": (run.occupancy * chip.warps / 4, "warp"),
        "smsp__warps_eligible.avg.per_cycle_active": (run.issue * (1 + run.stalls.get("not_selected", 0.0)), "warp"),
        "smsp__issue_active" + A: (100 * run.issue, "%"), "smsp__issue_active.avg.per_cycle_active": (run.issue, ""),
        "smsp__issue_inst0" + A: (100 - 100 * run.issue, "%"), "sm__inst_executed.avg.per_cycle_active": (4 * run.issue * 0.995, "inst/cycle"),
        "sm__inst_executed.avg.per_cycle_elapsed": (run.elapsed("issue") / 25 * 0.995, "inst/cycle"), "sm__inst_issued" + A: (100 * run.issue, "%"),
        "smsp__inst_executed.sum": (run.sums["inst"], "inst"), "smsp__inst_issued.sum": (run.sums["inst"] * 1.004, "inst"),
        "smsp__average_warp_latency_per_inst_issued.ratio": (per_issue, "cycle"),
        "smsp__average_warps_active_per_inst_executed.ratio": (per_issue * 1.004, "cycle"),
        "smsp__thread_inst_executed_per_inst_executed.ratio": (k.threads * lanes, ""),
        "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio": (min(k.unpredicated, k.threads) * lanes * 0.97, ""),
        "smsp__sass_average_branch_targets_threads_uniform.pct": (k.uniform_targets, "%"), "sm__warps_launched.sum": (run.sums["warps"], "warp"),
    }  # fmt: skip
    names = (*STALLS, "gmma") if chip.cc == "9.0" else STALLS
    out |= {
        f"smsp__average_warps_issue_stalled_{n}_per_issue_active.ratio": (run.stalls.get(n, 0.0), "inst") for n in names
    }
    return out


def _accesses(run: Run) -> Counters:
    k, warps, s = run.work, run.sums["warps"], run.sums
    out: Counters = {}
    lg = {"global_op_ld": k.load, "global_op_st": k.store, "local_op_ld": k.local_load, "local_op_st": k.local_store}
    for where, a in lg.items():
        out[f"l1tex__t_requests_pipe_lsu_mem_{where}.sum"] = (a.count * warps, "")
        out[f"l1tex__t_sectors_pipe_lsu_mem_{where}.sum"] = (a.count * a.touched * warps, "sector")
        out[f"l1tex__t_output_wavefronts_pipe_lsu_mem_{where}.sum"] = (a.count * a.wavefronts * warps, "")
        out[f"smsp__sass_inst_executed_op_{where.replace('_op', '')}.sum"] = (a.count * warps, "inst")
        if where.startswith("global"):
            used = a.bytes_per_sector if a.count else 0.0
            out[f"smsp__sass_average_data_bytes_per_sector_mem_{where}.ratio"] = (used, "byte/sector")
    for op, n in (("red", k.red), ("atom", k.atom)):
        out[f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum"] = (n * warps, "")
        out[f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum"] = (n * k.atomic_sectors * warps, "sector")
    total, useful = s["loads"] + s["stores"], (k.load.count * k.load.useful + k.store.count * k.store.useful) * warps
    useful = min(useful, total)
    out |= {
        "memory_l2_theoretical_sectors_global": (total + s["atomics"], "sector"), "memory_l2_theoretical_sectors_global_ideal": (useful + s["atomics"], "sector"),
        "derived__memory_l2_theoretical_sectors_global_excessive": (total - useful, "sector"),
        "smsp__inst_executed_op_ldgsts.sum": (k.async_copy * warps, "inst"), "smsp__inst_executed_op_shared_atom.sum": (k.shared_atomic * warps, "inst"),
        "smsp__inst_executed_op_global_red.sum": (k.red * warps, "inst"), "smsp__sass_inst_executed_op_shared_ld.sum": (k.shared_load * warps, "inst"),
        "smsp__sass_inst_executed_op_shared_st.sum": (k.shared_store * warps, "inst"),
    }  # fmt: skip
    local = (k.local_load.count + k.local_store.count) * warps
    if run.chip.generation >= 8 and k.is_spill and local:
        out["derived__local_spilling_requests"] = (local, "")
        out["derived__local_spilling_requests_pct"] = (100 * local / s["memory"], "%")
    widths = {1: "8b", 2: "16b", 4: "32b", 8: "64b", 16: "128b"}
    for width, label in widths.items():
        n = sum(a.count for a in (k.load, k.store) if a.width == width)
        out[f"smsp__sass_inst_executed_op_memory_{label}.sum"] = (n * warps, "inst")
    if run.chip.generation >= 9:
        out["l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum"] = (k.bulk_copy * warps, "byte")
    return out


def _shared(run: Run) -> Counters:
    k, warps = run.work, run.sums["warps"]
    ops = {"ld": (k.shared_load, k.load_ways, k.ideal_load_ways), "st": (k.shared_store, k.store_ways, 1.0),
           "atom": (k.shared_atomic, k.atomic_ways, 1.0)}  # fmt: skip
    out: Counters = {}
    turns = ideal = lost = 0.0
    for op, (count, ways, best) in ops.items():
        out[f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"] = (count * ways * warps, "")
        out[f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum"] = (count * (ways - best) * warps, "")
        turns, ideal, lost = turns + count * ways, ideal + count * best, lost + count * (ways - best)
    out |= {
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": ((turns + k.async_copy * 4) * warps, ""),
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed": (run.elapsed("tiles"), "%"),
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": (lost * warps, ""), "memory_l1_wavefronts_shared": (turns * warps, ""),
        "memory_l1_wavefronts_shared_ideal": (ideal * warps, ""), "derived__memory_l1_wavefronts_shared_excessive": (lost * warps, ""),
    }  # fmt: skip
    return out


def _caches(run: Run) -> Counters:
    k, s, chip = run.work, run.sums, run.chip
    all_ = s["loads"] + s["stores"] + s["local_in"] + s["local_out"]
    hits = s["loads"] * s["l1"] + s["local_in"] * s["local_hit"] + s["local_out"] * 0.9
    sectors = s["in"] + s["out"] + k.atom * k.atomic_sectors * s["warps"]
    l2_hits = s["in"] * s["l2_hit"] + s["out"]
    read, written = (s["missed"]) * 32, s["written"] * 32
    suffix = "op_" if chip.generation >= 10 else ""
    return {
        "l1tex__t_sector_hit_rate.pct": (100 * hits / all_ if all_ else 0, "%"), "lts__t_sector_hit_rate.pct": (100 * l2_hits / sectors if sectors else 0, "%"),
        "lts__t_sectors.sum": (sectors, "sector"), "lts__t_requests.sum": (sectors / 3.4, "request"), "lts__t_sectors_srcunit_tex.sum": (sectors, "sector"),
        "lts__t_requests_srcunit_tex.sum": (sectors / 3.4, "request"), "lts__t_sectors_srcunit_tex_op_read.sum": (s["in"], "sector"),
        "lts__t_sectors_srcunit_tex_op_write.sum": (s["stores"] + s["local_out"] * 0.9, "sector"),
        "lts__t_sectors_srcunit_tex_op_red.sum": (k.red * k.atomic_sectors * s["warps"], "sector"),
        "lts__t_sectors_srcunit_tex_op_atom_dot_alu.sum": (k.atom * k.atomic_sectors * s["warps"], "sector"),
        "lts__t_sectors_srcunit_tex_op_atom_dot_cas.sum": (0, "sector"), "lts__t_requests_srcunit_tex_op_red.sum": (k.red * s["warps"], "request"),
        "lts__t_sectors_srcunit_tex_aperture_device_lookup_miss.sum": (s["missed"], "sector"),
        "lts__t_sectors_srcunit_tex_aperture_sysmem_lookup_miss.sum": (s["far"], "sector"),
        "lts__t_sectors_srcunit_tex_aperture_peer_lookup_miss.sum": (0, "sector"), "lts__average_gcomp_input_sector_success_rate.pct": (0, "%"),
        f"dram__bytes_{suffix}read.sum": (read, "byte"), f"dram__bytes_{suffix}write.sum": (written, "byte"),
        "dram__bytes.sum.per_second": ((read + written) / run.ns * 1e9, "byte/s"),
    }  # fmt: skip


def _arithmetic(run: Run) -> Counters:
    k, warps = run.work, run.sums["warps"]
    lanes = min(k.unpredicated, k.threads) * (1 - k.idle_lanes)
    mix = {"ffma": k.ffma, "fadd": k.fadd, "fmul": k.fmul, "dfma": k.dfma, "dadd": 0.0, "dmul": 0.0}
    out: Counters = {
        f"smsp__sass_thread_inst_executed_op_{n}_pred_on.sum": (c * lanes * warps, "inst") for n, c in mix.items()
    }
    for pipe in ("alu", "fma", "fp64", "tensor", *(["fmaheavy"] if run.chip.split_fma else [])):
        out[f"sm__pipe_{pipe}_cycles_active" + A] = (run.while_active(pipe), "%")
    for pipe, unit in (
        ("xu", "xu"),
        ("lsu", "lsuin"),
        ("alu", "alu"),
        ("fma", "fma"),
        ("uniform", "uniform"),
        ("cbu", "cbu"),
    ):
        out[f"sm__inst_executed_pipe_{pipe}" + A] = (run.while_active(unit), "%")
    top = max(run.while_active(u) for u in ("alu", "fma", "fp64", "tensor", "xu", "lsuin"))
    out["sm__instruction_throughput" + A] = (max(top, 100 * run.issue), "%")
    if run.chip.generation < 10:
        out["sm__inst_executed_pipe_tensor_op_hmma" + A] = (0.0 if k.wide_mma else run.while_active("tensor"), "%")
        out["sm__pipe_tensor_op_hmma_cycles_active" + A] = (run.while_active("tensor"), "%")
    else:
        out["sm__pipe_tc_cycles_active" + A] = (
            run.while_active("tensor") if k.wide_mma and run.chip.cc == "10.0" else 0.0,
            "%",
        )
    if run.chip.cc == "9.0":
        out["sm__inst_executed_pipe_tensor_op_gmma.sum"] = (k.wide_mma * warps, "inst")
    return out


def _clusters(run: Run) -> Counters:
    k, chip = run.work, run.chip
    if chip.generation < 9:
        return {}
    most = int(run.limits.groups * chip.sms * (1 - k.idle_share) // k.cluster) if k.cluster else 0
    share = 100 * (1 - k.idle_share) * run.limits.groups * k.warps / chip.warps if k.cluster else 0.0
    return {"launch__cluster_size": (k.cluster, ""), "launch__cluster_max_active": (most, "cluster"), "launch__cluster_max_potential_size": (8, ""),
            "launch__occupancy_cluster_pct": (share, "%"), "launch__occupancy_cluster_gpu_pct": (share, "%"),
            "launch__occupancy_limit_barriers": (chip.blocks, "block"), "launch__barrier_count": (1 if k.barriers else 0, "")}  # fmt: skip


def counters(run: Run) -> Counters:
    """All of them: name -> (value, unit)."""
    out = _times(run) | {n + E: (v, "%") for n, v in units(run).items()}
    for part in (_warps, _accesses, _shared, _caches, _arithmetic, _clusters):
        out |= part(run)
    return out
