"""Types of options: they parse the text of the command line and complete it in a shell. `name`, in capitals, is what help prints.

A value that cannot be parsed raises TriageError. Completions are imported when a shell asks for them: every command
imports this module.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from triage.commands import _completion, _inputs
from triage.ground.errors import CaptureError, TriageError
from triage.ground.phrasing import did_you_mean, either

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from triage.occupancy.grid import Shape as Numbers
    from triage.reading import stated_needs

    _Type = click.ParamType[object]
    _Choice = click.Choice[str]
else:
    _Type, _Choice = click.ParamType, click.Choice  # take no type arguments before click 8.4

T = TypeVar("T")
Known = Callable[[click.Context], Iterable[tuple[str, str]]]  # (value, description) of each completion


def flat(_: click.Context, __: click.Parameter, values: Sequence[Sequence[T]]) -> tuple[T, ...]:
    """Callback of a repeatable option of lists: `--select A,B --select C` -> (A, B, C)."""
    return tuple(dict.fromkeys(v for group in values for v in group))


def _name(param: click.Parameter | None) -> str:
    """The long spelling of an option, "" without a parameter."""
    return max(param.opts, key=len) if param else ""


class Text(_Type):
    """Any text, with completions."""

    name = "text"
    completions: Known | None = None

    def __init__(self, known: Known | None = None) -> None:
        self.known = known or self.completions

    def parse(self, text: str, option: str) -> object:
        """Return the value of a text; raises TriageError. option: its name, for the message."""
        return text

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """See click.ParamType; a default that is not text is a value already."""
        return self.parse(value, _name(param)) if isinstance(value, str) else value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """See click.ParamType."""
        return self.offer(ctx, incomplete)

    def offer(self, ctx: click.Context, begun: str, before: str = "") -> list[CompletionItem]:
        """Completions of what was typed, in any letter case. before: text to keep in front."""
        from click.shell_completion import CompletionItem

        try:
            values = list(self.known(ctx)) if self.known else []
        except TriageError:  # such as a wrong --rules, which the command itself reports
            return []
        return [
            CompletionItem(before + value, help=" ".join(about.split()))  # a shell reads lines
            for value, about in values
            if value.lower().startswith(begun.lower())
        ]


class PathType(Text):
    """A path as people type it (quotes, `~`, file://), completed by the shell; patterns stay."""

    name = "path"

    def __init__(self, kind: str = "file") -> None:
        super().__init__()
        self.kind = kind

    def parse(self, text: str, option: str) -> object:
        """Raises CaptureError for a web address."""
        return _inputs.spelled(text)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """See click.ParamType."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type=self.kind)]


class ExistingFile(PathType):
    """A file that must be there."""

    def parse(self, text: str, option: str) -> str:
        """Raises CaptureError for a missing file; "" stays."""
        path = _inputs.spelled(text)
        if path and not Path(path).exists():
            raise CaptureError(f"{path}: no such file", f"check {option}")
        return path


class Capture(PathType):
    """One capture."""

    name = "capture"

    def parse(self, text: str, option: str) -> str:
        """Raises CaptureError where a pattern matches several, or none."""
        return _inputs.single(text)


class Captures(PathType):
    """Captures: one, or all that a pattern matches."""

    name = "captures"

    def parse(self, text: str, option: str) -> tuple[str, ...]:
        """Raises CaptureError for web addresses and patterns without a match."""
        return _inputs.expanded(text)


class Choice(_Choice):
    """One of several words. noun: what an argument names; an option is named by its own name."""

    def __init__(self, words: Iterable[str], noun: str = "") -> None:
        super().__init__(list(words))
        self.noun = noun

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Raises TriageError for another word."""
        if value not in self.choices:
            choose = f"choose {either(self.choices)}"
            if self.noun:
                raise TriageError(f"unknown {self.noun} {value!r}", choose)
            raise TriageError(f"{_name(param)} {value!r}: {choose}")
        return value


class Whole(Text):
    """A whole number of at least `least`."""

    name = "n"

    def __init__(self, least: int | None = None) -> None:
        super().__init__()
        self.least = least

    def parse(self, text: str, option: str) -> int:
        """Raises TriageError for other text and smaller numbers."""
        more = "" if self.least is None else f"{self.least} or more"
        if not re.fullmatch(r"[+-]?\d{1,18}", text.strip()):
            raise TriageError(f"{option} {text!r}: expected a whole number{', ' if more else ''}{more}")
        if self.least is not None and int(text) < self.least:
            raise TriageError(f"{option} {int(text)}: expected {more}")
        return int(text)


class Real(Text):
    """A number of at least `least`. unit: for the message."""

    name = "float"

    def __init__(self, least: float | None = None, unit: str = "") -> None:
        super().__init__()
        self.least, self.unit = least, unit

    def parse(self, text: str, option: str) -> float:
        """Raises TriageError for other text and smaller numbers."""
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise TriageError(f"{option} {text!r}: expected a number")
        if self.least is not None and number < self.least:
            raise TriageError(f"{option} {text}: expected at least {self.least:g} {self.unit}".rstrip())
        return number


class Share(Text):
    """`2%` or `0.02` -> 0.02."""

    name = "share"

    def parse(self, text: str, option: str) -> float:
        """A number above one is a percentage, with or without its sign. Raises TriageError outside 0 to 100 %."""
        m = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*(%?)\s*", text)
        if not m:
            raise TriageError(f"{option} {text!r}: expected a percentage such as 5%")
        number = float(m[1])
        if not 0 <= number <= 100:
            raise TriageError(f"{option} {text!r}: expected 0 to 100 %")
        return number / (100 if m[2] or number > 1 else 1)


class Duration(Text):
    """`16.6ms`, `16.6` (ms) or `60fps` -> ns."""

    name = "time"

    def parse(self, text: str, option: str) -> float:
        """Raises TriageError for anything else, and for times that no frame takes."""
        m = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(ns|us|µs|ms|s|fps|)\s*", text, re.IGNORECASE)
        number = float(m[1]) if m else 0.0
        if not m or not number:
            raise TriageError(f"{option} {text!r}: expected a time such as 16.6ms, or a rate such as 60fps")
        unit = m[2].lower() or "ms"
        return 1e9 / number if unit == "fps" else number * {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]


class Size(Text):
    """`32768`, `32K`, `48 KiB`, `2G` -> bytes; "" -> None."""

    name = "size"

    def parse(self, text: str, option: str) -> int | None:
        """Return bytes; suffixes are powers of 1024. Raises TriageError."""
        if not text:
            return None
        m = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", text.strip().lower())
        if not m:
            raise TriageError(f"{option} {text!r}: expected a size such as 32K or 2G")
        return int(float(m[1]) * (1 << 10 * " kmgt".index(m[2] or " ")))


class Need(Text):
    """`NAME=537MB`, `NAME=137GFLOP` -> a stated need."""

    name = "name=work"

    def parse(self, text: str, option: str) -> stated_needs.Need:
        """Raises TriageError."""
        from triage.reading import stated_needs

        name, _, size = text.rpartition("=")
        if not name:
            raise TriageError(f"{option} {text!r}: expected NAME=WORK such as 'scale*=537MB' or 'gemm*=137GFLOP'")
        return stated_needs.need(name, size, option)


class When(Text):
    """`2026-05-01`, `2026-05-01T12:00Z` or seconds since 1970 -> seconds since 1970."""

    name = "time"

    def parse(self, text: str, option: str) -> int:
        """Without a time zone: UTC. Raises TriageError."""
        from datetime import UTC, datetime

        if re.fullmatch(r"\d{1,12}", text):
            return int(text)
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as e:
            raise TriageError(f"{option} {text!r}: expected a date such as 2026-05-01 or 2026-05-01T12:00Z") from e
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


class Extent(Text):
    """`256` or `16x16x1` -> three numbers."""

    name = "extent"

    def parse(self, text: str, option: str) -> Numbers:
        """See triage.occupancy.grid."""
        from triage.occupancy.grid import parse_shape

        return parse_shape(text, option)


class TokenList(Text):
    """`A,B` -> (A, B)."""

    name = "words"

    def parse(self, text: str, option: str) -> tuple[str, ...]:
        """Blanks around words and empty words are dropped."""
        return tuple(w.strip() for w in text.split(",") if w.strip())

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Completes the last word."""
        before, comma, begun = incomplete.rpartition(",")
        return self.offer(ctx, begun, before + comma)


class Mapped(Text):
    """`COLUMN=METRIC` -> the pair."""

    name, completions = "column=metric", staticmethod(_completion.metrics)

    def parse(self, text: str, option: str) -> tuple[str, str]:
        """Split at the last equals sign, since column names may hold some. Raises TriageError."""
        column, eq, metric = text.rpartition("=")
        if not eq or not column:
            raise TriageError(f"{option} {text!r}: expected COLUMN=METRIC", 'write --map "Their Column=sm.throughput"')
        from triage import schema

        if not schema.is_target(metric := metric.strip()):
            _metric(schema.target(metric)[0], f"{option} {column.strip()!r}:")
        return column.strip(), metric

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Completes the metric once there is a column."""
        column, eq, begun = incomplete.rpartition("=")
        return self.offer(ctx, begun, column + eq) if eq else []


class Report(Text):
    """A report format, or a path to a template."""

    name, completions = "format", staticmethod(_completion.formats)

    def parse(self, text: str, option: str) -> str:
        """Raises ReportError for an unknown format or a missing template, before any work is done."""
        from triage.rendering import formats

        formats.template(text)
        return text


class Reports(TokenList):
    """Several formats."""

    name, completions = "format", staticmethod(_completion.formats)

    def parse(self, text: str, option: str) -> tuple[str, ...]:
        """See `Report`."""
        return tuple(Report().parse(word, option) for word in super().parse(text, option))


def _metric(metric: str, where: str) -> str:
    """A canonical metric; raises TriageError with similar ones."""
    from triage import schema

    if not schema.known(metric):
        hint = did_you_mean(schema.close(metric)[:1], "see: triage list metrics")
        raise TriageError(f"{where} unknown metric {metric!r}", hint)
    return metric
