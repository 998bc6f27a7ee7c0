"""Frames of AMD and Intel GPUs whose illness is known: each vendor's graphics counters reach the causes of graphics work."""

from pathlib import Path

import pytest

from tests.conftest import generic
from triage import api

pytestmark = pytest.mark.slow

LITTLE = 0.05  # of the time of an event: what is not looked at

# columns as the plug-ins print them; event -> (call, cause that leads, counters). Synthetic.
AMD = {
    11: ("DrawIndexed(90000)", "zrop-bound", {"DepthStencilTestBusy": 92, "VALUBusy": 11, "PSExportStalls": 4}),
    12: ("DrawIndexed(1200)", "crop-bound", {"PSExportStalls": 48, "VALUBusy": 24, "DepthStencilTestBusy": 21}),
    13: ("DrawIndexed(9000000)", "small-triangles",
         {"PrimitivesIn": 3e6, "CulledPrims": 1.2e6, "PS Invocations": 2.5e6, "VALUBusy": 40}),
    14: ("DrawIndexed(12000000)", "culled-primitives",
         {"PrimitivesIn": 4e6, "CulledPrims": 3.6e6, "PS Invocations": 6e6, "VALUBusy": 30}),
    15: ("Dispatch(240, 135, 1)", "fp32-bound", {"VALUBusy": 93, "MemUnitBusy": 30}),
    16: ("Draw(3)", "texture-queue", {"TexUnitBusy": 94, "VALUBusy": 31}),
}  # fmt: skip
INTEL = {
    3: ("DrawIndexedInstanced", "vertex-fetch", {"VfBottleneck": 55, "EuActive": 20, "EuStall": 20}),
    4: ("DrawIndexedInstanced", "zrop-bound", {"HiDepthBottleneck": 60, "EuActive": 12, "EuStall": 10}),
    5: ("DrawIndexedInstanced", "raster-bound", {"SfBottleneck": 45, "EuActive": 30, "EuStall": 20}),
    6: ("DrawInstanced", "texture-format", {"SamplerBottleneck": 62, "EuActive": 35, "EuStall": 55}),
    7: ("Dispatch", "fp32-bound", {"EuActive": 97, "EuStall": 2, "EuThreadOccupancy": 90}),
    8: ("DrawInstanced", "memory-latency", {"EuActive": 14, "EuStall": 82, "EuThreadOccupancy": 90}),
}  # fmt: skip


def _first(path: Path) -> dict[float, str]:
    """Cause that leads, else the first that is seen, by the time of the event, which tells events of one call apart."""
    found = api.diagnose(path).to_dict()
    first: dict[str, str] = {}
    for f in found["findings"]:
        if f["gain"] and f["gain"]["fraction"] > LITTLE:
            first.setdefault(f["workload"], f["cause"])
    return {
        round(w["duration_ns"] / 1e6, 1): (w["chain"] or [first.get(w["id"], "")])[0]
        for w in found["workloads"]
        if w["chain"] or w["id"] in first
    }


def _counters(events: dict[int, tuple[str, str, dict[str, float]]]) -> list[str]:
    return list(dict.fromkeys(c for _, _, counters in events.values() for c in counters))


@pytest.mark.parametrize("event", AMD)
def test_counters_of_amds_plug_in(event: int, tmp_path: Path) -> None:
    columns = _counters(AMD)
    lines = [",".join(["EID", "GPU Duration (ms)", "GPUTime", *columns])]
    for eid, (_, _, facts) in AMD.items():
        lines.append(
            ",".join([str(eid), f"{eid / 10:.1f}", str(eid * 100_000), *(f"{facts.get(c, 0):g}" for c in columns)])
        )
    file = tmp_path / "frame-counters.csv"
    file.write_text("\n".join(lines) + "\n")
    tree = "\n".join(f"{eid}    | {'- ' + call} | {eid - 10}" for eid, (call, _, _) in AMD.items())
    (tmp_path / "frame-events.txt").write_text(f"frame.rdc - Frame #1\n\n EID  | Event | Action #\n-----\n{tree}\n")
    assert _first(file).get(event / 10, "") == AMD[event][1]


@pytest.mark.parametrize("event", INTEL)
def test_counters_of_intels_plug_in(event: int, tmp_path: Path) -> None:
    columns = _counters(INTEL)
    lines = [", ".join(["Queue ID", "Parent", "Name", "Global ID", "EOP to EOP Duration (ns)", *columns])]
    for row, (gid, (call, _, facts)) in enumerate(INTEL.items()):
        cells = [
            str(row),
            "-1",
            f"{call}({gid})",
            str(gid),
            str(gid * 100_000),
            *(f"{facts.get(c, 0):g}" for c in columns),
        ]
        lines.append(", ".join(cells))
    file = tmp_path / "events.csv"
    file.write_text("\n".join(lines) + "\n")
    assert _first(file).get(event / 10, "") == INTEL[event][1]


@pytest.mark.parametrize("name, kind, said", [("RayMarch", "fullscreen", False), ("sgemm_nn", "compute", True), ("nbody", "compute", False)])  # fmt: skip
def test_matrix_engines_are_advice_for_matrix_products_only(name: str, kind: str, said: bool, tmp_path: Path) -> None:
    head = "name,kind,gpu.time [ms],eu.active [%],eu.stall [%],eu.pipe0 [%]"
    file = tmp_path / "intel.csv"
    file.write_text(f"{head}\n{name},{kind},5,96,3,90\n")
    found = [f for f in api.diagnose(file, device="Arc A770").findings if f.rule.name == "vector-engines-limit"]  # fmt: skip
    assert found and any("XMX" in a for a in found[0].advice) == said


@pytest.mark.parametrize("unit, rate", [("l2.throughput", "l2.hit_rate"), ("l1tex.throughput", "l1tex.hit_rate")])
@pytest.mark.parametrize("busy, blamed", [(0.4, False), (30.0, True)])
def test_misses_of_a_unit_that_does_nothing_are_no_cause(unit: str, rate: str, busy: float, blamed: bool, tmp_path: Path) -> None:  # fmt: skip
    units = dict.fromkeys(("sm.throughput", "l1tex.throughput", "l2.throughput", "vram.throughput"), busy / 4) | {unit: busy, rate: 1.0}  # fmt: skip
    units["vram.throughput"] = busy  # where misses of L2 go
    file = generic(tmp_path / "t.csv", [{"name": "barrier", "gpu.time": 0.4, **units}])
    misses = {"l2-locality", "l1-locality"} & {f.rule.cause for f in api.diagnose(file).findings}
    assert bool(misses) == blamed
