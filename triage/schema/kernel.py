"""What triage computes about compute kernels: access patterns, arithmetic, launch shape, imbalance."""

from triage.ground.method import stated
from triage.schema._metric import Metric, flag


def _share(metric: str, label: str, better: str, meaning: str) -> Metric:
    return Metric(metric, "ratio", label, better, meaning)


def _number(
    metric: str, label: str, better: str, meaning: str, unit: str = "count", aliases: tuple[str, ...] = ()
) -> Metric:
    return Metric(metric, unit, label, better, meaning, aliases, bounded=False)


# words for what triage.occupancy calls by one name each
LIMITERS = {
    "registers": "registers",
    "shared": "shared memory",
    "groups": "group slots per SM",
    "warps": "warp slots at this group size",
    "barriers": "hardware barriers",
}

_UNITS = {
    "lsu": ("LSU requests", "The load/store pipe: requests of every kind, shuffles included"),
    "l1_data": ("L1 data", "The busiest part of L1 behind the load/store pipe: data stage, banks, write-back, texture"),
    "shared": ("Shared memory", "The part of L1's data stage that shared memory takes"),
    "l2": ("L2 and crossbar", "The busiest of L2, its sector look-up and the crossbar between L1 and L2"),
    "vram": ("VRAM", "VRAM: cycles in which it moved data, else its share of peak"),
    "math": ("Math pipes", "The busiest compute pipe, else the SM where no measured part of it is the highest"),
    "issue": ("Issue slots", "Issue slots used"),
}

METRICS = (
    _share(
        "unit.texture",
        "Busy: texture path",
        "",
        "The busiest part of L1's texture path: data stage, filter, write-back; share of peak over elapsed cycles",
    ),
    _share(
        "unit.shading",
        "Busy: shaders",
        "",
        "The highest measured part of the shader cores: SM, issue slots, math pipes, vector ALUs or engines",
    ),
    _share("unit.matrix", "Busy: matrix unit", "", "The busier of the tensor pipes; share of peak over elapsed cycles"),
    _share(
        "copies.bulk_share",
        "Share of bulk copies",
        "",
        "Bytes that the copy engine of an SM (TMA) brought, of all that global loads brought",
    ),
    _number(
        "device.capability",
        "Compute capability",
        "",
        "NVIDIA's number of an architecture: 9 for Hopper, 10 for Blackwell",
    ),
    # How busy each part of the GPU was, over elapsed cycles: what is left of the time if one of them has less to do.
    *(
        _share(f"unit.{u}", f"Busy: {label}", "", f"{text}; share of peak over elapsed cycles")
        for u, (label, text) in _UNITS.items()
    ),
    _share(
        "unit.top",
        "Busiest unit",
        "",
        "The highest % of peak of all measured units and their parts",
    ),
    _share(
        "unit.shared_active",
        "Busy: shared memory, active",
        "",
        "The part of L1's data stage that shared memory takes while an SM has work",
    ),
    _share("l1tex.shared_share", "Shared-memory share of L1", "", "Wavefronts of L1's data stage for shared memory"),
    _number(
        "lsu.turns_per_request",
        "L1 wavefronts per request",
        "low",
        "Wavefronts of L1's data stage per load, store or shuffle of a warp: 1 for a dense 4-byte access, 4 for a 16-byte one",
    ),
    _number(
        "lsu.least_turns",
        "L1 wavefronts per request, at least",
        "low",
        "The same where requests were not counted: the SM's share of peak is not below theirs",
    ),
    _share(
        "global_access.request_share",
        "Global share of LSU requests",
        "",
        "Global loads and stores among the warp-level requests to global, local and shared memory",
    ),
    _share(
        "vram.useful_share",
        "VRAM bytes asked for",
        "high",
        "Bytes requested by global loads and stores, of the bytes VRAM moved",
    ),
    _number(
        "warp.used_threads",
        "Working threads per warp",
        "high",
        "Threads that are neither inactive nor predicated off per executed warp instruction",
    ),
    _number(
        "warp.latency",
        "Life of a warp",
        "low",
        "Cycles an average warp is resident, from its start to its end",
        "cycle",
    ),
    _number(
        "inst.per_warp",
        "Instructions per warp",
        "",
        "Warp-level instructions executed by one warp from its start to its end",
    ),
    # access patterns
    *(
        _number(
            f"{a}.sectors_per_request",
            f"Sectors per {t} request",
            "low",
            f"32-byte sectors one warp-level {t} touches: 4 for coalesced 4-byte accesses, 8 for 8-byte ones, at most 32",
            aliases=(f"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{op}.ratio",),
        )
        for a, t, op in (("global_load", "global-load", "ld"), ("global_store", "global-store", "st"))
    ),
    *(
        _share(
            f"{a}.waste",
            f"Wasted share of {t} sectors",
            "low",
            f"Share of the bytes of the sectors of {t}s that no thread asked for",
        )
        for a, t in (("global_load", "global load"), ("global_store", "global store"))
    ),
    _share(
        "global_access.waste",
        "Wasted share of global sectors",
        "low",
        "Share of the sectors of all global accesses that perfect coalescing would save",
    ),
    _share(
        "global_load.share", "Loads among global sectors", "", "Share of the sectors of global accesses that are loads"
    ),
    _number(
        "local.sectors", "Local-memory sectors", "low", "32-byte sectors of local (per-thread) memory moved through L1"
    ),
    _share("local.share", "Local-memory share", "low", "Local-memory sectors among all local and global sectors in L1"),
    _share(
        "shared.conflict_share",
        "Bank-conflict share",
        "low",
        "Shared-memory wavefronts that only exist because of bank conflicts",
    ),
    _number(
        "shared.conflict_ways",
        "Bank-conflict ways",
        "low",
        "Wavefronts per shared memory access: 1 without conflicts",
    ),
    _share("atomics.wait", "Waiting for atomics", "low", "Share of the warps' time spent waiting for atomics"),
    _share(
        "shared.excess_share",
        "Excess shared wavefronts",
        "low",
        "Share of the shared-memory wavefronts beyond the ideal",
    ),
    _share(
        "atomics.share",
        "Atomics among L2 sectors",
        "low",
        "L2 sectors of atomics and reductions among all L2 sectors; where these were not counted, requests among the global requests",
    ),
    _share(
        "l2.far_share",
        "L2 misses to far memory",
        "low",
        "L2 misses served from system or peer memory, of all L2 misses",
    ),
    _share(
        "pcie.least_share",
        "PCIe transfer time, minimum",
        "low",
        "Share of the time that the bytes counted on PCI Express take on the widest and fastest link its GPU can have",
    ),
    _share(
        "l2.sysmem_share",
        "L2 misses to system memory, share",
        "low",
        "L2 misses served from system memory, of all L2 misses",
    ),
    # arithmetic
    _number("flop.fp32", "FP32 operations", "", "FP32 operations of the kernel; a multiply-add counts two"),
    _number("flop.fp64", "FP64 operations", "", "FP64 operations of the kernel; a multiply-add counts two"),
    *(
        _share(
            f"flop.nonfused_{p}",
            f"Non-fused {p.upper()} share",
            "low",
            f"{p.upper()} add and mul instructions that could pair up into multiply-adds, among all {p.upper()} add, mul and fma",
        )
        for p in ("fp32", "fp64")
    ),
    _number("flop.fp32_peak", "FP32 peak", "", "FP32 operations per second the device can do", "flop/s"),
    _number("flop.fp64_peak", "FP64 peak", "", "FP64 operations per second the device can do", "flop/s"),
    _share("flop.fp32_share", "FP32 share of peak", "", "FP32 rate over the device's peak"),
    _share("flop.fp64_share", "FP64 share of peak", "", "FP64 rate over the device's peak"),
    _number("device.fp64_ratio", "FP32 to FP64 peak", "", "How many times the device's FP64 peak its FP32 peak is"),
    _number(
        "device.vram_peak",
        "VRAM peak of the device",
        "",
        "Bytes per second the device's VRAM can move, by its data sheet",
        "byte/s",
    ),
    _number("vram.peak_bandwidth", "VRAM peak bandwidth", "", "Bytes per second VRAM can move", "byte/s"),
    _number(
        "roofline.intensity",
        "Arithmetic intensity",
        "",
        "Floating-point operations per byte moved to or from VRAM",
    ),
    _number(
        "roofline.ridge",
        "Ridge point",
        "",
        "Intensity at which compute and memory roof meet, for the kernel's FP32/FP64 mix",
    ),
    _share(
        "roofline.compute",
        "Share of the compute roof",
        "",
        "Time the arithmetic alone would take at peak rate, over the time taken",
    ),
    _share(
        "roofline.memory",
        "Share of the memory roof",
        "",
        "Time the VRAM traffic alone would take at peak bandwidth, over the time taken",
    ),
    _share(
        "pipe.fma_use",
        "FP32 pipe use",
        "",
        "How full the FP32 pipe is: cycles busy, else instructions issued over its peak",
    ),
    _share(
        "pipe.fp64_use",
        "FP64 pipe use",
        "",
        "How full the FP64 pipe is: cycles busy, else instructions issued over its peak",
    ),
    _share("pipe.alu_use", "Integer pipe use", "", "How full the integer and logic pipe is"),
    _share(
        "pipe.fmaheavy_use",
        "Heavy FMA use",
        "",
        "How full the heavy half of the FP32 pipe is, which multiplies integers too",
    ),
    _share("pipe.fmalite_use", "Light FMA use", "", "How full the light half of the FP32 pipe is"),
    _share("pipe.xu_use", "XU pipe use", "", "How full the special-function pipe is"),
    _share("pipe.tensor_use", "Tensor pipe use", "", "How full the tensor pipe is"),
    _share("pipe.top", "Busiest pipe", "", "The fullest of the math pipes"),
    _share(
        "pipe.top_other",
        "Busiest other pipe",
        "",
        "The fullest of the math pipes other than the special-function and FP64 pipes",
    ),
    flag(
        "pipe.alu_leads",
        "Integer pipe is top",
        "1 when the profiler itself names the integer and logic pipe as the highest",
    ),
    flag(
        "pipe.all_low",
        "Math pipes are low",
        "1 when the profiler says that no FMA, ALU, FP64 or tensor pipe reaches 20 % of its peak",
    ),
    flag(
        "pipe.xu_leads", "XU pipe is top", "1 when the profiler itself names the special-function pipe as the highest"
    ),
    flag(
        "name.matrix_like",
        "Matrix-like name",
        "1 when the name suggests matrix multiplication, convolution or attention; a hint, not a fact",
    ),
    flag(
        "name.collective",
        "Collective by name",
        "1 when the name is one that communication libraries give to their kernels",
    ),
    flag(
        "work.drawn",
        "Frame",
        "1 when the capture holds draws, geometry or full-screen passes: a frame's dispatches are no launches of a compute API",
    ),
    flag("work.kernels", "Kernels", "1 when the profiler shows kernels and no draws"),
    flag(
        "name.tensor_like",
        "Tensor kernel by name",
        "1 when the name is one that libraries give to kernels of the tensor pipe",
    ),
    flag(
        "device.is_nvidia",
        "NVIDIA GPU",
        "1 when the capture is of an NVIDIA GPU, 0 when of another, missing when unknown",
    ),
    # launch shape
    _number(
        "launch.time",
        "Time of one launch",
        "low",
        "GPU time of one launch of the kernel, averaged over its repeats",
        "ns",
    ),
    _share(
        "launch.of_span",
        "Part of the span",
        "",
        "GPU time of all launches of the kernel over the span of a timeline",
    ),
    _share(
        "launch.start_share",
        "Start-up share",
        "low",
        "Share of a launch's time that an empty kernel would take too: starting, filling and draining the GPU",
    ),
    flag(
        "launch.too_short",
        "Too short to tell",
        "1 when the work is one of many tiny ranges in a row, or half of its time is start-up and drain",
    ),
    _share(
        "launch.spread",
        "Evenness of the SMs",
        "high",
        "Share of the time, without start-up, in which the average of the SMs that got work had work",
    ),
    _number("launch.resident_groups", "Groups per SM", "", "Groups that fit on one SM at a time"),
    _number(
        "launch.waves_estimate",
        "Waves per SM, estimated",
        "",
        "Launch size in full waves if only the group size limits what fits on an SM, and the device is the smallest of its generation",
    ),
    _share(
        "launch.tail_loss",
        "Lost in the last wave",
        "low",
        "Share of the time that empty slots of the last wave cost, if groups take equally long",
    ),
    _share("launch.idle_sms", "SMs without a group", "low", "Share of the SMs that never get a group"),
    _share(
        "launch.idle_lanes",
        "Lanes without a thread",
        "low",
        "Share of the lanes of a group's warps that no thread uses",
    ),
    _number("launch.group_warps", "Warps per group", "", "Warps (waves) of one group"),
    *(
        flag(f"limited_by.{k}", f"Occupancy limited by {t}", f"1 when {t} limits how many groups fit on an SM")
        for k, t in LIMITERS.items()
    ),
    _share("occupancy.gap", "Occupancy gap", "low", "Theoretical minus achieved occupancy"),
    # imbalance and latency
    *(
        _share(
            f"imbalance.{u}",
            f"{t} imbalance",
            "low",
            f"Time the busiest {t} works beyond the average one, as a share of the elapsed cycles",
        )
        for u, t in (
            ("sm", "SM"),
            ("smsp", "sub-partition"),
            ("l1tex", "L1"),
            ("l2", "L2 slice"),
            ("vram", "VRAM channel"),
        )
    ),
    _share("imbalance.top", "Largest imbalance", "low", "The largest of the imbalances"),
    _share(
        "latency.reach",
        "Reach of hiding latency",
        "",
        stated(
            "Share of the time that goes if nothing waited any more: issue slots and top unit are the bounds, {raised} of peak is as far as it gets"
        ),
    ),
)
