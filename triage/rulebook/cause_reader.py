"""The vocabulary of causes: what can be wrong, in one word each; rules give evidence for them.

One cause is one file, rules/causes/<id>.yaml. Several rules may speak for one cause, and a cause may explain others:
registers explain few resident warps, these explain waiting for loads. What explains what is stated once, here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from triage import schema
from triage.files import strict_yaml
from triage.ground.errors import RuleError
from triage.ground.gpu_units import UNITS
from triage.ground.limiters import CLASSES
from triage.ground.method import stated
from triage.ground.phrasing import either
from triage.rulebook import applies
from triage.rulebook.cause import FAMILIES, Cause, Confused, Explains
from triage.rulebook.expression import ExpressionError, condition
from triage.rulebook.reference import cites_of, line_of, meant, meant_metric
from triage.rulebook.rule import Advice, Cite

_KEYS = frozenset(
    "id family title meaning explains decides limits confused_with advice cites reserved work place unit catch_all once namesake banner".split()
)
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")


def load(paths: Iterable[Path]) -> dict[str, Cause]:
    """id -> cause, by family and id. Raises RuleError with file and line for anything an author can get wrong."""
    families = list(FAMILIES)
    found = sorted((read(path) for path in paths), key=lambda c: (families.index(c.family), c.id))
    out = {c.id: c for c in found}
    # only now, when all are read: a cause may name one whose file comes later
    for wrong in unknown_links(out, out):
        raise wrong
    order(out)
    return out


def read(path: Path) -> Cause:
    """One cause file -> Cause. Raises RuleError with file and line; links to other causes are not followed."""
    return _Reader(strict_yaml.load(path), path).cause()


def unknown_links(causes: Mapping[str, Cause], known: Collection[str]) -> Iterator[RuleError]:
    """An error for each cause that `explains` or `confused_with` names and that has no file. known: ids of all files."""
    for c in causes.values():
        links = [("explains", e.cause) for e in c.explains] + [("confused_with", x.cause) for x in c.confused_with]
        for key, other in links:
            if other not in known:
                line = line_of(c.file, key, other)
                yield RuleError(c.file, line, f"{key}: unknown cause {other!r}", meant(other, known))


def order(causes: Mapping[str, Cause]) -> list[str]:
    """Ids of the causes, each before those it explains. Raises RuleError where explanations run in a circle."""
    try:
        return [*TopologicalSorter({c.id: [e.cause for e in c.explains] for c in causes.values()}).static_order()][::-1]
    except CycleError as e:
        ring = e.args[1][::-1]
        file, line = causes[ring[0]].file, line_of(causes[ring[0]].file, "explains", ring[1])
        raise RuleError(
            file, line, f"causes explain each other in a circle: {' -> '.join(ring)}", "cut one link"
        ) from None


class _Reader:
    """Turns one mapping into a Cause, naming file and line of every mistake."""

    def __init__(self, data: strict_yaml.Mapping, path: Path) -> None:
        self.d, self.file, self.path = data, str(path), path

    def fail(self, key: str, problem: str, hint: str = "") -> RuleError:
        return RuleError(self.file, self.d.lines.get(key, self.d.line), problem, hint)

    def text(self, key: str) -> str:
        v = self.d.get(key)
        if not isinstance(v, str) or not v.strip():
            raise self.fail(key, f"`{key}` is missing", f"add `{key}:`")
        return self.stated(key, v)

    def stated(self, key: str, text: str) -> str:
        """A text with the method's numbers in it; a cause has no other."""
        text = stated(" ".join(text.split()))
        if m := re.search(r"\{[^{}]*\}", text):
            raise self.fail(key, f"{key}: {m[0]} is no number of the method")
        return text

    def cause(self) -> Cause:
        for key in self.d:
            if key not in _KEYS:
                raise self.fail(key, f"unknown key {key!r}", meant(key, sorted(_KEYS)))
        name, family = self.text("id"), self.text("family") and self.one_of("family", FAMILIES)
        # the file name is the key: a second cause of one id cannot exist in a folder
        if name != self.path.stem or not _NAME.match(name):
            raise self.fail(
                "id",
                f"id {name!r} is not the file name {self.path.stem!r}",
                "rename one of them, in lower case with hyphens",
            )
        advice = tuple(self.to_do(item) for item in self.listed("advice"))
        if not advice:
            raise self.fail("advice", "a cause says what to do about it", "add `advice:`")
        return Cause(
            id=name,
            family=family,
            title=self.text("title"),
            meaning=self.text("meaning"),
            explains=tuple(self.explains(item) for item in self.listed("explains")),
            decides=tuple(self.metric("decides", str(m)) for m in self.listed("decides")),
            confused_with=tuple(self.confused(item) for item in self.listed("confused_with")),
            advice=advice,
            cites=self.cites(),
            file=self.file,
            limits=self.one_of("limits", CLASSES),
            reserved=" ".join(str(self.d.get("reserved") or "").split()),
            work=self.one_of("work", applies.FACTS["work"]),
            place=self.metric("place", str(self.d["place"])) if self.d.get("place") else "",
            unit=self.one_of("unit", UNITS),
            is_catch_all=self.d.get("catch_all") is True,
            is_once=self.d.get("once") is True,
            namesake=self.d.get("namesake") is True,
            banner=" ".join(str(self.d.get("banner") or "").split()),
        )

    def one_of(self, key: str, words: Collection[str]) -> str:
        """The word stated under a key; "" for none. Raises RuleError for one that does not exist."""
        word = str(self.d.get(key) or "")
        if word and word not in words:
            raise self.fail(key, f"unknown {key} {word!r}", meant(word, words) or f"choose {either(words)}")
        return word

    def listed(self, key: str) -> Sequence[Any]:
        v = self.d.get(key) or []
        if not isinstance(v, list):
            raise self.fail(key, f"`{key}` must be a list")
        return v

    def metric(self, key: str, name: str) -> str:
        if not schema.known(name):
            raise self.fail(key, f"{key}: {name!r} is not a metric", meant_metric(name))
        return name

    def explains(self, item: Any) -> Explains:
        if isinstance(item, str):
            return Explains(item)
        if not isinstance(item, dict) or set(item) != {"cause", "when"}:
            raise self.fail("explains", "explains holds ids, or mappings of `cause` and `when`")
        try:
            c = condition(str(item["when"]))
        # an expression knows no file; whoever reads one adds it
        except ExpressionError as e:
            raise self.fail("explains", str(e)) from None
        # causes have no thresholds: a name in `when` can only be a metric
        for name in c.names:
            self.metric("explains", name)
        return Explains(str(item["cause"]), c)

    def confused(self, item: Any) -> Confused:
        if not isinstance(item, dict) or set(item) != {"cause", "by", "how"}:
            raise self.fail("confused_with", "confused_with items need `cause`, `by` and `how`")
        return Confused(
            str(item["cause"]),
            self.metric("confused_with", str(item["by"])),
            self.stated("confused_with", str(item["how"])),
        )

    def to_do(self, item: Any) -> Advice:
        if isinstance(item, str):
            return Advice(self.stated("advice", item))
        if not isinstance(item, dict) or not (text := item.get("do") or item.get("look")):
            raise self.fail(
                "advice", f"advice is text, or a mapping with `do` or `look` (and {', '.join(applies.KEYS)})"
            )
        try:
            where = applies.read({k: v for k, v in item.items() if k not in ("do", "look")})
        except ValueError as e:
            raise self.fail("advice", f"advice: {e}") from None
        return Advice(self.stated("advice", str(text)), where=where, look="look" in item)

    def cites(self) -> tuple[Cite, ...]:
        if cites := cites_of(self.d, self.fail):
            return cites
        raise self.fail("cites", "a cause cites a source", "add `cites:`")
