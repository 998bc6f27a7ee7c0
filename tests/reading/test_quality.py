"""Remarks on what the figures themselves say of the way they were taken."""

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tests.helpers import nsys
from triage import api
from triage.capture.capture import Column, Table
from triage.dialects import Options
from triage.reading import quality, reader

KERNEL = {
    "gpu.time": 1e6,
    "sm.frequency": 1.5e9,
    "device.max_clock": 2.6e6,
    "sm.throughput": 0.80,
    "vram.throughput": 0.53,
}


def remarks(**changed: float) -> list[str]:
    """Remarks on the clock of one launch. changed: metrics by name, dots as underscores."""
    facts = KERNEL | {name.replace("__", "."): value for name, value in changed.items()}
    columns = {m: Column(np.array([v]), m) for m, v in facts.items() if v == v}
    table = Table("test", [], np.array(["gemm"], dtype=object), columns)
    return [q.message for q in quality.check(table) if q.check == "locked-clock"]


def test_a_locked_clock_is_told_where_another_unit_leads_without_it() -> None:
    (text,) = remarks()
    assert "profiled at 1.5 GHz, 58 % of the device's 2.6 GHz" in text
    assert "DRAM (53 % busy here) passes the SM (80 %)" in text


@pytest.mark.parametrize(
    "changed",
    [
        {"vram__throughput": 0.40},  # 69 % at full clock
        {"sm__frequency": 2.5e9},
        {"sm__throughput": 0.45},
        {"vram__throughput": 0.90},  # DRAM limits at both
        {"device__max_clock": float("nan")},
    ],
)
def test_and_nowhere_else(changed: dict[str, float]) -> None:
    assert remarks(**changed) == []


def test_an_event_list_that_nothing_reads_is_named(tmp_path: Path) -> None:
    path, events = tmp_path / "t.csv", tmp_path / "events.txt"
    path.write_text("name,gpu.time [ms]\nShadow,1\n")
    events.write_text("EID | Event\n")
    capture = reader.read(str(path), options=Options(events=str(events)))
    assert [q.message for q in capture.quality if q.check == "events"] == [
        f"--events {events} was not read: exports of this kind (generic) have no event list of their own"
    ]


def test_one_share_in_all_launches_of_many_kernels_is_no_measurement() -> None:
    names = np.array([f"kernel {i % 6}" for i in range(60)], dtype=object)
    same, varied = np.full(60, 0.12), np.linspace(0.1, 0.2, 60)
    grids = np.arange(60.0) % 6
    figures = {"l2.hit_rate": same, "l1tex.hit_rate": varied, "occupancy.theoretical": same, "launch.grid_size": grids}
    columns = {m: Column(v.copy(), m) for m, v in figures.items()}
    table = Table("test", [], names, columns)
    (text,) = [q.message for q in quality.check(table) if q.check == "constant"]
    assert "L2 hit rate (12 %); treated as missing" in text
    assert np.isnan(table.columns["l2.hit_rate"].values).all()
    assert np.isfinite(table.columns["l1tex.hit_rate"].values).all()
    assert np.isfinite(table.columns["occupancy.theoretical"].values).all()


@pytest.mark.parametrize(("registers", "held"), [(3.0, 1.0), (0.0, float("nan"))])
def test_the_resource_without_room_holds_the_one_group_that_ran(registers: float, held: float) -> None:
    figures = {"occupancy.limit_shared": 0.0, "occupancy.limit_registers": registers, "occupancy.theoretical": 0.0}
    table = Table(
        "test", [], np.array(["gemm"], dtype=object), {m: Column(np.array([v]), m) for m, v in figures.items()}
    )
    quality.check(table)
    np.testing.assert_equal(table.columns["occupancy.limit_shared"].values, [held])
    assert np.isnan(table.columns["occupancy.theoretical"].values).all()


@pytest.mark.parametrize(("clocks", "said"), [((6.72e9, 7.72e9), True), ((7.5e9, 7.72e9), False)])
def test_launches_at_two_memory_clocks_are_told(clocks: tuple[float, float], said: bool) -> None:
    columns = {
        "gpu.time": Column(np.array([2e5, 2e5, 3e3]), "time"),
        # the last launch is too short to time its clock
        "vram.frequency": Column(np.array([*clocks, 1e9]), "clock"),
    }
    table = Table("test", [], np.array(["a", "a", "b"], dtype=object), columns)
    found = [q.message for q in quality.check(table) if q.check == "memory-clocks"]
    assert [("6.72 GHz" in m and "15 %" in m) for m in found] == [True] * said


def test_a_device_that_mostly_has_no_work_is_named_with_the_reason() -> None:
    trace = api.read(str(nsys.SAMPLE)).timeline
    assert trace is not None
    (note,) = (q for q in quality.timeline(trace) if q.check == "device-unused")
    assert note.message.startswith("device 1 works in 25.4 ms of 220 ms only: time before its first work")
    first, second = trace.devices
    whole = trace.end - trace.start
    for part, noted in ((0.899, True), (0.901, False)):
        busier = replace(trace, devices=[first, replace(second, span_ns=int(part * whole))])
        assert any(q.check == "device-unused" for q in quality.timeline(busier)) is noted
    alone = replace(trace, devices=[first])
    assert not any(q.check == "device-unused" for q in quality.timeline(alone))
