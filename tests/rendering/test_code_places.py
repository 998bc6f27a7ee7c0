"""Sentences about waits: what is awaited, of how many, in which queue, and who is late."""

import pytest
from msgspec.structs import replace

from triage.capture.location import Late, Location, Producer
from triage.findings.locations import _entry
from triage.rendering.code_places import waits

PLACE = Location("stalls", "m", 900, 0.5, "k", 0x30, 0x1030, file="k.cu", line=7, mnemonic="FADD")
LOAD = Producer(0.9, "long scoreboard", "FADD", "global load", "LDG", "k", 0x10, 0x1010, "k.cu", 5, argument=1)
BAR = Producer(0.9, "barrier", "BAR", "barrier", "BAR", "k", 0x40, 0x1040, "k.cu", 8, number=0)
PIPE = Producer(0.9, "math pipe throttle", "FADD", "", "FFMA", "k", 0x20, 0x1020, "k.cu", 5, queue=True, pipe="FMA")


def said(*producers: Producer) -> str:
    begin, _, text = waits(_entry(replace(PLACE, waits_for=producers))).partition(" of the waiting here: ")
    assert begin.endswith("%")
    return text


@pytest.mark.parametrize(("producers", "text"), [
    ((LOAD,), "FADD waits for the global load (LDG) of argument 1 at k.cu:5"),
    ((replace(LOAD, instructions=8),), "FADD waits for 8 global loads (LDG) of argument 1 at k.cu:5"),
    ((replace(LOAD, instructions=3, candidates=3),), "FADD waits for one of 3 global loads (LDG) of argument 1 at k.cu:5"),
    ((replace(LOAD, instructions=8, candidates=2),), "FADD waits for one of 2 global loads (LDG, 8 in all) of argument 1 at k.cu:5"),
    ((replace(LOAD, candidates=2, share=0.5), replace(LOAD, candidates=2, share=0.4, argument=2, line=7)),
     "FADD waits for one of 2 global loads (LDG) of argument 1 at k.cu:5 or of argument 2 in the same line"),
    ((replace(LOAD, candidates=2, share=0.5), replace(LOAD, candidates=2, share=0.4, kind="local load", mnemonic="LDL", argument=0)),
     "FADD waits for one of 2 instructions: the global load (LDG) of argument 1 at k.cu:5 (50 %) "
     "or the local load (LDL) at k.cu:5 (40 %)"),
    ((replace(LOAD, candidates=2),), "FADD waits for one of 2 instructions: the global load (LDG) of argument 1 at k.cu:5"),
    ((replace(LOAD, instructions=2, per_request=32.0, figures=(4.0, 32.0), unit="sectors"),),
     "FADD waits for 2 global loads (LDG) of argument 1 at k.cu:5, 4 and 32 sectors per request"),
    ((replace(LOAD, instructions=9, per_request=2.0, figures=(1.0, 2.0, 2.5, 8.0), unit="sectors"),),
     "FADD waits for 9 global loads (LDG) of argument 1 at k.cu:5, 1 to 8 sectors per request"),
    ((replace(LOAD, kind="global reduction", mnemonic="RED", per_request=1.0, unit="sectors", operations=32.0, operands=True),),
     "FADD waits for the global reduction (RED) of argument 1 at k.cu:5, 1 sector and 32 operations per request, "
     "to have read its registers"),
    ((PIPE,), "the FMA pipe is filled by the instruction (FFMA) at k.cu:5"),
    ((replace(PIPE, instructions=4, pipe="FP64", kind="double-precision operation", mnemonic="DFMA"),),
     "the FP64 pipe is filled by 4 double-precision operations (DFMA) at k.cu:5"),
    (tuple(replace(PIPE, instructions=2, line=n, share=0.3) for n in (5, 6, 9)),
     "the FMA pipe is filled by 6 instructions (FFMA) at k.cu:5 and at k.cu:6 and elsewhere"),
    ((BAR,), "warps wait at the barrier (BAR) at k.cu:8"),
    ((replace(BAR, pc=PLACE.pc, number=3),), "warps wait at this barrier 3"),
    ((replace(BAR, instructions=4),), "warps wait at 4 barriers (BAR) at k.cu:8"),
    ((replace(BAR, late=Late(0.62, "k", 0x20, 0x1020, "k.cu", 6, "long scoreboard", "global load", "LDG", 2)),),
     "warps wait at the barrier (BAR) at k.cu:8; of late warps 62 % are at k.cu:6, top stall long scoreboard "
     "on the global load (LDG) of argument 2"),
    ((replace(BAR, late=Late(0.2, "k", 0x20, 0x1020)),), "warps wait at the barrier (BAR) at k.cu:8; of late warps 20 % are at +0x20"),
])  # fmt: skip
def test_sentences(producers: tuple[Producer, ...], text: str) -> None:
    assert said(*producers).replace("\u00a0", " ") == text
