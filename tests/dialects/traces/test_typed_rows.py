from __future__ import annotations

import pytest

from triage.dialects.traces.typed_rows import MAX_WAITING, TypedRows


def test_rows_are_kept_by_column() -> None:
    rows = TypedRows("dq")
    assert not len(rows) and rows.column(1).tolist() == []
    rows.append((1.5, 2))
    rows.append((float("nan"), -(1 << 62)))
    assert len(rows) == 2 and rows.column(0)[0] == 1.5 and rows.column(1).tolist() == [2, -(1 << 62)]


@pytest.mark.parametrize("count", [MAX_WAITING - 1, MAX_WAITING, 2 * MAX_WAITING + 1])
def test_rows_that_wait_count_and_keep_their_order(count: int) -> None:
    rows = TypedRows("dq")
    for i in range(count):
        rows.append((i / 2, i))
    assert len(rows) == count
    assert rows.column(1).tolist() == list(range(count)) and rows.column(0)[-1] == (count - 1) / 2
