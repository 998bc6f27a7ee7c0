"""`triage explain`: what a rule, metric or term means; with --on FILE: why a rule speaks there, or what speaks of a marker."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _known, _types
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from triage.capture.capture import Capture
    from triage.products.settings import Settings
    from triage.rulebook.packs import Rulebook


@click.command()
@click.argument("name", type=_types.Text(_known.names), metavar="RULE|CAUSE|METRIC|TERM|MARKER")
@click.option(
    "--on",
    type=_types.Capture(),
    metavar="FILE",
    help="Show each condition of the rule with its value on this export's longest workloads, or all that is known of a marker.",
)
@_common.settings(_common.reading, _common.knowledge)
def command(name: str, on: str | None, settings: Settings) -> int:
    """Explain a rule (id or name), a cause, a metric id or a word of the reports.

    With --on FILE and a rule: its conditions one by one, with the values of the five workloads that take the most time;
    --marker GLOB chooses others. With --on FILE and a marker or kernel (its name, path, pattern or id): what leads it, every
    rule that speaks of it with its cells, those that nearly do, and those that lack a counter. `guide` stands for NVIDIA's Compute Triage Guide: its checks, answered for these workloads.
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
    """Why a rule speaks on a capture, or what is known of a marker there, as text; raises TriageError for neither."""
    from triage import schema
    from triage.commands import _marker, _why
    from triage.diagnosis.diagnosing import Diagnoser
    from triage.ground import glossary

    doctor = Diagnoser(book, settings.method, settings.engine)
    if rule := book.find(name):
        return _why.why(rule, capture, doctor, settings.method)
    rows = _marker.find(name, capture)
    if not len(rows):
        known = schema.known(name) or glossary.find(name) or name.lower() in book.causes
        raise TriageError(
            f"no rule and no marker of {path} is called {name!r}"
            + (", which is a word: ask without a capture" if known else ""),
            _close(name, capture.names) or "see: triage list rules, or triage facts FILE",
        )
    return _marker.about(rows, capture, doctor)


def text_of(name: str, book: Rulebook) -> str:
    """What a rule, cause, metric, concept or term means, as text; raises TriageError with the likely one."""
    from triage import schema
    from triage.commands import _describe
    from triage.ground import glossary

    rule = book.find(name)
    if rule is not None or name.lower() in book.causes:
        # a rule and the cause it speaks for may share a name: both are explained
        texts = [_describe.rule_text(rule, book)] if rule else []
        if name.lower() in book.causes:
            texts.append(_describe.cause_text(book.causes[name.lower()], book))
        return "\n".join(texts)
    if schema.known(name.lower()):
        return _describe.metric_text(name.lower(), book)
    # a word that is both, such as `occupancy`, is explained as the term
    if metric := schema.by_alias().get(schema.normal(name)) if glossary.find(name) is None else None:
        return _describe.metric_text(metric, book)
    if concept := [r for r in book.rules if name.lower() in r.concludes]:
        return "\n".join(_describe.rule_text(r, book) for r in concept)
    if entry := glossary.find(name):
        return _describe.term_text(entry)
    raise TriageError(f"no rule, cause, metric or term is called {name!r}", _hint(name, book))


def _close(name: str, names: Iterable[object]) -> str:
    """Markers that are called nearly so."""
    known = {str(n).lower(): str(n) for n in names}
    found = difflib.get_close_matches(name.lower().rpartition("/")[2], list(known)[:20_000], 2, 0.6)
    return "did you mean " + ", ".join(repr(known[n]) for n in found) + "?" if found else ""


def _hint(name: str, book: Rulebook) -> str:
    from triage import schema
    from triage.ground import glossary

    words = [w for r in book.rules for w in (r.id, r.name)] + [c for r in book.rules for c in r.concludes]
    words += book.causes
    spelled = {w.lower(): w for w in words}
    close = [spelled[w] for w in difflib.get_close_matches(name.lower(), list(spelled), 2, 0.6)]
    close += schema.close(name)[:2] + glossary.close(name)[:2]
    return (
        "did you mean " + ", ".join(repr(c) for c in dict.fromkeys(close)) + "?"
        if close
        else "see: triage list rules|causes|metrics|terms"
    )
