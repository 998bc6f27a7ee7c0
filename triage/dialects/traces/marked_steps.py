"""Steps that a framework marks on the host: by a number, by their batch, or by the phases that each goes through."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from triage.capture.arrays import Indices
from triage.capture.trace_nouns import Step

_NUMBERED_RE = re.compile(r"(?!Optimizer)[\w ./-]{1,60}#\d{1,12}")  # `ProfilerStep#3`, `train#3`
_VLLM_RE = re.compile(r"execute_[\w()]{1,200}")
_VLLM_BATCH_RE = re.compile(r"context_(\d{1,9})\(.{0,90}\)_generation_(\d{1,9})\(")
_SGLANG_RE = re.compile(r"step\[(\w{1,20})[\w =]{0,80}\]")  # `step[EXTEND bs=15 toks=15360]`
_TORCH_RE = re.compile(r"ProfilerStep#\d{1,12}")
_RUNNER_RE = re.compile(r"(?:v2_)?gpu_model_runner: [\w -]{1,40}")
_SGLANG_BATCHES = {"EXTEND": "prefill", "DECODE": "decode", "MIXED": "mixed"}
# of vLLM, whose runner has had two sets of names; programs of others may use the second
_PHASE_RE = re.compile(r"(?:v2_)?gpu_model_runner: [\w -]{1,40}|Preprocess|Forward|Postprocess|Sample|Bookkeep|Draft")
_SERVERS = (
    ("sglang", re.compile(r"sgl_kernel::|sglang::|step\[\w{1,20} bs=")),
    ("vllm", re.compile(r"vllm::|_C_cache_ops::|execute_(?:\w+_)?context_\d|(?:v2_)?gpu_model_runner: ")),
)
_RUNS_RE = re.compile(r"(?i).*\bforward")


def marked(ranges: Sequence[Step], thread: Indices) -> list[Step]:
    """The steps among a trace's ranges, which are in order of their start; those of the first way of marking that occurs."""
    if steps := [r for r in ranges if _NUMBERED_RE.fullmatch(r.name)]:
        return steps
    for pattern in (_VLLM_RE, _SGLANG_RE):  # SGLang may mark both
        steps = [Step(r.name, r.start, r.end, _batch(r.name)) for r in ranges if pattern.fullmatch(r.name)]
        if len(steps) > 1:  # one step of a server is the whole record, which says nothing of steps
            return steps
    return _phased([(r, int(t)) for r, t in zip(ranges, thread, strict=True) if _PHASE_RE.fullmatch(r.name)])


def server(names: Iterable[str]) -> str:
    """vllm or sglang, whose ranges and operators are among some names; "" where neither is. SGLang calls operators of vLLM."""
    found = {word for name in names for word, pattern in _SERVERS if pattern.match(name)}
    return next((word for word, _ in _SERVERS if word in found), "")


def is_mark(name: str) -> bool:
    """Whether a range is a step, and no part of one."""
    return any(pattern.fullmatch(name) for pattern in (_NUMBERED_RE, _VLLM_RE, _SGLANG_RE))


def is_of_a_framework(name: str) -> bool:
    """Whether a range has a name that PyTorch's profiler, vLLM or SGLang gives a step, or a phase of one; programs number layers as well."""
    return any(pattern.fullmatch(name) for pattern in (_TORCH_RE, _VLLM_RE, _SGLANG_RE, _RUNNER_RE))


def _batch(name: str) -> str:
    """What a server's step works on: prefill, decode or mixed; "" where its name does not say."""
    if (found := _VLLM_BATCH_RE.search(name)) is not None:
        context, generation = (int(n) for n in found.groups())
        return "mixed" if context and generation else "prefill" if context else "decode"
    batch = _SGLANG_RE.fullmatch(name)
    return _SGLANG_BATCHES.get(batch[1], "") if batch else ""


def _phased(phases: list[tuple[Step, int]]) -> list[Step]:
    """One step from each start of the first phase to the end of the last before the next, on the thread that runs the model."""
    threads = [t for r, t in phases if _RUNS_RE.match(r.name)]
    if len(threads) < 2:
        return []
    mine = [r for r, t in phases if t == max(threads, key=threads.count)]
    starts = [i for i, r in enumerate(mine) if r.name == mine[0].name]
    parts = [mine[a:b] for a, b in zip(starts, [*starts[1:], len(mine)], strict=True)]
    return [
        Step(f"{part[0].name}#{number}", part[0].start, max(r.end for r in part))
        for number, part in enumerate(parts, 1)
        if any(_RUNS_RE.match(r.name) for r in part)
    ]
