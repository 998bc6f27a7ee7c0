"""What the pass over all workloads asks, against what the inference of three truths says."""

from itertools import pairwise

import numpy as np
import pytest

from tests.conftest import bare_capture
from tests.inference.test_engine import random_capture
from triage.capture.capture import Capture
from triage.derive import View
from triage.inference.engine import Engine
from triage.inference.evaluate import infer
from triage.inference.firing import Candidates, fire
from triage.inference.groups import compile_program
from triage.rulebook.expression import TRUE, condition
from triage.rulebook.packs import Rulebook

SCOPES = ("workload", "frame")


def agree(capture: Capture, engine: Engine, parts: int = 1) -> int:
    """Firings of a capture, looked at in some parts; fails where the two ways differ."""
    truth, whole = infer(View(capture), engine), View(capture)
    candidates = Candidates(engine, whole)
    cuts = np.linspace(0, len(capture), parts + 1).astype(int).tolist()
    found = [fire(whole.part(slice(a, b)), candidates) for a, b in pairwise(cuts)]
    book, total = engine.program.book, 0
    for index, fired in truth.fired.items():
        nowhere = [np.zeros(b - a, dtype=bool) for a, b in pairwise(cuts)]
        got = np.concatenate([f.get(index, none) for f, none in zip(found, nowhere, strict=True)])
        assert np.array_equal(got, fired), book.rules[index].name
        total += int(fired.sum())
    assert set().union(*found) <= set(truth.fired)
    return total


def poorer(capture: Capture, share: float, seed: int) -> Capture:
    """The same workloads with some of their metrics: what an export has decides which rules are candidates."""
    rng = np.random.default_rng(seed)
    kept = {m: v for m, v in capture.facts.items() if rng.random() < share}
    made: Capture = bare_capture(kept, list(capture.names))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("method", ["v1", "v2"])
@pytest.mark.parametrize("scope", SCOPES)
def test_random_workloads(book: Rulebook, method: str, scope: str) -> None:
    engine = Engine(compile_program(book, method, scope))
    full = random_capture(book, 1_500, seed=11)
    fired = [agree(full, engine, parts=3)]
    fired += [agree(poorer(full, share, seed), engine) for seed, share in enumerate((0.8, 0.5, 0.3, 0.1))]
    assert fired[0] > 0


@pytest.mark.parametrize(
    "text", ["a > b", "a >= 1", "a < b", "a <= b", "a == b", "a != b", "a != 1", "a", "c != 1", "c"]
)
def test_a_condition_holds_where_it_is_true(text: str) -> None:
    values = np.array([0.0, 1.0, 2.0, np.nan])
    names = {"a": np.repeat(values, 4), "b": np.tile(values, 4), "c": np.nan}
    three, two = condition(text)(names.__getitem__), condition(text).holds(names.__getitem__)
    assert np.array_equal(np.broadcast_to(three == TRUE, 16), np.broadcast_to(two, 16))
