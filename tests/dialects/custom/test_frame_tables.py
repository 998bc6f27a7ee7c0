"""Frames by engineers who did not know the rules: 126 tables in their own words, the cause of each ill marker signed by them.

data/custom_frames.json.gz: set -> file name -> text, and per marker its path and the causes that its author would sign (the first
one before the others), `healthy` or `container`. The first three sets stretch the words, the others write as tools and most
people do. What was right when each was first read stands in docs/field-notes.md.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from triage import api

pytestmark = pytest.mark.slow

SETS: dict[str, dict[str, dict[str, Any]]] = json.loads(
    gzip.decompress((ROOT / "tests" / "data" / "custom_frames.json.gz").read_bytes())
)
TABLES = [(number, name) for number, tables in SETS.items() for name in tables]
VERDICTS = ("near-limit", "low-throughput")
LOUD = ("medium", "high", "critical")
# table and marker -> what the report says first instead of what its author signed
KNOWN = {
    # the table names no GPU, so how few groups fit is not known
    ("2/22_upscaler_and_compute.csv", "Frame/Simulation/FFT Ocean Rows"): "memory-latency",
    # busy LDS and one large group per CU: the traffic promises more than the next group
    ("3/03_kestrel_devkit_timing.csv", "Frame/Lighting CS/Denoise B"): "uncoalesced-loads",
    ("3/09_compute_kernel_review.csv", "Simulation/Cloth Solve"): "lsu-pressure",
    # SM and TEX are 2.6 points apart, the article says within two
    ("5/03_inhouse_frameprof.csv", "Frame/SSAO"): "issue-bound",
    # `Waves` alone may be those of a launch or of the whole GPU: not read
    ("6/12_host_bus.csv", "Frame/Sim/Indirect Args"): "idle-sms",
    # DRAM at 75 % of its peak: more bytes in flight reach 85 %
    ("6/15_compute_memory.csv", "Sim/Grid/Advect"): "memory-latency",
}


@pytest.mark.parametrize(("number", "name"), TABLES, ids=[f"{n}-{name.partition('.')[0]}" for n, name in TABLES])
def test_the_signed_cause_comes_first(number: str, name: str, tmp_path: Path) -> None:
    told = SETS[number][name]
    path = tmp_path / name
    path.write_text(told["text"], "utf-8", newline="")
    found = api.diagnose(path).to_dict()
    by_path = {"/".join([*w["path"], w["name"]]): w["id"] for w in found["workloads"]}
    first: dict[str, dict[str, Any]] = {}
    for f in found["findings"]:  # by rank
        if f["root"] and f["cause"] not in VERDICTS:
            first.setdefault(f["workload"], f)
    said = {f["workload"] for f in found["findings"]}
    wrong = {}
    for marker, expected in told["markers"]:
        f = first.get(by_path[marker])
        if expected == "container":
            wrong |= {marker: "speaks"} if by_path[marker] in said else {}
        elif expected == "healthy":
            wrong |= {marker: f"alarms: {f['cause']}"} if f and f["level"] in LOUD else {}
        elif (cause := f["cause"] if f else "nothing") not in expected and not _at_its_limit(
            expected, found, by_path[marker], f
        ):
            wrong[marker] = cause
    assert wrong == {marker: cause for (table, marker), cause in KNOWN.items() if table == f"{number}/{name}"}


def _at_its_limit(expected: list[str], found: dict[str, Any], workload: str, first: dict[str, Any] | None) -> bool:
    """Where a verdict is signed too: is it what stands first, and no cause?"""
    return first is None and any(f["workload"] == workload and f["cause"] in expected for f in found["findings"])
