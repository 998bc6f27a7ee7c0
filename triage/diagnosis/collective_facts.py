"""How fast collectives move their bytes: their bus bandwidth, as NCCL's tests define it, against the link of one GPU to its host.

Links between GPUs are no slower than PCIe, so a collective far below that link waits for a rank or goes a way it should not.
"""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Facts
from triage.capture.timeline import collectives
from triage.capture.timeline.spans import union
from triage.capture.trace_nouns import COPY, Message, Trace
from triage.devices import Device
from triage.ground.units import show

MIN_BYTES = 4 << 20  # heuristic: at a tenth of PCIe 4.0 this takes a millisecond, far above what a start takes
IN_STEP_NS = 100_000  # heuristic: hosts of ranks that run ahead launch the next collective sooner than this
SEVERAL = 2  # one alone may have waited
REACHED = 0.5  # heuristic: of PCIe's peak; NCCL reaches more where GPUs share nothing but a switch
# NVIDIA, nccl-tests, PERFORMANCE.md: bytes on the busiest link over the bytes of the whole buffer, of n ranks
_WHOLE = ("broadcast", "reduce")
_PARTS = ("allgather", "reducescatter", "alltoall")


def collective_facts(trace: Trace, frame_ns: float, device: Device | None) -> Facts:
    """Facts of the collectives whose messages are known and large, of a device with PCIe.

    A call may wait for another rank: the fastest of several tells what the links give.
    """
    bus = device.bus if device else None
    length = trace.operations.end - trace.operations.start
    rows = [row for row, m in trace.messages.items() if m.bytes >= MIN_BYTES and length[row] > 0 and _on_link(m)]
    large = [(trace.messages[row], int(length[row])) for row in rows]
    if len(large) < SEVERAL or not bus or not device or frame_ns <= 0:
        return {}
    first = max(rows, key=lambda row: _on_link(trace.messages[row]) / length[row])
    fastest, best = trace.messages[first], int(length[first])
    rate = _on_link(fastest) / best * 1e9
    alone = _alone(trace, rows)
    beyond = sum(
        min(max(0.0, took - _on_link(m) / (REACHED * bus) * 1e9), ns)
        for (m, took), ns in zip(large, alone, strict=True)
    )
    text = (
        f"fastest of {len(large):,} large ones: {fastest.collective} of {show(float(fastest.bytes), 'byte')} "
        f"over {fastest.ranks} ranks in {show(float(best), 'ns')}, bus bandwidth {show(rate, 'byte/s')}"
    )
    links = f"PCIe peak {show(bus, 'byte/s')}"
    if device.peer_link:
        links += f", {device.peer_link[0]} inside a node {show(device.peer_link[1], 'byte/s')}"
    why = "a slow transport, or a rank that is late every time"
    out: Facts = {"collectives.excess": (beyond / frame_ns, text)}
    if _in_step(trace, first):
        why = "more likely a slow transport than a late rank, as another collective ends right before"
    elif smaller := [(took, m.bytes) for m, took in large if SEVERAL * m.bytes <= fastest.bytes]:
        took, size = min(smaller)
        out["collectives.smaller"] = (took / best, "time of one of half the size or less over the fastest one's")
        if SEVERAL * took >= best:
            links = f"{show(float(size), 'byte')} take {show(float(took), 'ns')}; {links}"
            why = "more likely a rank that is late every time than a slow transport"
    return out | {"collectives.link_share": (rate / bus, f"{text}; {links}: {why}")}


def _in_step(trace: Trace, row: int) -> bool:
    """True for a collective right behind another one of its device, at whose end all ranks were."""
    ops, rows = trace.operations, collectives.kernels(trace)
    before = ops.start[row] - ops.end[rows[ops.device[rows] == ops.device[row]]]
    return bool(((before >= 0) & (before <= IN_STEP_NS)).any())


def _alone(trace: Trace, rows: list[int]) -> list[int]:
    """ns of each of some collectives with no computation beside it on its device."""
    ops, out = trace.operations, []
    computing = ops.kind != COPY
    computing[collectives.kernels(trace)] = False
    beside = {}
    for device in np.unique(ops.device[rows]).tolist():
        mine = np.flatnonzero(computing & (ops.device == device))
        beside[device] = union(ops.start[mine], ops.end[mine])
    for row in rows:
        begun, ended = beside[int(ops.device[row])].until(np.array([ops.start[row], ops.end[row]])).tolist()
        out.append(int(ops.end[row] - ops.start[row]) - (ended - begun))
    return out


def _on_link(message: Message) -> float:
    """Bytes that the busiest link carries; 0 for a collective of another kind, and for one rank alone."""
    name, n = message.collective.lower().replace("_", ""), message.ranks
    if n < 2:
        return 0.0
    if "allreduce" in name:
        return message.bytes * 2 * (n - 1) / n
    if any(word in name for word in _PARTS):
        return message.bytes * (n - 1) / n
    return float(message.bytes) if name in _WHOLE else 0.0
