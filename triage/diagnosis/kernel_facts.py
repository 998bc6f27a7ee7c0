"""Facts that traces with operators take from these, from the names of kernels: for databases and summaries without operators.

A name tells what a kernel of a known library does, not on what: shares of time are known, rates are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from triage.capture.arrays import Facts, Floats
from triage.capture.capture import Capture
from triage.ground.kernel_names import kernel
from triage.ground.kernel_owners import owner_of
from triage.ground.phrasing import plural
from triage.ground.units import show
from triage.rulebook.applies import reaches

# the second version of Dao's library: the first names its kernels fmha_*, the third FlashAttnFwdSm90
_FLASH_2_RE = re.compile(r"\bflash_(?:fwd|bwd)_\w*kernel")
# PyTorch's templates, whose short names have lost their namespace; `elementwise_add` is anybody's
_PASS_RE = re.compile(
    r"at::native::\w*elementwise\w*kernel|\b(?:vectorized|unrolled|index)_(?:templated_)?elementwise_kernel"
    r"|\belementwise_kernel(?:_manual_unroll)?<(?:\(int\))?\d"
    r"|\bCatArrayBatchedCopy|\bvectorized_layer_norm_kernel|at::native::.{0,40}(?:RowwiseMoments|GammaBeta|layer_norm)"
)
# transposes that libraries insert (cuDNN, MIOpen)
LAYOUT_RE = re.compile(
    r"nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw|batched_transpose|transpose_readWrite", re.IGNORECASE
)
# no kernel of a narrower type, which may name FP32 for its sums: `bmm_E4m3_E2m1_Fp32`
FP32_RE = re.compile(
    r"^(?!.*(?:e[2-5]m[0-3]|bf16|fp16|fp8|tf32)).*(?:sgemm|scudnn|ffma|(?:^|_)fp32(?:_|$)|f32f32_f32f32"
    # cuDNN's engines name their types as template arguments
    r"|(?:winograd\w{0,40}|(?:wgrad|dgrad)\w{0,40}engine|convolve\w{0,20})<float[,>])",
    re.IGNORECASE | re.DOTALL,
)
# kernels of libraries for sm_80 and newer, whose matrix units take TF32; those of sm_70 and 75 also run on GPUs without any
_AMPERE_RE = re.compile(r"ampere_|sm(?:[89]\d|1\d\d)(?!\d)|cutlass_[89]\d_|\bnvjet_")
_HOPPER_RE = re.compile(r"sm90_|\bnvjet_")  # kernels of libraries for sm_90 and newer
# products of FP4 or FP8 operands, and the first architectures that multiply these: AMD, data types and precision support;
# NVIDIA, CUDA Programming Guide, tensor core input types by compute capability
_PRODUCT = r"(?i)(?=.*(?:matmul|gemm|bmm|moe))(?=.*(?:%s))"
_NARROW = (
    (re.compile(_PRODUCT % "fp4|e2m1"), ("sm_100", "gfx950", "gfx1250")),
    (re.compile(_PRODUCT % "fp8|e4m3|e5m2"), ("sm_89", "gfx940", "gfx1200")),
)
# heuristic, ns: a launch of this length could read gigabytes of packed weights, more than a layer has
MIN_UNPACKED_NS = 1_000_000
# Shah et al., FlashAttention-3: 1.5 to 2.0 times the speed of FlashAttention-2 on H100
FASTER, FASTEST = 1.5, 2.0


def kernel_facts(capture: Capture, own: Floats, frame_ns: float) -> Facts:
    """All facts of kernels by their names; own: time of each workload."""
    launched = capture.kinds == "compute"
    if capture.input.tells.get("work") != "compute" or frame_ns <= 0 or not launched.any():
        return {}
    names, place = np.unique(capture.names[launched].astype(str), return_inverse=True)
    time = np.bincount(place, own[launched], len(names))
    calls = np.bincount(place, np.maximum(capture.calls[launched], 1), len(names))
    out: Facts = {}
    for metric, test in tests(capture, names).items():
        mine = np.flatnonzero([bool(test(n)) for n in names])
        if metric == "operators.unpacked":
            mine = mine[time[mine] >= MIN_UNPACKED_NS * calls[mine]]
        longest = mine[np.argsort(-time[mine], kind="stable")[:2]]
        text = "; ".join(
            f"{kernel(names[i])}: {show(float(time[i]), 'ns')} in {plural(round(calls[i]), 'launch')}" for i in longest
        )
        out[metric] = (min(float(time[mine].sum() / frame_ns), 1.0), text or "no such kernel")
        if metric == "operators.elementwise":
            out["operators.elementwise_calls"] = (float(calls[mine].sum()), text)
    flash, text = out.pop("operators.attention_excess")
    text += f", FlashAttention-2; FlashAttention-3 is {FASTER} to {FASTEST:g} times as fast on Hopper" if flash else ""
    return out | {
        "operators.attention_excess": (flash * (1 - 1 / FASTER), text),
        "operators.attention_most": (flash * (1 - 1 / FASTEST), text),
    }


def tests(capture: Capture, names: Iterable[str]) -> dict[str, Callable[[str], object]]:
    """Metric -> what a kernel's name passes whose time it is a share of. names: of the capture's kernels, each once."""
    device, arch = capture.device, capture.device.arch if capture.device else ""
    fast = device.peaks.fp16_tensor_tflops if device else any(map(_AMPERE_RE.search, names))
    hopper = arch == "sm_90" or (not arch and any(map(_HOPPER_RE.search, names)))
    return {
        "operators.elementwise": _is_pass,
        "operators.layout": LAYOUT_RE.search,
        "operators.fp32": _is_fp32 if fast else _never,
        "operators.unpacked": partial(_is_unpacked, arch),
        "operators.attention_excess": _FLASH_2_RE.search if hopper else _never,
    }


def _is_pass(name: str) -> bool:
    """True for PyTorch's elementwise, normalising and copying kernels, which read and write whole tensors."""
    return _PASS_RE.search(name) is not None and "FillFunctor" not in name


def _is_fp32(name: str) -> bool:
    """True for a library's products in FP32; what the author of another kernel would change is not known."""
    return FP32_RE.search(name) is not None and owner_of(name) is not None


def _is_unpacked(arch: str, name: str) -> bool:
    """True for products of a type that an architecture, "" for an unknown one, has no matrix instruction for."""
    return any(
        words.match(name) and not any(reaches(arch, first) for first in firsts) for words, firsts in _NARROW if arch
    )


def _never(_name: str) -> bool:
    return False
