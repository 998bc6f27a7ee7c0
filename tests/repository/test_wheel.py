"""The wheel is the product: built, installed outside the checkout, and put to work there.

Without network: build tools and dependencies come from this environment. TRIAGE_NETWORK=1 installs dependencies for real.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

import triage
from tests.conftest import ROOT, SAMPLES

needed = [name for name in ("build", "hatchling") if importlib.util.find_spec(name) is None]
pytestmark = [pytest.mark.skipif(bool(needed), reason=f"not installed: {', '.join(needed)}"), pytest.mark.slow]
SAMPLE = SAMPLES / "generic" / "p3_workloads_v2.csv"


def call(*args: object, cwd: Path, env: dict[str, str] | None = None, code: int = 0) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    p = subprocess.run(
        [str(a) for a in args],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**clean, **(env or {})},
        timeout=600,
        check=False,
    )
    assert p.returncode == code, f"{args}: {p.returncode}\n{p.stdout[-2000:]}\n{p.stderr[-2000:]}"
    return p.stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(wheel, sdist); the wheel is built from the sdist, so the sdist is complete."""
    out = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


@pytest.fixture(scope="session")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bin folder of a fresh environment outside the checkout that holds the wheel."""
    place = tmp_path_factory.mktemp("venv")
    call(sys.executable, "-m", "venv", place, cwd=place)
    scripts = place / ("Scripts" if os.name == "nt" else "bin")
    if os.environ.get("TRIAGE_NETWORK"):
        call(scripts / "python", "-m", "pip", "install", "-q", built[0], cwd=place)
    else:
        call(scripts / "python", "-m", "pip", "install", "-q", "--no-deps", "--no-index", built[0], cwd=place)
        site = Path(
            call(scripts / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place).strip()
        )
        # dependencies of the environment the tests run in; after the wheel's own folder, so the wheel wins
        (site / "zz_dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return scripts


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as z:
        return Parser().parsestr(z.read(next(n for n in z.namelist() if n.endswith("METADATA"))).decode())


def test_wheel_contents(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as z:
        names = set(z.namelist())
    tops = {n.split("/")[0] for n in names}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"triage"}
    for folder, target in (
        ("rules", "_share/rules"),
        ("reports", "_share/reports"),
        ("sample_captures", "_share/sample_captures"),
        ("triage", ""),
    ):
        for p in (ROOT / folder).rglob("*"):
            tracked = (
                p.is_file()
                and "__pycache__" not in p.parts
                and "_share" not in p.parts
                and p.suffix not in (".pyc",)
                and not p.name.startswith(".")
            )
            want = "/".join(("triage", *([target] if target else []), p.relative_to(ROOT / folder).as_posix()))
            assert not tracked or want in names or ignored(p), want
    assert any(n.endswith("gpus.csv") for n in names)
    assert any(n.endswith("LICENSE") for n in names)
    assert not [
        n
        for n in names
        if n.startswith(("tests/", "docs/", ".ci", "benchmarks/")) or "__pycache__" in n or n.endswith(".pyc")
    ]


def ignored(path: Path) -> bool:
    """Does git ignore this file (or is there no git to ask)?"""
    return (
        subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT, capture_output=True, check=False).returncode != 1
    )


def test_sdist_contents(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as t:
        names = {n.partition("/")[2] for n in t.getnames()}
    for must in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "Makefile",
        "tests/conftest.py",
        "triage/commands/cli.py",
        "PKG-INFO",
        "sample_captures/generic/p3_workloads_v2.csv",
    ):
        assert must in names, must
    assert not [n for n in names if n.startswith((".ci", ".git/", "out/", ".venv"))]


def test_metadata(built: tuple[Path, Path]) -> None:
    m = metadata(built[0])
    assert m["Name"] == "sol-triage"
    assert m["Requires-Python"] == ">=3.11"
    assert "Apache-2.0" in (m["License-Expression"] or m["License"] or "")
    requires = m.get_all("Requires-Dist") or []
    # it has no wheel: as a dependency it would make every install without a C compiler fail
    assert [r.replace('"', "'") for r in requires if "durable" in r] == ["durable-rules==2.0.28; extra == 'durable'"]
    assert [r for r in requires if r.startswith("clipspy") and ";" not in r]
    assert set(m.get_all("Provides-Extra") or []) == {"durable", "parquet", "zstd", "dask", "trackers", "mcp"}
    assert m["Version"] == triage.__version__


def test_the_same_sources_give_the_same_bytes(built: tuple[Path, Path], tmp_path: Path) -> None:
    """Unpacked elsewhere, written anew, and with other permissions."""
    shutil.unpack_archive(built[1], tmp_path, filter="data")
    place = next(p for p in tmp_path.iterdir() if p.is_dir())
    for path in place.rglob("*.py"):
        path.touch()
        path.chmod(0o600)
    call(sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path / "again", place, cwd=tmp_path)
    for path in built:
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_the_first_commands_take_less_than_three_seconds(installed: Path, tmp_path: Path) -> None:
    """In an empty folder, for people without files and with them; of CPU time, since other tests run beside."""
    page = ["diagnose", "demo_frame", "-o", "frame.html"]
    for args in [["demo"], ["demo", "kernel"], ["demo", "trace"], ["demo", "--copy", "."], page]:
        before = os.times()
        call(installed / "triage", *args, cwd=tmp_path)
        after = os.times()
        spent = after.children_user - before.children_user + after.children_system - before.children_system
        assert spent < 3, (args, spent)
    assert (tmp_path / "frame.html").read_text("utf-8").rstrip().endswith("</html>")


def test_installed_wheel_does_the_work_of_make_demo(installed: Path, tmp_path: Path) -> None:
    command = installed / "triage"
    where = call(installed / "python", "-c", "import triage; print(triage.__file__)", cwd=tmp_path)
    assert str(ROOT) not in where
    demo = call(
        installed / "python",
        "-c",
        "from triage.files.bundled import share; print(share('sample_captures') / 'gpu-trace' / 'demo_frame')",
        cwd=tmp_path,
    ).strip()
    assert "_share" in demo
    assert "Traceback" not in call(command, "diagnose", demo, cwd=tmp_path)
    call(command, "diagnose", demo, "-f", "html", "-o", tmp_path / "demo.html", cwd=tmp_path)
    assert (tmp_path / "demo.html").read_text("utf-8").rstrip().endswith("</html>")
    from triage.rendering import formats

    every = (
        "import sys, triage; from triage.rendering import formats\n"
        "for f in formats.formats(): formats.render(triage.diagnose(sys.argv[1]).bundle, f, list().append); print(f)"
    )
    assert call(installed / "python", "-c", every, demo, cwd=tmp_path).split() == list(formats.formats())
    call(command, "check", cwd=tmp_path)
    assert "SOL0" in call(command, "list", "rules", cwd=tmp_path)


def test_installed_wheel_gives_the_bytes_of_the_checkout(installed: Path, tmp_path: Path) -> None:
    shutil.copy(SAMPLE, tmp_path / "a.csv")
    here = call(
        sys.executable, "-m", "triage", "diagnose", "a.csv", "-f", "json", cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}
    )
    assert call(installed / "triage", "diagnose", "a.csv", "-f", "json", cwd=tmp_path) == here


def test_import_warns_of_nothing(installed: Path, tmp_path: Path) -> None:
    call(installed / "python", "-W", "error", "-c", "import triage, triage.commands.cli, triage.api", cwd=tmp_path)


def test_editable_install_finds_the_rules_of_the_checkout() -> None:
    """hatchling leaves copies of rules/ beside an editable install; they go stale and must not be found."""
    from triage.files.bundled import share

    if (ROOT / "triage" / "_share").exists():
        pytest.skip("this is an unpacked wheel")
    for kind in ("rules", "reports", "sample_captures"):
        assert share(kind) == ROOT / kind


BLOCK = "import sys\nfor name in ('durable_rules_engine', 'durable'):\n    sys.modules[name] = None\n"


def test_without_durable_rules_clips_gives_the_same_result(tmp_path: Path) -> None:
    """As on Windows or without a compiler: the same bytes on stdout, and no word of it in each run."""
    (tmp_path / "sitecustomize.py").write_text(BLOCK)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    args = [sys.executable, "-m", "triage", "diagnose", str(SAMPLE), "-f", "json"]
    without = subprocess.run(args, capture_output=True, text=True, env=env, cwd=tmp_path, check=False)
    assert without.returncode == 0, without.stderr
    assert without.stderr == ""
    clips = subprocess.run([*args, "--engine", "clips"], capture_output=True, text=True, cwd=ROOT, check=True)
    assert clips.stderr == ""
    assert without.stdout == clips.stdout
    said = subprocess.run(
        [*args[:3], "--version", "--verbose"], capture_output=True, text=True, env=env, check=True
    ).stdout
    assert "engine: CLIPS (clipspy" in said and "durable-rules, which is not installed" in said
    refused = subprocess.run(
        [*args, "--engine", "durable"], capture_output=True, text=True, env=env, cwd=tmp_path, check=False
    )
    assert refused.returncode == 2
    assert len(refused.stderr.strip().splitlines()) == 1
