"""Figures that only the sentences of Nsight Compute's rules hold, in the wordings of several versions."""

from __future__ import annotations

import pytest

from tests.conftest import CORPUS, needs_corpus
from triage import read
from triage.dialects.nvidia.ncu_opinions import figures

STALL = (
    "{start} each warp of this {what} spends {cycles} cycles being stalled waiting for {reason}. Some more words. "
    "This {stall} represents about {share}% of the total average of {total} cycles between issuing two instructions."
)


@pytest.mark.parametrize(
    ("reason", "metric"),
    [
        ("a scoreboard dependency on a L1TEX (local, global, surface, texture) operation", "stall.long_scoreboard"),
        ("a scoreboard dependency on an MIO (memory input/output) operation (not to L1TEX)", "stall.short_scoreboard"),
        ("the L1 instruction queue for local and global (LG) memory operations to be not full", "stall.lg_throttle"),
        ("the MIO (memory input/output) instruction queue to be not full", "stall.mio_throttle"),
        ("sibling warps at a CTA barrier", "stall.barrier"),
        ("a math execution pipeline to be available", "stall.math_pipe_throttle"),
        ("the execution pipe to be available", "stall.math_pipe_throttle"),
        ("an immediate constant cache (IMC) miss", "stall.imc_miss"),
    ],
)
@pytest.mark.parametrize(
    ("start", "what", "stall"), [("On average,", "workload", "stall type"), ("On average", "kernel", "")]
)
def test_stall_reasons(start: str, what: str, stall: str, reason: str, metric: str) -> None:
    text = STALL.format(start=start, what=what, stall=stall, reason=reason, cycles="491.9", share="52.7", total="933.1")
    assert dict(figures("CPIStall", text)) == {metric: pytest.approx(0.527), "warp.cycles_per_issue": 933.1}


def test_counts_shares_and_pipes() -> None:
    def said(text: str) -> dict[str, float]:
        return dict(figures("SomeRule", text))

    assert said("uncoalesced global accesses resulting in a total of 25165824 excessive sectors (75% of the total 33554432 sectors).") == {
        "global_access.excess_sectors": 25165824, "global_access.sectors_l2": 33554432,
    }  # fmt: skip
    assert said("a total of 83886570 excessive wavefronts (27% of the \n total 313672287 wavefronts)") == {
        "shared.excess_wavefronts": 83886570, "shared.access_wavefronts": 313672287,
    }  # fmt: skip
    assert said("286727 bank conflicts, which represent 72.87% of the overall 393480 wavefronts for shared loads.") == {
        "shared.conflict_share": 0.7287
    }
    assert said("FP64 is the highest-utilized pipeline (85.2%) based on active cycles") == {"pipe.fp64": 0.852}
    assert said(
        "One or more L2 Slices have a much higher number of active cycles than the average number of active cycles. Maximum instance value is 40.63% above the average"
    ) == {"l2.cycles_active_max": pytest.approx(1.4063)}
    assert said("The grid executes only 64 blocks, which is less than the GPU's 108 multiprocessors.") == {
        "device.sm_count": 108
    }
    assert said("Nothing to report.") == {}


@needs_corpus
def test_details_page_gains_stalls_and_coalescing() -> None:
    capture = read(CORPUS / "ncu" / "n01__copy_blocked.csv")
    facts = {m: float(v[0]) for m, v in capture.facts.items()}
    assert facts["stall.long_scoreboard"] == pytest.approx(0.527)
    assert facts["stall.lg_throttle"] == pytest.approx(0.469)
    assert facts["global_access.excess_sectors"] / facts["global_access.sectors_l2"] == pytest.approx(0.75)
    assert facts["global_load.bytes_per_sector"] == 8
