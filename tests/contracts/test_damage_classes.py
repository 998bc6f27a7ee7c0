"""Damage that looks like something honest: a half row like other text, a column once more like another, a foreign header like none."""

import csv
import shutil
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tests.helpers import damage
from triage.ground.errors import TriageError
from triage.reading import reader

LONG = (
    "ID,Process ID,Process Name,Host Name,Kernel Name,Context,Stream,Section Name,Metric Name,Metric Unit,Metric Value"
)
METRICS = {"sm__cycles_elapsed.avg": ("cycle", "277581.2"), "dram__bytes.sum": ("byte", "139101952"), "lts__t_bytes.sum": ("byte", "224106432")}  # fmt: skip


def unquoted(path: Path, lines: list[str] | None = None) -> Path:
    """A long table of Nsight Compute as a spreadsheet wrote it: nothing is quoted."""
    rows = [f"{i},7,app,here,k{i},1,7,Section,{name},{unit},{value}" for i in (0, 1) for name, (unit, value) in METRICS.items()]  # fmt: skip
    path.write_text("\n".join([LONG, *(lines or rows), ""]), "utf-8")
    return path


def rows(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def checks(path: Path) -> set[str]:
    return {q.check for q in reader.read(str(path)).quality}


@pytest.mark.parametrize("at", [1, 4, 8])
def test_a_row_cut_within_its_last_number_is_set_aside(tmp_path: Path, at: int) -> None:
    whole = reader.read(str(unquoted(tmp_path / "whole.csv")))
    lines = rows(tmp_path / "whole.csv")[1:]
    cut = lines[1].rindex(",") + 1 + at
    path = unquoted(tmp_path / "a.csv", [lines[0], lines[1][:cut], lines[1][cut:], *lines[2:]])
    found = reader.read(str(path))
    assert list(found.names) == list(whole.names)
    assert str(found.facts["vram.bytes"].tolist()) == str([float("nan"), 139101952.0])
    (said,) = (q for q in found.quality if q.check == "rows-set-aside")
    assert said.doubt and "line 3: the number at its end goes on in the next line" in said.message


@pytest.mark.parametrize("text", ["loss 0.3", "step 12 of 40", "12 and 3, 4", "==PROF== 12", "[3/9]", "4, 5, 6"])
def test_what_an_application_prints_between_rows_is_no_piece_of_one(tmp_path: Path, text: str) -> None:
    lines = rows(unquoted(tmp_path / "whole.csv"))[1:]
    assert not checks(unquoted(tmp_path / "a.csv", [lines[0], lines[1], text, *lines[2:]]))


def test_below_a_quoted_cell_figures_are_an_application_s(tmp_path: Path) -> None:
    lines = (SAMPLES / "ncu-details" / "solver-2021.csv").read_text("utf-8-sig").splitlines()
    path = tmp_path / "a.csv"
    path.write_text("\n".join([*(line.rstrip(",") for line in lines[:-1]), "1024", lines[-1], ""]), "utf-8")
    assert "rows-set-aside" not in checks(path)


def test_figures_beside_a_blank_line_or_a_header_are_no_rest(tmp_path: Path) -> None:
    lines = rows(unquoted(tmp_path / "whole.csv"))[1:]
    assert not checks(unquoted(tmp_path / "a.csv", ["42", lines[0], lines[1], "", "42", *lines[2:]]))


def test_the_sizes_at_the_end_of_a_row_may_be_cut_as_well(tmp_path: Path) -> None:
    text = (SAMPLES / "ncu-gui" / "summary.csv").read_text("utf-8-sig")
    path = tmp_path / "a.csv"
    path.write_text(text.replace("   32, 8, 1", "3\n2, 8, 1", 1), "utf-8")
    assert "rows-set-aside" in checks(path)


def test_a_row_of_intel_s_tools_cut_within_its_last_number_is_set_aside(tmp_path: Path) -> None:
    head = "=== Device Timing Summary ===\n\nKernel, Calls, Time (ns), Time (%), Average (ns)\n"
    body = ['"a", 10, 1000000, 20.0, 100000', '"b", 10, 3000000, 60.0, 3', "00000", '"c", 10, 1000000, 20.0, 100000']
    path = tmp_path / "a.csv"
    path.write_text(head + "\n".join(body) + "\n", "utf-8")
    found = reader.read(str(path))
    assert list(found.names) == ["a", "c"]
    assert any("line 5: the number at its end" in q.message for q in found.quality)
    path.write_text(head + "\n".join(body).replace("3\n00000", "300000\nresult 12") + "\n", "utf-8")
    assert len(reader.read(str(path))) == 3 and "rows-set-aside" not in checks(path)


@pytest.mark.parametrize("markers", [("Shadows", "Opaque"), ("Shadows", "Opaque", "Post", "UI", "Present")])
@pytest.mark.parametrize("end", ["\n", "\r"])
def test_a_time_of_a_marker_cut_in_two_makes_no_marker(tmp_path: Path, markers: tuple[str, ...], end: str) -> None:
    path = tmp_path / "D3DPERF_EVENTS.xls"
    lines = ["event_text\ttime_ms", *(f"{m}\t3.6190{i}" for i, m in enumerate(markers))]
    lines[2] = lines[2].replace("3.6", f"3{end}.6")
    path.write_text("\n".join(lines) + "\n", "utf-8", newline="")
    found = reader.read(str(path))
    assert list(found.names) == [m for m in markers if m != "Opaque"]
    assert "rows-set-aside" in {q.check for q in found.quality}


def doubled(sample: str, header: str, path: Path, encoding: str = "utf-8") -> Path:
    """A sample with the column of a header once more, over other numbers, before itself."""
    text = (SAMPLES / sample).read_text("utf-8-sig").splitlines()
    sep = next(s for s in "\t;," if any(s in line and header in line for line in text))
    table = [next(csv.reader([line], delimiter=sep, skipinitialspace=True), []) for line in text]
    top, at = next((n, row.index(header)) for n, row in enumerate(table) if header in row)
    with path.open("w", encoding=encoding, newline="") as f:
        for n, row in enumerate(table):
            other = header if n == top else str(90 + n) if row[at : at + 1] not in ([], [""]) else ""
            wide = n >= top and len(row) > at
            csv.writer(f, delimiter=sep).writerow([*row[:at], other, *row[at:]] if wide else row)
    return path


@pytest.mark.parametrize(
    ("sample", "header"),
    [
        ("pix-tool/nvidia-events.csv", "Parent"),
        ("pix-gui/event-list.txt", "Global ID"),
        ("presentmon/game-gpu-bound.csv", "ProcessID"),
        ("ncu-details/solver-2021.csv", "Context"),
        ("intel-stalls/out.metrics.4711.csv", "SbidStall[Events]"),
        ("intel-pti/metrics.4711.csv", "GpuTime[ns]"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_name_twice_is_remarked_whatever_the_column_is_for(tmp_path: Path, sample: str, header: str, encoding: str) -> None:  # fmt: skip
    path = doubled(sample, header, tmp_path / Path(sample).name, encoding)
    try:
        found = reader.read(str(path))
    except TriageError:
        return
    (said,) = (q.message for q in found.quality if q.check == "columns-disagree")
    assert said.startswith(f"{header!r} occurs twice in line")


def test_a_name_twice_is_remarked_where_text_holds_bytes_of_zero(tmp_path: Path) -> None:
    """As Nsight Compute writes them behind names of processes; only the first 4 KB tell text from other data."""
    path = doubled("ncu-raw/transpose.raw.csv", "Stream", tmp_path / "a.csv")
    message = "".join(f'==PROF== Profiling "k" - {i}: 0%....50%....100% - 3 passes\n' for i in range(100))
    path.write_text(message + path.read_text("utf-8").replace(",transpose,", ",transpose\0,"), "utf-8")
    assert b"\0" in path.read_bytes()
    assert "columns-disagree" in checks(path)


@pytest.mark.parametrize("lines", [700, 6_000])
def test_a_name_twice_is_remarked_below_a_long_preamble(tmp_path: Path, lines: int) -> None:
    path = doubled("ncu-raw/transpose.raw.csv", "Stream", tmp_path / "a.csv")
    text = "".join(f'==PROF== Profiling "k" - {i}: 0%....50%....100% - 3 passes\n' for i in range(lines))
    path.write_text(text + path.read_text("utf-8"), "utf-8")
    (remark,) = (q.message for q in reader.read(str(path)).quality if q.check == "columns-disagree")
    top = next(n for n, line in enumerate(rows(path), 1) if "Process ID" in line)
    assert f"'Stream' occurs twice in line {top} of" in remark


@pytest.mark.parametrize(("headers", "said"), [("a b", False), ("a b a b", False), ("a b a b a", True), ("a b a", True), ("a b a b b a", False)])  # fmt: skip
def test_names_that_stand_once_for_each_frame_are_no_column_again(tmp_path: Path, headers: str, said: bool) -> None:
    counter = {"a": "smsp__thread_inst_executed_per_inst_executed.ratio", "b": "sm__throughput.avg.pct_of_peak_sustained_elapsed"}  # fmt: skip
    head = ["flattened_event_name", *(counter[h] for h in headers.split())]
    lines = [[m, *(str(n + i) for i in range(len(head) - 1))] for n, m in enumerate(("Shadows", "Opaque"), 20)]
    path = tmp_path / "GPUTRACE_REGIMES.xls"
    path.write_text("".join("\t".join(row) + "\n" for row in [head, *lines]), "utf-8")
    assert ("columns-disagree" in checks(path)) is said


@pytest.mark.parametrize("by", [";", "\t", "|"])
@pytest.mark.parametrize(
    ("sample", "word"),
    [
        ("intel-pti/metrics.4711.csv", "Kernel"),
        ("intel-pti/metrics.4711.csv", "tail"),
        ("intel-stalls/out.metrics.4711.csv", "scan"),
        ("nvprof-metrics/metrics.csv", "Event Name"),
    ],
)
def test_a_row_or_header_that_another_delimiter_divides_is_said(tmp_path: Path, sample: str, word: str, by: str) -> None:  # fmt: skip
    whole = damage.of(reader.read(str(SAMPLES / sample)))
    lines = (SAMPLES / sample).read_text("utf-8-sig").splitlines()
    at = next(n for n in reversed(range(len(lines))) if word in lines[n])
    lines[at] = by.join(f'"{c}"' if "," in c else c for c in next(csv.reader([lines[at]])))
    path = tmp_path / Path(sample).name
    path.write_text("\n".join(lines) + "\n", "utf-8")
    try:
        found = damage.of(reader.read(str(path)))
    except TriageError as e:
        assert "delimited by" in str(e) or "divided by" in str(e) or ", header has " in str(e)
        return
    assert found.remarks - whole.remarks or not damage.same(whole, found)


@pytest.mark.parametrize("row", ["0\t1200", "0,fast", "0,-1200", "0,1e24", "0,1200,3", "0,inf"])
def test_a_damaged_peak_is_said_before_the_device_s_own_takes_its_place(tmp_path: Path, row: str) -> None:
    folder = shutil.copytree(SAMPLES / "rocprof-compute" / "four_kernels_mi210", tmp_path / "w")
    (folder / "roofline.csv").write_text("device,HBMBw\n0,1200\n1,1210\n", "utf-8")
    assert "companion-left-out" not in checks(folder)
    (folder / "roofline.csv").write_text(f"device,HBMBw\n{row}\n1,1210\n", "utf-8")
    assert checks(folder) & {"companion-left-out", "not-a-number", "not-finite"}


# what a second figure tells must be noticed, whatever the place: a slice of `benchmarks/hard.py --only spreadsheet`
TWICE_SAID = ("nsys-kernels/", "rocprofv3-stats/", "nvprof-summary/")
NOTICED = ("thousandfold", "hundredfold", "zeroed", "empty_name", "doubled_row", "total_row", "merged_cells", "error_cell", "spaced_thousands", "trailing_blank", "shifted_left")  # fmt: skip


@pytest.mark.parametrize("label", TWICE_SAID)
def test_spreadsheet_damage_is_noticed_where_figures_stand_twice(tmp_path: Path, label: str) -> None:
    from tests.helpers.spreadsheet_damage import SPREADSHEET_KINDS

    kinds = tuple(k for k in SPREADSHEET_KINDS if k.__name__ in NOTICED)
    (seed,) = (s for s in damage.exports(SAMPLES) if s.label.startswith(label))
    silent = [o for o in damage.campaign(seed, tmp_path / "case", 4, kinds) if o.how == "silent"]
    # of a longest or shortest time, a figure between the others is as good as the right one
    assert [o for o in silent if "time_" not in o.what] == []
