"""Names that occur more than once, with the parent that distinguishes them: `GBuffer / Draw(3)`, `Shadows / Draw(3)`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from triage.document.bundle import column
from triage.document.entries import WorkloadEntry

MAX_SAME_NAME = 64  # workloads of one name that are made distinct from it
Place = tuple[str, Sequence[str]]  # a name and its path, outermost first
_NOWHERE = "(no marker)"


def same_names(works: Sequence[WorkloadEntry], names: Collection[str]) -> dict[str, list[int]]:
    """Positions of the workloads that have each name, the first MAX_SAME_NAME of it."""
    same: dict[str, list[int]] = {name: [] for name in names}
    for i, name in enumerate(column(works, "name")):
        if (rows := same.get(name)) is not None and len(rows) < MAX_SAME_NAME:
            rows.append(i)
    return same


def distinct_names(works: Sequence[WorkloadEntry], rows: Sequence[int]) -> list[str]:
    """Names of the workloads at some positions, each with a parent where another of the capture has its name."""
    same = same_names(works, {works[i]["name"] for i in rows})
    rivals = {name: [works[k]["path"] for k in found if k not in rows] for name, found in same.items()}
    return apart([(works[i]["name"], works[i]["path"]) for i in rows], rivals)


def apart(places: Sequence[Place], rivals: Mapping[str, Sequence[Sequence[str]]]) -> list[str]:
    """One label per place: its name, after the nearest distinguishing parent where the name occurs several times.

    rivals: paths of what else in the capture has the name. Where two such parents are alike, the whole paths stand; what has
    one path is numbered.
    """
    of: dict[str, list[tuple[str, ...]]] = {}
    for name, path in places:
        of.setdefault(name, [tuple(p) for p in rivals.get(name, ())]).append(tuple(path))
    short = [_label(k, places, of, whole=False) for k in range(len(places))]
    twice = {places[k][0] for k, label in enumerate(short) if short.count(label) > 1}
    return [
        _label(k, places, of, whole=True) if name in twice else label
        for k, ((name, _), label) in enumerate(zip(places, short, strict=True))
    ]


def _label(k: int, places: Sequence[Place], of: Mapping[str, Sequence[tuple[str, ...]]], *, whole: bool) -> str:
    name, path = places[k][0], tuple(places[k][1])
    if len(of[name]) < 2:
        return name
    others = {p for p in of[name] if p != path}
    twins = [i for i, (n, p) in enumerate(places) if n == name and tuple(p) == path]
    number = f" ({twins.index(k) + 1})" if len(twins) > 1 else ""
    if not path:
        return f"{_NOWHERE} / {name}{number}" if others else f"{name}{number}"
    if whole:
        return " / ".join([*path, name]) + number
    depth = next((d for d in range(1, len(path) + 1) if all(p[-d:] != path[-d:] for p in others)), len(path))
    return f"{path[-depth]} / {name}{number}"  # the parents between tell nothing
