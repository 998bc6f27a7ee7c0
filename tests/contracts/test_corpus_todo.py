"""The to-do list over real exports: critical is rare, every item says what to do, no cause stands twice on a workload.

And both engines give the answers on which these lists rest.
"""

from collections import Counter

import pytest

from tests.conftest import CORPUS, needs_corpus
from tests.contracts.test_engines_agree import compare_answers
from triage.api import Diagnosis
from triage.diagnosis.diagnosing import Diagnoser
from triage.ground.errors import TriageError
from triage.reading import reader
from triage.rulebook.packs import Rulebook

pytestmark = pytest.mark.slow


@needs_corpus
def test_lists_of_real_exports(book: Rulebook) -> None:
    doctor = Diagnoser(book, "v2", "durable")
    first, critical = 0, 0
    for path in sorted(CORPUS.glob("*/*")):
        if path.name == "MANIFEST.tsv":
            continue
        try:
            found = Diagnosis.from_judged(doctor.diagnose([reader.read(str(path))]))
        except TriageError:  # what cannot be read is another test's
            continue
        todo = found.to_dict()["todo"]
        assert all(item["action"] for item in todo), path
        named = Counter((item["cause"], w) for item in todo for w in item["workloads"])
        assert not named or max(named.values()) == 1, path
        first += bool(todo)
        critical += bool(todo) and todo[0]["level"] == "critical"
    assert first >= 50
    assert critical < 0.15 * first
    asked, differ = compare_answers(doctor)
    assert not differ
    assert asked > 1_000
