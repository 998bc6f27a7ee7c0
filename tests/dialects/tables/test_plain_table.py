"""Small plain tables are read without pandas, cell for cell as with it."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
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
    st.integers(-(10**17), 10**17).map(str),
    st.decimals(-(10**6), 10**6, places=6, allow_nan=False).map(str),
    st.tuples(st.decimals(-(10**4), 10**4, places=5, allow_nan=False), st.integers(-25, 25)).map(
        lambda p: f"{p[0]}e{p[1]:+03d}"
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["0", "-0", "-0.0", "0.00", "007", "-5", "12.500", "123456789012345", "0.1", "1e3", "5E-07", ""]),
)
_folder = tempfile.TemporaryDirectory()
WORDS = "n/a|N/A|-|nan|inf|-Infinity|1,5|1,234|12,345.6| 7|7 |+3|1.|.5|%|7%|3 ms|--|true|False|1e400|x|e|1d5|٣"
ODD = st.sampled_from([*WORDS.split("|"), '8"', 'say ""x""', "a\tb", " "])


def _cell(text: str, quoted: bool) -> str:
    return f'"{text}"' if quoted or "," in text or '""' in text else text


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """A table of a name and three numbers; mostly plain, sometimes with odd cells, quotes, a blank or a ragged line."""
    odd = draw(st.integers(0, 3))  # how many of the columns may hold odd cells
    cell = [st.one_of(PLAIN, ODD) if i < odd else PLAIN for i in range(3)]
    name = st.sampled_from(["a", "draw 7", "007", "", "true", "\u00b5", "12.5", "NA", "f(a, b)", 'g(""x"")'])
    rows = draw(st.lists(st.tuples(name, *cell), min_size=1, max_size=12))
    quoted, gap = draw(st.sampled_from([False, True, None])), draw(st.sampled_from(["", "", " "]))
    comma = "," + gap
    lines = [f"name{comma}a{comma}b{comma}c"]
    for row in rows:
        marked = [draw(st.booleans()) if quoted is None else quoted for _ in row]
        lines.append(comma.join(map(_cell, row, marked)))
    if draw(st.integers(0, 9)) == 0:
        lines.insert(
            draw(st.integers(1, len(lines))),
            draw(st.sampled_from(["", ",,,", "x", "a,1,2,3,4", '"a,1,2,3', "-,n/a,,"])),
        )
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    text = end.join(lines) + draw(st.sampled_from([end, "", "\r\n"]))
    return text.encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "cp1252"])), "ignore")


def _read(path: Path) -> object:
    source = Source(str(path))
    try:
        line, headers = wide_table.header(source)
        found = wide_table.read(source, line, headers, [1, 2, 3], [0])
    except TriageError as e:
        return str(e)
    lines = [found.line(i) for i in range(len(found.texts[0]))]
    numbers = {c: v.tobytes() for c, v in found.numbers.items()}
    return numbers, {c: v.tolist() for c, v in found.texts.items()}, lines, found.quality


@pytest.mark.slow
@given(tables())
@settings(max_examples=300, deadline=None)
def test_both_readers_give_the_same(data: bytes) -> None:
    path = Path(_folder.name) / "t.csv"
    path.write_bytes(data)
    ours = _read(path)
    with mock.patch.object(plain_table, "read", return_value=None):
        theirs = _read(path)
    assert ours == theirs


def _of(text: str, end: int | None = None) -> tuple[dict[int, Any], Any] | None:
    path = Path(_folder.name) / "p.csv"
    path.write_text(text, "utf-8")
    source = Source(str(path))
    line, headers = wide_table.header(source)
    return plain_table.read(source, line, len(headers), range(1, len(headers)), [0], end)


def test_a_plain_table_is_read_here() -> None:
    found = _of('name,a,b,c\n"x, y",1,,-2.50\nz,"0.25",n/a,3.5e+08\n,,,\n')
    assert found is not None
    columns, blank = found
    assert columns[0].tolist() == ["x, y", "z", ""] and blank.tolist() == [False, False, True]
    np.testing.assert_array_equal(columns[1], [1.0, 0.25, np.nan])
    np.testing.assert_array_equal(columns[3], [-2.5, 3.5e8, np.nan])
    assert _of("name,a,b,c\nx,1,2\n") is None


def test_a_column_with_words_keeps_its_cells() -> None:
    found = _of('name,a\nx,"1,234"\ny,7\nz,-\n')
    assert found is not None and found[0][1].tolist()[:2] == ["1,234", "7"]
    assert found[0][1][2] != found[0][1][2]


@pytest.mark.parametrize(
    "cell", ["-0", "+1", "1e23", "1e-30", "12345678901.1234567", "12345678901234567", '1"', "nan", "true", " 1", "1,5,"]
)
def test_what_needs_judgement_is_left_to_the_parser(cell: str) -> None:
    assert _of(f"name,a,b,c\nx,{cell},2,3\n") is None


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
    paths = [
        str(SAMPLES / name) for name in ("generic/frame_handmade.csv", "gpu-trace/demo_frame", "rcp", "rocprofv3-stats")
    ]
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "from triage.commands import cli\n"
        f"for path in {paths!r}: cli.triage.main(['diagnose', path, '-f', 'json'], standalone_mode=False)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
