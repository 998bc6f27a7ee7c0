"""No rule speaks of what cannot matter: every condition has a floor, a number below which it stays silent."""

from functools import cache

from triage.rulebook.expression import Condition
from triage.rulebook.packs import Rulebook
from triage.rulebook.rule import Rule

# rules whose own number is missing on purpose, and what keeps them from speaking of trifles
EXEMPT = {
    "chain-of-tiny-work": "the flag it asks stands for four ranges of at most 10 us in a row (reading/tiny_work.py)",
    "spilling-waves": "a compiler spills registers only when it runs out of them; the gain goes with the bytes per lane",
    "spilled-registers": "a compiler spills registers only when it runs out of them; the gain goes with the bytes per thread",
    "private-arrays": "arrays in registers need no memory; the gain goes with the bytes per thread, as of spills",
}


def without_floor(book: Rulebook) -> set[str]:
    """Reporting rules that ask for no number but zero and flags, neither themselves nor through their premises."""
    makers: dict[str, list[Rule]] = {}
    for r in book.rules:
        for concept in (r.name, *r.concludes):
            makers.setdefault(concept, []).append(r)

    def names(rule: Rule, c: Condition) -> set[str]:
        found, wanted = set(), list(c.names)
        while wanted:
            name = wanted.pop()
            if name not in found:
                found.add(name)
                wanted += rule.let[name].names if name in rule.let else ()
        return found

    def asks(rule: Rule, c: Condition) -> bool:
        stated = [rule.thresholds[n] for n in names(rule, c) if n in rule.thresholds]
        # 1 and 0 as counts are flags; 0 of anything is no floor
        return any(any(t.values.values()) and (t.unit, set(t.values.values())) != ("count", {1.0}) for t in stated)

    @cache
    def floored(name: str, method: str) -> bool:
        rule = book.by_name[name]
        if (w := rule.when.get(method)) is None:
            return True
        if any(asks(rule, c) for c in w.all_of) or (w.any_of and all(asks(rule, c) for c in w.any_of)):
            return True
        return any(all(floored(m.name, method) for m in makers[g]) for g in w.given)

    return {r.name for r in book.rules if not r.is_concept and not all(floored(r.name, m) for m in r.when)}


def test_every_reporting_rule_has_a_floor_but_those_that_say_why_not(book: Rulebook) -> None:
    assert without_floor(book) == set(EXEMPT)
