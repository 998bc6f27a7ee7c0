"""Words of column names: vocabulary.toml and the schema's own names, as sets of words that stand for metrics."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import tomllib
import unicodedata
from functools import cache, lru_cache
from pathlib import Path
from typing import cast

from triage import schema
from triage.files import cache as stored

_FILE = Path(__file__).resolve().parent / "vocabulary.toml"
_WORD_RE = re.compile(r"[a-z0-9]+")
CAMEL_RE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
PLURAL_RE = re.compile(r"\b([A-Z]{2,})s\b")  # `SMs`
# computed from others, or statements about the capture: no table has them
COMPUTED = (
    *("sol.", "primary.", "top.", "involved.", "kind.", "frame.", "device.", "api.", "can.", "unit.", "gpu.time_"),
    *("work.", "timeline.", "range.", "name."),
)
# of the same words as others, which people mean more often
RARER = ("stall_cycles.", "eu.stall_", "idle.", "vram.stalled")
MIN_FOREIGN_PIECE = 6  # letters: shorter words of other languages stand within English ones too
MAX_PIECES = 4  # words of a name without joints
Words = frozenset[str]


def words_of(text: str, apart: bool = False) -> Words:
    """The words that name a quantity. apart: take words without joints apart, `l2hit`, `drambw`."""
    ascii_text = text if text.isascii() else _without_marks(text)
    low = ascii_text if ascii_text.islower() else CAMEL_RE.sub(" ", PLURAL_RE.sub(r"\1", ascii_text)).lower()
    written = _WORD_RE.findall(low)
    single = " ".join([_apart(w) for w in written] if apart else written)
    glossary = _written("glossary")
    joined = _united(" ".join(filter(None, (glossary.get(w, w) for w in single.split()))))
    words = frozenset(filter(None, map(_sense, joined.split())))
    if "launch" in words and (held := words & word_set("stalls_of_launches")):
        words = words - held | {"stall"}
    if "stall" not in words:
        return words if words.isdisjoint(("hit", "miss")) else words - word_set("drop_of_hits")
    if "launch" not in words:
        return words - word_set("drop_of_stalls")
    return words - word_set("drop_of_launches") - (word_set("drop_of_stalls") - {"warp"})


def _without_marks(text: str) -> str:
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
    """The word that a single word stands for, "" for one that names nothing."""
    same = _written("same")
    sense = same.get(word, same.get(_one(word), _one(word)))
    return "" if sense in word_set("drop") else sense


def _one(word: str) -> str:
    """The singular: `primitives` -> `primitive`."""
    if len(word) > 5 and word.endswith(("ches", "shes", "sses")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us")) else word


@lru_cache(4096)
def _apart(word: str) -> str:
    """An unknown word as the fewest known ones: `l1hitrate` -> `l1 hit rate`; as it is where it is none of these."""
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
    return " ".join(pieces) if pieces and _one(word) not in known and len(pieces) <= MAX_PIECES else word


@cache
def _pieces() -> frozenset[str]:
    """Words that names of metrics are made of, by the schema and by people."""
    texts = [m.id for m in schema.all_metrics().values() if not m.id.startswith(COMPUTED)]
    texts += [phrase for group in ("phrases", "joined") for phrases in _phrases(group).values() for phrase in phrases]
    texts += [
        *_phrases("joined"),
        *pairs("same"),
        *pairs("same").values(),
        *word_set("drop"),
        *word_set("beside"),
        *pairs("units"),
        "draws",
        "shaded",
    ]
    texts += [w for w in _written("glossary") if len(w) >= MIN_FOREIGN_PIECE]
    return frozenset(w for text in texts for w in re.findall(r"[a-z0-9]{2,}", text)) - word_set("never_within")


@cache
def metrics() -> dict[Words, tuple[str, ...]]:
    """Words -> metrics that people call so, the first that fits is meant; words of the schema's own names only where one has them.

    Made once per machine: three thousand names take 4 % of a small diagnosis.
    """
    here = Path(__file__).parent
    name = f"words-{stored.digest([*here.glob('vocabulary.*'), *here.glob('../../schema/*.*')])}"
    with contextlib.suppress(ValueError, AttributeError, TypeError):  # nothing kept, or not what this keeps
        return {frozenset(words.split()): tuple(ids) for words, ids in json.loads(stored.recall(name) or b"").items()}
    table = _build_metrics()
    stored.keep(name, json.dumps({" ".join(sorted(words)): ids for words, ids in table.items()}).encode())
    return table


def _build_metrics() -> dict[Words, tuple[str, ...]]:
    names: dict[Words, set[str]] = {}
    for m in schema.all_metrics().values():
        if m.id.startswith(COMPUTED):
            continue
        aliases = (a for a in m.aliases if "__" not in a)
        for name in (m.id,) if m.id.startswith(RARER) else (m.id, m.label, *aliases):
            if words := words_of(name.rstrip("%").split(" [")[0]):
                names.setdefault(words, set()).add(m.id)
    table: dict[Words, tuple[str, ...]] = {}
    for metric, phrases in _phrases("phrases").items():
        for words in dict.fromkeys(_word_sets(phrases)):
            table[words] = (*table.get(words, ()), metric)
    for words, ids in names.items():
        if len(ids) == 1 and not ids <= set(table.get(words, ())):
            table[words] = (*table.get(words, ()), *ids)
    return table


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
    """Words -> the metric that a share of that name lacks to one."""
    return {words: metric for metric, phrases in _phrases("opposite").items() for words in _word_sets(phrases)}


@cache
def never() -> frozenset[Words]:
    """Phrases that name no metric, as sets of words."""
    return frozenset(words for phrases in _phrases("never").values() for words in _word_sets(phrases))


@cache
def among(neighbours: str) -> dict[Words, str]:
    """Words -> the metric that they mean only beside columns of such metrics: `stalls`, `launches`, `units`."""
    return {words_of(name): metric for name, metric in pairs(f"among_{neighbours}").items()}


@cache
def word_set(key: str) -> Words:
    """A list of vocabulary.toml as a set."""
    return frozenset(cast("list[str]", _data()[key]))


def pairs(key: str) -> dict[str, str]:
    """A table of vocabulary.toml: word or metric -> metric."""
    return cast("dict[str, str]", _data()[key])


def by_family() -> dict[str, dict[str, str]]:
    """Family of metrics of a GPU -> what words that mean one metric elsewhere mean beside it."""
    return cast("dict[str, dict[str, str]]", _data()["in_tables_of"])


@cache
def _written(key: str) -> dict[str, str]:
    """Written -> meant, of single words."""
    return {written: meant for meant, many in pairs(key).items() for written in many.split()}


def _phrases(key: str) -> dict[str, list[str]]:
    return cast("dict[str, list[str]]", _data()[key])


def _word_sets(phrases: list[str]) -> list[Words]:
    return [words_of(way) for phrase in phrases for way in _ways(phrase)]


@cache
def _joined() -> tuple[tuple[str, str], ...]:
    """(written, meant) of several words that mean one, in the order in which they are looked for."""
    return tuple((way, meant) for meant, many in _phrases("joined").items() for phrase in many for way in _ways(phrase))


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
    """The spellings of a phrase: `late|early z test?` is `late z`, `late z test`, `early z` and `early z test`."""
    words = [word.removesuffix("?").split("|") + [""] * word.endswith("?") for word in phrase.split()]
    return [" ".join(filter(None, way)) for way in itertools.product(*words)]


@cache
def _data() -> dict[str, object]:
    """vocabulary.toml, where each key says what it is for."""
    return tomllib.loads(_FILE.read_text("utf-8"))
