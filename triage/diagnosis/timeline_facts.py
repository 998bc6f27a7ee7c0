"""Facts of a timeline for frame rules: shares of the span of all devices, each with its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil

from triage.capture.arrays import Facts
from triage.capture.trace_nouns import DeviceTimeline, Timeline
from triage.ground.phrasing import first_of, over, percent, plural
from triage.ground.units import show

# metric -> classes of gaps whose blame it adds up
IDLE_CAUSES = {
    "idle.sync": ("sync",),
    "idle.copy": ("memcpy",),
    "idle.launch": ("launch",),
    "idle.host": ("host", "api"),
    "idle.profiler": ("profiler",),
    "idle.unknown": ("unknown",),
}


def timeline_facts(t: Timeline, frame_ns: float, bus: float | None = None) -> Facts:
    """All facts of a timeline; frame_ns: time that shares are of. bus: bytes per s of PCIe. Without calls of the host no cause of idle time is known."""
    devices = t.judged
    if frame_ns <= 0:
        return {}

    def total(of: Callable[[DeviceTimeline], float]) -> float:
        return float(sum(of(d) for d in devices))

    kernels = total(lambda d: d.kernels + d.graph_launches)
    copies = total(lambda d: d.copies)
    out = _shares(devices, frame_ns, _OF_DEVICES) | {
        "timeline.devices": (float(len(devices)), "devices with work"),
        "timeline.kernels": (kernels, "kernels and graph launches"),
        "timeline.copies": (copies, "copies"),
        "timeline.pageable": (total(lambda d: d.pageable_copies), "copies with pageable host memory"),
        "timeline.small_copies": (total(lambda d: d.small_copies), "host-device copies below 64 KiB"),
        "timeline.comm_hideable": (
            total(lambda d: min(d.exposed_comm_ns, d.compute_ns - (d.comm_ns - d.exposed_comm_ns))) / frame_ns,
            "the shorter of exposed communication and compute beside none",
        ),
    }
    alone, text = out["timeline.bus_alone"]
    up, down = total(lambda d: d.h2d_bytes), total(lambda d: d.d2h_bytes)
    sent = [f"{show(n, 'byte')} {way}" for n, way in ((up, "to the device"), (down, "back")) if n > 0.01 * (up + down)]
    out["timeline.bus_alone"] = (alone, "; ".join([text, *sent]))
    if bus and (took := total(lambda d: d.pageable_ns)):
        moved = total(lambda d: d.pageable_bytes)
        text = f"{show(moved, 'byte')} in {show(took, 'ns')}, PCIe peak {show(bus, 'byte/s')}"
        out["timeline.pageable_rate"] = (min(moved / took * 1e9 / bus, 1.0), text)
    if called := total(lambda d: d.called):
        out["timeline.in_graphs"] = (total(lambda d: d.graph_nodes) / called, "kernels of graph launches / kernels")
    medians = [d.median_kernel_ns for d in devices if d.median_kernel_ns is not None]
    if medians:  # that of the device with most kernels
        most = max((d for d in devices if d.median_kernel_ns is not None), key=lambda d: d.kernels)
        out["timeline.kernel"] = (float(most.median_kernel_ns or 0), "median duration of a kernel")
    if kernels:
        busy = total(lambda d: d.busy_ns - d.copies_alone_ns)
        out["timeline.kernel_mean"] = (busy / kernels, "time of kernels and graph launches / their number")
    if copies:
        out["timeline.small_copy_share"] = (out["timeline.small_copies"][0] / copies, "host-device copies below 64 KiB / copies")  # fmt: skip
        busiest_bus = max(devices, key=lambda d: d.copies)
        out["timeline.copy_transfer"] = (busiest_bus.median_copy_ns or 0.0, "median time of a copy on the device")
    if len(devices) > 1:
        pace, least = (f(devices, key=lambda d: d.busy_ns) for f in (max, min))
        fewest, most_kernels = (f(d.kernels + d.graph_launches for d in devices) for f in (min, max))
        text = _each(devices, lambda d: d.busy_ns)
        uneven = len(devices) * pace.busy_ns - total(lambda d: d.busy_ns)
        out |= {
            "timeline.imbalance": (1 - least.busy_ns / pace.busy_ns if pace.busy_ns else 0.0, text),
            "timeline.uneven": (uneven / frame_ns, text),
            "timeline.pace": (pace.busy_ns / max(pace.span_ns, 1), f"device {pace.key}: busy / span"),
        }
        if most_kernels:
            text = "kernels of the device with the fewest / with the most"
            out["timeline.fewest_kernels"] = (fewest / most_kernels, text)
        if total(lambda d: d.collective_ns):
            last = min(devices, key=lambda d: d.wait_ns)
            out["timeline.collective_wait"] = (
                total(lambda d: d.wait_ns) / frame_ns,
                f"{_each(devices, lambda d: d.wait_ns)}; device {last.key} waits least",
            )
    if apart := t.steady - t.start:
        out["timeline.start"] = (apart / (t.end - t.start), f"the first {show(float(apart), 'ns')}")
    out |= _of_job(t, frame_ns)
    if not t.has_judged_gaps:
        return {metric: fact for metric, fact in out.items() if not metric.startswith("idle.")}
    return out | (_of_host(t, frame_ns, kernels) if t.host is not None else {})


def _of_job(t: Timeline, frame_ns: float) -> Facts:
    """Facts of a rank whose job's other traces were read with it; none elsewhere."""
    if not t.job:
        return {}
    last = [r.last for r in t.job]
    return {
        "timeline.rank_wait": (t.job[t.mine].wait_ns / frame_ns, _ranks(t)),
        "timeline.last_rank": (max(last) / max(sum(last), 1), "the rank that comes last most often"),
        "timeline.ranks_given": (len(t.job) / t.world, f"{len(t.job):,} of {t.world:,} ranks"),
    }


def _of_host(t: Timeline, frame_ns: float, kernels: float) -> Facts:
    """Facts that need recorded calls of the host."""
    devices, host = t.judged, t.host
    assert host is not None

    out = _shares(devices, frame_ns, _host_parts(t))
    words = {
        "idle.sync": _held(devices, "sync"),
        "idle.copy": _held(devices, "memcpy"),
        "idle.host": _doing(devices),
        "idle.loader": _batches(t),
        "idle.loader_own": _batches(t),
    }
    for metric, doing in words.items():
        share, text = out[metric]
        out[metric] = (share, "; ".join(filter(None, (text, doing))))
    waits = max(devices, key=lambda d: d.loading_own_ns)
    if waits.loading_own_ns and waits.loading_used_ns:
        workers = float(ceil(waits.loading_ns / waits.loading_used_ns))
        out["idle.loader_workers"] = (workers, "time of a batch / time in which the loop uses one, rounded up")
    if host.median_launch_ns is not None:
        out["timeline.launch_call"] = (host.median_launch_ns, "median time of the calls that started kernels")
    if host.median_copy_ns is not None:
        out["timeline.copy_call"] = (host.median_copy_ns, "median time of the calls that started copies")
    if kernels:
        out["timeline.syncs_per_kernel"] = (host.syncs / kernels, f"{host.syncs:,} host syncs / {kernels:,.0f} kernels")
    return out


def _host_parts(t: Timeline) -> dict[str, Callable[[DeviceTimeline], float]]:
    """Idle time of one device by what the host did."""
    devices = t.judged

    def blamed(*causes: str) -> Callable[[DeviceTimeline], float]:
        return lambda d: float(sum(d.gap(c).blamed_ns for c in causes))

    def start(d: DeviceTimeline) -> float:
        return (0.0 if t.sliced else float(d.cold_ns)) + d.slow_launch_ns + d.once_ns

    def late(d: DeviceTimeline) -> float:
        return blamed("load", "alloc")(d) - (0.0 if t.sliced else d.cold_ns)

    def launch(d: DeviceTimeline) -> float:
        return max(0.0, blamed("launch")(d) - d.slow_launch_ns - d.optimizer_launch_ns)

    def host_code(d: DeviceTimeline) -> float:
        return max(0.0, blamed(*IDLE_CAUSES["idle.host"])(d) - d.loading_ns - d.optimizer_host_ns - d.once_ns)

    parts: dict[str, Callable[[DeviceTimeline], float]] = {
        metric: blamed(*causes) for metric, causes in IDLE_CAUSES.items()
    }
    parts |= {
        "idle.launch": launch,
        "idle.host": host_code,
        "idle.optimizer": lambda d: d.optimizer_launch_ns + d.optimizer_host_ns,
        "idle.loader": lambda d: d.loading_ns,
        "idle.loader_own": lambda d: d.loading_own_ns,
        "idle.earlier": lambda d: d.earlier_ns,
        "idle.start": start,
        "idle.transition": lambda d: d.transition_ns,
        "idle.queued": lambda d: blamed("queued")(d) - d.transition_ns,
        "idle.allocation": late,
    }
    if any(d.framework_ns for d in devices):
        parts["idle.framework"] = lambda d: min(max(d.framework_ns - d.stalled_ns, 0), host_code(d))
    if any(d.host_work_ns for d in devices):
        parts["idle.host_work"] = lambda d: min(d.host_work_ns, host_code(d))
    if any(d.stalled_ns for d in devices):
        parts["idle.stalled"] = lambda d: min(d.stalled_ns, host_code(d))
    if any(d.system_ns for d in devices):
        parts["idle.system"] = lambda d: min(d.system_ns, host_code(d))
    return parts


def devices_behind(t: Timeline) -> dict[str, list[str]]:
    """Facts that add up several devices -> those that have part of it."""
    parts = {**_OF_DEVICES, "timeline.collective_wait": lambda d: d.wait_ns, **(_host_parts(t) if t.host else {})}
    several = len(t.judged) > 1
    return {metric: [d.key for d in t.judged if of(d) > 0] for metric, of in parts.items() if several}


def _batches(t: Timeline) -> str:
    """`4 waits of 123 ms; the loop uses one in 113 ms; 87 % of the wait in resize.py(7): zoom`: of the device that waits most."""
    d = max(t.judged, key=lambda d: d.loading_ns)
    if not d.batches:
        return ""
    text = f"{plural(d.batches, 'wait')} of {show(d.loading_ns / d.batches, 'ns')}{' on average' * (d.batches > 1)}"
    if d.loading_own_ns:
        text += f"; the loop uses one in {show(d.loading_used_ns / d.batches, 'ns')}"
    elif d.loading_worked_ns:
        text += f", each after {show(d.loading_worked_ns / d.batches, 'ns')} of device work"
    return f"{text}; {percent(t.loading_in[1])} of the wait in {t.loading_in[0]}" if t.loading_in else text


def _held(devices: Sequence[DeviceTimeline], cause: str) -> str:
    """`2.9 ms of it inside these calls`, where they are blamed for another time; "" elsewhere."""
    gaps = [d.gap(cause) for d in devices]
    held, blamed = (float(sum(ns)) for ns in ([g.total_ns for g in gaps], [g.blamed_ns for g in gaps]))
    return f"{show(held, 'ns')} of it inside these calls" if held < blamed else ""


def _doing(devices: Sequence[DeviceTimeline]) -> str:
    """`120 ms in “MPI_Recv”, 53.6 ms in “MPI_Send”`: of the device with most of it; "" where the program marked nothing."""
    most = max((d.doing for d in devices), key=lambda found: sum(ns for _, ns in found))
    return ", ".join(f"{show(float(ns), 'ns')} in “{name[:60]}”" for name, ns in most) if most else ""


def _ranks(t: Timeline) -> str:
    """`rank 1 waits 8.9 ms of its 11.3 ms in collectives; rank 7 comes last to 6 of 8`; where ranks are missing, how much later they can be."""
    mine, late, count = t.job[t.mine], max(t.job, key=lambda r: (r.last, -r.wait_ns)), sum(r.last for r in t.job)
    took, last = show(float(mine.comm_ns), "ns"), f"rank {late.rank} comes last to {late.last:,} of {count:,}"
    if missing := len(t.job) < t.world:
        last = f"of the {len(t.job):,} of {t.world:,} ranks given {last}"
        if late.last == count:  # it is inside of each from its own start to the common end
            last += f", and none can be later by more than {show(float(late.comm_ns), 'ns')} in all"
    least = "at least " * missing
    return f"rank {mine.rank} waits {least}{show(float(mine.wait_ns), 'ns')} of its {took} in collectives; {last}"


def _hideable(d: DeviceTimeline) -> float:
    """Time that copies after the start and kernels of one device would share at best: the shorter of the two."""
    kernels_alone = d.busy_ns - d.copies_alone_ns - (d.copy_busy_ns - d.copies_alone_ns)
    return float(max(0, min(d.exposed_ns - d.loaded_ns, kernels_alone)))


# what of each device is added up to a share of the time
_OF_DEVICES: Mapping[str, Callable[[DeviceTimeline], float]] = {
    "idle.total": lambda d: d.idle_ns,
    "timeline.bus_alone": lambda d: d.exposed_ns,
    "timeline.loaded": lambda d: d.loaded_ns,
    "timeline.exposed_comm": lambda d: d.exposed_comm_ns,
    "timeline.late_comm": lambda d: min(d.late_ns, d.exposed_comm_ns),
    "timeline.comm_in_line": lambda d: d.comm_in_line_ns,
    "timeline.pageable_alone": lambda d: d.pageable_alone_ns,
    "timeline.hideable": _hideable,
}


def _shares(
    devices: Sequence[DeviceTimeline], frame_ns: float, parts: Mapping[str, Callable[[DeviceTimeline], float]]
) -> Facts:
    """Metric -> what it adds up over the devices as a share of the time, with what each has of it."""
    return {metric: (float(sum(map(of, devices))) / frame_ns, _each(devices, of)) for metric, of in parts.items()}


def _each(devices: Sequence[DeviceTimeline], of: Callable[[DeviceTimeline], float]) -> str:
    """`3.1 ms of 9.2 ms`; of several devices `3.1 ms on device 0, of 18.4 ms over 2 devices`, `5.1 ms of 18.4 ms over 2 devices: device 0 3.1 ms, device 1 2 ms`."""
    times = {d.key: of(d) for d in devices if of(d) > 0}
    if not times:
        return "none on any device"
    span, took = show(float(sum(d.span_ns for d in devices)), "ns"), show(sum(times.values()), "ns")
    if len(devices) == 1:
        return f"{took} of {span}"
    of_all = f"of {span}{over(len(devices), 'device')}"
    if len(times) == 1:
        return f"{took} on device {next(iter(times))}, {of_all}"
    shown = [f"device {key} {show(ns, 'ns')}" for key, ns in sorted(times.items(), key=lambda t: -t[1])]
    return f"{took} {of_all}: {first_of(shown, 4)}"
