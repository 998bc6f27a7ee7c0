"""Further kernels with one known illness each, Ampere to Blackwell, beside the guide's own; figures made up.

The same rules have to find these: none of them was there when a threshold was set.
"""

from tests.cases.guide_kernels import OCCUPANCY, WAITS, WASTE, Patient, patient

LAZY = {"sm": 12, "sm_active": 12.3, "mem": 14, "l1": 12, "l2": 12, "dram": 14, "dram_active": 14, "issue": 12, "inst": 11.8, "wavefronts": 8, "lsuin": 6,
        "writeback": 5, "fill": 4, "fma": 4, "alu": 6, "lsu": 5, "xu": 1}  # fmt: skip

OTHERS: dict[str, Patient] = {
    "columns of a row-major matrix": patient("A10", "uncoalesced-loads", LAZY | {
        "mem": 78, "l1": 78, "wavefronts": 76, "l2": 62, "dram": 48, "dram_active": 48, "ld_sectors": 1.28e8, "ld_requests": 4e6, "ld_bytes": 4, "hit": 12, "l2_hit": 50},
        {"long_scoreboard": 52, "lg_throttle": 25}, never=f"data-reuse scalar-access {OCCUPANCY}"),
    "a column of a shared tile": patient("A100", "bank-conflicts", LAZY | {
        "sm": 35, "mem": 88, "l1": 88, "wavefronts": 88, "shared_wf": 84, "lsuin": 12, "conflicts": 3.1e7, "shared": 3.2e7, "smem_static": 4096, "by_smem": 20},
        {"short_scoreboard": 38, "mio_throttle": 35}, never=f"{WASTE} {OCCUPANCY}"),
    "eight groups": patient("L40S", "small-grid", LAZY | {"grid": 8, "waves": 0.01, "sm": 3, "mem": 3, "dram": 1, "dram_active": 1, "l1": 2, "l2": 1, "occ": 16, "sm_cycles": 22_000, "sm_active": 53,
        "issue": 30, "inst": 1.7, "executed": 6e6, "warps": 64}, {"wait": 30, "long_scoreboard": 25}, beside="load-imbalance idle-sms dependency-latency", never=f"{WASTE} register-spills"),
    "doubles on a graphics card": patient("RTX5090", "fp64-bound", LAZY | {"sm": 92, "sm_active": 93, "fp64": 92.5, "fp64_e": 91.8, "issue": 24, "inst": 23.5, "mem": 10, "dram": 8, "dram_active": 8,
        "ffma": 0, "fadd": 0, "fmul": 0}, {"math_pipe_throttle": 72}, beside="narrow-pipe near-limit", never=f"{OCCUPANCY} {WASTE} dependency-latency"),
    "registers hold the warps back": patient("H100", "occupancy-registers", LAZY | {"regs": 200, "by_regs": 1, "theory": 12.5, "occ": 12.3, "waves": 60},
        {"long_scoreboard": 45, "wait": 25}, beside="memory-latency", never=f"{WASTE} register-spills"),
    "a reduction that meets after every step": patient("A100", "barrier-waits", LAZY | {"sm": 30, "mem": 30, "l1": 30, "block": 1024, "grid": 2000, "by_warps": 2, "by_regs": 2, "issue": 30, "inst": 29, "smem_static": 4096, "shared_wf": 10, "wavefronts": 14, "shared": 3e7,
        "waves": 9}, {"barrier": 55}, never=f"{WASTE} low-occupancy"),
    "items of every kind in one warp": patient("RTX5090", "divergence", {"sm": 78, "sm_active": 79, "issue": 76, "inst": 74, "mem": 15, "l1": 15, "l2": 8, "dram": 8, "dram_active": 8, "threads": 5.1, "pred_on": 4.9, "uniform_branches": 61,
        "fma": 40, "alu": 55, "wavefronts": 6, "lsuin": 8}, {"branch_resolving": 12}, beside="issue-bound branch-waits dependency-latency", never=f"{WASTE} {OCCUPANCY}"),
    "a finished stream": patient("H100", "vram-bandwidth near-limit", LAZY | {"sm": 16, "mem": 93, "dram": 93, "dram_active": 93, "l2": 48, "l1": 30, "wavefronts": 20, "hit": 0, "l2_hit": 50, "ld_sectors": 6e7, "ld_requests": 1.5e7, "st_sectors": 6e7, "st_requests": 1.5e7,
        "read": 1.95e9, "written": 1.9e9, "time": 1_240_000}, {"long_scoreboard": 82}, never=f"{OCCUPANCY} {WASTE} l1-locality l2-locality memory-latency data-reuse"),
    "data in host memory": patient("L40S", "far-memory", LAZY | {"l2": 55, "mem": 55, "sysmem": 4e6, "device": 1e5, "peer": 0, "l2_hit": 20, "hit": 10, "dram": 3, "dram_active": 3}, {"long_scoreboard": 88},
        beside="memory-latency", never=f"{WASTE} {OCCUPANCY}"),
    "groups of 40 threads": patient("A10", "partial-warps", {"block": 40, "grid": 20_000, "threads": 20, "pred_on": 19.5, "by_blocks": 16, "theory": 66, "occ": 60, "waves": 17, "sm": 72, "sm_active": 73, "issue": 70, "inst": 68, "mem": 40, "l1": 40, "dram": 25, "dram_active": 25},
        {"wait": 22}, beside="divergence issue-bound tiny-groups", never=f"{WASTE} register-spills"),
    "one group too many": patient("A100", "tail-effect", {"grid": 120, "waves": 1.11, "block": 1024, "by_warps": 2, "by_regs": 1, "theory": 50, "occ": 45, "regs": 64, "sm": 52, "sm_active": 92, "issue": 88, "inst": 49, "fma": 84, "sm_cycles": 225_000, "sm_cycles_max": 396_000,
        "smsp_cycles": 225_000, "smsp_cycles_max": 396_000, "mem": 8, "l1": 8, "l2": 4, "dram": 4, "dram_active": 4}, {"math_pipe_throttle": 35}, beside="fp32-bound issue-bound load-imbalance low-occupancy idle-sms", never=f"{WASTE} register-spills"),
    "operands from a shared tile": patient("B200", "shared-memory-traffic", {"sm": 82, "sm_active": 83, "mem": 82, "l1": 82, "wavefronts": 80, "shared_wf": 76, "lsuin": 81, "writeback": 60, "l2": 10, "dram": 4, "dram_active": 4, "fill": 4, "fma": 38, "issue": 48, "inst": 47, "smem_static": 8192,
        "by_smem": 20, "shared": 4e8, "hit": 2}, {"mio_throttle": 42, "short_scoreboard": 18}, beside="lsu-pressure barrier-waits near-limit", never=f"{WASTE} register-spills {OCCUPANCY}"),
    "products on a card without tensor memory": patient("RTX5090", "matrix-bound", {"sm": 76, "sm_active": 77, "tensor": 75, "tensor_a": 76, "issue": 32, "inst": 31, "occ": 16.2, "theory": 16.7, "block": 256, "regs": 230, "by_regs": 1, "smem_dyn": 65_536, "by_smem": 1, "wavefronts": 45, "shared_wf": 42, "lsuin": 30,
        "mem": 48, "l1": 46, "l2": 30, "dram": 20, "dram_active": 20, "fma": 3, "alu": 6}, {"math_pipe_throttle": 40, "wait": 25}, never=f"{OCCUPANCY} {WAITS} matrix-unused matrix-underfed shared-memory-traffic"),
    "sines": patient("A100", "special-function-bound", LAZY | {"sm": 88, "sm_active": 89, "xu": 88, "issue": 40, "inst": 39, "fma": 25, "alu": 22}, {"mio_throttle": 40, "short_scoreboard": 25}, beside="shared-memory-latency near-limit narrow-pipe",
        never=f"{WASTE} {OCCUPANCY} bank-conflicts"),
    "code larger than its cache": patient("H100", "instruction-fetch", LAZY | {"issue": 32, "inst": 31, "sm": 32, "sm_active": 33}, {"no_instruction": 52}, never=f"{WASTE} {OCCUPANCY} memory-latency"),
    "fences": patient("A100", "fence-waits", LAZY, {"membar": 58}, never=f"{WASTE} {OCCUPANCY}"),
    "threads that poll": patient("H100", "sleeping-warps", LAZY | {"issue": 4, "inst": 3.9}, {"sleeping": 66}, never=f"{WASTE} {OCCUPANCY}"),
    "a chain of dependent arithmetic": patient("L40S", "dependency-latency", LAZY | {"sm": 50, "sm_active": 51, "issue": 50, "inst": 48, "occ": 33, "fma": 46, "waves": 20}, {"wait": 62}, never=f"{WASTE} {OCCUPANCY} memory-latency"),
    "few stages for the fifth generation": patient("B200", "matrix-underfed", {"sm": 36, "sm_active": 37, "tc": 35, "tensor": 35, "issue": 4, "inst": 3.9, "occ": 9, "theory": 9.4, "block": 192, "grid": 148, "waves": 1, "smem_dyn": 200_000, "by_smem": 1, "regs": 120, "by_regs": 2, "tma": 5e9, "threads": 11, "pred_on": 10,
        "mem": 30, "l1": 24, "l2": 30, "dram": 18, "dram_active": 18, "wavefronts": 12, "lsuin": 2, "ld_sectors": 4e3, "ld_requests": 2e3, "fma": 1, "alu": 2}, {"long_scoreboard": 66}, beside="memory-latency",
        never=f"{OCCUPANCY} {WASTE} divergence predication matrix-unused small-grid"),
    "one SM in ten works twice as long": patient("H100", "load-imbalance", LAZY | {"sm": 30, "issue": 48, "inst": 29, "sm_active": 50, "sm_cycles": 236_000, "sm_cycles_max": 398_000, "smsp_cycles": 235_000, "smsp_cycles_max": 398_000, "occ": 60, "waves": 9}, {"wait": 25, "not_selected": 12},
        beside="idle-sms", never=f"{WASTE} register-spills"),
    "everything through local memory": patient("A10", "debug-build", LAZY | {"local_ld": 8e8, "local_st": 3e8, "local_ld_requests": 2e8, "local_st_requests": 8e7, "ffma": 0, "fadd": 3e8, "fmul": 3e8, "regs": 28, "mem": 60, "l1": 58, "hit": 95, "lsuin": 50, "wavefronts": 52,
        "ldg": 5e6, "sts": 0, "ld_requests": 4e6, "st_requests": 1e6}, {"long_scoreboard": 30, "wait": 28, "lg_throttle": 15}, beside="register-spills", never=f"{OCCUPANCY} data-reuse", forms=("full",)),
    # the guide's variants: the same illness under other names
    "V1 issue per cycle only": patient("A100", "memory-latency", {"issue_ic": 0.09, "sm": 11, "mem": 15, "l1": 12, "l2": 12, "dram": 15, "occ": 95, "theory": 100, "grid": 20_000, "block": 256, "waves": 23, "wavefronts": 8, "regs": 30}, {"long_scoreboard": 85}, beside="", forms=("thin",)),
    "V4 atomics as requests": patient("H100", "atomics-contention", {"l2_red_requests": 3.4e7, "l2_requests": 4e7, "l2": 34, "mem": 34, "l1": 20, "dram": 8, "sm": 10, "issue": 8, "occ": 80, "grid": 20_000, "block": 256, "waves": 19}, {"lg_throttle": 71}, forms=("thin",)),
    "V5 ratios as exported": patient("A10", "uncoalesced-loads", {"ld_per_request": 32, "sm": 12, "mem": 78, "l1": 78, "wavefronts": 76, "lsuin": 6, "l2": 60, "dram": 48, "issue": 9, "occ": 80, "grid": 20_000, "block": 256, "waves": 34, "time": 300_000}, {"long_scoreboard": 55, "lg_throttle": 30}, beside="uncoalesced-stores", forms=("thin",)),
}  # fmt: skip
