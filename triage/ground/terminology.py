"""Terms of a report: its word for a workload, and the vendor's words for the parts of a GPU.

Rules, causes and metrics are written once, in the words of NVIDIA and CUDA where vendors differ. `localize` puts such a text into
the words of the GPU at hand, by the names that the glossary gives (`heard` there: what is replaced). Names and cells quoted from
a capture never pass through it.

DRAM or VRAM: frames of NVIDIA and unknown GPUs say VRAM, as the P3 article and Nsight Graphics do; all else says DRAM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache

from msgspec import Struct
from msgspec.structs import replace

from triage.ground import glossary
from triage.ground.phrasing import upper_first

# from the GPU's name to the glossary's: what a generation calls things comes before what its vendor does
_VENDORS = {"amd": "AMD", "intel": "Intel", "apple": "Metal", "arm": "Arm", "qualcomm": "Adreno"}
_GENERATIONS = (
    (("gfx10", "gfx11", "gfx12"), "RDNA"),
    (("gen9", "gen11", "gen12", "xe-lp"), "Gen12"),
    (("xe-h", "xe2", "xe3", "xe-lpg"), "Xe"),
)
_TILERS = frozenset(("Arm", "Adreno", "Metal"))
_APIS = {"metal": "Metal", "cuda": "CUDA"}


class Voice(Struct, frozen=True):
    """item: what a workload is called. names: whose words, as the glossary calls them, nearest first; empty: as written. spans: idle time counts."""

    item: str = "marker"
    names: tuple[str, ...] = ()
    spans: bool = False

    @property
    def items(self) -> str:
        """Several, as a title begins."""
        return f"{self.item.capitalize()}s"

    @property
    def whole(self) -> str:
        """All of a capture: only one of markers is a frame."""
        return "frame" if self.item == "marker" else "capture"

    @property
    def base(self) -> str:
        """What every share in a report is of."""
        return "frame" if self.item == "marker" else "span" if self.spans else "device time"


# of the report that is being written: sentences are made in many places, which are handed one entry at a time
_voice: ContextVar[Voice] = ContextVar("voice", default=Voice())  # noqa: B039  frozen


def voice() -> Voice:
    """Terminology of the report that is being written; default: a frame's, in the words as written."""
    return _voice.get()


@contextmanager
def speaking(item: str | None = None, names: tuple[str, ...] | None = None, spans: bool = False) -> Iterator[None]:
    """Speak of kernels, applications or markers, and in whose words, until the block ends; None leaves that as it is."""
    new = replace(voice(), spans=spans or voice().spans)
    if item is not None:
        new = replace(new, item=item)
    if names is not None:
        new = replace(new, names=names)
    token = _voice.set(new)
    try:
        yield
    finally:
        _voice.reset(token)


def names_of(facts: Mapping[str, str]) -> tuple[str, ...]:
    """Terminology for a GPU, from facts: `vendor`, `arch`, `api`, `work`, `link` to the host. NVIDIA's are the ones as written."""
    arch = facts.get("arch", "").casefold()
    found = [name for starts, name in _GENERATIONS if arch.startswith(starts)][-1:]  # xe-lpg is no xe-lp
    found += [n for n in (_VENDORS.get(facts.get("vendor", "")), _APIS.get(facts.get("api", ""))) if n]
    if not found and facts.get("work") == "graphics":
        found.append("P3")
    return tuple(dict.fromkeys([*found, *([facts["link"]] if "link" in facts else [])]))


def is_tiler() -> bool:
    """True for the GPU of a phone, or Apple's: a tiler."""
    return not _TILERS.isdisjoint(voice().names)


def localize(text: str) -> str:
    """A text of ours in the words of the GPU at hand; fields in braces, code and what stands in quotes stay."""
    return _put(text, voice().names)


@lru_cache(16_384)
def _put(text: str, names: tuple[str, ...]) -> str:
    words = _words(names)
    if not words:
        return text

    def fill(m: re.Match[str]) -> str:
        if m["kept"]:
            return m["kept"]
        new = words[m["word"].casefold()]
        first = not text[: m.start()].strip()
        # a sentence begins with it; `FP32 pipe` has its capital anywhere
        if m["word"][0].isupper() and not m["word"].isupper():
            abbreviation = m["word"].split()[0].isupper()
            new = upper_first(new) if not abbreviation or first else new
        elif first and m["word"].isupper() and new.islower():
            new = upper_first(new)
        # part of a compound: `shared-memory conflicts`, `FP32 pipe-bound`
        if "-" in m["word"] or text[m.end() :].startswith("-"):
            new = new.replace(" ", "-")
        many = "" if new.isupper() and len(new) == 3 else m["many"]  # LDS, SLM, XMX
        article = m["article"] or ""
        if article:
            article = article[0] + ("n " if new[0] in "aeiouAEIOUX" else " ")
        return f"{article}{new}{many}"

    return _pattern(names).sub(fill, text)


@cache
def _words(names: tuple[str, ...]) -> dict[str, str]:
    """What is replaced, in small letters -> the word for it."""
    out: dict[str, str] = {}
    for entry in glossary.entries():
        theirs = dict(entry.names)
        if mine := next((theirs[n] for n in names if n in theirs), entry.plain):
            first = re.split(r", | / ", mine)[0]
            out |= {w.casefold(): first for w in entry.heard if w != first}
    return out


@cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """What `_words` replaces, whole words only; abbreviations in capitals only. `kept`: what stands for itself, and groups
    of something else than threads.
    """
    longest = sorted(
        (w for e in glossary.entries() for w in e.heard if w.casefold() in _words(names)), key=len, reverse=True
    )
    either = "|".join(
        re.escape(w) if w.isupper() else f"[{w[0].upper()}{w[0].lower()}]{re.escape(w[1:])}" for w in longest
    )
    return re.compile(
        r"(?P<kept>\{[^{}]*\}|`[^`]*`|“[^”]*”|\b(?:[Ww]arp|[Ss]ub|[Ww]ork)[- ]groups?\b)"
        rf"|(?P<article>\b[Aa]n? )?(?<![\w._])(?P<word>{either})(?P<many>s?)(?!\w|[._]\w)"
    )
