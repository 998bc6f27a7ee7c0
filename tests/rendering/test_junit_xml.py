"""JUnit XML: well-formed, counted, and nothing of a foreign text taken for markup."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from triage.rendering.junit_xml import Case, Failure, Suite, junit_xml


def text(*suites: Suite) -> str:
    return "".join(junit_xml("triage", suites))


def test_exact_bytes() -> None:
    bad = Case("Frame.Sky", 'a "b" <c> & d', 0.001, Failure("2 findings", "high", ["high: x", "  why"]), ["told"])
    assert text(Suite("one.csv", [bad, Case("frame", "e", 0, out=["", "f"])], 1.5), Suite("two.csv", [])) == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<testsuites name="triage" tests="2" failures="1" errors="0">\n'
        '<testsuite name="one.csv" tests="2" failures="1" errors="0" skipped="0" time="1.500000000">\n'
        '<testcase classname="Frame.Sky" name="a &quot;b&quot; &lt;c&gt; &amp; d" time="0.001000000">'
        '<failure message="2 findings" type="high">high: x\n  why</failure><system-out>told</system-out></testcase>\n'
        '<testcase classname="frame" name="e" time="0.000000000"><system-out>\nf</system-out></testcase>\n'
        "</testsuite>\n"
        '<testsuite name="two.csv" tests="0" failures="0" errors="0" skipped="0">\n'
        "</testsuite>\n"
        "</testsuites>\n"
    )


@given(st.text(), st.text(), st.lists(st.text()))
def test_any_text_is_well_formed(name: str, message: str, lines: list[str]) -> None:
    case = Case(name, message, 1, Failure(message, name, lines), lines)
    root = ElementTree.fromstring(text(Suite(name, [case, case])).encode("utf-8"))
    assert [len(suite) for suite in root] == [2]
    out = root.find("testsuite/testcase/system-out")
    assert (out is None) == (not lines)
    assert out is None or (out.text or "").count("\n") == len(lines) - 1


def test_what_xml_has_no_place_for_is_named() -> None:
    made = text(Suite("s", [Case("g", "a\0b\ufffe\ud800", 0, out=["x\ny\u202e"])]))
    assert "a‹U+0000›b‹U+FFFE›‹U+D800›" in made
    assert "<system-out>x y‹U+202E›</system-out>" in made
