"""Column names as people write them: `dramThroughput`, `L1TEX SOL (%)`, `Stall Long Scoreboard`, `SM SOL% (avg)`.

A name is taken for a metric where its words are those of the metric's id, label or one of its names, whatever their order,
case and joints; words that people use for each other and that say nothing stand in vocabulary.toml. Words that say only that a
share of a unit is meant (`used`, `busy`, `% of peak`) may stand beside them. One word that nobody knows, and the column is
not read. Two metrics of the same words are left to whoever wrote the table. The unit decides too: a share is never read
from a column of bytes, and bytes never from a column that does not say so.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Container, Sequence

from triage import schema
from triage.dialects.custom import vocabulary
from triage.dialects.custom.vocabulary import CAMEL, SEVERAL, Words, words_of
from triage.dialects.tables import wide_table
from triage.ground import units
from triage.ground.errors import UnknownUnit

LONGEST = 80  # characters of a name that somebody wrote by hand
_AGGREGATE = re.compile(r"[\[(](avg|average|mean|median|sum|total|max)[\])]\Z", re.IGNORECASE)
_COUNTED = re.compile(r"#|(?<![a-z])(?:count|number|num)(?![a-z])", re.IGNORECASE)
_UNIT = r"ns|us|µs|μs|ms|[mun]sec|(?:milli|micro|nano)s(?:ec(?:ond)?s?)?|[kmg]?i?b(?:/s)?|[kmg]bps|bytes|%"
_LAST_UNIT = re.compile(rf"(?<=[,\s_])\(?({_UNIT})\)?\Z", re.IGNORECASE)
_FIRST_UNIT = re.compile(r"\A(ns|us|µs|μs|ms|[mun]sec|[kmg]i?b)\b[\s_(]+(?=\w)", re.IGNORECASE)
_PER_SECOND = re.compile(r"(?<=[\s_a-z])([KMGT]i?B)(?:ps|s|[_ ]?per[_ ]s(?:ec)?|[_ ]s|/sec)\Z", re.IGNORECASE)
# `% of L2 requests that hit`: what follows `of` matters
_SAID_OF = re.compile(r"\A%.*\b(?:that|with|lost|which|are|is)\b", re.IGNORECASE)
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
_SHARE = re.compile(rf"{_RATE.pattern}|\b(?:frac|eff|efficiency)\b", re.IGNORECASE)
_PERCENT = re.compile(r"\b(pct|percent|percentage)\b", re.IGNORECASE)
# what a share is one of, where that says nothing of what has it; `of active cycles` does
_WHOLE = re.compile(
    r"\bof (?:the |all |its )?(?:(?:frame|gpu|elapsed|warp|total|max|maximum|issue|l1|l2|tex|stalled|shared|input|mem|memory|lane) )*"
    r"(?:time|slots|samples|cycles|frame|elapsed|max|maximum|total|all|wavefronts|requests|sectors|accesses|stalls|reasons|warps|pixels"
    r"|fragments|primitives|prims|triangles|tests|capacity|ops|operations|lifetime)\b|(?<=%) of (?:\w+ )?traffic\b|(?:/\s*|\bper )frame\b",
    re.IGNORECASE,
)
_NAMESPACE = re.compile(r"\s*([A-Za-z][A-Za-z ]{1,15})(?:[.:|/]|::| - )\s*(\S.*)\Z")
_GLOSS = re.compile(r"\(([A-Za-z0-9/ ]{2,28})\)")
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
_CUT = re.compile(
    r"[a-z0-9]+__\w+(?:\s*[\[(][^\])]*[\])])?\Z", re.IGNORECASE
)  # a PerfWorks name without what stands behind its dot
_EACH = re.compile(r"[\[(]\s*(?:per |/\s*)\w+\s*[\])]\Z", re.IGNORECASE)  # `[per access]`
_BLOCKS = re.compile(
    r"(?:#|n|num|number of|launch_)?[\W_]*(?:blocks|blks|ctas)", re.IGNORECASE
)  # `block` is a size, these are many
_LANES = "valu.utilization"  # whoever's, a share of lanes is called so
_OF_WAVES = {"valu", "salu", "lds", "mem_unit", "waves", "mfma"}  # families that only GPUs have whose ALU this is
SORTED = 3  # columns that begin with the same word: it says which kind they are of
_LAUNCHES = ("launch.registers", "launch.shared", "launch.waves", "occupancy.limit_")  # what only launches have
# a column that is called by its unit alone
_TIMES = re.compile(r"ns|us|µs|μs|ms|[mun]sec|(?:milli|micro|nano)s(?:ec(?:ond)?s?)?", re.IGNORECASE)
OPPOSITE = "1 - "  # before the unit of a column that holds what its metric lacks of one: a miss rate
_BUSY_UNITS = {"sm.busy", "l1tex.busy", "l2.busy", "vram.throughput"}  # of no tool two of them are called so


def read(
    headers: Sequence[str], stalls: bool = False, pipes: bool = False, launches: bool = False
) -> dict[int, tuple[str, str]]:
    """Position -> (metric, unit text) of the headers whose words are a metric's.

    stalls: does the table tell reasons to stall under other names? Then `barrier` alone is one too. pipes: does it call units
    by their names alone? Then `FMA` is a pipe's share. launches: does it tell what only launches have? Then `block` is a size.
    """
    said = {i: _split(h) for i, h in enumerate(headers) if 0 < len(h) <= LONGEST and ("__" not in h or _CUT.match(h))}
    found = {i: (m, unit) for i, (words, unit) in said.items() if (m := _meant(words, unit, headers[i]))}
    found |= {i: (m, OPPOSITE + unit) for i, (words, unit) in said.items() if (m := _opposite(words, unit, headers[i], i in found))}  # fmt: skip
    found |= _less(headers, [i for i in said if i not in found])
    found = {i: (m, unit) for i, (m, unit) in found.items() if unit or m != "gpu.time" or len(headers[i]) > 1}
    found = {i: (m, unit or _each(headers[i], m)) for i, (m, unit) in found.items()}
    found = {i: told for i in said if (told := _cut(headers[i], said[i][1], found.get(i)))}
    if said and (stalls or any(m.startswith("stall.") for m, _ in found.values())):
        short = {words_of(k): v for k, v in vocabulary.data()["among_stalls"].items()}
        found |= {i: (short[words], unit) for i, (words, unit) in said.items() if words in short and _fits(short[words], unit, headers[i])}  # fmt: skip
    sizes = {words_of(k): v for k, v in vocabulary.data()["among_launches"].items()}
    shapes = {i: (sizes[words], unit) for i, (words, unit) in said.items() if words in sizes and not unit}
    shapes |= {i: ("launch.grid_size", "") for i in shapes if _BLOCKS.fullmatch(headers[i])}
    shapes = {i: told for i, told in shapes.items() if i not in found or found[i][0] == _LANES}
    if launches or len(shapes) > 1 or any(m.startswith(_LAUNCHES) for m, _ in found.values()):
        found |= shapes
    if pipes:
        alone = {words_of(k): v for k, v in vocabulary.data()["among_units"].items()}
        found |= {i: (alone[words], unit) for i, (words, unit) in said.items() if i not in found and words in alone and _fits(alone[words], unit, headers[i])}  # fmt: skip
    return found


def _cut(header: str, unit: str, told: tuple[str, str] | None) -> tuple[str, str] | None:
    """What a PerfWorks counter without its end may be: what its words say, where the counter is that, else its one share."""
    base = wide_table.split_unit(header)[0].lower()
    counted = vocabulary.perfworks().get(base) if "__" in header else None
    if not counted or (told and told[0] in counted and schema.get(told[0]).unit != "cycle"):  # a sum, or of one unit
        return told
    shares = [m for m in counted if schema.get(m).unit == "ratio" and _fits(m, unit, header)]
    return (shares[0], unit) if len(counted) == len(shares) == 1 else None


def _each(header: str, metric: str) -> str:
    """`ratio` where a header says that a figure which may exceed one is one for each of something; "" where not."""
    known = schema.get(metric)
    return "ratio" if known.unit == "ratio" and not known.bounded and _EACH.search(header) else ""


def _less(headers: Sequence[str], unread: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Position -> (metric, unit text) of headers that mean something by a part of them.

    `Colour output (CROP) %` by what stands in brackets; `units.sm` and `SOL:SM` by what stands behind a word that several
    columns begin with, which then only sorts them. A unit alone is its share of peak there.
    """
    heads = Counter(m[1].lower() for h in headers if (m := _NAMESPACE.match(h)))
    found = {}
    for i in unread:
        header, alone = headers[i], vocabulary.data()["units"] | vocabulary.data()["among_units"]
        sorts = (m := _NAMESPACE.match(header)) and (heads[m[1].lower()] >= SORTED or m[1].lower() in _SORTS)
        parts = [m[2]] if m and sorts and "stall" not in words_of(m[1]) else []  # a reason to stall, not what causes it
        if (g := _GLOSS.search(header)) and "_" not in header:
            rest = _GLOSS.sub("", header)
            words = _split(rest)[0]
            # `long scoreboard (L1TEX)` is said more closely; `SM SOL (before)` may be anything
            parts += [rest] if words and words_of(g[1]) <= vocabulary.known_words() else []
            parts += [f"{g[1]} %"] if words.isdisjoint(_SAYS) else []
            parts += [f"{g[1]} stall %"] if "stall" in words else []
        for part in parts:
            words, unit = _split(part)
            metric = _meant(words, unit, part) or (alone.get(next(iter(words)), "") if len(words) == 1 else "")
            if metric and _fits(metric, unit, header):
                found[i] = (metric, unit)
                break
    return found


def of_table(
    headers: Sequence[str], told: Sequence[tuple[str, str]], by_words: Container[int]
) -> list[tuple[str, str]]:
    """(metric, unit text) of each header as they are meant beside each other: `Memory stall` beside EUs is one of theirs.

    told: the same, each by itself. by_words: places of those that were read by their words.
    """
    beside = {metric.partition(".")[0] for metric, _ in told if metric != _LANES}
    meant = next((meant for family, meant in vocabulary.data()["in_tables_of"].items() if family in beside), {})
    if not beside & _OF_WAVES:
        meant = {_LANES: "warp.threads_per_inst", **meant}
    out = [
        (meant.get(metric, metric) if i in by_words and "valu" not in words_of(headers[i]) else metric, unit)
        for i, (metric, unit) in enumerate(told)
    ]
    lanes = [i for i, (metric, _) in enumerate(out) if metric == _LANES]
    if len(lanes) > 1:  # AMD's name for lanes that work is other people's for a busy unit
        for i in lanes:
            if "thread" not in words_of(headers[i]):
                out[i] = ("valu.busy", out[i][1])
    return out


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
    so = [i for i, h in enumerate(headers) if re.search(r"(?<![a-z])busy(?![a-z])", CAMEL.sub(" ", h), re.IGNORECASE)]
    told = {metric for metric, _ in found}
    called = {metric for i in so if (metric := found[i][0])}
    if sum(m.endswith(".throughput") for m in called) < 2 and len(called & _BUSY_UNITS) < 2:
        return {}
    meant = {i: found[i][0].removesuffix(".busy") + ".throughput" for i in so if found[i][0].endswith(".busy")}
    return {i: (m, found[i][1]) for i, m in meant.items() if schema.known(m) and m not in told}


def _meant(words: Words, unit: str, header: str) -> str:
    """The metric of some words, with and then without those that say nothing more; "" for none."""
    data = vocabulary.data()
    if words in vocabulary.never():
        return ""
    if m := _named(words, unit, header):
        return m
    if unit and words <= set(data["times"]) and _fits("gpu.time", unit, header):
        return "gpu.time"
    idle = words.intersection([*data["beside"], *(data["beside_signs"] if unit == "%" else ())])
    for fewer in range(1, len(idle) + 1):
        for gone in itertools.combinations(sorted(idle), fewer):
            less = words.difference(gone)
            m = _named(less, unit, header) if less and less not in vocabulary.never() else ""
            # one word alone says too little of a share: `memory`, `stall`
            if m and m != "gpu.time" and (len(less) > 1 or schema.get(m).unit == "count") and _may_stand(gone, m):
                return m
    less = words.difference(data["beside"])
    share = unit == "%" or (not unit and not words.isdisjoint(data["shares"]))
    return data["units"].get(next(iter(less)), "") if share and len(less) == 1 else ""


def _opposite(words: Words, unit: str, header: str, read: bool) -> str:
    """The metric that a share lacks to one: of a miss rate the hit rate; "" for none. read: do its words mean a metric too?"""
    if unit not in ("", "%", "ratio"):
        return ""
    rate = _SHARE.search(_spaced(header))
    if "miss" in words and (rate or (unit and not read)):
        metric = _meant(words - {"miss"} | {"hit"}, unit or "%", header)
        return metric if metric.endswith(".hit_rate") else ""
    return "" if read or not (unit or rate) else vocabulary.opposites().get(words, "")


def _named(words: Words, unit: str, header: str) -> str:
    """The metric of which these are all the words, and that fits the unit; where a rate is meant, a share before a count."""
    found = [m for m in vocabulary.metrics().get(words, ()) if _fits(m, unit, header)]
    rate = len(found) > 1 and _RATE.search(_spaced(header))
    return next((m for m in found if rate and schema.get(m).unit == "ratio"), found[0] if found else "")


def _may_stand(gone: Sequence[str], metric: str) -> bool:
    """May these words stand beside those of a metric? `bandwidth` says nothing beside a unit only, not beside what is counted."""
    known = schema.get(metric)
    load = known.unit == "ratio" and not metric.endswith(("share", ".hit_rate"))
    return load or metric.endswith(".bandwidth") or set(gone).isdisjoint(vocabulary.data()["beside_units"])


def _split(header: str) -> tuple[Words, str]:
    """Words and unit text of a header."""
    text = header.strip().removeprefix("launch__")
    text = text if " " in text else text.replace("__", " ").replace("_", " ")
    text = _MOST.sub("", _AGGREGATE.sub("", text))
    text = text if _SAID_OF.match(text) else _WHOLE.sub("", text)
    text, scale = scaled(text)
    text = SEVERAL.sub(r"\1", text).rstrip(" \t,;")
    if _TIMES.fullmatch(text):
        return frozenset({"time"}), _short(text)
    if scale:
        return words_of(text, apart=True), scale
    if m := _FIRST_UNIT.match(text):  # `ms (GPU)`
        return words_of(text[m.end() :], apart=True), _short(m[1])
    if m := _PER_SECOND.search(text):  # `DramBandwidthGBs`
        return words_of(text[: m.start()], apart=True), f"{m[1]}/s"
    bare, unit = wide_table.split_unit(text)
    if not unit:
        bare, unit = wide_table.split_suffix(CAMEL.sub("_", text).replace(".", "_"))
    if not unit and (m := _LAST_UNIT.search(text)):
        bare, unit = text[: m.start()], _short(m[1])
    if not unit and ("%" in text or _PERCENT.search(_spaced(text))):
        bare, unit = text, "%"  # `SM (%SOL)`, `L2 throughput, % of peak`: a sign anywhere
    if unit.startswith("%"):  # `SM [% of peak]`: what stands beside the sign says what it is a share of
        bare, unit = f"{bare} {unit[1:]}", "%"
    elif unit.lower() in ("pct", "percent", "percentage"):
        unit = "%"
    return words_of(bare, apart=True), unit


def _spaced(text: str) -> str:
    """Words of a name with blanks between them: `l2HitRate` and `l2_hit_rate` alike."""
    return CAMEL.sub(" ", text).replace("_", " ")


def _short(unit: str) -> str:
    """`micros`, `usec` -> `us`, and so on; other units as they are."""
    low = unit.lower().replace("μ", "µ")
    of_time = re.fullmatch(r"(milli|micro|nano|[mun])s(?:ec(?:ond)?s?)?", low)
    return {"milli": "ms", "micro": "us", "nano": "ns"}.get(of_time[1], f"{of_time[1]}s") if of_time else unit


def _fits(metric: str, unit: str, header: str) -> bool:
    if unit in ("%", "ratio"):
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
