"""Table heads, tile labels and the labels in front of a line, each spelled here once for every report.

Python reads `HEADS.self_time`, templates `heads.self_time`, the page's script `C.heads.self_time`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Heads:
    """One label per concept; sentence case, no full stop."""

    # columns of workloads, passes and findings
    self_time: str = "Self time"
    total_time: str = "Total time"
    share: str = "Share"
    limiter: str = "Limiter"
    top_units: str = "Top units"
    root_cause: str = "Root cause"
    saves: str = "Saves"
    saves_alone: str = "Saves alone"
    priority: str = "Priority"
    confidence: str = "Confidence"
    finding: str = "Finding"
    rule: str = "Rule"
    workload: str = "Workload"
    status: str = "Status"
    # tiles
    gpu_time: str = "GPU time"
    total_span: str = "Total span"
    recoverable: str = "Recoverable"
    at_limit: str = "At hardware limit"
    not_diagnosed: str = "Not diagnosed"
    # sections
    to_do: str = "To do"
    findings: str = "Findings"
    collect_next: str = "Collect next"
    ruled_out: str = "Ruled out"
    data_quality: str = "Data quality"
    timeline: str = "Timeline"
    # in front of a line of an item or finding
    why: str = "Why"
    fix: str = "Fix"
    within: str = "In"
    evidence: str = "Evidence"
    source: str = "Source"
    verify: str = "Verify"
    caveat: str = "Caveat"
    caveats: str = "Caveats"
    alternatives: str = "Alternatives"
    overlap: str = "Overlap"
    capture: str = "Capture"
    # timelines
    time: str = "Time"
    gap: str = "Gap"
    idle_reason: str = "Idle reason"
    host_call: str = "Host call"
    between: str = "Between"
    kernel_share: str = "Share of kernel time"
    # comparisons and histories
    before: str = "Before"
    after: str = "After"
    change: str = "Change"
    verdict: str = "Verdict"
    explanation: str = "Explanation"
    counter: str = "Counter"
    unmatched: str = "Unmatched"
    first_build: str = "First build"
    top_cause: str = "Top cause"
    # batches
    captures: str = "Captures"
    top_item: str = "Top item"
    largest_in: str = "Largest in"
    skipped: str = "Skipped files"
    duplicates: str = "Duplicate captures"


HEADS = Heads()
AS_DATA: dict[str, str] = asdict(HEADS)
