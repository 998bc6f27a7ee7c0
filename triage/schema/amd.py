"""What only AMD counters say: vector and scalar ALU, matrix cores, LDS, memory unit, fabric, wave scheduling.

"Busy" and "stalled" are shares of the kernel's time, not shares of a peak: a unit that waits can be 100 % busy.
"""

from triage.schema._metric import Metric, flag

# Stalls of the workgroup manager (SPI): why a group was not placed, never how much time that cost. 25 % is the most
# that the scheduler-pipe figures reach (ROCm documentation).
_SCHED = {
    "insufficient_vgprs": ("Insufficient VGPRs", "SIMD cycles", "for lack of vector registers"),
    "insufficient_sgprs": ("Insufficient SGPRs", "SIMD cycles", "for lack of scalar registers"),
    "insufficient_waveslots": ("Insufficient wave slots", "SIMD cycles", "for lack of a free wave slot"),
    "insufficient_lds": ("Insufficient LDS", "CU cycles", "for lack of LDS"),
    "insufficient_barriers": ("Insufficient barriers", "CU cycles", "for lack of a hardware barrier"),
    "workgroup_limit": ("Workgroup limit", "CU cycles", "because the CU held its maximum of workgroups"),
    "wave_limit": ("Wave limit", "CU cycles", "because of the workgroup manager's wave limit"),
    "insufficient_scratch": ("Insufficient scratch", "shader-engine cycles", "for lack of scratch memory slots"),
    "not_scheduled": (
        "Not scheduled",
        "scheduler-pipe cycles",
        "because the workgroup manager could not (at most 25 %)",
    ),
    "resource_stall": ("Scheduler-pipe stall", "scheduler-pipe cycles", "for lack of any CU resource (at most 25 %)"),
}

METRICS = (
    # rocprof and GPUPerfAPI print "busy": time with work in the unit, stalls included. No SOL% follows from it.
    Metric(
        "valu.busy",
        "ratio",
        "VALU busy",
        "",
        "Time in which vector ALU instructions executed, over all SIMDs",
        ("VALUBusy",),
    ),
    # rocprof prints the active lanes as a share of the wave, rocprof-compute as a number of lanes
    Metric(
        "valu.utilization",
        "ratio",
        "VALU active lanes",
        "high",
        "Lanes active per vector ALU instruction, as a share of the wave's width: divergence lowers it",
        ("VALUUtilization",),
    ),
    Metric(
        "valu.active_threads",
        "count",
        "VALU active threads",
        "high",
        "Lanes active per vector ALU instruction, of the wave's width",
        bounded=False,
    ),
    Metric("salu.busy", "ratio", "SALU busy", "", "Time in which scalar ALU instructions executed", ("SALUBusy",)),
    # 4 matrix pipes per CU: rocprof-compute divides by all of them
    Metric("mfma.busy", "ratio", "MFMA busy", "", "Time in which the matrix cores executed", ("MfmaUtil",)),
    Metric("vmem.busy", "ratio", "VMEM issue busy", "", "Time in which vector memory instructions were issued"),
    Metric(
        "vmem.insts", "count", "VMEM instructions", "low", "Vector memory instructions of the launch", additive=True
    ),
    Metric("valu.insts", "count", "VALU instructions", "low", "Vector ALU instructions of the launch", additive=True),
    Metric(
        "vmem.lines_per_store",
        "count",
        "Lines per store instruction",
        "low",
        "Lines that the vector L1 sends to L2 for a store instruction: 4 where 64 lanes store 4 bytes each, 16 for 16 bytes, 64 at worst",
        bounded=False,
    ),
    Metric(
        "vmem.l2_reads",
        "count",
        "L1 reads from L2",
        "",
        "Lines of 64 bytes that the vector L1 asks of L2 for loads",
        additive=True,
        bounded=False,
    ),
    Metric(
        "vmem.store_share",
        "ratio",
        "Stores of the L1-L2 requests",
        "",
        "Share of stores among the loads and stores that the vector L1 sends to L2",
    ),
    Metric(
        "vmem.lines_per_inst",
        "count",
        "L1 lines per VMEM instruction",
        "low",
        "Cache lines of the vector L1 that a vector memory instruction touches: 16 are all that its widest dense form"
        " needs, one per lane is the worst",
        bounded=False,
    ),
    Metric(
        "vmem.l2_requests_per_inst",
        "count",
        "L2 requests per VMEM instruction",
        "low",
        "Requests to L2 per vector memory instruction",
        bounded=False,
    ),
    Metric(
        "vmem.bytes_per_inst",
        "byte",
        "Memory bytes per VMEM instruction",
        "low",
        "Bytes beyond L2 per vector memory instruction: 64 lanes ask for 1,024 at most",
        bounded=False,
    ),
    Metric("lds.insts", "count", "LDS instructions", "low", "LDS instructions of the launch", additive=True),
    Metric(
        "mfma.inst_share", "ratio", "MFMA share", "", "Matrix instructions, as a share of the vector ALU instructions"
    ),
    Metric(
        "mfma.wide_share",
        "ratio",
        "Wide matrix operations",
        "low",
        "FP32 and FP64 matrix operations, as a share of all floating-point ones of the matrix cores",
    ),
    Metric("branch.busy", "ratio", "Branch unit busy", "", "Time in which branch and message instructions were issued"),
    Metric("cu.ipc", "count", "IPC per CU", "high", "Instructions executed per active CU cycle", bounded=False),
    Metric("lds.busy", "ratio", "LDS busy", "", "Time in which the LDS worked, bank conflicts included"),
    Metric(
        "lds.bank_conflict_rate",
        "ratio",
        "LDS bank-conflict cycles",
        "low",
        "Share of the LDS's active cycles that only served bank conflicts",
    ),
    Metric(
        "lds.conflicts_per_access",
        "count",
        "LDS conflicts per access",
        "low",
        "Cycles lost to bank conflicts per conflict-free LDS cycle",
        bounded=False,
    ),
    Metric(
        "lds.conflicts_per_inst",
        "cycle",
        "LDS conflict cycles per instruction",
        "low",
        "Cycles lost to bank conflicts per LDS instruction",
        bounded=False,
    ),
    Metric("lds.conflict_time", "ratio", "Time in LDS conflicts", "low", "Share of the time that bank conflicts take"),
    Metric("lds.throughput", "ratio", "LDS bandwidth", "", "Bytes the LDS moved, as a share of its peak"),
    Metric(
        "lds.bank_conflict_stall",
        "ratio",
        "LDS bank-conflict time",
        "low",
        "Share of the GPU's time in which the LDS was held up by bank conflicts",
        ("LDSBankConflict",),
    ),
    Metric(
        "lds.alu_stalled",
        "ratio",
        "ALU stalled by LDS",
        "low",
        "Share of the GPU's time in which the ALUs waited for the LDS's input or output queue",
        ("ALUStalledByLDS",),
    ),
    # rocprof takes the busiest texture addresser: a kernel that only waits for memory can read 100 %
    Metric(
        "mem_unit.busy",
        "ratio",
        "Memory unit busy",
        "",
        "Time in which the vector memory (texture addresser) unit was busy, stalls included; not bandwidth",
        ("MemUnitBusy",),
    ),
    Metric(
        "mem_unit.stalled",
        "ratio",
        "Memory unit stalled",
        "low",
        "Time in which the vector memory unit was stalled",
        ("MemUnitStalled",),
    ),
    Metric(
        "mem_unit.write_stalled",
        "ratio",
        "Write unit stalled",
        "low",
        "Time in which the write unit was stalled",
        ("WriteUnitStalled",),
    ),
    # vL1D and L2: AMD's vector L1 stands where NVIDIA's L1/TEX does, so both share the prefix
    Metric("l1tex.busy", "ratio", "vL1D busy", "", "Time in which the vector L1 data cache worked"),
    Metric(
        "l1tex.stalled_l2",
        "ratio",
        "vL1D waiting for L2",
        "low",
        "Share of the vector L1's active time stalled on data or requests of L2",
    ),
    Metric(
        "l1tex.coalescing",
        "ratio",
        "vL1D coalescing",
        "high",
        "How well the lanes' addresses merge before the vector L1: 100 % is one request per 16 lanes, 25 % the worst",
    ),
    Metric(
        "l1tex.tag_stall",
        "ratio",
        "vL1D tag conflicts",
        "low",
        "Share of the vector L1's active time in which reads waited for a conflicting tag lookup",
    ),
    # of the L1's translation cache; what misses goes to L2's, and from there to page tables in memory
    Metric(
        "tlb.miss_rate",
        "ratio",
        "Translation misses",
        "low",
        "Address translations that missed the first-level translation cache",
    ),
    Metric(
        "tlb.stall",
        "ratio",
        "Translation stalls",
        "low",
        "Share of the vector L1's active time in which its translation cache waited for the second level (UTCL2)",
    ),
    Metric("atomics.fabric_share", "ratio", "Atomics beyond L2", "low", "Atomics, as a share of L2's fabric writes"),
    Metric(
        "l2.channel_imbalance",
        "ratio",
        "L2 channel imbalance",
        "low",
        "How far the average L2 channel stays below the busiest",
    ),
    Metric(
        "die.imbalance",
        "ratio",
        "Die imbalance",
        "low",
        "How far the average die (XCD) stays below the busiest, by requests to its own L2",
    ),
    Metric("valu.fp64_share", "ratio", "FP64 instructions", "", "Double-precision share of the vector instructions"),
    Metric("valu.trans_share", "ratio", "Transcendentals", "", "Transcendental share of the vector instructions"),
    Metric("l2.busy", "ratio", "L2 busy", "", "Time in which the L2 channels worked, waiting included"),
    Metric("sl1d.hit_rate", "ratio", "Scalar L1 hit rate", "high", "Hits in the scalar (constant) data cache"),
    Metric("l1i.hit_rate", "ratio", "Instruction cache hit rate", "high", "Hits in the L1 instruction cache"),
    # Beyond L2 everything goes over the fabric, other GPUs and the host included: no bound at the memory's peak.
    Metric(
        "fabric.read_throughput",
        "ratio",
        "L2-fabric reads",
        "",
        "Bytes read by L2 over the fabric, as a share of the memory's peak bandwidth",
        bounded=False,
    ),
    Metric(
        "fabric.write_throughput",
        "ratio",
        "L2-fabric writes",
        "",
        "Bytes written by L2 over the fabric, as a share of the memory's peak bandwidth",
        bounded=False,
    ),
    Metric(
        "fabric.read_latency",
        "cycle",
        "L2-fabric read latency",
        "low",
        "Cycles a read of L2 takes over the fabric",
        bounded=False,
    ),
    Metric(
        "fabric.write_latency",
        "cycle",
        "L2-fabric write latency",
        "low",
        "Cycles a write of L2 takes over the fabric",
        bounded=False,
    ),
    Metric(
        "fabric.read_32b_share",
        "ratio",
        "Half-line reads",
        "low",
        "Reads of 32 bytes, as a share of L2's fabric reads: dense access reads 64 or 128",
    ),
    Metric(
        "fabric.write_stall",
        "ratio",
        "Fabric writes stalled",
        "low",
        "Share of L2's busy cycles in which a write could not leave for the fabric",
    ),
    Metric(
        "fabric.remote_reads",
        "ratio",
        "Remote reads",
        "low",
        "Share of L2's fabric reads that go to another memory than this GPU's own",
    ),
    Metric(
        "waves.launched", "count", "Waves launched", "", "Waves of the whole launch", ("Wavefronts",), additive=True
    ),
    Metric(
        "launch.waves_per_simd",
        "count",
        "Waves launched per SIMD",
        "",
        "Waves of the whole launch over the SIMDs of the GPU: below 1 some get nothing",
        bounded=False,
    ),
    Metric(
        "waves.per_simd",
        "count",
        "Waves per SIMD",
        "",
        "Waves that a SIMD holds at a time, on average",
        bounded=False,
    ),
    # rocprof-compute splits the waves' life in three: waiting, ready but not issued, executing
    Metric(
        "waves.dependency_wait",
        "ratio",
        "Waves waiting",
        "low",
        "Share of the waves' life spent waiting for anything (memory, barriers, dependencies)",
    ),
    Metric(
        "waves.memory_wait",
        "ratio",
        "Waves waiting for vector memory",
        "low",
        "Share of the traced or sampled waves' life in waits for vector memory",
    ),
    Metric(
        "waves.scratch_wait",
        "ratio",
        "Waves waiting for scratch",
        "low",
        "Share of the traced waves' life in waits for loads from scratch, by the instruction that each wait is for",
    ),
    Metric(
        "waves.issue_wait",
        "ratio",
        "Waves waiting to issue",
        "low",
        "Share of the waves' life spent ready, waiting for an issue slot",
    ),
    Metric(
        "waves.lds_wait", "ratio", "Waves waiting for LDS", "low", "Share of the waves' life waiting to issue to LDS"
    ),
    Metric(
        "waves.barrier_wait",
        "ratio",
        "Waves waiting at barriers",
        "low",
        "Share of the waves' life spent at barriers",
    ),
    Metric(
        "waves.lds_or_scalar_wait",
        "ratio",
        "Waves waiting for LDS or scalar loads",
        "low",
        "Share of the sampled waves at s_waitcnt for LDS, scalar loads or messages alone",
    ),
    Metric(
        "waves.fetch_wait",
        "ratio",
        "Waves waiting for instructions",
        "low",
        "Share of the waves' life without an instruction to issue",
    ),
    Metric(
        "waves.alu_wait",
        "ratio",
        "Waves waiting for results",
        "low",
        "Share of the sampled waves whose next instruction depends on one that is not done",
    ),
    Metric("waves.active", "ratio", "Waves executing", "", "Share of the waves' life spent executing instructions"),
    # for rules that speak of one vendor's or one family's hardware
    flag("device.is_amd", "AMD GPU", "1 when the device is AMD's or the export has counters only AMD has, else 0"),
    flag("device.is_rdna", "RDNA GPU", "1 when the device is known to be an RDNA (gfx10 and later) GPU, else 0"),
    Metric("launch.vgpr_spills", "count", "VGPR spills", "low", "Vector registers spilled to memory by the compiler"),
    Metric("launch.sgpr_spills", "count", "SGPR spills", "low", "Scalar registers spilled by the compiler"),
    # why workgroups were not placed
    *(
        Metric(
            f"sched.{metric}",
            "ratio",
            label,
            "low",
            f"Share of {cycles} in which a workgroup could not be placed {why}",
        )
        for metric, (label, cycles, why) in _SCHED.items()
    ),
)
