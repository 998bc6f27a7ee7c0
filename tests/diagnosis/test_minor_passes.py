"""Passes that together take next to nothing of a frame have no findings; the same work in a long pass has."""

from pathlib import Path

import pytest

from triage import api

HEAD = "path,name,kind,gpu.time [ms],vram.throughput [%],sm.throughput [%],l2.throughput [%],l1tex.throughput [%]\n"


@pytest.mark.parametrize(("grade", "blamed"), [(0.1, False), (3.0, True)])
def test_findings_of_the_shortest_passes(tmp_path: Path, grade: float, blamed: bool) -> None:
    file = tmp_path / "frame.csv"
    rows = f"Frame,Lighting,compute,9,20,95,30,40\nFrame,Grade,fullscreen,{grade},95,10,40,20\n"
    file.write_text(HEAD + rows)
    found = api.diagnose(file).to_dict()
    names = {w["id"]: w["name"] for w in found["workloads"]}
    assert ("Grade" in {names[f["workload"]] for f in found["findings"] if f["workload"] in names}) is blamed


def test_many_short_passes_are_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "frame.csv"
    file.write_text(HEAD + "".join(f"Frame,Blur {i},fullscreen,0.1,95,10,40,20\n" for i in range(80)))
    assert len(api.diagnose(file).to_dict()["findings"]) > 70
