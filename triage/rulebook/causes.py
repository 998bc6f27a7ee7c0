"""The vocabulary of causes: what can be wrong, in one word each; rules give evidence for them.

One cause is one file, rules/causes/<id>.yaml. Several rules may speak for one cause, and a cause may explain others:
registers explain few resident warps, these explain waiting for loads. What explains what is stated once, here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from triage import schema
from triage.files import strict_yaml
from triage.ground.errors import RuleError
from triage.ground.wording import either
from triage.rulebook import applies
from triage.rulebook.cause import FAMILIES, Cause, Confused, Cure, Explains
from triage.rulebook.expression import ExpressionError, condition
from triage.rulebook.packs import cause_files
from triage.rulebook.rule import Cite

_KEYS = {"id", "family", "title", "meaning", "explains", "decides", "confused_with", "advice", "cites"}
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")


@cache
def bundled() -> dict[str, Cause]:
    """id -> cause of the bundled vocabulary, checked as a whole. Raises RuleError for the first mistake."""
    return load(cause_files())


def load(paths: Iterable[Path]) -> dict[str, Cause]:
    """id -> cause, by family and id. Raises RuleError with file and line for anything an author can get wrong."""
    found = [_Reader(strict_yaml.load(path), path).cause() for path in paths]
    out = {c.id: c for c in sorted(found, key=lambda c: (FAMILIES.index(c.family), c.id))}
    # only now, when all are read: a cause may name one whose file comes later
    for c in out.values():
        for other in (*(e.cause for e in c.explains), *(x.cause for x in c.confused_with)):
            if other not in out:
                close = difflib.get_close_matches(other, out, 1)
                raise RuleError(c.file, 1, f"unknown cause {other!r}", f"did you mean {close[0]!r}?" if close else "")
    order(out)
    return out


def order(causes: Mapping[str, Cause]) -> list[str]:
    """Causes so that each stands before what it explains. Raises RuleError where explanations run in a circle."""
    done: dict[str, None] = {}
    path: list[str] = []

    # depth first, and noted on the way back: everything a cause explains is done before it, hence the turn at the end
    def visit(name: str) -> None:
        if name in done:
            return
        if name in path:
            ring = " -> ".join([*path[path.index(name) :], name])
            raise RuleError(causes[name].file, 1, f"causes explain each other in a circle: {ring}", "cut one link")
        path.append(name)
        for e in causes[name].explains:
            visit(e.cause)
        path.pop()
        done[name] = None

    for name in causes:
        visit(name)
    return list(done)[::-1]


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
        return " ".join(v.split())

    def cause(self) -> Cause:
        for key in self.d:
            if key not in _KEYS:
                close = difflib.get_close_matches(key, _KEYS, 1)
                raise self.fail(key, f"unknown key {key!r}", f"did you mean {close[0]!r}?" if close else "")
        name, family = self.text("id"), self.text("family")
        # the file name is the key: a second cause of one id cannot exist in a folder
        if name != self.path.stem or not _NAME.match(name):
            raise self.fail(
                "id",
                f"id {name!r} is not the file name {self.path.stem!r}",
                "rename one of them, in lower case with hyphens",
            )
        if family not in FAMILIES:
            raise self.fail("family", f"unknown family {family!r}", f"choose {either(FAMILIES)}")
        advice = tuple(self.cure(item) for item in self.listed("advice"))
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
        )

    def listed(self, key: str) -> Sequence[Any]:
        v = self.d.get(key) or []
        if not isinstance(v, list):
            raise self.fail(key, f"`{key}` must be a list")
        return v

    def metric(self, key: str, name: str) -> str:
        if not schema.known(name):
            close = schema.close(name)
            hint = f"did you mean {close[0]!r}?" if close else "see: triage list metrics"
            raise self.fail(key, f"{key}: {name!r} is not a metric", hint)
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
            str(item["cause"]), self.metric("confused_with", str(item["by"])), " ".join(str(item["how"]).split())
        )

    def cure(self, item: Any) -> Cure:
        if isinstance(item, str):
            return Cure(" ".join(item.split()), {})
        if not isinstance(item, dict) or not item.get("do"):
            raise self.fail("advice", f"advice is text, or a mapping with `do` (and {', '.join(applies.KEYS)})")
        try:
            where = applies.read({k: v for k, v in item.items() if k != "do"})
        except ValueError as e:
            raise self.fail("advice", f"advice: {e}") from None
        return Cure(" ".join(str(item["do"]).split()), where)

    def cites(self) -> tuple[Cite, ...]:
        out = []
        for key, v in (self.d.get("cites") or {}).items():
            if not isinstance(v, dict) or not v.get("text"):
                raise self.fail("cites", f"cite {key!r} needs `text` (and `url` where there is one)")
            out.append(Cite(key, " ".join(str(v["text"]).split()), str(v.get("url") or "")))
        if not out:
            raise self.fail("cites", "a cause cites a source", "add `cites:`")
        return tuple(out)
