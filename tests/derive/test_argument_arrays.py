"""What the name of a kernel tells of its arrays."""

import math

import pytest

from triage.derive.argument_arrays import _number
from triage.derive.compute_work import _apart


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("volta_dgemm_128x64_nn", 8),
        ("cutlass_80_tensorop_d884gemm_64x64_16x4_nt_align1", 8),
        ("ampere_sgemm_128x64_nn", 4),
        ("edgemv_kernel(float const*, float*)", 4),
        ("axpy(double const*, double*, int)", 8),
        ("axpy(double const*, float*, int)", 4),
        ("hgemm_half2(const __half2 *, const __half2 *, float *)", 2),
        ("conv(sycl::_V1::half const*, float*)", 2),
        ("count(int const*, int*)", math.nan),
    ],
)
def test_numbers_by_name(name: str, size: float) -> None:
    assert _number(name) == pytest.approx(size, nan_ok=True)


@pytest.mark.parametrize(("top", "apart"), [(118.0, 0.45), (80.0, 0.25), (math.nan, math.nan)])
def test_no_unit_is_active_beyond_the_launch(top: float, apart: float) -> None:
    assert float(_apart(55.0, top, 100.0)) == pytest.approx(apart, nan_ok=True)
