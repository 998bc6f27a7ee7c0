"""Reports of the calculators: a rich console that writes to memory, and the way to stdout or a file."""

from __future__ import annotations

import io
import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def console(page: io.StringIO, to_file: bool) -> Console:
    """A rich console that writes to memory: at most 80 columns; colours for a terminal alone."""
    from rich.console import Console

    tty = not to_file and sys.stdout.isatty()
    wide = min(80, shutil.get_terminal_size((80, 24)).columns) if tty else 80
    return Console(file=page, width=wide, force_terminal=tty, no_color=not tty, highlight=False, emoji=False)


def plain_table(head: bool = False) -> Table:
    """A table without lines, two blanks between its columns."""
    from rich.table import Table

    return Table(box=None, show_header=head, pad_edge=False, padding=(0, 2, 0, 0))


def text_of(page: io.StringIO) -> str:
    """The text written, without the blanks with which rich fills its lines."""
    return "\n".join(line.rstrip() for line in page.getvalue().rstrip().splitlines())


def write(text: str, output: str | None) -> None:
    """Write a report to stdout or to a file; raises ReportError."""
    from triage.files import writing

    with writing.sink(output) as put:
        put(text if text.endswith("\n") else text + "\n")
