"""A cause with a banner is said above the list, whatever leads it."""

from pathlib import Path

import triage

HEAD = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",'
METRICS = {
    "gpu__time_duration.sum": ("us", "5100"),
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio": ("inst", "13.8"),
    "smsp__average_warp_latency_per_inst_issued.ratio": ("cycle", "33"),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": ("sector", "8862564352"),
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": ("", "276955136"),
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": ("%", "70"),
}


def kernels(tmp_path: Path, waits: str) -> Path:
    metrics = METRICS | {"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio": ("inst", waits)}
    lines = [
        HEAD + ",".join(f'"{m}"' for m in metrics),
        '"","","","","","","","","","",""' + "".join(f',"{u}"' for u, _ in metrics.values()),
    ]
    lines += [
        f'"{i}","1","app","host","{n}","1","7","(256, 1, 1)","(4096, 1, 1)","0","8.9"'
        + "".join(f',"{v}"' for _, v in metrics.values())
        for i, n in enumerate(("gemm", "sum"))
    ]
    path = tmp_path / "kernels.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_debug_build_is_said_above_the_list(tmp_path: Path) -> None:
    d = triage.diagnose(kernels(tmp_path, "13.8")).to_dict()
    assert d["frame"]["notes"][0].startswith("gemm and 1 more: looks like a debug build: rebuild")
    assert d["todo"][0]["cause"] != "debug-build"  # the mechanism stays the first item


def test_a_release_build_has_no_banner(tmp_path: Path) -> None:
    assert not any("debug" in note for note in triage.diagnose(kernels(tmp_path, "2.1")).to_dict()["frame"]["notes"])
