"""Judges a diagnosis of a made-up kernel as an expert would: is the root first, and is nothing wrong beside it?"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .counters import throughputs
from .defects import LATENCY, UNSEEN_IN_DETAILS, Patient
from .fixes import gain
from .machine import run

VERDICTS = frozenset({"near-limit", "low-throughput"})
SAVES = 0.02  # a cure that saves less on the machine was wrong advice
NAMED_ONLY = frozenset({"debug-build", "matrix-unused"})  # right only where the patient says so


class Judgement(Struct, frozen=True):
    """What was said first, what else stands alone, and which of that is wrong."""

    patient: Patient
    first: str
    beside: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Is the first one the illness, or another way to end the same wait that saves as much?"""
        p = self.patient
        if self.first in p.right:
            return True
        if self.first not in LATENCY or not LATENCY & p.right:
            return False
        best = max(g for g in (gain(p.work, c) for c in p.right) if g is not None)
        return (gain(p.work, self.first) or 0) >= 0.8 * best


def true_of(patient: Patient, cause: str) -> bool:
    """Would curing this save time, or is it a state the kernel is in?"""
    if cause in patient.beside:
        return True
    work = patient.work
    if cause in NAMED_ONLY:
        return False
    if cause == "matrix-underfed" and not work.mma + work.wide_mma:
        return False
    if cause == "data-reuse" and work.l1_hit < 0.5:
        return False
    if cause == "vram-bandwidth":
        return throughputs(run(work))["vram"] >= 60
    saved = gain(work, cause)
    return saved is not None and saved >= SAVES


def judge(patient: Patient, document: Mapping[str, Any], form: str = "raw") -> Judgement:
    """`document` is the JSON of a report over one workload, of the raw or the details page (`form`)."""
    if form == "details":
        unseen = UNSEEN_IN_DETAILS.get(patient.illness, "").split()
        patient = replace(patient, right=patient.right.union(unseen), beside=patient.beside.union(unseen))
    todo = [t["cause"] for t in document["todo"]]
    free = [f["cause"] for f in document["findings"] if f["workload"] is not None and not f["explained_by"]]
    said: Iterable[str] = dict.fromkeys([*todo, *free])  # findings come best first
    alone = [c for c in said if c not in VERDICTS]
    first = todo[0] if todo else next((v for v in ("near-limit", "low-throughput") if v in free), "")
    if not patient.healthy and first in VERDICTS and alone:
        first = alone[0]
    beside = tuple(c for c in alone if c != first)
    wrong = tuple(c for c in beside if not true_of(patient, c))
    return Judgement(patient, first, beside, wrong)
