"""Savings that need each other's time, late collectives, and time that passes once per run: traces of a few kernels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from triage.api import diagnose
from triage.document.summary import summarise


def _row(cat: str, name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    place = {"pid": 0, "tid": args["stream"]} if "stream" in args else {"pid": 9, "tid": 9}
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, **place, "args": args}


def _launch(number: int, name: str, ts: float, dur: float, called: float, call: float = 5) -> list[dict[str, Any]]:
    return [
        _row("cuda_runtime", "cudaLaunchKernel", called, call, correlation=number),
        _row("kernel", name, ts, dur, device=0, stream=7, correlation=number, grid=[800, 1, 1], block=[256, 1, 1]),
    ]


def _diagnosed(rows: list[dict[str, Any]], folder: Path) -> Any:
    device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}
    (folder / "t.pt.trace.json").write_text(json.dumps({"deviceProperties": [device], "traceEvents": rows}), "utf-8")
    return diagnose(str(folder / "t.pt.trace.json"))


@pytest.mark.parametrize(
    ("lengths", "late"),
    [
        ([500.0] * 9 + [5_000.0], True),
        ([500.0] * 7 + [1_500.0] * 3, True),  # steps that take longer from some time on
        ([500.0] * 9 + [600.0], False),  # all alike
        ([500.0] * 3 + [9_000.0], False),  # too few to know a median
        ([500.0] * 6 + [9_000.0] * 3, False),  # a third: the messages differ
        ([20.0] * 30 + [9_000.0], False),  # messages of a few bytes, and one of many
    ],
)
def test_collectives_above_the_median_of_their_like_waited(lengths: list[float], late: bool, tmp_path: Path) -> None:
    rows, ts = [], 1_000.0
    for i, length in enumerate(lengths):
        rows += _launch(2 * i + 1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)", ts, length, 10 + 8 * i)
        rows += _launch(2 * i + 2, "gemm", ts + length, 300, 14 + 8 * i)
        ts += length + 300
    fired = {f["rule"] for f in _diagnosed(rows, tmp_path).bundle.document["findings"]}
    assert ("FRM093" in fired) is late


def test_what_passes_once_is_first_where_it_is_most(tmp_path: Path) -> None:
    rows, ts = [], 10.0
    for i in range(1, 40):
        call = 40_000.0 if i in (2, 3, 4) else 5.0  # code is loaded inside of the call
        rows += _launch(i, f"k{i % 4}", ts + call + 2, 30, ts, call)
        ts += call + 20
    summary = summarise(_diagnosed(rows, tmp_path).bundle)
    assert "Cold-start overhead: 120 ms, once per run" in summary["headline"]
    assert summary["first"][0]["cause"] == "cold-start" and summary["first"][0]["saved_ns"] == 0
    assert summary["first"][0]["level"] == "high"  # it passes once: none of it need be saved


@pytest.mark.parametrize(("waits", "hidden"), [(0, True), (14, True), (16, False), (30, False)])
def test_faster_kernels_pay_after_a_host_that_is_late(waits: int, hidden: bool, tmp_path: Path) -> None:
    """Thirty equal FP32 products, each launched 200 us after the last one's end; the host waits for the end of some."""
    rows = []
    for i in range(31):
        ts = 1_000.0 + 300 * i
        args = {"Input Dims": [[4096, 512], [512, 4096]], "Input type": ["float", "float"]}
        rows.append(_row("cpu_op", "aten::mm", ts - 11, 8, **args))
        rows += _launch(i + 1, "ampere_sgemm_128x64_nn", ts, 100, ts - 10)
        if i < waits:
            rows.append(_row("cuda_runtime", "cudaStreamSynchronize", ts + 10, 95, correlation=100 + i))
    todo = {i["cause"]: i for i in _diagnosed(rows, tmp_path).bundle.document["todo"]}
    assert ("Pays after “CPU-bound”" in todo["matrix-unused"]["message"]) == hidden


@pytest.mark.parametrize(("share", "named"), [(0.55, "aten::randn"), (0.45, "prepare")])
def test_operators_that_compute_on_the_host_are_named(share: float, named: str, tmp_path: Path) -> None:
    rows, ts = [], 1_000.0
    for i in range(1, 30):
        made = 1_000 * share
        rows.append(_row("user_annotation", "prepare", ts, 1_000))
        rows.append(_row("cpu_op", "aten::randn", ts + 1, made))
        rows.append(_row("cpu_op", "aten::normal_", ts + 2, made - 2))
        rows.append(_row("cpu_op", "aten::mul", ts + 1_000, 8))
        rows += _launch(i, "own_kernel", ts + 1_010, 100, ts + 1_002)
        ts += 1_110
    (item,) = (i for i in _diagnosed(rows, tmp_path).bundle.document["todo"] if i["cause"] == "cpu-bound")
    assert f"“{named}”" in item["message"]
    assert ("ahead in a worker" in str(item["advice"])) == (share > 0.5)


@pytest.mark.parametrize(("name", "cause"), [("Memcpy HtoD", "blocking-copy"), ("Memcpy DtoH", "blocking-sync")])
def test_a_wait_after_an_upload_is_for_the_copy(name: str, cause: str, tmp_path: Path) -> None:
    rows, ts = [], 1_000.0
    for i in range(1, 60, 2):
        rows.append(_row("cuda_runtime", "cudaMemcpyAsync", ts, 5, correlation=i))
        rows.append(_row("gpu_memcpy", f"{name} (Pageable -> Device)", ts + 6, 40, device=0, stream=7, correlation=i))
        rows.append(_row("cuda_runtime", "cudaStreamSynchronize", ts + 6, 50))
        rows += _launch(i + 1, "own_kernel", ts + 70, 30, ts + 62)
        ts += 100
    assert cause in {i["cause"] for i in _diagnosed(rows, tmp_path).bundle.document["todo"]}
