"""`triage demo`: diagnose a bundled capture: a frame, a kernel or a trace."""

from __future__ import annotations

from pathlib import Path

import click

from triage.commands import _common, _types
from triage.commands._lines import say
from triage.ground.errors import ReportError

CAPTURES = {
    "frame": ("gpu-trace", "demo_frame"),
    "kernel": ("ncu-rep", "transpose.ncu-rep"),
    "trace": ("pytorch-trace", "training.pt.trace.json"),
}


@click.command()
@click.argument("what", type=_types.Choice(CAPTURES, noun="demo"), default="frame", metavar="[frame|kernel|trace]")
@_common.output
@click.option("--open", "show", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--copy", type=_types.PathType(), metavar="DIR", help="Copy the capture into a folder, to try commands on."
)
def command(what: str, output: str | None, show: bool, copy: str | None) -> int:
    """Diagnose a bundled, synthetic capture: in the terminal, or with --open or -o as a page.

    frame: a 4K frame of GPU Trace (default). kernel: an Nsight Compute report. trace: three training steps of PyTorch.
    """
    from triage.files import writing
    from triage.files.bundled import share
    from triage.findings import assembling
    from triage.products.settings import Settings
    from triage.rendering import formats

    capture = share("sample_captures").joinpath(*CAPTURES[what])
    if copy:
        say(_copied(capture, copy))
        return 0
    settings = Settings()
    diagnosis = settings.diagnoser().diagnose([settings.read(str(capture))])
    target = output or (_page() if show else None)
    form = _common.implied(None, target) if output else "html" if show else "terminal"
    bundle = assembling.bundle(diagnosis, ways=formats.shows_ways(form))
    bundle.frame["notes"].insert(0, "a synthetic capture: nothing in it was measured")
    with writing.sink(target) as write:
        formats.render(bundle, form, write, **_common.window(target))
    if target:
        say(f"{target}")
    if show and target:
        import webbrowser

        if not webbrowser.open(Path(target).resolve().as_uri()):
            raise ReportError("no browser found", f"open {target}")
    elif not target:
        more = "" if what == "frame" else f"{what} "
        say(f"\nCapture: {capture}\nAs a page: triage demo {more}--open")
    return 0


def _copied(capture: Path, folder: str) -> str:
    """Path of the copy of a capture; raises ReportError where one is already there."""
    import shutil

    target = Path(folder) / capture.name
    if target.exists():
        raise ReportError(f"{target}: exists already", "name another folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(capture, target) if capture.is_dir() else shutil.copyfile(capture, target)
    return str(target)


def _page() -> str:
    import tempfile

    return str(Path(tempfile.mkdtemp(prefix="triage-demo-")) / "demo.html")
