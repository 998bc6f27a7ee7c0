"""Made-up kernels with one known illness, run on a small machine and written as Nsight Compute would: synthetic, and blind.

The seeds are those of the first draws that the rules did worst on, blind (benchmarks/simulated_kernels.py prints any other).
"""

from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.simulated_kernels import describe, judged
from tests.simulation.counters import counters, throughputs
from tests.simulation.defects import ILLNESSES, draw, draw_all
from tests.simulation.fixes import gain
from tests.simulation.machine import run
from tests.simulation.variation import another_machine
from tests.simulation.work import Access, Work

SEED, OTHER = 101, 110
ROOTS, CLEAN = 0.95, 0.90  # what the rules are to reach


@pytest.mark.slow
@pytest.mark.parametrize("seed", [SEED, OTHER])
@pytest.mark.parametrize("form", ["raw", "details"])
def test_the_illness_is_first_and_nothing_wrong_beside_it(form: str, seed: int, tmp_path: Path) -> None:
    found = list(judged(draw_all(seed, 1), form, tmp_path))
    wrong = "\n".join(describe(j) for j in found if not j.right or j.wrong)
    assert sum(j.right for j in found) >= ROOTS * len(found), wrong
    assert sum(not j.wrong for j in found) >= CLEAN * len(found), wrong


@pytest.mark.parametrize("name", ILLNESSES)
def test_a_run_is_consistent(name: str) -> None:
    """What real counters add up to, these do."""
    patient = draw(name, SEED)
    r = run(patient.work)
    values = {n: v for n, (v, _) in counters(r).items()}
    assert all(v >= 0 for v in values.values())
    assert all(0 <= v <= 100.5 for n, v in values.items() if "pct_of_peak" in n or n.endswith("_rate.pct")), values
    stalls = sum(v for n, v in values.items() if "issue_stalled" in n)
    assert stalls == pytest.approx(values["smsp__average_warp_latency_per_inst_issued.ratio"], rel=1e-6)
    # warps in flight = issue rate x time between two issues of a warp
    in_flight = values["smsp__warps_active.avg.per_cycle_active"]
    assert in_flight == pytest.approx(stalls * r.issue, rel=0.02) or stalls == pytest.approx(1.0)
    moved = values[next(n for n in values if n.startswith("dram__bytes") and n.endswith("read.sum"))]
    assert moved <= 32 * values["lts__t_sectors.sum"] * 1.001
    assert values["sm__warps_active.avg.pct_of_peak_sustained_active"] <= 1.01 * max(
        values["sm__maximum_warps_per_active_cycle_pct"], 100 / r.chip.warps
    )
    assert throughputs(r)["memory"] >= throughputs(r)["vram"]


def test_cures_help_what_is_ill_and_nothing_else() -> None:
    stream = Work(chip="H100", grid=200_000, ffma=2, load=Access(2), store=Access(1), l2_hit=0.02)
    assert gain(stream, "bank-conflicts") == 0
    assert gain(stream, "uncoalesced-loads") == 0
    strided = replace(stream, load=Access(2, 4, 32, 8))
    assert (gain(strided, "uncoalesced-loads") or 0) > 0.5
    assert run(strided).ns > 3 * run(stream).ns


def test_another_machine_is_put_back() -> None:
    before = run(draw("pointer chase", SEED).work)
    with another_machine(1):
        assert run(before.work).ns != before.ns
    assert run(before.work) == before


def test_the_same_seed_draws_the_same_kernels() -> None:
    assert draw_all(3, 1) == draw_all(3, 1)
    assert {p.work.title for p in draw_all(3, 1)} != {p.work.title for p in draw_all(4, 1)}
