"""What an operator has to do, from the dims and types of its arguments: kind, FLOPs, and the least bytes it moves.

FLOPs are exact for products; bytes are a floor: every argument read once, every result written once.
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Known = tuple[float | None, float | None, int, int, int, int]
Tensors = list[tuple[tuple[int, ...], str]]
_DATA = tomllib.loads(Path(__file__).resolve().with_suffix(".toml").read_text("utf-8"))
SIZES: dict[str, int] = _DATA["sizes"]
_KIND_RES = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _DATA["kinds"].items()}


@dataclass(frozen=True, slots=True)
class Work:
    """One call of an operator. flops, bytes: None where they are not known; batch, m, n, k, lead: of a product, 0 elsewhere."""

    kind: str
    type: str = ""
    dims: str = ""
    flops: float | None = None
    bytes: float | None = None
    batch: int = 0
    m: int = 0
    n: int = 0
    k: int = 0
    elements: int = 0  # of the largest argument
    lead: tuple[int, int] = field(default=(0, 0), compare=False)  # calls that differ in it alone are one operator's


def work(name: str, arguments: dict[str, Any]) -> Work:
    """The work of an operator; arguments: `dims`, `types`, `strides` and `plain` as a trace lists them."""
    kind = next((kind for kind, pattern in _KIND_RES.items() if pattern.search(name)), "other")
    tensors = _tensors(arguments)
    if not tensors:
        parts = _tensors(_listed(arguments)) if kind in ("copy", "collective") else []
        return Work(kind, dims=_shown(parts), elements=sum(math.prod(dims) for dims, _ in parts))
    shown = _shown(tensors)
    size, largest = max(((math.prod(dims), type_) for dims, type_ in tensors), key=lambda t: t[0])
    known = _FORMULAS.get(kind, lambda _name, _tensors, _plain: None)(name, tensors, _texts(arguments.get("plain")))
    if known is None:
        return Work(kind, largest, shown, elements=size)
    if kind == "matmul":  # the bias may have any shape
        _, _, batch, m, n, k = known
        front = f"{batch}×" if batch > 1 else ""
        shown = f"{front}{m}×{k}, {front}{k}×{n}"
    return Work(kind, largest, shown, *known, elements=size, lead=_lead(arguments) if kind == "matmul" else (0, 0))


def _lead(arguments: dict[str, Any]) -> tuple[int, int]:
    """Elements from row to row of a product's two operands, in the order that memory holds them; 0 where strides do not tell.

    Of a transposed operand that is its number of rows: the dims alone do not show it.
    """
    dims, strides = arguments.get("dims"), arguments.get("strides")
    if not isinstance(dims, list) or not isinstance(strides, list):
        return 0, 0
    known = [s for d, s in zip(dims, strides, strict=False) if isinstance(d, list) and len(d) in (2, 3)]
    found = [_row(s) for s in known[-2:]]
    return (found[0], found[1]) if len(found) == 2 else (0, 0)


def _row(strides: Any) -> int:
    """The longer stride of a matrix whose shorter one is 1, 0 elsewhere."""
    if not isinstance(strides, list) or len(strides) < 2 or any(type(s) is not int for s in strides[-2:]):
        return 0
    short, long = sorted(strides[-2:])
    return long if short == 1 < long < 1 << 40 else 0


def size_of(type_: str) -> int:
    """Bytes of one element, 0 for an unknown type: `c10::BFloat16` has 2."""
    word = type_.removeprefix("c10::").casefold()
    return SIZES.get(word, 1 if word.startswith("float8") else 0)


def _tensors(arguments: dict[str, Any]) -> Tensors:
    """(dims, type) of the arguments that are tensors."""
    dims, types = arguments.get("dims"), arguments.get("types")
    if not isinstance(dims, list) or not isinstance(types, list):
        return []
    return [
        (tuple(d), t)
        for d, t in zip(dims, types, strict=False)
        if isinstance(d, list) and d and isinstance(t, str) and all(type(n) is int and 0 < n < 1 << 40 for n in d)
    ]


def _listed(arguments: dict[str, Any]) -> dict[str, Any]:
    """The tensors of the first argument, a list of tensors, as arguments of a type that is not known."""
    dims = arguments.get("dims")
    first = dims[0] if isinstance(dims, list) and dims and isinstance(dims[0], list) else []
    return {"dims": first, "types": [""] * len(first)}


def _shown(tensors: Tensors) -> str:
    return ", ".join("×".join(map(str, dims)) for dims, _ in tensors[:4])


def _texts(plain: Any) -> list[str]:
    return [str(p) for p in plain] if isinstance(plain, list) else []


def _matmul(name: str, tensors: Tensors, _plain: list[str]) -> Known | None:
    added = re.search(r"::(addmm|baddbmm|_addmm)", name) is not None
    if len(tensors) < 2 + added:
        return None
    (a, kind), (b, _) = tensors[added : added + 2]
    if len(a) not in (2, 3) or len(a) != len(b) or a[-1] != b[-2]:
        return None
    batch, m, k, n = (a[0] if len(a) == 3 else 1), a[-2], a[-1], b[-1]
    if len(a) == 3 and b[0] != batch:
        return None
    moved = batch * (m * k + k * n + m * n) * size_of(kind)
    return 2.0 * batch * m * n * k, float(moved) or None, batch, m, n, k


def _convolution(name: str, tensors: Tensors, plain: list[str]) -> Known | None:
    if "backward" in name or len(tensors) < 2:
        return None
    (data, kind), (weight, _) = tensors[:2]
    if len(data) != len(weight) or len(data) < 3 or len(plain) < 9:
        return None
    stride, pad, dilation = (_numbers(plain[i], len(data) - 2) for i in (3, 4, 5))
    transposed, groups = plain[6] == "True", _numbers(plain[8], 1)[0] or 1
    if not all(stride) or not all(dilation):
        return None
    extra = _numbers(plain[7], len(data) - 2)
    out = [
        (x - 1) * s - 2 * p + d * (w - 1) + o + 1 if transposed else (x + 2 * p - d * (w - 1) - 1) // s + 1
        for x, w, s, p, d, o in zip(data[2:], weight[2:], stride, pad, dilation, extra, strict=True)
    ]
    if min(out) < 1:
        return None
    channels = weight[1] * groups if transposed else weight[0]
    # a transposed one does its products per input element
    per = math.prod(data) * math.prod(weight[1:]) if transposed else data[0] * math.prod(out) * math.prod(weight)
    moved = (math.prod(data) + math.prod(weight) + data[0] * channels * math.prod(out)) * size_of(kind)
    return 2.0 * per, float(moved) or None, 0, 0, 0, 0


def _attention(name: str, tensors: Tensors, plain: list[str]) -> Known | None:
    if len(tensors) < 3 or any(len(d) != 4 for d, _ in tensors[:3]) or "backward" in name:
        return None
    (q, kind), (k, _), (v, _) = tensors[:3]
    # heads stand before the sequence, but in the functions that PyTorch calls for it behind it
    at = 1 if re.search(r"_(?:flash|efficient)_attention_forward|flash_attn", name) else 2
    heads, rows, columns, depth = q[3 - at], q[at], k[at], q[3]
    moved = (math.prod(q) + math.prod(k) + math.prod(v) + math.prod(q)) * size_of(kind)
    pairs = rows * columns - (rows * (rows - 1) // 2 if columns >= rows and _is_causal(name, plain) else 0)
    return 2.0 * q[0] * heads * pairs * (depth + v[3]), float(moved) or None, 0, rows, columns, depth


def _is_causal(name: str, plain: list[str]) -> bool:
    """Whether a call of attention lets each row see only the columns up to its own, by the argument that says so."""
    at = next((i for part, i in _DATA["causal_at"].items() if part in name), len(plain))
    return at < len(plain) and plain[at] in ("True", "1", "2")


def _moe(_name: str, tensors: Tensors, _plain: list[str]) -> Known | None:
    if len(tensors) < 4 or [len(d) for d, _ in tensors[:4]] != [2, 3, 3, 2]:
        return None
    (tokens, kind), (first, weights), (second, _), (chosen, _) = tensors[:4]
    pairs = tokens[0] * chosen[1]
    per_expert = math.prod(first[1:]) + math.prod(second[1:])
    # each token reaches another expert at best
    moved = min(first[0], pairs) * per_expert * size_of(weights) + 2 * math.prod(tokens) * size_of(kind)
    return 2.0 * pairs * per_expert, float(moved) or None, 0, 0, 0, 0


def _pointwise(_name: str, tensors: Tensors, _plain: list[str]) -> Known | None:
    moved = sum(math.prod(d) * size_of(t) for d, t in tensors)
    largest, kind = max(tensors, key=lambda t: math.prod(t[0]))
    return float(math.prod(largest)), float(moved + math.prod(largest) * size_of(kind)) or None, 0, 0, 0, 0


_FORMULAS = {
    "matmul": _matmul, "convolution": _convolution, "attention": _attention, "moe": _moe, "elementwise": _pointwise,
}  # fmt: skip


def _numbers(text: str, many: int) -> list[int]:
    """`(2,2)` or `[2, 2]` as numbers; one stands for all."""
    found = [int(n) for n in re.findall(r"-?\d{1,9}", text)]
    return found if len(found) == many else found * many if len(found) == 1 else [0] * many
