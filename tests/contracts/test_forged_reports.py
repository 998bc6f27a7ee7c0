"""Reports and cubins that claim more than their bytes: work, names and tables stay in proportion to the file."""

import struct
from pathlib import Path

import pytest

from tests.helpers import cubins, sass
from tests.helpers import ncu_reports as w
from triage.capture import timeline
from triage.capture.source import Source
from triage.dialects.nvidia.report import code, container, elf, launches, line_table
from triage.dialects.nvidia.report.hot_spots import Spots
from triage.dialects.nvidia.sass.body import Budget
from triage.ground.errors import BadCapture, TriageError
from triage.reading import reader


def sections(count: int, kind: int, content: bytes, name: int = 0, info: int = 1) -> bytes:
    """An ELF file with a table of names and a line table, and `count` sections that all lie over the same bytes."""
    names = b"\0.debug_line\0" + b"n" * 60_000
    at = 64 + len(names)
    table = at + len(content)
    head = bytearray(64)
    head[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<Q", head, 0x28, table)
    struct.pack_into("<HHH", head, 0x3A, 64, count + 2, 0)
    shape = struct.Struct("<IIQQQQIIQQ")
    rows = [shape.pack(1, 3, 0, 0, 64, len(names), 0, 0, 0, 0), shape.pack(1, 1, 0, 0, at, len(content), 0, 0, 0, 0)]
    rows += [shape.pack(name + i, kind, 0, 0, at, len(content), 0, info, 0, 0) for i in range(count)]
    return bytes(head) + names + content + b"".join(rows)


def test_overlapping_names_of_sections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elf, "_NAMES", 1 << 16)
    data = sections(20_000, 1, b"x" * 16, name=20)
    found = elf.read(data)
    assert found is not None and len(found.sections) == 20_002
    assert sum(len(s.name) for s in found.sections) < 2 * len(data)


def test_names_at_one_place_are_one_text() -> None:
    symbols = struct.pack("<IBBHQQ", 13, 0, 0, 1, 0, 8) * 5_000
    found = elf.read(sections(1, 2, symbols, name=1))
    assert found is not None and len(found.symbols) == 5_000
    assert len({id(s.name) for s in found.symbols}) == 1


def test_overlapping_relocations_are_read_once() -> None:
    """Two thousand sections over the same 4,000 entries: no more entries are looked at than there are bytes."""
    entries = b"".join(struct.pack("<QQ", i * 8, 1 << 32) for i in range(4_000))
    found = elf.read(sections(2_000, 9, entries))
    assert found is not None
    seen = 0

    class Counted(bytes):
        def __getitem__(self, at: object) -> bytes:  # type: ignore[override]
            nonlocal seen
            got = bytes.__getitem__(self, at)  # type: ignore[index]
            seen += len(got)
            return got

    found.data = Counted(found.data)
    found.relocations(".debug_line")
    assert 0 < seen <= len(found.data)


def test_paths_that_share_a_long_folder_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_table, "_MAX_PATH_CHARS", 1 << 16)
    files = b"a\0\x01\0\0" * 50_000
    head = bytes([1, 1, 251, 14, 10]) + bytes(9) + b"f" * 4_000 + b"\0\0" + files + b"\0"
    unit = struct.pack("<HI", 2, len(head)) + head
    data = struct.pack("<I", len(unit)) + unit
    table = elf.Elf(data, [elf.Section(".debug_line", 1, 0, len(data), 0, 0)])
    assert line_table.read(table).places == {}


def test_a_line_of_many_instructions_is_one_place() -> None:
    rows = [(i * 16, 3) for i in range(2_000)]
    found = elf.read(cubins.cubin({"f": 32_000}, ("/src", "a.cu", {"f": rows})))
    assert found is not None
    (places,) = line_table.read(found).places.values()
    assert len({id(p) for p in places if p is not None}) == 1


def test_many_functions_of_one_name_are_looked_up_at_once() -> None:
    """As many symbols as functions, all of one name: each look-up takes one step, not as many as there are symbols."""
    found = code.Code()
    symbols = [elf.Symbol("f", 1, i, 16 + i) for i in range(3_000)]
    found.__dict__["elf"] = elf.Elf(b"", [], symbols)
    found.table = [("f", 1_000 * i, -1) for i in range(3_000)]
    assert {f.size for f in found.functions} == {16 + 2_999}
    assert [f.address for f in found.functions] == [1_000 * i for i in range(3_000)]
    where = code.Map(found, "k", "k", 500)
    spot = where.spot(510)
    assert spot is not None and (spot.function, spot.offset) == ("k", 10)
    assert len(found.functions) == 3_000  # what one launch adds is not the next one's


def test_launches_without_content_take_no_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(launches, "_ROOM", 1 << 16)
    one = w.Launch("k", {"gpu__time_duration.sum": 1.0, "sm__throughput.avg.pct_of_peak_sustained_elapsed": 2.0})
    path = tmp_path / "a.ncu-rep"
    path.write_bytes(w.report([one]) + w._block(results=[b""] * 50_000))
    with pytest.raises(BadCapture, match="damaged at byte") as e:
        reader.read(str(path))
    assert "\n" not in str(e.value)


def test_a_session_of_a_million_devices_is_damaged() -> None:
    one = w.Launch("k", {"gpu__time_duration.sum": 1.0})
    many = w.report([one], devices=[w.Device("x", {}, i) for i in range(3_000)])
    with pytest.raises(TriageError, match="damaged"):
        container.load(Source("a.ncu-rep", many))
    assert (
        len(
            container.load(
                Source("a.ncu-rep", w.report([one], devices=[w.Device("x", {}, i) for i in range(16)]))
            ).devices
        )
        == 16
    )


def test_a_timeline_of_thousands_of_devices_is_damaged(tmp_path: Path) -> None:
    from tests.contracts.test_forged_databases import KERNELS, small

    path = tmp_path / "a.sqlite"
    db = small(path)
    rows = [(i * 1000, i * 1000 + 500, i, 7, i, i << 24, 1) for i in range(2 * timeline.MAX_DEVICES)]
    db.executemany(f"insert into {KERNELS} values (?, ?, ?, ?, ?, ?, ?)", rows)
    db.commit()
    db.close()
    with pytest.raises(BadCapture, match="work on 1,024 devices"):
        reader.read(str(path))


def test_code_that_is_visited_is_bounded_over_a_whole_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops within loops, awaited at every instruction of every launch: the visits of all of them come from one budget."""
    size = 400
    body = b"".join(sass.jump(sass.BRA, -16 * (i + 1), guard=0) for i in range(size - 8))
    body += sass.word(sass.FADD, 5, 4, 3, waits=(0, 1, 2, 3, 4)) * 8
    monkeypatch.setattr(Budget.__init__, "__defaults__", (20_000,))
    codes, results = [], []
    for k in range(1, 21):
        base = 0x1000_0000 * k
        samples = {base + 16 * (size - 8 + i): 100 * (9 - i) for i in range(8)}
        counted = {"launch__function_pcs": {0: base}, "smsp__pcsamp_warps_issue_stalled_long_scoreboard": samples}
        codes.append(w.Code(k, cubins.cubin({"k": body}, sm=80), functions=[("k", base, 1)]))
        results.append(w.Launch("k(int)", {"gpu__time_duration.sum": 1}, counted, mangled="k", code=k))
    spots = Spots(container.load(Source("a.ncu-rep", w.report(results, codes=codes))))
    answers = [spots(row, ["stall.top_share"])[0].waits_unknown for row in range(20)]
    assert answers[0] == "nothing sets the scoreboards that it waits for"
    assert answers[-1] == "more code than is followed in one report"
    launch = spots.launch(0)
    assert launch is not None and launch[1].exhausted
