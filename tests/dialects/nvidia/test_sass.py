"""Machine code: fields of a word, ways through a body, what a stall waits for, and which argument an access goes through."""

import importlib
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers import cubins
from tests.helpers import ncu_reports as w
from tests.helpers import sass as s
from tests.helpers.dialects import read
from triage.capture.location import Producer
from triage.dialects.nvidia.report import code, elf, line_table
from triage.dialects.nvidia.sass import arguments, body, words
from triage.dialects.nvidia.sass.arguments import Argument
from triage.dialects.nvidia.sass.body import Body
from triage.dialects.nvidia.sass.producers import AWAITED, QUEUES, fillers, for_operands, meaning, producers, used
from triage.dialects.nvidia.sass.words import Name, Word

LONG, SHORT = "long_scoreboard", "short_scoreboard"
KERNEL, BASE, SAMPLED = "_Z1kPKfPfi", 0x7000_0000, "smsp__pcsamp_warps_issue_stalled_"


def of(*code_: bytes, sm: int = 80) -> Body:
    return Body(b"".join(code_), sm)


# lines of cuobjdump --dump-sass as people published them: words, compute capability, mnemonic, register, target
PUBLISHED = [
    (0x00000A00FF017624, 0x000FC400078E00FF, 75, "IMAD", 1, None),  # IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28]
    (0x0000000304057221, 0x000FC80000000000, 80, "FADD", 5, None),  # FADD R5, R4, R3
    (0x0000000402047981, 0x000EA8000C1E1900, 86, "LDG", 4, None),
    (0xFFFFFFF000007947, 0x000FC0000383FFFF, 80, "BRA", 255, -16),  # to itself
    (0xFFFFFFFC00FC7947, 0x000FC0000383FFFF, 90, "BRA", 255, -16),
    (0x000000000000794D, 0x000FEA0003800000, 90, "EXIT", 255, None),
    (0x00006B00FF0477AC, 0x000E220008000A00, 120, "LDCU", 4, None),  # LDCU.64 UR4, c[0x0][0x358]
    (0x0000E400FF027B82, 0x000E300000000A00, 120, "LDC", 2, None),  # LDC.64 R2, c[0x0][0x390]
    (0x0000000502007986, 0x000FE2000C101904, 86, "STG", 255, None),
    (0x00000008040075B4, 0x0011D80008008000, 90, "UTMALDG", 255, None),
]


@pytest.mark.parametrize(("low", "high", "sm", "mnemonic", "register", "target"), PUBLISHED)
def test_words_as_they_were_published(
    low: int, high: int, sm: int, mnemonic: str, register: int, target: int | None
) -> None:
    word = Word(low, high, sm)
    assert (word.name.mnemonic, word.destination, word.target) == (mnemonic, register, target)


def test_one_opcode_may_change_its_name() -> None:
    assert [words.name(0x435, sm).mnemonic for sm in (80, 100, 120)] == ["HFMA2", "HFMA2", "IADD"]
    assert [words.name(0x98E, sm).mnemonic for sm in (80, 90)] == ["RED", "REDG"]
    assert (words.name(0x9AB, 90).mnemonic, words.name(0x5AB, 90).mnemonic) == ("ERRBAR", "CGAERRBAR")
    assert words.name(0x2FE, 80) == Name()


def test_operands() -> None:
    assert Word(0x00006B00FF0477AC, 0x000E220008000A00, 120).constant == (0, 0x358)
    assert Word(0x0000E400FF027B82, 0x000E300000000A00, 120).constant == (0, 0x390)
    load = of(s.word(s.LDG_UR, 4, 2, 0, 4, sets=1, high=s.wide(16))).word(0)
    assert (load.written, load.read[0]) == (range(4, 8), range(2, 4))
    store = of(s.word(s.STG, 0, 10, 6, 4, high=s.wide(8))).word(0)
    assert (list(store.written), store.read) == ([], [range(10, 12), range(6, 8)])


def test_a_loop_is_followed_over_its_back_edge() -> None:
    found = of(
        s.word(s.LDG, 9, 2, sets=1),
        s.word(s.FADD, 5, 4, 3, waits=(0,)),
        s.word(s.LDG, 4, 2, sets=0),
        s.jump(s.BRA, -48, guard=0),
        s.word(s.EXIT),
    )
    assert found.before(1) == [0, 3]
    assert producers(found, 1, LONG) == [2]


def test_no_way_leads_past_a_jump_or_the_end() -> None:
    found = of(
        s.word(s.LDG, 4, 2, sets=0),
        s.jump(s.BRA, 16),
        s.word(s.FADD, 5, 4, 3, waits=(0,)),  # nothing comes here
        s.word(s.FADD, 5, 4, 3, waits=(0,)),
    )
    assert (found.before(2), found.before(3)) == ([], [2, 1])
    assert producers(found, 2, LONG) == []
    assert producers(found, 3, LONG) == [0]


def test_a_jump_table_may_lead_anywhere() -> None:
    found = of(s.word(s.LDG, 4, 2, sets=0), s.word(s.BRX, 0, 6), s.word(s.FADD, 5, 4, 3, waits=(0,)))
    assert producers(found, 2, LONG) == [0]


def test_a_call_comes_back() -> None:
    found = of(
        s.word(s.LDG, 4, 2, sets=0),
        s.jump(s.CALL, 16),
        s.word(s.FADD, 5, 4, 3, waits=(0,)),
        s.word(s.FADD, 6, 4, 3, waits=(0,)),
    )
    assert producers(found, 2, LONG) == producers(found, 3, LONG) == [0]


def test_who_waited_before_ends_the_search() -> None:
    found = of(
        s.word(s.LDG, 8, 2, sets=0),
        s.word(s.FADD, 5, 8, 3, waits=(0,)),
        s.word(s.LDG, 4, 2, sets=0),
        s.word(s.FADD, 5, 4, 3, waits=(0,)),
    )
    assert producers(found, 3, LONG) == [2]


def test_every_setter_of_a_scoreboard_is_awaited() -> None:
    """Whichever of their registers the waiting instruction uses: the scoreboard is clear when the last is done."""
    loads = [s.word(s.LDG, r, 2, sets=0) for r in (8, 12, 16)]
    for operands in ((12, 3), (12, 16), (20, 21)):
        found = of(*loads, s.word(s.FADD, 5, *operands, waits=(0,)))
        assert producers(found, 3, LONG) == [0, 1, 2]
    assert [used(found, i, 3) for i in range(3)] == [False] * 3


def test_a_register_may_be_awaited_that_is_still_read() -> None:
    found = of(s.word(s.STG, 0, 10, 9, 4, reads=3), s.word(s.FADD, 9, 1, 2, waits=(3,)))
    assert producers(found, 1, LONG) == [0]


def test_kinds_fit_the_reason_where_some_do() -> None:
    found = of(s.word(s.S2R, 4, sets=0), s.word(s.LDG, 5, 2, sets=0), s.word(s.FADD, 6, 4, 5, waits=(0,)))
    assert (producers(found, 2, LONG), producers(found, 2, SHORT)) == ([1], [0])
    double = of(s.word(s.F2F, 4, b=2, sets=0), s.word(s.DADD, 6, 4, c=8, waits=(0,)))
    assert producers(double, 1, LONG) == [0]


def test_asynchronous_copies_stand_behind_their_commit() -> None:
    found = of(
        s.word(s.LDGSTS, 6, 2),
        s.word(s.LDGDEPBAR, 0, sets=0),
        s.word(s.LDGSTS, 7, 2),
        s.word(s.LDGSTS, 8, 2),
        s.word(s.LDGDEPBAR, 0, sets=0),
        s.word(s.DEPBAR, 0, 0, 0, 0, low=1 << 47),
    )
    assert producers(found, 5, LONG) == [0, 2, 3]
    assert found.waits[5] == 1
    some = Body(b"".join([s.word(s.DEPBAR, 0, 0, 0, 0, low=1 << 47 | 1 << 38)]), 80)
    assert (some.waits[0], some.awaited(0)) == (0, 1)  # one group may stay outstanding


@pytest.mark.parametrize("sm", [0, 52, 61, 200])
def test_other_encodings_are_not_read(sm: int) -> None:
    assert len(of(s.word(s.LDG, 4, 2, sets=0), sm=sm)) == 0


def test_walks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "STEPS", 50)
    found = of(s.word(s.LDG, 4, 2, sets=0), *[s.word(s.NOP)] * 100, s.word(s.FADD, 5, 4, 3, waits=(0,)))
    assert producers(found, 101, LONG) == []
    monkeypatch.setattr(body, "_MAX_INSTRUCTIONS", 8)
    assert len(of(*[s.word(s.NOP)] * 100)) == 8


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=2_000), st.sampled_from([70, 75, 80, 90, 120]), st.binary(max_size=200))
def test_bytes_that_are_no_code(raw: bytes, sm: int, about: bytes) -> None:
    found = Body(raw, sm)
    known = arguments.arguments(about)
    for i in range(len(found)):
        for reason in (LONG, SHORT):
            awaited = producers(found, i, reason)
            assert all(0 <= p < len(found) for p in awaited)
            for p in awaited:
                meaning(found, p, i, reason)
        assert all(0 <= b < len(found) for r in ("barrier", "drain") for b in found.issued(i, r))
        assert i in fillers(found, "math_pipe_throttle", found.word(i).pipe) or not found.word(i).pipe
        arguments.argument(found, i, known)


ARGUMENTS = [Argument(0, 0x160, 8), Argument(1, 0x168, 8), Argument(2, 0x170, 4)]


def test_arguments_of_a_kernel() -> None:
    about = s.info([(0, 8), (8, 8), (16, 4)])
    assert arguments.arguments(about) == ARGUMENTS
    assert arguments.arguments(about[:30]) == []  # the bank comes first, then what is whole
    assert arguments.arguments(b"") == []


@pytest.mark.parametrize(
    ("signature", "types"),
    [
        ("void k<float, (int)3>(const float *, std::pair<int, int>, T (*)(int))", ["const float*", "std::pair<int, int>", "T (*)(int)"]),
        ("(anonymous namespace)::k(float*, int)", ["float*", "int"]),
        ("k()", []),
        ("triton_kernel_0", []),
        ("k(float*))", []),
    ],
)  # fmt: skip
def test_types_of_a_signature(signature: str, types: list[str]) -> None:
    assert arguments.types(signature) == types


def test_an_address_leads_to_its_argument() -> None:
    found = of(
        s.word(s.IMAD_WIDE, 2, 5, 0, 9, low=s.constant(0x160)),
        s.word(s.MOV, 6, b=0, low=s.constant(0x168)),
        s.word(0x810, 8, 6, 0, s.RZ, low=64 << 32),  # IADD3 R8, R6, 0x40, RZ
        s.word(s.LDG, 10, 2, sets=0),
        s.word(s.LDG, 12, 8, sets=0),
        s.word(s.MOV, 2, b=0, low=s.constant(0x168), guard=0),
        s.word(s.LDG, 14, 2, sets=0),  # one or the other
        s.word(s.LDG, 16, 10, sets=0),  # from memory
    )
    named = [arguments.argument(found, i, ARGUMENTS) for i in (3, 4, 6, 7)]
    assert [a.number if a else None for a in named] == [0, 1, None, None]


def shows(first: bytes, second: bytes, reason: str = LONG) -> str:
    return meaning(of(first, second), 0, 1, reason)


def test_what_waits_show() -> None:
    load = s.word(s.LDG, 4, 2, sets=0)
    add = s.word(s.FADD, 5, 4, 3, waits=(0,))
    assert shows(load, s.word(s.STS, 0, 6, 4, waits=(0,))) == "staging without cp.async"
    assert shows(load, s.word(s.LDG, 8, 4, waits=(0,))) == "a pointer chase"
    assert (
        shows(load, s.word(s.LDG, 4, 6, waits=(0,))) == ""
    )  # it overwrites the register, and needs no address from it
    assert shows(s.word(s.LDL, 4, 1, sets=0), add).startswith("register spills")
    assert shows(s.word(s.F2F, 4, b=2, sets=0), add) == "no memory latency"
    assert shows(s.word(s.F2F, 4, b=2, sets=0), add, SHORT) == shows(load, add) == ""


def report(instances: dict[str, dict[int, w.Value]], code_: bytes, sm: int = 80) -> bytes:
    cubin = cubins.cubin({KERNEL: code_}, sm=sm, info={KERNEL: s.info([(0, 8), (8, 8), (16, 4)])})
    launch = w.Launch(
        "k(const float *, float *, int)", {"gpu__time_duration.sum": 1},
        {"launch__function_pcs": {0: BASE}, **instances}, mangled=KERNEL, code=5,
    )  # fmt: skip
    return w.report([launch], codes=[w.Code(5, cubin, functions=[(KERNEL, BASE, 1)])])


STAGING = b"".join(
    [
        s.word(s.IMAD_WIDE, 2, 5, 0, 9, low=s.constant(0x160)),
        s.word(s.LDG_UR, 9, 2, 0, 4, sets=2, high=s.wide(4)),
        s.word(s.STS, 0, 6, 9, 4, waits=(2,), high=s.wide(4)),
        s.word(s.EXIT),
    ]
)
LONG_SAMPLES, ALL = f"{SAMPLED}{LONG}", "smsp__pcsamp_sample_count"


def waits(data: bytes) -> tuple[tuple[Producer, ...], str, float]:
    locate = read(data, "ncu-rep").locate
    assert locate is not None
    place = locate(0, ["stall.top_share"])[0]
    return place.waits_for, place.waits_unknown, place.share


def test_a_shared_store_waits_for_a_global_load() -> None:
    at = {BASE + 0x20: 90}
    samples = {LONG_SAMPLES: at, f"{SAMPLED}wait": {BASE + 0x20: 10}, ALL: {BASE + 0x20: 100}}
    counts = {
        "inst_executed": {BASE + 16 * i: 10 for i in range(4)},
        "memory_l2_theoretical_sectors_global": {BASE + 16: 40},
    }
    (found,), why, _ = waits(report({**samples, **counts}, STAGING))
    assert (why, found.waiter, found.kind, found.mnemonic, found.offset) == (
        "",
        "shared store",
        "global load",
        "LDG",
        16,
    )
    assert (found.argument, found.type, found.per_request, found.unit) == (1, "const float*", 4.0, "sectors")
    assert (round(found.share, 3), found.candidates, found.meaning) == (0.9, 1, "staging without cp.async")


def test_a_queue_is_filled_by_the_accesses_that_move_most() -> None:
    samples = {f"{SAMPLED}lg_throttle": {BASE + 0x10: 50}, ALL: {BASE + 0x10: 50}}
    counts = {"memory_l2_theoretical_sectors_global": {BASE: 10, BASE + 0x10: 90}}
    code_ = s.word(s.LDG, 9, 2, sets=2) + s.word(s.STG, 0, 6, 9, 4) + s.word(s.EXIT)
    found, _, _ = waits(report({**samples, **counts}, code_))
    assert [(p.kind, round(p.share, 2), p.queue) for p in found] == [
        ("global store", 0.9, True),
        ("global load", 0.1, True),
    ]


@pytest.mark.parametrize(
    ("code_", "sm", "why"),
    [
        (STAGING, 61, "its machine code is not in the report"),
        (STAGING[:32], 80, "its machine code is not in the report"),
        (STAGING[:16] + bytes(16) + STAGING[32:], 80, "nothing sets the scoreboards that it waits for"),
    ],
)
def test_why_no_instruction_is_named(code_: bytes, sm: int, why: str) -> None:
    samples = {LONG_SAMPLES: {BASE + 0x20: 90}, ALL: {BASE + 0x20: 90}}
    assert waits(report(samples, code_, sm))[:2] == ((), why)


def test_shares_are_of_all_samples_though_few_reasons_were_kept() -> None:
    """And a warp that is ready does not wait."""
    samples = {
        LONG_SAMPLES: {BASE + 0x20: 5},
        f"{SAMPLED}not_selected": {BASE: 100, BASE + 0x20: 20},
        ALL: {BASE: 1_000, BASE + 0x20: 120},
    }
    found, _, share = waits(report(samples, STAGING))
    assert (found, round(share, 2)) == ((), 0.9)
    assert waits(report({LONG_SAMPLES: {BASE + 0x20: 60}}, STAGING))[0][0].share == 1.0
    assert waits(report({LONG_SAMPLES: {BASE + 0x20: 5}}, STAGING))[0] == ()  # chance


def test_lines_of_linked_code() -> None:
    """Nsight Compute 2021.2 to 2022.1: symbols and line table hold the load address."""
    rows = [(0, 3), (32, 4)]
    for linked in (0, BASE):
        found = elf.read(cubins.cubin({"a": 64, "b": 64}, ("/src", "k.cu", {"a": rows, "b": rows}), linked=linked))
        assert found is not None
        assert [offset - 0x1000 * (linked > 0) for offset in line_table.read(found).offsets[7]] == [
            linked,
            linked + 32,
            linked + 64,
        ]
    data = cubins.cubin({KERNEL: STAGING}, ("/src", "k.cu", {KERNEL: rows}), sm=86, linked=BASE)
    held = code.Code()
    held.cubin, held.table = data, [(KERNEL, BASE, 1)]
    where = code.Map(held, KERNEL, "k", BASE)
    spot, word = where.spot(BASE + 0x20), where.instruction(BASE + 0x20)
    assert spot is not None and spot.place == ("/src/k.cu", 4)
    assert word is not None and word[0].word(word[1]).name.mnemonic == "STS"
    assert where.instruction(BASE + 0x21) is None and where.instruction(BASE + 64) is None


def test_the_architecture_of_a_cubin() -> None:
    old = bytearray(cubins.cubin({"a": 16}, sm=0x340556))
    new = bytearray(cubins.cubin({"a": 16}, sm=0x6005904))
    new[8] = 8
    assert [found.sm for raw in (old, new) if (found := elf.read(bytes(raw)))] == [86, 89]
    struct.pack_into("<H", old, 18, 62)  # a program for the host
    found = elf.read(bytes(old))
    assert found is not None and found.sm == 0


def test_kinds_of_reasons_and_queues_are_those_of_the_table() -> None:
    known = {name.kind for entries in words._table().values() for _, _, name in entries}
    used = {kind for kinds in (*AWAITED.values(), *QUEUES.values()) for kind in kinds}
    assert used <= known


def test_words_as_a_disassembler_prints_them() -> None:
    """tests/data/sm_90.sass: one line of cuobjdump -sass per opcode and suffix of the kernels of sample_captures/ground_truth."""
    listing = importlib.import_module("benchmarks.listing")
    differing: list[str] = []
    found = listing.compare(Path(__file__).parents[2] / "data" / "sm_90.sass", differing)
    assert differing == [] and {found[f] for f in listing.FIELDS} == {130}


def test_a_count_of_the_newest_may_stay_outstanding() -> None:
    """DEPBAR.LE SB0, 1: of the groups of copies only those before the newest are awaited."""
    group = [s.word(s.LDGSTS, 6, 2), s.word(s.LDGDEPBAR, 0, sets=0)]
    two = of(*group, *group, s.word(s.DEPBAR, 0, 0, 0, 0, low=1 << 47 | 1 << 38))
    assert producers(two, 4, LONG) == [0]
    loop = of(*group, s.word(s.DEPBAR, 0, 0, 0, 0, low=1 << 47 | 1 << 38), s.jump(s.BRA, -64, guard=0))
    assert producers(loop, 2, LONG) == [0]  # of the round before


def test_a_load_may_wait_until_a_store_has_read_its_registers() -> None:
    found = of(s.word(s.STG, 0, 10, 9, 4, reads=0), s.word(s.LDG, 8, 2, sets=0), s.word(s.FADD, 9, 8, 2, waits=(0,)))
    assert producers(found, 2, LONG) == [0, 1]
    assert [for_operands(found, i, 2) for i in (0, 1)] == [True, False]


@pytest.mark.parametrize(("sm", "reason", "found"), [
    (75, "tex_throttle", [0, 1]), (90, "tex_throttle", []), (75, "mio_throttle", [3]), (90, "mio_throttle", [1, 3]),
])  # fmt: skip
def test_double_precision_is_in_the_queue_of_textures_where_its_pipe_is_shared(
    sm: int, reason: str, found: list[int]
) -> None:
    code_ = [s.word(s.DADD, 6, 4, c=8), s.word(s.F2F, 4, b=2), s.word(s.FADD, 5, 4, 3), s.word(s.S2R, 4)]
    assert fillers(of(*code_, sm=sm), reason) == found


def test_a_pipe_is_filled_by_what_runs_on_it() -> None:
    found = of(
        s.word(s.FADD, 5, 4, 3),
        s.word(s.IMAD, 5, 4, 3, 2),
        s.word(s.MOV, 5, b=0),
        s.word(s.DADD, 6, 4, c=8),
        s.word(s.LDG, 4, 2),
    )
    assert [found.word(i).pipe for i in range(len(found))] == ["FMA", "FMA", "ALU", "FP64", ""]
    assert fillers(found, "math_pipe_throttle", "FMA") == [0, 1] and fillers(found, "math_pipe_throttle") == []


def test_an_index_from_memory_is_a_pointer_chase() -> None:
    load, add = s.word(s.LDG, 4, 2, sets=0), s.word(s.FADD, 5, 4, 3, waits=(0,))
    index = s.word(s.IMAD, 6, 4, 7, 5, waits=(0,))
    assert meaning(of(load, index, s.word(s.LDG, 8, 6, sets=0)), 0, 1, LONG) == "a pointer chase"
    assert meaning(of(load, index, s.word(s.STG, 0, 6, 8, 4)), 0, 1, LONG) == ""
    assert meaning(of(load, add, s.word(s.LDG, 8, 6, sets=0)), 0, 1, LONG) == ""
    loop = of(load, s.word(s.IMAD, 2, 4, 7, 5, waits=(0,)), s.jump(s.BRA, -48, guard=0), s.word(s.EXIT))
    assert meaning(loop, 0, 1, LONG) == "a pointer chase"


BLOCK = b"".join([
    s.word(s.BAR),
    s.word(s.LDG_UR, 9, 2, 0, 4, sets=2, high=s.wide(4)),
    s.word(s.FADD, 5, 9, 3, waits=(2,)),
    s.word(s.BAR, low=1 << 54, high=1 << 16),
    s.word(s.NOP),
    s.word(s.LDS, 4, 5, sets=1),
    s.word(s.EXIT),
    s.jump(s.BRA, -16),
])  # fmt: skip


def test_samples_behind_a_barrier_or_the_end_are_put_to_it() -> None:
    """The counters have them at the next instruction; late warps are those since the barrier before."""
    behind, late = BASE + 0x50, BASE + 0x20
    samples = {
        f"{SAMPLED}barrier": {behind: 900},
        LONG_SAMPLES: {late: 80},
        f"{SAMPLED}drain": {BASE + 0x70: 100},
        ALL: {behind: 920, late: 80, BASE + 0x70: 100},
    }
    locate = read(report(samples, BLOCK), "ncu-rep").locate
    assert locate is not None
    places = locate(0, ["stall.top_share"])
    assert [(p.mnemonic, p.offset, p.value) for p in places] == [
        ("BAR", 0x30, 900),
        ("EXIT", 0x60, 100),
        ("FADD", 0x20, 80),
    ]
    (barrier,) = places[0].waits_for
    assert (barrier.mnemonic, barrier.number, barrier.share, barrier.offset) == ("BAR", 1, 1.0, 0x30)
    found = barrier.late
    assert found is not None
    assert (found.offset, found.reason, found.kind, found.argument, found.share) == (
        0x20,
        "long scoreboard",
        "global load",
        0,
        1.0,
    )
    assert [p.mnemonic for p in locate(0, ["stall.barrier"])] == ["BAR"]


def test_figures_of_several_accesses_are_not_averaged() -> None:
    loads = b"".join(s.word(s.LDG_UR, 9 + i, 2, 0, 4, sets=2, high=s.wide(4)) for i in range(2))
    code_ = loads + s.word(s.FADD, 5, 9, 10, waits=(2,)) + s.word(s.EXIT)
    lanes = {BASE + 16 * i: 320 for i in range(4)}
    counts = {
        "inst_executed": {BASE + 16 * i: 10 for i in range(4)},
        "thread_inst_executed": lanes,
        "thread_inst_executed_true": lanes,
        "memory_l2_theoretical_sectors_global": {BASE: 40, BASE + 16: 320},
    }
    samples = {LONG_SAMPLES: {BASE + 0x20: 90}, ALL: {BASE + 0x20: 90}}
    (found,), _, _ = waits(report({**samples, **counts}, code_))
    assert (found.instructions, found.candidates, found.per_request, found.figures) == (2, 2, 32.0, (4.0, 32.0))
    off = {**counts, "thread_inst_executed_true": dict.fromkeys(lanes, 100)}  # whole warps may be turned off
    assert waits(report({**samples, **off}, code_))[0][0].per_request == 0.0


def test_an_atomic_has_operations_of_its_own() -> None:
    code_ = s.word(0x9A8, 9, 2, 4, 4, sets=2) + s.word(s.FADD, 5, 9, 3, waits=(2,)) + s.word(s.EXIT)
    counts = {
        "inst_executed": {BASE: 10},
        "thread_inst_executed": {BASE: 320},
        "thread_inst_executed_true": {BASE: 320},
        "memory_l2_theoretical_sectors_global": {BASE: 10},
    }
    samples = {LONG_SAMPLES: {BASE + 0x10: 90}, ALL: {BASE + 0x10: 90}}
    (found,), _, _ = waits(report({**samples, **counts}, code_))
    assert (found.kind, found.mnemonic, found.per_request, found.operations) == ("global atomic", "ATOMG", 1.0, 32.0)
