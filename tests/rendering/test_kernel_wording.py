"""A kernel's report speaks of kernels: every sentence of every compute sample, read for words of what is drawn."""

import dataclasses
import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cases.further_kernels import OTHERS
from tests.cases.guide_kernels import PATIENTS, write
from tests.conftest import SAMPLES, run
from triage import diagnose, read
from triage.findings import assembling
from triage.ground.errors import CaptureError
from triage.rendering.formats import render

pytestmark = pytest.mark.slow

TOOLS = ("ncu-", "nsys-kernels", "nsys-trace", "nvprof-", "rocprof", "intel-pti")
DRAWN = re.compile(
    r"\b(draws?|draw calls?|render targets?|texels?|pixels?|vertex|vertices|triangles?|(?<!stack )frames?|markers?|mips?|mip levels?|mip chains?|"
    r"blend(ed|ing)?|swap ?chains?|shaders?|hlsl|dispatch(es)?)\b",
    re.I,
)
# what a user or a tool wrote, ids, and places in files
NOT_OURS = set(
    "path name names sha256 source cites unmapped kind scope workload workloads capture captures tool second_opinion file metric method missing "
    "collect causes fingerprint rule rules cause chain notes quality".split()
)
SAMPLED = sorted(
    p for folder in SAMPLES.iterdir() if folder.name.startswith(TOOLS) for p in folder.iterdir()
    if p.is_file() and p.suffix not in (".txt", ".md", ".yaml")
)  # fmt: skip


def sentences(x: Any) -> Iterator[str]:
    if isinstance(x, dict):
        for key, value in x.items():
            if key not in NOT_OURS:
                yield from sentences(value)
    elif isinstance(x, list):
        for value in x:
            yield from sentences(value)
    elif isinstance(x, str):
        yield x


def of_what_is_drawn(path: Path) -> list[str]:
    doc = diagnose([read(path)]).to_dict()
    return [s for s in sentences(doc) if DRAWN.search(s)]


@pytest.mark.parametrize("path", SAMPLED, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_no_word_of_what_is_drawn_in_a_compute_sample(path: Path) -> None:
    try:
        assert of_what_is_drawn(path) == []
    except CaptureError:
        pytest.skip("a companion of another file")


def test_nor_in_a_patients_report(tmp_path: Path) -> None:
    for patient in (PATIENTS | OTHERS).values():
        assert of_what_is_drawn(write(tmp_path / "p.csv", patient)) == []


GROUP = re.compile(r"(?<![-\w])(?<!warp )groups?\b", re.I)


def test_blocks_of_cuda_are_called_so(tmp_path: Path) -> None:
    """Rules say group, as most APIs do; a CUDA kernel has blocks."""
    for name, patient in (PATIENTS | OTHERS).items():
        doc = diagnose([read(write(tmp_path / "p.csv", patient))]).to_dict()
        # patients state the counters that matter to them: that the others contradict these is said in the words of metrics
        stated = [s for s in sentences(doc) if not s.startswith("the export is damaged")]
        assert [s for s in stated if GROUP.search(s)] == [], name


FORMATS = ("terminal", "markdown", "html", "jira")
TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]+>", re.S)
COUNTER = re.compile(r"Stall: dispatch stall|Dispatch waits for resources")  # names of counters


def shown(path: Path, form: str) -> str:
    """What a reader of one format sees of a file, without the file's own name."""
    out: list[str] = []
    render(assembling.bundle(diagnose([read(path)])), form, out.append)
    text = "".join(out).replace(path.name, "").replace(str(path), "")
    return COUNTER.sub("", html.unescape(TAGS.sub(" ", text)) if form == "html" else text)


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_speaks_of_what_is_drawn(form: str) -> None:
    """Titles, columns and shares of templates too, not only the sentences of rules."""
    for path in SAMPLED[::3]:
        try:
            text = shown(path, form)
        except CaptureError:
            continue
        assert [line for line in text.splitlines() if DRAWN.search(line)] == []


LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')  # in the page's script


def test_the_pages_script_takes_its_noun_from_the_report(tmp_path: Path) -> None:
    """What the script says to readers: literals with a blank; ids, classes and addresses have none."""
    parts = SAMPLES.parent / "reports" / "_parts"
    said = [t for f in parts.glob("*.js.j2") for t in LITERAL.findall(f.read_text("utf-8")) if " " in t.strip()]
    assert len(said) > 20
    assert [t for t in said if DRAWN.search(t)] == []


@pytest.mark.parametrize("form", ["terminal", "markdown", "html"])
def test_nor_does_a_comparison_of_kernels(form: str, tmp_path: Path) -> None:
    for name in ("V4 atomics as requests", "a chain of dependent arithmetic"):
        moved = {"read": 2e7, "written": 1e7}  # less than any memory moves in this time
        before = write(
            tmp_path / "a.csv", dataclasses.replace(OTHERS[name], counters={**OTHERS[name].counters, **moved})
        )
        slower = {**OTHERS[name].counters, **moved, "time": 400_000}
        after = write(tmp_path / "b.csv", dataclasses.replace(OTHERS[name], counters=slower))
        text = run("compare", before, after, "-f", form).stdout
        assert "slower" in text or "longer" in text
        text = html.unescape(TAGS.sub(" ", text)) if form == "html" else text
        assert [line for line in text.splitlines() if DRAWN.search(COUNTER.sub("", line))] == []


def test_nor_do_tickets_about_kernels(tmp_path: Path) -> None:
    wrote = 0
    for number, patient in enumerate((PATIENTS | OTHERS).values()):
        if number % 6:
            continue
        folder = tmp_path / str(number)
        run("tickets", write(tmp_path / f"{number}.csv", patient), "-o", folder)
        for text in (f.read_text("utf-8") for f in folder.rglob("*") if f.suffix in (".md", ".txt")):
            wrote += 1
            assert [line for line in text.splitlines() if DRAWN.search(COUNTER.sub("", line))] == []
    assert wrote > 5


def test_a_frame_keeps_its_words(tmp_path: Path) -> None:
    path = next(p for p in sorted((SAMPLES / "nvperf").iterdir()) if p.suffix == ".csv")
    text = shown(path, "markdown")
    assert "Markers by self time" in text
    assert "Kernels by self time" not in text
