from pathlib import Path

import numpy as np
import pytest

import triage
from tests.conftest import SAMPLES, diagnose
from tests.helpers.dialects import check_provenance, read
from triage import schema
from triage.capture.capture import SEP
from triage.derive import View
from triage.ground.errors import BadCapture, NotTriageable
from triage.schema.derived import TILER_UNITS

XCODE = SAMPLES / "xcode-counters" / "frame Counters.csv"


def test_encoders_with_doubled_and_nameless_columns() -> None:
    t = read(XCODE, "xcode-counters")
    assert list(t.names) == ["Shadow Encoder", "GBuffer Encoder", "Blit Encoder"]
    assert list(t.paths) == [f"Frame 12{SEP}Shadows{SEP}Cascade 0", f"Frame 12{SEP}Main", "Frame 12"]
    assert t.columns["alu.utilization"].values[1] == pytest.approx(0.6175)
    assert np.isnan(t.columns["alu.utilization"].values[2])
    assert t.columns["l1tex.hit_rate"].values[0] == pytest.approx(1 - 0.042)
    assert t.columns["gpu.time"].values[1] == 2210417  # printed without a unit: by its size in ns
    check_provenance(t)


def test_every_limiter_is_a_unit_and_no_unit_stands_twice(tmp_path: Path) -> None:
    assert [m for m in schema.all_metrics() if m.endswith(".limiter") and m not in TILER_UNITS] == []
    file = tmp_path / "Counters.csv"
    head = "CommandBuffer Label,Encoder Label,F32 Limiter,F32 Utilization,ALU Utilization,L1 Cache Limiter,Instruction Throughput Limiter"
    file.write_text(f"{head}\na,b,1.8,1.6,1.6,22.6,12.8\n")
    (encoder,) = diagnose(file)["workloads"]
    assert [(u["unit"], u["pct"]) for u in encoder["sol"]] == [("L1", 22.6), ("INSTRUCTION", 12.8), ("ALU", 1.8)]


def test_doubled_columns_that_disagree_are_not_used() -> None:
    t = read("CommandBuffer Label,Encoder Label,ALU Limiter,ALU Limiter,MMU Limiter\na,b,5,6,7\n")
    assert "alu.limiter" not in t.columns
    assert t.quality[0].check == "ambiguous-counter"
    with pytest.raises(BadCapture, match="no known counter"):
        read("CommandBuffer Label,Encoder Label,What,Why\na,b,5,6\n")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("CaptureID,DrawID,SubmitCount,ReplayHandleID,MetricID,MetricName,Value\n2,9,1,1,1,Clocks,5\n", "per-draw"),
        ("starting log, ok\nelapsed_s,SP_BUSY_CYCLES,SP_ALU_WORKING\n0.1,5,6\n", "KGSL"),
    ],
)
def test_series_are_refused_by_name(text: str, what: str) -> None:
    with pytest.raises(NotTriageable, match=what):
        read(text)


@pytest.mark.parametrize(
    "header, cells, first, remark",
    [
        ("GPU Time", ["412833", "2210417"], 412833.0, "was read as ns, which makes the frame 2.62 ms"),
        ("GPU Time", ["0.41", "2.2104"], 410000.0, "were read as ms"),
        ("GPU Time (us)", ["412.8", "2210.4"], 412800.0, ""),
        ("GPU Time", ["41", "221"], None, "the times are left out"),
        ("GPU Time", ["", ""], None, "holds nothing that could be read"),
        ("Anything", ["1", "2"], None, "no column is called GPU Time"),
    ],
)
def test_times_of_xcode_are_read_by_their_unit_or_their_size(header: str, cells: list[str], first: float | None, remark: str) -> None:  # fmt: skip
    head = f"Index,Encoder FunctionIndex,CommandBuffer Label,Encoder Label,ALU Limiter,{header}\n"
    rows = "".join(f"{i},{i},Frame,Encoder {i},40,{cell}\n" for i, cell in enumerate(cells))
    table = read((head + rows).encode(), "xcode-counters")
    column = table.columns.get("gpu.time")
    assert (None if column is None else column.values[0]) == (first if first is None else pytest.approx(first))
    assert not remark or any(remark in q.message for q in table.quality)
    assert (column is None) == ("no-times" in [q.check for q in table.quality])


def test_a_phones_units_stand_beside_those_with_a_share_of_peak(tmp_path: Path) -> None:
    path = tmp_path / "frame.csv"
    path.write_text(
        "Pass,GPU time (ms),FMA pipe utilization (%),Texture unit utilization (%),External bandwidth utilization (%)\n"
        "Clouds,2.1,21,97,24\nBlur,1.4,17,26,96\n"
    )
    clouds, blur = diagnose(path)["workloads"]
    assert [(u["unit"], u["pct"]) for u in clouds["sol"]] == [("TEXTURE", 97.0), ("VRAM", 24.0), ("FMA", 21.0)]
    assert not clouds["primary"]  # no share of peak: in no cluster
    assert blur["sol"][0] == {"unit": "VRAM", "pct": 96.0} and blur["primary"] == ["VRAM"]


def test_newer_counters_of_xcode_stand_for_older_ones() -> None:
    head = "CommandBuffer Label,Encoder Label,F32 Limiter,F16 Limiter,F32 Utilization,Texture Read Limiter,Texture Filtering Limiter,L1 Cache Limiter"
    more = "Primitives Culled (Back-Face),Primitives Culled (Off-Screen),Average Pixel Overdraw,Buffer L1 Miss Rate,GPU Time"
    t = read(f"{head},{more}\na,b,91,20,70,15,35,12,100,50,2.5,20,2210417\n")
    at = {m: c.values[0] for m, c in t.columns.items()}
    assert at["alu.limiter"] == pytest.approx(0.91) and at["texture_sample.limiter"] == pytest.approx(0.35)
    assert (
        at["prims.thrown_away"] == 150
        and at["pixels.overdraw"] == 2.5
        and at["l1.buffer_hit_rate"] == pytest.approx(0.8)
    )
    # older counters that this export cannot hold are not asked for
    assert t.collect is not None and "ALU Limiter" not in t.collect(["alu.limiter", "buffer_read.limiter"])
    assert t.collectable is not None and "buffer_read.limiter" not in t.collectable
    check_provenance(t)


def test_late_tests_and_late_kills_of_mali_are_two_metrics() -> None:
    t = read(
        "name,gpu.time [ms],Late ZS tested quads percentage [%],Late ZS killed quads percentage [%],Partial coverage percentage [%]\nMain,4,8,2,84\n"
    )
    at = {m: c.values[0] for m, c in t.columns.items()}
    assert at["postz.quads"] == pytest.approx(0.08) and at["postz.quads_killed"] == pytest.approx(0.02)
    assert at["pixels.partial_coverage"] == pytest.approx(0.84) and "pixels.late_z" not in at


def test_arm_counters_by_render_pass() -> None:
    """Counts of quads become shares, the target's size comes from its sides."""
    table = read(SAMPLES / "arm-layer" / "passes.csv")
    foliage = table.names.tolist().index("Foliage")
    assert table.dialect == "arm-layer" and table.columns["target.pixels"].values[foliage] == 1280 * 720
    capture = triage.read(SAMPLES / "arm-layer" / "passes.csv")
    assert View(capture)["postz.quads_killed"][foliage] == pytest.approx(430 / 900)
    assert table.columns["texture_pipe.busy"].values[foliage] == pytest.approx(0.6)
    assert table.columns["gpu.time"].values[foliage] == pytest.approx(1.5e6)
