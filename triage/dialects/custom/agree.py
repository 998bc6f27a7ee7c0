"""Step 2 of 4: which of its candidates each header of a custom table is, by the columns beside it.

`barrier` is a stall reason beside stall reasons, `FMA` a pipe beside units called by their names alone, `Memory stall` means another
counter beside Intel's EUs than beside SMs. Each rule below looks at all headers and yields those that it reads otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from triage import schema
from triage.dialects.custom import header_words, say, vocabulary
from triage.dialects.custom.say import LANES, Header
from triage.dialects.custom.vocabulary import words_of
from triage.ground import units
from triage.ground.errors import UnknownUnit

MIN_GROUP = 3  # columns that begin with the same word: it sorts them, and names nothing
MIN_UNITS = 2  # columns called by a unit's name alone: then pipes may be, too
_LAUNCH = ("launch.registers", "launch.shared", "launch.waves", "occupancy.limit_")  # no draw has these
_BUSY_RE = re.compile(r"(?<![a-z])busy(?![a-z])", re.IGNORECASE)
_BUSY_UNITS = {"sm.busy", "l1tex.busy", "l2.busy", "vram.throughput"}  # no tool calls two of them busy
_AVERAGE_RE = re.compile(r"(?<![a-z])(?:avg|average|mean|per call)(?![a-z])", re.IGNORECASE)
_OTHERS_RE = re.compile(r"(?<![a-z])(?:med|median|min|minimum|max|maximum|stddev)(?![a-z])", re.IGNORECASE)
_WAVES = {"valu", "salu", "lds", "mem_unit", "waves", "mfma"}  # families of GPUs whose SIMDs have a VALU


class Columns(Struct):
    """What is read of a table's columns. used: metric -> its header. unread: headers that nothing is read of.

    rivals: unread ones that repeat a used metric. totals: headers of times of whole frames, beside the times of their passes.
    """

    used: dict[str, Header] = field(default_factory=dict)
    rivals: list[Header] = field(default_factory=list)
    unread: list[Header] = field(default_factory=list)
    totals: list[Header] = field(default_factory=list)


def agree(headers: Sequence[Header]) -> Columns:
    """Decide for one reading of each header, and for one header of each metric."""
    decided = {h.place: h for h in pick(headers)}
    for rule in (
        _busy_units,
        _bare_threads,
        _unknown_units,
        _other_gpus,
        _lanes,
        _beside_sm,
        _warps_of_slots,
        _foreign_units,
        _times_of_one_call,
    ):
        decided |= {h.place: h for h in rule(list(decided.values()))}
    return _one_of_each(decided.values())


def pick(headers: Sequence[Header]) -> list[Header]:
    """Headers read as the first candidate that has beside it what it needs."""
    groups = Counter(h.group for h in headers)
    beside = {"", *(f"group {group}" for group, count in groups.items() if count >= MIN_GROUP)}
    if sum(h.named.metric.endswith(".throughput") and " " not in h.text.strip() for h in headers) >= MIN_UNITS:
        beside.add("units")
    decided = _picked(headers, beside)
    # stall reasons first: sizes of a launch go by what was decided until then
    for surroundings, are_there in (("stalls", _has_stalls), ("launches", _has_launches)):
        if are_there(decided):
            beside.add(surroundings)
            decided = _picked(headers, beside)
    return decided


def _picked(headers: Sequence[Header], beside: set[str]) -> list[Header]:
    best = [next(option for option in h.options if option.beside in beside) for h in headers]
    return [replace(h, reading=r, by_words="" if r is h.named else r.metric) for h, r in zip(headers, best, strict=True)]  # fmt: skip


def _has_stalls(headers: Sequence[Header]) -> bool:
    return any(r.metric.startswith("stall.") for h in headers for r in (h.named, h.reading))


def _has_launches(headers: Sequence[Header]) -> bool:
    """True beside figures that only launches have, and where two columns may be sizes of one."""
    return (
        any(h.named.metric.startswith(("launch.", "occupancy.limit_")) for h in headers)
        or any(h.reading.metric.startswith(_LAUNCH) for h in headers)
        or sum(any(option.beside == "launches" for option in h.options) for h in headers) > 1
    )


def _busy_units(headers: Sequence[Header]) -> Iterator[Header]:
    """`SM busy` is a share of peak where the table calls the share of every unit busy.

    A tool's counter of that name stands among units that it calls otherwise.
    """
    present = {h.reading.metric for h in headers}
    busy = [h for h in headers if not h.fixed and _BUSY_RE.search(vocabulary.CAMEL_RE.sub(" ", h.text))]
    called = {h.reading.metric for h in busy if h.reading.metric}
    if sum(m.endswith(".throughput") for m in called) >= 2 or len(called & _BUSY_UNITS) >= 2:
        for h in busy:
            share = f"{h.reading.metric.removesuffix('.busy')}.throughput"
            if h.reading.metric.endswith(".busy") and schema.known(share) and share not in present:
                yield replace(h.read_as(share, "share of peak, like the other busy units"), by_words=share)


def _bare_threads(headers: Sequence[Header]) -> Iterator[Header]:
    """`n_threads` counts threads of anything, the CPU's as well: nothing says that it is a share of lanes."""
    for h in headers:
        if h.by_words == LANES and not h.reading.unit and words_of(h.text) - vocabulary.word_set("drop") == {"thread"}:
            yield replace(h.read_as("", "whose threads is not stated"), by_words="")


def _unknown_units(headers: Sequence[Header]) -> Iterator[Header]:
    """A metric in an unknown unit is not read; under its own id it stays, and is refused with the file."""
    return (h.read_as("", f"unknown unit {h.named.unit[:20]!r}") for h in headers if is_in_unknown_unit(h))


def is_in_unknown_unit(header: Header) -> bool:
    """True for a header that spells a metric, in a unit that no tool prints."""
    named = header.named
    if header.fixed or header.by_words or not named.metric or header.text.startswith(named.metric):
        return False
    return say.is_unknown_unit(named.unit)


def _other_gpus(headers: Sequence[Header]) -> Iterator[Header]:
    """Words for a stall or a pipe mean the counter that the GPU has, by the families of metrics beside it."""
    families = {h.reading.metric.partition(".")[0] for h in headers if h.reading.metric != LANES}
    family, meant = next((item for item in vocabulary.by_family().items() if item[0] in families), ("", {}))
    if not families & _WAVES:
        meant = {LANES: "warp.threads_per_inst", **meant}
    for h in headers:
        if h.by_words and not h.fixed and h.reading.metric in meant and "valu" not in words_of(h.text):
            yield h.read_as(meant[h.reading.metric], f"by words, beside {family} counters" if family else say.BY_WORDS)


def _lanes(headers: Sequence[Header]) -> Iterator[Header]:
    """Of several shares of lanes, those that do not name threads are the busy VALU."""
    lanes = [h for h in headers if h.reading.metric == LANES]
    for h in lanes if len(lanes) > 1 else ():
        if "thread" not in words_of(h.text):
            yield h.read_as("valu.busy", "the busy unit, beside its share of lanes")


def _beside_sm(headers: Sequence[Header]) -> Iterator[Header]:
    """A phone's words mean parts of the SM where the table has one."""
    if any(h.reading.metric == "sm.throughput" for h in headers):
        parts = vocabulary.pairs("beside_sm")
        yield from (
            h.read_as(parts[m], "part of the SM beside it") for h in headers if (m := h.reading.metric) in parts
        )


def _warps_of_slots(headers: Sequence[Header]) -> Iterator[Header]:
    """`Warps per SM (max 48)` is an occupancy."""
    for h in headers:
        if h.reading.metric == "sm.active_warps" and (slots := header_words.maximum(h.text)):
            yield h.read_as("sm.occupancy", f"count out of {slots:g}", f"/{slots:g}")


def _foreign_units(headers: Sequence[Header]) -> Iterator[Header]:
    """`L2 (MB)`, `Time %`: in such a unit the metric's name means something else."""
    return (h.read_as("", f"{h.reading.unit} is no unit of {h.reading.metric}") for h in headers if _is_foreign(h))


def _times_of_one_call(headers: Sequence[Header]) -> Iterator[Header]:
    """Beside the time of all calls, the average or the longest of one is not read."""
    times = [h for h in headers if h.reading.metric == "gpu.time"]
    single = [h for h in times if not h.fixed and (is_average(h) or _OTHERS_RE.search(header_words.spaced(h.text)))]
    if len(single) < len(times) and any(h.reading.metric == "frame.calls" for h in headers):
        yield from (replace(h.read_as("", "of one call, beside the time of all"), by_words="") for h in single)


def is_average(header: Header) -> bool:
    """True for a time that its header calls the average of a call."""
    return bool(_AVERAGE_RE.search(header_words.spaced(header.text)))


def _is_foreign(header: Header) -> bool:
    """True for a known unit that the metric cannot be in; what the user maps, or calls by a metric's id, stays."""
    metric, unit = header.reading.metric, header.reading.unit
    if header.fixed or not metric or not unit or unit.startswith("/") or header.text.startswith(metric):
        return False
    target = schema.get(metric).unit
    # a share of what is counted is another metric, or none; lanes are counted as shares of a warp
    if unit in ("%", "ratio") and target == "count" and metric != "warp.threads_per_inst":
        return True
    try:
        return not say.is_rate(metric, unit) and not units.factor(unit, target)
    except UnknownUnit:
        return units.known(unit)


def _one_of_each(headers: Iterable[Header]) -> Columns:
    """The first header of each metric is used; others repeat it."""
    columns = Columns()
    for h in headers:
        metric = h.reading.metric
        first = columns.used.setdefault(metric, h) if metric else None
        if first is h:
            continue
        columns.unread.append(h)
        columns.rivals += [h] if metric and not h.reading.lacks and not say.is_rate(metric, h.reading.unit) else []
    return columns
