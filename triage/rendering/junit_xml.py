"""JUnit XML from suites of cases: well-formed whatever the texts hold, piece by piece.

for piece in junit_xml("triage", suites): write(piece)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from triage.rendering.escape import xml_chars

_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a case failed. kind: its `type`, a word. lines: the text."""

    message: str
    kind: str
    lines: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One test. group: its `classname`. out: lines of `system-out`, which is left out without any."""

    group: str
    name: str
    seconds: float
    failure: Failure | None = None
    out: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests that belong together. seconds: of all of them, None where it is not known."""

    name: str
    cases: Sequence[Case]
    seconds: float | None = None


def junit_xml(name: str, suites: Sequence[Suite]) -> Iterator[str]:
    """The document, a case a piece. Characters that XML has no place for are named, other line breaks are blanks."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    # the counts stand in the first tag: suites are sequences, not iterators, so that they can be counted first
    top = ElementTree.Element("testsuites", {"name": xml_chars(name), **_counts([c for s in suites for c in s.cases])})
    start, end = _tags(top)
    yield start
    for suite in suites:
        yield from _suite(suite)
    yield end


def _suite(suite: Suite) -> Iterator[str]:
    said = {"name": xml_chars(suite.name), **_counts(suite.cases), "skipped": "0"}
    if suite.seconds is not None:
        # seconds with nine digits are nanoseconds: a kernel of 7 µs is not 0.000
        said["time"] = f"{suite.seconds:.9f}"
    start, end = _tags(ElementTree.Element("testsuite", said))
    yield start
    for case in suite.cases:
        yield _text(_case(case))
    yield end


def _case(case: Case) -> ElementTree.Element:
    said = {"classname": xml_chars(case.group), "name": xml_chars(case.name), "time": f"{case.seconds:.9f}"}
    element = ElementTree.Element("testcase", said)
    if case.failure:
        why = {"message": xml_chars(case.failure.message), "type": xml_chars(case.failure.kind)}
        ElementTree.SubElement(element, "failure", why).text = _lines(case.failure.lines)
    if case.out:
        ElementTree.SubElement(element, "system-out").text = _lines(case.out)
    return element


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    return {"tests": str(len(cases)), "failures": str(sum(c.failure is not None for c in cases)), "errors": "0"}


def _lines(lines: Sequence[str]) -> str:
    """Each line made harmless by itself: a line break out of somebody's file must not look like one of ours."""
    return "\n".join((_INDENT if line.startswith(_INDENT) else "") + xml_chars(line) for line in lines)


def _text(element: ElementTree.Element) -> str:
    # <failure></failure>, not <failure/>: what `_tags` cuts apart needs both of its tags
    return ElementTree.tostring(element, encoding="unicode", short_empty_elements=False) + "\n"


def _tags(element: ElementTree.Element) -> tuple[str, str]:
    """Start and end of an element whose children are written between them: a million cases never stand in memory."""
    start, _, _ = _text(element).partition("</")
    return f"{start}\n", f"</{element.tag}>\n"
