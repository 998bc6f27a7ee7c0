"""A damaged export is refused or remarked, never read as something else: part of what `make hard` does twenty times."""

import csv
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import SAMPLES, generic
from tests.helpers import damage
from tests.helpers.spreadsheet_damage import SPREADSHEET_KINDS
from triage import api
from triage.dialects.tables import extents
from triage.ground.errors import TriageError
from triage.reading import reader

SEEDS = damage.exports(SAMPLES)
KINDS = damage.shared(SEEDS, share=2, most=12)
EXPORTS = [seed for seed in SEEDS if seed.label in KINDS]
ROW = {"sm.throughput": 40.0, "gpu.time": 0.62, "l2.hit_rate": 71.5}


@pytest.mark.slow
@pytest.mark.parametrize("seed", EXPORTS, ids=[s.label for s in EXPORTS])
def test_one_damage_never_changes_a_value_silently(tmp_path: Path, seed: damage.fuzzing.Seed) -> None:
    silent = [o for o in damage.campaign(seed, tmp_path / "case", 1, KINDS[seed.label]) if o.how == "silent"]
    assert not silent, silent


@pytest.mark.slow
@pytest.mark.parametrize("at", range(0, len(EXPORTS), 6))
def test_a_spreadsheet_never_changes_a_value_silently(tmp_path: Path, at: int) -> None:
    """A sixth of the samples, each with a sixth of the kinds; `make hard` takes all kinds, and the corpus."""
    kinds = SPREADSHEET_KINDS[at // 6 % 6 :: 6]
    outcomes = damage.campaign(EXPORTS[at], tmp_path / "case", 1, kinds)
    assert not [o for o in outcomes if o.how == "silent"]


@pytest.fixture
def export(tmp_path: Path) -> Path:
    return generic(tmp_path / "a.csv", [{"name": f"m{i}", **ROW} for i in range(8)])


def changed(path: Path, line: int, old: str, new: str) -> Path:
    lines = path.read_text("utf-8").splitlines()
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("71.5", "71.5,3", "line 4: 5 cells, header has 4"),
        ("0.62,", "", "line 4: 3 cells, header has 4"),
        ("71.5", "71,5", "line 4: 5 cells"),
        ("m2", '"m2', "line 4: a quote is open"),
    ],
)
def test_rows_that_do_not_fit_are_set_aside_and_counted(export: Path, old: str, new: str, said: str) -> None:
    capture = reader.read(str(changed(export, 4, old, new)))
    assert list(capture.names) == [f"m{i}" for i in range(8) if i != 2]
    (remark,) = [q.message for q in capture.quality if q.check == "rows-set-aside"]
    assert remark.startswith("1 of 8 row was excluded") and said in remark
    assert capture.table.line(2) == 5  # the lines of the others are still theirs


def test_rows_set_aside_lower_confidence(tmp_path: Path) -> None:
    export = Path(shutil.copy(SAMPLES / "generic" / "p3_workloads_v2.csv", tmp_path))
    sure = api.diagnose(str(export)).to_dict()["findings"]
    doubted = api.diagnose(str(changed(export, 3, ",", ",3,"))).to_dict()["findings"]
    below = {"high": "medium", "medium": "low", "low": "low"}
    rules = {f["rule"]: f["confidence"] for f in sure}
    assert len(doubted) > 3 and all(f["confidence"] == below[rules[f["rule"]]] for f in doubted)
    assert all(any("excluded" in c for c in f["caveats"]) for f in doubted)


@pytest.mark.parametrize(
    ("old", "new", "value", "check"),
    [
        ("0.62", "900 us", 900e3, "own-unit"),
        ("0.62", "3furlong", None, "foreign-unit"),
        ("0.62", '"1,234"', None, "not-a-number"),
        ("0.62", "nan", None, "not-finite"),
        ("0.62", "1e999", None, "not-finite"),
        ("0.62", "-3", None, "impossible-value"),
        ("0.62", "1e11", None, "impossible-value"),
        ("0.62", "true", None, "not-a-number"),
    ],
)
def test_cells_are_honoured_or_missing_with_a_remark(
    export: Path, old: str, new: str, value: float | None, check: str
) -> None:
    capture = reader.read(str(changed(export, 2, old, new)))
    got = capture.facts["gpu.time"][0]
    assert got == pytest.approx(value) if value else got != got
    assert check in [q.check for q in capture.quality]
    assert any(("line 2" in q.message) for q in capture.quality if q.check == check)


def test_a_quoted_decimal_comma_is_refused_or_missing(export: Path) -> None:
    with pytest.raises(TriageError, match="contradict"):
        reader.read(str(changed(export, 2, "0.62", '"0,7"')))


def test_impossible_shares_are_no_evidence(export: Path) -> None:
    found = api.diagnose(str(changed(export, 2, "40.0", "2508"))).to_dict()
    cells = [e["source"].get("text", "") for f in found["findings"] for e in f["evidence"]]
    assert "2508" not in cells
    assert any("2508.0 %" in q["message"] for q in found["quality"])


def test_a_header_that_no_row_fits_is_refused(export: Path) -> None:
    with pytest.raises(TriageError, match="most rows are like this"):
        reader.read(str(changed(export, 1, "name,", "name,more,")))


def test_a_trailing_comma_on_every_row_is_no_cell_too_many(export: Path) -> None:
    head, *rows = export.read_text("utf-8").splitlines()
    export.write_text("\n".join([head, *(r + "," for r in rows)]) + "\n", "utf-8")
    assert len(reader.read(str(export))) == 8


def test_a_last_line_without_end_is_remarked(export: Path) -> None:
    export.write_bytes(export.read_bytes().rstrip(b"\r\n")[:-1])
    assert "no-last-line-end" in [q.check for q in reader.read(str(export)).quality]


def test_quotes_that_happen_to_pair_over_rows_swallow_none(tmp_path: Path) -> None:
    path = generic(tmp_path / "a.csv", [{"name": f"m{i}", **ROW} for i in range(60)])
    lines = path.read_text("utf-8").splitlines()
    for i in (5, 25, 31, 32):
        lines[i] = '"' + lines[i]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    capture = reader.read(str(path))
    assert list(capture.names) == [f"m{i}" for i in range(60) if i not in (4, 24, 30, 31)]
    assert "rows-set-aside" in [q.check for q in capture.quality]


def test_a_name_of_several_lines_stays_one_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('name,gpu.time [ms],l2.hit_rate [%]\n"a\nb, c\nd",1,50\n"e\nf",2,60\ng,3,70\n')
    capture = reader.read(str(path))
    assert len(capture) == 3
    assert [q.check for q in capture.quality] == ["name-spelling"]


@pytest.mark.parametrize("times", [2, 3])
def test_an_export_appended_to_itself_is_refused(export: Path, times: int) -> None:
    export.write_bytes(export.read_bytes() * times)
    with pytest.raises(TriageError, match=f"same export {times} times"):
        reader.read(str(export))


def distinct_rows(path: Path) -> Path:
    return generic(path, [{"name": f"m{i}", "gpu.time": 1 + i / 8, "l2.hit_rate": 50.5 + i} for i in range(6)])


@pytest.mark.parametrize("again", ["\ufeff", "\n"])
def test_rows_that_all_stand_twice_are_remarked(tmp_path: Path, again: str) -> None:
    path = distinct_rows(tmp_path / "a.csv")
    text = path.read_text("utf-8")
    path.write_text(text + again + text, "utf-8")
    capture = reader.read(str(path))
    assert list(capture.names) == [f"m{i}" for i in range(6)]  # the header in the middle is no row
    (remark,) = [q for q in capture.quality if q.check == "repeated-rows"]
    assert remark.doubt


def test_rows_measured_again_are_no_repetition(tmp_path: Path) -> None:
    rows = [{"name": f"m{i % 3}", "gpu.time": 1 + i / 8, "l2.hit_rate": 50} for i in range(6)]
    assert "repeated-rows" not in [q.check for q in reader.read(str(generic(tmp_path / "a.csv", rows))).quality]


def test_the_header_once_more_is_set_aside_and_another_one_is_refused(tmp_path: Path) -> None:
    path = distinct_rows(tmp_path / "a.csv")
    head, *rows = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([head, *rows[:3], head, *rows[3:], ""]), "utf-8")
    capture = reader.read(str(path))
    assert list(capture.names) == [f"m{i}" for i in range(6)]
    assert any("line 5: the header once more" in q.message for q in capture.quality)
    path.write_text("\n".join([head, *rows[:3], head.replace("[ms]", "[us]"), *rows[3:], ""]), "utf-8")
    with pytest.raises(TriageError, match=r"a\.csv:5: second header \('gpu.time \[us\]'"):
        reader.read(str(path))


@pytest.mark.parametrize(("name", "value", "aside"), [("Total", 7.875, True), ("Average", 1.31, True), ("Total", 3, False), ("mean shift", 7.875, False)])  # fmt: skip
def test_a_row_that_sums_up_the_others_is_no_workload(tmp_path: Path, name: str, value: float, aside: bool) -> None:
    path = distinct_rows(tmp_path / "a.csv")
    whole = reader.read(str(path)).frame_ns
    path.write_text(path.read_text("utf-8") + f"{name},{value},\n", "utf-8")
    capture = reader.read(str(path))
    assert (capture.frame_ns == whole) is aside
    (*said,) = (q.message for q in capture.quality if q.check == "total-row")
    assert any("excluded" in m for m in said) is aside
    assert bool(said) is (name != "mean shift")


def test_units_in_a_row_of_their_own_are_honoured(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("name,gpu.time,l2.hit_rate,vram.throughput [%]\n,us,%,\nm,1500,0.4,20\nn,900,55,30\n")
    capture = reader.read(str(path))
    assert list(capture.names) == ["m", "n"]
    assert capture.facts["gpu.time"].tolist() == pytest.approx([1.5e6, 0.9e6])
    assert capture.facts["l2.hit_rate"].tolist() == pytest.approx([0.004, 0.55])
    path.write_text("name,gpu.time [ms],l2.hit_rate\n,us,%\nm,1500,0.4\nn,900,55\n")
    with pytest.raises(TriageError, match=r"a\.csv:2: second unit 'us' for 'gpu.time \[ms\]'"):
        reader.read(str(path))


@pytest.mark.parametrize(("second", "said"), [("{0}", 0), ("{0}000", 2)])
def test_two_columns_of_one_metric_that_disagree_are_remarked(tmp_path: Path, second: str, said: int) -> None:
    path = tmp_path / "a.csv"
    rows = [f"m{i},{i},50,{second.format(i)}" for i in (1, 2)]
    path.write_text("\n".join(["name,gpu.time [ms],l2.hit_rate [%],GPU time [ms]", *rows, ""]))
    found = [q.message for q in reader.read(str(path)).quality if q.check == "columns-disagree"]
    assert len(found) == bool(said)
    assert not said or f"differ in {said} rows (first: 1 ms and 1 s, line 2)" in found[0]


def test_fractions_under_a_percent_sign_are_remarked(tmp_path: Path) -> None:
    path = generic(tmp_path / "a.csv", [{"name": f"m{i}", "gpu.time": 1 + i, "l2.hit_rate": 0.5 + i / 9} for i in (1, 2)])  # fmt: skip
    assert "mixed-shares" in [q.check for q in reader.read(str(path)).quality]


def test_lines_at_the_end_that_repeat_those_before_are_remarked(tmp_path: Path) -> None:
    """Also where not every line becomes a row, and where of a row too few cells become figures."""
    for sample in ("pix-tool/nvidia-events.csv",):
        text = (SAMPLES / sample).read_text("utf-8-sig")
        path = tmp_path / "a.csv"
        path.write_text(text + text.partition("\n")[2], "utf-8")
        (remark,) = [q for q in reader.read(str(path)).quality if q.check == "repeated-rows"]
        assert remark.doubt and "from line" in remark.message
    sampled = "Kernel,SubDeviceId,Time[ns],Start[ns],End[ns],\nk[SIMD32],0,{},{},{},\n\n"
    text = "== Raw Kernel Intervals ==\n\n" + "".join(
        sampled.format(90 + i, 1000 * i, 1000 * i + 90 + i) for i in (1, 2)
    )
    path = tmp_path / "a.txt"
    path.write_text(text)
    assert "repeated-rows" not in [q.check for q in reader.read(str(path)).quality]
    path.write_text(text + text.partition("\n\n")[2])
    assert "repeated-rows" in [q.check for q in reader.read(str(path)).quality]


@pytest.mark.parametrize("said", ["sep=,", "sep=;", "SEP=\t"])
def test_a_line_for_spreadsheets_is_no_row(export: Path, said: str) -> None:
    whole = reader.read(str(export))
    export.write_text(f"{said}\n" + changed(export, 4, "71.5", "71.5,3").read_text("utf-8"), "utf-8")
    capture = reader.read(str(export))
    assert list(capture.names) == [n for n in whole.names if n != "m2"]
    assert capture.facts["gpu.time"].tolist() == whole.facts["gpu.time"].tolist()[:-1]
    assert any("line 5: 5 cells" in q.message for q in capture.quality)  # lines are counted as an editor counts them


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("more", [1 << 8, 1 << 16])
def test_so_many_cells_too_many_that_a_counter_would_wrap_are_seen(tmp_path: Path, more: int, quote: str) -> None:
    path = generic(tmp_path / "a.csv", [{"name": f"m{i}", **ROW} for i in range(8)])
    head, *rows = path.read_text("utf-8").splitlines()
    rows = [",".join(quote + c + quote for c in row.split(",")) for row in rows]
    rows[2] = f"{quote}m2{quote}," + f"{quote}{quote}," * more + rows[2].partition(",")[2]
    path.write_text("\n".join([head, *rows, ""]), "utf-8")
    capture = reader.read(str(path))
    assert list(capture.names) == [f"m{i}" for i in range(8) if i != 2]
    assert any(f"line 4: {more + 4:,} cells" in q.message for q in capture.quality)


def test_a_list_of_names_and_a_count_is_no_capture(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("name,Calls,city\nAda,3,Rome\nBea,4,Bonn\n")
    with pytest.raises(TriageError, match="unknown format"):
        reader.read(str(path))
    assert len(reader.read(str(path), dialect="generic")) == 2  # whoever says so is believed
    path.write_text("name,registers,block_size\nk,32,256\n")
    assert len(reader.read(str(path))) == 1


def work(path: Path) -> int:
    """Calls of functions while an export is read: what the clock would say, but the same every time."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        reader.read(str(path))
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.slow
@pytest.mark.parametrize("where", ["first", "last", "every 50th"])
@pytest.mark.parametrize("named", ["{}", '"{}<int, float>(a, b)"'])
def test_open_quotes_cost_work_in_proportion_to_the_rows(tmp_path: Path, where: str, named: str) -> None:
    spent = []
    for rows in (2_000, 2_000, 8_000):  # the first reading loads what the others need
        lines = [f"{named.format(f'm{i}')},{1 + i / 8},50.5" for i in range(rows)]
        for i in {"first": [1], "last": [rows - 2], "every 50th": range(0, rows, 50)}[where]:
            lines[i] = '"' + lines[i]
        path = tmp_path / "a.csv"
        path.write_text("\n".join(["name,gpu.time [ms],l2.hit_rate [%]", *lines, ""]), "utf-8")
        spent.append(work(path))
    assert spent[2] < 6 * spent[1]


@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_a_first_column_called_hash_is_no_comment(export: Path, sep: str) -> None:
    whole = reader.read(str(export))
    head, *rows = export.read_text("utf-8").replace(",", sep).splitlines()
    export.write_text(
        "\n".join(["# made by a script", f"#{sep}{head}", *(f"{i}{sep}{r}" for i, r in enumerate(rows)), ""]), "utf-8"
    )
    again = reader.read(str(export))
    assert list(again.names) == list(whole.names)
    assert again.facts["gpu.time"].tolist() == whole.facts["gpu.time"].tolist()


@pytest.mark.parametrize(
    ("text", "axes"),
    [
        ("(256, 1, 1)", [256, 1, 1]),
        ("(256,1,1)", [256, 1, 1]),
        ("4096 x 4096", [4096, 4096]),
        ("{64; 4; 1}", [64, 4, 1]),
        ("1,048,576 x 1 x 1", [1048576, 1, 1]),
        ("16.384", [16384]),
        ("67108864", [67108864]),
        *((bad, []) for bad in (
            "67108864,0", "1.5", "12 34", "1.2.3", "0x1F", "(5", "5)", "(5]", "-5", "256 us", "nan", "1e3", "x", "1 x 2 x 3 x 4", "256 x", "",
            "9" * 25, "#REF!", "256furlong", "-(256, 1, 1)1", "(256, 1, 1),0", "( )", "()", "(",
        )),
    ],
)  # fmt: skip
def test_a_shape_is_a_cell_as_a_whole(text: str, axes: list[int]) -> None:
    assert extents.axes(text) == axes


@pytest.mark.parametrize("cell", ["67108864,0", "12 34 x", "0x1F", "nan", "256 us", "(5)x"])
@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("vtune/kernels.csv", "67108864"),
        ("rcp/session.csv", "{   16   16  1}"),
        ("ncu-details/transpose.details.csv", "(32, 8, 1)"),
        ("ncu-raw/transpose.raw.csv", "(32, 8, 1)"),
    ],
)
def test_damaged_shapes_are_remarked(tmp_path: Path, name: str, whole: str, cell: str) -> None:
    text = (SAMPLES / name).read_text("utf-8")
    assert whole in text
    path = tmp_path / Path(name).name
    path.write_text(text.replace(whole, cell, 1), "utf-8")
    try:
        checks = {q.check for q in reader.read(str(path)).quality}
    except TriageError:
        return
    assert checks & {"not-a-number", "not-finite", "rows-set-aside", "contradiction"}


@pytest.mark.parametrize("cell", ["12,31,0", "1,2,3"])
def test_a_number_that_is_damaged_is_no_shape(tmp_path: Path, cell: str) -> None:
    text = (SAMPLES / "ncu-gui" / "summary.csv").read_text("utf-8")
    assert "12,31" in text
    path = tmp_path / "a.csv"
    path.write_text(text.replace("12,31", cell, 1), "utf-8")
    assert "not-a-number" in {q.check for q in reader.read(str(path)).quality}


def test_a_row_that_ends_where_a_short_one_may_was_cut(tmp_path: Path) -> None:
    """Metrics may end behind their value, but not one alone, as the last bytes of a file."""
    lines = (SAMPLES / "ncu-details" / "transpose.details.csv").read_text("utf-8").splitlines()
    assert lines[8].endswith('",') and lines[7].endswith('",')
    path = tmp_path / "a.csv"
    path.write_text("\n".join([*lines[:8], lines[8][:-1]]), "utf-8")
    assert "rows-set-aside" in {q.check for q in reader.read(str(path)).quality}
    path.write_text("\n".join(line.removesuffix(",") for line in lines[:9]), "utf-8")
    assert "rows-set-aside" not in {q.check for q in reader.read(str(path)).quality}


@pytest.mark.parametrize("cell", ["1000000000000000000000000", "-41"])
def test_impossible_counts_are_judged_before_they_are_added_up(tmp_path: Path, cell: str) -> None:
    lines = (SAMPLES / "intel-stalls" / "out.metrics.4711.csv").read_text("utf-8").splitlines()
    at = next(i for i, line in enumerate(lines) if "SbidStall" in line) + 1
    whole = reader.read(str(SAMPLES / "intel-stalls" / "out.metrics.4711.csv"))
    cells = lines[at].split(",")
    cells[2] = cell
    path = tmp_path / "out.metrics.csv"
    path.write_text("\n".join([*lines[:at], ",".join(cells), *lines[at + 1 :], ""]), "utf-8")
    found = reader.read(str(path))
    assert "impossible-value" in {q.check for q in found.quality}
    assert sorted(found.names) == sorted(whole.names)


def test_a_first_column_called_with_a_hash_is_no_comment(tmp_path: Path) -> None:
    path = SAMPLES / "presentmon" / "game-gpu-bound.csv"
    rows = path.read_text("utf-8-sig").splitlines()
    other = tmp_path / "a.csv"
    other.write_text("\n".join([f"#,{rows[0]}", *(f"{i},{r}" for i, r in enumerate(rows[1:]))]) + "\n", "utf-8")
    assert damage.same(damage.of(reader.read(str(path))), damage.of(reader.read(str(other)))) == ""


def test_a_list_that_only_counts_is_no_capture(tmp_path: Path) -> None:
    """A manifest beside exports has a column called `gpu`; counters without a time are a capture all the same."""
    manifest = tmp_path / "MANIFEST.tsv"
    manifest.write_text("file\tgpu\tcount\na.csv\tan A100\t35\nb.csv\tan H100\t706\n", "utf-8")
    with pytest.raises(TriageError, match="list of counts"):
        api.diagnose(manifest)
    untimed = tmp_path / "untimed.csv"
    untimed.write_text("marker,gpu.time [us],count,prims.drawn\nSky,,35,120\nSea,,706,90\n", "utf-8")
    assert api.diagnose(untimed)


def test_what_ran_did_fit(tmp_path: Path) -> None:
    """Nsight Compute whose own calculation divided by zero exports limits of 0; waves of 0 alone are a rounded small grid."""
    export = tmp_path / "k.csv"
    head = "kernel,gpu.time [us],occupancy.limit_shared,occupancy.theoretical,launch.waves,launch.grid_size,device.sm_count"
    export.write_text(f"{head}\nA,12,0,0,0,36,108\nB,12,3,0.5,0,2,108\n", "utf-8")
    capture = reader.read(export)
    assert [r.check for r in capture.quality if "0 groups per SM" in r.message] == ["impossible-value"]
    for metric in ("occupancy.limit_shared", "occupancy.theoretical", "launch.waves"):
        assert np.isnan(capture.facts[metric][0])
    assert (capture.facts["launch.waves"][1], capture.facts["occupancy.theoretical"][1]) == (0, 0.5)


@pytest.mark.parametrize("end", ["\r", "\n"])
def test_a_line_end_within_a_row_sets_its_pieces_aside(export: Path, end: str) -> None:
    capture = reader.read(str(changed(export, 4, "71.5", f"7{end}1.5")))
    assert list(capture.names) == [f"m{i}" for i in range(8) if i != 2]
    assert [q.message for q in capture.quality if q.check == "rows-set-aside"]
    assert capture.table.line(2) == 6  # line ends are counted alike by everything that reads the file


def test_rows_below_a_blank_line_are_rows(tmp_path: Path) -> None:
    for sample in ("nsys-kernels/render_cuda_gpu_kern_sum.csv", "nsys-trace/render_cuda_gpu_trace.csv", "nvprof-trace/trace.csv"):  # fmt: skip
        whole = reader.read(str(SAMPLES / sample))
        lines = (SAMPLES / sample).read_text("utf-8").splitlines()
        path = tmp_path / Path(sample).name
        path.write_text("\n".join([*lines[:-1], "", lines[-1]]) + "\n", "utf-8")
        assert list(reader.read(str(path)).names) == list(whole.names), sample


def test_a_number_for_python_alone_is_none(tmp_path: Path) -> None:
    text = (SAMPLES / "intel-pti" / "metrics.4711.csv").read_text("utf-8")
    path = tmp_path / "m.csv"
    path.write_text(text.replace("805306368", "805_306_368", 1), "utf-8")
    assert "not-a-number" in {q.check for q in reader.read(str(path)).quality}


@pytest.mark.parametrize("by", [";", "\t"])
@pytest.mark.parametrize("sample", ["ncu-details/solver-2021.csv", "ncu-raw/transpose.raw.csv", "ncu-gui/summary.csv"])
def test_a_row_with_other_delimiters_is_no_text_between_rows(tmp_path: Path, sample: str, by: str) -> None:
    lines = (SAMPLES / sample).read_text("utf-8-sig").splitlines()
    row = next(csv.reader([lines[-1]]))
    lines[-1] = by.join(f'"{cell}"' for cell in row)
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    (said,) = (q.message for q in reader.read(str(path)).quality if q.check == "rows-set-aside")
    assert f"line {len(lines)}" in said or f":{len(lines)}" in said


@pytest.mark.parametrize(
    "sample", ["nvprof-metrics/metrics.csv", "nvprof-summary/summary.csv", "ncu-raw/transpose.raw.csv"]
)
def test_a_byte_order_mark_before_a_row_is_nothing(tmp_path: Path, sample: str) -> None:
    data = (SAMPLES / sample).read_bytes()
    whole, path = reader.read(str(SAMPLES / sample)), tmp_path / "a.csv"
    for line in range(2, data.count(b"\n")):
        path.write_bytes(
            b"\n".join((b"\xef\xbb\xbf" if i == line else b"") + t for i, t in enumerate(data.split(b"\n")))
        )
        found = reader.read(str(path))
        assert list(found.names) == list(whole.names) and found.table.device == whole.table.device
        for name, column in whole.table.columns.items():
            np.testing.assert_array_equal(found.table.columns[name].values, column.values)


@pytest.mark.parametrize("quoted", [False, True])
def test_a_carriage_return_far_below_the_head_sets_its_row_aside(tmp_path: Path, quoted: bool) -> None:
    path, rows = tmp_path / "a.csv", 20_000
    lines = ["name,gpu.time [ms],l2.hit_rate [%]", *(f"pass {i},{1 + i % 7},{40 + i % 50}" for i in range(rows))]
    lines[19_001] = '"pass\r19000",3,40' if quoted else "pass\r19000,3,40"
    path.write_text("\n".join(lines) + "\n", "utf-8", newline="")
    assert len("\n".join(lines[:19_001])) > 1 << 18
    found = reader.read(str(path))
    said = [q.message for q in found.quality if q.check == "rows-set-aside"]
    assert len(found) == rows - (not quoted)
    assert quoted != any("line 19002: a carriage return within the row" in s for s in said)


@pytest.mark.parametrize("name", ["sysinfo.csv", "roofline.csv"])
def test_a_blank_line_below_a_header_of_a_companion_loses_nothing(name: str, tmp_path: Path) -> None:
    folder = shutil.copytree(SAMPLES / "rocprof-compute" / "four_kernels_mi210", tmp_path / "w")
    (folder / "roofline.csv").write_text("device,HBMBw\n0,1200\n", "utf-8")
    whole = reader.read(str(folder)).table
    head, *rows = (folder / name).read_text("utf-8").splitlines()
    (folder / name).write_text("\n".join([head, "", *rows]) + "\n", "utf-8")
    table = reader.read(str(folder)).table
    assert table.device == whole.device
    said, wanted = ({m: (c.header, str(c.values)) for m, c in t.columns.items()} for t in (table, whole))
    assert said == wanted
