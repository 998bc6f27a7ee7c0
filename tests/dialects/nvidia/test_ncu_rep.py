"""Nsight Compute's own reports: the same launches and figures as the raw page of them, and no damage that hurts."""

import gzip
import json
import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import CORPUS, SAMPLES, needs_corpus, run
from tests.helpers import cubins
from tests.helpers import ncu_reports as w
from tests.helpers.dialects import line_of, read, read_as, read_or_refuse, refusal, text_of, values
from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects.nvidia import ncu_rep
from triage.dialects.nvidia.report import container, elf, line_table, opinions, wire
from triage.dialects.nvidia.report.report_units import unit
from triage.ground.errors import CaptureError

PAGE = (SAMPLES / "ncu-raw" / "transpose.raw.csv").read_text()
TIME = "gpu__time_duration.sum"
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SMALL = w.report(
    [
        w.Launch("void first<float>(int)", {TIME: 1500, "sm__throughput.avg.pct_of_peak_sustained_elapsed": 62.5}),
        w.Launch("second(int)", {TIME: 2500.5, "launch__registers_per_thread": 40}, grid=(8, 2, 1), block=(128, 1, 1)),
    ],
    devices=[w.Device("NVIDIA H100", {"device__attribute_multiprocessor_count": 132})],
    versions={"Nsight Compute Target": "2025.1.0.0 (build 1) (x)", "Display Driver Version": "570.1"},
)


SAMPLE = w.sample()


def same(report: Table, page: Table) -> None:
    """Whatever the door, the same launches with the same metrics from counters of the same name."""
    assert list(report.names) == list(page.names)
    assert set(report.columns) == set(page.columns)
    for metric, column in report.columns.items():
        other = page.columns[metric]
        assert (column.header, column.factor) == (other.header, other.factor), metric
        # a page is printed with nine digits after the point
        assert np.allclose(column.values, other.values, rtol=1e-9, atol=1e-8, equal_nan=True), metric
    assert report.arch == page.arch
    assert report.group == page.group


def test_a_report_reads_like_its_raw_page() -> None:
    report = read(w.report(w.raw_page(PAGE)), "ncu-rep")
    same(report, read(PAGE, "ncu-raw"))
    assert len(report) == 3


def test_the_sample_is_what_the_writer_writes() -> None:
    assert (SAMPLES / "ncu-rep" / "transpose.ncu-rep").read_bytes() == SAMPLE


@pytest.mark.slow
@needs_corpus
@pytest.mark.parametrize("path", sorted((CORPUS / "ncu_rep").glob("*.ncu-rep")), ids=lambda p: p.name[:8])
def test_a_real_report_reads_like_its_raw_page(path: Path) -> None:
    report, page = read(path, "ncu-rep"), read(path.parent / "csv" / f"{path.name}.csv.gz", "ncu-raw")
    same(report, page)
    assert report.device == page.device or not page.device


def test_cells_lead_back_to_result_and_metric() -> None:
    report = read(SMALL, "ncu-rep")
    time = report.columns["gpu.time"]
    assert [line_of(report, time, row) for row in range(2)] == [1, 2]
    assert [text_of(report, time, row) for row in range(2)] == ["1500", "2500.5"]
    assert text_of(report, report.columns["sm.throughput"], 0) == "62.5"
    assert text_of(report, report.columns["sm.throughput"], 1) == ""
    assert report.files[0].record == "result"


def test_the_command_line_names_the_result(tmp_path: Path) -> None:
    path = tmp_path / "r.ncu-rep"
    path.write_bytes(SMALL)
    assert "result 2, 'gpu__time_duration.sum' = '2500.5'" in run("facts", path, "--all").stdout


def test_the_session_fills_in_what_a_launch_does_not_repeat() -> None:
    devices = [
        w.Device("one", {"device__attribute_multiprocessor_count": 10, "device__attribute_warp_size": 32}, 0),
        w.Device("two", {"device__attribute_multiprocessor_count": 20}, 1),
    ]
    launches = [
        w.Launch("a", {TIME: 1}, device=0),
        w.Launch("b", {TIME: 1}, device=1),
        w.Launch("c", {TIME: 1, "device__attribute_multiprocessor_count": 7}, device=1),
    ]
    table = read(w.report(launches, devices=devices), "ncu-rep")
    assert list(table.columns["device.sm_total"].values) == [10, 20, 7]
    assert table.device == "one"
    assert any("several devices" in note for note in table.notes)


def test_names_may_stand_in_a_later_block() -> None:
    block = w._block(results=[w._result(w.Launch("k", {TIME: 3.0}), {"x": 0})])
    late = w._block(strings=["x", TIME])
    data = w.MAGIC + w._sized(w.number(1, 7)) + block + late
    assert list(read(data, "ncu-rep").columns["gpu.time"].values) == [3.0]


def test_range_results_are_launches_too() -> None:
    data = w.report([w.Launch("range", {TIME: 3.0})], ranges=True)
    assert list(read(data, "ncu-rep").names) == ["range"]


@pytest.mark.parametrize("encoded", [w.real(3, 2.5), w.single(2, 2.5), w.message(1, "2.5")])
def test_every_width_of_a_figure(encoded: bytes) -> None:
    metric = w.message(13, w.message(2, encoded))  # index 0, which is not written
    data = w.MAGIC + w._sized(b"") + w._block(results=[w.message(7, "k") + metric], strings=[TIME])
    assert list(read(data, "ncu-rep").columns["gpu.time"].values) == [2.5]


def test_many_launches_side_by_side_as_one_by_one() -> None:
    """More launches than are read one by one, of two shapes, some without a counter."""
    launches = [
        w.Launch(
            f"k{i % 7}",
            {TIME: i + 0.5, "launch__registers_per_thread": 1 << (i % 20)} if i % 3 else {TIME: i},
            instances={"smsp__pcsamp_sample_count": {16 * k: k for k in range(i % 50)}},
            grid=(1 << (i % 9), 1, 1),
            block=(32, 1 + i % 3, 1),
        )
        for i in range(400)
    ]
    table = read(w.report(launches), "ncu-rep")
    assert list(table.names) == [x.kernel for x in launches]
    assert list(table.columns["gpu.time"].values) == [x.metrics[TIME] for x in launches]
    registers = [x.metrics.get("launch__registers_per_thread", np.nan) for x in launches]
    np.testing.assert_array_equal(table.columns["launch.registers"].values, registers)
    np.testing.assert_array_equal(table.columns["launch.block_size"].values, [np.prod(x.block) for x in launches])
    np.testing.assert_array_equal(table.columns["launch.grid_size"].values, [x.grid[0] for x in launches])


def test_what_nvidias_rules_said() -> None:
    rules = [
        w.Rule("SOLBottleneck", "Look at @section:WarpStateStats:Warp State Statistics@.", 4),
        w.Rule("Occupancy", "See the @url:Guide:https://a.b/c#d@  now.", 2, 12.5, 2, ("sm__warps", 82.5, "Raise it")),
        w.Rule("Fine", "All is well", 1),
        w.Rule("Silent", "none", 0),
        w.Rule("Broken", "error", 3),
    ]
    table = read(w.report([w.Launch("a", {TIME: 1}), w.Launch("b", {TIME: 1}, rules=rules)]), "ncu-rep")
    said = [(o.row, o.rule, o.type, o.text, o.speedup, o.scope) for o in table.opinions]
    assert said == [
        (1, "SOLBottleneck", "OPT", "Look at Warp State Statistics.", None, ""),
        (1, "Occupancy", "WRN", "See the Guide now. [sm__warps: 82.5; Raise it]", 0.125, "global"),
    ]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("@source:7f5e16fb3020:0x7f5e16fb3020@", "0x7f5e16fb3020"),
        ("mail me@example.com or you@example.com", "mail me@example.com or you@example.com"),
        ("a @section:X:b@ c @section:Y:d@\n e", "a b c d e"),
    ],
)
def test_markup_becomes_words(words: str, shown: str) -> None:
    assert opinions.plain(words) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("gpu__time_duration.sum", "ns"),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
        ("dram__bytes.sum.per_second", "byte/s"),
        ("gpc__cycles_elapsed.avg.per_second", "hz"),
        ("sm__warps_active.avg.per_cycle_active", "warp"),
        ("sm__inst_executed.avg.per_cycle_active", "inst/cycle"),
        ("smsp__cycles_active.avg", "cycle"),
        ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", ""),
        ("lts__t_requests_srcunit_tex.sum", "request"),
        ("lts__t_sectors_op_read.sum", "sector"),
        ("launch__occupancy_limit_registers", "block"),
        ("launch__registers_per_thread", "register/thread"),
        ("launch__waves_per_multiprocessor", ""),
        ("device__attribute_clock_rate", ""),
        ("smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", "inst"),
        ("smsp__average_warp_latency_issue_stalled_wait.ratio", "cycle"),
        ("sm__cycles_active.avg.per_cycle_elapsed", ""),
    ],
)
def test_units_by_name(name: str, shown: str) -> None:
    assert unit(name) == shown


FIELDS = st.lists(
    st.one_of(
        st.tuples(st.integers(1, 40), st.just(wire.VARINT), st.integers(0, 2**64 - 1)),
        st.tuples(st.integers(1, 40), st.just(wire.BITS64), st.integers(0, 2**64 - 1)),
        st.tuples(st.integers(1, 40), st.just(wire.BITS32), st.integers(0, 2**32 - 1)),
        st.tuples(st.integers(1, 40), st.just(wire.BYTES), st.binary(max_size=200)),
    ),
    max_size=6,
).map(lambda fields: sorted(fields, key=lambda f: f[0]))


def encoded(fields: list[tuple[int, int, int | bytes]]) -> bytes:
    out = b""
    for n, kind, v in fields:
        out += w.varint(n << 3 | kind)
        if isinstance(v, bytes):
            out += w.varint(len(v)) + v
        else:
            out += w.varint(v) if kind == wire.VARINT else v.to_bytes(8 if kind == wire.BITS64 else 4, "little")
    return out


@relaxed
@given(st.lists(FIELDS, max_size=40), st.sets(st.integers(1, 40), min_size=1, max_size=5))
def test_fields_of_many_messages_as_of_each(
    messages: list[list[tuple[int, int, int | bytes]]], wanted: set[int]
) -> None:
    parts = [encoded(m) for m in messages]
    stop = np.cumsum([len(p) for p in parts], dtype=np.int64)
    start, data = stop - [len(p) for p in parts], b"".join(parts)
    found = wire.gather(data, start.astype(np.int64), stop, wanted)
    for n in wanted:
        got: dict[int, list[int | bytes]] = {}
        for i, kind, v, end in zip(
            *(getattr(found[n], a).tolist() for a in ("which", "kind", "value", "stop")), strict=True
        ):
            got.setdefault(i, []).append(data[v:end] if kind == wire.BYTES else v)
        assert got == {i: vs for i, m in enumerate(messages) if (vs := [v for k, _, v in m if k == n])}


@relaxed
@given(st.binary(max_size=400), st.integers(1, 40))
def test_bytes_that_are_no_messages(data: bytes, many: int) -> None:
    begin = np.zeros(many, dtype=np.int64)
    try:
        wire.gather(data, begin, begin + len(data), (1, 2, 13))
    except wire.Damaged as e:
        assert 0 <= e.at <= len(data)


@pytest.mark.parametrize("at", range(0, len(SMALL), 7))
def test_a_cut_report_keeps_what_came_before(at: int) -> None:
    try:
        table = read_as("ncu-rep", SMALL[:at])
    except container.NotTriageable as e:
        assert "no launches" in str(e) or "cut at byte" in str(e)
        return
    whole = read(SMALL, "ncu-rep")
    assert list(table.names) == list(whole.names)[: len(table)]
    assert np.array_equal(table.columns["gpu.time"].values, whole.columns["gpu.time"].values[: len(table)])
    assert len(table) == 2 or [q.check for q in table.quality] == ["cut-report"]


@relaxed
@given(st.data())
def test_flipped_bits_never_traceback(data: st.DataObject) -> None:
    raw = bytearray(data.draw(st.sampled_from([SMALL, SAMPLE])))
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    read_or_refuse(ncu_rep, bytes(raw))


def crafted() -> dict[str, bytes]:
    head = w.MAGIC + w._sized(w.number(1, 7))
    length = struct.pack("<I", 0xFFFFFFF0)
    return {
        "nothing": w.MAGIC,
        "header beyond the end": w.MAGIC + length,
        "block beyond the end": head + length + b"x",
        "counts beyond the end": head + w._sized(w.number(1, 2**63) + w.number(2, 2**64 - 1) + w.number(5, 0)),
        "entry beyond the end": head + w._sized(w.number(2, 1) + w.number(5, 8)) + length + b"abcd",
        "payload beyond the end": head + w._sized(w.number(2, 1) + w.number(5, 2**62)) + w._sized(b""),
        "empty blocks": head + b"\0\0\0\0" * 50_000,
        "empty launches": head + w._sized(w.number(2, 1000) + w.number(5, 4000)) + b"\0\0\0\0" * 1000,
        "a varint without end": head + w._block(results=[b"\x08" + b"\xff" * 40]),
        "a string beyond its message": head + w._block(results=[b"\x3a\x7f" + b"k"]),
        "deep nesting": head + w._block(results=[nested(200)]),
        "an index beyond the table": head + w._block(results=[w.message(13, w.number(1, 2**63) + w.message(2, w.real(3, 1.0)))]),
        "groups of an old format": head + w._block(results=[b"\x0b\x0b\x0c\x0c"]),
        "field zero": head + w._block(results=[b"\x00\x01"] * 40),
    }  # fmt: skip


def nested(depth: int) -> bytes:
    out = b""
    for _ in range(depth):
        out = w.message(13, out)
    return out


@pytest.mark.parametrize("what", crafted())
def test_crafted_files_end_in_one_line(what: str) -> None:
    read_or_refuse(ncu_rep, crafted()[what])


def test_packed_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = values(read(SMALL, "ncu-rep"))
    (tmp_path / "r.ncu-rep.gz").write_bytes(gzip.compress(SMALL))
    assert values(read(tmp_path / "r.ncu-rep.gz", "ncu-rep")) == whole
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.ZstdCompressor().compress(SMALL)
    path = tmp_path / "r.ncu-repz"
    path.write_bytes(packed)
    assert values(read(path, "ncu-rep")) == whole
    path.write_bytes(packed[: len(packed) // 2])
    assert "damaged zst data" in refusal(path)
    path.write_bytes(zstandard.ZstdCompressor().compress(SMALL + bytes(400 << 20)))
    assert "decompresses to more than" in refusal(path)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert "pip install 'sol-triage[zstd]'" in refusal(path)


def test_a_report_without_launches() -> None:
    assert "no launches" in refusal(w.report([], codes=[w.Code(1, b"\x7fELF")]))


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.nsys-rep", b"\0\1\2", ": Nsight Systems report"),
        ("a.qdrep", b"\0\1\2", ": Nsight Systems report"),
        ("a.ngfx-gputrace", b"\0\1\2", "ngfx --activity"),
        ("a.ngfx-capture", b"\0\1\2", "ngfx --activity"),
        ("a.rdc", b"RDOC\0\0", "Performance Counter Viewer"),
        ("noname", b"RDOC\0\0", ": RenderDoc capture"),
        ("a.rgp", b"B00P\0\0", "rocprofv3"),
        ("a.rgp", b"AMD_RDF \0", "Radeon Developer Tools"),
        ("a.wpix", b"\0\1\2", "pixtool open-capture a.wpix save-event-list a.csv"),
        ("a.trace", b"at\0\1", "Xcode"),
        ("a.jsonl", b'{"data":[]}\n{"Type":79,"CudaEvent":{"deviceId":0}}\n', "nsys export --type sqlite"),
        ("et.json", b'{"schema": "1.1.1-chakra.0.0.4", "nodes": []}', ": PyTorch execution trace"),
        ("a.ncu-rep", b"\0\1\2", "not a readable Nsight Compute report"),
        ("a.ncu-rep", b"PK\3\4\0", "compressed or damaged"),
    ],
)  # fmt: skip
def test_native_files_get_one_true_line(name: str, data: bytes, words: str) -> None:
    assert words in refusal(Source(name, data))


def test_a_folder_of_instruments(tmp_path: Path) -> None:
    folder = tmp_path / "x.trace"
    folder.mkdir()
    (folder / "form.template").write_bytes(b"\0")
    assert "Xcode" in refusal(folder)


def placed(report: bytes, row: int, *metrics: str) -> list[tuple[str, float, str, int, int]]:
    """(what, share in percent, file, line, offset) of what is located."""
    table = read(report, "ncu-rep")
    assert table.locate is not None
    return [(x.what, round(x.share * 100), x.file, x.line, x.offset) for x in table.locate(row, metrics)]


CU = "/home/me/src/transpose.cu"


@pytest.mark.parametrize(
    ("metric", "found"),
    [
        ("global_store.waste", [("excess store sectors", 100, CU, 13, 0x90)]),
        ("global_access.excess_sectors", [("excess sectors", 100, CU, 13, 0x90)]),
        # no load is in excess: what loads there are
        ("global_load.waste", [("global memory load traffic", 100, CU, 12, 0x50)]),
        ("stall.long_scoreboard", [("stalls (long scoreboard)", 100, CU, 13, 0x90)]),
        ("stall_cycles.lg_throttle", [("stalls (lg throttle)", 70, CU, 13, 0xA0), ("stalls (lg throttle)", 30, CU, 12, 0x50)]),
        ("stall.top_share", [("stalls", 91, CU, 13, 0x90), ("stalls", 9, CU, 12, 0x50)]),
        ("vram.throughput", [("global memory traffic", 89, CU, 13, 0x90), ("global memory traffic", 11, CU, 12, 0x50)]),
        ("inst.executed", [("instructions", 38, CU, 9, 0), ("instructions", 31, CU, 13, 0x70), ("instructions", 15, CU, 12, 0x50)]),
        ("shared.excess_share", []),
        ("launch.waves", []),
    ],
)  # fmt: skip
def test_lines_of_a_metric(metric: str, found: list[tuple[str, float, str, int, int]]) -> None:
    assert placed(SAMPLE, 0, metric) == found


def test_a_launch_without_instances_is_not_located() -> None:
    assert placed(SAMPLE, 1, "stall.top_share", "global_store.waste") == []


def test_the_line_itself_and_what_happens_there() -> None:
    locate = read(SAMPLE, "ncu-rep").locate
    assert locate is not None
    (place,) = locate(0, ["global_store.waste"])
    assert (place.source, place.access, place.excess, place.reason) == (
        "out[x * h + y] = v;",
        "global store",
        8.0,
        "long scoreboard",
    )
    assert (place.function, place.instructions, place.record, place.pc) == ("transpose_naive", 1, 1, w.BASE + 0x90)


STALLED = "smsp__pcsamp_warps_issue_stalled_wait"


def test_without_line_information_by_function_and_offset() -> None:
    """Also in functions that the kernel calls, of which the report's function table knows."""
    kernel, callee = "_Z4mainv", "_ZN2ab4calcIiEEvT_"
    launch = w.Launch(
        "main()", {TIME: 1}, {STALLED: {0x1010: 3, 0x2020: 6, 0x9000: 1}, "launch__function_pcs": {0: 0x1000}}, mangled=kernel, code=5
    )  # fmt: skip
    codes = [
        w.Code(5, cubins.cubin({kernel: 64, callee: 64}), functions=[(kernel, 0x1000, 1)]),
        w.Code(5, functions=[(callee, 0x2000, 2)]),  # an entry may come in pieces
    ]
    locate = read(w.report([launch], codes=codes), "ncu-rep").locate
    assert locate is not None
    assert [(x.function, x.offset, round(x.share, 1)) for x in locate(0, ["stall.wait"])] == [
        ("ab::calc", 0x20, 0.6),
        ("main", 0x10, 0.3),
        ("", 0x9000, 0.1),
    ]


def test_old_reports_know_the_base_address_alone() -> None:
    kernel = "_Z4mainv"
    launch = w.Launch(
        "main()", {TIME: 1}, {STALLED: {0x1010: 3}, "launch__function_pcs": {0: 0x1000}}, mangled=kernel, code=5
    )
    rows = {kernel: [(0, 3), (16, 70_000)]}
    for codes in ([], [w.Code(5, cubins.cubin({kernel: 64}, ("C:\\\\me\\\\", "k.cu", rows)))]):
        locate = read(w.report([launch], codes=codes), "ncu-rep").locate
        assert locate is not None
        (place,) = locate(0, ["stall.wait"])
        assert (place.function, place.offset) == ("main", 16)
        assert (place.file, place.line) == (("C:\\me\\k.cu", 70_000) if codes else ("", 0))


LINES = st.lists(st.tuples(st.integers(0, 2000), st.integers(1, 100_000)), min_size=1, max_size=30).map(
    lambda rows: sorted({a * 16: b for a, b in rows}.items())
)


@relaxed
@given(LINES, LINES)
def test_line_tables_come_back(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> None:
    size = 16 * 2001
    found = elf.read(cubins.cubin({"a": size, "b": size}, ("/src", "k.cu", {"a": one, "b": two})))
    assert found is not None
    lines = line_table.read(found)
    for number, rows in ((1, one), (2, two)):
        section = found.symbols[number].section
        for offset in range(0, size, 1600):
            known = [line for at, line in rows if at <= offset]
            place = lines.at(section, offset)
            assert (place.line if place else None) == (known[-1] if known else None)
        assert lines.at(section, size) is None


@relaxed
@given(st.data())
def test_damaged_code_is_not_located(data: st.DataObject) -> None:
    """A cubin lies inside the report as bytes: the launches are read whatever has happened to it."""
    raw = bytearray(SAMPLE)
    begin = SAMPLE.index(b"\x7fELF")
    for _ in range(data.draw(st.integers(1, 12))):
        raw[data.draw(st.integers(begin, begin + 1500))] = data.draw(st.integers(0, 255))
    try:
        table = read_as("ncu-rep", bytes(raw))
    except CaptureError as e:
        assert "\n" not in str(e)
        return
    assert table.locate is not None
    for place in table.locate(0, ["global_store.waste", "stall.top_share"]):
        assert 0 < place.share <= 1


@pytest.mark.slow
def test_findings_say_where(tmp_path: Path) -> None:
    path = tmp_path / "r.ncu-rep"
    path.write_bytes(SAMPLE)
    found = json.loads(run("diagnose", path, "-f", "json").stdout)["findings"]
    places = {f["rule"]: f["locations"] for f in found if f["locations"]}
    store = places["MEM002"][0]
    assert (store["file"], store["line"], store["share"], store["excess"]) == (CU, 13, 1.0, 8.0)
    (load,) = store["waits_for"]
    assert (load["mnemonic"], load["line"], load["argument"], load["queue"]) == ("LDG", 12, 1, False)
    words = (
        "transpose.cu:13 (global store) “out[x * h + y] = v;”: 100 % of excess store sectors, 8.0x the accesses needed"
    )
    waits = "a global store waits for the global load (LDG) of argument 1 (const float*) at transpose.cu:12"
    for fmt in ("terminal", "markdown", "jira", "html"):
        text = " ".join(re.sub(r"[\\{}]", "", run("diagnose", path, "-f", fmt, "--full").stdout).split())
        assert words in text and waits in text, fmt
    run("tickets", path, "-o", tmp_path / "t", "--markup", "markdown")
    assert any("**Source:**" in p.read_text() for p in (tmp_path / "t").rglob("*.md"))
