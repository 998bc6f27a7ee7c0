"""Why a kernel's time changed: the ratio of two times as a product of four ratios, and what makes launches hard to compare."""

from pathlib import Path

import pytest

import triage
from tests.cases.guide_kernels import Patient, patient, write
from tests.conftest import SAMPLES
from triage.diagnosis.diagnosing import Diagnoser
from triage.products.compare.comparing import compare
from triage.products.compare.explanations import Move, reading
from triage.products.noise import SAME
from triage.products.settings import Settings

BASE = {
    "time": 200_000,
    "executed": 6e7,
    "issue": 40,
    "sm_cycles": 396_000,
    "cycles": 400_000,
    "grid": 20_000,
    "read": 6e7,
    "written": 3e7,
}


@pytest.fixture(scope="module")
def doctor() -> Diagnoser:
    return Settings().diagnoser()


def remarks(doctor: Diagnoser, folder: Path, *sides: Patient) -> tuple[list[str], list[str]]:
    """(remarks of the pair, warnings about the whole)."""
    settings = Settings()
    read = [settings.read(str(write(folder / f"{i}.csv", p))) for i, p in enumerate(sides)]
    doc = compare(*(doctor.diagnose([c]) for c in read))
    return [r for p in doc["pairs"] for r in p["remarks"]], doc["warnings"]


def a(chip: str = "A100", stalls: dict[str, float] | None = None, **counters: float) -> Patient:
    return patient(chip, "", BASE | counters, stalls or {})


def test_fewer_instructions(doctor: Diagnoser, tmp_path: Path) -> None:
    sides = a(), a(time=100_000, executed=3e7, cycles=200_000, sm_cycles=198_000)
    (why, text, *rest), _ = remarks(doctor, tmp_path, *sides)
    assert text.startswith("time 0.50x = instructions 0.50x · time per issued instruction 1.00x")
    assert why == "mostly fewer instructions (0.50x): instructions executed 60,000,000 -> 30,000,000"
    assert rest == []


def test_a_better_issue_rate_names_the_wait_that_went(doctor: Diagnoser, tmp_path: Path) -> None:
    (why, text), _ = remarks(
        doctor,
        tmp_path,
        a(stalls={"long_scoreboard": 60.0}),
        a(stalls={"long_scoreboard": 20.0}, time=100_000, issue=80, cycles=200_000, sm_cycles=198_000),
    )
    assert "instructions 1.00x · time per issued instruction 0.50x" in text
    assert why.startswith("mostly a higher issue rate (2.00x): ")
    assert "long scoreboard 60.0 % -> 20.0 %" in why


def test_bytes_that_fell_with_the_time_explain_a_better_issue_rate(doctor: Diagnoser, tmp_path: Path) -> None:
    after = a(read=2e7, written=1e7, time=100_000, issue=80, cycles=200_000, sm_cycles=198_000)
    (why, _), _ = remarks(doctor, tmp_path, a(), after)
    assert why == "mostly fewer DRAM bytes (0.33x): 90 MB -> 30 MB; the issue rate is 2.00x"


def test_instructions_that_were_not_counted_follow_from_the_other_factors() -> None:
    published = SAMPLES / "compare"
    pair = triage.compare(published / "table1_before.csv", published / "table1_after.csv")
    why, text = pair.pairs[0]["remarks"]
    assert why == "mostly more instructions (8.56x)"
    assert "instructions 8.56x (not counted: time x issue rate x SM active, at equal clocks)" in text
    assert "mostly more instructions (8.56x)" in pair.headline


def test_what_the_factors_leave_is_said(doctor: Diagnoser, tmp_path: Path) -> None:
    (text,), _ = remarks(doctor, tmp_path, a(), a(time=100_000))
    assert text.startswith("time 0.50x, by the counters 1.00x = instructions 1.00x")


def test_another_shape_and_another_gpu_are_said(doctor: Diagnoser, tmp_path: Path) -> None:
    pair, whole = remarks(doctor, tmp_path, a(), a("H100", grid=10_000, time=150_000))
    assert any(r.startswith("launch shape (groups, threads):") for r in pair)
    assert whole == ["different GPUs (A100 SXM4 80GB before, H100 SXM5 80GB after): the change includes the hardware"]
    assert remarks(doctor, tmp_path, a(), a())[1] == []


def test_a_change_that_the_clock_hides_is_said_in_cycles(doctor: Diagnoser, tmp_path: Path) -> None:
    settings = Settings()
    sides = a(clock=2e9), a(cycles=360_000, sm_cycles=356_000, clock=1.8e9)
    read = [settings.read(str(write(tmp_path / f"{i}.csv", p))) for i, p in enumerate(sides)]
    doc = compare(*(doctor.diagnose([c]) for c in read))
    (said,) = (e for k in doc["kinds"] for e in k["evidence"] if e.startswith("SM clock"))
    assert said.endswith("in cycles \u221210.0 %, beyond noise: the clock hides a change")


def test_a_higher_issue_rate_is_no_count_of_instructions() -> None:
    for after in (6e7, 9e7):
        move = Move("sm.issue_per_active", 0.19, 0.21, SAME, {"inst.executed": 6e7}, {"inst.executed": after})
        assert reading(move)[0] == "higher"
