"""Where a rule or advice applies: kind of work, vendor, API and generation, as far as a capture has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# facts that choose rules and advice; a capture has one word of each, or none where it is unknown
FACTS = {
    "work": ("graphics", "compute"),
    "vendor": ("nvidia", "amd", "intel", "apple", "arm", "qualcomm"),
    # of a pass, by its name: advice is chosen by it for the pass at hand, rules never are
    "layer": ("opaque", "blended"),
    # of one workload, and which way the copies go: advice is chosen by them too, rules never are
    "stage": ("draw", "dispatch"),
    "copied": ("up", "down"),
    # what ran the program: advice is chosen by it, rules never are
    "framework": ("pytorch", "xla", "vllm", "sglang"),
    # triton to cupy: what a kernel was written in, by its name or its source lines; rules never are chosen by it
    "api": tuple(
        "cuda hip sycl opencl triton numba julia kokkos directives taichi cupy d3d11 d3d12 vulkan opengl metal".split()
    ),
}
SINCE = "since"  # first architecture that has it: sm_80, gfx90a
OF_ONE = ("stage", "copied")
KEYS = (*FACTS, SINCE)
Applies = Mapping[str, tuple[str, ...]]
# where a sample of a language can be compiled: HIP takes CUDA's kernels as they are, no other API does. A language that
# is not here (cpp, of the host) is read anywhere.
LANGUAGES: Mapping[str, Applies] = {
    "cuda": {"work": ("compute",), "api": ("cuda", "hip")},
    "hip": {"work": ("compute",), "api": ("hip",)},
    "sycl": {"work": ("compute",), "api": ("sycl",)},
    "opencl": {"work": ("compute",), "api": ("opencl",)},
    "hlsl": {"api": ("d3d11", "d3d12", "vulkan")},
    "glsl": {"api": ("vulkan", "opengl")},
    "metal": {"api": ("metal",)},
}


def read(given: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """fact -> words, in the order of KEYS. Raises ValueError for an unknown fact or word."""
    if unknown := [fact for fact in given if fact not in KEYS]:
        raise ValueError(f"no fact is called {unknown[0]!r}; facts are {', '.join(KEYS)}")
    out = {}
    for fact in KEYS:
        if fact not in given:
            continue
        # one word may stand without brackets, as YAML authors write it
        words = tuple(map(str, given[fact] if isinstance(given[fact], list) else [given[fact]]))
        if fact in FACTS and (strange := [w for w in words if w not in FACTS[fact]]):
            raise ValueError(f"{fact} is one of {', '.join(FACTS[fact])}, not {strange[0]!r}")
        out[fact] = words
    return out


def may_hold(applies: Applies, here: Mapping[str, str]) -> bool:
    """False where a fact of the capture contradicts `applies`. here: fact -> word, and `arch`."""
    for fact, words in applies.items():
        if fact == SINCE:
            if (arch := here.get("arch")) and not any(reaches(arch, first) for first in words):
                return False
        elif fact in here and here[fact] not in words:
            return False
    return True


def suits(advice: Applies, here: Mapping[str, str]) -> bool:
    """True where advice may hold; that in a framework's words only where the capture states the framework."""
    return may_hold(advice, here) and ("framework" not in advice or "framework" in here)


def holds(applies: Applies, here: Mapping[str, str]) -> bool:
    """True where the capture has every fact of `applies`, as stated."""
    stated = {*here, SINCE} if "arch" in here else set(here)
    return stated >= set(applies) and may_hold(applies, here)


def fits(advice: Applies, here: Mapping[str, str]) -> bool:
    """True where a cause's advice holds; what is a fact of one workload may be unknown."""
    return may_hold(advice, here) and holds({fact: advice[fact] for fact in advice if fact not in OF_ONE}, here)


def reaches(arch: str, since: str) -> bool:
    """True if an architecture is as new as `since`, of the same family."""
    if arch.startswith("sm_") and since.startswith("sm_"):
        return int("".join(filter(str.isdigit, arch))) >= int("".join(filter(str.isdigit, since)))
    # gfx942 is newer than gfx90a, but gfx1100 is another family and not a successor
    return len(arch) == len(since) and arch[:4] == since[:4] and arch >= since


def describe(applies: Applies) -> str:
    """In words: `compute, amd or intel, since gfx90a`; "anywhere" without a fact."""
    stated = {fact: words for fact, words in applies.items() if set(words) != set(FACTS.get(fact, ()))}
    parts = [("since " if fact == SINCE else "") + " or ".join(words) for fact, words in stated.items()]
    return ", ".join(parts) or "anywhere"
