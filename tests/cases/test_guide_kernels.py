"""The guide's patients and others: the right cause leads, and nothing that its vetoes forbid is said beside it."""

from pathlib import Path

import pytest

from tests.cases.further_kernels import OTHERS
from tests.cases.generation_kernels import MORE
from tests.cases.guide_details_page import write_details
from tests.cases.guide_kernels import PATIENTS, Patient, write
from triage import diagnose, read

pytestmark = pytest.mark.slow

EVERY = PATIENTS | OTHERS | MORE
CASES = [(name, form) for name, patient in EVERY.items() for form in patient.forms]


def causes(path: Path, patient: Patient, form: str) -> tuple[str, set[str]]:
    """(cause that leads the to-do list, causes of every finding)."""
    on_details = form in ("details", "all")
    found = diagnose([read((write_details if on_details else write)(path / "patient.csv", patient, form))])
    todo = found.todo
    return (str(todo[0]["cause"]) if todo else ""), {f.rule.cause for f in found.findings if f.workload >= 0}


@pytest.mark.parametrize(("name", "form"), CASES)
def test_the_right_cause_leads(name: str, form: str, tmp_path: Path) -> None:
    patient = EVERY[name]
    lead, said = causes(tmp_path, patient, form)
    assert lead in patient.right or (not lead and said & patient.right), (lead, said)
    assert not said & patient.never
