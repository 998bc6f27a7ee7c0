"""Step 1 of 4: what each header of a custom table may mean, by its own text alone.

A header that spells a metric's id, an alias or a label is that metric. Of any other the words are compared: the same words as a
metric's id, label, name or phrase (vocabulary.toml), whatever their order, case and joints, make it that metric. Words that
only say that a share of a unit is meant (`used`, `% of peak`) may stand beside them; with one unknown word the column is not
read. The unit decides too: a share is never read from a column of bytes, and bytes never from one that does not say so.

What depends on the other columns stays open here: a header keeps its candidates, each with what must stand beside it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from triage import schema
from triage.dialects.custom import header_words, vocabulary
from triage.dialects.custom.header_words import spaced
from triage.dialects.custom.vocabulary import CAMEL_RE, Words, words_of
from triage.dialects.tables import tool_names, wide_table
from triage.dialects.tables.tool_names import Named
from triage.ground import units
from triage.ground.errors import UnknownUnit

BY_MAP, BY_NAME, BY_TOOL, BY_WORDS = "as mapped", "by name", "by its tool's name", "by words"
RATES = {"byte": "byte/s", "count": "hz"}  # unit -> that of its rate
LANES = "valu.utilization"  # any vendor's share of lanes at work is called so
_COUNT_RE = re.compile(r"#|(?<![a-z])(?:count|number|num)(?![a-z])", re.IGNORECASE)
_PER_RE = re.compile(
    r"(?:\bper |/ ?)(?:(?:target|screen|output) )?(?:pixel|px|fragment|triangle|prim|vert|warp|wave|thread)",
    re.IGNORECASE,
)
_RATE_RE = re.compile(r"\b(rate|ratio|share|fraction)\b", re.IGNORECASE)
_SHARE_RE = re.compile(rf"{_RATE_RE.pattern}|\b(?:frac|eff|efficiency)\b", re.IGNORECASE)
_BRACKETS_RE = re.compile(r"(.*\S)\s*\[([^\[\]]+)\]")
_PCT_RE = re.compile(r"(_|\.)pct($|_|\.)")
_GROUP_RE = re.compile(r"\s*([A-Za-z][A-Za-z ]{1,15})(?:[.:|/]|::| - )\s*(\S.*)\Z")  # `units.sm`, `SOL: SM`
_GLOSS_RE = re.compile(r"\(([A-Za-z0-9/ ]{2,28})\)")
_CUT_RE = re.compile(r"[a-z0-9]+__\w+(?:\s*[\[(][^\])]*[\])])?\Z", re.IGNORECASE)  # a PerfWorks name up to its dot
_EACH_RE = re.compile(r"[\[(]\s*(?:per |/\s*)\w+\s*[\])]\Z", re.IGNORECASE)  # `[per access]`
_BLOCKS_RE = re.compile(r"(?:#|n|num|number of|launch_)?[\W_]*(?:blocks|blks|ctas)", re.IGNORECASE)  # one is a size
# the counter of one shader stage; how long a stage itself was busy, `CSBusy`, is no counter of a unit
_STAGE_RE = re.compile(
    r"(?:CS|PS|VS|GS|HS|DS|VsGs|PreTessellation|PostTessellation)[ _]?((?:[A-Z][a-z0-9]*){2,}(?: %)?)\Z"
)


class Reading(NamedTuple):
    """What a header may mean, "" for nothing. why: in a few words, for `triage facts`.

    unit: text as written; `/48` for a count out of 48. lacks: the column holds 1 - the metric, such as a miss rate.
    beside: what the table must hold for it (`agree.pick`), "" for nothing.
    """

    metric: str = ""
    unit: str = ""
    why: str = "unknown words"
    lacks: bool = False
    beside: str = ""


NOTHING = Reading()


class Header(Struct, frozen=True):
    """One column name. place: 0-based column. named: what its text spells. options: candidates, best first.

    reading: the candidate decided for. by_words: the metric where words decided, else "". fixed: the user mapped it.
    group: the word before the rest, in lower case (`units` of `units.sm`).
    """

    place: int
    text: str
    named: Reading = NOTHING
    options: tuple[Reading, ...] = ()
    reading: Reading = NOTHING
    by_words: str = ""
    fixed: bool = False
    group: str = ""

    def read_as(self, metric: str, why: str, unit: str | None = None) -> Header:
        """The header with another metric, in the same unit unless one is given."""
        unit = self.reading.unit if unit is None else unit
        return replace(self, reading=self.reading._replace(metric=metric, why=why, unit=unit))


def say(texts: Sequence[str], taken: Collection[int], mapping: Mapping[str, str]) -> list[Header]:
    """Headers with all that they may mean. taken: columns about the rows. mapping: header -> metric, by the user."""
    mapped = {schema.normal(header): metric for header, metric in mapping.items()}
    own = tool_names.of(tool_names.tell(wide_table.split_unit(text)[0] for text in texts))
    beside = {schema.normal(text) for text in texts}
    return [_header(i, text, mapped, own, beside) for i, text in enumerate(texts) if text and i not in taken]


def _header(
    place: int, text: str, mapped: Mapping[str, str], own: Mapping[str, Named], beside: Collection[str]
) -> Header:
    """own: counters of the tool behind the table, whose names may mean something else elsewhere. beside: all headers."""
    if to := mapped.get(schema.normal(text)) or mapped.get(schema.normal(wide_table.split_unit(text)[0])):
        metric, unit = schema.target(to)
        named = Reading(metric, unit or wide_table.split_unit(text)[1] or _unit_within(text, metric), BY_MAP)
        return Header(place, text, named, (named,), fixed=True)
    named, counter = by_name(text), ""
    bare, unit = wide_table.split_unit(text)
    stage, key = _STAGE_RE.match(text.strip()), schema.normal(bare)
    known = own.get(key) or (tool_names.of("gpa").get(key) if stage else None)
    if known and not known.metric:
        return Header(place, text, options=(Reading(why="a figure of its tool that no rule reads"),))
    if not named.metric and stage:
        counter = stage[1]
        named = by_name(counter)
    if known and known.metric != named.metric:
        named = Reading(known.metric, unit or known.unit, BY_TOOL, known.lacks)
        return Header(place, text, named, (named,))
    if _is_doubtful(named):
        spelled = schema.normal(text)
        if spelled.endswith("cycles") and spelled.removesuffix("cycles").rstrip() in beside:
            named_so = worded(place, text, named, counter)  # `MemUnitBusyCycles` beside `MemUnitBusy`: no share
            return replace(named_so, options=tuple(r for r in named_so.options if not _is_share(r)) or (NOTHING,))
        return worded(place, text, named, counter)
    return Header(place, text, named, (named,))


def _unit_within(text: str, metric: str) -> str:
    """The unit of time among the words of a mapped header: `total_ms_baseline`; "" for none or several."""
    units_in = set(re.findall(r"(?<![a-z0-9])(ns|us|ms|s)(?![a-z0-9])", text.lower()))
    return units_in.pop() if len(units_in) == 1 and schema.get(metric).unit == "ns" else ""


def worded(place: int, text: str, named: Reading = NOTHING, counter: str = "") -> Header:
    """A header with what its words may mean. named: what it spells, if anything. counter: of a shader stage, without it."""
    rest = counter or text
    # where the name is a count and the unit a share, words may mean the share
    options = [r for r in candidates(rest) if not named.metric or schema.get(r.metric).unit == "ratio"]
    group = _GROUP_RE.match(rest)
    return Header(place, text, named, (*options, named), group=group[1].lower() if group else "")


def _is_doubtful(named: Reading) -> bool:
    """True for no metric, an unknown unit, or a share of a metric that is none: `SM Occupancy [%]` counts no warps."""
    metric, unit = named.metric, named.unit
    return not metric or is_unknown_unit(unit) or (unit in ("%", "ratio") and schema.get(metric).unit != "ratio")


def _is_share(reading: Reading) -> bool:
    return bool(reading.metric) and schema.get(reading.metric).unit == "ratio"


def is_unknown_unit(unit: str) -> bool:
    """True for a unit text that no tool prints."""
    return bool(unit) and not units.known(unit)


@lru_cache(4096)  # most of a table's hundreds of headers are the same in all files of a batch
def by_name(header: str) -> Reading:
    """The metric that a header spells: its id, an alias or a label, with or without a unit."""
    if len(header) > wide_table.MAX_HEADER_CHARS:
        return NOTHING
    header, scale = header_words.without_scale(header)
    bare, unit = (header, scale) if scale else wide_table.split_unit(header)
    if not scale and bare == header.strip() and (m := _BRACKETS_RE.fullmatch(header.strip())):
        bare, unit = m[1], m[2]  # an unknown unit on a known metric is reported, not passed over
    # as it stands, without its unit, without a tool's prefixes, without a unit behind `_`: the first that is known
    for name, u in ((header, scale), (bare, unit), (schema.perfworks(bare), unit), wide_table.split_suffix(bare)):
        if name and (metric := _spelled(name)):
            return _named(metric, u or ("%" if name.endswith("%") or _PCT_RE.search(name) else ""))
    return NOTHING


def _spelled(name: str) -> str:
    """The metric of an id, alias or label; "" for computed ones: no column is called so but by chance."""
    metric = schema.identified(name)
    if metric and not metric.startswith(vocabulary.COMPUTED):
        return metric
    if metric := schema.by_alias().get(schema.normal(name), ""):
        return metric
    metric = schema.by_label().get(schema.normal(name), "")
    # `Stalled: barrier` is Intel's label, and everybody's words
    return "" if metric.startswith((*vocabulary.COMPUTED, *vocabulary.RARER)) else metric


def _named(metric: str, unit: str) -> Reading:
    if not unit.startswith("%") or unit == "%":
        return Reading(metric, unit, BY_NAME)
    # `[% of peak]` is a percentage of whatever; a count is none
    return Reading(metric, "%", BY_NAME) if schema.get(metric).unit == "ratio" else NOTHING


def candidates(header: str) -> Iterator[Reading]:
    """What the words of a header may mean, best first."""
    if not 0 < len(header) <= header_words.MAX_CHARS or ("__" in header and not _CUT_RE.match(header)):
        return
    words, unit = header_words.split(header)
    plain = _whole(header, words, unit)
    if (metric := vocabulary.among("stalls").get(words, "")) and _fits(metric, unit, header):
        yield Reading(metric, unit, "a stall reason, beside others", beside="stalls")
    size = "" if unit else vocabulary.among("launches").get(words, "")
    if size and (not plain.metric or plain.metric == LANES):
        yield Reading("launch.grid_size" if _BLOCKS_RE.fullmatch(header) else size, "", "a size, beside other figures of a launch", beside="launches")  # fmt: skip
    if plain.metric:
        yield plain
        return
    yield from _parts(header)
    if (metric := vocabulary.among("units").get(words, "")) and _fits(metric, unit, header):
        yield Reading(metric, unit, "a pipe, beside units called by their names alone", beside="units")


def _whole(header: str, words: Words, unit: str) -> Reading:
    """What all words of a header mean together."""
    metric = _meaning(words, unit, header)
    if lacking := _opposite(words, unit, header, bool(metric)):
        reading = Reading(lacking, unit, "by words, as 1 - value", lacks=True)
    elif metric == "gpu.time" and not unit and len(header) == 1:  # `t` may be anything
        reading = NOTHING
    else:
        reading = Reading(metric, unit or _each(header, metric), BY_WORDS)
    return _cut(header, unit, reading)


def _cut(header: str, unit: str, reading: Reading) -> Reading:
    """The reading of a PerfWorks counter without its end: what its words mean, where it counts that, else its one share."""
    counted = vocabulary.perfworks().get(wide_table.split_unit(header)[0].lower()) if "__" in header else None
    # cycles may be a sum over units, or one unit's
    if not counted or (reading.metric in counted and schema.get(reading.metric).unit != "cycle"):
        return reading
    shares = [m for m in counted if schema.get(m).unit == "ratio" and _fits(m, unit, header)]
    return Reading(shares[0], unit, BY_WORDS) if len(counted) == len(shares) == 1 else NOTHING


def _each(header: str, metric: str) -> str:
    """`ratio` where a figure that may exceed one is stated per something: `[per access]`; else ""."""
    known = schema.get(metric) if metric else None
    return "ratio" if known and known.unit == "ratio" and not known.bounded and _EACH_RE.search(header) else ""


def _parts(header: str) -> Iterator[Reading]:
    """What parts of a header mean: behind a word that sorts columns (`units.sm`), in brackets (`Colour output (CROP) %`).

    A unit's name alone is its share of peak there.
    """
    parts = []
    if (m := _GROUP_RE.match(header)) and "stall" not in words_of(m[1]):  # a reason to stall, not what causes it
        group = m[1].lower()
        parts.append(
            (
                m[2],
                f"by the words behind {m[1]!r}",
                "" if group in vocabulary.word_set("group_words") else f"group {group}",
            )
        )
    parts += [(part, "by the words in and around brackets", "") for part in _around_brackets(header)]
    names = vocabulary.pairs("units") | vocabulary.pairs("among_units")
    stated = header_words.split(header)[1] if parts else ""
    for part, why, beside in parts:
        words, unit = header_words.split(part)
        unit = unit or stated  # `Depth test (ms)`: brackets that hold the unit explain nothing, and a time is no share
        metric = _meaning(words, unit, part) or (names.get(next(iter(words)), "") if len(words) == 1 else "")
        if metric and _fits(metric, unit, header):
            yield Reading(metric, unit or _each(header, metric), why, beside=beside)


def _around_brackets(header: str) -> list[str]:
    """What a header may mean by itself and by what stands in brackets: `long scoreboard (L1TEX)`, `Colour output (CROP) %`."""
    m = _GLOSS_RE.search(header)
    if not m or "_" in header:
        return []
    rest = _GLOSS_RE.sub("", header)
    words = header_words.split(rest)[0]
    # words in brackets may say it more closely; `SM SOL (before)` may be anything
    parts = [rest] if words and words_of(m[1]) <= vocabulary.known_words() else []
    parts += [f"{m[1]} %"] if words.isdisjoint(vocabulary.word_set("not_before_brackets")) else []
    return [*parts, f"{m[1]} stall %"] if "stall" in words else parts


def _meaning(words: Words, unit: str, header: str) -> str:
    """The metric of some words, with and then without those that say nothing more; "" for none."""
    if words in vocabulary.never():
        return ""
    # `GTI Read Bytes`: a unit that is also a word
    counted = words | {"byte"} if unit and "byte" in header.lower() else words
    if metric := _exactly(words, unit, header) or _exactly(counted, unit, header):
        return metric
    if unit and words <= vocabulary.word_set("times") and _fits("gpu.time", unit, header):
        return "gpu.time"
    return _without_fillers(words, unit, header) or _unit_alone(words, unit)


def _exactly(words: Words, unit: str, header: str) -> str:
    """The metric of which these are all the words, and that fits the unit; where a rate is meant, a share before a count."""
    fitting = [m for m in vocabulary.metrics().get(words, ()) if _fits(m, unit, header)]
    if len(fitting) > 1 and _RATE_RE.search(spaced(header)):
        return next((m for m in fitting if schema.get(m).unit == "ratio"), fitting[0])
    return fitting[0] if fitting else ""


def _without_fillers(words: Words, unit: str, header: str) -> str:
    """The metric of the words without the fewest that only say that a share is meant: `L2 cache hit rate`."""
    fillers = words & vocabulary.word_set("beside")
    if unit == "%":
        fillers |= words & vocabulary.word_set("beside_signs")
    for count in range(1, len(fillers) + 1):
        for dropped in itertools.combinations(sorted(fillers), count):
            rest = words.difference(dropped)
            metric = _exactly(rest, unit, header) if rest and rest not in vocabulary.never() else ""
            if metric and metric != "gpu.time" and _is_enough(rest, dropped, schema.get(metric)):
                return metric
    return ""


def _is_enough(rest: Words, dropped: Sequence[str], metric: schema.Metric) -> bool:
    """True if these words name a metric although others were dropped.

    One word alone says too little of a share: `memory`, `stall`. `bandwidth` says nothing beside a unit only.
    """
    if len(rest) < 2 and metric.unit != "count":
        return False
    load = metric.unit == "ratio" and not metric.id.endswith(("share", ".hit_rate"))
    return load or metric.id.endswith(".bandwidth") or vocabulary.word_set("beside_units").isdisjoint(dropped)


def _unit_alone(words: Words, unit: str) -> str:
    """The share of peak of the unit that is all that the words name: `SM %`; "" for none."""
    rest = words - vocabulary.word_set("beside")
    share = unit == "%" or (not unit and not words.isdisjoint(vocabulary.word_set("shares")))
    return vocabulary.pairs("units").get(next(iter(rest)), "") if share and len(rest) == 1 else ""


def _opposite(words: Words, unit: str, header: str, has_meaning: bool) -> str:
    """The metric that a share lacks to one: of a miss rate the hit rate; "" for none. has_meaning: its words are a metric's."""
    if unit not in ("", "%", "ratio"):
        return ""
    rate = _SHARE_RE.search(spaced(header))
    if "miss" in words and (rate or (unit and not has_meaning)):
        metric = _meaning(words - {"miss"} | {"hit"}, unit or "%", header)
        return metric if metric.endswith(".hit_rate") else ""
    return "" if has_meaning or not (unit or rate) else vocabulary.opposites().get(words, "")


def is_rate(metric: str, unit: str) -> bool:
    """True for what a metric counts, per second: with the time it is the count."""
    known = schema.get(metric)
    return known.additive and units.known(unit) and units.unit(unit)[0] == RATES.get(known.unit)


def _fits(metric: str, unit: str, header: str) -> bool:
    """True if a metric can be in this unit, and the header does not say that something else is counted."""
    known = schema.get(metric)
    if unit in ("%", "ratio"):
        return known.unit == "ratio"
    if known.unit == "ratio" and _COUNT_RE.search(CAMEL_RE.sub(" ", header)):
        return False  # `Tex count` counts textures
    if metric == "gpu.time" and _RATE_RE.search(spaced(header)):
        return False  # `GPU share` is part of a time
    if known.additive and _PER_RE.search(header):
        return False  # `Fragment invocations per pixel` counts layers
    if not unit and known.unit.startswith("byte"):  # reads, writes: of what, and in which size?
        return "byte" in header.lower() and known.unit == "byte"
    try:
        return not unit or is_rate(metric, unit) or bool(units.factor(unit, known.unit))
    except UnknownUnit:
        return False
