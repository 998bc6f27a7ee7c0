"""The published cases: the P3 article's own workloads, through the real readers, rules and engine.

The facts are sample captures (sample_captures/generic), what the article concludes is p3_cases.json beside this file.
`triage check` runs them, so a rule edit that contradicts the article is caught where it is made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from triage.diagnosis.diagnosing import Diagnoser
from triage.dialects import Options
from triage.document.bundle import Entry
from triage.document.entries import Result
from triage.files.bundled import share
from triage.findings import assembling
from triage.reading import reader
from triage.rulebook.packs import Rulebook

BOUND_TOLERANCE = 0.002  # the article's bounds are recomputed from SOL% with one decimal


class Case(Struct, frozen=True):
    """One workload of the article by one revision of the method. want: what the article concludes."""

    file: str
    method: str
    device: str
    workload: str
    want: dict[str, Any]

    @property
    def label(self) -> str:
        """`p3_examples_v2.csv: DrawBlurXPS`."""
        return f"{Path(self.file).name}: {self.workload}"


@cache
def cases() -> tuple[Case, ...]:
    """Every published case, in file order."""
    data = json.loads((Path(__file__).parent / "p3_cases.json").read_text(encoding="utf-8"))
    return tuple(
        Case(c["file"], c["method"], c["device"], name, want)
        for c in data["captures"]
        for name, want in c["workloads"].items()
    )


def applicable(book: Rulebook) -> bool:
    """True if the rulebook holds every rule that the cases name."""
    named = {r for c in cases() for key in ("fires", "absent") for r in c.want.get(key, ())}
    return named <= set(book.by_name)


def run(book: Rulebook, engine: str = "") -> Iterator[tuple[Case, list[str]]]:
    """(case, what differs from the article) for every case; an empty list where it agrees."""
    diagnosers: dict[str, Diagnoser] = {}
    results: dict[tuple[str, str], Result] = {}
    for case in cases():
        key = (case.file, case.method)
        if key not in results:
            diagnoser = diagnosers.setdefault(case.method, Diagnoser(book, case.method, engine))
            # the reader by name: these tables prove rules, not the detection of dialects
            path = str(share("sample_captures") / case.file)
            capture = reader.read(path, dialect="generic", device=case.device, marker="", options=Options())
            results[key] = assembling.bundle(diagnoser.diagnose([capture]), ways=False).document
        yield case, differences(case.want, results[key], case.workload)


def differences(want: dict[str, Any], result: Result, name: str) -> list[str]:
    """Where a JSON result departs from what a case wants of one workload."""
    got: Entry | None = next((w for w in result["workloads"] if w["name"] == name), None)
    if got is None:
        return ["the workload is missing"]
    out = [
        f"{key} is {got[key]}, the article says {want[key]}"
        for key in ("primary", "secondary")
        if key in want and set(got[key]) != set(want[key])
    ]
    if "band" in want and got["band"] != want["band"]:
        out.append(f"band is {got['band']}, the article says {want['band']}")
    bound = want.get("bound_speedup")
    if bound and abs((got["bound_speedup"] or 0.0) - bound) > BOUND_TOLERANCE:
        out.append(f"bound is {got['bound_speedup']}, the article says {bound}")
    for unit, grade in want.get("hit_grades", {}).items():
        if got["hit_grades"].get(unit) != grade:
            out.append(f"{unit} hit rate is graded {got['hit_grades'].get(unit)}, the article says {grade}")
    found = [f["name"] for f in result["findings"] if f["workload"] == got["id"]]
    out += [f"{rule} does not fire" for rule in want.get("fires", ()) if rule not in found]
    out += [f"{rule} fires" for rule in want.get("absent", ()) if rule in found]
    # a report leads with the root cause; the article with what saves most
    mine = [f for f in result["findings"] if f["workload"] == got["id"]]
    gains = {f["name"]: (gain["fraction"] or 0.0) if (gain := f.get("gain")) else 0.0 for f in mine}
    best = sorted(gains, key=lambda name: -gains[name])
    if "first" in want and best[:1] != [want["first"]]:
        out.append(f"{(best or ['nothing'])[0]} saves most, not {want['first']}")
    return out
