"""Program-counter samples of rocprofv3: shares of waiting, hot lines, names from the trace beside them or from the JSON."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tests.helpers.dialects import read, read_or_refuse, refusal
from triage.capture.source import Source
from triage.dialects.amd.pc_sampling import samples
from triage.dialects.amd.rocprofv3 import rocprofv3_pc_samples

STOCHASTIC = SAMPLES / "rocprofv3-pc-samples" / "4711_pc_sampling_stochastic.csv"
HEAD = '"Sample_Timestamp","Exec_Mask","Dispatch_Id","Instruction","Instruction_Comment","Correlation_Id"'
REASONS = ',"Wave_Issued_Instruction","Instruction_Type","Stall_Reason","Wave_Count"'
WHY = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"


def trap(*spots: tuple[int, str], dispatch: int = 1) -> bytes:
    rows = [f'{i},65535,{dispatch},"{text}","",1' for n, text in spots for i in range(n)]
    return "\n".join([HEAD, *rows, ""]).encode()


def shares(table: Any, row: int = 0) -> dict[str, float]:
    return {
        m.removeprefix("waves."): round(float(c.values[row]), 2)
        for m, c in table.columns.items()
        if m in samples.METRICS
    }


def trace(folder: Path) -> Path:
    """The sample in a folder beside the trace of its dispatches: gather, reduce, gather, reduce."""
    head = "Kind,Agent_Id,Dispatch_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp,LDS_Block_Size,Workgroup_Size_X,Grid_Size_X"
    rows = [f'"K","Agent 4",{d},"{k}(float*, int)",{d},{d}000000,{d}500000,{lds},256,65536' for d, k, lds in ((1, "gather", 0), (2, "reduce", 2048), (3, "gather", 0), (4, "reduce", 2048))]  # fmt: skip
    (folder / "4711_kernel_trace.csv").write_text("\n".join([head, *rows, ""]))
    (folder / STOCHASTIC.name).write_bytes(STOCHASTIC.read_bytes())
    return folder / STOCHASTIC.name


def test_the_sample_alone_is_one_row() -> None:
    table = read(STOCHASTIC, "rocprofv3-pc-samples")
    assert list(table.names) == ["4 sampled launches"] and "gpu.time" not in table.columns
    assert table.locate is not None
    assert [(p.line, p.reason) for p in table.locate(0, ["waves.dependency_wait"])][:2] == [
        (11, "waitcnt"),
        (18, "barrier wait"),
    ]


def test_dispatches_with_the_waits_of_their_kernels(tmp_path: Path) -> None:
    path = trace(tmp_path)
    table = read(path, "rocprofv3-pc-samples")
    assert [str(n)[:6] for n in table.names] == ["gather", "reduce", "gather", "reduce"]
    assert "gpu.time" in table.columns and table.files[0].path == str(path)
    wanted = {"memory_wait": 0.67, "barrier_wait": 0.0, "lds_or_scalar_wait": 0.1, "dependency_wait": 0.85, "fetch_wait": 0.0, "alu_wait": 0.08, "issue_wait": 0.0, "active": 0.15}  # fmt: skip
    assert shares(table) == wanted
    assert shares(table, 1)["barrier_wait"] == 0.5
    assert table.locate is not None
    (place,) = table.locate(1, ["gpu.time", "waves.barrier_wait"])
    assert (place.file, place.line, place.share, place.offset) == ("/home/me/reduce.hip", 18, 1.0, -1)
    waits = table.locate(0, ["waves.dependency_wait"])
    assert [(p.line, p.reason) for p in waits] == [(11, "waitcnt"), (9, "waitcnt"), (10, "alu dependency")]
    beside = read(path.with_name("4711_kernel_trace.csv"), "rocprofv3-kernels")
    assert shares(beside) == wanted


@pytest.mark.parametrize(
    ("spots", "wanted"),
    [  # every queue that a wait may name; a sample of the host trap says where a wave was, not why
        ([(30, "s_waitcnt vmcnt(0)"), (30, "s_endpgm")], {"memory_wait": 0.5, "dependency_wait": 0.5, "lds_or_scalar_wait": 0, "barrier_wait": 0}),
        ([(45, "s_wait_dscnt 0x0"), (15, "v_nop")], {"memory_wait": 0, "dependency_wait": 0.75, "lds_or_scalar_wait": 0.75, "barrier_wait": 0}),
        ([(30, "s_barrier_wait 0xffff"), (30, "s_waitcnt_vscnt null, 0x0")], {"memory_wait": 0.5, "dependency_wait": 1, "lds_or_scalar_wait": 0, "barrier_wait": 0.5}),
        ([(60, "s_waitcnt vmcnt(1) lgkmcnt(0)")], {"memory_wait": 1, "dependency_wait": 1, "lds_or_scalar_wait": 0, "barrier_wait": 0}),
    ],
)  # fmt: skip
def test_host_trap(spots: list[tuple[int, str]], wanted: dict[str, float]) -> None:
    table = read(Source("1_pc_sampling_host_trap.csv", trap(*spots)), "rocprofv3-pc-samples")
    assert shares(table) == wanted
    assert "two instructions" in " ".join(table.notes)


def test_few_samples_are_no_share(tmp_path: Path) -> None:
    few = trap((samples.MIN_SAMPLES - 1, "s_waitcnt vmcnt(0)"))
    assert "fewer than 50 samples of each kernel (49 in all)" in refusal(Source("x.csv", few))
    (tmp_path / "pc_sampling_host_trap.csv").write_bytes(few)
    head = '"Kind","Dispatch_Id","Kernel_Name","Start_Timestamp","End_Timestamp","Workgroup_Size_X"'
    (tmp_path / "kernel_trace.csv").write_text(f'{head}\n"K",1,"a",10,20,64\n')
    table = read(tmp_path / "pc_sampling_host_trap.csv", "rocprofv3-pc-samples")
    assert not set(table.columns) & set(samples.METRICS)
    assert table.locate is not None and not table.locate(0, ["waves.memory_wait"])
    assert "few-samples" in [q.check for q in table.quality]


def test_samples_of_unknown_code() -> None:
    row = '1,1,1,"","Unrecognized code object id, physical virtual address of PC:7",1'
    assert "no sample holds an instruction" in refusal(f"{HEAD}\n{row}\n")


@pytest.mark.parametrize(("method", "rest"), [("stochastic", REASONS), ("host_trap", "")])
def test_tables_in_a_folder_go_by_their_run(tmp_path: Path, method: str, rest: str) -> None:
    cells = f',0,"X","{WHY}WAITCNT",4' if rest else ""
    rows = [f'{i},1,{2 + i % 2},"s_waitcnt vmcnt(0)","k.hip:3",9{cells}' for i in range(120)]
    (tmp_path / f"pc_sampling_{method}.csv").write_text("\n".join([HEAD + rest, *rows, ""]))
    head = '"Kind","Dispatch_Id","Kernel_Name","Start_Timestamp","End_Timestamp","Workgroup_Size_X"'
    (tmp_path / "kernel_trace.csv").write_text(f'{head}\n"K",1,"a",10,20,64\n"K",2,"b",30,50,64\n')
    table = read(tmp_path / f"pc_sampling_{method}.csv", "rocprofv3-pc-samples")
    assert [str(n) for n in table.names] == ["a", "b"]
    memory = table.columns["waves.memory_wait"].values
    assert memory[0] != memory[0] and memory[1] == 1.0  # no sample of a is no share
    assert "60 samples of dispatches that the kernel trace does not hold" in " ".join(table.notes)


def results(method: str, dispatches: int) -> bytes:
    """rocprofv3 --output-format json: two kernels in one code object, `two` from 0x200 on."""
    symbols = [
        {"kernel_id": i, "code_object_id": 4, "kernel_name": f"{n}.kd", "kernel_code_entry_byte_offset": at}
        for i, (n, at) in enumerate((("one", 0x100), ("two", 0x200)), 1)
    ]
    info = {"kernel_id": 2, "agent_id": {"handle": 1}, "workgroup_size": dict.fromkeys("xyz", 1), "grid_size": dict.fromkeys("xyz", 8), "group_segment_size": 0, "private_segment_size": 0}  # fmt: skip
    run = {
        "agents": [],
        "kernel_symbols": symbols,
        "strings": {"pc_sample_instructions": ["s_waitcnt vmcnt(0)", "v_nop"], "pc_sample_comments": ["a.hip:7", ""]},
        "callback_records": {"counter_collection": []},
        "buffer_records": {
            "kernel_dispatch": [
                {"start_timestamp": 10, "end_timestamp": 90, "dispatch_info": info | {"dispatch_id": 5}}
            ][:dispatches],
            f"pc_sample_{method}": [
                {
                    "inst_index": i % 4 > 2,
                    "record": {
                        "dispatch_id": 5,
                        "wave_issued": 0,
                        "snapshot": {"stall_reason": f"{WHY}WAITCNT"},
                        "pc": {"code_object_id": 4, "code_object_offset": 0x210 + i % 4},
                    },
                }
                for i in range(100)
            ]
            + [{"inst_index": -1, "record": {}}],
        },
    }
    return json.dumps({"rocprofiler-sdk-tool": [run]}).encode()


@pytest.mark.parametrize("method", ["stochastic", "host_trap"])
@pytest.mark.parametrize("dispatches", [1, 0])
def test_json_names_kernels_by_dispatch_or_address(method: str, dispatches: int) -> None:
    table = read(Source("1_results.json", results(method, dispatches)), "rocprofv3-json")
    assert list(table.names) == ["two"]
    assert shares(table)["memory_wait"] == 0.75
    assert table.locate is not None
    (place,) = table.locate(0, ["waves.memory_wait"])
    assert (place.file, place.line, place.offset, place.instructions) == ("a.hip", 7, 0x10, 3)


def test_commands() -> None:
    collect = rocprofv3_pc_samples.collect
    assert "stochastic" in collect(["waves.alu_wait"], "gfx942")
    assert collect(["waves.alu_wait"], "gfx90a") == ""  # the host trap gives no reasons
    assert "host_trap" in collect(["waves.barrier_wait"], "gfx90a")
    assert collect(["waves.barrier_wait"], "gfx1100") == ""
    assert "--pmc" in collect(["waves.barrier_wait", "l2.hit_rate"], "gfx942")


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_damaged_samples_end_in_one_line(data: st.DataObject) -> None:
    raw = bytearray(trap((3, "s_waitcnt vmcnt(0)"), (60, "v_nop")))
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(len(HEAD), len(raw) - 1))] = data.draw(st.sampled_from(b'0,";\n:-x9'))
    read_or_refuse(rocprofv3_pc_samples, bytes(raw))


def test_samples_without_an_instruction_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(trap((300, "s_waitcnt vmcnt(0)"), (1, "")))
    found = read(tmp_path / "a.csv").quality
    assert "1 sample without an instruction was left out" in [q.message for q in found]
