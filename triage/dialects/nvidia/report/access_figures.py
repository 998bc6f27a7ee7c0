"""What one execution of an instruction costs: sectors and wavefronts of accesses, operations of atomics."""

from __future__ import annotations

from msgspec import Struct, field

from triage.dialects.nvidia.report.instances import Instances
from triage.dialects.nvidia.report.stall_samples import present, summed

_GLOBAL = ("memory_l2_theoretical_sectors_global", "memory_l2_sectors_global")
_LOCAL = ("memory_l2_theoretical_sectors_local", "memory_l2_sectors_local")
_SHARED = ("memory_l1_wavefronts_shared", "memory_l1_sectors_shared")
_COUNTERS = (
    ("global", "sectors", _GLOBAL),
    ("generic", "sectors", _GLOBAL),
    ("asynchronous", "sectors", _GLOBAL),
    ("local", "sectors", _LOCAL),
    ("shared", "wavefronts", _SHARED),
)
_EXECUTED, _LANES, _ACTIVE = ("inst_executed",), ("thread_inst_executed",), ("thread_inst_executed_true",)
_ATOMIC = ("atomic", "reduction")
_MAX_OFF = 0.1  # part of the lanes a predicate may turn off, above which it may have turned off whole warps


class AccessFigures(Struct):
    """Figures of instructions of one launch, by address."""

    found: Instances
    _tables: dict[tuple[str, ...], dict[int, float]] = field(default_factory=dict)

    def executed(self, pc: int) -> float:
        """Executions by warps."""
        return self._counted(pc, _EXECUTED)

    def shares(self, pcs: list[int], kinds: list[str], by_executions: bool = False) -> dict[int, float]:
        """Parts of 1: by sectors, wavefronts and atomic operations; by executions where one has none, or where asked for."""
        if len(pcs) < 2:
            return dict.fromkeys(pcs, 1.0)
        weights = [0.0 if by_executions else self._traffic(pc, kind) for pc, kind in zip(pcs, kinds, strict=True)]
        if not all(weights):
            weights = [max(w, self.executed(pc)) for pc, w in zip(pcs, weights, strict=True)]
        total = sum(weights)
        return {pc: w / total if total else 1 / len(pcs) for pc, w in zip(pcs, weights, strict=True) if w or not total}

    def _traffic(self, pc: int, kind: str) -> float:
        """Sectors and wavefronts; of an atomic its operations, since those on one address are done one by one."""
        sent = sum(self._counted(pc, names) for names in (_GLOBAL, _LOCAL, _SHARED))
        return max(sent, self._counted(pc, _ACTIVE)) if kind.endswith(_ATOMIC) else sent

    def per_request(self, pc: int, kind: str) -> tuple[float, str]:
        """(sectors or wavefronts of one execution of an access, which of them); 0 where that is not known.

        A warp that a predicate turns off as a whole is counted as an execution, and accesses nothing.
        """
        for begin, unit, names in _COUNTERS:
            if kind.startswith(begin):
                executed, lanes, active = (self._counted(pc, n) for n in (_EXECUTED, _LANES, _ACTIVE))
                if not executed or active < (1 - _MAX_OFF) * lanes:
                    return 0.0, unit
                return self._counted(pc, names) / executed, unit
        return 0.0, ""

    def operations(self, pc: int, kind: str) -> float:
        """Lanes that take part in one execution of an atomic; 0 for other instructions, or where they are not counted."""
        executed = self.executed(pc)
        return self._counted(pc, _ACTIVE) / executed if executed and kind.endswith(_ATOMIC) else 0.0

    def _counted(self, pc: int, names: tuple[str, ...]) -> float:
        """The first of some counters that is there, at an address."""
        if names not in self._tables:
            pcs, values = summed(*self.found.values(present(self.found, names)))
            self._tables[names] = dict(zip(pcs.tolist(), values.tolist(), strict=True))
        return max(self._tables[names].get(pc, 0.0), 0.0)
