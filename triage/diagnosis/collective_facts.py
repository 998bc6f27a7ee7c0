"""How fast collectives move their bytes: their bus bandwidth, as NCCL's tests define it, against the link of one GPU to its host.

Links between GPUs are no slower than PCIe, so a collective far below that link waits for a rank or goes a way it should not.
"""

from __future__ import annotations

from collections import defaultdict

from triage.capture.trace_nouns import Message, Trace
from triage.ground.units import show

Facts = dict[str, tuple[float, str]]  # metric -> (value, formula)
LEAST_BYTES = (
    4 << 20
)  # heuristic: at a tenth of PCIe 4.0 it takes a millisecond, twenty times the start of a collective
REACHED = 0.5  # heuristic: of PCIe's peak; NCCL reaches more where GPUs share nothing but a switch
# NVIDIA, nccl-tests, PERFORMANCE.md: bytes on the busiest link over the bytes of the whole buffer, of n ranks
_WHOLE = ("broadcast", "reduce")
_PARTS = ("allgather", "reducescatter", "alltoall")


def collective_facts(trace: Trace, frame_ns: float, bus: float | None) -> Facts:
    """Facts of the collectives whose messages are known and large; bus: bytes per s of PCIe."""
    lasted: dict[Message, list[int]] = defaultdict(list)
    for row, message in trace.messages.items():
        if message.bytes >= LEAST_BYTES and _on_link(message):
            lasted[message].append(int(trace.operations.end[row] - trace.operations.start[row]))
    lasted = {m: times for m, times in lasted.items() if min(times) > 0}
    if not lasted or not bus or frame_ns <= 0:
        return {}
    longest = max(lasted, key=lambda m: sum(lasted[m]))
    rate = _on_link(longest) / min(lasted[longest]) * 1e9
    beyond = sum(max(0.0, t - _on_link(m) / (REACHED * bus) * 1e9) for m, times in lasted.items() for t in times)
    text = _said(longest, lasted[longest], rate)
    return {
        "collectives.rate": (rate, text),
        "collectives.link_share": (rate / bus, f"{text}; PCIe peak {show(bus, 'byte/s')}"),
        "collectives.excess": (beyond / frame_ns, text),
    }


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


def _said(m: Message, times: list[int], rate: float) -> str:
    """`3 × allreduce of 17.6 MB over 8 ranks in 8.7 ms at best: 3.5 GB/s`."""
    best = show(float(min(times)), "ns")
    calls = f"{len(times):,} × " if len(times) > 1 else ""
    return f"{calls}{m.collective} of {show(float(m.bytes), 'byte')} over {m.ranks} ranks, {best} at best: {show(rate, 'byte/s')}"
