"""What only Intel counters say: execution units (EU, Xe vector engines), their threads, send traffic, L3.

Active, stalled and idle are shares of the vector engines' time and add up to 100 %; active is not a share of peak.
"""

from triage.schema._metric import Metric, flag

# What the threads of a stalled vector engine wait for. Several reasons can hold in one cycle, so they need not add up to
# "EU stalled"; all are shares of the same time.
_STALLS = {
    "sbid": ("scoreboard", "for a scoreboard token: data of a load, or a result of the matrix or math unit", "SBID"),
    "sendwr": ("send", "for a message to leave for memory, SLM or the sampler", "SENDWR"),
    "aluwr": ("ALU result", "for an earlier instruction's result", "ALUWR"),
    "barrier": ("barrier", "for the other threads of the group", "BARRIER"),
    "control": ("control flow", "for a branch", "CONTROL"),
    "instfetch": ("instruction fetch", "for their next instruction", "INSTFETCH"),
    "pipestall": ("pipe conflict", "for a pipe, a register bank or a held send", "PIPESTALL"),
    "other": ("other", "for flags, the end of the thread and the like", "OTHER"),
}
# instructions executed, by kind: id -> (label, meaning, name in the metric sets)
_INSTS = {
    "issued": ("Instructions issued", "Instructions issued to any pipe", "XVE_INST_ISSUED_ALL"),
    "send": ("Send instructions", "Messages to memory, SLM and samplers", "XVE_INST_EXECUTED_SEND_ALL"),
    "alu0": ("ALU0 instructions", "Instructions of the first ALU pipe", "XVE_INST_EXECUTED_ALU0_ALL"),
    "alu1": ("ALU1 instructions", "Instructions of the second ALU pipe", "XVE_INST_EXECUTED_ALU1_ALL"),
    "alu2": ("ALU2 instructions", "Instructions of the third ALU pipe", "XVE_INST_EXECUTED_ALU2_ALL"),
    "fp64": ("FP64 instructions", "Double-precision instructions", "XVE_INST_EXECUTED_FP64"),
    "math": ("Math instructions", "Divisions, roots and transcendentals", "XVE_INST_EXECUTED_MATH"),
    "control": ("Control instructions", "Branches", "XVE_INST_EXECUTED_CONTROL_ALL"),
    "xmx": ("XMX instructions", "Matrix instructions of all types", "XVE_INST_EXECUTED_XMX_ALL"),
    "xmx_fp16": ("XMX FP16 instructions", "FP16 matrix instructions", "XVE_INST_EXECUTED_XMX_FP16"),
    "xmx_bf16": ("XMX BF16 instructions", "BF16 matrix instructions", "XVE_INST_EXECUTED_XMX_BF16"),
    "xmx_int8": ("XMX INT8 instructions", "INT8 matrix instructions", "XVE_INST_EXECUTED_XMX_INT8"),
}


def _count(metric: str, label: str, meaning: str, *aliases: str) -> Metric:
    return Metric(metric, "count", label, "low", meaning, aliases, additive=True)


def _bytes(metric: str, label: str, meaning: str, *aliases: str) -> Metric:
    return Metric(metric, "byte", label, "low", meaning, aliases, additive=True)


def _time(metric: str, label: str, meaning: str, *aliases: str) -> Metric:
    return Metric(metric, "ratio", label, "low", meaning, aliases)


METRICS = (
    # for rules about Intel's hardware
    flag(
        "device.is_intel", "Intel GPU", "1 when the device is Intel's or the export has counters only Intel has, else 0"
    ),
    # Names of three tools: the metric discovery library, its newer "Xe vector engine" spelling, VTune's tables.
    Metric(
        "eu.active",
        "ratio",
        "EU active",
        "",
        "Time in which at least one pipe of a vector engine executed",
        ("EuActive", "XveActive", "XVE_ACTIVE", "EU Active", "EU Array Active"),
    ),
    Metric(
        "eu.stall",
        "ratio",
        "EU stalled",
        "low",
        "Time in which threads were loaded on a vector engine but no pipe executed",
        ("EuStall", "XveStall", "XVE_STALL", "EU Stall", "EU Stalled", "EU Array Stalled"),
    ),
    Metric(
        "eu.idle",
        "ratio",
        "EU idle",
        "low",
        "Time in which a vector engine had no thread",
        ("EuIdle", "XVE_IDLE", "EU Idle", "EU Array Idle"),
    ),
    Metric(
        "eu.occupancy",
        "ratio",
        "EU thread occupancy",
        "",
        "Thread slots of the vector engines that were filled",
        (
            "EuThreadOccupancy",
            "XveThreadOccupancy",
            "XVE Thread Occupancy",
            "XVE_THREADS_OCCUPANCY_ALL",
            "EU Thread Occupancy",
        ),
    ),
    Metric(
        "eu.both_pipes",
        "ratio",
        "Both pipes active",
        "",
        "Time in which two pipes executed at once",
        ("EuFpuBothActive", "XveFpuEmActive", "EM And FPU Pipes Active", "XVE_PIPE_ALU0_AND_ALU1_ACTIVE"),
    ),
    Metric(
        "eu.pipe0",
        "ratio",
        "Pipe 0 (FPU/ALU0) active",
        "",
        "Time in which the first floating-point pipe executed",
        ("Fpu0Active", "FpuActive", "XVE FPU Pipe Active", "XVE_INST_EXECUTED_ALU0_ALL_UTILIZATION"),
    ),
    Metric(
        "eu.pipe1",
        "ratio",
        "Pipe 1 (EM/ALU1) active",
        "",
        "Time in which the second pipe executed",
        ("Fpu1Active", "XVE_INST_EXECUTED_ALU1_ALL_UTILIZATION"),
    ),
    Metric(
        "eu.math",
        "ratio",
        "Extended-math pipe active",
        "",
        "Time in which the pipe of divisions, roots and transcendentals executed",
        ("EmActive", "EM Pipe Active"),
    ),
    Metric(
        "eu.pipe2",
        "ratio",
        "Pipe 2 (ALU2) active",
        "",
        "Time in which the third pipe executed: the matrix unit's on Xe2",
        ("XVE_INST_EXECUTED_ALU2_ALL_UTILIZATION",),
    ),
    Metric(
        "eu.send_active",
        "ratio",
        "Send active",
        "",
        "Time in which the send (memory, sampler) pipe was used",
        ("EuSendActive", "SendActive", "Send Pipe Active", "XVE_INST_EXECUTED_SEND_ALL_UTILIZATION"),
    ),
    Metric(
        "eu.xmx",
        "ratio",
        "Matrix engine active",
        "",
        "Time in which the matrix (XMX) pipe executed",
        ("XVE_INST_EXECUTED_XMX_ALL_UTILIZATION", "XmxActive", "XMX Pipe Active", "XVE_XMX_ACTIVE"),
    ),
    Metric(
        "eu.ipc",
        "count",
        "EU instructions per cycle",
        "high",
        "Instructions per active cycle of a vector engine",
        (
            "EuAvgIpcRate",
            "XveAvgIpcRate",
            "XVE AVG IPC Rate",
        ),
        bounded=False,
    ),
    *(
        _time(f"eu.stall_{metric}", f"Stalled: {label}", f"Time in which threads of a vector engine waited {why}", name)
        for metric, (label, why, word) in _STALLS.items()
        for name in (f"XVE_STALL_{word}",)
    ),
    _time("eu.stall_top", "Stalled: top reason", "The largest of the stall reasons"),
    _time(
        "eu.shared_hold",
        "Held by shared functions",
        "Time in which vector engines were held up by the units they share",
        "XVE_SHARED_FUNCTION_ACCESS_HOLD",
    ),
    _time(
        "eu.dispatch_stall",
        "Dispatch waits for resources",
        "Time in which a group could not start for lack of SLM or barriers",
        "THREADGROUP_DISPATCH_QUEUE0_RESOURCE_STALL",
    ),
    *(_count(f"eu.inst_{metric}", label, meaning, name) for metric, (label, meaning, name) in _INSTS.items()),
    Metric(
        "eu.xmx_share",
        "ratio",
        "XMX share",
        "",
        "Matrix instructions, as a share of those that the ALU pipes and the matrix unit executed",
    ),
    # each counter group is a separate replay, so this differs between groups on identical work
    Metric(
        "gpu.busy",
        "ratio",
        "GPU busy",
        "",
        "Time in which the render or compute engine was busy, stalls included",
        ("GpuBusy", "GPU_BUSY"),
    ),
    Metric(
        "gpu.cycles",
        "cycle",
        "GPU core clocks",
        "",
        "GPU core clocks elapsed",
        ("GpuCoreClocks",),
        bounded=False,
        additive=True,
    ),
    # These are bytes of the interval although the names say throughput.
    Metric(
        "l3.bytes_shader",
        "byte",
        "L3 bytes of shaders",
        "low",
        "Bytes moved between shaders and L3",
        ("L3ShaderThroughput",),
        additive=True,
    ),
    # stages of the 3D pipeline: time in which one held up those before it
    *(
        _time(f"bottleneck.{metric}", f"{label} bottleneck", f"Time in which {what} slowed the 3D pipeline down", alias)
        for metric, label, what, alias in (
            ("vertex_fetch", "Vertex fetch", "vertex fetch", "VfBottleneck"),
            ("setup", "Strips and fans", "the setup of triangles", "SfBottleneck"),
            ("barycentric", "Barycentrics", "the computation of barycentric coordinates", "BcBottleneck"),
            ("depth", "Coarse depth", "the hierarchical depth test", "HiDepthBottleneck"),
        )
    ),
    Metric("l3.bytes_read", "byte", "L3 bytes read", "low", "Bytes read from L3", ("L3_BYTE_READ",), additive=True),
    Metric(
        "l3.bytes_written", "byte", "L3 bytes written", "low", "Bytes written to L3", ("L3_BYTE_WRITE",), additive=True
    ),
    Metric("l3.lookups", "count", "L3 lookups", "low", "L3 lookups", ("L3Lookups",), additive=True),
    Metric("l3.misses", "count", "L3 misses", "low", "L3 misses", ("L3Misses", "L3_MISS"), additive=True),
    Metric("l3.hits", "count", "L3 hits", "", "L3 hits", ("L3_HIT",), additive=True),
    _count("l3.reads", "L3 reads", "Requests of 64 bytes to read from L3", "L3_READ"),
    _count("l3.writes", "L3 writes", "Requests of 64 bytes to write to L3", "L3_WRITE"),
    _count("l3.atomics", "L3 atomics", "Atomic accesses to L3", "L3_ATOMIC_ACCESS"),
    _time("l3.stall", "L3 stalled", "Time in which L3 banks were stalled", "L3_STALL"),
    Metric("l3.busy", "ratio", "L3 busy", "", "Time in which L3 worked", ("L3_BUSY",)),
    _time("l3.queue_full", "L3 queue full", "Time in which L3's queue to memory was full", "L3_SUPERQ_FULL"),
    _time(
        "gti.queue_full",
        "Memory queue full",
        "Time in which the memory's request queue was nearly full",
        "GPU_MEMORY_REQUEST_QUEUE_FULL",
        "GTRequestQueueFull",
    ),
    _count("tlb.misses", "TLB misses", "Address translations that missed, of all engines", "TLB_MISS"),
    # the load/store cache is the L1 of an Xe core
    _count("lsc.accesses", "Load/store cache accesses", "Accesses to the load/store cache", "LOAD_STORE_CACHE_ACCESS"),
    _count("lsc.hits", "Load/store cache hits", "Hits in the load/store cache", "LOAD_STORE_CACHE_HIT"),
    _bytes("lsc.bytes_read", "LSC bytes read", "Bytes read from the load/store cache", "LOAD_STORE_CACHE_BYTE_READ"),
    _bytes(
        "lsc.bytes_written", "LSC bytes written", "Bytes written to the load/store cache", "LOAD_STORE_CACHE_BYTE_WRITE"
    ),
    _count(
        "lsc.partial_writes",
        "Partial writes",
        "Writes that do not fill a part of a line",
        "LOAD_STORE_CACHE_PARTIAL_WRITE_COUNT",
    ),
    Metric("lsc.hit_rate", "ratio", "Load/store cache hit rate", "high", "Hits in the load/store cache"),
    Metric(
        "lsc.overfetch",
        "count",
        "Memory bytes per byte loaded",
        "low",
        "Bytes read from memory per byte that threads loaded through the load/store cache",
        bounded=False,
    ),
    _count("icache.hits", "Instruction cache hits", "Hits in the instruction cache", "ICACHE_HIT"),
    _count("icache.misses", "Instruction cache misses", "Misses of the instruction cache", "ICACHE_MISS"),
    _count("slm.accesses", "SLM accesses", "Accesses to shared local memory", "SLM_ACCESS_COUNT"),
    Metric(
        "slm.conflict_share",
        "ratio",
        "SLM conflict share",
        "low",
        "Bank conflicts per access to shared local memory, of 64 bytes where accesses were not counted",
        bounded=False,  # an access may collide with many
    ),
    _count("shader.accesses", "Memory messages", "Messages of shaders to memory", "ShaderMemoryAccesses"),
    _count(
        "shader.atomics", "Atomic messages", "Atomic messages of shaders", "ShaderAtomics", "XVE_ATOMIC_ACCESS_COUNT"
    ),
    _count(
        "shader.barriers",
        "Barrier messages",
        "Barrier messages of shaders",
        "ShaderBarriers",
        "XVE_BARRIER_MESSAGE_COUNT",
    ),
    Metric("l3.hit_rate", "ratio", "L3 hit rate", "high", "Hits in L3, of all its lookups"),
    Metric(
        "slm.bytes_read",
        "byte",
        "SLM bytes read",
        "low",
        "Bytes read from shared local memory",
        ("SlmBytesRead", "SLM_BYTE_READ"),
        additive=True,
    ),
    Metric(
        "slm.bytes_written",
        "byte",
        "SLM bytes written",
        "low",
        "Bytes written to shared local memory",
        ("SlmBytesWritten", "SLM_BYTE_WRITE"),
        additive=True,
    ),
    Metric(
        "slm.bank_conflicts",
        "count",
        "SLM bank conflicts",
        "low",
        "Bank conflicts of shared local memory",
        ("SLM_BANK_CONFLICT_COUNT",),
        additive=True,
    ),
    # The interface to memory; there is no peak in any export, so these make no SOL%.
    Metric(
        "gti.bytes_read",
        "byte",
        "GTI bytes read",
        "low",
        "Bytes the GPU read from memory over its interface",
        ("GtiReadThroughput",),
        additive=True,
    ),
    Metric(
        "gti.bytes_written",
        "byte",
        "GTI bytes written",
        "low",
        "Bytes the GPU wrote to memory over its interface",
        ("GtiWriteThroughput",),
        additive=True,
    ),
    # A busy sampler need not slow anything: only "bottleneck" says that the pipe behind it waited.
    Metric(
        "sampler.texels",
        "count",
        "Texels sampled",
        "low",
        "Texels requested from the sampler",
        ("SamplerTexels",),
        additive=True,
    ),
    Metric(
        "sampler.misses",
        "count",
        "Texel misses",
        "low",
        "Texels that missed the sampler cache",
        ("SamplerTexelMisses",),
        additive=True,
    ),
    Metric(
        "sampler.busy",
        "ratio",
        "Sampler busy",
        "",
        "Time in which a sampler was busy",
        ("SamplersBusy", "Samplers Busy"),
    ),
    Metric(
        "sampler.bottleneck",
        "ratio",
        "Sampler bottleneck",
        "low",
        "Time in which the sampler slowed the pipe behind it",
        ("SamplerBottleneck",),
    ),
)
