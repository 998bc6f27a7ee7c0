from __future__ import annotations

import pytest

from triage.dialects.traces.typed_rows import TypedRows


def test_rows_are_kept_by_column() -> None:
    rows = TypedRows("dq")
    assert not len(rows) and rows.column(1).tolist() == []
    rows.append((1.5, 2))
    rows.append((float("nan"), -(1 << 62)))
    assert len(rows) == 2 and rows.column(0)[0] == 1.5 and rows.column(1).tolist() == [2, -(1 << 62)]


@pytest.mark.parametrize("bad", [(1.0, "x"), (1.0, 1 << 63), (1.0, 2.5)])
def test_a_row_that_does_not_fit_leaves_no_part_behind(bad: tuple[float, int]) -> None:
    rows = TypedRows("dq")
    rows.append((1.0, 1))
    with pytest.raises((TypeError, OverflowError)):
        rows.append(bad)
    assert [rows.column(i).tolist() for i in (0, 1)] == [[1.0], [1]]
