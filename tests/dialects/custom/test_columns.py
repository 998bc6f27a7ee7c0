"""Custom tables: each column's decision has a reason, and `[columns]` in triage.toml reads what words do not."""

import json
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

from triage import api
from triage.commands import _columns
from triage.dialects.custom.agree import agree
from triage.dialects.custom.say import say
from triage.ground.errors import TriageError, UnknownDialect
from triage.products import project

TODAY = date(2026, 6, 1)
TABLE = (
    "Marker,Parent,GPU ms,SM,TEX,DRAM SOL%,FMA,Barrier [%],Stall: long scoreboard %,L2 miss rate %,L2 (MB),Props budget,DRAM BW %,SM Occupancy\n"
    "Frame,,3.5,40,20,30,12,3,40,30,5,1,31,40\n"
    "SSR,Frame,2.1,60,25,33,15,5,30,20,5,1,33,35\n"
)
DECISIONS = {
    "Marker": ("name", "by name"),
    "Parent": ("parent", "by name"),
    "GPU ms": ("gpu.time", "by name"),
    "SM": ("sm.throughput", "by name"),
    "TEX": ("l1tex.throughput", "by name"),
    "DRAM SOL%": ("vram.throughput", "by name"),
    "FMA": ("pipe.fma", "a pipe, beside units called by their names alone"),
    "Barrier [%]": ("stall.barrier", "a stall reason, beside others"),
    "Stall: long scoreboard %": ("stall.long_scoreboard", "by name"),
    "L2 miss rate %": ("l2.hit_rate", "by words, as 1 - value"),
    "L2 (MB)": ("", "MB is no unit of l2.throughput"),
    "Props budget": ("", "unknown words"),
    "DRAM BW %": ("vram.throughput", "repeated, an earlier column is used"),
    "SM Occupancy": ("sm.active_warps", "by name"),
}


def facts(*args: str) -> str:
    from triage.commands.cli import triage as group

    return CliRunner().invoke(group, ["facts", "frame.csv", *args], standalone_mode=False).stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "frame.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(project.VARIABLE, raising=False)
    return tmp_path


def test_every_column_has_a_decision_and_a_reason(folder: Path) -> None:
    decisions = api.read(folder / "frame.csv").table.decisions
    assert {d.header: (d.read_as, d.why) for d in decisions} == DECISIONS


def test_values_overrule_what_a_header_says(folder: Path) -> None:
    (folder / "frame.csv").write_text("name,GPU time [us],SM %,Culled prims,atomics\nA,9,40,0,5000\nB,8,30,1,2\n")
    decisions = {d.header: d for d in api.read(folder / "frame.csv").table.decisions}
    assert decisions["atomics"][1:] == ("atomics.requests", "values too large for a share")


def test_facts_print_decisions_and_the_lines_to_paste(folder: Path) -> None:
    text = facts()
    for header, (read_as, why) in DECISIONS.items():
        assert any(line.split() == [*header.split(), read_as or "-", *why.split()] for line in text.splitlines())
    assert "  --map 'L2 (MB)=metric.id'\n" in text
    assert '  [columns]\n  "L2 (MB)" = "metric.id"\n' in text
    assert "DRAM BW %=" not in text  # read already
    readings = json.loads(facts("-f", "json"))["readings"]
    assert {r["header"]: (r["read_as"], r["why"]) for r in readings} == DECISIONS


def test_lines_to_paste_are_quoted_for_shell_and_toml() -> None:
    lines = _columns.to_paste([('it\'s "x" \x1b[0m', "sm.throughput")])
    assert lines[1] == """  --map 'it'"'"'s "x" ?[0m=sm.throughput'"""
    assert lines[4] == r'''  "it's \"x\" ?[0m" = "sm.throughput"'''
    assert _columns.to_paste([]) == []


def test_columns_of_the_project_are_read_and_the_command_line_goes_before(folder: Path) -> None:
    (folder / "triage.toml").write_text('[columns]\n"props budget" = "draw.count"\n"L2 (MB)" = "vram.bytes_read"\n')
    columns = json.loads(facts("-f", "json"))["columns"]
    assert (columns["draw.count"]["header"], columns["vram.bytes_read"]["header"]) == ("Props budget", "L2 (MB)")
    mapped = json.loads(facts("-f", "json", "--map", "Props budget=barrier.count"))
    assert "draw.count" not in mapped["columns"]
    assert mapped["columns"]["barrier.count"]["header"] == "Props budget"


def test_only_tables_with_a_mapped_column_become_custom_tables(folder: Path) -> None:
    (folder / "mine.csv").write_text("What,Props budget\nA,3\n")
    (folder / "other.csv").write_text("What,Price\nA,3\n")
    mapping = {"Props budget": "draw.count"}
    assert api.read(folder / "mine.csv", mapping=mapping).facts["draw.count"].tolist() == [3]
    with pytest.raises(UnknownDialect):
        api.read(folder / "other.csv", mapping=mapping)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('# ours\n[columns]\n"My SM" = "sm.troughput"', "triage.toml:3: columns.My SM 'sm.troughput' is no metric - did you mean 'sm.throughput'?"),
        ("[columns]\nSM = 'xyz'", "triage.toml:2: columns.SM 'xyz' is no metric - see: triage list metrics"),
        ('columns = {"My SM" = "xyz"}', "triage.toml: columns.My SM 'xyz' is no metric"),
        ("[columns]\nSM.x = 'sm.throughput'", "columns.SM must be a text - a header with dots stands in quotes"),
        ("columns = 1", "columns must be a table"),
    ],
)  # fmt: skip
def test_a_wrong_column_is_refused_with_its_line(folder: Path, text: str, message: str) -> None:
    (folder / "triage.toml").write_text(text)
    with pytest.raises(TriageError) as e:
        project.load(TODAY, folder, {})
    assert message in str(e.value)


def test_candidates_wait_for_what_must_stand_beside_them() -> None:
    (barrier,) = say(["Barrier [%]"], (), {})
    assert [(r.metric, r.beside) for r in barrier.options] == [("stall.barrier", "stalls"), ("", "")]
    assert not agree([barrier]).used
    assert "stall.barrier" in agree(say(["Barrier [%]", "Stall: wait [%]"], (), {})).used
