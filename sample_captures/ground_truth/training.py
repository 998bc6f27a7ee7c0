"""Pairs of PyTorch training loops with a known defect: time both sides, then record a trace of each.

    python training.py --out DIR        # needs a GPU and PyTorch; writes traces/*.json.gz and training.csv

Both sides of a pair do the same work. Times are taken without a profiler: median of several runs of `STEPS` steps.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:  # the table of pairs can be read without it
    torch = None  # type: ignore[assignment]

STEPS = 10  # per timed run
RUNS = 7
TRACED = 3  # steps in a trace

Step = Callable[[], None]


@dataclass(frozen=True)
class Pair:
    """A defect, its fix, and the rules of which any is a right first answer (none: a healthy control)."""

    name: str
    fix: str
    rules: tuple[str, ...]


PAIRS = (
    Pair("item_every_parameter", "clip all gradients on the device", ("blocking-copy-calls", "waits-between-launches", "late-host")),
    Pair("pageable_batches", "pinned memory, non-blocking copies", ("pageable-copies", "blocking-copy-calls")),
    Pair("loader_in_process", "worker processes", ("loader-in-the-loop", "loader-without-workers")),
    Pair("tiny_operators", "CUDA graph", ("starved-by-launches", "launch-bound-sequence", "slow-launch-calls", "late-host")),
    Pair("fp32_matrices", "bfloat16 autocast", ("fp32-products",)),
    Pair("optimizer_loop", "fused optimizer", ("optimizer-per-parameter",)),
    Pair("attention_by_hand", "scaled_dot_product_attention", ("attention-through-memory",)),
    Pair("activation_by_hand", "one fused activation", ("elementwise-chains",)),
    Pair("odd_vocabulary", "vocabulary padded to a multiple of 64", ("misaligned-products",)),
    Pair("layout_changes", "channels-last tensors", ("layout-copies",)),
    Pair("large_products", "none: the control", ()),
)  # fmt: skip


def layers(width: int, depth: int, dtype: Any = None) -> Any:
    """A plain stack of linear layers with an activation."""
    parts = [part for _ in range(depth) for part in (nn.Linear(width, width), nn.GELU())]
    return nn.Sequential(*parts).to("cuda", dtype or torch.float32)


def trainer(model: Any, batch: Callable[[], Any], loss: Callable[[Any], Any], optimizer: Any = None) -> Step:
    """One training step."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss(model(batch())).backward()
        optimizer.step()

    return step


def squared(out: Any) -> Any:
    """A loss that needs no target."""
    return out.float().square().mean()


def item_every_parameter(fixed: bool) -> Step:
    """Gradients are clipped one by one: the host reads each norm, so that it waits for the device each time."""
    model, data = layers(512, 24), torch.randn(8192, 512, device="cuda")

    def clip() -> None:
        for parameter in model.parameters():
            if parameter.grad.norm().item() > 1:
                parameter.grad.div_(2)

    def step() -> None:
        squared(model(data)).backward()
        if fixed:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        else:
            clip()
        model.zero_grad(set_to_none=True)

    return step


def pageable_batches(fixed: bool) -> Step:
    """Batches come from pageable memory: the copy blocks the host and runs at half the bus."""
    model = layers(1024, 4, torch.bfloat16)
    data = torch.randn(16384, 1024, dtype=torch.bfloat16)
    data = data.pin_memory() if fixed else data
    return trainer(model, lambda: data.to("cuda", non_blocking=fixed), squared)


class Slow:
    """A data set whose items take a few milliseconds of processor time."""

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> Any:
        end = time.perf_counter() + 0.0008
        while time.perf_counter() < end:
            pass
        return torch.full((256,), float(index % 7))


def loader_in_process(fixed: bool) -> Step:
    """The loop loads its own data while the device idles."""
    model = layers(256, 4)
    workers: dict[str, Any] = {"num_workers": 8, "prefetch_factor": 8, "persistent_workers": True} if fixed else {}
    batches: Iterator[Any] = iter(torch.utils.data.DataLoader(Slow(), batch_size=32, **workers))  # type: ignore[arg-type]
    return trainer(model, lambda: next(batches).to("cuda"), squared)


def tiny_operators(fixed: bool) -> Step:
    """Hundreds of operators of some microseconds each: the host cannot launch them as fast as they run."""
    model, data = layers(128, 40, torch.bfloat16), torch.randn(64, 128, device="cuda", dtype=torch.bfloat16)

    def forward() -> None:
        with torch.no_grad():
            model(data)

    if not fixed:
        return forward
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            forward()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        forward()
    return graph.replay  # type: ignore[no-any-return]


def fp32_matrices(fixed: bool) -> Step:
    """Matrix products in FP32 without tensor cores."""
    model, data = layers(4096, 3), torch.randn(4096, 4096, device="cuda")

    def loss(out: Any) -> Any:
        return squared(out)

    step = trainer(model, lambda: data, loss)

    def cast() -> None:
        with torch.autocast("cuda", torch.bfloat16, enabled=fixed):
            step()

    return cast


def optimizer_loop(fixed: bool) -> Step:
    """Several kernels per parameter where one could update them all."""
    model, data = layers(256, 96), torch.randn(512, 256, device="cuda")
    how = {"fused": True} if fixed else {"foreach": False}
    return trainer(model, lambda: data, squared, torch.optim.AdamW(model.parameters(), lr=1e-4, **how))


def attention_by_hand(fixed: bool) -> Step:
    """Scores and their softmax go to memory and back."""
    q, k, v = (torch.randn(4, 16, 2048, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))

    def step() -> None:
        if fixed:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            mask = torch.ones(2048, 2048, device="cuda", dtype=torch.bool).tril()
            scores = (q @ k.transpose(-1, -2)) * 0.125
            out = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ v
        squared(out).backward()

    return step


def activation_by_hand(fixed: bool) -> Step:
    """A formula of element-wise operators, each of which reads and writes the whole tensor."""
    data = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16)

    def step() -> None:
        for _ in range(4):
            if fixed:
                F.gelu(data, approximate="tanh")
            else:
                0.5 * data * (1 + torch.tanh(0.7978845608 * (data + 0.044715 * data * data * data)))

    return step


def odd_vocabulary(fixed: bool) -> Step:
    """A product with a dimension that no vector access can be aligned to."""
    words = 50304 if fixed else 50257
    head = nn.Linear(1024, words, bias=False).to("cuda", torch.bfloat16)
    data = torch.randn(2048, 1024, device="cuda", dtype=torch.bfloat16)
    return trainer(head, lambda: data, squared)


def layout_changes(fixed: bool) -> Step:
    """Convolutions of half precision that rewrite their tensors to the layout of tensor cores and back."""
    how = torch.channels_last if fixed else torch.contiguous_format
    parts = [part for _ in range(6) for part in (nn.Conv2d(128, 128, 3, padding=1), nn.ReLU())]
    model = nn.Sequential(*parts).to("cuda", torch.float16).to(memory_format=how)
    data = torch.randn(128, 128, 56, 56, device="cuda", dtype=torch.float16).to(memory_format=how)
    return trainer(model, lambda: data, squared)


def large_products(fixed: bool) -> Step:
    """Large products in bfloat16, queued ahead: nothing to mend."""
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))

    def step() -> None:
        for _ in range(4):
            torch.mm(a, b)

    return step


def timed(step: Step) -> float:
    """Median seconds of a step."""
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    seconds = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
        seconds.append((time.perf_counter() - begin) / STEPS)
    return statistics.median(seconds)


def trace(step: Step, path: Path) -> None:
    """Record a few steps as the profiler's own Chrome trace, compressed."""
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    plan = torch.profiler.schedule(wait=1, warmup=2, active=TRACED)
    with torch.profiler.profile(activities=kinds, schedule=plan, record_shapes=True) as profile:
        for _ in range(3 + TRACED):
            step()
            if profile.step_num == 2 + TRACED:
                torch.cuda.synchronize()
            profile.step()
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(plain))
        path.write_bytes(gzip.compress(plain.read_bytes(), 9, mtime=0))


def measure(out: Path, wanted: list[Pair]) -> int:
    """Measure each pair in turn; returns how many failed."""
    (out / "traces").mkdir(parents=True, exist_ok=True)
    rows, failed = [], 0
    for pair in wanted:
        try:
            seconds = {}
            for side in ("slow", "fixed"):
                step = globals()[pair.name](side == "fixed")
                seconds[side] = timed(step)
                trace(step, out / "traces" / f"{pair.name}_{side}.pt.trace.json.gz")
                del step
                torch.cuda.empty_cache()
            ratio = seconds["slow"] / seconds["fixed"]
            rows.append((pair.name, pair.fix, " ".join(pair.rules), f"{seconds['slow'] * 1e9:.0f}",
                         f"{seconds['fixed'] * 1e9:.0f}", f"{ratio:.3f}", torch.cuda.get_device_name()))  # fmt: skip
            sys.stdout.write(f"{pair.name}: {ratio:.2f}x\n")
        except Exception as error:  # one line each; the others go on
            failed += 1
            sys.stderr.write(f"{pair.name}: {str(error).splitlines()[0] if str(error) else type(error).__name__}\n")
    with (out / "training.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("defect", "fix", "expected_rules", "slow_ns", "fixed_ns", "speedup", "device"))
        writer.writerows(rows)
    return failed


def main() -> int:
    """Run the script; returns its exit status."""
    parser = argparse.ArgumentParser(description="Record training loops with a known defect on this machine's GPU.")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent)
    parser.add_argument("--only", default="", help="comma-separated pairs (default: all)")
    options = parser.parse_args()
    if torch is None or not torch.cuda.is_available():
        sys.stderr.write("training.py: needs PyTorch and a GPU\n")
        return 2
    names = options.only.split(",") if options.only else [pair.name for pair in PAIRS]
    return 1 if measure(options.out, [pair for pair in PAIRS if pair.name in names]) else 0


if __name__ == "__main__":
    sys.exit(main())
