"""The rule engine against a plain evaluation, and the two engines against each other."""

import gc
import os
import resource
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tests.conftest import ROOT, bare_capture, diagnosis_of
from triage import schema
from triage.capture.capture import Capture
from triage.derive import View
from triage.ground.errors import TriageError
from triage.inference.engine import Durable, Engine, backend
from triage.inference.evaluate import Lookup, infer
from triage.inference.groups import compile_program, layers, reads, sign, unsign
from triage.rulebook.expression import FALSE, TRUE, UNKNOWN
from triage.rulebook.packs import Rulebook

WORKLOADS = 20_000


def random_capture(book: Rulebook, n: int, seed: int) -> Capture:
    """Workloads with every metric that any rule reads, log-uniform or uniform, a fifth of the cells missing."""
    rng = np.random.default_rng(seed)
    metrics = sorted(
        {m for r in book.rules for w in r.when.values() for c in w.conditions for m in reads(r, c.names)}
        | {m for r in book.rules for m in r.needs}
    )
    facts = {}
    for m in metrics:
        ratio = schema.get(m).unit == "ratio"
        values = rng.random(n) if ratio else 10 ** rng.uniform(-1, 7, n)
        values[rng.random(n) < 0.2] = np.nan
        facts[m] = values
    made: Capture = bare_capture(facts, [f"w{i}" for i in range(n)])
    return made


def plain(view: View, book: Rulebook, method: str, scope: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(fired, possible) per rule name by Kleene's min and max over columns; no engine, no signatures."""
    order = {FALSE: 0.0, UNKNOWN: 0.5, TRUE: 1.0}
    lut = np.array([order[FALSE], order[TRUE], order[UNKNOWN]])
    concepts: dict[str, Any] = {}
    fired, possible = {}, {}
    for layer in layers(book.rules, method):
        todo: dict[str, Any] = {}
        for rule in layer:
            truth = np.zeros(view.size)
            if rule.scope == scope and method in rule.methods and method in rule.when:
                when, lookup = rule.when[method], Lookup(rule, view, method)
                parts = [np.broadcast_to(concepts.get(g, 0.0), view.size) for g in when.given]
                parts += [np.broadcast_to(lut[c(lookup)], view.size) for c in when.all_of]
                if when.any_of:
                    parts.append(np.max([np.broadcast_to(lut[c(lookup)], view.size) for c in when.any_of], axis=0))
                parts += [np.where(np.isnan(np.broadcast_to(view[m], view.size)), 0.5, 1.0) for m in rule.needs]
                truth = np.min(parts, axis=0)
                fired[rule.name], possible[rule.name] = truth == 1.0, truth > 0.0
            for name in (rule.name, *rule.concludes):
                todo[name] = np.maximum(todo.get(name, 0.0), truth)
        for name, truth in todo.items():
            concepts[name] = np.maximum(concepts.get(name, 0.0), truth)
    return fired, possible


@pytest.mark.slow
@pytest.mark.parametrize("method", ["v1", "v2"])
@pytest.mark.parametrize(
    ("scope", "vendor"), [("workload", "nvidia"), ("workload", "amd"), ("workload", "intel"), ("frame", "nvidia")]
)
def test_engine_agrees_with_plain_evaluation(book: Rulebook, method: str, scope: str, vendor: str) -> None:
    capture = random_capture(book, WORKLOADS if (scope, vendor) == ("workload", "nvidia") else 2_000, seed=1)
    capture.input = replace(capture.input, tells={"vendor": vendor})
    engine = Engine(compile_program(book, method, scope))
    view = View(capture)
    truth = infer(view, engine)
    fired, possible = plain(view, book, method, scope)
    total = 0
    for index, got in truth.possible.items():
        rule = book.rules[index]
        vetoed = np.logical_or.reduce(
            [hit for _, hit in truth.overruled.get(index, ())] or [np.zeros(view.size, dtype=bool)]
        )
        assert np.array_equal(truth.fired[index] | vetoed, fired[rule.name]), rule.name
        assert np.array_equal(got, possible[rule.name]), rule.name
        total += int(fired[rule.name].sum())
    # rules of another vendor, kind of work or scope are not asked at all
    asked = {book.rules[i].name for i in truth.possible}
    assert asked <= set(fired) and len(asked) >= len(fired) / (2 if vendor == "nvidia" else 5)
    assert total > view.size / 10 or scope == "frame"  # the comparison must have had something to compare


@pytest.mark.slow
def test_both_engines_agree_on_random_signatures(book: Rulebook) -> None:
    program = compile_program(book, "v2", "workload")
    engines = [Engine(program, name) for name in ("durable", "clips")]
    rng = np.random.default_rng(2)
    for group in program.groups:
        codes = rng.integers(0, 3 ** len(group.inputs), 60).astype(np.int32)
        a, b = (e.infer(group, codes) for e in engines)
        assert np.array_equal(a, b), group.number


def test_signatures_survive_packing() -> None:
    digits = np.random.default_rng(3).integers(0, 3, (7, 50))
    codes = sign([d.astype(np.int8) for d in digits], 50)
    assert [unsign(int(c), 7) for c in codes] == digits.T.tolist()


def test_memory_and_threads_stay_flat(book: Rulebook) -> None:
    """Ten thousand signatures leave no threads behind and no memory that grows with them."""
    program = compile_program(book, "v2", "workload")
    engine = Engine(program)
    threads = threading.active_count()
    group = max(program.groups, key=lambda g: len(g.inputs))
    rng = np.random.default_rng(4)

    def burn(n: int) -> None:
        for code in rng.integers(0, 3 ** len(group.inputs), n):
            engine.ask(group, int(code))

    burn(2_000)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    burn(10_000)
    assert threading.active_count() == threads
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB


def test_results_do_not_depend_on_how_many_signatures_came_before(book: Rulebook) -> None:
    program = compile_program(book, "v2", "workload")
    fresh, used = Engine(program), Engine(program)
    group = program.groups[0]
    codes = np.arange(3 ** len(group.inputs), dtype=np.int32)[:2_000]
    used.infer(group, codes[::-1].copy())
    assert np.array_equal(fresh.infer(group, codes), used.infer(group, codes))


EVERY_SUBSET = """
from triage.inference.engine import Durable

subsets = [{f"0.{i}T" for i in range(5) if n >> i & 1} for n in range(32)]
engine = Durable([(f"0.{n}T#0", tuple(sorted(held))) for n, held in enumerate(subsets) if held])
for held in subsets:
    assert set(engine.run(sorted(held))) == {f"0.{n}T#0" for n, s in enumerate(subsets) if s and s <= held}
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind here")
def test_the_c_engine_stays_within_its_memory(tmp_path: Path) -> None:
    """Rules over several literals, asserted and retracted: what once wrote zeros beyond its frames, and into Python's."""
    log = tmp_path / "log"
    checked = ["valgrind", "--undef-value-errors=no", "--malloc-fill=0", f"--log-file={log}"]
    run = [*checked, sys.executable, "-c", EVERY_SUBSET]
    subprocess.run(run, check=True, timeout=600, env={**os.environ, "PYTHONMALLOC": "malloc"}, cwd=ROOT)
    told = log.read_text()
    assert "ERROR SUMMARY" in told
    assert "durable_rules" not in told


def test_a_rule_reads_one_fact() -> None:
    with pytest.raises(TriageError, match="several groups"):
        Durable([("0.0T#0", ("0.0T", "1.0T"))])


def test_the_same_rules_share_an_engine(book: Rulebook) -> None:
    """durable-rules never gives the memory of a ruleset back."""
    program = compile_program(book, "v2", "workload")
    assert Engine(program).backend is Engine(compile_program(book, "v2", "workload")).backend


def test_unknown_engine_is_one_clear_line() -> None:
    with pytest.raises(TriageError, match="durable or clips"):
        backend("prolog", [])


def test_blocks_do_not_change_results(book: Rulebook, monkeypatch: pytest.MonkeyPatch) -> None:
    from triage.diagnosis import diagnosing

    capture = random_capture(book, 3_000, seed=5)
    whole = diagnosis_of(capture, book, top=50)
    monkeypatch.setattr(diagnosing, "BLOCK", 257)
    parts = diagnosis_of(capture, book, top=50)
    a, b = (
        ([(d.parts[p].firings.rule[k], d.parts[p].firings.workload[k]) for p, k in d.order], d.total)
        for d in (whole, parts)
    )
    assert a == b
