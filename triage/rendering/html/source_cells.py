"""The cells and formulas behind the findings of one workload, each once."""

from __future__ import annotations

import json

from triage.document.entries import SourceEntry
from triage.rendering.escape import excerpt, short
from triage.rendering.html.string_table import Json, Words, rounded


class Cells:
    """Rows [metric, value, column, text, line, file], or [metric, value, formula, inputs...]."""

    def __init__(self, words: Words) -> None:
        self.p, self.line = words, 0
        self.rows: list[list[Json]] = []
        self.seen: dict[str, int] = {}

    def add(self, metric: str, value: float | None, unit: str, source: SourceEntry) -> int:
        """Index of a value with its origin."""
        m, v = self.p.metric(metric, unit), rounded(value)
        if "formula" in source:
            row: list[Json] = [
                m,
                v,
                # below 0 a formula, else the column
                -1 - self.p.s(excerpt(source["formula"], 300)),
                *(self.add(i["metric"], i["value"], i["unit"], i["source"]) for i in source["inputs"]),
            ]
        else:
            # lines count from the workload's first: cells of one row become small numbers that repeat
            self.line = self.line or source["line"]
            text = short(source["text"], 200)
            row = [
                m,
                v,
                self.p.s(source["column"]),
                # the value as it was written, unless writing it again gives the same
                0 if text == str(v) else text,
                source["line"] - self.line,
                self.p.file(source["file"], source.get("record", "")),
            ]
            # zeros at the end are what the script takes for granted
            while len(row) > 3 and row[-1] == 0:
                row.pop()
        key = json.dumps(row)
        if key not in self.seen:
            self.seen[key] = len(self.rows)
            self.rows.append(row)
        return self.seen[key]
