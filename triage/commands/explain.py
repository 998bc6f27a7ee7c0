"""`triage explain`: what a rule, metric or term means; with --on FILE: why a rule speaks there, or why not."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _known, _types
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from triage.products.settings import Settings
    from triage.rulebook.packs import Rulebook


@click.command()
@click.argument("name", type=_types.Text(_known.names), metavar="RULE|CAUSE|METRIC|TERM")
@click.option(
    "--on",
    type=_types.Capture(),
    metavar="FILE",
    help="Show each condition of the rule with its value on this export's longest workloads.",
)
@_common.settings(_common.reading, _common.knowledge)
def command(name: str, on: str | None, settings: Settings) -> int:
    """Explain a rule (id or name), a cause, a metric id or a word of the reports.

    With --on FILE: the rule's conditions one by one, with the values of the five workloads that take the most time;
    --marker GLOB chooses others. `guide` stands for NVIDIA's Compute Triage Guide: its checks, answered for these workloads.
    """
    from triage import schema
    from triage.files import writing
    from triage.ground import glossary

    # experimental rules are explained too: a report may have been made with --experimental
    settings = replace(settings, select=(), ignore=(), experimental=settings.experimental or not on)
    book = settings.rulebook()
    rule = book.find(name)
    with writing.sink(None) as write:
        if name.lower() == "guide":
            from triage.commands import _guide
            from triage.diagnosis.diagnose import Diagnostician

            doctor = Diagnostician(book, settings.method, settings.engine)
            write(_guide.way(settings.read(on), doctor) if on else _guide.listing(book))
        elif on:
            if rule is None:
                known = schema.known(name) or glossary.find(name)
                raise TriageError(
                    f"--on explains rules; {name!r} is " + ("none" if not known else "a metric or term"),
                    "see: triage list rules",
                )
            from triage.commands import _why
            from triage.diagnosis.diagnose import Diagnostician

            doctor = Diagnostician(book, settings.method, settings.engine)
            write(_why.why(rule, settings.read(on), doctor, settings.method))
        else:
            write(text_of(name, book))
    return 0


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
