"""How wide a library's matrix product loads its operands, as its kernel's name states it.

NVIDIA, CUTLASS: `alignN` in a name is the alignment of the operands in elements, `ldgN` of cuBLAS their loads; the type stands
after `gemm_`, or before the instruction. Kernels of the FMA pipe (`simt`) load element by element and are left out.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from triage.capture.arrays import Values
from triage.derive import View
from triage.derive._derivation import Derivation

_ALIGN_RE = re.compile(r"(?:tensorop|wmma)\w{0,80}?gemm(?:_(?P<type>[a-z]+\d+))?_\w{0,120}?_align(?P<n>\d+)")
_LDG_RE = re.compile(r"_(?P<type>fp16|bf16)_\w{0,40}?gemm_\w{0,120}?_ldg(?P<n>\d+)")
TYPE_BYTES = {
    **dict.fromkeys(("f8", "e4m3", "e5m2", "s8", "u8"), 1),
    **dict.fromkeys(("f16", "fp16", "bf16"), 2),
    **dict.fromkeys(("tf32", "f32"), 4),
    "f64": 8,
}


@lru_cache(maxsize=4096)
def operand_bytes(name: str) -> float:
    """Bytes of one load of an operand, NaN where the name states no width or no type."""
    m = _ALIGN_RE.search(name[:2000]) or _LDG_RE.search(name[:2000])
    return float(TYPE_BYTES.get(m["type"] or "", np.nan)) * int(m["n"]) if m else np.nan


def _widths(view: View) -> Values:
    if not any("_align" in kind or "_ldg" in kind for kind in view.alike[1]):
        return np.nan
    return np.array([operand_bytes(n) for n in view.names])


DERIVATIONS = (
    Derivation("name.operand_bytes", "elements per load x bytes of the type, as the name states them", _widths, whole=True),
)  # fmt: skip
