"""Missing is not zero, on every bundled export: without a counter, what fired turns blind, never silent."""

from functools import cache

import numpy as np
import pytest
from msgspec.structs import replace

from tests.conftest import ROOT
from tests.regolden import samples
from triage.capture.capture import Capture
from triage.derive import View
from triage.diagnosis.gain import fractions
from triage.diagnosis.root_causes import CauseIndex, Leaders
from triage.inference.engine import Engine
from triage.inference.evaluate import Lookup, Truth, infer
from triage.inference.groups import compile_program
from triage.reading import reader
from triage.rulebook.packs import Rulebook

pytestmark = pytest.mark.slow

# Another unit's share of peak decides which unit is on top among those that are left; only the main four are
# guarded against that (docs/decisions.md, "When the top SOL counts as known").
SIDE_UNITS = ("crop", "zrop", "pd", "vaf", "vpc", "pes", "raster", "prop", "rtcore", "pcie", "memory")
MOST = 200  # workloads of one sample
# Rules that take any one of several counters: the shader stages that run, the occupancy calculator instead of the
# scheduler, or anything that shows reuse of data. What is left of them is an answer, not a gap.
ANY_OF = {
    ("lds-limited-waves", "sched.insufficient_lds"),
    *(("l2-misses-of-tiles", m) for m in ("l1tex.hit_rate", "launch.shared", "mfma.busy", "lds.busy")),
    ("register-limited-warps", "launch_stall.ps_register_allocation"),
    ("register-limited-warps", "launch_stall.cs_register_allocation"),
    ("synchronous-copies", "gpu.active"),  # of a wait behind a copy; the copy itself needs no idle time
    ("busy-top-unit", "lds.busy"),  # the share of a side unit, under its other name
}


@pytest.fixture(scope="module")
def engine(book: Rulebook) -> Engine:
    return Engine(compile_program(book, "v2", "workload"))


@cache
def read(path: str) -> Capture:
    return reader.read(str(ROOT / path))


def leaders(book: Rulebook, truth: Truth, vocabulary: CauseIndex, view: View) -> Leaders:
    """The leading cause of every row of a view."""
    fired = []
    for index, mask in truth.fired.items():
        where = np.flatnonzero(mask)
        if len(where) and not book.rules[index].is_concept:
            fired.append((index, where, fractions(book.rules[index], Lookup(book.rules[index], view, "v2"), where)))
    return vocabulary.lead(vocabulary.table(view, fired, "v2"), view.size)


@pytest.mark.parametrize("path", [pytest.param(path, id=name) for name, path in samples()])
def test_without_a_counter_no_rule_and_no_root_vanishes_unsaid(path: str, engine: Engine, book: Rulebook) -> None:
    """A rule that fired may turn blind, never silent; a workload's root may fall behind another if it is still named."""
    capture = read(path)
    rows = np.arange(min(len(capture), MOST))
    vocabulary = CauseIndex(book)
    whole = View(capture, rows)
    fired = infer(whole, engine).fired
    before = leaders(book, infer(whole, engine), vocabulary, whole)
    for metric in capture.facts:
        if metric.removesuffix(".throughput") in SIDE_UNITS:
            continue
        view = View(replace(capture, facts={m: v for m, v in capture.facts.items() if m != metric}), rows)
        truth = infer(view, engine)
        for index, was in fired.items():
            silenced = was & ~truth.possible[index]
            known = (book.rules[index].name, metric) in ANY_OF
            assert known or not silenced.any(), f"{book.rules[index].name} falls silent without {metric}"
        after = leaders(book, truth, vocabulary, view)
        said = np.zeros((len(vocabulary.names), len(rows)), dtype=bool)
        for index, possible in truth.possible.items():  # listed among the findings, or among the blind spots
            said[vocabulary.of_rule[index]] |= possible
        other = (before.cause >= 0) & (after.cause >= 0) & (after.cause != before.cause)
        for row in np.flatnonzero(other):
            was, now = (vocabulary.names[x.cause[row]] for x in (before, after))
            known = (book.rules[before.rule[row]].name, metric) in ANY_OF
            assert known or said[before.cause[row], row], (
                f"{was} gives way to {now} without {metric}, and nothing says so"
            )
