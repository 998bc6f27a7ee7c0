"""Logs of other tools that hold no GPU work by pass or frame: recognised to be named, with what to record instead."""

from __future__ import annotations

import re
from typing import NamedTuple

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.ground.errors import NotTriageable

NAME = "named-only"
SIGN = ("gpu clock", "gpu util", "time stamp", "gpu load", "hardware monitoring log", "<trace-query-result", "instruments", "gpu temperature", "fps average", "metal-", "average fps", "avg fps", "utilization.gpu", "memory.used", "# gpu ", "nvidia-smi", "gpuid", "#entity", "# entity", "// ::.", "grd_freq", "rocm system management", "sensor edge", "deviceid gpu utilization", "freq mhz", "vtx idx", "/rules/", "bandwidth info")  # fmt: skip
TELLS = {"work": "graphics"}
TITLE = "Sensor logs, Instruments exports and summaries (GPU-Z, HWiNFO, Adrenalin, Afterburner, nvidia-smi, dcgmi): named, not read"
CAPTURE = """\
Not inputs for triage: clocks, loads and averages over time. Record frames with PresentMon, one frame with a GPU profiler, or kernels
with Nsight Systems or rocprofv3."""


class _Kind(NamedTuple):
    pattern: re.Pattern[str]  # searched in the first lines
    what: str
    hint: str


_FRAMES = "for frame times record PresentMon or CapFrameX, for passes GPU Trace, PIX or RenderDoc"
_KERNELS = "for kernels record: nsys profile -t cuda,nvtx -o report ./app, then nsys stats --report cuda_gpu_kern_sum --format csv report.nsys-rep"
_KERNELS_AMD = "for kernels record: rocprofv3 --kernel-trace --stats -f csv -- ./app"
_KINDS = (
    _Kind(
        re.compile(
            r"^\W{0,3}(?:timestamp|index|name|uuid|pci\.\w+)\b.*\b(?:utilization\.gpu|memory\.used|power\.draw|temperature\.gpu|clocks\.\w+)"
            r"|^\W{0,3}(?:utilization\.gpu|memory\.used|power\.draw) ?\[|^# ?gpu +(?:pwr|pid|sm|gtemp|rxpci)\b|\| NVIDIA-SMI \d"
            r"|^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}, "
        ),
        "nvidia-smi log: load, clocks and memory over time, no GPU work",
        _KERNELS,
    ),
    _Kind(
        re.compile(r"^GPUId,TimeStampUs,Field|^# ?Entity\s+\S+"),
        "DCGM log (dcgmi dmon): fields over time, no GPU work",
        _KERNELS,
    ),
    _Kind(re.compile(r"\bGR3D_FREQ \d"), "tegrastats log: load and clocks over time, no GPU work", _KERNELS),
    _Kind(
        re.compile(r"ROCm System Management Interface|^device,.*\(Sensor edge\)", re.IGNORECASE),
        "rocm-smi log: load, clocks and memory over time, no GPU work",
        _KERNELS_AMD,
    ),
    _Kind(
        re.compile(r"^Timestamp, ?DeviceId, ?GPU Utilization|^\s*Freq MHz\s+IRQ RC6"),
        "xpu-smi or intel_gpu_top log: load and clocks over time, no GPU work",
        "for kernels record: unitrace --chrome-kernel-logging ./app",
    ),
    _Kind(
        re.compile(r"^VTX, ?IDX,"),
        "mesh data of RenderDoc (vertices), no GPU times",
        "in RenderDoc: Window > Performance Counter Viewer, Capture counters, Save as CSV",
    ),
    _Kind(
        re.compile(r"^Processing \[.*/rules/\w+\.py\]"),
        "rule results of Nsight Systems (nsys analyze), no times",
        "name the .sqlite that it processed, or export: nsys stats --report cuda_gpu_kern_sum --format csv REPORT.nsys-rep",
    ),
    _Kind(
        re.compile(r"^TRITON KERNELS BANDWIDTH INFO"),
        "Inductor's list of kernel bandwidths: bytes are estimates, and calls are not counted",
        "record with torch.profiler and name its trace (export_chrome_trace)",
    ),
    _Kind(
        re.compile(r"^\s*Date\s*,\s*GPU (?:Core )?Clock", re.IGNORECASE),
        "GPU-Z sensor log: clock, load and temperature over time, no GPU work",
        _FRAMES,
    ),
    _Kind(
        re.compile(r"\bGPU UTIL\b.*\bGPU (?:SCLK|MCLK|PWR|TEMP|BRD PWR)\b|\bFPS\b\s*,.*\bGPU UTIL\b|^TIME STAMP\s*,"),
        "AMD Adrenalin performance log: sensors over time, no GPU work",
        _FRAMES,
    ),
    _Kind(
        re.compile(r"Hardware monitoring log v", re.IGNORECASE),
        "MSI Afterburner (RivaTuner) hardware monitoring log: sensors over time, no GPU work",
        _FRAMES,
    ),
    _Kind(
        re.compile(r"^\"?Date\"?,\"?Time\"?,.*(?:GPU Clock|GPU D3D Usage|GPU Core Load|GPU Temperature)", re.IGNORECASE),
        "HWiNFO sensor log: clock, load and temperature over time, no GPU work",
        _FRAMES,
    ),
    _Kind(
        re.compile(r"<trace-query-result|<trace-toc|schema name=\"metal-"),
        "Instruments export (xctrace): intervals of Metal System Trace, not read",
        "in Xcode capture the frame, then Performance, Counters, Editor > Export GPU Counters",
    ),
    _Kind(
        re.compile(r"(?:Avg|Average) ?FPS.*(?:1% ?Low|99th|Percentile|P99)|FPS Average,", re.IGNORECASE),
        "summary of frame rates (FrameView, CapFrameX or a benchmark): averages, no frames",
        "name the log of single frames beside it",
    ),
)  # fmt: skip
HEAD_LINES = 6


def _kind(source: Source) -> _Kind | None:
    head = "\n".join(line[:2000] for line in source.head_lines[:HEAD_LINES])
    return next((k for k in _KINDS if any(k.pattern.search(line) for line in head.split("\n"))), None)


def recognise(source: Source) -> Match | None:
    """The header of one of these logs."""
    kind = _kind(source)
    return Match(0.86, kind.what) if kind else None


def read(source: Source, options: Options) -> Table:
    """Always NotTriageable: what the file is, and what to record instead."""
    kind = _kind(source)
    raise NotTriageable(f"{source.path}: {kind.what if kind else 'a sensor log'}", kind.hint if kind else _FRAMES)


def names() -> dict[str, list[str]]:
    """Nothing: such files are not read."""
    return {}
