"""rocprofv3 `*_counter_collection.csv`: one row per dispatch and counter; one workload row per dispatch."""

from __future__ import annotations

from triage.capture.capture import Column, Table
from triage.capture.redundancy import Record, each
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.amd import agents, long, rocm, rocprof
from triage.dialects.amd.counters import counter_names, counter_passes
from triage.dialects.amd.rocprof import LAUNCH_NAMES
from triage.dialects.amd.rocprofv3 import kernel_trace, passes
from triage.dialects.tables import wide_table
from triage.ground.collect_command import Command

NAME = "rocprofv3-counters"
WHOLE = rocprof.WHOLE
SIGN = ("counter",)
FOLDERS = True
_SAME = """kernelname gridsize workgroupsize agentid queueid processid threadid kernelid ldsblocksize scratchsize vgprcount
accumvgprcount sgprcount starttimestamp endtimestamp"""
REDUNDANT = (Record((("dispatchid",), ("correlationid",)), each(_SAME)),)
TELLS = {"work": "compute", "vendor": "amd", "api": "hip"}
TITLE = "AMD rocprofv3 counter collection"
CAPTURE = """\
    rocprofv3 --pmc SQ_WAVES VALUBusy MemUnitBusy FETCH_SIZE WRITE_SIZE --kernel-trace -f csv -- ./app

writes `*_counter_collection.csv` (this table), `*_kernel_trace.csv` and `*_agent_info.csv`; keep them together. One run holds
as many counters as the hardware counts at once; for more, give several `pmc:` lines in an input file (`-i counters.txt`): the
program then runs once per line, into out/pmc_1, out/pmc_2 and so on. Give triage the folder, and the passes are joined.
`rocprofv3-avail list --pmc` lists the counters of the GPU.
"""
ENDING = "_counter_collection"
SIZES = ("cu_per_gpu", "num_xcd", "max_waves_per_cu", "max_sclk")  # what agent_info.csv states


def names() -> dict[str, list[str]]:
    """What rocprofv3 can export. Peaks of L2 and memory are not in its files."""
    return counter_names.exported(SIZES) | LAUNCH_NAMES


def recognise(source: Source) -> Match | None:
    """Kernel_Name, Counter_Name, Counter_Value and a dispatch."""
    if source.is_folder:
        return agents.folder(source, ENDING)
    line, headers = wide_table.header(source)
    if not line or not long.is_long(headers):
        return None
    return Match(0.85, f"one row per dispatch and counter (Counter_Name, Counter_Value) on line {line}")


def read(source: Source, options: Options) -> Table:
    """The dispatches; raises BadCapture for a header without rows."""
    table, export, first = passes.load(source, ENDING, NAME, options.decimal)
    if (
        "gpu.time" not in table.columns
        and (took := kernel_trace.durations(first, ENDING)) is not None
        and len(took) == len(table)
    ):
        text = "End_Timestamp - Start_Timestamp of the kernel trace"
        table.columns["gpu.time"] = Column(took, "", unit="ns", formula=text)
        table.notes.append("times come from the kernel trace of the same run")
    elif "gpu.time" not in table.columns:
        table.notes.append("no timestamps in this file (older rocprofv3): add --kernel-trace, or use a newer version")
    agents.add(table, export, first, ENDING)
    return agents.under(source, rocm.finish(table, export, options, names()))


def collect(metrics: list[str], arch: str = "") -> str:
    """The rocprofv3 command for the missing metrics, "" where the GPU has none. arch: gfx name, where the run's GPU is known."""
    wanted = [c for m in metrics for c in counter_names.counters(m, arch)]
    if metrics and not wanted and arch:
        return ""
    runs = counter_passes.split(wanted or counter_names.first(arch), arch)
    if len(runs) == 1:
        return Command(f"rocprofv3 --pmc {' '.join(runs[0])} --kernel-trace -f csv -- ./app", "rocprofv3")
    run = "rocprofv3 -i counters.txt --kernel-trace -f csv -d out -- ./app"
    return Command(f"{counter_passes.input_file(runs)}; {run}", "rocprofv3")
