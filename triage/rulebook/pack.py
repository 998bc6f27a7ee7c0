"""Defaults of the rules of one folder: rules/<pack>/_pack.yaml.

`applies`: work, vendor and API of the pack. `reach`: share of its peak from which a unit limits, where the sources of the
pack give another number than the gain model.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field

from triage.ground.errors import RuleError, UnknownUnit
from triage.rulebook import applies
from triage.rulebook.rule import quantity

FILE = "_pack.yaml"


class Pack(Struct, frozen=True):
    """Defaults of a folder's rules. reach: share of peak, None for the gain model's own; why: where it comes from."""

    applies: applies.Applies = field(default_factory=dict)
    reach: float | None = None
    why: str = ""


def read(folder: Path) -> Pack:
    """The defaults of a folder; none where it has no such file. Raises RuleError with file and line."""
    path = folder / FILE
    if not path.is_file():
        return Pack()
    from triage.files import strict_yaml  # a YAML parser, which compiled rules do without

    d = strict_yaml.load(path)

    def wrong(key: str, problem: str) -> RuleError:
        return RuleError(str(path), d.lines.get(key, d.line), problem)

    if unknown := set(d) - {"applies", "reach"}:
        raise wrong(min(unknown), f"unknown key {min(unknown)!r}; a pack has applies and reach")
    holds, stated = d.get("applies", {}), d.get("reach", {})
    for key, value in (("applies", holds), ("reach", stated)):
        if not isinstance(value, dict):
            raise wrong(key, f"`{key}` is a mapping")
    if stated and (set(stated) != {"value", "why"} or not stated["why"]):
        raise wrong("reach", "`reach` needs `value` and `why`")
    try:
        reach = quantity(stated["value"])[0] if stated else None
    except (ValueError, UnknownUnit) as e:
        raise wrong("reach", f"reach: {e}") from None
    if reach is not None and not 0 < reach <= 1:
        raise wrong("reach", "`reach` is a share of peak, above 0 and up to 100 %")
    try:
        return Pack(applies.read(holds), reach, " ".join(str(stated.get("why", "")).split()))
    except ValueError as e:
        raise wrong("applies", f"applies: {e}") from None
