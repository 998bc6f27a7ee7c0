"""The checks of docs/dialect.md: bundled dialects pass them, and each defect of a dialect is named."""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from tests.conftest import ROOT, SAMPLES
from tests.dialects.amd.test_rocpd import database
from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, picking, registry
from triage.dialects.testing import check_dialect
from triage.ground.errors import CaptureError, TriageError
from triage.products.batch.find import companions

TEXTS = {  # of dialects that are there to refuse, and have no sample that demonstrates triage
    "named-only": ("gpuz.txt", b"Date , GPU Clock [MHz] , GPU Temperature [C] ,\n2024-03-01 12:00:01 , 1905.0 , 66.0 ,\n"),
    "native-files": ("capture.rdc", b"RDOC\0\0\0\0"),
}  # fmt: skip


def samples(name: str, folder: Path) -> list[Path]:
    """Exports of a dialect, companions aside."""
    if name == "rocm-traces":
        return [SAMPLES / "rocprofv3-kernels" / "4711_agent_info.csv"]
    if name == "rocpd":
        return [database(folder / "run.db", stamps=True)]
    if name in TEXTS:
        file, data = TEXTS[name]
        (folder / file).write_bytes(data)
        return [folder / file]
    beside = sorted((SAMPLES / name).iterdir())
    aside = companions(p.name for p in beside) | {"ORIGIN.txt"}
    if name == "intel-stalls":
        aside.add("out.4711.csv")  # the kernels' times of the same run, which intel-pti reads
    return [p for p in beside if p.name not in aside and p.suffix != ".py" and p.name != "__pycache__"]


@pytest.mark.parametrize("name", registry.bundled())
def test_bundled_dialects_pass(name: str, tmp_path: Path) -> None:
    assert check_dialect(registry.require(name), samples(name, tmp_path)) == []


PAGE = (ROOT / "docs" / "dialect.md").read_text("utf-8")


def block(language: str) -> str:
    """The first block of code of a language on the page."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.S)
    assert found
    return found[1]


@pytest.fixture
def example() -> SimpleNamespace:
    """The dialect of the page, to be broken."""
    namespace: dict[str, Any] = {}
    exec(compile(block("python"), "framelens.py", "exec"), namespace)
    return SimpleNamespace(**namespace)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "frame.flens"
    path.write_text(block("text"), "utf-8")
    return path


def test_the_dialect_of_the_page_passes(example: Any, sample: Path) -> None:
    assert check_dialect(example, [sample]) == []


def altered(**changes: Any) -> Callable[[Any], None]:
    """Read as the page does, and change fields of the table."""

    def apply(dialect: Any) -> None:
        read = dialect.read
        dialect.read = lambda source, options: replace(read(source, options), **changes)

    return apply


def with_column(**changes: Any) -> Callable[[Any], None]:
    """Read as the page does, and change the column of the times."""

    def apply(dialect: Any) -> None:
        read = dialect.read

        def changed(source: Source, options: Any) -> Table:
            table: Table = read(source, options)
            table.columns["gpu.time"] = replace(table.columns["gpu.time"], **changes)
            return table

        dialect.read = changed

    return apply


def fixed(**attributes: Any) -> Callable[[Any], None]:
    return lambda dialect: dialect.__dict__.update(attributes)


def lost(name: str) -> Callable[[Any], None]:
    return lambda dialect: delattr(dialect, name)


def raising(error: Exception) -> Callable[..., Any]:
    def function(*_: Any) -> None:
        raise error

    return function


def restless(dialect: Any) -> None:
    """Every match is surer than the one before."""
    scores = iter(range(1, 1000))
    dialect.recognise = lambda source: Match(next(scores) / 1000, "x")


def cut_off(dialect: Any) -> None:
    """Trips over a file that ends early."""
    read = dialect.read
    dialect.read = lambda source, options: {}["end"] if len(source.head) < 100 else read(source, options)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lost("read"), "lacks read"), (lost("TITLE"), "lacks TITLE"),
        (fixed(NAME="Frame Lens"), "NAME 'Frame Lens'"), (fixed(CAPTURE=" "), "CAPTURE is empty"),
        (fixed(SIGN=("Framelens",)), "SIGN"), (fixed(SIGN=("other tool",)), "hidden by SIGN"),
        (fixed(names=lambda: {"gpu.tme": ["t_us"]}), "unknown metric 'gpu.tme', did you mean"),
        (fixed(names=lambda: {"gpu.time": "t_us"}), "expected a list of names"),
        (fixed(collect=lambda metrics: None), "collect()"),
        (fixed(recognise=lambda source: None), "not recognised"),
        (fixed(recognise=lambda source: 0.9), "expected Match"),
        (fixed(recognise=lambda source: Match(2.0, "x")), "expected Match"),
        (fixed(recognise=raising(KeyError("a"))), "recognise() raises KeyError"),
        (restless, "another match the second time"),
        (fixed(recognise=lambda source: Match(0.99, "all mine"), SIGN=("pass", "name")), "is an export of"),
        (fixed(read=lambda source, options: {}), "read() returns dict"),
        (fixed(read=raising(CaptureError("no"))), "refused: no"),
        (fixed(read=raising(TriageError("no"))), "expected CaptureError"),
        (cut_off, "read() raises KeyError"),
        (altered(dialect="other"), "dialect 'other'"), (altered(files=[]), "files is empty"),
        (altered(kinds=["draw"]), "1 texts for 3 rows"),
        (with_column(values=[1.0]), "expected 3 float64"), (with_column(factor=1.0), "but line 3 has '1200'"),
        (with_column(column=2, formula="", file=1), "file 1"), (with_column(column=9), "has 5 cells, not 9"),
        (with_column(column=0), "neither a cell"), (with_column(inputs=("x",)), "input 'x'"),
    ],
)  # fmt: skip
def test_each_defect_is_named(change: Callable[[Any], None], problem: str, example: Any, sample: Path) -> None:
    change(example)
    problems = check_dialect(example, [sample])
    assert any(problem in p for p in problems), problems
    assert not [p for p in problems if "\n" in p]


def test_no_sample_is_a_problem(example: Any) -> None:
    assert check_dialect(example, []) == ["no sample to check it with"]


def test_a_foreign_export_of_the_user_must_not_match(example: Any, sample: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("# Framelens is not what wrote this\na,b\n", "utf-8")
    assert check_dialect(example, [sample], [other]) == [f"{other}: matches with 0.95, but is an export of no tool"]


def test_candidates_are_the_dialects_that_pick_asks(example: Any, sample: Path) -> None:
    entry = registry.entry(example)
    assert list(picking.candidates(Source(str(sample)), [entry])) == [example]
    assert list(picking.candidates(Source("x", b"name,gpu.time\n"), [entry])) == []
