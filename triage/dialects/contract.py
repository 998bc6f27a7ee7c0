"""What a dialect module is: the attributes it has, what its functions take and return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Protocol, runtime_checkable

from msgspec import Struct, field

from triage import schema
from triage.capture.capture import Table
from triage.capture.source import Source

TEXTS = ("NAME", "TITLE", "CAPTURE")
FUNCTIONS = ("recognise", "read", "names")


class Match(Struct, frozen=True):
    """How sure a dialect is (0-1) that a source is its own, and the evidence in words."""

    score: float
    why: str


class Options(Struct, frozen=True):
    """Reading options of the user.

    mapping: header -> canonical id, with a unit where the header lacks it, or `name`. events: path of a companion events file. decimal: `comma` or `eu` for decimal
    commas, anything else for points, "" to decide by the values. device: GPU the user named, whose sizes stand in for
    those that an export lacks.
    """

    mapping: Mapping[str, str] = field(default_factory=dict)
    events: str = ""
    decimal: str = ""
    device: str = ""

    @property
    def metrics(self) -> dict[str, str]:
        """Header -> canonical id of the mapped columns that are read as a metric."""
        return {h: schema.target(to)[0] for h, to in self.mapping.items() if to != schema.ROW_NAME}


class Dialect(Protocol):
    """The interface of a dialect module."""

    NAME: str
    TITLE: str
    CAPTURE: str

    def recognise(self, source: Source) -> Match | None:
        """Match if the source is an export of this tool, None if not; CaptureError if it is not even text."""

    def read(self, source: Source, options: Options) -> Table:
        """The source as a table in canonical units; raises BadCapture, NotTriageable."""

    def names(self) -> dict[str, list[str]]:
        """canonical id -> names in this tool, for all metrics it can export."""


@runtime_checkable
class Collects(Protocol):
    """A dialect whose tool can be asked for single metrics."""

    def collect(self, metrics: list[str]) -> str:
        """The command or menu path that collects these canonical metrics."""


def missing_parts(module: object) -> list[str]:
    """Attributes that keep a module from being a dialect: absent, or of the wrong type."""
    texts = [name for name in TEXTS if not isinstance(getattr(module, name, None), str)]
    return texts + [name for name in FUNCTIONS if not callable(getattr(module, name, None))]


def always(text: str) -> Callable[[list[str]], str]:
    """`collect` of a tool that is asked alike for all metrics, or has none: what to run, or which tools have them."""
    return lambda _metrics: text


def collector(dialect: Dialect, arch: str = "") -> Callable[[list[str]], str] | None:
    """The dialect's `collect`, None if its tool cannot be asked for metrics.

    arch: of the GPU, for tools whose counters have other names on other generations: their `collect` takes it.
    """
    if not isinstance(dialect, Collects):
        return None
    collect: Callable[..., str] = dialect.collect
    return partial(collect, arch=arch) if _asks_arch(collect) else collect


def exportable(dialect: Dialect, arch: str = "") -> frozenset[str]:
    """The metrics the dialect's tool can export from a GPU; arch: as above, for tools whose `names` takes it."""
    names: Callable[..., dict[str, list[str]]] = dialect.names
    return frozenset(names(arch=arch) if _asks_arch(names) else names())


def _asks_arch(function: Callable[..., object]) -> bool:
    return "arch" in signature(function).parameters
