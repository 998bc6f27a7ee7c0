"""Templates of strangers: files below their folder alone, processor time and memory bounded by the system."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES, diagnosis_of
from triage.ground.errors import ReportError
from triage.rendering import confined, templates

NESTED = "{%% set n = namespace(x=[1], y=[1]) %%}{%% for i in range(60) %%}{%% set n.x = [n.x, n.x] %%}{%% set n.y = [n.y, n.y] %%}{%% endfor %%}{{ %s }}"


@pytest.fixture(scope="module")
def bundle() -> Any:
    from triage.findings import assembling
    from triage.reading import reader
    from triage.rulebook import packs

    read = reader.read(str(SAMPLES / "generic" / "p3_workloads_v2.csv"))
    return assembling.bundle(diagnosis_of(read, packs.select(packs.load())))


def rendered(bundle: Any, folder: Path, text: str) -> str:
    (folder / "mine.txt.j2").write_text(text)
    chunks = list[str]()
    templates.report(bundle, folder / "mine.txt.j2", chunks.append)
    return "".join(chunks)


def test_only_templates_below_the_folder_are_included(bundle: Any, tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    (home / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.j2").write_text("secret")
    (home / "sub" / "part.j2").write_text("part {{ 1 + 1 }}")
    (home / "notes.txt").write_text("secret")
    (home / "link.j2").symlink_to(outside / "secret.j2")
    (home / "way").symlink_to(outside)
    (home / "large.j2").write_text("x" * 1_100_000)
    os.mkfifo(home / "pipe.j2")
    assert rendered(bundle, home, "{% include 'sub/part.j2' %}") == "part 2"
    for name in ("link.j2", "way/secret.j2", "notes.txt", "../outside/secret.j2", str(outside / "secret.j2"), "large.j2", "sub", "pipe.j2"):  # fmt: skip
        for tag in ("{%% include %r %%}", "{%% import %r as x %%}{{ x }}", "{%% extends %r %%}"):
            with pytest.raises(ReportError, match=r"mine\.txt\.j2:1: no template") as e:
                rendered(bundle, home, tag % name)
            assert "\n" not in str(e.value)
    (home / "again.txt.j2").symlink_to(home / "mine.txt.j2")  # what the user names is read, link or not
    chunks = list[str]()
    (home / "mine.txt.j2").write_text("named")
    templates.report(bundle, home / "again.txt.j2", chunks.append)
    assert chunks == ["named"]


@pytest.mark.parametrize("value", ["n.x == n.y", "{(n.x|string): 1}", "n.x|tojson", "[n.x, n.y]|sort", "n.x|pprint"])
def test_nested_values_end_by_the_clock_of_the_system(
    bundle: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setattr(confined, "SECONDS", 1)
    with pytest.raises(ReportError, match=r"takes more than (1 s|1,024 MB)"):
        rendered(bundle, tmp_path, NESTED % value)


def test_memory_is_bounded(bundle: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confined, "MEMORY", 64 << 20)
    text = "{% set n = namespace(x=[]) %}{% for i in range(200) %}{% set n.x = n.x + ['x' * 900000 ~ i] %}{% endfor %}{{ n.x|length }}"
    with pytest.raises(ReportError, match=r"takes more than 64 MB|makes more than"):
        rendered(bundle, tmp_path, text)


def test_a_report_that_nobody_takes_ends_its_process(bundle: Any, tmp_path: Path) -> None:
    own = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    before = own.read_text().split()
    (tmp_path / "mine.txt.j2").write_text("{% for i in range(9999) %}{{ 'x' * 9999 }}{% endfor %}")

    def write(chunk: str) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        templates.report(bundle, tmp_path / "mine.txt.j2", write)
    assert own.read_text().split() == before
