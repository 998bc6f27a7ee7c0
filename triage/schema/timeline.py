"""Facts of a timeline over a whole capture: idle time by reason, copies, launches, several devices.

Shares are of the time of all devices together (first start to last end of each, added up). Computed by
triage/diagnosis/timeline_facts.py from triage/capture/timeline.
"""

from triage.schema._metric import Metric


def _idle(name: str, label: str, meaning: str) -> Metric:
    return Metric(f"idle.{name}", "ratio", label, "low", f"Share of device time: {meaning}")


def _count(name: str, label: str, meaning: str) -> Metric:
    return Metric(f"timeline.{name}", "count", label, "", meaning, bounded=False)


def _time(name: str, label: str, meaning: str) -> Metric:
    return Metric(f"timeline.{name}", "ns", label, "low", meaning)


METRICS = (
    _idle("total", "Devices idle", "no work on the device"),
    _idle(
        "sync",
        "Idle: host sync",
        "gaps that began in a host wait, without loading or allocation in them",
    ),
    _idle("copy", "Idle: copy calls", "gaps that began in a host copy call, and copy calls before copies"),
    _idle("allocation", "Idle: allocation", "the host allocated or freed memory, after the first tenth of the span"),
    _idle(
        "start", "Idle: module loading", "the host loaded or compiled code, or allocated in the first tenth of the span"
    ),
    _idle("launch", "Idle: launch latency", "a launch call was in progress, or the launch had not started yet"),
    _idle("host", "Idle: host code", "the launching thread was outside the API, or in a call that submits no work"),
    _idle("loader", "Idle: data loader", "the host waited for the next batch of the framework's data loader"),
    _idle(
        "loader_own",
        "Idle: loading thread",
        "the launching thread made the next batch itself, in a loader without workers",
    ),
    _idle(
        "optimizer",
        "Idle: optimizer per parameter",
        "launches, and the code between them, of an optimizer that updates its parameters one by one",
    ),
    _idle("transition", "Idle between queued kernels", "gaps below 20 µs with the next work already submitted"),
    _idle("queued", "Idle: queued work", "gaps from 20 µs on with the next work already submitted"),
    _idle("profiler", "Idle: profiler overhead", "the profiler flushed buffers or instrumented code"),
    _idle("unknown", "Idle: unknown", "launch call of the next work not recorded"),
    _time("kernel", "Median kernel", "Median duration of a kernel"),
    _time("kernel_mean", "Mean kernel", "Time of all kernels and graph launches over their number"),
    _time("launch_call", "Median launch call", "Median time of the host calls that started kernels"),
    _time("copy_call", "Median copy call", "Median time of the host calls that started copies"),
    _time("copy_transfer", "Median transfer", "Median time that a copy took on the device"),
    _count("operations", "Operations", "Kernels, copies, sets and graph launches of all devices"),
    _count("kernels", "Kernels", "Kernels and graph launches of all devices"),
    _count("copies", "Copies", "Copies of all devices"),
    _count("pageable", "Pageable copies", "Copies between the device and pageable host memory"),
    _count("small_copies", "Small copies", "Host-device copies below 64 KiB"),
    _count("devices", "Devices", "Devices with work"),
    Metric(
        "timeline.syncs_per_kernel",
        "count",
        "Host syncs per kernel",
        "low",
        "Synchronising calls of the host over kernels and graph launches",
        bounded=False,
    ),
    Metric(
        "timeline.small_copy_share",
        "ratio",
        "Share of small copies",
        "low",
        "Host-device copies below 64 KiB, of all copies",
    ),
    Metric(
        "timeline.bus_alone",
        "ratio",
        "Exposed host-device copies",
        "low",
        "Share of device time with host-device copies and no kernel",
    ),
    Metric(
        "timeline.pageable_alone",
        "ratio",
        "Exposed pageable copies",
        "low",
        "Share of the devices' span with copies from or to pageable memory, 64 KiB and more each, and no kernel",
    ),
    Metric(
        "timeline.pageable_rate",
        "ratio",
        "Pageable copies, of PCIe peak",
        "high",
        "Bytes of these copies over their time, over the peak of PCIe",
    ),
    Metric(
        "timeline.in_graphs",
        "ratio",
        "Kernels in graphs",
        "",
        "Kernels that a graph launch started, of those whose call was recorded",
    ),
    Metric(
        "timeline.hideable",
        "ratio",
        "Hideable copies",
        "low",
        "Share of device time that copies and kernels would share if they overlapped perfectly",
    ),
    Metric(
        "timeline.collective_wait",
        "ratio",
        "Collective wait",
        "low",
        "Share of device time in collective kernels beyond the time of the last device",
    ),
    Metric(
        "timeline.rank_wait",
        "ratio",
        "Wait for the last rank",
        "low",
        "Share of a rank's device time in collectives beyond the time of the rank that came to them last",
    ),
    Metric(
        "timeline.exposed_comm",
        "ratio",
        "Exposed communication",
        "low",
        "Share of device time in NCCL or RCCL kernels with no other kernel",
    ),
    Metric(
        "timeline.comm_in_line",
        "ratio",
        "Communication in line with computation",
        "low",
        "Share of device time in NCCL or RCCL kernels on streams that run other kernels as well",
        bounded=False,
    ),
    Metric(
        "collectives.rate",
        "byte/s",
        "Bus bandwidth of collectives",
        "high",
        "Bus bandwidth of the fastest large collective",
    ),
    Metric(
        "collectives.link_share",
        "ratio",
        "Bus bandwidth of collectives, of PCIe",
        "high",
        "Bus bandwidth of the fastest large collective over the peak of one GPU's PCIe link",
        bounded=False,
    ),
    Metric(
        "collectives.excess",
        "ratio",
        "Slow collectives",
        "low",
        "Share of device time in large collectives beyond their time at half of the PCIe peak",
    ),
    Metric(
        "timeline.comm_hideable",
        "ratio",
        "Hideable communication",
        "low",
        "Share of device time that communication and compute would share if they overlapped perfectly",
    ),
    Metric(
        "timeline.collectives",
        "ratio",
        "Time in collectives",
        "",
        "Share of device time in collective kernels (NCCL, RCCL)",
        bounded=False,
    ),
    Metric(
        "timeline.imbalance",
        "ratio",
        "Uneven devices",
        "low",
        "Busy time that the least busy device lacks, as a share of the busiest one's",
    ),
    Metric(
        "timeline.uneven",
        "ratio",
        "Device imbalance",
        "low",
        "Share of device time by which the busiest device is busy longer than the average",
    ),
    Metric("timeline.pace", "ratio", "Busiest device's load", "", "Busy share of the busiest device's own span"),
    Metric(
        "timeline.fewest_kernels",
        "ratio",
        "Kernels of the least used device",
        "",
        "Kernels and graph launches of the device with the fewest, as a share of those of the device with the most",
    ),
)
