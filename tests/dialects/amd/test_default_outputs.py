"""What AMD's tools write by default or wrote before: JSON, databases, names without quotes, work of the runtime."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tests.helpers.dialects import check_provenance, read
from triage.ground.errors import BadCapture, NotTriageable
from triage.reading import reader

JSON = SAMPLES / "rocprofv3-json" / "4711_results.json"


def test_json_of_rocprofv3_holds_dispatches_counters_and_sizes() -> None:
    t = read(JSON)
    row = list(t.names).index("saxpy(float*, float const*, float, int)")
    assert t.columns["gpu.time"].values[row] == 400_000
    assert t.columns["launch.grid_size"].values[row] == (1 << 26) / 256
    assert t.columns["waves.launched"].values[row] == 8 << 17  # eight dies
    assert t.columns["vram.bytes_read"].values[row] == pytest.approx(524288 * 1.01 * 1024)
    assert t.columns["device.sm_count"].values[row] == 304 and t.arch == "gfx942" and t.trace is not None
    check_provenance(t)


@pytest.mark.parametrize("damage", ["buffer_records", "kernel_symbols"])
def test_damaged_json_is_one_line(damage: str, tmp_path: Path) -> None:
    document = json.loads(JSON.read_text())
    document["rocprofiler-sdk-tool"][0].pop(damage)
    (tmp_path / "r.json").write_text(json.dumps(document))
    with pytest.raises(BadCapture, match="damaged or cut"):
        read(tmp_path / "r.json")
    (tmp_path / "r.json").write_text(JSON.read_text()[:-100])
    with pytest.raises(BadCapture, match="damaged or cut"):
        read(tmp_path / "r.json")


def test_results_of_rocprof_that_are_not_read_name_the_table_beside_them(tmp_path: Path) -> None:
    c = sqlite3.connect(tmp_path / "results.db")
    c.execute("create table A (KernelName text)")
    c.execute("create table OPS (BeginNs integer)")
    c.commit()
    c.close()
    (tmp_path / "results.json").write_text('{ "traceEvents":[{"args":{"name":"CPU HIP API"},"ph":"M","pid":2}]}')
    for name in ("results.db", "results.json"):
        with pytest.raises(NotTriageable) as e:
            reader.read(str(tmp_path / name))
        assert "rocprofv3" in str(e.value)
    (tmp_path / "results.csv").write_text("")
    for name in ("results.db", "results.json"):
        with pytest.raises(NotTriageable) as e:
            reader.read(str(tmp_path / name))
        assert str(tmp_path / "results.csv") in str(e.value)


def test_names_without_quotes_are_whole() -> None:
    kokkos = "Kokkos::Impl::ParallelFor<Foo<double, 3>, Kokkos::RangePolicy<int>, Kokkos::HIP>"
    t = read(f"Name,Calls,TotalDurationNs,AverageNs,Percentage\n{kokkos},10,1000,100,50.0\nplain,5,1000,200,50.0\n")
    assert list(t.names) == [kokkos, "plain"] and list(t.columns["gpu.time"].values) == [1000, 1000]
    check_provenance(t)
    head = "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,wave_size,sig,obj,BeginNs,EndNs"
    t = read(f"{head}\n0,{kokkos} [clone .kd],4,0,0,2,2,65536,256,0,0,8,0,16,64,0x0,0x7f,2000,9000\n")
    assert list(t.names) == [kokkos] and t.columns["gpu.time"].values[0] == 7000


def test_what_the_runtime_does_is_no_kernel_of_the_program() -> None:
    t = read(
        'Name,Calls,TotalDurationNs,AverageNs,Percentage\n"<barrier packet>",3,90,30,9\n__amd_rocclr_copyBuffer.kd,1,10,10,1\nk,1,900,900,90\n'
    )
    assert t.kinds is not None and list(t.kinds) == ["copy", "copy", "compute"]


def test_an_impossible_size_of_the_device_is_noted(tmp_path: Path) -> None:
    for path in (SAMPLES / "rocprofv3-counters").glob("*.csv"):
        (tmp_path / path.name).write_text(path.read_text().replace(",8,64,64,", ",8,64,-641,"))
    found = [q.message for q in reader.read(str(tmp_path)).quality if q.check == "impossible-value"]
    assert found == ["Wave_Front_Size is -641 in 4711_agent_info.csv, line 3; treated as missing"]
