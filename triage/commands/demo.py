"""`triage demo`: diagnose the bundled demo frame."""

from __future__ import annotations

import click

from triage.commands import _common, _types
from triage.commands._stdout import say
from triage.ground.errors import ReportError

FRAME = ("gpu-trace", "demo_frame")


@click.command()
@click.option("-o", "--output", type=_types.PathType(), metavar="PATH", help="Write to a file instead of stdout.")
@click.option("--open", "show", is_flag=True, help="Open the page in the browser.")
def command(output: str | None, show: bool) -> int:
    """Diagnose the bundled, synthetic demo frame: in the terminal, or with --open or -o as a page."""
    from triage.files import writing
    from triage.files.bundled import share
    from triage.findings import assembling
    from triage.products.settings import Settings
    from triage.rendering import formats

    capture = share("sample_captures").joinpath(*FRAME)
    settings = Settings()
    diagnosis = settings.diagnoser().diagnose([settings.read(str(capture))])
    target = output or (_page() if show else None)
    form = _common.implied(None, target) if output else "html" if show else "terminal"
    bundle = assembling.bundle(diagnosis, ways=formats.shows_ways(form))
    with writing.sink(target) as write:
        formats.render(bundle, form, write, **_common.window(target))
    if target:
        say(f"{target}")
    if show and target:
        import webbrowser
        from pathlib import Path

        if not webbrowser.open(Path(target).resolve().as_uri()):
            raise ReportError("no browser found", f"open {target}")
    elif not target:
        say(f"\nCapture: {capture}\nAs a page: triage demo --open")
    return 0


def _page() -> str:
    import tempfile
    from pathlib import Path

    return str(Path(tempfile.mkdtemp(prefix="triage-demo-")) / "demo.html")
