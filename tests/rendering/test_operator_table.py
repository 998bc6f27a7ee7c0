"""Operators of a trace in every report, with dims, type, rate and share of the roof."""

from xml.etree import ElementTree as tree

from tests.conftest import SAMPLES
from triage.api import diagnose
from triage.rendering import formats
from triage.rendering.html import operator_roofline
from triage.rendering.operator_table import cover, of_roof, operator_table

SAMPLE = str(SAMPLES / "pytorch-trace" / "training.pt.trace.json")


def test_rows_say_what_an_operator_does() -> None:
    frame = diagnose(SAMPLE).to_dict()["frame"]
    operators = frame["operators"]
    table = operator_table(operators, frame["duration_ns"])
    assert table is not None
    heads = [h for h, _ in table.headers]
    assert heads == ["Operator", "Dims", "Type", "Calls", "Time", "Share of the span", "Rate", "Of roof"]
    rows = {(r[0], r[1]): r[2:] for r in table.rows}
    # 2 x 96 x 1537 x 1537 x 64 FLOPs in 0.9 ms
    assert rows["aten::bmm", "96×1537×1537×64"][:3] == ["BF16", "6", "5.4 ms"]
    assert rows["aten::bmm", "96×1537×1537×64"][3] == "8.4 %"  # of the whole span, as in every other table
    assert rows["aten::bmm", "96×1537×1537×64"][4] == "32.3 TFLOP/s"
    assert rows["aten::add", "12296×3072, 12296×3072"][4].endswith("B/s")
    assert len(table.rows) + table.more == len(operators)


def test_below_memorys_roof_the_roof_is_its_bandwidth() -> None:
    doc = diagnose(SAMPLE).to_dict()
    table = operator_table(doc["frame"]["operators"], captures=doc["captures"], most=20)
    assert table is not None
    roofs = {(r[0], r[1]): r[-1] for r in table.rows}
    # 2 x 1537 x 1537 x 64 FLOPs over 2 x (2 x 1537 x 64 + 1537 x 1537) bytes: 59 each, and the H100 computes 295 for a byte
    assert roofs["aten::bmm", "96×1537×1537×64"] == "16 % of 3.35 TB/s"
    assert roofs["aten::mm", "12296×3072×768"] == "62 % of 66.9 TFLOP/s"  # FP32's peak
    longest = next(o for o in doc["frame"]["operators"] if o["op"] == "aten::bmm")
    needed = longest["bytes"] * longest["calls"] / (longest["total_ns"] * 1e-9) / longest["roof_share"]
    for peak, unit in ((needed / 0.979, "TFLOP/s"), (needed / 0.981, "TB/s")):
        assert of_roof(longest, {longest["capture"]: peak}).endswith(unit)


def test_captures_share_rows_and_a_small_window_leaves_columns_out() -> None:
    operators = diagnose(SAMPLE).to_dict()["frame"]["operators"]
    twice = operator_table([*operators, *({**o, "capture": "b"} for o in operators)], wide=60)
    assert twice is not None and "Rate" not in [h for h, _ in twice.headers]
    assert twice.rows[0][3] == str(2 * operators[0]["calls"])
    assert operator_table(None) is None


def test_every_report_shows_operators() -> None:
    bundle = diagnose(SAMPLE).bundle
    for form in ("terminal", "markdown", "html", "jira"):
        parts: list[str] = []
        formats.render(bundle, form, parts.append)
        text = "".join(parts)
        assert "Of roof" in text and "aten::bmm" in text, form
        assert form == "jira" or "(ProfilerStep#" in text, form


def test_the_roofline_draws_operators_below_their_roofs() -> None:
    operators = diagnose(SAMPLE).to_dict()["frame"]["operators"]
    assert operators is not None
    known = [o for o in operators if o["roof_share"] and o["kind"] != "elementwise"]
    drawn = tree.fromstring(str(operator_roofline.roofline(operators)))
    points, bars = (drawn.findall(t) for t in ("circle", "path[@class='line']"))
    assert len(points) == len(bars) == len(known) > 1
    for point, bar in zip(points, bars, strict=True):
        top = float(bar.attrib["d"].partition("V")[2].partition("M")[0])
        assert top <= float(point.attrib["cy"])  # up is small
    assert operator_roofline.roofline(known[:1]) == "" == operator_roofline.roofline(None)


def test_what_operators_leave_out_is_said() -> None:
    whole = diagnose(str(SAMPLE)).to_dict()["frame"]["operators"]
    share = sum(o["share"] for o in whole)
    most, less = ([{**o, "share": o["share"] * part / share} for o in whole] for part in (0.86, 0.84))
    assert cover(most) == "" == cover(None)
    assert cover(less).startswith("Operators account for ")
