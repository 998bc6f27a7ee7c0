"""Tables of studios: whatever the words for the columns, every ill marker's cause comes first and containers stay silent."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import generic
from tests.helpers.frame_layouts import markers
from tests.helpers.headers import by_words, readings
from tests.helpers.marker_tables import STUDIOS, table
from triage import api, schema
from triage.capture.arrays import Names
from triage.capture.capture import Table
from triage.dialects.custom import say, tree_columns, vocabulary
from triage.document.missing_counters import missing_counters
from triage.ground.errors import BadCapture

LITTLE = 0.05  # of a healthy marker's time: what may be promised as a note
VERDICTS = ("low-throughput", "near-limit")


@pytest.mark.slow
@pytest.mark.parametrize("frame", ["harbour", "orchard"])
@pytest.mark.parametrize("name", STUDIOS)
def test_the_illness_comes_first_in_any_words(name: str, frame: str, tmp_path: Path) -> None:
    studio = STUDIOS[name]
    ill = {m.name: m for m in markers(f"{frame} {name}", dict.fromkeys(studio.ills.split("|")))}
    found = api.diagnose(table(studio, list(ill.values()), tmp_path))
    first: dict[str, str] = {}
    for f in found.findings:
        if f.gain is not None and f.workload >= 0 and f.rule.cause not in VERDICTS and f.gain.fraction > LITTLE:
            first.setdefault(f.workload_id, f.rule.cause)
    wrong, seen = [], set()
    for w in found.to_dict()["workloads"]:
        said, chain = first.get(w["id"], ""), next(iter(w["chain"]), "")
        if w["name"] not in ill:
            wrong += [f"container {w['name']}: {said or chain}"] if said or chain else []
            continue
        seen.add(w["name"])
        causes = ill[w["name"]].illness.causes
        # findings are listed by what they would save; what leads a marker, and stands in every report, is its root
        if (chain not in causes) if causes else said:
            wrong.append(f"{w['name']}: {said or 'nothing'}, led by {chain or 'nothing'}, want {causes}")
    assert not wrong
    assert seen == set(ill)


@pytest.mark.parametrize("name", STUDIOS)
def test_every_column_of_a_studio_is_what_it_says(name: str, tmp_path: Path) -> None:
    studio = STUDIOS[name]
    capture = api.read(table(studio, markers(name, dict.fromkeys(studio.ills.split("|"))), tmp_path))
    assert not capture.table.unmapped
    told = {m.replace("stall_cycles.", "stall.") for m in capture.table.columns}  # ncu's name for cycles is the same
    assert set(studio.columns) <= told


@pytest.mark.parametrize(
    ("header", "metric"),
    [
        ("DRAM bandwidth (GB/s)", "vram.bandwidth"),  # a rate is no share
        ("DRAM bandwidth (%)", "vram.throughput"),  # a share of the only peak that a bandwidth has
        ("SM Active Cycles", "sm.cycles_active"),
        ("Memory throughput (%)", ""),  # VRAM's, or that of the whole memory system
        ("Barrier (%)", ""),  # a count, unless it stands among stall reasons
        ("dramThroughput", "vram.throughput"),
        ("Stall Long Scoreboard (%)", "stall.long_scoreboard"),
        ("mean L1TEX %", "l1tex.throughput"),
        ("PS launch stall: attribute alloc", "launch_stall.ps_attr_allocation"),
    ],
)
def test_words_mean_one_metric_or_none(header: str, metric: str) -> None:
    assert by_words(header) == [metric]


def test_short_names_are_stalls_among_stalls_only() -> None:
    assert by_words("Barrier [%]", "Wait [%]") == ["", ""]
    stalls = by_words("Barrier [%]", "Wait [%]", "Long Scoreboard [%]")
    assert stalls == ["stall.barrier", "stall.wait", "stall.long_scoreboard"]


@given(st.lists(st.text(max_size=90), max_size=8))
def test_any_header_is_read_or_left(headers: list[str]) -> None:
    for header, metric in zip(headers, by_words(*headers), strict=True):
        assert not metric or (header and schema.known(metric))


@given(st.data())
def test_trees_say_the_same_by_paths_parents_and_levels(data: st.DataObject) -> None:
    depths = [0]
    for _ in range(data.draw(st.integers(0, 12))):
        depths.append(data.draw(st.integers(0, depths[-1] + 1)))
    names: Names = tree_columns.bare(_names(len(depths)))
    by_level = tree_columns.by_level(names, depths)
    above = [str(p).split("/")[-1] if p else "" for p in (path.replace("\x1f", "/") for path in _plain(by_level))]
    parents = names.copy()
    parents[:] = above
    assert list(tree_columns.by_parent(names, parents, None)) == list(by_level)
    set_in = names.copy()
    set_in[:] = ["  " * d + n for d, n in zip(depths, names, strict=True)]
    found = tree_columns.indents(set_in)
    assert (found is None) == (not any(depths))
    if found:
        assert list(tree_columns.by_level(tree_columns.bare(set_in), found)) == list(by_level)


def test_a_circle_of_parents_is_no_tree() -> None:
    names = _names(2)
    parents = names[::-1].copy()
    assert list(tree_columns.by_parent(names, parents, None)) == ["", ""]


def test_a_chain_of_parents_without_end_is_refused_at_once() -> None:
    names = _names(20_000)
    above = np.concatenate([[""], names[:-1]])
    with pytest.raises(BadCapture, match="nested within more than 1,000 markers"):
        tree_columns.by_parent(names[::-1], above[::-1], None)
    with pytest.raises(BadCapture, match="nested within more than 1,000 markers"):
        tree_columns.by_level(names, range(20_000))


def test_rows_below_a_circle_stand_under_it() -> None:
    names = _names(3)
    assert list(tree_columns.by_parent(names, names[[1, 0, 1]], None)) == ["", "", "m1"]


def _names(count: int) -> Names:
    return np.array([f"m{i}" for i in range(count)], dtype=object)


def _plain(paths: Names) -> list[str]:
    from triage.capture.capture import SEP

    return [str(p).replace(SEP, "/") for p in paths]


PHONES = {
    "snapdragon": ("% Shaders Busy [%],% Texture Pipes Busy [%]", "% Shader ALU Capacity Utilized", 31, 3),
    "streamline": (
        "Arithmetic unit utilization [%],Texture unit utilization [%]",
        "Load/store unit utilization",
        38,
        4,
    ),
}


@pytest.mark.parametrize(
    "header, metric",
    [
        ("Video memory utilisation (% of peak)", "vram.throughput"),
        ("SM peak%", "sm.throughput"),
        ("L2 [% peak]", "l2.throughput"),
        ("waiting on Long Scoreboard %", "stall.long_scoreboard"),
        ("Barrier [% stall]", "stall.barrier"),
        ("Tex usage (%)", "l1tex.throughput"),
        ("Warps resident %", "sm.occupancy"),
        ("CS stalled on registers %", "launch_stall.cs_register_allocation"),
        ("counters.lts.throughput", "l2.throughput"),
        ("Stalled: barrier %", "stall.barrier"),
    ],
)
def test_words_of_the_third_blind_set(header: str, metric: str) -> None:
    assert set(by_words("pass", header)) == {"", metric}


@pytest.mark.parametrize("tool", PHONES)
def test_a_phone_is_asked_for_what_its_own_tool_exports(tool: str, tmp_path: Path) -> None:
    heads, asked, *values = PHONES[tool]
    file = tmp_path / "phone.csv"
    file.write_text(f"name,kind,gpu.time [ms],{heads}\nOpaque,geometry,5,{values[0]},{values[1]}\n")
    found = api.diagnose(file)
    commands = [b["collect"] for b in missing_counters(found.to_dict())]
    assert len(commands) == 1 and asked in commands[0]  # one sentence, in the tool's own words
    missing = {m for b in found.to_dict()["blind_spots"] for m in b["missing"]}
    assert missing and not any(m.endswith(".limiter") or m.startswith(("present.", "sm.", "stall.")) for m in missing)


def test_a_table_of_limiters_is_asked_for_limiters(tmp_path: Path) -> None:
    """Canonical names of what Xcode counts: no SOL of a desktop GPU, no counter of another phone."""
    row = {"name": "March", "kind": "fullscreen", "gpu.time": 9.88, "occupancy.fragment": 12.4, "alu.utilization": 36.7, "buffer_read.limiter": 1.5}  # fmt: skip
    doc = api.diagnose(generic(tmp_path / "t.csv", [row])).to_dict()
    asked = {m for b in doc["blind_spots"] for m in b["missing"]}
    assert {"alu.limiter", "texture_sample.limiter"} <= asked
    assert not any(m.startswith(("texture_pipe.", "load_store.", "varying.", "sm.", "vram.", "memory.")) for m in asked)


def test_columns_are_asked_for_in_one_sentence(tmp_path: Path) -> None:
    file = generic(tmp_path / "t.csv", [{"name": "A", "gpu.time": 4, "sm.throughput": 40, "vram.throughput": 30}])
    spots = missing_counters(api.diagnose(file).to_dict())
    (columns,) = (b["collect"] for b in spots if b["collect"].startswith("add columns: "))
    assert columns.endswith(" more (triage list metrics)") and columns.count(",") == 9


@pytest.mark.parametrize(
    "header, metric, unit",
    [
        ("SM (%SOL)", "sm.throughput", "%"),
        ("Unit L2 (%SOL)", "l2.throughput", "%"),
        ("L2 throughput, % of peak", "l2.throughput", "%"),
        ("GPU.VRAM.Utilization", "vram.throughput", ""),
        ("gpu/crop_pct", "crop.throughput", "%"),
        ("Color ROP used [%]", "crop.throughput", "%"),
        ("Shader cores active [%]", "sm.active", "%"),
        ("SMs active (percent)", "sm.active", "percent"),
        ("L2 cache hit rate [%]", "l2.hit_rate", "%"),
        ("Occ. %", "sm.occupancy", "%"),
        ("Warps stalled on texture throttle [%]", "stall.tex_throttle", "%"),
        ("Stall not sel (%)", "stall.not_selected", "%"),
        ("XU %", "pipe.xu", "%"),
        ("VRAM Rd (MB)", "vram.bytes_read", "MB"),
        ("dur_us", "gpu.time", "us"),
        ("GPU cost in ms", "gpu.time", "ms"),
        ("Milliseconds", "gpu.time", "ms"),
        ("busy %", "", ""),  # whose?
        ("Cache hit %", "", ""),  # which?
        ("VRAM reads", "", ""),  # bytes, or requests?
        ("CPU time (ms)", "", ""),
        ("Wait time (ms)", "", ""),
        ("Shadow SM %", "", ""),  # one word that nobody knows
    ],
)
def test_words_beside_a_unit_say_nothing_more(header: str, metric: str, unit: str) -> None:
    assert readings(header)[0][:2] == (metric, "%" if unit == "percent" else unit)


def _read(tmp_path: Path, *lines: str) -> Table:
    file = tmp_path / "t.csv"
    file.write_text("\n".join(lines) + "\n")
    return api.read(file).table


@pytest.mark.parametrize("between", ["/", " > ", "::", "\\", " | "])
def test_names_that_begin_as_others_do_are_paths(between: str, tmp_path: Path) -> None:
    scene = f"Frame{between}Scene"
    rows = [f"{scene},3", f"{scene}{between}Sky,2", f"{scene}{between}Sea,1", f"A{between}B,5"]
    found = _read(tmp_path, "Where,GPU ms,SM %,VRAM %", *(f"{row},20,30" for row in rows))
    assert found.paths is not None
    assert list(zip(found.names, _plain(found.paths), strict=True)) == [
        ("Scene", "Frame"),
        ("Sky", "Frame/Scene"),
        ("Sea", "Frame/Scene"),
        ("B", "A"),
    ]


def test_names_with_slashes_alone_are_names(tmp_path: Path) -> None:
    found = _read(tmp_path, "Pass / Draw,GPU ms,SM %,VRAM %", "Blur X/Y,3,20,30", "Blur Y/X,2,20,30")
    assert list(found.names) == ["Blur X/Y", "Blur Y/X"] and found.paths is None


def test_a_total_of_the_outermost_rows_is_set_aside(tmp_path: Path) -> None:
    rows = ["Scene,3", "Scene/Sky,2", "Scene/Sea,1", "Post,4", "Total,7"]
    found = _read(tmp_path, "Pass,GPU ms,SM %,VRAM %", *(f"{row},20,30" for row in rows))
    assert list(found.names) == ["Scene", "Sky", "Sea", "Post"]
    assert [q.check for q in found.quality] == ["total-row"]


def test_fractions_under_a_sign_are_fractions_and_said(tmp_path: Path) -> None:
    found = _read(tmp_path, "Pass,GPU ms,SM %,SM active %,L2 hit %", "A,3,0.41,0.97,0.81", "B,2,0.2,0.9,0.7")
    assert found.columns["sm.throughput"].values[0] == pytest.approx(0.41)
    assert found.columns["l2.hit_rate"].values[1] == pytest.approx(0.7)
    assert [q.check for q in found.quality] == ["mixed-shares"]
    whole = _read(tmp_path, "Pass,GPU ms,SM %,SM active %,L2 hit %", "A,3,0.41,97,81", "B,2,0.2,90,70")
    assert whole.columns["sm.throughput"].values[0] == pytest.approx(0.0041) and not whole.quality


def test_counts_under_a_share_s_words_are_left_and_named(tmp_path: Path) -> None:
    found = _read(tmp_path, "Pass,GPU ms,SM %,VRAM %,L2 hits,Mood", "A,3,41,97,88123,1", "B,2,20,90,70111,2")
    assert "l2.hit_rate" not in found.columns and found.unmapped == ["Mood", "L2 hits"]
    (said,) = found.quality
    assert "2 columns were not read: 'Mood', 'L2 hits'" in said.message and "--map" in said.message
    rates = _read(tmp_path, "Pass,GPU ms,SM %,VRAM %,L2 hits", "A,3,41,97,88", "B,2,20,90,70")
    assert rates.columns["l2.hit_rate"].values[0] == pytest.approx(0.88)


def test_where_every_unit_is_busy_so_is_the_sm(tmp_path: Path) -> None:
    every = _read(tmp_path, "Pass,GPU ms,SM busy %,L2 busy %,DRAM busy %,PCIe busy %", "A,3,41,20,88,1")
    assert {"sm.throughput", "l2.throughput", "vram.throughput", "pcie.throughput"} <= every.columns.keys()
    tool = _read(tmp_path, "Pass,GPU ms,SM Busy %,SM throughput %,L2 throughput %", "A,3,41,20,88")
    assert {"sm.busy", "sm.throughput"} <= tool.columns.keys()


@pytest.mark.parametrize(
    "header, metric",
    [
        ("Vram_BW_Util(%)", "vram.throughput"),
        ("SM Thrpt(%)", "sm.throughput"),
        ("St.LongScoreboard(%)", "stall.long_scoreboard"),
        ("timing.gpu.ns", "gpu.time"),
        ("GPU Time, microseconds", "gpu.time"),
        ("Avg ms", "gpu.time"),
        ("Issue slots filled in %", "sm.issue_per_active"),
        ("Stalled on NO INSTR in %", "stall.no_instruction"),
        ("geometry.prims_rasterized", "prims.rasterized"),
        ("Pixels", "pixels.drawn"),
        ("rasterised px count", "pixels.drawn"),
    ],
)
def test_words_of_the_sixth_blind_set(header: str, metric: str) -> None:
    assert by_words(header) == [metric]


@pytest.mark.parametrize(
    "header",
    ["VRAM usage (%)", "VRAM used (MB)", "Texture count", "Textures", "Tex count", "Framebuffer", "Issues", "Issue count", "Run", "GPU %", "Time (%)", "Share %",
     "L2 (MB)", "GPU idle ms", "Cache %", "Hit %", "Miss %", "Texture memory (MB)", "Raster state", "Shader", "Draw distance", "Budget (ms)", "Start (ms)",
     "Self ms", "RT format", "RT count", "FMA ops", "Blend %", "Load %", "Power %", "Long", "Peak MB", "Stalls", "Unit %", "Min ms", "VRAM reads"],
)  # fmt: skip
def test_what_is_called_like_a_metric_and_is_none_is_not_read(header: str, tmp_path: Path) -> None:
    found = _read(tmp_path, f"Pass,GPU time (ms),SM %,VRAM %,{header}", "A,3,41,97,55", "B,2,20,90,12")
    assert found.unmapped == [header] and {q.check for q in found.quality} == {"columns-unread"}


@pytest.mark.parametrize("joint", ["_", "-", ""])
def test_an_id_with_other_joints_is_that_metric(joint: str) -> None:
    """`stall_barrier` and `StallBarrier` are the id, not the tool's `Stall Barrier`, which counts cycles."""
    mine = [m for m in schema.all_metrics() if not m.startswith(vocabulary.COMPUTED)]
    if not joint:
        spelt = {m: "".join(w.title() for w in re.split("[._]", m)) for m in mine}
    else:
        spelt = {m: m.replace(".", joint) for m in mine}
    assert {m: found for m, name in spelt.items() if (found := say.by_name(name).metric) != m} == {}


def test_a_label_of_our_reports_is_that_metric() -> None:
    labels = schema.by_label()
    mine = {m.label: m.id for m in schema.all_metrics().values() if not m.id.startswith(vocabulary.COMPUTED)}
    told = {
        label: m
        for label, m in mine.items()
        if schema.normal(label) in labels and not m.startswith(vocabulary.RARER)  # anybody's words
    }
    assert len(told) > 400
    assert {label: m for label, m in told.items() if say.by_name(label).metric != m} == {}


def test_rows_called_a_frame_head_those_below_where_the_sums_say_so(tmp_path: Path) -> None:
    head = "name,gpu.time [ms],sm.throughput [%],vram.throughput [%]"
    rows = [f"{name},{ms},20,30" for f in (1, 2) for name, ms in ((f"Frame {f}", 8), ("G-buffer", 5), ("Post", 3))]
    found = _read(tmp_path, head, *rows)
    assert found.paths is not None and _plain(found.paths) == ["", "Frame", "Frame"] * 2  # two frames of one tree
    longer = [row.replace("Post,3", "Post,9") for row in rows]
    assert _read(tmp_path, head, *longer).paths is None  # more than the frame holds: a list of its own
    assert _read(tmp_path, head, *(f"Frame {f},8,20,30" for f in range(3))).paths is None


@pytest.mark.parametrize(
    "header",
    [
        "name,gpu.time [ms],l1tex hit,L1TEX Hit Rate\nA,1,5000,40\nB,2,9000,50\n",
        "name,gpu.time [ms],sm.throughput,stall_barrier,Stall Barrier\nA,1,40,35,5000\nB,2,50,20,6000\n",
    ],
)
def test_a_second_column_of_what_was_set_aside(header: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(header, "utf-8")
    assert len(api.read(path)) == 2
