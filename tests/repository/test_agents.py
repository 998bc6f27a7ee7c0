"""The skill, its tasks and the harness: commands run as written, truths are the model's own, a scripted stand-in is graded."""

import contextlib
import io
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT, SAMPLES
from triage.commands.cli import triage as commands

SKILL = ROOT / "skills" / "gpu-triage"
TEXT = (SKILL / "SKILL.md").read_text("utf-8")
PLACES = {
    "FILE": "ncu-raw/transpose.raw.csv",
    "GLOB": "*transpose*",
    "MARKER": "transpose_naive",
    "CAUSE": "bank-conflicts",
    "BEFORE": "compare/ssr_before.csv",
    "AFTER": "compare/ssr_batch4.csv",
}


def in_this_process(*args: object) -> str:
    """What a triage command prints, without a process of its own."""
    out = io.StringIO()
    out.buffer = io.BytesIO()  # type: ignore[attr-defined]
    with contextlib.redirect_stdout(out):
        code = commands.main([str(a) for a in args], standalone_mode=False)
    assert code in (0, None), args
    return out.getvalue() or out.buffer.getvalue().decode()  # type: ignore[attr-defined]


def asked(page: str) -> list[list[str]]:
    """The `$ triage ...` lines of a page, once each."""
    lines = [
        line.strip() for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL) for line in block.splitlines()
    ]
    return [shlex.split(line)[2:] for line in dict.fromkeys(lines) if line.startswith("$ triage ")]


def put(word: str) -> str:
    """A word of a command, with a sample in the place of what stands for one."""
    place = PLACES.get(word)
    return str(SAMPLES / place) if place and "/" in place else place or word


def test_the_skill_has_the_common_form() -> None:
    head = yaml.safe_load(TEXT.split("---\n")[1])
    assert set(head) == {"name", "description"}
    assert head["name"] == SKILL.name and len(head["description"]) <= 1024
    assert len(TEXT.splitlines()) < 500


@pytest.mark.parametrize("args", asked(TEXT), ids=" ".join)
def test_every_command_of_the_skill_runs(args: list[str]) -> None:
    assert in_this_process(*map(put, args)).strip()


def test_words_of_the_skill_stand_in_a_brief() -> None:
    from triage.rendering import brief

    source = Path(brief.__file__).read_text("utf-8")
    for word in ("effect", "also seen", "near misses", "ruled out", "not tested", "looks alike", "may save nothing"):
        assert word in TEXT and word in source


@pytest.fixture(scope="module")
def prompts() -> Any:
    sys.path.insert(0, str(ROOT))
    from benchmarks.agents import prompts

    return prompts


def test_tasks_have_the_common_form_and_are_of_every_kind(prompts: Any, tmp_path: Path) -> None:
    data = json.loads((SKILL / "evals" / "evals.json").read_text("utf-8"))
    assert data["skill_name"] == SKILL.name
    tasks = prompts.grader.tasks()
    assert len(tasks) == len(data["evals"]) >= 12
    assert sum(t["positive"] for t in tasks.values()) >= 8
    assert sum(not t["positive"] for t in tasks.values()) >= 4
    prompts.captures.make(tmp_path)
    for task in tasks.values():
        assert {"id", "prompt", "expected_output", "files", "assertions"} <= set(task)
        assert all(path.exists() for path in prompts.files(task, tmp_path))
        ids = prompts.vocabulary()
        assert all(f"{cause}: " in ids for cause in task["expected"].get("causes", ()))


def test_savings_of_simulated_tasks_are_those_of_the_model(prompts: Any) -> None:
    from tests.simulation.defects import draw
    from tests.simulation.fixes import gain

    for task in prompts.grader.tasks().values():
        defect = prompts.captures.MADE.get(task["files"][0].rpartition("/")[2])
        if defect and "saving" in task["expected"]:
            kernel = draw(defect, prompts.captures.SEED)
            assert kernel.right <= set(task["expected"]["causes"])
            saved = max(gain(kernel.work, cause) or 0.0 for cause in kernel.right)
            assert saved == pytest.approx(task["expected"]["saving"], abs=0.001)


def test_savings_and_causes_of_measured_tasks_are_those_of_the_pairs(prompts: Any) -> None:
    import csv

    from triage.rulebook import packs

    causes = {rule.name: rule.cause for rule in packs.load().rules}
    with open(ROOT / "sample_captures" / "ground_truth" / "truth.csv", newline="", encoding="utf-8") as file:
        pairs = {side: row for row in csv.DictReader(file) for side in (row["kernel"], row["fixed_kernel"])}
    measured = {n: t for n, t in prompts.grader.tasks().items() if n.startswith("measured-")}
    assert len(measured) == len(prompts.captures.MEASURED)
    for name, task in measured.items():
        kernel = prompts.captures.MEASURED[f"{name}.csv"]
        assert task["positive"] == (kernel == pairs[kernel]["kernel"])
        if task["positive"]:
            assert task["expected"]["saving"] == pytest.approx(1 - 1 / float(pairs[kernel]["speedup"]), abs=0.001)
            assert set(task["expected"]["causes"]) >= {causes[r] for r in pairs[kernel]["expected_rules"].split()}


SOURCE = ["gpu.time 0.54 ms, hit rate 0.4327, sectors 4,194,304, l1 12.5"]


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("540 µs, hit rate 43 %, 4,194,304 sectors of L2 in MEM002, sm_86", []),
        ("43.3 percent and 4.19 million", []),
        ("44 %", ["44%"]),
        ("a stride of 17, 0.55 ms", ["17", "0.55ms"]),
        ('fine\n{"saving": [0.1, 0.2, 0.3]}', []),
    ],
)
def test_numbers_without_a_source_are_invented(prompts: Any, answer: str, wrong: list[str]) -> None:
    assert prompts.grader.invented(answer, SOURCE) == wrong


def test_answers_are_graded(prompts: Any) -> None:
    tasks = prompts.grader.tasks()

    def graded(name: str, **given: object) -> dict[str, Any]:
        return dict(prompts.grader.grade(tasks[name], f"Because.\n```\n{json.dumps(given)}\n```", SOURCE))

    right = graded("kernel-a", causes=["bank-conflicts"], saving=[0.1, 0.3, 0.5])
    assert (right["first"], right["three"], right["inside"], right["width"]) == (True, True, True, 0.4)
    second = graded("kernel-a", causes=["divergence", "bank-conflicts"], saving=[0, 0.5, 1])
    assert (second["first"], second["three"], second["inside"], second["honest"]) == (False, True, False, None)
    assert graded("kernel-d", verdict="nothing-to-fix", causes=[])["honest"]
    assert not graded("kernel-d", verdict="nothing-to-fix", causes=["divergence"])["honest"]
    assert graded("change-fetches", verdict="faster")["first"]
    assert not graded("change-fetches", verdict="slower")["first"]
    assert prompts.grader.grade(tasks["kernel-a"], "no JSON", SOURCE)["first"] is False


def test_the_stand_in_is_right_with_triage_and_wrong_without(prompts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.agents import __main__ as harness
    from benchmarks.agents import stand_in

    monkeypatch.setattr(prompts, "triage", in_this_process)
    attempts = harness.run(lambda p: (stand_in.answer(p), ""), prompts.grader.tasks().values(), 1, ("without", "with"))
    told = {arm: [a for a in attempts if a.arm == arm] for arm in ("without", "with")}
    assert sum(a.first is True for a in told["with"]) >= 17 > 4 >= sum(a.first is True for a in told["without"])
    assert all(a.honest is not False and not a.invented for a in told["with"])
    assert sum(a.tokens for a in told["with"]) <= 0.75 * sum(a.tokens for a in told["without"])
    rows = harness.table(attempts).splitlines()
    assert rows[2].startswith("| without | 3 of 24 |") and " (estimate) |" in rows[3]


def test_the_harness_runs_a_command(
    prompts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.agents import __main__ as harness

    monkeypatch.setattr(prompts, "triage", in_this_process)
    script = tmp_path / "agent.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom benchmarks.agents.stand_in import answer\n"
        "print(answer(sys.stdin.read()))\nprint('tokens: 7', file=sys.stderr)\n"
    )
    kept = tmp_path / "answers.jsonl"
    words = ["--command", f"{sys.executable} {script}", "--tasks", "sums", "--repeats", "2", "--answers", str(kept)]
    assert harness.main(words) == 0
    said = capsys.readouterr().out
    assert "sums, without: honest wrong; invented nothing" in said
    assert re.search(r"\| with \| 0 of 0 \| 0 of 0 \| 0 of 0 \| 2 of 2 \| 0 \| 7 \| \d", said)
    assert len(kept.read_text("utf-8").splitlines()) == 4
