"""Passes that were merged or split are one piece of work, and what noise hides is told as such."""

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import diagnosis
from triage.products.compare import compare_report
from triage.products.compare.compare_result import Comparison
from triage.products.compare.comparing import compare
from triage.products.noise import remarks


def frame(path: Path, **passes: float) -> Path:
    """A frame of passes; times in ms."""
    rows = [f"Frame,{name.replace('_', ' ')},{ms},50" for name, ms in passes.items()]
    path.write_text("\n".join(["path,name,gpu.time [ms],sm.throughput [%]", *rows]) + "\n")
    return path


def compared(folder: Path, before: dict[str, float], after: dict[str, float], threshold: float = 0.05) -> Comparison:
    rest = {"Shadows": 2.4013, "Lighting": 2.9017, "Post": 1.1019}
    sides = frame(folder / "b.csv", **rest, **before), frame(folder / "a.csv", **rest, **after)
    return compare(*map(diagnosis, sides), threshold=threshold)


PARTS = {"Bloom_down": 0.5003, "Bloom_up": 0.6007}


@pytest.mark.parametrize(("whole", "failed"), [(0.9001, []), (1.5001, ["Bloom"])])
def test_a_merged_pass_is_held_against_the_sum_of_its_parts(tmp_path: Path, whole: float, failed: list[str]) -> None:
    doc = compared(tmp_path, PARTS, {"Bloom": whole})
    (bloom,) = (p for p in doc["pairs"] if p["name"] == "Bloom")
    assert bloom["was"] == {"name": "Bloom down + Bloom up", "path": ["Frame"]}
    assert bloom["before_ns"] == pytest.approx(1.101e6) and not doc["unmatched"]
    assert doc["regressions"] == failed
    assert not bloom["fixed"] and not bloom["new"] and len(bloom["changes"]) == 0
    assert "(merged: same parent and kind, times added up)" in compare_report.render(doc, "terminal")


def test_a_split_pass_is_held_against_the_sum_too(tmp_path: Path) -> None:
    doc = compared(tmp_path, {"Bloom": 1.1001}, PARTS)
    (bloom,) = (p for p in doc["pairs"] if p["was"])
    assert bloom["name"] == "Bloom down + Bloom up" and bloom["verdict"] == "same" and not doc["regressions"]


@pytest.mark.parametrize("after", [{"Bloom_wide": 0.9001}, {"Fog": 0.9001}])
def test_names_that_say_nothing_merge_nothing_and_fail_nothing(tmp_path: Path, after: dict[str, float]) -> None:
    doc = compared(tmp_path, PARTS, after)
    assert len(doc["pairs"]) == 3 and len(doc["unmatched"]) == 3 and not doc["regressions"]


def test_a_whole_that_is_unchanged_names_what_moved_both_ways(tmp_path: Path) -> None:
    doc = compared(tmp_path, {"SSAO": 1.7001, "Fog": 1.2003}, {"SSAO": 1.4001, "Fog": 1.5003})
    text = " ".join(compare_report.render(doc, "terminal").split())
    assert text.startswith("Net unchanged: ")
    assert "1 faster (SSAO \u2212300 \u00b5s), 1 slower (Fog +300 \u00b5s)" in text


def test_a_threshold_below_the_noise_is_told(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).normal(1, 0.03, (4, 2))
    runs = [frame(tmp_path / f"{i}.csv", A=2 * x, B=3 * y) for i, (x, y) in enumerate(noise.tolist())]
    doc = compare(diagnosis(*runs[:2]), diagnosis(*runs[2:]), threshold=0.05)
    text = " ".join(compare_report.render(doc, "terminal").split())
    assert "0 regressions above 5.0 % 5.0 % cannot be decided in 2 of 2 markers: noise or the digits" in text
    assert "From before to after" not in text  # a waterfall of noise


def test_two_modes_of_few_runs_lie_further_apart_than_single_runs_may() -> None:
    assert remarks([13.923, 13.933, 14.145, 14.159]) == ([], [])
    assert len(remarks([13.923, 13.933, 15.145, 15.159])[1]) == 2
    assert len(remarks([13.923, 13.933, 13.928, 13.93, 14.145, 14.159, 14.15, 14.149])[1]) == 2
