"""A to-do item speaks to who can act: the call of a library's kernel, the code of one's own; fills never lead."""

import re
from pathlib import Path
from typing import Any

import pytest

from triage import api
from triage.findings.chosen_advice import table
from triage.ground.kernel_owners import patterns
from triage.rulebook import packs


def items(tmp_path: Path, rows: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """To-do items of kernels (name, duration in ms) that wait for scattered loads."""
    path = tmp_path / "kernels.csv"
    lines = [f'"{name}",compute,{ms},80,24,{32},90,35,70\n' for name, ms in rows]
    head = "name,kind,gpu.time [ms],memory.side [%],global_load.sectors_per_request,stall.long_scoreboard [%],l1tex.throughput [%],sm.throughput [%],l2.throughput [%]\n"
    path.write_text(head + "".join(lines), "utf-8")
    return list(api.diagnose(path).to_dict()["todo"])


def test_a_librarys_kernel_gets_advice_about_the_call(tmp_path: Path) -> None:
    (own,) = items(tmp_path, [("my_kernel(float*)", "1")])
    (theirs,) = items(tmp_path, [("ampere_sgemm_128x128_tn", "1")])
    assert own["kernel_owner"] is None
    assert theirs["kernel_owner"] == "library"
    assert own["cause"] == theirs["cause"]
    assert theirs["action"].startswith("Change the call")
    assert not theirs["code"]
    assert own["action"] != theirs["action"]


def test_fills_and_copies_lead_no_list(tmp_path: Path) -> None:
    path = tmp_path / "kernels.csv"
    path.write_text(
        "name,kind,gpu.time [ms],memory.side [%],global_load.sectors_per_request,stall.long_scoreboard [%],"
        "l1tex.throughput [%],shared.bank_conflicts,shared.wavefronts,stall.short_scoreboard [%]\n"
        "__amd_rocclr_fillBufferAligned.kd,compute,5,80,24,32,90,,,\n"
        "mine,compute,1,20,4,5,90,31000,32000,60\n",
        "utf-8",
    )
    todo = api.diagnose(path).to_dict()["todo"]
    assert [i["kernel_owner"] for i in todo] == [None, "runtime"]
    assert todo[1]["saved_ns"] > todo[0]["saved_ns"]  # told with its saving, and not first


def test_a_triton_kernel_gets_tritons_words(tmp_path: Path) -> None:
    (item,) = items(tmp_path, [("triton_poi_fused_add_0", "1")])
    assert item["kernel_owner"] == "compiler"
    assert any("tl.arange" in line for line in item["advice"])
    assert not item["code"]
    assert "cudaMallocPitch" not in " ".join(item["advice"])


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("cudapy::__main__::add_241[abi:cw51cXTLSUwv1]", "cuda.grid(2)"),
        ("julia_runsteps_6724(CuDeviceArray<int, 1, 1>)", "column-major"),
        ("void Kokkos::Impl::cuda_parallel_launch_local_memory<Functor>(Functor)", "LayoutLeft"),
        ("compute_tendencies_x_279_gpu", "vector loop"),
        ("substep_c78_0_kernel_2_range_for", "Layout.SOA"),
        ("cupy_multiply__float64_float_float64", "cupy.fuse"),
        ("typeinfo name for gemm::Kernel", "sub-group block loads"),
    ],
)
def test_a_kernel_of_another_language_gets_its_words(kernel: str, words: str, tmp_path: Path) -> None:
    (item,) = items(tmp_path, [(kernel, "1")])
    text = " ".join(item["advice"])
    assert words in text
    assert not re.search(r"cuda[A-Z]|__\w|float4|threadIdx|torch", text)
    assert not item["code"]


# words of CUDA's and HIP's own dialect of C++, and those that other kinds of C have as well
DIALECT_RE = re.compile(
    r"(?<![A-Za-z_])__[a-z]\w+|\b(?:cuda|hip)[A-Z]\w+|\bthreadIdx\b|-Xptxas|-maxrregcount|\bCUTLASS\b"
)
OF_C_RE = re.compile(r"\b(?:float|double|int)[248]\b|#pragma|\bfunction pointers?\b")


def test_advice_in_words_of_a_language_states_it() -> None:
    book = packs.load()
    advice = [(x.id, a) for x in (*book.rules, *book.causes.values()) for a in x.advice]
    bare = [(name, a.text) for name, a in advice if DIALECT_RE.search(a.text) and not a.where.get("api")]
    assert not bare
    of_kernels = ((name, a) for name, a in advice if OF_C_RE.search(a.text) and not a.where.get("api"))
    assert {name for name, _ in of_kernels} <= {
        "MOB004",
        "occupancy-attributes",
    }  # of graphics alone, whose shaders have them


def test_advice_that_finds_out_more_is_no_fix() -> None:
    found = [a for r in packs.load().rules for a in r.advice if a.look]
    assert found and all(
        re.match("(Check|Compare|Count|Find|Look|Mark|Measure|Profile|Record|Time) ", a.text) for a in found
    )


def test_every_language_of_a_kernel_has_words() -> None:
    languages = {p.language for p in patterns()} - {""}
    assert languages == set(table("language_advice"))
    assert all(
        "" in causes and all(e["source"] and e["advice"] for e in causes.values())
        for causes in table("language_advice").values()
    )


def test_a_sentence_of_several_kernels_names_the_one_it_is_of(tmp_path: Path) -> None:
    (item,) = items(tmp_path, [("first(float*)", "2"), ("second(float*)", "1")])
    assert item["message"].startswith("first: ")
    (item,) = items(tmp_path, [("first(float*)", "2")])
    assert not item["message"].startswith("first")
