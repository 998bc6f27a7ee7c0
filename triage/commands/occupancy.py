"""`triage occupancy`: what limits a launch, what it wastes, and the smallest change that helps."""

from __future__ import annotations

import io
import json
import math
import shutil
import sys
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _completion, _types
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from rich.console import Console

    from triage.devices import Device
    from triage.occupancy import Model, Occupancy
    from triage.occupancy.clusters import Clusters
    from triage.occupancy.grid import Shape
    from triage.occupancy.report import Report


@click.command("occupancy")
@click.option(
    "--arch",
    type=_types.Text(_completion.architectures),
    metavar="NAME",
    help="Architecture: sm_86, 8.6, gfx906, GCN ...",
)
@click.option(
    "--device",
    type=_types.Text(_completion.devices),
    metavar="NAME",
    help='Product instead of --arch: "GeForce RTX 3080".',
)
@click.option("--threads", type=_types.Extent(), required=True, metavar="N|XxYxZ", help="Threads per block or group.")
@click.option("--regs", type=int, required=True, metavar="N", help="Registers (VGPR) per thread.")
@click.option(
    "--shared",
    type=_types.Memory(),
    default=0,
    metavar="BYTES",
    help="Shared memory (LDS) per group: 32768 or 32K.",
)
@click.option("--sgpr", type=int, metavar="N", help="AMD: scalar registers per wave, VCC and the like included.")
@click.option("--agpr", type=int, metavar="N", help="CDNA: accumulation registers per thread.")
@click.option("--wave", type=click.Choice(["32", "64"]), help="RDNA: lanes of a wave.")
@click.option("--mode", type=click.Choice(["cu", "wgp"]), help="RDNA: groups per CU or per WGP.")
@click.option("--barriers", type=int, metavar="N", help="NVIDIA 9.0+: block barriers.")
@click.option("--carveout", type=int, default=-1, metavar="PERCENT", help="NVIDIA 7.0+: preferred shared memory.")
@click.option("--optin/--no-optin", default=True, help="NVIDIA 7.0+: kernel may use more than 48 KiB (default).")
@click.option("--grid", type=_types.Extent(), metavar="N|XxYxZ", help="Groups launched: how they map onto the device.")
@click.option("--cluster", type=int, metavar="N", help="NVIDIA 9.0+: groups per cluster, and how many clusters fit.")
@click.option("--units", type=int, metavar="N", help="SMs (CUs) for --grid and --cluster where only --arch is given.")
@click.option("--latency", type=float, metavar="CYCLES", help="Warps needed to hide this latency.")
@click.option("--intensity", type=float, default=1.0, metavar="N", help="Instructions per one that waits (1).")
@click.option("--issue-rate", type=float, metavar="N", help="Warp instructions per cycle and SM.")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["terminal", "markdown", "json", "html"]),
    help="Report format; default terminal, or what -o ends in.",
)
@click.option("-o", "--output", type=_types.Place(), metavar="PATH", help="Write here, not to stdout.")
def command(
    arch: str | None, device: str | None, threads: Shape, regs: int, shared: int, sgpr: int | None,
    agpr: int | None, wave: str | None, mode: str | None, barriers: int | None, carveout: int,
    optin: bool, grid: Shape | None, cluster: int | None, units: int | None, latency: float | None, intensity: float,
    issue_rate: float | None, form: str | None, output: str | None,
) -> None:  # fmt: skip
    """Theoretical occupancy of a launch: limiters, waste, nearest steps.

    \b
    triage occupancy --arch sm_86 --threads 256 --regs 80
    triage occupancy --arch gfx906 --threads 1024 --regs 40 --shared 32K
    triage occupancy --device "GeForce RTX 3080" --threads 16x16 --regs 40 --grid 1000
    triage occupancy --device H100 --threads 384 --regs 168 --shared 200K --cluster 4
    """
    from triage.occupancy import launch_shape, occupancy
    from triage.occupancy.report import Report, latency_of

    form = _common.implied(form, output, ("terminal", "markdown", "json", "html"))
    found = _device(arch, device)
    size = math.prod(threads)
    now = occupancy(
        arch if arch and not device else found.arch,
        threads=size,
        registers=regs,
        shared=shared,
        sgprs=sgpr,
        wave=int(wave) if wave else None,
        mode=mode,
        agprs=agpr,
        barriers=barriers,
        optin=optin,
        carveout=carveout,
    )
    _check_range(now.model, size, regs, now.launch.shared, sgpr, barriers)
    shape = None
    if grid is not None:
        count = units if units is not None else found.sm_count
        if count is None:
            raise TriageError(f"--grid needs to know how many {now.unit}s there are", "give --device or --units")
        if mode == "wgp" and units is None:
            count //= 2  # a WGP is two CUs
        shape = launch_shape(threads, grid, count, now.groups, now.model.wave_size, now.unit)
    together = _clusters(now, found, cluster, units, grid) if cluster is not None else None
    hidden = latency_of(now, latency, intensity, issue_rate) if latency is not None else None
    write(_render(Report(now, found, shape, hidden, together), form, to_file=output is not None), output)


def _clusters(now: Occupancy, device: Device, size: int, units: int | None, grid: Shape | None) -> Clusters:
    """Clusters of this launch resident on the device; TriageError where the chip has none or its SMs are not known."""
    from triage.devices import cluster_layouts
    from triage.occupancy.clusters import resident

    layout = cluster_layouts().get(now.arch)
    if layout is None:
        known = ", ".join(cluster_layouts())
        raise TriageError(f"--cluster {size}: no layout of SMs is known of {now.arch}", f"known of {known}")
    sms = units if units is not None else device.sm_count
    if sms is None:
        raise TriageError("--cluster needs to know how many SMs there are", "give --device or --units")
    if 2 * sms <= layout.gpcs * layout.sms_per_gpc and units is None:
        raise TriageError(f"--cluster {size}: of chips smaller than {layout.chip} no layout of SMs is known")
    if grid is not None and math.prod(grid) % size:
        raise TriageError(f"--grid {math.prod(grid)}: a grid is a multiple of its cluster's {size} groups")
    return resident(layout, size, sms, now.groups, now.waves_per_group, now.model.slots)


def write(text: str, output: str | None) -> None:
    """The report to stdout or to a file; raises ReportError when it cannot be written."""
    from triage.files import writing

    with writing.sink(output) as put:
        put(text if text.endswith("\n") else text + "\n")


def console(page: io.StringIO, to_file: bool) -> Console:
    """A rich console that writes to memory: 80 columns, fewer on a narrow terminal, colour only for a terminal."""
    from rich.console import Console

    tty = not to_file and sys.stdout.isatty()
    wide = min(80, shutil.get_terminal_size((80, 24)).columns) if tty else 80
    return Console(file=page, width=wide, force_terminal=tty, no_color=not tty, highlight=False, emoji=False)


def text_of(page: io.StringIO) -> str:
    """What was written, without the blanks with which rich fills its lines."""
    return "\n".join(line.rstrip() for line in page.getvalue().rstrip().splitlines())


def _device(arch: str | None, name: str | None) -> Device:
    from triage.devices import require

    if arch is None and name is None:
        raise TriageError("which GPU?", "give --arch sm_86 or --device NAME; see: triage list devices")
    if name is None:
        return require(arch or "")
    device = require(name)
    if arch is not None and require(arch).arch != device.arch:
        raise TriageError(f"{device.name} is {device.arch}, not {arch}", "leave out --arch")
    return device


def _check_range(model: Model, threads: int, regs: int, shared: int, sgpr: int | None, barriers: int | None) -> None:
    """Numbers that no launch on this hardware can have are mistakes; TriageError says the range."""
    words, arch = model.words, model.limits.arch
    asked = [
        ("--threads", "threads", threads, f"threads per {words['group']}", 1),
        ("--regs", "registers", regs, f"{words['registers']} per thread", 0),
        ("--shared", "shared", shared, f"B of {words['shared']} per {words['group']}", 0),
    ]
    if model.nvidia and sgpr is not None:
        raise TriageError(f"--sgpr {sgpr}: {arch} is an NVIDIA architecture, without SGPR")
    if not model.nvidia and barriers is not None:
        raise TriageError(f"--barriers {barriers}: {arch} is an AMD architecture, which has no such limit")
    if sgpr is not None:
        asked.append(("--sgpr", "sgprs", sgpr, "SGPR per wave", 0))
    for option, resource, value, what, least in asked:
        most = model.cap(resource)
        if not least <= value <= most:
            raise TriageError(f"{option} {value}: {arch} has {least} to {most:,} {what}")


def _render(report: Report, form: str, to_file: bool) -> str:
    if form == "json":
        return json.dumps(report.to_dict(), indent=2)
    if form == "markdown":
        return _markdown(report)
    if form == "html":
        return _html(report)
    return _terminal(report, to_file)


def _terminal(report: Report, to_file: bool) -> str:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    page = io.StringIO()
    out = console(page, to_file)
    now, words = report.now, report.now.model.words

    def heading(text: str) -> None:
        out.print()
        out.print(Text(text, style="bold"))

    def lines(items: list[str]) -> None:
        for item in items:
            out.print(Padding(Text(item), (0, 0, 0, 2)))

    out.print(Text(report.title, style="bold"))
    out.print(Text(report.asked))
    out.print()
    out.print(Text(report.verdict, style="bold green" if now.groups else "bold red"))
    heading(f"Limiters: most {words['group']}s per {now.unit}")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, most, binds in report.limits:
        table.add_row("*" if binds else " ", name, Text(most, justify="right"), "binds" if binds else "")
    out.print(Padding(table, (0, 0, 0, 2)))
    heading("Wasted")
    lines(report.wasted)
    heading("Nearest steps")
    lines([f"{direction:5}{text}" for direction, text in report.steps] or ["none: nothing changes the answer"])
    heading(f"Neighbouring values ({words['group']}s, {words['wave']}s, occupancy)")
    for unit, levels in report.neighbours():
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for level, here in levels:
            figures = str(level.groups), str(level.waves), _percent(level.occupancy)
            mark, span = ">" if here else " ", Text(_range(level.low, level.high), justify="right")
            table.add_row(mark, span, unit, *(Text(figure, justify="right") for figure in figures))
        out.print(Padding(table, (0, 0, 1, 2)))
    if report.shape_lines:
        out.print(Text("Launch shape", style="bold"))
        lines([f"{name + ':':22}{text}" for name, text in report.shape_lines])
    if report.cluster_lines:
        heading("Clusters")
        lines([f"{name + ':':22}{text}" for name, text in report.cluster_lines])
    if report.latency:
        heading("Latency hiding")
        lines([f"{words['wave']}s: {report.latency.text}"])
    if now.notes:
        heading("Notes")
        lines([f"- {note}" for note in now.notes])
    return text_of(page)


def _markdown(report: Report) -> str:
    now, words = report.now, report.now.model.words
    out = [f"# Occupancy: {report.title}", "", report.asked + ".", "", f"**{report.verdict}**", ""]
    out += [f"| limiter | {words['group']}s | binds |", "| --- | ---: | --- |"]
    out += [f"| {name} | {most} | {'yes' if binds else ''} |" for name, most, binds in report.limits]
    out += ["", "## Wasted", "", *(f"- {line}" for line in report.wasted)]
    out += ["", "## Nearest steps", "", *(f"- {direction}: {text}" for direction, text in report.steps)]
    out += ["", "## Neighbouring values", ""]
    out += [f"| value | | {words['group']}s | {words['wave']}s | occupancy |"]
    out += ["| ---: | --- | ---: | ---: | ---: |"]
    for unit, levels in report.neighbours():
        for level, here in levels:
            mark = "**" if here else ""
            value = f"{mark}{_range(level.low, level.high)}{mark}"
            out.append(f"| {value} | {unit} | {level.groups} | {level.waves} | {_percent(level.occupancy)} |")
    if report.shape_lines:
        out += ["", "## Launch shape", "", *(f"- {name}: `{text}`" for name, text in report.shape_lines)]
    if report.cluster_lines:
        out += ["", "## Clusters", "", *(f"- {name}: `{text}`" for name, text in report.cluster_lines)]
    if report.latency:
        out += ["", "## Latency hiding", "", f"{words['wave']}s: `{report.latency.text}`"]
    if now.notes:
        out += ["", "## Notes", "", *(f"- {note}" for note in now.notes)]
    return "\n".join(out)


def _html(report: Report) -> str:
    from triage.occupancy.report import plots
    from triage.rendering import declared, templates
    from triage.rendering.html.page import STYLES, shell

    return templates.render(
        declared.templates("occupancy")["html"],
        page=shell((*STYLES, "compare.css.j2")),
        report=report,
        now=report.now,
        words=report.now.model.words,
        plots=plots(report, 320),
        percent=_percent,
        range_=_range,
    )


def _percent(share: float) -> str:
    from triage.occupancy.steps import percent

    return percent(share)


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
