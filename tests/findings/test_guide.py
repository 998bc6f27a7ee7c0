"""NVIDIA's Compute Triage Guide as data: every check is asked by a rule or says why not, and a kernel can be walked through it."""

import tomllib
from pathlib import Path

import pytest

from tests.cases.guide_kernels import PATIENTS, write
from tests.conftest import ROOT, run
from triage import diagnose, read
from triage.findings import guide
from triage.findings.decision_path import LIMITS, STATES
from triage.rulebook.packs import Rulebook


def symptoms() -> list[guide.Check]:
    """The guide's symptom pages, as the file has them."""
    data = tomllib.loads((ROOT / "triage" / "findings" / "guide.toml").read_text("utf-8"))
    return [guide.check_from(s) for s in data["symptom"]]


def test_every_check_is_asked_or_answered_otherwise(book: Rulebook) -> None:
    known = {r.name for r in book.rules}
    checks = [c for d in guide.decisions() for c in d.checks] + symptoms()
    assert len({c.id for d in guide.decisions() for c in d.checks}) >= 44
    assert len(symptoms()) >= 29
    for c in checks:
        assert c.rules or c.instead, c
        assert set(c.rules) <= known, c
    vetoes = {v for d in guide.decisions() for v in d.unless}
    assert vetoes <= {c for r in book.rules for c in r.concludes}


def test_a_rule_that_cites_the_guide_has_a_place_in_it(book: Rulebook) -> None:
    """Else people who follow the guide would not find it."""
    asked = {name for d in guide.decisions() for c in d.checks for name in c.rules}
    asked |= {name for c in symptoms() for name in c.rules}
    ours = [r for r in book.rules if r.pack in ("compute", "memory") and not r.is_concept and not r.unweighed]
    citing = {r.name for r in ours if any("Compute Triage Guide" in cite.text for cite in r.cites)}
    assert len(citing) > 20
    assert citing - asked == set()
    # and of the others few stand outside
    assert len({r.name for r in ours} - asked) < len(ours) / 10


@pytest.mark.slow
def test_a_kernel_walks_through_the_guide(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", PATIENTS["T06 stream"])
    out = run("explain", "guide", "--on", path).stdout
    assert "! 3.7 are enough bytes in flight?" in out
    assert "? 0.3" in out
    assert "6.1-6.6" in out
    tensor = write(tmp_path / "t.csv", PATIENTS["T01 WGMMA, warp-specialised"])
    out = run("explain", "guide", "--on", tensor).stdout
    assert "! 4.1 is one pipe above 60 % or 80 %? Matrix unit active 82.6" in " ".join(out.split())
    frame = tmp_path / "frame.csv"
    frame.write_text("name,gpu.time [ms],sm.throughput [%],vram.throughput [%]\nPass,1,50,20\n", "utf-8")
    assert "has none" in run("explain", "guide", "--on", frame).stdout
    assert "4.5" in run("explain", "guide").stdout


def test_the_way_is_part_of_a_kernels_report(tmp_path: Path) -> None:
    d = diagnose([read(write(tmp_path / "p.csv", PATIENTS["T01 WGMMA, warp-specialised"]))])
    steps = {s["ask"]: s for s in d.bundle.ways["w1"]}
    assert steps["4: Which pipe of the SM is busy?"]["state"] == LIMITS
    assert "not applicable: " in steps["3: Why do the warps not issue?"]["answer"]
    assert all(s["state"] in STATES for s in steps.values())
    assert steps["6: Which line of the source?"]["answer"].startswith("not in this export: ")
