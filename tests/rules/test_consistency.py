"""No rule contradicts another, and no workload with complete facts goes without a class.

Two rules oppose each other when following one makes the other's advice wrong. Advice that pulls in two directions by
design is no contradiction: between 60 % and 80 % SOL the method follows both of its cases, and it lets an engineer
choose between more warps and more loads in flight per warp.
"""

import re
from itertools import product
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from tests.conftest import bare_capture
from triage import schema
from triage.capture.capture import KINDS, Capture
from triage.derive import View, derivations
from triage.derive.vendor import OWN
from triage.diagnosis.limiter import judge
from triage.ground.limiters import BANDS, CLASSES
from triage.inference.engine import Engine
from triage.inference.evaluate import infer
from triage.inference.groups import compile_program, reads
from triage.rulebook import packs
from triage.rulebook.packs import Rulebook

MORE_WARPS = {
    "low-occupancy-sm", "register-limited-warps", "attribute-limited-warps", "shared-memory-limited-warps",
    "out-of-order-pixel-warps", "group-slot-limited-warps", "launch-rate-limit", "low-theoretical-occupancy", "register-limited-kernel", "shared-limited-kernel",
    "achieved-occupancy-gap",
}  # fmt: skip
SHORTER_STALLS = {"texture-latency", "barrier-stalls", "issue-stalls", "long-scoreboard-stalls"}
MORE_WAVES = {
    "vgpr-limited-waves", "sgpr-limited-waves", "lds-limited-waves", "other-resource-limits", "one-large-group",
    "dispatch-limited-waves", "one-round-of-groups",
}  # fmt: skip
# what tells how busy a unit is
UNITS = ("valu.busy", "salu.", "mfma.busy", "vmem.", "branch.", "lds.", "pipe", "l1tex.", "l2.", "vram.", "sm.", "eu.")
ONLY_FEWER_INSTRUCTIONS = {"issue-limited-sm", "sm-tex-interface"}
# (what one side says, its rules, what the other side says, its rules or concepts)
OPPOSES = [
    ("add warps", MORE_WARPS, "warps cannot help", ONLY_FEWER_INSTRUCTIONS),
    ("shorten stalls", SHORTER_STALLS, "the SM never waits", ONLY_FEWER_INSTRUCTIONS),
    ("raise hit rates", {"poor-tex-hit-rate"}, "hits do not matter", ONLY_FEWER_INSTRUCTIONS),
    ("add warps", MORE_WARPS, "nothing is left to raise", {"throughput-exhausted"}),
    ("add warps", MORE_WARPS, "copies use no warps", {"copy-range"}),
    ("cut math", {"fp64-on-slow-pipe", "non-fused-arithmetic", "idle-tensor-cores"}, "memory limits", {"memory-limits"}),
    ("larger groups", {"group-slot-limited-warps"}, "smaller groups", {"barrier-stalls"}),
    ("fewer, longer groups", {"launch-rate-limit"}, "more, smaller groups", {"idle-sms"}),
    ("resources are short", {"register-limited-warps", "shared-memory-limited-warps"}, "none is short", {"launch-rate-limit"}),
    ("fewer texture instructions only", {"sm-tex-interface"}, "cheaper instructions", {"issue-limited-sm"}),
    ("add waves", MORE_WAVES, "a unit is at its peak", {"busy-unit"}),
    ("add waves", MORE_WAVES, "the matrix cores are full", {"matrix-cores-limit"}),
    ("compute less", {"vector-alu-bound"}, "move less", {"memory-bandwidth"}),
    ("fill lanes", {"divergent-waves"}, "the lanes are full", {"vector-alu-bound"}),
    ("shorten waits", {"waiting-waves"}, "memory is full", {"memory-bandwidth"}),
    ("the CPU is late", {"cpu-bound-workload"}, "copies explain it", {"copies-explain-idle"}),
]  # fmt: skip


def base_metrics(book: Rulebook) -> list[str]:
    """Everything a tool may export that any rule reads, directly or through derivations."""
    todo = [m for r in book.rules for w in r.when.values() for c in w.conditions for m in reads(r, c.names)]
    todo += [m for r in book.rules for m in r.needs]
    found, seen = set(), set()
    while todo:
        m = todo.pop()
        if m in seen:
            continue
        seen.add(m)
        d = derivations().get(m)
        if d:
            todo += [*d.inputs, *d.optional, *d.ask]
        if not d or schema.get(m).aliases:
            found.add(m)
    return sorted(m for m in found if not m.startswith(("device.", "frame.", "kind.")))


def capture(facts: dict[str, Any], kinds: Any) -> Capture:
    names = [f"{('w', 'gemm_')[i % 2]}{i}" for i in range(len(kinds))]
    made: Capture = bare_capture(facts, names, kinds, collectable=frozenset(schema.all_metrics()))
    return made


def random_facts(book: Rulebook, n: int, seed: int, own: bool) -> Capture:
    """Workloads whose facts cover the corners: ratios crowd at 0 and 1, a fifth of the cells is missing.

    own: with the counters that only AMD's tools have, which make it an AMD capture.
    """
    rng = np.random.default_rng(seed)
    facts = {}
    for m in base_metrics(book):
        ratio = schema.get(m).unit == "ratio"
        own_rng = np.random.default_rng([seed, crc32(m.encode())])  # a new metric leaves the others' facts as they are
        values = own_rng.beta(0.6, 0.6, n) if ratio else 10 ** own_rng.uniform(-1, 6, n)
        values[own_rng.random(n) < 0.2] = np.nan
        facts[m] = values
    # SM and TEX together in every fourth workload: the corner that the interface rule is about
    twin = rng.random(n) < 0.25
    facts["l1tex.throughput"][twin] = facts["sm.throughput"][twin]
    quiet = rng.choice(
        [1.0, 0.75, 0.4], n
    )  # of so many units one is nearly always busy; that would hide the other half
    calm = rng.random(n) < 0.3  # no launch stall at all
    for m in facts:
        if m.startswith(("launch_stall.", "sched.")):
            facts[m][calm] *= 0.02
        if m.endswith(".throughput"):
            facts[m] *= quiet
    others = OWN["intel"] if own else (*OWN["amd"], *OWN["intel"])
    facts = {m: v for m, v in facts.items() if not m.startswith(others)}
    if own:
        idle = rng.random(n) < 0.6  # of so many units one is nearly always busy
        for m in facts:
            if schema.get(m).unit == "ratio" and m.startswith(UNITS):
                facts[m] = np.where(idle, facts[m] * 0.3, facts[m])
        facts["launch.grid_size"] = 10 ** rng.uniform(0, 5, n).round()
    return capture(facts, rng.choice(np.array([*KINDS[:6], ""], dtype=object), n))


@pytest.mark.slow
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("method", ["v1", "v2"])
def test_no_two_findings_of_one_workload_oppose_each_other(book: Rulebook, method: str, own: bool) -> None:
    facts = random_facts(book, 4_000, 7, own)
    view = View(facts)
    truth = infer(view, Engine(compile_program(book, method, "workload")))
    shown = {book.rules[i].name: mask for i, mask in truth.fired.items() if not book.rules[i].is_concept}
    nothing = np.zeros(view.size, dtype=bool)
    declared = {c for r in book.rules for c in (r.name, *r.concludes)}

    def stands(name: str) -> Any:
        if name in shown:
            return shown[name]
        assert name in declared, f"{name} is no rule or concept"
        return nothing if name in book.by_name and not book.by_name[name].is_concept else truth.holds(name)

    wrong = []
    for one, ours, other, theirs in OPPOSES:
        for a, b in product(sorted(ours), sorted(theirs)):
            both = stands(a) & stands(b)
            if both.any():
                wrong.append(
                    f"{a} ({one}) and {b} ({other}): {int(both.sum())} workloads, first w{int(np.flatnonzero(both)[0])}"
                )
    assert wrong == []


@pytest.mark.slow
def test_the_random_facts_reach_the_rules_that_oppose_each_other(book: Rulebook) -> None:
    """A property over facts that never fire a rule would prove nothing about it."""
    seen = set()
    for method, own in product(("v1", "v2"), (False, True)):
        view = View(random_facts(book, 4_000, 7, own))
        truth = infer(view, Engine(compile_program(book, method, "workload")))
        seen |= {book.rules[i].name for i, mask in truth.fired.items() if mask.any()}
        seen |= {c for c in truth.concluded if truth.holds(c).any()}
    never = {name for _, ours, _, theirs in OPPOSES for name in (*ours, *theirs)} - seen
    assert never == set()


def test_every_workload_with_complete_facts_gets_a_class() -> None:
    """The SOL cube, on and beside every band edge: no combination falls between two bands."""
    steps = np.array([0.0, 0.3, 0.4, 0.5999, 0.6, 0.6001, 0.8, 0.8001, 1.0])
    units = ("sm", "l1tex", "l2", "vram")
    cube = np.array(list(product(steps, repeat=len(units)))).T
    rng = np.random.default_rng(1)
    facts = {f"{u}.throughput": cube[i] for i, u in enumerate(units)}
    for unit in ("crop", "zrop", "pd", "vaf", "vpc", "raster"):
        facts[f"{unit}.throughput"] = rng.choice(steps, cube.shape[1])
    facts["gpu.idle"] = rng.choice(steps, cube.shape[1])
    verdict = judge(View(capture(facts, np.full(cube.shape[1], "", dtype=object))))
    assert not (verdict.limiter == CLASSES.index("unknown")).any()
    assert not (verdict.band == list(BANDS).index("unknown")).any()


@pytest.mark.parametrize("waves", [0.2, 1.0, 40.0, np.nan])
def test_the_two_sides_alone_suffice_for_a_class(waves: float) -> None:
    """What a compute profiler always exports: SM and memory throughput, in hundredths."""
    side = np.linspace(0, 1, 101)
    sm, memory = (v.ravel() for v in np.meshgrid(side, side))
    facts = {"sm.throughput": sm, "memory.throughput": memory, "launch.waves": np.full(sm.shape, waves)}
    verdict = judge(View(capture(facts, np.full(sm.shape, "compute", dtype=object))))
    assert not (verdict.limiter == CLASSES.index("unknown")).any()


NO_DEED = {"the", "it", "its", "they", "there", "this", "that", "these", "a", "an", "only", "many", "most", "what", "at", "each", "every",
           "integer", "special", "one", "two", "some", "no", "more", "fewer"}  # fmt: skip


def test_advice_that_may_stand_first_begins_with_the_deed(book: Rulebook) -> None:
    """A to-do list is read as orders: what to do, then the number it rests on."""
    said = []
    for rule in book.rules:
        for a in rule.advice:
            word = a.text.split()[0].lower()
            if word in NO_DEED or word.startswith("{"):
                said.append(f"{rule.id}: {a.text[:80]}")
            if not a.only_if and not a.where:
                break
    assert said == []


def test_advice_begins_with_the_deed(book: Any) -> None:
    """Not with what was measured: `L3 hits only 4.0 % - block the loops` is an observation first."""
    wrong = [(r.id, a.text[:60]) for r in book.rules for a in r.advice if re.match(r"\{|L[123] |\d|Only ", a.text)]
    assert wrong == []


def test_a_formula_hides_a_number_of_the_method() -> None:
    """`{idle}` of a rule with a formula `idle` is that formula, not the method's limit of GPU idle time."""
    rule = next(r for r in packs.load().rules if r.name == "tiny-dispatches")
    assert "{idle:.0%}" in rule.finding
