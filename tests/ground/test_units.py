import itertools
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.ground import units
from triage.ground.errors import UnknownUnit


@pytest.mark.parametrize(
    ("text", "unit", "factor"),
    [
        ("%", "ratio", 0.01), ("ns", "ns", 1), ("nsecond", "ns", 1), ("usecond", "ns", 1e3), ("µs", "ns", 1e3), ("ms", "ns", 1e6),
        ("second", "ns", 1e9), ("byte", "byte", 1), ("Kbyte", "byte", 1e3), ("KiB", "byte", 1024), ("MiB", "byte", 1024**2),
        ("Gbyte/s", "byte/s", 1e9), ("byte/second", "byte/s", 1), ("Mbyte/second", "byte/s", 1e6), ("hz", "hz", 1), ("Ghz", "hz", 1e9),
        ("cycle/nsecond", "hz", 1e9), ("cycle/usecond", "hz", 1e6), ("cycle", "cycle", 1), ("register/thread", "count", 1),
        ("Kbyte/block", "byte", 1e3), ("byte/block", "byte", 1), ("inst/cycle", "count", 1), ("", "count", 1), ("warp", "count", 1), ("pass", "count", 1),
    ],
)  # fmt: skip
def test_units_as_profilers_spell_them(text: str, unit: str, factor: float) -> None:
    assert units.unit(text) == (unit, pytest.approx(factor))


def test_unknown_units_are_refused() -> None:
    with pytest.raises(UnknownUnit):
        units.unit("furlong")
    with pytest.raises(UnknownUnit):
        units.factor("ms", "byte")


@pytest.mark.parametrize(
    ("texts", "style"),
    [
        (["1,234.5"], "us"), (["1.234,5"], "eu"), (["65,77"], "eu"), (["65.77", "1,234"], "us"), (["27.595.520", "117.344"], "eu"),
        (["4,963,609,951.19"], "us"), (["310.502.373", "33,66"], "eu"), (["12", "13"], "us"),
    ],
)  # fmt: skip
def test_number_style_by_evidence(texts: list[str], style: str) -> None:
    assert units.style(texts, default="us") == style


def test_doubt_is_refused_not_guessed() -> None:
    with pytest.raises(UnknownUnit, match="117344"):
        units.style(["117.344", "12", "3"])


def test_contradicting_styles_are_refused() -> None:
    with pytest.raises(UnknownUnit, match="contradict"):
        units.style(["1.5", "2,75"])


numbers = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False).map(lambda x: round(x, 4))


@given(numbers)
def test_every_number_survives_both_styles(x: float) -> None:
    us = f"{x:,.4f}"
    eu = us.replace(",", "_").replace(".", ",").replace("_", ".")
    assert units.parse(us, "us") == pytest.approx(x, abs=1e-9)
    assert units.parse(eu, "eu") == pytest.approx(x, abs=1e-9)


@given(st.text(max_size=12))
def test_parse_gives_a_finite_number_none_or_valueerror(text: str) -> None:
    try:
        value = units.parse(text)
    except ValueError:
        return
    assert value is None or abs(value) < float("inf")


def test_numbers_are_read_in_one_way_only() -> None:
    """Every text of up to five such characters is a number or not as the plainer, slower pattern says."""
    plain = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
    for size in range(6):
        for text in map("".join, itertools.product("1.e-x", repeat=size)):
            assert bool(units._NUMBER.fullmatch(text)) == bool(plain.fullmatch(text)), text


@pytest.mark.parametrize("digits", ["{}x", "{}.{}x", "1e{}x"])
def test_a_long_cell_that_is_no_number_is_refused_at_once(digits: str) -> None:
    """A pattern that could cut the digits in two anywhere needs minutes for each of these."""
    text = digits.format("1" * 50_000, "1" * 50_000)
    started = time.process_time()
    with pytest.raises(ValueError, match=r"x$"):
        units.parse(text)
    assert time.process_time() - started < 2


@pytest.mark.parametrize("text", ["n/a", "no data", "", "-", "nan", "N/A", "inf"])
def test_missing_is_none_never_zero(text: str) -> None:
    assert units.parse(text) is None


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.472, "ratio", "47.2 %"), (1.23e6, "ns", "1.23 ms"), (32, "byte", "32 B"), (float("nan"), "ns", "not measured")],
)
def test_values_as_people_read_them(value: float, unit: str, text: str) -> None:
    assert units.show(value, unit) == text
