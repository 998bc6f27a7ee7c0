"""Access patterns: global, local (per-thread) and shared memory, by requests, sectors and wavefronts."""

from triage.schema._metric import Metric


def _access(kind: str, op: str, title: str) -> tuple[Metric, Metric]:
    pipe = f"pipe_lsu_mem_{kind}_op_{op}"
    where = f"{kind}_{'load' if op == 'ld' else 'store'}"
    return (
        Metric(
            f"{where}.sectors",
            "count",
            f"{title} sectors",
            "low",
            f"32-byte sectors moved through L1 by {title.lower()}s",
            (f"l1tex__t_sectors_{pipe}.sum",),
            additive=True,
        ),
        Metric(
            f"{where}.requests",
            "count",
            f"{title} requests",
            "low",
            f"Warp-level requests to L1 by {title.lower()}s",
            (
                f"l1tex__t_requests_{pipe}.sum",
                f"smsp__sass_inst_executed_op_{kind}_{op}.sum",
                f"smsp__inst_executed_op_{kind}_{op}.sum",
            ),
            additive=True,
        ),
    )


METRICS = (
    *_access("global", "ld", "Global load"),
    *_access("global", "st", "Global store"),
    *_access("local", "ld", "Local load"),
    *_access("local", "st", "Local store"),
    # From the program's own addresses (SASS): what the threads asked for, of the sectors that moved.
    Metric(
        "global_load.bytes_per_sector",
        "byte",
        "Bytes used per global-load sector",
        "high",
        "Bytes the threads really asked for, of every 32-byte sector loaded",
        ("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",),
    ),
    Metric(
        "global_store.bytes_per_sector",
        "byte",
        "Bytes used per global-store sector",
        "high",
        "Bytes the threads really wrote, of every 32-byte sector stored",
        ("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio",),
    ),
    # Counted per source line, loads and stores together: theory, ideal, and the difference of both.
    Metric(
        "global_access.sectors_l2",
        "count",
        "L2 sectors of global accesses",
        "low",
        "L2 sectors that global accesses cause in theory",
        ("memory_l2_theoretical_sectors_global", "derived__memory_l2_theoretical_sectors_global"),
        additive=True,
    ),
    Metric(
        "global_access.sectors_l2_ideal",
        "count",
        "Ideal L2 sectors of global accesses",
        "low",
        "L2 sectors that perfectly coalesced global accesses would cause",
        ("memory_l2_theoretical_sectors_global_ideal", "derived__memory_l2_theoretical_sectors_global_ideal"),
        additive=True,
    ),
    Metric(
        "global_access.excess_sectors",
        "count",
        "Excess L2 sectors",
        "low",
        "L2 sectors beyond what coalesced accesses would need",
        ("derived__memory_l2_theoretical_sectors_global_excessive",),
        additive=True,
    ),
    # local memory is thread-private but lives in VRAM; spilled registers are one way into it, indexed arrays the other
    Metric(
        "local.spill_requests",
        "count",
        "Local memory spill requests",
        "low",
        "Requests caused by registers that did not fit",
        ("Local Memory Spilling Requests", "derived__local_spilling_requests"),
        additive=True,
    ),
    Metric(
        "local.spill_overhead",
        "ratio",
        "Local memory spill overhead",
        "low",
        "Share of requests that exist because of spilled registers",
        ("Local Memory Spilling Request Overhead", "derived__local_spilling_requests_pct"),
    ),
    *(
        Metric(
            f"shared_{'load' if op == 'ld' else 'store'}.requests",
            "count",
            f"Shared {'load' if op == 'ld' else 'store'} requests",
            "low",
            f"Warp-level {'loads from' if op == 'ld' else 'stores to'} shared memory",
            (f"smsp__sass_inst_executed_op_shared_{op}.sum", f"smsp__inst_executed_op_shared_{op}.sum"),
            additive=True,
        )
        for op in ("ld", "st")
    ),
    # One wavefront serves 32 banks of 4 bytes once; lanes that need different words of a bank take further wavefronts.
    Metric(
        "shared.bank_conflicts",
        "count",
        "Shared-memory bank conflicts",
        "low",
        "Extra shared-memory wavefronts caused by bank conflicts",
        ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",),
        additive=True,
        bounded=False,
    ),
    Metric(
        "shared.load_bank_conflicts",
        "count",
        "Shared-load bank conflicts",
        "low",
        "Extra wavefronts of shared loads caused by bank conflicts",
        ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "sm__shmem_ld_bank_conflict_sum"),
        additive=True,
    ),
    Metric(
        "shared.store_bank_conflicts",
        "count",
        "Shared-store bank conflicts",
        "low",
        "Extra wavefronts of shared stores caused by bank conflicts",
        ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "sm__shmem_st_bank_conflict_sum"),
        additive=True,
    ),
    Metric(
        "shared.wavefronts",
        "count",
        "Shared-memory wavefronts",
        "low",
        "Wavefronts needed for shared-memory accesses",
        ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",),
        additive=True,
    ),
    Metric(
        "shared.load_wavefronts",
        "count",
        "Shared-load wavefronts",
        "low",
        "Wavefronts needed for shared loads",
        ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",),
        additive=True,
    ),
    Metric(
        "shared.store_wavefronts",
        "count",
        "Shared-store wavefronts",
        "low",
        "Wavefronts needed for shared stores",
        ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",),
        additive=True,
    ),
    # counted per source line, like the global accesses
    Metric(
        "shared.access_wavefronts",
        "count",
        "Theoretical shared wavefronts",
        "low",
        "Wavefronts that the shared accesses of the source cause in theory",
        ("memory_l1_wavefronts_shared", "derived__memory_l1_wavefronts_shared"),
        additive=True,
    ),
    Metric(
        "shared.access_wavefronts_ideal",
        "count",
        "Ideal shared wavefronts",
        "low",
        "Wavefronts that conflict-free shared accesses would cause",
        ("memory_l1_wavefronts_shared_ideal", "derived__memory_l1_wavefronts_shared_ideal"),
        additive=True,
    ),
    Metric(
        "shared.excess_wavefronts",
        "count",
        "Excess shared wavefronts",
        "low",
        "Shared-memory wavefronts beyond the ideal",
        ("derived__memory_l1_wavefronts_shared_excessive",),
        additive=True,
    ),
)
