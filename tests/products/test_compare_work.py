"""Unequal work is said before times, times are per call then; kinds of change; iterations; what adds to the change."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import kinds_of_change as simulated
from tests.conftest import SAMPLES, diagnosis, doctor
from triage.capture.trace_nouns import KERNEL
from triage.products.compare import compare_headline
from triage.products.compare.compare_report import failed, prediction, render
from triage.products.compare.compare_result import row
from triage.products.compare.comparing import compare
from triage.products.compare.predictions import UNTRIED
from triage.products.compare.verdict import signed, spread
from triage.products.compare.waterfall import labels, steps
from triage.products.compare.work import iterations

TRACE = SAMPLES / "nsys-sqlite" / "training_two_gpus.sqlite"


def table(path: Path, rows: list[tuple[str, int, float]]) -> Path:
    """Kernels: name, launches, ms of all of them."""
    head = "name,kind,frame.calls,gpu.time [ms],sm.throughput [%],vram.throughput [%]"
    path.write_text("\n".join([head, *(f"{n},compute,{calls},{ms:.6f},40,50" for n, calls, ms in rows)]) + "\n")
    return path


def test_fewer_launches_are_less_work_and_no_speed(tmp_path: Path) -> None:
    before = table(tmp_path / "b.csv", [("gemm", 100, 10.0), ("add", 50, 2.0), ("norm", 10, 1.0)])
    after = table(tmp_path / "a.csv", [("gemm", 90, 9.0), ("add", 45, 1.8), ("norm", 9, 0.9)])
    doc = compare(diagnosis(before), diagnosis(after))
    assert doc["work"]["unequal"] and doc["work"]["ratio"] == pytest.approx(0.9)
    assert {p["verdict"] for p in doc["pairs"]} == {"same"} and all(p["per_call"] for p in doc["pairs"])
    assert compare_headline.sentences(doc)[0].startswith("Per call unchanged")
    assert compare_headline.sentences(doc)[1].startswith("10.0 % less work")
    assert [k["kind"] for k in doc["kinds"]] == ["work"]
    slower = table(tmp_path / "s.csv", [("gemm", 90, 13.5), ("add", 45, 1.8), ("norm", 9, 0.9)])
    doc = compare(diagnosis(before), diagnosis(slower), threshold=0.05)
    assert [p["verdict"] for p in doc["pairs"]] == ["slower", "same", "same"]
    assert doc["regressions"] == ["gemm"]
    assert {k["kind"] for k in doc["kinds"]} == {"work", "real"}
    assert compare_headline.verdict(doc) == "slower"


def test_twice_the_operations_are_twice_the_work(tmp_path: Path) -> None:
    head = "name,kind,gpu.time [ms],launch.grid_size,launch.block_size,sm.throughput [%],inst.ffma,inst.fadd,inst.fmul"

    def capture(name: str, grid: int, ms: float, fma: int) -> Path:
        rows = [f"k{i},compute,{ms * i},{grid * i},256,40,{fma * i},{fma},{fma}" for i in (1, 2, 3)]
        (tmp_path / name).write_text("\n".join([head, *rows]) + "\n")
        return tmp_path / name

    before = capture("b.csv", 100, 1.0, 1000)
    doc = compare(diagnosis(before), diagnosis(capture("a.csv", 200, 2.01, 2000)))
    first, second, *_ = compare_headline.sentences(doc)
    assert first.startswith("Per FLOP unchanged") and second.startswith("2x as much work (FLOPs: ")
    assert [k["kind"] for k in doc["kinds"]] == ["work"] and compare_headline.verdict(doc) == "same"
    # more threads for the same operations are no other work
    doc = compare(diagnosis(before), diagnosis(capture("c.csv", 200, 2.01, 1000)))
    assert [k["kind"] for k in doc["kinds"]] == ["real"] and compare_headline.verdict(doc) == "slower"


def test_what_a_kernel_executes_is_no_work_by_itself(tmp_path: Path) -> None:
    """A row shared by a workgroup has more threads, atomics written as additions have more FLOPs: the bytes are the same."""
    head = "name,kind,gpu.time [ms],launch.grid_size,launch.block_size,vram.bytes_read,vram.bytes_written,inst.fadd"

    def capture(name: str, ms: float, threads: int, size: float, adds: int) -> Path:
        (tmp_path / name).write_text(f"{head}\nk,compute,{ms},1024,{threads},{size:.0f},{size:.0f},{adds}\n")
        return tmp_path / name

    before = diagnosis(capture("b.csv", 2.0, 32, 4e6, 1000))
    for threads, size, adds, unequal in ((256, 4.02e6, 1000, False), (32, 4.02e6, 2000, False), (64, 8e6, 2000, True)):
        doc = compare(before, diagnosis(capture("a.csv", 1.0, threads, size, adds)))
        assert doc["work"]["unequal"] is unequal
        assert unequal or ("time −50.0" in compare_headline.sentences(doc)[0] and not doc["warnings"])


def test_equal_work_keeps_totals(tmp_path: Path) -> None:
    before = table(tmp_path / "b.csv", [("gemm", 100, 10.0), ("add", 50, 2.0)])
    doc = compare(diagnosis(before), diagnosis(table(tmp_path / "a.csv", [("gemm", 100, 12.0), ("add", 50, 2.0)])))
    assert not doc["work"]["unequal"] and not any(p["per_call"] for p in doc["pairs"])
    (named,) = (s for s in steps(doc, "outside"))
    assert (named["name"], round(named["adds_ns"])) == ("gemm", 2_000_000)


@pytest.mark.parametrize("kind", simulated.KINDS)
def test_kinds_of_change(kind: str, tmp_path: Path) -> None:
    random = np.random.default_rng(11)
    right = [
        simulated.right(kind, simulated.named(doctor(), tmp_path, simulated.series(random, kind))) for _ in range(6)
    ]
    assert sum(right) >= 5


def stream(names: list[int], length: list[int]) -> Any:
    """A capture with one stream of kernels, back to back."""
    end = np.cumsum(np.array(length, dtype=np.int64))
    flat = np.zeros(len(names), dtype=np.int64)
    ops = SimpleNamespace(
        kind=flat + KERNEL, device=flat, stream=flat, start=end - length, end=end, name=np.array(names)
    )
    return SimpleNamespace(
        frames=None, table=SimpleNamespace(trace=SimpleNamespace(operations=ops, devices=[("0", "")], steps=[]))
    )


def test_iterations_are_found_and_outliers_named() -> None:
    one, times = [0, 1, 1, 2, 1, 1, 3], [10, 5, 5, 20, 5, 5, 10]
    found = iterations(stream(one * 9, [*(times * 8), *[t * 3 for t in times]]))
    assert found and (found.unit, found.kernels, found.times[:7]) == ("sequence", 7, [60.0] * 7)
    slow = iterations(stream(one * 9, [*(times * 4), *[t * 3 for t in times], *(times * 4)]))
    assert slow and slow.outliers == [(5, 180.0)]
    assert iterations(stream([0] * 90, [5] * 90)) is None
    assert iterations(stream(np.random.default_rng(1).integers(0, 9, 200).tolist(), [5] * 200)) is None


def test_the_steps_of_a_waterfall_end_at_the_time_after(tmp_path: Path) -> None:
    doc = compare(diagnosis(TRACE), diagnosis(TRACE))
    shorter = {**doc, "frame": {**doc["frame"], "after_ns": doc["frame"]["after_ns"] * 0.9}}  # type: ignore[operator]
    found = steps(shorter, "idle")  # type: ignore[arg-type]
    assert found[-1]["name"] == "idle" and found[-1]["sum_ns"] == pytest.approx(shorter["frame"]["after_ns"])
    rows = [(f"k{i}", 1, 1.013 + i) for i in range(15)]
    b, a = table(tmp_path / "b.csv", rows), table(tmp_path / "a.csv", [(n, c, ms * 1.2) for n, c, ms in rows[:-1]])
    doc = compare(diagnosis(b), diagnosis(a))
    found = steps(doc, "outside")
    assert [s["name"] for s in found][-2:] == ["4 more", "gone: k14"]
    assert found[-1]["sum_ns"] == pytest.approx(doc["frame"]["after_ns"])
    page = render(doc, "html")
    assert "From before to after" in page and all(f"k{i}" in page for i in range(14))
    assert "From before to after" in render(doc, "markdown") and "4 more" in render(doc, "terminal")


def test_medians_of_several_runs_leave_no_time_outside(tmp_path: Path) -> None:
    runs = [
        table(tmp_path / f"{i}.csv", [("a", 1, a), ("b", 1, b), ("c", 1, c)])
        for i, (a, b, c) in enumerate([(1, 3, 10), (1.1, 3, 30), (3, 1, 30.1), (2.5, 2.5, 30.2)])
    ]
    text = render(compare(diagnosis(runs[0]), diagnosis(*runs[1:])), "terminal")
    assert "2 unchanged or inconclusive" in text and "medians do not add up" in text and "outside" not in text


def test_a_waterfall_of_a_loop_is_of_equal_work() -> None:
    doc = compare(diagnosis(TRACE), diagnosis(TRACE))
    kernels = {"what": "kernels", "unit": "count", "before": 100.0, "after": 80.0, "ratio": 0.8}
    loop = {"unit": "sequence", "kernels": 10, "device": "", "judged": doc["frame"], "outliers": []}
    work = {**doc["work"], "rows": [kernels], "what": "kernels", "ratio": 0.8, "unequal": True, "per_iteration": loop}
    less = {**doc, "work": work}
    longest = max(p["own_ns"][1] or 0.0 for p in doc["pairs"])
    found = steps(less, "idle")  # type: ignore[arg-type]
    assert found[0]["adds_ns"] == pytest.approx(longest / 0.8 - longest)
    assert found[-1]["sum_ns"] == pytest.approx((doc["frame"]["after_ns"] or 0.0) / 0.8)
    assert "From before to after, scaled to 100 kernels" in render(less, "terminal")  # type: ignore[arg-type]
    marked = {"what": "steps", "unit": "count", "before": 4.0, "after": 2.0, "ratio": 0.5}
    for count, by in ((marked, 0.5), ({**marked, "after": 4.0, "ratio": 1.0}, 1.0)):  # of marked steps, by their number
        work |= {"rows": [count, kernels], "per_iteration": {**loop, "unit": "step", "kernels": 0}}
        found = steps({**doc, "work": work}, "idle")  # type: ignore[arg-type]
        assert not found or found[-1]["sum_ns"] == pytest.approx((doc["frame"]["after_ns"] or 0.0) / by)


def test_a_step_is_compared_with_a_step_however_many_kernels_it_launches() -> None:
    pair = [SAMPLES / "ground_truth" / "traces" / f"optimizer_loop_{s}.pt.trace.json.gz" for s in ("slow", "fixed")]
    doc = compare(*map(diagnosis, pair))
    assert doc["work"]["unequal"] and doc["work"]["rows"][0] == row("steps", "count", 1, 1)
    first, kernels, *_ = compare_headline.sentences(doc)
    assert first.startswith("65.5 ms before, 39.1 ms after per step: time \u221240.3 %, idle time 93 % of the change")
    assert kernels == "Kernels: 2,308 before, 780 after." and compare_headline.verdict(doc) == "faster"
    assert "less work" not in render(doc, "terminal") and "scaled to" not in render(doc, "terminal")


def test_a_slow_down_is_neither_missed_nor_fixed_nor_better() -> None:
    pair = [SAMPLES / "compare" / f"table1_{side}.csv" for side in ("before", "after")]
    doc = compare(diagnosis(pair[0]), diagnosis(pair[1]))
    text, (slower,) = render(doc, "terminal"), doc["pairs"]
    assert "mostly more instructions" in text and "was predicted" not in text
    assert prediction(slower, doc["rules"]) == ""  # more instructions are no fix of idle SMs
    slower["chief"] = ""
    assert prediction(slower, doc["rules"]).endswith("measured +621.4 %: regression")
    assert slower["predicted"]
    slower["predicted"]["doubt"] = UNTRIED
    assert prediction(slower, doc["rules"]) == ""
    assert not re.search(r"\bfixed\b|\(better\)", text)
    assert "no longer found" in text


def test_a_finding_that_another_limit_hides_is_not_fixed() -> None:
    pair = [SAMPLES / "compare" / f"table3_v2_{side}.csv" for side in ("before", "after")]
    text = render(compare(*map(diagnosis, pair)), "terminal")
    assert re.search(r"Stall: long scoreboard +71.2 % -> 64.7 %", text)
    assert "no longer found:\n    SOL008" in text and "fixed" not in text


def test_counters_are_cut_where_their_names_differ(tmp_path: Path) -> None:
    head = "name,kind,gpu.time [ms],stall_samples.mio_throttle,stall_samples.math_pipe_throttle"
    sides = [tmp_path / "b.csv", tmp_path / "a.csv"]
    for path, values in zip(sides, ("k,compute,1,8,13", "k,compute,2,20,233"), strict=True):
        path.write_text(f"{head}\n{values}\n")
    text = render(compare(*map(diagnosis, sides)), "terminal")
    assert re.search(r"mio throttle +8 -> 20 ", text) and re.search(r"math pipe throttle +13 -> 233 ", text)


def test_no_percentage_above_999() -> None:
    assert (signed(6.214), signed(12.4), signed(2000.0)) == ("+621.4 %", "13.4x", "2,001x")
    assert (signed(-0.99995), signed(-1.0)) == ("\u221299.995 %", "\u2212100.0 %")
    assert spread(0.5, 1e9) == "+50.0 % to over 1,000x"


def test_another_gpu_gives_no_verdict_on_the_code(tmp_path: Path) -> None:
    rows = [("gemm", 100, 10.0), ("add", 50, 2.0)]
    before, after = (diagnosis(table(tmp_path / n, rows)) for n in ("b.csv", "a.csv"))
    part = after.parts[0]
    part.capture.table.device, before.parts[0].capture.table.device = "B", "A"
    part.capture.duration_ns *= 0.5
    assert [k["kind"] for k in compare(before, after)["kinds"]] == ["hardware"]


def test_versions_of_driver_and_profiler_are_evidence_where_both_sides_name_them() -> None:
    before, after = (diagnosis(SAMPLES / "ncu-rep" / "transpose.ncu-rep") for _ in range(2))
    assert before.parts[0].capture.table.versions.keys() >= {"driver", "Nsight Compute"}
    after.parts[0].capture.table.versions = {"driver": "999.1", "Nsight Compute": "2031.1"}
    kinds = {k["kind"]: k["evidence"] for k in compare(before, after)["kinds"]}
    assert any(said.startswith("driver: ") and said.endswith(" before, 999.1 after") for said in kinds["hardware"])
    assert any(said.startswith("Nsight Compute: ") for said in kinds["method"])
    after.parts[0].capture.table.versions = {}
    assert not {"hardware", "method"} & {k["kind"] for k in compare(before, after)["kinds"]}


def test_steps_of_like_names_are_told_apart(tmp_path: Path) -> None:
    rows = [
        (f'"void gemm<float, {size}>(A, {of})"', 1, ms)
        for size, of, ms in ((64, "A", 4.0), (32, "A", 3.0), (64, "B", 2.0))
    ]
    b, a = table(tmp_path / "b.csv", rows), table(tmp_path / "a.csv", [(n, c, ms * 1.3) for n, c, ms in rows])
    found = labels(steps(compare(diagnosis(b), diagnosis(a)), "outside"), 34)
    assert found == ["gemm<float, 64> (1)", "gemm<float, 32>", "gemm<float, 64> (2)"]


def test_a_marker_that_came_or_went_is_a_change_of_the_frame_and_its_cause(tmp_path: Path) -> None:
    rows = [("shadows", 1, 4.0), ("lighting", 1, 8.0)]
    less = diagnosis(table(tmp_path / "b.csv", rows))
    more = diagnosis(table(tmp_path / "a.csv", [*rows, ("flare", 1, 0.7)]))
    for sides, words in (
        ((less, more), "+5.8 %, mostly new: flare, 700 "),
        ((more, less), "5.5 %, mostly gone: flare, 700"),
    ):
        doc = compare(*sides)
        assert not doc["work"]["unequal"] and words in compare_headline.sentences(doc)[0]
    doc = compare(less, more, threshold=0.02)
    assert compare_headline.verdict(doc) == "slower" and failed(doc).endswith("mostly new: flare, 700 \u00b5s")


def test_what_another_cause_hid_is_no_new_finding() -> None:
    folder = SAMPLES / "ground_truth" / "exports"
    doc = compare(*(diagnosis(folder / f"uncoalesced_stores_{s}.raw.csv") for s in ("slow", "fixed")))
    (pair,) = doc["pairs"]
    assert set(pair["hidden"]) == {"CMP017", "CMP020"} and set(pair["hidden"]) < set(pair["new"])
    text = render(doc, "terminal")
    assert (
        "limits now, was hidden:\n    CMP017" in text
        and "within the predicted range, too wide to confirm it" in " ".join(text.split())
    )


def test_what_times_alone_tell_is_no_counter() -> None:
    pair = [SAMPLES / "compare" / f"ssr_{side}.csv" for side in ("before", "batch2")]
    doc = compare(*map(diagnosis, pair))
    assert [c["metric"] for c in doc["pairs"][0]["changes"]] == ["gpu.time"]
    assert "counter" not in render(doc, "terminal").partition("Changes are")[0]


def test_the_step_of_a_marker_around_others_is_its_self_time(tmp_path: Path) -> None:
    head = "path,name,kind,gpu.time [ms]"
    for name, whole in (("b", 5), ("a", 6)):
        (tmp_path / name).write_text(f"{head}\n,Post,marker,{whole}\nPost,Blur,fullscreen,2\nPost,Grade,fullscreen,2\n")
    found = steps(compare(diagnosis(tmp_path / "b"), diagnosis(tmp_path / "a")), "outside")
    assert [(s["name"], round(s["adds_ns"])) for s in found] == [("Post (self time)", 1_000_000)]
