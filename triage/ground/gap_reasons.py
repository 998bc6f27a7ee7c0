"""Reasons for gaps between the work of a device: name, meaning, and the limiter class whose look they share."""

from __future__ import annotations

import tomllib
from pathlib import Path

from msgspec import Struct


class GapWords(Struct, frozen=True):
    """id as in JSON; name: in legends and tables; meaning: one clause; limiter: class whose colour and hatch it has, `dark`
    for undiagnosed time."""

    id: str
    name: str
    meaning: str
    limiter: str


_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
GAP_WORDS = {id_: GapWords(id_, **words) for id_, words in _DATA.items()}
