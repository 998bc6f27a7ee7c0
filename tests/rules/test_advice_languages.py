"""Advice speaks the language that the work is written in: no HLSL to a HIP kernel, no HIP to a shader."""

import re

import pytest

from triage.rulebook.applies import may_hold
from triage.rulebook.packs import Rulebook

HLSL = re.compile(
    r"\b(?:SV_\w+|numthreads|groupshared|min16float|Wave(?:Read|Active|Prefix)\w+|(?:Byte|RW|Append)\w*Buffer|StructuredBuffer)\b|\[(?:un)?roll\]|\[loop\]|\[branch\]"
)
HIP = re.compile(
    r"__shfl|__launch_bounds__|\bhip[A-Z]\w+|__builtin_amdgcn|#pragma unroll|\bblockIdx\b|-mno-wavefront|\b__half2"
)
CUDA = re.compile(r"\bcuda[A-Z]\w+|\bcp\.async|\bTMA\b|__ldg|setmaxnreg|\bwgmma\b|\bnvcc\b|ptxas")
CASES = {
    "hip": ({"vendor": "amd", "work": "compute", "api": "hip", "arch": "gfx942"}, (HLSL, CUDA)),
    "d3d12 on AMD": ({"vendor": "amd", "work": "graphics", "api": "d3d12", "arch": "gfx1100"}, (HIP, CUDA)),
    "d3d12 on NVIDIA": ({"vendor": "nvidia", "work": "graphics", "api": "d3d12", "arch": "sm_89"}, (HIP, CUDA)),
    "sycl": ({"vendor": "intel", "work": "compute", "api": "sycl", "arch": "xe-hpc"}, (HLSL, HIP, CUDA)),
}


@pytest.mark.parametrize("case", CASES)
def test_no_advice_in_another_language(book: Rulebook, case: str) -> None:
    here, foreign = CASES[case]
    rules = [r for r in book.rules if not r.is_concept and may_hold(r.applies, here)]
    spoken = [(r.id, a.text) for r in rules for a in (*r.advice, *r.caveats) if may_hold(a.where, here)]
    spoken += [(r.id, text) for r in rules for text in (r.verify, *(t.how for t in r.tell_apart))]
    spoken += [(c.id, a.text) for c in book.causes.values() for a in c.advice if may_hold(a.where, here)]
    assert len(spoken) > 100
    assert [(who, text[:90]) for who, text in spoken if any(f.search(text) for f in foreign)] == []
