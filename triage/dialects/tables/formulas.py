"""Arithmetic over named columns, written once as text: the text is what a report shows as provenance.

Names are counters as exported (`TCC_HIT_sum`), canonical ids (`gpu.time`) or `file.counter`. Operators: + - * /, numbers,
brackets, max(...), min(...) and ceil(...). A quotient by zero is missing, never infinite.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache

import numpy as np

from triage.capture.arrays import Floats, Values

_OPS: dict[type[ast.operator], Callable[[Values, Values], Values]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
}


@cache
def _parse(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    assert isinstance(node, ast.Name), ast.dump(node)
    return node.id


@cache
def names(formula: str) -> tuple[str, ...]:
    """The names a formula uses, in the order of their first appearance."""
    found: dict[str, None] = {}

    def walk(node: ast.AST) -> None:
        if isinstance(node, (ast.Name, ast.Attribute)):
            found.setdefault(_dotted(node))
        elif isinstance(node, ast.Call):  # what is called is no input
            for argument in node.args:
                walk(argument)
        else:
            for child in ast.iter_child_nodes(node):
                walk(child)

    walk(_parse(formula))
    return tuple(found)


def evaluate(formula: str, values: Callable[[str], Values]) -> Floats:
    """The formula over arrays of one length; `values` gives an array or a number for a name. NaN where undefined."""

    def walk(node: ast.expr) -> Values:
        if isinstance(node, ast.Constant):
            return float(node.value)  # type: ignore[arg-type]
        if isinstance(node, (ast.Name, ast.Attribute)):
            return values(_dotted(node))
        if isinstance(node, ast.Call):
            parts, called = [walk(a) for a in node.args], _dotted(node.func)
            out = np.ceil(parts[0]) if called == "ceil" else parts[0]
            scalar, fold = (np.minimum, np.fmin) if called == "min" else (np.maximum, np.fmax)
            for part in parts[1:]:
                # a missing part does not hide the others, but a constant floor must not turn missing into a number
                floor = np.isscalar(out) or np.isscalar(part)
                out = scalar(out, part) if floor else fold(out, part)
            return out
        assert isinstance(node, ast.BinOp), ast.dump(node)
        return _OPS[type(node.op)](walk(node.left), walk(node.right))

    with np.errstate(all="ignore"):  # counters of an idle unit are 0, and so is what they are divided by
        out = np.asarray(walk(_parse(formula)), dtype=np.float64)
    return np.where(np.isfinite(out), out, np.nan)
