"""Thread traces of rocprofv3: kernels of a listing, what their waits are for, and where the cycles go."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tests.helpers.dialects import read, read_or_refuse, refusal
from triage.dialects.amd.thread_trace import isa_listing, isa_places, rocprofv3_att
from triage.dialects.amd.thread_trace.isa_listing import Instruction, Listing

GATHER = SAMPLES / "rocprofv3-att" / "stats_gather.csv"
HEAD = '"CodeObj","Vaddr","Instruction","Hitcount","Latency","Stall","Idle","Source"\n'


def of(*texts: str, never: tuple[int, ...] = ()) -> Listing:
    """Instructions of four bytes each, executed once but for some."""
    rows = [Instruction(4 * i, t, float(i not in never), 4.0, 0.0, 0.0, "") for i, t in enumerate(texts)]
    return Listing("k", 1, rows)


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("s_waitcnt vmcnt(3) lgkmcnt(0)", {"vm": 3, "lgkm": 0}),
        ("s_waitcnt_vscnt null, 0x0", {"vs": 0}),
        ("s_wait_loadcnt 0x2", {"load": 2}),
        ("s_wait_loadcnt_dscnt 0x102", {"load": 1, "ds": 2}),
        ("s_wait_kmcnt 0", {"km": 0}),
        ("v_add_f32 v0, v1, v2", {}),
    ],
)
def test_counters_of_a_wait(text: str, waits: dict[str, int]) -> None:
    assert Instruction(0, text, 1, 1, 0, 0, "").waits == waits


def test_a_wait_is_for_all_but_the_newest_of_its_queue() -> None:
    loads = [f"global_load_dword v{i}, v[8:9], off" for i in range(3)]
    code = of(
        *loads, "ds_read_b32 v4, v5", "s_waitcnt vmcnt(1)", "global_store_dword v[8:9], v0, off", "s_waitcnt vmcnt(0)"
    )
    assert code.awaited(4, "vm") == [0, 1]
    assert code.awaited(6, "vm") == [2, 5]  # one load was let stay outstanding before
    assert of("ds_read_b32 v4, v5", loads[0], "s_waitcnt lgkmcnt(0)").awaited(2, "lgkm") == [0]


def test_loops_and_branches_are_followed() -> None:
    code = of(
        "s_branch 2",
        "global_load_dword v0, v[8:9], off",
        "s_endpgm",
        "s_waitcnt vmcnt(0)",
        "global_load_dword v1, v[8:9], off",
        "s_cbranch_scc1 65533",
    )
    assert code.awaited(3, "vm") == [4]


def test_what_was_not_executed_is_not_awaited() -> None:
    load = "buffer_load_dword v0, v1, s[0:3], 0 offen"
    assert of(load, load, "s_waitcnt vmcnt(0)", never=(0,)).awaited(2, "vm") == [1]


def test_walks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isa_listing, "STEPS", 20)
    assert of("global_load_dword v0, v[8:9], off", *["s_nop 0"] * 50, "s_waitcnt vmcnt(0)").awaited(51, "vm") == []


def test_kernels_with_their_waits() -> None:
    table = read(GATHER, "rocprofv3-att")
    assert list(table.names) == ["gather(float const*, int const*, float*, int)"]
    shares = {m: round(float(c.values[0]), 3) for m, c in table.columns.items()}
    assert shares == {"waves.dependency_wait": 0.936, "waves.memory_wait": 0.821, "waves.scratch_wait": 0.0}
    assert table.locate is not None
    first, second = table.locate(0, ["gpu.time", "waves.memory_wait"])
    assert (first.file, first.line, round(first.share, 2)) == ("/home/me/src/gather.hip", 10, 0.68)
    (load,) = first.waits_for
    assert (load.kind, load.mnemonic, load.line, load.reason) == ("global load", "global_load_dword", 9, "vmcnt")
    assert (second.line, second.waits_for[0].line) == (9, 8)


@pytest.mark.parametrize(
    ("text", "place"),
    [("/a/k.hip:41", ("/a/k.hip", 41)), ("", ("", 0)), ("k.hip", ("", 0)), (":4", ("", 0)), ("k:0", ("", 0)), ("k:٣", ("", 0)), ("k:" + "9" * 5000, ("", 0))],
)  # fmt: skip
def test_source_lines(text: str, place: tuple[str, int]) -> None:
    assert isa_places.source_line(text) == place


def test_nothing_was_executed() -> None:
    assert "no instruction was executed" in refusal(HEAD + '1,0,"; k",0,0,0,0,""\n1,0,"s_endpgm",0,0,0,0,""\n')


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_damaged_listings_end_in_one_line(data: st.DataObject) -> None:
    raw = bytearray(GATHER.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(len(HEAD), len(raw) - 1))] = data.draw(st.sampled_from(b'0,";\n:-x9'))
    read_or_refuse(rocprofv3_att, bytes(raw))


def test_waits_for_scratch_are_shared_with_other_loads_of_the_wait() -> None:
    wait = Instruction(8, "s_waitcnt vmcnt(0)", 1.0, 90.0, 80.0, 0.0, "")
    code = of("scratch_load_dword v0, off, s0", "global_load_dword v1, v[8:9], off")
    both = Listing("k", 1, [*code.rows, wait])
    assert isa_places.waiting_for_scratch(both) == 40.0
    assert isa_places.waiting_for_scratch(Listing("k", 1, [code.rows[1], wait])) == 0.0
