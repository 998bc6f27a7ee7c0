"""VTune's hotspots report by computing task: spellings, delimiters, rows that are no kernels. All figures made up."""

from pathlib import Path

import pytest

from tests.conftest import run
from tests.helpers.dialects import check_provenance, read, refusal
from triage import api

HEAD = [
    "Computing Task", "Work Size:Global", "Work Size:Local", "Computing Task:Total Time", "Computing Task:Instance Count", "Computing Task:SIMD Width",
    "XVE Array:Active(%)", "XVE Array:Stalled(%)", "XVE Array:Idle(%)", "XVE Threads Occupancy(%)", "GPU Memory Bandwidth, GB/sec:Read",
    "GPU Memory Bandwidth, GB/sec:Write", "GPU L3:Stalled(%)", "GPU L3:Miss Ratio(%)", "TLB Misses",
]  # fmt: skip
ROWS = [
    ["triad", "67108864", "256", "0.412", "100", "32", "9.1", "88.2", "2.7", "91", "270", "130", "22", "96", "120"],
    ["gemm", "4096 x 4096", "16 x 16", "0.21", "100", "32", "92", "6", "2", "95", "20", "5", "2", "12", "10"],
    ["four_groups", "1024", "256", "0.3", "100", "32", "1", "3", "96", "2", "1", "0.5", "0", "12", "1"],
    ["zeCommandListAppendMemoryCopy", "", "", "0.1", "10", "", "0", "0", "100", "0", "5", "5", "0", "50", "1"],
    ["[Outside any task]", "", "", "0", "0", "", "0.2", "0.1", "99.7", "0.1", "1", "0.5", "0", "12", "1"],
]


def report(path: Path, delimiter: str, head: list[str] = HEAD, rows: list[list[str]] = ROWS) -> Path:
    lines = ["vtune: Executing actions 75 % Generating a report", *(delimiter.join(r) for r in (head, *rows))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
@pytest.mark.parametrize("engine", ["XVE", "EU"])
def test_every_spelling_is_the_same_table(delimiter: str, engine: str, tmp_path: Path) -> None:
    """Unquoted names with commas, engines of both generations, and lines above the header."""
    path = report(tmp_path / "kernels.csv", delimiter, [h.replace("XVE", engine) for h in HEAD])
    t = read(path, "vtune")
    c = t.columns
    assert list(t.names) == ["triad", "gemm", "four_groups", "zeCommandListAppendMemoryCopy"]
    assert c["gpu.time"].values.tolist() == pytest.approx([412e6, 210e6, 300e6, 100e6])
    assert c["launch.grid_size"].values[:2].tolist() == [262144, 65536]
    assert c["vram.bandwidth"].values[0] == 400e9
    assert c["l3.hit_rate"].values[0] == pytest.approx(0.04)
    assert list(t.kinds) == ["compute"] * 3 + ["copy"]
    check_provenance(t)


def test_the_first_causes(tmp_path: Path) -> None:
    result = api.diagnose(report(tmp_path / "kernels.csv", "\t"), device="Arc B580").to_dict()
    first = {}
    for f in result["findings"]:
        first.setdefault(f["workload"], f["cause"])
    by_name = {w["name"]: first.get(w["id"]) for w in result["workloads"]}
    assert by_name["triad"] in ("near-limit", "vram-bandwidth")  # at the roof: no saving, either may come first
    assert by_name["gemm"] == "fp32-bound"
    assert by_name["four_groups"] == "small-grid"


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    untimed = [h for h in HEAD if "Time" not in h]
    at = HEAD.index("Computing Task:Total Time")
    path = report(tmp_path / "a.csv", "\t", untimed, [[c for i, c in enumerate(r) if i != at] for r in ROWS])
    assert "computing tasks without times" in refusal(path)
    p = run("diagnose", report(tmp_path / "b.csv", "\t", rows=ROWS[-1:]))
    assert p.returncode == 2 and "no computing task" in p.stderr


def test_the_summary_that_vtune_prints_is_read_by_its_table_of_tasks() -> None:
    text = """\
Hottest Host Tasks
Host Task                      Task Time  % of Elapsed Time(%)  Task Count
-----------------------------  ---------  --------------------  ----------
zeCommandListAppendMemoryCopy       0.5s                   10%          12

Hottest GPU Computing Tasks
Computing Task                 Total Time  Execution Time  % of Total Time(%)  XVE Threads Occupancy(%)
-----------------------------  ----------  --------------  ------------------  ------------------------
typeinfo name for main::gemm       1.500s          1.400s               93.3%                     70.2%
copy                               0.500s          0.400s               80.0%                     50.2%

Collection and Platform Info
    GPU
        Name: Intel(R) Arc(TM) B580 Graphics
"""
    t = read(text)
    assert list(t.names) == ["main::gemm", "copy"] and t.device == "Arc B580"
    assert list(t.columns["gpu.time"].values) == [1.5e9, 0.5e9]
    assert t.columns["eu.occupancy"].values[0] == pytest.approx(0.702)
    check_provenance(t)


def test_the_first_table_with_tasks_is_taken() -> None:
    text = """\
    GPU L3 Bandwidth Bound: 0.8% of peak value

        Hottest GPU Computing Tasks Bound by GPU L3 Bandwidth
        Computing Task  Total Time
        --------------  ----------
    Occupancy: 49.7% of peak value

        Hottest GPU Computing Tasks with Low Occupancy
        Computing Task  Total Time  SIMD Width  Occupancy(%)
        --------------  ----------  ----------  ------------
        gemm                0.627s          16         49.7%
Collection and Platform Info
"""
    t = read(text)
    assert list(t.names) == ["gemm"] and list(t.columns["gpu.time"].values) == [6.27e8]
    assert list(t.columns["launch.wave_size"].values) == [16]


@pytest.mark.parametrize("mark", ["\t", ","])
def test_a_summary_exported_as_csv(mark: str) -> None:
    rows = [
        ["Hierarchy Level", "Metric Name", "Metric Value"],
        ["0", "Elapsed Time", "2.5"],
        ["1", "Hottest Host Tasks", ""],
        ["1", "Host Task", "Task Time", "Task Count"],
        ["1", "zeModuleCreate", "0.1", "2"],
        ["1", "Hottest GPU Computing Tasks", ""],
        ["1", "Computing Task", "Total Time", "SIMD Width", "XVE Threads Occupancy(%)"],
        ["1", "typeinfo name for main::gemm", "1.5", "32", "70.2"],
        ["1", "copy<int>", "0.5", "16", "50.2"],
        ["0", "Collection and Platform Info", ""],
        ["1", "User Name", "x"],
    ]
    t = read("\n".join(mark.join(r) for r in rows) + "\n")
    assert list(t.names) == ["main::gemm", "copy<int>"] and list(t.columns["gpu.time"].values) == [1.5e9, 0.5e9]
    assert t.columns["eu.occupancy"].values[0] == pytest.approx(0.702)
    check_provenance(t)
