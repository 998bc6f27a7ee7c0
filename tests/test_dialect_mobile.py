from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import SAMPLES
from tests.helpers.dialects import check_provenance, read
from triage.capture.capture import SEP
from triage.ground.errors import BadCapture, NotTriageable

XCODE = SAMPLES / "xcode-counters" / "frame Counters.csv"


def test_encoders_with_doubled_and_nameless_columns() -> None:
    t = read(XCODE, "xcode-counters")
    assert list(t.names) == ["Shadow Encoder", "GBuffer Encoder", "Blit Encoder"]
    assert list(t.paths) == [f"Frame 12{SEP}Shadows{SEP}Cascade 0", f"Frame 12{SEP}Main", "Frame 12"]
    assert t.columns["alu.utilization"].values[1] == pytest.approx(0.6175)
    assert np.isnan(t.columns["alu.utilization"].values[2])
    assert t.columns["l1tex.hit_rate"].values[0] == pytest.approx(1 - 0.042)
    assert "GPU Time" in t.unmapped  # printed without a unit
    assert "gpu.time" not in t.columns
    check_provenance(t)


def test_doubled_columns_that_disagree_are_not_used() -> None:
    t = read("CommandBuffer Label,Encoder Label,ALU Limiter,ALU Limiter,MMU Limiter\na,b,5,6,7\n")
    assert "alu.limiter" not in t.columns
    assert t.quality[0].check == "ambiguous-counter"
    with pytest.raises(BadCapture, match="no counter"):
        read("CommandBuffer Label,Encoder Label,What,Why\na,b,5,6\n")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "Process,Category,Metric,Timestamp,TimestampRaw,Value\napp,GPU,% Shaders Busy,1,2,3\n",
            "Snapdragon Profiler series",
        ),
        (
            "CaptureID,DrawID,SubmitCount,ReplayHandleID,MetricID,MetricName,Value\n2,9,1,1,1,Clocks,5\n",
            "per-draw",
        ),
        ("starting log, ok\nelapsed_s,SP_BUSY_CYCLES,SP_ALU_WORKING\n0.1,5,6\n", "KGSL"),
    ],
)
def test_series_are_refused_by_name(text: str, what: str) -> None:
    with pytest.raises(NotTriageable, match=what):
        read(text)
