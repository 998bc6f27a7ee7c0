"""Cells that depart from all others of their column are remarked on; rows of another kind are not."""

import csv
import re
from pathlib import Path

import pytest

from tests.conftest import SAMPLES, generic
from triage.capture.cells import Block
from triage.capture.source import Source
from triage.reading import far_off, odd_cells, printed_digits, reader, text_blocks

HEAD = "name,gpu.time [ms],sm.throughput [%],l2.hit_rate [%]"
ROWS = [
    "scan,1.25,40,71.5",
    "sort,2.5,35,70.25",
    "scan,1.5,41,72.5",
    "copy,0.75,20,65.5",
    "scan,1.375,42,71.25",
    "scan,1.125,43,72.75",
]


def remarks(path: Path, rows: list[str]) -> list[tuple[str, str]]:
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return [(q.check, q.message) for q in reader.read(str(path)).quality if q.check != "short-range"]


def test_a_whole_table_has_none(tmp_path: Path) -> None:
    assert remarks(tmp_path / "a.csv", ROWS) == []


@pytest.mark.parametrize(
    ("row", "changed", "check", "said"),
    [
        (1, "sort,2.5,35,", "empty-cell", "line 3: 'l2.hit_rate [%]' is empty, in 5 other rows it is not"),
        (1, "sort,2.5,,35", "empty-cell", "'sm.throughput [%]'"),
        (3, "7,0.75,20,65.5", "no-name", "1 row without a name, or with a number for one (first: line 5)"),
        (4, "scan,1375,42,71.25", "far-off", "line 6: 'gpu.time [ms]' is 1375, others from 1.125 to 1.5"),
        (4, "scan,1.375,0,71.25", "far-off", "'sm.throughput [%]' is 0"),
        (4, "scan,1.375,42,#N/A", "odd-cell", "line 6: 'l2.hit_rate [%]' is '#N/A', an error of a spreadsheet"),
    ],
)
def test_a_lost_moved_or_scaled_cell_is_named(tmp_path: Path, row: int, changed: str, check: str, said: str) -> None:
    found = remarks(tmp_path / "a.csv", [*ROWS[:row], changed, *ROWS[row + 1 :]])
    assert any(c == check and said in message for c, message in found), found


def test_a_figure_that_a_spreadsheet_rounded_is_named(tmp_path: Path) -> None:
    rows = [f"pass {i},{41238 + 7 * i},{40 + i},{70 + i}" for i in range(6)]
    assert remarks(tmp_path / "a.csv", rows) == []
    found = remarks(tmp_path / "a.csv", [*rows, "more,4.12E+04,41,71"])
    assert any(c == "odd-cell" and "line 8: 'gpu.time [ms]' is 4.12E+04, with fewer digits" in m for c, m in found), (
        found
    )


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (["41.5", "42.1", "40.0", "39.7", "9.71e-05", "41.0"], "line 7: 'x' is 9.71e-05, all others have 1 decimal"),
        (["41.5", "42.13", "40.0", "39.7", "9.71e-05", "41.0"], ""),  # a tool that prints as many digits as it needs
        (["41", "42", "40", "39", "9.71e-05", "41"], ""),
        (["812", "1.234", "15.301", "9.877", "640", "2.413"], "line 4: 'x' is 1.234, others are whole"),
        (["812", "1.125", "15.375", "9.500", "640", "2.625"], ""),  # eighths
        (["812", "1.234", "15.301", "0.877", "640", "2.413"], ""),
        (["812", "1.234", "15.301", "9.87", "640", "2.413"], ""),
    ],
)
def test_an_exponent_among_fixed_decimals_and_points_between_thousands_are_named(column: list[str], said: str) -> None:
    block = Block(["x"], [[c] for c in column], list(range(3, 9)))
    found = [f"line {block.lines[i]}{what}" for i, what in printed_digits.find(block, [tuple(column)], (), ())]
    assert [text for text in found if said and said in text] == found and bool(found) is bool(said), found


def test_a_number_of_a_row_out_of_order_is_named(tmp_path: Path) -> None:
    ids = [3 * n + n % 2 for n in range(40)]
    head = "Dispatch_Id,Kernel_Name,Correlation_Id,Grid_Size,Workgroup_Size,LDS_Block_Size,Counter_Name,Counter_Value"
    for at, number, said in ((20, 0, ""), (20, 500, ""), (20, ids[20] - 4, None), (2, 500, None), (20, ids[20], None)):
        numbers = [*ids[:at], number, *ids[at + 1 :]]
        rows = [f"{n},scan,{i},4096,256,0,FETCH_SIZE,{90 + i % 7}.5" for i, n in enumerate(numbers)]
        block = Block(head.split(","), [r.split(",") for r in rows], list(range(2, 42)))
        found = [what for _, _, what in odd_cells._order(block, list(zip(*block.rows, strict=True)))]
        assert found == ([f": 'Dispatch_Id' is {number}, all others rise"] if said is not None else []), number


def test_counts_of_one_table_are_printed_alike(tmp_path: Path) -> None:
    for name in ("passes.csv", "frame_00600.csv"):
        text = (SAMPLES / "arm-layer" / name).read_text()
        (tmp_path / name).write_text(text)
        assert not [q for q in reader.read(str(tmp_path / name)).quality if q.check == "odd-cell"]
        changed = text.replace("2400000", "2400.5").replace("41000000.00", "41000000")
        (tmp_path / name).write_text(changed)
        found = [q.message for q in reader.read(str(tmp_path / name)).quality if q.check == "odd-cell"]
        assert any("other counts have" in message for message in found), found


def test_a_figure_far_off_is_named_in_a_column_with_gaps(tmp_path: Path) -> None:
    rows = [ROWS[0], "sort,2.5,35,", ROWS[2], "memset,0.75,,", "scan,1.375,42,0.07", ROWS[5], "scan,1.4,41,71.5"]
    assert any(c == "far-off" and "line 6" in m for c, m in remarks(tmp_path / "a.csv", rows))


def test_a_figure_that_is_most_of_none_of_the_others_is_named(tmp_path: Path) -> None:
    """In a column with gaps among other names, a fraction among whole numbers, and a change of places in other units."""
    rows = [f"pass {i},{1 + i / 8},{40 + i},{'' if i in (3, 5) else 70 + i}" for i in range(20)]
    assert remarks(tmp_path / "a.csv", rows) == []
    for row, said in (
        ("a,1.5,41,0.0715", "is 0.0715, others from 70 to 89"),
        ("a,1.5,41.5,71", "is 41.5, all others are whole numbers"),
    ):
        assert any(said in m for _, m in remarks(tmp_path / "a.csv", [*rows, row]))
    text = (SAMPLES / "presentmon" / "game-gpu-bound.csv").read_text("utf-8-sig")
    assert ",512,1,Hard" in text and ",16.1353,0.1100,0.0000,38.2210," in text
    lines = [
        line.replace(",512,1,Hard", ",512,38.2210,Hard").replace(",0.0000,38.2210,", ",0.0000,1,")
        if ",16.1353,0.1100," in line
        else line
        for line in text.splitlines()
    ]
    (tmp_path / "b.csv").write_text("\n".join(lines) + "\n")
    said = [q.message for q in reader.read(str(tmp_path / "b.csv")).quality if q.check == "far-off"]
    assert len(said) == 1 and "'AllowsTearing' and 'DisplayLatency' may have changed places" in said[0]


def test_what_takes_longer_than_its_marker_is_named(tmp_path: Path) -> None:
    for time, said in ((3, 0), (5000, 1)):
        (tmp_path / "a.csv").write_text(f"path,gpu.time [ms]\nFrame,9\nFrame/Sky,4\nFrame/Sea,{time}\n")
        found = [q.message for q in reader.read(str(tmp_path / "a.csv")).quality if q.check == "contradiction"]
        assert found == ["Sea takes 5 s, the marker around it 9 ms"] * said


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        (",l2.hit_rate [%]", ",", "lost-header"),  # the last column
        ("1.25,", "1 250,", "odd-cell"),
    ],
)
def test_a_lost_name_and_a_column_of_spaced_numbers_are_named(tmp_path: Path, old: str, new: str, check: str) -> None:
    table = "\n".join(
        [
            "kernel,pid,gpu.time [ms],sm.throughput [%],l2.hit_rate [%]",
            *(f"k{i},1.25,{i}.5,40,7{i}.5" for i in range(1, 5)),
        ]
    )
    (tmp_path / "a.csv").write_text(table.replace(old, new) + "\n")
    assert check in {q.check for q in reader.read(str(tmp_path / "a.csv")).quality}


def test_tables_below_equal_headers_are_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{HEAD}\n{ROWS[0]}\n{ROWS[1]}\n\n{HEAD}\n{ROWS[2]}\n{ROWS[2]}\n")
    (block,) = text_blocks.of(Source(str(tmp_path / "a.csv")))
    assert list(block.lines) == [2, 3, 6, 7] and len(block.rows) == 4


def test_a_metric_row_of_ncu_has_a_name_where_no_rule_stands_in_it(tmp_path: Path) -> None:
    lines = (SAMPLES / "ncu-details" / "transpose.details.csv").read_text("utf-8").splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    bare = [row[: row.index("Rule Name")] if i == 0 else row[:15] for i, row in enumerate(csv.reader(lines[head:]))]
    bare = [row for row in bare if row[12]]
    for lost, name in enumerate(("whole.csv", "lost.csv")):
        bare[5][12] = "" if lost else bare[5][12]
        with (tmp_path / name).open("w", newline="") as f:
            csv.writer(f).writerows(bare)
        found = [q.message for q in reader.read(str(tmp_path / name)).quality if q.check == "empty-cell"]
        assert len(found) == lost and all("line 6: 'Metric Name' is empty" in m for m in found)


def test_a_row_of_another_kind_or_size_is_no_remark(tmp_path: Path) -> None:
    assert remarks(tmp_path / "a.csv", [*ROWS[:3], "memset,0.75,,", *ROWS[4:]]) == []
    assert not any(
        c == "far-off" for c, _ in remarks(tmp_path / "b.csv", [*ROWS[:4], "scan,1375,0.4,71.25", *ROWS[5:]])
    )


def test_a_row_twice_and_a_sum_are_named(tmp_path: Path) -> None:
    assert any(c == "repeated-rows" and "line 4" in m for c, m in remarks(tmp_path / "a.csv", [*ROWS[:2], *ROWS[1:]]))
    assert any(c == "total-row" for c, _ in remarks(tmp_path / "b.csv", [*ROWS, "Summe,9.5,30,40"]))


@pytest.mark.parametrize(
    ("figures", "place"),
    [([1, 1.1, 1.2, 30], 3), ([1, 1.1, 1.2, 9], -1), ([1, 5, 25, 500], -1), ([0.01, 1, 1.1, 1.2], 0), ([0, 1, 1.1, 1.2], 0), ([0, 1, 5, 9], -1), ([0, 0, 0, 5], -1), ([-1, 1, 1, 90], 0), ([-2, -1, 1, 90], -1), ([0, 0, 0.01, 12.5, 13, 14], 2), ([0, 0, 3, 4000, 5000, 6000], -1)],
)  # fmt: skip
def test_what_is_far(figures: list[float], place: int) -> None:
    assert far_off.far(figures, far_off.FAR) == place


def test_figures_with_other_digits_than_those_beside_them_are_named(tmp_path: Path) -> None:
    """Of a tool that prints a fixed number of decimals; zeros that are stripped at the end say nothing."""
    head = "name,gpu.time [ms],sm.throughput [%],l2.throughput [%],vram.throughput [%],l2.hit_rate [%]"

    def said(rows: list[str]) -> list[str]:
        (tmp_path / "a.csv").write_text("\n".join([head, *rows]) + "\n")
        return [q.message for q in reader.read(str(tmp_path / "a.csv")).quality if q.check == "odd-cell"]

    rows = [f"pass {i},1.{625 + i},4{i}.5,3{i}.5,2{i}.5,7{i}.5" for i in range(6)]
    assert said(rows) == []
    assert said([*rows, "more,1.7,41.5,31.5,21.5,71.5"]) == []  # 1.700
    for row, what in (
        ("more,0.001625,41.5,31.5,21.5,71.5", "'gpu.time [ms]' is 0.001625, all others have 3 decimals"),
        ("more,1625,41.5,31.5,21.5,71.5", "'gpu.time [ms]' is 1625, all others have 3 decimals"),
    ):
        assert any(what in m for m in said([*rows, row]))
    assert any("may be a fraction" in m for m in said([f"pass {i},1.6,0.4{i}5,3{i}.5,2{i}.5,7{i}.5" for i in range(2)]))
    assert any("rounded" in m for m in said([f"pass {i},1.6,4{i},3{i}.5,2{i}.5,7{i}.5" for i in range(3)]))


def test_an_empty_column_is_named_but_for_what_its_tool_leaves_empty(tmp_path: Path) -> None:
    rows = [row.rpartition(",")[0] + "," for row in ROWS]
    assert ("empty-cell", "line 2: 'l2.hit_rate [%]' is empty in all 6 rows: lost, or not measured") in remarks(
        tmp_path / "a.csv", rows
    )
    whole = SAMPLES / "presentmon" / "game-gpu-bound.csv"  # ClickToPhotonLatency is NA
    assert "empty-cell" not in {q.check for q in reader.read(str(whole)).quality}


@pytest.mark.parametrize(
    ("sample", "old", "new", "said"),
    [
        ("presentmon/game-gpu-bound.csv", "2.1004,16.0705", "2,16.0705", "'GPULatency' is 2, which the tool prints with decimals"),
        ("mangohud/game.csv", ",2800,16690000", ',2800,"16690000,0"', "'elapsed' is '16690000,0', no number"),
        ("intel-measure/rt.csv", "11.979,3410.208", "12,3410.208", "'idle_us' is 12, which"),
        ("presentmon/game-gpu-bound.csv", "38.2210,16.3152", ",16.3152", "'DisplayLatency' is empty, 'DisplayedTime' is not"),
        ("pix-tool/nvidia-events.csv", "84.1, 56.2, 70.2, 52.0, 58.8", "84.1, 70.2, 52.0, 58.8, ", "is empty, 'EOP Start Time (ns)' is not"),
        ("nsys-kernels/render_cuda_gpu_kern_sum.csv", "2104.3", "2104", "'StdDev (ns)' is 2104, which"),
        ("nvprof-trace/trace.csv", "128,128,1,32,8,1,18", "128,,1,32,8,1,18", "'Grid Y' is empty, 'Grid X' is not"),
        ("nsys-trace/render_cuda_gpu_trace.csv", "128,128,1,32,8,1,18", ",128,1,32,8,1,18", "'GrdX' is empty, 'GrdY' is not"),
        ("nsys-trace/render_cuda_gpu_trace.csv", "Start (ns),Dur", ",Dur", "column 1 has no name"),
    ],
)  # fmt: skip
def test_what_a_tool_always_prints_is_missed(tmp_path: Path, sample: str, old: str, new: str, said: str) -> None:
    whole, path = SAMPLES / sample, tmp_path / Path(sample).name
    assert not any(said in q.message for q in reader.read(str(whole)).quality)
    text = whole.read_text("utf-8-sig")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    assert any(said in q.message for q in reader.read(str(path)).quality)


def test_percentages_of_a_table_of_metrics_that_are_all_whole_are_named(tmp_path: Path) -> None:
    whole = SAMPLES / "ncu-details" / "transpose.details.csv"
    text = whole.read_text("utf-8")
    rounded = re.sub(r'("%",)"(\d+)\.\d+"', r'\1"\2"', text)
    assert rounded != text
    for body, named in ((text, False), (rounded, True)):
        (tmp_path / whole.name).write_text(body, "utf-8")
        found = reader.read(str(tmp_path / whole.name)).quality
        assert any("and none with decimals" in q.message for q in found) is named


@pytest.mark.parametrize(
    ("cells", "odd"),
    [
        (("42", "17"), "42"),
        (("0", "17"), "17"),
        (("100", "0"), ""),  # all of it, and nothing
        (("42.5", "17"), ""),
    ],
)
def test_a_quotient_of_cycles_is_whole_by_no_chance(cells: tuple[str, str], odd: str) -> None:
    head = ["ID", *(f"unit{i}__x.avg.pct_of_peak_sustained_elapsed" for i in range(5))]
    rows = [[str(n), cells[n], *(f"{7 + i + n}.123456789" for i in range(4))] for n in range(2)]
    block = Block(head, rows, [3, 4])
    found = [what for _, what in printed_digits.find(block, list(zip(*rows, strict=True)), (), ())]
    assert [f"is {odd}, others like it have many decimals" in what for what in found] == ([True] if odd else [])


def test_a_header_amid_the_rows_a_line_break_in_a_name_and_ticks_of_another_time_are_named(tmp_path: Path) -> None:
    game, times = (SAMPLES / "mangohud/game.csv").read_text(), (SAMPLES / "intel-measure/rt.csv").read_text()
    kernels = (SAMPLES / "rocprof-stats/results.stats.csv").read_text()
    rows = game.splitlines()
    other = [line.replace("16.", "17.") for line in rows]
    for text, said in (
        ("\n".join([*rows, *other[other.index(rows[2]) :], ""]), "repeats the header"),
        (kernels.replace("sgemm_", "sgemm\n_"), "has a line break in it"),
        (times.replace("812.500", "81.250"), "time 81.25 is not 15,600 ticks"),
    ):
        path = tmp_path / "damaged.csv"
        path.write_text(text)
        assert any(said in q.message for q in reader.read(str(path)).quality), said
    assert not any(q.check == "far-off" for q in reader.read(str(SAMPLES / "intel-measure/rt.csv")).quality)


@pytest.mark.parametrize(("last", "noted"), [(41.7, True), (41.8, False)])
def test_rows_of_equal_figures_may_be_of_the_whole_capture(tmp_path: Path, last: float, noted: bool) -> None:
    figures = {"sm.throughput": 12.5, "l2.throughput": 23.1, "l1tex.throughput": 22.6}
    rows = [{"name": n, **figures, "vram.throughput": v} for n, v in (("A", 41.7), ("B", last))]
    checks = [q.check for q in reader.read(str(generic(tmp_path / "x.csv", rows))).quality]
    assert ("equal-rows" in checks) == noted
