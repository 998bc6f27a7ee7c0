"""Comparisons that nobody should believe without a word: other kernels, other GPUs and shapes, promises that cannot fail."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import SAMPLES, diagnosis, run
from triage.ground.errors import TriageError
from triage.products.compare import compare_report
from triage.products.compare.compare_result import Comparison
from triage.products.compare.comparing import compare
from triage.products.compare.item import Item, Who
from triage.products.compare.predictions import (
    MAX_PREDICTION_WIDTH,
    TOO_WIDE,
    UNSURE,
    UNTRIED,
    eased,
    promised,
)
from triage.products.compare.verdict import Limits, judge

HEAD = "path,name,kind,gpu.time [ms],gpu.idle [%],launch.grid_size,launch.block_size"


def table(path: Path, *rows: str) -> Path:
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return path


def both(folder: Path, before: list[str], after: list[str]) -> Comparison:
    return compare(*(diagnosis(table(folder / f"{i}.csv", *rows)) for i, rows in enumerate((before, after))))


@pytest.mark.slow
def test_no_kernel_in_common_is_refused(tmp_path: Path) -> None:
    ncu = (SAMPLES / "ncu-raw" / "transpose.raw.csv", SAMPLES / "ncu-details" / "solver-2021.csv")
    out = tmp_path / "report.html"
    done = run("compare", *ncu, "-o", out)
    assert done.returncode == 2
    assert done.stdout == ""
    assert not out.exists()
    (line,) = done.stderr.splitlines()
    assert "no common kernels" in line
    assert "transpose_naive" in line and "stencil27" in line
    assert "capture the same scene or kernels on both sides" in line


def test_one_in_common_is_compared_with_a_warning(tmp_path: Path) -> None:
    doc = both(
        tmp_path,
        [",scan,compute,1,0,64,256", ",histogram,compute,9,0,64,256"],
        [",scan,compute,1,0,64,256", ",fft_radix4,compute,6,0,900,32", ",qr,compute,1,0,9,64"],
    )
    (text,) = doc["warnings"]
    assert text.startswith("90 % of the time before in 1 unmatched marker (histogram)")
    assert "88 % of the time after in 2 unmatched markers (fft_radix4, qr)" in text
    assert "WARNING: 90 % of the" in compare_report.render(doc, "terminal")
    for form in ("markdown", "html"):
        assert "WARNING: 90 %" in compare_report.render(doc, form)


def test_what_most_of_the_time_is_in_decides(tmp_path: Path) -> None:
    rows = [",scan,compute,6,0,64,256", ",histogram,compute,4,0,64,256"]
    assert both(tmp_path, rows, rows)["warnings"] == []
    # 40 % without a partner is listed, not shouted
    doc = both(tmp_path, rows, [*rows[:1], ",fft_radix4,compute,4,0,900,32"])
    assert doc["warnings"] == [] and len(doc["unmatched"]) == 2
    other = [",scan,compute,6,0,128,256", *rows[1:]]
    (text,) = both(tmp_path, rows, other)["warnings"]
    assert text.startswith("60 % of the time in 1 marker with a different launch shape (scan)")
    assert both(tmp_path, [*rows, ",top,compute,9,0,1,32"], [*other, ",top,compute,9,0,1,32"])["warnings"] == []


def test_a_marker_and_what_it_contains_are_counted_once(tmp_path: Path) -> None:
    kept = ",Post,marker,4,0,,"
    inside = [f"Light,{n},draw,3,0,," for n in ("Tiles", "Resolve")]
    # 6 of 10 ms are without a partner, though the marker and its draws add up to 12 of 16
    (text,) = both(tmp_path, [kept, ",Light,marker,6,0,,", *inside], [kept])["warnings"]
    assert text.startswith("60 % of the time before in 3 unmatched markers (Light")


def test_the_only_two_kernels_need_no_common_name_but_a_word(tmp_path: Path) -> None:
    row = ",{},compute,1,0,64,256"
    (text,) = both(tmp_path, [row.format("sgemm_naive")], [row.format("cutlass_80")])["warnings"]
    assert "sgemm_naive and cutlass_80 compared as the same work" in text
    assert both(tmp_path, [row.format("sgemm<32>")], [row.format("sgemm<64>")])["warnings"] == []


def test_a_rule_whose_saving_fell_by_half_counts_as_tried() -> None:
    who = Who("", "k", "", "", 0)
    before = Item(who, 0.0, gains={"CURED": (0.2, 0.6, 0.7), "KEPT": (0.1, 0.3, 0.4), "NONE": (0.0, 0.0, 0.1)})
    after = Item(who, 0.0, gains={"CURED": (0.0, 0.1, 0.2), "KEPT": (0.1, 0.3, 0.4), "NONE": (0.0, 0.0, 0.1)})
    assert eased(before, after) == ["CURED"]


PROMISE = (0.2, 0.3, 0.4)  # fractions of the time: low, likely, bound


def came(gain: tuple[float, float, float], after: float | list[float], fixed: bool = True) -> tuple[str | None, str]:
    item = Item(Who("", "k", "", "", 0), 0.0, gains={"X": gain})
    judged = judge(*(side if isinstance(side, list) else [side] for side in (100.0, after)), Limits())
    said = promised(item, ["X"] if fixed else [], ["X"], judged)
    assert said is not None
    return said["came_true"], said["doubt"]


@pytest.mark.parametrize(
    ("gain", "after", "fixed", "expected"),
    [
        (PROMISE, 70.0, True, ("within", "")),
        (PROMISE, 90.0, True, ("below", "")),
        (PROMISE, 50.0, True, ("above", "")),
        ((0.0, 0.3, 0.4), 70.0, True, (None, TOO_WIDE)),
        # one run a side: 3 % are taken for noise, and a cure of 2 % is lost in it
        ((0.02, 0.3, 0.4), 70.0, True, (None, TOO_WIDE)),
        ((0.04, 0.3, 0.4), 70.0, True, ("within", "")),
        ((0.1, 0.5, 0.1 + MAX_PREDICTION_WIDTH), 70.0, True, ("within", "")),
        ((0.1, 0.5, 0.11 + MAX_PREDICTION_WIDTH), 70.0, True, (None, TOO_WIDE)),
        ((0.0, 0.5, 0.9), 70.0, True, (None, TOO_WIDE)),
        # what lies outside has failed, however wide it was
        ((0.0, 0.5, 0.9), 150.0, True, ("below", "")),
        ((0.05, 0.5, 0.9), 5.0, True, ("above", "")),
        (PROMISE, 100.0, False, (None, UNTRIED)),
        (PROMISE, 130.0, False, (None, UNTRIED)),
        (PROMISE, 70.0, False, ("within", "")),
        (PROMISE, [60.0, 110.0], True, (None, UNSURE)),
    ],
)
def test_a_promise_that_could_not_fail_did_not_come_true(
    gain: tuple[float, float, float], after: float | list[float], fixed: bool, expected: tuple[str | None, str]
) -> None:
    assert came(gain, after, fixed) == expected


@given(st.lists(st.floats(0, 0.99), min_size=3, max_size=3), st.floats(1, 300))
@settings(deadline=None)
def test_as_predicted_is_never_said_of_what_no_effect_would_have_met(ends: list[float], after: float) -> None:
    low, likely, bound = sorted(ends)
    verdict, doubt = came((low, likely, bound), after)
    assert (verdict is None) == bool(doubt)
    if verdict == "within":
        assert bound - low <= MAX_PREDICTION_WIDTH
        # the same promise, and a change without any effect: it must be seen to fail
        assert came((low, likely, bound), 100.0)[0] == "below"


def test_every_form_says_the_change_alike(tmp_path: Path) -> None:
    doc = both(tmp_path, [",Pass,fullscreen,2,45,,"], [",Pass,fullscreen,1.2,0,,"])
    (pair,) = doc["pairs"]
    assert pair["change"] == pytest.approx(1.2 / 2 - 1)
    promise = pair["predicted"]
    assert promise is not None and promise["interval"] == [pytest.approx(-0.45), pytest.approx(-0.225, abs=1e-3)]
    assert json.loads(compare_report.render(doc, "json"))["pairs"][0]["change"] == pytest.approx(-0.4)
    for form in ("terminal", "markdown", "html", "junit"):
        text = re.sub(r"\s+", " ", compare_report.render(doc, form))
        assert "ime \u221240.0 %" in text, form
        # neither speed-ups nor gains beside it
        assert not re.search(r"% gain|% longer|1\.67 ?[x×]|[Ss]peed-up", text), form
        if form != "junit":
            assert "(range \u221245.0 to \u221222.5 %" in text and ": met" in text, form


def test_a_regression_says_how_many_times_as_well(tmp_path: Path) -> None:
    doc = both(tmp_path, [",Pass,fullscreen,2,0,,"], [",Pass,fullscreen,5,0,,"])
    assert "Time +150.0 % (2.5x)" in doc["pairs"][0]["reading"]


def test_kernels_are_called_kernels(tmp_path: Path) -> None:
    capture = SAMPLES / "ncu-raw" / "transpose.raw.csv"
    doc = compare(diagnosis(capture), diagnosis(capture))
    for form in ("terminal", "markdown"):
        text = compare_report.render(doc, form)
        assert "3 matched kernels" in " ".join(text.split())
        assert not re.search(r"\b(frame|marker)", text, re.IGNORECASE)
    seen = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", compare_report.render(doc, "html"), flags=re.DOTALL)
    assert "Kernels" in seen and not re.search(r"\bmarker", seen, re.IGNORECASE)


def test_both_sides_by_themselves_are_no_comparison(tmp_path: Path) -> None:
    with pytest.raises(TriageError, match="no common markers"):
        both(
            tmp_path, [",scan,compute,1,0,1,64", ",sort,compute,1,0,1,64"], [",fft,draw,1,0,9,32", ",qr,draw,1,0,9,32"]
        )
