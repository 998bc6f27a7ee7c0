"""What the tool behind a custom table can export: no table is asked for another vendor's counters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from triage import schema
from triage.dialects.tables import wide_table
from triage.ground import collect_command

# the tools' own names of what the schema reads; a table that has one of them came from that tool
_SNAPDRAGON = {
    "alu.utilization": "% Shader ALU Capacity Utilized",
    "shader.busy": "% Shaders Busy",
    "shader.stalled": "% Shaders Stalled",
    "texture_pipe.busy": "% Texture Pipes Busy",
    "texture_pipe.stalled": "% Texture Fetch Stall",
    "vertex_fetch.stalled": "% Vertex Fetch Stall",
    "vram.stalled": "% Stalled on System Memory",
}
_STREAMLINE = {
    "alu.utilization": "Arithmetic unit utilization",
    "shader.busy": "Execution core utilization",
    "texture_pipe.busy": "Texture unit utilization",
    "load_store.busy": "Load/store unit utilization",
    "varying.busy": "Varying unit utilization",
    "texture_filter.cycles": "Texture filtering cycles per instruction",
    "warp.diverged": "Warp divergence percentage",
    "tiler.busy": "Tiler utilization",
    "vram.stalled": "External bus read stall rate",
}
# families that only some tools have: asked for where the table has one of them already
_PHONES = (
    tuple("alu.limiter integer. complex. texture_sample. texture_write. buffer_read. buffer_write. threadgroup_memory. llc. mmu."
          " occupancy.compute occupancy.fragment occupancy.vertex".split()),
    tuple("shader.busy shader.stalled texture_pipe. vram.stalled load_store. varying. vertex_fetch. texture_filter. warp.diverged"
          " tiler.".split()),
)  # fmt: skip
_FAMILIES = (("present.", "cpu."), *_PHONES)
# what phones' tools count beside their families; a table without any SOL has none to add
_COMMON = ("gpu.", "alu.utilization", "pixels.", "primitives.", "vertices.", "draws.")


def tool_of(headers: Iterable[str]) -> Mapping[str, str]:
    """Metric -> header of the phone's tool that these headers come from; empty where they come from none."""
    present = {schema.normal(wide_table.split_unit(h)[0]) for h in headers}
    matches = [sum(schema.normal(name) in present for name in tool.values()) for tool in (_SNAPDRAGON, _STREAMLINE)]
    return {} if not any(matches) else _SNAPDRAGON if matches[0] >= matches[1] else _STREAMLINE


def asking(
    headers: Iterable[str], known: Iterable[str]
) -> tuple[Callable[[list[str]], str], Callable[[Iterable[str]], list[str]]]:
    """What asks for further columns, by the tool's own names where that is known, "" where there are none; and which it asks for.

    known: metrics of the columns that are there.
    """
    tool, present = tool_of(headers), tuple(known)
    families = [family for family in _FAMILIES if any(m.startswith(family) for m in present)]
    foreign = tuple(prefix for family in _FAMILIES if family not in families for prefix in family)
    has_sol = any(m.endswith(".throughput") and m != "vram.throughput" for m in present)
    phone = not has_sol and any(family in _PHONES for family in families)
    own = (*_PHONES[0], *_PHONES[1], *_COMMON) if phone else ("",)

    def which(metrics: Iterable[str]) -> list[str]:
        if tool:
            return [tool[m] for m in metrics if m in tool]
        return [m for m in metrics if m.startswith(own) and not m.startswith(foreign)]

    def ask(metrics: list[str]) -> str:
        columns = which(metrics)
        return collect_command.columns(columns) if columns else ""

    return ask, which
