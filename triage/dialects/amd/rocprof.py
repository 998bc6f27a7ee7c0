"""rocprof v1 and v2 results: one dispatch per row, counters as columns, times in ns where they were traced."""

from __future__ import annotations

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.amd import rocm, wide
from triage.dialects.amd.counters import counter_names, counter_passes
from triage.dialects.tables import wide_table
from triage.ground.collect_command import Command
from triage.ground.errors import BadCapture

NAME = "rocprof"
SIGN = ("kernel",)
TELLS = {"work": "compute", "vendor": "amd", "api": "hip"}
TITLE = "AMD rocprof v1/v2 results (one dispatch per row)"
CAPTURE = """\
Write the counters into a file, one `pmc:` line per pass, and profile with timestamps (without `--timestamp on` a counter
run carries no time, and nothing can be ranked):

    echo 'pmc: VALUBusy VALUUtilization MemUnitBusy MemUnitStalled L2CacheHit FetchSize WriteSize' > counters.txt
    rocprof -i counters.txt --timestamp on -o results.csv ./app

`rocprofv2 -i counters.txt -d out ./app` writes the newer spelling of the same table. Newer ROCm: use `rocprofv3`.
"""


def names() -> dict[str, list[str]]:
    """What rocprof can export, under its own names."""
    # most shares of time and all shares of peak need the GPU's sizes, which a results file does not carry
    own = {m: [n for n in have if n not in counter_names.SDK_ONLY] for m, have in counter_names.exported(()).items()}
    return {m: have for m, have in own.items() if have} | LAUNCH_NAMES


# the launch columns of every AMD table with one dispatch per row; grid sizes count work-items
LAUNCH_NAMES = {
    "gpu.time": ["DurationNs", "EndNs - BeginNs", "End_Timestamp - Start_Timestamp"],
    "launch.registers": ["arch_vgpr", "Arch_VGPR", "VGPR_Count"],
    "launch.accum_registers": ["accum_vgpr", "Accum_VGPR", "Accum_VGPR_Count"],
    "launch.scalar_registers": ["sgpr", "SGPR", "SGPR_Count"],
    "launch.shared": ["lds", "LDS_Per_Workgroup", "LDS_Block_Size"],
    "launch.scratch": ["scr", "Scratch_Per_Workitem", "Scratch_Size"],
    "launch.block_size": ["wgr", "Workgroup_Size"],
    "launch.grid_size": ["grd / wgr", "Grid_Size / Workgroup_Size"],
    "launch.threads": ["grd", "Grid_Size"],
    "launch.wave_size": ["wave_size", "Wave_Size"],
}
WHOLE = {h.lower() for names in LAUNCH_NAMES.values() for h in names} | {
    "beginns",
    "endns",
    "start_timestamp",
    "end_timestamp",
}


def recognise(source: Source) -> Match | None:
    """The launch columns of rocprof, in either spelling; a name and a size of the grid alone are anybody's."""
    line, headers = wide_table.header(source)
    if not line or not wide.is_wide(headers) or not wide.is_amd(headers):
        return None
    # v2 spells its columns as rocprof-compute does, which then recognises joined passes with a higher score
    v1 = wide_table.find(headers, "KernelName") >= 0 and wide_table.find(headers, "grd") >= 0
    what = "rocprof v1" if v1 else "rocprof v2"
    return Match(0.85 if v1 else 0.80, f"{what} launch columns ({headers[0]}, {headers[1]}, ...) on line {line}")


def read(source: Source, options: Options) -> Table:
    """The dispatches; raises BadCapture for a header without rows."""
    line, headers = wide_table.header(source)
    if wide_table.find(headers, *rocm.ROLES["name"]) < 0:
        raise BadCapture(f"{source.path}: column of kernel names missing", "name a rocprof results file")
    table, export, start, end = wide.load(source, NAME, line, headers, options.decimal)
    rocm.add_time(table, export, start, end)
    if "gpu.time" not in table.columns and start is None:
        table.notes.append("no times in this file: workloads cannot be ranked; profile with: rocprof --timestamp on")
    return rocm.finish(table, export, options, names())


def collect(metrics: list[str], arch: str = "") -> str:
    """The counter file and command for the missing metrics, "" where the GPU has none. arch: gfx name, where it is known."""
    wanted = [c for m in metrics for c in counter_names.counters(m, arch, counter_names.SDK_ONLY)]
    if metrics and not wanted and arch:
        return ""
    runs = counter_passes.split(wanted or counter_names.first(arch), arch)
    run = "rocprof -i counters.txt --timestamp on -o results.csv ./app"
    return Command(f"{counter_passes.input_file(runs)}; {run}", "rocprof")
