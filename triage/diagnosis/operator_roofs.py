"""The roof of an operator: the least time that its FLOPs and its least bytes allow on a device, against the time it took.

Bytes are a floor, so a share of the roof is a floor too for what waits for memory.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triage.derive.work_model import GOOD_PRODUCT

if TYPE_CHECKING:
    from triage.capture.trace_nouns import Operator
    from triage.devices import Peaks

# NVIDIA, Matrix Multiplication Background User's Guide: below half of the peak something is wrong beside the product
SLOW_PRODUCT = 0.5
HALF = ("BFloat16", "Half")
PRODUCTS = ("matmul", "convolution", "moe", "attention", "stated")
# kernels that compute FP32 arguments in TF32, whose peak the device table lacks
_TENSOR_RE = re.compile(r"tf32|s1688|s16816|h16816|s884|h884|tensorop|xf32", re.IGNORECASE)


def rate(o: Operator) -> float:
    """FLOPs per ns over all calls, 0 where they are not known."""
    return (o.flops or 0.0) * o.calls / o.ns if o.ns else 0.0


def intensity(o: Operator) -> float:
    """FLOPs per least byte, 0 where either is not known."""
    return (o.flops or 0.0) / o.bytes if o.bytes else 0.0


def is_half(o: Operator) -> bool:
    """True for 16-bit arguments."""
    return o.type.removeprefix("c10::") in HALF


def on_tensor_units(o: Operator) -> bool:
    """True where a kernel's name says that matrix units did the products."""
    return any(_TENSOR_RE.search(k) for k in o.kernels)


def peak(o: Operator, peaks: Peaks) -> float | None:
    """FLOPs per ns of the units that the arguments' type can use; None where the device table does not say."""
    if is_half(o):
        most = peaks.fp16_tensor_tflops
    else:
        most = peaks.fp32_tflops if o.type.casefold() == "float" and not on_tensor_units(o) else None
    return most * 1e3 if most else None


def good_share(o: Operator, peaks: Peaks) -> float:
    """Share of the roof that good libraries reach on a device in the type of a product."""
    return min(GOOD_PRODUCT, most_share(o, peaks))


def most_share(o: Operator, peaks: Peaks) -> float:
    """The same at best: what the device's vendor measured, else all of it."""
    most = peaks.bf16_reached_tflops if "BFloat16" in o.type else peaks.fp16_reached_tflops
    return most / peaks.fp16_tensor_tflops if most and peaks.fp16_tensor_tflops and is_half(o) else 1.0


def is_slow(o: Operator, peaks: Peaks, share: float) -> bool:
    """True for a share of the roof that is far below that of good libraries."""
    return share < SLOW_PRODUCT / GOOD_PRODUCT * good_share(o, peaks)


def bytes_share(o: Operator, peaks: Peaks) -> float | None:
    """Least bytes per time over DRAM's peak; None where either is not known, or a cache may have held the data."""
    if not o.bytes or not peaks.dram_bytes_per_s or not o.ns:
        return None
    cached = 4 * max(peaks.l3_bytes or 0.0, peaks.l2_bytes or 0.0)
    if o.bytes <= cached and o.bytes <= 1 << 29:
        return None
    return o.bytes * o.calls / o.ns / (peaks.dram_bytes_per_s / 1e9)


def roof_rate(o: Operator, peaks: Peaks) -> float | None:
    """FLOPs per ns that a product's type and least bytes allow; None where the one or the other is not known."""
    most = peak(o, peaks)
    if not most or not peaks.dram_bytes_per_s or not intensity(o):
        return None
    return min(most, intensity(o) * peaks.dram_bytes_per_s / 1e9)


def roof_share(o: Operator, peaks: Peaks | None) -> float | None:
    """Rate over the roof, 0 to 1; None where shapes, the type's peak or the bandwidth are not known, or caches beat it."""
    if peaks is None or not o.ns:
        return None
    if o.kind not in PRODUCTS:
        share = bytes_share(o, peaks) if o.kind == "elementwise" else None
    else:
        share = rate(o) / most if (most := roof_rate(o, peaks)) else None
    return share if share is not None and 0 < share <= 1 else None
