"""What must hold for any launch on any architecture."""

import math
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import triage.occupancy
from triage.devices import AmdLimits, architectures
from triage.ground.errors import TriageError
from triage.occupancy import LIMITERS, UNLIMITED, Occupancy, occupancy
from triage.occupancy.steps import arguments

# Intel has a calculator of its own; ours refuses it with that word
DEVICES = [d for d in architectures() if d.vendor.lower() != "intel"]
ARCHS = [device.arch for device in DEVICES]


@st.composite
def settings_of(draw: st.DrawFn) -> dict[str, Any]:
    """An architecture with a wave size and mode it has."""
    device = draw(st.sampled_from(DEVICES))
    chosen: dict[str, Any] = {"arch": device.arch}
    if isinstance(device.limits, AmdLimits):
        chosen["wave"] = draw(st.sampled_from(device.limits.wave_sizes))
        if device.limits.simds_per_wgp:
            chosen["mode"] = draw(st.sampled_from(["cu", "wgp"]))
    else:
        chosen["carveout"] = draw(st.sampled_from([-1, -1, 0, 50, 100]))
    return chosen


THREADS = st.integers(1, 1024)
REGISTERS = st.integers(1, 256)
SHARED = st.one_of(st.just(0), st.integers(0, 101376))


@given(settings_of(), THREADS, REGISTERS, SHARED)
@settings(max_examples=150, deadline=None)
def test_steps_are_the_nearest_ones(chosen: dict[str, Any], threads: int, registers: int, shared: int) -> None:
    """Just before a step nothing changes, at the step it does, in the direction it says."""
    now = occupancy(threads=threads, registers=registers, shared=shared, **chosen)

    def groups(**change: int) -> int:
        launch = {**arguments(now.launch), **change}
        return int(now.model.run(**launch).groups)

    for step in now.steps:
        assert groups(**{change.resource: change.after for change in step.changes}) == step.groups[1]
        if step.resource == "threads":
            continue
        assert (step.groups[1] > step.groups[0]) == (step.direction == "up")
        if len(step.changes) == 1:
            (change,) = step.changes
            toward = 1 if change.after > change.before else -1
            between = range(change.before + toward, change.after, toward)
            if len(between):
                values = np.asarray(between)
                core = now.model.run(**{**arguments(now.launch), change.resource: values})
                better = core.groups > now.groups if step.direction == "up" else core.groups < now.groups
                assert not better.any()
    for resource in ("registers", "shared"):
        if now.step(resource, "up") is None:
            value = getattr(now.launch, resource)
            lower = np.arange(1 if resource == "registers" else 0, value)
            if len(lower):
                core = now.model.run(**{**arguments(now.launch), resource: lower})
                assert int(core.groups.max()) <= now.groups


@given(settings_of(), THREADS, REGISTERS, SHARED)
@settings(max_examples=60, deadline=None)
def test_fewer_registers_or_bytes_never_cost_groups(
    chosen: dict[str, Any], threads: int, registers: int, shared: int
) -> None:
    falling = occupancy(threads=threads, registers=np.arange(1, 257), shared=shared, **chosen)
    assert (np.diff(falling.groups) <= 0).all()
    if chosen.get("carveout", -1) == -1:
        falling = occupancy(threads=threads, registers=registers, shared=np.arange(0, 101377, 64), **chosen)
        assert (np.diff(falling.groups) <= 0).all()


@given(
    settings_of(),
    st.lists(st.tuples(st.integers(1, 1100), st.integers(0, 600), st.integers(0, 400_000)), min_size=1, max_size=20),
)
@settings(max_examples=60, deadline=None)
def test_arrays_answer_like_single_launches(chosen: dict[str, Any], launches: list[tuple[int, int, int]]) -> None:
    threads, registers, shared = (np.asarray(values) for values in zip(*launches, strict=True))
    many = occupancy(threads=threads, registers=registers, shared=shared, **chosen)
    for i, (t, r, s) in enumerate(launches):
        one = occupancy(threads=t, registers=r, shared=s, **chosen)
        assert msgspec.structs.replace(many.at(i), asked=one.asked) == one
        assert one.groups == many.groups[i] and one.waves == many.waves[i]
        assert one.occupancy == many.occupancy[i]
        assert one.limiters == tuple(name for name in LIMITERS if many.limiters[name][i])
        for name, limit in one.limits.items():
            assert many.limits[name][i] == (UNLIMITED if math.isinf(limit) else limit)


@given(settings_of(), THREADS, REGISTERS, SHARED)
@settings(max_examples=100, deadline=None)
def test_bounds(chosen: dict[str, Any], threads: int, registers: int, shared: int) -> None:
    now = occupancy(threads=threads, registers=registers, shared=shared, **chosen)
    assert 0 <= now.occupancy <= 1
    assert now.groups == min(now.limits.values())
    assert set(now.limiters) == {name for name, most in now.limits.items() if most == now.groups}
    assert bool(now.why) == (now.groups == 0)
    for waste in now.wasted.values():
        assert 0 <= waste.requested <= waste.allocated <= waste.capacity


def test_plateaus_cover_every_value_once() -> None:
    now = occupancy("sm_86", 256, 80, 10_000)
    levels = now.plateaus("registers")
    assert levels[0].low == 1 and levels[-1].high == 256
    assert all(left.high + 1 == right.low for left, right in pairwise(levels))
    wide = occupancy("sm_86", 256, np.arange(1, 257), 10_000)
    assert [level.groups for level in levels for _ in range(level.low, level.high + 1)] == wide.groups.tolist()


def test_joint_step_where_no_single_one_helps() -> None:
    now = occupancy("gfx1100", 256, 100, 20_000, mode="wgp")
    assert now.limiters == ("registers", "shared")
    step = now.best_step
    assert step is not None and step.resource == "registers+shared" and step.groups == (6, 7)


def test_arrays_broadcast_and_keep_their_shape() -> None:
    found = occupancy("sm_86", np.asarray([[64], [256]]), np.asarray([32, 64, 128]))
    assert found.groups.shape == (2, 3)
    assert found.at((1, 1)).groups == occupancy("sm_86", 256, 64).groups
    long = occupancy("sm_86", 256, np.tile(np.arange(1, 257), 200))
    assert long.groups.tolist() == np.tile(occupancy("sm_86", 256, np.arange(1, 257)).groups, 200).tolist()
    assert occupancy("sm_86", np.asarray([], dtype=int), 32).groups.shape == (0,)


def test_unsigned_and_narrow_arrays() -> None:
    for kind in (np.uint8, np.uint32, np.int16):
        found = occupancy("sm_86", np.asarray([33, 64], dtype=kind), 32)
        assert found.waves.tolist() == [32, 32] and found.waves.dtype == np.int32


def test_whole_floats_are_taken_and_fractions_refused() -> None:
    assert occupancy("sm_86", np.asarray([256.0]), 32).groups.tolist() == [6]
    for bad in (np.asarray([256.5]), np.asarray([np.nan])):
        with pytest.raises(TriageError, match="whole numbers"):
            occupancy("sm_86", bad, 32)


@pytest.mark.parametrize(
    ("arguments_", "message"),
    [
        ({"threads": 0, "registers": 32}, "threads 0: expected 1 or more"),
        ({"threads": 32, "registers": -1}, "registers -1"),
        ({"threads": 32, "registers": 32, "shared": -4}, "shared -4"),
        ({"threads": "many", "registers": 32}, "expected a whole number"),
        ({"threads": 32, "registers": 32, "wave": 64}, "warps of 32"),
        ({"threads": 32, "registers": 32, "mode": "wgp"}, "NVIDIA"),
        ({"threads": 32, "registers": 32, "carveout": 101}, "carveout 101"),
        ({"threads": 32, "registers": 32, "cache": "some"}, "cache"),
        ({"threads": 32, "registers": 32, "global_caching": "maybe"}, "global_caching"),
        ({"arch": "gfx906", "threads": 32, "registers": 32, "wave": 32}, "waves of 64"),
        ({"arch": "gfx906", "threads": 32, "registers": 32, "mode": "wgp"}, "has no WGPs"),
        ({"arch": "gfx1030", "threads": 32, "registers": 32, "mode": "both"}, "cu or wgp"),
        ({"arch": "sm_999", "threads": 32, "registers": 32}, "unknown device"),
        ({"threads": np.ones(2, int), "registers": np.ones(3, int)}, "different shapes"),
    ],
)
def test_impossible_arguments_are_one_clear_line(arguments_: dict[str, Any], message: str) -> None:
    with pytest.raises(TriageError, match=message) as caught:
        occupancy(**{"arch": "sm_86", **arguments_})
    assert "\n" not in str(caught.value)


def test_numbers_beyond_the_hardware_do_not_run_and_say_why() -> None:
    cases = [
        occupancy("sm_86", 2000, 32),
        occupancy("sm_86", 32, 10**9),
        occupancy("sm_86", 32, 32, 10**9),
        occupancy("gfx906", 1024, 300),
        occupancy("gfx906", 64, 32, 70_000),
        occupancy("gfx906", 64, 32, sgprs=400),
        occupancy("gfx90a", 64, 32, agprs=257),
        occupancy("sm_90", 64, 32, barriers=65),
        occupancy("sm_86", 64, 32, 60_000, optin=False),
        occupancy("gfx906", 1024, 65),
        occupancy("sm_61", 1024, 64, global_caching="strict"),
    ]
    for now in cases:
        assert now.groups == 0 and now.why and now.occupancy == 0, now.launch


def test_cache_preference_of_kepler_and_volta() -> None:
    assert [occupancy("3.5", 32, 16, 16384, cache=c).limits["shared"] for c in ("none", "equal", "l1")] == [3, 2, 1]
    assert occupancy("7.0", 32, 16, 16384, cache="l1").limits["shared"] == 1
    assert occupancy("7.0", 32, 16, 16384, cache="shared").limits["shared"] == 6


def test_the_module_is_callable_too() -> None:
    found = triage.occupancy(arch="sm_86", threads=256, registers=80)  # type: ignore[operator]
    assert isinstance(found, Occupancy) and found.groups == 3


def test_every_architecture_answers() -> None:
    for arch in ARCHS:
        now = occupancy(arch, 256, 32)
        assert now.groups > 0 and now.arch == arch and now.steps is not None
        assert now.to_dict()["groups"] == now.groups


def test_a_number_beyond_all_is_an_answer() -> None:
    for asked in ({"threads": 10**400, "registers": 32}, {"threads": 256, "registers": 2**63}):
        assert occupancy("sm_86", **asked).to_dict()["groups"] == 0
    assert occupancy("sm_86", threads=256, registers=32, shared=10**30).to_dict()["groups"] == 0
