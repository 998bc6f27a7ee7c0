"""Strings, sentences, metrics and conditions of a page, each stored once.

Most of a large result repeats: sentences that differ in their numbers only, rules, columns. A sentence becomes a
skeleton and its numbers; reports/_parts/unpack.js.j2 puts them together again.
"""

from __future__ import annotations

import json
import re
from typing import Any

from triage import schema
from triage.rendering import phrases
from triage.rendering.escape import clean

HOLE = "\x7f"  # stands for a number in a skeleton; clean() removes it from everything else
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?")


class Strings:
    """Texts by number."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}

    def __call__(self, text: object) -> int:
        """Index of a text, cleaned."""
        return self.index.setdefault(clean(text), len(self.index))

    def list(self) -> list[str]:
        """All of them, in the order of their numbers."""
        return list(self.index)


class Words:
    """Interns what sentences are made of while a document is packed."""

    def __init__(self) -> None:
        self.s = Strings()
        self.metrics: dict[str, int] = {}
        self.metric_rows: list[list[str]] = []
        self.conditions: dict[tuple[Any, ...], int] = {}
        self.tails: dict[str, int] = {}
        self.tail_rows: list[Any] = []
        self.files: dict[str, int] = {}

    def skeleton(self, text: str) -> tuple[int, list[Any]]:
        """A sentence as the index of its skeleton, and its numbers."""
        line = clean(text)
        numbers = _NUMBER.findall(line)
        return self.s.index.setdefault(_NUMBER.sub(HOLE, line), len(self.s.index)), [literal(n) for n in numbers]

    def t(self, text: str) -> Any:
        """A sentence: the index of a string, or [index of its skeleton, number, ...]."""
        # below that the skeleton and its list are longer than the text itself
        if len(text) < 8:
            return self.s(text)
        at, numbers = self.skeleton(text)
        return [at, *numbers] if numbers else at

    def metric(self, name: str, unit: str = "") -> int:
        """Index of a metric with its label, unit and meaning."""
        if name not in self.metrics:
            self.metrics[name] = len(self.metric_rows)
            # a rule may compare a `let` of its own: then its unit is all that is known
            known = schema.get(name) if schema.known(name) else None
            self.metric_rows.append(
                [clean(name), phrases.label(name), known.unit if known else unit, known.meaning if known else ""]
            )
        return self.metrics[name]

    def condition(self, e: dict[str, Any]) -> int:
        """Index of [metric, operator, threshold, unit]."""
        key = (self.metric(e["metric"], e["unit"]), e["op"], e["threshold"], e["unit"])
        return self.conditions.setdefault(key, len(self.conditions))

    def file(self, name: str, record: str) -> int:
        """Index of an input file. record: what is numbered in it, "" for lines; the script puts a number behind."""
        return self.files.setdefault(f"{clean(name)}, {record} " if record else clean(name), len(self.files))

    def tail(self, f: dict[str, Any]) -> int:
        """Index of what follows a finding's numbers: advice, code, how to verify, caveats, sources, gain model."""
        # the other reasons are the comparisons, which stand in the evidence already
        why = next((b for b in f["because"] if b.startswith("gain: ")), "")
        row = [
            [self.t(a) for a in f["advice"]],
            [[c["language"], c["text"]] for c in f["code"]],
            f["verify"] or 0,
            [self.t(c) for c in f["caveats"]],
            [[self.s(c["text"]), c["url"] if web(c["url"]) else 0] for c in f["cites"]],
            self.s(why[6:]),
        ]
        key = json.dumps(row)
        if key not in self.tails:
            self.tails[key] = len(self.tail_rows)
            self.tail_rows.append(row)
        return self.tails[key]


def literal(text: str) -> Any:
    """A JSON number where the script prints it back the same way, else the text."""
    if re.fullmatch(r"0|[1-9]\d{0,8}", text):
        return int(text)
    if re.fullmatch(r"(?:0|[1-9]\d{0,8})\.\d{0,5}[1-9]", text) and "e" not in repr(float(text)):
        return float(text)
    return text


def web(url: str | None) -> bool:
    """Is this an address a reader may follow?"""
    return bool(url) and str(url).startswith(("https://", "http://"))


def rounded(value: float | None, digits: int = 6) -> Any:
    """Significant digits, as an integer where that is the same."""
    if value is None:
        return None
    v = float(f"{value:.{digits}g}")
    return int(v) if v == int(v) and abs(v) < 1e15 else v
