"""The code knows no cause and no rule by name: what is said of one stands in its file."""

import ast
import re

from tests.conftest import ROOT
from triage.ground.limiters import CLASSES
from triage.rulebook.packs import Rulebook

PACKAGE = ROOT / "triage"
# (module, name) -> why it cannot stand in a file of rules/
REMAINING = {
    (
        "document/headline.py",
        "low-throughput",
    ): "a document holds ids of causes, not their files: the one verdict that is no news where nothing is left to do",
    ("rulebook/rulefile.py", "MEM003"): "an example of an id, in the error about a wrong one",
}


def named(text: str, names: set[str], ids: set[str]) -> set[str]:
    """Causes, rules and derived facts that a string is, and rule ids that stand in it."""
    return ({text} & names) | (set(re.findall(r"\b[A-Z]{2,5}\d{3}\b", text)) & ids)


def strings(tree: ast.Module) -> set[str]:
    """Every string of a module but its docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {id(n.body[0].value) for n in ast.walk(tree) if isinstance(n, owners) and ast.get_docstring(n)}  # type: ignore[attr-defined]
    constants = (n for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in docs)
    return {n.value for n in constants if isinstance(n.value, str)}


def test_no_module_names_a_cause_or_a_rule(book: Rulebook) -> None:
    facts = {c for r in book.rules for c in (r.name, *r.concludes)}
    # a class of limiters is a word of its own, though a cause may have the same
    names, ids = ({*book.causes, *facts}) - set(CLASSES), {r.id for r in book.rules}
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        for text in strings(ast.parse(path.read_text("utf-8"))):
            found |= {(path.relative_to(PACKAGE).as_posix(), name) for name in named(text, names, ids)}
    assert found == set(REMAINING)


def test_a_name_is_seen(book: Rulebook) -> None:
    tree = ast.parse('"""high-sol"""\nif rule == "high-sol":\n    raise ValueError("see MEM003")\n')
    seen = {n for text in strings(tree) for n in named(text, set(book.by_name), {"MEM003"})}
    assert seen == {"high-sol", "MEM003"}
