"""JUnit XML from suites of cases: well-formed whatever the texts hold, piece by piece.

for piece in junit_xml("triage", suites): write(piece)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from triage.rendering.escape import xml_chars

_INDENT = "  "


class Failure(Struct, frozen=True):
    """Why a case failed. kind: its `type`, a word. lines: the text."""

    message: str
    kind: str
    lines: Sequence[str] = ()


class Case(Struct, frozen=True):
    """One test. group: its `classname`. out: lines of `system-out`, which is left out without any."""

    group: str
    name: str
    seconds: float
    failure: Failure | None = None
    out: Sequence[str] = ()


class Suite(Struct, frozen=True):
    """Tests that belong together. seconds: of all of them, None where it is not known. out: lines about all of them."""

    name: str
    cases: Sequence[Case]
    seconds: float | None = None
    out: Sequence[str] = ()


def junit_xml(name: str, suites: Sequence[Suite]) -> Iterator[str]:
    """The document, a case a piece. Characters that XML has no place for are named, other line breaks are blanks."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    # the first tag has the counts: suites are sequences, so that they can be counted first
    yield _start("testsuites", {"name": name, **_counts([c for s in suites for c in s.cases])}) + "\n"
    for suite in suites:
        yield from _suite(suite)
    yield "</testsuites>\n"


def _suite(suite: Suite) -> Iterator[str]:
    attributes = {"name": suite.name, **_counts(suite.cases), "skipped": "0"}
    if suite.seconds is not None:
        # seconds with nine digits are nanoseconds: a kernel of 7 µs is not 0.000
        attributes["time"] = f"{suite.seconds:.9f}"
    yield _start("testsuite", attributes) + "\n"
    for case in suite.cases:
        yield _case(case)
    if suite.out:
        yield f"<system-out>{_lines(suite.out)}</system-out>\n"
    yield "</testsuite>\n"


def _case(case: Case) -> str:
    inside = ""
    if case.failure:
        why = {"message": case.failure.message, "type": case.failure.kind}
        inside += f"{_start('failure', why)}{_lines(case.failure.lines)}</failure>"
    if case.out:
        inside += f"<system-out>{_lines(case.out)}</system-out>"
    attributes = {"classname": case.group, "name": case.name, "time": f"{case.seconds:.9f}"}
    return f"{_start('testcase', attributes)}{inside}</testcase>\n"


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    return {"tests": str(len(cases)), "failures": str(sum(c.failure is not None for c in cases)), "errors": "0"}


def _lines(lines: Sequence[str]) -> str:
    """Escape each line by itself: a line break from a capture must not look like one of the report."""
    return "\n".join((_INDENT if line.startswith(_INDENT) else "") + _text(line) for line in lines)


def _start(tag: str, attributes: Mapping[str, str]) -> str:
    return f"<{tag}" + "".join(f' {key}="{_attribute(value)}"' for key, value in attributes.items()) + ">"


def _attribute(text: str) -> str:
    return _text(text).replace('"', "&quot;")


def _text(text: str) -> str:
    """Characters that XML allows, none of which begins or ends a tag or an entity."""
    return xml_chars(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
