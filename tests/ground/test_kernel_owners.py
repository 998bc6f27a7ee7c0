"""Owners of kernels by name: every pattern finds its example, none takes the user's own kernels for another's."""

import pytest

from triage.findings.chosen_advice import owner_advice, table
from triage.ground.kernel_owners import Pattern, is_triton, owner_of, patterns

OWN = (
    "reduce_kernel<512>(float*)", "transpose_naive", "kernel1", "void gemm<float>(int)", "layer_norm_kernel", "bitonicSortShared",
    "void monte_carlo_euro<float>(curandState*, cudnn::handle*)", "void reduce<thrust::pair<int, int>>(int*)", "vec_add(float*)",
    "softmax_kernel", "copy_kernel", "reduce_add", "naive_matmul(float*, float*)", "blocks_of_70", "adamw_kernel2", "scan_fused",
    "Shadow map", "DispatchRays", "x" * 10_000,
)  # fmt: skip


@pytest.mark.parametrize("pattern", patterns(), ids=lambda p: p.id)
def test_every_pattern_finds_its_example_first(pattern: Pattern) -> None:
    found = owner_of(pattern.example)
    assert found is not None
    assert found.id == pattern.id


@pytest.mark.parametrize("name", OWN, ids=lambda n: n[:20])
def test_own_kernels_have_no_other_owner(name: str) -> None:
    owner = owner_of(name)
    assert owner is None or owner.owner == "own"


def test_the_tile_of_a_product_stands_in_its_name() -> None:
    found = owner_of("ampere_sgemm_128x64_tn")
    assert found is not None
    assert found.tile == (128, 64)
    assert "128 x 64" in " ".join(owner_advice("ampere_sgemm_128x64_tn"))


def test_no_owner_with_advice_is_unknown() -> None:
    owners = {(p.owner, p.family) for p in patterns()}
    assert set(table("owner_advice")) <= {owner for owner, _ in owners}
    assert not [(o, f) for o, families in table("owner_advice").items() for f in families if f and (o, f) not in owners]
    assert all(e["source"] and e["advice"] for families in table("owner_advice").values() for e in families.values())


def test_triton_is_told_by_name_or_by_python_lines() -> None:
    assert is_triton("triton_red_fused_sum_3", ())
    assert is_triton("matmul_kernel", ["/home/me/matmul.py"])
    assert not is_triton("matmul_kernel", ["/home/me/matmul.cu", None])
    assert not is_triton("cudapy::__main__::add_241[abi:cw51cXTLSUwv1]", ["add.py"])
    assert not is_triton("ampere_sgemm_128x64_tn", ["train.py"])
    assert not is_triton("void gemm<float>(int)", ["gemm.py"])
