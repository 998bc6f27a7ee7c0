"""The patients: one entry per pair of kernels, with its cure and the rules that may name its cause."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Illness:
    """A pair `<name>_ill` / `<name>_cured` in kernels/<name>.cu."""

    name: str
    title: str
    cure: str
    rules: tuple[str, ...]  # any of these, ranked first, is a right diagnosis
    launches: int = 1  # how many launches of the ill kernel the profiler records

    @property
    def ill(self) -> str:
        """Name of the ill kernel, as an export shows it."""
        return f"{self.name}_ill"

    @property
    def cured(self) -> str:
        """Name of the cured kernel."""
        return f"{self.name}_cured"


ILLNESSES: tuple[Illness, ...] = (
    Illness("uncoalesced_loads", "uncoalesced global loads", "structure of arrays",
            ("uncoalesced-global-loads",)),
    Illness("uncoalesced_stores", "uncoalesced global stores", "structure of arrays",
            ("uncoalesced-global-stores",)),
    Illness("shared_bank_conflicts", "shared-memory bank conflicts", "pad the rows by one word",
            ("shared-bank-conflicts",)),
    Illness("low_occupancy_registers", "low occupancy by registers", "weights in shared memory",
            ("low-theoretical-occupancy", "register-limited-kernel", "shared-limited-kernel", "low-occupancy-sm")),
    Illness("low_occupancy_shared", "low occupancy by shared memory", "ring buffer instead of whole history",
            ("low-theoretical-occupancy", "register-limited-kernel", "shared-limited-kernel", "low-occupancy-sm")),
    Illness("tiny_grid", "tiny grid", "two blocks per SM", ("small-grid",)),
    Illness("tail_effect", "tail effect", "one block per SM, work dealt in thin slices", ("tail-effect",)),
    Illness("divergent_branches", "divergent branches", "regroup items so that a warp has one kind",
            ("divergent-warps",)),
    Illness("dependent_loads", "dependent-load latency", "computed addresses, eight loads in flight",
            ("long-scoreboard-stalls", "texture-latency")),
    Illness("bandwidth_bound_copy", "bandwidth-bound copy", "sixteen passes fused into one",
            ("vram-bandwidth",)),
    Illness("fp32_bound", "FP32-bound", "strength reduction to a closed form", ("fp32-pipe-bound",)),
    Illness("special_function_bound", "special-function-bound", "recurrence instead of a sine per term",
            ("special-function-bound",)),
    Illness("fp64_unneeded", "FP64 where FP32 would do", "float constants and accumulator",
            ("fp64-on-slow-pipe",)),
    Illness("atomics_contention", "atomics contention", "aggregate per thread, warp and block",
            ("atomics-contention",)),
    Illness("register_spills", "register spills to local memory", "lift the register limit",
            ("register-spills",)),
    Illness("barrier_heavy", "barrier-heavy blocks", "one warp per tile, shuffles instead of barriers",
            ("barrier-stalls",)),
    Illness("launch_bound_sequence", "launch-bound sequence of tiny kernels", "fuse the launches",
            ("launch-bound-sequence",), launches=32),
    Illness("non_fused_arithmetic", "non-fused arithmetic", "fused multiply-add", ("non-fused-arithmetic",)),
    Illness("strided_l2_thrash", "strided L2 thrash", "block order that shares inputs",
            ("poor-l2-hit-rate",)),
)  # fmt: skip
