"""What the name of a kernel tells of its arrays."""

import math

import pytest

from triage.derive.argument_arrays import _doubles
from triage.derive.compute_work import _apart


@pytest.mark.parametrize(
    ("name", "double"),
    [
        ("volta_dgemm_128x64_nn", 1.0),
        ("cutlass_80_tensorop_d884gemm_64x64_16x4_nt_align1", 1.0),
        ("ampere_sgemm_128x64_nn", math.nan),
        ("edgemv_kernel(float const*, float*)", 0.0),
        ("axpy(double const*, double*, int)", 1.0),
    ],
)
def test_double_precision_by_name(name: str, double: float) -> None:
    assert _doubles(name) == pytest.approx(double, nan_ok=True)


@pytest.mark.parametrize(("top", "apart"), [(118.0, 0.45), (80.0, 0.25), (math.nan, math.nan)])
def test_no_unit_is_active_beyond_the_launch(top: float, apart: float) -> None:
    assert float(_apart(55.0, top, 100.0)) == pytest.approx(apart, nan_ok=True)
