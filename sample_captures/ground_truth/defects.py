"""The pairs: one entry per pair of kernels, with its fix and the rules that may name its cause."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Defect:
    """A pair `<name>_slow` / `<name>_fixed` in kernels/<name>.cu."""

    name: str
    title: str
    fix: str
    rules: tuple[str, ...]  # any of these, ranked first, is a right diagnosis
    launches: int = 1  # how many launches of the slow kernel the profiler records

    @property
    def slow(self) -> str:
        """Name of the slow kernel, as an export shows it."""
        return f"{self.name}_slow"

    @property
    def fixed(self) -> str:
        """Name of the fixed kernel."""
        return f"{self.name}_fixed"


DEFECTS: tuple[Defect, ...] = (
    Defect("uncoalesced_loads", "uncoalesced global loads", "structure of arrays",
            ("uncoalesced-global-loads",)),
    Defect("uncoalesced_stores", "uncoalesced global stores", "structure of arrays",
            ("uncoalesced-global-stores",)),
    Defect("shared_bank_conflicts", "shared-memory bank conflicts", "pad the rows by one word",
            ("shared-bank-conflicts",)),
    Defect("low_occupancy_registers", "low occupancy by registers", "weights in shared memory",
            ("low-theoretical-occupancy", "register-limited-kernel", "shared-limited-kernel", "low-occupancy-sm")),
    Defect("low_occupancy_shared", "low occupancy by shared memory", "ring buffer instead of whole history",
            ("low-theoretical-occupancy", "register-limited-kernel", "shared-limited-kernel", "low-occupancy-sm")),
    Defect("tiny_grid", "tiny grid", "two blocks per SM", ("small-grid",)),
    Defect("tail_effect", "tail effect", "one block per SM, work dealt in thin slices", ("tail-effect",)),
    Defect("divergent_branches", "divergent branches", "regroup items so that a warp has one kind",
            ("divergent-warps",)),
    Defect("dependent_loads", "dependent-load latency", "computed addresses, eight loads in flight",
            ("long-scoreboard-stalls", "texture-latency")),
    Defect("bandwidth_bound_copy", "bandwidth-bound copy", "sixteen passes fused into one",
            ("vram-bandwidth",)),
    Defect("fp32_bound", "FP32-bound", "strength reduction to a closed form", ("fp32-pipe-bound",)),
    Defect("special_function_bound", "special-function-bound", "recurrence instead of a sine per term",
            ("special-function-bound",)),
    Defect("fp64_unneeded", "FP64 where FP32 would do", "float constants and accumulator",
            ("fp64-on-slow-pipe",)),
    Defect("atomics_contention", "atomics contention", "aggregate per thread, warp and block",
            ("atomics-contention",)),
    Defect("register_spills", "register spills to local memory", "lift the register limit",
            ("register-spills",)),
    Defect("barrier_heavy", "barrier-heavy blocks", "one warp per tile, shuffles instead of barriers",
            ("barrier-stalls",)),
    Defect("launch_bound_sequence", "launch-bound sequence of tiny kernels", "fuse the launches",
            ("launch-bound-sequence",), launches=32),
    Defect("non_fused_arithmetic", "non-fused arithmetic", "fused multiply-add", ("non-fused-arithmetic",)),
    Defect("strided_l2_thrash", "strided L2 thrash", "block order that shares inputs",
            ("poor-l2-hit-rate",)),
)  # fmt: skip
