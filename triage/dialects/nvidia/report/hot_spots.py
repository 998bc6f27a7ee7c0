"""Which instructions and lines of a launch a finding is about: the counters per instruction that its metrics rest on."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

from triage.capture.arrays import Floats, Indices
from triage.capture.location import Location
from triage.dialects.nvidia.report import code
from triage.dialects.nvidia.report.access_figures import AccessFigures
from triage.dialects.nvidia.report.awaited import MIN_SAMPLES, Awaited
from triage.dialects.nvidia.report.code import Code, Map, Spot
from triage.dialects.nvidia.report.container import Contents
from triage.dialects.nvidia.report.instances import Instances
from triage.dialects.nvidia.report.line_table import SourceLine
from triage.dialects.nvidia.report.stall_samples import SAMPLES, at, by_reason, present, reasons, summed, waiting
from triage.dialects.nvidia.report.wire import Damaged
from triage.dialects.nvidia.sass import arguments
from triage.ground.kernel_names import demangled

_LISTED = 3  # locations of one finding
_MIN_LINE_SHARE = 0.05  # share below which a line is not worth naming
_MAIN = 0.5  # NVIDIA, Compute Triage Guide: a reason with more than half of a line's samples is what the line waits for
_LAUNCHES = 256  # launches of one report that are looked into: each is a few thousand messages
_LOAD, _STORE = 2, 4  # memory_access_type
_SPACES = {4: "global", 16: "shared"}  # memory_type


class _Aspect(Struct, frozen=True):
    """One way to weigh instructions: `of` minus `less`, over one kind of access, or some mnemonics, where stated."""

    what: str
    of: tuple[str, ...]  # the first that is there
    less: tuple[str, ...] = ()
    access: int = 0
    times: float = 1.0
    mnemonics: frozenset[str] = frozenset()


_GLOBAL = ("memory_l2_theoretical_sectors_global", "memory_l2_sectors_global")
_SHARED = ("memory_l1_wavefronts_shared", "memory_l1_sectors_shared")
_LOCAL = ("memory_l2_theoretical_sectors_local", "memory_l2_sectors_local")


def _ideal(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{n}_ideal" for n in names)


_ATOMICS = frozenset({"ATOM", "ATOMG", "ATOMS", "RED", "REDG"})
_TRAFFIC = _Aspect("global memory traffic", _GLOBAL)
_WAITING = _Aspect("stalls", (SAMPLES,))
# prefix of a metric -> counters that locate it, in this order; one without instances is skipped
_ASPECTS = (
    (r"global_load\.(waste|bytes_per_sector|sectors_per_request)", _Aspect("excess load sectors", _GLOBAL, _ideal(_GLOBAL), _LOAD)),
    (r"global_store\.(waste|bytes_per_sector|sectors_per_request)", _Aspect("excess store sectors", _GLOBAL, _ideal(_GLOBAL), _STORE)),
    (r"global_access\.|l1tex\.coalescing", _Aspect("excess sectors", _GLOBAL, _ideal(_GLOBAL))),
    (r"shared\.(conflict|excess|bank_conflict)", _Aspect("excess shared memory wavefronts", _SHARED, _ideal(_SHARED))),
    (r"shared\.", _Aspect("shared memory wavefronts", _SHARED)),
    (r"local\.", _Aspect("local memory traffic", _LOCAL)),
    (r"warp\.threads_per_inst|branch\.efficiency", _Aspect("idle lanes", ("inst_executed",), ("thread_inst_executed",), times=32)),
    (r"warp\.unpredicated_threads_per_inst", _Aspect("predicated-off lanes", ("thread_inst_executed",), ("thread_inst_executed_true",))),
    (r"branch\.", _Aspect("divergent branches", ("smsp__branch_targets_threads_divergent",))),
    (r"atomics\.", _Aspect("atomic instructions", ("inst_executed",), mnemonics=_ATOMICS)),
    (r"global_load\.", _Aspect("global memory load traffic", _GLOBAL, access=_LOAD)),
    (r"global_store\.", _Aspect("global memory store traffic", _GLOBAL, access=_STORE)),
    (r"vram\.|l2\.|l2_from\.tex|l1tex\.(hit_rate|lsu_data|throughput|stalled_l2)|memory\.", _TRAFFIC),
    (r"inst\.|sm\.issue|sm\.inst|pipe|flop\.", _Aspect("instructions", ("inst_executed",))),
    (r"stall\.top_share|warp\.(cycles_per|eligible)|sm\.occupancy", _WAITING),
)  # fmt: skip
_PATTERNS = tuple((re.compile(p), a) for p, a in _ASPECTS)
_STALL = re.compile(r"stall(?:_cycles|_samples)?\.(\w+)\Z")


class Spots(Struct):
    """Locates findings in one report; what cannot be read is not located."""

    contents: Contents
    _codes: dict[int, Code] | None = None
    _launches: dict[int, tuple[Instances, Map, Awaited] | None] = field(default_factory=dict)
    _found: dict[tuple[int, _Aspect], tuple[Location, ...]] = field(default_factory=dict)

    def __call__(self, row: int, metrics: Sequence[str]) -> Sequence[Location]:
        """Where the first of the metrics that is counted per instruction comes from, most first; [] where none is."""
        try:
            launch = self.launch(row)
            if launch is None:
                return []
            for aspect in dict.fromkeys(a for m in metrics for a in self._aspects(m, launch[0])):
                if (row, aspect) not in self._found:
                    self._found[row, aspect] = tuple(_located(row, *launch, aspect))
                if self._found[row, aspect]:
                    return self._found[row, aspect]
        except Damaged:
            pass
        return []

    def launch(self, row: int) -> tuple[Instances, Map, Awaited] | None:
        """Counters, code and waits of one launch; None beyond the launches that are looked into."""
        if row not in self._launches:
            if len(self._launches) >= _LAUNCHES:
                return None
            self._launches[row] = None  # should it turn out to be damaged
            found = Instances(self.contents, row)
            if self._codes is None:
                self._codes = code.read(self.contents)
            _, addresses = found.values("launch__function_pcs")
            pcs, _ = found.values("inst_executed")
            base = int(addresses.min()) if len(addresses) else int(pcs.min()) if len(pcs) else 0
            shown = demangled(found.mangled) or found.function
            where = Map(self._codes.get(found.code), found.mangled, shown, base)
            awaited = Awaited(found, where, arguments.types(found.signature), AccessFigures(found))
            awaited.settle()
            self._launches[row] = found, where, awaited
        return self._launches[row]

    @staticmethod
    def _aspects(metric: str, found: Instances) -> list[_Aspect]:
        if m := _STALL.match(metric):
            if m[1] == "top_share":
                return [_WAITING]
            name = reasons(found).get(m[1], "")
            return [_Aspect(f"stalls ({m[1].replace('_', ' ')})", (name,))] if name else []
        return [a for pattern, a in _PATTERNS if pattern.match(metric)]


def _weights(found: Instances, awaited: Awaited, aspect: _Aspect) -> tuple[str, Indices, Floats, float]:
    """(the counters in words, addresses, weights above 0, their sum); no address where the counters have no instances."""
    none = "", np.zeros(0, np.int64), np.zeros(0), 0.0
    name = present(found, aspect.of)
    if not name:
        return none
    pcs, values = summed(*found.values(name))
    values = values * aspect.times
    if aspect.less:
        less = present(found, aspect.less)
        if not less:
            return none
        name = f"{f'{aspect.times:g} x ' if aspect.times != 1 else ''}{name} - {less}"
        values = values - at(pcs, *found.values(less))
    if aspect.access:
        values = np.where(at(pcs, *found.values("memory_access_type")) == aspect.access, values, 0.0)
    if aspect.mnemonics:
        values = np.where([awaited.mnemonic(pc) in aspect.mnemonics for pc in pcs.tolist()], values, 0.0)
    good = values > 0
    return name, pcs[good], values[good], float(values[good].sum())


def _located(row: int, found: Instances, where: Map, awaited: Awaited, aspect: _Aspect) -> list[Location]:
    """Lines, or instructions without a line, by their share of an aspect."""
    name, pcs, values, total = waiting(found) if aspect is _WAITING else _weights(found, awaited, aspect)
    if not total > 0:
        return []
    spots = [where.spot(pc) or Spot("", pc) for pc in pcs.tolist()]
    groups: dict[SourceLine | tuple[str, int], list[int]] = {}
    for i, spot in enumerate(spots):
        groups.setdefault(spot.place or (spot.function, spot.offset), []).append(i)
    weights = {key: float(values[members].sum()) for key, members in groups.items()}
    best = sorted(groups, key=lambda k: (-weights[k], pcs[groups[k][0]]))[:_LISTED]
    out = []
    for key in best:
        if weights[key] / total < _MIN_LINE_SHARE:
            break
        members = np.array(groups[key])
        top = int(members[np.argmax(values[members])])
        place, (file, line) = spots[top].place, spots[top].line
        reason, part = _main_reason(found, pcs[members])
        waits_for, unknown = awaited.of(pcs[members])
        out.append(
            Location(
                what=aspect.what,
                metric=name,
                value=weights[key],
                share=weights[key] / total,
                function=spots[top].function,
                offset=spots[top].offset,
                pc=int(pcs[top]),
                instructions=len(members),
                file=file,
                line=line,
                source=where.text(place) if place else "",
                access=_access(found, pcs[members]),
                reason=reason,
                reason_share=part,
                excess=_excess(found, pcs[members]),
                record=row + 1,
                mnemonic=awaited.mnemonic(int(pcs[top])),
                waits_for=waits_for,
                waits_unknown=unknown,
            )
        )
    return out


def _main_reason(found: Instances, pcs: Indices) -> tuple[str, float]:
    """What warps mostly wait for at some addresses, and its share of their samples; "" where nothing leads, or few were taken."""
    counts, total = by_reason(found, pcs)
    if not counts or total < MIN_SAMPLES:
        return "", 0.0
    reason = max(counts, key=lambda r: (counts[r], r))
    share = counts[reason] / total
    return (reason.replace("_", " "), share) if share > _MAIN else ("", 0.0)


def _access(found: Instances, pcs: Indices) -> str:
    """`global load` where the addresses access one kind of memory in one way."""
    spaces = {_SPACES.get(int(v), "") for v in at(pcs, *found.values("memory_type")) if v}
    types = at(pcs, *found.values("memory_access_type"))
    kinds = {{_LOAD: "load", _STORE: "store"}.get(int(v), "") for v in types if v}
    if len(spaces) != 1 or "" in spaces:
        return ""
    return f"{spaces.pop()} {kinds.pop()}" if len(kinds) == 1 and "" not in kinds else f"{spaces.pop()} access"


def _excess(found: Instances, pcs: Indices) -> float:
    """Sectors or wavefronts made over those needed, 0 where no instruction there counts them."""
    for names in (_GLOBAL, _SHARED):
        made, needed = (present(found, n) for n in (names, _ideal(names)))
        if made and needed and (ideal := float(at(pcs, *found.values(needed)).sum())) > 0:
            return float(at(pcs, *found.values(made)).sum()) / ideal
    return 0.0
