"""Arithmetic: operations, pipes, roofline; and how much hiding latency could give."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from triage.derive._derivation import Derivation
from triage.derive.speed_of_light import RAISED

if TYPE_CHECKING:
    from triage.derive import View

_MATRIX = re.compile(
    r"gemm|matmul|mat_mul|mmul|conv\dd?|convolution|attention|flash|wgmma|cutlass|xmma|winograd|fprop|dgrad|wgrad",
    re.IGNORECASE,
)
_LETTER = {"fp32": "f", "fp64": "d"}


def _first(*values: Any) -> Any:
    out = values[0]
    for v in values[1:]:
        out = np.where(np.isnan(out), v, out)
    return out


def _highest(*values: Any) -> Any:
    out = values[0]
    for v in values[1:]:
        out = np.fmax(out, v)
    return out


def _flops(add: Any, mul: Any, fma: Any, add_rate: Any, mul_rate: Any, fma_rate: Any, cycles: Any) -> Any:
    return _first(add + mul + 2 * fma, (add_rate + mul_rate + 2 * fma_rate) * cycles)


def _nonfused(add: Any, mul: Any, fma: Any, add_rate: Any, mul_rate: Any, fma_rate: Any) -> Any:
    """Adds and muls that could pair up: a lone add or mul has no partner, so only the smaller of both counts, twice."""
    add, mul, fma = _first(add, add_rate), _first(mul, mul_rate), _first(fma, fma_rate)
    total = add + mul + fma
    return np.where(total > 0, 2 * np.minimum(add, mul) / np.where(total > 0, total, 1), np.nan)


def _arithmetic(precision: str) -> tuple[Derivation, ...]:
    x = _LETTER[precision]
    counts = tuple(f"inst.{x}{op}" for op in ("add", "mul", "fma"))
    rates = tuple(f"inst_rate.{x}{op}" for op in ("add", "mul", "fma"))
    return (
        Derivation(f"flop.{precision}", (), "adds + muls + 2 x multiply-adds", _flops, (*counts, *rates, "sm.cycles_elapsed"), ask=counts),
        Derivation(f"flop.nonfused_{precision}", (), "2 x the lesser of adds and muls / all adds, muls and multiply-adds", _nonfused,
                   (*counts, *rates), ask=counts),
        Derivation(f"flop.rate_{precision}", (f"flop.{precision}", "gpu.time"), "operations / time", lambda n, t: n / (t * 1e-9)),
        Derivation(f"flop.{precision}_peak", (), "2 x multiply-adds per cycle x SM clock, else the device table", _peak(precision), whole=True),
        Derivation(f"flop.{precision}_share", (f"flop.rate_{precision}", f"flop.{precision}_peak"), "rate / peak", lambda r, p: r / p),
    )  # fmt: skip


def _peak(precision: str) -> Any:
    def peak(view: View) -> Any:
        measured = 2 * view[f"peak.{_LETTER[precision]}fma_per_cycle"] * view["sm.frequency"]
        tflops = getattr(getattr(view.capture.device, "peaks", None), f"{precision}_tflops", None)
        table = np.nan if tflops is None else np.full(view.size, tflops * 1e12)
        return _first(measured, table)

    return peak


def _ratio(view: View) -> Any:
    table = getattr(view.capture.device, "fp64_ratio", None)
    listed = np.nan if not table else np.full(view.size, float(table))
    measured = view["peak.ffma_per_cycle"] / view["peak.dfma_per_cycle"]
    peaks = view["flop.fp32_peak"] / view["flop.fp64_peak"]
    return _first(measured, listed, peaks)


def _vram_peak(view: View) -> Any:
    peak = getattr(getattr(view.capture.device, "peaks", None), "dram_bytes_per_s", None)
    return np.nan if peak is None else np.full(view.size, float(peak))


def _matrix(view: View) -> Any:
    if not np.ndim(view["pipe.tensor_use"]) and not np.ndim(view["inst.tensor"]):
        return np.nan  # nothing to compare the name with
    known: dict[str, float] = {}
    names = view.capture.names[view.rows]
    for name in names:
        if name not in known:
            known[name] = float(bool(_MATRIX.search(str(name))))
    return np.array([known[n] for n in names])


def _use(pipe: str) -> Derivation:
    sources = (f"pipe_busy.{pipe}", f"pipe.{pipe}", f"pipe_elapsed.{pipe}")
    return Derivation(f"pipe.{pipe}_use", (), "the higher of cycles busy and instructions issued, as shares of the peak",
                      lambda busy, issue, elapsed: _first(np.fmax(busy, issue), elapsed), sources, ask=sources[:2])  # fmt: skip


def _together(fp32: Any, fp64: Any, peak32: Any, peak64: Any) -> Any:
    """Seconds the arithmetic takes at peak."""
    single = np.where(fp32 == 0, 0.0, fp32 / peak32)
    double = np.where((fp64 == 0) | np.isnan(fp64), 0.0, fp64 / peak64)
    return single + double


def _intensity(fp32: Any, moved: Any, fp64: Any) -> Any:
    return (fp32 + np.where(np.isnan(fp64), 0.0, fp64)) / np.where(moved > 0, moved, np.nan)


def _ridge(fp32: Any, peak32: Any, bandwidth: Any, fp64: Any, peak64: Any) -> Any:
    time = _together(fp32, fp64, peak32, peak64)
    total = fp32 + np.where(np.isnan(fp64), 0.0, fp64)
    return np.where(time > 0, total / np.where(time > 0, time, 1), peak32) / bandwidth


def _uneven(unit: str) -> Derivation:
    if unit in ("sm", "smsp", "l1tex"):
        inputs = (f"{unit}.cycles_active", f"{unit}.cycles_active_max", "sm.cycles_elapsed")
        return Derivation(f"imbalance.{unit}", inputs, "(busiest - average active cycles) / elapsed cycles",
                          lambda avg, top, all_: np.clip((top - avg) / all_, 0.0, 1.0))  # fmt: skip
    inputs = (f"{unit}.cycles_active", f"{unit}.cycles_active_max", f"{unit}.throughput")
    return Derivation(f"imbalance.{unit}", inputs, "(1 - average / busiest active cycles) x share of peak",
                      lambda avg, top, sol: np.clip((1 - avg / np.where(top > 0, top, np.nan)) * sol, 0.0, 1.0))  # fmt: skip


def _reach(issue: Any, top: Any, sm: Any, memory: Any) -> Any:
    sol = _first(top, np.fmax(sm, memory))
    return np.clip(np.fmin(1 - issue, 1 - sol / RAISED), 0.0, 1.0)


UNEVEN = ("sm", "smsp", "l1tex", "l2", "vram")
DERIVATIONS = (
    *(d for p in _LETTER for d in _arithmetic(p)),
    Derivation("device.fp64_ratio", (), "FP32 peak / FP64 peak", _ratio, whole=True),
    Derivation("device.vram_peak", (), "data sheet of the device", _vram_peak, whole=True),
    *(_use(p) for p in ("fma", "fp64", "xu", "tensor")),
    Derivation("pipe.top", (), "the fullest math pipe", _highest,
               ("pipe.alu", "pipe.fma_use", "pipe.fp64_use", "pipe.xu_use", "pipe.fp16", "pipe.tensor_use"), ask=("pipe.alu", "pipe.fma", "pipe.xu")),
    Derivation("pipe.top_other", (), "the fullest of the other pipes", _highest, ("pipe.alu", "pipe.fma_use", "pipe.fp16", "pipe.lsu"),
               ask=("pipe.alu", "pipe.fma", "pipe.lsu")),
    Derivation("name.matrix_like", (), "the name holds gemm, conv, attention or the like", _matrix, whole=True),
    Derivation("roofline.intensity", ("flop.fp32", "vram.bytes"), "operations / bytes of VRAM", _intensity, ("flop.fp64",)),
    Derivation("roofline.ridge", ("flop.fp32", "flop.fp32_peak", "vram.peak_bandwidth"), "peak rate of the mix / peak bandwidth", _ridge,
               ("flop.fp64", "flop.fp64_peak")),
    Derivation("roofline.compute", ("flop.fp32", "flop.fp32_peak", "gpu.time"), "(FP32 / FP32 peak + FP64 / FP64 peak) / time",
               lambda f, p, t, d, q: _together(f, d, p, q) / (t * 1e-9), ("flop.fp64", "flop.fp64_peak")),
    Derivation("roofline.memory", (), "VRAM SOL, else VRAM bytes / peak bandwidth / time",
               lambda sol, b, p, t: _first(sol, b / p / (t * 1e-9)), ("vram.throughput", "vram.bytes", "vram.peak_bandwidth", "gpu.time"),
               ask=("vram.throughput",)),
    *(_uneven(u) for u in UNEVEN),
    Derivation("imbalance.top", (), "the largest imbalance", _highest, tuple(f"imbalance.{u}" for u in UNEVEN), ask=("imbalance.sm",)),
    Derivation("latency.reach", (), "min(1 - issue slots used, 1 - top SOL / 90 %)", _reach,
               ("sm.issue_per_active", "sol.top", "sm.side", "memory.side"), ask=("sm.issue_per_active", "sm.throughput", "memory.throughput")),
)  # fmt: skip
