"""Types of options: text is parsed where it arrives, and a shell that asks gets the values there are.

A value that cannot be parsed raises TriageError, like everything else a user can mend; what could be completed is
imported only when a shell asks, since every verb imports this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from triage.commands import _completion, _inputs
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from triage.occupancy.grid import Shape as Numbers

    _Type = click.ParamType[object]
else:
    _Type = click.ParamType  # takes no type arguments before click 8.4

T = TypeVar("T")
Known = Callable[[click.Context], Iterable[tuple[str, str]]]  # (value, what it is) of what a shell may offer


def flat(_: click.Context, __: click.Parameter, values: Sequence[Sequence[T]]) -> tuple[T, ...]:
    """Callback of a repeatable option of lists: `--select A,B --select C` -> (A, B, C)."""
    return tuple(dict.fromkeys(v for group in values for v in group))


class Text(_Type):
    """Any text; completed from what is known."""

    name = "text"

    def __init__(self, known: Known | None = None) -> None:
        self.known = known

    def parse(self, text: str, option: str) -> object:
        """The value of a text; raises TriageError. option: as it stands on the command line."""
        return text

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """See click.ParamType; a default that is no text is a value already."""
        return self.parse(value, param.opts[0] if param else "") if isinstance(value, str) else value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """See click.ParamType."""
        return self.offer(ctx, incomplete)

    def offer(self, ctx: click.Context, begun: str, before: str = "") -> list[CompletionItem]:
        """What is known and begins so, in any case. before: text that stays in front."""
        from click.shell_completion import CompletionItem

        try:
            found = list(self.known(ctx)) if self.known else []
        except TriageError:  # such as a wrong --rules: the command itself will say so
            return []
        return [
            CompletionItem(before + v, help=" ".join(what.split()))  # a shell reads lines
            for v, what in found
            if v.lower().startswith(begun.lower())
        ]


class Place(Text):
    """A path as people write it, completed by the shell itself: quotes, `~` and file:// are understood, patterns stay."""

    name = "path"

    def __init__(self, kind: str = "file") -> None:
        super().__init__()
        self.kind = kind

    def parse(self, text: str, option: str) -> object:
        """Raises CaptureError for an address on the web."""
        return _inputs.spelled(text)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """See click.ParamType."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type=self.kind)]


class Capture(Place):
    """One capture."""

    name = "capture"

    def parse(self, text: str, option: str) -> str:
        """Raises CaptureError where a pattern names several, or none."""
        return _inputs.single(text)


class Captures(Place):
    """Captures: one, or all that a pattern names."""

    name = "captures"

    def parse(self, text: str, option: str) -> tuple[str, ...]:
        """Raises CaptureError for what cannot be a capture here."""
        return _inputs.expanded(text)


class Share(Text):
    """`2%` or `0.02` -> 0.02."""

    name = "share"

    def parse(self, text: str, option: str) -> float:
        """A number above one means percent, with or without its sign."""
        m = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
        if not m or float(m[1]) > 100:
            raise TriageError(f"{text!r} is no percentage", "write 2%")
        return float(m[1]) / (100 if m[2] or float(m[1]) > 1 else 1)


class Size(Text):
    """`2G` -> bytes; nothing -> None."""

    name = "size"

    def parse(self, text: str, option: str) -> int | None:
        """Powers of 1024, as sizes of memory and files are counted."""
        if not text:
            return None
        m = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", text.strip().lower())
        if not m:
            raise TriageError(f"{text!r} is no size", "write 500M or 2G")
        return int(float(m[1]) * (1 << 10 * " kmgt".index(m[2] or " ")))


class When(Text):
    """`2026-05-01`, `2026-05-01T12:00Z` or seconds since 1970 -> seconds since 1970."""

    name = "time"

    def parse(self, text: str, option: str) -> int:
        """Without a time zone: UTC."""
        from datetime import UTC, datetime

        if re.fullmatch(r"\d{1,12}", text):
            return int(text)
        try:
            found = datetime.fromisoformat(text)
        except ValueError as e:
            raise TriageError(f"{option} {text!r} is no time", "write 2026-05-01 or 2026-05-01T12:00Z") from e
        return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())


class Memory(Text):
    """Bytes of a launch: `32768`, `32K`, `48 KiB`."""

    name = "bytes"

    def parse(self, text: str, option: str) -> int:
        """Whole bytes, and nothing larger than megabytes: no group has more."""
        match = re.fullmatch(r"(\d+)\s*([km]?)(?:i?b)?", text.strip().lower())
        if not match:
            raise TriageError(f"{option} {text!r}: expected bytes, as in 32768 or 32K")
        return int(match[1]) << 10 * " km".index(match[2] or " ")


class Extent(Text):
    """`256` or `16x16x1` -> three numbers."""

    name = "extent"

    def parse(self, text: str, option: str) -> Numbers:
        """See triage.occupancy.grid."""
        from triage.occupancy.grid import parse_shape

        return parse_shape(text, option)


class Words(Text):
    """`A,B` -> (A, B)."""

    name = "words"

    def parse(self, text: str, option: str) -> tuple[str, ...]:
        """Blanks and empty words do not count."""
        return tuple(w.strip() for w in text.split(",") if w.strip())

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Completes the last word."""
        before, comma, begun = incomplete.rpartition(",")
        return self.offer(ctx, begun, before + comma)


class Mapped(Text):
    """`COLUMN=METRIC` -> the pair."""

    name = "mapping"

    def __init__(self) -> None:
        super().__init__(_completion.metrics)

    def parse(self, text: str, option: str) -> tuple[str, str]:
        """The last equals sign divides: columns may have some of their own."""
        column, eq, metric = text.rpartition("=")
        if not eq or not column:
            raise TriageError(f"{option} {text!r} is not COLUMN=METRIC", 'write --map "Their Column=sm.throughput"')
        return column.strip(), _metric(column.strip(), metric.strip())

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Completes the metric once there is a column."""
        column, eq, begun = incomplete.rpartition("=")
        return self.offer(ctx, begun, column + eq) if eq else []


class MapFile(Place):
    """A YAML file of `Column: metric` -> the pairs."""

    name = "map-file"

    def parse(self, text: str, option: str) -> tuple[tuple[str, str], ...]:
        """Raises RuleError for a file that cannot be read."""
        from triage.files import strict_yaml

        if not text:
            return ()
        return tuple((column, _metric(column, str(m))) for column, m in strict_yaml.load(Path(text)).items())


class Report(Text):
    """A report format, or a path to a template."""

    name = "format"

    def __init__(self) -> None:
        super().__init__(_completion.formats)

    def parse(self, text: str, option: str) -> str:
        """Raises ReportError for what is neither, before any work is done."""
        from triage.rendering import formats

        formats.template(text)  # raises for what is not there
        return text


class Reports(Words):
    """Several formats."""

    name = "formats"

    def __init__(self) -> None:
        super().__init__(_completion.formats)

    def parse(self, text: str, option: str) -> tuple[str, ...]:
        """Each as `Report` takes it."""
        return tuple(Report().parse(word, option) for word in super().parse(text, option))


def _metric(column: str, metric: str) -> str:
    """A canonical metric; raises TriageError with the likely one."""
    from triage import schema

    if not schema.known(metric):
        close = schema.close(metric)
        raise TriageError(
            f"column {column!r}: {metric!r} is no metric",
            f"did you mean {close[0]!r}?" if close else "see: triage list metrics",
        )
    return metric
