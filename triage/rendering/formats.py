"""Bundle -> text, in the format asked for.

A format is a template `reports/<format>.<ext>.j2`, whatever its name; the template itself says how it escapes. JSON,
CSV, JUnit and the terminal report are built by code, because templates cannot guarantee well-formed output.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from triage.ground.errors import ReportError
from triage.rendering import declared
from triage.rendering.findings_csv import Write, findings

if TYPE_CHECKING:
    from triage.document.bundle import Bundle  # imports NumPy, which --help does not need

BUILT_IN = {"terminal": ".txt", "json": ".json", "csv": ".csv", "junit": ".xml"}  # format -> suffix of its files


def formats() -> list[str]:
    """Every format of a diagnosis, in alphabetical order."""
    return sorted({*declared.templates(), *BUILT_IN})


def template(format: str) -> Path | None:
    """The template behind a format name or a path ending in .j2, None for one built by code.

    Raises ReportError for a format or file that is not there.
    """
    # by its ending, not by a look at the disk: a file that happens to be called `csv` changes no format
    if format.endswith(".j2"):
        path = Path(format)
        if not path.is_file():
            raise ReportError(f"{format}: no such template", "check the path")
        return path
    if format in BUILT_IN:
        return None
    if format not in declared.templates():
        known = f"choose {', '.join(formats())} or a .j2 template"
        raise ReportError(f"unknown format {format!r}", known)
    return declared.templates()[format]


def suffix(format: str) -> str:
    """Ending of a report's file name; a template given by path keeps its own name, so that two never share a file."""
    path = template(format)
    if path is None:
        return BUILT_IN[format]
    return f".{path.name.removesuffix('.j2')}" if format.endswith(".j2") else declared.read(path).suffix


def shows_ways(format: str) -> bool:
    """May a report of this format show the way of each workload through the method's tree?"""
    return template(format) is not None


def render(
    b: Bundle,
    format: str,
    write: Write,
    *,
    full: bool = False,
    fail_on: str = "",
    width: int = 80,
    color: bool = False,
) -> None:
    """Write a report piece by piece. format: a name of `formats()` or a path ending in .j2.

    Raises ReportError for an unknown format, and for an error in a user's template.
    """
    # imported here and below: the command line starts, and JSON and CSV are written, without what they do not need
    from triage.ground.terminology import speaking

    with speaking(b.item, b.whose):
        _write(b, format, write, full, fail_on, width, color)


def _write(b: Bundle, format: str, write: Write, full: bool, fail_on: str, width: int, color: bool) -> None:
    path = template(format)
    if path is not None:
        from triage.rendering.templates import report

        report(b, path, write, full=full, trusted=not format.endswith(".j2"))
    elif format == "json":
        from triage.rendering.result_json import write_json

        write_json(b, write)
    elif format == "csv":
        findings(b, write)
    elif format == "junit":
        from triage.rendering.junit import junit

        junit(b, write, fail_on)
    else:
        from triage.rendering.terminal import terminal

        terminal(b, write, full=full, width=width, color=color)
