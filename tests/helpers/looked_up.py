"""The bundled rules stay as they are while a room is tested: they are looked up once, not before each of many diagnoses."""

from collections.abc import Iterator
from typing import Any

import pytest

from triage.rulebook import packs


@pytest.fixture(scope="package", autouse=True)
def rules_looked_up_once() -> Iterator[None]:
    load, book = packs.load, packs.load()

    def kept(*folders: Any, **how: Any) -> packs.Rulebook:
        return load(*folders, **how) if any(folders) or how else book

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packs, "load", kept)
        yield
