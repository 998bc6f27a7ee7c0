"""Why a kernel's time changed: the ratio of two times as a product of four ratios, and what makes launches hard to compare."""

from pathlib import Path

import pytest

from tests.cases.guide_kernels import Patient, patient, write
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
    (text, *rest), _ = remarks(doctor, tmp_path, a(), a(time=100_000, executed=3e7, cycles=200_000, sm_cycles=198_000))
    assert text.startswith("time 0.50x = instructions 0.50x · time per issued instruction 1.00x")
    assert "mostly instructions: instructions executed 6e+07 -> 3e+07" in text
    assert rest == []


def test_a_better_issue_rate_names_the_wait_that_went(doctor: Diagnoser, tmp_path: Path) -> None:
    (text,), _ = remarks(
        doctor,
        tmp_path,
        a(stalls={"long_scoreboard": 60.0}),
        a(stalls={"long_scoreboard": 20.0}, time=100_000, issue=80, cycles=200_000, sm_cycles=198_000),
    )
    assert "instructions 1.00x · time per issued instruction 0.50x" in text
    assert "long scoreboard stalls 60.0 % -> 20.0 %" in text


def test_what_the_factors_leave_is_said(doctor: Diagnoser, tmp_path: Path) -> None:
    (text,), _ = remarks(doctor, tmp_path, a(), a(time=100_000))
    assert "unexplained 0.50x" in text


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


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (6e7, "higher issue rate in the same time, the same instructions"),
        (9e7, "higher issue rate in the same time: more instructions"),
    ],
)
def test_a_higher_issue_rate_is_no_count_of_instructions(after: float, words: str) -> None:
    first, second = {"inst.executed": 6e7}, {"inst.executed": after}
    assert reading(Move("sm.issue_per_active", 0.19, 0.21, SAME, first, second))[0] == words
    assert reading(Move("sm.issue_per_active", 0.19, 0.21, SAME, {}, {}))[0] == "higher issue rate in the same time"
