"""The limiter of a group in the page's tree: that of the largest part of its time."""

from tests.helpers.reports import DEMO, diagnosed
from triage.rendering.html.tree_data import leaders, tree


def test_a_group_has_the_limiter_of_the_largest_part_of_its_time() -> None:
    b = diagnosed(DEMO).bundle
    nodes = tree(b)
    looks = dict(zip(nodes.name, leaders(b, nodes), strict=True))
    of_passes = {p["name"]: p["limiter_class"] for p in b.view["passes"]}
    # the table of passes says the same; a pass of the demo has a row of its own, without a limiter
    assert len(of_passes) > 10 and {name: looks[name][0] for name in of_passes} == of_passes
    assert looks["Shadows"] == ("front-end", 1.0) and looks["Particles"] == ("rop", 1.0)
    name, part = looks["Whole capture"]
    assert name == "rop" and 0.2 < part < 0.3
