"""Passes with one thing wrong, in the column names of each tool: the cause is found whatever the tool calls its counters."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path
from typing import Any

import pytest

from triage import api

TOOLS: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parents[1] / "data" / "tool_frames.toml").read_text("utf-8")
)
LOUD = 0.15  # of a pass
OPEN = {  # why no rule names it; those with other findings are marked so
    "pvrtune.registers": "other: few tasks are resident, for want of registers",
    "pvrtune.alu": "the time of the shader pipelines holds their waits",
    "agi-imagination.registers": "this tool does not count how long shaders wait",
    "intel.bandwidth": "other: bytes without the memory's peak are waits",
    "intel.occupancy": "geometry decides how many threads a draw has",
    "amd.raster": "the rasteriser waits for what is behind it",
    "xcode.special": "other: one limiter counts integers and special functions",
    "gpa-rdna.occupancy": "other: the misses that few waves cannot hide",
}


def _table(tool: str, path: Path) -> list[str]:
    """Write one pass per case, a healthy one first; the names of the cases."""
    given = TOOLS[tool]
    cases = {name: case for name, case in given.items() if isinstance(case, dict) and name != "row"}
    columns = list(dict.fromkeys([*given["row"], *(c for case in cases.values() for c in case if c != "expect")]))
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow([given.get("label", "Pass"), *columns])
        for name, case in [("Opaque", {}), *cases.items()]:
            row = given["row"] | case
            writer.writerow([name, *(row.get(c, "") for c in columns)])
    return list(cases)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_cause_is_found_by_the_tools_own_counters(tool: str, tmp_path: Path) -> None:
    cases = _table(tool, tmp_path / "frame.csv")
    found = api.diagnose(tmp_path / "frame.csv").to_dict()
    ids = {w["name"]: w for w in found["workloads"]}
    roots: dict[str, list[tuple[float, str]]] = {}
    for f in found["findings"]:
        if f["gain"] and not f["explained_by"]:
            roots.setdefault(f["workload"], []).append((float(f["gain"]["fraction"] or 0), f["cause"]))
    assert max((part for part, _ in roots.get(ids["Opaque"]["id"], [])), default=0.0) <= LOUD
    wrong = {}
    for name in cases:
        first = max(roots.get(ids[name]["id"], []), default=(0.0, "nothing"))[1]
        why = OPEN.get(f"{tool}.{name}", "")
        if (first in TOOLS[tool][name]["expect"]) == bool(why) or (first == "nothing") != bool(
            why and "other:" not in why
        ):
            wrong[name] = first
    assert not wrong
