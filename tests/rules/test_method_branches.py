"""The table of the article's branches: each is carried in every revision that has it, and no rule of the method is left out."""

import tomllib

from tests.conftest import ROOT
from triage.ground.method import REVISIONS
from triage.rulebook.packs import Rulebook

BRANCHES = tomllib.loads((ROOT / "docs" / "branches.toml").read_text("utf-8"))["branch"]
# concepts that only hold other rules back, and what the article does not have
BESIDE = {"SOL035", "SOL036", "SOL045"}


def test_every_branch_is_carried_in_its_revisions(book: Rulebook) -> None:
    of = {r.id: r for r in book.rules}
    for branch in BRANCHES:
        assert set(branch["revisions"]) <= set(REVISIONS) and branch["revisions"]
        for revision in branch["revisions"]:
            carriers = [i for i in branch.get("rules", ()) if revision in of[i].when]
            assert carriers or branch.get("carried"), f"{branch['says']} in {revision}"


def test_every_rule_of_the_method_stands_in_the_table(book: Rulebook) -> None:
    named = {i for branch in BRANCHES for i in branch.get("rules", ())}
    assert {r.id for r in book.rules if r.pack == "p3"} - named == BESIDE


def test_the_rules_of_a_branch_rest_on_the_article_or_say_what_else(book: Rulebook) -> None:
    for rule in book.rules:
        if any(rule.id in branch.get("rules", ()) for branch in BRANCHES) and rule.pack == "p3":
            assert any("Peak-Performance-Percentage" in c.text for c in rule.cites) or rule.is_concept, rule.id
