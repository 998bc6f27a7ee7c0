"""`triage explain`: a rule, cause, metric or term; with --on FILE: a rule, cause or marker with the values of a capture."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from triage.commands import _common, _completion, _types
from triage.commands._help import Command
from triage.ground.errors import TriageError
from triage.ground.phrasing import did_you_mean

if TYPE_CHECKING:
    from triage.capture.capture import Capture
    from triage.products.settings import Settings
    from triage.rulebook.cause import Cause
    from triage.rulebook.packs import Rulebook


@click.command(cls=Command)
@click.argument("name", type=_types.Text(_completion.names), metavar="RULE|CAUSE|METRIC|TERM|MARKER")
@click.option(
    "--on",
    type=_types.Capture(),
    metavar="FILE",
    help="Explain a rule, a cause or a marker with the values of this capture.",
)
@_common.settings(_common.reading, _common.knowledge)
def command(name: str, on: str | None, settings: Settings) -> int:
    """Explain a rule (id or name), a cause (id or title), a metric or a term of the reports.

    With --on FILE and a rule: its conditions, with the values of the five longest workloads; --marker GLOB selects
    others. With --on FILE and a cause: why, or why not, by which number, or which counter is missing. With --on FILE and a marker or kernel (name, path, pattern or id): its root cause, findings with source
    cells, near misses, and rules with missing counters. `guide`: the checks of NVIDIA's Compute Triage Guide.
    """
    from triage.files import writing

    # experimental rules are explained too: a report may have been made with --experimental
    settings = replace(settings, select=(), ignore=(), experimental=settings.experimental or not on)
    book = settings.rulebook()
    with writing.sink(None) as write:
        if name.lower() == "guide":
            from triage.commands import _guide
            from triage.diagnosis.diagnosing import Diagnoser

            doctor = Diagnoser(book, settings.method, settings.engine)
            write(_guide.way(settings.read(on), doctor) if on else _guide.listing(book))
        elif on:
            write(text_on(name, settings.read(on), on, settings, book))
        else:
            write(text_of(name, book))
    return 0


def text_on(name: str, capture: Capture, path: str, settings: Settings, book: Rulebook) -> str:
    """A rule, a cause or a marker with the values of a capture, as text; raises TriageError for other names."""
    from triage import schema
    from triage.commands import _explain_cause, _explain_marker, _explain_rule
    from triage.diagnosis.diagnosing import Diagnoser
    from triage.ground import glossary

    doctor = Diagnoser(book, settings.method, settings.engine)
    rule, cause = book.find(name), _cause(name, book)
    if cause and name.lower() == cause.id:
        text = _explain_cause.explain_cause(cause, capture, doctor)
        return text + ("\n" + _explain_rule.explain_rule(rule, capture, doctor, settings.method) if rule else "")
    if rule:
        return _explain_rule.explain_rule(rule, capture, doctor, settings.method)
    rows = _explain_marker.find(name, capture)
    if len(rows):
        return _explain_marker.explain_workloads(rows, capture, doctor)
    if cause:
        return _explain_cause.explain_cause(cause, capture, doctor)
    if schema.known(name) or glossary.find(name):
        raise TriageError(f"{name!r}: a term, not a rule or marker of {path}", "remove --on")
    hint = did_you_mean(_similar(name, capture.names), f"see: triage list rules, or triage facts {path}")
    raise TriageError(f"unknown rule or marker {name!r} in {path}", hint)


def text_of(name: str, book: Rulebook) -> str:
    """The meaning of a rule, cause, metric, derived fact or term, as text; raises TriageError with similar names."""
    from triage import schema
    from triage.commands import _describe
    from triage.ground import glossary

    rule, cause = book.find(name), _cause(name, book)
    if rule or cause:
        # a rule and its cause may share a name: both are explained
        texts = [_describe.rule_text(rule, book)] if rule else []
        return "\n".join([*texts, *([_describe.cause_text(cause, book)] if cause else [])])
    if schema.known(name.lower()):
        return _describe.metric_text(name.lower(), book)
    # a name of both, such as `occupancy`, is explained as the term
    if metric := schema.by_alias().get(schema.normal(name)) if glossary.find(name) is None else None:
        return _describe.metric_text(metric, book)
    if makers := [r for r in book.rules if name.lower() in r.concludes]:
        return "\n".join(_describe.rule_text(r, book) for r in makers)
    if entry := glossary.find(name):
        return _describe.term_text(entry)
    hint = did_you_mean(_known(name, book), "see: triage list rules (or causes, metrics, terms)")
    raise TriageError(f"unknown rule, cause, metric or term {name!r}", hint)


def _cause(name: str, book: Rulebook) -> Cause | None:
    """The cause of this id or title, in any letter case."""
    want = name.lower()
    return next((c for c in book.causes.values() if want in (c.id, c.title.lower())), None)


def _similar(name: str, names: Iterable[object]) -> list[str]:
    """Names of markers close to this one."""
    known = {str(n).lower(): str(n) for n in names}
    return [known[n] for n in difflib.get_close_matches(name.lower().rpartition("/")[2], list(known)[:20_000], 2, 0.6)]


def _known(name: str, book: Rulebook) -> list[str]:
    """Rules, causes, metrics and terms close to this name; a rule id with missing zeros first and alone."""
    from triage import schema
    from triage.ground import glossary

    short = _without_zeros(name)
    if padded := [r.id for r in book.rules if _without_zeros(r.id) == short]:
        return padded
    words = [w for r in book.rules for w in (r.id, r.name, *r.concludes)] + [*book.causes]
    spelled = {w.lower(): w for w in words}
    close = [spelled[w] for w in difflib.get_close_matches(name.lower(), list(spelled), 2, 0.6)]
    return close + schema.close(name)[:2] + glossary.close(name)[:2]


def _without_zeros(rule_id: str) -> str:
    return re.sub(r"0+(?=\d)", "", rule_id.upper())
