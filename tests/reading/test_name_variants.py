import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.reading import name_variants

NAMES = st.sampled_from(
    ["a", "A", "a b", "a  b", " a", "a ", "", " ", "12", "²", "row 3", "Row 3", "rowdy", "a&lt;b", "a<b", "a\nb", "a\n12\nb", "a\tb", 'a"', '"a"', "ä", "Ä"]
)  # fmt: skip


@given(st.lists(NAMES, min_size=1, max_size=6), st.booleans())
def test_a_look_at_all_names_at_once_finds_what_a_look_at_each_finds(names: list[str], kernels: bool) -> None:
    once, each = (Table("generic", [Source(__file__)], np.array(names, dtype=object), {}) for _ in range(2))
    wanted = name_variants.nameless(each, kernels) + name_variants.unite(each)
    each.names = np.array([n.strip() for n in each.names.tolist()], dtype=object)
    assert name_variants.check(once, kernels) == wanted + name_variants.broken(each)
    assert once.names.tolist() == each.names.tolist()
