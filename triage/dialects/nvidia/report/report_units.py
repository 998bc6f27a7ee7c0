"""Units of Nsight Compute's metrics by name: a report stores none, and its values are in base units.

The names follow PerfWorks' grammar (NVIDIA, Nsight Compute Profiling Guide, "Metrics Structure"); what the tool prints
for the others is as its raw page has it.
"""

from __future__ import annotations

import re
from functools import lru_cache

_EXACT = {
    "derived__pct_occupancy_per_block_size": "%",
    "launch__cluster_max_active": "cluster",
    "launch__persisting_l2_cache_size": "byte",
    "launch__registers_per_thread": "register/thread",
    "launch__registers_per_thread_allocated": "register/thread",
    "launch__shared_mem_config_size": "byte",
    "launch__thread_count": "thread",
    "launch__sm_count": "SM",
}
# the first pattern that is found in the name decides; `rate`, `per cycle` and `stem`: by what is counted, see `unit`
_RULES = tuple(
    (re.compile(pattern), unit)
    for pattern, unit in (
        (r"^launch__(occupancy_limit|block_dim)", "block"),
        (r"^launch__shared_mem_per_block", "byte/block"),
        (r"^launch__.*(_pct|percentage)", "%"),
        (r"^launch__", ""),
        (r"^(device__attribute|numa|nvlink|sass)_", ""),
        (r"^derived__pct_occupancy_per_register", "%/register"),
        (r"^derived__pct_occupancy_per_shared", "%/byte"),
        (r"^derived__pct_occupancy_per_barrier", ""),
        (r"pct_of_peak|\.pct|_pct|percentage", "%"),
        (r"^l1tex__t_requests", ""),
        (r"_passes", "pass"),
        (r"pmsampler_.*_samples", "sample"),
        (r"bytes_per_sector", "byte/sector"),
        (r"average_.*sectors", "sector"),
        (r"average_warp.*latency|issue_stalled.*_per_warp_active|average_warps_active_per_inst_executed", "cycle"),
        (r"_per_issue_active", "inst"),
        (r"_per_inst_executed\.ratio", ""),
        (r"branch_targets_threads_divergent|stalled_branch_resolving", "branches"),
        (r"stalled_no_instruction", "inst"),
        (r"^memory_l\d_(theoretical_sectors|wavefronts|tag_requests)", "sectors"),
        (r"^(derived__)?memory_l1_", ""),
        (r"\.per_second", "rate"),
        (r"\.per_cycle_(active|elapsed)|\.peak_sustained", "per cycle"),
        (r"", "stem"),
    )
)
_STEMS = tuple(
    (re.compile(pattern), unit)
    for pattern, unit in (
        (r"time_duration|interval_time", "ns"),
        (r"bytes", "byte"),
        (r"sectors", "sector"),
        (r"requests", "request"),
        (r"warps", "warp"),
        (r"cycles|_active(_|$)", "cycle"),
        (r"ctas", "block"),
        (r"avg_thread_executed|threads", "thread"),
        (r"inst", "inst"),
    )
)


_COUNTED = re.compile(r"[^.]*__[^.]*|.*")  # without the prefixes of PM sampling and the suffixes of roll-ups


@lru_cache(16_384)
def unit(name: str) -> str:
    """Unit of a metric's value in a report, as the raw page prints it with base units; "" where it has none."""
    if name in _EXACT:
        return _EXACT[name]
    found = next(text for pattern, text in _RULES if pattern.search(name))
    if found not in ("rate", "per cycle", "stem"):
        return found
    counted = _COUNTED.search(name)
    base = _stem(counted[0] if counted else name)
    if found == "rate":
        return "hz" if base == "cycle" else f"{base}/s" if base else ""
    if found == "per cycle":
        return base if base == "warp" else f"{base}/cycle" if base not in ("", "cycle") else ""
    return base


def _stem(name: str) -> str:
    return next((text for pattern, text in _STEMS if pattern.search(name)), "")
