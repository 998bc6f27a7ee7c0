"""Tiles by kernel names, and what of tiles and waves a product leaves unused; sizes worked out by hand."""

import pytest

from triage.capture.trace_nouns import Operator
from triage.diagnosis.operator_facts import _quantised
from triage.diagnosis.tile_waste import tile, tiling

CUTLASS = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8>(...)"


@pytest.mark.parametrize(
    ("name", "size"),
    [
        (CUTLASS, (128, 64)),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas", (128, 256)),
        ("ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_64x3_tn", (256, 128)),
        ("ampere_sgemm_128x64_tn", (128, 64)),
        ("volta_sgemm_32x128_nn", (32, 128)),
        ("nvjet_tst_192x192_64x4_2x1_v_bz_coopA_TNT", (192, 192)),
        ("Cijk_Alik_Bljk_BBS_BH_MT256x224x64_MI16x16x1_SN_1LDSB0", (256, 224)),
        ("void k<GemmShape<128, 256, 32>, GemmShape<64, 64, 32>>(float*)", (128, 256)),
        ("ampere_sgemm_32x32_sliced1x4_nn", None),
        ("Cijk_Ailk_Bljk_HHS_MT128x128x32_GSU4_x", None),
        ("cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x5_splitK_nn_align8", None),
        ("gemv2T_kernel_val", None),
        ("triton_mm_128x64", None),
        ("cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_64x1_nn_align8", None),  # smaller than any wave matters
    ],
)  # fmt: skip
def test_tiles_by_name(name: str, size: tuple[int, int] | None) -> None:
    assert tile(name) == size


def product(m: int, n: int, batch: int = 1, k: int = 4096, kernel: str = CUTLASS) -> Operator:
    work = 2.0 * batch * m * n * k
    return Operator(
        "aten::mm",
        "matmul",
        "c10::BFloat16",
        "",
        10,
        10_000_000,
        (kernel,),
        work,
        2.0 * (m * k + k * n + m * n),
        batch,
        m,
        n,
        k,
    )


@pytest.mark.parametrize(
    ("m", "n", "batch", "sms", "tiles", "used", "waves", "waste"),
    [
        (1024, 1024, 1, 128, 128, 1.0, 1.0, 0.0),  # 8 x 16 tiles on 128 SMs
        (1024, 1024, 1, 100, 128, 1.0, 1.28, 0.36),  # a second wave of 28 tiles
        (1025, 1024, 1, 160, 136, 0.9421, 0.85, None),  # below one wave: the grid is too small
        (64, 1000, 16, 8, 128, 1000 / 1024, 16.0, 0.0234),  # 64 x 128: the tile lies either way
    ],
)
def test_waste_by_hand(
    m: int, n: int, batch: int, sms: int, tiles: int, used: float, waves: float, waste: float | None
) -> None:
    found = tiling(product(m, n, batch), sms)
    if waste is None:
        assert found is None
        return
    assert found is not None and found.tiles == tiles
    assert (found.used, found.waves, found.waste) == pytest.approx((used, waves, waste), abs=1e-3)


def test_the_fact_names_tiles_and_waves() -> None:
    ((value, text),) = _quantised([product(1024, 1024)], 100, 100_000_000).values()
    assert value == pytest.approx(0.036)
    assert text == "aten::mm 1024×1024×4096 BF16: 128 tiles of 128×64, 100 % used, 1.28 waves on 100 SMs"
    thin = product(1024, 1024, k=16)  # bound by its bytes
    assert _quantised([thin], 100, 100_000_000) == {}
