"""Two independent Rete engines, one answer: to all that samples ask them, and to random signatures.

An engine answers signatures, and nothing else of a report depends on it; `make hard` compares whole reports as well.
What samples ask is compared in test_all_samples.py, what real exports ask in test_corpus_todo.py.
"""

import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import SAMPLES
from triage.diagnosis.diagnosing import Diagnoser
from triage.ground.errors import TriageError
from triage.inference.engine import UNSEEN, Engine
from triage.inference.groups import compile_program
from triage.rulebook.packs import Rulebook

pytestmark = pytest.mark.slow

SLICE = 3_000  # `make hard` asks 50,000
METHODS = ("v1", "v2")


def exports(*roots: Path) -> Iterator[Path]:
    """Everything below some folders that could be an export: files, and folders that hold several."""
    for root in roots:
        for path in sorted(root.rglob("*")):
            if path.is_dir() or path.suffix in (".csv", ".txt", ".xls", ".gz", ""):
                yield path


def compare_captures(book: Rulebook, paths: Iterator[Path]) -> tuple[int, list[str]]:
    """(how many exports both engines diagnosed, those on which they differ)."""
    from triage.findings import assembling
    from triage.reading import reader

    doctors = [Diagnoser(book, "v2", name) for name in ("durable", "clips")]
    count, differ = 0, []
    for path in paths:
        try:
            capture = reader.read(str(path))
        except TriageError:
            continue
        one, two = (assembling.bundle(doctor.diagnose([capture], top=500), ways=False).document for doctor in doctors)
        count += 1
        if one != two:
            differ.append(str(path))
    return count, differ


def compare_answers(doctor: Diagnoser) -> tuple[int, list[str]]:
    """(signatures that diagnoses asked of durable-rules, those that CLIPS answers differently)."""
    asked, differ = 0, []
    for one in filter(None, (doctor.workload, doctor.frame)):
        assert one.backend.name == "durable"
        two = Engine(one.program, "clips")
        for group, answers in zip(one.program.groups, one._table, strict=True):
            codes = np.flatnonzero(answers != UNSEEN)
            asked += len(codes)
            differ += [f"{one.program.scope} {group.number} {c}" for c in codes if two.ask(group, int(c)) != answers[c]]
    return asked, differ


def compare_signatures(book: Rulebook, wanted: int, seed: int = 1) -> tuple[int, list[str]]:
    """(how many random signatures both engines were asked, those on which they differ), over all groups, scopes, methods."""
    rng = np.random.default_rng(seed)
    programs = [p for m in METHODS for s in ("workload", "frame") if (p := compile_program(book, m, s)).groups]
    groups = sum(len(p.groups) for p in programs)
    count, differ = 0, []
    for program in programs:
        engines = [Engine(program, name) for name in ("durable", "clips")]
        for group in program.groups:
            # known, unknown and false in changing shares: uniform digits would nearly never fire a wide rule
            digits = np.stack(
                [rng.choice(3, len(group.inputs), p=p) for p in rng.dirichlet((1, 2, 1), -(-wanted // groups))]
            )
            for code in digits @ 3 ** np.arange(len(group.inputs))[::-1]:
                one, two = (e.ask(group, int(code)) for e in engines)
                count += 1
                if one != two:
                    differ.append(
                        f"{program.method} {program.scope} group {group.number} signature {code}: {one:#x} and {two:#x}"
                    )
    return count, differ


def test_random_signatures(book: Rulebook) -> None:
    count, differ = compare_signatures(book, SLICE)
    assert count >= SLICE
    assert not differ, differ[:3]


def test_random_signatures_fire_something(book: Rulebook) -> None:
    """Two engines that never fire agree as well: the signatures must exercise the rules."""
    program = compile_program(book, "v2", "workload")
    engine = Engine(program)
    rng = np.random.default_rng(5)
    fired = 0
    for group in program.groups:
        digits = rng.choice(3, (40, len(group.inputs)), p=(0.1, 0.8, 0.1))
        fired += np.count_nonzero(engine.infer(group, digits @ 3 ** np.arange(len(group.inputs))[::-1]))
    assert fired > 10 * len(program.groups)


def resident() -> int:
    """KiB of memory in use now (the peak of getrusage never falls)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("name", ["durable", "clips"])
def test_memory_and_threads_stay_flat_over_many_captures(book: Rulebook, name: str) -> None:
    from triage.reading import reader

    doctor: Any = Diagnoser(book, "v2", name)
    path = str(SAMPLES / "generic" / "p3_workloads_v2.csv")
    threads = threading.active_count()

    def burn(n: int) -> None:
        for _ in range(n):
            doctor.diagnose([reader.read(path)], top=5)
            for engine in (doctor.workload, doctor.frame):
                if engine:
                    for table in engine._table:
                        table[:] = UNSEEN  # so that every capture goes through the engine again
        gc.collect()

    burn(10)
    before = resident()
    burn(40)
    assert resident() - before < 12_000
    assert threading.active_count() == threads
