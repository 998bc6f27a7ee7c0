"""Real-time metrics of Adreno GPUs, as Snapdragon Profiler and ovrgpuprofiler call them."""

from __future__ import annotations

import re

from triage import schema

# metric name -> metric; "-" before it: the name counts misses or what is left
_NAMES = {
    "% Texture L1 Miss": "-l1tex.hit_rate",
    "% Texture L2 Miss": "-l2.hit_rate",
    "% Instruction Cache Miss": "-l1i.hit_rate",
    "% Wave Context Occupancy": "sm.occupancy",
    "% Time ALUs Working": "alu.utilization",
    "GPU % Utilization": "-gpu.idle",
    "GPU Utilization": "-gpu.idle",
}


def metric_of(name: str) -> tuple[str, bool]:
    """(metric, True if the name counts its opposite) of a metric's name; ("", False) for one that is not used."""
    plain = " ".join(name.split())
    own = _NAMES.get(plain) or schema.by_alias().get(schema.normal(plain), "")
    metric = own.removeprefix("-")
    percent = bool(re.search(r"%", plain)) or plain in _NAMES
    if not metric or (schema.get(metric).unit == "ratio") != percent:
        return "", False
    return metric, own.startswith("-")


def by_metric() -> dict[str, list[str]]:
    """metric -> names that are used."""
    aliases = ("% Shaders Busy", "% Shaders Stalled", "% Texture Pipes Busy", "% Texture Fetch Stall", "% Vertex Fetch Stall", "% Stalled on System Memory", "% Shader ALU Capacity Utilized")  # fmt: skip
    out: dict[str, list[str]] = {}
    for name in (*_NAMES, *aliases):
        if metric := metric_of(name)[0]:
            out.setdefault(metric, []).append(name)
    return out
