"""Names that repeat are told apart, and what gives back next to nothing is never first, in every report."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import generic
from tests.helpers.reports import text
from triage import api
from triage.document.disambiguate import apart

_NAMES = st.lists(st.tuples(st.sampled_from(["Draw(3)", "Dispatch", "A"]), st.lists(st.sampled_from("pqr"), max_size=3)), max_size=8)  # fmt: skip


@given(_NAMES)
def test_places_that_differ_have_labels_that_differ(places: list[tuple[str, list[str]]]) -> None:
    labels = apart(places, {})
    assert len(set(labels)) == len(places)
    assert all(name in label for (name, _), label in zip(places, labels, strict=True))


@pytest.mark.parametrize(
    "places, rivals, want",
    [
        ([("Draw(3)", ["Sky"]), ("Draw(3)", ["UI"])], {}, ["Sky / Draw(3)", "UI / Draw(3)"]),
        ([("Draw(3)", ["Sky", "Batch"]), ("Draw(3)", ["UI", "Batch"])], {}, ["Sky / Draw(3)", "UI / Draw(3)"]),
        ([("Draw(3)", []), ("Draw(3)", ["UI"])], {}, ["(no marker) / Draw(3)", "UI / Draw(3)"]),
        ([("Draw(3)", ["UI"]), ("Draw(3)", ["UI"])], {}, ["UI / Draw(3) (1)", "UI / Draw(3) (2)"]),
        ([("Draw(3)", ["Sky", "Batch"])], {"Draw(3)": [["UI", "Batch"]]}, ["Sky / Draw(3)"]),
        ([("Draw(3)", ["Sky"]), ("Other", ["Sky"])], {}, ["Draw(3)", "Other"]),
    ],
)
def test_labels(places: list[tuple[str, list[str]]], rivals: dict[str, list[list[str]]], want: list[str]) -> None:
    assert apart(places, rivals) == want


LAUNCH = {"launch.block_size": 256}  # in a frame so short passes have no findings


def _frame(tmp_path: Path, large: float, small: float, **more: int) -> Path:
    """Two draws of one name at the limit of memory, in two passes, beside a marker of which nothing is known."""
    full = {
        "vram.throughput": 93,
        "sm.throughput": 20,
        "l1tex.throughput": 15,
        "l2.throughput": 30,
        "name": "Draw(3)",
        **more,
    }
    return generic(
        tmp_path / "f.csv",
        [
            {"path": "Sky", "gpu.time": large, **full},
            {"path": "Fog", "gpu.time": small, **full},
            {"path": "Rest", "name": "Skinning", "gpu.time": 10.0, **more},
        ],
    )


def _report(name: str, file: Path) -> str:
    """The report without markup's escapes and line breaks."""
    return " ".join(text(api.diagnose(file), name).replace("\\", "").split())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["terminal", "markdown", "jira", "html"])
def test_every_report_tells_repeated_names_apart(name: str, tmp_path: Path) -> None:
    said = _report(name, _frame(tmp_path, 4.0, 3.0))
    assert "Sky / Draw(3)" in said and "Fog / Draw(3)" in said


@pytest.mark.slow
@pytest.mark.parametrize("name", ["terminal", "markdown", "jira", "html"])
def test_small_items_are_never_first(name: str, tmp_path: Path) -> None:
    large = _report(name, _frame(tmp_path, 4.0, 3.0))
    little = _report(name, _frame(tmp_path, 0.002, 0.001, **LAUNCH))
    assert "Nothing significant to fix" in little and "Nothing significant to fix" not in large
    assert "bandwidth-bound" in little  # said, as small


@pytest.mark.parametrize("name", ["terminal", "markdown", "jira", "html"])
def test_a_row_saves_nothing_that_no_sum_counts(name: str, tmp_path: Path) -> None:
    """A workload of which only the umbrella of all causes speaks: the report says that nothing was found to give back."""
    units = {"sm.throughput": 32, "l1tex.throughput": 31, "l2.throughput": 30, "vram.throughput": 29}
    found = api.diagnose(generic(tmp_path / "f.csv", [{"name": "Quiet", "gpu.time": 4.0, **units}]))
    document = found.to_dict()
    assert {f["cause"] for f in document["findings"]} == {"low-throughput"} and not document["frame"]["recoverable_ns"]
    rows = [line.split() for line in text(found, name).splitlines() if "Quiet" in line and "No unit runs" in line]
    assert all("–" in row[-2:] for row in rows[:1])  # the list of findings stands below
