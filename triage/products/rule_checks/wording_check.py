"""`triage check`: texts of bundled rules and causes keep to the project's style.

Titles are short noun phrases, sentences of findings and advice have one idea, and no retired word returns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from triage.files.bundled import share
from triage.ground.errors import RuleError
from triage.ground.retired_words import retired
from triage.rulebook.cause import Cause
from triage.rulebook.rule import Rule
from triage.rulebook.texts import texts

MAX_RULE_TITLE, MAX_CAUSE_TITLE = 7, 5  # words
# Words of a clause. A sentence of these texts often is a cause, a colon and its effect: each side is read by itself.
MAX_CLAUSE = 25
_SENTENCES = ("finding", "advice")
_CLAUSE_END = re.compile(r"[.:;?!](?= |$)| - ")
_FIELD = re.compile(r"\{[^{}]*\}")
_SENTENCE_STARTS = ("a", "an", "the", "this", "it", "there", "warps", "waves", "threads")


def check(rules: Sequence[Rule], causes: Iterable[Cause]) -> list[RuleError]:
    """Every text of the bundled ones among these rules, and of these causes, that breaks a rule of style."""
    bundled = share("rules").resolve()
    out: list[RuleError] = []
    own = [r for r in rules if bundled in Path(r.file).resolve().parents]
    shared = Counter((r.pack, r.title) for r in own)
    for rule in own:
        twice = [("title", rule.title, "unique in its pack")] if shared[rule.pack, rule.title] > 1 else []
        out += _failures(rule.file, [*twice, *_wrong(texts(rule), MAX_RULE_TITLE)])
    for cause in causes:
        out += _failures(cause.file, _wrong(_texts(cause), MAX_CAUSE_TITLE))
    return out


def _texts(cause: Cause) -> list[tuple[str, str]]:
    return [
        ("title", cause.title),
        ("meaning", cause.meaning),
        *(("confused_with", x.how) for x in cause.confused_with),
        *(("advice", a.text) for a in cause.advice),
    ]


def _wrong(found: Iterable[tuple[str, str]], longest: int) -> Iterator[tuple[str, str, str]]:
    """(key, what is wrong, what to write instead)."""
    for key, text in found:
        for word, instead in retired(_FIELD.sub("0", text)):
            yield key, word, instead
        if key == "title":
            words = text.split()
            if len(words) > longest:
                yield key, text, f"at most {longest} words (has {len(words)})"
            if words[0].lower() in _SENTENCE_STARTS and len(words) > 1:
                yield key, text, f"a noun phrase, without {words[0]!r} at its start"
        if key in _SENTENCES:
            for clause in _CLAUSE_END.split(_FIELD.sub("0", text)):
                if len(clause.split()) > MAX_CLAUSE:
                    start = " ".join(clause.split()[:4])
                    yield key, start, f"clauses of at most {MAX_CLAUSE} words (has {len(clause.split())})"


def _failures(file: str, wrong: Iterable[tuple[str, str, str]]) -> list[RuleError]:
    """Each with the first line of the file that holds it, else that of its key."""
    lines = Path(file).read_text("utf-8").splitlines()

    def line(key: str, text: str) -> int:
        at = next((n for n, x in enumerate(lines, 1) if text in x), 0)
        return at or next((n for n, x in enumerate(lines, 1) if x.startswith(f"{key}:")), 1)

    return [RuleError(file, line(key, text), f"{key}: {text!r} - write: {instead}") for key, text, instead in wrong]
