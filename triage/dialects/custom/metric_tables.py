"""What the tool behind somebody's own table can export: nobody is asked for another vendor's counters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from triage import schema
from triage.dialects.tables import wide_table

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
    (
        *(
            "alu.limiter",
            "integer.",
            "complex.",
            "texture_sample.",
            "texture_write.",
            "buffer_read.",
            "buffer_write.",
            "threadgroup_memory.",
        ),
        *("llc.", "mmu.", "occupancy.compute", "occupancy.fragment", "occupancy.vertex"),
    ),
    (
        *("shader.busy", "shader.stalled", "texture_pipe.", "vram.stalled", "load_store.", "varying."),
        *("vertex_fetch.", "texture_filter.", "warp.diverged", "tiler."),
    ),
)
_FAMILIES = (("present.", "cpu."), *_PHONES)
# what phones' tools tell beside their families; a table without any SOL has none to add
_COMMON = ("gpu.", "alu.utilization", "pixels.", "primitives.", "vertices.", "draws.")


def tool_of(headers: Iterable[str]) -> Mapping[str, str]:
    """metric -> header of the phone's tool that these headers come from; empty where they come from none."""
    seen = {schema.normal(wide_table.split_unit(h)[0]) for h in headers}
    score = {id(t): len(seen & {schema.normal(n) for n in t.values()}) for t in (_SNAPDRAGON, _STREAMLINE)}
    best = max((_SNAPDRAGON, _STREAMLINE), key=lambda t: score[id(t)])
    return best if score[id(best)] else {}


def asking(headers: Iterable[str], known: Iterable[str]) -> Callable[[list[str]], str]:
    """What asks for further columns, in the words of the tool where that is known; "" where none of them can be had.

    known: metrics of the columns that are there.
    """
    tool, mine = tool_of(headers), set(known)
    foreign = tuple(p for family in _FAMILIES if not any(m.startswith(family) for m in mine) for p in family)
    phone = any(m.startswith(family) for family in _PHONES for m in mine) and not any(
        m.endswith(".throughput") and m != "vram.throughput" for m in mine
    )
    own = (*(p for family in _PHONES for p in family), *_COMMON) if phone else ("",)

    def ask(metrics: list[str]) -> str:
        if tool:
            names = [tool[m] for m in metrics if m in tool]
        else:
            names = [m for m in metrics if m.startswith(own) and not m.startswith(foreign)]
        wanted = ", ".join(names)
        return f"add columns: {wanted}" if wanted else ""

    return ask
