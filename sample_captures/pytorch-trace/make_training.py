"""Write `training.pt.trace.json`, a synthetic trace of torch.profiler: three steps of a training loop on an H100.

Each step waits for its data loader, copies from pageable memory, computes attention through a matrix of scores with an odd
sequence length, multiplies in FP32, chains elementwise operators, reads a loss with `.item()`, reduces gradients with nothing
beside them, and updates parameters one small kernel after the other. Nothing in it was measured.

    python sample_captures/pytorch-trace/make_training.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HOST, DEVICE, STREAM, COMM = 4711, 0, 7, 20
B, H, S, D, WIDTH = 8, 12, 1537, 64, 768
BF16, FP32 = "c10::BFloat16", "float"


class Recorder:
    """Rows of a trace; times in us. `now`: of the host, `free`: when each stream has done its work."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.now, self.free, self.number = 1000.0, {STREAM: 0.0, COMM: 0.0}, 1

    def row(self, cat: str, name: str, ts: float, dur: float, **args: Any) -> None:
        """Enter one row, on a stream if its arguments name one, else on the host."""
        place = {"pid": DEVICE, "tid": args["stream"]} if "stream" in args else {"pid": HOST, "tid": HOST}
        times = {"ts": round(ts, 3), "dur": round(dur, 3)}
        self.rows.append({"ph": "X", "cat": cat, "name": name, **place, **times, "args": args})

    def launch(
        self,
        name: str,
        lasts: float,
        cat: str = "kernel",
        call: str = "cudaLaunchKernel",
        stream: int = STREAM,
        **args: Any,
    ) -> float:
        """One call of the host and the work it starts; the work's end."""
        self.number += 1
        self.row("cuda_runtime", call, self.now, 5, correlation=self.number)
        start = max(self.now + 7, self.free[stream] + 1)
        self.row(cat, name, start, lasts, device=DEVICE, stream=stream, correlation=self.number, **args)
        self.free[stream] = start + lasts
        self.now += 6
        return self.free[stream]

    def operator(
        self, name: str, kernel: str, lasts: float, dims: list[list[int]], kind: str = BF16, host: float = 4
    ) -> None:
        """One operator that starts one kernel; host: us of the host before its launch."""
        begun = self.now
        self.now += host
        self.launch(kernel, lasts, grid=[1056, 1, 1], block=[256, 1, 1], **{"registers per thread": 64})
        self.now += 1
        types = [kind if d else "Scalar" for d in dims]
        self.row("cpu_op", name, begun, self.now - begun, **{"Input Dims": dims, "Input type": types})
        self.now += 2

    def wait(self, call: str, until: float) -> None:
        """A call of the host that returns when the device has reached an instant."""
        self.number += 1
        ends = max(until, self.now) + 3
        self.row("cuda_runtime", call, self.now, ends - self.now, correlation=self.number)
        self.now = ends


def step(r: Recorder, number: int) -> None:
    """One step of the loop."""
    begun = r.now
    loader = r.now
    r.now += 9000
    r.row("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", loader, r.now - loader)
    copied = r.now
    r.launch("Memcpy HtoD (Pageable -> Device)", 800, "gpu_memcpy", "cudaMemcpyAsync", bytes=9_600_000)
    r.wait("cudaStreamSynchronize", r.free[STREAM])
    r.row("cpu_op", "aten::copy_", copied, r.now - copied, **{"Input Dims": [[B, S, WIDTH]], "Input type": [FP32]})
    heads = B * H
    scores = [heads, S, S]
    for _ in range(2):
        r.operator(
            "aten::bmm", "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_align1_kernel", 900, [[heads, S, D], [heads, D, S]]
        )
        r.operator(
            "aten::_softmax",
            "void cunn_SoftMaxForward<8, c10::BFloat16, float>(c10::BFloat16*, int)",
            1100,
            [[B, H, S, S]],
        )
        r.operator("aten::bmm", "sm80_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_align1_kernel", 850, [scores, [heads, S, D]])
        r.operator(
            "aten::mm",
            "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_simt_sgemm_kernel",
            1400,
            [[B * S, WIDTH], [WIDTH, WIDTH * 4]],
            FP32,
        )
        for name in ("add", "mul", "gelu", "add"):
            kernel = f"void at::native::vectorized_elementwise_kernel<4, at::native::{name}>(int, float*)"
            r.operator(f"aten::{name}", kernel, 160, [[B * S, WIDTH * 4], [B * S, WIDTH * 4]], FP32)
        r.operator(
            "aten::contiguous",
            "void cudnn::ops::nchwToNhwcKernel<float, float, float>(float*, float*)",
            300,
            [[B, WIDTH, 37, 41]],
            FP32,
        )
    read = r.now
    r.launch("Memcpy DtoH (Device -> Pageable)", 2, "gpu_memcpy", "cudaMemcpyAsync", bytes=4)
    r.wait("cudaStreamSynchronize", r.free[STREAM])
    r.row("cpu_op", "aten::item", read, r.now - read, **{"Input Dims": [[]], "Input type": [FP32]})
    r.now += 400
    r.free[COMM] = max(r.free[COMM], r.free[STREAM])
    r.launch(
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        2500,
        stream=COMM,
        grid=[24, 1, 1],
        block=[544, 1, 1],
    )
    r.free[STREAM] = r.free[COMM]
    r.wait("cudaStreamSynchronize", r.free[COMM])
    update = r.now
    for _ in range(60):
        r.operator(
            "aten::addcdiv_",
            "void at::native::unrolled_elementwise_kernel<at::native::addcdiv>(int, float*)",
            3,
            [[WIDTH], [WIDTH]],
            FP32,
            host=14,
        )
    r.row("user_annotation", "Optimizer.step#Adam.step", update, r.now - update)
    r.row("user_annotation", f"ProfilerStep#{number}", begun, r.now - begun)


def trace() -> dict[str, Any]:
    """The whole file."""
    r = Recorder()
    for number in (4, 5, 6):
        step(r, number)
    device = {
        "id": 0,
        "name": "NVIDIA H100 80GB HBM3",
        "computeMajor": 9,
        "computeMinor": 0,
        "numSms": 132,
        "warpSize": 32,
    }
    head = {"schemaVersion": 1, "deviceProperties": [device], "record_shapes": 1, "displayTimeUnit": "ms"}
    return {**head, "traceEvents": r.rows}


if __name__ == "__main__":
    text = json.dumps(trace()).replace('{"ph"', '\n{"ph"')
    Path(__file__).with_name("training.pt.trace.json").write_text(text + "\n", "utf-8")
