"""The brief: bounded, sure and unsure apart, with ids and absolute counts."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.conftest import SAMPLES, bare_capture, diagnosis_of
from tests.helpers.reports import brief_parts, diagnosed
from triage.document.bundle import Bundle
from triage.document.entries import VERDICT_CLASSES
from triage.findings import assembling
from triage.rendering import brief, formats

NAMES = (
    "ncu-rep/transpose.ncu-rep",
    "gpu-trace/demo_frame",
    "rocprof-compute/four_kernels_mi210",
    "mobile/mali-frame.csv",
)


def text_of(path: Path) -> str:
    from triage.products.settings import Settings

    settings = Settings()
    return written(assembling.bundle(settings.diagnoser().diagnose([settings.read(str(path))])))


def written(b: Bundle) -> str:
    parts: list[str] = []
    formats.render(b, "brief", parts.append)
    return "".join(parts)


@pytest.fixture(scope="module", params=NAMES)
def told(request: pytest.FixtureRequest) -> str:
    return text_of(SAMPLES / request.param)


def test_sure_and_unsure_stand_apart_in_their_order(told: str) -> None:
    heads = re.findall(r"^== ([\w-]+): \d", told, re.MULTILINE)
    assert heads == [v for v in VERDICT_CLASSES if v in heads]


def test_causes_are_ids_and_counts_are_absolute() -> None:
    said = text_of(SAMPLES / NAMES[0])
    assert "cause: uncoalesced-stores (MEM002, high confidence)" in said
    assert "global_store.sectors 4,194,304" in said
    assert "~vram" not in said  # measured, not derived
    assert "~global_store.sectors_per_request 32" in said
    assert "global_store.sectors_per_request = sectors / requests" in said.partition("== formulas")[2]
    assert "Fix" not in said


def test_weak_things_are_said_weakly() -> None:
    said = text_of(SAMPLES / NAMES[0])
    # an effect of the root is no alternative, and a state such as near-limit no cause
    assert "effect: vram-bandwidth (MEM019, low confidence)" in said
    assert "near-limit" not in said
    suspect = said.partition("== suspect")[2]
    assert "suspected cause: launch-overhead" in suspect
    assert "(0 % to 45 %, may save nothing)" in suspect
    assert "cause: none shown" in text_of(SAMPLES / "gpu-trace" / "demo_frame").partition("== not-diagnosed")[2]


@pytest.mark.parametrize("name", NAMES[:2])
def test_what_is_ruled_out_does_not_depend_on_its_words(name: str) -> None:
    """Titles that hold the words around them: the reasons stay, and what another finding covers stays away."""
    b = diagnosed(str(SAMPLES / name)).bundle
    odd = [(w, replace(r, title=f"A: b: covered by {r.title}: ")) for w, r in b.excluded]
    assert "ruled out: " in written(b) == written(replace(b, excluded=odd))


def test_the_profilers_estimate_stands_beside_ours() -> None:
    said = text_of(SAMPLES / NAMES[0])
    assert "names uncoalesced-stores, estimates 54 % (ours 42 %); here: root" in said


def test_causes_are_excluded_and_left_open_by_id() -> None:
    said = text_of(SAMPLES / NAMES[2])
    assert "ruled out: occupancy-registers (" in said
    assert "not tested: constant-misses (needs sl1d.hit_rate)" in said
    assert "looks alike: shared-memory-traffic (" in said


def test_alike_kernels_are_told_once() -> None:
    said = text_of(SAMPLES / "nsys-sqlite/training_two_gpus.sqlite")
    assert re.search(r"layer_norm<float, 256> x6: 1.8 ms \(0.7 %\) \(and \d alike, ", said)
    assert "device 0 NVIDIA H100 80GB HBM3: busy 60" in said
    assert "to do, by saving: 1. bus-traffic ~13.3 ms (medium confidence); 2. " in said
    sure, _, unsure = said.partition("== whole capture, unsure")
    assert "blocking-sync (FRM030, high confidence)" in sure
    assert "bus-traffic (FRM033, medium confidence)" in unsure


def test_trifles_have_a_line_and_operators_their_roof() -> None:
    said = text_of(SAMPLES / "pytorch-trace/training.pt.trace.json")
    assert re.search(r"^operator aten::\S+ .* x\d+: [\d.]+ ms \(\d+ %\), ~\d+ % of [\d.]+ TFLOP/s$", said, re.MULTILINE)
    said = text_of(SAMPLES / "nsys-sqlite/training_two_gpus.sqlite")
    assert re.search(r"^elementwise_relu<float> x280: 560 µs \(0\.2 %\) \(and \d+ alike", said, re.MULTILINE)


def test_a_long_workload_is_cut_between_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brief, "MAX_CHARS", 300)
    parts = brief_parts(text_of(SAMPLES / NAMES[0]))
    assert any(p.endswith("(cut)") for p in parts)
    assert all(len(p) <= 300 for p in parts)


def test_a_capture_without_times_has_a_brief(book: object) -> None:
    import numpy as np

    capture = bare_capture({"sm.throughput": np.array([0.9, 0.2])}, ["a", "b"], ns=np.zeros(2))
    parts: list[str] = []
    formats.render(assembling.bundle(diagnosis_of(capture, book)), "brief", parts.append)
    assert "not-diagnosed" in "".join(parts)
