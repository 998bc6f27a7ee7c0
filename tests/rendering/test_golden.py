"""Golden files: reports of the samples, byte for byte. `make golden` rewrites them; read the diff before committing."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import FORMATS, checkout, run
from tests.helpers import folded_json
from tests.helpers.reports import brief_parts
from tests.regolden import EVERY_FORMAT, GOLDEN, formats_of, made, readable, samples
from triage.rendering.brief import MAX_CHARS
from triage.rulebook import packs

ONE = ("generic.p3_workloads_v2", "sample_captures/generic/p3_workloads_v2.csv")


def compare(sample: tuple[str, str], fmt: str, golden: Path) -> None:
    """Fail where a sample's report is not what the folder `golden` keeps."""
    name, path = sample
    kept = golden / f"{name}.{fmt}"
    if not kept.exists():
        pytest.fail(f"make golden writes {kept.name}")
    assert made(path, fmt).encode() == kept.read_bytes(), (
        f"{kept.name} differs; if that is meant: make golden, and read the diff"
    )


@pytest.mark.parametrize(
    ("sample", "fmt"), [pytest.param(s, f, id=f"{s[0]}-{f}") for s in samples() for f in formats_of(s[0])]
)
def test_golden(sample: tuple[str, str], fmt: str) -> None:
    if fmt == "terminal":  # here, where the sample is diagnosed already
        keeps_bound(made(sample[1], "brief"))
    compare(sample, fmt, GOLDEN)


def keeps_bound(brief: str) -> None:
    """Fail where a workload of a brief is too long, or where it asks to collect something."""
    assert max(map(len, brief_parts(brief)), default=0) <= MAX_CHARS
    assert not re.search(r"\b[Cc]ollect\b", brief)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpu-trace.demo_frame", "nsys-sqlite.training_two_gpus", "ncu-rep.transpose"])
def test_a_folded_result_holds_all_of_it(name: str) -> None:
    path = dict(samples())[name]
    printed = json.loads(run("diagnose", path, "-f", "json", check=True).stdout)
    folded = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))
    printed["tool"] |= {key: folded["tool"][key] for key in ("rules_sha256", "version")}
    assert folded_json.unfold(folded) == printed


def test_golden_files_stay_small() -> None:
    assert sum(p.stat().st_size for p in GOLDEN.iterdir()) <= 6_000_000


@pytest.mark.slow
def test_every_sample_has_golden_files_and_they_belong_to_samples() -> None:
    assert samples() == readable()
    known = {f"{name}.{fmt}" for name, _ in samples() for fmt in formats_of(name)}
    assert {name for name, _ in samples()} >= EVERY_FORMAT
    kept = {p.name for p in GOLDEN.glob("*") if p.suffix[1:] in FORMATS}
    assert kept <= known, f"golden files without a sample: {sorted(kept - known)}"


def test_a_missing_golden_file_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"^make golden writes generic\.p3_workloads_v2\.json$"):
        compare(ONE, "json", tmp_path)


@pytest.mark.slow
def test_a_comment_in_a_rule_changes_no_golden_file(tmp_path: Path) -> None:
    """Rules are known by a digest that every comment changes; of that, golden files keep nothing."""
    name, path = ONE
    root = checkout(
        tmp_path, path, "tests/__init__.py", "tests/conftest.py", "tests/regolden.py", "tests/helpers/__init__.py",
        "tests/helpers/folded_json.py", "tests/helpers/forking.py",
    )  # fmt: skip
    script = [sys.executable, str(root / "tests" / "regolden.py"), name]
    (root / "tests" / "golden").mkdir()
    with (root / "rules" / "p3" / "idle-sms.yaml").open("a", encoding="utf-8") as f:
        f.write("# A comment.\n")
    assert packs.load(only=packs.below(root / "rules")).sha256 != packs.load().sha256
    p = subprocess.run(script, capture_output=True, text=True, cwd=root, check=False)
    assert p.returncode == 0, p.stderr
    written = {p.name: p.read_bytes() for p in (root / "tests" / "golden").iterdir()}
    assert written == {f"{name}.{f}": made(path, f).encode() for f in formats_of(name)}
