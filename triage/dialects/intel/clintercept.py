"""Intercept Layer for OpenCL Applications (CLIntercept): device times per kernel, as its report prints them."""

from __future__ import annotations

import re

from msgspec import Struct, field

from triage.capture.capture import Table
from triage.capture.redundancy import summary
from triage.capture.source import Source
from triage.dialects import Match, Options, always
from triage.dialects.tables import kernel_sums
from triage.dialects.tables.kernel_sums import Kernel
from triage.ground import units
from triage.ground.errors import NotTriageable
from triage.ground.phrasing import plural

NAME = "clintercept"
SIGN = ("performance timing results", "clintercept")
REDUNDANT = summary("time", "calls", "average", "time%")
TELLS = {"work": "compute", "api": "opencl"}
TITLE = "OpenCL Intercept Layer, device times per kernel (text)"
CAPTURE = "`cliloader -d ./app` (DevicePerformanceTiming=1) prints time and calls per kernel; with `-dv` names carry the launch's sizes."
_DEVICE_RE = re.compile(r"^\s*Device Performance Timing Results for (.{1,200}?)(?: \(\d+CUs.*\))?:\s*$")
_HEADER_RE = re.compile(r"^\s*Function Name,\s*Calls,\s*Time \(ns\)")
_ROW_RE = re.compile(r"^\s*(?P<name>\S.*?),\s*(?P<calls>\d+),\s*(?P<time>\d+),\s*[\d.]+%(?:,\s*\d+){3}\s*$")
_TOTAL_RE = re.compile(r"^\s*Total Time \(ns\):\s*(\d{1,18})\s*$")
CELLS = 3  # commas of a line that is a row, if a broken one


class _Device(Struct):
    """A device and its rows; total of their times in ns, and the one that the report states. odd: lines of broken rows."""

    name: str
    kernels: list[Kernel] = field(default_factory=list)
    total: int = 0
    stated: int = 0
    odd: list[int] = field(default_factory=list)


def recognise(source: Source) -> Match | None:
    """The heading of device or host times, or the tool's own greeting."""
    head = source.head_text
    if re.search(r"^\s*(?:Device|Host) Performance Timing Results", head, re.MULTILINE):
        return Match(0.93, "CLIntercept report: Performance Timing Results")
    return Match(0.85, "log of CLIntercept") if re.search(r"^CLIntercept .*is loading", head, re.MULTILINE) else None


def read(source: Source, options: Options) -> Table:
    """One row per kernel or copy of the device that worked most; raises NotTriageable without device times."""
    devices = _parse(source)
    if not devices:
        hint = "run: cliloader -d ./app (DevicePerformanceTiming=1)"
        raise NotTriageable(f"{source.path}: CLIntercept report without device times", hint)
    best = max(devices, key=lambda d: d.total)
    table = kernel_sums.table(NAME, source, best.kernels, "Time (ns)", "Calls")
    table.device = best.name
    if others := [d.name for d in devices if d is not best]:
        table.remark("other-devices", f"read is {best.name}; other devices in the report: {', '.join(others)}")
    if best.odd:
        text = f"{plural(len(best.odd), 'row')} excluded, not matching the header: line {best.odd[0]}"
        table.remark("rows-set-aside", text, doubt=True)
    elif best.stated and best.stated != best.total:
        text = f"the rows hold {units.show(best.total, 'ns')}, the report states {units.show(best.stated, 'ns')}"
        table.remark("contradiction", text, doubt=True)
    table.unmapped = ["Time (%)", "Average (ns)", "Min (ns)", "Max (ns)"]
    table.collectable = frozenset()
    table.collect = always(
        "CLIntercept has no counters of GPU units: on Intel run vtune -collect gpu-hotspots, else the vendor's profiler"
    )
    return table


def _parse(source: Source) -> list[_Device]:
    devices: list[_Device] = []
    reading = False
    for number, line in enumerate(source.lines(), 1):
        if m := _DEVICE_RE.match(line):
            devices.append(_Device(m[1]))
            reading = True
        elif "Performance Timing Results" in line:  # of the host
            reading = False
        elif reading and (m := _TOTAL_RE.match(line)):
            devices[-1].stated = int(m[1])
        elif reading and (m := _ROW_RE.match(line)) and ("," not in m["name"] or re.search(r"[<(\[]", m["name"])):
            devices[-1].kernels.append(Kernel(number, m["name"], m["time"], m["calls"]))
            devices[-1].total += int(m["time"])
        elif reading and line.count(",") >= CELLS and not _HEADER_RE.match(line):
            devices[-1].odd.append(number)
    return [d for d in devices if d.kernels]


def names() -> dict[str, list[str]]:
    """Columns that are used."""
    return {"gpu.time": ["Time (ns)"], "frame.calls": ["Calls"]}
