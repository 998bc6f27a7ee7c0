from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.rulebook.expression import FALSE, TRUE, UNKNOWN, ExpressionError, condition, value

NAMES = ("a", "b.c", "d")
# no value so small that a quotient overflows: columns call that missing, one at a time it is infinite
numbers = st.one_of(st.just(math.nan), st.floats(-1e6, 1e6).map(lambda x: x if abs(x) > 1e-100 else 0.0))
leaves = st.one_of(st.sampled_from(NAMES), st.integers(0, 9).map(str))


def build(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.tuples(children, st.sampled_from("+-*/"), children).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
    calls = st.tuples(st.sampled_from(["min", "max", "least", "most"]), children, children).map(
        lambda t: f"{t[0]}({t[1]}, {t[2]})"
    )
    return binary | calls | st.tuples(children, children).map(lambda t: f"({t[0]} or {t[1]})")


expressions = st.recursive(leaves, build, max_leaves=8)


def plain(text: str, env: dict[str, float]) -> float:
    """The same by Python floats, one workload at a time."""

    def least(*v: float) -> float:
        kept = [x for x in v if x == x]
        return min(kept) if kept else math.nan

    def most(*v: float) -> float:
        kept = [x for x in v if x == x]
        return max(kept) if kept else math.nan

    import ast

    def go(n: ast.expr) -> float:
        match n:
            case ast.Constant(value=v):
                return float(v)
            case ast.Name(id=name):
                return env[name]
            case ast.Attribute():
                return env[ast.unparse(n)]
            case ast.BoolOp(values=values):
                for v in values:
                    if (x := go(v)) == x:
                        return x
                return math.nan
            case ast.BinOp(left=left, op=op, right=right):
                a, b = go(left), go(right)
                if isinstance(op, ast.Div):
                    return a / b if b else math.nan
                return {ast.Add: a + b, ast.Sub: a - b, ast.Mult: a * b}[type(op)]
            case ast.Call(func=ast.Name(id=f), args=args):
                v = [go(a) for a in args]
                if f in ("min", "max") and any(x != x for x in v):
                    return math.nan
                return {"min": least, "max": most, "least": least, "most": most}[f](*v)
        raise AssertionError(n)

    return go(ast.parse(text, mode="eval").body)


@given(expressions, st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=5))
def test_columns_agree_with_one_at_a_time(text: str, rows: list[tuple[float, float, float]]) -> None:
    columns = {n: np.array([r[i] for r in rows]) for i, n in enumerate(NAMES)}
    got = np.broadcast_to(value(text)(lambda n: columns[n]), len(rows))
    for i, row in enumerate(rows):
        want = plain(text, dict(zip(NAMES, row, strict=True)))
        assert (
            (got[i] != got[i] and want != want)
            or got[i] == pytest.approx(want, rel=1e-12)
            or abs(want) > 1e300
            or abs(want) == math.inf
        )


@given(st.text(max_size=60))
def test_any_text_compiles_or_is_refused_in_words(text: str) -> None:
    for compile_it in (value, condition):
        try:
            compile_it(text)
        except ExpressionError as e:
            assert str(e)


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "().__class__", "a.b()", "open('x')", "[x for x in a]", "lambda: 1", "a ** b", "a if b else c", "f'{a}'", "'text'",
     "a[0]", "a := 1", "True", "min(a)", "(" * 200 + "a" + ")" * 200, "a+" * 300 + "a", "9" * 500],
)  # fmt: skip
def test_nothing_but_arithmetic(text: str) -> None:
    with pytest.raises(ExpressionError):
        value(text)


def test_three_valued_comparison() -> None:
    c = condition("a > b")
    assert list(c(lambda n: {"a": np.array([1.0, 3.0, np.nan]), "b": 2.0}[n])) == [FALSE, TRUE, UNKNOWN]
    assert c(lambda n: {"a": 1.0}.get(n, math.nan)) == UNKNOWN


def test_division_by_zero_is_missing() -> None:
    assert np.isnan(value("a / b")(lambda n: {"a": 1.0, "b": 0.0}[n]))
