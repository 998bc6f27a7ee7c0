"""The to-do list over real exports: critical is rare, every item says what to do, no cause stands twice on a workload."""

from __future__ import annotations

from collections import Counter

import triage
from tests.conftest import CORPUS, needs_corpus


@needs_corpus
def test_lists_of_real_exports() -> None:
    first, critical = 0, 0
    for path in sorted(CORPUS.glob("*/*")):
        try:
            todo = [] if path.name == "MANIFEST.tsv" else triage.diagnose(str(path)).to_dict()["todo"]
        except triage.TriageError:  # what cannot be read is another test's
            continue
        assert all(item["action"] for item in todo), path
        named = Counter((item["cause"], w) for item in todo for w in item["workloads"])
        assert not named or max(named.values()) == 1, path
        first += bool(todo)
        critical += bool(todo) and todo[0]["level"] == "critical"
    assert first >= 50
    assert critical < 0.15 * first
