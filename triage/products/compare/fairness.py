"""Are two captures of the same work? What makes a comparison unfair is said before its result, and nothing is compared
with nothing.

A share of the time counts what no other workload of its side contains, so that a marker and its draws are not added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from triage.capture.capture import SEP
from triage.diagnosis.judged import Diagnosis
from triage.ground.errors import TriageError
from triage.ground.wording import plural, whole_percent
from triage.products.compare.match import ENOUGH, Item, Pair, alike

MOST = 0.5  # of a side's time: beyond it the result says more about what differs than about the change
NAMED = 2  # workloads that a line names
LONG = 60  # characters of a name in a line


def refuse(pairs: Sequence[Pair], gone: Sequence[Item], new: Sequence[Item], noun: str) -> None:
    """Raises TriageError where both sides have workloads and none of one is on the other. noun: what they are called."""
    if not pairs and gone and new:
        raise TriageError(
            f"nothing to compare: no {noun} of one side is on the other (before: {_some(gone)}; after: {_some(new)})",
            f"capture the same {noun}s on both sides; `triage diagnose` reads each by itself",
        )


def warnings(
    diagnoses: tuple[Diagnosis, Diagnosis],
    pairs: Sequence[Pair],
    alone: tuple[Sequence[Item], Sequence[Item]],
    noun: str,
) -> list[str]:
    """What must be known before the result is believed, the worst first."""
    return [*_devices(*diagnoses), *_partners(pairs, alone, noun), *_strangers(pairs), *_shapes(pairs, alone, noun)]


def _devices(before: Diagnosis, after: Diagnosis) -> list[str]:
    first, second = (
        sorted({p.capture.device.name if p.capture.device else p.capture.table.device for p in d.parts} - {""})
        for d in (before, after)
    )
    if not first or not second or first == second:
        return []
    return [
        f"measured on {', '.join(first)} before and on {', '.join(second)} after: the difference is the GPUs' as well"
    ]


def _partners(pairs: Sequence[Pair], alone: tuple[Sequence[Item], Sequence[Item]], noun: str) -> list[str]:
    sides = ([p.before for p in pairs], [p.after for p in pairs])
    shares = [_share(items, [*matched, *items]) for items, matched in zip(alone, sides, strict=True)]
    if max(shares) <= MOST:
        return []
    named = [
        f"{whole_percent(share)} of the time {side} is in {plural(len(items), noun)} without a partner ({_some(items)})"
        for side, share, items in zip(("before", "after"), shares, alone, strict=True)
        if share > MOST
    ]
    return [f"{' and '.join(named)}: the totals are of different work, only the pairs tell"]


def _strangers(pairs: Sequence[Pair]) -> list[str]:
    """A pair that only has each other."""
    if len(pairs) != 1 or (likely := alike(pairs[0].before.name, pairs[0].after.name)) >= ENOUGH:
        return []
    names = f"{_some([pairs[0].before])} and {_some([pairs[0].after])}"
    return [
        f"{names} are taken for the same work though their names are {whole_percent(likely)} alike: make sure that they are"
    ]


def _shapes(pairs: Sequence[Pair], alone: tuple[Sequence[Item], Sequence[Item]], noun: str) -> list[str]:
    other = [p for p in pairs if p.before.shape and p.after.shape and p.before.shape != p.after.shape]
    shares = (
        _share([p.before for p in other], [*(p.before for p in pairs), *alone[0]]),
        _share([p.after for p in other], [*(p.after for p in pairs), *alone[1]]),
    )
    if max(shares) <= MOST:
        return []
    return [
        f"{whole_percent(max(shares))} of the time is in {plural(len(other), noun)} launched in another shape "
        f"({_some([p.after for p in other])}): compare equal problem sizes, or the work may have changed as well"
    ]


def _share(some: Sequence[Item], of: Sequence[Item]) -> float:
    """Part of the time of a side, 0 where no time is known."""
    whole = _outermost(of)
    return _outermost(some) / whole if whole else 0.0


def _outermost(items: Iterable[Item]) -> float:
    """Time in ns of what is inside nothing else of these."""
    listed = [i for i in items if i.times]
    names = {i.full for i in listed}
    return sum(median(i.times) for i in listed if not _inside(i.path, names))


def _inside(path: str, names: set[str]) -> bool:
    while path:
        if path in names:
            return True
        path = path.rpartition(SEP)[0]
    return False


def _some(items: Sequence[Item]) -> str:
    """The longest by name."""
    by_time = sorted(items, key=lambda i: -median(i.times) if i.times else 0.0)
    names = list(dict.fromkeys(i.name if len(i.name) <= LONG else f"{i.name[: LONG - 3]}..." for i in by_time))
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
