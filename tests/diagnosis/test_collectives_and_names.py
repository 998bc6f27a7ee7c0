"""How fast collectives move their bytes, and what names of kernels tell where no operators are recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from triage.api import diagnose
from triage.capture.trace_nouns import Message
from triage.diagnosis import collective_facts, kernel_facts
from triage.document.summary import summarise

H100 = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}
FLASH = "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>, false>(Flash_fwd_params)"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, Array>(int, T1, T2)"
ALL_GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevComm *, unsigned long, ncclWork *)"


@pytest.mark.parametrize(
    ("message", "on_the_link"),
    [
        (Message("allreduce", 800, 8), 1400),
        (Message("_allgather_base", 800, 8), 700),
        (Message("_reduce_scatter_base", 800, 4), 600),
        (Message("broadcast", 800, 8), 800),
        (Message("allreduce", 800, 1), 0),
        (Message("send", 800, 8), 0),
    ],
)
def test_the_bus_carries_what_nccl_tests_count(message: Message, on_the_link: float) -> None:
    assert collective_facts._on_link(message) == on_the_link


def _trace(path: Path, lasts_us: float, stream: int) -> Any:
    """Thirty steps of a kernel and an all-reduce of 16 MiB over 8 ranks behind it."""
    words = {"Collective name": "allreduce", "In msg nelems": 8 << 20, "Out msg nelems": 8 << 20, "Group size": 8, "dtype": "BFloat16"}  # fmt: skip
    rows, free = [], 100.0
    for _ in range(30):
        for name, lasts, args in (("own_kernel", 1000.0, {"stream": 7}), ("ncclDevKernel_Generic", lasts_us, {"stream": stream, **words})):  # fmt: skip
            rows.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": free, "dur": lasts, "args": {"device": 0, **args}})  # fmt: skip
            free += lasts + 1
    path.write_text(json.dumps({"deviceProperties": [H100], "traceEvents": rows}))
    return diagnose(str(path)).to_dict()


def test_a_slow_collective_is_the_item_and_not_its_overlap(tmp_path: Path) -> None:
    found = _trace(tmp_path / "slow.json", 8000.0, 9)
    first = found["todo"][0]
    assert first["cause"] == "slow-collectives"
    assert "16.8 MB over 8 ranks" in first["message"]
    assert "3.67 GB/s" in first["message"]


def test_a_collective_at_the_rate_of_links_is_only_exposed(tmp_path: Path) -> None:
    fine = _trace(tmp_path / "fine.json", 200.0, 9)
    assert {f["cause"] for f in fine["findings"]} >= {"exposed-communication"}
    assert "slow-collectives" not in {f["cause"] for f in fine["findings"]}


def _rows(path: Path, rows: list[tuple[str, str, float, float, dict[str, Any]]]) -> Any:
    """A trace of (category, name, us of start, us of length, arguments)."""
    events = [
        {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, "args": {"device": 0, "stream": 7, **args}}
        for cat, name, ts, dur, args in rows
    ]  # fmt: skip
    path.write_text(json.dumps({"deviceProperties": [H100], "traceEvents": events}))
    return diagnose(str(path)).to_dict()


def _message(elements: int) -> dict[str, Any]:
    return {"Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements, "Group size": 8, "dtype": "BFloat16", "stream": 9}  # fmt: skip


@pytest.mark.parametrize(("beside", "saved_us"), [(0.0, 7000.0), (4000.0, 4000.0), (7990.0, None)])
def test_a_slow_collective_saves_no_more_than_nothing_hides(
    beside: float, saved_us: float | None, tmp_path: Path
) -> None:
    rows: list[tuple[str, str, float, float, dict[str, Any]]] = []
    for i in range(20):
        rows.append(("kernel", "ncclDevKernel_Generic", 10_000.0 * i, 8000.0, _message(8 << 20)))
        rows.append(("kernel", "own_kernel", 10_000.0 * i, beside or 1.0, {}))
    found = [f for f in _rows(tmp_path / "t.json", rows)["findings"] if f["cause"] == "slow-collectives"]
    assert bool(found) == (saved_us is not None)
    if saved_us is not None:
        assert found[0]["gain"]["saved_ns"] == pytest.approx(20e3 * saved_us, rel=0.02)


@pytest.mark.parametrize(("small_us", "waits"), [(4100.0, True), (3900.0, False)])
def test_small_messages_that_take_as_long_tell_of_a_wait(small_us: float, waits: bool, tmp_path: Path) -> None:
    rows: list[tuple[str, str, float, float, dict[str, Any]]] = []
    for i in range(20):
        rows.append(("kernel", "ncclDevKernel_Generic", 20_000.0 * i, 8000.0, _message(8 << 20)))
        rows.append(("kernel", "ncclDevKernel_Generic", 20_000.0 * i + 9000, small_us, _message(4 << 20)))
    first = _rows(tmp_path / "t.json", rows)["todo"][0]
    assert "bus bandwidth" in first["message"] and ("more likely a rank that is late" in first["message"]) == waits


@pytest.mark.parametrize(("behind_us", "in_step"), [(99.0, True), (101.0, False)])
def test_a_collective_right_behind_another_one_waits_for_no_rank(
    behind_us: float, in_step: bool, tmp_path: Path
) -> None:
    rows: list[tuple[str, str, float, float, dict[str, Any]]] = []
    for i in range(20):
        rows.append(("kernel", "ncclDevKernel_Generic", 20_000.0 * i, 7000.0, _message(4 << 20)))
        rows.append(("kernel", "ncclDevKernel_Generic", 20_000.0 * i + 7000 + behind_us, 8000.0, _message(8 << 20)))
    first = _rows(tmp_path / "t.json", rows)["todo"][0]
    assert ("more likely a slow transport than a late rank" in first["message"]) == in_step
    assert "NVLink inside a node 450 GB/s" in first["message"]
    assert ("all ranks at once" in first["advice"][0]) != in_step


@pytest.mark.parametrize(
    ("start_us", "kernel_us", "apart"),
    [(41_000.0, 990.0, True), (39_000.0, 990.0, False), (41_000.0, 510.0, True), (41_000.0, 490.0, False)],
)
def test_a_long_start_with_little_work_is_left_out(
    start_us: float, kernel_us: float, apart: bool, tmp_path: Path
) -> None:
    rows: list[tuple[str, str, float, float, dict[str, Any]]] = [("kernel", "own_kernel", 0.0, 10.0, {})]
    rows += [("kernel", "own_kernel", start_us + 1000.0 * i, kernel_us, {}) for i in range(40)]
    rows[1:1] = [("kernel", "own_kernel", 20.0 + i, 0.5, {}) for i in range(3)]
    document = _rows(tmp_path / "t.json", rows)
    assert ("start-up" in [q["check"] for q in document["quality"]]) == apart
    frame = document["frame"]
    span = frame["timeline"]["0"]["span_ns"]
    assert frame["duration_ns"] == pytest.approx(39_000_000 + 1000 * kernel_us if apart else span)
    assert ("is start-up or waiting" in str(document["findings"])) == apart


@pytest.mark.parametrize(("lead_us", "remarked"), [(1100.0, True), (900.0, False)])
def test_what_the_host_does_before_the_span_is_a_remark(lead_us: float, remarked: bool, tmp_path: Path) -> None:
    rows: list[tuple[str, str, float, float, dict[str, Any]]] = [("cpu_op", "aten::conv2d", 0.0, lead_us, {})]
    for i in range(30):
        at = lead_us + 100.0 * i
        rows.append(("cuda_runtime", "cudaLaunchKernel", at - 5, 4.0, {"correlation": i + 1}))
        rows.append(("kernel", "own_kernel", at, 50.0, {"correlation": i + 1}))
    checks = [q["check"] for q in _rows(tmp_path / "t.json", rows)["quality"]]
    assert ("lead-in" in checks) == remarked


@pytest.mark.parametrize(("stream", "said"), [(7, True), (9, False)])
def test_a_stream_of_its_own_is_advised_where_it_has_none(tmp_path: Path, stream: int, said: bool) -> None:
    found = _trace(tmp_path / "trace.json", 200.0, stream)
    advice = str([f for f in found["findings"] if f["rule"] == "FRM061"])
    assert ("a stream of their own" in advice) is said


def _summary(path: Path, *kernels: tuple[str, int, int], device: str | None = None) -> Any:
    lines = ["Time (%),Total Time (ns),Instances,Avg (ns),Name"]
    total = sum(ns for _, ns, _ in kernels)
    lines += [f'{100 * ns / total:.1f},{ns},{n},{ns / n},"{name}"' for name, ns, n in kernels]
    path.write_text("\n".join(lines) + "\n")
    return diagnose(str(path), device=device).to_dict()


def test_names_of_a_summary_tell_attention_and_passes(tmp_path: Path) -> None:
    found = _summary(
        tmp_path / "sum_cuda_gpu_kern_sum.csv",
        (FLASH, 50_000_000, 10),
        (ADD, 30_000_000, 600),
        ("sm90_xmma_gemm_bf16bf16_bf16f32", 20_000_000, 10),
    )
    assert [f["rule"] for f in found["findings"]] == ["FRM082", "FRM068"]
    assert found["findings"][0]["gain"]["share"] == pytest.approx(0.5 / 3, rel=0.01)


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        (ADD, True),
        ("unrolled_elementwise_kernel", True),
        (
            "void at::native::(anonymous namespace)::CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 4, 64, 64>(int)",
            True,
        ),
        ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)", True),
        ("void elementwise_kernel<(int)128, (int)4, lambda>(int, T3)", True),
        ("void elementwise_add<float>(float *, int)", False),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)", False),
    ],
)
def test_passes_are_pytorchs_own(name: str, passes: bool) -> None:
    assert kernel_facts._is_pass(name) is passes


def test_only_one_kernel_is_profiled_beside_collectives(tmp_path: Path) -> None:
    found = _summary(tmp_path / "cuda_gpu_kern_sum.csv", (ALL_GATHER, 80_000_000, 8), ("gemm_kernel", 20_000_000, 100))
    assert found["frame"]["unjudged_collect"].startswith(
        "ncu --kernel-name gemm_kernel --launch-skip 50 --launch-count 1 "
    )
    assert found["frame"]["time_by_verdict"]["suspect"] == 80_000_000
    assert not [q for q in found["quality"] if q["check"] == "short-range"]


def test_names_of_a_summary_tell_layout_conversions(tmp_path: Path) -> None:
    found = _summary(
        tmp_path / "sum_cuda_gpu_kern_sum.csv",
        ("void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>(Params)", 6_000_000, 100),
        ("sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckcrs_nhwc", 30_000_000, 100),
    )
    (item,) = (i for i in found["todo"] if i["cause"] == "layout-conversion")
    assert item["saved_ns"] == pytest.approx(0.75 * 6_000_000)


def test_a_gap_that_earlier_work_may_fill_is_no_idle_time_of_the_headline(tmp_path: Path) -> None:
    rows = []
    for i, (ts, stream) in enumerate([(1_000.0, 7), *((9_000.0 + 300 * n, 8) for n in range(40))], 1):
        call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9}
        rows.append({**call, "ts": 900 + i, "dur": 0.5, "args": {"correlation": i}})
        args = {"device": 0, "stream": stream, "correlation": i}
        rows.append(
            {"ph": "X", "cat": "kernel", "name": "own", "pid": 0, "tid": stream, "ts": ts, "dur": 299, "args": args}
        )
    (tmp_path / "t.json").write_text(json.dumps({"deviceProperties": [H100], "traceEvents": rows}))
    text = summarise(diagnose(str(tmp_path / "t.json")).bundle)["headline"]
    assert "perhaps work from before the record" in text
    assert "First find why" not in text


@pytest.mark.parametrize(
    ("name", "judged"),
    [
        ("ampere_sgemm_128x64_tn", True),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(Params)", True),
        ("volta_sgemm_128x64_tn", False),  # runs on GPUs without matrix units as well
        ("sgemm_naive(int, float *)", False),  # whose author may have no other type in mind
    ],
)
def test_names_of_a_summary_tell_products_in_fp32(name: str, judged: bool, tmp_path: Path) -> None:
    found = _summary(tmp_path / "sum_cuda_gpu_kern_sum.csv", (name, 60_000_000, 100), ("own", 20_000_000, 100))
    assert ("matrix-unused" in {i["cause"] for i in found["todo"]}) == judged
    assert found["workloads"][0]["chain"] == ["matrix-unused"] * judged


@pytest.mark.parametrize(
    ("name", "arch", "unpacked"),
    [
        ("_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1", "gfx942", True),
        ("_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1", "gfx950", False),
        ("_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1", "", False),
        ("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x32x256", "sm_100", False),
        ("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x32x256", "sm_90", True),
        ("fused_moe_fp8_kernel", "sm_80", True),
        ("fused_moe_fp8_kernel", "gfx942", False),
        ("per_token_group_quant_fp8", "sm_80", False),
    ],
)
def test_products_of_types_that_an_architecture_lacks_are_told_by_name(name: str, arch: str, unpacked: bool) -> None:
    assert kernel_facts._is_unpacked(arch, name) == unpacked


@pytest.mark.parametrize(("each_ns", "judged"), [(1_000_000, True), (999_000, False)])
def test_long_launches_of_unpacked_weights_are_named(each_ns: int, judged: bool, tmp_path: Path) -> None:
    rows = [("matmul_mxfp4", 100 * each_ns, 100), ("own", 1_000_000, 1)]
    found = _summary(tmp_path / "sum_cuda_gpu_kern_sum.csv", *rows, device="H100 SXM5 80GB")
    assert ("matrix-underfed" in {i["cause"] for i in found["todo"]}) == judged
