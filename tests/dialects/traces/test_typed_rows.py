import pytest

from triage.dialects.traces.typed_rows import TypedRows


def test_rows_are_kept_by_column() -> None:
    rows = TypedRows("dq")
    assert not len(rows) and rows.column(1).tolist() == []
    rows.extend([1.5], (2,))
    rows.extend([float("nan"), 3.0], (-(1 << 62), 4))
    assert len(rows) == 3 and rows.column(0)[0] == 1.5 and rows.column(1).tolist() == [2, -(1 << 62), 4]


@pytest.mark.parametrize("cells", [[None], ["1"], [1.5], [1 << 63]])
def test_a_cell_that_does_not_fit_leaves_all_rows_out(cells: list[object]) -> None:
    rows = TypedRows("dq")
    with pytest.raises((TypeError, OverflowError)):
        rows.extend([0.0, 1.0], [1, *cells])  # type: ignore[list-item]
    assert not len(rows)
