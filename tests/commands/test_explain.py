"""`triage explain` and `triage list` from outside, and the glossary."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import SAMPLES, diagnosis, doctor, run
from triage import api, schema
from triage.ground import glossary
from triage.ground.stalls import STALLS
from triage.schema.derived import HARDWARE_UNITS

WORKLOADS = SAMPLES / "rocprof-compute" / "four_kernels_mi210"
WORDS = [
    *"""
    SOL SOL% warp wavefront wave subgroup SM CU WGP Xe-core thread lane invocation work-item block workgroup LDS SLM VGPR SGPR AGPR occupancy
    TEX L1 L2 VRAM CROP ZROP PD IA VAF VPC PES raster PROP PCIe RTCORE WFI barrier coherent divergence coalescing sector roofline tail spill
    scratch marker workload dispatch draw launch frame confidence compute memory balanced latency small-grid front-end rop cpu high gray low
    v1 v2 MFMA EU XVE stall visibility availability
    """.split(),
    *"""
    thread group, local workgroup, shared memory, theoretical occupancy, achieved occupancy, issue slot, async compute, control barrier,
    memory barrier, bank conflict, arithmetic intensity, exclusive time, inclusive time, recoverable time, blind spot, ruled out, tensor core
    """.split(","),
]


@pytest.mark.parametrize("word", [*WORDS, *STALLS, *HARDWARE_UNITS.values()])
def test_every_word_of_a_report_is_explained(word: str) -> None:
    if word == "MEM":
        word = "memory"
    entry = glossary.find(word)
    assert entry is not None, word
    assert 20 < len(entry.meaning) < 420, f"{entry.term}: one to three sentences"


def test_glossary_entries_point_at_entries_and_cite() -> None:
    terms = {e.term for e in glossary.entries()}
    assert len(terms) == len(glossary.entries())
    for e in glossary.entries():
        assert set(e.see) <= terms, e.term
        assert all(url.startswith("https://") for _, url in e.cites), e.term
        assert not e.names or e.cites, f"{e.term}: names across vendors need a source"
    assert glossary.find("SUBGROUPS") is glossary.find("subgroup")
    assert glossary.find("nothing of the kind") is None


def test_memory_words_do_not_repeat_known_mistakes() -> None:
    spill, shared, sm = (glossary.find(w) for w in ("spill", "shared memory", "SM"))
    assert spill and shared and sm
    assert "Only registers spill" in spill.meaning  # too much shared memory fails to launch instead
    assert "never spills" in shared.meaning
    assert "four schedulers" in sm.meaning  # not: an SM contains four warps


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "SOL001",
        "busy-top-unit",
        "sol001",
        "issue-saturated",
        "sm.throughput",
        "SM Active",
        "warp",
        "LDS",
        "barrier",
        "stall.barrier",
    ],
)
def test_explain_knows_rules_metrics_and_terms(name: str) -> None:
    p = run("explain", name)
    assert p.returncode == 0, p.stderr
    assert all(len(line) <= 80 or " " not in line.strip() or line.startswith("  ") for line in p.stdout.splitlines())
    assert "\x1b" not in p.stdout


def test_explain_rule_shows_everything_the_file_says() -> None:
    text = run("explain", "low-occupancy-sm").stdout
    for part in (
        "Conditions",
        "Thresholds",
        "Saving",
        "Advice",
        "Verify",
        "Caveats",
        "Sources",
        "heuristic: ",
        "saturated = 80 %",
    ):
        assert part in text, part


def test_explain_metric_names_tools_and_readers() -> None:
    text = run("explain", "sm.occupancy").stdout
    assert "SOL007 low-occupancy-sm" in text
    assert "ncu-raw: " in text
    assert "active warps / warp slots" in text


@pytest.mark.parametrize(
    ("name", "says"),
    [("bussy-top-unit", "busy-top-unit"), ("sm.throughputs", "sm.throughput"), ("qqqq", "triage list")],
)
def test_unknown_names_are_one_line_with_close_matches(name: str, says: str) -> None:
    p = run("explain", name)
    assert (p.returncode, p.stdout) == (2, "")
    assert len(p.stderr.strip().splitlines()) == 1
    assert says in p.stderr


@pytest.mark.slow
def test_why_and_why_not() -> None:
    p = run("explain", "vgpr-limited-waves", "--on", WORKLOADS, "--marker", "*big_registers*")
    assert p.returncode == 0, p.stderr
    assert "fires" in p.stdout
    assert "Insufficient VGPRs" in p.stdout or "sched.insufficient_vgprs" in p.stdout
    p = run("explain", "AMD001", "--on", WORKLOADS, "--marker", "*sgemm*")
    assert "does not fire" in p.stdout
    assert "not below 75 %" in " ".join(p.stdout.split())
    p = run("explain", "cpu-bound-workload", "--on", SAMPLES / "rocprofv3-stats" / "4711_kernel_stats.csv")
    assert "not evaluated" in p.stdout or "not applicable" in p.stdout
    p = run("explain", "warp", "--on", WORKLOADS)
    assert p.returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize("what", ["rules", "metrics", "dialects", "formats", "devices", "terms"])
def test_list(what: str) -> None:
    table, data = run("list", what), run("list", what, "-f", "json")
    rows = json.loads(data.stdout)
    assert table.returncode == data.returncode == 0
    assert len(table.stdout.splitlines()) == len(rows) + 1
    if what == "metrics":
        assert [r["id"] for r in rows] == list(schema.all_metrics())
    if what == "devices":
        assert {"nvidia", "amd"} <= {r["vendor"] for r in rows}


@pytest.mark.slow
@pytest.mark.parametrize(
    "sample", ["generic/p3_workloads_v2.csv", "ncu-raw", "rocprof-compute/four_kernels_mi210", "gpu-trace/demo_frame"]
)
def test_explain_says_of_every_rule_what_the_report_says(sample: str, book: Any) -> None:
    """Fires where the report lists a finding, blind where it counts a blind spot, overruled where it rules out."""
    from triage.commands._explain_rule import explain_outcome, longest
    from triage.diagnosis.outcomes import Outcomes

    path = SAMPLES / sample
    path = next(p for p in sorted(path.iterdir()) if p.suffix == ".csv") if sample == "ncu-raw" else path
    d = diagnosis(path)
    doc, outcomes = d.to_dict(), Outcomes(d, d.parts[0], np.sort([w for w, _ in longest(d.parts[0].capture)]))
    fired = {(f["rule"], f["workload"]) for f in doc["findings"]}
    blind = {(r, w) for b in doc["blind_spots"] for r in b["rules"] for w in b["workloads"]}
    overruled = {(r["rule"], r["workload"]) for r in doc["ruled_out"] if ": covered by " in r["why"]}
    wrong = []
    for rule in d.book.rules:
        if rule.is_concept or rule.scope == "frame" or "v2" not in rule.when:
            continue
        text = explain_outcome(rule, outcomes)
        for workload, said, by in re.findall(
            r"^(w\d+) .*\n(?:.*\n)*?  (fires|does not fire|not evaluated|not applicable|overruled)(?: by ([\w-]+))?",
            text,
            re.MULTILINE,
        ):
            key = (rule.id, workload)
            if by in book.settings:  # left to other rules by what the work is: never in question
                continue
            # a blind spot names its rules and its workloads, not the pairs: only a missing entry contradicts
            agree = {"fires": key in fired, "overruled": key in overruled, "not evaluated": key in blind}
            if not agree.get(said, key not in fired | overruled):
                wrong.append((*key, said))
    assert wrong == []


def test_what_cannot_be_is_not_ruled_out(tmp_path: Path) -> None:
    """Flags are no evidence: a draw in no chain, or work that is no kernel, excludes nothing in so many words."""
    file = tmp_path / "frame.csv"
    file.write_text(
        "name,path,kind,gpu.time [us],sm.active [%],SM SOL%,TEX SOL%,L2 SOL%,VRAM SOL%,alu.utilization [%]\n"
        "Sky,F,fullscreen,400,99,71,40,20,18,10\nHud,F,draw,200,96,30,20,20,64,10\n"
    )
    said = [r["why"] for r in api.diagnose(file).to_dict()["ruled_out"]]
    assert said
    titles = [why.partition(": ")[2] for why in said if ": covered by " not in why]
    assert not [t for t in titles if re.search(r"Kind:|GPU \d|chain|> 0$|none$", t) or not t[0].isupper()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sample", "name"),
    [
        ("gpu-trace/demo_frame", "Frame/SSR/Trace"),
        ("gpu-trace/demo_frame", "TILED LIGHTING"),
        ("rocprof-compute/four_kernels_mi210", "big_registers"),
        ("ncu-rep/transpose.ncu-rep", "w1"),
        ("nsys-sqlite/training_two_gpus.sqlite", "layer_norm*"),
    ],
)
def test_what_is_told_of_a_marker_is_what_the_report_says(sample: str, name: str) -> None:
    """What speaks is what the report finds there, in its order; what nearly speaks and what lacks a counter is not."""
    from triage.commands import _explain_marker

    d = diagnosis(SAMPLES / sample)
    doc, capture = d.to_dict(), d.parts[0].capture
    rows = _explain_marker.find(name, capture)
    assert len(rows)
    text = _explain_marker.explain_workloads(rows[:1], capture, doctor())
    workload = f"w{int(rows[0]) + 1}"
    assert text.startswith(f"{workload} ")
    parts = dict(
        re.findall(r"^(Findings|Near misses|Ruled out|Not evaluated)[^\n]*\n((?:  .*\n)+)", text, re.MULTILINE)
    )
    spoken = re.findall(r"^ +(?:-|[\d.,]+ (?:ns|µs|ms|s|%))  ([A-Z]+\d+) ", parts["Findings"], re.MULTILINE)
    found = [f["rule"] for f in doc["findings"] if f["workload"] == workload]
    assert sorted(spoken) == sorted(found) and (not found or spoken[0] == found[0])
    assert all(len(line) <= 80 or len(line.split()) < 4 for line in text.splitlines())
    leader = next(w for w in doc["workloads"] if w["id"] == workload)["chain"][:1]
    assert ("(root cause)" in text) == bool(leader) and (not leader or leader[0] in text)
    near = re.findall(r"^  - ([A-Z]+\d+) ", parts.get("Near misses", ""), re.MULTILINE)
    blind = set(
        re.findall(
            r"\b[A-Z]{3}\d{3}\b", "".join(re.findall("^  - [^:]*:", parts.get("Not evaluated", ""), re.MULTILINE))
        )
    )
    assert not set(near) & set(found) and not blind & (set(near) | set(found))
    spots = {r for b in doc["blind_spots"] for r in b["rules"] if workload in b["workloads"]}
    assert blind <= spots or not spots


def test_near_is_one_comparison_and_little(tmp_path: Path) -> None:
    """Just below a limit a rule nearly speaks; far below it does not, and above it it speaks."""
    from triage.commands import _explain_marker

    def told(vram: float) -> tuple[str, str]:
        file = tmp_path / f"{vram}.csv"
        file.write_text(
            f"name,kind,gpu.time [us],sm.active [%],SM SOL%,TEX SOL%,L2 SOL%,VRAM SOL%\nSky,fullscreen,400,99,20,15,18,{vram}\n"
        )
        capture = api.read(file)
        text = _explain_marker.explain_workloads(_explain_marker.find("sky", capture), capture, doctor())
        speaks, _, rest = text.partition("Near misses")
        return speaks, rest.partition("Ruled out")[0]

    assert "SOL016" in told(75)[0] and "SOL016" not in told(75)[1]
    assert "SOL016" not in told(55)[0] and "SOL016" in told(55)[1] and "VRAM SOL 55.0 %" in told(55)[1]
    assert "SOL016" not in "".join(told(25))


def test_markers_are_found_as_people_name_them() -> None:
    from triage.commands import _explain_marker

    capture = diagnosis(SAMPLES / "gpu-trace" / "demo_frame").parts[0].capture
    of = lambda name: [str(capture.names[i]) for i in _explain_marker.find(name, capture)]  # noqa: E731
    assert of("Frame/SSR/Trace") == of("frame / ssr / trace") == of("SSR/Trace") == of("w29") == ["Trace"]
    assert of("gather") == ["Gather", "Gather"]  # longest first
    assert set(of("cascade ?")) == {"Cascade 0", "Cascade 1", "Cascade 2", "Cascade 3"}
    assert of("Mesh") == ["Static Meshes"]
    assert of("") == of("w0") == of("w999") == of("no such marker") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "says"), [("Trac", "Trace"), ("Tracee", "did you mean 'Trace'?"), ("barriers", "remove --on")]
)
def test_a_marker_that_is_not_there_is_one_line(name: str, says: str) -> None:
    p = run("explain", name, "--on", SAMPLES / "gpu-trace" / "demo_frame")
    assert p.returncode == (0 if name == "Trac" else 2)
    assert says in p.stdout + p.stderr and len(p.stderr.strip().splitlines()) <= 1


def test_every_cause_is_explained_by_id_and_title(book: Any) -> None:
    from triage.commands.explain import text_of

    for cause in book.causes.values():
        text = text_of(cause.id, book)
        assert f"{cause.id} - {cause.title}" in " ".join(text.split())
        rules = [r for r in book.rules if r.cause == cause.id]
        assert all(f"  - {r.id} {r.name}" in text for r in rules)
        assert "\nAdvice\n" in text and "\nSources\n" in text
        assert text_of(cause.title.upper(), book) == text_of(cause.title, book)
    text = run("explain", "Shared-memory bank conflicts").stdout
    assert text.startswith("bank-conflicts - ") and "\nLeads to\n" in text and "MEM003 shared-bank-conflicts" in text


def test_a_rule_id_without_its_zeros_names_the_next_step() -> None:
    assert run("explain", "SOL06").stderr.endswith("'SOL06' - did you mean 'SOL006'?\n")


def test_a_cause_on_a_capture_says_why_and_why_not(book: Any) -> None:
    from triage.commands.explain import text_on
    from triage.products.settings import Settings

    def told(name: str, sample: str) -> str:
        return " ".join(text_on(name, Settings().read(str(SAMPLES / sample)), sample, Settings(), book).split())

    lds = told("bank-conflicts", "rocprof-compute/four_kernels_mi210")
    assert "Root cause of 1 of 4 workloads, 410 µs." in lds
    assert "Excluded. - AMD020 no: Time in LDS conflicts 0.0 %, not above 5 %" in lds
    assert "Root cause here. - AMD020 fires: Time in LDS conflicts 48.4 % > 5 %" in lds
    blind = told("Shared-memory bank conflicts", "ncu-rep/transpose.ncu-rep")
    assert "MEM003 not evaluated: l1tex.shared_data, shared.bank_conflicts" in blind
    assert blind.count("To test it: ncu --metrics") == 1
    effect = told("memory-latency", "ncu-rep/transpose.ncu-rep")
    assert "Seen as an effect of uncoalesced-stores. - CMP020 fires" in effect
    assert "SOL008 overruled: covered by MEM002" in effect
    assert "the whole capture Found. - FRM030 fires" in told("blocking-sync", "nsys-sqlite/training_two_gpus.sqlite")


@pytest.mark.slow
def test_cause_ids_stand_beside_titles() -> None:
    """In the terminal with --full, in Markdown and in JSON."""
    capture = SAMPLES / "gpu-trace" / "demo_frame"
    items = json.loads(run("diagnose", capture, "-f", "json").stdout)["todo"]
    full, short = run("diagnose", capture, "--full").stdout, run("diagnose", capture).stdout
    markdown = run("diagnose", capture, "-f", "markdown").stdout
    for item in items[:5]:
        assert f"{item['title']} ({item['cause']})" in full and f"({item['cause']})" not in short
        assert f"cause `{item['cause']}`)" in markdown
