"""Column names as people write them: `dramThroughput`, `L1TEX SOL (%)`, `Stall Long Scoreboard`, `SM SOL% (avg)`.

A name is taken for a metric where its words are those of the metric's id, label or one of its names, whatever their order,
case and joints; words that people use for each other and that say nothing stand in spoken.toml. Words that say only that a
share of a unit is meant (`used`, `busy`, `% of peak`) may stand beside them. One word that nobody knows, and the column is
not read. Two metrics of the same words are left to whoever wrote the table. The unit decides too: a share is never read
from a column of bytes, and bytes never from a column that does not say so.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TypedDict, cast

from triage import schema
from triage.dialects._tables import wide_table
from triage.ground import units
from triage.ground.errors import UnknownUnit

LONGEST = 80  # characters of a name that somebody wrote by hand
_FILE = Path(__file__).resolve().parent / "spoken.toml"
_AGGREGATE = re.compile(r"[\[(](avg|average|mean|median|sum|total|max)[\])]\Z", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9]+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEVERAL = re.compile(r"\b([A-Z]{2,})s\b")  # `SMs`
_COUNTED = re.compile(r"#|(?<![a-z])(?:count|number|num)(?![a-z])", re.IGNORECASE)
_UNIT = r"ns|us|µs|μs|ms|[mun]sec|(?:milli|micro|nano)s(?:ec(?:ond)?s?)?|[kmg]?i?b(?:/s)?|[kmg]bps|bytes|%"
_LAST_UNIT = re.compile(rf"(?<=[,\s_])\(?({_UNIT})\)?\Z", re.IGNORECASE)
_FIRST_UNIT = re.compile(r"\A(ns|us|µs|μs|ms|[mun]sec)\b[\s_(]+(?=\w)", re.IGNORECASE)
_SCALE = re.compile(
    r"[\[(]\s*(?:0(?:\.0)?\s*(?:-|–|\.\.\.?|to|…)\s*(1|100)(?:\.0)?\s*%?|norm(?:alized|alised)?)\s*[\])]", re.IGNORECASE
)  # `(0-1)`
# `(of 32)`, `(waves per SIMD of 16)`: how many there can be
_MOST = re.compile(r"[\[(]\s*(?:(?:out )?of|max\.?|/)\s*(\d+)\s*[\])]| of (\d+)(?=\s*[\])])", re.IGNORECASE)
_PER = re.compile(
    r"(?:\bper |/ ?)(?:(?:target|screen|output) )?(?:pixel|px|fragment|triangle|prim|vert|warp|wave|thread)",
    re.IGNORECASE,
)
_RATE = re.compile(r"\b(rate|ratio|share|fraction)\b", re.IGNORECASE)
_PERCENT = re.compile(r"\b(pct|percent|percentage)\b", re.IGNORECASE)
# what a share is one of, where that says nothing of what has it; `of active cycles` does
_WHOLE = re.compile(
    r"\bof (?:the |all |its )?(?:(?:frame|gpu|elapsed|warp|total|max|maximum|issue|l1|l2|tex|stalled|shared|input) )*"
    r"(?:time|slots|samples|cycles|frame|elapsed|max|maximum|total|all|wavefronts|requests|sectors|accesses|stalls|reasons|warps|pixels"
    r"|fragments|primitives|prims|triangles|tests|capacity)\b|(?<=%) of (?:\w+ )?traffic\b|(?:/\s*|\bper )frame\b",
    re.IGNORECASE,
)
_NAMESPACE = re.compile(r"\s*([A-Za-z][A-Za-z ]{1,15})(?:[.:|/]|::| - )\s*(\S.*)\Z")
_GLOSS = re.compile(r"\(([A-Za-z0-9/ ]{2,12})\)")
# words that sort columns wherever they stand first
_SORTS = tuple("shader count counts units sol metrics gpu".split())
_SAYS = {
    "stall",
    "hit",
    "active",
    "idle",
    "occupancy",
    "launch",
    "pipe",
    "scoreboard",
}  # whatever stands in brackets is no unit's share then
SORTED = 3  # columns that begin with the same word: it says which kind they are of
# a column that is called by its unit alone
_TIMES = re.compile(r"ns|us|µs|μs|ms|[mun]sec|(?:milli|micro|nano)s(?:ec(?:ond)?s?)?", re.IGNORECASE)
# computed from others, or statements about the capture: nobody's column
OURS = (
    *("sol.", "primary.", "top.", "involved.", "kind.", "frame.", "device.", "api.", "can.", "unit.", "gpu.time_"),
    *("work.", "timeline.", "range.", "name."),
)
RARER = ("stall_cycles.", "eu.stall_", "idle.")  # of the same words as others, which people mean more often
MOST_PIECES = 4  # words of a name without joints
_Words = frozenset[str]


class _Vocabulary(TypedDict):
    drop: list[str]
    beside: list[str]
    beside_units: list[str]
    beside_signs: list[str]
    shares: list[str]
    never_within: list[str]
    times: list[str]
    drop_of_stalls: list[str]
    drop_of_launches: list[str]
    stalls_of_launches: list[str]
    same: dict[str, str]
    joined: dict[str, list[str]]
    phrases: dict[str, list[str]]
    never: dict[str, list[str]]
    units: dict[str, str]
    among_stalls: dict[str, str]
    among_units: dict[str, str]


def read(headers: Sequence[str], stalls: bool = False, pipes: bool = False) -> dict[int, tuple[str, str]]:
    """Position -> (metric, unit text) of the headers whose words are a metric's.

    stalls: does the table tell reasons to stall under other names? Then `barrier` alone is one too. pipes: does it call units
    by their names alone? Then `FMA` is a pipe's share.
    """
    said = {i: _split(h) for i, h in enumerate(headers) if 0 < len(h) <= LONGEST and "__" not in h}
    found = {i: (m, unit) for i, (words, unit) in said.items() if (m := _meant(words, unit, headers[i]))}
    found |= _less(headers, [i for i in said if i not in found])
    found = {i: (m, unit) for i, (m, unit) in found.items() if unit or m != "gpu.time" or len(headers[i]) > 1}
    if said and (stalls or any(m.startswith("stall.") for m, _ in found.values())):
        short = {_words(k): v for k, v in _data()["among_stalls"].items()}
        found |= {i: (short[words], unit) for i, (words, unit) in said.items() if words in short and _fits(short[words], unit, headers[i])}  # fmt: skip
    if pipes:
        alone = {_words(k): v for k, v in _data()["among_units"].items()}
        found |= {i: (alone[words], unit) for i, (words, unit) in said.items() if i not in found and words in alone and _fits(alone[words], unit, headers[i])}  # fmt: skip
    return found


def _less(headers: Sequence[str], unread: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Position -> (metric, unit text) of headers that mean something by a part of them.

    `Colour output (CROP) %` by what stands in brackets; `units.sm` and `SOL:SM` by what stands behind a word that several
    columns begin with, which then only sorts them. A unit alone is its share of peak there.
    """
    heads = Counter(m[1].lower() for h in headers if (m := _NAMESPACE.match(h)))
    found = {}
    for i in unread:
        header, alone = headers[i], _data()["units"] | _data()["among_units"]
        sorts = (m := _NAMESPACE.match(header)) and (heads[m[1].lower()] >= SORTED or m[1].lower() in _SORTS)
        parts = [m[2]] if m and sorts else []
        if (g := _GLOSS.search(header)) and "_" not in header:
            rest = _GLOSS.sub("", header)
            # `long scoreboard (L1TEX)` is said more closely; `SM SOL (before)` may be anything
            parts += [rest] if _split(rest)[0] and _words(g[1]) <= _vocabulary() else []
            parts += [f"{g[1]} %"] if _split(rest)[0].isdisjoint(_SAYS) else []
        for part in parts:
            words, unit = _split(part)
            metric = _meant(words, unit, part) or (alone.get(next(iter(words)), "") if len(words) == 1 else "")
            if metric and _fits(metric, unit, header):
                found[i] = (metric, unit)
                break
    return found


def scaled(header: str) -> tuple[str, str]:
    """A header without the range of its shares, and their unit: `SM (0-1)` -> (`SM`, `ratio`); "" where it states none."""
    m = _SCALE.search(header)
    return (_SCALE.sub("", header).strip(), "%" if m[1] == "100" else "ratio") if m else (header, "")


def most(header: str) -> float:
    """How many there can be of what a column counts, where its header says so: `Warps per SM (max 48)`; 0 where not."""
    m = _MOST.search(header)
    return float(m[1] or m[2]) if m else 0.0


def busy(headers: Sequence[str], found: Sequence[tuple[str, str]]) -> dict[int, tuple[str, str]]:
    """Position -> (metric, unit text) of `SM busy` and the like, where the table calls the share of every unit busy.

    found: (metric, unit text) of each header, "" for none. A tool's `SM busy` stands among units that it calls otherwise.
    """
    so = [i for i, h in enumerate(headers) if re.search(r"\bbusy\b", h, re.IGNORECASE)]
    told = {metric for metric, _ in found}
    if sum(found[i][0].endswith(".throughput") for i in so) < 2:
        return {}
    meant = {i: found[i][0].removesuffix(".busy") + ".throughput" for i in so if found[i][0].endswith(".busy")}
    return {i: (m, found[i][1]) for i, m in meant.items() if schema.known(m) and m not in told}


def _meant(words: _Words, unit: str, header: str) -> str:
    """The metric of some words, with and then without those that say nothing more; "" for none."""
    data = _data()
    if words in _never():
        return ""
    if m := _named(words, unit, header):
        return m
    if unit and words <= set(data["times"]) and _fits("gpu.time", unit, header):
        return "gpu.time"
    idle = words.intersection([*data["beside"], *(data["beside_signs"] if unit == "%" else ())])
    for fewer in range(1, len(idle) + 1):
        for gone in itertools.combinations(sorted(idle), fewer):
            less = words.difference(gone)
            m = _named(less, unit, header) if less and less not in _never() else ""
            # one word alone says too little of a share: `memory`, `stall`
            if m and m != "gpu.time" and (len(less) > 1 or schema.get(m).unit == "count") and _may_stand(gone, m):
                return m
    less = words.difference(data["beside"])
    share = unit == "%" or (not unit and not words.isdisjoint(data["shares"]))
    return data["units"].get(next(iter(less)), "") if share and len(less) == 1 else ""


def _named(words: _Words, unit: str, header: str) -> str:
    """The metric of which these are all the words, and that fits the unit; where a rate is meant, a share before a count."""
    found = [m for m in _metrics().get(words, ()) if _fits(m, unit, header)]
    rate = len(found) > 1 and _RATE.search(CAMEL.sub(" ", header))
    return next((m for m in found if rate and schema.get(m).unit == "ratio"), found[0] if found else "")


def _may_stand(gone: Sequence[str], metric: str) -> bool:
    """May these words stand beside those of a metric? `bandwidth` says nothing beside a unit only, not beside what is counted."""
    known = schema.get(metric)
    load = known.unit == "ratio" and not metric.endswith(("share", ".hit_rate"))
    return load or metric.endswith(".bandwidth") or set(gone).isdisjoint(_data()["beside_units"])


def _split(header: str) -> tuple[_Words, str]:
    """Words and unit text of a header."""
    text = _MOST.sub("", _WHOLE.sub("", _AGGREGATE.sub("", header.strip())))
    text, scale = scaled(text)
    text = _SEVERAL.sub(r"\1", text).rstrip(" \t,;")
    if _TIMES.fullmatch(text):
        return frozenset({"time"}), _short(text)
    if scale:
        return _words(text, apart=True), scale
    if m := _FIRST_UNIT.match(text):  # `ms (GPU)`
        return _words(text[m.end() :], apart=True), _short(m[1])
    bare, unit = wide_table.split_unit(text)
    if not unit:
        bare, unit = wide_table.split_suffix(CAMEL.sub("_", text).replace(".", "_"))
    if not unit and (m := _LAST_UNIT.search(text)):
        bare, unit = text[: m.start()], _short(m[1])
    if not unit and ("%" in text or _PERCENT.search(CAMEL.sub(" ", text).replace("_", " "))):
        bare, unit = text, "%"  # `SM (%SOL)`, `L2 throughput, % of peak`: a sign anywhere
    if unit.startswith("%"):  # `SM [% of peak]`: what stands beside the sign says what it is a share of
        bare, unit = f"{bare} {unit[1:]}", "%"
    elif unit.lower() in ("pct", "percent", "percentage"):
        unit = "%"
    return _words(bare, apart=True), unit


def _short(unit: str) -> str:
    """`micros`, `usec` -> `us`, and so on; other units as they are."""
    low = unit.lower().replace("μ", "µ")
    of_time = re.fullmatch(r"(milli|micro|nano|[mun])s(?:ec(?:ond)?s?)?", low)
    return {"milli": "ms", "micro": "us", "nano": "ns"}.get(of_time[1], f"{of_time[1]}s") if of_time else unit


def _words(text: str, apart: bool = False) -> _Words:
    """The words that say what is meant. apart: are words that stand without a joint taken apart, `l2hit`, `drambw`?"""
    data = _data()
    low = text if text.islower() else CAMEL.sub(" ", _SEVERAL.sub(r"\1", text)).lower()
    found = _WORD.findall(low)
    joined = _united(" ".join([_apart(w) for w in found] if apart else found))
    kept = frozenset(filter(None, map(_sense, joined.split())))
    if "launch" in kept and (held := kept.intersection(data["stalls_of_launches"])):
        kept = kept.difference(held) | {"stall"}
    if "stall" not in kept:
        return kept
    if "launch" not in kept:
        return kept.difference(data["drop_of_stalls"])
    return kept.difference(data["drop_of_launches"], (w for w in data["drop_of_stalls"] if w != "warp"))


def _united(text: str) -> str:
    """A text in which several words that mean one are that one; what stands first in spoken.toml goes first."""
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
    return "" if meant in _data()["drop"] else meant


def _one(word: str) -> str:
    """The singular: `primitives` -> `primitive`."""
    if len(word) > 5 and word.endswith(("ches", "shes", "sses")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us")) else word


def _fits(metric: str, unit: str, header: str) -> bool:
    if unit == "%":
        return schema.get(metric).unit == "ratio"
    if schema.get(metric).unit == "ratio" and _COUNTED.search(CAMEL.sub(" ", header)):
        return False  # `Tex count` counts textures
    if schema.get(metric).additive and _PER.search(header):
        return False  # `Fragment invocations per pixel` counts layers
    if not unit and schema.get(metric).unit.startswith("byte"):  # reads, writes: of what, and in which size?
        return "byte" in header.lower() and schema.get(metric).unit == "byte"
    try:
        return not unit or bool(units.factor(unit, schema.get(metric).unit))
    except UnknownUnit:
        return False


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
    data = _data()
    named = (m.id for m in schema.all_metrics().values() if not m.id.startswith(OURS))
    phrases = (phrase for phrases in data["phrases"].values() for phrase in phrases)
    texts = [
        *named,
        *phrases,
        *data["joined"],
        *(p for many in data["joined"].values() for p in many),
        *data["same"],
        *data["same"].values(),
    ]
    texts += [*data["drop"], *data["beside"], *data["units"], "draws", "shaded"]
    return frozenset(w for text in texts for w in re.findall(r"[a-z0-9]{2,}", text)).difference(data["never_within"])


@cache
def _metrics() -> dict[_Words, tuple[str, ...]]:
    """Words -> metrics that people call so, the first that fits is meant; words of the schema's own names only where one has them."""
    found: dict[_Words, set[str]] = {}
    for m in schema.all_metrics().values():
        if m.id.startswith(OURS):
            continue
        known = (a for a in m.aliases if "__" not in a)
        for name in (m.id,) if m.id.startswith(RARER) else (m.id, m.label, *known):
            if words := _words(name.rstrip("%").split(" [")[0]):
                found.setdefault(words, set()).add(m.id)
    out: dict[_Words, tuple[str, ...]] = {}
    for metric, phrases in _data()["phrases"].items():
        for words in dict.fromkeys(_words(way) for phrase in phrases for way in _ways(phrase)):
            out[words] = (*out.get(words, ()), metric)
    for words, ids in found.items():
        if len(ids) == 1 and not ids <= set(out.get(words, ())):
            out[words] = (*out.get(words, ()), *ids)
    return out


@cache
def _vocabulary() -> _Words:
    """Every word that stands in what a metric is called."""
    return frozenset().union(*_metrics())


@cache
def _never() -> frozenset[_Words]:
    return frozenset(
        _words(way) for phrases in _data()["never"].values() for phrase in phrases for way in _ways(phrase)
    )


@cache
def _same() -> dict[str, str]:
    """Written -> meant, of single words."""
    return {written: meant for meant, many in _data()["same"].items() for written in many.split()}


@cache
def _joined() -> tuple[tuple[str, str], ...]:
    """(written, meant) of several words that mean one, in the order in which they are looked for."""
    return tuple((way, meant) for meant, many in _data()["joined"].items() for phrase in many for way in _ways(phrase))


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
def _data() -> _Vocabulary:
    return cast(_Vocabulary, tomllib.loads(_FILE.read_text("utf-8")))
