"""Several metric sets of one program, one run and file each (`metrics_ComputeBasic.4711.csv`), read as one capture."""

from __future__ import annotations

from msgspec.structs import replace

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.ground.errors import BadCapture, TriageError


def files(folder: Source) -> list[Source]:
    """The sets in a folder, by name, as the printed command writes them."""
    return [f for f in folder.children("metrics_*.csv") if _holds_times(f)]


def _holds_times(file: Source) -> bool:
    try:
        return "[ns]" in file.head_text
    except TriageError:  # what cannot be read is no set, and no reason to refuse the folder
        return False


def join(folder: Source, tables: list[Table]) -> Table:
    """The first set with what the others add; its times count. BadCapture where the runs did not launch alike."""
    whole = tables[0]
    for more in tables[1:]:
        if list(more.names) != list(whole.names):
            raise BadCapture(
                f"{more.files[0].path}: launched other kernels than {whole.files[0].path}",
                "name one of the files alone; sets are joined only if all runs launch the same kernels",
            )
        whole.files += more.files
        at = len(whole.files) - len(more.files)
        for ours, theirs in ((whole.columns, more.columns), (whole.raw, more.raw)):
            for name, column in theirs.items():
                if name not in ours:
                    lines = more.lines if column.lines is None else column.lines
                    ours[name] = replace(column, file=column.file + at, lines=lines)
        whole.quality += more.quality
        whole.unmapped = [*whole.unmapped, *(u for u in more.unmapped if u not in whole.unmapped)]
    whole.files.insert(0, folder)  # what the user typed comes first
    for column in {id(c): c for c in (*whole.columns.values(), *whole.raw.values())}.values():
        column.file += 1
    whole.notes.append(f"{len(tables)} metric sets were read together; times are those of {tables[0].files[1].name}")
    return whole
