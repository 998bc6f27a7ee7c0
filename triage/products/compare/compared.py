"""`triage.compare`: a comparison for the prompt and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from triage import api
from triage.capture.capture import Capture
from triage.files import writing
from triage.ground.method import LATEST
from triage.ground.phrasing import plural
from triage.products.compare import compare_report, comparing
from triage.products.compare.compare_headline import headline, noun, verdict
from triage.products.compare.compare_result import Comparison, Paired
from triage.products.noise import FLOOR, verdict_word
from triage.rendering.formats import by_ending

Side = api.Diagnosis | str | Path | Capture | Sequence[str | Path | Capture]


class Compared:
    """Two sides of a change. `verdict`, `headline`, `pairs`; `to_dict()` is the JSON result (triage-compare/1), `save()` a report."""

    def __init__(self, doc: Comparison) -> None:
        self._doc = doc

    @property
    def verdict(self) -> str:
        """faster, slower, unchanged or inconclusive: of the whole, per unit of work where the amounts differ."""
        return verdict_word(verdict(self._doc))

    @property
    def headline(self) -> str:
        """Times before and after, the change, and the verdicts counted."""
        return headline(self._doc)

    @property
    def pairs(self) -> list[Paired]:
        """Workloads of both sides as plain data, each with its verdict, interval and counters."""
        return self._doc["pairs"]

    def to_dict(self) -> Comparison:
        """The JSON result as plain data."""
        return self._doc

    def save(self, path: str | Path, form: str = "", *, full: bool = False) -> Path:
        """Write a report: terminal, markdown, html, json or junit; by default what the name ends in. Returns the path.

        full: all pairs and counters. Raises ReportError where it cannot be written.
        """
        text = compare_report.render(self._doc, form or by_ending(str(path), compare_report.FORMATS), full)
        with writing.sink(str(path)) as write:
            write(text)
        return Path(path)

    def __repr__(self) -> str:
        count = plural(len(self.pairs), f"{noun(self._doc)} pair")
        return f"<Compared: {self.verdict}, {count}; {self.headline}>"


def compare(
    before: Side,
    after: Side,
    *,
    noise: float = FLOOR,
    margin: float | None = None,
    method: str = LATEST,
    device: str = "",
) -> Compared:
    """Compare captures before and after a change: paths, captures or diagnoses; several of a side are repeats.

    noise: smallest relative difference that counts. margin: difference that `unchanged` excludes. device: GPU of exports that
    do not name it. Raises what `triage.diagnose` raises, and TriageError where the sides have nothing in common.
    """

    def side(given: Side) -> api.Diagnosis:
        return given if isinstance(given, api.Diagnosis) else api.diagnose(given, method=method, device=device)

    return Compared(comparing.compare(side(before), side(after), noise, margin=margin))
