"""Names of kernels are looked through for words before a pattern is tried: that must change no answer."""

import re
from types import SimpleNamespace
from typing import cast
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.capture.capture import Capture
from triage.derive import View, compute_work
from triage.ground.kernel_owners import Pattern, owner_of
from triage.ground.kernel_owners import patterns as owners

pytestmark = pytest.mark.slow

PATTERNS = list(compute_work._NEEDLES)
NAMES = st.text("smx_01689tTenorIiMhHgqadnvjecfkw ſKİ\n", max_size=24)


@pytest.mark.parametrize("pattern", PATTERNS, ids=["matrix", "tensor", "vector", "collective"])
@settings(max_examples=40)
@given(data=st.data())
def test_needles_change_no_answer(pattern: re.Pattern[str], data: st.DataObject) -> None:
    hit = st.from_regex(pattern)
    names = data.draw(st.lists(st.one_of(NAMES, hit, hit.map(str.upper)), max_size=6))
    column = np.array([*names, None], dtype=object)[:-1]
    view = View(cast(Capture, SimpleNamespace(names=column)))
    found = compute_work._named(view, pattern)
    assert found.tolist() == [float(bool(pattern.search(n[:2000]))) for n in names]


@pytest.mark.parametrize("pattern", owners(), ids=lambda p: p.id)
@settings(max_examples=10)
@given(data=st.data())
def test_what_names_have_alike_changes_no_owner(pattern: Pattern, data: st.DataObject) -> None:
    hit = st.from_regex(re.compile(pattern.regex, re.ASCII))
    names = [pattern.example, *data.draw(st.lists(st.one_of(NAMES, hit), max_size=4))]
    column = np.array([*names, None], dtype=object)[:-1]
    view = View(cast(Capture, SimpleNamespace(names=column)))
    with mock.patch.object(compute_work, "MAX_ASKED", 0):
        found = compute_work._owned(view, lambda _: True)
    assert found.tolist() == [float(owner_of(n) is not None) for n in names]
