"""What names of kernels tell of their work: the elements of their arrays, and how wide a product loads its operands."""

import numpy as np
import pytest

from triage.derive.argument_arrays import element_bytes
from triage.derive.memory_waste import _load_waste
from triage.derive.operand_widths import operand_bytes


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("vector_add(const float *, const float *, float *, int)", 12.0),
        ("scale(double const*, double*, unsigned long)", 16.0),
        ("fill(int)", float("nan")),
        ("gather(const Cell *, float *)", float("nan")),
        ("rows(float **, float *)", float("nan")),
        ("cast(const __half * __restrict__, float *)", 6.0),
    ],
)
def test_elements_of_the_arrays_among_the_parameters(name: str, size: float) -> None:
    assert element_bytes(name) == pytest.approx(size, nan_ok=True)


def test_excess_beyond_the_other_kinds_sectors_is_this_kinds() -> None:
    """Loads of 3.6 sectors per request look dense, yet nothing else can have the counted excess."""
    facts = (np.nan, 3.6, 1.0, np.nan, 0.999)
    assert _load_waste(
        *map(np.float64, facts), np.float64(np.nan), np.float64(9.0), np.float64(100.0), np.float64(91.0)
    ) == pytest.approx(0.089, abs=1e-3)
    even = (np.nan, 3.6, 1.0, np.nan, 0.5)
    assert (
        _load_waste(*map(np.float64, even), np.float64(np.nan), np.float64(9.0), np.float64(100.0), np.float64(91.0))
        == 0.0
    )


@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("cutlass3x_sm100_tensorop_s64x256x32gemm_f8_f8_f32_f16_f16_64x256x128_1x1x1_0_tnn_align4_1sm", 4.0),
        ("cutlass_80_tensorop_f16_s16816gemm_f16_128x128_64x4_nt_align8", 16.0),
        ("volta_fp16_s884gemm_fp16_256x128_ldg8_f2f_nn", 16.0),
        ("cutlass_80_simt_sgemm_256x128_8x4_nn_align1", float("nan")),
        ("cutlass_tensorop_s1688gemm_128x128_16x3_nt_align4", float("nan")),
    ],
)
def test_operand_widths_of_products_by_name(name: str, width: float) -> None:
    assert operand_bytes(name) == pytest.approx(width, nan_ok=True)
