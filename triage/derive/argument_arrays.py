"""What a kernel's parameters state: its arrays, the bytes of their elements, and how often DRAM moved them.

Where each thread makes one element, one element of each array per thread is what must move; a multiple of it is waste or reuse.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from triage.capture.arrays import Values
from triage.derive import View
from triage.derive._arrays import over
from triage.derive._derivation import Derivation
from triage.ground.columns import is_column
from triage.ground.kernel_names import parameters

# CUDA C++ Programming Guide, built-in vector types; 64-bit systems
ELEMENT_BYTES = {
    **dict.fromkeys(("char", "signed char", "unsigned char", "bool", "uchar1", "__nv_fp8_e4m3", "__nv_fp8_e5m2"), 1),
    **dict.fromkeys(("short", "unsigned short", "half", "__half", "__nv_bfloat16", "_Float16", "char2", "uchar2"), 2),
    **dict.fromkeys(("int", "unsigned int", "float", "half2", "__half2", "__nv_bfloat162", "char4", "uchar4"), 4),
    **dict.fromkeys(
        ("double", "long", "unsigned long", "long long", "unsigned long long", "float2", "int2", "uint2"), 8
    ),
    **dict.fromkeys(("float4", "int4", "uint4", "double2"), 16),
}
_FLOAT_RE = re.compile(r"(double|float|half|__half|__nv_bfloat16|_Float16|__nv_fp8_e4m3|__nv_fp8_e5m2)[234]?")
_BLAS_BYTES = {"h": 2, "s": 4, "c": 4, "d": 8, "z": 8}
_BLAS_RE = re.compile(r"(?<![A-Za-z])([hscdz])(?:884)?(?:gem[mv]|symm|syrk|tr[ms]m)(?![a-z])")


@lru_cache(maxsize=4096)
def _arrays(name: str) -> tuple[tuple[str, bool], ...]:
    """(element type, whether the kernel only reads it) of each array among the parameters; "" for a type of types."""
    found = [p for p in parameters(name) if p.endswith(("*", "__restrict__"))]
    bare = [p.replace("const", "").replace("__restrict__", "").strip() for p in found]
    return tuple(
        (" ".join(b.removesuffix("*").split()) if b.count("*") == 1 else "", "const" in p)
        for p, b in zip(found, bare, strict=True)
    )


def element_bytes(name: str, read_only: bool | None = None) -> float:
    """Bytes of one element of each array that a kernel's name has among its parameters; NaN where a type is not known.

    read_only: of the arrays that the kernel only reads, or of the others; None: of all.
    """
    listed = _arrays(name)
    words = [word for word, const in listed if read_only is None or const is read_only]
    return float(sum(ELEMENT_BYTES.get(w, np.nan) for w in words)) if words else np.nan


def _narrowest(name: str) -> float:
    return float(np.min([ELEMENT_BYTES.get(word, np.nan) for word, const in _arrays(name) if const] or [np.nan]))


def _widest(name: str) -> float:
    return float(np.max([ELEMENT_BYTES.get(word, np.nan) for word, _ in _arrays(name)] or [np.nan]))


def _number(name: str) -> float:
    """Bytes of the narrowest floating-point type among the arrays, else of a BLAS product; NaN where neither is stated."""
    kinds = (_FLOAT_RE.fullmatch(word.rpartition("::")[2]) for word, _ in _arrays(name))
    if sizes := [ELEMENT_BYTES[kind[1]] for kind in kinds if kind]:
        return float(min(sizes))
    product = _BLAS_RE.search(name[:2000])
    return float(_BLAS_BYTES[product[1]]) if product else np.nan


def _by_name(view: View, of: Callable[[str], float]) -> Values:
    if not any("*" in kind or _BLAS_RE.search(kind) for kind in view.alike[1]):  # no name states an array
        return np.nan
    each = {n: of(n) for n in set(view.names)}
    return np.array([each[n] for n in view.names])


def _bytes(view: View, read_only: bool | None = None) -> Values:
    if not is_column(view["launch.threads"]):
        return np.nan
    each = _by_name(view, lambda n: element_bytes(n, read_only))
    return each * view["launch.threads"] * view.capture.calls[view.rows] if is_column(each) else np.nan


def _multiple(metric: str, moved: str, read_only: bool, arrays: str) -> Derivation:
    def value(view: View) -> Values:
        return over(view[moved], _bytes(view, read_only))

    formula = f"{moved} / (one element of each array that the kernel {arrays} x threads x calls)"
    return Derivation(metric, formula, value, (moved,), whole=True)


DERIVATIONS = (
    Derivation(
        "work.argument_bytes", "one element of each array among the kernel's parameters x threads x calls", _bytes, whole=True,
    ),
    _multiple("work.read_multiple", "vram.bytes_read", True, "only reads"),
    _multiple("work.written_multiple", "vram.bytes_written", False, "may write"),
    Derivation(
        "name.narrowest_input", "the smallest element of the arrays that a kernel's parameters only read",
        lambda view: _by_name(view, _narrowest), whole=True,
    ),
    Derivation(
        "name.widest_array", "the largest element of the arrays among a kernel's parameters",
        lambda view: _by_name(view, _widest), whole=True,
    ),
    Derivation(
        "name.number_bytes", "bytes of the narrowest floating-point type among the arrays of a kernel's parameters, else of a BLAS product",
        lambda view: _by_name(view, _number), whole=True,
    ),
)  # fmt: skip
