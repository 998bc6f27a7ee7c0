"""What a reader is to look up stands in the report, and in full."""

import re

import pytest

from tests.conftest import SAMPLES, run
from tests.regolden import GOLDEN


@pytest.mark.parametrize("name", ["ncu-rep.transpose", "gpu-trace.demo_frame", "ncu-details.solver-2021"])
def test_what_to_explain_is_named_in_the_report(name: str) -> None:
    text = (GOLDEN / f"{name}.terminal").read_text("utf-8")
    asked = re.search(r"Details: triage explain '?([\w ]+?)'? --on", text)
    assert asked and asked[1] in text[: asked.start()]


@pytest.mark.parametrize("form", ["markdown", "jira"])
def test_formulas_and_columns_are_whole(form: str) -> None:
    cells = [line for line in run_form(form).splitlines() if ", from “" in line or ", column " in line]
    assert cells and not any(re.search(r"(?:column|metric) \S*…", line) for line in cells)
    assert not any("…" in line.split(", from “")[0].rpartition(": ")[2] for line in cells if ", from “" in line)


def run_form(form: str) -> str:
    return str(run("diagnose", SAMPLES / "ncu-rep" / "transpose.ncu-rep", "-f", form, "--full").stdout)
