"""Commands that collect counters run: each pass within what the hardware counts at once, and passes are read together."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.dialects import check_provenance, read
from triage.dialects.amd import rocprof
from triage.dialects.amd.counters import availability, counter_names, counter_passes
from triage.dialects.amd.rocprofv3 import rocprofv3_counters
from triage.ground.errors import BadCapture
from triage.products.batch import find
from triage.reading import join, reader

METRICS = sorted(counter_names.exported())


@given(st.lists(st.sampled_from(METRICS), max_size=25))
def test_every_pass_fits_and_nothing_is_lost(metrics: list[str]) -> None:
    wanted = list(dict.fromkeys(c for m in metrics for c in counter_names.counters(m)))
    runs = counter_passes.split(wanted)
    assert sorted(c for run in runs for c in run) == sorted(wanted)
    for run in runs:
        used: dict[str, set[str]] = {}
        for name in run:
            for counter in availability.behind(name):
                used.setdefault(counter_passes.block(counter), set()).add(counter)
        if len(run) > 1:  # one derived metric alone is the tool's own affair
            assert all(len(c) <= counter_passes.limits().get(b, 2) for b, c in used.items()), used


def test_limits_have_a_source() -> None:
    assert (
        counter_passes.limits()["SPI"] == 2
        and counter_passes.limits()["TCP"] == 4
        and counter_passes.limits()["SQ"] == 8
    )
    assert counter_passes.block("SQC_ICACHE_HITS") == "SQ"  # both take the registers of SQ


def test_more_than_one_pass_is_one_input_file() -> None:
    five = [f"sched.insufficient_{x}" for x in ("vgprs", "sgprs", "lds", "barriers", "waveslots")]
    for module in (rocprof, rocprofv3_counters):
        command = module.collect(five)
        assert command.count("pmc:") == 3 and "counters.txt" in command  # two of SPI per pass
    assert "--pmc" in rocprofv3_counters.collect(["valu.busy"])


HEAD = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name",'
    '"Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name",'
    '"Counter_Value","Start_Timestamp","End_Timestamp"\n'
)


def run(folder: Path, number: int, rows: list[tuple[str, str, float]]) -> None:
    (folder / f"pass_{number}").mkdir(parents=True)
    text = HEAD + "".join(
        f'{i},{i},"Agent 1",1,7,7,65536,1,"{kernel}",256,0,0,16,0,32,"{counter}",{value},{1000 * i},{1000 * i + 500}\n'
        for i, (kernel, counter, value) in enumerate(rows, 1)
    )
    (folder / f"pass_{number}" / "9_counter_collection.csv").write_text(text)


def test_passes_of_one_run_are_read_together(tmp_path: Path) -> None:
    run(tmp_path, 1, [("a", "VALUBusy", 90.0), ("b", "VALUBusy", 10.0)])
    run(tmp_path, 2, [("a", "FETCH_SIZE", 8.0), ("b", "FETCH_SIZE", 16.0)])
    t = read(tmp_path)
    assert list(t.names) == ["a", "b"]
    assert list(t.columns["valu.busy"].values) == pytest.approx([0.9, 0.1])
    assert list(t.columns["vram.bytes_read"].values) == [8192, 16384]
    check_provenance(t)


def test_passes_that_ran_differently_are_refused(tmp_path: Path) -> None:
    run(tmp_path, 1, [("a", "VALUBusy", 90.0)])
    run(tmp_path, 2, [("c", "FETCH_SIZE", 8.0)])
    with pytest.raises(BadCapture, match="other kernels"):
        read(tmp_path)


def test_passes_lie_where_the_printed_command_puts_them(tmp_path: Path) -> None:
    """Each pass is a process of its own, below the host's name, with a trace, and a helper that dispatched something else."""
    command = rocprofv3_counters.collect(
        [f"sched.insufficient_{x}" for x in ("vgprs", "sgprs", "lds", "waveslots")], "gfx90a"
    )
    lines = [line.split() for line in re.findall(r"'pmc: ([^']*)'", command)]
    assert len(lines) > 1
    for number, counters in enumerate(lines, 1):
        rows = [f'{i},{i},"Agent 1",1,{70 + number},7,65536,1,"{k}",256,0,0,16,0,32,"{c}",{i * 7},{1000 * i},{1000 * i + 500}\n'
                for i, k in enumerate(("a", "b", "a"), 1) for c in counters]  # fmt: skip
        here = tmp_path / "out" / f"pmc_{number}" / "node7"
        here.mkdir(parents=True)
        (here / f"{70 + number}_counter_collection.csv").write_text(HEAD + "".join(rows))
        (here / f"{70 + number}_kernel_trace.csv").write_text("Kind,Kernel_Name\n")
        (here / f"{90 + number}_counter_collection.csv").write_text(HEAD)
    t = read(tmp_path / "out")
    assert {c for counters in lines for c in counters} <= {*t.raw, *(c.header for c in t.columns.values()), *t.unmapped}
    check_provenance(t)
    assert len(find.gather([str(tmp_path / "out")]).captures) == 1


AGENTS = (
    '"Node_Id","Logical_Node_Id","Agent_Type","Cpu_Cores_Count","Simd_Count","Max_Waves_Per_Simd","Lds_Size_In_Kb","Wave_Front_Size","Num_Xcc","Cu_Count",'
    '"Num_Shader_Banks","Simd_Per_Cu","Max_Engine_Clk_Fcompute","Name","Vendor_Name","Product_Name"\n4,1,"GPU",0,416,8,64,64,1,104,8,4,1700,"{}","AMD",""\n'
)


@pytest.mark.parametrize(
    ("arch", "device"),
    [("gfx90a", "MI210"), ("gfx942", "MI300X"), ("gfx950", "MI355X"), ("gfx1100", "RX 7900 XTX"), ("gfx1151", "gfx1151"), ("gfx1201", "RX 9070 XT")],
)  # fmt: skip
def test_what_the_merged_command_writes_answers_what_was_asked(arch: str, device: str, tmp_path: Path) -> None:
    asked = [m for m in METRICS if counter_names.counters(m, arch)]
    command = rocprofv3_counters.collect(asked, arch)
    for number, line in enumerate(re.findall(r"'pmc: ([^']*)'", command), 1):
        rows = [f'{i},{i},"Agent 4",1,7,7,65536,1,"{k}",256,0,0,16,0,32,"{c}",{i * 7},{1000 * i},{1000 * i + 500}\n'
                for i, k in enumerate(("a", "b"), 1) for c in line.split()]  # fmt: skip
        here = tmp_path / "out" / f"pmc_{number}" / "node7"
        here.mkdir(parents=True)
        (here / "7_counter_collection.csv").write_text(HEAD + "".join(rows))
        (here / "7_agent_info.csv").write_text(AGENTS.format(arch))
    t = read(tmp_path / "out", device=device)
    assert t.collectable is not None
    assert not {m for m in asked if m in t.collectable and m not in t.columns}
    assert len(t.columns) > 20


def test_counters_beside_a_trace_are_one_capture(tmp_path: Path) -> None:
    run(tmp_path, 1, [("a", "VALUBusy", 90.0)])
    (tmp_path / "pass_1" / "9_kernel_trace.csv").write_text("Kind,Kernel_Name\n")
    (only,) = find.gather([str(tmp_path / "pass_1")]).captures
    assert len(read(Path(only.path))) == 1


def test_passes_given_as_files_are_joined_and_runs_to_compare_are_not(tmp_path: Path) -> None:
    run(tmp_path / "x", 1, [("a", "VALUBusy", 90.0), ("b", "VALUBusy", 10.0)])
    run(tmp_path / "y", 1, [("a", "FETCH_SIZE", 8.0), ("b", "FETCH_SIZE", 16.0)])
    files = [str(tmp_path / d / "pass_1" / "9_counter_collection.csv") for d in "xy"]
    (one,) = join.joined([reader.read(f) for f in files])
    assert {"valu.busy", "vram.bytes_read"} <= set(one.facts)
    assert len(join.joined([reader.read(f) for f in (files[0], files[0])])) == 2


def test_times_of_older_versions_come_from_the_trace_beside_the_counters(tmp_path: Path) -> None:
    head = '"Correlation_Id","Dispatch_Id","Agent_Id","Grid_Size","Kernel_Name","Workgroup_Size","SGPR_Count","Counter_Name","Counter_Value"\n'
    rows = "".join(
        f'{i},{i},1,65536,"{k}",256,32,"{c}",{i * 10}\n'
        for i, k in ((4, "a"), (8, "b"))
        for c in ("SQ_WAVES", "VALUBusy")
    )
    (tmp_path / "7_counter_collection.csv").write_text(head + rows)
    trace = "".join(f'"KERNEL_DISPATCH",1,{i},"{k}",{1000 * i},{1000 * i + 100 * i}\n' for i, k in ((8, "b"), (4, "a")))
    (tmp_path / "7_kernel_trace.csv").write_text(
        '"Kind","Agent_Id","Dispatch_Id","Kernel_Name","Start_Timestamp","End_Timestamp"\n' + trace
    )
    t = read(tmp_path)
    assert list(t.names) == ["a", "b"] and list(t.columns["gpu.time"].values) == [400, 800]
    check_provenance(t)
