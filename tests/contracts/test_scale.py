"""What makes a million workloads affordable changes no answer: ranges, blocks, sorted hashes, subtraction for masks."""

import csv
import gc
import io
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT, SAMPLES, bare_capture, diagnosis, doctor
from triage.capture.capture import Table
from triage.capture.source import Source
from triage.derive import View, absent, derivations
from triage.derive.speed_of_light import clusters
from triage.diagnosis import diagnosing, outcomes
from triage.diagnosis.firings import Ledger
from triage.diagnosis.gain import fractions
from triage.dialects.tables import csv_parser, wide_table
from triage.findings import assembling, workload_columns, workloads
from triage.ground import units
from triage.ground.errors import TriageError
from triage.inference.rule_context import gpu_facts, setting
from triage.reading import marker_tree, reader
from triage.rendering.result_json import write_json

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = st.one_of(
    st.sampled_from(["007", "1e5", "True", "nan", "", "n/a", "-", "12", "inf", "1,234", "Ünï", 'say "x"', "two\nlines", "a,b", " pad "]),
    st.text(st.characters(codec="utf-8", exclude_characters="\r\0", exclude_categories=["Cs"]), max_size=8),
)  # fmt: skip
NUMBERS = st.one_of(
    st.floats(-1e6, 1e6).map(lambda v: f"{v:.3f}"), st.integers(-99, 99).map(str), st.sampled_from(["", "n/a", "inf", "-", "1e3", "oops", "5 %"])
)  # fmt: skip


def write(path: Path, rows: list[list[str]], delimiter: str = ",") -> Source:
    with path.open("w", encoding="utf-8", newline="") as f:
        csv.writer(f, delimiter=delimiter, lineterminator="\n").writerows([["name", "a", "b"], *rows])
    source = Source(str(path))
    source.delimiter = delimiter
    return source


def tables(source: Source, monkeypatch: pytest.MonkeyPatch, threads: int) -> wide_table.Wide:
    monkeypatch.setattr(csv_parser, "_threads", lambda size: threads)
    return wide_table.read(source, 1, ["name", "a", "b"], [1, 2], [0])


@given(rows=st.lists(st.tuples(WORDS, NUMBERS, NUMBERS), min_size=1, max_size=30), delimiter=st.sampled_from(",;|"))
@quick
def test_a_table_read_in_ranges_is_the_same_table(tmp_path: Path, rows: list[Any], delimiter: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        source = write(tmp_path / "t.csv", [list(r) for r in rows], delimiter)
        try:
            whole = tables(source, patch, 1)
        except TriageError as e:
            with pytest.raises(type(e)):
                tables(source, patch, 3)
            return
        cut = tables(source, patch, 3)
    for c in (1, 2):
        np.testing.assert_array_equal(whole.numbers[c], cut.numbers[c])
    assert whole.texts[0].tolist() == cut.texts[0].tolist()
    assert np.array_equal(line_numbers(whole), line_numbers(cut))
    assert [q.message for q in whole.quality] == [q.message for q in cut.quality]


def line_numbers(wide: wide_table.Wide) -> Any:
    return np.arange(len(wide.texts[0])) + wide.first_line if wide.lines is None else wide.lines


@given(
    rows=st.lists(
        st.tuples(WORDS.filter(bool), st.integers(1, 99).map(str), st.integers(1, 99).map(str)), min_size=1, max_size=20
    )
)
@quick
def test_names_and_lines_are_those_of_the_csv_module(tmp_path: Path, rows: list[Any]) -> None:
    """A name is never taken for a number, and a quoted line break moves every line below it."""
    with pytest.MonkeyPatch.context() as patch:
        source = write(tmp_path / "t.csv", [list(r) for r in rows])
        wide = tables(source, patch, 2)
    reference = csv.reader(io.StringIO((tmp_path / "t.csv").read_bytes().decode(), newline=""))
    next(reader_lines := iter(records(reference)))
    expected = list(reader_lines)
    assert wide.texts[0].tolist() == [name for name, _, _, _ in expected]
    assert wide.numbers[1].tolist() == [float(a) for _, a, _, _ in expected]
    lines = line_numbers(wide).tolist()
    assert lines == [line for *_, line in expected]
    cells = source.records(lines)
    assert [cells[line][0] for line in lines] == [name for name, *_ in expected]


def records(reference: Any) -> Any:
    before = 0
    for row in reference:
        yield (*row, before + 1)
        before = reference.line_num


def test_a_line_break_in_a_name_moves_no_evidence(tmp_path: Path) -> None:
    heads = ["name", "gpu.time [ms]", *(f"{u}.throughput [%]" for u in ("sm", "l1tex", "l2", "vram"))]
    with (tmp_path / "t.csv").open("w", newline="") as f:
        csv.writer(f).writerows([heads, ["two\nlines", 2, 90, 30, 20, 10], ["second", 1, 20, 20, 30, 85]])
    d = diagnosis(tmp_path / "t.csv")
    texts = {
        i.text
        for f in d.findings
        if f.workload == 1
        for c in f.evidence
        for i in c.source.inputs
        if i.metric == "vram.throughput"
    }
    assert texts == {"85"}


@given(st.lists(st.text("ab", min_size=0, max_size=3), min_size=1, max_size=30), st.sampled_from(["", "\n"]), st.data())
@quick
def test_records_come_back_whatever_the_size_of_the_blocks(
    tmp_path: Path, names: list[str], end: str, data: st.DataObject
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(f"{n},{i}" for i, n in enumerate(names)) + end)
    wanted = data.draw(st.lists(st.integers(1, len(names)), max_size=5))
    assert Source(str(path)).records(wanted) == {n: [names[n - 1], str(n - 1)] for n in wanted}


@given(st.lists(st.text(max_size=2), max_size=60), st.integers(1, 70))
@quick
def test_rows_of_one_name_are_one_workload(names: list[str], sample: int) -> None:
    """However few names the first look covers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marker_tree, "SAMPLE", sample)
        codes, members = marker_tree.group(Table("test", [], np.array(names, dtype=object), {}))
    assert (members is None) == (len(set(names)) == len(names))
    assert codes.tolist() == [list(dict.fromkeys(names)).index(n) for n in names]


def sample_files() -> list[Path]:
    found = sorted(p for p in SAMPLES.rglob("*.csv") if "ground_truth" not in p.parts and p.stat().st_size < 200_000)
    return [*found[::7], SAMPLES / "gpu-trace" / "demo_frame"]


@pytest.mark.slow
@pytest.mark.parametrize("path", sample_files(), ids=lambda p: p.stem)
def test_blocks_change_no_answer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        capture = reader.read(str(path))
    except TriageError as e:
        pytest.skip(f"not triageable by itself: {e}")
    whole = assembling.bundle(doctor().diagnose([capture])).document
    monkeypatch.setattr(diagnosing, "BLOCK", 3)
    monkeypatch.setattr(outcomes, "BLOCK", 5)
    monkeypatch.setattr(workloads, "CHUNK_ENTRIES", 4)
    assert assembling.bundle(doctor().diagnose([capture])).document == whole


@pytest.mark.parametrize("path", sample_files(), ids=lambda p: p.stem)
def test_what_is_absent_is_missing_everywhere(path: Path) -> None:
    try:
        capture = reader.read(str(path))
    except TriageError as e:
        pytest.skip(f"not triageable by itself: {e}")
    view = View(capture)
    gone = [m for m in derivations() if absent(m, capture)]
    assert gone
    for metric in gone:
        assert np.ndim(view[metric]) == 0 and np.isnan(view[metric]), metric


@given(
    st.lists(
        st.lists(st.one_of(st.just(np.nan), st.integers(0, 20).map(lambda v: v / 20)), min_size=5, max_size=5),
        min_size=1,
        max_size=20,
    )
)
@quick
def test_clusters_by_their_definition(rows: list[list[float]]) -> None:
    names = ("sm", "l1tex", "l2", "vram", "crop")
    sol = np.array(rows).T
    view = view_of({f"{u}.throughput": sol[k] for k, u in enumerate(names)})
    c = clusters(view)
    for i, row in enumerate(rows):
        known = {u: v for u, v in zip(names, row, strict=True) if v == v}
        top = max(known.values(), default=-1.0)
        if not (len(known) >= 2 or top >= 0.8):
            assert np.isnan(c.top[i]) and c.top_index[i] == -1 and not c.primary[:, i].any()
            continue
        first = {u for u, v in known.items() if v >= top - 0.1 - 1e-9 and v > 0}
        rest = {u: v for u, v in known.items() if u not in first}
        leader = max(rest.values(), default=-1.0)
        second = {u for u, v in rest.items() if v >= leader - 0.1 - 1e-9 and v > 0}
        assert {u for k, u in enumerate(c.names) if c.primary[k, i]} == first
        assert {u for k, u in enumerate(c.names) if c.secondary[k, i]} == second
        assert c.names[c.top_index[i]] == next(u for u in c.names if known.get(u) == top)


def view_of(facts: dict[str, Any]) -> View:
    return View(bare_capture(facts, [f"w{i}" for i in range(len(next(iter(facts.values()))))]))


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0, 0.99)), min_size=1, max_size=40), st.integers(1, 10))
@quick
def test_the_ledger_keeps_the_best(pairs: list[tuple[int, float]], limit: int) -> None:
    time = np.arange(1.0, 11.0)
    ledger = Ledger(limit, 0.0, time.sum(), np.ones(50), np.arange(50))
    for rule, (w, share) in enumerate(pairs):
        one = np.array([w])
        ledger.add(rule, one, (np.zeros(1), np.array([share]), np.array([max(share, 0.9)])), time[one])
    assert ledger.total == len(pairs)
    saved = sorted((share * time[w] for w, share in pairs), reverse=True)
    assert sorted(ledger.firings().saved, reverse=True) == saved[:limit]


def test_a_gain_is_worked_out_for_the_chosen_workloads_only() -> None:
    from triage.inference.evaluate import Lookup
    from triage.rulebook.packs import load

    rng = np.random.default_rng(3)
    view = view_of(
        {f"{u}.throughput": rng.random(50) for u in ("sm", "l1tex", "l2", "vram")} | {"gpu.time": rng.random(50)}
    )
    every, some = np.arange(50), np.array([3, 7, 31])
    for rule in load().rules:
        if rule.gain and rule.scope == "workload":
            whole = fractions(rule, Lookup(rule, view, "v2"), every)
            for a, b in zip(whole, fractions(rule, Lookup(rule, view, "v2"), some), strict=True):
                np.testing.assert_array_equal(a[some], b)


def test_missing_words_and_infinities_are_missing(tmp_path: Path) -> None:
    words = sorted(units.MISSING - {""})
    source = write(tmp_path / "t.csv", [[f"w{i}", w, "1"] for i, w in enumerate([*words, *(w.upper() for w in words)])])
    wide = wide_table.read(source, 1, ["name", "a", "b"], [1, 2], [0])
    assert np.isnan(wide.numbers[1]).all() and not wide.quality


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_entered_in_the_middle_has_the_same_lines(tmp_path: Path, ending: str, end: str) -> None:
    """Where blocks begin is remembered; packed files are read from their start."""
    import gzip

    lines = [f"{i},{'x' * (i % 50)}" for i in range(40_000)]
    data, path = (end.join(lines) + end).encode(), tmp_path / f"long.{ending}"
    path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    source = Source(str(path))
    for _ in range(2):
        for first in (1, 30_000, 39_999, 7):
            found = dict(source.numbered(first))
            assert max(found) == len(lines) and all(found[n] == lines[n - 1] for n in range(first, len(lines) + 1))
            whole = {
                number + i: text.removesuffix(b"\r").decode()
                for number, block, ends in source.blocks(first)
                for i, text in enumerate(block[: ends[-1]].split(b"\n"))
            }
            assert all(whole[n] == lines[n - 1] for n in range(first, len(lines) + 1))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is counted in other units elsewhere")
@pytest.mark.parametrize("form", ["markdown", "junit"])
def test_names_without_counters_take_little_memory(form: str, tmp_path: Path) -> None:
    """What nobody collected is known once, not once per workload: 100,000 of them took 600 MB."""
    export = tmp_path / "names.csv"
    export.write_text("name,gpu.time [us]\n" + "".join(f"pass_{i}_{i * 7919 % 100_003},{i % 50 + 1}\n" for i in range(100_000)), "utf-8")  # fmt: skip
    command = [sys.executable, "-m", "triage", "diagnose", str(export), "-f", form, "-o", str(tmp_path / "out")]
    code = f"import resource, subprocess; subprocess.run({command!r}, check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert int(p.stdout.split()[-1]) < 400_000  # KB; the program itself takes 90,000


def test_figures_are_made_ready_for_the_neighbours_of_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the ten workloads that a page shows, figures of all were: 60 MB beside an export of 200,000."""
    asked: list[int] = []
    ready = workload_columns.numbers
    monkeypatch.setattr(
        workload_columns, "numbers", lambda values, digits=6: asked.append(len(values)) or ready(values, digits)
    )
    monkeypatch.setattr(workloads, "CHUNK_ENTRIES", 4)
    capture = reader.read(str(SAMPLES / "gpu-trace" / "demo_frame"))
    works = assembling.bundle(doctor().diagnose([capture])).workloads
    works.field("calls")  # most are 1, which takes no memory
    asked.clear()
    assert works[len(works) - 1]["duration_ns"] is not None
    assert len(works) > 4 >= max(asked)


@pytest.mark.slow
@pytest.mark.parametrize("sample", ["generic", "ncu-raw", "nsys-sqlite"])
def test_nothing_holds_a_capture_after_its_result(sample: str) -> None:
    """Its arrays go at once, not when Python next looks for circles: a night's captures would pile up meanwhile."""
    path = next(p for p in sorted((SAMPLES / sample).iterdir()) if p.suffix in (".csv", ".sqlite"))
    gc.collect()
    gc.disable()
    try:
        judged = doctor().diagnose([reader.read(str(path))])
        write_json(assembling.bundle(judged, ways=False), lambda text: None)
        held = weakref.ref(judged.parts[0].view)
        del judged
        assert held() is None
    finally:
        gc.enable()


def test_what_the_blocks_of_a_capture_share_is_worked_out_once() -> None:
    view = View(bare_capture({}, ["Draw", "vkCmdDraw"]))
    assert setting(view.part(slice(0, 1))) is setting(view) is setting(view.part([1]))
    assert gpu_facts(view.part([1])) is gpu_facts(view)
