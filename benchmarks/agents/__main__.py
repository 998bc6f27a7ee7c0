"""Run an agent over the tasks with and without triage, and print how it did.

The command reads a prompt on stdin and prints its answer. A line `tokens: N` on stderr counts as its own count of tokens;
else they are estimated as characters / 4, prompt and answer. No model is part of this project.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.agents import prompts

Agent = Callable[[str], tuple[str, str]]  # prompt -> (answer, what went to stderr)


@dataclass(frozen=True)
class Attempt:
    """One answer to one task. width: of its range of the saving. tokens: of prompt and answer; counted: by the agent itself, else estimated."""

    task: str
    arm: str
    first: bool | None
    three: bool | None
    inside: bool | None
    width: float | None
    honest: bool | None
    invented: tuple[str, ...]
    tokens: int
    counted: bool
    seconds: float
    answer: str


def command(words: Sequence[str], timeout: float) -> Agent:
    """An agent that is a program."""

    def ask(prompt: str) -> tuple[str, str]:
        try:
            done = subprocess.run(words, input=prompt, capture_output=True, text=True, check=False, timeout=timeout)
        except subprocess.TimeoutExpired:
            return "", "(timed out)"
        return done.stdout, done.stderr

    return ask


def attempt(agent: Agent, task: dict[str, Any], paths: Sequence[Path], brief: str | None) -> Attempt:
    """Ask once, and grade. Numbers may come from the file, from what triage said, and from the question."""
    asked = prompts.prompt(task, paths, brief)
    start = time.monotonic()
    answer, beside = agent(asked)
    seconds = time.monotonic() - start
    own = re.findall(r"^tokens: (\d+)$", beside, re.MULTILINE)
    sources = [p.read_bytes().decode("utf-8", "replace") for path in paths for p in prompts.parts(path)]
    graded = prompts.grader.grade(task, answer, [*sources, asked])
    return Attempt(
        str(task["id"]),
        "without" if brief is None else "with",
        *(graded[k] for k in ("first", "three", "inside", "width", "honest")),
        invented=tuple(graded["invented"]),
        tokens=int(own[-1]) if own else (len(asked) + len(answer)) // 4,
        counted=bool(own),
        seconds=seconds,
        answer=answer,
    )


def run(agent: Agent, tasks: Iterable[dict[str, Any]], repeats: int, arms: Sequence[str]) -> list[Attempt]:
    """Every task, repeats times in each arm."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        prompts.captures.make(made)
        for task in tasks:
            paths = prompts.files(task, made)
            for arm in arms:
                brief = prompts.report(task, paths) if arm == "with" else None
                out += [attempt(agent, task, paths, brief) for _ in range(repeats)]
    return out


def table(attempts: Sequence[Attempt]) -> str:
    """A row per arm: shares of the attempts that were asked for it, counts, means."""
    head = "| arm | root first | root in three | saving inside | honest | invented numbers | tokens | seconds |"
    rows = [head, "|:--|--:|--:|--:|--:|--:|--:|--:|"]
    for arm in dict.fromkeys(a.arm for a in attempts):
        mine = [a for a in attempts if a.arm == arm]
        cells = [_share([getattr(a, what) for a in mine]) for what in ("first", "three", "inside", "honest")]
        if widths := [a.width for a in mine if a.width is not None]:
            cells[2] += f" (mean width {sum(widths) / len(widths):.2f})"
        tokens = sum(a.tokens for a in mine) / len(mine)
        estimated = "" if all(a.counted for a in mine) else " (estimate)"
        seconds = sum(a.seconds for a in mine) / len(mine)
        made_up = sum(len(a.invented) for a in mine)
        rows.append(f"| {arm} | {' | '.join(cells)} | {made_up} | {tokens:,.0f}{estimated} | {seconds:.1f} |")
    return "\n".join(rows)


def _share(values: Sequence[bool | None]) -> str:
    asked = [v for v in values if v is not None]
    return f"{sum(asked)} of {len(asked)}"


def main(argv: Sequence[str] | None = None) -> int:
    """Ask for everything, print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agents", description=__doc__)
    parser.add_argument("--command", required=True, help="what reads a prompt on stdin, as one would type it")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--tasks", nargs="+", metavar="ID", help="of skills/gpu-triage/evals/evals.json; default: all")
    parser.add_argument("--arm", choices=("with", "without"), action="append", help="default: both")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS")
    parser.add_argument("--answers", type=Path, help="keep every answer and its grades here, a JSON line each")
    asked = parser.parse_args(argv)
    known = prompts.grader.tasks()
    if strange := set(asked.tasks or ()) - set(known):
        parser.error(f"unknown task {', '.join(sorted(strange))} - choose {', '.join(known)}")
    tasks = [t for name, t in known.items() if not asked.tasks or name in asked.tasks]
    attempts = run(
        command(shlex.split(asked.command), asked.timeout), tasks, asked.repeats, asked.arm or ("without", "with")
    )
    if asked.answers:
        asked.answers.write_text("".join(json.dumps(asdict(a)) + "\n" for a in attempts), encoding="utf-8")
    for a in attempts:
        if a.first is False or a.honest is False or a.invented:
            wrong = [w for w in ("first", "honest") if getattr(a, w) is False]
            print(f"{a.task}, {a.arm}: {', '.join(wrong)} wrong; invented {', '.join(a.invented) or 'nothing'}")
    print(table(attempts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
