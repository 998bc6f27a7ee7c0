"""The section `unweighed` of a rule file, as a rule of its own.

A rule asks what was wasted and what that weighs (busy units, stalls). Where the waste was counted and nothing of its weight
was collected, it is a suspect. The section says under which id and with what gain; all else is the file's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from triage import schema
from triage.files import strict_yaml
from triage.ground.errors import RuleError
from triage.ground.method import LATEST
from triage.ground.phrasing import FIELD, either, lower_first
from triage.rulebook.reference import meant, meant_metric
from triage.rulebook.rule import Rule, reads
from triage.rulebook.texts import used, with_numbers

SECTION = "unweighed"
_NEEDED = ("id", "weight", "gain")
_MAY = "title summary applies needs uses thresholds let when concludes overruled_by finding advice verify caveats tests".split()
_ALONE = (SECTION, "path", "rules_out", "tests")  # keys of the file that are about its own rule


def file_of(d: strict_yaml.Mapping, rule: Rule, tests: bool) -> strict_yaml.Mapping:
    """The suspect's file, had one been written. d: the file of `rule`. tests: keep those. Raises RuleError."""
    section = _checked(d, rule)
    weight = _weight(section)
    whens = {
        method: {
            "given": list(w.given),
            "all": [*(c.text for c in w.all_of if not _weighs(rule, c.names, weight)), SECTION],
            "any": [c.text for c in w.any_of if not _weighs(rule, c.names, weight)],
        }
        for method, w in rule.when.items()
    }
    labels = either(schema.get(m).label for m in weight)
    out = strict_yaml.Mapping({
        **{k: v for k, v in d.items() if k not in _ALONE},
        "title": f"Suspected {lower_first(str(d['title']))}",
        "summary": f"{d.get('summary', '')} For captures without {labels}: what it costs is unknown.",
        "finding": f"{d['finding']} What that costs was not measured.",
        "needs": [m for m in rule.needs if m not in weight],
        "when": whens,
        **{k: v for k, v in section.items() if k != "weight" and (tests or k != "tests")},
        "name": f"{rule.name}-{SECTION}",
        "cause": rule.cause,
        "uses": [*rule.uses, *weight, *(section.get("uses") or ())],
        "overruled_by": [*rule.overruled_by, *(section.get("overruled_by") or ()), rule.name],
        "thresholds": {**(d.get("thresholds") or {}), **(section.get("thresholds") or {})},
        "let": {
            **(d.get("let") or {}),
            **(section.get("let") or {}),
            SECTION: {"is": f"0 * ({' or '.join(weight)}) or 1", "label": "No weight measured"},
        },
    })  # fmt: skip
    out["gain"]["evidence"] = "rate"
    out.line, out.lines = section.line, {**d.lines, **section.lines}
    for name, _ in FIELD.findall(re.sub(r"\[\[.*?\]\]", "", str(out["finding"]))):
        if _weighs(rule, [name], weight):
            raise _wrong(
                d, rule, "finding", f"finding: {{{name}}} is of the weight, which was not collected", "leave it out"
            )
    return out


def _checked(d: strict_yaml.Mapping, rule: Rule) -> strict_yaml.Mapping:
    section = d[SECTION]
    if not isinstance(section, strict_yaml.Mapping) or rule.is_concept:
        raise _wrong(d, rule, "", f"a mapping of {', '.join(_NEEDED)} and what differs, of a rule with a finding")
    if unknown := [k for k in section if k not in (*_NEEDED, *_MAY)]:
        raise _wrong(d, rule, unknown[0], f"unknown key {unknown[0]!r}", meant(unknown[0], (*_NEEDED, *_MAY)))
    if absent := [k for k in _NEEDED if not section.get(k)]:
        raise _wrong(d, rule, "id", f"`{absent[0]}` is missing", f"add `{absent[0]}:`")
    weight = _weight(section)
    if strange := [m for m in weight if not schema.known(m)]:
        raise _wrong(d, rule, "weight", f"weight: {strange[0]!r} is not a metric", meant_metric(strange[0]))
    asked = [c for w in rule.when.values() for c in w.conditions]
    heavy = [c for c in asked if _weighs(rule, c.names, weight)]
    if not heavy or (len(heavy) == len(asked) and "when" not in section):
        what = "no condition is left that reads what was counted" if heavy else f"no condition reads {either(weight)}"
        raise _wrong(d, rule, "weight", f"weight: {what}", "name the metrics that tell how much the waste costs")
    gain = section["gain"]
    if not isinstance(gain, strict_yaml.Mapping) or {"evidence", "confidence", "sure"} & gain.keys():
        raise _wrong(d, rule, "gain", "gain: the evidence of a suspect is a rate, and none of its gain is sure")
    return section


def _weight(section: strict_yaml.Mapping) -> list[str]:
    named = section["weight"]
    return [str(m) for m in (named if isinstance(named, list) else [named])]


def _weighs(rule: Rule, names: Sequence[str], weight: Sequence[str]) -> bool:
    return not reads(rule, names).isdisjoint(weight)


def _wrong(d: strict_yaml.Mapping, rule: Rule, key: str, problem: str, hint: str = "") -> RuleError:
    line = getattr(d[SECTION], "lines", {}).get(key, d.lines[SECTION])
    return RuleError(rule.file, line, f"{SECTION}: {problem}", hint)


def pruned(rule: Rule, of: str) -> Rule:
    """The rule that was read from such a file, without what only the weight needed. of: the file's own rule."""
    read = used(rule)
    kept = replace(
        rule.written or rule,
        unweighed=of,
        thresholds={name: t for name, t in rule.thresholds.items() if name in read},
        let={name: e for name, e in rule.let.items() if name in read},
        labels={name: label for name, label in rule.labels.items() if name in read},
        uses=tuple(m for m in dict.fromkeys(rule.uses) if m in read and m not in rule.needs),
    )
    return with_numbers(kept, LATEST)
