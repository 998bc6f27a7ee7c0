"""The nouns that readers hand over: Table (a dialect's product) and Capture (grouped, with its marker tree).

Columns inside, objects at the edge: both hold one NumPy array per metric and no object per cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

if TYPE_CHECKING:
    from triage.capture.arrays import Floats, Indices, Masks, Names
    from triage.capture.frame_spread import Spread
    from triage.capture.location import Locate
    from triage.capture.queue_lanes import Lane
    from triage.capture.source import Source
    from triage.capture.trace_nouns import Operator, Timeline, Trace
    from triage.devices import Device

SEP = "\x1f"  # joins path levels inside; marker names hold '/' and ':' but never this
DEEPEST = 1_000  # levels of markers; engines write ten or twenty
KINDS = ("fullscreen", "compute", "geometry", "draw", "copy", "raytracing", "marker", "frame", "cpu")


class Column(Struct):
    """One metric of a table and where its cells stand.

    values: canonical units, NaN = missing, one per table row. file: index into Table.files. header: as exported.
    column: 1-based cell number in its record, 0 when the cell was computed. lines: per-row 1-based line numbers when
    they differ from the row's own (long layouts, companion files). formula/inputs: how a computed cell came about;
    inputs are metric ids or headers of Table.raw.
    """

    values: Floats
    header: str
    column: int = 0
    unit: str = ""
    factor: float = 1.0
    file: int = 0
    lines: Indices | None = None
    formula: str = ""
    inputs: tuple[str, ...] = ()

    @classmethod
    def computed(cls, values: Floats, formula: str, inputs: tuple[str, ...] = ()) -> Column:
        """A column that no export has, which its formula stands for wherever a header would."""
        return cls(values, formula, formula=formula, inputs=inputs)

    @classmethod
    def of_cell(
        cls,
        value: float,
        header: str,
        column: int,
        line: int,
        unit: str = "",
        factor: float = 1.0,
        rows: int = 1,
        file: int = 0,
    ) -> Column:
        """A column whose rows all have the value of one cell."""
        import numpy as np

        return cls(np.full(rows, value), header, column, unit, factor, file, np.full(rows, line))


class Opinion(Struct, frozen=True):
    """One result of the profiler's own rules about one workload. speedup: fraction of time saved as claimed, or None."""

    row: int
    tool: str
    rule: str
    type: str
    text: str
    speedup: float | None = None
    scope: str = ""


# checks whose remark changes how every number below it reads: reports print it first
FIRST = frozenset((
    "damaged-timestamps", "part-of-total", "unlisted-events", "python-stacks", "closed-gaps", "cut-trace", "missing-ranks",
    "start-up", "lead-in", "gpu-from-name", "joined", "host-time", "copies",
))  # fmt: skip


class Quality(Struct, frozen=True):
    """A remark on the data itself.

    row: table row, or -1 for the whole capture. doubt: so much of the export was not used that what the rest says is
    less sure: findings of the capture are one step less confident.
    """

    check: str
    message: str
    row: int = -1
    doubt: bool = False


class Decision(NamedTuple):
    """What a column was read as - a metric, or a property of the rows - and why, in a few words; "" for unread ones."""

    header: str
    read_as: str
    why: str


class Rows(NamedTuple):
    """What became of the rows with figures in the file that a table stands in: the next four together are `file`.

    read: rows of the table. merged: read into one of these, as a counter per line. left_out: set aside, with a remark. other: of
    another kind (units, another table), or summed by the reader. untimed: of those read, without a time.
    """

    file: int
    read: int
    merged: int
    left_out: int
    other: int
    untimed: int


class Table(Struct):
    """What a dialect hands over: one row per range (launch, marker instance, event).

    names: leaf names as exported. paths: parent levels joined with SEP, or None when the export is flat.
    kinds: words of KINDS or "" per row, or None. first_line: line of row 0 when rows follow line by line; lines: explicit
    1-based line numbers otherwise. leaf_time: gpu.time is a leaf's own, parents must be summed. frame_ns: the frame's
    time where the export states it. raw: exported counters kept only as inputs of computed columns. collectable: metrics
    this capture's tool can give, where that is less than its dialect knows (the counters of one vendor's GPU). locate:
    where inside a row its metrics come from, where the export counts instructions. trace: when each row ran and what the
    host did meanwhile, where the export knows. operators: whose work the export states without a timeline. collect: how to get further metrics, where that depends on the GPU.
    decisions: how each column was read, where the dialect goes by words and values. isolated: times are of single actions,
    replayed one by one: their sum is no frame time, and short ones say nothing of launch costs. sampled: rows are some of the
    frames, recorded at an interval. tells: vendor and api, where
    the exports of a dialect differ in them. made_with: what `collect` says for the run that made the capture, where it states
    its settings: run again, it gives nothing new. versions: of the driver and the profiler, where the export names them.
    queues: span in ns and what each queue did, where work is known by queue. excluded: lines of the first file that were set
    aside. accounted: what became of all its lines, where it is a small text.
    """

    dialect: str
    files: list[Source]
    names: Names
    columns: dict[str, Column]
    paths: Names | None = None
    kinds: Names | None = None
    first_line: int = 2
    lines: Indices | None = None
    unmapped: list[str] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    quality: list[Quality] = field(default_factory=list)
    opinions: list[Opinion] = field(default_factory=list)
    raw: dict[str, Column] = field(default_factory=dict)
    device: str = ""
    arch: str = ""
    frame_ns: float | None = None
    leaf_time: bool = False
    isolated: bool = False
    group: bool = True
    sampled: bool = False
    collectable: frozenset[str] | None = None
    locate: Locate | None = None
    tells: dict[str, str] = field(default_factory=dict)
    trace: Trace | None = None
    operators: list[Operator] = field(default_factory=list)
    queues: tuple[float, Sequence[Lane]] = (0.0, ())
    collect: Callable[[list[str]], str] | None = None
    selection: str = ""  # which of the workloads --marker left
    made_with: frozenset[str] = frozenset()
    versions: dict[str, str] = field(default_factory=dict)
    excluded: frozenset[int] = frozenset()
    accounted: Rows | None = None

    def __len__(self) -> int:
        return len(self.names)

    def line(self, row: int) -> int:
        """Line on which a row's record starts."""
        return int(self.lines[row]) if self.lines is not None else self.first_line + row

    def put_first(self, file: Source) -> None:
        """List a folder or companion before the files, for it is what the user typed."""
        self.files.insert(0, file)
        # columns point into the files by number; one column may be both a metric and an input, so each is moved once
        for column in {id(c): c for c in (*self.columns.values(), *self.raw.values())}.values():
            column.file += 1

    def multiply(self, metric: str, calls: Floats, formula: str) -> None:
        """Count a metric of one launch as often as a row's kernel ran: the launch's own figure becomes an input of the formula."""
        one = self.columns[metric]
        self.raw[one.header] = one
        inputs = one.header, "frame.calls"
        self.columns[metric] = Column(one.values * calls, one.header, formula=formula, inputs=inputs)

    def remark(self, check: str, message: str, row: int = -1, doubt: bool = False) -> None:
        """Add a remark on the data: see Quality."""
        self.quality.append(Quality(check, message, row, doubt))


class Derived(Struct, frozen=True):
    """A computed metric's provenance: formula text and the metric ids it used. detail: the workloads behind it, named."""

    formula: str
    inputs: tuple[str, ...]
    detail: str = ""


class InputFile(Struct, frozen=True):
    """One input as the report lists it. tells: what all exports of its dialect share, fact -> word (work, vendor, api)."""

    path: str
    dialect: str
    why: str
    rows: int
    tells: Mapping[str, str] = field(default_factory=dict)


class Pass(Struct, frozen=True):
    """levels: marker names from the outside in, the last one its own. rows: its ranges, ascending. rest: what a wrapper holds
    without a marker of its own. marker: the workload that stands for the pass itself, -1 for none."""

    levels: tuple[str, ...]
    rows: Indices
    time_ns: float
    rest: bool = False
    marker: int = -1


class Capture(Struct):
    """One export: workloads (repeats grouped) and one float64 array per metric over them.

    names, paths (parent levels joined with SEP), kinds: object arrays. calls, parent (index or -1), depth: int arrays.
    duration_ns, self_ns: inclusive and exclusive time, NaN where unknown. members: (order, offsets) of table rows per
    workload, None when every row is its own workload. frames: times of the frames in ns, where there are several;
    spreads: of the workloads that vary most over them. passes: of a frame, in its order.
    """

    input: InputFile
    table: Table
    names: Names
    paths: Names
    kinds: Names
    calls: Floats
    parent: Indices
    depth: Indices
    duration_ns: Floats
    self_ns: Floats
    facts: dict[str, Floats]
    sources: dict[str, Column | Derived]
    device: Device | None
    collectable: frozenset[str]
    members: tuple[Indices, Indices] | None = None
    notes: list[str] = field(default_factory=list)
    quality: list[Quality] = field(default_factory=list)
    frame_ns: float = 0.0
    uncovered_ns: float = 0.0
    frames: Floats | None = None
    spreads: Sequence[Spread] = ()
    passes: Sequence[Pass] = ()
    collect: Callable[[list[str]], str] | None = None
    selection: str = ""  # which of the workloads --marker left
    timeline: Timeline | None = None  # with it, exclusive time is shared out where several workloads ran at once

    def __len__(self) -> int:
        return len(self.names)

    @property
    def leaf(self) -> Masks:
        """Which workloads hold no other: a container's counters are those of what it holds once more."""
        import numpy as np

        out = np.ones(len(self), dtype=bool)
        out[self.parent[self.parent >= 0]] = False
        # frame timing is the frame's own, whatever passes stand below it
        for metric, values in self.facts.items():
            if metric.startswith("present."):
                out |= np.isfinite(values)
        return out

    @property
    def sha256(self) -> str:
        """Digest of the input as it is on disk; raises BadCapture when that is no longer what was read."""
        return self.table.files[0].sha256 if self.table.files else ""

    @property
    def device_name(self) -> str:
        """The device as its table names it, else as the export does; "" where neither knows it."""
        return self.device.name if self.device else self.table.device

    @property
    def copying(self) -> Masks | None:
        """Workloads that a copy engine did, which has no counters; None where there are none, or where a copy is a range of
        a frame, whose units are counted like any other's.
        """
        if self.timeline is None and self.input.tells.get("work") != "compute":
            return None
        copies: Masks = self.kinds == "copy"
        return copies if copies.any() else None

    def rows_of(self, workload: int) -> Indices | list[int]:
        """Table rows behind a workload."""
        if self.members is None:
            return [workload]
        order, offsets = self.members
        return order[offsets[workload] : offsets[workload + 1]]

    def times(self, workload: int) -> Floats | list[float]:
        """Times of a workload's repeats as exported, ns; empty when the export has no times."""
        column = self.table.columns.get("gpu.time")
        return [] if column is None else column.values[self.rows_of(workload)]

    def owners(self, rows: Indices | list[int]) -> Indices:
        """Workload of each of some table rows; -1 for rows that --marker left out."""
        import numpy as np

        wanted = np.asarray(rows, dtype=np.int64)
        if self.members is None:
            return wanted
        owner = np.full(len(self.table), -1, dtype=np.int64)
        order, offsets = self.members
        owner[order] = np.repeat(np.arange(len(self)), np.diff(offsets))
        return owner[wanted]
