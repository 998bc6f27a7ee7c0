"""JUnit XML: one test case per workload, a failure where a finding reaches the level asked for."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from triage.document.bundle import Bundle, Entry
from triage.ground.limiters import LEVELS
from triage.ground.wording import plural
from triage.rendering import phrases
from triage.rendering.escape import short, xml_chars
from triage.rendering.tables import Write

LONG = 1_000  # characters of a name; whole 20 kB C++ names make test viewers unusable


def junit(b: Bundle, write: Write, fail_on: str = "") -> None:
    """Write one suite per capture. Without fail_on nothing fails; findings then stand in system-out."""
    doc = b.document
    by: dict[str, list[Entry]] = {}
    for f in doc["findings"]:
        by.setdefault(f["workload"], []).append(f)
    least = LEVELS.index(fail_on) if fail_on else len(LEVELS)
    suites = []
    for number, capture in enumerate(doc["captures"]):
        prefix = f"{number + 1}:" if len(doc["captures"]) > 1 else ""
        cases = [(w["id"], w["name"], w["path"], w["duration_ns"], w["verdict"]) for w in doc["workloads"]
                 if not prefix or w["id"].startswith(prefix)]  # fmt: skip
        if f"{prefix}frame" in by:
            cases.append((f"{prefix}frame", "frame", [], None, "Findings about the whole frame."))
        suites.append((capture, cases))
    failed = [sum(_fails(by.get(c[0], []), least) for c in cases) for _, cases in suites]
    write('<?xml version="1.0" encoding="UTF-8"?>\n')
    write(f'<testsuites name="triage" tests="{sum(len(c) for _, c in suites)}" failures="{sum(failed)}" errors="0">\n')
    for (capture, cases), bad in zip(suites, failed, strict=True):
        name = _attribute(capture["path"])
        seconds = sum(w["self_ns"] or 0 for w in doc["workloads"] if w["capture"] == capture["path"]) / 1e9
        write(
            f'<testsuite name={name} tests="{len(cases)}" failures="{bad}" errors="0" skipped="0" time="{seconds:.9f}">\n'
        )
        for case in cases:
            _case(write, case, by.get(case[0], []), least)
        write("</testsuite>\n")
    write("</testsuites>\n")


def _fails(found: list[Entry], least: int) -> bool:
    return any(LEVELS.index(f["level"]) >= least for f in found)


def _case(write: Write, case: tuple[str, str, list[str], float | None, str], found: list[Entry], least: int) -> None:
    ident, name, path, duration, verdict = case
    group = _attribute(".".join(path) or "frame")
    write(
        f'<testcase classname={group} name={_attribute(f"{short(name, LONG)} [{ident}]")} time="{(duration or 0) / 1e9:.9f}">'
    )
    bad = [f for f in found if LEVELS.index(f["level"]) >= least]
    if bad:
        title = f"{plural(len(bad), 'finding')}; worst: {bad[0]['rule']} {bad[0]['title']}, gives back {phrases.gain(bad[0])}"
        write(f"<failure message={_attribute(title)} type={quoteattr(bad[0]['level'])}>{_lines(bad)}</failure>")
    told = [f for f in found if f not in bad]
    write(f"<system-out>{_text(verdict)}{chr(10) if told else ''}{_lines(told)}</system-out></testcase>\n")


def _lines(found: list[Entry]) -> str:
    out = []
    for f in found:
        out.append(f"{f['level']}: {f['rule']} {f['title']}: {f['message']} Gives back {phrases.gain(f)}.")
        out += [f"  {phrases.check(e)}: {phrases.source(e['source'])}" for e in f["evidence"]]
        out += [f"  try: {a}" for a in f["advice"][:1]]
    return "\n".join(_text(line) for line in out)


def _text(text: str) -> str:
    return escape(xml_chars(text) if not text.startswith("  ") else f"  {xml_chars(text)}")


def _attribute(text: str) -> str:
    return quoteattr(xml_chars(short(text, LONG)))
