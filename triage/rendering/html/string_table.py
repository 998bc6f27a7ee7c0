"""Strings, sentences, metrics and conditions of a page, each stored once.

Most of a large result repeats: sentences that differ in their numbers only, rules, columns. A sentence becomes a
skeleton and its numbers; reports/_parts/unpack.js.j2 puts them together again.
"""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from triage import schema
from triage.capture.arrays import Indices
from triage.document.entries import EvidenceEntry, FindingEntry
from triage.document.page_entries import STATES, StepEntry
from triage.ground.terminology import localize
from triage.rendering import phrases
from triage.rendering.escape import clean

HOLE = "\x7f"  # place of a number in a skeleton; clean() removes it from everything else
_NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)")
_WHOLE = re.compile(r"0|[1-9]\d{0,8}")
_DECIMAL = re.compile(r"(?:0|[1-9]\d{0,8})\.\d{0,5}[1-9]")


Number: TypeAlias = int | float | None
Json: TypeAlias = (
    "str | Number | Indices | Sequence[Json] | Mapping[str, object]"  # what is packed; arrays become lists
)


class Strings:
    """Texts by number."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}

    def __call__(self, text: object) -> int:
        """Index of a text, cleaned."""
        return self.index.setdefault(clean(text), len(self.index))

    def all(self, texts: Sequence[str], made: Callable[[str], str] = clean) -> Indices:
        """Indices of many; made: what a text becomes, clean, asked once for each that differs."""
        index = self.index
        known = {text: index.setdefault(made(text), len(index)) for text in dict.fromkeys(texts)}
        return np.fromiter(map(known.__getitem__, texts), np.int64, len(texts))

    def list(self) -> builtins.list[str]:
        """All of them, in the order of their numbers."""
        return list(self.index)


class Words:
    """Interns what sentences are made of while a document is packed."""

    def __init__(self) -> None:
        self.s = Strings()
        self.metrics: dict[str, int] = {}
        self.metric_rows: list[list[str]] = []
        self.conditions: dict[tuple[Json, ...], int] = {}
        self.tails: dict[str, int] = {}
        self.tail_rows: list[Json] = []
        self.files: dict[str, int] = {}
        self.shapes: dict[tuple[int, ...], int] = {}

    def skeleton(self, text: str) -> tuple[int, list[Json]]:
        """A sentence as the index of its skeleton, and its numbers."""
        parts = _NUMBER.split(clean(text))  # words and numbers alternate
        return self.s.index.setdefault(HOLE.join(parts[::2]), len(self.s.index)), [*map(literal, parts[1::2])]

    def shape(self, step: StepEntry) -> int:
        """Index of a step through a guide: [question, metric, value, edge, answer, state]; a number stands where its value
        has a hole."""
        words = [step["ask"], step["value"].replace("{}", HOLE), step["edge"], step["answer"]]
        ask, value, edge, answer = (self.s.index.setdefault(text, len(self.s.index)) for text in words)
        metric = self.metric(step["metric"]) if step["metric"] else -1
        return self.shapes.setdefault((ask, metric, value, edge, answer, STATES.index(step["state"])), len(self.shapes))

    def t(self, text: str) -> Json:
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
                [
                    clean(name),
                    phrases.label(name),
                    known.unit if known else unit,
                    localize(known.meaning) if known else "",
                ]
            )
        return self.metrics[name]

    def condition(self, e: EvidenceEntry) -> int:
        """Index of [metric, operator, threshold, unit]."""
        key = (self.metric(e["metric"], e["unit"]), e["op"], e["threshold"], e["unit"])
        return self.conditions.setdefault(key, len(self.conditions))

    def file(self, name: str, record: str) -> int:
        """Index of an input file. record: what is numbered in it, "" for lines; the script puts a number behind."""
        return self.files.setdefault(f"{clean(name)}, {record} " if record else clean(name), len(self.files))

    def tail(self, f: FindingEntry, gain: str) -> int:
        """Index of what follows a finding's numbers: advice, code, how to verify, caveats, sources, and gain, its model."""
        row: list[Json] = [
            [self.t(a) for a in f["advice"]],
            [[c["language"], c["text"]] for c in f["code"]],
            f["verify"] or 0,
            [self.t(c) for c in f["caveats"]],
            [[self.s(c["text"]), c["url"] if web(c["url"]) else 0] for c in f["cites"]],
            self.s(gain),
        ]
        key = json.dumps(row)
        if key not in self.tails:
            self.tails[key] = len(self.tail_rows)
            self.tail_rows.append(row)
        return self.tails[key]


SHOWN = 3  # significant digits of a number as people read it


@lru_cache(16_384)
def literal(text: str) -> str | int | float:
    """A JSON number where the script prints it back the same way, else the text."""
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) and "e" not in repr(float(text)):
        return float(text)
    return text


def web(url: str | None) -> bool:
    """True for an address that a reader may follow."""
    return bool(url) and str(url).startswith(("https://", "http://"))


def rounded(value: float | None, digits: int = 6) -> Number:
    """Significant digits, as an integer where that is the same."""
    if value is None:
        return None
    v = float(f"{value:.{digits}g}")
    return int(v) if v == int(v) and abs(v) < 1e15 else v


def significant(values: ArrayLike, digits: int) -> list[Number]:
    """`rounded` over an array; None for NaN."""
    v = np.asarray(values, dtype=np.float64)
    known = np.isfinite(v) & (v != 0)
    with np.errstate(divide="ignore"):
        size = np.where(known, np.floor(np.log10(np.abs(np.where(known, v, 1.0)))), 0)
    places = digits - 1 - size
    # one of them is a whole power of ten, so that what comes out is the nearest to the decimal
    up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    out = np.rint(np.nan_to_num(v) * up / down) / up * down
    if np.isfinite(v).all() and (out == np.rint(out)).all() and (np.abs(out) < 1e15).all():
        whole_numbers: list[Number] = out.astype(np.int64).tolist()
        return whole_numbers
    whole = (out == np.rint(out)) & (np.abs(out) < 1e15)
    missing = np.isnan(v)
    return [
        None if no else int(x) if w else x
        for x, w, no in zip(out.tolist(), whole.tolist(), missing.tolist(), strict=True)
    ]


def faithful(values: ArrayLike, digits: int) -> list[Number]:
    """`significant`, but whole where that is a tie at the SHOWN digits of a report: rounded again it may print another number."""
    v = np.asarray(values, dtype=np.float64)
    out = significant(v, digits)
    near = np.abs(np.array(out, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        last = near / 10 ** (np.floor(np.log10(near)) - (SHOWN - 1))
        ties = np.flatnonzero(np.abs(last - np.floor(last) - 0.5) < 1e-6)
    for i in ties.tolist():
        out[i] = float(v[i])
    return out


MAX_PERCENT = 1e15  # of nonsense: in tenths a whole number still holds it


def tenths(percent: ArrayLike) -> Indices:
    """An array of percentages in tenths, rounded as they are written elsewhere: 70.55 is a little less, and becomes 705."""
    v = np.clip(np.nan_to_num(np.asarray(percent, dtype=np.float64)), -MAX_PERCENT, MAX_PERCENT)
    out = np.rint(v * 10).astype(np.int64)
    for i in np.flatnonzero(np.abs(np.abs(v * 10 - np.floor(v * 10)) - 0.5) < 1e-6).tolist():
        out[i] = round(float(f"{v[i]:.1f}") * 10)
    return out
