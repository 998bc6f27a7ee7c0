"""What a CUDA kernel's time goes on, told from the parts behind the shares of peak; figures made up, in per cent."""

import numpy as np
import pytest

from tests.conftest import bare_capture
from triage import devices, schema
from triage.capture.capture import Capture
from triage.derive import View
from triage.diagnosis.gain import fractions
from triage.inference.engine import Engine
from triage.inference.evaluate import Lookup, infer
from triage.inference.groups import compile_program
from triage.rulebook.packs import Rulebook

LAUNCH = {
    "launch.grid_size": 5000.0,
    "launch.block_size": 256.0,
    "launch.shared_static": 0.0,
    "launch.shared_dynamic": 0.0,
}
BASIC = LAUNCH | {
    "sm.throughput": 20.0, "l1tex.throughput": 20.0, "l2.throughput": 10.0, "vram.throughput": 10.0, "memory.throughput": 20.0,
    "sm.issue_per_elapsed": 15.0, "sm.active": 100.0, "l1tex.lsu_requests": 10.0, "l1tex.lsu_data": 10.0, "l1tex.fill": 2.0,
    "pipe_elapsed.alu": 5.0, "pipe_elapsed.fma": 10.0,
}  # fmt: skip


def kernel(device: str = "sm_86", /, **facts: float) -> Capture:
    """One launch; ratios in per cent, `__` for the dot of an id."""
    named = {k.replace("__", "."): v for k, v in facts.items()}
    columns = {k: np.array([v / 100 if schema.get(k).unit == "ratio" else v]) for k, v in named.items()}
    capture: Capture = bare_capture(columns, ["kernel"], ["compute"], collectable=frozenset(schema.all_metrics()))
    capture.device = devices.find(device)
    return capture


def value(metric: str, capture: Capture) -> float:
    return float(np.ravel(View(capture)[metric])[0])


def with_basic(**facts: float) -> Capture:
    return kernel(**{k.replace(".", "__"): v for k, v in BASIC.items()} | facts)


@pytest.fixture(scope="module")
def engine(book: Rulebook) -> Engine:
    return Engine(compile_program(book, "v2", "workload"))


def fired(engine: Engine, book: Rulebook, capture: Capture) -> dict[str, float]:
    """Rule -> likely gain of what fires."""
    view = View(capture)
    truth = infer(view, engine)
    found = {}
    for index, mask in truth.fired.items():
        rule = book.rules[index]
        if mask.any() and not rule.is_concept:
            found[rule.name] = float(fractions(rule, Lookup(rule, view, "v2"), np.array([0]))[1][0])
    return found


def lead(found: dict[str, float]) -> str:
    """The rule that promises most; some promise nothing."""
    return max(found, key=lambda name: np.nan_to_num(found[name]))


def test_a_level_over_active_cycles_counts_by_how_long_the_sms_were_active() -> None:
    one_group = kernel(l1tex__throughput_active=80.0, sm__cycles_active=2.0, sm__cycles_elapsed=100.0)
    assert value("l1tex.throughput", one_group) == pytest.approx(0.016)
    exported = kernel(l1tex__throughput_active=80.0, l1tex__throughput=5.0, sm__active=2.0)
    assert value("l1tex.throughput", exported) == 0.05


def test_the_issue_rate_is_taken_from_whichever_counter_there_is() -> None:
    assert value("sm.issue_per_active", kernel(warp__issued_per_scheduler=0.3)) == pytest.approx(0.3)
    assert value("sm.issue_per_active", kernel(sm__issue_per_elapsed=20.0, sm__active=50.0)) == pytest.approx(0.4)
    assert np.isnan(value("sm.issue_per_active", kernel(sm__issue_per_elapsed=20.0)))


def test_latency_by_warp_is_no_latency_by_instruction() -> None:
    waits = kernel(stall_latency__long_scoreboard=352.0, stall_latency__wait=88.0)
    assert value("stall.long_scoreboard", waits) == pytest.approx(0.8)
    both = kernel(stall_cycles__wait=2.0, warp__cycles_per_issue=8.0, stall_latency__wait=300.0)
    assert value("stall.wait", both) == pytest.approx(0.25)


def test_a_reason_or_two_are_no_share_of_a_warps_time() -> None:
    few = {f"stall_cycles__{r}": 1.0 for r in ("long_scoreboard", "wait", "barrier")}
    assert np.isnan(value("stall.wait", kernel(**few)))
    assert value("stall.wait", kernel(**few, stall_cycles__drain=1.0)) == pytest.approx(0.2)


def test_conflicts_may_be_told_in_ways() -> None:
    assert value("shared.conflict_share", kernel(shared__conflict_ways=4.0)) == pytest.approx(0.75)
    assert value("shared.conflict_share", kernel(shared__conflict_ways=1.0)) == 0.0
    # ways of each request are wavefronts, of which an access of 16 bytes takes four without any conflict
    counted = {"shared__load_bank_conflicts": 6291456.0, "shared_load__requests": 5603328.0}
    assert value("shared.conflict_share", kernel(**counted, shared__conflict_ways=2.94)) == pytest.approx(
        0.3819, abs=1e-4
    )
    assert value("shared.conflict_share", kernel(**counted)) == pytest.approx(0.2192, abs=1e-4)


def test_one_stall_reason_is_a_share_of_what_resident_warps_wait() -> None:
    told = {"stall_cycles__long_scoreboard": 6.21, "warp__issued_per_scheduler": 0.65, "sm__occupancy": 77.22}
    assert value(
        "stall.long_scoreboard", kernel(**told, device__max_warps=48.0, device__capability=8.9)
    ) == pytest.approx(0.4357, abs=1e-3)


def test_a_roll_up_counts_only_where_no_part_of_it_leads() -> None:
    parts = with_basic(l1tex__throughput=91.0, l1tex__lsu_requests=90.0, sm__throughput=90.0)
    assert value("unit.l1_data", parts) == pytest.approx(0.10)
    assert value("unit.math", parts) == pytest.approx(0.10)
    assert value("unit.l1_data", with_basic(l1tex__throughput=88.0)) == pytest.approx(0.88)
    assert value("unit.top", parts) == pytest.approx(0.91)
    assert np.isnan(value("unit.lsu", kernel(sm__throughput=90.0)))


def test_memory_pipes_as_busy_as_the_sm_are_no_arithmetic() -> None:
    page = {"sm__throughput": 95.0, "sm__issue_per_elapsed": 20.0}
    assert value("unit.math", kernel(**page)) == pytest.approx(0.95)  # nothing else explains it
    assert value("unit.math", kernel(**page, memory__pipes_busy=40.0)) == pytest.approx(0.95)
    assert np.isnan(value("unit.math", kernel(**page, memory__pipes_busy=95.0)))


def test_tensor_pipes_of_every_generation_are_one_figure() -> None:
    assert value("pipe.tensor_use", kernel(pipe_busy__tc=82.0, pipe_busy__tensor=0.0)) == pytest.approx(0.82)
    assert np.isnan(value("pipe.tensor_use", kernel(sm__throughput=82.0)))


def test_atomics_are_counted_under_every_name() -> None:
    counted = {"l2__sectors": 1000.0, "atomics__l2_red_sectors": 100.0}
    assert value("atomics.share", kernel(atomics__l2_alu_sectors=50.0, atomics__l2_cas_sectors=50.0, **counted)) == 0.2
    asked = kernel(
        atomics__requests=10.0, atomics__red_requests=30.0, global_load__requests=50.0, global_store__requests=10.0
    )
    assert value("atomics.share", asked) == pytest.approx(0.4)


def test_turns_per_request_know_the_generation() -> None:
    assert value("lsu.turns_per_request", kernel(l1tex__lsu_data=80.0, l1tex__lsu_requests=10.0)) == pytest.approx(16)
    volta = kernel("sm_80", l1tex__lsu_data=80.0, l1tex__lsu_requests=10.0)
    assert value("lsu.turns_per_request", volta) == pytest.approx(8)
    blackwell = kernel("sm_120", l1tex__lsu_data=80.0, l1tex__lsu_requests=10.0)
    assert value("lsu.turns_per_request", blackwell) == pytest.approx(16)
    assert np.isnan(value("lsu.turns_per_request", kernel("sm_100", l1tex__lsu_data=80.0, l1tex__lsu_requests=10.0)))


def test_turns_per_request_have_a_floor_where_nobody_counted_requests() -> None:
    full = {"l1tex__throughput": 80.0, "sm__throughput": 10.0, "l2__throughput": 20.0}
    assert value("lsu.least_turns", kernel("sm_80", **full)) == pytest.approx(8)
    assert value("lsu.least_turns", kernel("sm_86", **full)) == pytest.approx(16)
    assert np.isnan(value("lsu.least_turns", kernel("sm_100", **full)))
    assert np.isnan(value("lsu.least_turns", kernel("sm_80", **(full | {"l2__throughput": 40.0}))))
    assert np.isnan(value("lsu.least_turns", kernel("sm_80", **full, l1tex__lsu_requests=10.0)))


ILLNESSES = {
    "data-reuse": {"l1tex__lsu_requests": 91.0, "l1tex__lsu_data": 46.0, "l1tex__throughput": 91.0, "sm__throughput": 91.0},
    "busy-tiles": {"l1tex__lsu_requests": 91.0, "l1tex__lsu_data": 46.0, "l1tex__throughput": 91.0, "sm__throughput": 91.0, "launch__shared_static": 8192.0},
    "shared-memory-traffic": {"l1tex__lsu_requests": 91.0, "l1tex__lsu_data": 46.0, "l1tex__shared_data": 40.0, "l1tex__throughput": 91.0, "sm__throughput": 91.0, "launch__shared_static": 8192.0},
    "many-turns-per-request": {"l1tex__lsu_requests": 11.0, "l1tex__lsu_data": 97.0, "l1tex__throughput": 98.0},
    "busy-atomic-unit": {"atomics__l2_input": 4.0},
    "predicated-threads": {"warp__threads_per_inst": 32.0, "warp__unpredicated_threads_per_inst": 10.0, "sm__issue_per_elapsed": 75.0, "sm__throughput": 75.0},
    "kernel-barriers": {"stall__barrier": 45.0},
}  # fmt: skip


@pytest.mark.parametrize("name", ILLNESSES)
def test_the_cause_leads_on_a_basic_set(name: str, engine: Engine, book: Rulebook) -> None:
    found = fired(engine, book, with_basic(**ILLNESSES[name]))
    assert lead(found) == name, found
    assert name not in fired(engine, book, with_basic())


def test_an_sm_that_its_load_store_pipe_fills_is_not_issue_limited(engine: Engine, book: Rulebook) -> None:
    full = {"sm__throughput": 91.0, "sm__throughput_active": 91.0, "l1tex__lsu_requests": 91.0}
    assert "issue-limited-kernel" not in fired(engine, book, with_basic(**full, sm__issue_per_elapsed=25.0))
    assert "issue-limited-kernel" in fired(
        engine, book, with_basic(**full | {"l1tex__lsu_requests": 20.0}, sm__issue_per_elapsed=90.0)
    )


def test_kernels_hear_nothing_of_texels(engine: Engine, book: Rulebook) -> None:
    stream = {
        "l1tex__hit_rate": 0.0,
        "l2__hit_rate": 30.0,
        "vram__throughput": 70.0,
        "l2__throughput": 62.0,
        "l1tex__throughput": 65.0,
    }
    found = fired(engine, book, with_basic(**stream, stall__lg_throttle=20.0))
    assert not {"poor-tex-hit-rate", "poor-l2-hit-rate", "local-memory-in-l2", "vram-bandwidth"} & found.keys()
    assert "kernel-vram-bandwidth" in found


def test_waits_are_named_where_their_own_unit_is_exhausted(engine: Engine, book: Rulebook) -> None:
    queue = {"l1tex__lsu_requests": 88.0, "l1tex__throughput": 88.0, "sm__throughput": 88.0, "stall__lg_throttle": 70.0}
    assert "lg-throttle-stalls" in fired(engine, book, with_basic(**queue))
    assert "lg-throttle-stalls" not in fired(engine, book, with_basic(**queue, vram__active=90.0))


def test_a_few_spilled_values_do_not_hide_an_occupancy_limit(engine: Engine, book: Rulebook) -> None:
    few = {
        "occupancy__theoretical": 25.0,
        "sm__issue_per_active": 10.0,
        "local__share": 11.0,
        "local__spill_requests": 5.0,
        "stall__long_scoreboard": 6.0,
    }
    assert "low-theoretical-occupancy" in fired(engine, book, with_basic(**few))
    many = few | {"local__share": 80.0, "l1tex__throughput": 60.0, "memory__throughput": 60.0}
    assert "low-theoretical-occupancy" not in fired(engine, book, with_basic(**many))


def test_a_matrix_unit_fed_by_one_lane_is_no_divergence(engine: Engine, book: Rulebook) -> None:
    one_lane = {"warp__threads_per_inst": 14.0, "sm__throughput": 82.0}
    assert "divergent-warps" in fired(engine, book, with_basic(**one_lane))
    assert "divergent-warps" not in fired(engine, book, with_basic(**one_lane, pipe_busy__tc=82.0))


def test_a_debug_build_comes_before_everything(engine: Engine, book: Rulebook) -> None:
    facts = {"local_load__requests": 900.0, "local_store__requests": 300.0, "global_load__requests": 200.0, "global_store__requests": 50.0,
             "launch__registers": 32.0, "inst__fadd": 1e6, "inst__fmul": 1e6, "inst__ffma": 0.0, "stall__wait": 60.0,
             "sm__issue_per_active": 30.0}  # fmt: skip
    found = fired(engine, book, with_basic(**facts))
    assert lead(found) == "debug-build" and "fixed-latency-stalls" not in found
