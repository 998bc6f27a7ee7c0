"""Samples of program counters in rocprofv3's JSON: `pc_sample_stochastic` and `pc_sample_host_trap` of one process."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from triage.dialects.amd import rocm
from triage.dialects.amd.pc_sampling import samples

WHERE = "buffer_records.pc_sample_*"
_LISTS = ("pc_sample_stochastic", "pc_sample_host_trap")  # the exact method first
Record = dict[str, Any]


def records(run: Record) -> list[Record]:
    """The samples of a process whose instruction was decoded; [] where none were taken."""
    found: Record = run.get("buffer_records") or {}
    taken: list[Record] = next((found[name] for name in _LISTS if found.get(name)), [])
    return [r for r in taken if r.get("inst_index", -1) >= 0]


def kernels(run: Record) -> dict[str, list[samples.Spot]]:
    """Kernel, as the dispatches call it, -> its spots; raises KeyError, TypeError or IndexError for damaged records."""
    taken = records(run)
    if not taken:
        return {}
    symbols = _Symbols(run)
    texts, comments = (run["strings"][f"pc_sample_{what}"] for what in ("instructions", "comments"))
    held = [r["record"] for r in taken]
    homes = [symbols.home(r) for r in held]
    why = [""] * len(held)
    if run["buffer_records"].get(_LISTS[0]):
        why = samples.reasons([r["wave_issued"] for r in held], [str(r["snapshot"]["stall_reason"]) for r in held])
    at = [int(r["inst_index"]) for r in taken]
    code = [str(texts[i]).strip() for i in at]
    sources = [str(comments[i]).strip() if i < len(comments) else "" for i in at]
    return samples.kernels([name for name, _ in homes], code, sources, [offset for _, offset in homes], why)


class _Symbols:
    """Names the kernel of a sample by its dispatch, else by the code that its address lies in."""

    def __init__(self, run: Record) -> None:
        names = {s["kernel_id"]: rocm.clean(str(s.get("formatted_kernel_name") or s.get("kernel_name") or "")) for s in run["kernel_symbols"]}  # fmt: skip
        infos = [r["dispatch_info"] for r in run["buffer_records"].get("kernel_dispatch") or []]
        self._dispatched = {i["dispatch_id"]: names.get(i["kernel_id"], "") for i in infos}
        self._starts: dict[int, list[tuple[int, str]]] = {}
        for s in run["kernel_symbols"]:
            if (start := s.get("kernel_code_entry_byte_offset")) is not None:
                self._starts.setdefault(s["code_object_id"], []).append((int(start), names[s["kernel_id"]]))
        for starts in self._starts.values():
            starts.sort()

    def home(self, record: Record) -> tuple[str, int]:
        """Kernel and offset of a sample in it; "" and -1 where they are unknown."""
        pc = record["pc"]
        starts = self._starts.get(pc["code_object_id"], [])
        at = bisect_right(starts, int(pc["code_object_offset"]), key=lambda s: s[0]) - 1
        offset = int(pc["code_object_offset"]) - starts[at][0] if at >= 0 else -1
        return self._dispatched.get(record["dispatch_id"]) or (starts[at][1] if at >= 0 else ""), offset
