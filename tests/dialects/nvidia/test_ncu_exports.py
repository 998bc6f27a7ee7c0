"""Nsight Compute readers: samples, every layout variation we know of, provenance, refusals."""

import csv
import gzip
import io
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tests.helpers.dialects import damaged, line_of, read, read_or_refuse, refusal, values
from triage import schema
from triage.capture.capture import SEP, Table
from triage.dialects import native_files
from triage.dialects.nvidia import ncu_details, ncu_gui, ncu_long, ncu_names, ncu_raw, ncu_text
from triage.dialects.tables import extents
from triage.ground.errors import UnknownUnit

DETAILS = SAMPLES / "ncu-details" / "transpose.details.csv"
RAW = SAMPLES / "ncu-raw" / "transpose.raw.csv"
TEXT = SAMPLES / "ncu-text" / "transpose.txt"
GUI = SAMPLES / "ncu-gui" / "summary.csv"


def cells_agree(table: Table) -> int:
    """Every quoted cell, read again at (line, column), gives the value of its row; returns how many were looked at."""
    seen = 0
    for metric, column in table.columns.items():
        if not column.column or column.unit in ("(x, y, z)", "level") or "|" in column.unit:
            continue
        lines = [line_of(table, column, row) for row in range(len(table))]
        records = table.files[column.file].records(lines)
        for row, line in enumerate(lines):
            if np.isfinite(column.values[row]):
                text = records[line][column.column - 1].split("  ")[-1].strip().rstrip("%")
                style = "eu" if "," in text and "." not in text and len(text.split(",")[-1]) != 3 else "us"
                got = ncu_long.number(text.rstrip("msunGBKkb/"), style) * column.factor
                assert got == pytest.approx(column.values[row], rel=1e-9), (metric, line, text)
                seen += 1
    return seen


def test_details_sample() -> None:
    table = read(DETAILS.read_bytes())
    assert (table.dialect, len(table), table.arch) == ("ncu-details", 3, "sm_86")
    got = values(table)
    assert got["gpu.time"] == [214050.0, 112220.0, 3300.0]
    assert got["sm.throughput"] == [0.1231, 0.3102, 0.0207]
    assert got["memory.throughput"] == [0.7844, 0.9163, 0.0448]  # the percentage of that name
    assert got["vram.bandwidth"] == [255.96e9, 299e9, 6.21e9]  # the bandwidth of the same name
    assert got["launch.shared_static"] == [0.0, 4220.0, 0.0]  # byte/block and Kbyte/block in one file
    assert got["launch.grid_size"] == [16384, 16384, 16] and got["launch.block_size"] == [256, 256, 256]
    assert got["launch.waves"] == [34.13, 34.13, 0.03] and got["device.sm_count"] == [80] * 3
    assert list(table.kinds) == ["compute"] * 3
    assert cells_agree(table) > 100


def test_rule_rows_are_opinions() -> None:
    table = read(DETAILS.read_bytes())
    first = [o for o in table.opinions if o.row == 0]
    assert [o.rule for o in first] == ["SOLBottleneck", "MemoryCacheAccessPattern", "CPIStall"]
    assert first[1].speedup == pytest.approx(0.6864) and first[1].scope == "global" and first[0].speedup is None
    small = next(o for o in table.opinions if o.row == 2)
    assert "\n" not in small.text and "too small to fill" in small.text  # a line break inside quotes
    lines = DETAILS.read_text().split("\n")
    late = table.columns["launch.registers"]
    assert '"Registers Per Thread"' in lines[int(late.lines[2]) - 1]  # lines behind it are still right


def test_old_section_names() -> None:
    table = read((SAMPLES / "ncu-details" / "solver-2021.csv").read_bytes())
    got = values(table)
    assert got["sm.throughput"] == [0.417, 0.4166, 0.0632] and got["memory.throughput"] == [0.6315, 0.632, 0.881]
    assert got["vram.throughput"] == got["memory.throughput"] and got["gpu.time"][2] == 402176
    assert len(table.opinions) == 3 and "Kernel Time" in table.unmapped


def test_raw_sample() -> None:
    table = read(RAW.read_bytes())
    got = values(table)
    assert (table.dialect, len(table), table.arch, table.device) == ("ncu-raw", 3, "sm_86", "NVIDIA RTX A5500")
    assert got["gpu.time"] == [214050, 112220, 3300] and got["sm.throughput"] == [0.1231, 0.3102, 0.0207]
    assert got["stall_cycles.long_scoreboard"][0] == 86.2 and got["stall_cycles.selected"] == [1.0] * 3
    assert "nvlink__dev_display_name_all" in table.unmapped
    assert cells_agree(table) > 60


def test_text_sample() -> None:
    table = read(TEXT)
    got = values(table)
    assert (table.dialect, len(table), table.arch) == ("ncu-text", 2, "sm_86")
    assert got["gpu.time"] == [214050, 112220] and got["vram.bandwidth"] == [255.96e9, 299e9]
    assert got["launch.grid_size"] == [16384, 16384] and got["launch.block_size"] == [256, 256]
    assert table.opinions[0].speedup == pytest.approx(0.2156)
    assert cells_agree(table) > 10


def test_text_without_indentation_reads_the_same() -> None:
    lines = TEXT.read_text().splitlines()
    bare = "\n".join(re.sub(r"^ {2,4}", "", line) for line in lines)
    assert values(read(bare)) == values(read(TEXT))


def test_text_without_the_kernels_line_is_one_launch_per_pass_through_the_sections() -> None:
    text = "\n".join(line for line in TEXT.read_text().splitlines() if ", Context " not in line)
    table = read(text)
    assert list(table.names) == ["(unnamed kernel)"] * 2 and values(table)["gpu.time"] == [214050, 112220]
    assert any("names the kernel is missing" in note for note in table.notes)


def test_gui_sample_with_decimal_commas() -> None:
    table = read(GUI)
    got = values(table)
    assert (table.dialect, len(table), table.device) == ("ncu-gui", 2, "NVIDIA RTX A5500")
    assert got["gpu.time"] == [214050, 112220] and got["memory.throughput"] == [0.7844, 0.9163]
    assert got["launch.grid_size"] == [16384, 16384] and got["launch.registers"] == [18, 20]
    assert [round(o.speedup or 0, 4) for o in table.opinions] == [0.6864]


def rewrite(path: Path, **how: str) -> bytes:
    """A sample written again: other delimiter, quoting, line ends, encoding, number style."""
    text = path.read_text()
    start = text.index('"ID"')
    rows = list(csv.reader(io.StringIO(text[start:])))
    out = io.StringIO()
    quoting = csv.QUOTE_MINIMAL if how.get("bare") else csv.QUOTE_ALL
    writer = csv.writer(out, delimiter=how.get("delimiter", ","), quoting=quoting, lineterminator=how.get("end", "\n"))
    where = rows[0].index("Metric Value") if "Metric Value" in rows[0] else -1
    for i, row in enumerate(rows):
        if how.get("eu") and i and where >= 0 and len(row) > where and any(c.isdigit() for c in row[where]):
            row[where] = row[where].replace(",", "\0").replace(".", ",").replace("\0", ".")
        if how.get("plain") and i and where >= 0 and len(row) > where:
            row[where] = row[where].replace(",", "")
        if how.get("pad"):
            row += [""] * (len(rows[0]) - len(row))
        writer.writerow(row)
    return (text[:start].replace("\n", how.get("end", "\n")) + out.getvalue()).encode(how.get("encoding", "utf-8"))


@pytest.mark.parametrize("path", [DETAILS, RAW], ids=["details", "raw"])
@pytest.mark.parametrize(
    "how",
    [
        {"encoding": "utf-8-sig", "end": "\r\n"}, {"encoding": "utf-16"}, {"encoding": "utf-16-le"}, {"bare": "1"},
        {"delimiter": ";"}, {"delimiter": "\t"}, {"delimiter": ";", "bare": "1"}, {"plain": "1", "bare": "1"}, {"pad": "1"},
    ],
    ids=str,
)  # fmt: skip
def test_written_another_way_reads_the_same(path: Path, how: dict[str, str]) -> None:
    want, got = read(path.read_bytes()), read(rewrite(path, **how))
    assert values(got) == values(want) and list(got.names) == list(want.names)
    assert len(got.opinions) == len(want.opinions) and got.arch == want.arch


def test_european_numbers_by_evidence() -> None:
    want = values(read(DETAILS.read_bytes()))
    assert values(read(rewrite(DETAILS, eu="1"))) == want
    assert values(read(rewrite(DETAILS, eu="1", delimiter=";", bare="1"))) == want


def test_gz_and_a_preamble_larger_than_the_head() -> None:
    noise = b"==PROF== Connected to process 1 (x)\n" + b'training "epoch 1, loss 2.0\n' * 20000
    want = values(read(DETAILS.read_bytes()))
    assert values(read(gzip.compress(DETAILS.read_bytes()))) == want
    table = read(noise + DETAILS.read_bytes())
    assert values(table) == want and cells_agree(table) > 100
    assert values(read(noise + RAW.read_bytes())) == values(read(RAW.read_bytes()))


def test_text_around_and_between_tables() -> None:
    details = DETAILS.read_text()
    tail = '==PROF== Disconnected from process 1\ndone in 3 s, "really\n\n'
    assert values(read(details + tail)) == values(read(details))
    other = details.replace('"4711"', '"4999"')
    both = read(details + tail + other)
    assert len(both) == 6 and values(both)["gpu.time"] == values(read(details))["gpu.time"] * 2
    raw = RAW.read_text()
    twice = read(raw + tail + raw.replace('"4712"', '"5000"'))
    assert len(twice) == 6 and twice.line(3) > twice.line(2) + 1
    interrupted = details.replace('"1","4711"', 'hello\n"1","4711"', 1)
    assert values(read(interrupted)) == values(read(details))
    assert cells_agree(read(interrupted)) > 100


@pytest.mark.parametrize("path", [DETAILS, RAW], ids=["details", "raw"])
def test_header_behind_application_output_on_one_line(path: Path) -> None:
    table = read(path.read_text().replace('"ID","Process ID"', 'loss 0.3, step 1 "ID","Process ID"', 1))
    assert values(table) == values(read(path.read_bytes()))


HEAD = '"ID","Process ID","Process Name","Host Name","Kernel Name",{}"Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"\n'
ROW = '"{id}","{pid}","a","127.0.0.1","{k}",{x}"1","7","Command line profiler metrics","{m}","{u}","{v}"\n'


def long(*rows: tuple[str, str, str, str], x: str = "") -> str:
    head = HEAD.format('"Kernel Time",' if not x else x.split("|")[0])
    body = "".join(
        ROW.format(id=i, pid=p, k="k", m=m, u=u, v=v, x='"2021-Feb-26 11:33:17",' if not x else x.split("|")[1])
        for (i, p), (m, u, v) in ((r[0].split("/"), r[1:]) for r in rows)
    )
    return head + body


def test_a_launch_is_process_and_id() -> None:
    name = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
    table = read(long(("0/1", name, "%", "10.00"), ("0/2", name, "%", "20.00"), ("1/1", name, "%", "30.00")))
    assert values(table)["sm.throughput"] == [0.1, 0.2, 0.3]


def test_ambiguous_numbers_are_refused_and_thousands_are_not() -> None:
    with pytest.raises(UnknownUnit, match=r"117\.344"):
        read(long(("0/1", "gpu__time_duration.sum", "ns", "117.344")))
    assert values(read(long(("0/1", "gpu__time_duration.sum", "ns", "117,344"))))["gpu.time"] == [117344]
    table = read(
        long(("0/1", "gpu__time_duration.sum", "ns", "117.344"), ("0/1", "dram__bytes.sum", "byte", "27.595.520"))
    )
    assert values(table)["gpu.time"] == [117344]
    forced = read(long(("0/1", "gpu__time_duration.sum", "ns", "117.344")), decimal="point")
    assert values(forced)["gpu.time"] == [117.344]


def test_units_change_from_row_to_row_and_missing_is_missing() -> None:
    table = read(
        long(
            ("0/1", "gpu__time_duration.sum", "us", "6.75"),
            ("1/1", "gpu__time_duration.sum", "ms", "1.25"),
            ("0/1", "dram__bytes_read.sum", "Mbyte", "2.33"),
            ("1/1", "dram__bytes_read.sum", "", "n/a"),
            ("0/1", "gpu__made_up.sum", "", "7.50"),
        )
    )
    assert values(table) == {"gpu.time": [6750, 1250000], "vram.bytes_read": [2330000, None]}
    assert "gpu__made_up.sum" in table.unmapped and table.columns["gpu.time"].unit == "ms|us"


def test_unit_that_does_not_fit_is_said_not_guessed() -> None:
    table = read(long(("0/1", "gpu__time_duration.sum", "furlong", "6.75"), ("0/1", "dram__bytes.sum", "byte", "10")))
    assert "gpu.time" not in table.columns and any(q.check == "unit-not-understood" for q in table.quality)


def test_time_from_cycles_and_clock() -> None:
    table = read(
        long(("0/1", "sm__cycles_elapsed.avg", "cycle", "1,000.00"), ("0/1", "sm__cycles_elapsed.avg.per_second", "cycle/second", "1,000,000,000.00"))
    )  # fmt: skip
    assert values(table)["gpu.time"] == [1000.0] and table.columns["gpu.time"].formula


def test_label_and_name_printed_together() -> None:
    table = read(
        long(
            ("0/1", "Duration gpu__time_duration.sum", "us", "6.75"),
            ("0/1", "SM Busy (sm__throughput.avg.pct_of_peak_sustained_elapsed)", "%", "50.25"),
        )
    )
    assert values(table) == {"gpu.time": [6750], "sm.throughput": [0.5025]}


def test_nvtx_columns_become_the_path() -> None:
    cell = '"1  ""<default domain>:step:none:none:none:none:none:none"" ","",'
    head = '"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg","Id:Domain:Start/Stop_Range:PL_Type",'
    table = read(long(("0/1", "gpu__time_duration.sum", "us", "6.75"), x=f"{head}|{cell}"))
    assert table.paths is not None and table.paths[0] == "step" and values(table)["gpu.time"] == [6750]
    assert ncu_long.nvtx_path('2  "<default domain>:frame:none" "lib:pass 1:none"') == f"frame{SEP}pass 1"


def test_summary_per_kernel() -> None:
    head = '"Process ID","Process Name","Host Name","Kernel Name","Block Size","Grid Size","Device","CC","Invocations","Section Name","Metric Name","Metric Unit","Minimum","Maximum","Average"\n'
    row = '"7","a","127.0.0.1","{}","(256, 1, 1)","(64, 1, 1)","0","11.0","{}","GPU Speed Of Light Throughput","{}","{}","1.00","3.00","{}"\n'
    table = read(
        head
        + row.format("k", 4, "Duration", "us", "2.50")
        + row.format("k", 4, "Memory Throughput", "%", "81.25")
        + row.format("g", 1, "Duration", "us", "7.00")
    )
    assert values(table)["gpu.time"] == [10000, 7000] and values(table)["frame.calls"] == [4, 1]
    assert (
        values(table)["memory.throughput"] == [0.8125, None]
        and table.columns["gpu.time"].formula == "Average x Invocations"
    )
    assert table.arch == "sm_110" and table.raw["Duration"].values[0] == 2500


def test_columns_kept_by_a_script_without_ids() -> None:
    text = "Kernel Name,Metric Name,Metric Unit,Metric Value\na,Duration,us,1.50\na,DRAM Throughput,%,50.00\na,Duration,us,2.50\nb,Duration,us,3.50\n"
    table = read(text)
    assert list(table.names) == ["a", "a", "b"] and values(table)["gpu.time"] == [1500, 2500, 3500]


def test_foreign_counters_in_the_long_layout_keep_their_launches() -> None:
    table = read(long(("0/1", "OWN_INSTS_SOMETHING", "inst", "5"), ("1/1", "OWN_INSTS_SOMETHING", "inst", "6")))
    assert len(table) == 2 and not table.columns and "OWN_INSTS_SOMETHING" in table.unmapped


def test_branch_ratio_is_a_fraction_called_percent() -> None:
    table = read(long(("0/1", "Branch Instructions Ratio", "%", "0.13")))
    assert values(table)["branch.ratio"] == [0.13]


def test_issue_slots_over_elapsed_cycles_are_told() -> None:
    rows = [
        ("0/1", "Issue Slots Busy", "%", "2.35"),
        ("0/1", "Issued Ipc Active", "inst/cycle", "0.50"),
        ("0/1", "Executed Ipc Elapsed", "inst/cycle", "0.09"),
    ]
    got = values(read(long(*rows)))
    assert got["sm.issue_per_elapsed"] == [0.0235] and "sm.issue_per_active" not in got
    rows[0] = ("0/1", "Issue Slots Busy", "%", "12.48")
    assert values(read(long(*rows)))["sm.issue_per_active"] == [0.1248]


def test_raw_instances_no_data_and_pascal_units() -> None:
    head = '"ID","Process ID","Process Name","Host Name","Kernel Name","Kernel Time","Context","Stream","dram__read_bytes","memory_l2_theoretical_sectors_global","sm__sol_pct","smsp__pcsamp_interval"\n'
    table = read(
        head
        + '"","","","","","","","","byte","","%",""\n"0","1","a","h","k","t","1","7","1,759,000.00","8.00; 4.00; 0.00","no data","3.00"\n'
    )
    assert values(table) == {"vram.bytes_read": [1759000], "global_access.sectors_l2": [12]}
    assert "smsp__pcsamp_interval" in table.unmapped


def test_stall_shares_from_samples() -> None:
    reasons = {"long_scoreboard": 60, "wait": 20, "selected": 10, "barrier": 10, "not_selected": 0}
    table = read(long(*(("0/1", f"smsp__pcsamp_warps_issue_stalled_{r}", "warp", str(n)) for r, n in reasons.items())))
    assert values(table)["stall.long_scoreboard"] == [0.6] and table.columns["stall.wait"].inputs


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"==ERROR== Option '--section x' did not match any section.\n", "did not match any section"),
        (b"==PROF== Connected to process 1 (a)\n==WARNING== No kernels were profiled.\n", "No kernels were profiled"),
        (b"NVR\0\1\2\3\0\0", "no launches"),
        (b'"Kernel Name","k"\n"Address","Source","# Samples"\n"1","MOV","3"\n', "source page"),
        (HEAD.format("").encode(), "header without rows"),
        (RAW.read_bytes()[: RAW.read_bytes().index(b'"0","4712"')], "header without rows"),
        (b"SQLite format 3\0" + b"CUPTI_ACTIVITY_KIND_KERNEL TARGET_INFO_GPU", "damaged SQLite database"),
    ],
)  # fmt: skip
def test_refusals_name_what_it_is(data: bytes, words: str) -> None:
    assert words in refusal(data)


def test_compressed_report_by_name_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "big.ncu-rep"
    path.write_bytes(b"BZh\0\0\0\1")
    assert "ncu --import big.ncu-rep --page raw --csv > big.csv" in refusal(path)


DAMAGE = [b'"', b",", b"\n", b"\0", b"\xff", b"1e999", b"nan", b";", b"", b"\r"]


@given(damaged([p.read_bytes() for p in (DETAILS, RAW, TEXT, GUI)], DAMAGE, most=8))
def test_damaged_samples_never_traceback(data: bytes) -> None:
    for module in (ncu_details, ncu_raw, ncu_gui, ncu_text, native_files):
        read_or_refuse(module, data)


@given(st.floats(0, 1e12, allow_nan=False), st.sampled_from(["us", "eu"]))
def test_printed_numbers_come_back(value: float, style: str) -> None:
    text = f"{value:,.2f}"
    if style == "eu":
        text = text.replace(",", "\0").replace(".", ",").replace("\0", ".")
    assert ncu_long.number(text, style) == pytest.approx(round(value, 2))  # type: ignore[arg-type]


@given(st.lists(st.integers(1, 65535), min_size=1, max_size=3))
def test_extents(sizes: list[int]) -> None:
    want = float(np.prod([float(s) for s in sizes]))
    for text in (f"({', '.join(map(str, sizes))})", " x ".join(map(str, sizes)), ",   ".join(f"{s:,}" for s in sizes)):
        if len(sizes) > 1 or "," not in text:
            assert extents.totals([extents.axes(text)])[0] == want


def test_names_are_metrics_and_the_command_is_complete() -> None:
    assert all(schema.known(m) for m in ncu_names.names())
    line = ncu_raw.collect(["sm.throughput", "stall.long_scoreboard", "l2.hit_rate"])
    assert line.startswith("ncu --metrics ") and "--section WarpStateStats" in line and line.endswith("./your-app")
    assert "sm__throughput.avg.pct_of_peak_sustained_elapsed" in line and "lts__t_sector_hit_rate.pct" in line
    assert ncu_raw.collect(["crop.throughput"]) == ""
    for metric, names in ncu_names.names().items():
        for name in names:
            unit = {"ratio": "%", "byte/s": "byte/s"}.get(schema.get(metric).unit, "")
            assert ncu_names.metric(name, unit) in (metric, "") or name == "Cycles", (metric, name)


@pytest.mark.parametrize(
    ("header", "metric"),
    [
        ("l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed", "l1tex.lsu_requests"),
        ("l1tex__lsuin_requests.sum.pct_of_peak_sustained_elapsed", "l1tex.lsu_requests"),
        ("breakdown:l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed", "l1tex.lsu_requests"),
        ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed", "l1tex.shared_data"),
        ("l1tex__data_bank_reads.avg.pct_of_peak_sustained_elapsed", "l1tex.bank_reads"),
        ("l1tex__m_xbar2l1tex_read_sectors.avg.pct_of_peak_sustained_elapsed", "l1tex.fill"),
        ("l1tex__m_l1tex2xbar_req_cycles_active.avg.pct_of_peak_sustained_elapsed", "l1tex.to_l2"),
        ("dram__cycles_active.avg.pct_of_peak_sustained_elapsed", "vram.active"),
        ("sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed", "pipe_elapsed.lsu"),
        ("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed", "pipe_elapsed.fma"),
        ("sm__inst_executed_pipe_cbu_pred_on_any.avg.pct_of_peak_sustained_elapsed", "pipe_elapsed.cbu"),
        ("sm__pipe_tc_cycles_active.avg.pct_of_peak_sustained_active", "pipe_busy.tc"),
        ("sm__issue_active.avg.pct_of_peak_sustained_elapsed", "sm.issue_per_elapsed"),
        ("smsp__issue_active.avg.per_cycle_active", "warp.issued_per_scheduler"),
        ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", "global_load.sectors_per_request"),
        ("smsp__average_warp_latency_issue_stalled_wait.ratio", "stall_latency.wait"),
        ("lts__t_sectors_srcunit_tex_op_red.sum", "atomics.l2_red_sectors"),
        ("lts__t_sectors_srcunit_tex_op_atom_dot_cas.sum", "atomics.l2_cas_sectors"),
        ("lts__d_atomic_input_cycles_active.avg.pct_of_peak_sustained_elapsed", "atomics.l2_input"),
        ("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", "atomics.requests"),
        ("smsp__inst_executed_op_shared_atom.sum", "atomics.shared"),
        ("L1/TEX Cache Throughput", "l1tex.throughput_active"),
    ],
)
def test_the_breakdown_and_the_counters_behind_it_are_read(header: str, metric: str) -> None:
    assert ncu_names.metric(header, "%") == metric


def test_a_pipe_is_as_busy_as_its_cycles_say_not_as_its_instructions() -> None:
    """A matrix or FP64 instruction holds its pipe for many cycles; exports of the newest chips have both figures."""
    names = [
        f"sm__{what}.avg.pct_of_peak_sustained_elapsed"
        for what in ("inst_executed_pipe_tensor", "pipe_tensor_cycles_active")
    ]
    rows = (
        ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "gpu__time_duration.sum", *names],
        ["", "", "", "", "", "ns", "%", "%"],
        ["0", "1", "app", "127.0.0.1", "gemm", "5000", "11.50", "92.00"],
    )
    table = read("\n".join(",".join(f'"{cell}"' for cell in row) for row in rows).encode())
    assert table.columns["pipe_elapsed.tensor"].values[0] == pytest.approx(0.92)


@pytest.mark.parametrize(
    ("arch", "there", "absent"),
    [
        ("sm_75", "pipe.fp16", ("pipe.fmaheavy", "l2.compression_ratio", "inst.gmma", "stall.gmma")),
        ("sm_80", "l2.compression_ratio", ("pipe.fmalite", "stall.gmma")),
        ("sm_89", "pipe.fmaheavy", ("pipe.fp16", "copies.bulk_bytes")),
        ("sm_90a", "stall.gmma", ("pipe.fp16",)),
        ("", "stall.gmma", ()),
    ],
)
def test_no_counter_is_asked_for_that_the_gpu_lacks(arch: str, there: str, absent: tuple[str, ...]) -> None:
    found = ncu_names.names(arch)
    assert there in found and not any(metric in found for metric in absent)


_LOST_BLANKS = """\
  reduce(int *, int *, unsigned int), 2019-Oct-01 01:40:17, Context 1, Stream 7
    Section: GPU Speed Of Light
    ---------------------------------------------------------------------- --------------- ------------------------------
    SM Frequency                   cycle/nsecond                           1.25
    Memory [%]%                          43.81
    Duration                             msecond                           3.22
    Avg. Active Threads Per Warp28.11
    Function Cache Configuration                        cudaFuncCachePreferNone
    ---------------------------------------------------------------------- --------------- ------------------------------
"""
_QUOTED_PART = """\
Section: GPU Speed Of Light Throughput
    L1/TEX Cache Throughput       68.34 %
    Issued Warp Per Scheduler             0.11

OPT   Est. Speedup: 55.81%
      The memory access pattern for shared loads causes on average a 5.5-way
      bank conflict across all 214,016 shared load requests. This results in
      966,656 bank conflicts, 81.66% of the overall 1,183,744 wavefronts.
    Block Limit Shared Mem                2 blocks / SM   <- binding
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_LOST_BLANKS, {"sm.frequency": [1.25e9], "memory.throughput": [0.4381], "gpu.time": [3.22e6], "warp.threads_per_inst": [28.11]}),
        (_QUOTED_PART, {"l1tex.throughput_active": [0.6834], "warp.issued_per_scheduler": [0.11], "shared.conflict_share": [0.8166]}),
    ],
)  # fmt: skip
def test_console_text_that_lost_its_columns(text: str, expected: dict[str, list[float]]) -> None:
    found = values(read(text.encode()))
    assert {m: found[m] for m in expected} == {m: pytest.approx(v) for m, v in expected.items()}


def test_thousands_of_console_text_are_told_by_the_other_numbers() -> None:
    """The console prints two decimals: one sign before three digits divides thousands."""
    rows = "    lts__t_requests.sum                        request    524,288\n"
    head = "  k(int) (1, 1, 1)x(32, 1, 1), Context 1, Stream 7, Device 0, CC 9.0\n    Section: Command line profiler metrics\n"
    rule = f"    {'-' * 40} ----------- ----------\n"
    table = read(
        head
        + rule
        + "    Metric Name                               Metric Unit Metric Value\n"
        + rule
        + rows.replace(
            "lts__t_requests.sum                        request", "dram__bytes_read.sum                       byte   "
        )
    )
    assert table.columns["vram.bytes_read"].values.tolist() == [524_288]
