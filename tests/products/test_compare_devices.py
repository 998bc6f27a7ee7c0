"""Comparisons of several devices, and of times as short as the clock's step."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import diagnosis
from triage.products.compare.compare_headline import headline
from triage.products.compare.compare_report import render
from triage.products.compare.comparing import compare
from triage.products.compare.side import _tick


def _trace(path: Path, kernels: list[tuple[int, float, float]], names: int = 5) -> Path:
    """Kernels (device, start, time) in us, each launched just before."""
    rows: list[dict[str, Any]] = []
    for n, (device, ts, dur) in enumerate(kernels, 1):
        place = {"device": device, "stream": 7, "correlation": n, "grid": [800, 1, 1], "block": [256, 1, 1]}
        call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9 + device}
        rows.append({**call, "ts": ts - 6, "dur": 5, "args": {"correlation": n}})
        name = f"kernel_{n % names}"
        rows.append(
            {"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": 7, "ts": ts, "dur": dur, "args": place}
        )
    path.write_text(json.dumps({"traceEvents": rows}), "utf-8")
    return path


def _two_devices(path: Path, gap: float, slower: float = 1.0, until: float = 1e9) -> Path:
    """Two devices with work of their own; gap: idle time of device 1 after each kernel, slower: factor of its kernels."""
    kernels = []
    for device, pause, factor in ((0, 0.0, 1.0), (1, gap, slower)):
        ts = 1_000.0
        for i in range(200):
            dur = (100 + 20 * (i % 5)) * factor
            kernels.append((device, ts, dur))
            ts += dur + 1 + pause
    return _trace(path, [k for k in kernels if k[1] < until])


@pytest.mark.parametrize(
    ("gap", "slower", "words"),
    [(60.0, 1.0, "idle time on device 1"), (0.0, 1.5, "kernels on device 1")],
)
def test_the_device_that_lost_time_is_named(gap: float, slower: float, words: str, tmp_path: Path) -> None:
    before, after = (_two_devices(tmp_path / f"{n}.json", g, s) for n, g, s in (("a", 0, 1), ("b", gap, slower)))
    doc: Any = compare(diagnosis(before), diagnosis(after))
    assert words in headline(doc)
    rows = {r["what"]: r["ratio"] for r in doc["timeline"]}
    assert rows["device 0: busy"] == rows["device 0: idle between its work"] == 1


def test_a_sum_over_devices_says_so_and_the_span_is_that_of_the_clock(tmp_path: Path) -> None:
    before, after = (_two_devices(tmp_path / f"{n}.json", 0, s) for n, s in (("a", 1), ("b", 1.5)))
    doc: Any = compare(diagnosis(before), diagnosis(after))
    rows = {r["what"]: r for r in doc["timeline"]}
    # 200 kernels of 140 us on average, and 1 us between two; both devices work at once
    assert rows["span"]["before"] == 28_199_000 and rows["busy"]["before"] == 2 * 28_000_000
    assert " over 2 devices: " in headline(doc)
    text = render(doc, "terminal")
    assert re.search(r"^Timeline over 2 devices +before", text, re.MULTILINE)
    one: Any = compare(*(diagnosis(_trace(tmp_path / f"{n}.json", [(0, 1_000.0, 90.0)])) for n in "cd"))
    assert " over " not in headline(one)


def test_sequences_are_those_of_the_device_that_changed(tmp_path: Path) -> None:
    before, after = _two_devices(tmp_path / "a.json", 0), _two_devices(tmp_path / "b.json", 60, until=25_000)
    doc: Any = compare(diagnosis(before), diagnosis(after))
    assert doc["work"]["per_iteration"]["device"] == "1"


def test_a_step_of_the_clock_is_no_change(tmp_path: Path) -> None:
    def trace(name: str, last: tuple[float, float]) -> Any:
        times = [10.0 + i for i in range(38)] + [*last]
        return diagnosis(_trace(tmp_path / name, [(0, 1_000.0 + 200 * i, t) for i, t in enumerate(times)], 40))

    doc = compare(trace("a.json", (2, 4)), trace("b.json", (3, 3)))
    assert doc["totals"]["verdicts"] == {"same": doc["totals"]["pairs"]}
    doc = compare(trace("a.json", (2, 4)), trace("b.json", (4, 4)))
    assert doc["totals"]["verdicts"]["slower"] == 1


def test_the_step_is_what_all_times_are_multiples_of() -> None:
    times = np.array([64, 96, 160, 320, 352, 416, 480, 544, np.nan, 0])
    assert _tick(times) == 32
    assert _tick(times[:7]) == 0  # of few times it may be chance
