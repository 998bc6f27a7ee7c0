"""Words and unit of a column name as people write it: `dramThroughput`, `L1TEX SOL (%)`, `SM SOL% (avg)`."""

from __future__ import annotations

import re

from triage.dialects.custom.vocabulary import CAMEL_RE, PLURAL_RE, Words, words_of
from triage.dialects.tables import wide_table

MAX_CHARS = 80  # of a name written by hand
_UNIT = r"ns|us|µs|μs|ms|[mun]sec|(?:milli|micro|nano)s(?:ec(?:ond)?s?)?|[kmg]?i?b(?:/s)?|[kmg]bps|bytes|%"
_LAST_UNIT_RE = re.compile(rf"(?<=[,\s_])\(?({_UNIT})\)?\Z", re.IGNORECASE)
_FIRST_UNIT_RE = re.compile(r"\A(ns|us|µs|μs|ms|[mun]sec|[kmg]i?b)\b[\s_(]+(?=\w)", re.IGNORECASE)
_PER_SECOND_RE = re.compile(r"(?<=[\s_a-z])([KMGT]i?B)(?:ps|s|[_ ]?per[_ ]s(?:ec)?|[_ ]s|/sec)\Z", re.IGNORECASE)
# a name that is nothing but a unit of time
_TIME_RE = re.compile(r"ns|us|µs|μs|ms|[mun]sec|(?:milli|micro|nano)s(?:ec(?:ond)?s?)?", re.IGNORECASE)
_TIME_UNIT_RE = re.compile(r"(milli|micro|nano|[mun])s(?:ec(?:ond)?s?)?")
_PERCENT_RE = re.compile(r"\b(pct|percent|percentage)\b", re.IGNORECASE)
_AGGREGATE_RE = re.compile(r"[\[(](avg|average|mean|median|sum|total|max)[\])]\Z", re.IGNORECASE)
# `(0-1)`, `[0..100]`, `(normalized)`
_SCALE_RE = re.compile(
    r"[\[(]\s*(?:0(?:\.0)?\s*(?:-|–|\.\.\.?|to|…)\s*(1|100)(?:\.0)?\s*%?|norm(?:alized|alised)?)\s*[\])]", re.IGNORECASE
)
# `(of 32)`, `(max 48)`, `(waves per SIMD of 16)`
_MAXIMUM_RE = re.compile(r"[\[(]\s*(?:(?:out )?of|max\.?|/)\s*(\d+)\s*[\])]| of (\d+)(?=\s*[\])])", re.IGNORECASE)
# `% of L2 requests that hit`: what follows `of` matters
_PART_WITH_RE = re.compile(r"\A%.*\b(?:that|with|lost|which|are|is)\b", re.IGNORECASE)
# what a share is one of, where that does not say which share: `of time`, unlike `of active cycles`
_WHOLE_RE = re.compile(
    r"\bof (?:the |all |its )?(?:(?:frame|gpu|elapsed|warp|total|max|maximum|issue|l1|l2|tex|stalled|shared|input|mem|memory|lane) )*"
    r"(?:time|slots|samples|cycles|frame|elapsed|max|maximum|total|all|wavefronts|requests|sectors|accesses|stalls|reasons|warps|pixels"
    r"|fragments|primitives|prims|triangles|tests|capacity|ops|operations|lifetime)\b|(?<=%) of (?:\w+ )?traffic\b|(?:/\s*|\bper )frame\b",
    re.IGNORECASE,
)


def split(header: str) -> tuple[Words, str]:
    """Words and unit text of a header."""
    text = header.strip().removeprefix("launch__")
    text = text if " " in text else text.replace("__", " ").replace("_", " ")
    text = _MAXIMUM_RE.sub("", _AGGREGATE_RE.sub("", text))
    text = text if _PART_WITH_RE.match(text) else _WHOLE_RE.sub("", text)
    text, scale = without_scale(text)
    text = PLURAL_RE.sub(r"\1", text).rstrip(" \t,;")
    if _TIME_RE.fullmatch(text):
        return frozenset({"time"}), _short(text)
    rest, unit = (text, scale) if scale else _without_unit(text)
    return words_of(rest, apart=True), unit


def _without_unit(text: str) -> tuple[str, str]:
    """A header without its unit, wherever that stands, and the unit."""
    if m := _FIRST_UNIT_RE.match(text):  # `ms (GPU)`
        return text[m.end() :], _short(m[1])
    if m := _PER_SECOND_RE.search(text):  # `DramBandwidthGBs`
        return text[: m.start()], f"{m[1]}/s"
    rest, unit = wide_table.split_unit(text)
    if not unit:
        rest, unit = wide_table.split_suffix(CAMEL_RE.sub("_", text).replace(".", "_"))
    if not unit and (m := _LAST_UNIT_RE.search(text)):
        rest, unit = text[: m.start()], _short(m[1])
    if not unit and ("%" in text or _PERCENT_RE.search(spaced(text))):
        rest, unit = text, "%"  # `SM (%SOL)`, `L2 throughput, % of peak`: a sign anywhere
    if unit.startswith("%"):  # `SM [% of peak]`: words beside the sign may name the share
        return f"{rest} {unit[1:]}", "%"
    return rest, "%" if unit.lower() in ("pct", "percent", "percentage") else unit


def _short(unit: str) -> str:
    """`micros`, `usec` -> `us`, and so on; other units as they are."""
    of_time = _TIME_UNIT_RE.fullmatch(unit.lower().replace("μ", "µ"))
    return {"milli": "ms", "micro": "us", "nano": "ns"}.get(of_time[1], f"{of_time[1]}s") if of_time else unit


def spaced(text: str) -> str:
    """Words of a name with blanks between them: `l2HitRate` and `l2_hit_rate` alike."""
    return CAMEL_RE.sub(" ", text).replace("_", " ")


def without_scale(header: str) -> tuple[str, str]:
    """A header without the range of its shares, and their unit: `SM (0-1)` -> (`SM`, `ratio`); "" where it states none."""
    m = _SCALE_RE.search(header)
    return (_SCALE_RE.sub("", header).strip(), "%" if m[1] == "100" else "ratio") if m else (header, "")


def maximum(header: str) -> float:
    """The most that a column can count, where its header says so: `Warps per SM (max 48)` -> 48; else 0."""
    m = _MAXIMUM_RE.search(header)
    return float(m[1] or m[2]) if m else 0.0
