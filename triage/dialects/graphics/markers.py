"""What graphics profilers share: vendor counters by name, API calls as kinds of work, two clocks for one event."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import numpy as np

from triage import schema
from triage.capture.arrays import Floats
from triage.capture.capture import Column, Table
from triage.dialects.graphics import perfworks
from triage.dialects.tables import tool_names, wide_table
from triage.ground import units
from triage.ground.errors import UnknownUnit

_FIXED_UNITS = {"sm.frequency": "MHz"}
# kind of work -> how calls that do it begin, without the API's prefix; DispatchRays and DispatchMesh are no compute
_KINDS = (
    ("raytracing", r"DispatchRays|TraceRays|BuildRaytracing|BuildAccelerationStructure|EmitRaytracing|CopyRaytracing"),
    ("compute", r"Dispatch(?!Mesh)"),
    ("draw", r"Draw|MultiDraw|DispatchMesh|ExecuteIndirect\b.*Draw"),
    (
        "copy",
        r"Copy|Resolve|Blit|UpdateSubresource|UpdateTileMappings|GenerateMip|FillBuffer|UpdateBuffer"
        r"|BufferSubData|TexSubImage",
    ),
)
_API = re.compile(
    r"(?:ID3D\w+::|vkCmd|vk|gl|IDirect3D\w+::)?(" + "|".join(p for _, p in _KINDS) + r")\w*\s*(?:\(|$)", re.IGNORECASE
)


def kind(name: str) -> str:
    """Kind of work of an API call such as `DrawIndexed(6)` or `vkCmdDispatch(4, 4, 1)`; "" for anything else."""
    if not _API.match(name.strip()):
        return ""
    bare = re.sub(r"^(?:ID3D\w+::|vkCmd|vk|gl)", "", name.strip())
    return next((k for k, pattern in _KINDS if re.match(pattern, bare, re.IGNORECASE)), "")


def metric_of(header: str, tool: str = "") -> str:
    """Canonical id of a vendor's counter name without its unit, or ""."""
    key = schema.normal(header)
    own = next((named[key].metric for t in (tool, "gpa", "intel") if key in (named := tool_names.of(t))), "")
    return own or perfworks.metric_of(header) or schema.by_alias().get(key, "")


def choose(
    headers: Sequence[tuple[int, str]], mapping: Mapping[str, str]
) -> tuple[dict[str, tuple[int, str, str]], list[str]]:
    """(metric -> (column, header, unit text), unused headers) of counter columns; of two columns the first wins.

    headers: (0-based position, header). gpu.time is left to the reader, for every tool has several clocks.
    """
    wanted = {schema.normal(k): v for k, v in mapping.items()}
    found: dict[str, tuple[int, str, str]] = {}
    tool = tool_names.tell(wide_table.split_unit(header)[0] for _, header in headers)
    unmapped = []
    for i, header in headers:
        bare, unit = wide_table.split_unit(header)
        metric = wanted.get(schema.normal(header)) or wanted.get(schema.normal(bare)) or metric_of(bare, tool)
        # GPUPerfAPI has some counters for compute alone, too, which are 0 in draws
        if metric in found and schema.normal(found[metric][1]) == schema.normal(f"CS{header}"):
            unmapped.append(found.pop(metric)[1])
        if not metric or metric in found or metric == "gpu.time":
            unmapped.append(header)
            continue
        if (
            not unit
        ):  # GPUPerfAPI and Intel print shares in percent without saying so; PerfWorks names say what they are
            unit = _FIXED_UNITS.get(metric, "") or ("%" if schema.get(metric).unit == "ratio" else "")
            if perfworks.counter(bare) and not perfworks.unit_of(bare) and unit == "%":
                unit = ""
        found[metric] = (i, header, unit)
    return found, unmapped


def column(table: Table, metric: str, values: Floats, where: int, header: str, unit: str, file: int = 0) -> None:
    """One counter as a column in canonical units; raises UnknownUnit for a unit that does not fit.

    where: its 0-based position in the export.
    """
    target = schema.get(metric).unit
    try:
        factor = units.factor(unit, target) if unit else 1.0
    except UnknownUnit as e:
        raise UnknownUnit(f"{table.files[file].path}: column {header!r}: {e.message}", e.hint) from e
    table.columns[metric] = Column(values * factor if factor != 1.0 else values, header, where + 1, unit, factor, file)
    if tool_names.lacks(wide_table.split_unit(header)[0], metric):
        tool_names.enter_opposite(table, metric)


def disagree(table: Table, one: Floats, other: Floats, first: str, second: str) -> None:
    """Remark when two times for the same events (ns) differ: they come from different replays."""
    with np.errstate(all="ignore"):
        both = (one > 500) & (other > 500)  # ns: below, the clocks' own steps make any ratio
        ratio = np.where(both, other / one, 1.0)
        off = both & ((ratio > 1.5) | (ratio < 1 / 1.5))
    if both.any() and off.sum() > 0.01 * both.sum():
        worst = int(np.nanargmax(np.where(off, np.abs(np.log(np.maximum(ratio, 1e-9))), -1)))
        table.remark(
            "times-disagree",
            f"{first} and {second} differ by more than 1.5x in {int(off.sum())} of "
            f"{int(both.sum())} events: they come from different replays; {first} is used",
            worst,
        )


def vendor_names(vendor: str) -> dict[str, list[str]]:
    """canonical id -> counter names of one vendor's plug-in: `nvidia`, `amd`, `intel`."""
    if vendor == "nvidia":
        return perfworks.names()
    out = tool_names.by_metric("gpa" if vendor == "amd" else vendor)
    if vendor == "amd":
        return out
    # of Intel's two spellings the graphics tools print EuActive; XVE_ACTIVE is that of its compute profilers
    for entry in schema.all_metrics().values():
        if entry.id.split(".")[0] in ("eu", "gti", "l3", "slm", "sampler", "bottleneck") or entry.id == "gpu.busy":
            out[entry.id] = [a for a in entry.aliases if a.isidentifier() and not a.isupper()]
    return out


@cache
def all_names() -> dict[str, list[str]]:
    """Every vendor's counters, and those of the graphics API itself."""
    out: dict[str, list[str]] = {}
    for vendor in ("nvidia", "amd", "intel"):
        for metric, found in vendor_names(vendor).items():
            out.setdefault(metric, []).extend(found)
    for entry in schema.all_metrics().values():
        plain = [
            a
            for a in entry.aliases
            if entry.id.split(".")[0] in ("prims", "vertices", "invocations", "pixels") and "__" not in a
        ]
        if plain:
            out.setdefault(entry.id, []).extend(plain)
    return out


def collectable(headers: Iterable[str], everything: Mapping[str, list[str]]) -> frozenset[str] | None:
    """Counters that the GPU can give: its vendor's; None when no counter shows the vendor."""
    bare = {wide_table.split_unit(h)[0] for h in headers}
    told = "nvidia" if any(map(perfworks.counter, bare)) else tool_names.tell(bare)
    vendor = {"nvidia": "nvidia", "intel": "intel", "gpa": "amd"}.get(told)
    if vendor is None:
        return None
    mine = set(vendor_names(vendor))
    others = set().union(*(vendor_names(v) for v in ("nvidia", "amd", "intel") if v != vendor)) - mine
    return frozenset(set(everything) - others - {"barrier.count"})  # no counter: the list of events has it or not
