"""The architecture keeps its shape: imports run one way, bans hold, start-up stays light, modules stay small."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "triage"


def rooms() -> list[tuple[str, Path]]:
    return [
        (p.relative_to(PACKAGE).parts[0].removesuffix(".py"), p)
        for p in sorted(PACKAGE.rglob("*.py"))
        if p.parent != PACKAGE or p.stem != "__init__"
    ]


@cache
def parsed(path: Path) -> ast.Module:
    """A module, read once for all tests."""
    return ast.parse(path.read_text("utf-8"))


@cache
def foreign(path: Path) -> set[str]:
    tree = parsed(path)
    names = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    return names | {
        (n.module or "").split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and not n.level
    }


def test_few_entries_are_visible() -> None:
    """What a stranger sees first is a list that can be read at one glance."""
    entries = [p.name for p in PACKAGE.iterdir() if not p.name.startswith("_") and p.name != "py.typed"]
    assert len(entries) <= 20, sorted(entries)


def test_module_names_stand_once_and_limits_say_which() -> None:
    modules = [p for _, p in rooms() if p.stem != "__init__"]
    assert [p for p in modules if sum(o.stem == p.stem for o in modules) > 1] == []
    for path in modules:
        constants = {n.id for n in ast.walk(parsed(path)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        assert not [n for n in constants if re.match("_?(MOST|LEAST)(_|$)", n)], f"{path}: MAX_... or MIN_..."


def test_imports_run_one_way() -> None:
    """The layers of pyproject.toml, type-checking imports counted: no room imports one above it, no circle of rooms."""
    cli = pytest.importorskip("importlinter.cli", reason="import-linter comes with the lint extra")
    run = subprocess.run([sys.executable, "-c", "import importlinter.cli as c; c.lint_imports_command()"],
                         capture_output=True, text=True, cwd=ROOT, check=False)  # fmt: skip
    assert cli
    assert run.returncode == 0, run.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "allowed"),
    [
        ("durable_rules_engine", {"inference/engine.py"}), ("durable", set()), ("clips", {"inference/engine.py"}),
        ("jinja2", {"rendering/sandbox.py", "rendering/templates.py"}), ("yaml", {"files/strict_yaml.py"}), ("distributed", {"products/batch/workers.py"}),
    ],
)  # fmt: skip
def test_libraries_stay_in_their_module(library: str, allowed: set[str]) -> None:
    assert {path.relative_to(PACKAGE).as_posix() for _, path in rooms() if library in foreign(path)} <= allowed


@pytest.mark.slow
def test_click_stays_with_the_commands() -> None:
    assert {room for room, path in rooms() if "click" in foreign(path)} <= {"commands"}


def test_modules_stay_small() -> None:
    sizes = sorted((len(p.read_text("utf-8").splitlines()), str(p.relative_to(ROOT))) for _, p in rooms())
    assert [s for s in sizes if s[0] > 400] == []
    assert sizes[len(sizes) // 2][0] < 150


@pytest.mark.parametrize(
    ("code", "banned"),
    [
        ("import triage", {"pandas", "numpy", "click", "jinja2", "yaml", "durable_rules_engine", "clips", "rich"}),
        ("import triage.commands.cli", {"pandas", "numpy", "jinja2", "yaml", "durable_rules_engine", "clips", "rich"}),
    ],
)  # fmt: skip
def test_start_up_imports_nothing_heavy(code: str, banned: set[str]) -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout.split()
    assert not banned & set(loaded)


@pytest.mark.slow
def test_only_the_command_line_prints_or_exits() -> None:
    for room, path in rooms():
        if room in ("commands", "__main__"):
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("print", "sys.exit", "exit", "eval", "exec", "os.system"), (
                    f"{path}:{node.lineno} calls {called}"
                )


@pytest.mark.slow
def test_public_docstrings_are_there() -> None:
    for _, path in rooms():
        tree = parsed(path)
        assert ast.get_docstring(tree), path
