"""What a rule says of an AMD or Intel GPU rests on a source about that vendor's hardware, or on one about every GPU."""

import json

import pytest

from tests.conftest import run
from triage.rulebook.applies import may_hold
from triage.rulebook.packs import Rulebook

VENDORS = ("amd", "intel")


def speaks(rule: object, vendor: str) -> bool:
    """May the rule fire on a GPU of this vendor?"""
    return any(may_hold(rule.applies, {"vendor": vendor, "work": work}) for work in ("compute", "graphics"))  # type: ignore[attr-defined]


@pytest.mark.parametrize("vendor", VENDORS)
def test_no_rule_speaks_of_a_vendor_on_anothers_word_alone(book: Rulebook, vendor: str) -> None:
    alone = [
        r.id for r in book.rules if not r.is_concept and speaks(r, vendor) and r.sources and vendor not in r.sources
    ]
    assert alone == []
    assert sum(speaks(r, vendor) and vendor in r.sources for r in book.rules) >= 30  # or the test proves nothing


@pytest.mark.parametrize("vendor", VENDORS)
def test_no_threshold_of_a_vendors_own_rule_is_cited_from_another(book: Rulebook, vendor: str) -> None:
    wrong = []
    for rule in (r for r in book.rules if r.applies.get("vendor") == (vendor,)):
        cites = {c.key: c for c in rule.cites}
        for threshold in rule.thresholds.values():
            cite = cites.get(threshold.cite)
            if cite is not None and cite.vendors and vendor not in cite.vendors:
                wrong.append(f"{rule.id} {threshold.name}: {cite.text}")
    assert wrong == []


def test_the_list_shows_the_sources_of_each_vendor(book: Rulebook) -> None:
    listed = {r["id"]: r for r in json.loads(run("list", "rules", "-f", "json").stdout)}
    for rule in book.rules:
        shown = listed[rule.id]["sources"]
        assert set(shown) == (set(rule.sources) or {"any"}), rule.id
        assert rule.is_concept or all(shown.values()), rule.id
