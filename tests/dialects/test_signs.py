"""A dialect's SIGN, which is looked for before it is imported, never hides a file that it would recognise."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import CORPUS, ROOT, SAMPLES, needs_corpus
from triage import dialects
from triage.capture.source import Source
from triage.dialects import picking, registry
from triage.ground.errors import TriageError

FILES = sorted(p for p in SAMPLES.rglob("*") if p.is_file())
PLACES = sorted(SAMPLES.rglob("*"))  # files and folders
OTHER_WORDS: dict[str, Callable[[str], str]] = {
    "upper": str.upper, "lower": str.lower,
    "blanks": lambda text: text.replace("_", " "), "underscores": lambda text: text.replace(" ", "_"),
}  # fmt: skip


def _hidden(source: Source) -> list[str]:
    """Dialects that recognise a source and would not be asked."""
    asked = {d.NAME for d in picking.candidates(source, registry.bundled().values())}
    hidden = []
    for name, dialect in dialects.dialects().items():
        try:
            if name not in asked and dialect.recognise(source) is not None:
                hidden.append(name)
        except TriageError:
            continue
    return hidden


@pytest.mark.parametrize("path", PLACES, ids=lambda p: p.relative_to(SAMPLES).as_posix())
def test_no_sample_is_hidden(path: Path) -> None:
    assert _hidden(Source(str(path))) == []


@pytest.mark.parametrize("other", OTHER_WORDS)
def test_headers_in_other_words_are_not_hidden(other: str) -> None:
    """Names of columns count whatever their case and whatever parts their words."""
    for path in FILES:
        text = path.read_bytes()[:40_000].decode("utf-8", "replace")
        if "\0" not in text:
            assert _hidden(Source("-", OTHER_WORDS[other](text).encode())) == [], path


@pytest.mark.slow
@needs_corpus
def test_no_real_export_is_hidden() -> None:
    for path in sorted(CORPUS.rglob("*")):
        assert _hidden(Source(str(path))) == [], path


def test_few_are_imported_for_a_plain_table() -> None:
    code = """
import sys
from triage import dialects
from triage.capture.source import Source
print(dialects.pick(Source("sample_captures/generic/frame_handmade.csv"))[0].NAME, *sorted(
    module.NAME for name, module in sys.modules.items() if name.startswith("triage.dialects.") and hasattr(module, "NAME")))
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert said.split() == ["generic", "generic", "native-files"]


def test_no_other_is_imported_for_what_a_row_is_called() -> None:
    code = """
import sys
from triage import dialects
print(dialects.noun(["presentmon"]), dialects.noun(["ncu-raw"]), "triage.dialects.amd.rga" in sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert said.split() == ["application", "kernel", "False"]


def test_a_dialect_is_known_by_its_name_alone() -> None:
    every = dialects.dialects()
    assert [name for name, module in every.items() if dialects.named(name) is not module] == []
    assert every["unreal-csv"].__name__ == "triage.dialects.frames.unreal"  # a module may be called otherwise
    assert dialects.named("unreal") is dialects.named("ncu_raw") is dialects.named("") is None


def test_signs_are_words_in_lower_case_or_bytes() -> None:
    signs = {e.name: e.sign for e in registry.bundled().values() if e.sign is not None}
    assert len(signs) > 30
    assert {name for name, sign in signs.items() if isinstance(sign, bytes)} == {"ncu-rep", "nsys-sqlite", "rocpd"}
    words = {name: sign for name, sign in signs.items() if not isinstance(sign, bytes)}
    assert [name for name, sign in words.items() if not sign or [w for w in sign if not w or w != w.lower()]] == []


def test_a_database_imports_no_reader_of_reports_and_a_report_none_of_databases() -> None:
    code = """
import sys
from triage import dialects
from triage.capture.source import Source
for path in sys.argv[1:]:
    print(dialects.pick(Source(path))[0].NAME, "triage.dialects.amd.rocprofv3.rocpd" in sys.modules)
"""
    files = [
        "sample_captures/ncu-rep/transpose.ncu-rep",
        str(next((ROOT / "sample_captures/nsys-sqlite").glob("*.sqlite"))),
    ]
    said = subprocess.run(
        [sys.executable, "-c", code, *files], capture_output=True, text=True, cwd=ROOT, check=True
    ).stdout
    assert said.split() == ["ncu-rep", "False", "nsys-sqlite", "True"]
