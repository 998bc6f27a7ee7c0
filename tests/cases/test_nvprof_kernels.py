"""nvprof's efficiencies, utilisation levels and stall shares lead to the same causes as Nsight Compute's counters.

Figures made up: a kernel with nothing wrong, and what each illness changes in it.
"""

import csv
from pathlib import Path

import pytest

from triage import diagnose, read

WELL = {
    "achieved_occupancy": "0.900000", "sm_efficiency": "95.00%", "issue_slot_utilization": "25.00%", "branch_efficiency": "100.00%",
    "warp_execution_efficiency": "100.00%", "warp_nonpred_execution_efficiency": "97.00%", "gld_efficiency": "100.00%", "gst_efficiency": "100.00%",
    "shared_efficiency": "0.00%", "dram_utilization": "Low (2)", "l2_utilization": "Low (3)", "tex_utilization": "Low (3)", "shared_utilization": "Idle (0)",
    "single_precision_fu_utilization": "Low (2)", "double_precision_fu_utilization": "Idle (0)", "special_fu_utilization": "Low (1)",
    "ldst_fu_utilization": "Low (2)", "stall_memory_dependency": "20.00%", "stall_exec_dependency": "15.00%", "stall_sync": "3.00%",
    "stall_inst_fetch": "5.00%", "stall_texture": "0.00%", "stall_constant_memory_dependency": "1.00%", "stall_pipe_busy": "3.00%",
    "stall_memory_throttle": "4.00%", "stall_not_selected": "6.00%",
}  # fmt: skip
ILL: dict[str, dict[str, str]] = {
    "uncoalesced-loads": {"gld_efficiency": "12.50%", "dram_utilization": "High (8)", "stall_memory_dependency": "70.00%", "issue_slot_utilization": "8.00%"},
    "uncoalesced-stores": {"gst_efficiency": "12.50%", "dram_utilization": "High (8)", "stall_memory_throttle": "50.00%", "issue_slot_utilization": "8.00%"},
    "bank-conflicts": {"shared_efficiency": "3.20%", "shared_utilization": "High (9)", "stall_memory_throttle": "45.00%", "issue_slot_utilization": "12.00%"},
    "bus-traffic": {"sysmem_utilization": "High (8)", "dram_utilization": "Low (1)", "l2_utilization": "Low (1)", "stall_memory_dependency": "90.00%", "issue_slot_utilization": "2.00%"},
    "idle-sms": {"sm_efficiency": "9.00%", "dram_utilization": "Low (1)", "stall_memory_dependency": "68.00%", "issue_slot_utilization": "20.00%"},
    "divergence": {"warp_execution_efficiency": "31.00%", "warp_nonpred_execution_efficiency": "28.00%", "branch_efficiency": "72.00%", "issue_slot_utilization": "70.00%"},
    "memory-latency": {"stall_memory_dependency": "82.00%", "issue_slot_utilization": "6.00%"},
    "barrier-waits": {"stall_sync": "55.00%", "issue_slot_utilization": "18.00%"},
    "instruction-fetch": {"stall_inst_fetch": "52.00%", "issue_slot_utilization": "18.00%"},
    "constant-misses": {"stall_constant_memory_dependency": "50.00%", "issue_slot_utilization": "18.00%"},
    "dependency-latency": {"stall_exec_dependency": "60.00%"},
    "vram-bandwidth": {"dram_utilization": "Max (10)", "stall_memory_dependency": "75.00%", "issue_slot_utilization": "12.00%"},
    "fp32-bound": {"single_precision_fu_utilization": "Max (10)", "issue_slot_utilization": "85.00%", "stall_memory_dependency": "3.00%"},
    "fp64-bound": {"double_precision_fu_utilization": "Max (10)", "issue_slot_utilization": "12.00%", "stall_pipe_busy": "60.00%"},
    "special-function-bound": {"special_fu_utilization": "High (9)", "issue_slot_utilization": "35.00%", "stall_pipe_busy": "50.00%"},
    "lsu-pressure": {"ldst_fu_utilization": "Max (10)", "stall_memory_throttle": "50.00%", "issue_slot_utilization": "30.00%"},
    "register-spills": {"local_load_transactions": "40000000", "local_store_transactions": "30000000", "gld_transactions": "8000000",
                        "gst_transactions": "4000000", "stall_memory_dependency": "55.00%", "issue_slot_utilization": "12.00%", "l2_utilization": "High (7)"},
}  # fmt: skip


def diagnosed(path: Path, metrics: dict[str, str]) -> tuple[str, set[str]]:
    """(cause that leads, causes of all findings) of one kernel with these metrics."""
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write("==4242== NVPROF is profiling process 4242, command: ./app\n==4242== Metric result:\n")
        out = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        out.writerow(["Device", "Kernel", "Invocations", "Metric Name", "Metric Description", "Min", "Max", "Avg"])
        for name, value in metrics.items():
            out.writerow(["Tesla V100-SXM2-16GB (0)", "kernel(float*, int)", "10", name, name, value, value, value])
    found = diagnose([read(path)])
    lead = str(found.todo[0]["cause"]) if found.todo else ""
    return lead, {f.rule.cause for f in found.findings if f.workload >= 0}


@pytest.mark.slow
@pytest.mark.parametrize("cause", ILL)
def test_the_cause_leads(cause: str, tmp_path: Path) -> None:
    lead, causes = diagnosed(tmp_path / "metrics.csv", WELL | ILL[cause])
    # a busy DRAM whose needed bytes were not counted promises nothing, and is said all the same
    assert lead == cause or (cause == "vram-bandwidth" and not lead and cause in causes)


def test_a_kernel_without_shared_memory_has_no_conflicts(tmp_path: Path) -> None:
    """nvprof prints an efficiency of 0 % where nothing was asked of shared memory."""
    _, said = diagnosed(tmp_path / "metrics.csv", WELL | {"stall_memory_throttle": "45.00%"})
    assert "bank-conflicts" not in said


def test_broadcasts_are_no_conflicts(tmp_path: Path) -> None:
    many = {"shared_efficiency": "180.00%", "shared_utilization": "High (9)", "stall_memory_throttle": "45.00%"}
    assert "bank-conflicts" not in diagnosed(tmp_path / "metrics.csv", WELL | many)[1]


@pytest.mark.parametrize("efficiency", ["25.00%", "3.12%"])
def test_idle_lanes_and_single_words_are_no_conflicts(efficiency: str, tmp_path: Path) -> None:
    few = {"shared_efficiency": efficiency, "warp_execution_efficiency": "25.00%", "stall_memory_throttle": "45.00%"}
    assert "bank-conflicts" not in diagnosed(tmp_path / "metrics.csv", WELL | few)[1]


def test_occupancy_alone_is_told_but_promises_nothing(tmp_path: Path) -> None:
    path = tmp_path / "occupancy.csv"
    head = (
        "==1== Metric result:\n"
        + '"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"\n'
    )
    rows = [(name, f"{value:.6f}") for name, value in (("few(float*)", 0.24), ("many(float*)", 0.94))]
    path.write_text(
        head
        + "".join(
            f'"Tesla V100-SXM2-16GB (0)","{n}",10,"achieved_occupancy","Achieved Occupancy",{v},{v},{v}\n'
            for n, v in rows
        ),
        "utf-8",
    )
    found = diagnose([read(path)])
    (said,) = found.findings
    assert said.rule.name == "occupancy-alone"
    assert said.gain is None
    assert found.todo == []
    assert "24.0 %" in said.message


def test_conflicts_lead_though_the_texture_side_of_l1_idles(tmp_path: Path) -> None:
    """Shared memory's own utilisation says that it is busy; L1's does not count it."""
    ill = {**WELL, **ILL["bank-conflicts"], "tex_utilization": "Low (1)"}
    assert diagnosed(tmp_path / "metrics.csv", ill)[0] == "bank-conflicts"
