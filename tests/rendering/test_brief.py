"""The brief: bounded, sure and unsure apart, with ids and absolute counts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import SAMPLES, bare_capture, diagnosis_of
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
    b = assembling.bundle(settings.diagnoser().diagnose([settings.read(str(path))]))
    parts: list[str] = []
    formats.render(b, "brief", parts.append)
    return "".join(parts)


@pytest.fixture(scope="module", params=NAMES)
def told(request: pytest.FixtureRequest) -> str:
    return text_of(SAMPLES / request.param)


def workloads(text: str) -> list[str]:
    """The part about each workload."""
    return [
        p for p in re.split(r"\n(?=\S)", text) if re.match(r"[^\n]*: [\d.]+ ", p) and not p.startswith(("total", "=="))
    ]


def test_each_workload_fits(told: str) -> None:
    parts = workloads(told)
    assert parts
    assert max(map(len, parts)) <= brief.MAX_CHARS + len("\n  (cut)")


def test_sure_and_unsure_stand_apart_in_their_order(told: str) -> None:
    heads = re.findall(r"^== ([\w-]+):", told, re.MULTILINE)
    assert heads == [v for v in VERDICT_CLASSES if v in heads]


def test_causes_are_ids_and_counts_are_absolute() -> None:
    said = text_of(SAMPLES / NAMES[0])
    assert "cause: uncoalesced-stores (MEM002, high confidence)" in said
    assert "global_store.sectors 4,194,304" in said
    assert "~vram" not in said  # measured, not derived
    assert "Fix" not in said


def test_a_long_workload_is_cut_between_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brief, "MAX_CHARS", 300)
    parts = workloads(text_of(SAMPLES / NAMES[0]))
    assert any(p.rstrip().endswith("(cut)") for p in parts)
    assert all(len(p) <= 310 for p in parts)


def test_a_capture_without_times_has_a_brief(book: object) -> None:
    import numpy as np

    capture = bare_capture({"sm.throughput": np.array([0.9, 0.2])}, ["a", "b"], ns=np.zeros(2))
    parts: list[str] = []
    formats.render(assembling.bundle(diagnosis_of(capture, book)), "brief", parts.append)
    assert "not-diagnosed" in "".join(parts)
