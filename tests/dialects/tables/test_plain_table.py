"""Small plain tables are read without pandas, cell for cell as with it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from triage.capture.arrays import numbered
from triage.capture.source import Source
from triage.dialects.tables import plain_table, wide_table
from triage.ground.errors import TriageError

PLAIN = st.one_of(
    st.integers(-(10**15), 10**15).map(str),
    st.decimals(-(10**6), 10**6, places=6, allow_nan=False).map(str),
    st.sampled_from(["0", "-0", "-0.0", "0.00", "007", "-5", "12.500", "123456789012345", "0.1", "1e3", ""]),
)
_folder = tempfile.TemporaryDirectory()
ODD = st.sampled_from(
    ["n/a", "nan", "inf", "1,5", " 7", "7 ", "+3", "1.", ".5", "%", '"8"', "--", "true", "1e400", "x", "\u0663"]
)


@st.composite
def tables(draw: st.DrawFn) -> str:
    """A table of a name and three numbers; mostly plain, sometimes with an odd cell, a blank or a ragged line."""
    cell = PLAIN if draw(st.booleans()) else st.one_of(PLAIN, ODD)
    name = st.sampled_from(["a", "draw 7", "007", "", "true", "\u00b5", "12.5", "NA"])
    rows = draw(st.lists(st.tuples(name, cell, cell, cell), min_size=1, max_size=12))
    lines = ["name,a,b,c", *(",".join(row) for row in rows)]
    if draw(st.integers(0, 9)) == 0:
        lines.insert(draw(st.integers(1, len(lines))), draw(st.sampled_from(["", ",,,", "x", "a,1,2,3,4"])))
    return "\n".join(lines) + draw(st.sampled_from(["\n", "", "\r\n"]))


def _read(path: Path) -> object:
    source = Source(str(path))
    try:
        line, headers = wide_table.header(source)
        found = wide_table.read(source, line, len(headers), [1, 2, 3], [0])
    except TriageError as e:
        return str(e)
    lines = [found.line(i) for i in range(len(found.texts[0]))]
    numbers = {c: v.tobytes() for c, v in found.numbers.items()}
    return numbers, {c: v.tolist() for c, v in found.texts.items()}, lines, found.quality


@given(tables())
@settings(max_examples=300, deadline=None)
def test_both_readers_give_the_same(text: str) -> None:
    path = Path(_folder.name) / "t.csv"
    path.write_bytes(text.encode())
    ours = _read(path)
    with mock.patch.object(plain_table, "read", return_value=None):
        theirs = _read(path)
    assert ours == theirs


def test_a_plain_table_is_read_here() -> None:
    path = Path(_folder.name) / "p.csv"
    path.write_text("name,a,b,c\nx,1,,-2.50\ny,0.25,3,4\n", "utf-8")
    found = plain_table.read(Source(str(path)), 1, 4, [1, 2, 3], [0], None)
    assert found is not None
    assert found.texts[0].tolist() == ["x", "y"]
    np.testing.assert_array_equal(found.numbers[2], [np.nan, 3.0])
    assert plain_table.read(Source(str(path)), 1, 5, [1], [0], None) is None


@pytest.mark.parametrize("cell", ["-0", "+1", "1e3", "n/a", "1234567890.1234567", '"1"', "1,5,"])
def test_what_needs_judgement_is_left_to_the_parser(cell: str) -> None:
    path = Path(_folder.name) / "q.csv"
    path.write_text(f"name,a,b,c\nx,{cell},2,3\n", "utf-8")
    assert plain_table.read(Source(str(path)), 1, 4, [1, 2, 3], [0], None) is None


@given(st.lists(st.one_of(st.sampled_from(["a", "b", "", "\u00b5"]), st.text(max_size=3)), max_size=20))
def test_texts_are_numbered_as_pandas_does(values: list[str]) -> None:
    codes, distinct = numbered(np.array(values, dtype=object))
    expected, theirs = pd.factorize(np.array(values, dtype=object))
    assert codes.tolist() == expected.tolist() and distinct.tolist() == theirs.tolist()


@given(st.lists(st.one_of(st.floats(allow_infinity=True, allow_nan=True), st.sampled_from([0.0, -0.0])), max_size=20))
def test_figures_are_numbered_as_pandas_does(values: list[float]) -> None:
    codes, distinct = numbered(np.array(values, dtype=float))
    expected, theirs = pd.factorize(np.array(values, dtype=float))
    assert codes.tolist() == expected.tolist()
    np.testing.assert_array_equal(distinct, theirs)


def test_a_small_diagnosis_needs_no_pandas() -> None:
    path = SAMPLES / "generic" / "frame_handmade.csv"
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "from triage.commands import cli\n"
        f"cli.triage.main(['diagnose', {str(path)!r}, '-f', 'json'], standalone_mode=False)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
