"""Texts follow the numbers of ground/method.py: moved numbers leave no sentence, title, formula or page with an old one."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import checkout
from triage.ground import method

pytestmark = pytest.mark.slow

# Run in a checkout of its own: place -> text, of everything that states numbers.
DUMP = """
import json, re, sys
sys.path.insert(0, "docs")
import generate
from triage import schema
from triage.derive import derivations
from triage.findings import guide
from triage.ground import glossary, limiters, method
from triage.ground.phrasing import as_written, fill
from triage.rulebook import packs
from triage.rulebook.texts import mapped

out = {}
def note(place, text):
    if text:
        out[f"{place} {len(out)}"] = text
    return text

for name, text in method.in_words().items():
    note(f"number {name}", text)
book = packs.load()
for r in book.rules:
    # a rule's own numbers, thresholds and those of its formulas, are no numbers of the method
    formulas = (*r.let.values(), *(r.gain.expressions if r.gain else ()))
    numbers = {as_written(x, unit) for e in formulas for x in e.literals for unit in ("ratio", "ns")}
    own = re.compile("|".join(rf"(?<![0-9.,]){re.escape(x)}" for x in numbers) or "(?!)")
    words = {**method.in_words(), **dict.fromkeys(r.thresholds, "N")}
    mapped(r.written, lambda key, text: note(f"{r.id} {key}", own.sub("N", fill(text, words))))
for c in book.causes.values():
    for text in (c.title, c.meaning, *(x.how for x in c.confused_with), *(a.text for a in c.advice)):
        note(f"cause {c.id}", text)
for m in schema.all_metrics().values():
    note(f"metric {m.id}", f"{m.label}: {m.meaning}")
for name, d in derivations().items():
    note(f"formula {name}", d.formula)
for e in glossary.entries():
    note(f"term {e.term}", e.meaning)
for x in limiters.LIMITERS:
    note(f"limiter {x.id}", f"{x.name} {x.phrase} {x.limited} {x.meaning}")
for name, text in limiters.BANDS.items():
    note(f"band {name}", text)
for d in guide.decisions():
    for text in (d.ask, *(c.ask for c in d.checks)):
        note(f"guide {d.id}", text)
for line in generate.method()["method"].splitlines():
    note("page method", line)
print(json.dumps(out))
"""


def moved(source: str) -> str:
    """The source of ground/method.py with every number changed: shares and times by a tenth, counts by one."""

    def one(text: str) -> str:
        return str(int(text) + 1) if text.isdigit() else repr(round(float(text.replace("_", "")) * 0.9, 9))

    source = re.sub(r"(_both\()([\d_.e-]+)", lambda m: m[1] + one(m[2]), source)
    return re.sub(r"(: Number\()([\d.]+), ([\d.]+)", lambda m: f"{m[1]}{one(m[2])}, {one(m[3])}", source)


def dump(home: Path) -> dict[str, str]:
    """place -> text, as the checkout at `home` makes them."""
    p = subprocess.run(
        [sys.executable, "-c", DUMP], cwd=home, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(home), "TRIAGE_CACHE": "off"},
    )  # fmt: skip
    assert p.returncode == 0, p.stderr
    found: dict[str, str] = json.loads(p.stdout)
    return found


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], dict[str, str]]:
    """Texts with the numbers as they are, and with every number moved."""
    home = checkout(tmp_path_factory.mktemp("home"), "docs")
    before = dump(home)
    path = home / "triage" / "ground" / "method.py"
    path.write_text(moved(path.read_text("utf-8")), "utf-8")
    return before, dump(home)


# (literal, what it is a number of) -> the places that state it. None of these is the method's.
OTHERS = {
    ("80 %", "wave slots that two groups of 1,024 threads use"): "AMD001 AMD002 AMD003 AMD004 AMD005",
    ("95 %", "AMD's documented example"): "AMD001",
    ("90 %", "copies against the data sheet"): "AMD045 INT024",
    ("80 %", "the most that L2 channels and address processing reach"): "AMD046 AMD047",
    ("95 %", "the L2 hit rate of tiled kernels"): "AMD056",
    ("90 %", "a kernel that needs all its arithmetic"): "CMP011",
    ("60 %", "NVIDIA's triage guide on the tensor pipe"): "CMP063",
    ("90 %", "what memory reaches with enough bytes in flight"): "CMP073",
    ("1 %", "NVIDIA's triage guide on the tensor pipe"): "CMP081",
    ("1 %", "frames: the 99th percentile"): "FRM013 metric present.low",
    ("10 µs", "gaps that NVIDIA's rule misses"): "FRM036",
    ("1 %", "opacity"): "GFX002 GFX042 SOL017",
    ("20 %", "a threshold of an open-source analyser"): "GFX020",
    ("80 %", "thread slots of Intel's engines"): "INT002",
    ("1 %", "instruction-fetch stalls after the fix"): "INT012",
    ("80 %", "what a stream reaches on Intel GPUs"): "INT036",
    ("95 %", "the highest SOL in practice"): "SOL001 term SOL%",
    ("80 %", "idle time that a single launch can fill"): "SOL004",
    ("60 %", "avoidable misses, a tenth and half of the formula"): "SOL014",
    ("20 %", "the profiler's statement on math pipes"): "metric pipe.all_low",
    ("40 %", "idle time of critical priority"): "term priority",
}


def _named(place: str, where: str) -> bool:
    first, second = place.split(" ")[:2]
    return f"{first} {second}" in where or (first.isupper() and first in where.split())


def stale(both: tuple[dict[str, str], dict[str, str]]) -> list[str]:
    """Texts that state an old number of the method and did not follow it."""
    old = re.compile(
        rf"(?<![\d.,])(?:{'|'.join(re.escape(x) for x in set(method.in_words().values()) if not x.isdigit())})(?!\w)"
    )
    before, after = both
    return [
        f"{place}: {m[0]} in {text!r}"
        for place, text in before.items()
        for m in old.finditer(text)
        if after[place] == text and not any(m[0] == x and _named(place, where) for (x, _), where in OTHERS.items())
    ]


def test_every_number_moves(both: tuple[dict[str, str], dict[str, str]]) -> None:
    before, after = both
    assert before.keys() == after.keys()
    numbers = [place for place in before if place.startswith("number ")]
    assert len(numbers) == 3 * len({**method.NUMBERS, **method.HEURISTICS})
    assert [x for x in numbers if before[x] == after[x]] == []


def test_texts_follow(both: tuple[dict[str, str], dict[str, str]]) -> None:
    assert stale(both) == []


def test_a_frozen_number_is_found(both: tuple[dict[str, str], dict[str, str]]) -> None:
    """As SOL030 and FRM002 once had it."""
    high, tiny = method.in_words()["high"], method.in_words()["tiny"]
    frozen = {
        "SOL030 title": f"Top SOL above {high}",
        "FRM002 finding": f"ranges shorter than {tiny} take 5.0 % of the time",
    }
    found = stale((both[0] | frozen, both[1] | frozen))
    assert len(found) == 2, found
    assert all(any(place in x for x in found) for place in frozen)
