"""The profiler's own rule results, held against ours."""

import json
from pathlib import Path

import pytest

from benchmarks import agreement as judged
from tests.conftest import CORPUS, needs_corpus, run
from triage import diagnose, read
from triage.capture.capture import Opinion
from triage.findings import profiler_rules
from triage.findings.profiler_rules import ComparedOpinion, best, topic
from triage.products import agreement
from triage.rulebook import packs

HEADER = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"'
FIRST = '"0","1","app","127.0.0.1","k(float *)","1","7","(256, 1, 1)","({grid}, 1, 1)","0","9.0"'


def details(
    path: Path, metrics: dict[tuple[str, str, str], str], rules: list[tuple[str, str, str, str, str]], grid: int
) -> Path:
    """A details page of one launch: (section, metric, unit) -> value, and rule results."""
    first = FIRST.format(grid=grid)
    lines = [HEADER]
    lines += [f'{first},"{s}","{m}","{u}","{v}",' for (s, m, u), v in metrics.items()]
    lines += [f'{first},"X","","","",' + ",".join(f'"{cell}"' for cell in rule) for rule in rules]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def sol(sm: float, memory: float) -> dict[tuple[str, str, str], str]:
    where = "GPU Speed Of Light Throughput"
    return {
        (where, "Compute (SM) Throughput", "%"): f"{sm}",
        (where, "Memory Throughput", "%"): f"{memory}",
        (where, "Duration", "us"): "120",
    }


def test_topics_name_causes_of_the_vocabulary() -> None:
    known = set(packs.load().causes)
    for t in profiler_rules.topics():
        assert t.causes, t
        assert set(t.causes) <= known, t
        assert all(piece == piece.lower() for piece in t.says)


@pytest.mark.parametrize(
    ("rule", "text", "cause"),
    [
        ("CPIStall", "On average, each warp of this workload spends 3 cycles being stalled waiting for sibling warps at a CTA barrier.", "barrier-waits"),
        ("CPIStallBarrier", "On average each warp of this kernel spends 24.5 cycles being stalled waiting for sibling warps at a CTA barrier.", "barrier-waits"),
        ("CPIStall", "being stalled waiting for a\n scoreboard dependency on a L1TEX (local, global) operation", "memory-latency"),
        ("LaunchConfiguration", "The grid for this launch is configured to execute only 43 blocks, which is less than the GPU's 82 multiprocessors.", "small-grid"),
        ("LaunchConfiguration", "This kernel launch is configured to execute 100 threads per block.", "partial-warps"),
        ("HighPipeUtilization", "LSU is the highest-utilized pipeline (85.1%). The pipeline is over-utilized and likely a performance bottleneck.", "lsu-pressure"),
        ("HighPipeUtilization", "ALU is the highest-utilized pipeline (82.1%). The pipeline is over-utilized and likely a performance bottleneck.", "integer-bound"),
        ("HighPipeUtilization", "FMA is the highest-utilized pipeline (82.1%). The pipeline is over-utilized and likely a performance bottleneck.", "fp32-bound"),
        ("SharedMemoryConflicts", "The memory access pattern for shared loads might not be optimal and causes on average a 2.0 - way bank conflict", "bank-conflicts"),
    ],
)  # fmt: skip
def test_a_sentence_speaks_of_a_cause(rule: str, text: str, cause: str) -> None:
    found = topic(rule, text)
    assert found is not None
    assert found.causes[0] == cause


def test_roll_ups_name_no_cause() -> None:
    assert (
        topic("SOLBottleneck", "This workload exhibits low compute throughput and memory bandwidth utilization") is None
    )
    assert topic("IssueSlotUtilization", "Every scheduler is capable of issuing one instruction per cycle") is None
    assert topic("HighPipeUtilization", "LSU is the highest-utilized pipeline (45.1%). It is well-utilized.") is None
    assert topic("CPIStall", "Check the Warp Stall Sampling table for the top stall locations") is None


def test_the_most_promising_is_the_largest_global_estimate_of_a_cause() -> None:
    def heard(rule: str, speedup: float | None, scope: str, *found: str) -> ComparedOpinion:
        return ComparedOpinion(Opinion(0, "ncu", rule, "OPT", "", speedup, scope), found, "", "no cause", "", None)

    several = [
        heard("A", 0.9, "local", "x"),
        heard("B", 0.3, "global", "x"),
        heard("C", 0.8, "global"),
        heard("D", None, "", "x"),
    ]
    chosen = best(several)
    assert chosen is not None
    assert chosen.opinion.rule == "B"
    assert best([heard("D", None, "", "x")]) is None


def test_same_root_named_ruled_out_and_only_ours(tmp_path: Path) -> None:
    grid = (
        "LaunchConfiguration",
        "OPT",
        "The grid is configured to execute only 16 blocks, which is less than the 132 multiprocessors used.",
        "global",
        "87.9",
    )
    occupancy = (
        "TheoreticalOccupancy",
        "OPT",
        "The 4.00 theoretical warps per scheduler this kernel can issue are below the hardware maximum of 16.",
        "global",
        "75",
    )
    roll_up = ("SOLBottleneck", "OPT", "This kernel grid is too large to say anything.", "", "")
    launch = {("Launch Statistics", "Waves Per SM", ""): "0.06", ("Launch Statistics", "# SMs", "SM"): "132"}
    plenty = {("Launch Statistics", "Waves Per SM", ""): "40", ("Occupancy", "Theoretical Occupancy", "%"): "100"}

    def kinds(*args: object) -> list[tuple[str, str]]:
        path = details(tmp_path / "x.csv", *args)  # type: ignore[arg-type]
        return [(x.kind, x.lead) for x in agreement.agreement(diagnose([read(path)]))]

    assert kinds(sol(5, 5) | launch, [grid], 16) == [("same root", "small-grid")]
    assert kinds(sol(30, 30) | plenty, [occupancy], 5000)[0][0] == "only theirs, ruled out here"
    assert kinds(sol(5, 5) | launch, [roll_up], 16) == [("only ours", "small-grid")]
    assert kinds(sol(5, 5) | launch, [(*grid[:4], "4")], 16) == [("only ours", "small-grid")]  # nobody would act on 4 %


@pytest.mark.slow
def test_the_command_prints_both_figures_and_why(tmp_path: Path) -> None:
    launch = {("Launch Statistics", "Waves Per SM", ""): "0.06", ("Launch Statistics", "# SMs", "SM"): "132"}
    grid = (
        "LaunchConfiguration",
        "OPT",
        "execute only 16 blocks, which is less than the 132 multiprocessors used.",
        "global",
        "87.9",
    )
    path = details(tmp_path / "x.csv", sol(5, 5) | launch, [grid], 16)
    out = run("diagnose", path, "--opinions").stdout
    assert "1  same root cause" in out
    assert "profiler  LaunchConfiguration 88 % global" in out
    assert "triage    small-grid" in out
    assert "why       profiler's estimate: SMs that get no block; triage: " in out
    found = json.loads(run("diagnose", path, "--opinions", "-f", "json").stdout)
    assert found["counts"]["same root"] == 1
    (rule,) = found["workloads"][0]["rules"]
    assert rule["verdict"] == "root"
    doc = json.loads(run("diagnose", path, "-f", "json").stdout)
    assert doc["workloads"][0]["second_opinion"][0]["verdict"] == "root"
    nothing = details(tmp_path / "y.csv", sol(5, 5), [], 16)
    assert "No rule results" in run("diagnose", nothing, "--opinions").stdout


def test_what_nobody_measured_is_not_ruled_out_by_other_evidence(tmp_path: Path) -> None:
    """L1 that needs few turns says nothing of sectors: the rule that counts them decides, and it lacks its counter."""
    waste = ("UncoalescedGlobalAccess", "OPT", "This kernel has uncoalesced global accesses.", "global", "40")
    few = {("Memory Workload Analysis", "L1/TEX Hit Rate", "%"): "20", ("Launch Statistics", "Waves Per SM", ""): "40"}
    path = details(tmp_path / "x.csv", sol(20, 70) | few, [waste], 5000)
    (found,) = agreement.agreement(diagnose([read(path)]))
    assert found.kind == agreement.UNMEASURED
    assert found.theirs is not None
    assert found.theirs.why.startswith("uncoalesced-global-loads needs ")


@pytest.mark.slow
@needs_corpus
def test_their_most_promising_cause_is_answered_on_real_exports() -> None:
    """Where the export carries the full set: named, or ruled out with a reason, in 95 % of the workloads."""
    rows = [
        row
        for path in sorted((*(CORPUS / "ncu").glob("n*.csv"), *(CORPUS / "ncu_rep").glob("*.ncu-rep")))
        for row in judged.judge(path, CORPUS)
        if row.full
    ]
    assert len(rows) > 10
    missed = [(r.file, r.launch.theirs) for r in rows if r.launch.kind not in judged.ANSWERED]
    assert len(missed) <= 0.05 * len(rows), missed
