"""Work that the program states itself, such as Proton's scopes: how far below the rate of good libraries it runs."""

from __future__ import annotations

from collections.abc import Sequence

from triage.capture.arrays import Facts
from triage.capture.trace_nouns import Operator
from triage.devices import Peaks
from triage.diagnosis.operator_facts import slow_facts
from triage.diagnosis.operator_roofs import is_half, is_slow, roof_rate, roof_share

MIN_NS = 100_000  # heuristic: as for operators of a trace


def stated_facts(operators: Sequence[Operator], peaks: Peaks | None, frame_ns: float) -> Facts:
    """Facts of 16-bit products whose FLOPs and bytes are stated; {} without them, or without peaks of the device."""
    shares = _shares(operators, peaks) if peaks is not None and frame_ns > 0 else {}
    return slow_facts("product", shares, peaks, frame_ns) if peaks is not None and shares else {}


def slow_kernels(operators: Sequence[Operator], peaks: Peaks | None) -> frozenset[str]:
    """Names of the kernels of such work that runs far below the rate of good libraries."""
    if peaks is None:
        return frozenset()
    return frozenset(k for o, s in _shares(operators, peaks).items() if is_slow(o, peaks, s) for k in o.kernels)


def _shares(operators: Sequence[Operator], peaks: Peaks) -> dict[Operator, float]:
    """Stated work of a notable length -> its share of the roof."""
    return {o: s for o in operators if is_half(o) and o.ns >= MIN_NS and (s := _computed(o, peaks)) is not None}


def _computed(o: Operator, peaks: Peaks) -> float | None:
    """Share of the roof of what computes longer than it moves bytes; None of the rest."""
    most, top = roof_rate(o, peaks), peaks.fp16_tensor_tflops
    return roof_share(o, peaks) if most and top and most >= top * 1e3 else None
