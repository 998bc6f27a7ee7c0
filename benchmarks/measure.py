"""What a benchmark consists of: whole processes in turns, and a sheet that keeps every row as soon as it is measured."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

VERSIONS = ("pandas", "numpy", "pyarrow", "polars", "duckdb")


@dataclass(frozen=True)
class Spent:
    """A whole process with its children. wall, cpu: seconds; mb: largest peak of a single process."""

    wall: float
    cpu: float
    mb: float


@dataclass
class Case:
    """One line of the table. ratio, cpu_ratio, memory_ratio: ours to the yardstick; target: what ratio should not exceed."""

    name: str
    ratio: float
    cpu_ratio: float
    target: float | None
    ours_s: float
    ours_mb: float
    yardstick_s: float
    yardstick_mb: float
    memory_ratio: float
    memory_target: str = ""

    def line(self) -> str:
        """As printed."""
        goal = f"(target {self.target:g})" if self.target else ""
        memory = f"{self.ours_mb:5.0f} MB {self.memory_ratio:5.2f}x {self.memory_target}"
        return (
            f"{self.name:62} {self.ratio:5.2f}x, CPU {self.cpu_ratio:5.2f}x {goal:12} "
            f"{self.ours_s:6.2f} s / {self.yardstick_s:5.2f} s  {memory}"
        )


@dataclass
class Figure:
    """A number that has no yardstick. target: in words, empty for none."""

    name: str
    value: float
    unit: str
    target: str = ""

    def line(self) -> str:
        """As printed."""
        return f"{self.name}: {self.value:.3g} {self.unit}" + (f" (target {self.target})" if self.target else "")


class Sheet:
    """The rows of one run, by name, written after each: a run that was interrupted goes on where it ended.

    What was measured under other versions or numbers of cores is measured again.
    """

    def __init__(self, path: Path, runs: int, quick: bool, resume: bool) -> None:
        self.path = path
        have = {m: _version(m) for m in VERSIONS}
        self.about: dict[str, Any] = {
            "python": platform.python_version(), "cores": len(os.sched_getaffinity(0)), "runs": runs, "quick": quick,
            "versions": {m: v for m, v in have.items() if v},
        }  # fmt: skip
        self.load = os.getloadavg()[0]  # of the machine when the run began: who else was at work
        self.cases: dict[str, dict[str, Any]] = {}
        self.figures: dict[str, dict[str, Any]] = {}
        if resume and path.is_file():
            kept = json.loads(path.read_text("utf-8"))
            if kept["about"] == self.about:
                self.cases, self.figures = kept["cases"], kept["figures"]
                self.load = max(self.load, kept["load"])

    def case(self, name: str, measure: Callable[[], Case]) -> Case:
        """A row of the table, measured unless it is there already."""
        if name not in self.cases:
            self.cases[name] = asdict(measure())
            self._keep()
        found = Case(**self.cases[name])
        print(found.line(), flush=True)
        return found

    def figure(self, name: str, measure: Callable[[], float], unit: str, target: str = "") -> float:
        """A figure, measured unless it is there already."""
        if name not in self.figures:
            self.figures[name] = asdict(Figure(name, measure(), unit, target))
            self._keep()
        found = Figure(**self.figures[name])
        print("  " + found.line(), flush=True)
        return found.value

    def result(self) -> Mapping[str, Any]:
        """Everything as plain data."""
        return {"about": self.about, "load": round(self.load, 1), "cases": self.cases, "figures": self.figures}

    def _keep(self) -> None:
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.result(), indent=1) + "\n", "utf-8")
        part.replace(self.path)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def once(command: list[str]) -> Spent:
    """A whole process; the command must succeed."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr
    with process.stderr as said:
        error = said.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)  # wait4 took it: Popen must not wait again
    if process.returncode != 0:
        raise SystemExit(f"{command} failed: {error.decode()[-300:]}")
    return Spent(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def compared(name: str, ours: list[str], theirs: list[str], target: float | None, runs: int, memory: str = "") -> Case:
    """Both commands `runs` times in turns, after one run of each that does not count: medians, and the largest peaks."""
    pairs = [(once(ours), once(theirs)) for _ in range(runs + 1)][1:]
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    wall_a, wall_b = median(x.wall for x in a), median(y.wall for y in b)
    mb_a, mb_b = max(x.mb for x in a), max(y.mb for y in b)
    cpu = median(x.cpu / y.cpu for x, y in pairs)
    return Case(name, wall_a / wall_b, cpu, target, wall_a, mb_a, wall_b, mb_b, mb_a / mb_b, memory)


def python(code: str) -> list[str]:
    """A command that runs some code."""
    return [sys.executable, "-c", code]
