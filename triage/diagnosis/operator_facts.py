"""Facts of a framework's operators for frame rules: shares of the span, each naming the operators it is made of.

Nothing is said of an operator without shapes, and no roof of a device whose peaks are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from triage.capture.trace_nouns import KERNEL, Operator, Trace
from triage.devices import Peaks
from triage.ground.kernel_names import kernel
from triage.ground.units import show

Facts = dict[str, tuple[float, str]]  # metric -> (value, formula)
LEAST_NS = 100_000  # time of an operator that is worth a word
LONG_CALL_NS = 20_000  # shorter calls are bound by their start and end
SHORT_CALL_NS = 10_000
ALIGNED = 8  # elements of 16 bits: 16 bytes, what matrix units load at once
# FLOPs per byte at which every matrix unit of the device table still waits for memory (T4 and newer: 110 and more)
LOW_INTENSITY = 100.0
LOW_INTENSITY_FP32 = 10.0
HALF = ("BFloat16", "Half")
PRODUCTS = ("matmul", "convolution", "moe", "attention")
_FP32_RE = re.compile(r"sgemm|scudnn|ffma|(?:^|_)fp32(?:_|$)|f32f32_f32f32", re.IGNORECASE)
_TENSOR_RE = re.compile(r"tf32|s1688|s16816|h16816|s884|h884|tensorop|xf32", re.IGNORECASE)
_LAYOUT_RE = re.compile(
    r"nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw|batched_transpose|transpose_readWrite", re.IGNORECASE
)


def operator_facts(trace: Trace, peaks: Peaks | None, frame_ns: float) -> Facts:
    """All facts of a trace's operators; peaks: of its device, None where that is unknown."""
    if frame_ns <= 0:
        return {}
    out = {
        "operators.fp32": _fp32(trace, peaks, frame_ns),
        "operators.layout": _by_kernel(trace, _LAYOUT_RE, frame_ns),
    }
    shaped = [o for o in trace.operators if o.dims and o.ns >= LEAST_NS]
    if not shaped:
        return out
    attention = _written_out(trace.operators)
    odd = [o for o in shaped if _misaligned(o)]
    rest = [o for o in shaped if o not in attention and o not in odd]
    chains = [o for o in trace.operators if o.kind in ("elementwise", "norm", "copy") and o.dims]
    return out | {
        "operators.attention": _share(attention, frame_ns),
        "operators.misaligned": _share(odd, frame_ns),
        "operators.misaligned_excess": (sum(o.ns * _behind_neighbours(o, shaped) for o in odd) / frame_ns, _named(odd)),
        "operators.memory_bound": _share([o for o in rest if _memory_bound(o)], frame_ns),
        "operators.elementwise": _share(chains, frame_ns),
        "operators.elementwise_calls": (float(sum(o.calls for o in chains)), _named(chains)),
        **(_roofs(rest, peaks, frame_ns) if peaks is not None else {}),
    }


def _fp32(trace: Trace, peaks: Peaks | None, frame_ns: float) -> tuple[float, str]:
    """Time in FP32 products where the device may have faster types: known by operators, or by kernels' names."""
    if peaks is not None and peaks.fp16_tensor_tflops is None:
        return 0.0, "the device has no matrix units in the table"
    mine = [
        o
        for o in trace.operators
        if o.kind in ("matmul", "convolution") and o.type.casefold() == "float" and not _memory_bound(o)
        and not any(_TENSOR_RE.search(k) for k in o.kernels)
    ]  # fmt: skip
    return max(_share(mine, frame_ns), _by_kernel(trace, _FP32_RE, frame_ns))


def _by_kernel(trace: Trace, pattern: re.Pattern[str], frame_ns: float) -> tuple[float, str]:
    ops = trace.operations
    wanted = np.array([bool(pattern.search(n)) for n in trace.names], dtype=bool)
    mine = (ops.kind == KERNEL) & wanted[ops.name]
    if not mine.any():
        return 0.0, "no such kernel"
    lasted = np.bincount(ops.name[mine], (ops.end - ops.start)[mine], len(trace.names))
    longest = np.argsort(-lasted, kind="stable")[:2]
    text = "; ".join(f"{kernel(trace.names[i])}: {show(float(lasted[i]), 'ns')}" for i in longest if lasted[i])
    return min(float(lasted.sum()) / frame_ns, 1.0), text


def _written_out(operators: Sequence[Operator]) -> list[Operator]:
    """Products and softmax of an attention whose matrix of scores is written to memory."""
    found: list[Operator] = []
    for soft in operators:
        shape = [int(n) for n in re.findall(r"\d+", soft.dims.split(",")[0])]
        if soft.kind != "softmax" or len(shape) < 3 or min(shape[-2:]) < 64:
            continue
        rows, columns = shape[-2:]
        products = [o for o in operators if o.kind == "matmul" and o.batch > 1 and o.m == rows]
        scores = [o for o in products if o.n == columns and o.k != columns]
        values = [o for o in products if o.k == columns and o.n != columns]
        if scores and values:
            found += [o for o in (soft, *scores, *values) if o not in found]
    return found


def _misaligned(o: Operator) -> bool:
    """True for 16-bit products whose rows are no whole number of 16 bytes."""
    half = o.type.removeprefix("c10::") in HALF
    return (
        half
        and o.kind == "matmul"
        and o.m * o.batch > 1
        and bool(o.n % ALIGNED or o.k % ALIGNED)
        and _long(o, LONG_CALL_NS)
        and not _memory_bound(o)
    )


def _behind_neighbours(o: Operator, shaped: Iterable[Operator]) -> float:
    """Part of a product's time above that at the rate of aligned products of its type."""
    rates = [
        _rate(n)
        for n in shaped
        if n.kind == "matmul" and n.type == o.type and n.n and not (n.n % ALIGNED or n.k % ALIGNED)
    ]
    best = max(rates, default=0.0)
    return max(0.0, 1 - _rate(o) / best) if best else 0.1


def _rate(o: Operator) -> float:
    return (o.flops or 0.0) * o.calls / o.ns


def _intensity(o: Operator) -> float:
    return (o.flops or 0.0) / o.bytes if o.bytes else 0.0


def _long(o: Operator, least: int) -> bool:
    return o.ns >= least * o.calls


def _memory_bound(o: Operator) -> bool:
    """True for products whose arithmetic no matrix unit could not hide behind their bytes."""
    if o.kind not in PRODUCTS or not o.bytes or not o.flops or not _long(o, SHORT_CALL_NS):
        return False
    return _intensity(o) < (LOW_INTENSITY if o.type.removeprefix("c10::") in HALF else LOW_INTENSITY_FP32)


def _roofs(shaped: Sequence[Operator], peaks: Peaks, frame_ns: float) -> Facts:
    """Time of products and elementwise operators above that at their roof."""
    out: Facts = {}
    bandwidth = peaks.dram_bytes_per_s
    if peaks.fp16_tensor_tflops and bandwidth:
        peak = peaks.fp16_tensor_tflops * 1e3  # FLOPs per ns
        ridge = peak / (bandwidth / 1e9)
        fed = [
            o for o in shaped
            if o.kind in PRODUCTS and o.type.removeprefix("c10::") in HALF and o.flops and _long(o, LONG_CALL_NS)
            and _intensity(o) >= ridge / 4
        ]  # fmt: skip

        def part(o: Operator) -> float:
            return _rate(o) / min(peak, _intensity(o) * bandwidth / 1e9 if bandwidth else peak)

        out["operators.product_roof"] = _least(fed, part)
        slow = [o for o in fed if part(o) < 0.5]
        out["operators.product_excess"] = (
            sum(o.ns * max(0.0, 1 - part(o) / 0.7) for o in slow) / frame_ns,
            "; ".join(f"{_title(o)}: {part(o):.0%} of its roof" for o in slow[:3]) or "none below half of its roof",
        )
    if bandwidth:
        moving = [o for o in shaped if o.kind == "elementwise" and o.bytes and _long(o, LONG_CALL_NS)]

        def speed(o: Operator) -> float:
            return (o.bytes or 0.0) * o.calls / o.ns / (bandwidth / 1e9 if bandwidth else 1.0)

        # data that a cache may hold say nothing of DRAM
        moving = [
            o
            for o in moving
            if (o.bytes or 0.0) > 4 * max(peaks.l3_bytes or 0.0, peaks.l2_bytes or 0.0) or (o.bytes or 0.0) > 1 << 29
        ]
        slow = [o for o in moving if speed(o) < 0.6]
        out["operators.elementwise_excess"] = (
            sum(o.ns * (1 - speed(o) / 0.8) for o in slow) / frame_ns,
            "; ".join(f"{_title(o)}: {speed(o):.0%} of the DRAM peak" for o in slow[:3]) or "none below 60 %",
        )
    return out


def _least(operators: Sequence[Operator], of: Callable[[Operator], float]) -> tuple[float, str]:
    longest = max(operators, key=lambda o: o.ns, default=None)
    return (min(of(longest), 1.0), _title(longest)) if longest else (1.0, "no long product")


def _share(operators: Sequence[Operator], frame_ns: float) -> tuple[float, str]:
    return min(sum(o.ns for o in operators) / frame_ns, 1.0), _named(operators)


def _named(operators: Sequence[Operator]) -> str:
    shown = [
        f"{_title(o)}: {show(float(o.ns), 'ns')} in {o.calls:,}" for o in sorted(operators, key=lambda o: -o.ns)[:3]
    ]
    more = f"; {len(operators) - 3} more" if len(operators) > 3 else ""
    return "; ".join(shown) + more if shown else "none"


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
