"""GPUs and their limits: which architecture a device is, what fits on it, how fast it can go.

Six tables lie in this folder, every row with its source: `nvidia_limits.csv` (per compute
capability), `nvidia_clusters.csv` (per chip that launches clusters), `amd_limits.csv` (per gfx name), `intel_limits.csv` (per architecture), `gpus.csv`
(products as profilers print them), `reached_rates.csv` (what libraries reach on a product) and `peer_links.csv` (what connects
those of a node).
They are read on first use. Nothing here needs NumPy or pandas, so asking for a device is cheap.
"""

from __future__ import annotations

import difflib
import re
from functools import cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from triage.devices.limit_tables import (
    amd_names,
    amd_rows,
    cluster_layouts,
    families,
    integer,
    intel,
    limits_for,
    number,
    nvidia,
    read,
    scaled,
)
from triage.devices.limits import AmdLimits, ClusterLayout, Disagreement, IntelLimits, Limits, NvidiaLimits
from triage.ground.errors import TriageError
from triage.ground.phrasing import either

__all__ = [
    "AmdLimits",
    "ClusterLayout",
    "Device",
    "Disagreement",
    "IntelLimits",
    "Limits",
    "NvidiaLimits",
    "Peaks",
    "Vendor",
    "architecture",
    "architectures",
    "cluster_layouts",
    "find",
    "is_family",
    "limits_of",
    "listing",
    "named",
    "of_size",
    "require",
]

Vendor = Literal["nvidia", "amd", "intel"]

# Words that vendors and drivers add or drop freely; they never tell two products apart.
_NOISE = frozenset(
    "nvidia amd ati intel corporation geforce radeon tesla quadro instinct graphics gpu series device tm r".split()
)
# sm_86, compute_86, CC 8.6, 8.6, and the suffixes of arch-specific (90a) and family-specific (100f) builds
_NVIDIA_ARCH = re.compile(r"(?:sm|compute|cc)?[ _-]*(?:(\d{1,2})\.(\d)|(\d{2,3}))[af]?")


class Peaks(Struct, frozen=True):
    """Speeds of light of one product, at its boost clock; None where no source gives the value.

    bf16_reached_tflops, fp16_reached_tflops: of matrix units, the most that its vendor measured in a library.
    """

    fp32_tflops: float | None = None
    fp64_tflops: float | None = None
    fp16_tflops: float | None = None
    fp16_tensor_tflops: float | None = None
    dram_bytes_per_s: float | None = None
    l2_bytes: float | None = None
    l3_bytes: float | None = None
    boost_clock_hz: float | None = None
    bf16_reached_tflops: float | None = None
    fp16_reached_tflops: float | None = None


# data sheets of V100, A100, H100, MI210 and MI300X: PCIe 3, 4 or 5; PCI-SIG: 8, 16 or 32 GT/s a lane in 128b/130b
_BUS = {
    **dict.fromkeys(("Pascal", "Volta", "Turing"), 15.75e9),
    **dict.fromkeys(("Ampere", "Ada", "CDNA1", "CDNA2", "RDNA2", "RDNA3"), 31.5e9),
    **dict.fromkeys(("Hopper", "Blackwell", "CDNA3", "CDNA4"), 63e9),
}


class Device(Struct, frozen=True):
    """A GPU product, or an architecture without a product (then `sm_count` is None).

    sm_count: SMs, compute units or Xe cores; max_warps_per_sm: warps, waves or hardware threads of one of them.
    fp64_ratio: FP32 peak over FP64 peak. dies, shader_engines, l2_channels: of the whole GPU, AMD only.
    host_link: what connects it to the CPU, "" for PCIe. peer_link: what connects it to others of its node, and its bytes per s each
    way in theory, where that is more than PCIe. source: where the row's figures come from.
    """

    name: str
    vendor: Vendor
    arch: str
    generation: str
    sm_count: int | None
    max_warps_per_sm: int
    warp_size: int
    limits: Limits | IntelLimits
    peaks: Peaks
    fp64_ratio: float | None
    source: str
    notes: str = ""
    aliases: tuple[str, ...] = ()
    dies: int | None = None
    shader_engines: int | None = None
    l2_channels: int | None = None
    host_link: str = ""
    peer_link: tuple[str, float] | None = None

    @property
    def bus(self) -> float | None:
        """Bytes per s each way over 16 lanes of PCIe, in theory; None for another link or an unlisted generation."""
        return None if self.host_link else _BUS.get(self.generation)


def find(name_or_arch: str) -> Device | None:
    """The device a profiler means by `name_or_arch`, or None when it is not in the tables.

    Accepts product names in any spelling ("NVIDIA GeForce RTX 3080", "AMD Instinct(TM) MI250X")
    and architectures ("sm_86", "8.6", "gfx90a:sramecc+", "CDNA2"). A memory size must agree where
    the product is sold with several; without one, the first product of the table is meant.
    """
    text = name_or_arch.strip()
    if not text:
        return None
    arch = architecture(text)
    if arch is not None:
        return _bare(arch)
    words, memory = _words(text)
    if not words:  # "NVIDIA GPU": all noise, which every product would match
        return None
    # "RTX 3080" names the first product of the table, "RTX 3080 12GB" only the one that is sold with 12 GB; a memory
    # size behind a product that exists once is ignored.
    for names, sizes, device in _index():
        if words in names and (memory is None or not sizes or memory in sizes):
            return device
    return None


def named(text: str, vendor: str) -> Device | None:
    """The one product of a vendor that a file's name or a line of a log names ("run3_mi210.csv"), else its architecture.

    None where none or several are named: a guess would be worse than blind rules.
    """
    words = _words(text)[0]
    runs = {"".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, min(i + 5, len(words)) + 1)}
    hits = {hit: device for names, _, device in _index() if device.vendor == vendor for hit in _tells(names) & runs}
    # "rx9070xt" holds "rx9070", which is another product
    products = {d.name: d for hit, d in hits.items() if not any(hit != h and hit in h for h in hits)}
    if products:
        return next(iter(products.values())) if len(products) == 1 else None
    known = (_of_word(word) for word in words if not word.isdigit())
    archs = {d.arch: d for d in known if d is not None and d.vendor == vendor}
    return next(iter(archs.values())) if len(archs) == 1 else None


def _tells(names: frozenset[tuple[str, ...]]) -> set[str]:
    """Spellings without gaps that nothing but a product has: with its family's word, and without where letters remain."""
    whole = {"".join(words) for words in names}
    bare = {"".join(words[1:]) for words in names}
    return {w for w in whole if re.search(r"\d", w)} | {w for w in bare if re.search(r"[a-z]\d|\d[a-z]", w)}


def _of_word(word: str) -> Device | None:
    try:
        arch = architecture(word)
    except TriageError:  # a family of several
        return None
    return None if arch is None else _bare(arch)


def require(name_or_arch: str) -> Device:
    """Like `find`, but an unknown name raises TriageError with the nearest known ones."""
    device = find(name_or_arch)
    if device is not None:
        return device
    known = [entry.name for entry in listing()]
    spelled = {name.casefold(): name for name in [*known, *nvidia(), *amd_names(), *intel()]}
    near = difflib.get_close_matches(name_or_arch.casefold(), list(spelled), n=3, cutoff=0.6)
    hint = "did you mean " + ", ".join(spelled[name] for name in near) + "? " if near else ""
    raise TriageError(f"unknown device or architecture {name_or_arch!r}", f"{hint}see: triage list devices")


def architecture(text: str) -> str | None:
    """The canonical name ("sm_86", "gfx90a") of an architecture in any usual spelling, or None.

    Family names stand for one member where that is harmless (GCN, CDNA2, Hopper); an NVIDIA family
    whose members differ (Ampere) raises TriageError naming them.
    """
    plain = text.strip().casefold()
    if plain.startswith("gfx"):
        plain = plain.split(":")[0]  # what follows (sramecc, xnack) is a mode of the same hardware
        return plain if plain in amd_names() else None
    family = families().get(plain.replace(" ", ""))
    if family is not None:
        return family
    for xe in intel().values():
        if plain.replace(" ", "").replace("_", "-") in (*xe.names, *(name.replace("-", "") for name in xe.names)):
            return xe.arch
    match = _NVIDIA_ARCH.fullmatch(plain)
    if match:
        found = f"sm_{match[3] or match[1] + match[2]}"
        return found if found in nvidia() else None
    members = [limits.arch for limits in nvidia().values() if limits.generation.casefold() == plain]
    if len(members) > 1:
        raise TriageError(f"{text}: several architectures", f"choose {either(members)}")
    return members[0] if members else None


def limits_of(arch: str) -> Limits:
    """The limits of an architecture in any spelling `architecture` knows; TriageError otherwise, and for Intel's."""
    found = architecture(arch)
    limits = require(arch).limits if found is None else limits_for(found)
    if isinstance(limits, IntelLimits):
        hint = "use Intel's GPU occupancy calculator for Xe; in captures, rules check the measured occupancy"
        raise TriageError(f"{limits.arch}: occupancy is calculated for NVIDIA and AMD GPUs only", hint)
    return limits


def is_family(text: str) -> bool:
    """Whether `text` names a family of AMD architectures, of which `architecture` picks one."""
    return text.strip().casefold().replace(" ", "") in families()


def of_size(vendor: Vendor, sm_count: int, gib: int) -> tuple[Device, ...]:
    """Products of a vendor with this many SMs, compute units or Xe cores, of whose names one states this memory."""
    return tuple(d for _, sizes, d in _index() if (d.vendor, d.sm_count) == (vendor, sm_count) and f"{gib}gb" in sizes)


def listing() -> tuple[Device, ...]:
    """Every product of the tables, in table order."""
    return tuple(device for _, _, device in _index())


def architectures() -> tuple[Device, ...]:
    """Every architecture of the tables, without a product."""
    return tuple(_bare(arch) for arch in [*nvidia(), *(row.arch for row in amd_rows()), *intel()])


def _words(text: str) -> tuple[tuple[str, ...], str | None]:
    """The telling words of a product name in order, and its memory size if it has one."""
    # 200 characters hold any product's name; the rest of a damaged cell is not worth reading
    plain = re.sub(r"[®™]|\((?:tm|r)\)", " ", text[:200].casefold())
    plain = re.sub(r"\(\d+\)\s*$", " ", plain)  # nvprof numbers devices: "TITAN Xp (0)"
    words: list[str] = []
    memory = None
    for word in re.findall(r"[a-z0-9]+", re.sub(r"(\d+)\s*g[bi]b?\b", r" \1gb ", plain)):
        if re.fullmatch(r"\d+gb", word):
            memory = word
        elif word not in _NOISE:
            words.append(word)
    return tuple(words), memory


@cache
def _index() -> tuple[tuple[frozenset[tuple[str, ...]], frozenset[str], Device], ...]:
    """Per product: its names as words, the memory sizes that distinguish it, and the device."""
    found = []
    for row in read("gpus.csv"):
        device = _product(row)
        spelled = [_words(name) for name in (device.name, *device.aliases)]
        names = frozenset(words for words, _ in spelled)
        sizes = frozenset(size for _, size in spelled if size is not None)
        found.append((names, sizes, device))
    return tuple(found)


@cache
def _reached() -> dict[str, dict[str, float | None]]:
    return {
        row["name"]: {column: number(value) for column, value in row.items() if column.endswith("_tflops")}
        for row in read("reached_rates.csv")
    }


@cache
def _peer_links() -> dict[str, tuple[str, float]]:
    return {row["name"]: (row["link"], float(row["gb_s"]) * 1e9) for row in read("peer_links.csv")}


def _product(row: dict[str, str]) -> Device:
    limits = limits_for(row["arch"])
    fp32, fp64 = number(row["fp32_tflops"]), number(row["fp64_tflops"])
    ratio = limits.fp64_ratio if isinstance(limits, NvidiaLimits) else None
    # NVIDIA states the ratio per compute capability, so a product's FP64 peak follows from its FP32 peak.
    if fp64 is None and fp32 is not None and ratio:
        fp64 = fp32 / ratio
    peaks = Peaks(
        fp32_tflops=fp32,
        fp64_tflops=fp64,
        fp16_tflops=number(row["fp16_tflops"]),
        fp16_tensor_tflops=number(row["fp16_tensor_tflops"]),
        dram_bytes_per_s=scaled(row["dram_gb_s"], 1e9),
        l2_bytes=scaled(row["l2_mib"], 2**20),
        l3_bytes=scaled(row["l3_mib"], 2**20),
        boost_clock_hz=scaled(row["boost_clock_mhz"], 1e6),
        **_reached().get(row["name"], {}),
    )
    aliases = tuple(part for part in row["aliases"].split("; ") if part)
    bare = _bare(row["arch"])
    return replace(
        bare,
        name=row["name"],
        generation=row["generation"],
        sm_count=int(row["sm_count"]),
        peaks=peaks,
        source=row["source"],
        notes=row["notes"],
        aliases=aliases,
        dies=integer(row["dies"]),
        shader_engines=integer(row["shader_engines"]),
        l2_channels=integer(row["l2_channels"]),
        host_link=row["host_link"],
        peer_link=_peer_links().get(row["name"]),
    )


@cache
def _bare(arch: str) -> Device:
    limits = limits_for(arch)
    vendor: Vendor
    if isinstance(limits, IntelLimits):
        vendor, warps, width = "intel", limits.engines * limits.threads_per_engine, limits.simd_widths[-1]
    elif isinstance(limits, NvidiaLimits):
        vendor, warps, width = "nvidia", limits.max_warps, limits.warp_size
    else:
        vendor, warps, width = "amd", limits.waves_per_simd * limits.simds, limits.wave_sizes[0]
    return Device(
        name=arch,
        vendor=vendor,
        arch=arch,
        generation=limits.generation,
        sm_count=None,
        max_warps_per_sm=warps,
        warp_size=width,
        limits=limits,
        peaks=Peaks(),
        fp64_ratio=limits.fp64_ratio if isinstance(limits, NvidiaLimits) else None,
        source=limits.source,
        notes="" if isinstance(limits, IntelLimits) else "; ".join(other.text for other in limits.disagreements),
    )
