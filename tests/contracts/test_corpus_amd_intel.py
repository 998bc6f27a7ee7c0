"""What each real AMD and Intel export must give: dialect, rows, metrics, or the words of its refusal."""

import numpy as np
import pytest

from tests.conftest import CORPUS, needs_corpus
from tests.helpers.dialects import check_provenance, read, refusal
from triage import api
from triage.capture.source import Source

pytestmark = needs_corpus

LAUNCH = ("launch.registers", "launch.scalar_registers", "launch.shared", "launch.block_size", "launch.grid_size")
CACHES = (
    "l1tex.hit_rate",
    "l2.hit_rate",
    "valu.active_threads",
    "sm.active_warps",
    "waves.dependency_wait",
    "vram.bytes_read",
)
PEAKS = ("sm.throughput", "l1tex.throughput", "l2.throughput", "vram.throughput", "sm.occupancy", "sm.occupancy_elapsed",
         "sched.insufficient_vgprs", "sched.insufficient_waveslots", "valu.busy", "mem_unit.busy")  # fmt: skip

READ = {
    "rocprof/v1-hsatrace-kernel__results.csv": ("rocprof", 1, ("gpu.time", *LAUNCH)),
    "rocprof/v1-pmc-vecadd__output_vec_add_gpu.csv": ("rocprof", 1, ("gpu.active", "waves.launched", *LAUNCH)),
    "rocprof/v1-systrace-stats__results.stats.csv": ("rocprof-stats", 1, ("gpu.time", "frame.calls")),
    "rocprof/v3-counter-collection__counter_collection.csv": ("rocprofv3-counters", 4, ("gpu.time", "waves.launched", *LAUNCH)),
    "rocprof/v3-kernel-trace__kernel_trace.csv": ("rocprofv3-kernels", 9, ("gpu.time", *LAUNCH)),
    "rocprof/v3-kernel-names__kernel_names.csv": ("rocprofv3-counters", 4, ("waves.launched", *LAUNCH)),
    "rocprof_compute/vcopy-mi100-omniperf1": ("rocprof-compute", 1, ("gpu.time", *LAUNCH, *CACHES, *PEAKS)),
    "rocprof_compute/vcopy-mi100-omniperf1/pmc_perf.csv": ("rocprof-compute", 1, ("gpu.time", *LAUNCH, *CACHES, *PEAKS)),
    "rocprof_compute/vcopy-mi200-omniperf2": ("rocprof-compute", 3, ("gpu.time", "mfma.busy", *LAUNCH, *CACHES, *PEAKS)),
    "rocprof_compute/vcopy-mi200-omniperf2/timestamps.csv": ("rocprof-compute", 3, ("gpu.time", *LAUNCH)),
    "rocprof_compute/vcopy-mi300x-rocpd-long": ("rocprof-compute", 3, ("gpu.time", *LAUNCH, *CACHES)),
    "rocprof_compute/vcopy-mi300x-rocpd-long/pmc_perf.csv": ("rocprof-compute", 3, ("gpu.time", *LAUNCH, *CACHES)),
    "rocprof_compute/vcopy-mi300x-rpc": ("rocprof-compute", 3, (*LAUNCH, *CACHES)),
    "rocprof_compute/vcopy-mi300x-rpc/SQ_LEVEL_WAVES.csv": ("rocprof", 3, LAUNCH),
    "rocprof_compute/omni1-analysis-sol__201.csv": (
        "rocprof-compute-panel", 1, ("sm.throughput", "vram.throughput", "l1tex.throughput", "l2.hit_rate", "sm.occupancy_elapsed")),
    "rocprof/v3att-ckbmm-d1__stats_ui_output_agent_5600_dispatch_1.csv": (
        "rocprofv3-att", 1, ("waves.dependency_wait", "waves.memory_wait")),
    "rocprof/v3-pc-sampling-host-trap__pc_sampling_host_trap.csv": (
        "rocprofv3-pc-samples", 1, ("waves.dependency_wait", "waves.memory_wait")),
    "intel/oneprof-docsample__aggregated-kernel-metrics.txt": ("intel-pti", 2, ("gpu.time", "eu.active", "eu.stall", "eu.occupancy")),
    "intel/oneprof-docsample__kernel-metrics.txt": ("intel-pti", 4, ("gpu.time", "eu.active", "frame.calls")),
    "intel/oneprof-docsample__query-kernel-metrics.txt": ("intel-pti", 2, ("gpu.time", "eu.active", "launch.grid_size")),
    "intel/oneprof-docsample__raw-kernel-intervals.txt": ("intel-pti", 3, ("gpu.time", "launch.block_size")),
}  # fmt: skip
REFUSED = {
    "rocprof/v1-hipstats-vecadd__results.hip_stats.csv": "HIP API calls on the host",
    "rocprof/v3-hip-domain-stats__hip_domain_stats.csv": "sums per domain",
    "rocprof/v3-marker-api-trace__marker_api_trace.csv": "markers",
    "rocprof/v3-scratch-memory-trace__scratch_memory_trace.csv": "scratch memory",
    "rocprof_compute/omni1-analysis-wavelaunch__701.csv": "panel of Grid Size",
    "rocprof_compute/omni1-mi200-emptystub__pmc_perf.csv": "header without counters",
    "rocprof_compute/omni2-mi200-headeronly__SQ_IFETCH_LEVEL.csv": "header without counters",
    "rocprof_compute/vcopy-mi100-omniperf1/sysinfo.csv": "sysinfo.csv",
    "rocprof_compute/vcopy-mi200-omniperf2/sysinfo.csv": "sysinfo.csv",
    "rocprof_compute/vcopy-mi200-omniperf2/roofline.csv": "measured peaks of the GPU",
    "intel/oneprof-docsample__raw-metrics.txt": "whole device",
}  # fmt: skip


@pytest.mark.parametrize("path", READ)
def test_read(path: str) -> None:
    name, rows, metrics = READ[path]
    t = read(CORPUS / path, name)
    assert len(t) == rows
    for metric in metrics:
        assert metric in t.columns, metric
        assert np.isfinite(t.columns[metric].values).all(), metric
    assert not any(".kd" in n for n in t.names)
    check_provenance(t)


@pytest.mark.parametrize("path", REFUSED)
def test_refused(path: str) -> None:
    assert REFUSED[path] in refusal(CORPUS / path)


def test_figures_of_the_tool_itself() -> None:
    """Numbers that can be checked by hand against the exports."""
    c = read(CORPUS / "rocprof_compute/vcopy-mi200-omniperf2").columns
    moved = 1048576 * 8 * 2  # vcopy: one double read and one written per element
    assert c["vram.bytes_read"].values[0] + c["vram.bytes_written"].values[0] == pytest.approx(moved, rel=1e-3)
    assert c["vram.throughput"].values[0] == pytest.approx(moved / 20480e-9 / 1388.9302e9, rel=1e-3)
    assert c["launch.grid_size"].values[0] == 4096
    levels = Source(str(CORPUS / "rocprof_compute/vcopy-mi300x-rpc/SQ_LEVEL_WAVES.csv")).records([2])[2]
    accumulated, wave_cycles = float(levels[-1]), float(levels[-4])
    assert accumulated == pytest.approx(4 * wave_cycles, rel=0.01)  # SQ_WAVE_CYCLES counts in fours


# as docs/field-notes.md says of each: the first cause, or what there is to collect
FIRST = {
    "rocprof/v1-hsatrace-kernel__results.csv": ("small-grid", "rocprof -i counters.txt"),
    "rocprof/v1-pmc-vecadd__output_vec_add_gpu.csv": ("", "rocprof -i counters.txt"),
    "rocprof/v3-counter-collection__counter_collection.csv": ("", "rocprofv3"),
    "rocprof/v3-kernel-trace__kernel_trace.csv": (
        "",
        "rocprofv3",
    ),  # nine operations: too few to judge gaps of microseconds
    "rocprof/v3-kernel-names__kernel_names.csv": ("", "rocprofv3"),
    "rocprof_compute/vcopy-mi100-omniperf1": ("memory-latency", "rocprof-compute profile"),
    "rocprof_compute/vcopy-mi200-omniperf2": ("memory-latency", "rocprof-compute profile"),
    "rocprof_compute/vcopy-mi300x-rocpd-long": ("memory-latency", ""),  # lacks only what an MI300X does not count
    "rocprof_compute/vcopy-mi300x-rpc": ("", "rocprof-compute profile"),
    "rocprof_compute/omni1-analysis-sol__201.csv": ("vram-bandwidth", "rocprof-compute profile"),
    "intel/oneprof-docsample__aggregated-kernel-metrics.txt": ("", "unitrace -q -g"),
    "intel/oneprof-docsample__kernel-metrics.txt": ("", "unitrace -q -g"),
    "intel/oneprof-docsample__query-kernel-metrics.txt": ("", "unitrace -q -g"),
    "intel/oneprof-docsample__raw-kernel-intervals.txt": ("", "unitrace -q -g"),
}


@pytest.mark.slow
@pytest.mark.parametrize("path", FIRST)
def test_the_first_cause_is_the_one_written_down(path: str) -> None:
    """States of a workload (low throughput, near its limit) are no causes."""
    cause, command = FIRST[path]
    result = api.diagnose(CORPUS / path).to_dict()
    found = [f["cause"] for f in result["findings"] if f["cause"] not in ("low-throughput", "near-limit")]
    assert (found[0] if found else "") == cause
    asked = [s["collect"] or "" for s in result["blind_spots"]] + [result["frame"].get("unjudged_collect") or ""]
    assert not command or any(command in c for c in asked)
