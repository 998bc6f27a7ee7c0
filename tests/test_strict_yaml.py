"""Text that would overflow a parser's stack is an error with a line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT
from triage.files import strict_yaml

READ = """
import sys
from triage.files import strict_yaml
from triage.ground.errors import RuleError
head, unit, count = sys.argv[1:]
try:
    strict_yaml.loads(head + unit * int(count), "deep.yaml")
except RuleError as e:
    print(e)
"""


@pytest.mark.parametrize(("head", "unit", "count"), [("x: ", "[", 30_000), ("x:\n", "- ", 30_000), ("", "{a: ", 12_000), ("", "? ", 30_000)])  # fmt: skip
def test_deep_nesting_is_an_error(head: str, unit: str, count: int) -> None:
    """In a process of its own, which an overflow would kill."""
    args = [sys.executable, "-c", READ, head, unit, str(count)]
    done = subprocess.run(args, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout) == (0, "deep.yaml:1: nested too deeply or too large\n")


def test_many_brackets_are_no_depth() -> None:
    found = strict_yaml.loads("x: [" + "[a], " * 1_500 + "[b]]\ny: '" + "[" * 2_000 + "'", "wide.yaml")
    assert len(found["x"]) == 1_501
    assert found["y"] == "[" * 2_000
