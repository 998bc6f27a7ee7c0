"""Facts of a framework's operators for frame rules: shares of the span, each naming the operators it is made of.

An operator without shapes is not judged, and no roof of a device whose peaks are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from triage.capture.arrays import Facts, Floats
from triage.capture.trace_nouns import FROM_DEVICE, KERNEL, PASSES, TO_DEVICE, Operator, Trace, way_of
from triage.derive.work_model import GOOD_PRODUCT
from triage.devices import Peaks
from triage.diagnosis.attention_by_hand import written_out
from triage.diagnosis.kernel_facts import FP32_RE, LAYOUT_RE
from triage.diagnosis.operator_roofs import (
    PRODUCTS,
    bytes_share,
    good_share,
    intensity,
    is_half,
    is_slow,
    most_share,
    on_tensor_units,
    peak,
    rate,
    roof_rate,
    roof_share,
)
from triage.diagnosis.tile_waste import tiling
from triage.ground.kernel_names import kernel
from triage.ground.method import LOW_INTENSITY
from triage.ground.phrasing import first_of, percent, plural, whole_percent
from triage.ground.units import show

# heuristic: a hundred launches' time; what an operator takes less cannot be separated from its launch
MIN_NS = 100_000
# NVIDIA, TensorRT-LLM performance guidance: kernels below 10 us are bound by their launch; of twice that start and end are
# at most half
SHORT_CALL_NS = 10_000
LONG_CALL_NS = 20_000
# NVIDIA, Matrix Multiplication Background User's Guide: dimensions of 16-bit products in multiples of 16 bytes
ALIGNED = 8
# as method.LOW_INTENSITY, of FP32: 67 TFLOP/s over 3.35 TB/s are 20
LOW_INTENSITY_FP32 = 10.0
# products far left of the ridge are bound by bytes, of which only the least are known
NEAR_RIDGE = 4
# NVIDIA, CUDA C++ Best Practices Guide: effective over theoretical bandwidth; copies of measured pairs reach 0.8 to 0.9
GOOD_BYTES, SLOW_BYTES = 0.8, 0.6
# CUTLASS names its kernels by the elements that one load takes
_NARROW_RE = re.compile(r"tensorop\w{0,200}_align[12](?!\d)")
# heuristic: a tenth of the time where no rate of an aligned product is known
NO_NEIGHBOUR = 0.1
_FILLS_RE, _JOINS_RE = re.compile(r"::(?:fill|zero)_$"), re.compile(r"::(?:cat|stack)$")


def operator_facts(
    trace: Trace, peaks: Peaks | None, frame_ns: float, sms: int = 0, blocks: Floats | None = None
) -> Facts:
    """All facts of a trace's operators; peaks, sms: of its device, None and 0 where these are unknown. blocks: of each of the first operations."""
    if frame_ns <= 0:
        return {}
    found = about(trace, peaks)
    out = {
        "operators.fp32": max(
            _share(found["operators.fp32"], frame_ns),
            _by_kernel(trace, fp32_kernels(trace, peaks), frame_ns, _filled(trace, sms, blocks)),
        ),
        **_fp32_peaks(peaks),
        "operators.layout": _by_kernel(trace, layout_kernels(trace), frame_ns),
    }
    if not (shaped := _shaped(trace)):
        return out
    attention, odd = found["operators.attention"], found["operators.misaligned"]
    rest = _rest(trace, found)
    chains = found["operators.elementwise"]
    return out | {
        "operators.copies": _share(found["operators.copies"], frame_ns),
        "operators.filled": _share([o for o in found["operators.copies"] if _FILLS_RE.search(o.name)], frame_ns),
        "operators.joined": _share([o for o in found["operators.copies"] if _JOINS_RE.search(o.name)], frame_ns),
        "operators.attention": _share(attention, frame_ns),
        **(_fused(attention, peaks, frame_ns) if attention else {}),
        "operators.misaligned": _share(odd, frame_ns),
        # those of an attention go with it
        **_misaligned_excess([o for o in odd if o not in attention], shaped, peaks, frame_ns),
        "operators.memory_bound": _share(found["operators.memory_bound"], frame_ns),
        "operators.elementwise": _share(chains, frame_ns),
        "operators.elementwise_spare": (
            sum(o.spare_ns * o.all_ns / o.ns for o in chains if o.ns) / frame_ns,
            "time of each call x (1 - tensors moved by one pass / by the calls in a row over tensors of one size)",
        ),
        "operators.elementwise_most": (
            sum(o.most_spare_ns * o.all_ns / o.ns for o in chains if o.ns) / frame_ns,
            "time of each call x (1 - 1 / calls in a row over tensors of one size)",
        ),
        "operators.elementwise_calls": (float(sum(o.calls for o in chains)), _named(chains)),
        **(_roofs(rest, peaks, frame_ns) if peaks is not None else {}),
        **_half_types(found["operators.fp32"], peaks, frame_ns),
        **(_quantised(rest, sms, frame_ns) if sms else {}),
    }


def about(trace: Trace, peaks: Peaks | None) -> dict[str, list[Operator]]:
    """Metric -> the operators whose share of the time it is."""
    shaped, attention = _shaped(trace), written_out(trace.operators)
    odd = [o for o in shaped if _misaligned(o)]
    found = {
        "operators.fp32": _fp32(trace, peaks),
        "operators.attention": attention,
        "operators.misaligned": odd,
        "operators.memory_bound": [o for o in shaped if _memory_bound(o) and o not in attention and o not in odd],
        "operators.elementwise": [o for o in trace.operators if o.kind in PASSES and o.dims and o not in attention],
        "operators.copies": [o for o in trace.operators if _copies_on_device(o) and o not in attention],
    }
    if peaks is not None:
        rest = _rest(trace, found)
        slow = [o for o, share in _fed(rest, peaks).items() if is_slow(o, peaks, share)]
        found["operators.product_excess"] = [o for o in slow if o.kind != "attention"]
        found["operators.attention_excess"] = [o for o in slow if o.kind == "attention"]
        found["operators.elementwise_excess"] = [o for o, share in _moving(rest, peaks).items() if share < SLOW_BYTES]
    return found


def _copies_on_device(o: Operator) -> bool:
    """Whether an operator only moves tensors, and none to or from the host."""
    return o.kind == "copy" and not any(way_of(k) in (TO_DEVICE, FROM_DEVICE) for k in o.kernels)


def _rest(trace: Trace, found: dict[str, list[Operator]]) -> list[Operator]:
    """Operators with shapes that no other fact names."""
    judged = found["operators.attention"] + found["operators.misaligned"]
    return [o for o in _shaped(trace) if o not in judged]


def _shaped(trace: Trace) -> list[Operator]:
    return [o for o in trace.operators if o.dims and o.ns >= MIN_NS]


def fp32_kernels(trace: Trace, peaks: Peaks | None) -> frozenset[str]:
    """Names of kernels that multiply in FP32 and of no operator that waits for memory; none on a device without matrix units."""
    if peaks is not None and peaks.fp16_tensor_tflops is None:
        return frozenset()
    waiting = {k for o in trace.operators if _memory_bound(o) for k in o.kernels}
    return frozenset(n for n in trace.names if n not in waiting and FP32_RE.search(n))


def layout_kernels(trace: Trace) -> frozenset[str]:
    """Names of kernels that only change layouts."""
    return frozenset(n for n in trace.names if LAYOUT_RE.search(n))


def _fp32(trace: Trace, peaks: Peaks | None) -> list[Operator]:
    """Products in FP32 where the device may have faster types, without those that wait for memory."""
    if peaks is not None and peaks.fp16_tensor_tflops is None:
        return []
    return [
        o
        for o in trace.operators
        if o.kind in ("matmul", "convolution") and o.type.casefold() == "float" and not _memory_bound(o)
        and not on_tensor_units(o)
    ]  # fmt: skip


def _fp32_peaks(peaks: Peaks | None) -> Facts:
    if peaks is None or not peaks.fp32_tflops or not peaks.fp16_tensor_tflops:
        return {}
    ratio = peaks.fp32_tflops / peaks.fp16_tensor_tflops
    return {"operators.fp32_peak": (min(ratio, 1.0), "FP32 peak / peak of matrix units in 16 bits, of the device")}


def _filled(trace: Trace, sms: int, blocks: Floats | None) -> Floats | None:
    """Part of the SMs that each operation has a block for, since idle SMs have nothing that a faster unit could do; 1 where not known."""
    if blocks is None or not sms:
        return None
    return np.append(
        np.clip(np.nan_to_num(blocks / sms, nan=1.0), 0.0, 1.0), np.ones(len(trace.operations) - len(blocks))
    )


def _by_kernel(
    trace: Trace, names: frozenset[str], frame_ns: float, weights: Floats | None = None
) -> tuple[float, str]:
    ops = trace.operations
    wanted = np.array([n in names for n in trace.names], dtype=bool)
    mine = (ops.kind == KERNEL) & wanted[ops.name]
    if not mine.any():
        return 0.0, "no such kernel"
    time = (ops.end - ops.start)[mine] * (1.0 if weights is None else weights[mine])
    lasted = np.bincount(ops.name[mine], time, len(trace.names))
    longest = np.argsort(-lasted, kind="stable")[:2]
    text = "; ".join(f"{kernel(trace.names[i])}: {show(float(lasted[i]), 'ns')}" for i in longest if lasted[i])
    if weights is not None and (weights[mine] < 1).any():
        text += "; a launch with fewer blocks than SMs counts by the share of SMs that it fills"
    return min(float(lasted.sum()) / frame_ns, 1.0), text


def _fused(attention: Sequence[Operator], peaks: Peaks | None, frame_ns: float) -> Facts:
    """What a fused attention leaves: its products as they are, and at the peak of their type."""
    products = [o for o in attention if o.kind == "matmul"]
    most = {o: peak(o, peaks) if peaks is not None else None for o in products}
    least = sum(o.all_ns * min(1.0, rate(o) / m) for o, m in most.items() if m)
    out = {"operators.attention_products": _share(products, frame_ns)}
    return out | ({"operators.attention_least": (least / frame_ns, _named(products))} if all(most.values()) else {})


def _misaligned(o: Operator) -> bool:
    """True for 16-bit products whose rows are no whole number of 16 bytes, or whose kernel loads less than that at a time."""
    narrow = any(_NARROW_RE.search(k) for k in o.kernels)
    return (
        is_half(o)
        and o.kind == "matmul"
        and o.m * o.batch > 1
        and (narrow or any(n % ALIGNED for n in (o.n, o.k, *o.lead)))
        and _long(o, LONG_CALL_NS)
        and (not _memory_bound(o) or narrow)
    )


def _misaligned_excess(
    odd: Sequence[Operator], shaped: Iterable[Operator], peaks: Peaks | None, frame_ns: float
) -> Facts:
    """Time of misaligned products above that at the rate of aligned ones of their type, and above that at their roof.

    Where the trace has no aligned ones of that size, these are taken at the rate of good libraries.
    """
    aligned = [n for n in shaped if n.kind == "matmul" and n.n and not _misaligned(n)]
    likely = most = 0.0
    known = True
    for o in odd:
        like = [rate(n) for n in aligned if n.type == o.type and (n.flops or 0.0) >= (o.flops or 0.0) / 2]
        roof = roof_rate(o, peaks) if peaks is not None else None
        good = max(like, default=0.0) or (good_share(o, peaks) * roof if peaks and roof else 0.0)
        good = min(good, roof) if roof else good
        likely += o.all_ns * (max(0.0, 1 - rate(o) / good) if good else NO_NEIGHBOUR)
        known = known and bool(roof)
        most += o.all_ns * max(0.0, 1 - rate(o) / roof) if roof else 0.0
    out = {"operators.misaligned_excess": (likely / frame_ns, _named(odd))}
    return out | ({"operators.misaligned_most": (most / frame_ns, _named(odd))} if odd and known else {})


def _long(o: Operator, least: int) -> bool:
    return o.ns >= least * o.calls


def _memory_bound(o: Operator) -> bool:
    """True for products whose arithmetic no matrix unit could not hide behind their bytes."""
    if o.kind not in PRODUCTS or not o.bytes or not o.flops or not _long(o, SHORT_CALL_NS):
        return False
    return intensity(o) < (LOW_INTENSITY if is_half(o) else LOW_INTENSITY_FP32)


def _fed(rest: Sequence[Operator], peaks: Peaks) -> dict[Operator, float]:
    """Long 16-bit products not far left of the ridge, each with the share of its roof."""
    bandwidth = (peaks.dram_bytes_per_s or 0.0) / 1e9
    if not peaks.fp16_tensor_tflops or not bandwidth:
        return {}
    ridge = peaks.fp16_tensor_tflops * 1e3 / bandwidth
    return {
        o: share for o in rest
        if o.kind in PRODUCTS and is_half(o) and _long(o, LONG_CALL_NS) and intensity(o) >= ridge / NEAR_RIDGE
        and (share := roof_share(o, peaks))
    }  # fmt: skip


def _moving(rest: Sequence[Operator], peaks: Peaks) -> dict[Operator, float]:
    """Long elementwise operators, each with its share of the DRAM peak."""
    return {
        o: share for o in rest
        if o.kind == "elementwise" and _long(o, LONG_CALL_NS) and (share := bytes_share(o, peaks)) is not None
    }  # fmt: skip


def _roofs(rest: Sequence[Operator], peaks: Peaks, frame_ns: float) -> Facts:
    """Time of products and elementwise operators above that at their roof."""
    out: Facts = {}
    if not peaks.dram_bytes_per_s:
        return out
    if peaks.fp16_tensor_tflops:
        fed = _fed(rest, peaks)
        for what, mine in (
            ("product", [o for o in fed if o.kind != "attention"]),
            ("attention", [o for o in fed if o.kind == "attention"]),
        ):
            if mine or what == "product":
                out |= slow_facts(what, {o: fed[o] for o in mine}, peaks, frame_ns)
    moving = _moving(rest, peaks)
    slow = [o for o, share in moving.items() if share < SLOW_BYTES]
    out["operators.elementwise_excess"] = (
        sum(o.all_ns * (1 - moving[o] / GOOD_BYTES) for o in slow) / frame_ns,
        "; ".join(f"{_title(o)}: {percent(moving[o])} of the DRAM peak" for o in slow[:3])
        or "none far below the DRAM peak",
    )
    return out


def slow_facts(what: str, shares: Mapping[Operator, float], peaks: Peaks, frame_ns: float) -> Facts:
    """Time of the operators far below the rate of good libraries, above that at this rate and at the best one."""
    slow = [o for o, share in shares.items() if is_slow(o, peaks, share)]
    text = "; ".join(f"{_title(o)}: {percent(shares[o])} of its roof" for o in slow[:3])
    excess = sum(o.all_ns * (1 - shares[o] / _reached(o, shares, peaks)) for o in slow) / frame_ns
    most = sum(o.all_ns * (1 - shares[o] / most_share(o, peaks)) for o in slow) / frame_ns
    return {
        f"operators.{what}_excess": (excess, text or "none far below the rate of good libraries"),
        f"operators.{what}_most": (most, "time of each x (1 - its rate / the best rate of the device)"),
    }


def _reached(o: Operator, shares: Mapping[Operator, float], peaks: Peaks) -> float:
    """Share of the roof that products of a type and at least half the size reach in the same trace, else what good libraries reach."""
    like = (
        n for n, share in shares.items()
        if n.type == o.type and 2 * (n.flops or 0.0) >= (o.flops or 0.0) and not is_slow(n, peaks, share)
    )  # fmt: skip
    return max((shares[n] for n in like), default=good_share(o, peaks))


def _half_types(products: Sequence[Operator], peaks: Peaks | None, frame_ns: float) -> Facts:
    """What FP32 products with shapes would save in 16 bits, with the conversion of their arguments before each call."""
    known = [o for o in products if o.bytes and o.flops]
    if peaks is None or not peaks.fp16_tensor_tflops or not peaks.dram_bytes_per_s or not known:
        return {}
    fast, moved = GOOD_PRODUCT * peaks.fp16_tensor_tflops * 1e3, GOOD_BYTES * peaks.dram_bytes_per_s / 1e9
    saved = 0.0
    for o in known:
        # arguments are read in 4 bytes and written in 2, then read in 2
        least = max((o.flops or 0.0) / fast, (o.bytes or 0.0) / 2 / moved) + 1.5 * (o.bytes or 0.0) / moved
        saved += o.all_ns * max(0.0, 1 - least * o.calls / o.ns) if o.ns else 0.0
    return {"operators.fp32_spare": (saved / frame_ns, _named(known)), "operators.fp32_shaped": _share(known, frame_ns)}


def _quantised(shaped: Sequence[Operator], sms: int, frame_ns: float) -> Facts:
    """Time of products in unused parts of their tiles and in their last waves; {} where no kernel's name states its tile."""
    cut = [
        (o, t)
        for o in shaped
        if o.kind == "matmul" and _long(o, LONG_CALL_NS) and not _memory_bound(o) and (t := tiling(o, sms))
    ]
    if not cut:
        return {}
    cut.sort(key=lambda c: -c[0].all_ns * c[1].waste)
    text = "; ".join(
        f"{_title(o)}: {t.tiles:,} tiles of {t.rows}×{t.columns}, {whole_percent(t.used)} used, {t.waves:.2f} waves on {sms} SMs"
        for o, t in cut[:2]
    )
    return {"operators.tile_waste": (sum(o.all_ns * t.waste for o, t in cut) / frame_ns, text)}


def _share(operators: Sequence[Operator], frame_ns: float) -> tuple[float, str]:
    return min(sum(o.all_ns for o in operators) / frame_ns, 1.0), _named(operators)


def _named(operators: Sequence[Operator]) -> str:
    shown = [
        f"{_title(o)}: {show(float(o.ns), 'ns')} in {plural(o.calls, 'call')}"
        for o in sorted(operators, key=lambda o: -o.ns)
    ]
    return first_of(shown, 3, "; ", "; ") or "none"


def _title(o: Operator) -> str:
    """`aten::addmm 5185×1024×4096 bf16`."""
    short = {"BFloat16": "BF16", "Half": "FP16", "float": "FP32", "Float": "FP32"}.get(
        o.type.removeprefix("c10::"), o.type
    )
    dims = (
        f"{o.batch}×{o.m}×{o.n}×{o.k}"
        if o.batch > 1
        else f"{o.m}×{o.n}×{o.k}"
        if o.k and o.kind == "matmul"
        else o.dims[:40]
    )
    return " ".join(filter(None, (o.name, dims, short)))
