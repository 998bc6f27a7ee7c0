"""One rule file -> Rule.

Whatever an author can get wrong is caught when the file is read, with file:line and the next step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from triage import schema
from triage.files import strict_yaml
from triage.ground.errors import RuleError, UnknownUnit
from triage.ground.method import HEURISTICS, LATEST, NUMBERS, REVISIONS, in_words
from triage.ground.phrasing import FIELD, either
from triage.rulebook import pack, unweighed
from triage.rulebook.applies import KEYS, Applies
from triage.rulebook.applies import read as read_facts
from triage.rulebook.expression import Condition, Expression, ExpressionError, condition, value
from triage.rulebook.gain_parser import Wrong, gain_model
from triage.rulebook.reference import cites_of, meant, meant_metric
from triage.rulebook.rule import (
    PATH,
    PUBLISHERS,
    TEXT_FIELDS,
    Advice,
    Cite,
    GainModel,
    Rule,
    TellApart,
    Threshold,
    When,
    quantity,
    sources,
)
from triage.rulebook.texts import mapped, with_numbers

_KEYS = frozenset(
    """
    id name title summary status since scope methods cites needs uses thresholds let when concludes overruled_by
    rules_out finding gain advice verify caveats tell_apart tests cause applies setting path unweighed
    """.split()
)
_STATUS = ("experimental", "stable", "deprecated")
_SCOPES = ("workload", "frame")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")


def read(path: Path, tests: bool = True, shared: Callable[[Path], pack.Pack] = pack.read) -> list[Rule]:
    """The rule of a file, and its suspect where it has one; raises RuleError with file:line. shared: of its folder."""
    data = strict_yaml.load(path, skip="" if tests else "tests")
    rule = _Reader(data, path, shared(path.parent)).rule()
    if unweighed.SECTION not in data:
        return [rule]
    suspect = unweighed.file_of(data, rule, tests)
    return [rule, unweighed.pruned(_Reader(suspect, path, shared(path.parent)).rule(suspect["name"]), rule.name)]


class _Reader:
    """Turns one mapping into a Rule, naming file and line of every mistake."""

    def __init__(self, data: strict_yaml.Mapping, path: Path, shared: pack.Pack) -> None:
        self.d, self.file, self.path, self.pack = data, str(path), path, shared

    def fail(self, key: str, problem: str, hint: str = "", within: strict_yaml.Mapping | None = None) -> RuleError:
        m = within if within is not None else self.d
        # a key that is missing has no line: the error stands at the top of its mapping
        return RuleError(self.file, getattr(m, "lines", {}).get(key, self.d.line), problem, hint)

    def text(self, key: str, default: str | None = None) -> str:
        v = self.d.get(key, default)
        if v is None:
            raise self.fail(key, f"`{key}` is missing", f"add `{key}:`")
        # a title such as 404 is a number to YAML and a text to people
        if not isinstance(v, str | int | float):
            raise self.fail(key, f"`{key}` must be text")
        return " ".join(str(v).split())

    def texts(self, key: str) -> tuple[str, ...]:
        v = self.d.get(key) or []
        if isinstance(v, str):
            v = [v]
        if not isinstance(v, list) or not all(isinstance(x, str) for x in v):
            raise self.fail(key, f"`{key}` must be a list of texts")
        return tuple(" ".join(x.split()) for x in v)

    def flag(self, key: str) -> bool:
        v = self.d.get(key, False)
        if not isinstance(v, bool):
            raise self.fail(key, f"`{key}` is true or false")
        return v

    def rule(self, called: str = "") -> Rule:
        """called: a name that the file does not bear."""
        for key in self.d:
            if key not in _KEYS:
                raise self.fail(key, f"unknown key {key!r}", meant(key, sorted(_KEYS)))
        # the folder is the pack, so that a rule cannot claim to belong to another
        name, pack = self.text("name"), self.path.parent.name
        if name != (called or self.path.stem):
            raise self.fail("name", f"name {name!r} is not the file name {self.path.stem!r}", "rename one of them")
        if not _NAME.match(name):
            raise self.fail("name", f"name {name!r} is not lower-case words joined by hyphens")
        rule_id = self.text("id")
        if not re.fullmatch(r"[A-Z]{2,5}\d{3}", rule_id):
            raise self.fail("id", f"id {rule_id!r}: expected 2 to 5 capital letters and three digits, such as MEM003")
        status, scope = self.text("status", "stable"), self.text("scope", "workload")
        if status not in _STATUS:
            raise self.fail("status", f"unknown status {status!r}", f"choose {either(_STATUS)}")
        if scope not in _SCOPES:
            raise self.fail("scope", f"unknown scope {scope!r}", f"choose {either(_SCOPES)}")
        methods = self.texts("methods") or REVISIONS
        if not set(methods) <= set(REVISIONS):
            raise self.fail("methods", f"unknown method, choose {either(REVISIONS)}")
        # in the order in which they may name each other: sources, numbers, lets, conditions, sentences
        cites = cites_of(self.d, self.fail)
        thresholds = self.thresholds(cites)
        let, labels = self.let(thresholds)
        needs, uses = self.metrics("needs"), self.metrics("uses")
        self.names = {*needs, *uses, *thresholds, *let}
        when = self.when(methods)
        # after all are known: a let may use one that stands below it
        for key, e in let.items():
            self.resolve("let", e.names, set(needs) | set(uses) | set(thresholds) | set(let), key)
        rule = Rule(
            id=rule_id,
            name=name,
            pack=pack,
            title=self.text("title"),
            status=status,
            since=self.text("since", "0.1.0"),
            scope=scope,
            methods=tuple(methods),
            cites=cites,
            needs=needs,
            uses=uses,
            thresholds=thresholds,
            let=let,
            labels=labels,
            when=when,
            concludes=self.texts("concludes"),
            overruled_by=self.texts("overruled_by"),
            rules_out=self.text("rules_out", ""),
            finding=self.text("finding", ""),
            gain=self.gain(),
            advice=self.advice(),
            verify=self.text("verify", ""),
            caveats=self.caveats(),
            tell_apart=self.tell_apart(),
            tests=tuple(self.d.get("tests") or ()),
            file=self.file,
            line=self.d.line,
            summary=self.text("summary", ""),
            setting=self.flag("setting"),
            path=self.path_steps(thresholds),
            # a concept reports nothing, so it is evidence for nothing
            cause=self.text("cause", "" if not self.d.get("finding") else name),
            applies=self.applies(cites),
        )
        if not rule.is_concept and not rule.cites:
            raise self.fail("cites", "a rule that reports something cites a source", "add `cites:`")
        if rule.is_concept and not rule.concludes and not rule.gain and not rule.rules_out:
            raise self.fail("finding", "neither `finding` nor `concludes`: the rule would do nothing")
        mapped(rule, self.fields)
        return with_numbers(rule, LATEST)

    def applies(self, cites: tuple[Cite, ...]) -> Applies:
        """The pack's facts, then the rule's own; a threshold of one vendor's guide says nothing of another's GPUs."""
        holds = {**self.pack.applies, **self.facts("applies", self.d.get("applies", {}))}
        if own := sources(cites):
            if unfounded := [v for v in holds.get("vendor", ()) if v in PUBLISHERS and v not in own]:
                raise self.fail("applies", f"applies: {unfounded[0]} is named, and none of the sources is about it")
            holds.setdefault("vendor", tuple(own))
        return {fact: holds[fact] for fact in KEYS if fact in holds}

    def facts(self, key: str, given: Any) -> Applies:
        if not isinstance(given, dict):
            raise self.fail(key, f"`{key}` is a mapping of {', '.join(KEYS)}")
        try:
            return read_facts(given)
        except ValueError as e:
            raise self.fail(key, f"{key}: {e}") from None

    def thresholds(self, cites: tuple[Cite, ...]) -> dict[str, Threshold]:
        out = {}
        known = {c.key for c in cites}
        for name, v in (self.d.get("thresholds") or {}).items():
            m = v if isinstance(v, strict_yaml.Mapping) else None
            # one of the two: with both it would be open which is in force
            if m is None or ("value" in m) == ("method" in m):
                raise self.fail("thresholds", f"threshold {name!r} needs `value` (or `method`) and `why` or `cite`")
            if not m.get("why") and not m.get("cite"):
                raise self.fail(
                    "value", f"threshold {name!r} has neither `why` nor `cite`", "a number needs a reason", m
                )
            if m.get("cite") and m["cite"] not in known:
                raise self.fail(
                    "cite", f"threshold {name!r} cites {m['cite']!r}, which `cites` does not hold", within=m
                )
            if "method" in m:
                out[name] = self.methods_own(name, m)
                continue
            raw = m["value"]
            # a mapping is one value per revision; anything else is in force under both
            per = dict(raw) if isinstance(raw, dict) else dict.fromkeys(REVISIONS, raw)
            try:
                parsed = {k: quantity(x) for k, x in per.items()}
            except (ValueError, UnknownUnit) as e:
                raise self.fail("value", f"threshold {name!r}: {e}", within=m) from None
            units_used = {u for _, u in parsed.values()}
            if set(parsed) != set(REVISIONS) or len(units_used) != 1:
                raise self.fail(
                    "value", f"threshold {name!r} needs one value, or one per method ({', '.join(REVISIONS)})", within=m
                )
            out[name] = Threshold(
                name,
                {k: n for k, (n, _) in parsed.items()},
                units_used.pop(),
                str(m.get("why") or ""),
                str(m.get("cite") or ""),
            )
        return out

    def methods_own(self, name: str, m: strict_yaml.Mapping) -> Threshold:
        """`{method: high}`: a number of the method itself, kept in ground/method.py."""
        known = {**NUMBERS, **HEURISTICS}
        number = known.get(str(m["method"]))
        if number is None:
            hint = meant(str(m["method"]), known) or f"known: {', '.join(known)}"
            raise self.fail("method", f"threshold {name!r}: the method has no number {m['method']!r}", hint, m)
        values = {revision: number.of(revision) for revision in REVISIONS}
        return Threshold(name, values, "ratio", str(m.get("why") or ""), str(m.get("cite") or ""))

    def path_steps(self, thresholds: Iterable[str]) -> dict[str, str]:
        """`path: {high: high}`: step of the decision path -> the threshold that it compares with."""
        steps = self.d.get("path") or {}
        if not isinstance(steps, dict):
            raise self.fail("path", "`path` is a mapping of a step of the decision path to a threshold of this rule")
        for step, name in steps.items():
            if step not in PATH:
                hint = meant(step, PATH) or f"known: {', '.join(PATH)}"
                raise self.fail("path", f"path: unknown step {step!r}", hint)
            if name not in thresholds:
                raise self.fail("path", f"path: unknown threshold {name!r}", meant(str(name), thresholds))
        return dict(steps)

    def expression(self, key: str, text: Any) -> Expression:
        try:
            return value(str(text))
        except ExpressionError as e:
            raise self.fail(key, str(e)) from None

    def let(self, thresholds: dict[str, Threshold]) -> tuple[dict[str, Expression], dict[str, str]]:
        out: dict[str, Expression] = {}
        labels: dict[str, str] = {}
        for name, text in (self.d.get("let") or {}).items():
            if isinstance(text, dict):
                if set(text) != {"is", "label"}:
                    raise self.fail(
                        "let", f"let {name!r} is a formula, or `is` (the formula) and `label` (what people read)"
                    )
                text, labels[name] = text["is"], str(text["label"])
            # lookups ask thresholds, then lets, then metrics: a let would hide behind the one or hide the other
            if name in thresholds or schema.known(name):
                raise self.fail("let", f"let {name!r} hides a threshold or metric of that name")
            out[name] = self.expression("let", text)
        return out, labels

    def metrics(self, key: str) -> tuple[str, ...]:
        for name in (names := self.texts(key)):
            if not schema.known(name):
                raise self.fail(key, f"{key}: {name!r} is not a metric", meant_metric(name))
        return names

    def resolve(self, key: str, names: Iterable[str], known: set[str], what: str = "") -> None:
        for n in names:
            if n not in known:
                problem = f"{what or key}: {n!r} is neither a need, a use, a threshold nor a let"
                raise self.fail(key, problem, meant(n, sorted(known)) or "declare it")

    def condition(self, text: Any) -> Condition:
        try:
            c = condition(str(text))
        except ExpressionError as e:
            raise self.fail("when", str(e)) from None
        literals = c.left.literals + (c.right.literals if c.right else ())
        # a bare number in a condition has no name to override, no unit to check and no reason to print
        if literals:
            raise self.fail(
                "when",
                f"number {literals[0]:g} in a condition",
                "give it a name, a reason and a source under `thresholds`",
            )
        self.resolve("when", c.names, self.names)
        return c

    def when(self, methods: Sequence[str]) -> dict[str, When]:
        raw = self.d.get("when")
        if not isinstance(raw, dict):
            raise self.fail("when", "`when` is missing", "say when the rule fires")
        # keyed by revision only where it holds nothing else: `all:` at the top is the same for both
        per = raw if set(raw) <= set(REVISIONS) else dict.fromkeys(methods, raw)
        out = {}
        for method, block in per.items():
            if not isinstance(block, dict) or not set(block) <= {"given", "all", "any"} or not block:
                raise self.fail("when", "`when` holds given, all and any")
            given = block.get("given") or []
            out[method] = When(
                tuple([given] if isinstance(given, str) else given),
                tuple(self.condition(t) for t in block.get("all") or ()),
                tuple(self.condition(t) for t in block.get("any") or ()),
            )
        return out

    def fields(self, key: str, text: str) -> str:
        """The text, when all its fields are known. Checked when the file is read, not when a report is half written."""
        measured = key in ("finding", "advice")  # the other texts are also shown where there is no capture
        known = {*in_words(), *(self.names | TEXT_FIELDS if measured else self.d.get("thresholds") or ())}
        for name, _ in FIELD.findall(text):
            if name not in known:
                what = "a need, a use, a threshold, a let" if measured else "a threshold"
                raise self.fail(key, f"{key}: {{{name}}} is neither {what} nor a number of the method")
        if re.search("[{}]", FIELD.sub("", text)):
            raise self.fail(key, f"{key}: braces that do not format")
        return text

    def gain(self) -> GainModel | None:
        g = self.d.get("gain")
        if g is None:
            return None
        if not isinstance(g, strict_yaml.Mapping):
            raise self.fail("gain", "`gain` needs `because`, and `remains`, `time` or both")
        try:
            model = gain_model(g, lambda text: self.expression("gain", text), self.pack.reach)
        except Wrong as wrong:
            raise self.fail(wrong.key, str(wrong), within=g if wrong.key != "gain" else None) from None
        for e in model.expressions:
            self.resolve("gain", e.names, self.names)
        return model

    def advice(self) -> tuple[Advice, ...]:
        out = []
        for item in self.d.get("advice") or ():
            if isinstance(item, str):
                out.append(Advice(" ".join(item.split())))
            elif isinstance(item, dict) and (text := item.get("do") or item.get("look")):
                if unknown := set(item) - {"do", "look", "only_if", "code", "language", *KEYS}:
                    raise self.fail("advice", f"advice: unknown key {min(unknown)!r}")
                # the rules for conditions hold here too: no bare number, no undeclared name
                cond = self.condition(item["only_if"]) if item.get("only_if") else None
                out.append(
                    Advice(
                        " ".join(str(text).split()),
                        cond,
                        str(item.get("code") or "").rstrip(),
                        str(item.get("language") or ""),
                        self.facts("advice", {k: v for k, v in item.items() if k in KEYS}),
                        "look" in item,
                    )
                )
            else:
                raise self.fail(
                    "advice",
                    "advice is text, or a mapping with `do` or `look` (and `only_if`, `code`, `language`, facts)",
                )
        return tuple(out)

    def caveats(self) -> tuple[Advice, ...]:
        """Text, or a mapping of `mind` and the facts that it is about."""
        out = []
        for item in self.d.get("caveats") or ():
            given = item if isinstance(item, dict) else {"mind": item}
            if not isinstance(given.get("mind"), str) or set(given) - {"mind", *KEYS}:
                raise self.fail("caveats", "a caveat is text, or a mapping with `mind` and facts")
            where = self.facts("caveats", {k: v for k, v in given.items() if k in KEYS})
            out.append(Advice(" ".join(given["mind"].split()), where=where))
        return tuple(out)

    def tell_apart(self) -> tuple[TellApart, ...]:
        out = []
        for item in self.d.get("tell_apart") or ():
            if not isinstance(item, dict) or not {"from", "by", "how"} <= set(item):
                raise self.fail("tell_apart", "tell_apart items need `from`, `by` and `how`")
            if not schema.known(str(item["by"])):
                raise self.fail("tell_apart", f"tell_apart: {item['by']!r} is not a metric")
            out.append(TellApart(str(item["from"]), str(item["by"]), " ".join(str(item["how"]).split())))
        return tuple(out)
