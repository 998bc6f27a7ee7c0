"""Kernels with one known illness each, as Nsight Compute's raw page would print them; figures made up from the guide.

A patient lists what makes it ill; everything else is taken from a kernel of its chip that has nothing wrong, or, as a
thin capture, is not there at all. Names are those of the chip's generation.
"""

from dataclasses import dataclass
from pathlib import Path

from tests.helpers import ncu_pages

E, A = ".avg.pct_of_peak_sustained_elapsed", ".avg.pct_of_peak_sustained_active"
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
# chip -> (name, capability, SMs)
CHIPS = {
    "A100": ("NVIDIA A100-SXM4-80GB", "8.0", 108),
    "A10": ("NVIDIA A10", "8.6", 72),
    "L40S": ("NVIDIA L40S", "8.9", 142),
    "H100": ("NVIDIA H100 80GB HBM3", "9.0", 132),
    "B200": ("NVIDIA B200", "10.0", 148),
    "RTX5090": ("NVIDIA GeForce RTX 5090", "12.0", 170),
}
# every name a patient may use -> the counter
COUNTERS = {
    "time": "gpu__time_duration.sum", "sm": "sm__throughput" + E, "mem": "gpu__compute_memory_throughput" + E,
    "dram": "gpu__dram_throughput" + E, "l1": "l1tex__throughput" + E, "l2": "lts__throughput" + E, "issue": "smsp__issue_active" + A,
    "issue_ic": "smsp__issue_active.avg.per_cycle_active", "inst": "sm__inst_executed" + E, "sm_active": "sm__throughput" + A,
    "occ": "sm__warps_active" + A, "theory": "sm__maximum_warps_per_active_cycle_pct", "waves": "launch__waves_per_multiprocessor",
    "block": "launch__block_size", "grid": "launch__grid_size", "regs": "launch__registers_per_thread",
    "smem_dyn": "launch__shared_mem_per_block_dynamic", "smem_static": "launch__shared_mem_per_block_static",
    "sms": "launch__sm_count", "device_sms": "device__attribute_multiprocessor_count", "warps": "sm__warps_launched.sum",
    "by_blocks": "launch__occupancy_limit_blocks", "by_regs": "launch__occupancy_limit_registers",
    "by_smem": "launch__occupancy_limit_shared_mem", "by_warps": "launch__occupancy_limit_warps",
    "threads": "smsp__thread_inst_executed_per_inst_executed.ratio", "pred_on": "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    "executed": "smsp__inst_executed.sum", "issued": "smsp__inst_issued.sum", "eligible": "smsp__warps_eligible.avg.per_cycle_active",
    "cycles": "sm__cycles_elapsed.max", "clock": "gpc__cycles_elapsed.avg.per_second", "sm_cycles": "sm__cycles_active.avg", "sm_cycles_max": "sm__cycles_active.max",
    "smsp_cycles": "smsp__cycles_active.avg", "smsp_cycles_max": "smsp__cycles_active.max",
    "wavefronts": "l1tex__data_pipe_lsu_wavefronts" + E, "lsuin": "l1tex__lsuin_requests" + E, "writeback": "l1tex__lsu_writeback_active" + E,
    "shared_wf": "l1tex__data_pipe_lsu_wavefronts_mem_shared" + E, "fill": "l1tex__m_xbar2l1tex_read_sectors" + E,
    "ld_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "ld_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "st_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "st_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "ld_bytes": "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",
    "st_bytes": "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio",
    "ld_per_request": "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    "st_per_request": "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
    "local_ld_requests": "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum", "local_st_requests": "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
    "local_ld": "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "local_st": "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    "spill": "derived__local_spilling_requests", "spill_pct": "derived__local_spilling_requests_pct",
    "conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "shared": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "hit": "l1tex__t_sector_hit_rate.pct", "l2_hit": "lts__t_sector_hit_rate.pct", "l2_sectors": "lts__t_sectors.sum",
    "red": "lts__t_sectors_op_red.sum", "atom": "lts__t_sectors_op_atom.sum",
    "red_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "atom_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "l2_atom_requests": "lts__t_requests_srcunit_tex_op_atom.sum", "l2_red_requests": "lts__t_requests_srcunit_tex_op_red.sum",
    "l2_requests": "lts__t_requests_srcunit_tex.sum",
    "read": "dram__bytes_read.sum", "written": "dram__bytes_write.sum", "dram_active": "dram__cycles_active" + E,
    "tma": "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum", "ldgsts": "smsp__inst_executed_op_ldgsts.sum",
    "sts": "smsp__sass_inst_executed_op_shared_st.sum", "ldg": "smsp__sass_inst_executed_op_global_ld.sum",
    "tensor": "sm__pipe_tensor_cycles_active" + E, "tensor_a": "sm__pipe_tensor_cycles_active" + A, "tc": "sm__pipe_tc_cycles_active" + E,
    "tc_a": "sm__pipe_tc_cycles_active" + A, "fma": "sm__pipe_fma_cycles_active" + A, "fma_e": "sm__pipe_fma_cycles_active" + E,
    "fmaheavy": "sm__pipe_fmaheavy_cycles_active" + A, "fmalite": "sm__inst_executed_pipe_fmalite" + A,
    "alu": "sm__pipe_alu_cycles_active" + A, "alu_e": "sm__pipe_alu_cycles_active" + E, "xu": "sm__inst_executed_pipe_xu" + A,
    "fp64": "sm__inst_executed_pipe_fp64" + A, "fp64_e": "sm__inst_executed_pipe_fp64" + E, "lsu": "sm__inst_executed_pipe_lsu" + A,
    "hmma": "sm__pipe_tensor_op_hmma_cycles_active" + E, "sub_hmma": "sm__pipe_tensor_subpipe_hmma_cycles_active" + E,
    "hgmma": "sm__inst_executed_pipe_tensor_op_gmma.sum", "uniform_branches": "smsp__sass_average_branch_targets_threads_uniform.pct",
    "filter": "l1tex__f_wavefronts" + E, "tex_data": "l1tex__data_pipe_tex_wavefronts" + E, "tex": "sm__inst_executed_pipe_tex" + E,
    "atom_wf": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum", "atom_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
    "passes": "profiler__replayer_passes", "cluster": "launch__cluster_size", "green": "launch__uses_green_context",
    "ffma": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "fadd": "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "fmul": "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "latency": "smsp__average_warp_latency_per_inst_issued.ratio",
    "sysmem": "lts__t_sectors_srcunit_tex_aperture_sysmem_lookup_miss.sum", "device": "lts__t_sectors_srcunit_tex_aperture_device_lookup_miss.sum",
    "peer": "lts__t_sectors_srcunit_tex_aperture_peer_lookup_miss.sum", "l2_fabric": "lts__t_sectors_srcnode_gpc_aperture_peer.sum",
}  # fmt: skip
PERCENT = ("pct_of_peak", ".pct", "_pct")
# shares of the warps' time by stall reason of a kernel that waits for nothing in particular
CALM = {"long_scoreboard": 12.0, "short_scoreboard": 6.0, "wait": 14.0, "not_selected": 12.0, "selected": 18.0, "barrier": 4.0, "mio_throttle": 4.0,
        "lg_throttle": 3.0, "math_pipe_throttle": 8.0, "no_instruction": 3.0, "branch_resolving": 2.0, "dispatch_stall": 2.0, "drain": 1.0,
        "imc_miss": 1.0, "membar": 0.0, "tex_throttle": 0.0, "sleeping": 0.0, "misc": 0.5}  # fmt: skip


@dataclass(frozen=True)
class Patient:
    """What to write, which causes may lead, which may stand beside it, and which must not appear at all."""

    chip: str
    counters: dict[str, float]
    stalls: dict[str, float]
    right: set[str]
    beside: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    forms: tuple[str, ...] = ("full", "thin")


def healthy(chip: str) -> dict[str, float]:
    """Counters of a kernel of this chip that has nothing wrong."""
    _, _, sms = CHIPS[chip]
    return {
        "time": 250_000, "sm": 55, "mem": 50, "dram": 45, "dram_active": 45, "l1": 50, "l2": 40, "issue": 62, "inst": 55, "sm_active": 56,
        "occ": 88, "theory": 100, "waves": 12, "block": 256, "grid": 12 * 8 * sms, "regs": 32, "smem_dyn": 0, "smem_static": 0,
        "sms": sms, "device_sms": sms, "by_blocks": 32, "by_regs": 8, "by_smem": 32, "by_warps": 8, "threads": 31.5, "pred_on": 30.8,
        "executed": 6e7, "issued": 6.05e7, "eligible": 1.6, "cycles": 400_000, "sm_cycles": 396_000, "sm_cycles_max": 399_000,
        "smsp_cycles": 395_500, "smsp_cycles_max": 399_000, "wavefronts": 28, "lsuin": 24, "writeback": 22, "shared_wf": 0, "fill": 15,
        "ld_sectors": 1.6e7, "ld_requests": 4e6, "st_sectors": 4e6, "st_requests": 1e6, "ld_bytes": 32, "st_bytes": 32,
        "local_ld": 0, "local_st": 0, "conflicts": 0, "shared": 0, "hit": 45, "l2_hit": 55, "l2_sectors": 1.5e7, "red": 0, "atom": 0,
        "read": 2.8e8, "written": 1.2e8, "fma": 35, "alu": 30, "xu": 4, "fp64": 0, "lsu": 22, "warps": 12 * 8 * 8 * sms,
        "uniform_branches": 99,
        **({"tensor": 0.0, "tc": 0.0} if chip == "B200" else {"tensor": 0.0}),
    }  # fmt: skip


def columns(patient: Patient, form: str = "full") -> dict[str, float]:
    """Counter -> value. form: full, everything measured; thin, only what the patient's own line states."""
    own = dict(patient.counters)
    if form == "full":
        healthy_one = healthy(patient.chip)
        warps = -(-own.get("block", healthy_one["block"]) // 32)  # of a group
        own = healthy_one | {"ffma": 4e9, "fadd": 2e8, "fmul": 1e8, "by_warps": max(64 // warps, 1)} | own
    out = {COUNTERS[k]: v for k, v in own.items()}
    shares = dict(patient.stalls)
    if form == "full":
        rest, calm = 100 - sum(shares.values()), {k: v for k, v in CALM.items() if k not in shares}
        shares |= {k: v * rest / sum(calm.values()) for k, v in calm.items()}
    if shares:
        issue = own.get("issue", own.get("issue_ic", 0.3) * 100) / 100
        slots = 16 if CHIPS[patient.chip][1] in ("8.0", "9.0", "10.0") else 12
        latency = max(own.get("occ", 50) / 100 * slots / max(issue, 0.001), 1.0)
        out[COUNTERS["latency"]] = latency
        out |= {STALL.format(k): v / 100 * latency for k, v in shares.items()}
    return out


def write(path: Path, patient: Patient, form: str = "full") -> Path:
    """The patient as a raw-page CSV of one launch."""
    found = columns(patient, form)
    name, cc, _ = CHIPS[patient.chip]
    block, grid = (
        int(patient.counters.get("block", 256)),
        int(patient.counters.get("grid", 12 * 8 * CHIPS[patient.chip][2])),
    )
    cells = {c: (_unit(c), f"{v:,.6g}" if v < 1e6 else f"{v:,.0f}") for c, v in found.items()}
    first = ncu_pages.launch(ncu_pages.NAME, block, grid, cc)
    return ncu_pages.raw(path, first, {"device__attribute_display_name": ("", name), **cells})


def _unit(counter: str) -> str:
    if counter.endswith(PERCENT) or "pct_of_peak" in counter:
        return "%"
    if "time_duration" in counter:
        return "ns"
    if "per_second" in counter:
        return "cycle/second"
    return "byte" if "bytes_read" in counter or "bytes_write" in counter or "mem_per_block" in counter else ""


def patient(chip: str, right: str, counters: dict[str, float], stalls: dict[str, float], *, beside: str = "", never: str = "",
       forms: tuple[str, ...] = ("full", "thin")) -> Patient:  # fmt: skip
    return Patient(
        chip, counters, stalls, set(right.split()), frozenset(beside.split()), frozenset(never.split()), forms
    )


OCCUPANCY = "low-occupancy occupancy-registers occupancy-shared-memory occupancy-group-size tiny-groups launch-rate"
WAITS = "memory-latency barrier-waits dependency-latency shared-memory-latency sleeping-warps other-stalls issue-bound"
WASTE = "uncoalesced-loads uncoalesced-stores"

# the guide's fifteen
PATIENTS: dict[str, Patient] = {
    "T01 WGMMA, warp-specialised": patient("H100", "matrix-bound near-limit", {
        "sm": 84, "sm_active": 85, "mem": 46, "dram": 31, "dram_active": 31, "l1": 46, "l2": 44, "issue": 13.8, "inst": 13.5, "occ": 18.6, "theory": 18.75, "tensor": 82.6,
        "tensor_a": 83.4, "block": 384, "grid": 132, "waves": 1, "regs": 168, "smem_dyn": 230_000, "by_smem": 1, "by_regs": 1, "hgmma": 4e6, "tma": 4e9,
        "fma": 4, "alu": 8, "lsuin": 10, "wavefronts": 38, "shared_wf": 36, "ld_sectors": 2e4, "ld_requests": 1e4, "threads": 27.5, "pred_on": 26},
        {"gmma": 44, "barrier": 27}, never=f"{OCCUPANCY} {WAITS} {WASTE} divergence matrix-underfed matrix-unused small-grid tail-effect shared-memory-traffic"),
    "T02 tcgen05": patient("B200", "matrix-bound near-limit tail-effect", {
        "sm": 81.6, "sm_active": 83, "mem": 52, "l2": 52, "l1": 30, "dram": 18.5, "dram_active": 18.5, "issue": 3, "inst": 2.9, "occ": 10.9, "theory": 12.5, "waves": 1.73, "grid": 256,
        "block": 256, "tc": 81.6, "tensor": 81.2, "threads": 14.2, "pred_on": 13.5, "tma": 9e9, "smem_dyn": 210_000, "by_smem": 1, "regs": 90, "by_regs": 2,
        "fma": 2, "alu": 2, "lsu": 1, "lsuin": 2, "wavefronts": 20, "ld_sectors": 1e4, "ld_requests": 5e3},
        {"long_scoreboard": 72}, never=f"{OCCUPANCY} {WAITS} {WASTE} divergence predication matrix-unused matrix-underfed"),
    "T03 mma.sync on a tcgen05 chip": patient("B200", "matrix-unused", {
        "sm": 69, "sm_active": 70, "mem": 40, "l1": 40, "l2": 22, "dram": 7.7, "dram_active": 7.7, "issue": 20.5, "inst": 20, "occ": 6.25, "theory": 6.25, "tensor": 69.2, "tc": 0, "grid": 1024,
        "block": 128, "waves": 6.9, "regs": 255, "by_regs": 2, "smem_dyn": 160_000, "by_smem": 1, "conflicts": 1.68e8, "shared": 5.03e8, "shared_wf": 38, "wavefronts": 40, "lsuin": 26,
        "fma": 3, "alu": 6}, {"wait": 60}, beside="bank-conflicts", never=f"{OCCUPANCY} dependency-latency matrix-bound near-limit"),
    "T04 WGMMA, uneven roles": patient("H100", "load-imbalance matrix-underfed matrix-unused", {
        "sm": 41, "sm_active": 42, "mem": 35, "l1": 30, "l2": 35, "dram": 20, "dram_active": 20, "issue": 17, "inst": 16.6, "occ": 18.4, "theory": 18.75, "tensor": 38.4, "hgmma": 2e6, "tma": 2e9,
        "smsp_cycles": 300_000, "smsp_cycles_max": 393_000, "block": 384, "grid": 132, "waves": 1, "smem_dyn": 200_000, "by_smem": 1, "regs": 168, "by_regs": 1, "fma": 3, "alu": 5, "lsuin": 6,
        "wavefronts": 20, "shared_wf": 18, "ld_sectors": 2e4, "ld_requests": 1e4}, {"gmma": 49}, never=f"{OCCUPANCY} memory-latency {WASTE}"),
    "T05 TMA GEMM": patient("H100", "matrix-bound", {
        "sm": 72, "sm_active": 73, "mem": 55, "l1": 50, "l2": 48, "dram": 30, "dram_active": 30, "issue": 15, "inst": 14.6, "tensor": 70, "tma": 2.1e9, "hgmma": 3e6, "ld_sectors": 4.1e4, "ld_requests": 8e3,
        "ld_bytes": 6, "st_sectors": 2e3, "st_requests": 5e2, "occ": 18.4, "theory": 18.75, "block": 384, "grid": 132, "waves": 1, "smem_dyn": 200_000, "by_smem": 1, "regs": 168, "by_regs": 1, "fma": 3, "alu": 5,
        "lsuin": 6, "wavefronts": 30, "shared_wf": 28}, {"long_scoreboard": 38}, never=f"{OCCUPANCY} {WAITS} {WASTE} matrix-underfed matrix-unused"),
    "T06 stream": patient("B200", "memory-latency", {
        "time": 1_263_000,
        "sm": 12, "sm_active": 12.2, "mem": 38, "l1": 24, "l2": 29, "dram": 38, "dram_active": 38, "issue": 9.6, "inst": 9.5, "occ": 49, "theory": 50, "waves": 16, "grid": 9472, "block": 256, "regs": 60, "by_regs": 4,
        "ld_sectors": 6e7, "ld_requests": 1.5e7, "st_sectors": 6e7, "st_requests": 1.5e7, "wavefronts": 21, "lsuin": 12, "hit": 0, "l2_hit": 2, "read": 1.92e9, "written": 1.92e9, "fma": 3, "alu": 6, "lsu": 8, "xu": 0,
        "l2_sectors": 1.2e8}, {"long_scoreboard": 88}, never=f"l1-locality l2-locality {WASTE} vram-bandwidth"),
    "T07 stencil": patient("B200", "l1-bandwidth data-reuse", {
        "sm": 58, "sm_active": 59, "mem": 88, "l1": 88, "wavefronts": 88, "writeback": 60, "lsuin": 60, "l2": 35, "fill": 20, "dram": 41, "dram_active": 41, "hit": 91, "issue": 40, "inst": 39,
        "ld_sectors": 4e8, "ld_requests": 1e8, "read": 1.9e8}, {"lg_throttle": 41, "long_scoreboard": 33}, beside="lsu-pressure", never=f"{WASTE} register-spills memory-latency {OCCUPANCY}"),
    "T08 LDG and STS": patient("A100", "memory-latency", {
        "ldg": 5.2e7, "sts": 5.2e7, "ldgsts": 0, "issue": 27, "inst": 26, "sm": 33, "sm_active": 34, "mem": 44, "l1": 40, "dram": 44, "dram_active": 44, "l2": 36, "wavefronts": 36, "lsuin": 28, "shared_wf": 18, "shared": 1.3e8, "smem_static": 16_384,
        "by_smem": 8, "hit": 5, "ld_requests": 5.2e7, "ld_sectors": 2.08e8, "read": 1.6e9, "l2_hit": 40}, {"long_scoreboard": 46, "barrier": 22}, beside="barrier-waits"),
    "T09 predicated": patient("H100", "predication", {
        "sm": 83, "sm_active": 84, "issue": 81, "inst": 80, "mem": 20, "l1": 20, "l2": 12, "dram": 10, "dram_active": 10, "threads": 31.4, "pred_on": 11.8, "fma": 55, "alu": 60, "wavefronts": 10, "lsuin": 10},
        {"not_selected": 40}, beside="issue-bound integer-bound"),
    "T10 byte stores": patient("H100", "uncoalesced-stores", {
        "st_sectors": 5.4e7, "st_requests": 1.7e6, "st_bytes": 1, "ld_sectors": 1e5, "ld_requests": 2.5e4, "dram": 71, "dram_active": 71, "mem": 71, "l2": 60, "l1": 50, "wavefronts": 40, "sm": 15, "sm_active": 15.2,
        "issue": 12, "inst": 11.8, "read": 9.6e8, "written": 8.9e8, "l2_sectors": 6e7, "lsuin": 3, "lsu": 3, "fma": 2, "alu": 6}, {"lg_throttle": 52, "drain": 24}, beside="vram-bandwidth fence-waits", never="register-spills l2-locality"),
    "T11 spills": patient("H100", "register-spills", {
        "regs": 255, "local_ld": 2.35e8, "local_st": 2.35e8, "ld_sectors": 6e7, "st_sectors": 2e7, "ld_requests": 1.5e7, "st_requests": 5e6, "spill_pct": 78, "spill": 1.2e8, "occ": 24, "theory": 25, "by_regs": 2, "issue": 30, "inst": 29, "sm": 35,
        "sm_active": 36, "mem": 60, "l1": 58, "l2": 50, "hit": 30, "wavefronts": 50, "lsuin": 40}, {"long_scoreboard": 57, "lg_throttle": 21}, beside="l1-locality", never="debug-build low-occupancy"),
    "T12 histogram": patient("H100", "atomics-contention", {
        "red": 3.4e7, "l2_sectors": 4.6e7, "l2": 34, "mem": 34, "l1": 20, "dram": 8, "dram_active": 8, "sm": 10, "sm_active": 10.5, "issue": 8, "inst": 7.8, "wavefronts": 12, "lsuin": 5, "fma": 1, "alu": 6, "red_requests": 3.4e7, "ld_requests": 2e6, "ld_sectors": 8e6,
        "st_requests": 1e3, "st_sectors": 4e3}, {"lg_throttle": 71}, never="register-spills memory-latency"),
    "T13 green context": patient("H100", "fp32-bound", {
        "sms": 32, "device_sms": 132, "green": 1, "grid": 128, "block": 512, "waves": 1, "sm": 20.1, "sm_active": 83, "issue": 80, "inst": 19.4, "sm_cycles": 40_000, "sm_cycles_max": 165_500, "cycles": 166_000, "smsp_cycles": 39_900,
        "smsp_cycles_max": 165_400, "fma": 82, "fma_e": 19.9, "alu": 20, "mem": 5, "l1": 5, "l2": 4, "dram": 4, "dram_active": 4, "wavefronts": 3, "lsuin": 3, "occ": 95, "by_warps": 4, "by_regs": 4}, {"math_pipe_throttle": 40, "not_selected": 25},
        beside="issue-bound", never="load-imbalance idle-sms small-grid tail-effect"),
    "T14 L1 hits of 16 bytes": patient("H100", "l1-bandwidth data-reuse", {
        "sm": 86, "sm_active": 87, "mem": 86, "l1": 86, "writeback": 86, "wavefronts": 61, "lsuin": 24, "issue": 21, "inst": 20.6, "hit": 93, "ld_per_request": 16, "ld_requests": 2e7, "ld_sectors": 3.2e8, "l2": 12, "dram": 6, "dram_active": 6, "fill": 6,
        "fma": 15, "alu": 10, "lsu": 24}, {"long_scoreboard": 30, "lg_throttle": 25}, beside="lsu-pressure near-limit", never=f"{WASTE} register-spills scalar-access"),
    "T15 IMAD": patient("H100", "integer-bound", {
        "sm": 95, "sm_active": 95.5, "fmaheavy": 95.4, "fma": 51.7, "alu": 38, "issue": 62, "inst": 61, "mem": 8, "l1": 8, "l2": 5, "dram": 5, "dram_active": 5, "wavefronts": 4, "lsuin": 4, "ffma": 0, "fadd": 0, "fmul": 0},
        {"math_pipe_throttle": 47}, beside="near-limit", never="fp32-bound issue-bound"),
}  # fmt: skip
