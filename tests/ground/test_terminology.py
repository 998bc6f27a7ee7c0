"""Reports about an AMD or Intel GPU speak in that vendor's words, in every format; what was captured is quoted as it is."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, generic
from triage import api, dialects
from triage.document.bundle import Bundle
from triage.ground.phrasing import upper_first
from triage.ground.terminology import localize, names_of, speaking
from triage.products.tickets import compose
from triage.products.tickets import text as ticket_text
from triage.rendering.formats import render
from triage.rulebook import packs

AMD, CDNA, RDNA = ("AMD",), ("AMD",), ("RDNA", "AMD")
INTEL, CUDA = ("Xe", "Intel"), ("CUDA",)
SAMPLES = [
    "rocprof/results.csv", "rocprof-compute/four_kernels_mi210", "rocprof-compute-panel/201.csv", "rocprof-stats/results.stats.csv",
    "rocprof-compute-top/pmc_kernel_top.csv", "rocprofv3-counters/4711_counter_collection.csv", "rocprofv3-kernels/4711_kernel_trace.csv",
    "rcp/session.csv", "rga/gfx1100_reduce_stats.csv", "intel-pti/metrics.4711.csv", "intel-pti/sampled.4711.csv", "intel-pti/timing.txt",
]  # fmt: skip
FORMATS = ("terminal", "markdown", "jira", "csv", "junit", "json", "html")
FOREIGN = re.compile(r"(?<![\w.])(?:SMs?|[Ww]arps?|L1TEX|TEX|[Ss]hared[ -]memory|[Tt]ensor cores?)(?![\w.])")
ID = re.compile(r"[a-z0-9-]+")  # of a rule or cause
UNITS = {"sol", "primary", "secondary", "hit_grades"}  # of the JSON: names of units by which programs tell them


def strings(value: Any) -> list[str]:
    """Every text of a tree, names of units apart."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [s for k, v in value.items() if k not in UNITS for s in strings(v)]
    return [s for v in value for s in strings(v)] if isinstance(value, list | tuple) else []


def written(b: Bundle, fmt: str) -> list[str]:
    """What a reader of a format reads; of the page also what its script unpacks."""
    parts: list[str] = []
    render(b, fmt, parts.append, full=True)
    text = "".join(parts)
    if fmt == "json":
        return strings(json.loads(text))
    if fmt == "html":
        from triage.rendering.html.page_data import pack
        from triage.rendering.html.string_table import Words
        from triage.rendering.html.tree_data import tree

        with speaking(b.item, b.whose):
            return [
                re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", " ", text, flags=re.DOTALL),
                *strings(pack(b, tree(b), Words())),
            ]
    return text.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES)
def test_every_sentence_of_every_sample(sample: str) -> None:
    d = api.diagnose(ROOT / "sample_captures" / sample)
    read = {f: [s for s in written(d.bundle, f) if FOREIGN.search(s) and not ID.fullmatch(s)] for f in FORMATS}
    assert not any(read.values()), read
    bodies = [ticket_text.body(t, m, 30_000) for t in compose.make(d.bundle) for m in ("markdown", "jira")]
    assert not [b for b in bodies if FOREIGN.search(b)]


def test_names_from_the_capture_stay(tmp_path: Path) -> None:
    """A kernel may be called what it likes."""
    row = {"name": "warp_SM shared memory TEX", "gpu.time": 2, "eu.stall_sbid": 60, "eu.active": 20, "eu.stall": 70}
    b = api.diagnose(generic(tmp_path / "t.csv", [row]), device="Arc B580").bundle
    assert b.whose == INTEL
    assert b.workloads[0]["name"] == row["name"]
    for fmt in ("markdown", "json", "terminal"):
        assert "shared memory TEX" in " ".join(written(b, fmt))


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("Warps wait on an SM", AMD, "Waves wait on a CU"),
        ("SMs hold a warp", INTEL, "Xe-cores hold a SIMD thread"),
        ("An SM's shared memory", AMD, "A CU's LDS"),
        ("Shared memory per SM", INTEL, "SLM per Xe-core"),
        ("TEX hit rate", CDNA, "vL1D hit rate"),
        ("TEX hit rate", RDNA, "GL0 hit rate"),
        ("Waves per SM", AMD, "Rounds of workgroups"),
        ("Groups of a grid; a thread group, one warp-group and a sub-group", CUDA, "Blocks of a grid; a block, one warp-group and a sub-group"),
        ("an SM without a group", INTEL, "an Xe-core without a work-group"),
        ("EU stalled, L2 hit rate", INTEL, "XVE stalled, L3 hit rate"),
        ("EU stalled in an SM", ("Gen12", "Intel"), "EU stalled in a subslice"),
        ("{workload} on “SM 3” with `warp` and sm.active, warpSize", AMD, "{workload} on “SM 3” with `warp` and sm.active, warpSize"),
        ("Warps of an SM", (), "Warps of an SM"),
    ],
)  # fmt: skip
def test_words(text: str, names: tuple[str, ...], expected: str) -> None:
    with speaking(names=names):
        assert localize(text) == expected
        assert localize(localize(text)) == localize(text)
    assert localize(text) == text  # nobody's report is being written


def test_whose_words() -> None:
    assert names_of({"vendor": "amd", "arch": "gfx1100"}) == RDNA
    assert names_of({"vendor": "amd", "arch": "gfx942", "api": "hip"}) == CDNA
    assert names_of({"vendor": "intel", "arch": "xe-hpg"}) == INTEL
    assert names_of({"vendor": "intel", "arch": "xe-lpg"}) == INTEL
    assert names_of({"vendor": "intel", "arch": "xe-lp"}) == ("Gen12", "Intel")
    assert names_of({"vendor": "apple", "api": "metal"}) == ("Metal",)
    assert names_of({"vendor": "nvidia", "arch": "sm_90", "api": "cuda"}) == CUDA


def test_a_name_within_a_sentence_has_small_letters() -> None:
    """`FP32 pipe` begins with a capital anywhere, what stands for it only at the beginning of a sentence."""
    for names, whole in ((("Intel",), "vector engine"), (("AMD",), "VALU")):
        with speaking(names=names):
            assert localize("The FP32 pipe is full.") == f"The {whole} is full."
            assert localize("FP32 pipe at its limit") == f"{upper_first(whole)} at its limit"


def test_rows_of_presentmon_are_applications() -> None:
    assert dialects.noun(["presentmon"]) == "application"
    assert dialects.noun(["ncu-raw", "ncu-gui"]) == "kernel"
    assert dialects.noun(["presentmon", "generic"]) == "marker"


# facts of a GPU -> titles of causes in its words; what is not named here stays as it is written
TITLES: list[tuple[dict[str, str], dict[str, str]]] = [
    ({"vendor": "nvidia", "api": "cuda", "work": "compute"}, {"bus-traffic": "PCIe-transfer-bound", "vram-bandwidth": "DRAM bandwidth-bound", "occupancy-shared-memory": "Shared-memory-limited occupancy", "tiny-groups": "Block-slot-limited occupancy"}),
    ({"vendor": "nvidia", "work": "graphics"}, {"vram-bandwidth": "VRAM bandwidth-bound", "launch-rate": "Warp-launch-bound"}),
    ({"vendor": "nvidia", "api": "cuda", "link": "NVLink-C2C"}, {"bus-traffic": "NVLink-C2C-transfer-bound"}),
    ({"vendor": "amd", "arch": "gfx942", "api": "hip", "link": "Infinity Fabric"}, {"bus-traffic": "Infinity-Fabric-transfer-bound", "launch-rate": "Wave-launch-bound", "fp32-bound": "VALU-bound", "vram-bandwidth": "DRAM bandwidth-bound"}),
    ({"vendor": "amd", "arch": "gfx1100", "work": "graphics"}, {"matrix-underfed": "Underused WMMA units", "vram-bandwidth": "DRAM bandwidth-bound"}),
    ({"vendor": "intel", "arch": "xe-hpg"}, {"launch-rate": "Thread-dispatch-bound", "ordered-retirement": "In-order pixel-thread retirement", "fp32-bound": "Vector-engine-bound", "matrix-bound": "XMX-bound"}),
    ({"vendor": "intel", "arch": "gen12"}, {"sm-tex-interface": "Subslice-sampler interface saturated"}),
    ({"vendor": "apple", "api": "metal"}, {"shared-memory-traffic": "Threadgroup-memory bandwidth-bound", "fp32-bound": "ALU-bound"}),
    ({"vendor": "arm"}, {"fp32-bound": "Arithmetic-unit-bound", "idle-sms": "Idle shader cores"}),
    ({"vendor": "qualcomm"}, {"launch-rate": "Wave-launch-bound"}),
]  # fmt: skip
# words of one vendor that no title about another's GPU may hold
THEIRS = {
    "amd": r"\b(?:SMs?|[Ww]arps?|[Tt]ensor|SLM|XMX|SIMD)\b",
    "intel": r"\b(?:SMs?|[Ww]arps?|[Tt]ensor|LDS|VALU)\b|SIMD thread-|-SIMD thread",
    "apple": r"\b(?:SMs?|[Ww]arps?|LDS|SLM|XMX|VALU)\b",
}


@pytest.mark.parametrize(("facts", "titles"), TITLES, ids=lambda x: " ".join(x.values()) if "vendor" in x else "")
def test_titles_of_causes(book: packs.Rulebook, facts: dict[str, str], titles: dict[str, str]) -> None:
    with speaking(names=names_of(facts)):
        heard = {c.id: localize(c.title) for c in book.causes.values()}
    assert len(heard) > 80
    assert {name: heard[name] for name in titles} == titles
    for title in heard.values():
        assert title[0].isupper() or title.startswith("vL1D"), title
        assert "  " not in title and not re.search(r"- (?!or )| -", title), title
        assert len(title.split()) <= 6, title
    if strange := THEIRS.get(facts["vendor"]):
        assert [t for t in heard.values() if re.search(strange, t)] == []


@pytest.mark.parametrize(
    ("names", "word"), [(("P3",), "VRAM"), (CUDA, "DRAM"), (AMD, "DRAM"), (INTEL, "DRAM"), ((), "DRAM")]
)
def test_memory_has_one_word(names: tuple[str, ...], word: str) -> None:
    with speaking(names=names):
        assert localize("DRAM bandwidth-bound: VRAM SOL 91 %") == f"{word} bandwidth-bound: {word} SOL 91 %"


@pytest.mark.slow
@pytest.mark.parametrize(
    "sample", ["gpu-trace/demo_frame", "ncu-rep/transpose.ncu-rep", "generic/p3_workloads_v2.csv", "rcp/session.csv"]
)
def test_no_report_shows_both_words_for_memory(sample: str) -> None:
    b = api.diagnose(ROOT / "sample_captures" / sample).bundle
    for fmt in ("terminal", "markdown"):
        text = " ".join(written(b, fmt))
        assert not ("VRAM" in text and re.search(r"\bDRAM\b(?! Throughput)", text)), fmt


@pytest.mark.parametrize(("device", "link"), [("GH200", "NVLink-C2C"), ("H100 PCIe", "PCIe")])
def test_the_host_link_is_the_devices(tmp_path: Path, device: str, link: str) -> None:
    row = {"name": "k", "gpu.time": 2, "launch.block_size": 256, "launch.grid_size": 4096, "pcie.throughput": 60}
    b = api.diagnose(generic(tmp_path / "t.csv", [row]), device=device).bundle
    text = " ".join(written(b, "terminal"))
    assert f"{link}-transfer-bound" in text
    assert link == "PCIe" or not re.search(r"\bPCIe\b", text)
