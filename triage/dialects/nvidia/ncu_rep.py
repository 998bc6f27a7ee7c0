"""Nsight Compute's report file itself, as the profiler writes it and people attach it."""

from __future__ import annotations

from functools import partial

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.nvidia import ncu_names
from triage.dialects.nvidia.report import container

NAME = "ncu-rep"
SIGN = b"NVR"
TELLS = {"work": "compute", "vendor": "nvidia", "api": "cuda"}
TITLE = "Nsight Compute report (.ncu-rep, .ncu-repz)"
CAPTURE = """\
`ncu --set full --import-source yes -o report ./your-app` writes `report.ncu-rep`; compile with `-lineinfo` (`nvcc`; \
Triton always does) and findings name the source lines.

Beside an Nsight Systems database of the same application, `triage diagnose trace.sqlite report.ncu-rep` takes times and \
launch counts from the trace and the counters from the report.

Everything that the raw page as CSV holds is in the report too, and more: the results of NVIDIA's own rules, and counters per \
instruction. A CSV is smaller, can be read in a spreadsheet, and shows to whom you send it what is in it: a report also \
holds the machine's name, paths, the compiled kernels and, with `--import-source`, their source."""

names = ncu_names.names
collect = partial(ncu_names.collect, output="-o report")


def recognise(source: Source) -> Match | None:
    """The bytes a report begins with, whatever it is called; `.ncu-repz` and `.gz` are unpacked before."""
    if not container.is_report(source.head):
        return None
    return Match(0.98, "begins as Nsight Compute's reports do")


def read(source: Source, options: Options) -> Table:
    """Every launch in file order; raises BadCapture for a damaged report, NotTriageable for one without launches."""
    from triage.dialects.nvidia.report import report_reader  # fifteen modules that no other export needs

    return report_reader.read(source, NAME)
