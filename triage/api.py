"""The public Python API: read, diagnose, explain."""

from __future__ import annotations

import hashlib
import html
import pickle
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triage.capture.capture import Capture
from triage.diagnosis import diagnosis_result
from triage.dialects import Options
from triage.document.bundle import Bundle
from triage.document.entries import ItemEntry, Result
from triage.findings.finding_types import Finding
from triage.ground.method import LATEST
from triage.ground.phrasing import percent
from triage.ground.units import show

if TYPE_CHECKING:
    import pandas as pd

    from triage.diagnosis.diagnosing import Diagnoser
    from triage.findings.assembling import Listing

MAX_CACHED_DIAGNOSERS = 4  # compiled rulebooks that are kept for the next call
_DIAGNOSERS: dict[tuple[str, str, bytes], Diagnoser] = {}
_CACHE_LOCK = threading.Lock()


class TodoList(list[ItemEntry]):
    """Items of a to-do list as plain data, of which the prompt shows a line each."""

    def __repr__(self) -> str:
        lines = []
        for i in self:
            saved = show(i["saved_ns"], "ns") if i["saved_ns"] is not None else percent(i["fraction"])
            lines.append(f"{i['rank']}. {i['title']}: {saved} in {', '.join(name[:40] for name in i['names'][:2])}")
        return "\n".join(lines) or "nothing to do"


class Diagnosis(diagnosis_result.Diagnosis, dict=True):
    """A diagnosis with conveniences for the prompt and notebooks.

    `todo` is the to-do list, `verdicts` the time per verdict; `save("x.html")` writes a report. Iterate `findings`; `to_dict()` is
    the JSON result, `to_frame()` a pandas table; a notebook shows the page.
    """

    @classmethod
    def from_judged(cls, judged: diagnosis_result.Diagnosis) -> Diagnosis:
        """The same diagnosis, with the conveniences."""
        return cls(**{name: getattr(judged, name) for name in judged.__struct_fields__})

    @property
    def findings(self) -> list[Finding]:
        """Findings in rank order; raises BadCapture when an input changed since it was read."""
        return self._listing.findings

    @cached_property
    def _listing(self) -> Listing:
        from triage.findings.assembling import listing

        return listing(self)

    @property
    def todo(self) -> TodoList:
        """The to-do list: one item per root cause, largest saving first, as the JSON result has it."""
        return TodoList(self.bundle.todo)

    @property
    def verdicts(self) -> dict[str, float]:
        """Time in ns per verdict: fix, suspect, not-diagnosed, at-limit, in a trace idle-to-fix and idle; {} without times."""
        from triage.document.time_shares import time_by_verdict

        return {v["verdict"]: v["ns"] for v in time_by_verdict(self.bundle.view)}

    def save(self, path: str | Path, form: str = "", *, full: bool = False) -> Path:
        """Write a report in any format of `triage list formats`, by default what the name ends in. Returns the path.

        full: everything, in formats that are short by default. Raises ReportError where it cannot be written.
        """
        from triage.files import writing
        from triage.rendering import formats

        form = form or formats.by_ending(str(path))
        formats.template(form)  # refuse an unknown one before a file is made
        with writing.sink(str(path)) as write:
            formats.render(self.bundle, form, write, full=full)
        return Path(path)

    @cached_property
    def bundle(self) -> Bundle:
        """All that a report shows, as plain data for `triage.rendering`. Raises what `findings` raises."""
        from triage.findings.assembling import bundle

        return bundle(self, self._listing)

    def to_dict(self) -> Result:
        """The JSON result (schema triage/1) as plain data."""
        return self.bundle.document

    def to_frame(self) -> pd.DataFrame:
        """One row per finding under finding_rows.COLUMNS."""
        import pandas as pd

        from triage.document.finding_rows import COLUMNS

        return pd.DataFrame(self.bundle.rows, columns=list(COLUMNS))

    def _repr_html_(self) -> str:
        """The head of the HTML report in a frame of its own, without script; the whole page: `triage diagnose -o x.html`."""
        # imported here: findings alone load no report
        from triage.ground.terminology import speaking
        from triage.rendering import declared, templates

        parts: list[str] = []
        with speaking(self.bundle.item, self.bundle.whose, bool(self.bundle.head["frame"]["timeline"])):
            templates.report(self.bundle, declared.templates()["html"], parts.append, trusted=True, brief=True)
        # quotes too, or a name would end the attribute that the whole page stands in
        page = html.escape("".join(parts))
        style = "width:100%;height:640px;border:1px solid #8884"
        # an empty sandbox: nothing in it runs or reaches the notebook; links to sources open beside it
        return f'<iframe style="{style}" sandbox="allow-popups" srcdoc="{page}"></iframe>'


def read(
    path: str | Path, *, dialect: str = "", device: str = "", marker: str = "", mapping: dict[str, str] | None = None
) -> Capture:
    """Read one profiler export into a Capture. Raises CaptureError with one clear line for anything unusable.

    dialect: name of a reader instead of detection. device: GPU name or architecture for exports that do not say.
    marker: glob over workload names and paths. mapping: foreign column -> canonical metric.
    """
    from triage.reading import reader

    return reader.read(str(path), dialect=dialect, device=device, marker=marker, options=Options(mapping=mapping or {}))


def diagnose(
    captures: str | Path | Capture | Sequence[str | Path | Capture],
    *,
    method: str = LATEST,
    engine: str = "",
    top: int | None = None,
    min_gain: float = 0.0,
    rules: str | Path | Sequence[str | Path] = (),
    device: str = "",
) -> Diagnosis:
    """Diagnose captures (paths or what `read` returned) together.

    method: P3 revision, "v1" or "v2". engine: "durable", "clips", "" for the first that loads. top: items of the
    to-do list to keep, with their findings. min_gain: minimum saving of an item, a share of the frame (0-1). rules: further rule files or folders.
    Raises CaptureError for an input, RuleError for a rule, TriageError for an engine that cannot be used.
    """
    from triage.diagnosis.diagnosing import Diagnoser
    from triage.reading import duplicate_captures, join
    from triage.rulebook import packs

    given = [captures] if isinstance(captures, str | Path | Capture) else list(captures)
    # a Capture has its device already; `device` is for the paths
    read_all = [c if isinstance(c, Capture) else read(c, device=device) for c in given]
    # one string is one path, not a sequence of letters
    folders = [rules] if isinstance(rules, str | Path) else rules
    # the same book as the command line has: experimental rules stay out
    book = packs.select(packs.load([Path(r) for r in folders]))
    with _CACHE_LOCK:
        # compiled rules hold megabytes that no engine frees, so they are compiled once
        key = (method, engine, hashlib.sha256(pickle.dumps(book)).digest() if folders else b"")
        diagnoser = _DIAGNOSERS.pop(key, None) or Diagnoser(book, method, engine)
        _DIAGNOSERS[key] = diagnoser
        while len(_DIAGNOSERS) > MAX_CACHED_DIAGNOSERS:
            del _DIAGNOSERS[next(iter(_DIAGNOSERS))]
        return Diagnosis.from_judged(
            diagnoser.diagnose(join.joined(duplicate_captures.distinct(read_all)), top, min_gain)
        )


def explain(name: str) -> dict[str, Any]:
    """Meaning of a rule (id or name) or metric id, as plain data. Raises KeyError for an unknown name."""
    from triage import schema
    from triage.rulebook import packs

    if schema.known(name):
        m = schema.get(name)
        return {"metric": m.id, "unit": m.unit, "label": m.label, "meaning": m.meaning, "aliases": list(m.aliases)}
    rule = packs.load().find(name)
    if rule is None:
        raise KeyError(name)
    return {
        "rule": rule.id,
        "name": rule.name,
        "title": rule.title,
        "summary": rule.summary,
        "advice": [a.text for a in rule.advice],
    }
