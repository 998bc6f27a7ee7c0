"""The benchmark's own parts: rows survive an interruption, and inputs are what their names say."""

import gzip
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from triage.reading import reader

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    names = ("measure", "inputs", "recorded")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield {name: importlib.import_module(name) for name in names}
    for name in names:
        sys.modules.pop(name, None)


def test_rows_that_were_measured_are_not_measured_again(part: dict[str, ModuleType], tmp_path: Path) -> None:
    m, asked = part["measure"], []

    def measure() -> float:
        asked.append(1)
        return 2.5

    def sheet(runs: int, resume: bool) -> object:
        return m.Sheet(tmp_path / "s.json", runs, False, resume).figure("a row", measure, "s")

    assert sheet(3, False) == sheet(3, True) == 2.5
    assert len(asked) == 1
    sheet(5, True)  # another number of runs is another table
    sheet(5, False)
    assert len(asked) == 3


def test_a_process_is_timed_with_its_children(part: dict[str, ModuleType]) -> None:
    m = part["measure"]
    burn = "sum(i * i for i in range(3_000_000))"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"
    alone, with_child = m.once(m.python("pass")), m.once(m.python(child))
    assert with_child.cpu > alone.cpu
    with pytest.raises(SystemExit, match="failed"):
        m.once(m.python("raise ValueError('no')"))


def test_a_large_table_repeats_rows_under_names_of_their_own(
    part: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part["inputs"], "MILLION", 50)
    table = pd.read_csv(part["inputs"].generic(tmp_path, 200, False))
    one = pd.read_csv(part["inputs"].generic(tmp_path, 50, False))
    assert len(table) == 200 and table["name"].is_unique
    pd.testing.assert_frame_equal(table[150:].reset_index(drop=True).iloc[:, 1:], one.iloc[:, 1:])


@pytest.mark.parametrize(("load", "said"), [(0.4, ""), (9.0, "shared"), (None, "earlier version")])
def test_the_page_says_who_else_was_at_work(part: dict[str, ModuleType], load: float | None, said: str) -> None:
    about = {"cores": 2, "python": "3.11", "runs": 1, "versions": {"pandas": "3"}}
    page = part["recorded"].table({"about": about, "load": load, "cases": {}, "figures": {}})
    assert said in page and ("shared" in page) == (said == "shared")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "args"), [("gpu_trace", ["20", "30"]), ("ncu_raw", ["5", "40"]), ("ncu_rep", ["5"]), ("nsys_sqlite", ["18"]), ("torch_trace", ["1"]), ("frame", ["40"]), ("captures", ["2", "3"])]
)  # fmt: skip
def test_every_input_can_be_made_and_read(kind: str, args: list[str], tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "inputs.py"), str(tmp_path), kind, *args]
    made = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    if kind == "captures":
        assert len(list(made.iterdir())) == 2
        made = made / "c00000.csv"
    assert len(reader.read(str(made.parent if kind == "gpu_trace" else made)))


def test_coverage_of_stalls_and_words_for_a_disassembler() -> None:
    def printed(*args: str) -> list[str]:
        command = [sys.executable, "benchmarks/stalls.py", *args]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()

    table = printed("sample_captures/ncu-rep")
    assert any(line.split() == ["read", "by", "the", "waiter", "100.00%"] for line in table)
    assert "places that wait for a scoreboard: 1 name a producer, 0 say why not, 0 neither" in table
    assert any(line.split() == ["a", "producer", "is", "found", "100.00%"] for line in table)
    words = [line.split("\t")[4:] for line in printed("--words", "sample_captures/ncu-rep/transpose.ncu-rep")]
    assert ["0x50", "0x981", "LDG", "R9", "", "000100", "000000"] in words
    assert ["0xb0", "0x947", "BRA", "", "0xb0", "000000", "000000"] in words
    fields = printed("--against", "tests/data/sm_90.sass", "--", "sample_captures/ncu-rep")
    assert fields[0] == "1 listings, 130 instructions" and [f.split()[-1] for f in fields[1:6]] == ["100.00%"] * 5


def truth(*args: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "benchmarks/truth.py", *map(str, args)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_pairs_of_a_folder_are_judged_and_mistakes_in_it_named(tmp_path: Path) -> None:
    """In the format of docs/pairs.md: the bundled example, and a folder of one's own."""
    done = truth("benchmarks/pairs_example", "--aside", "motion-blur-u")
    assert done.returncode == 0, done.stderr
    cells = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in done.stdout.splitlines() if "|" in line}
    assert cells["**all**"] == cells["NVIDIA"] == cells["fix"] == "2 of 2"
    assert cells["*in view*"] == cells["*kept aside at first*"] == "1 of 1"
    assert cells["not-diagnosed"] == "–"  # the small export, answered by its blind spot
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "k.ill.csv.gz").write_bytes(
        gzip.compress((ROOT / "sample_captures/compare/table2_before.csv").read_bytes())
    )
    pair = {"id": "k", "causes": ["memory-latency"], "saving": 0.16, "strength": "control"}
    (tmp_path / "readings.jsonl").write_text('{"id": "k", "first": "memory-latency"}\n')
    for change, said in (
        ({}, "1 of 1"),  # a control that was predicted
        ({"causes": ["memory-latncy"]}, "unknown cause 'memory-latncy'"),
        ({"id": "other"}, "other.ill.csv.gz: not found"),
        ({"saving": None}, ""),
        ({"strength": "sure"}, "choose strong, weak, control"),
    ):
        entry = {k: v for k, v in {**pair, **change}.items() if v is not None}
        (tmp_path / "pairs.json").write_text(json.dumps([entry]))
        done = truth(tmp_path)
        assert said in done.stdout + done.stderr and (done.returncode == 2) == bool(change), done.stderr
        assert len(done.stderr.splitlines()) == bool(change)


def test_readme_has_the_figures_of_prediction_accuracy() -> None:
    def rows(page: str) -> dict[str, list[str]]:
        lines = (ROOT / page).read_text("utf-8").splitlines()
        cells = [
            [c.strip(" *") for c in line.strip().strip("|").split("|")]
            for line in lines
            if line.lstrip().startswith("|")
        ]
        return {first: rest for first, *rest in cells if re.match(r"\d+ of \d+", " ".join(rest))}

    page, readme = rows("docs/prediction-accuracy.md"), rows("README.md")
    assert len(readme) == 3
    for name, figures in readme.items():
        first, _, inside, *_, controls = page[name]
        assert figures == [first, inside, controls], f"{name}: copy the figures of docs/prediction-accuracy.md"
