from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tests.helpers.dialects import check_provenance, read, refusal
from triage.capture.source import Source
from triage.dialects.amd import rocm, rocprof
from triage.dialects.amd.counters import counter_names
from triage.dialects.amd.rocprofv3 import rocprofv3_counters
from triage.dialects.tables import formulas
from triage.ground.errors import BadCapture, NotTriageable, UnknownUnit

V1 = SAMPLES / "rocprof" / "results.csv"
LONG = SAMPLES / "rocprofv3-counters" / "4711_counter_collection.csv"
TRACE = SAMPLES / "rocprofv3-kernels" / "4711_kernel_trace.csv"


def test_v1_results_have_time_launch_shape_and_derived_metrics() -> None:
    t = read(V1, "rocprof")
    assert len(t) == 6
    assert (
        t.names[0] == "stream_triad(float*, float const*, float const*, float, int)"
    )  # " [clone .kd]" is no part of it
    c = t.columns
    assert c["gpu.time"].values[0] == 1105000
    assert c["launch.grid_size"].values[0] == 131072  # the file counts work-items
    assert c["valu.busy"].values[1] == pytest.approx(0.881)
    assert c["vram.bytes_read"].values[0] == pytest.approx(262160.1 * 1024)  # printed in kilobytes
    assert c["sm.throughput"].formula.startswith("max(valu.busy")  # the share of issue cycles in use
    assert set(t.kinds) == {"compute"}
    check_provenance(t)


def test_long_counters_become_one_row_per_dispatch() -> None:
    t = read(LONG, "rocprofv3-counters")
    assert len(t) == 4
    assert t.arch == "gfx90a"
    assert t.device == "AMD Instinct MI210"
    assert list(t.columns["gpu.time"].values) == [
        1105000,
        5120001,
        910002,
        1105003,
    ]  # timestamps beyond 2^53 stay exact
    assert t.columns["valu.busy"].values[1] == pytest.approx(0.881, abs=1e-6)
    assert t.columns["valu.busy"].inputs == ("SQ_ACTIVE_INST_VALU", "GRBM_GUI_ACTIVE", "num_xcd", "cu_per_gpu")
    assert t.columns["l2.hit_rate"].values[1] == pytest.approx(0.948)
    assert "lds.insts" in t.columns
    check_provenance(t)


def test_kernel_trace_keeps_file_order_and_multiplies_axes() -> None:
    t = read(TRACE, "rocprofv3-kernels")
    assert len(t) == 7
    gemm = [i for i, n in enumerate(t.names) if n.startswith("sgemm")]
    assert all(t.columns["launch.block_size"].values[i] == 256 for i in gemm)
    assert all(t.columns["launch.grid_size"].values[i] == 1024 / 16 * 1024 / 16 for i in gemm)
    check_provenance(t)


@pytest.mark.parametrize(
    ("folder", "file", "calls"),
    [("rocprof-stats", "results.stats.csv", 2), ("rocprofv3-stats", "4711_kernel_stats.csv", 3)],
)
def test_kernel_stats(folder: str, file: str, calls: int) -> None:
    t = read(SAMPLES / folder / file, folder)
    assert len(t) == 3
    assert t.columns["frame.calls"].values[0] == calls
    assert t.columns["gpu.time"].values[0] == calls * 1105000
    check_provenance(t)


STATS = '"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n'


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("hipMemcpy", "HIP API"), ("hsa_signal_wait_scacquire", "HSA API"), ("CopyDeviceToHost", "memory copies"),
        ("MEMORY_COPY_HOST_TO_DEVICE", "memory copies"), ("HIP_API", "domain"), ("KERNEL_DISPATCH", "domain"), ("roctxRangePushA", "ROCTx"),
    ],
)  # fmt: skip
def test_stats_of_the_host_are_refused_by_their_names(name: str, what: str) -> None:
    with pytest.raises(NotTriageable, match=what):
        read(STATS + f'"{name}",3,1342822760,447607586,62.3\n')


@pytest.mark.parametrize("name", ["hipKernelThatIsMine(float*)", "elementwise_kernel", "Cijk_Ailk_Bljk", "KERNEL"])
def test_kernels_are_not_taken_for_host_calls(name: str) -> None:
    assert len(read(STATS + f'"{name}",3,1342822760,447607586,62.3\n')) == 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n"MARKER_CORE_API","x",1,1,1,5,6\n', "markers"),
        ('"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n"HIP_RUNTIME_API","x",1,1,1,5,6\n', "HIP API"),
        ('"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n"HSA_CORE_API","x",1,1,1,5,6\n', "HSA API"),
        ('"Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n"MEMORY_COPY","H2D",1,0,1,1,5,6\n', "memory copies"),
        ('"Node_Id","Logical_Node_Id","Agent_Type","Cu_Count"\n1,1,"GPU",104\n', "agent_info"),
    ],
)  # fmt: skip
def test_tables_without_kernels_are_refused_by_name(text: str, what: str) -> None:
    with pytest.raises(NotTriageable, match=what) as e:
        read(text)
    assert "rocprofv3" in str(e.value) or "counter_collection" in str(e.value)


@pytest.mark.parametrize("change", ["bom", "crlf", "utf16", "semicolon", "tab", "blank", "twice", "trailing", "cut"])
def test_variants_of_one_file_read_alike(change: str) -> None:
    raw = V1.read_bytes()
    lines = raw.decode().splitlines()
    data = {
        "bom": b"\xef\xbb\xbf" + raw,
        "crlf": raw.replace(b"\n", b"\r\n"),
        "utf16": raw.decode().encode("utf-16"),
        "semicolon": _delimited(lines, ";"),
        "tab": _delimited(lines, "\t"),
        "blank": b"\n\n" + raw + b"\n\n",
        "twice": raw + raw,
        "trailing": "\n".join(line + "," for line in lines).encode(),
        "cut": raw[:-1],
    }[change]
    t, plain = read(data), read(V1)
    times = 2 if change == "twice" else 1
    assert len(t) == 6 * times
    assert list(t.names) == list(plain.names) * times
    for metric, column in plain.columns.items():
        assert np.array_equal(np.tile(column.values, times), t.columns[metric].values, equal_nan=True), metric
    check_provenance(t)


def _delimited(lines: list[str], sep: str) -> bytes:
    import csv
    import io

    out = io.StringIO()
    csv.writer(out, delimiter=sep, lineterminator="\n").writerows(csv.reader(lines))
    return out.getvalue().encode()


def test_header_only_and_damaged_times() -> None:
    head = V1.read_text().split("\n")[0]
    with pytest.raises(BadCapture, match="header without rows"):
        read(head + "\n")
    v2 = "Dispatch_ID,GPU_ID,Grid_Size,Workgroup_Size,Kernel_Name,Start_Timestamp,End_Timestamp,SQ_WAVES\n0,2,1024,64,k (.kd),8.1097E+14,8.1097E+14,16\n"
    t = read(v2, "rocprof")
    assert "gpu.time" not in t.columns
    assert t.quality[0].check == "damaged-timestamps"
    assert list(t.names) == ["k"]


def test_counter_runs_without_times_say_so() -> None:
    t = read("Index,KernelName,grd,wgr,lds,scr,arch_vgpr,GPUBusy\n0,f [clone .kd],1024,64,0,0,8,99.5\n", "rocprof")
    assert "gpu.time" not in t.columns
    assert any("--timestamp on" in n for n in t.notes)
    assert t.columns["gpu.active"].values[0] == pytest.approx(0.995)


def test_older_long_tables_lack_times_and_accumulation_registers() -> None:
    t = read('"Dispatch_Id","Kernel_Name","Grid_Size","Workgroup_Size","VGPR_Count","Counter_Name","Counter_Value"\n'
             '1,"k",1024,64,8,"SQ_WAVES",16\n1,"k",1024,64,8,"VALUBusy",50\n2,"k",1024,64,8,"SQ_WAVES",17\n')  # fmt: skip
    assert len(t) == 2
    assert list(t.columns["waves.launched"].values) == [16, 17]
    assert np.isnan(t.columns["valu.busy"].values[1])  # not collected for this dispatch: missing, not 0
    assert "launch.accum_registers" not in t.columns


def test_processes_with_the_same_dispatch_numbers_stay_apart() -> None:
    t = read(
        '"Process_Id","Dispatch_Id","Kernel_Name","Counter_Name","Counter_Value"\n7,1,"a","SQ_WAVES",1\n8,1,"a","SQ_WAVES",2\n'
    )
    assert list(t.columns["waves.launched"].values) == [1, 2]


def test_other_architectures_do_not_get_the_formulas_of_gfx9(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    text = LONG.read_text()
    (folder / "4711_counter_collection.csv").write_text(text)
    info = (SAMPLES / "rocprofv3-counters" / "4711_agent_info.csv").read_text().replace("gfx90a", "gfx1100")
    (folder / "4711_agent_info.csv").write_text(info)
    t = read(folder / "4711_counter_collection.csv")
    assert t.arch == "gfx1100"
    assert "valu.busy" not in t.columns
    assert t.columns["launch.wave_size"].values[0] == 64


@pytest.mark.parametrize(("printed", "busy"), [(85.5, 0.855), (342.0, 0.855)])
def test_valu_busy_of_rdna_is_divided_where_its_instructions_allow_it(printed: float, busy: float) -> None:
    head = "Index,KernelName,grd,wgr,lds,scr,arch_vgpr,sgpr,wave_size,VALUBusy,SQ_INSTS_VALU,SQ_WAVE_CYCLES,OccupancyPercent,DurationNs\n"
    t = read(f"{head}0,k,1024,64,0,0,8,128,32,{printed},1.86e9,3.44e10,92.3,5000\n", "rocprof")
    assert t.columns["valu.busy"].values[0] == pytest.approx(busy)  # 0.80 of the cycles at least issue an instruction


def test_names_and_commands_agree_with_the_schema() -> None:
    for module in (rocprof, rocprofv3_counters):
        assert all(module.names().values())
    assert rocprof.names()["sm.throughput"] == ["max(valu.busy, mfma.busy, salu.busy, vmem.busy, branch.busy)"]
    assert "sched.insufficient_vgprs" not in rocprof.names()  # would need sizes that a results file does not carry
    assert "FETCH_SIZE" in rocprofv3_counters.collect(["vram.bytes_read"])
    assert "SQ_ACTIVE_INST_VALU" not in rocprofv3_counters.collect(["valu.busy"])
    assert "TCC_HIT_sum TCC_MISS_sum" in rocprofv3_counters.collect(["l2.hit_rate"])
    assert rocprof.collect(["l1tex.hit_rate"]).count("TCP_") == 5


@given(st.integers(0, 2**63 - 2**40), st.integers(0, 2**40), st.sampled_from(["{}", " {} ", "{}.0", "{}.5"]))
def test_durations_are_exact_whatever_the_size_of_timestamps(start: int, took: int, form: str) -> None:
    values, damaged = rocm.elapsed(
        np.array([form.format(start)], dtype=object), np.array([form.format(start + took)], dtype=object)
    )
    assert damaged == 0
    assert values[0] == took


@given(st.text(max_size=12))
def test_no_text_in_a_timestamp_cell_is_an_error(text: str) -> None:
    values, _ = rocm.elapsed(np.array([text], dtype=object), np.array(["12"], dtype=object))
    assert np.isnan(values[0]) or text.strip()


@given(st.text(alphabet="abc(.kd)[clone ]", max_size=20))
@example("[clone .kd]")
def test_descriptor_marks_come_off_once_and_for_all(name: str) -> None:
    once = rocm.clean(name + " [clone .kd]")
    assert not once.endswith("[clone .kd]")


def test_formulas_are_arithmetic_over_known_names() -> None:
    x = {"a": np.array([1.0, 0.0]), "b": np.array([2.0, 0.0]), "f.c": np.array([3.0, np.nan])}
    assert list(formulas.evaluate("a / (a + b)", x.__getitem__)) == pytest.approx([1 / 3, np.nan], nan_ok=True)
    assert list(formulas.evaluate("max(a, f.c)", x.__getitem__)) == [
        3.0,
        0.0,
    ]  # a missing part does not hide the others
    assert np.isnan(formulas.evaluate("max(0, f.c)", x.__getitem__)[1])  # but a floor never invents a value
    assert formulas.names("max(a, f.c) * 4 - b") == ("a", "f.c", "b")
    for metric, formula in counter_names.FORMULAS:
        ones = formulas.evaluate(formula, lambda _: np.array([1.0]))
        assert ones.shape == (1,), metric


def test_nothing_is_read_from_an_empty_file() -> None:
    from triage.ground.errors import TriageError

    for data in (b"", b"\n\n", b"\xff\xfe"):
        with pytest.raises(TriageError):
            read(Source("x.csv", data))


def test_output_folders_of_rocprofv3(tmp_path: Path) -> None:
    import shutil

    for file in (LONG, TRACE, LONG.parent / "4711_agent_info.csv"):
        (tmp_path / "host").mkdir(exist_ok=True)
        shutil.copy(file, tmp_path / "host")
    t = read(tmp_path, "rocprofv3-counters")
    assert len(t) == 4
    assert t.files[0].path == str(tmp_path)
    check_provenance(t)
    (tmp_path / "host" / LONG.name).unlink()
    t = read(tmp_path, "rocprofv3-kernels")
    assert t.device == "AMD Instinct MI210"
    check_provenance(t)
    shutil.copy(TRACE, tmp_path)
    with pytest.raises(BadCapture, match="2 runs"):
        read(tmp_path)


def test_decimal_commas_are_read_where_they_are_proven() -> None:
    t = read("Index;KernelName;grd;wgr;VALUBusy;DurationNs\n0;f;1024;64;94,8125;5000\n", "rocprof")
    assert t.columns["valu.busy"].values[0] == pytest.approx(0.948125)
    with pytest.raises(UnknownUnit):
        read("Index;KernelName;grd;wgr;VALUBusy;DurationNs\n0;f;1024;64;94,812;5000\n")


def test_first_rocprofv3_names_of_memory() -> None:
    t = read('"Kind","Agent_Id","Kernel_Name","Start_Timestamp","End_Timestamp","Private_Segment_Size","Group_Segment_Size",'
             '"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
             '"KERNEL_DISPATCH",4,"k",5,25,16,4096,64,1,1,130,1,1\n', "rocprofv3-kernels")  # fmt: skip
    assert t.columns["launch.shared"].values[0] == 4096
    assert t.columns["launch.scratch"].values[0] == 16
    assert t.columns["launch.grid_size"].values[0] == 3  # a last, partly filled group counts


@pytest.mark.parametrize("text", ["1e999999999", "-1e-999999999", "nan", "inf", "1_000"])
def test_absurd_timestamps_are_missing_at_once(text: str) -> None:
    values, _ = rocm.elapsed(np.array(["1.5", text], dtype=object), np.array(["3.5", "12"], dtype=object))
    assert values[0] == 2
    assert text == "1_000" or np.isnan(values[1])


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ('0,"k(float*, int) [clone .kd]",4,0,0,29564,29564,1000,256,0,0,8,0,16,64,0x0,0x7f,100.0,5.0', "dispatches of rocprof without a header line"),
        ('"KERNEL_DISPATCH","Agent 4",1,1,834304,1,10,"k(int)",1,1550151853029637,1550151853042437,0,0,8,0,16,64,1,1', "dispatches of rocprofv3 (kernel_trace) without a header line"),
        ('1,1,"Agent 1",1,15606,15606,1048576,17,"k<a, b>",64,0,0,8,0,16,"SQ_WAVES",16384.0,3200098838,3200098839', "counters of rocprofv3 (counter_collection) without a header line"),
    ],
)  # fmt: skip
def test_rows_without_a_header_are_named(row: str, what: str) -> None:
    assert what in refusal(f"{row}\n{row}\n")
