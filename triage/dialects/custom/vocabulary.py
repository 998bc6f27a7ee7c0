"""What the words of column names mean: vocabulary.toml beside the schema's own names, as sets of words that stand for metrics."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import tomllib
import unicodedata
from functools import cache, lru_cache
from pathlib import Path
from typing import TypedDict, cast

from triage import schema
from triage.files import cache as stored

_FILE = Path(__file__).resolve().parent / "vocabulary.toml"
_WORD = re.compile(r"[a-z0-9]+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
SEVERAL = re.compile(r"\b([A-Z]{2,})s\b")  # `SMs`
# computed from others, or statements about the capture: nobody's column
OURS = (
    *("sol.", "primary.", "top.", "involved.", "kind.", "frame.", "device.", "api.", "can.", "unit.", "gpu.time_"),
    *("work.", "timeline.", "range.", "name."),
)
# of the same words as others, which people mean more often
RARER = ("stall_cycles.", "eu.stall_", "idle.", "vram.stalled")
LONG_PIECE = 6  # letters: shorter words of other languages stand within English ones too
MOST_PIECES = 4  # words of a name without joints
Words = frozenset[str]


class Data(TypedDict):
    """vocabulary.toml, where each key says what it is for."""

    drop: list[str]
    beside: list[str]
    beside_units: list[str]
    beside_signs: list[str]
    shares: list[str]
    never_within: list[str]
    times: list[str]
    drop_of_stalls: list[str]
    drop_of_launches: list[str]
    drop_of_hits: list[str]
    stalls_of_launches: list[str]
    glossary: dict[str, str]
    same: dict[str, str]
    joined: dict[str, list[str]]
    phrases: dict[str, list[str]]
    never: dict[str, list[str]]
    opposite: dict[str, list[str]]
    in_tables_of: dict[str, dict[str, str]]
    units: dict[str, str]
    among_stalls: dict[str, str]
    among_launches: dict[str, str]
    among_units: dict[str, str]


def words_of(text: str, apart: bool = False) -> Words:
    """The words that say what is meant. apart: are words that stand without a joint taken apart, `l2hit`, `drambw`?"""
    said = data()
    plain = text if text.isascii() else _plain(text)
    low = plain if plain.islower() else CAMEL.sub(" ", SEVERAL.sub(r"\1", plain)).lower()
    found = _WORD.findall(low)
    told = " ".join([_apart(w) for w in found] if apart else found)
    joined = _united(" ".join(filter(None, (_glossary().get(w, w) for w in told.split()))))
    kept = frozenset(filter(None, map(_sense, joined.split())))
    if "launch" in kept and (held := kept.intersection(said["stalls_of_launches"])):
        kept = kept.difference(held) | {"stall"}
    if "stall" not in kept:
        return kept if kept.isdisjoint(("hit", "miss")) else kept.difference(said["drop_of_hits"])
    if "launch" not in kept:
        return kept.difference(said["drop_of_stalls"])
    return kept.difference(said["drop_of_launches"], (w for w in said["drop_of_stalls"] if w != "warp"))


def _plain(text: str) -> str:
    """A text without the marks above its letters: `Blöcke`, `durée` -> `Blocke`, `duree`."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.replace("ß", "ss")) if not unicodedata.combining(c))


def _united(text: str) -> str:
    """A text in which several words that mean one are that one; what stands first in vocabulary.toml goes first."""
    done = -1
    while waiting := sorted({r for w in text.split() for r in _begun().get(w, ()) if r > done}):
        for done in waiting:
            many, one = _joined()[done]
            if many in text:
                text = re.sub(rf"\b{many}s?\b", one, text)
                break  # other words stand there now
    return text


@lru_cache(4096)
def _sense(word: str) -> str:
    """What a single word means; "" where that is nothing."""
    meant = _same().get(word, _same().get(_one(word), _one(word)))
    return "" if meant in data()["drop"] else meant


def _one(word: str) -> str:
    """The singular: `primitives` -> `primitive`."""
    if len(word) > 5 and word.endswith(("ches", "shes", "sses")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us")) else word


@lru_cache(4096)
def _apart(word: str) -> str:
    """A word that nobody knows as the fewest words that are known: `l1hitrate` -> `l1 hit rate`; as it is where none are."""
    known = _pieces()
    best: list[list[str] | None] = [[], *[None] * len(word)]
    for end in range(1, len(word) + 1):
        for start in range(max(0, end - 16), end - 1):
            head = best[start]
            if (
                head is not None
                and word[start:end] in known
                and (best[end] is None or len(head) + 1 < len(best[end] or []))
            ):
                best[end] = [*head, word[start:end]]
    pieces = best[-1]
    return " ".join(pieces) if pieces and _one(word) not in known and len(pieces) <= MOST_PIECES else word


@cache
def _pieces() -> frozenset[str]:
    """Words that names of metrics are made of, by the schema and by people."""
    said = data()
    named = (m.id for m in schema.all_metrics().values() if not m.id.startswith(OURS))
    phrases = (phrase for phrases in said["phrases"].values() for phrase in phrases)
    texts = [
        *named,
        *phrases,
        *said["joined"],
        *(p for many in said["joined"].values() for p in many),
        *said["same"],
        *said["same"].values(),
        *(w for many in said["glossary"].values() for w in many.split() if len(w) >= LONG_PIECE),
    ]
    texts += [*said["drop"], *said["beside"], *said["units"], "draws", "shaded"]
    return frozenset(w for text in texts for w in re.findall(r"[a-z0-9]{2,}", text)).difference(said["never_within"])


@cache
def metrics() -> dict[Words, tuple[str, ...]]:
    """Words -> metrics that people call so, the first that fits is meant; words of the schema's own names only where one has them.

    Made once per machine: three thousand names take 4 % of a small diagnosis.
    """
    here = Path(__file__).parent
    name = f"words-{stored.stamp([*here.glob('vocabulary.*'), *here.glob('../../schema/*.py')])}"
    with contextlib.suppress(ValueError, AttributeError, TypeError):  # nothing kept, or not what this keeps
        return {frozenset(words.split()): tuple(ids) for words, ids in json.loads(stored.recall(name) or b"").items()}
    made = _made()
    stored.keep(name, json.dumps({" ".join(sorted(words)): ids for words, ids in made.items()}).encode())
    return made


def _made() -> dict[Words, tuple[str, ...]]:
    found: dict[Words, set[str]] = {}
    for m in schema.all_metrics().values():
        if m.id.startswith(OURS):
            continue
        known = (a for a in m.aliases if "__" not in a)
        for name in (m.id,) if m.id.startswith(RARER) else (m.id, m.label, *known):
            if words := words_of(name.rstrip("%").split(" [")[0]):
                found.setdefault(words, set()).add(m.id)
    out: dict[Words, tuple[str, ...]] = {}
    for metric, phrases in data()["phrases"].items():
        for words in dict.fromkeys(words_of(way) for phrase in phrases for way in _ways(phrase)):
            out[words] = (*out.get(words, ()), metric)
    for words, ids in found.items():
        if len(ids) == 1 and not ids <= set(out.get(words, ())):
            out[words] = (*out.get(words, ()), *ids)
    return out


@cache
def perfworks() -> dict[str, frozenset[str]]:
    """A PerfWorks counter's name up to its dot -> the metrics that it is, by what may stand behind the dot."""
    found: dict[str, set[str]] = {}
    for metric in schema.all_metrics().values():
        for alias in metric.aliases:
            if "__" in alias and "." in alias:
                found.setdefault(alias.partition(".")[0].lower(), set()).add(metric.id)
    return {base: frozenset(ids) for base, ids in found.items()}


@cache
def known_words() -> Words:
    """Every word that stands in what a metric is called."""
    return frozenset().union(*metrics())


@cache
def opposites() -> dict[Words, str]:
    """Words -> the metric of which they say what it lacks of one."""
    return {
        words_of(way): metric
        for metric, phrases in data()["opposite"].items()
        for phrase in phrases
        for way in _ways(phrase)
    }


@cache
def never() -> frozenset[Words]:
    """Phrases that name no metric, as sets of words."""
    return frozenset(
        words_of(way) for phrases in data()["never"].values() for phrase in phrases for way in _ways(phrase)
    )


@cache
def _glossary() -> dict[str, str]:
    """Written -> meant, of single words of other languages."""
    return {written: meant for meant, many in data()["glossary"].items() for written in many.split()}


@cache
def _same() -> dict[str, str]:
    """Written -> meant, of single words."""
    return {written: meant for meant, many in data()["same"].items() for written in many.split()}


@cache
def _joined() -> tuple[tuple[str, str], ...]:
    """(written, meant) of several words that mean one, in the order in which they are looked for."""
    return tuple((way, meant) for meant, many in data()["joined"].items() for phrase in many for way in _ways(phrase))


@cache
def _begun() -> dict[str, list[int]]:
    """Word -> places in `_joined` of what may begin with it."""
    out: dict[str, list[int]] = {}
    for rank, (many, _) in enumerate(_joined()):
        first, blank, _ = many.partition(" ")
        for word in (first,) if blank else (first, f"{first}s"):
            out.setdefault(word, []).append(rank)
    return out


def _ways(phrase: str) -> list[str]:
    """What a phrase stands for: `late|early z test?` is `late z`, `late z test`, `early z` and `early z test`."""
    words = [word.removesuffix("?").split("|") + [""] * word.endswith("?") for word in phrase.split()]
    return [" ".join(filter(None, way)) for way in itertools.product(*words)]


@cache
def data() -> Data:
    """vocabulary.toml, parsed."""
    return cast(Data, tomllib.loads(_FILE.read_text("utf-8")))
