"""A rule, cause, metric or term as plain text, 80 columns: what `triage explain` prints."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from triage.ground.phrasing import as_written, first_of
from triage.rulebook.applies import describe

if TYPE_CHECKING:
    from triage.ground.glossary import Entry
    from triage.rulebook.cause import Cause
    from triage.rulebook.packs import Rulebook
    from triage.rulebook.rule import Advice, GainModel, Rule, Threshold, When

WIDTH = 80
MAX_NAMES = 6  # names of a metric listed per tool


def wrap(text: str, first: str = "", rest: str | None = None) -> str:
    """Text wrapped at 80 columns with a first and a hanging indent; long words (addresses, names) are never broken."""
    lead = " " * len(first) if rest is None else rest
    return textwrap.fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent=first,
        subsequent_indent=lead,
        break_long_words=False,
        break_on_hyphens=False,
    )


def block(title: str, lines: Iterable[str]) -> list[str]:
    """A heading and its lines, empty ones left out; nothing without lines."""
    body = [line for line in lines if line]
    return ["", title, *body] if body else []


def quantity(t: Threshold) -> str:
    """The value of a threshold; both values where the revisions differ."""
    values = {m: as_written(v, t.unit) for m, v in t.values.items()}
    alike = len(set(values.values())) == 1
    return next(iter(values.values())) if alike else ", ".join(f"{v} ({m})" for m, v in values.items())


def source(rule: Rule, t: Threshold) -> str:
    """The reason for a threshold and its source; `heuristic` without a source."""
    cite = next((c.text for c in rule.cites if c.key == t.cite), "")
    return "; ".join(x for x in (t.why, f"source: {cite}") if x) if cite else f"heuristic: {t.why}"


def conditions(when: When) -> list[str]:
    """The conditions of one revision, one per line."""
    lines = [wrap(g, "  given    ") for g in when.given]
    lines += [wrap(c.text, "  all of   ") for c in when.all_of]
    return lines + [wrap(c.text, "  any of   ") for c in when.any_of]


def _advice(a: Advice) -> list[str]:
    lines = [wrap(a.text, "  - ")]
    if a.only_if:
        lines.append(wrap(f"only if {a.only_if.text}", "    "))
    if a.where:
        lines.append(wrap(f"for {describe(a.where)}", "    "))
    return lines + [f"      {line}" for line in a.code.splitlines()]


def rule_text(rule: Rule, book: Rulebook) -> str:
    """The whole content of a rule file, for people."""
    kind = "derived fact" if rule.is_concept else "rule"
    only = "" if len(rule.methods) > 1 else f", method {rule.methods[0]} only"
    out = [
        wrap(f"{rule.id} {rule.name} - {rule.title}"),
        wrap(f"{kind} of pack {rule.pack}, {rule.status} since {rule.since}, scope {rule.scope}{only}"),
        wrap(f"applies to: {describe(rule.applies)}"),
    ]
    if rule.summary:
        out += ["", wrap(rule.summary)]
    out += block("Finding", [wrap(rule.finding, "  ")])
    texts = {m: conditions(w) for m, w in rule.when.items()}
    if len({tuple(v) for v in texts.values()}) == 1:
        out += block("Conditions", next(iter(texts.values())))
    else:
        for method, lines in texts.items():
            out += block(f"Conditions (method {method})", lines)
    out += block("Definitions", [wrap(e.text, f"  {name} = ", "      ") for name, e in rule.let.items()])
    lines = [wrap(source(rule, t), f"  {t.name} = {quantity(t)}: ", "      ") for t in rule.thresholds.values()]
    out += block("Thresholds", lines)
    read = (("needs", rule.needs), ("uses", rule.uses))
    out += block("Metrics", [wrap(", ".join(metrics), f"  {how:9}") for how, metrics in read if metrics])
    if rule.gain:
        lines = [*_gain(rule.gain), wrap(f"{rule.gain.because} (confidence: {rule.gain.confidence})", "  because  ")]
        out += block("Saving (fraction of the time)", lines)
    out += block("Advice", [line for a in rule.advice for line in _advice(a)])
    out += block("Verify", [wrap(rule.verify, "  ")])
    caveats = [c.text + (f" ({describe(c.where)})" if c.where else "") for c in rule.caveats]
    out += block("Caveats", [wrap(text, "  - ") for text in caveats])
    out += block("Tell apart", [wrap(f"{t.rule}, by {t.by}: {t.how}", "  - ") for t in rule.tell_apart])
    out += block("Root cause", [wrap(rule.cause, "  ")])
    out += block("Infers", [wrap(", ".join(rule.concludes), "  ")])
    out += block("Overruled by", [wrap(", ".join(rule.overruled_by), "  ")])
    used = [r.id for r in book.rules if any(set(w.given) & {rule.name, *rule.concludes} for w in r.when.values())]
    out += block("Given to", [wrap(", ".join(used), "  ")])
    out += block("Sources", [wrap(f"{c.text}{' <' + c.url + '>' if c.url else ''}", "  - ") for c in rule.cites])
    return "\n".join(out) + "\n"


def _gain(g: GainModel) -> Iterator[str]:
    """The effect of a fix as the rule states it, one line per part of the saving."""
    for d in g.remains:
        best = f" (at best {d.best.text})" if d.best is not d.likely else ""
        if d.likely.text == "1":
            yield wrap(f"{d.unit}: {d.best.text} of its demand at best", "  remains  ", "           ")
        else:
            yield wrap(f"{d.unit}: {d.likely.text} of its demand{best}", "  remains  ", "           ")
    if g.time is not None:
        yield wrap(g.time.text, "  likely   ")
    if g.best is not None:
        yield wrap(g.best.text, "  bound    ")
    if g.sure:
        yield wrap(f"{g.sure:.0%} of the likely saving", "  low      ")
    if g.ends:
        idle = {"start": "start-up and drain", "uneven": "idle time of SMs that finish early"}
        yield wrap(" and ".join(idle[e] for e in g.ends), "  removes  ")
    at = f", at {g.reach:.0%} of their peak" if g.reach else ""
    yield wrap(f"by the units that stay busy{at}", "  limited  ")


def cause_text(cause: Cause, book: Rulebook) -> str:
    """A cause for people: meaning, effects, causes behind it, rules that name it, advice, sources."""
    out = [wrap(f"{cause.id} - {cause.title}"), wrap(f"cause of family {cause.family}"), "", wrap(cause.meaning)]
    links = [e.cause + (f" (where {e.when.text})" if e.when else "") for e in cause.explains]
    out += block("Leads to", [wrap(", ".join(links), "  ")])
    by = [c.id for c in book.causes.values() if any(e.cause == cause.id for e in c.explains)]
    out += block("Caused by", [wrap(", ".join(by), "  ")])
    out += block("Rules", [wrap(f"{r.id} {r.name}: {r.title}", "  - ") for r in book.rules if r.cause == cause.id])
    out += block("Deciding metrics", [wrap(", ".join(cause.decides), "  ")])
    out += block("Confused with", [wrap(f"{x.cause}, by {x.by}: {x.how}", "  - ") for x in cause.confused_with])
    out += block("Advice", [line for a in cause.advice for line in _advice(a)])
    out += block("Sources", [wrap(f"{c.text}{' <' + c.url + '>' if c.url else ''}", "  - ") for c in cause.cites])
    return "\n".join(out) + "\n"


@cache
def exported_as() -> dict[str, dict[str, list[str]]]:
    """metric -> dialect -> names in that tool."""
    from triage import dialects

    out: dict[str, dict[str, list[str]]] = {}
    for name, d in dialects.dialects().items():
        for metric, names in d.names().items():
            out.setdefault(metric, {})[name] = list(dict.fromkeys(names))
    return out


def better(word: str) -> str:
    """`better` of a metric in words."""
    return {"high": "higher is better", "low": "lower is better"}.get(word, "neither high nor low is better")


def metric_text(metric: str, book: Rulebook) -> str:
    """A metric for people: unit, meaning, formula, names in tools, rules that use it."""
    from triage import schema
    from triage.derive import derivations
    from triage.rulebook.rule import reads

    m = schema.get(metric)
    out = [
        wrap(f"{m.id} - {m.label}"),
        wrap(f"metric in {m.unit}, {better(m.better)}" + ("; additive over repeats" if m.additive else "")),
        "",
        wrap(m.meaning + "."),
    ]
    if d := derivations().get(metric):
        inputs = ", ".join((*d.inputs, *d.optional)[:12])
        lines = [wrap(d.formula, "  = "), wrap(f"from {inputs}", "  ") if inputs else ""]
        out += block("Computed if not exported", lines)
    out += block("Other names", [wrap(a, "  ") for a in m.aliases])
    tools = exported_as().get(metric, {})
    # the generic table knows every metric by its own name, which is not a tool's
    named = ((tool, first_of(n, MAX_NAMES, " and ")) for tool, n in sorted(tools.items()) if tool != "generic")
    out += block("Exported by", [wrap(names, f"  {tool}: ", "      ") for tool, names in named])
    readers = [
        f"{r.id} {r.name}"
        for r in book.rules
        if metric in {*r.needs, *r.uses, *(x for w in r.when.values() for c in w.conditions for x in reads(r, c.names))}
    ]
    out += block("Used by", [f"  {r}" for r in readers])
    return "\n".join(out) + "\n"


def term_text(entry: Entry) -> str:
    """A glossary entry."""
    out = [entry.term, "", wrap(entry.meaning)]
    out += block("Names", [wrap(names, f"  {who}: ") for who, names in entry.names])
    out += block("See also", [wrap(", ".join(entry.see), "  ")])
    out += block("Sources", [wrap(f"{text}{' <' + url + '>' if url else ''}", "  - ") for text, url in entry.cites])
    return "\n".join(out) + "\n"
