"""The pairs: one entry per pair of kernels, with its fix and the rules that may name its cause."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Defect:
    """A pair `<name>_slow` / `<name>_fixed` in <folder>/<name>.cu."""

    name: str
    title: str
    fix: str
    rules: tuple[str, ...]  # any of these, ranked first, is a right diagnosis
    launches: int = 1  # how many launches of the slow kernel the profiler records
    folder: str = "kernels"

    @property
    def slow(self) -> str:
        """Name of the slow kernel, as an export shows it."""
        return f"{self.name}_slow"

    @property
    def fixed(self) -> str:
        """Name of the fixed kernel."""
        return f"{self.name}_fixed"


SEEN: tuple[Defect, ...] = (
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
            ("barrier-stalls", "shared-memory-traffic")),
    Defect("launch_bound_sequence", "launch-bound sequence of tiny kernels", "fuse the launches",
            ("launch-bound-sequence",), launches=32),
    Defect("non_fused_arithmetic", "non-fused arithmetic", "fused multiply-add", ("non-fused-arithmetic",)),
    Defect("strided_l2_thrash", "strided L2 thrash", "block order that shares inputs",
            ("poor-l2-hit-rate", "vram-bandwidth")),
)  # fmt: skip

# Written with their truth by an author who had not read a rule, before anything was measured; `rules` are that author's
# words as rule names, also where the diagnosis then said otherwise.
BLIND: tuple[Defect, ...] = (
    Defect("gemm_transposed_tile", "matrix product with a tile read across its banks",
            "pad the rows of the tile by one word", ("shared-bank-conflicts",)),
    Defect("weighted_histogram_skewed", "skewed weighted histogram in shared memory",
            "background bin in a register", ("shared-atomics", "shared-bank-conflicts")),
    Defect("temporal_filter", "filter over time that re-reads frames",
            "one thread makes a pixel of all frames", ("vram-bandwidth", "poor-l2-hit-rate")),
    Defect("channel_stats", "one block per channel", "32 blocks per channel", ("small-grid",)),
    Defect("softmax_rows", "softmax with a thread per row", "a warp per row",
            ("uncoalesced-global-loads", "uncoalesced-global-stores")),
    Defect("crop_index_math", "64-bit index arithmetic per element", "32-bit arithmetic once per row",
            ("integer-pipe-bound", "issue-limited-kernel")),
    Defect("sequence_counts_local", "count array in local memory", "counters in shared memory",
            ("local-memory-traffic",)),
    Defect("label_gather", "gather from a table larger than the L2", "bytes instead of 32-bit labels",
            ("uncoalesced-global-loads", "poor-l2-hit-rate", "long-scoreboard-stalls")),
    Defect("ragged_rows", "uneven rows dealt statically", "rows taken from a counter", ("uneven-units",)),
    Defect("block_radix_split", "block sort with a barrier-heavy scan", "ballots and one scan of warp totals",
            ("barrier-stalls",)),
    Defect("layernorm_passes", "layer norm in three passes", "row held in registers",
            ("vram-bandwidth", "poor-l2-hit-rate")),
    Defect("ode_double_literals", "double literals in float code", "float literals", ("fp64-on-slow-pipe",)),
    Defect("half_scale_bias", "FP16 one element at a time", "eight elements per thread",
            ("long-scoreboard-stalls", "too-few-bytes-in-flight")),
    Defect("particle_export", "array of structures written field by field", "staged through shared memory",
            ("uncoalesced-global-stores",)),
)  # fmt: skip

DEFECTS = SEEN + BLIND


def unmeasured() -> tuple[Defect, ...]:
    """Pairs whose truth was written before any measurement; their causes stand in place of rules, none for controls."""
    path = Path(__file__).resolve().parent / "unmeasured" / "truth.json"
    return tuple(
        Defect(p["name"], p["cause"], p["fix"], tuple(p["causes"]), p["launches"], "unmeasured")
        for p in json.loads(path.read_text(encoding="utf-8"))
    )
