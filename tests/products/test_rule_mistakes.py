"""`triage check` names each mistake in a rule or cause file with file, line, what stands there, and what was meant."""

import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.conftest import ROOT
from triage.files.bundled import share
from triage.ground.errors import TriageError
from triage.products.rule_checks import checking, published, references
from triage.rulebook import packs, rulefile

pytestmark = pytest.mark.slow

SPILLS, OCCUPANCY, THROTTLE = "memory/register-spills.yaml", "causes/low-occupancy.yaml", "causes/clock-throttle.yaml"


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the bundled rules, which stands in their place."""
    copy = Path(shutil.copytree(ROOT / "rules", tmp_path / "rules"))
    for module in (packs, references):
        monkeypatch.setattr(module, "share", lambda kind: copy if kind == "rules" else share(kind))

    def read(path: Path, *how: Any) -> Any:
        bundled = ROOT / "rules" / path.relative_to(copy) if path.is_relative_to(copy) else path
        same = bundled != path and bundled.is_file() and bundled.read_bytes() == path.read_bytes()
        return [replace(r, file=str(path)) for r in unchanged(bundled)] if same else READ(path, *how)

    monkeypatch.setattr(rulefile, "read", read)
    monkeypatch.setattr(published, "run", lambda _: [(None, [])])  # one case that holds: all of them are run below
    return copy


READ = rulefile.read


@cache
def unchanged(path: Path) -> Any:
    """The rules of a bundled file, read once for all copies."""
    return READ(path)


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert re.search(old, text, re.M), old
    path.write_text(re.sub(old, new, text, count=1, flags=re.M), "utf-8")


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "says"),
    [
        (SPILLS, "^cause: .*", "cause: regster-spills", "cause:", "unknown cause 'regster-spills' - did you mean 'register-spills'?"),
        (SPILLS, "^cause: .*", "cause: quite-another", "cause:", "unknown cause 'quite-another' - add rules/causes/quite-another.yaml"),
        (SPILLS, "^cause: .*\n", "cause: spills\n", "cause:", "unknown cause 'spills'"),
        (SPILLS, "^id: MEM0", "id: GFX9", "id:", "prefix GFX, pack 'memory' uses MEM - the next free id is MEM"),
        (SPILLS, "^id: MEM", "id: MME", "id:", "prefix MME, pack 'memory' uses MEM"),
        (OCCUPANCY, r"explains: \[memory-latency", "explains: [memory-latancy", "explains:", "explains: unknown cause 'memory-latancy' - did you mean 'memory-latency'?"),
        (OCCUPANCY, "cause: matrix-bound", "cause: matrix-bond", "  - {cause: matrix-bond", "confused_with: unknown cause 'matrix-bond' - did you mean 'matrix-bound'?"),
        (OCCUPANCY, r"^cites:\n(  .*\n)+", "", "id:", "cites a source - add `cites:`"),
        (OCCUPANCY, "^  - .*api: hip.*\n", "", "advice:", "no advice for hip - add `- {do: \"...\", api: hip}`"),
        ("causes/late-depth.yaml", "^  - .*api: vulkan.*\n", "", "advice:", "no advice for vulkan"),
        ("causes/capped-frame-rate.yaml", "^work: .*\n", "", "advice:", "no advice for cuda and hip"),
        (OCCUPANCY, "^decides: .*", "decides: []", "decides:", "no metric decides it"),
        (THROTTLE, "^reserved: .*\n", "", "id:", "no rule names the cause 'clock-throttle'"),
        (OCCUPANCY, "^decides:", "reserved: later\ndecides:", "reserved:", "names it - remove `reserved`"),
        (SPILLS, "^uses: ", "path: {hihg: notable}\nuses: ", "path:", "path: unknown step 'hihg' - did you mean 'high'?"),
        (SPILLS, "^uses: ", "path: {high: notible}\nuses: ", "path:", "path: unknown threshold 'notible' - did you mean 'notable'?"),
        (SPILLS, "^uses: ", "path: {high: notable}\nuses: ", "path:", "path: 'high' is taken by "),
        (SPILLS, "^uses: ", "overruled_by: [memory-limit]\nuses: ", "overruled_by:", "overruled_by: unknown derived fact 'memory-limit' - did you mean 'memory-limits'?"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_failure_where_it_stands(
    file: str, old: str, new: str, line: str, says: str, rules: Path
) -> None:
    path = rules / file
    edited(path, old, new)
    checked = checking.run_checks([path])
    lines = path.read_text("utf-8").splitlines()
    there = next(n for n, text in enumerate(lines, 1) if text.startswith(line))
    assert len(checked.failures) == 1, checked.failures
    # a path that is taken is reported at whichever rule comes second
    if "taken" in says:
        assert says in checked.failures[0]
    else:
        assert checked.failures[0].startswith(f"{path}:{there}: "), (there, checked.failures)
        assert says in checked.failures[0]


def test_whatever_is_asked_for_the_whole_must_hold(rules: Path) -> None:
    edited(rules / SPILLS, "^cause: .*", "cause: regster-spills")
    (failure,) = checking.run_checks([rules / OCCUPANCY]).failures
    assert "unknown cause 'regster-spills'" in failure


def test_a_rule_of_a_users_own_pack_may_stand_for_itself(rules: Path, tmp_path: Path) -> None:
    own = tmp_path / "own" / "studio" / "half-used-sms.yaml"
    own.parent.mkdir(parents=True)
    text = (ROOT / "docs" / "rule-pack.md").read_text("utf-8").partition("```yaml\n")[2].partition("```")[0]
    own.write_text(text, "utf-8")
    assert checking.run_checks([own.parent]).failures == []
    own.write_text(text.replace("title:", "cause: half-used\ntitle:"), "utf-8")
    (failure,) = checking.run_checks([own.parent]).failures
    assert failure.startswith(f"{own}:3: unknown cause 'half-used'")
    own.write_text(re.sub("^id: .*", "id: MEM901", text), "utf-8")
    (failure,) = checking.run_checks([own.parent]).failures
    assert "id MEM901: prefix MEM, pack 'memory' uses it - choose another prefix" in failure


def test_what_is_named_is_counted(rules: Path, tmp_path: Path) -> None:
    def counts(*paths: Path) -> str:
        return checking.run_checks(paths).summary

    assert counts(rules / OCCUPANCY).startswith("1 cause, ")
    assert counts(rules / "causes").startswith(f"{len(packs.cause_files())} causes, ")
    assert re.match(r"1 rule, \d+ tests, ", counts(rules / SPILLS))
    assert counts(rules / SPILLS, rules / OCCUPANCY).startswith("1 rule, 1 cause, ")
    assert counts(rules) == counts()
    (tmp_path / "unreadable.yaml").write_text("id: X\n")
    assert counts(tmp_path / "unreadable.yaml") == "no rule: 1 failure"
    (tmp_path / "empty").mkdir()
    for nothing in ("empty", "absent"):
        with pytest.raises(TriageError):
            checking.run_checks([tmp_path / nothing])


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        (SPILLS, "expect: silent", "expect: fires",
         r": test 'no local memory': expected fires, got silent: every condition must hold, but spilled 0\.0 %, not above notable 10\.0 %; fires instead: [a-z, -]+$"),
        (SPILLS, "expect: blind", "expect: fires",
         r": test 'not collected': expected fires, got blind: every condition must hold, but local\.\w+ is missing"),
        (SPILLS, "expect: fires", "expect: silent",
         r": test '.*': expected silent, got fires: one condition must fail, but spilled \d+\.0 % > notable 10\.0 %"),
        ("p3/idle-sms.yaml", "expect: fires", "expect: blind",
         r"expected blind, got fires: a counter must be missing and no condition fail, but time_with_warps"),
        ("compute/cuda-kernel.yaml", "kernel-launch: true, device.is_nvidia: 1", "kernel-launch: false, device.is_nvidia: 1",
         r"expected fires, got silent: every condition must hold, but kernel-launch is false"),
        ("compute/cuda-kernel.yaml", "kernel-launch: true, device.is_nvidia: 1", "device.is_nvidia: 1",
         r"expected fires, got blind: every condition must hold, but kernel-launch is missing"),
        ("compute/kernel-launch.yaml", "launch.grid_size: 64}", "launch.grid_siz: 64}",
         r"test 'kernel': cannot be read \('launch.grid_siz' is neither a metric nor given by the rule - did you mean 'launch.grid_size'\?\)"),
        (SPILLS, "expect: silent", "expects: silent", r"unknown key 'expects' - did you mean 'expect'\?"),
    ],
)  # fmt: skip
def test_a_failing_test_says_what_is_required_and_what_was_found(
    file: str, old: str, new: str, says: str, rules: Path
) -> None:
    path = rules / file
    edited(path, re.escape(old), new)
    failures = [f for f in checking.run_checks([path]).failures if ": test '" in f]
    assert len(failures) == 1, failures
    assert re.search(says, failures[0]), failures[0]
    # at the line of the test itself
    at = int(failures[0].removeprefix(f"{path}:").partition(":")[0])
    assert new.partition("\n")[0] in path.read_text("utf-8").splitlines()[at - 1]


def test_a_rule_that_cannot_be_read_makes_no_other_failure(rules: Path) -> None:
    edited(rules / "p3" / "high-sol.yaml", "^when: ", "wenn: ")
    (failure,) = checking.run_checks().failures
    assert "high-sol.yaml" in failure
    assert "unknown key 'wenn' - did you mean 'when'?" in failure


def test_the_bundled_rules_and_causes_hold() -> None:
    checked = checking.run_checks()
    assert checked.failures == []
    assert checked.cases > 0
