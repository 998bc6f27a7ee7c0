"""Figures that only the sentences of Nsight Compute's rules hold, in the wordings of several versions."""

import re

import pytest

from tests.conftest import CORPUS, ROOT, needs_corpus
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
    ) == {"l2.cycles_active_max": pytest.approx(1 / 0.5937)}
    assert said("The grid executes only 64 blocks, which is less than the GPU's 108 multiprocessors.") == {
        "device.sm_count": 108
    }
    assert said("Nothing to report.") == {}


def test_peaks_are_read_in_the_words_of_old_and_new_versions() -> None:
    for word in ("fp32", "FP32"):
        text = f"The workload achieved close to 3% of this device's {word} peak performance and 16% of its {word.replace('32', '64')} peak performance."
        assert dict(figures("SOLFPRoofline", text)) == {"flop.fp32_share": 0.03, "flop.fp64_share": 0.16}
    fused = "This kernel executes 30 fused and 20 non-fused FP64 instructions."
    assert dict(figures("FPInstructions", fused)) == {"flop.fp64": 32 * 80, "flop.nonfused_fp64": 0.4}


def test_the_busiest_unit_is_what_the_raw_page_of_the_same_report_counts() -> None:
    exports = ROOT / "sample_captures" / "ground_truth" / "exports"
    compared = 0
    for page in sorted(exports.glob("*.details.csv")):
        said = re.search(r"One or more SMs have.*?Maximum instance[^\"]*", page.read_text("utf-8"), re.DOTALL)
        if said and not page.name.startswith("launch_bound_sequence"):  # of 32 launches, which one?
            raw = read(page.with_name(page.name.replace("details", "raw"))).facts
            share = raw["sm.cycles_active_max"][0] / raw["sm.cycles_active"][0]
            told = dict(figures("WorkloadImbalance", said[0]))["sm.cycles_active_max"]
            assert told == pytest.approx(share, rel=0.005), page.name
            compared += 1
    assert compared >= 6


@needs_corpus
def test_details_page_gains_stalls_and_coalescing() -> None:
    capture = read(CORPUS / "ncu" / "n01__copy_blocked.csv")
    facts = {m: float(v[0]) for m, v in capture.facts.items()}
    assert facts["stall.long_scoreboard"] == pytest.approx(0.527)
    assert facts["stall.lg_throttle"] == pytest.approx(0.469)
    assert facts["global_access.excess_sectors"] / facts["global_access.sectors_l2"] == pytest.approx(0.75)
    assert facts["global_load.bytes_per_sector"] == 8
