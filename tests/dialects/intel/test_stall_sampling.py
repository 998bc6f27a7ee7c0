"""unitrace --stall-sampling: samples by instruction become reasons per kernel. All figures made up."""

from pathlib import Path

import pytest

from tests.helpers.dialects import read, refusal
from triage import api

HEAD = "Kernel,IP[Address],Active[Events],PSDepStall[Events],ControlStall[Events],PipeStall[Events],SendStall[Events],DistStall[Events],SbidStall[Events],SyncStall[Events],InstrFetchStall[Events],OtherStall[Events],"
# kernel -> samples of (active, control, pipe, send, dist, sbid, sync, fetch, other) at two instructions, cause
KERNELS = {
    "gather": ((40, 5, 5, 10, 20, 700, 5, 5, 10), "memory-latency"),
    "reduce": ((60, 5, 5, 10, 20, 60, 800, 5, 10), "barrier-waits"),
    "scan": ((60, 700, 5, 10, 20, 60, 20, 5, 10), "branch-waits"),
    "unrolled": ((60, 5, 5, 10, 20, 60, 20, 700, 10), "instruction-fetch"),
}


def samples(folder: Path, times: bool) -> Path:
    lines = ["hello from the application", "=== Device #0 Metrics ===", "", HEAD]
    for name, (counts, _) in KERNELS.items():
        for part, ip in ((0.8, "000001a0"), (0.2, "00000210")):
            active, *rest = (int(c * part) for c in counts)
            lines.append(f'"{name}",{ip},{active},0,{",".join(map(str, rest))},')
    (at := folder / "out.metrics.4711.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if times:
        rows = [f'"{n}", 10, {i}000000, {i}0.0, {i}00000, {i}00000, {i}00000' for i, n in enumerate(KERNELS, 1)]
        text = "=== Device Timing Summary ===\n\nKernel, Calls, Time (ns), Time (%), Average (ns), Min (ns), Max (ns)\n"
        (folder / "out.4711.csv").write_text(text + "\n".join(rows) + "\n", encoding="utf-8")
    return at


def test_reasons_are_shares_of_all_samples(tmp_path: Path) -> None:
    t = read(samples(tmp_path, times=True), "intel-stalls")
    at = list(t.names).index("gather")
    assert t.columns["eu.stall_sbid"].values[at] == pytest.approx(0.875)
    assert t.columns["gpu.time"].values[at] == 1_000_000
    assert t.columns["frame.calls"].values[at] == 10
    assert any("reduce: 80 % of stalls at instruction 000001a0" in n for n in t.notes)


@pytest.mark.parametrize("times", [True, False])
def test_each_reason_is_its_cause(times: bool, tmp_path: Path) -> None:
    result = api.diagnose(samples(tmp_path, times), device="Arc B580").to_dict()
    ids = {w["id"]: w["name"] for w in result["workloads"]}
    first: dict[str, str] = {}
    for f in result["findings"]:
        first.setdefault(ids[f["workload"]], f["cause"])
    assert first == {n: cause for n, (_, cause) in KERNELS.items()}


def test_without_samples(tmp_path: Path) -> None:
    (path := tmp_path / "out.metrics.1.csv").write_text(f"=== Device #0 Metrics ===\n\n{HEAD}\n", encoding="utf-8")
    assert "without samples" in refusal(path)
