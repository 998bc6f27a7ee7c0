"""Names people can read, from names compilers write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.ground.kernel_names import function, kernel, parameters, plain
from triage.rendering.escape import distinct

SHORT = {
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, std::array<char*, 3>>(int, T1)": (
        "vectorized_elementwise_kernel<4, AddFunctor, …>"
    ),
    "void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<long, at::native::func_wrapper_t<long, "
    "at::native::sum_functor<long>::operator ()(at::TensorIterator &)::[lambda(long, long) (instance 1)]>, (int)4>>(T3)": (
        "reduce_kernel<512, 1, …>"
    ),
    "enable_if<!T7, void>::type kernel<int>(float*)": "kernel<int>",
    "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)": "norm_kernel<BFloat16, 8>",
    "_Z15transpose_tiledPfS_ii": "transpose_tiled",
    "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256EEEvPT0_": "add_rmsnorm_quant_kernel",
    "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_8sequenceIJLi1EEEEEEEvDpT1_": "kentry<Rmsnorm2dFwd>",
    "void ck_tile::kentry<256, 1, ck_tile::FmhaBwdKernel<ck_tile::X<int>>>(float *)": "kentry<FmhaBwdKernel>",
    "_ZN7ck_tile6kentryIfEEvPT_": "kentry",
    "_Z": "_Z",
    "_Z99999x": "_Z99999x",
    "spmm_forward_cuda_kernel(int const*, int)": "spmm_forward_cuda_kernel",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 7, false>(float*, int)": (
        "softmax_warp_forward<float, float, …>"
    ),
    "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4>(cutlass_80::Params)": (
        "Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4>"
    ),
    "UniversalRenderPipeline.RenderSingleCameraInternal: Main Camera": (
        "UniversalRenderPipeline.RenderSingleCameraInternal: Main Camera"
    ),
    "void ns::scale<int>(int*) [clone .kd]": "scale<int>",
    "scale(float*, int) [clone .constprop.0]": "scale",
    " [clone .kd]": " [clone .kd]",
    "DrawIndexed(6)": "DrawIndexed(6)",
    "Dispatch(8, 8, 1)": "Dispatch(8, 8, 1)",
    "GBuffer (opaque)": "GBuffer (opaque)",
    "scene: <main>": "scene: <main>",
}


@pytest.mark.parametrize(("full", "telling"), SHORT.items())
def test_what_tells_a_kernel_from_its_neighbours(full: str, telling: str) -> None:
    assert kernel(full) == telling


@given(st.text(alphabet="ab:<>(), *&[]{}void", max_size=60))
def test_any_name_gives_a_name(text: str) -> None:
    assert kernel(text) or not text


@pytest.mark.parametrize(
    ("full", "said"),
    {
        "sgemm_naive(float const*, float const*, float*, int)": "sgemm_naive",
        "void ns::transpose<float, 32>(const float *, float *, int (*)(long))": "ns::transpose<float, 32>",
        "ncclDevKernel_AllReduce(ncclDevKernelArgsStorage<4096ul>)": "ncclDevKernel_AllReduce",
        "void ns::scale<int>(int*) [clone .kd]": "ns::scale<int>",
        "void gemm<(int)128, (bool)0, (unsigned int)7>(float *)": "gemm<128, 0, 7>",
        "DrawIndexed(6)": "DrawIndexed(6)",
        "GBuffer (opaque)": "GBuffer (opaque)",
        "Post::Bloom (half)": "Post::Bloom (half)",
        "[CUDA memcpy Host-to-Device]": "[CUDA memcpy Host-to-Device]",
    }.items(),
)
def test_parameters_are_said_nowhere(full: str, said: str) -> None:
    assert plain(full) == said


def test_shortened_names_stay_apart() -> None:
    copies = [f"(no marker) / [CUDA memcpy {way}]" for way in ("Host-to-Device", "Device-to-Device")]
    assert distinct(copies, 18) == ["…y Host-to-Device]", "…Device-to-Device]"]
    kernels = [
        f"void at::reduce<512, 1, at::ReduceOp<float, at::{op}<float, float>>>(T1 *)" for op in ("MaxOps", "MeanOps")
    ]
    assert distinct(kernels, 40) == [
        "at::reduce…t, at::MaxOps<float, float>>>",
        "at::reduce…, at::MeanOps<float, float>>>",
    ]
    assert distinct([f"{kernels[0]} ({i})" for i in (1, 2)], 28) == ["reduce<512, 1, …> (1)", "reduce<512, 1, …> (2)"]
    assert distinct([f"aaaaaaaaaa_{n}_zzzzzzzzzz_bbbb" for n in ("one", "two")], 12) == ["aaa…one_zzz…", "aaa…two_zzz…"]


@given(st.lists(st.text("ab/ <>(1)", max_size=40), max_size=5), st.integers(12, 30))
def test_shortened_names_have_room(names: list[str], most: int) -> None:
    out = distinct(names, most)
    assert len(out) == len(names)
    assert all(len(s) <= most for s in out)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (
            "gemv_v2(sycl::queue&, float*)::{lambda(sycl::handler&)#1}::operator()(sycl::handler&) const::{lambda(sycl::nd_item<2>)#1}",
            "gemv_v2 lambda",
        ),
        (
            "typeinfo name for main::{lambda(sycl::handler&)#1}::operator()(sycl::handler&) const::{lambda(sycl::id<1>)#1}",
            "main lambda",
        ),
        ("typeinfo name for MatMul<float>", "MatMul<float>"),
    ],
)
def test_a_lambda_of_sycl_is_called_by_the_function_that_submits_it(name: str, short: str) -> None:
    assert kernel(name) == short


@pytest.mark.parametrize(
    ("name", "types"),
    [
        (
            "vector_add(const float *, const float *, float *, int)",
            ("const float *", "const float *", "float *", "int"),
        ),
        (
            "void apply<int (*)(int)>(Pair<int, long> *, int (*)(long)) [clone .kd]",
            ("Pair<int, long> *", "int (*)(long)"),
        ),
        ("row_sums", ()),
        ("tick()", ()),
    ],
)
def test_the_types_of_the_parameters_are_split_outside_brackets(name: str, types: tuple[str, ...]) -> None:
    assert parameters(name) == types


def test_a_wrapper_of_one_lambda_is_called_by_the_function_that_writes_it() -> None:
    name = "void clover::par_ranged2d_kernel<PdV_kernel(bool, clover::Buffer2D<double> &)::[lambda(int, int) (instance 2)]>(clover::Range2d, T1)"
    assert (kernel(name), function(name)) == ("PdV_kernel lambda 2", "PdV_kernel")
    other = "void ns::map<3, f(int)::[lambda(int) (instance 2)]>(T1)"
    assert (kernel(other), function(other)) == ("map<3, f lambda 2>", "map<3, f lambda 2>")
    assert function("void ns::gemm<128, 64>(float *)") == "gemm"
