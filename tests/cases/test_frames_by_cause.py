"""Frames with a known illness each: the right cause comes first on every marker, and nothing is said of containers."""

from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tests.helpers.frames_by_cause import FRAMES, table
from triage import api


@pytest.mark.slow
@pytest.mark.parametrize("frame", FRAMES)
def test_the_first_cause_of_every_marker_is_its_illness(frame: str, tmp_path: Path) -> None:
    file = tmp_path / "frame.csv"
    file.write_text(table(frame))
    found = api.diagnose(file)
    wrong = []
    for marker in FRAMES[frame]:
        causes = [f.rule.cause for f in found.findings if f.workload_name == marker.name and f.gain is not None]
        causes = [c for c in causes if c not in ("low-throughput", "near-limit")]
        if (causes[:1] or [""])[0] not in (marker.causes or ("",)):
            wrong.append(f"{marker.name}: {causes[:3]}, want {marker.causes or 'nothing'}")
    assert not wrong


def _names(tmp_path: Path, times: list[float]) -> list[str]:
    lines = ["name,path,kind,gpu.time [us],stall.long_scoreboard [%],sm.throughput [%]"]
    lines += [f"link {i},Bloom,compute,{t:g},60,20" for i, t in enumerate(times)]
    file = tmp_path / "chain.csv"
    file.write_text("\n".join(lines) + "\n")
    return [
        f"{f.workload_name}: {f.rule.cause}"
        for f in api.diagnose(file).findings
        if f.gain is not None and f.gain.fraction > 0
    ]


def test_a_chain_of_tiny_work_has_one_cause(tmp_path: Path) -> None:
    said = _names(tmp_path, [4, 5, 3, 4, 6])
    for link in range(5):
        assert next(s for s in said if s.startswith(f"link {link}")) == f"link {link}: launch-overhead"


def test_three_short_ranges_are_no_chain_and_a_long_one_ends_it(tmp_path: Path) -> None:
    assert not [s for s in _names(tmp_path, [4, 5, 3]) if s.endswith("launch-overhead")]
    assert not [s for s in _names(tmp_path, [4, 5, 3, 400, 4, 5, 3]) if s.endswith("launch-overhead")]


@pytest.mark.parametrize(
    ("kind", "count", "drains"), [("draw", "", False), ("geometry", "1", False), ("geometry", "40", True)]
)
def test_one_draw_cannot_drain_itself(tmp_path: Path, kind: str, count: str, drains: bool) -> None:
    file = tmp_path / "draw.csv"
    file.write_text(f"name,kind,gpu.time [ms],sm.active [%],draw.count\nA,{kind},2,60,{count}\nB,compute,2,99,\n")
    causes = [f.rule.cause for f in api.diagnose(file).findings if f.workload_name == "A"]
    assert ("pipeline-drains" in causes) == drains


@pytest.mark.parametrize(
    ("sample", "causes"),
    [
        ("mali", ["fp32-bound", "texture-queue", "vram-bandwidth", "lsu-pressure", "", ""]),
        ("adreno", ["texture-queue", "memory-latency", "vram-bandwidth", "", ""]),
    ],
)
def test_the_bundled_frames_of_phones_are_told_apart(sample: str, causes: list[str]) -> None:
    """Longest pass first; what is healthy has no cause."""
    doc = api.diagnose(SAMPLES / "mobile" / f"{sample}-frame.csv").to_dict()
    found = sorted(doc["workloads"], key=lambda w: -w["self_ns"])
    assert [next(iter(w["chain"]), "") for w in found] == causes
