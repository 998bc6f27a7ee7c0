"""The little language of rules: arithmetic over named columns, compiled to NumPy, never evaluated as Python.

    sm.throughput > low          1 - used / sector          min(a, b) * (hit or 0)

Names are metric ids, thresholds or `let` names. `a or b` is b where a is missing. A missing value (NaN) makes every
result missing; division by zero is missing, not infinite. Whitelisted syntax only: no attributes (a dotted name is
one name), no calls but FUNCTIONS, no powers; length, nodes and nesting are bounded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct

from triage.ground.columns import anywhere, is_column

# rules may come from strangers: what is parsed, walked and compiled recursively is bounded first
MAX_CHARS, MAX_NODES, MAX_DEPTH = 400, 120, 24
# so that a product of several is still a number
LARGEST = 1e30  # of a number written in an expression
Lookup = Callable[[str], Any]
Thunk = Callable[[Lookup], Any]


class ExpressionError(ValueError):
    """What is wrong with an expression, without position (the rulebook adds file and line)."""


def _divide(a: Any, b: Any) -> Any:
    out = np.true_divide(a, b)
    # a rate over no time or sectors over no requests is not known; as infinity it would pass every `>`
    infinite = np.isinf(out)
    # choosing by a mask costs more than the division, and is nearly never needed
    return np.where(infinite, np.nan, out) if anywhere(infinite) else out


def _or(a: Any, b: Any) -> Any:
    missing = np.isnan(a)
    if not is_column(missing):
        return b if missing else a
    return np.where(missing, b, a) if anywhere(missing) else a


FUNCTIONS: dict[str, tuple[int, int, Callable[..., Any]]] = {
    # name: (least arguments, most arguments, function). max/min are missing when any argument is.
    "min": (2, 8, lambda *a: _fold(np.minimum, a)),
    "max": (2, 8, lambda *a: _fold(np.maximum, a)),
    "least": (2, 8, lambda *a: _fold(np.fmin, a)),  # of those present
    "most": (2, 8, lambda *a: _fold(np.fmax, a)),  # of those present
    "clamp": (3, 3, lambda x, lo, hi: np.minimum(np.maximum(x, lo), hi)),
    "abs": (1, 1, np.abs),
    "ceil": (1, 1, np.ceil),
    "floor": (1, 1, np.floor),
    # np.where works out both sides everywhere, so each is given only what it can take
    "sqrt": (1, 1, lambda x: np.where(np.asarray(x) >= 0, np.sqrt(np.abs(x)), np.nan)),
    "remainder": (2, 2, lambda a, b: np.where(np.asarray(b) > 0, np.mod(a, np.where(np.asarray(b) > 0, b, 1)), np.nan)),
}
FORGIVING = ("least", "most")  # functions of those arguments that are present
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: _divide,
}
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
_SIGNS = dict(zip((ast.Gt, ast.GtE, ast.Lt, ast.LtE, ast.Eq, ast.NotEq), COMPARE, strict=True))
FALSE, TRUE, UNKNOWN = 0, 1, 2


def _fold(function: Callable[[Any, Any], Any], values: tuple[Any, ...]) -> Any:
    out = values[0]
    for v in values[1:]:
        out = function(out, v)
    return out


class Expression(Struct, frozen=True):
    """A compiled value expression.

    names: everything it reads. literals: number literals written in it. forgives: it may have a value although a name
    it reads is missing (`or`, least, most).
    """

    text: str
    names: tuple[str, ...]
    literals: tuple[float, ...]
    run: Thunk
    forgives: bool = False

    # thunks are closures, which do not pickle: the text travels, with what is known of it
    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (self.text, self.names, self.literals, self.forgives)

    def __call__(self, lookup: Lookup) -> Any:
        """Value over columns: float64 array or scalar, NaN where missing."""
        with np.errstate(all="ignore"):
            return self.run(lookup)


def restored(text: str, names: tuple[str, ...], literals: tuple[float, ...], forgives: bool) -> Expression:
    """A pickled expression: compiled again when it is first used."""
    # gains and advice of rules that do not fire are never asked for: compiling them would cost what the cache saves
    made: list[Thunk] = []

    def run(lookup: Lookup) -> Any:
        if not made:
            made.append(value(text).run)
        return made[0](lookup)

    return Expression(text, names, literals, run, forgives)


class Condition(Struct, frozen=True):
    """One atomic comparison (or a bare name, true when not 0), three-valued."""

    text: str
    left: Expression
    op: str
    right: Expression | None

    @property
    def names(self) -> tuple[str, ...]:
        """Everything it reads."""
        return tuple(dict.fromkeys((*self.left.names, *(self.right.names if self.right else ()))))

    def __call__(self, lookup: Lookup) -> Any:
        """FALSE, TRUE or UNKNOWN per workload: int8 array, or one int when it is the same for all."""
        with np.errstate(all="ignore"):
            left = self.left.run(lookup)
            right = self.right.run(lookup) if self.right else 0.0
            truth = COMPARE[self.op](left, right)
        # comparing with NaN gives False, and with != True: neither may be mistaken for an answer
        if not is_column(truth):
            return int(truth) if left == left and right == right else UNKNOWN
        # a boolean array already holds FALSE and TRUE as bytes: nothing is copied
        out = truth.view(np.int8)
        # side by side: NumPy's `or` of many truths and a single one takes four times as long as the comparison
        for side in (left, right):
            if not is_column(side):
                if side != side:
                    out[...] = UNKNOWN
            elif anywhere(missing := np.isnan(side)):
                out[missing] = UNKNOWN
        return out

    def holds(self, lookup: Lookup) -> Any:
        """Where it is TRUE: boolean array, or one truth when it is the same for all. Cheaper than three truths."""
        with np.errstate(all="ignore"):
            left = self.left.run(lookup)
            right = self.right.run(lookup) if self.right else 0.0
            truth = COMPARE[self.op](left, right)
            # of all comparisons with NaN this alone is true
            return truth & (left == left) & (right == right) if self.op == "!=" else truth


def _tree(text: str) -> ast.expr:
    if len(text) > MAX_CHARS:
        raise ExpressionError(f"expression longer than {MAX_CHARS} characters")
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        reason = e.msg if isinstance(e, SyntaxError) else "too complex"
        raise ExpressionError(f"cannot read {text!r} ({reason})") from None
    # the parser only reads, nothing is compiled or run; every node is judged by _Compiler. A character makes at most two
    if 2 * len(text) > MAX_NODES and sum(1 for _ in ast.walk(node)) > MAX_NODES:
        raise ExpressionError("expression has too many parts")
    return node


def dotted(node: ast.expr) -> str:
    """`a.b.c` as one name; "" when the node is no plain dotted name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (base := dotted(node.value)):
        return f"{base}.{node.attr}"
    return ""


class _Compiler:
    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.literals: list[float] = []
        self.forgives = False

    def build(self, node: ast.expr, depth: int = 0) -> Thunk:
        if depth > MAX_DEPTH:
            raise ExpressionError("expression is nested too deeply")
        # first of all: `sm.throughput` is a chain of attributes to the parser and one name to us
        if name := dotted(node):
            self.names[name] = None
            return lambda get: get(name)
        match node:
            # before the numbers: a bool is an int in Python
            case ast.Constant(value=bool()):
                raise ExpressionError("True and False are no values here")
            case ast.Constant(value=int() | float() as value):
                if abs(value) > LARGEST:
                    raise ExpressionError(f"a number beyond {LARGEST:g}")
                number = float(value)
                self.literals.append(number)
                return lambda get: number
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.build(operand, depth + 1)
                return lambda get: -inner(get)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                a, b, f = self.build(left, depth + 1), self.build(right, depth + 1), _BINARY[type(op)]
                return lambda get: f(a(get), b(get))
            case ast.BoolOp(op=ast.Or(), values=values):
                self.forgives = True
                parts = [self.build(v, depth + 1) for v in values]
                return lambda get: _fold(_or, tuple(p(get) for p in parts))
            case ast.Call(func=ast.Name(id=called), args=args, keywords=[]) if called in FUNCTIONS:
                least, most, function = FUNCTIONS[called]
                if not least <= len(args) <= most:
                    raise ExpressionError(f"{called}() takes {least}..{most} arguments, got {len(args)}")
                self.forgives |= called in FORGIVING
                thunks = [self.build(a, depth + 1) for a in args]
                return lambda get: function(*(t(get) for t in thunks))
            case ast.Call(func=ast.Name(id=called)):
                raise ExpressionError(f"unknown function {called}(); known: {', '.join(sorted(FUNCTIONS))}")
        raise ExpressionError(f"{type(node).__name__} is not allowed here")


@cache
def value(text: str) -> Expression:
    """Compile a value expression; raises ExpressionError."""
    return _value(_tree(text), text.strip())


def _value(node: ast.expr, text: str) -> Expression:
    compiler = _Compiler()
    run = compiler.build(node)
    return Expression(text, tuple(compiler.names), tuple(compiler.literals), run, compiler.forgives)


@cache
def condition(text: str) -> Condition:
    """Compile an atomic condition: one comparison, or a bare name; raises ExpressionError."""
    node = _tree(text)
    if isinstance(node, ast.Compare):
        # `a < b < c` would be two comparisons with one truth, and each condition is one literal for the engine
        if len(node.ops) != 1 or type(node.ops[0]) not in _SIGNS:
            raise ExpressionError("one comparison with > >= < <= == != per condition")
        first, second = (_value(side, ast.unparse(side)) for side in (node.left, node.comparators[0]))
        return Condition(text.strip(), first, _SIGNS[type(node.ops[0])], second)
    if dotted(node):
        return Condition(text.strip(), _value(node, text.strip()), "!=", None)
    raise ExpressionError("a condition is one comparison or one name; write `all:` / `any:` instead of and/or/not")
