"""Bundle -> text, in the format asked for.

A format is a template `reports/<format>.<ext>.j2`, whatever its name; the template itself says how it escapes. JSON,
CSV, JUnit and the terminal report are built by code, because templates cannot guarantee well-formed output.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from triage.ground.errors import ReportError
from triage.rendering import declared
from triage.rendering.findings_csv import Write, findings

if TYPE_CHECKING:
    from triage.document.bundle import Bundle  # imports NumPy, which --help does not need

BUILT_IN = {
    "terminal": ".txt",
    "brief": ".brief.txt",
    "json": ".json",
    "csv": ".csv",
    "junit": ".xml",
    "sarif": ".sarif",
    "github": ".github.txt",
}  # format -> suffix of its files
# formats without options: the module and the function that write them, loaded when asked for
WRITERS = {
    "json": ("result_json", "write_json"),
    "brief": ("brief", "brief"),
    "sarif": ("sarif", "sarif"),
    "github": ("github_annotations", "github"),
}


ENDINGS = {".html": "html", ".htm": "html", ".json": "json", ".md": "markdown", ".markdown": "markdown", ".csv": "csv",
           ".xml": "junit", ".sarif": "sarif", ".jira": "jira", ".txt": "terminal"}  # fmt: skip
LONGER_ENDINGS = {".jira.txt": "jira", ".brief.txt": "brief", ".github.txt": "github"}


def by_ending(path: str, known: Iterable[str] = ()) -> str:
    """The format that a file's name ends in, else terminal. known: formats to choose from, if not all."""
    name = PurePath(path).name.lower()
    long = next((form for ending, form in LONGER_ENDINGS.items() if name.endswith(ending)), "")
    form = long or ENDINGS.get(PurePath(name).suffix, "terminal")
    return form if not known or form in known else "terminal"


def formats() -> list[str]:
    """Every format of a diagnosis, in alphabetical order."""
    return sorted({*declared.templates(), *BUILT_IN})


def template(form: str) -> Path | None:
    """The template behind a format name or a path ending in .j2, None for one built by code.

    Raises ReportError for a format or file that is not there.
    """
    # by its ending, not by a look at the disk: a file that happens to be called `csv` changes no format
    if form.endswith(".j2"):
        path = Path(form)
        if not path.is_file():
            raise ReportError(f"{form}: no such template", "check the path")
        return path
    if form in BUILT_IN:
        return None
    if form not in declared.templates():
        known = f"choose {', '.join(formats())} or a .j2 template"
        raise ReportError(f"unknown format {form!r}", known)
    return declared.templates()[form]


def suffix(form: str) -> str:
    """Ending of a report's file name; a template given by path keeps its own name, so that two never share a file."""
    path = template(form)
    if path is None:
        return BUILT_IN[form]
    return f".{path.name.removesuffix('.j2')}" if form.endswith(".j2") else declared.read(path).suffix


def shows_ways(form: str) -> bool:
    """May a report of this format show the way of each workload through the method's tree?"""
    return template(form) is not None


def render(
    b: Bundle, form: str, write: Write, *, full: bool = False, fail_on: str = "", width: int = 80, color: bool = False
) -> None:
    """Write a report piece by piece. format: a name of `formats()` or a path ending in .j2.

    Raises ReportError for an unknown format, and for an error in a user's template.
    """
    # imported here and below: the command line starts, and JSON and CSV are written, without what they do not need
    from triage.ground.terminology import speaking

    with speaking(b.item, b.whose, bool(b.head["frame"]["timeline"])):
        _write(b, form, write, full, fail_on, width, color)


def _write(b: Bundle, form: str, write: Write, full: bool, fail_on: str, width: int, color: bool) -> None:
    path = template(form)
    if path is not None:
        from triage.rendering.templates import report

        report(b, path, write, full=full, trusted=not form.endswith(".j2"))
    elif form in WRITERS:
        module, function = WRITERS[form]
        getattr(importlib.import_module(f"triage.rendering.{module}"), function)(b, write)
    elif form == "csv":
        findings(b, write)
    elif form == "junit":
        from triage.rendering.junit import junit

        junit(b, write, fail_on)
    else:
        from triage.rendering.terminal import terminal

        terminal(b, write, full=full, width=width, color=color)
