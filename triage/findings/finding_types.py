"""Origins and comparisons with exact values, and the findings that Python callers get."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from msgspec import Struct

from triage.document.entries import CellEntry, EvidenceEntry, FindingEntry, FormulaEntry, InputEntry, SourceEntry
from triage.document.finding_rows import COLUMNS, Row
from triage.document.numbers import number
from triage.ground.terminology import localize
from triage.ground.units import display
from triage.rulebook.rule import Rule


class Origin(Struct, frozen=True):
    """Where a value comes from: a cell as exported (file, 1-based line, column header, text), or a formula over inputs.

    value is in the canonical unit of the metric. record: what a line is called in files that are no text (`result`).
    devices: of a sum over several those that have part of it.
    """

    metric: str
    value: float
    unit: str
    file: str = ""
    line: int = 0
    column: str = ""
    text: str = ""
    formula: str = ""
    inputs: tuple[Origin, ...] = ()
    record: str = "line"
    devices: list[str] = []

    @property
    def entry(self) -> SourceEntry:
        """The cell or the formula, as the result has it."""
        if self.formula:
            made: FormulaEntry = {"formula": localize(self.formula), "inputs": [o.as_input for o in self.inputs]}
            return {**made, "devices": self.devices} if self.devices else made
        cell: CellEntry = {"file": self.file, "line": self.line, "column": self.column, "text": self.text}
        if self.record != "line":
            cell["record"] = self.record
        return cell

    @property
    def as_input(self) -> InputEntry:
        """The same with metric, value and display unit, as an input of a formula."""
        value, unit = display(self.value, self.unit)
        return {"metric": self.metric, "value": number(value), "unit": unit, "source": self.entry}


class Check(Struct, frozen=True):
    """One comparison that a finding rests on, in display units (ratios as percent).

    why: the comparison in words. figure: its left side alone, `TEX hit rate 57.0 %`. stated: the finding's sentence holds its number.
    """

    metric: str
    value: float
    unit: str
    op: str
    threshold: float | None
    margin: float | None
    source: Origin
    why: str = ""
    figure: str = ""
    stated: bool = False

    @property
    def entry(self) -> EvidenceEntry:
        """The comparison as the result has it."""
        made: EvidenceEntry = {
            "metric": self.metric,
            "value": number(self.value),
            "unit": self.unit,
            "op": self.op,
            "threshold": None if self.threshold is None else number(self.threshold),
            "margin": None if self.margin is None else number(self.margin),
            "source": self.source.entry,
        }
        return {**made, "stated": True} if self.stated else made


class EntryView:
    """An entry of the result whose keys are attributes; lists become tuples, entries within it views."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.entry = entry

    def __getattr__(self, name: str) -> Any:
        entry = self.__dict__.get("entry", {})
        if name not in entry:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = entry[name]
        if isinstance(value, list):
            return tuple(EntryView(v) if isinstance(v, dict) else v for v in value)
        return EntryView(value) if isinstance(value, dict) else value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.entry})

    def __repr__(self) -> str:
        return f"<{', '.join(f'{key} {value!r}' for key, value in self.entry.items())}>"


class Finding(EntryView):
    """One rule that fired on one workload: every key of its entry in the result is an attribute, such as `gain`.

    rule: the rule itself. part: index of the capture; workload: index in it, -1 for the whole capture. evidence: the
    comparisons with exact values. row: the finding under finding_rows.COLUMNS. looks: its
    advice that changes nothing, and finds out more.
    """

    entry: FindingEntry
    rank: int
    level: str
    confidence: str
    message: str
    gain: EntryView | None
    because: tuple[str, ...]
    advice: tuple[str, ...]
    caveats: tuple[str, ...]
    fingerprint: str
    looks: Set[str] = frozenset()

    def __init__(
        self, entry: FindingEntry, rule: Rule, part: int, workload: int, evidence: tuple[Check, ...], row: Row
    ) -> None:
        super().__init__(entry)
        self.rule, self.part, self.workload = rule, part, workload
        self.evidence, self.row = evidence, row

    @property
    def workload_id(self) -> str:
        """Id of the workload in the result."""
        return self.entry["workload"]

    @property
    def workload_name(self) -> str:
        """Name of the workload as exported; `frame` for the whole capture."""
        return str(self.row[COLUMNS.index("name")])

    def __repr__(self) -> str:
        saves = f", saves {self.gain.fraction:.0%} of it" if self.gain else ""
        return f"<Finding {self.rank}: {self.rule.id} {self.rule.name} on {self.workload_name[:60]!r}{saves}>"
