"""The house keeps its shape: imports run one way, bans hold, start-up stays light, modules stay small."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "triage"
# From the ground floor up: a room imports only rooms that stand before it.
ORDER = [
    "errors", "units", "names", "escape", "schema", "model", "share", "remember", "yamlfile", "devices", "occupancy", "source", "dialects",
    "expression", "frame", "quality", "reader", "derive", "launchfacts", "verdict", "rule", "rulefile",
    "rulebook", "program", "engine",
    "evaluate", "gain", "ledger", "labels", "origins", "check", "glossary", "summary", "decision", "findings", "framefacts", "details",
    "diagnosis", "published", "roster", "result", "phrases", "pack", "charts", "page", "junit", "terminal", "templating", "render",
    "factsheet", "output", "gather", "matching", "readings", "compare", "comparereport", "trackers", "tickets", "batchindex", "farm",
    "batch", "coverage", "api", "commands", "cli", "__main__",
]  # fmt: skip
# Imports upward, each with its reason.
UPWARD = {
    ("diagnosis", "result"): "Diagnosis.to_frame and to_dict are conveniences of the noun",
    ("diagnosis", "render"): "Diagnosis._repr_html_ is called by notebooks on the noun",
    ("commands", "cli"): "verbs print errors through the one function that does",
}  # fmt: skip


def rooms() -> list[tuple[str, Path]]:
    return [
        (p.relative_to(PACKAGE).parts[0].removesuffix(".py"), p)
        for p in sorted(PACKAGE.rglob("*.py"))
        if p.parent != PACKAGE or p.stem != "__init__"
    ]


def imports(path: Path) -> set[str]:
    """triage rooms a file imports, those only needed for type checking left out."""
    tree = ast.parse(path.read_text("utf-8"))
    typing_only = {
        id(n)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for n in ast.walk(node)
    }
    out = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "triage":
            out |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("triage."):
            out.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            out |= {a.name.split(".")[1] for a in node.names if a.name.startswith("triage.")}
    return out - {"__version__"}


def foreign(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    names = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    return names | {
        (n.module or "").split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and not n.level
    }


def test_every_room_has_its_place() -> None:
    assert {room for room, _ in rooms()} - {"__init__"} <= set(ORDER)


@pytest.mark.parametrize(
    ("room", "path"), rooms(), ids=lambda v: str(v.relative_to(PACKAGE)) if isinstance(v, Path) else v
)
def test_imports_run_one_way(room: str, path: Path) -> None:
    place = ORDER.index(room)
    wrong = {
        other
        for other in imports(path)
        if other in ORDER and ORDER.index(other) > place and (room, other) not in UPWARD
    }
    assert not wrong, f"{path.name} imports {wrong}, which stand above it"


@pytest.mark.parametrize(
    ("library", "allowed"),
    [
        ("durable_rules_engine", {"engine"}), ("durable", set()), ("clips", {"engine"}), ("jinja2", {"templating", "render"}),
        ("click", {"cli", "commands"}), ("yaml", {"yamlfile"}), ("distributed", {"farm"}),
    ],
)  # fmt: skip
def test_libraries_stay_in_their_room(library: str, allowed: set[str]) -> None:
    assert {room for room, path in rooms() if library in foreign(path)} <= allowed


def test_readers_and_rules_never_meet() -> None:
    for room, path in rooms():
        if room == "dialects":
            assert not imports(path) & {"rule", "rulebook", "program", "evaluate", "engine", "diagnosis"}, path
        if room in ("rule", "rulebook", "expression", "program"):
            assert "dialects" not in imports(path), path


def test_modules_stay_small() -> None:
    sizes = sorted((len(p.read_text("utf-8").splitlines()), str(p.relative_to(ROOT))) for _, p in rooms())
    assert [s for s in sizes if s[0] > 400] == []
    assert sizes[len(sizes) // 2][0] <= 150


@pytest.mark.parametrize(
    ("code", "banned"),
    [
        ("import triage", {"pandas", "numpy", "click", "jinja2", "yaml", "durable_rules_engine", "clips", "rich"}),
        ("import triage.cli", {"pandas", "numpy", "jinja2", "yaml", "durable_rules_engine", "clips", "rich"}),
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


def test_only_the_command_line_prints_or_exits() -> None:
    for room, path in rooms():
        if room in ("cli", "commands", "__main__"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("print", "sys.exit", "exit", "eval", "exec", "os.system"), (
                    f"{path}:{node.lineno} calls {called}"
                )


def test_public_docstrings_are_there() -> None:
    for _, path in rooms():
        tree = ast.parse(path.read_text("utf-8"))
        assert ast.get_docstring(tree), path
