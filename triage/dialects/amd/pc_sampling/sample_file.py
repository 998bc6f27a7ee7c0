"""`*_pc_sampling_host_trap.csv` and `*_pc_sampling_stochastic.csv` of rocprofv3, one sampled wave per row."""

from __future__ import annotations

from collections.abc import Mapping

from triage.capture.arrays import Names
from triage.capture.capture import Quality, Table
from triage.capture.source import Source
from triage.dialects.amd import agents
from triage.dialects.amd.pc_sampling import samples
from triage.dialects.tables import wide_table
from triage.ground.errors import BadCapture, TriageError
from triage.ground.phrasing import plural

ENDINGS = ("_pc_sampling_stochastic", "_pc_sampling_host_trap")  # the exact method first
NEED = ("Sample_Timestamp", "Exec_Mask", "Dispatch_Id", "Instruction", "Instruction_Comment")
_REASONS = ("Wave_Issued_Instruction", "Stall_Reason")
ALL = ""  # stands for every dispatch without a name


def spots(source: Source, named: Mapping[str, str]) -> tuple[dict[str, list[samples.Spot]], int, list[Quality]]:
    """Kernel -> its spots, the number of dispatches with samples, and remarks. named: dispatch -> kernel.

    Samples of dispatches without a name are kept under ALL; of code that could not be decoded none. Raises BadCapture
    for a table that holds no samples.
    """
    line, headers = wide_table.header(source)
    places = {h: wide_table.find(headers, h) for h in (*NEED, *_REASONS)}
    if lost := [h for h in NEED if places[h] < 0]:
        raise BadCapture(f"{source.path}: column {lost[0]} missing", "export again")
    numeric = [places[h] for h in ("Dispatch_Id", _REASONS[0]) if places[h] >= 0]
    known = [h for h in (*NEED[3:], _REASONS[1]) if places[h] >= 0]
    wide = wide_table.read(source, line, headers, numeric, [places[h] for h in known], empty="sample for longer")
    cells, numbers = {h: wide.texts[places[h]] for h in known}, wide.numbers[places["Dispatch_Id"]]
    decoded = [i for i, text in enumerate(cells["Instruction"]) if str(text).strip()]
    texts, sources = ([str(cells[h][i]).strip() for i in decoded] for h in ("Instruction", "Instruction_Comment"))
    dispatches = [f"{numbers[i]:.0f}" for i in decoded]
    why = [""] * len(decoded)
    if all(places[h] >= 0 for h in _REASONS):
        issued, reason = wide.numbers[places[_REASONS[0]]], cells[_REASONS[1]]
        why = samples.reasons([f"{issued[i]:.0f}" for i in decoded], [str(reason[i]) for i in decoded])
    if blank := len(numbers) - len(decoded):
        message = f"{plural(blank, 'sample')} without an instruction {'was' if blank == 1 else 'were'} left out"
        wide.quality.append(Quality("rows-left-out", message))
    kernels = [named.get(d, ALL) for d in dispatches]
    return samples.kernels(kernels, texts, sources, [-1] * len(decoded), why), len(set(dispatches)), wide.quality


def beside(source: Source, ending: str) -> Source | None:
    """The samples of the same run: `run_pc_sampling_stochastic.csv` goes with `run_kernel_trace.csv`."""
    return next((found for e in ENDINGS if (found := agents.beside(source, ending, e))), None)


def join(table: Table, file: Source, dispatches: Names) -> None:
    """Add the samples of a file to the kernels of a trace; one that cannot be read is left out with a remark."""
    try:
        found, _, remarks = spots(file, dict(zip(map(str, dispatches), map(str, table.names), strict=True)))
    except TriageError as e:
        table.remark("companion-left-out", f"a file beside the export was left out: {e}")
        return
    table.quality += remarks
    if lost := sum(s.number for s in found.pop(ALL, [])):
        table.notes.append(f"{plural(lost, 'sample')} of dispatches that the kernel trace does not hold were left out")
    samples.attach(table, found, file.name)
