"""Text that would overflow a parser's stack is an error with a line."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT
from triage.files import strict_yaml
from triage.ground.errors import RuleError

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


_DEEP = "nested too deeply or too large"


@pytest.mark.parametrize(
    ("head", "unit", "count", "said"),
    [
        ("x: ", "[", 30_000, f"1: {_DEEP}"), ("x:\n", "- ", 30_000, f"2: {_DEEP}"),
        ("", "{a: ", 12_000, f"1: {_DEEP}"), ("", "? ", 30_000, "1: keys are plain text"),
    ],
)  # fmt: skip
def test_deep_nesting_is_an_error(head: str, unit: str, count: int, said: str) -> None:
    """In a process of its own, which an overflow would kill."""
    args = [sys.executable, "-c", READ, head, unit, str(count)]
    done = subprocess.run(args, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout) == (0, f"deep.yaml:{said}\n")


@pytest.mark.parametrize("more", ["--- \nb: 2", "...\n--- [", "--- {"])
def test_one_document(more: str) -> None:
    with pytest.raises(RuleError, match=r"two\.yaml:\d: not valid YAML"):
        strict_yaml.loads(f"a: 1\n{more}", "two.yaml")


def test_many_brackets_are_no_depth() -> None:
    found = strict_yaml.loads("x: [" + "[a], " * 1_500 + "[b]]\ny: '" + "[" * 2_000 + "'", "wide.yaml")
    assert len(found["x"]) == 1_501
    assert found["y"] == "[" * 2_000
