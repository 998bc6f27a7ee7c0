"""Why a warp waits: the stall reasons that profilers report, in words."""

from __future__ import annotations

MIN_REASONS = 4  # of fewer stall reasons the sum is unknown
STALLS: dict[str, str] = {
    "long_scoreboard": "waiting for data from L1/TEX: local, global, surface or texture memory",
    "short_scoreboard": "waiting for the memory input/output queue: shared memory, special math, dynamic branches",
    "barrier": "waiting for sibling warps at a thread-group barrier",
    "membar": "waiting on a memory barrier",
    "lg_throttle": "waiting for a free slot in the local/global memory instruction queue",
    "tex_throttle": "waiting for a free slot in the TEX instruction queue",
    "mio_throttle": "waiting for a free slot in the memory input/output instruction queue",
    "math_pipe_throttle": "waiting for a math pipe that is busy",
    "wait": "a fixed-latency dependency",
    "drain": "waiting for outstanding stores at the end of the warp",
    "imc_miss": "waiting for an immediate-constant cache miss",
    "no_instruction": "waiting for an instruction fetch",
    "branch_resolving": "waiting for a branch target",
    "dispatch_stall": "the dispatcher held back an otherwise ready instruction",
    "not_selected": "ready, but another warp was issued",
    "selected": "issuing an instruction",
    "sleeping": "all threads of the warp sleep",
    "gmma": "waiting for the warp-group matrix unit",
    "misc": "other reasons",
    "allocation_stall": "waiting for an allocation",
    "tile_allocation_stall": "waiting for a tile allocation",
}
