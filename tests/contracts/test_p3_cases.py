"""The article's own workloads give its own conclusions, in the API, the command line and both engines."""

import json

import pytest

from tests.conftest import run
from triage.files.bundled import share
from triage.products.rule_checks import published
from triage.rulebook import packs

CASES = published.cases()


def test_the_cases_cover_both_revisions_and_every_conclusion() -> None:
    assert {c.method for c in CASES} == {"v1", "v2"}
    assert len(CASES) == 21
    assert all(c.want["primary"] and c.want["why"] for c in CASES)
    assert {c.want["band"] for c in CASES} == {"high", "gray", "low"}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["durable", "clips"])
def test_every_case_holds(engine: str) -> None:
    wrong = {f"{c.method} {c.label}": d for c, d in published.run(packs.load(), engine) if d}
    assert wrong == {}


def test_the_bundled_rules_hold_every_rule_the_cases_speak_of() -> None:
    assert published.applicable(packs.load())


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted({(c.file, c.method, c.device) for c in CASES}), ids=lambda f: f[0])
def test_the_command_line_says_the_same(file: tuple[str, str, str]) -> None:
    name, method, device = file
    args = ["diagnose", str(share("sample_captures") / name), "-f", "json", "--method", method]
    args += ["--device", device] if device else []
    done = run(*args)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    for case in (c for c in CASES if (c.file, c.method) == (name, method)):
        assert published.differences(case.want, result, case.workload) == []


def test_a_difference_is_named() -> None:
    case = next(c for c in CASES if c.workload == "SSR")
    empty = {"id": "w1", "name": "SSR", "primary": ["TEX"], "secondary": [], "band": "high"}
    empty |= {"bound_speedup": None, "hit_grades": {}}
    fired = [{"name": "busy-top-unit", "workload": "w1"}]
    found = published.differences(case.want, {"workloads": [empty], "findings": fired}, "SSR")
    assert any(f.startswith("primary is ['TEX']") for f in found)
    assert "busy-top-unit fires" in found and "poor-tex-hit-rate does not fire" in found
    nothing = {"workloads": [], "findings": []}
    assert published.differences(case.want, nothing, "SSR") == ["the workload is missing"]
