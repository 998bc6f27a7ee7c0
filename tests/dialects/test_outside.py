"""Dialects from outside: docs/dialect.md runs as printed, errors are one line, and only the user makes code run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, run
from tests.dialects.test_kit import PAGE, block

GOOD = block("python")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with the files of the page."""
    (tmp_path / "frame.flens").write_text(block("text"), "utf-8")
    (tmp_path / "gpu-dialects").mkdir()
    (tmp_path / "gpu-dialects" / "framelens.py").write_text(GOOD, "utf-8")
    return tmp_path


def inside(home: Path, *args: str, python: str = "") -> subprocess.CompletedProcess[str]:
    """`triage` in a folder; python: a further folder of modules and distributions."""
    return run(*args, cwd=home, env={"PYTHONPATH": os.pathsep.join(filter(None, [python, str(ROOT)]))})


def test_the_page_runs_as_printed(home: Path) -> None:
    commands = [shlex.split(line) for line in re.findall(r"^\$ (.+)$", PAGE, re.MULTILINE)]
    answers = []
    for words in commands:
        args = words[1:] if words[0] == "python" else ["-m", *words]
        p = subprocess.run([sys.executable, *args], capture_output=True, text=True, cwd=home, check=False,
                           env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
        assert (p.returncode, p.stderr) == (0, ""), (words, p.stdout, p.stderr)
        answers.append(p.stdout)
    checked, dialects, facts, diagnosis = answers
    assert checked == "framelens: no problems\n"
    assert "Framelens, one render pass per line" in dialects
    assert "line 3, 't_us' = '1200'" in facts
    assert "Lighting" in diagnosis


def test_without_the_option_the_columns_are_guessed(home: Path) -> None:
    p = inside(home, "facts", "frame.flens")
    assert p.returncode == 0
    assert "generic (" in p.stdout
    assert "2 columns were not read: 'core', 'notes'" in p.stdout


def test_the_kit_names_problems_and_fails(home: Path) -> None:
    text = GOOD.replace('"gpu.time", 1000.0', '"gpu.time", 1.0').replace("factor=factor", "factor=1e3")
    (home / "gpu-dialects" / "framelens.py").write_text(text, "utf-8")
    p = subprocess.run(
        [sys.executable, "-m", "triage.dialects.testing", "gpu-dialects", "frame.flens"],
        capture_output=True, text=True, cwd=home, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert p.returncode == 1
    assert "framelens: frame.flens: gpu.time, row 0: value 1200, but line 3 has '1200'" in p.stdout


def test_modules_beside_it_are_imported_relatively(home: Path) -> None:
    folder = home / "gpu-dialects"
    head, _, rest = GOOD.partition("COLUMNS = {")
    (folder / "columns.py").write_text('"""Columns."""\n\nCOLUMNS = {' + rest.partition("}\n")[0] + "}\n", "utf-8")
    (folder / "framelens.py").write_text(
        head.replace(
            "from triage.dialects import Match", "from triage.dialects import Match\nfrom .columns import COLUMNS"
        )
        + rest.partition("}\n")[2],
        "utf-8",
    )
    (folder / "json.py").write_text("raise SystemExit('must not hide the library')\n", "utf-8")
    p = inside(home, "diagnose", "frame.flens", "-f", "json", "--dialects", "gpu-dialects")
    assert (p.returncode, p.stderr) == (0, "")
    assert '"framelens"' in p.stdout


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (GOOD.replace("def read(", "def reads("), "gpu-dialects/framelens.py: not a dialect, lacks read - see docs/dialect.md"),
        (GOOD.replace("NAME =", "NAMES ="), "gpu-dialects/framelens.py: not a dialect, lacks NAME - see docs/dialect.md"),
        (GOOD.replace('"framelens"', '"ncu-raw"'), "gpu-dialects/framelens.py: dialect name 'ncu-raw' is taken - choose another NAME"),
        (GOOD.replace("wide_table\n", "no_such\n", 1), r"gpu-dialects/framelens.py:5: cannot be imported \(ImportError"),
        (GOOD.replace("TITLE = ", "TITLE = = "), r"gpu-dialects/framelens.py:9: cannot be imported \(SyntaxError"),
        (GOOD.replace("TELLS =", "raise SystemExit(3)\nTELLS ="), r"gpu-dialects/framelens.py:12: cannot be imported \(SystemExit: 3"),
        (GOOD.replace('headers.index("pass")', 'headers.index("draw")'), r"framelens.py:33: dialect framelens failed in read \(ValueError"),
        (GOOD.replace("    line, headers", '    return {}\n    line, headers'), "dialect framelens: read returned dict, expected Table"),
        (GOOD.replace("Match(0.95,", "(0.95,"), "dialect framelens: recognise returned tuple, expected Match or None"),
        ("X = 1\n", r"--dialects gpu-dialects: no dialect module \(NAME = ...\) in it - see docs/dialect.md"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_that_names_the_module(text: str, error: str, home: Path) -> None:
    (home / "gpu-dialects" / "framelens.py").write_text(text, "utf-8")
    p = inside(home, "diagnose", "frame.flens", "--dialects", "gpu-dialects")
    assert (p.returncode, p.stdout) == (2, "")
    assert len(p.stderr.splitlines()) == 1
    assert re.search(error, p.stderr), p.stderr


def test_two_folders_cannot_bring_one_name(home: Path) -> None:
    (home / "more").mkdir()
    (home / "more" / "lens.py").write_text(GOOD, "utf-8")
    p = inside(home, "list", "dialects", "--dialects", "gpu-dialects", "--dialects", "more")
    assert p.returncode == 2
    assert "more/lens.py: dialect name 'framelens' is taken" in p.stderr
    once = inside(home, "list", "dialects", "--dialects", "gpu-dialects", "--dialects", "./gpu-dialects")
    assert once.returncode == 0
    assert once.stdout.count("framelens") == 1


@pytest.mark.parametrize("path", ["nowhere", "frame.flens"])
def test_what_is_no_folder_is_refused(path: str, home: Path) -> None:
    p = inside(home, "facts", "frame.flens", "--dialects", path)
    assert p.stderr == f"triage: --dialects {path}: expected a folder of dialect modules\n"


def test_a_batch_reads_with_them_in_its_processes(home: Path) -> None:
    (home / "more.flens").write_text(block("text").replace("Shadows", "Sky"), "utf-8")
    p = inside(
        home,
        "batch",
        "frame.flens",
        "more.flens",
        "-o",
        "out",
        "--jobs",
        "2",
        "--dialects",
        "gpu-dialects",
        "-f",
        "json",
    )
    assert p.returncode == 0, p.stderr
    assert len(list((home / "out" / "reports").iterdir())) == 2


def test_a_settings_file_cannot_run_code(home: Path) -> None:
    mark = home / "ran"
    (home / "gpu-dialects" / "framelens.py").write_text(f"open({str(mark)!r}, 'w')\n{GOOD}", "utf-8")
    (home / "triage.toml").write_text('dialects = ["gpu-dialects"]\n', "utf-8")
    p = inside(home, "diagnose", "frame.flens")
    assert p.returncode == 2
    assert "dialects are code: give them on the command line, --dialects DIR" in p.stderr
    (home / "triage.toml").write_text("", "utf-8")
    inside(home, "diagnose", "frame.flens")
    inside(home / "gpu-dialects", "diagnose", "../frame.flens")
    assert not mark.exists()
    inside(home, "diagnose", "frame.flens", "--dialects", "gpu-dialects")
    assert mark.exists()


def distribution(folder: Path, name: str = "framelens", module: str = "lens_tools.framelens", text: str = GOOD) -> str:
    """A folder as pip leaves it, with one distribution that brings a dialect."""
    (folder / "lens_tools").mkdir(parents=True)
    (folder / "lens_tools" / "__init__.py").touch()
    (folder / "lens_tools" / "framelens.py").write_text(text, "utf-8")
    info = folder / "lens_tools-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lens-tools\nVersion: 1.2\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[triage.dialects]\n{name} = {module}\n", "utf-8")
    return str(folder)


def test_an_installed_distribution_brings_a_dialect(home: Path) -> None:
    site = distribution(home / "site")
    p = inside(home, "diagnose", "frame.flens", "-f", "json", python=site)
    assert (p.returncode, p.stderr) == (0, "")
    assert '"framelens"' in p.stdout
    assert "framelens" in inside(home, "list", "dialects", python=site).stdout
    assert inside(home, "facts", "frame.flens", "--dialect", "framelens", python=site).returncode == 0


@pytest.mark.parametrize(
    ("name", "module", "text", "error"),
    [
        ("framelens", "lens_tools.nothing", GOOD, "lens-tools 1.2, lens_tools.nothing: cannot be imported"),
        ("framelens", "lens_tools.framelens", GOOD.replace("names()", "other()"), "lens-tools 1.2, lens_tools.framelens: not a dialect, lacks names"),
        ("lens", "lens_tools.framelens", GOOD, "NAME is 'framelens', its entry point 'lens' - make them equal"),
        ("ncu-raw", "lens_tools.framelens", GOOD, "lens-tools 1.2: dialect name 'ncu-raw' is taken - uninstall lens-tools 1.2"),
        ("framelens", "lens_tools.framelens", GOOD.replace("headers.index", "headers.find"), r"framelens.py:33: dialect framelens failed in read \(AttributeError"),
    ],
)  # fmt: skip
def test_a_broken_installed_dialect_is_one_line(name: str, module: str, text: str, error: str, home: Path) -> None:
    p = inside(home, "diagnose", "frame.flens", python=distribution(home / "site", name, module, text))
    assert (p.returncode, p.stdout) == (2, "")
    assert len(p.stderr.splitlines()) == 1
    assert re.search(error, p.stderr), p.stderr


def test_a_known_export_neither_asks_nor_pays_for_installed_ones(home: Path) -> None:
    site = distribution(home / "site", text="raise RuntimeError('asked')\n")
    code = """
import sys
from triage import dialects
from triage.capture.source import Source
print(dialects.pick(Source("sample_captures/ncu-raw/transpose.raw.csv"))[0].NAME, "importlib.metadata" in sys.modules)
"""
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True,
                       env={**os.environ, "PYTHONPATH": os.pathsep.join([site, str(ROOT)])})  # fmt: skip
    assert p.stdout.split() == ["ncu-raw", "False"]
    code = code.replace("ncu-raw/transpose.raw.csv", "generic/frame_handmade.csv")
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True,
                       env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert p.stdout.split() == ["generic", "False"]  # none installed: not even looked up
