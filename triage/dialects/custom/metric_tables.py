"""What the tool behind a custom table can export: no table is asked for another vendor's counters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from triage.dialects.tables import tool_names, wide_table
from triage.ground import collect_command

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
    tool = tool_names.tell(wide_table.split_unit(h)[0] for h in headers)
    return (
        {} if tool in ("gpa", "intel") else {metric: names[0] for metric, names in tool_names.by_metric(tool).items()}
    )


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
