"""Arithmetic: operations, pipes, roofline; and how much hiding latency could give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from triage.capture.arrays import Values
from triage.derive import View
from triage.derive._arrays import first, full, highest, over
from triage.derive._derivation import Derivation
from triage.derive.unit_loads import TENSOR_OPS
from triage.ground.columns import is_column
from triage.ground.kernel_names import COLLECTIVE
from triage.ground.kernel_owners import Owner, may_have_owner, owner_of
from triage.ground.method import RAISED
from triage.ground.phrasing import whole_percent

_MATRIX = re.compile(
    r"gemm|matmul|mat_mul|mmul|\bcijk_|conv\dd?|convolution|attention|flash|wgmma|cutlass|xmma|winograd|fprop|dgrad|wgrad",
    re.IGNORECASE | re.ASCII,
)
# how libraries name kernels that run on tensor pipes: by generation and instruction
_TENSOR = re.compile(
    r"sm\d\d_xmma|\bs\d?(?:16816|1688|884|8816|16832)|[hi]mma|[hq]?gmma|tensor_?op|_tensor(?:16x8|884)|wmma|cutlass_\d\d_tensorop"
    r"|utcmma|tcgen05|nvjet|_mma_",
    re.IGNORECASE | re.ASCII,
)
_VECTOR = re.compile(r"gemv|mat_?vec(?!tor)|matrix_?vector", re.IGNORECASE | re.ASCII)
# what a match of either pattern cannot do without, in small letters and with 0 for every digit
_NEEDLES = {
    _MATRIX: ("mm", "mat", "cijk", "conv", "attention", "flash", "cutlass", "winograd", "fprop", "grad"),
    _TENSOR: ("mma", "tensor", "tcgen00", "nvjet", "s000"),
    _VECTOR: ("gemv", "vec"),
    COLLECTIVE: ("ccl", "shmem", "cross_device_reduce", "all_reduce"),
}
MAX_ASKED = 1_000  # names that are asked for their owner one by one: the patterns without digits cost 10 ms
_DIGIT_RE = re.compile(r"\\d|\d")  # one, in either pattern
_LETTER = {"fp32": "f", "fp64": "d"}


# Counts of instructions where they are exported; else what the roofline section prints, per elapsed cycle of the whole
# GPU, times the cycles. Either way a multiply-add is two operations.
def _flops(
    add: Values, mul: Values, fma: Values, add_rate: Values, mul_rate: Values, fma_rate: Values, cycles: Values
) -> Values:
    return first(add + mul + 2 * fma, (add_rate + mul_rate + 2 * fma_rate) * cycles)


def _nonfused(add: Values, mul: Values, fma: Values, add_rate: Values, mul_rate: Values, fma_rate: Values) -> Values:
    """Share of adds and muls that could pair up, 0 to 1; Nsight Compute's FPInstructions rule asks the same.

    A lone add or mul has no partner, so only the smaller of both counts, twice; of none at all, none could pair up.
    """
    add, mul, fma = first(add, add_rate), first(mul, mul_rate), first(fma, fma_rate)
    every = add + mul + fma
    return np.where(every == 0, 0.0, over(2 * np.minimum(add, mul), every))


def _arithmetic(precision: str) -> tuple[Derivation, ...]:
    x = _LETTER[precision]
    counts = tuple(f"inst.{x}{op}" for op in ("add", "mul", "fma"))
    rates = tuple(f"inst_rate.{x}{op}" for op in ("add", "mul", "fma"))
    return (
        Derivation(
            f"flop.{precision}",
            "adds + muls + 2 x multiply-adds",
            _flops,
            optional=(*counts, *rates, "sm.cycles_elapsed"),
            ask=counts,
        ),
        Derivation(
            f"flop.nonfused_{precision}",
            "2 x the lesser of adds and muls / all adds, muls and multiply-adds",
            _nonfused,
            optional=(*counts, *rates),
            ask=counts,
        ),
        Derivation(
            f"flop.rate_{precision}",
            "operations / time",
            lambda n, t: n / (t * 1e-9),
            (f"flop.{precision}", "gpu.time"),
        ),
        Derivation(
            f"flop.{precision}_peak",
            "2 x multiply-adds per cycle x SM clock, else the device table",
            _peak(precision),
            whole=True,
        ),
        Derivation(
            f"flop.{precision}_share",
            "rate / peak",
            lambda r, p: r / p,
            (f"flop.rate_{precision}", f"flop.{precision}_peak"),
        ),
    )


def _peak(precision: str) -> Callable[[View], Values]:
    """Operations per second that the device can do in one precision."""

    def peak(view: View) -> Values:
        # The profiler's peak holds at the clock of this run, the table's at the boost clock: a locked one stays below.
        measured = 2 * view[f"peak.{_LETTER[precision]}fma_per_cycle"] * view["sm.frequency"]
        device = view.capture.device
        tflops = None if device is None else getattr(device.peaks, f"{precision}_tflops")
        table = np.nan if tflops is None else full(tflops * 1e12, view.size)
        return first(measured, table)

    return peak


def _ratio(view: View) -> Values:
    device = view.capture.device
    table = None if device is None else device.fp64_ratio
    listed = np.nan if not table else full(table, view.size)
    measured = view["peak.ffma_per_cycle"] / view["peak.dfma_per_cycle"]
    peaks = view["flop.fp32_peak"] / view["flop.fp64_peak"]
    return first(measured, listed, peaks)


def _vram_peak(view: View) -> Values:
    device = view.capture.device
    peak = None if device is None else device.peaks.dram_bytes_per_s
    return np.nan if peak is None else full(peak, view.size)


def _matrix(view: View) -> Values:
    matrix_unit = ("pipe.tensor_use", "inst.tensor", "mfma.busy", "mfma.inst_share", "eu.xmx", "eu.xmx_share")
    if not any(is_column(view[m]) for m in matrix_unit):
        return np.nan  # nothing to compare the name with
    return _named(view, _MATRIX)


def _owned(view: View, test: Callable[[Owner], bool]) -> Values:
    """1 where a kernel's name has an owner that passes, else 0."""
    out = np.zeros(view.size)
    out[[i for i, owner in view.once("owners of names", lambda: _owners(view)) if test(owner)]] = 1.0
    return out


def _owners(view: View) -> list[tuple[int, Owner]]:
    """The workloads whose names have an owner, by position."""
    rows: Iterable[int] = range(view.size)
    if view.size > MAX_ASKED:
        alike, kinds = view.alike
        owned = {text for text in kinds if may_have_owner(text)}
        rows = [i for i, text in enumerate(alike) if text in owned] if owned else []
    return [(i, owner) for i in rows if (owner := owner_of(view.names[i])) is not None]


def _named(view: View, pattern: re.Pattern[str]) -> Values:
    """1 where a name holds the pattern, else 0."""
    # a pattern over a million different names takes longer than all conditions: most texts hold none of its words
    (alike, kinds), names, out = view.alike, view.names, np.zeros(view.size)
    text = "\n".join(kinds).lower()
    if not any(n in text for n in _NEEDLES[pattern]):
        return out
    loose = re.compile(_DIGIT_RE.sub("0", pattern.pattern), pattern.flags)  # what a match is without digits
    may = {kind for kind in kinds if loose.search(kind.lower())}
    rows = [i for i, kind in enumerate(alike) if kind in may] if may else []
    found = {name: pattern.search(name[:2000]) is not None for name in {names[i] for i in rows}}
    out[rows] = [found[names[i]] for i in rows]  # kernels are few and launches many: each name is searched once
    return out


# A pipe has two figures, cycles busy and instructions issued, each against its own peak. Which one comes near its peak
# depends on the pipe (a tensor instruction keeps it busy for many cycles), so the higher one is its utilisation.
def _use(pipe: str, *also: str, ops: tuple[str, ...] = ()) -> Derivation:
    names = (pipe, *also)  # a unit that has a pipe per generation
    active = [f"{kind}.{p}" for p in names for kind in ("pipe_busy", "pipe")]
    return Derivation(
        f"pipe.{pipe}_use",
        "the higher of cycles busy and instructions issued, as shares of the peak",
        lambda *found: first(highest(*found[: len(active)]), highest(*found[len(active) :])),
        optional=(*active, *(f"pipe_elapsed.{p}" for p in names), *ops),
        ask=(f"pipe_busy.{pipe}", f"pipe.{pipe}"),
    )


def _together(fp32: Values, fp64: Values, peak32: Values, peak64: Values) -> Values:
    """Seconds the arithmetic takes at peak; the two precisions add up, as if their pipes never ran side by side."""
    # No operations take no time, even where the peak is not known; FP64 that was not counted is taken as none.
    single = np.where(fp32 == 0, 0.0, fp32 / peak32)
    double = np.where((fp64 == 0) | np.isnan(fp64), 0.0, fp64 / peak64)
    return single + double


def _intensity(fp32: Values, moved: Values, fp64: Values) -> Values:
    return over(fp32 + np.where(np.isnan(fp64), 0.0, fp64), moved)


def _ridge(fp32: Values, peak32: Values, bandwidth: Values, fp64: Values, peak64: Values) -> Values:
    # The roof of a mix is what it would reach at peak: a kernel of half FP64 on a 1:64 card has a far lower one.
    # Without any operations there is no mix, and the roof of FP32 stands.
    time = _together(fp32, fp64, peak32, peak64)
    total = fp32 + np.where(np.isnan(fp64), 0.0, fp64)
    return np.where(time > 0, total / np.where(time > 0, time, 1), peak32) / bandwidth


def _apart(avg: Values, top: Values, elapsed: Values, spread: Values = np.nan, waves: Values = np.nan) -> Values:
    """Some SM holds a warp until a launch ends: where the average one is empty for long, it ran long after the others."""
    alone = np.where((waves >= 1) & (1 - spread >= MIN_EMPTY), 1 - spread, np.nan)
    return first(np.clip((np.minimum(top, first(elapsed, top)) - avg) / first(elapsed, top), 0.0, 1.0), alone)


def _uneven(unit: str) -> Derivation:
    # Units of the SM clock share its elapsed cycles as the denominator; where those were not counted, the busiest unit's
    # stand for them. L2 and VRAM run on clocks of their own, so there the share of peak stands for how much of the time
    # the unit mattered.
    if unit in ("sm", "smsp", "l1tex"):
        counted, else_ = (f"{unit}.cycles_active", f"{unit}.cycles_active_max"), _SPREAD if unit == "sm" else ()
        formula = "(busiest - average active cycles) / elapsed cycles"
        formula += ", else 1 - evenness of a launch whose waves fill all SMs" * bool(else_)
        return Derivation(
            f"imbalance.{unit}", formula, _apart, optional=(*counted, "sm.cycles_elapsed", *else_), ask=counted
        )
    inputs = (f"{unit}.cycles_active", f"{unit}.cycles_active_max", f"{unit}.throughput")
    return Derivation(
        f"imbalance.{unit}",
        "(1 - average / busiest active cycles) x share of peak",
        lambda avg, top, sol: np.clip((1 - over(avg, top)) * sol, 0.0, 1.0),
        inputs,
    )


def _reach(issue: Values, top: Values, sm: Values, memory: Values, part: Values, bound: Values) -> Values:
    # Bound of Nsight Compute's IssueSlotUtilization, min(1 - issue, 1 - SOL), with P3's 90 % as the most a SOL reaches.
    # no kernel that ran leaves all units at 0: those that show it were not measured
    sol = first(top, np.fmax(sm, memory), np.where(part > 0, part, np.nan))
    return np.clip(np.fmin(1 - first(issue, np.where(np.isnan(sol), bound, np.nan)), 1 - sol / RAISED), 0.0, 1.0)


MIN_EMPTY = 0.4  # heuristic: of a launch; ramps and last waves leave the average SM empty for less
_SPREAD = ("launch.spread", "launch.waves")
UNEVEN = ("sm", "smsp", "l1tex", "l2", "vram")
DERIVATIONS = (
    # arithmetic
    *(d for p in _LETTER for d in _arithmetic(p)),
    Derivation("device.fp64_ratio", "FP32 peak / FP64 peak", _ratio, whole=True),
    Derivation("device.vram_peak", "data sheet of the device", _vram_peak, whole=True),
    # pipes
    *(_use(p) for p in ("alu", "fma", "fmaheavy", "fmalite", "fp64", "xu")),
    _use("tensor", "tc", ops=TENSOR_OPS),
    Derivation(
        "pipe.top", "the fullest math pipe", highest,
        optional=("pipe.alu_use", "pipe.fma_use", "pipe.fp64_use", "pipe.xu_use", "pipe.fp16", "pipe.tensor_use"),
        ask=("pipe.alu", "pipe.fma", "pipe.xu"),
    ),
    Derivation(
        "pipe.top_other", "the highest of the other pipes, else the ALUs of a phone",
        lambda alus, *pipes: first(highest(*pipes), alus),
        optional=("alu.utilization", "pipe.alu_use", "pipe.fma_use", "pipe.fp16", "pipe.lsu"), ask=("pipe.alu", "pipe.fma", "pipe.lsu"),
    ),
    Derivation(
        "name.tensor_like", "kernel name of a library's tensor kernel: xmma, hmma, wmma, s16816, tensorop or similar",
        lambda view: _named(view, _TENSOR), whole=True,
    ),
    Derivation(
        "name.library", "kernel name of a library or an inference engine",
        lambda view: _owned(view, lambda o: o.owner in ("library", "engine")), whole=True,
    ),
    Derivation(
        "name.library_product", "kernel name of a library's matrix product, convolution or attention",
        lambda view: _owned(view, lambda o: o.owner == "library" and o.family in ("gemm", "conv", "attention")), whole=True,
    ),
    Derivation(
        "name.once", "kernel name of a matrix-vector product, an optimiser step or an element-wise map",
        lambda view: np.fmax(_owned(view, lambda o: o.is_once), _named(view, _VECTOR)), whole=True,
    ),
    Derivation(
        "name.collective", "kernel name of a communication library: NCCL, RCCL, NVSHMEM or similar",
        lambda view: _named(view, COLLECTIVE), whole=True,
    ),
    Derivation(
        "name.matrix_like", "kernel name contains gemm, conv, attention or similar, or is a Tensile product (Cijk_...)",
        _matrix, whole=True,
    ),
    # roofline
    Derivation("roofline.intensity", "operations / bytes of VRAM", _intensity, ("flop.fp32", "vram.bytes"), ("flop.fp64",)),
    Derivation(
        "roofline.ridge", "peak rate of the mix / peak bandwidth", _ridge,
        ("flop.fp32", "flop.fp32_peak", "vram.peak_bandwidth"), ("flop.fp64", "flop.fp64_peak"),
    ),
    Derivation(
        "roofline.compute", "(FP32 / FP32 peak + FP64 / FP64 peak) / time",
        lambda f, p, t, d, q: _together(f, d, p, q) / (t * 1e-9), ("flop.fp32", "flop.fp32_peak", "gpu.time"),
        ("flop.fp64", "flop.fp64_peak"),
    ),
    Derivation(
        "roofline.memory", "VRAM SOL, else VRAM bytes / peak bandwidth / time",
        lambda sol, b, p, t: first(sol, b / p / (t * 1e-9)),
        optional=("vram.throughput", "vram.bytes", "vram.peak_bandwidth", "gpu.time"), ask=("vram.throughput",),
    ),
    # imbalance and latency
    *(_uneven(u) for u in UNEVEN),
    Derivation(
        "imbalance.top", "the largest imbalance", highest, optional=tuple(f"imbalance.{u}" for u in UNEVEN),
        ask=("imbalance.sm",),
    ),
    Derivation(
        "latency.reach", f"min(1 - issue slots used, 1 - top SOL / {whole_percent(RAISED)})", _reach,
        optional=("sm.issue_per_active", "sol.top", "sm.side", "memory.side", "unit.top", "sm.issue_at_most"),
        ask=("sm.issue_per_active", "sm.throughput", "memory.throughput"),
    ),
)  # fmt: skip
