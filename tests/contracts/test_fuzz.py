"""A slice of the fuzzer on every run, once-found crashes for ever, and sizes no honest export has.

The long campaign is `make hard`; a case is reproduced by its number: `benchmarks/hard.py --case N`.
"""

import itertools
import resource
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT, SAMPLES, run
from tests.helpers import fuzzing
from triage import dialects

HERE = ROOT / "tests"
POOL = fuzzing.seeds()
NAMES = sorted(dialects.dialects())
SLICE = 80  # `make hard` tries 20,000


def resident() -> int:
    """Bytes that this process holds now, whatever other tests of it needed."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()


@pytest.fixture(scope="module")
def judge() -> fuzzing.Judge:
    return fuzzing.Judge(seconds=30)


def complain(tally: fuzzing.Tally) -> str:
    return "\n".join(
        f"case {c.number} ({c.seed}, {c.dialect or 'detected'}): {kind}\n{textwrap.indent(trace, '  ')}"
        for c, kind, trace in tally.faults[:5]
    )


def test_every_dialect_has_a_seed(judge: fuzzing.Judge, tmp_path: Path) -> None:
    from triage.capture.source import Source
    from triage.ground.errors import TriageError
    from triage.reading import reader

    seen: set[str] = set()
    for seed in POOL:
        source = Source(str(fuzzing.lay(fuzzing.Case(seed.label, seed.files, seed.main), tmp_path / "x")))
        try:
            if dialects.pick(source)[0].NAME not in seen:
                seen.add(reader.read(source).input.dialect)
        except TriageError:
            continue
    missing = set(NAMES) - seen
    # some only ever refuse, JSON and databases have tests of their own
    refusing = {"native-files", "named-only", "rocm-traces"}
    assert missing <= refusing | {
        "pytorch-trace",
        "gpu-zones",
        "capframex",
        "rocprofv3-json",
        "nsys-sqlite",
        "rocpd",
        "trtexec-profile",
    }, missing


@pytest.mark.slow
def test_slice(judge: fuzzing.Judge, tmp_path: Path) -> None:
    tally = judge.run((fuzzing.case(i, POOL, NAMES) for i in range(SLICE)), tmp_path / "case")
    assert not tally.faults, complain(tally)
    assert tally.reports > SLICE / 5
    assert tally.refused > SLICE / 5


@st.composite
def damaged(draw: st.DrawFn) -> fuzzing.Case:
    """Like fuzzing.case, drawn so that a failure shrinks to few mutations of a short export."""
    seed = draw(st.sampled_from([s for s in POOL if s.main]))
    data = seed.files[seed.main]
    for _ in range(draw(st.integers(1, 4))):
        data = fuzzing.mutate(
            data, draw(st.randoms(use_true_random=False)), [s.files[s.main] for s in POOL[:3] if s.main]
        )
    return fuzzing.Case(seed.label, {**seed.files, seed.main: data}, seed.main)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(case=damaged())
def test_hypothesis(judge: fuzzing.Judge, tmp_path_factory: pytest.TempPathFactory, case: fuzzing.Case) -> None:
    tally = judge.run(iter([case]), tmp_path_factory.getbasetemp() / "hypothesis")
    assert not tally.faults, complain(tally)


@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.binary(max_size=600) | st.text(max_size=400).map(lambda t: t.encode("utf-8", "replace")))
def test_any_bytes_at_all(judge: fuzzing.Judge, tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    tally = judge.run(iter([fuzzing.Case("bytes", {"x.csv": data}, "x.csv")]), tmp_path_factory.getbasetemp() / "bytes")
    assert not tally.faults, complain(tally)


@pytest.mark.slow
def test_every_reader_refuses_what_is_not_its_own(judge: fuzzing.Judge, tmp_path: Path) -> None:
    """--dialect X on another tool's export: one line or an odd report, never a traceback."""
    chosen = POOL[::41]
    cases = (
        fuzzing.Case(s.label, s.files, s.main, name, i) for i, (s, name) in enumerate(itertools.product(chosen, NAMES))
    )
    tally = judge.run(cases, tmp_path / "case")
    assert not tally.faults, complain(tally)


@pytest.mark.parametrize(
    "path", sorted(p for p in (HERE / "regressions").iterdir() if p.suffix != ".md"), ids=lambda p: p.name
)
def test_what_once_broke_stays_mended(judge: fuzzing.Judge, path: Path) -> None:
    """Folders are tried as folders and file by file."""
    for p in [path, *(sorted(path.iterdir()) if path.is_dir() else [])]:
        judge.one(p)


@pytest.mark.slow
def test_the_c_engine_saw_names_of_rules_only(judge: fuzzing.Judge, tmp_path: Path) -> None:
    """Runs last on the judge that all tests above used; then proves that the spy would have seen a leak."""
    judge.run((fuzzing.case(i, POOL, NAMES) for i in range(20)), tmp_path / "case")
    assert not judge.leaks
    fresh: Any = fuzzing.Judge()
    fresh.doctor.workload.backend.run(["FinalPass"])
    assert fresh.leaks == ["FinalPass"]


def big(data: bytes, how: str) -> bytes:
    lines = data.split(b"\n")
    sep = fuzzing.separator(lines[0].decode("latin1")).encode()
    return {
        "a million columns": lambda: b"\n".join([lines[0] + b"".join(b"%sc%d" % (sep, i) for i in range(1_000_000)), *lines[1:]]),
        "100,000 empty rows": lambda: b"\n".join([*lines[:3], *[b""] * 100_000, *lines[3:]]),
        "100,000 empty lines first": lambda: b"\n" * 100_000 + data,
        "a line of 20 MB": lambda: b"\n".join([*lines[:3], b"x" * 20_000_000, *lines[3:]]),
        "a quote never closed": lambda: b"\n".join([*lines[:2], b'"', *lines[2:] * 200]),
        "five million NULs": lambda: data + b"\0" * 5_000_000,
        "five million quotes": lambda: data + b'"' * 5_000_001,
        "a header of spaces": lambda: data.replace(sep, b" " * 60_000 + sep, 1),
        "a header of brackets": lambda: data.replace(sep, b"[" * 60_000 + sep, 1),
        "a name of brackets": lambda: b"\n".join([*lines[:1], *[line.replace(sep, b"(<" * 30_000 + sep, 1) for line in lines[1:3]]]),
        "names 5,000 levels deep": lambda: b"\n".join([*lines[:1], *[b"a/" * 5_000 + line for line in lines[1:5]]]),
    }[how]()  # fmt: skip


HOWS = ("a million columns", "100,000 empty rows", "100,000 empty lines first", "a line of 20 MB", "a quote never closed", "five million NULs",
        "five million quotes", "a header of spaces", "a header of brackets", "a name of brackets", "names 5,000 levels deep")  # fmt: skip
SIZES = (
    "import resource\n"
    "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
    "resource.setrlimit(resource.RLIMIT_CPU, (40, 40))"
)


@pytest.mark.slow
@pytest.mark.parametrize("sample", ["generic/p3_workloads_v2.csv", "ncu-details/transpose.details.csv"])
@pytest.mark.parametrize("how", HOWS)
def test_sizes_no_export_has(tmp_path: Path, how: str, sample: str) -> None:
    """In 3 GB of address space and 40 s of CPU: a report, or one line."""
    path = tmp_path / "big.csv"
    path.write_bytes(big((SAMPLES / sample).read_bytes(), how))
    p = run("diagnose", path, "-f", "html", "-o", tmp_path / "r.html", "--top", 20, first=SIZES, timeout=600)
    assert p.returncode in (0, 2), p.stderr[-500:]
    assert len(p.stderr.strip().splitlines()) == (p.returncode == 2), p.stderr[-500:]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_ordinary_input_leaves_little_memory_behind(judge: fuzzing.Judge, tmp_path: Path) -> None:
    judge.run((fuzzing.case(i, POOL, NAMES) for i in range(20)), tmp_path / "warm")
    before = resident()
    judge.run((fuzzing.case(i, POOL, NAMES) for i in range(20, 40)), tmp_path / "case")
    assert resident() - before < 200 << 20
