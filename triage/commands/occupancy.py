"""`triage occupancy`: the limits of a launch, what it leaves unused, and the smallest change that helps."""

from __future__ import annotations

import io
import json
import math
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _completion, _tile, _types
from triage.commands._console import console, plain_table, text_of, write
from triage.commands._help import Command
from triage.ground.errors import TriageError
from triage.ground.phrasing import either

if TYPE_CHECKING:
    from triage.devices import Device
    from triage.occupancy import Model, Occupancy
    from triage.occupancy.clusters import Clusters
    from triage.occupancy.grid import Shape
    from triage.occupancy.occupancy_report import Report

FORMATS = ("terminal", "markdown", "json", "html")
WITH_TILE = {"tile", "border", "element", "arch", "form", "output"}  # parameters that --tile takes


class _TileOption(click.Option):
    section = "Tile options"


@click.command("occupancy", cls=Command)
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
@click.option("--threads", type=_types.Extent(), metavar="N|XxYxZ", help="Threads per block or group (required).")
@click.option("--regs", type=_types.Whole(), help="Registers (VGPRs) per thread (required).")
@click.option(
    "--shared", type=_types.Size(), default=0, metavar="BYTES", help="Shared memory (LDS) per group: 32768 or 32K."
)
@click.option("--sgpr", type=_types.Whole(), help="AMD: scalar registers per wave, VCC included.")
@click.option("--agpr", type=_types.Whole(), help="CDNA: accumulation registers per thread.")
@click.option("--wave", type=_types.Choice(["32", "64"]), help="RDNA: lanes per wave.")
@click.option("--mode", type=_types.Choice(["cu", "wgp"]), help="RDNA: groups per CU or per WGP.")
@click.option("--barriers", type=_types.Whole(), help="NVIDIA 9.0+: block barriers.")
@click.option(
    "--carveout", type=_types.Whole(), default=-1, metavar="PERCENT", help="NVIDIA 7.0+: preferred shared memory."
)
@click.option("--optin/--no-optin", default=True, help="NVIDIA 7.0+: allow more than 48 KiB per block (default).")
@click.option("--grid", type=_types.Extent(), metavar="N|XxYxZ", help="Groups in the launch: waves and tail effect.")
@click.option("--cluster", type=_types.Whole(), help="NVIDIA 9.0+: groups per cluster; prints how many clusters fit.")
@click.option("--units", type=_types.Whole(), help="SMs (CUs) for --grid and --cluster with --arch.")
@click.option("--latency", type=_types.Real(), metavar="CYCLES", help="Latency to hide: prints the warps needed.")
@click.option(
    "--intensity",
    type=_types.Real(),
    default=1.0,
    show_default=True,
    metavar="N",
    help="Instructions per waiting instruction.",
)
@click.option("--issue-rate", type=_types.Real(), metavar="N", help="Warp instructions per cycle and SM.")
@_common.report_format(FORMATS)
@_common.output
@click.option("--tile", cls=_TileOption, metavar="WxH[xD]", help="Halo overhead of a tile, instead of a launch.")
@click.option(
    "--border",
    cls=_TileOption,
    type=_types.Whole(),
    default=1,
    show_default=True,
    help="Elements needed on every side.",
)
@click.option(
    "--bytes", "element", cls=_TileOption, type=_types.Whole(), default=4, show_default=True, help="Bytes per element."
)
@click.pass_context
def command(
    ctx: click.Context, arch: str | None, device: str | None, threads: Shape | None, regs: int | None, shared: int,
    sgpr: int | None, agpr: int | None, wave: str | None, mode: str | None, barriers: int | None, carveout: int,
    optin: bool, grid: Shape | None, cluster: int | None, units: int | None, latency: float | None, intensity: float,
    issue_rate: float | None, form: str | None, output: str | None, tile: str | None, border: int, element: int,
) -> None:  # fmt: skip
    """Calculate the theoretical occupancy of a launch: limits, unused resources, nearest steps.

    With --tile: loads, shared memory and thread groups of a tile with a border.

    \b
    triage occupancy --arch sm_86 --threads 256 --regs 80
    triage occupancy --arch gfx906 --threads 1024 --regs 40 --shared 32K
    triage occupancy --device "GeForce RTX 3080" --threads 16x16 --regs 40 --grid 1000
    triage occupancy --device H100 --threads 384 --regs 168 --shared 200K --cluster 4
    triage occupancy --tile 16x16 --border 1
    triage occupancy --tile 8x8x8 --border 1 --bytes 8 --arch gfx906
    """
    from triage.occupancy import launch_shape, occupancy
    from triage.occupancy import occupancy_report as sheet

    form = _common.implied(form, output, FORMATS if tile is None else _tile.FORMATS)
    _check_options(ctx, tile, form)
    if tile is not None:
        write(_tile.report(tile, border, element, arch, form, output is not None), output)
        return
    if threads is None or regs is None:
        raise TriageError(
            f"missing option {'--threads' if threads is None else '--regs'}", "see: triage occupancy --help"
        )
    gpu = _device(arch, device)
    size = math.prod(threads)
    now = occupancy(
        arch if arch and not device else gpu.arch,
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
        count = units if units is not None else gpu.sm_count
        if count is None:
            raise TriageError(f"--grid: number of {now.unit}s unknown", "add --device or --units")
        if mode == "wgp" and units is None:
            count //= 2  # a WGP is two CUs
        shape = launch_shape(threads, grid, count, now.groups, now.model.wave_size, now.unit)
    together = _clusters(now, gpu, cluster, units, grid) if cluster is not None else None
    hidden = sheet.latency_of(now, latency, intensity, issue_rate) if latency is not None else None
    write(_render(sheet.Report(now, gpu, shape, hidden, together), form, to_file=output is not None), output)


def _check_options(ctx: click.Context, tile: str | None, form: str) -> None:
    """Raise TriageError for options of a launch beside --tile, and for options of a tile without it."""
    options = {p.name: max(p.opts, key=len) for p in ctx.command.params if p.name}
    command_line = click.core.ParameterSource.COMMANDLINE
    typed = {name: option for name, option in options.items() if ctx.get_parameter_source(name) is command_line}
    if tile is None:
        if wrong := [option for name, option in typed.items() if name in ("border", "element")]:
            raise TriageError(f"{wrong[0]}: option of --tile", "add --tile WxH")
    elif wrong := [option for name, option in typed.items() if name not in WITH_TILE]:
        raise TriageError(f"{wrong[0]}: not an option of --tile", "remove it, or --tile")
    elif form not in _tile.FORMATS:
        raise TriageError(f"--format {form!r}: choose {either(_tile.FORMATS)} with --tile")


def _clusters(now: Occupancy, device: Device, size: int, units: int | None, grid: Shape | None) -> Clusters:
    """Clusters of this launch resident on the device; raises TriageError where the layout of SMs is unknown."""
    from triage.devices import cluster_layouts
    from triage.occupancy.clusters import resident

    layout = cluster_layouts().get(now.arch)
    if layout is None:
        raise TriageError(
            f"--cluster {size}: SM layout of {now.arch} unknown", f"known: {', '.join(cluster_layouts())}"
        )
    sms = units if units is not None else device.sm_count
    if sms is None:
        raise TriageError("--cluster: number of SMs unknown", "add --device or --units")
    if 2 * sms <= layout.gpcs * layout.sms_per_gpc and units is None:
        raise TriageError(f"--cluster {size}: SM layout of chips smaller than {layout.chip} unknown", "add --units")
    if grid is not None and math.prod(grid) % size:
        raise TriageError(f"--grid {math.prod(grid)}: expected a multiple of --cluster {size}")
    return resident(layout, size, sms, now.groups, now.waves_per_group, now.model.slots)


def _device(arch: str | None, name: str | None) -> Device:
    from triage.devices import require

    if arch is None and name is None:
        raise TriageError("missing --arch or --device (such as --arch sm_86)", "see: triage list devices")
    if name is None:
        return require(arch or "")
    device = require(name)
    if arch is not None and require(arch).arch != device.arch:
        raise TriageError(f"--arch {arch!r}: {device.name} is {device.arch}", "remove --arch")
    return device


def _check_range(model: Model, threads: int, regs: int, shared: int, sgpr: int | None, barriers: int | None) -> None:
    """Raise TriageError, with the range, for numbers that no launch on this hardware can have."""
    words, arch = model.words, model.limits.arch
    asked = [
        ("--threads", "threads", threads, f"threads per {words['group']}", 1),
        ("--regs", "registers", regs, f"{words['registers']} per thread", 0),
        ("--shared", "shared", shared, f"B of {words['shared']} per {words['group']}", 0),
    ]
    if model.nvidia and sgpr is not None:
        raise TriageError(f"--sgpr {sgpr}: {arch} is an NVIDIA architecture without SGPRs", "remove --sgpr")
    if not model.nvidia and barriers is not None:
        raise TriageError(
            f"--barriers {barriers}: {arch} is an AMD architecture without this limit", "remove --barriers"
        )
    if sgpr is not None:
        asked.append(("--sgpr", "sgprs", sgpr, "SGPRs per wave", 0))
    for option, resource, value, what, least in asked:
        most = model.cap(resource)
        if not least <= value <= most:
            raise TriageError(f"{option} {value}: {arch} allows {least} to {most:,} {what}")


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
    heading(f"Limits ({words['group']}s per {now.unit})")
    table = plain_table()
    for name, most, binds in report.limits:
        table.add_row("*" if binds else " ", name, Text(most, justify="right"), "limiting" if binds else "")
    out.print(Padding(table, (0, 0, 0, 2)))
    heading("Unused")
    lines(report.wasted)
    heading("Nearest steps")
    lines([f"{direction:5}{text}" for direction, text in report.steps] or ["none: nothing changes the answer"])
    heading(f"Sensitivity ({words['group']}s, {words['wave']}s, occupancy)")
    for unit, levels in report.neighbours():
        table = plain_table()
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
    out += [f"| limit | {words['group']}s | limiting |", "| --- | ---: | --- |"]
    out += [f"| {name} | {most} | {'yes' if binds else ''} |" for name, most, binds in report.limits]
    out += ["", "## Unused", "", *(f"- {line}" for line in report.wasted)]
    out += ["", "## Nearest steps", "", *(f"- {direction}: {text}" for direction, text in report.steps)]
    out += ["", "## Sensitivity", ""]
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
    from triage.occupancy.occupancy_report import plots
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
