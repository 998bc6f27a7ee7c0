"""Every text of a rule that people read, and the numbers in it: thresholds in force and numbers of the method."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from triage.ground.method import in_words
from triage.ground.phrasing import FIELD, as_written, fill
from triage.rulebook.rule import Rule, reached


def mapped(rule: Rule, change: Callable[[str, str], str]) -> Rule:
    """The rule with `change(key of the file, text)` applied to each of its texts."""
    gain = rule.gain
    return replace(
        rule,
        title=change("title", rule.title),
        summary=change("summary", rule.summary),
        thresholds={n: replace(t, why=change("thresholds", t.why)) for n, t in rule.thresholds.items()},
        labels={name: change("let", label) for name, label in rule.labels.items()},
        finding=change("finding", rule.finding),
        rules_out=change("rules_out", rule.rules_out),
        gain=gain and replace(gain, because=change("gain", gain.because)),
        advice=tuple(replace(a, text=change("advice", a.text)) for a in rule.advice),
        verify=change("verify", rule.verify),
        caveats=tuple(replace(c, text=change("caveats", c.text)) for c in rule.caveats),
        tell_apart=tuple(replace(t, how=change("tell_apart", t.how)) for t in rule.tell_apart),
    )


def texts(rule: Rule) -> list[tuple[str, str]]:
    """(key of the file, text as written) of all its texts, empty ones left out."""
    found: list[tuple[str, str]] = []

    def note(key: str, text: str) -> str:
        found.append((key, text))
        return text

    mapped(rule.written or rule, note)
    return [(key, text) for key, text in found if text]


def used(rule: Rule) -> set[str]:
    """Thresholds, lets and metrics that its conditions, gain, advice and sentences read, also through lets."""
    named = [n for w in rule.when.values() for c in w.conditions for n in c.names]
    named += [n for e in (rule.gain.expressions if rule.gain else ()) for n in e.names]
    named += [n for a in rule.advice if a.only_if for n in a.only_if.names]
    named += [m[1] for key, text in texts(rule) if key != "thresholds" for m in FIELD.finditer(text)]
    return reached(rule, named)


def with_numbers(rule: Rule, method: str) -> Rule:
    """The rule with `{threshold}` and `{number of the method}` filled into its texts, as they are in force; the rest stays."""
    written = rule.written or rule
    chosen = {t.name: as_written(rule.threshold(t.name, method), t.unit) for t in rule.thresholds.values()}
    # a formula of the rule's own hides a number of the method of that name
    words = {name: word for name, word in {**in_words(method), **chosen}.items() if name not in rule.let}
    filled = mapped(replace(written, overrides=rule.overrides), lambda _, text: fill(text, words))
    return replace(filled, written=written)
