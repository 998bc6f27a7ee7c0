"""Where the time of one `triage diagnose FILE -f json --top 1000` goes: wall milliseconds per phase, median of some runs.

    python benchmarks/phases.py FILE [--runs 5]

Each run is a process of its own that does what the verb does, in the same order and with the same threads.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median

RUN = """
import gc, json, sys, time
marks = [("start", time.perf_counter())]
def mark(name):
    marks.append((name, time.perf_counter()))
gc.set_threshold(1_000_000, 20, 50)
import click
from triage.commands import cli
mark("click")
import pandas
mark("import pandas")
from concurrent.futures import ThreadPoolExecutor
from triage import dialects
from triage.diagnosis.diagnosing import Diagnoser
from triage.findings.assembling import bundle
from triage.reading import reader
from triage.rendering.result_json import write_json
from triage.rulebook.packs import load, select
mark("other imports")
pick, fold = dialects.pick, reader.capture
def picked(*a, **k):
    found = pick(*a, **k)
    mark("recognise the dialect")
    return found
def folded(*a, **k):
    mark("parse")
    found = fold(*a, **k)
    mark("group")
    return found
dialects.pick, reader.capture = picked, folded
with ThreadPoolExecutor(1) as pool:
    rules = pool.submit(lambda: Diagnoser(select(load())))
    capture = reader.read(sys.argv[1])
    pool.submit(getattr, capture, "sha256")
    doctor = rules.result()
    mark("wait for rules")
    diagnosis = doctor.diagnose([capture], top=1000)
    mark("conditions, inference, gains")
result = bundle(diagnosis, ways=False)
mark("findings and their cells")
with open("/dev/null", "w") as out:
    write_json(result, out.write)
mark("JSON")
print(json.dumps([[name, (b - a) * 1e3] for (_, a), (name, b) in zip(marks, marks[1:])]))
"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    phases: dict[str, list[float]] = {}
    for _ in range(options.runs):
        command = [sys.executable, "-c", RUN, str(options.file)]
        for name, ms in json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout):
            phases.setdefault(name, []).append(ms)
    total = sum(map(median, phases.values()))
    for name, walls in phases.items():
        print(f"{name:30} {median(walls):7.0f} ms {median(walls) / total:5.0%}")
    print(f"{'together':30} {total:7.0f} ms")


if __name__ == "__main__":
    main()
