"""Custom templates: the same variables, in a sandbox, with errors that name the line."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, run
from tests.helpers.reports import diagnosed, frame, hostile, text
from triage.ground.errors import ReportError


@pytest.fixture(scope="module")
def capture(tmp_path_factory: Any) -> str:
    return str(frame(tmp_path_factory.mktemp("frames") / "frame.csv", 12))


def template(tmp_path: Path, name: str, source: str) -> str:
    path = tmp_path / name
    path.write_text(source, encoding="utf-8")
    return str(path)


@pytest.mark.slow
def test_a_custom_template_gets_the_diagnosis(capture: str, tmp_path: Path) -> None:
    mine = template(
        tmp_path,
        "mine.md.j2",
        "{{ summary.headline | prose }}\n{% for f in findings[:3] %}{{ f.rank }} {{ by_id[f.workload].name | name }}\n{% endfor %}",
    )
    lines = text(diagnosed(capture), mine).strip().split("\n")
    assert len(lines) == 4 and lines[1].startswith(("1 `Pass", "1 `frame`"))
    p = run("diagnose", capture, "-f", mine)
    assert p.returncode == 0 and p.stdout.strip().split("\n") == lines


def test_escaping_follows_the_extension(tmp_path: Path) -> None:
    d = diagnosed(str(hostile(tmp_path / "h.csv")))
    source = "{% for w in workloads %}{{ w.name }}\n{% endfor %}"
    assert "<script>" not in text(d, template(tmp_path, "a.html.j2", source))
    assert "<script>" in text(d, template(tmp_path, "a.txt.j2", source))


@pytest.mark.parametrize("source", [
    "{{ ''.__class__.__mro__ }}", "{{ say.gain.__globals__ }}", "{{ decision.__globals__ }}", "{{ result.pop('frame') }}", "{{ findings.append(1) }}",
    "{{ self.__init__.__globals__ }}", "{{ 'a' * 100000000 }}", "{{ 2 ** 100000 }}", "{% for i in range(10000000) %}{% endfor %}",
    "{{ nothing_of_that_name }}", "{{ findings | nofilter }}", "{% for %}", "{% include '/etc/passwd' %}", "{% include '../../../etc/passwd' %}",
])  # fmt: skip
def test_the_sandbox_holds(source: str, capture: str, tmp_path: Path) -> None:
    with pytest.raises(ReportError) as e:
        text(diagnosed(capture), template(tmp_path, "bad.txt.j2", f"first line\n{source}"))
    assert "bad.txt.j2" in str(e.value)


@pytest.mark.slow
def test_an_error_names_the_line_and_exits_2(capture: str, tmp_path: Path) -> None:
    p = run("diagnose", capture, "-f", template(tmp_path, "bad.txt.j2", "one\ntwo\n{{ summary.nothing }}\n"))
    assert (
        p.returncode == 2
        and "bad.txt.j2:3:" in p.stderr
        and "Traceback" not in p.stderr
        and len(p.stderr.strip().split("\n")) == 1
    )


def test_a_template_may_use_the_shared_parts(capture: str, tmp_path: Path) -> None:
    mine = template(tmp_path, "mine.md.j2", "{% import '_sentences.j2' as s with context %}{{ s.facts() }}")
    assert "recoverable" in text(diagnosed(capture), mine)


def test_the_documented_variables_are_the_ones_given(capture: str) -> None:
    from triage.document.summary import summarise
    from triage.rendering.templates import context, filters

    page = (ROOT / "docs" / "templates.md").read_text("utf-8")
    documented = set(re.findall(r"^\| `(\w+)", page, re.MULTILINE))
    bundle = diagnosed(capture).bundle
    given = set(context(bundle, summarise(bundle), False)) | set(filters("markdown"))
    assert documented == given


def test_unknown_formats_are_named(capture: str) -> None:
    p = run("diagnose", capture, "-f", "pdf")
    assert p.returncode == 2 and "markdown" in p.stderr
    p = run("diagnose", capture, "-f", "missing.md.j2")
    assert p.returncode == 2 and "no such template" in p.stderr
