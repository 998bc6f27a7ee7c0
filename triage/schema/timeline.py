"""What a timeline says of a whole capture: idle time by what is to blame, copies, launches, several devices.

Shares are of the span of all devices together (first start to last end of each, added up). Computed by
triage/diagnosis/timeline_facts.py from triage/capture/timeline.
"""

from triage.schema._metric import Metric


def _idle(name: str, label: str, meaning: str) -> Metric:
    return Metric(f"idle.{name}", "ratio", label, "low", f"Share of the devices' span: {meaning}")


def _count(name: str, label: str, meaning: str) -> Metric:
    return Metric(f"timeline.{name}", "count", label, "", meaning, bounded=False)


def _time(name: str, label: str, meaning: str) -> Metric:
    return Metric(f"timeline.{name}", "ns", label, "low", meaning)


METRICS = (
    _idle("total", "Devices idle", "nothing ran"),
    _idle(
        "sync",
        "Idle for synchronisations",
        "gaps that began in a wait of the host, without loading and allocating in them",
    ),
    _idle("copy", "Idle for copies", "gaps that began in a copy call of the host, and copy calls before copies"),
    _idle(
        "allocation", "Idle for allocations", "the host allocated or freed memory, after the first tenth of the span"
    ),
    _idle("start", "Idle for loading", "the host loaded or compiled code, or allocated in the first tenth of the span"),
    _idle("launch", "Idle for launches", "the host was in a launch call, or the launch was on its way"),
    _idle(
        "host", "Idle for the host", "the launching thread was outside the runtime, or in a call that starts nothing"
    ),
    _idle("transition", "Idle between queued kernels", "gaps below 20 µs whose next work had been submitted before"),
    _idle("queued", "Idle with work queued", "gaps from 20 µs on whose next work had been submitted before"),
    _idle("profiler", "Idle for the profiler", "the profiler flushed buffers or instrumented code"),
    _idle("unknown", "Idle, cause unknown", "no call of the host is recorded for what ended the gap"),
    _time("kernel", "Median kernel", "Median duration of a kernel"),
    _time("kernel_mean", "Mean kernel", "Time of all kernels and graph launches over their number"),
    _time("launch_call", "Median launch call", "Median time of the host calls that started kernels"),
    _time("copy_call", "Median copy call", "Median time of the host calls that started copies"),
    _time("copy_transfer", "Median transfer", "Median time that a copy took on the device"),
    _count("operations", "Operations", "Kernels, copies, sets and graph launches of all devices"),
    _count("kernels", "Kernels", "Kernels and graph launches of all devices"),
    _count("copies", "Copies", "Copies of all devices"),
    _count("pageable", "Pageable copies", "Copies between the device and memory of the host that is not pinned"),
    _count("small_copies", "Small copies", "Copies over the bus of less than 64 KiB"),
    _count("devices", "Devices", "Devices with work"),
    Metric(
        "timeline.syncs_per_kernel",
        "count",
        "Waits per kernel",
        "low",
        "Synchronising calls of the host over kernels and graph launches",
        bounded=False,
    ),
    Metric(
        "timeline.small_copy_share",
        "ratio",
        "Share of small copies",
        "low",
        "Copies over the bus of less than 64 KiB, of all copies",
    ),
    Metric(
        "timeline.bus_alone",
        "ratio",
        "Bus copies alone",
        "low",
        "Share of the devices' span in which data went over the bus and no kernel ran beside it",
    ),
    Metric(
        "timeline.hideable",
        "ratio",
        "Copies that could hide",
        "low",
        "Share of the devices' span that copies and kernels would share if they overlapped perfectly",
    ),
    Metric(
        "timeline.collective_wait",
        "ratio",
        "Waiting in collectives",
        "low",
        "Share of the devices' span in collective kernels beyond the time of the device that came last",
    ),
    Metric(
        "timeline.collectives",
        "ratio",
        "Time in collectives",
        "",
        "Share of the devices' span in collective kernels (NCCL, RCCL)",
        bounded=False,
    ),
    Metric(
        "timeline.imbalance",
        "ratio",
        "Uneven devices",
        "low",
        "By how much the least busy device is busy less than the busiest",
    ),
    Metric(
        "timeline.uneven",
        "ratio",
        "Waiting for the busiest device",
        "low",
        "Share of the devices' span by which the busiest device is busy longer than the average one",
    ),
    Metric(
        "timeline.pace", "ratio", "Busiest device's load", "", "Share of its own span in which the busiest device works"
    ),
    Metric(
        "timeline.fewest_kernels",
        "ratio",
        "Kernels of the least used device",
        "",
        "Kernels and graph launches of the device with the fewest, as a share of those of the device with the most",
    ),
)
