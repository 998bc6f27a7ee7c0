"""The to-do list as reports show it: without accepted items, with distinct names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from triage.document.bundle import column
from triage.document.disambiguate import apart, same_names
from triage.document.entries import ItemEntry, Result
from triage.ground.limiters import MIN_FIRST_SHARE
from triage.ground.phrasing import lower_first

MAX_ITEM_NAMES = 8  # names of an item that are made distinct; no report lists more


class TodoItem(ItemEntry):
    """An item of the to-do list. count: its workloads. limiters: their limiter classes, most frequent first."""

    count: int
    limiters: list[str]


def todo_items(todo: Sequence[ItemEntry], doc: Result) -> list[TodoItem]:
    """The to-do list without accepted items, with what reports show beside each: its limiter classes, its distinct names."""
    works = doc["workloads"]
    at = {w: i for i, w in enumerate(column(works, "id"))}
    items = [item for item in todo if not is_accepted(item)]
    same = same_names(works, {name for item in items for name in item["names"][:MAX_ITEM_NAMES]})
    classes = column(works, "limiter_class")

    def path(i: int | None, name: str) -> Sequence[str]:
        return [] if i is None or len(same[name]) < 2 else list(works[i]["path"])

    out: list[TodoItem] = []
    for item in items:
        places = [at.get(w) for w in item["workloads"]]
        seen = Counter(classes[i] for i in places if i is not None)
        named = [(name, path(i, name)) for name, i in zip(item["names"][:MAX_ITEM_NAMES], places, strict=False)]
        rivals = {name: [path(i, name) for i in same[name] if i not in places[:MAX_ITEM_NAMES]] for name, _ in named}
        out.append(
            {
                **item,
                "title": item_title(item),
                "names": [*apart(named, rivals), *item["names"][MAX_ITEM_NAMES:]],
                "count": item["workload_count"],
                "limiters": sorted(seen, key=lambda c: (-seen[c], c)),
            }
        )
    return out


def item_title(item: ItemEntry) -> str:
    """Title of an item in lists: `L2 misses`, `Suspected L2 misses`."""
    title = item["title"]
    return f"Suspected {lower_first(title)}" if item["verdict_class"] == "suspect" else title


def is_accepted(item: ItemEntry) -> bool:
    """True if the project accepts an item: it is no longer to do."""
    return "accepted" in item and item["accepted"]["state"] == "accepted"


def is_insignificant(c: TodoItem) -> bool:
    """True if an item saves too little to be listed first, and is not what the capture mostly shows."""
    return c["share"] is not None and c["share"] < MIN_FIRST_SHARE and not is_first_once(c)


def is_first_once(c: ItemEntry) -> bool:
    """True if an item passes once per run, and takes more time than all others save."""
    return c["rank"] == 1 and not c["saved_ns"] and bool(c["alone_ns"])
