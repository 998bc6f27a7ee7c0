"""ROCm's database and traces: schemas old and new, the same timeline as the CSV traces of one run."""

import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.capture.capture import Capture
from triage.capture.source import Source
from triage.dialects import Options
from triage.dialects.amd.rocprofv3 import rocpd
from triage.ground.errors import NotTriageable, TriageError
from triage.reading import reader

US = 1_000
RUN = "_0000a1b2_run"
# (start, end, stack id) of dispatches, of copies (and direction, bytes), of calls (and name)
KERNELS = [(1_000 * US, 1_300 * US, 2), (1_700 * US, 1_900 * US, 4), (1_901 * US, 1_960 * US, 5)]
COPIES = [(700 * US, 900 * US, 1, "HOST_TO_DEVICE", 1 << 20)]
CALLS = [
    (600 * US, 910 * US, 1, "hipMemcpy"), (920 * US, 930 * US, 2, "hipLaunchKernel"),
    (930 * US, 1_320 * US, 3, "hipDeviceSynchronize"), (1_690 * US, 1_696 * US, 4, "hipModuleLaunchKernel"),
    (1_697 * US, 1_699 * US, 5, "hipModuleLaunchKernel"),
]  # fmt: skip
MARKS = [(500 * US, 1_500 * US, "step 0"), (1_600 * US, 2_000 * US, "step 1")]


def database(path: Path, stamps: bool, counted: list[tuple[int, int, float | None]] | None = None) -> Path:
    """One run of one process on one GPU; stamps: the newer schema, with tables of timestamps and tracks.

    counted: (event, counter, value), several of one counter for its instances.
    """
    counted = counted or []
    path.unlink(missing_ok=True)
    c = sqlite3.connect(path)
    times: list[int] = []

    def make(name: str, columns: str, rows: list[tuple[object, ...]]) -> None:
        c.execute(f'create table "{name}{RUN}" ({columns})')
        if rows:
            c.executemany(f'insert into "{name}{RUN}" values ({",".join("?" * len(rows[0]))})', rows)

    def when(start: int, end: int) -> tuple[int, int]:
        if not stamps:
            return start, end
        times.extend((start, end))
        return len(times) - 1, len(times)

    both = (
        "start_id integer, end_id integer, track_id integer"
        if stamps
        else "start integer, end integer, agent_id integer"
    )
    host = "start_id integer, end_id integer, track_id integer" if stamps else "start integer, end integer, pid integer"
    words = ["HIP_RUNTIME_API_EXT", "MARKER_CORE_RANGE_API", "KERNEL_DISPATCH", *dict.fromkeys(k[3] for k in CALLS),
             *(m[2] for m in MARKS), "MEMORY_COPY_HOST_TO_DEVICE"]  # fmt: skip
    number = {w: i + 1 for i, w in enumerate(words)}
    make("rocpd_string", "id integer primary key, string text", [(i, w) for w, i in number.items()])
    stacks = (
        [(k[2], 3) for k in KERNELS]
        + [(k[2], 3) for k in COPIES]
        + [(k[2], 1) for k in CALLS]
        + [(900 + i, 2) for i in range(len(MARKS))]
    )
    make("rocpd_event", "id integer primary key, category_id integer, stack_id integer, correlation_id integer",
         [(i + 1, category, stack, 0) for i, (stack, category) in enumerate(stacks)])  # fmt: skip
    make("rocpd_info_agent", "id integer primary key, type text, absolute_index integer, type_index integer, name text, product_name text",
         [(1, "CPU", 0, 0, "cpu", "cpu"), (2, "GPU", 1, 0, "gfx90a", "AMD Instinct MI210")])  # fmt: skip
    make("rocpd_info_kernel_symbol", "id integer primary key, kernel_name text, display_name text, sgpr_count integer, arch_vgpr_count integer, accum_vgpr_count integer",
         [(7, "_Z4axpyPf.kd", "axpy(float*)", 32, 24, 0)])  # fmt: skip
    make("rocpd_track", "id integer primary key, pid integer, tid integer, agent_id integer, queue_id integer, stream_id integer",
         [(1, 4711, None, 2, 1, 1), (2, 4711, 4712, None, None, None)] if stamps else [])  # fmt: skip
    place = 1 if stamps else 2
    make("rocpd_kernel_dispatch", f"id integer primary key, {both}, kernel_id integer, group_segment_size integer, private_segment_size integer, "
         "workgroup_size_x integer, workgroup_size_y integer, workgroup_size_z integer, grid_size_x integer, grid_size_y integer, grid_size_z integer, event_id integer",
         [(i + 1, *when(a, b), place, 7, 1024, 0, 256, 1, 1, 1000, 2, 1, i + 1) for i, (a, b, _) in enumerate(KERNELS)])  # fmt: skip
    make("rocpd_memory_copy", f"id integer primary key, {both}, name_id integer, dst_agent_id integer, src_agent_id integer, size integer, event_id integer",
         [(1, *when(a, b), place, number["MEMORY_COPY_" + d], 2, 1, n, len(KERNELS) + 1) for a, b, _, d, n in COPIES])  # fmt: skip
    first = len(KERNELS) + len(COPIES) + 1
    rows = [(k[0], k[1], k[3]) for k in CALLS] + [*MARKS]
    make("rocpd_region", f"id integer primary key, {host}, name_id integer, event_id integer",
         [(i + 1, *when(a, b), 2 if stamps else 4711, number[w], first + i) for i, (a, b, w) in enumerate(rows)])  # fmt: skip
    make(
        "rocpd_info_pmc",
        "id integer primary key, name text",
        [(i, n) for i, n in enumerate(("TCC_HIT_sum", "FETCH_SIZE", "TCC_MISS_sum"), 1)],
    )
    make("rocpd_pmc_event", "id integer primary key, event_id integer, pmc_id integer, value real",
         [(i, *row) for i, row in enumerate(counted, 1)])  # fmt: skip
    if stamps:
        make("rocpd_timestamp", "id integer primary key, value integer", [(i + 1, t) for i, t in enumerate(times)])
    c.execute(f'create view rocpd_kernel_dispatch as select * from "rocpd_kernel_dispatch{RUN}"')
    c.commit()
    c.close()
    return path


def gaps(c: Capture) -> dict[str, tuple[int, int, int]]:
    assert c.timeline is not None
    return {g.cause: (g.total_ns, g.count, g.led_ns) for g in c.timeline.devices[0].gaps}


@pytest.mark.parametrize("stamps", [False, True])
def test_both_schemas_give_the_same_timeline(stamps: bool, tmp_path: Path) -> None:
    c = reader.read(str(database(tmp_path / "r.db", stamps)))
    assert c.input.dialect == "rocpd" and c.device is not None and c.device.arch == "gfx90a" and c.timeline is not None
    assert set(map(str, c.names)) == {"axpy(float*)", "[copy host to device]"}
    assert set(map(str, c.paths)) == {"step 0", "step 1"}
    first = c.timeline.devices[0]
    assert (first.key, first.kernels, first.copies, first.h2d_bytes) == ("0", 3, 1, 1 << 20)
    assert (first.span_ns, first.busy_ns) == (1_260 * US, 759 * US)
    # after the copy: its own call, outside, the launch; after the kernel: the wait, outside, the launch; then queued work
    assert gaps(c) == {
        "sync": (20 * US, 1, 400 * US),
        "memcpy": (10 * US, 1, 100 * US),
        "launch": ((80 + 10) * US, 0, 0),
        "host": ((10 + 370) * US, 0, 0),
        "queued": (1 * US, 1, 1 * US),
    }
    kernel = list(map(str, c.names)).index("axpy(float*)")
    assert [
        c.facts[m][kernel] for m in ("launch.block_size", "launch.grid_size", "launch.registers", "launch.shared")
    ] == [256, 8, 24, 1024]


@pytest.mark.parametrize("stamps", [False, True])
def test_counters_of_dispatches_are_summed_over_their_instances(stamps: bool, tmp_path: Path) -> None:
    counted = [(1, 1, 30.0), (1, 1, 45.0), (1, 3, 25.0), (1, 2, 8.0), (2, 2, 2.5), (3, 2, None)]
    c = reader.read(str(database(tmp_path / "r.db", stamps, counted)), unfold=True)
    kernels = [i for i, name in enumerate(c.names) if "axpy" in str(name)]
    read = {m: [float(c.facts[m][i]) for i in kernels] for m in ("l2.hit_rate", "vram.bytes_read")}
    assert read["l2.hit_rate"][0] == pytest.approx(0.75)
    assert read["vram.bytes_read"][:2] == [8192, 2560] and read["vram.bytes_read"][2] != read["vram.bytes_read"][2]
    assert c.timeline is not None and c.collectable and "valu.busy" in c.collectable


def test_the_csv_traces_of_a_run_give_the_same_gaps(tmp_path: Path) -> None:
    head = "Kind,Agent_Id,Queue_Id,Thread_Id,Dispatch_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,Grid_Size_Y,Grid_Size_Z\n"
    rows = "".join(
        f"KERNEL_DISPATCH,Agent 2,1,9,{i},axpy(float*),{k},{a},{b},256,1,1,1000,2,1\n"
        for i, (a, b, k) in enumerate(KERNELS)
    )
    (tmp_path / "r_kernel_trace.csv").write_text(head + rows)
    copies = "".join(f"MEMORY_COPY,MEMORY_COPY_{d},Agent 1,Agent 2,{k},{a},{b}\n" for a, b, k, d, _ in COPIES)
    (tmp_path / "r_memory_copy_trace.csv").write_text(
        "Kind,Direction,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n" + copies
    )
    calls = "".join(f"HIP_RUNTIME_API,{n},4711,4712,{k},{a},{b}\n" for a, b, k, n in CALLS)
    (tmp_path / "r_hip_api_trace.csv").write_text(
        "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n" + calls
    )
    c = reader.read(str(tmp_path / "r_kernel_trace.csv"))
    assert c.input.dialect == "rocprofv3-kernels"
    assert gaps(c) == gaps(reader.read(str(database(tmp_path / "r.db", False))))


def test_a_run_without_work_is_refused_in_one_line(tmp_path: Path) -> None:
    path = database(tmp_path / "r.db", False)
    c = sqlite3.connect(path)
    c.execute(f'delete from "rocpd_kernel_dispatch{RUN}"')
    c.execute(f'delete from "rocpd_memory_copy{RUN}"')
    c.commit()
    c.close()
    with pytest.raises(NotTriageable, match="without GPU work"):
        reader.read(str(path))


def test_one_of_two_stamps_is_no_time(tmp_path: Path) -> None:
    data = database(tmp_path / "r.db", True).read_bytes()
    with pytest.raises(TriageError):
        rocpd.read(Source("x.db", data.replace(b"end_id", b"enx_id")), Options())


@pytest.mark.parametrize("column", [b"name_id", b"kernel_id", b"dst_agent_id", b"src_agent_id"])
def test_a_column_of_ids_that_is_gone_is_not_known(tmp_path: Path, column: bytes) -> None:
    data = database(tmp_path / "r.db", False).read_bytes()
    table = rocpd.read(Source("x.db", data.replace(column, column[:-1] + b"x")), Options())
    assert table.trace is not None
    assert len(table) == len(rocpd.read(Source("r.db", data), Options()))


def test_regions_without_a_table_of_strings_have_no_names(tmp_path: Path) -> None:
    data = database(tmp_path / "r.db", False).read_bytes()
    table = rocpd.read(Source("x.db", data.replace(b"rocpd_string", b"rocpd_strinx")), Options())
    assert table.trace is not None
    assert len(table.trace.calls.start) == 0  # what a call does is told by its category


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.binary(min_size=1, max_size=30), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_hostile_bytes_are_read_or_refused(pieces: list[bytes], random: Any, stamps: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = bytearray(database(Path(folder) / "r.db", stamps).read_bytes())
    for piece in pieces:
        at = random.randrange(100, len(data))
        data[at : at + len(piece)] = piece
    source = Source("x.db", bytes(data))
    try:
        if rocpd.recognise(source):
            rocpd.read(source, Options())
    except TriageError as e:
        assert "\n" not in str(e)
