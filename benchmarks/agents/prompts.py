"""What an agent is asked: the task, its files, the ids it may name, and, with triage, the skill and the brief."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SKILL = ROOT / "skills" / "gpu-triage"
INLINE = 60_000  # characters of the files of a task that the prompt holds; an agent with tools can open them
FORM = """\
Answer in at most ten lines. Quote only numbers that stand in what you were given. Then end with one line of JSON and nothing after it:
{"verdict": "fix" | "suspect" | "cannot-tell" | "nothing-to-fix" | "faster" | "slower" | "unchanged" | "inconclusive",
 "causes": [at most three ids of the list, the most likely first; empty if nothing is to be named],
 "saving": [low, likely, high] as shares of its time from 0 to 1, or null}
(written on one line)."""


def module(path: Path) -> ModuleType:
    """A script of the skill as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


grader = module(SKILL / "evals" / "grade.py")
captures = module(SKILL / "evals" / "make_captures.py")


def files(task: dict[str, Any], made: Path) -> list[Path]:
    """The files of a task. made: folder of those that make_captures.py writes."""
    return [made / f[5:] if f.startswith("made/") else (SKILL / f).resolve() for f in task["files"]]


def parts(path: Path) -> list[Path]:
    """The files of an export."""
    return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def raw(paths: Sequence[Path]) -> str:
    """The exports as text, cut at INLINE; of binary files the size alone."""
    out, left = [], INLINE
    for p in (part for path in paths for part in parts(path)):
        data = p.read_bytes()
        text = f"({len(data):,} bytes, binary)" if b"\0" in data[:4096] else data.decode("utf-8", "replace")
        cut = f"\n(cut: {len(text):,} characters in all)" if len(text) > left else ""
        out.append(f"--- {p}\n{text[:left]}{cut}\n")
        left = max(0, left - len(text))
    return "".join(out)


def triage(*args: object) -> str:
    """What a triage command prints."""
    command = [sys.executable, "-m", "triage", *map(str, args)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300).stdout


def report(task: dict[str, Any], paths: Sequence[Path]) -> str:
    """The brief of a task's capture; of two captures their comparison."""
    if len(paths) == 2:
        return triage("compare", *paths)
    marker = ("--marker", task["marker"]) if "marker" in task else ()
    return triage("diagnose", paths[0], "-f", "brief", *marker)


@cache
def vocabulary() -> str:
    """Ids and titles of all causes."""
    from triage.rulebook import packs

    return "\n".join(f"{c.id}: {c.title}" for c in packs.load().causes.values() if c.family != "verdict")


def prompt(task: dict[str, Any], paths: Sequence[Path], brief: str | None) -> str:
    """The whole prompt. brief: what triage says, None without it, where the export itself stands in its place."""
    given = raw(paths) if brief is None else f"{_skill()}\n--- what triage says of it\n{brief}"
    names = " ".join(map(str, paths))
    return f"{task['prompt']}\nFiles: {names}\n\n{given}\n--- causes by id\n{vocabulary()}\n\n{FORM}\n"


def _skill() -> str:
    text = (SKILL / "SKILL.md").read_text("utf-8")
    return text.partition("\n---\n")[2]
