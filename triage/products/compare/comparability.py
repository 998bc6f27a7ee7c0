"""Checks that two captures are of the same work: warnings before the result, an error where nothing matches.

A share of the time is of exclusive times, so that a marker and its draws are not added up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triage.diagnosis.diagnosis_result import Diagnosis
from triage.ground.errors import TriageError
from triage.ground.phrasing import first_of, plural, whole_percent
from triage.products.compare.match import MIN_LIKENESS, Pairs, alike
from triage.products.compare.side import Side

MAX_UNMATCHED_SHARE = 0.5  # of a side's time; beyond it the captures are of different work
MAX_LISTED_WORKLOADS = 2  # workloads that a line names
MAX_NAME_CHARS = 60  # characters of a name in a line
UUID = "GPU UUID"  # as dialects name it among the versions


def refuse(sides: tuple[Side, Side], pairs: Pairs, noun: str) -> None:
    """Raises TriageError where both sides have workloads and none of one is on the other. noun: what they are called."""
    before, after = sides
    if not len(pairs) and len(before) and len(after):
        some = [_some(side, range(len(side))) for side in sides]
        problem = f"no common {noun}s (before: {some[0]}; after: {some[1]})"
        raise TriageError(problem, "capture the same scene or kernels on both sides")


def warnings(
    sides: tuple[Side, Side],
    pairs: Pairs,
    alone: tuple[Sequence[int], Sequence[int]],
    noun: str,
    same_work: bool,
    per_step: bool,
) -> list[str]:
    """Warnings about a comparison, most important first. alone: unmatched workloads of each side. same_work: by counts.

    per_step: steps of a loop are compared, whatever they are made of.
    """
    return [
        *_other_gpus((sides[0].d, sides[1].d)),
        *_doubts((sides[0].d, sides[1].d)),
        *([] if per_step else _partners(sides, alone, noun)),
        *_strangers(sides, pairs),
        *([] if same_work else _shapes(sides, pairs, noun)),
    ]


def devices(d: tuple[Diagnosis, Diagnosis]) -> list[str]:
    """`RTX 3080 before, RTX 4090 after`, where the sides name different GPUs."""
    before, after = (sorted({p.capture.device_name for p in side.parts} - {""}) for side in d)
    return [f"{', '.join(before)} before, {', '.join(after)} after"] if before and after and before != after else []


def other_gpus(d: tuple[Diagnosis, Diagnosis]) -> list[tuple[list[str], list[str]]]:
    """UUIDs of both sides, where they have no GPU in common."""
    texts = ([p.capture.table.versions.get(UUID, "") for p in side.parts] for side in d)
    before, after = (sorted({u for text in some for u in text.split(", ") if u}) for some in texts)
    return [(before, after)] if before and after and not {*before} & {*after} else []


def _other_gpus(d: tuple[Diagnosis, Diagnosis]) -> list[str]:
    if differ := devices(d):
        return [f"different GPUs ({differ[0]}): the change includes the hardware"]
    return [
        f"the sides ran on different GPUs ({first_of(b, 2)} before, {first_of(a, 2)} after): "
        "the change includes what differs between them, repeat both on one"
        for b, a in other_gpus(d)
    ]


def _doubts(d: tuple[Diagnosis, Diagnosis]) -> list[str]:
    """What makes the data of one side doubtful, as its diagnosis says."""
    before, after = (dict.fromkeys(q.message for p in x.parts for q in p.capture.quality if q.doubt) for x in d)
    sides = ("before", before, after), ("after", after, before)
    return [f"{word}: {text}" for word, mine, other in sides for text in mine if text not in other]


def _partners(sides: tuple[Side, Side], alone: tuple[Sequence[int], Sequence[int]], noun: str) -> list[str]:
    shares = [_share(side, some) for side, some in zip(sides, alone, strict=True)]
    if max(shares) <= MAX_UNMATCHED_SHARE:
        return []
    named = [
        f"{whole_percent(share)} of the time {word} in {plural(len(some), f'unmatched {noun}')} ({_some(side, some)})"
        for word, share, side, some in zip(("before", "after"), shares, sides, alone, strict=True)
        if share > MAX_UNMATCHED_SHARE
    ]
    return [f"{' and '.join(named)}: the totals cover different work, compare the pairs"]


def _strangers(sides: tuple[Side, Side], pairs: Pairs) -> list[str]:
    """A pair that only has each other."""
    if len(pairs) != 1:
        return []
    before, after = sides[0].who[pairs.before[0]].name, sides[1].who[pairs.after[0]].name
    if (likely := alike(before, after)) >= MIN_LIKENESS:
        return []
    return [
        f"{_short(before)} and {_short(after)} compared as the same work, names {whole_percent(likely)} alike: "
        "check that they are"
    ]


def _shapes(sides: tuple[Side, Side], pairs: Pairs, noun: str) -> list[str]:
    before, after = sides
    other = [
        (b, a)
        for b, a in zip(pairs.before.tolist(), pairs.after.tolist(), strict=True)
        if before.who[b].shape and after.who[a].shape and before.who[b].shape != after.who[a].shape
    ]
    share = max(_share(before, [b for b, _ in other]), _share(after, [a for _, a in other]))
    if share <= MAX_UNMATCHED_SHARE:
        return []
    return [
        f"{whole_percent(share)} of the time in {plural(len(other), noun)} with a different launch shape "
        f"({_some(after, [a for _, a in other])}): compare equal problem sizes, or the work may have changed too"
    ]


def _share(side: Side, some: Sequence[int]) -> float:
    """Part of the time of a side, 0 where no time is known."""
    own = np.nan_to_num(side.own.middle)
    return float(own[list(some)].sum() / own.sum()) if own.any() else 0.0


def _some(side: Side, some: Sequence[int]) -> str:
    """The longest by name."""
    times = np.nan_to_num(side.times.middle)
    names = list(dict.fromkeys(_short(side.who[i].name) for i in sorted(some, key=lambda i: -times[i])))
    return first_of(names, MAX_LISTED_WORKLOADS)


def _short(name: str) -> str:
    return name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 3]}..."
