"""Facts of a framework's operators for frame rules: shares of device time, each naming the operators it is made of.

Nothing is said of an operator without shapes, and no roof of a device whose peaks are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from triage.capture.trace_nouns import KERNEL, Operator, Trace
from triage.devices import Peaks
from triage.diagnosis.operator_roofs import PRODUCTS, bytes_share, intensity, is_half, on_tensor_units, rate, roof_share
from triage.diagnosis.tile_waste import tiling
from triage.ground.kernel_names import kernel
from triage.ground.phrasing import whole_percent
from triage.ground.units import show

Facts = dict[str, tuple[float, str]]  # metric -> (value, formula)
# heuristic: a hundred launches' time; what an operator takes less cannot be told from its launch
LEAST_NS = 100_000
# NVIDIA, TensorRT-LLM performance guidance: kernels below 10 us are bound by their launch; of twice that start and end are
# at most half
SHORT_CALL_NS = 10_000
LONG_CALL_NS = 20_000
# NVIDIA, Matrix Multiplication Background User's Guide: dimensions of 16-bit products in multiples of 16 bytes
ALIGNED = 8
# FLOPs per byte at which every matrix unit of the device table still waits for memory (T4 and newer: 110 and more);
# the same guide: a product below the device's FLOPs per byte is bound by memory. FP32: 67 TFLOP/s over 3.35 TB/s are 20
LOW_INTENSITY = 100.0
LOW_INTENSITY_FP32 = 10.0
# the same guide: large aligned products reach seven to eight tenths of the peak; below half something else is wrong.
# Products far left of the ridge are bound by bytes, of which only the least are known
GOOD_PRODUCT, SLOW_PRODUCT, NEAR_RIDGE = 0.7, 0.5, 4
# NVIDIA, CUDA C++ Best Practices Guide: effective over theoretical bandwidth; copies of measured pairs reach 0.8 to 0.9
GOOD_BYTES, SLOW_BYTES = 0.8, 0.6
# no kernel of a narrower type, which may name FP32 for its sums: `bmm_E4m3_E2m1_Fp32`
_FP32_RE = re.compile(
    r"^(?!.*(?:e[2-5]m[0-3]|bf16|fp16|fp8|tf32)).*(?:sgemm|scudnn|ffma|(?:^|_)fp32(?:_|$)|f32f32_f32f32)",
    re.IGNORECASE | re.DOTALL,
)
# CUTLASS names its kernels by the elements that one load takes
_NARROW_RE = re.compile(r"_align[12](?!\d)")
_LAYOUT_RE = re.compile(
    r"nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw|batched_transpose|transpose_readWrite", re.IGNORECASE
)


def operator_facts(trace: Trace, peaks: Peaks | None, frame_ns: float, sms: int = 0) -> Facts:
    """All facts of a trace's operators; peaks, sms: of its device, None and 0 where these are unknown."""
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
        "operators.misaligned_excess": (
            # those of an attention go with it
            sum(o.ns * _behind_neighbours(o, shaped, peaks) for o in odd if o not in attention) / frame_ns,
            _named(odd),
        ),
        "operators.memory_bound": _share([o for o in rest if _memory_bound(o)], frame_ns),
        "operators.elementwise": _share(chains, frame_ns),
        "operators.elementwise_calls": (float(sum(o.calls for o in chains)), _named(chains)),
        **(_roofs(rest, peaks, frame_ns) if peaks is not None else {}),
        **(_quantised(rest, sms, frame_ns) if sms else {}),
    }


def _fp32(trace: Trace, peaks: Peaks | None, frame_ns: float) -> tuple[float, str]:
    """Time in FP32 products where the device may have faster types: known by operators, or by kernels' names."""
    if peaks is not None and peaks.fp16_tensor_tflops is None:
        return 0.0, "the device has no matrix units in the table"
    mine = [
        o
        for o in trace.operators
        if o.kind in ("matmul", "convolution") and o.type.casefold() == "float" and not _memory_bound(o)
        and not on_tensor_units(o)
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
    return (
        is_half(o)
        and o.kind == "matmul"
        and o.m * o.batch > 1
        and bool(o.n % ALIGNED or o.k % ALIGNED)
        and _long(o, LONG_CALL_NS)
        and (not _memory_bound(o) or any(_NARROW_RE.search(k) for k in o.kernels))
    )


def _behind_neighbours(o: Operator, shaped: Iterable[Operator], peaks: Peaks | None) -> float:
    """Part of a product's time above that at the rate of aligned products of its type, as far as its bytes allow that."""
    rates = [
        rate(n)
        for n in shaped
        if n.kind == "matmul" and n.type == o.type and n.n and not (n.n % ALIGNED or n.k % ALIGNED)
    ]
    if not (best := max(rates, default=0.0)):
        return 0.1
    if peaks is not None and peaks.dram_bytes_per_s and intensity(o):
        best = min(best, intensity(o) * peaks.dram_bytes_per_s / 1e9)
    return max(0.0, 1 - rate(o) / best)


def _long(o: Operator, least: int) -> bool:
    return o.ns >= least * o.calls


def _memory_bound(o: Operator) -> bool:
    """True for products whose arithmetic no matrix unit could not hide behind their bytes."""
    if o.kind not in PRODUCTS or not o.bytes or not o.flops or not _long(o, SHORT_CALL_NS):
        return False
    return intensity(o) < (LOW_INTENSITY if is_half(o) else LOW_INTENSITY_FP32)


def _roofs(shaped: Sequence[Operator], peaks: Peaks, frame_ns: float) -> Facts:
    """Time of products and elementwise operators above that at their roof."""
    out: Facts = {}
    bandwidth = (peaks.dram_bytes_per_s or 0.0) / 1e9
    if peaks.fp16_tensor_tflops and bandwidth:
        ridge = peaks.fp16_tensor_tflops * 1e3 / bandwidth
        fed = {
            o: share for o in shaped
            if o.kind in PRODUCTS and is_half(o) and _long(o, LONG_CALL_NS) and intensity(o) >= ridge / NEAR_RIDGE
            and (share := roof_share(o, peaks))
        }  # fmt: skip
        longest = max(fed, key=lambda o: o.ns, default=None)
        out["operators.product_roof"] = (fed[longest], _title(longest)) if longest else (1.0, "no long product")
        slow = [o for o, share in fed.items() if share < SLOW_PRODUCT]
        out["operators.product_excess"] = (
            sum(o.ns * (1 - fed[o] / GOOD_PRODUCT) for o in slow) / frame_ns,
            "; ".join(f"{_title(o)}: {fed[o]:.0%} of its roof" for o in slow[:3]) or "none below half of its roof",
        )
    if bandwidth:
        moving = {
            o: share for o in shaped
            if o.kind == "elementwise" and _long(o, LONG_CALL_NS) and (share := bytes_share(o, peaks)) is not None
        }  # fmt: skip
        slow = [o for o, share in moving.items() if share < SLOW_BYTES]
        out["operators.elementwise_excess"] = (
            sum(o.ns * (1 - moving[o] / GOOD_BYTES) for o in slow) / frame_ns,
            "; ".join(f"{_title(o)}: {moving[o]:.0%} of the DRAM peak" for o in slow[:3])
            or "none far below the DRAM peak",
        )
    return out


def _quantised(shaped: Sequence[Operator], sms: int, frame_ns: float) -> Facts:
    """Time of products in unused parts of their tiles and in their last waves; {} where no kernel's name states its tile."""
    cut = [
        (o, t)
        for o in shaped
        if o.kind == "matmul" and _long(o, LONG_CALL_NS) and not _memory_bound(o) and (t := tiling(o, sms))
    ]
    if not cut:
        return {}
    cut.sort(key=lambda c: -c[0].ns * c[1].waste)
    text = "; ".join(
        f"{_title(o)}: {t.tiles:,} tiles of {t.rows}×{t.columns}, {whole_percent(t.used)} used, {t.waves:.2f} waves on {sms} SMs"
        for o, t in cut[:2]
    )
    return {"operators.tile_waste": (sum(o.ns * t.waste for o, t in cut) / frame_ns, text)}


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
