"""Golden files: every sample in every format, byte for byte. `make golden` rewrites them; read the diff before committing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import FORMATS, checkout
from tests.regolden import GOLDEN, made, samples
from triage.rulebook import packs

ONE = ("generic.p3_workloads_v2", "sample_captures/generic/p3_workloads_v2.csv")


def compare(sample: tuple[str, str], format: str, golden: Path) -> None:
    """Fail where a sample's report is not what the folder `golden` keeps."""
    name, path = sample
    kept = golden / f"{name}.{format}"
    if not kept.exists():
        pytest.fail(f"make golden writes {kept.name}")
    assert made(path, format).encode() == kept.read_bytes(), (
        f"{kept.name} differs; if that is meant: make golden, and read the diff"
    )


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("sample", samples(), ids=lambda s: s[0])
def test_golden(sample: tuple[str, str], format: str) -> None:
    compare(sample, format, GOLDEN)


def test_golden_files_belong_to_samples() -> None:
    known = {f"{name}.{format}" for name, _ in samples() for format in FORMATS}
    kept = {p.name for p in GOLDEN.glob("*") if p.suffix[1:] in FORMATS}
    assert kept <= known, f"golden files without a sample: {sorted(kept - known)}"


def test_a_missing_golden_file_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"^make golden writes generic\.p3_workloads_v2\.json$"):
        compare(ONE, "json", tmp_path)


def test_a_comment_in_a_rule_changes_no_golden_file(tmp_path: Path) -> None:
    """Rules are known by a digest that every comment changes; of that, golden files keep nothing."""
    name, path = ONE
    root = checkout(tmp_path, path, "tests/__init__.py", "tests/conftest.py", "tests/regolden.py")
    script = [sys.executable, str(root / "tests" / "regolden.py"), name]
    (root / "tests" / "golden").mkdir()
    with (root / "rules" / "p3" / "idle-sms.yaml").open("a", encoding="utf-8") as f:
        f.write("# A comment.\n")
    assert packs.load(only=packs.below(root / "rules")).sha256 != packs.load().sha256
    p = subprocess.run(script, capture_output=True, text=True, cwd=root, check=False)
    assert p.returncode == 0, p.stderr
    written = {p.name: p.read_bytes() for p in (root / "tests" / "golden").iterdir()}
    assert written == {f"{name}.{f}": made(path, f).encode() for f in FORMATS}
