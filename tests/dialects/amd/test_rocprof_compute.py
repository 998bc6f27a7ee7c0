import csv
import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import SAMPLES, diagnosis
from tests.helpers.dialects import check_provenance, read
from triage.capture.source import Source
from triage.dialects import Options
from triage.dialects.amd.rocprof_compute import pmc_perf, rocprof_compute_panel
from triage.ground.errors import BadCapture, NotTriageable
from triage.products.batch import find
from triage.reading import quality

FOLDER = SAMPLES / "rocprof-compute" / "four_kernels_mi210"
PANEL = SAMPLES / "rocprof-compute-panel" / "201.csv"


def test_a_folder_gives_percent_of_peak_with_formula_and_inputs() -> None:
    t = read(FOLDER, "rocprof-compute")
    assert len(t) == 5
    assert (t.arch, t.device) == ("gfx90a", "MI210")
    c = t.columns
    assert c["sm.throughput"].values[1] == pytest.approx(0.86, abs=1e-3)
    assert c["sm.throughput"].formula.startswith("max(valu.busy, mfma.busy")
    # 64 bytes per request, all reads and writes of full size, 1638.4 GB/s
    assert c["vram.throughput"].values[0] == pytest.approx(64 * 6.9e6 / 1638.4e9 / 320e-6)
    assert c["l1tex.throughput"].values[0] == pytest.approx(0.30, abs=1e-3)
    assert c["l2.throughput"].inputs == ("TCC_REQ_sum", "total_l2_chan", "max_sclk", "gpu.time")
    assert c["l2.hit_rate"].values[1] == pytest.approx(0.97, abs=1e-3)  # summed from channels in any order
    assert t.raw["TCC_HIT_sum"].inputs == tuple(f"TCC_HIT[{i}]" for i in range(4))
    assert c["sched.insufficient_vgprs"].values[3] == pytest.approx(0.58, abs=1e-3)
    assert c["lds.bank_conflict_rate"].values[2] == pytest.approx(0.78, abs=1e-3)
    assert np.isnan(c["lds.bank_conflict_rate"].values[0])  # no LDS work: no rate, not 0
    assert c["valu.utilization"].values[3] == pytest.approx(41 / 64, abs=1e-3)
    assert c["sm.occupancy"].values[0] == pytest.approx(26 / 32, abs=1e-3)
    assert c["sm.occupancy_elapsed"].inputs[0] == "SQ_LEVEL_WAVES.SQ_ACCUM_PREV_HIRES"  # from its own pass file
    assert not quality.check(t) or all(q.check != "above-100-percent" for q in quality.check(t))
    check_provenance(t)


def test_the_lone_table_with_sysinfo_beside_it_is_the_same() -> None:
    folder, lone = read(FOLDER), read(FOLDER / "pmc_perf.csv", "rocprof-compute")
    assert list(folder.columns) == list(lone.columns)
    for metric, column in folder.columns.items():
        assert np.array_equal(column.values, lone.columns[metric].values, equal_nan=True)
    check_provenance(lone)


def test_without_sysinfo_percent_of_peak_is_blind_not_guessed(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "pmc_perf.csv", tmp_path)
    t = read(tmp_path)
    for metric in (
        "sm.throughput",
        "vram.throughput",
        "l2.throughput",
        "valu.busy",
        "sm.occupancy",
        "sched.insufficient_vgprs",
    ):
        assert metric not in t.columns
    assert "l2.hit_rate" in t.columns
    assert any("sysinfo" in n for n in t.notes)
    check_provenance(t)


@pytest.mark.parametrize(
    ("change", "gone", "kept"),
    [
        (("1700,1600,1700", "0,1600,1700"), "l2.throughput", "valu.busy"),  # a clock of 0 is an unknown clock
        ((",104,", ",,"), "valu.busy", "l2.throughput"),
        (("gfx90a", "gfx942"), "", "vram.throughput"),
    ],
)
def test_what_sysinfo_does_not_state_stays_blind(tmp_path: Path, change: tuple[str, str], gone: str, kept: str) -> None:
    shutil.copytree(FOLDER, tmp_path / "w")
    info = tmp_path / "w" / "sysinfo.csv"
    info.write_text(unnamed(info.read_text().replace(*change)))
    t = read(tmp_path / "w")
    assert gone not in t.columns
    assert kept in t.columns
    check_provenance(t)


def unnamed(text: str) -> str:
    """A sysinfo.csv of a GPU that no table knows, so that what it does not state stays unknown."""
    return text.replace("MI210", "MI999")


def test_the_device_table_states_what_sysinfo_does_not(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "w")
    info = tmp_path / "w" / "sysinfo.csv"
    info.write_text(info.read_text().replace(",104,", ",,"))
    whole, t = read(FOLDER), read(tmp_path / "w")
    assert np.allclose(t.columns["valu.busy"].values, whole.columns["valu.busy"].values)
    assert "device table" in t.columns["device.sm_count"].header
    info.unlink()  # and with no sysinfo at all the user names the device
    source = Source(str(tmp_path / "w"))
    assert "valu.busy" not in pmc_perf.read(source, Options()).columns
    named = pmc_perf.read(source, Options(device="MI210"))
    assert np.allclose(named.columns["valu.busy"].values, whole.columns["valu.busy"].values)
    check_provenance(named)


def test_a_measured_peak_is_the_better_one(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "w")
    (tmp_path / "w" / "roofline.csv").write_text("device,HBMBw,L2Bw\n0,1310.72,5000\n")
    whole, t = read(FOLDER), read(tmp_path / "w")
    assert np.allclose(t.columns["vram.throughput"].values, whole.columns["vram.throughput"].values / 0.8)
    assert any("measured on this GPU" in q.message for q in t.quality)
    (tmp_path / "w" / "roofline.csv").write_text("device,HBMBw\n0,\n")  # a run that failed
    assert np.allclose(read(tmp_path / "w").columns["vram.throughput"].values, whole.columns["vram.throughput"].values)


def test_dies_share_the_cycle_counters(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "w")
    info = tmp_path / "w" / "sysinfo.csv"
    head, row = unnamed(info.read_text()).splitlines()
    info.write_text(head + "\n" + row.removesuffix(",1,32") + ",8,32\n")
    assert read(tmp_path / "w").columns["valu.busy"].values[0] == pytest.approx(8 * 0.11, abs=1e-2)
    info.write_text(
        head.replace(",num_xcd", "") + "\n" + row.removesuffix(",1,32").replace("gfx90a", "gfx942") + ",32\n"
    )
    # several dies, but nobody says how many: then the clocks of the kernel's time stand for its cycles
    assert "max_sclk" in read(tmp_path / "w").columns["valu.busy"].formula


def test_first_generation_names(tmp_path: Path) -> None:
    text = (FOLDER / "pmc_perf.csv").read_text().splitlines()
    for new, old in (("Grid_Size", "grd"), ("Workgroup_Size", "wgr"), ("LDS_Per_Workgroup", "lds"), ("Scratch_Per_Workitem", "scr"),
                     ("Arch_VGPR", "arch_vgpr"), ("Accum_VGPR", "accum_vgpr"), ("Kernel_Name", "KernelName"), ("Start_Timestamp", "BeginNs"),
                     ("End_Timestamp", "EndNs"), ("Dispatch_ID", "Index")):  # fmt: skip
        text[0] = text[0].replace(new, old)
    (tmp_path / "pmc_perf.csv").write_text("\r\n".join(text) + "\r\n")
    (tmp_path / "sysinfo.csv").write_text(
        "workload_name,command,host_name,gpu_soc,numSE,numCU,numSIMD,waveSize,maxWavesPerCU,L1,L2,sclk,mclk,L2Banks,LDSBanks,name,hbmBW\n"
        "w,./w,h,gfx90a,8,104,4,64,32,16,8192,1700,1600,32,32,mi200,1638.4\n"
    )
    t, new_style = read(tmp_path), read(FOLDER)
    for metric in (
        "gpu.time",
        "sm.throughput",
        "vram.throughput",
        "l2.throughput",
        "launch.grid_size",
        "launch.registers",
    ):
        assert np.allclose(t.columns[metric].values, new_style.columns[metric].values), metric
    check_provenance(t)


def test_durations_come_from_the_timing_run_when_the_table_has_none(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "w")
    main = tmp_path / "w" / "pmc_perf.csv"
    lines = main.read_text().splitlines()
    main.write_text(
        "\n".join(",".join(line.split(",")[:-2]) if i == 0 else line.rsplit(",", 2)[0] for i, line in enumerate(lines))
    )
    t = read(tmp_path / "w")
    assert np.array_equal(t.columns["gpu.time"].values, read(FOLDER).columns["gpu.time"].values)
    check_provenance(t)


def long_layout(folder: Path) -> Path:
    """The sample in the layout of the rocpd backend: one row per dispatch and counter, two passes with their own times."""
    with (FOLDER / "pmc_perf.csv").open(newline="") as f:
        rows = list(csv.DictReader(f))
    fixed = [
        "GPU_ID",
        "Dispatch_ID",
        "Grid_Size",
        "Workgroup_Size",
        "LDS_Per_Workgroup",
        "Scratch_Per_Workitem",
        "Arch_VGPR",
        "Accum_VGPR",
        "SGPR",
        "Kernel_Name",
    ]
    skip = {*fixed, "wave_size", "wave_size_1", "obj", "obj_1", "Start_Timestamp", "End_Timestamp"}
    with (folder / "pmc_perf.csv").open("w", newline="") as f:
        w = csv.writer(f)
        w.writerow([*fixed, "Start_Timestamp", "End_Timestamp", "Kernel_ID", "Counter_Name", "Counter_Value"])
        for k, (name, _) in enumerate((n, 0) for n in rows[0] if n not in skip):
            for r in rows:
                late = k % 2
                w.writerow(
                    [
                        *(r[x] for x in fixed),
                        int(r["Start_Timestamp"]) + late,
                        int(r["End_Timestamp"]) + 3 * late,
                        1,
                        name,
                        r[name],
                    ]
                )
    shutil.copy(FOLDER / "sysinfo.csv", folder)
    return folder


def test_the_long_layout_under_the_same_file_name(tmp_path: Path) -> None:
    t, wide = read(long_layout(tmp_path), "rocprof-compute"), read(FOLDER)
    assert len(t) == len(wide)
    for metric in (
        "gpu.time",
        "sm.throughput",
        "vram.throughput",
        "l2.hit_rate",
        "sched.insufficient_vgprs",
        "launch.wave_size",
    ):
        assert np.allclose(t.columns[metric].values, wide.columns[metric].values), metric
    assert any("passes" in n for n in t.notes)
    check_provenance(t)


def test_stubs_sysinfo_and_folders_of_folders_are_refused_plainly(tmp_path: Path) -> None:
    with pytest.raises(BadCapture, match="header without counters"):
        read("Dispatch_ID,Kernel_Name\n")
    with pytest.raises(NotTriageable, match=r"sysinfo\.csv"):
        read(FOLDER / "sysinfo.csv")
    for name in ("a", "b"):
        shutil.copytree(FOLDER, tmp_path / name)
    with pytest.raises(BadCapture, match="2 captures"):
        read(tmp_path)
    assert len(read(tmp_path / "a")) == 5


def test_the_speed_of_light_panel_is_one_workload() -> None:
    t = read(PANEL, "rocprof-compute-panel")
    assert len(t) == 1
    assert t.columns["sm.throughput"].values[0] == pytest.approx(0.3784)
    assert t.columns["vram.throughput"].values[0] == pytest.approx(0.62, abs=1e-4)  # reads and writes share the bus
    assert t.columns["valu.utilization"].values[0] == pytest.approx(0.80)
    assert "lds.conflicts_per_access" not in t.columns  # an empty cell was not measured
    assert "gpu.time" not in t.columns
    check_provenance(t)


def test_other_panels_are_refused_by_their_first_row() -> None:
    with pytest.raises(NotTriageable, match="panel of Grid Size"):
        read("Metric,Avg,Min,Max,Unit\nGrid Size,10,1,20,Work items\nVGPRs,8,8,8,Registers\n")
    with pytest.raises(NotTriageable, match="panel"):
        read("Metric,Avg,Min,Max,Unit\nSomething,10,1,20,Bananas\n")
    with pytest.raises(BadCapture, match="not a number"):
        read("Metric,Value,Unit,Peak,PoP\nVALU Util,many,Pct,100,5\n")


def test_the_missing_blocks_are_named_in_the_command() -> None:
    assert (
        pmc_perf.collect(["sched.insufficient_vgprs", "l2.hit_rate"])
        == "rocprof-compute profile -n myapp -b 6 17 -- ./app"
    )
    assert pmc_perf.names()["vram.throughput"]
    assert rocprof_compute_panel.names()["vram.throughput"]


def test_kernel_summary_with_any_time_unit() -> None:
    t = read(SAMPLES / "rocprof-compute-top" / "pmc_kernel_top.csv", "rocprof-compute-top")
    assert len(t) == 3
    assert t.columns["gpu.time"].values[0] == 2400211
    assert t.columns["frame.calls"].values[2] == 2
    check_provenance(t)
    t = read("Kernel_Name,Count,Sum(us),Mean(us),Pct\nk,2,3.5,1.75,100\n")
    assert t.columns["gpu.time"].values[0] == 3500


def test_a_list_of_dispatches_is_no_profile() -> None:
    with pytest.raises(NotTriageable, match="1 dispatch without times"):
        read("Dispatch_ID,Kernel_Name,GPU_ID\n0,k,2\n")


def test_a_folder_whose_passes_are_not_joined(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "sysinfo.csv", tmp_path)
    with pytest.raises(BadCapture, match=r"results_\*"):
        read(tmp_path)


def test_packed_tables_and_packed_passes_are_the_same_workload(tmp_path: Path) -> None:
    long_layout(tmp_path)
    lines = (tmp_path / "pmc_perf.csv").read_text().splitlines(keepends=True)
    plain = read(tmp_path)
    (tmp_path / "pmc_perf.csv.gz").write_bytes(gzip.compress((tmp_path / "pmc_perf.csv").read_bytes()))
    (tmp_path / "pmc_perf.csv").unlink()
    packed = read(tmp_path)
    (tmp_path / "pmc_perf.csv.gz").unlink()
    shutil.copy(FOLDER / "sysinfo.csv", tmp_path)
    counters = list(dict.fromkeys(row[-2] for row in csv.reader(lines[1:])))
    for number in range(2):
        mine = [line for line in lines[1:] if counters.index(next(csv.reader([line]))[-2]) % 2 == number]
        (tmp_path / f"results_pmc_perf_{number}.csv.gz").write_bytes(gzip.compress("".join([lines[0], *mine]).encode()))
    passes = read(tmp_path)
    for metric, column in plain.columns.items():
        assert packed.columns[metric].values == pytest.approx(column.values, nan_ok=True)
        if metric != "gpu.time":  # of the first pass
            assert passes.columns[metric].values == pytest.approx(column.values, nan_ok=True)
    check_provenance(passes)
    assert len(find.gather([str(tmp_path)]).captures) == 1


def test_a_panel_with_decimal_commas() -> None:
    t = read("Metric;Avg;Unit;Peak;Pct of Peak\nVALU Utilization;37,84;pct;100;37,84\n", "rocprof-compute-panel")
    assert t.columns["valu.busy"].values[0] == pytest.approx(0.3784)


def test_a_gpu_that_only_a_name_tells_is_said_first(tmp_path: Path) -> None:
    (tmp_path / "vcopy_MI300X").mkdir()
    (tmp_path / "vcopy_MI300X" / "pmc_perf.csv").write_text(
        "Dispatch_ID,Kernel_Name,Start_Timestamp,End_Timestamp,SQ_WAVES,SQ_BUSY_CYCLES\n0,vecCopy,1000,21000,4096,20000\n"
    )
    doc = diagnosis(tmp_path / "vcopy_MI300X").to_dict()
    assert doc["captures"][0]["device"] == "MI300X"
    assert "GPU by the name vcopy_MI300X alone: MI300X; --device overrules" in doc["frame"]["notes"]
