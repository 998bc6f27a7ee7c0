"""Diagnosis -> text. The only module that imports jinja2.

A format is a template `reports/<format>.<ext>.j2`; the extension decides the escaping. JSON, CSV and JUnit are built
by code, because templates cannot guarantee well-formed output. User templates run in Jinja's sandbox.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triage.document import document
from triage.files.bundled import share
from triage.ground.errors import ReportError
from triage.rendering.escape import clean

if TYPE_CHECKING:
    from triage.diagnosis.diagnose import Diagnosis

BUILT_IN = ("terminal", "json", "csv", "junit")
Write = Callable[[str], Any]


@cache
def templates() -> dict[str, Path]:
    """format -> template file; files beginning with _ are shared parts."""
    found = sorted(
        p
        for p in share("reports").glob("*.j2")
        if not p.name.startswith(("_", "occupancy", "index", "ticket", "compare"))
    )
    return {p.name.split(".")[0]: p for p in found}


def formats() -> list[str]:
    """Every format name."""
    return sorted({*templates(), *BUILT_IN})


def render(
    d: Diagnosis,
    format: str,
    write: Write,
    *,
    full: bool = False,
    fail_on: str = "",
    width: int = 80,
    color: bool = False,
) -> None:
    """Write a report. format: a name of `formats()` or a path ending in .j2. Raises ReportError for unknown formats."""
    if format == "json":
        document.write_json(d, write)
    elif format == "csv":
        _csv(d, write)
    elif format == "junit":
        from triage.rendering.junit import junit

        junit(d, write, fail_on)
    elif format == "terminal":
        from triage.rendering.terminal import terminal

        terminal(d, write, full=full, width=width, color=color)
    else:
        from triage.rendering.templates import render_template

        render_template(d, _template(format), write, full=full, trusted=not format.endswith(".j2"))


def _template(format: str) -> Path:
    if format.endswith(".j2"):
        path = Path(format)
        if not path.is_file():
            raise ReportError(f"{format}: no such template", "give a path to a .j2 file")
        return path
    if format not in templates():
        raise ReportError(
            f"no format is called {format!r}", f"formats: {', '.join(formats())}, or a path to a .j2 template"
        )
    return templates()[format]


def _csv(d: Diagnosis, write: Write) -> None:
    header, rows = document.finding_rows(d)
    buffer = io.StringIO()
    out = csv.writer(buffer, lineterminator="\r\n")
    out.writerow(header)
    for row in rows:
        out.writerow([inert(v) for v in row])
        if buffer.tell() > 1 << 16:
            write(buffer.getvalue())
            buffer.seek(0)
            buffer.truncate()
    write(buffer.getvalue())


def inert(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t") else text


def notebook(d: Diagnosis) -> str:
    """HTML for a notebook cell: the same report in a frame of its own."""
    import html

    parts: list[str] = []
    render(d, "html", parts.append)
    return f'<iframe style="width:100%;height:640px;border:1px solid #8884" sandbox="allow-scripts" srcdoc="{html.escape("".join(parts))}"></iframe>'
