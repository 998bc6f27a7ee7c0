"""Nsight Systems' database: tables and versions that come and go, several processes, cells that can be found, hostile bytes."""

import gzip
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import run
from tests.helpers import nsys
from tests.helpers.nsys import MS, SAMPLE, US
from triage.capture.capture import Capture
from triage.capture.source import Source
from triage.dialects import Options
from triage.dialects.traces import nsys_sqlite
from triage.ground.errors import BadCapture, CaptureError, NotTriageable, TriageError
from triage.reading import reader

GEMM, ADD = nsys.script.GEMM, nsys.script.ADD


def some(t: Any) -> None:
    """Kernels, a copy, a set, a graph, a wait."""
    t.memset(1 << 20, 5 * US)
    t.copy(1 << 20, 90 * US)
    for _ in range(3):
        t.kernel(GEMM, 300 * US, grid=512, block=128, registers=168, shared=48 << 10)
    t.sync()
    t.kernel(ADD, 4 * US, grid=24)
    t.graph(700 * US)
    t.range("step", 0)


def summary(c: Capture) -> list[tuple[Any, ...]]:
    assert c.timeline is not None
    return [
        (d.key, d.span_ns, d.busy_ns, [(g.cause, g.total_ns, g.count, g.led_ns) for g in d.gaps])
        for d in c.timeline.devices
    ]


def test_what_a_database_holds(tmp_path: Path) -> None:
    c = nsys.capture(tmp_path / "a.sqlite", some)
    assert c.input.dialect == "nsys-sqlite" and c.device is not None and c.device.arch == "sm_90"
    times = dict(zip(map(str, c.names), c.duration_ns.tolist(), strict=True))
    assert times[GEMM] == 900 * US and times[ADD] == 4 * US
    assert (
        times["[CUDA memcpy Host-to-Device]"] == 90 * US
        and times["[CUDA memset]"] == 5 * US
        and times["[CUDA graph 1]"] == 700 * US
    )
    gemm = list(map(str, c.names)).index(GEMM)
    shape = {
        m: c.facts[m][gemm]
        for m in (
            "launch.grid_size",
            "launch.block_size",
            "launch.registers",
            "launch.shared_dynamic",
            "device.sm_count",
        )
    }
    assert shape == {
        "launch.grid_size": 512,
        "launch.block_size": 128,
        "launch.registers": 168,
        "launch.shared_dynamic": 48 << 10,
        "device.sm_count": 132,
    }
    assert c.calls[gemm] == 3 and set(map(str, c.paths)) == {"step"}
    assert c.timeline is not None and c.frame_ns == c.timeline.devices[0].span_ns
    assert c.uncovered_ns == c.timeline.devices[0].idle_ns


def test_every_value_leads_back_to_its_cell(tmp_path: Path) -> None:
    table = nsys.capture(tmp_path / "a.sqlite", some).table
    (file,) = table.files
    for name, column in {**table.raw, **table.columns}.items():
        if not column.column:
            continue
        records = file.records([table.line(r) for r in range(len(table))])
        for row, value in enumerate(column.values):
            cell = records[table.line(row)][column.column - 1]
            assert (cell == "" and np.isnan(value)) or float(cell) == value, (name, row)


CHANGES = {
    "up to 2022": "alter table META_DATA_EXPORT rename to EXPORT_META_DATA",
    "no meta table": "drop table META_DATA_EXPORT",
    "no process ids": "".join(f"alter table CUPTI_ACTIVITY_KIND_{t} drop column globalPid;" for t in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE"))
    + "drop table TARGET_INFO_CUDA_DEVICE",
    "no map of devices": "drop table TARGET_INFO_CUDA_DEVICE",
    "indexed by another tool": "create index i on CUPTI_ACTIVITY_KIND_KERNEL(start); create view v as select * from CUPTI_ACTIVITY_KIND_KERNEL",
    "rows in another order": "create table x as select * from CUPTI_ACTIVITY_KIND_KERNEL order by start desc; drop table CUPTI_ACTIVITY_KIND_KERNEL;"
    "alter table x rename to CUPTI_ACTIVITY_KIND_KERNEL",
    "driver rows inside runtime rows": "insert into CUPTI_ACTIVITY_KIND_RUNTIME select start + 100, end - 100, 67, globalTid, correlationId, nameId, 0"
    " from CUPTI_ACTIVITY_KIND_RUNTIME",
    "numbers as text": "update CUPTI_ACTIVITY_KIND_KERNEL set gridX = cast(gridX as text)",
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_written_another_way_says_the_same(change: str, tmp_path: Path) -> None:
    plain = nsys.capture(tmp_path / "a.sqlite", some)
    other = nsys.capture(tmp_path / "b.sqlite", some, CHANGES[change])
    assert summary(other) == summary(plain)
    assert dict(zip(map(str, other.names), other.duration_ns, strict=True)) == dict(
        zip(map(str, plain.names), plain.duration_ns, strict=True)
    )


def test_names_that_stand_in_the_table_are_read(tmp_path: Path) -> None:
    c = nsys.capture(tmp_path / "a.sqlite", some, "update CUPTI_ACTIVITY_KIND_KERNEL set demangledName = 'mine(int)'")
    assert "mine(int)" in set(map(str, c.names)) and GEMM not in set(map(str, c.names))


def test_calls_without_names_are_no_copies(tmp_path: Path) -> None:
    c = nsys.capture(tmp_path / "a.sqlite", some, "alter table CUPTI_ACTIVITY_KIND_RUNTIME drop column nameId")
    assert c.timeline is not None and c.timeline.host is not None
    assert (c.timeline.host.copies, c.timeline.host.syncs, c.timeline.host.launches) == (0, 0, 0)


def test_packed_and_piped_it_reads_the_same(tmp_path: Path) -> None:
    plain = nsys.capture(tmp_path / "a.sqlite", some)
    data = (tmp_path / "a.sqlite").read_bytes()
    (tmp_path / "a.sqlite.gz").write_bytes(gzip.compress(data))
    assert summary(reader.read(str(tmp_path / "a.sqlite.gz"))) == summary(plain)
    assert summary(reader.read(Source("stdin", data))) == summary(plain)


def test_nothing_is_written_beside_it_and_nothing_of_it_is_run(tmp_path: Path) -> None:
    nsys.capture(tmp_path / "a.sqlite", some, "pragma journal_mode = wal; create view CUPTI_ACTIVITY_KIND_DRIVER as "
                 "with recursive n(start) as (select 1 union all select start + 1 from n) select start, start as end from n")  # fmt: skip
    before = sorted(p.name for p in tmp_path.iterdir())
    assert reader.read(str(tmp_path / "a.sqlite")).timeline is not None
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    (tmp_path / "a.sqlite-wal").write_bytes(b"x")
    with pytest.raises(CaptureError, match="still being written"):
        reader.read(str(tmp_path / "a.sqlite"))


def two_processes(clash: bool) -> Any:
    """Each process has one GPU, its device 0; their correlation ids are the same."""
    session = nsys.script.Session()
    for number in (0, 1):
        session.gpu(number, "NVIDIA H100 80GB HBM3", 132, 9, 0)
    for pid, gpu in ((4001, 1), (4002, 0)):
        thread = nsys.script.Thread(session, pid, gpu)
        thread.host(pid * MS if clash else 0)
        nsys.script.waits_each_step(thread, 5 + gpu)
    return session


def test_devices_are_mapped_and_correlation_ids_kept_apart(tmp_path: Path) -> None:
    c = nsys.written(tmp_path / "a.sqlite", two_processes(True))
    assert c.timeline is not None
    assert [(d.key, d.kernels) for d in c.timeline.devices] == [("0", 5), ("1", 6)]
    assert all(d.gap("unknown").count == 0 and d.gap("sync").count for d in c.timeline.devices)
    together = nsys.written(tmp_path / "b.sqlite", two_processes(False), "drop table TARGET_INFO_CUDA_DEVICE")
    assert together.timeline is not None and [d.key for d in together.timeline.devices] == ["0"]
    assert any("several processes" in q.message for q in together.quality)


def test_without_calls_no_cause_is_named(tmp_path: Path) -> None:
    c = nsys.capture(tmp_path / "a.sqlite", some, "drop table CUPTI_ACTIVITY_KIND_RUNTIME")
    assert c.timeline is not None and c.timeline.host is None
    assert [g.cause for g in c.timeline.devices[0].gaps] == ["unknown"]
    assert any("no host API calls" in q.message for q in c.quality)


def test_a_slice_is_told_and_its_beginning_is_no_cold_start(tmp_path: Path) -> None:
    c = nsys.capture(
        tmp_path / "a.sqlite",
        nsys.script.start_up,
        "delete from CUPTI_ACTIVITY_KIND_RUNTIME where start = (select min(start) from CUPTI_ACTIVITY_KIND_RUNTIME)",
    )
    assert c.timeline is not None and c.timeline.sliced
    assert any("a slice of a longer run" in q.message for q in c.quality)


def test_impossible_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    change = "update CUPTI_ACTIVITY_KIND_KERNEL set end = start - 1 where rowid = 1; update CUPTI_ACTIVITY_KIND_KERNEL set start = null where rowid = 2;"
    c = nsys.capture(
        tmp_path / "a.sqlite", some, change + "update CUPTI_ACTIVITY_KIND_MEMCPY set end = 9000000000000000000"
    )
    text = " ".join(q.message for q in c.quality)
    assert "1 without start or end and 1 that end before they start" in text and "1 with times beyond any clock" in text
    assert len(c.table) == 4 and c.timeline is not None
    line = c.table.line(list(map(str, c.table.names)).index(ADD))
    assert c.table.files[0].records([line])[line][0] == str(int(c.table.raw["start"].values[1]))


@pytest.mark.slow
@pytest.mark.parametrize("left", ["nothing", "calls"])
def test_no_gpu_work_is_said_in_one_line(left: str, tmp_path: Path) -> None:
    nsys.capture(tmp_path / "a.sqlite", some)
    connection = sqlite3.connect(tmp_path / "a.sqlite")
    for table in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE", *(["RUNTIME"] if left == "nothing" else [])):
        connection.execute(f"drop table CUPTI_ACTIVITY_KIND_{table}")
    connection.commit()
    connection.close()
    with pytest.raises(NotTriageable, match="without GPU work"):
        reader.read(str(tmp_path / "a.sqlite"))
    done = run("diagnose", str(tmp_path / "a.sqlite"))
    assert done.returncode == 2 and "Traceback" not in done.stderr and len(done.stderr.strip().splitlines()) <= 3


@pytest.mark.parametrize("keep", [100, 3_000, 40_000, 90_000])
def test_a_cut_file_is_refused_in_one_line(keep: int, tmp_path: Path) -> None:
    path = tmp_path / "cut.sqlite"
    path.write_bytes(SAMPLE.read_bytes()[:keep])
    with pytest.raises(CaptureError) as e:
        reader.read(str(path))
    assert "\n" not in str(e.value)


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.binary(min_size=1, max_size=40)), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_hostile_bytes_are_read_or_refused(pieces: list[tuple[int, bytes]], random: Any) -> None:
    data = bytearray(SAMPLE.read_bytes())
    for early, piece in pieces:
        at = random.randrange(100, 6_000 if early else len(data))
        data[at : at + len(piece)] = piece
    source = Source("x.sqlite", bytes(data))
    try:
        if nsys_sqlite.recognise(source):
            nsys_sqlite.read(source, Options())
    except TriageError as e:
        assert "\n" not in str(e)


def test_other_databases_are_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("create table notes (text)")
    connection.commit()
    connection.close()
    assert nsys_sqlite.recognise(Source(str(path))) is None
    with pytest.raises(BadCapture, match="SQLite"):
        reader.read(str(path))


def test_the_sample_is_what_its_script_writes(tmp_path: Path) -> None:
    nsys.script.job().write(tmp_path / "again.sqlite")
    shutil.copy(SAMPLE, tmp_path / "sample.sqlite")

    def dump(name: str) -> list[str]:
        connection = sqlite3.connect(tmp_path / name)
        try:
            return list(connection.iterdump())
        finally:
            connection.close()

    assert dump("again.sqlite") == dump("sample.sqlite")


@pytest.mark.parametrize(
    ("mark", "framework", "batches"),
    [
        ("execute_context_2(32)_generation_0(0)", "vllm", ["prefill"] * 4),
        ("execute_context_0(0)_generation_8(8)", "vllm", ["decode"] * 4),
        ("step[DECODE bs=8]", "sglang", ["decode"] * 4),
        ("gpu_model_runner: forward", "vllm", [""] * 4),
        ("layer#3", None, []),
    ],
)
def test_steps_of_a_server_are_those_of_its_ranges(
    mark: str, framework: str | None, batches: list[str], tmp_path: Path
) -> None:
    def job(t: Any) -> None:
        for _ in range(4):
            begun = t.now
            for _ in range(5):
                t.kernel(nsys.script.ADD, 20 * US)
            t.range(mark, begun)
            t.sync()

    c = nsys.capture(tmp_path / "t.sqlite", job)
    assert c.table.trace is not None
    assert [s.batch for s in c.table.trace.steps] == batches
    assert c.input.tells.get("framework") == framework
